"""The control of a report that is written from an episode: the same without what broke."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simharness.product.fault import parse_fault
from simharness.reports.check import check_report
from simharness.reports.sketch import fits, knobs_of, plain_knob

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from simharness.episode.episode import Episode
    from simharness.reports.sketch import Sketch


def with_control(sketch: Sketch, episode: Episode, primary: Mapping[str, Any]) -> Sketch:
    """Add the same without what broke: without the faults, or with the suspect telling the truth.

    Only for a finding of the harness, and only what holds: it must not find the code again.
    """
    code = primary["code"]
    if not code.startswith("H"):
        return sketch
    for title, config in remedies(sketch, episode, primary["mechanism"]):
        control = {
            "title": title, "allow_other": True, "forbid": [code], "config": config,
        }  # fmt: skip
        option = replace(sketch, controls=[control])
        if fits(option) and all(result.held for result in check_report(option.read())):
            return option
    return sketch


def remedies(
    sketch: Sketch, episode: Episode, mechanism: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what may take away what was found: knobs, with what they come to."""
    product, plan = episode.product, episode.plan
    faults = {fault.id: fault for fault in product.faults}
    patched = [key for text in plan.faults for key in parse_fault(text, faults).knobs]
    before = knobs_of(episode, without_faults=True)
    defaults = {key: knob.default for key, knob in product.knobs.items()}
    calm = {key: before.get(key, defaults[key]) for key in patched if key in sketch.config}
    if calm:
        yield f"without {', '.join(parse_fault(text, faults).id for text in plan.faults)}", calm
    kind, _, place = mechanism.partition(":")
    sound: dict[str, Any] = dict(product.sound.get(mechanism, {}))
    if kind == "cache":
        sound = {f"{place}.cache.ttl": "0s"}
    elif kind == "lock" and place in product.stores:
        sound = dict(product.stores[place].sound_writes())
    elif kind == "lease" and place in product.stores:
        sound = dict(product.stores[place].sound_leases())
    elif kind == "reward":
        sound |= {"reward.mode": "goal", "reward.at": "settled"}
    elif kind == "timeout":
        sound = {"api.on_timeout": "unknown_outcome"}
    sound = {key: plain_knob(item) for key, item in sound.items() if key in defaults}
    if sound:
        yield f"with {mechanism} telling the truth", sound
    if sketch.config:
        yield "with every knob at its default", {key: defaults[key] for key in sketch.config}

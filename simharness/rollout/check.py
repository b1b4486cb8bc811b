"""What is checked of a request before anything is written."""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from simharness.episode.episode import Episode
from simharness.episode.plan import load_text
from simharness.episode.policies import PolicySource, scripted
from simharness.errors import HarnessError, SimharnessError, UnknownName, UsageError
from simharness.kernel.draws import Draws, Stream
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario
from simharness.product.scenario import Drawing

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterable, Iterator

    from simharness.rollout.request import Entry, Request

STARTS = 3
"""Seeds of which one has to start, for a scenario to be taken for one that can."""


def check(request: Request) -> None:
    """Check a request before anything is written.

    Raises UsageError for what can't be run, also for a seed that the pinned values don't suit, and
    HarnessError where a scenario starts on none of its first seeds.
    """
    require_once("scenario", request.scenarios)
    require_once("policy", request.policies)
    require_once("load", [load_text(parse_load(load)) for load in request.loads])
    if request.base_url and not request.models:
        raise UsageError(
            "a base URL is for policies that ask a model, and no policy of this run does",
            "leave --base-url out, or give --policy openai:MODEL",
        )
    require_once("set of faults", ["+".join(sorted(chosen)) for chosen in request.faults])
    for name in request.scenarios:
        for policy in request.policies:
            check_policy(request, name, policy)
        check_reserve(request, name)
        for entry in cells(request, name):
            check_start(request, entry)
        # One pinned value may change what another one may be, from seed to seed.
        first = next(cells(request, name))
        pins = request.plan(first).pins
        for seed in request.seeds if pins else ():
            with told(request, first._replace(seed=seed)):
                drawing = Drawing(Stream(Draws(seed), "instance", 0), pins)
                load_scenario(name)[1].draw(drawing)
                drawing.finish()


def require_once(what: str, names: Iterable[str]) -> None:
    """Refuse what would play an episode twice. Raises UsageError."""
    met: set[Hashable] = set()
    for name in names:
        if name in met:
            raise UsageError(f"{what} {name or 'none'!r} is named twice", "name it once")
        met.add(name)


def check_policy(request: Request, name: str, policy: str) -> None:
    """Check that a scenario has a policy. Raises UsageError, UnknownName."""
    _, scenario = load_scenario(name)
    try:
        source = PolicySource(policy, scenario, len(request.seeds), request.base_url)
    except UnknownName as error:
        every = request.scenarios
        have = [each for each in every if scripted(policy, load_scenario(each)[1])]
        if not have:
            raise
        hint = f"of these, {', '.join(have)} {'has' if len(have) == 1 else 'have'} it"
        raise UnknownName(error.message, f"{hint}; run the others with another policy") from None
    if request.refill and not source.is_endless:
        raise UsageError(
            f"policy {policy!r} can't play further seeds in the place of dropped groups",
            "leave --refill out",
        )


def check_reserve(request: Request, name: str) -> None:
    """Check that the seeds after the last are of the same split. Raises UsageError."""
    if request.group == 1 and request.refill:
        raise UsageError("only groups are refilled", "give --group G with --refill")
    _, scenario = load_scenario(name)
    last = request.seeds.stop + request.refill
    for split in map(scenario.seeds_of, ("train", "eval")):
        if request.seeds.start in split and request.seeds.stop <= split.stop < last:
            raise UsageError(
                f"{request.refill} seeds after {request.seeds.stop} go beyond their split",
                f"it ends at {split.stop}; give fewer to --refill",
            )


def cells(request: Request, name: str) -> Iterator[Entry]:
    """Give the first episode under each set of faults and each load, of the first policy."""
    first = request.entry(0)._replace(scenario=name)
    return (
        first._replace(faults=faults, load=load)
        for faults in request.faults
        for load in request.loads
    )


def check_start(request: Request, entry: Entry) -> None:
    """Check that a scenario starts on one of its first seeds.

    One seed that doesn't start is one bad episode, and the run tells of it.
    """
    failure: HarnessError | None = None
    for seed in request.seeds[:STARTS]:
        try:
            # What a product prints is no answer of a command.
            with told(request, entry._replace(seed=seed)), redirect_stdout(sys.stderr):
                episode = Episode(request.plan(entry._replace(seed=seed)))
                _ = episode.prompt, episode.scenario.brief(episode.instance)
                return
        except HarnessError as error:
            failure = failure or error
    if failure is not None:
        raise failure


@contextmanager
def told(request: Request, entry: Entry) -> Generator[None]:
    """Let what stops a run say on which episode, and which command asks for it again."""
    where = f"{entry.scenario}, seed {entry.seed}"
    try:
        yield
    except UsageError as error:
        raise type(error)(f"{error.message} (seed {entry.seed})", error.hint) from error
    except SimharnessError as error:
        raise type(error)(f"{where}: {error.message}", request.command(entry)) from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise HarnessError(
            f"{where}: {type(error).__name__}: {error} "
            f"({Path(last.filename).name}:{last.lineno}, in {last.name})",
            request.command(entry),
        ) from error

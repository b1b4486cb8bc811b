"""The check: play in every variant, hold against the base, find where they part and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError, UsageError
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from simharness.rollout.check import check as check_request
from simharness.selfcheck import processes, pythons
from simharness.selfcheck.causes import Cause, rank, suspects
from simharness.selfcheck.difference import Difference, difference_between
from simharness.selfcheck.variants import FIRST, VARIANTS, Axis, Order, Variant
from simharness.values import fast_packer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from simharness.lint.check import Finding
    from simharness.rollout.request import Request
    from simharness.selfcheck.processes import Played

AT_ONCE = 4
"""Processes at a time, where there are that many processors."""

Progress = Callable[[int, int, str], None]
"""Told the processes that have answered, all of them, and the name of the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """One variant in which a scenario's episodes came out otherwise."""

    variant: Variant
    scenario: str
    episodes: tuple[str, ...]
    """Those that did, as the report names them."""
    difference: Difference
    """Of the first."""
    command: str
    """The line for a shell that plays the variant again."""

    def record(self) -> dict[str, Any]:
        """Give it as `--json` prints it."""
        return {
            "variant": self.variant.name,
            "axis": str(self.variant.axis),
            "scenario": self.scenario,
            "episodes": list(self.episodes),
            **self.difference.record(),
            "next": self.command,
        }


@dataclass(slots=True)
class Report:
    """What came out of a selfcheck."""

    episodes: tuple[str, ...]
    """`scenario:seed` of each; `scenario:seed:policy` where several policies play."""
    variants: list[Variant] = field(default_factory=list[Variant])
    """Those that were held against the base."""
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Variants that couldn't be tried, each with the reason."""
    diverged: list[Parted] = field(default_factory=list[Parted])
    suspects: dict[str, list[Finding]] = field(default_factory=dict[str, "list[Finding]"])
    """What lint finds in the products whose scenarios came apart, by scenario."""
    broken: tuple[str, ...] = ()
    """Episodes that the harness broke off in the base: equal failures show little."""
    command: str = ""
    """The line for a shell that plays the base."""

    @property
    def identical(self) -> int:
        """Episodes that came out the same in every variant."""
        return len(self.episodes) - len({name for one in self.diverged for name in one.episodes})

    def scenarios(self) -> list[str]:
        """Name the scenarios that came apart, in the order of the request."""
        return list(dict.fromkeys(parted.scenario for parted in self.diverged))

    def causes(self, scenario: str) -> list[Cause]:
        """Give the likely causes for one scenario, the likeliest first."""
        axes = [one.variant.axis for one in self.diverged if one.scenario == scenario]
        return rank(axes, self.suspects.get(scenario, ()))

    def shown_best(self, scenario: str) -> Parted:
        """Give the variant of the likeliest cause, which shows best what differs."""
        axis = self.causes(scenario)[0].axis
        mine = (one for one in self.diverged if one.scenario == scenario)
        return next(one for one in mine if one.variant.axis is axis)

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        return {
            "episodes": len(self.episodes),
            "variants": len(self.variants),
            "identical": self.identical,
            "broken": list(self.broken),
            "tried": [variant.name for variant in self.variants],
            "skipped": [{"variant": name, "reason": reason} for name, reason in self.skipped],
            "diverged": [parted.record() for parted in self.diverged],
            "causes": [
                {"scenario": name, **cause.record()}
                for name in self.scenarios()
                for cause in self.causes(name)
            ],
            "base": self.command,
        }


def selfcheck(
    request: Request,
    others: dict[str, str] | None = None,
    *,
    named: bool = False,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress | None = None,
    seconds: int = processes.SECONDS_MAX,
) -> Report:
    """Play the episodes of a request in fresh processes that differ in what must not matter.

    Args:
        request: What is played.
        others: Other Pythons to try, name to path.
        named: Whether somebody asked for just these; then none of them is skipped.
        variants: What else to try.
        progress: Is told of each process that has answered.
        seconds: Wall time after which a process is taken to hang.

    Raises:
        UsageError: The request can't be run, or a Python that was named can't be used.
        HarnessError: A process crashed, hung or gave no digests.
    """
    if request.models:
        raise UsageError(
            f"policy {request.models[0]!r} answers otherwise each time, in any process",
            "check the scenario with a script; a run of a model is checked by simharness replay",
        )
    check_request(request)
    scenarios = [entry.scenario for entry in request.entries()]
    # Of several policies each episode says whose it is.
    report = Report(
        tuple(
            f"{entry.scenario}:{entry.seed}"
            + (f":{entry.policy}" if len(request.policies) > 1 else "")
            for entry in request.entries()
        )
    )
    with TemporaryDirectory(prefix="simharness-selfcheck-") as place:
        package = Path(place) / "package"
        package.mkdir()
        found, report.skipped = pythons.usable(others or {}, request.scenarios, package)
        if named and report.skipped:
            name, reason = report.skipped[0]
            raise UsageError(
                f"Python {name!r} can't be used: {reason}",
                "give an interpreter that has this package's requirements, or --pythons auto",
            )
        for variant in (*variants, *found):
            reason = pointless(variant, len(request))
            if reason:
                report.skipped.append((variant.name, reason))
            else:
                report.variants.append(variant)
        played = play_all(report.variants, request, Path(place), progress, seconds)
        base, *rest = played
        report.command = base.command
        report.broken = tuple(
            name
            for number, name in enumerate(report.episodes)
            if broken_off(base.recording(number))
        )
        for one in rest:
            for name in request.scenarios:
                own = [number for number, scenario in enumerate(scenarios) if scenario == name]
                parted = compare(report.episodes, name, own, base, one)
                if parted is not None:
                    report.diverged.append(parted)
    report.suspects = {name: suspects(name) for name in report.scenarios()}
    return report


def broken_off(path: Path) -> bool:
    """Tell whether the harness broke a recorded episode off."""
    (record,) = read_file(path)
    steps = read_rows(record).steps
    return bool(steps) and steps[-1].aborted


def pointless(variant: Variant, episodes: int) -> str:
    """Say why a variant would be the base again; empty where it isn't."""
    if variant.axis is Axis.MSGPACK and "fallback" in type(fast_packer()).__module__:
        return "msgpack has no C part here, so the base is in Python already"
    if variant.order in (Order.BACKWARD, Order.ALONE) and episodes < 2:
        return "needs two episodes"
    return ""


def play_all(
    variants: Sequence[Variant],
    request: Request,
    place: Path,
    progress: Progress | None,
    seconds: int,
) -> list[Played]:
    """Play the base and the variants, several at a time; gives them in this order.

    Raises HarnessError for the first that gives no digests; the others are stopped then.
    """
    every = [FIRST, *variants]
    running: list[subprocess.Popen[str]] = []
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as threads:
        futures = [
            threads.submit(processes.play, variant, request, place / str(number), seconds, running)
            for number, variant in enumerate(every)
        ]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(done, len(every), every[futures.index(future)].name)
        except BaseException:
            # Also at Ctrl-C: leaving the pool waits for its threads, and they for the processes.
            threads.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()
            raise
    return [future.result() for future in futures]


def compare(
    names: Sequence[str], scenario: str, numbers: Sequence[int], base: Played, other: Played
) -> Parted | None:
    """Hold a scenario's episodes in a variant against the base; None where all are the same."""
    different = [
        number
        for number in numbers
        if number in other.digests and other.digests[number] != base.digests[number]
    ]
    if not different:
        return None
    first = different[0]
    (theirs,) = read_file(base.recording(first))
    (ours,) = read_file(other.recording(first))
    difference = difference_between(theirs, ours)
    if difference is None:
        raise HarnessError(
            f"selfcheck: the process {other.variant.name!r} told other digests than it recorded",
            f"again: {other.command}",
        )
    return Parted(
        variant=other.variant,
        scenario=scenario,
        episodes=tuple(names[number] for number in different),
        difference=difference,
        command=other.command,
    )

"""The gate of a run: all that is counted over its episodes, and the answer with its reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.clusters import bootstrap, design_effect
from simharness.blame.statistics import (
    LIMIT,
    ONE_SIDED,
    Gate,
    Method,
    Rate,
    clopper_pearson,
    further_episodes,
    gate,
    rate,
)
from simharness.blame.trials import PassK, ceiling, pass_k
from simharness.blame.verdict import Class
from simharness.findings.taxonomy import code
from simharness.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SCENARIO, LOAD, FAULT, TOOL = "scenario", "load", "fault", "tool"
AMBIGUOUS_MAX = 0.1
"""Share of ambiguous episodes among the lost ones above which something is left too open."""
SHOWN_MIN = 0.001
"""Limit from which a tenth of a per cent shows it."""
KS = (1, 2, 4, 8, 16, 32)
"""Values of k that pass^k is told for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One episode as a gate counts it."""

    scenario: str
    seed: int
    policy: str
    load: str
    faults: tuple[str, ...]
    tools: tuple[str, ...]
    """The product's tools that the agent called, each once."""
    at: str
    """The tool whose call the primary finding stands at; empty where there is none."""
    kind: Class
    codes: tuple[str, ...]
    passed: bool | None
    """Whether the reward reached the pass mark; None where there is no reward."""
    quarantined: bool
    digest: str
    """Of the episode; two with the same one are one episode."""

    @property
    def failed(self) -> bool:
        """Whether the harness decided the outcome, or couldn't finish the episode."""
        return self.kind is Class.HARNESS

    @property
    def instance(self) -> tuple[str, int]:
        """What the scenario drew: episodes of one instance depend on each other."""
        return self.scenario, self.seed

    @property
    def task(self) -> tuple[object, ...]:
        """What its trials have in common."""
        return self.scenario, self.seed, self.policy, self.load, self.faults


@dataclass(frozen=True, slots=True)
class Stratum:
    """The episodes that have one thing in common."""

    by: str
    """scenario, load, fault or tool."""
    value: str
    rate: Rate
    at_least: float
    """Lower bound of its rate: exact, one-sided, and at 95 % for all strata together."""
    fails: bool
    """Whether that is above the limit."""

    def record(self) -> dict[str, Any]:
        """Give the stratum as JSON holds it."""
        return {
            "by": self.by,
            "value": self.value,
            **self.rate.record(),
            "at_least": round(self.at_least, 6),
            "fails": self.fails,
        }


@dataclass(frozen=True, slots=True)
class Trials:
    """pass^k of a run over all trials, and over those that aren't quarantined."""

    raw: PassK
    clean: PassK
    ceiling: float
    """The most that it can be if the harness fails trials at the rate of the run."""

    def record(self) -> dict[str, Any]:
        """Give it as JSON holds it."""
        return {
            "k": self.raw.k,
            "raw": self.raw.record(),
            "clean": self.clean.record(),
            "ceiling": round(self.ceiling, 6),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a gate answered, why, and the numbers that it rests on."""

    answer: Gate
    reasons: tuple[str, ...]
    """Why it isn't a pass, a sentence each; empty for a pass."""
    limit: float
    method: Method
    failure: Rate
    """Episodes that the harness decided, among all but external and repeated ones."""
    contamination: Rate
    """Episodes with any finding against the harness, whatever it did to them."""
    ambiguous: Rate
    """Of the failure rate if the ambiguous episodes were failures of the harness as well."""
    ambiguous_episodes: int
    lost: int
    """Episodes without a passing reward."""
    external: int
    repeated: int
    """Episodes that are the same as another one, to the bit; they count once."""
    instances: int
    effect: float
    """Design effect of episodes that share an instance."""
    resampled: tuple[float, float] | None
    """95 % interval of the failure rate by bootstrap over instances, where episodes share any."""
    strata: tuple[Stratum, ...]
    trials: tuple[Trials, ...]
    """pass^k by k, where a task has several trials."""
    zero_tolerance: tuple[str, ...]
    further: int | None
    """Further episodes that would decide an inconclusive rate; None where no number would, or
    where none is needed."""

    @property
    def effective(self) -> float:
        """What the episodes are worth in independent ones."""
        return self.failure.episodes / self.effect

    @property
    def poor(self) -> bool:
        """Whether too many lost episodes are ambiguous to trust the taxonomy with them."""
        return self.ambiguous_episodes > AMBIGUOUS_MAX * self.lost

    def record(self) -> dict[str, Any]:
        """Give the decision as JSON holds it."""
        resampled = self.resampled and [round(bound, 6) for bound in self.resampled]
        return {
            "gate": str(self.answer),
            "reasons": list(self.reasons),
            "limit": self.limit,
            "interval": str(self.method),
            "failure_rate": self.failure.record(),
            "contamination": self.contamination.record(),
            "ambiguous": {
                "episodes": self.ambiguous_episodes,
                "of_lost": self.lost,
                "low": round(self.failure.point, 6),
                "high": round(self.ambiguous.point, 6),
            },
            "external": self.external,
            "repeated": self.repeated,
            "instances": {
                "instances": self.instances,
                "design_effect": round(self.effect, 4),
                "effective_episodes": round(self.effective, 2),
                "resampled": resampled,
            },
            "strata": [stratum.record() for stratum in self.strata],
            "pass_k": [trials.record() for trials in self.trials],
            "zero_tolerance": list(self.zero_tolerance),
            "further_episodes": self.further,
        }


@dataclass(slots=True)
class Counts:
    """Failures and episodes, in all and by instance."""

    failures: int = 0
    episodes: int = 0
    by_instance: dict[tuple[str, int], tuple[int, int]] = field(
        default_factory=dict[tuple[str, int], tuple[int, int]]
    )

    def add(self, instance: tuple[str, int], failed: bool) -> None:
        """Count an episode."""
        self.failures += failed
        self.episodes += 1
        failures, episodes = self.by_instance.get(instance, (0, 0))
        self.by_instance[instance] = failures + failed, episodes + 1

    @property
    def clusters(self) -> list[tuple[int, int]]:
        """Failures and episodes of each instance."""
        return list(self.by_instance.values())

    @property
    def effect(self) -> float:
        """The design effect of the instances."""
        return design_effect(self.clusters)


def count(samples: Iterable[Sample], counts: Callable[[Sample], bool]) -> Counts:
    """Count episodes, and those among them that something holds of."""
    out = Counts()
    for sample in samples:
        out.add(sample.instance, counts(sample))
    return out


def counted_once(samples: Iterable[Sample]) -> list[Sample]:
    """Choose the episodes that a rate counts: none that failed from outside, none twice."""
    inside = (sample for sample in samples if sample.kind is not Class.EXTERNAL)
    return list({sample.digest: sample for sample in inside}.values())


def decide(
    samples: Sequence[Sample],
    limit: float = LIMIT,
    method: Method = Method.WILSON,
    *,
    damaged: Sequence[str] = (),
    unfinished: bool = False,
) -> Decision:
    """Hold a run against a limit of its failure rate.

    It fails by a damaged recording, by any code of zero tolerance, by the rate of the whole, or by
    that of a stratum; else it passes if the rate surely lies below the limit, the run is finished,
    and the ambiguous episodes couldn't lift the rate over the limit.
    """
    inside = [sample for sample in samples if sample.kind is not Class.EXTERNAL]
    once = counted_once(samples)
    counts = count(once, lambda s: s.failed)
    spoiled = count(once, lambda s: any(c.startswith("H") for c in s.codes))
    unclear = count(once, lambda s: s.failed or s.kind is Class.AMBIGUOUS)
    effect = counts.effect
    failure = rate(counts.failures, counts.episodes, effect, method)
    band = rate(unclear.failures, unclear.episodes, unclear.effect, method)
    strata = strata_of(once, limit, method)
    codes = Counter(c for sample in samples for c in sample.codes)
    never = tuple(sorted(c for c in codes if code(c).zero_tolerance))
    by_rate = gate(counts.failures / effect, counts.episodes / effect, limit, method)
    straddles = failure.point <= limit < band.point
    further: int | None = None
    failing = [f"damaged: {text}" for text in damaged]
    failing += [f"{c} is never allowed: {counted(codes[c], 'episode')}" for c in never]
    if by_rate is Gate.FAIL:
        failing.append(f"the rate is {failure.point:.1%}, surely above {percent(limit)}")
    failing += [told(stratum) for stratum in strata if stratum.fails]
    open_ends: list[str] = []
    if straddles:
        unsure = unclear.failures - counts.failures
        open_ends.append(
            f"the rate is {failure.point:.1%}, or {band.point:.1%} if the harness is to blame for "
            f"{counted(unsure, 'ambiguous episode')}: look at them"
        )
    elif by_rate is Gate.INCONCLUSIVE:
        further = further_episodes(counts.failures, counts.episodes, limit, effect, method)
        open_ends.append(missing(failure, limit, further))
    if unfinished:
        open_ends.append("the run is unfinished, or nothing tells that it isn't")
    answer = Gate.FAIL if failing else Gate.INCONCLUSIVE if open_ends else Gate.PASS
    return Decision(
        answer=answer,
        reasons=tuple(failing or open_ends),
        limit=limit,
        method=method,
        failure=failure,
        contamination=rate(spoiled.failures, spoiled.episodes, spoiled.effect, method),
        ambiguous=band,
        ambiguous_episodes=unclear.failures - counts.failures,
        lost=sum(not sample.passed for sample in once),
        external=len(samples) - len(inside),
        repeated=len(inside) - len(once),
        instances=len(counts.by_instance),
        effect=effect,
        resampled=resampled(counts),
        strata=strata,
        trials=trials_of(inside, failure.point),
        zero_tolerance=never,
        further=further,
    )


def percent(limit: float) -> str:
    """Show a limit, which is above 0 however low it is."""
    return f"{limit:.1%}" if limit >= SHOWN_MIN else f"{100 * limit:g}%"


def missing(failure: Rate, limit: float, further: int | None) -> str:
    """Say what an inconclusive rate needs."""
    if not failure.episodes:
        return "there are no episodes to judge"
    if further is None:
        return "the rate is too close to the limit for any number of episodes"
    return f"{counted(further, 'more episode')} at this rate would decide"


def told(stratum: Stratum) -> str:
    """Say why a stratum fails."""
    return (
        f"{stratum.by} {stratum.value}: {stratum.rate.failures} of "
        f"{counted(stratum.rate.episodes, 'episode')}, surely {stratum.at_least:.1%} or more"
    )


def resampled(counts: Counts) -> tuple[float, float] | None:
    """Give the interval by bootstrap over instances, where several episodes share one."""
    if len(counts.by_instance) == counts.episodes:
        return None
    failures, sizes = zip(*counts.clusters, strict=True)
    return bootstrap(failures, sizes)


def strata_of(samples: Sequence[Sample], limit: float, method: Method) -> tuple[Stratum, ...]:
    """Give the strata, of which those fail whose rate is surely above the limit.

    A way to part them with one part only is left out. A failure belongs to the tool whose call the
    primary finding stands at, and is set against all episodes in which that tool was called.
    """
    parted: dict[str, dict[str, Counts]] = {
        by: defaultdict(Counts) for by in (SCENARIO, LOAD, FAULT, TOOL)
    }
    for sample in samples:
        parted[SCENARIO][sample.scenario].add(sample.instance, sample.failed)
        parted[LOAD][sample.load].add(sample.instance, sample.failed)
        for fault in sample.faults or ("none",):
            parted[FAULT][fault].add(sample.instance, sample.failed)
        for tool in sample.tools:
            parted[TOOL][tool].add(sample.instance, sample.failed and tool == sample.at)
    found = [
        (by, value, counts)
        for by, parts in parted.items()
        for value, counts in sorted(parts.items())
        if len(parts) > 1
    ]
    return tuple(stratum(by, value, c, limit, method, len(found)) for by, value, c in found)


def stratum(
    by: str, value: str, counts: Counts, limit: float, method: Method, among: int
) -> Stratum:
    """Judge one stratum among several.

    Its bound is exact, since strata may be small, where Wilson's lower bound is far too high. And
    whoever looks at twenty strata finds one that exceeds its own 95 %, so they share the error.
    """
    effect = counts.effect
    failures, episodes = counts.failures / effect, counts.episodes / effect
    at_least, _ = clopper_pearson(failures, episodes, ONE_SIDED / among)
    shown = rate(counts.failures, counts.episodes, effect, method)
    return Stratum(by, value, shown, at_least, at_least > limit)


def trials_of(samples: Sequence[Sample], failure: float) -> tuple[Trials, ...]:
    """Give pass^k for some k up to the most trials that a task has; nothing if all have one.

    A trial that is the same as another one of its task, to the bit, is no second one.
    """
    once = {(*sample.task, sample.digest): sample for sample in samples}
    raw: dict[tuple[object, ...], list[Sample]] = defaultdict(list)
    for sample in once.values():
        raw[sample.task].append(sample)
    most = max(map(len, raw.values()), default=0)
    if most < 2:
        return ()
    whole = [tally(trials) for trials in raw.values()]
    clean = [tally([s for s in trials if not s.quarantined]) for trials in raw.values()]
    return tuple(
        Trials(pass_k(whole, k), pass_k(clean, k), ceiling(failure, k)) for k in KS if k <= most
    )


def tally(trials: Sequence[Sample]) -> tuple[int, int]:
    """Give the successes and trials of one task."""
    return sum(bool(sample.passed) for sample in trials), len(trials)

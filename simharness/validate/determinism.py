"""Whether an episode is a function of its seed and its calls, whatever else was played before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.env import Env
from simharness.episode.info import source_files
from simharness.episode.play import drive, observe, perform, played_by, task_of
from simharness.errors import ForbiddenCall, UsageError
from simharness.kernel.guard import guarded
from simharness.lint.check import lint
from simharness.product.policy import Call
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog
from simharness.selfcheck.difference import difference_between
from simharness.validate.check import DETERMINISM, ISOLATION, Check, Result, decided, skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.episode.episode import Episode
    from simharness.validate.subject import Subject

SEEDS_TOLD = 8
TIME_RULES = ("SH001", "SH002")
"""Rules of lint about the machine's clock."""


def start_of(episode: Episode) -> tuple[Any, ...]:
    """Give what an episode starts from."""
    instance = tuple(sorted(episode.instance.items()))
    return episode.prompt, instance, tuple(sorted(episode.product.digests().items()))


def seed_control(subject: Subject) -> Result:
    """Reset one environment to several seeds, twice and in both orders, with calls in between."""
    seeds = subject.seeds[:SEEDS_TOLD]
    env = Env(subject.plan(seeds[0]), on_harness="mark")
    wrong: list[str] = []
    first: dict[int, tuple[Any, ...]] = {}
    for seed in (*seeds, *reversed(seeds)):
        env.reset(seed)
        subject.played += 1
        found = start_of(env.episode)
        if first.setdefault(seed, found) != found:
            wrong.append(f"reset(seed={seed}) gives another start the second time")
        env.step(Call("wait", {"seconds": 1}))
    made = subject.begin(subject.plan(seeds[-1]))
    if start_of(made) != first[seeds[-1]]:
        wrong.append(f"reset(seed={seeds[-1]}) gives another start than make(seed={seeds[-1]})")
    different = len({*first.values()})
    if different <= len(seeds) // 2:
        wrong.append(f"{len(seeds)} seeds give {different} different starts: the seed is dropped")
    return decided({"seeds": len(seeds), "different_starts": different}, wrong)


def episode_determinism(subject: Subject) -> Result:
    """Play seeds twice in this process, and again in fresh ones that differ in all else."""
    wrong: list[str] = []
    seeds = subject.seeds[:3]
    for seed in seeds:
        one, other = (subject.play(seed, subject.player) for _ in range(2))
        if one.digest != other.digest:
            wrong.append(f"seed {seed}: {parting(one, other)}")
    measured: dict[str, Any] = {"played_twice": len(seeds)}
    command = ""
    if subject.processes:
        report = subject.elsewhere
        measured["in_fresh_processes"] = len(report.episodes)
        wrong += [
            f"{', '.join(one.episodes)} in a fresh process: {'; '.join(one.difference.tell()[:2])}"
            for one in report.diverged
        ]
    elif not wrong:
        return skipped(
            f"no fresh process was tried (--quick); in this one {len(seeds)} seeds, played twice, "
            "come to the same",
            measured,
        )
    if wrong:
        command = f"simharness selfcheck {subject.name} --seed {seeds.start}:{seeds.stop}"
        command += "".join(f" --policy {name}" for name in subject.elsewhere_policies)
    return decided(measured, wrong, command)


def parting(one: Episode, other: Episode) -> str:
    """Say where two plays of one seed part."""
    records: list[Any] = []
    for episode in (one, other):
        episode.close()
        assert isinstance(episode.sink, FrameLog)
        records += parse(episode.sink.to_bytes())
    difference = difference_between(*records)
    return "no difference" if difference is None else "; ".join(difference.tell()[:2])


def interleaved(subject: Subject, seeds: Sequence[int]) -> dict[int, str]:
    """Play episodes turn by turn in one process; gives their digests by seed."""
    episodes = {seed: subject.begin(subject.plan(seed)) for seed in seeds}
    plays = {seed: played_by(subject.player, task_of(e)) for seed, e in episodes.items()}
    told: dict[int, Any] = dict.fromkeys(seeds)
    while plays:
        for seed, play in [*plays.items()]:
            episode = episodes[seed]
            try:
                action = next(play) if told[seed] is None else play.send(told[seed])
            except StopIteration:
                episode.stop()
            else:
                told[seed] = observe(episode, perform(episode, action))
            if episode.ended:
                play.close()
                del plays[seed]
    return {seed: episode.digest for seed, episode in episodes.items()}


def episode_isolation(subject: Subject) -> Result:
    """Play episodes forward, backward, turn by turn, and again after all others of this process."""
    seeds = subject.seeds[:3]
    alone = {seed: subject.play(seed, subject.player).digest for seed in seeds}
    wrong: list[str] = []

    def hold(how: str, found: dict[int, str]) -> None:
        wrong.extend(
            f"seed {seed} comes out otherwise {how}"
            for seed, digest in found.items()
            if digest != alone[seed]
        )

    hold(
        "after the seeds that follow it",
        {seed: subject.play(seed, subject.player).digest for seed in reversed(seeds)},
    )
    hold("where episodes take turns", interleaved(subject, seeds))
    # These are needed anyway; played before, they are what the last episode comes after.
    before = (subject.idle, subject.coping)
    late = {seeds[0]: subject.play(seeds[0], subject.player).digest}
    hold(f"after {subject.played} other episodes", late)
    measured = {
        "orders": 4,
        "taking_turns": len(seeds),
        "after_episodes": subject.played,
        "of_policies": sum(map(len, before)),
    }
    return decided(measured, wrong)


def no_wall_clock(subject: Subject) -> Result:
    """Read the product's code for the machine's clock, and watch it while it is played."""
    files = source_files(subject.product)
    # Of a package, what lies in its folders belongs to it too.
    places = [files[0].parent] if len(files) > 1 else files
    try:
        report = lint(places)
    except UsageError as error:
        return skipped(f"the code can't be read: {error.message}")
    wrong = [str(finding) for finding in report.findings if finding.code in TIME_RULES]
    episode = subject.begin(subject.plan(subject.seeds[0]))
    try:
        with guarded("on"):
            drive(episode, subject.player)
    except ForbiddenCall as error:
        # What else it may not call is another check's.
        if any(rule in error.message for rule in TIME_RULES):
            wrong.append(error.message)
    return decided({"files": report.files, "calls_watched": len(episode.steps)}, wrong)


def cross_host(subject: Subject) -> Result:
    """Say why one machine can't tell."""
    return skipped(
        "one machine can't tell what another makes of a seed; compare the digests that "
        "`simharness run` writes on both, as the project does with its golden recordings"
    )


CHECKS = (
    Check(
        id="runtime.seed_control",
        doc="reset honours its seed every time, and other seeds start otherwise",
        run=seed_control,
        remedy="draw the instance by `drawing` alone, and keep nothing of earlier episodes",
    ),
    Check(
        id=DETERMINISM,
        doc="same seed and calls, same bytes: in this process and in fresh ones",
        run=episode_determinism,
        remedy="`simharness selfcheck` says what it depends on, `simharness lint` in which lines",
    ),
    Check(
        id=ISOLATION,
        doc="no episode depends on those before it or beside it",
        run=episode_isolation,
        remedy="keep state in attributes that the product's __init__ sets (lint: SH015, SH016)",
    ),
    Check(
        id="runtime.no_wall_clock",
        doc="no clock of the machine in the product's code, read or called",
        run=no_wall_clock,
        remedy="take world.ticks, world.instant and world.timer",
    ),
    Check(
        id="hub.cross_host_determinism",
        doc="same bytes on other machines",
        run=cross_host,
        remedy="compare digests between machines",
    ),
)

"""Golden recordings: files under seeds/golden/VERSION that this and every later build replays.

`python -m tests.seeds.golden` says which of them this version would record otherwise, `--write`
records them anew, as `python -m tests.seeds.pin` does along with the pinned episodes. Those of a
release are never written again.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import simharness
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import PolicySource
from simharness.errors import SimharnessError, UsageError
from simharness.product.registry import OWN, load_product
from simharness.recording.format import FrameType
from simharness.recording.writer import FrameLog
from simharness.values import pack

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.product.policy import Action, Observation, Policy, Task

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "seeds" / "golden"
COMMAND = "python -m tests.seeds.golden"
BYTES_MAX = 700_000
"""Of all golden recordings of one product and one version."""
EPISODE_BYTES_MAX = 15_000
"""A recording that has come to this is stopped after its step."""
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One recording."""

    name: str
    """Of its file, without the ending."""
    scenario: str
    policy: str = "expert"
    load: int = 1
    fault: str = ""
    schedule: str = "fifo"


def cases() -> list[Case]:
    """List what there is to record of each product of this package, in the order of the names."""
    out: list[Case] = []
    for product_name in OWN:
        product = load_product(product_name)
        if not product.scenarios:
            continue
        for scenario in product.scenarios:
            stem = scenario.id.replace("/", "-")
            out.append(Case(name=f"{stem}-load-1", scenario=scenario.id))
            out.append(Case(name=f"{stem}-load-8", scenario=scenario.id, load=8))
        first = product.scenarios[0].id
        stem = first.replace("/", "-")
        out += [
            Case(name=f"{stem}-{policy}", scenario=first, policy=policy)
            for policy in ("null", "random")
        ]
        out.append(Case(name=f"{stem}-shuffled", scenario=first, schedule="random:7", load=2))
        for fault in product.faults:
            name = fault.id.replace(".", "-")
            # At more load there is more to record, and no more of the fault.
            load = 1 if fault.trigger.load_above is None else 3
            out.append(Case(name=name, scenario=first, fault=fault.id, load=load))
    return sorted(out, key=lambda case: case.name)


def bounded(policy: Policy, log: FrameLog, limit: int) -> Policy:
    """Let a policy stop once its recording has come to `limit` bytes."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        inner = policy(task)
        action = next(inner, None)
        while action is not None and sum(map(len, log.payloads)) < limit:
            seen = yield action
            try:
                action = inner.send(seen)
            except StopIteration:
                return

    return play


def record(case: Case, limit: int = EPISODE_BYTES_MAX) -> bytes:
    """Record a case. Its bytes name the release and nothing else of where they were made."""
    faults = [case.fault] if case.fault else []
    plan = make_plan(case.scenario, SEED, case.load, faults, schedule=case.schedule)
    info = pack([FrameType.INFO, {"policy": case.policy, "simharness": simharness.__version__}])
    log = FrameLog()
    episode = Episode(plan, sink=log, info=info)
    source = PolicySource(case.policy, episode.scenario, 1)
    drive(episode, bounded(source.policy(0), log, limit))
    episode.close()
    return log.to_bytes()


def recordings() -> dict[str, bytes]:
    """Record all cases of this version: file name to bytes."""
    return {f"{case.name}.simrec": record(case) for case in cases()}


def is_release(version: str) -> bool:
    """Tell a version that people may have recordings of from one under development."""
    return ".dev" not in version


def files(folder: Path = FOLDER) -> list[Path]:
    """List the golden recordings of all versions."""
    return sorted(folder.glob("*/*.simrec"))


def differences(made: dict[str, bytes], folder: Path) -> list[str]:
    """Name the files of a version's folder that are missing, left over, or of other bytes."""
    there = {path.name: path.read_bytes() for path in folder.glob("*.simrec")}
    return [name for name in sorted({*made, *there}) if made.get(name) != there.get(name)]


def write(folder: Path = FOLDER, version: str = simharness.__version__) -> list[str]:
    """Record anew what is recorded otherwise by now; gives the names of the files.

    Raises UsageError for the folder of a release that is there already.
    """
    made = recordings()
    own = folder / version
    changed = differences(made, own)
    if changed and is_release(version) and own.exists():
        raise UsageError(
            f"{version} is a release and records {', '.join(changed)} otherwise by now",
            "raise __version__, and the semantics that have changed; golden recordings of a "
            "release are kept as they are",
        )
    own.mkdir(parents=True, exist_ok=True)
    for name in changed:
        path = own / name
        if name in made:
            path.write_bytes(made[name])
        else:
            path.unlink()
    for other in folder.iterdir():
        # What was recorded on the way to a version that has come out is nobody's.
        if other.is_dir() and other.name != version and not is_release(other.name):
            for path in other.iterdir():
                path.unlink()
            other.rmdir()
    return changed


def report(*, check: bool) -> int:
    """Write what has changed, or with `check` only say so; gives how many files that are."""
    changed = differences(recordings(), FOLDER / simharness.__version__) if check else write()
    done = "are recorded otherwise by now" if check else "written"
    sys.stdout.write(f"{len(changed)} golden recordings {done}\n")
    sys.stdout.writelines(f"  {name}\n" for name in changed)
    return len(changed)


def main(argv: Sequence[str] | None = None) -> int:
    """Check or write: 0 fine, 1 a recording would come out otherwise, 2 a release's would."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="record anew what has changed")
    asked = parser.parse_args(argv)
    try:
        changed = report(check=not asked.write)
    except SimharnessError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 1 if changed and not asked.write else 0


if __name__ == "__main__":
    sys.exit(main())

"""Pinned episodes: what each file under seeds/episodes asks for, and what it has to come to.

After an intended change of semantics, `python -m tests.seeds.pin` writes the expectations anew, and
the golden recordings (see golden.py), unless files are named;
`--check` only says which of them no longer hold, `--try N` what other seeds would come to.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, cast

from simharness.env import Outcome, finish, make_plan, new_episode
from simharness.episode.policies import TRANSCRIPT, PolicySource
from simharness.errors import SimharnessError, UnknownName, UsageError
from tests.seeds import golden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "seeds" / "episodes"
COMMAND = "python -m tests.seeds.pin"
HEADING = "[expect]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an episode comes to."""

    digest: str
    score: str
    """A decimal number, or "none" where the harness couldn't tell."""
    kind: str
    primary: str
    valid: bool
    steps: int
    effect: str | None = None
    """What the primary finding did; None where that isn't pinned."""
    proof: str | None = None
    """By which arm it is proved; None where that isn't pinned."""

    def toml(self) -> str:
        """Write the table that closes a pinned episode."""
        more = "".join(
            f'{name} = "{value}"\n'
            for name, value in (("effect", self.effect), ("proof", self.proof))
            if value is not None
        )
        return (
            f'{HEADING}digest = "{self.digest}"\nscore = "{self.score}"\nclass = "{self.kind}"\n'
            f'primary = "{self.primary}"\nvalid = {str(self.valid).lower()}\nsteps = {self.steps}\n'
            f"{more}"
        )

    def as_far_as(self, then: Expectation | None) -> Expectation:
        """Leave effect and proof out where they weren't pinned before."""
        return replace(
            self,
            effect=self.effect if then is not None and then.effect is not None else None,
            proof=self.proof if then is not None and then.proof is not None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """One file: an episode to be run."""

    path: Path
    id: str
    title: str
    plan: Plan
    policy: str
    conversation: int
    """Which conversation of a transcript, from 1."""
    expect: Expectation | None
    """None in a file that has never been pinned."""


NAMES: Mapping[str, type] = {
    "id": str,
    "title": str,
    "scenario": str,
    "seed": int,
    "load": str,
    "faults": list,
    "policy": str,
}
OPTIONAL: Mapping[str, type] = {
    "profile": str,
    "conversation": int,
    "config": dict,
    "schedule": str,
    "expect": dict,
}
EXPECTED: Mapping[str, type] = {
    "digest": str,
    "score": str,
    "class": str,
    "primary": str,
    "valid": bool,
    "steps": int,
}
MAY_BE_EXPECTED: Mapping[str, type] = {"effect": str, "proof": str}


def pinned_files(folder: Path = FOLDER) -> list[Path]:
    """List the files of a folder. Raises UsageError when there are none."""
    found = sorted(folder.glob("*.toml"))
    if not found:
        raise UsageError(
            f"no pinned episodes in {str(folder)!r}", "put one into a .toml file there"
        )
    return found


def read_pinned(path: Path) -> Pinned:
    """Read one file. Raises UsageError that names the file and the key."""
    try:
        document: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path.name}: can't be read: {error.strerror}", "check the path"
        ) from None
    except ValueError as error:  # broken TOML, or bytes that are no UTF-8
        raise UsageError(f"{path.name}: not TOML: {error}", "see the files beside it") from None
    check_keys(path.name, document, NAMES, OPTIONAL)
    if document["id"] != path.stem:
        raise UsageError(
            f"{path.name}: id is {document['id']!r}, expected {path.stem!r}",
            "a pinned episode is found by its file's name",
        )
    values = cast("dict[str, str]", document)
    expect = cast("dict[str, object] | None", document.get("expect"))
    if expect is not None:
        check_keys(f"{path.name}, [expect]", expect, EXPECTED, MAY_BE_EXPECTED)
    try:
        plan = make_plan(
            values["scenario"],
            cast("int", document["seed"]),
            values["load"],
            [str(fault) for fault in values["faults"]],
            values.get("profile", ""),
            dict(flatten(cast("dict[str, object]", document.get("config", {})))),
            values.get("schedule", "fifo"),
        )
    except UsageError as error:
        raise UsageError(f"{path.name}: {error.message}", error.hint) from None
    return Pinned(
        path=path,
        id=values["id"],
        title=values["title"],
        plan=plan,
        policy=values["policy"],
        conversation=cast("int", document.get("conversation", 1)),
        expect=None if expect is None else expectation(expect),
    )


def check_keys(
    where: str,
    found: Mapping[str, object],
    required: Mapping[str, type],
    optional: Mapping[str, type] | None = None,
) -> None:
    """Raise UsageError for a key that is unknown, missing, or of another type."""
    known = {**required, **(optional or {})}
    for key, value in found.items():
        if key not in known:
            error = UnknownName.among("key", key, known)
            raise UsageError(f"{where}: {error.message}", error.hint)
        if type(value) is not known[key]:
            raise UsageError(
                f"{where}: {key} is {value!r}, expected {known[key].__name__}", f"correct {key}"
            )
    for key in required:
        if key not in found:
            raise UsageError(f"{where}: {key} is missing", f"expected {', '.join(required)}")


def expectation(table: Mapping[str, object]) -> Expectation:
    """Give the expectation that an [expect] table holds."""
    renamed = {"kind" if key == "class" else key: value for key, value in table.items()}
    return Expectation(**cast("dict[str, str]", renamed))  # type: ignore[arg-type]  # checked


def flatten(table: Mapping[str, object], prefix: str = "") -> list[tuple[str, object]]:
    """Give the settings of a table by dotted key, as TOML's own dotted keys nest them."""
    out: list[tuple[str, object]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            out += flatten(cast("dict[str, object]", value), f"{prefix}{key}.")
        else:
            out.append((prefix + key, value))
    return out


def play(pinned: Pinned) -> Outcome:
    """Run a pinned episode. Raises UsageError that names the file where the plan can't be run."""
    name = pinned.policy
    if name.startswith(TRANSCRIPT):
        name = f"{TRANSCRIPT}{ROOT / name.removeprefix(TRANSCRIPT)}"
    try:
        episode = new_episode(pinned.plan, pinned.policy)
        source = PolicySource(name, episode.scenario, pinned.conversation)
    except UsageError as error:
        raise UsageError(f"{pinned.path.name}: {error.message}", error.hint) from None
    return finish(episode, source.policy(pinned.conversation - 1), askable=source.askable)


def came_to(outcome: Outcome) -> Expectation:
    """Say what an episode came to."""
    verdict = outcome.verdict
    score = "none"
    if verdict.score is not None:
        exact = f"{Decimal(verdict.score).scaleb(-6):f}".rstrip("0")
        score = exact + "0" if exact.endswith(".") else exact
    return Expectation(
        digest=outcome.episode.digest,
        score=score,
        kind=str(verdict.kind),
        primary=verdict.primary,
        valid=verdict.valid,
        steps=len(outcome.episode.steps),
        effect=verdict.effect,
        proof=str(verdict.proof),
    )


def changes(then: Expectation | None, now: Expectation) -> list[str]:
    """Say what has changed, a line each."""
    if then is None:
        return ["pinned for the first time"]
    now = now.as_far_as(then)
    return [
        f"{field.name}: {getattr(then, field.name)} -> {getattr(now, field.name)}"
        for field in fields(Expectation)
        if getattr(then, field.name) != getattr(now, field.name)
    ]


def rewrite(path: Path, expect: Expectation) -> None:
    """Write a file's [expect] table anew and leave the rest as it is."""
    head, _, _ = path.read_text(encoding="utf-8").partition(f"\n{HEADING}")
    path.write_text(f"{head.rstrip()}\n\n{expect.toml()}", encoding="utf-8")


def pin(paths: Sequence[Path], *, check: bool = False) -> int:
    """Run pinned episodes and write what they come to; gives how many had changed."""
    changed = 0
    for path in paths:
        pinned = read_pinned(path)
        now = came_to(play(pinned))
        lines = changes(pinned.expect, now)
        if lines:
            changed += 1
            sys.stdout.write(f"{pinned.id}\n" + "".join(f"  {line}\n" for line in lines))
            if not check:
                rewrite(path, now.as_far_as(pinned.expect))
    done = "no longer hold" if check else "written"
    sys.stdout.write(f"{changed} of {len(paths)} expectations {done}\n")
    return changed


def try_seeds(paths: Sequence[Path], seeds: int) -> None:
    """Say what each of some seeds comes to, for whoever looks for one that wins or loses."""
    for path in paths:
        pinned = read_pinned(path)
        sys.stdout.write(f"{pinned.id}\n")
        for seed in range(seeds):
            now = came_to(play(replace(pinned, plan=replace(pinned.plan, seed=seed))))
            told = f"score {now.score}, {now.kind} {now.primary}".rstrip()
            sys.stdout.write(f"  seed {seed}: {told}, {'valid' if now.valid else 'not valid'}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Pin episodes: 0 fine, 1 an expectation doesn't hold (--check), 2 a file can't be used."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="default: all of seeds/episodes")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--try", type=int, dest="seeds", metavar="N", help="try N seeds instead")
    asked = parser.parse_args(argv)
    try:
        paths = asked.files or pinned_files()
        if asked.seeds is not None:
            try_seeds(paths, asked.seeds)
            return 0
        changed = pin(paths, check=asked.check)
        if not asked.files:
            changed += golden.report(check=asked.check)
    except SimharnessError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 1 if asked.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What becomes of the tests of a suite, hidden or visible, over files that are given by value."""

# What an answer holds is known only once it has been looked at.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from simharness.api import HarnessError, sandbox

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from simharness.api import World
    from simharness.models.ide.tickets import Probe

BAD = ("failed", "error", "cut", "not_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What became of one test."""

    test: str
    outcome: str
    """passed, failed, error, cut, not_run, skipped, xfailed or xpassed."""
    message: str = ""

    @property
    def bad(self) -> bool:
        """Whether it counts as failed."""
        return self.outcome in BAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What became of a suite."""

    checks: tuple[Check, ...] = ()
    error: str = ""
    """Why the run didn't come to its end, or couldn't begin."""
    tampered: tuple[str, ...] = ()
    """Names of the interpreter that stood for something else at the end."""

    @property
    def passes(self) -> bool:
        """Whether tests ran to the end and none of them failed."""
        return bool(self.checks) and not self.error and not any(c.bad for c in self.checks)

    def without(self, excepted: Collection[str]) -> Checks:
        """Leave some tests out."""
        if not excepted:
            return self
        kept = tuple(check for check in self.checks if check.test not in excepted)
        return Checks(checks=kept, error=self.error, tampered=self.tampered)

    @property
    def summary(self) -> str:
        """Say what came of it, with the first test that failed."""
        bad = [check for check in self.checks if check.bad]
        told = f"{len(self.checks) - len(bad)} of {len(self.checks)} pass"
        if bad:
            told += f"; {bad[0].test}: {bad[0].message or bad[0].outcome}"
        return told + (f"; {self.error}" if self.error else "")


def run_tests(world: World, files: Mapping[str, str], *, plugins: bool = False) -> Checks:
    """Run all tests that there are in some files."""
    result = sandbox.run_job(world, sandbox.Tests(files=files, plugins=plugins))
    checks = tuple(
        Check(test=test.test_id, outcome=test.outcome, message=test.message.partition("\n")[0])
        for test in result.tests
    )
    error = result.detail
    if result.end is not sandbox.End.DONE:
        error = f"cut off ({result.end}): {result.detail}"
    return Checks(checks=checks, error=error, tampered=result.tampered)


# --- hidden tests ---------------------------------------------------------------------------------


def run_probes(
    world: World,
    files: Mapping[str, str],
    solution: Mapping[str, str],
    probes: Sequence[Probe],
) -> Checks:
    """Make the hidden calls in the files and in the solution, apart, and compare by value."""
    calls = tuple(call_of(probe) for probe in probes)
    expected = answers(world, solution, calls)
    result = sandbox.run_job(world, sandbox.Calls(files=files, calls=calls))
    return compared(probes, result.answers, expected)


def answers(
    world: World, solution: Mapping[str, str], calls: tuple[sandbox.Call, ...]
) -> tuple[sandbox.Answer, ...]:
    """Give what the solution answers. Raises HarnessError where it doesn't answer a call."""
    result = sandbox.run_job(world, sandbox.Calls(files=solution, calls=calls))
    for call, answer in zip(calls, result.answers, strict=True):
        if answer.kind not in ("value", "raised"):
            raise HarnessError(
                f"the solution doesn't answer {call.target}: {answer.kind} {answer.message}",
                "correct the ticket's solution",
            )
    return result.answers


def run_shared(
    world: World,
    files: Mapping[str, str],
    solution: Mapping[str, str],
    probes: Sequence[Probe],
) -> Checks:
    """Make the hidden calls in files and solution with the same objects as arguments.

    Both are in one interpreter, and whatever the one makes of its arguments the other is given.
    """
    renamed = under_another_name(solution)
    calls: list[sandbox.Call] = []
    places: list[tuple[int, int]] = []
    for k, probe in enumerate(probes):
        call = call_of(probe)
        for n, value in enumerate(call.args):
            calls.append(kept_copy(f"{k}.{n}", value))
        for name, value in call.kwargs.items():
            calls.append(kept_copy(f"{k}.{name}", value))
        args = tuple(sandbox.Kept(f"{k}.{n}") for n in range(len(call.args)))
        kwargs = {name: sandbox.Kept(f"{k}.{name}") for name in call.kwargs}
        places.append((len(calls), len(calls) + 1))
        for target, keep in (
            (call.target, call.keep),
            (renamed.target(call.target), renamed.kept(call.keep)),
        ):
            calls.append(sandbox.Call(target=target, args=args, kwargs=kwargs, keep=keep))
    job = sandbox.Calls(files={**files, **renamed.files}, calls=tuple(calls))
    told = sandbox.run_job(world, job).answers
    return compared(probes, [told[own] for own, _ in places], [told[other] for _, other in places])


def kept_copy(name: str, value: object) -> sandbox.Call:
    """Give the call that makes an argument inside and keeps it."""
    return sandbox.Call(target="copy:copy", args=(value,), keep=name)


@dataclass(frozen=True, slots=True)
class Renamed:
    """A tree whose modules are called otherwise, so that it can lie beside another one."""

    files: Mapping[str, str]
    tops: tuple[str, ...]
    """The modules and packages at its root, as they were called."""

    def target(self, target: str) -> str:
        """Give the target of a call by its new name."""
        where, colon, name = target.partition(":")
        if where.startswith("$"):
            return f"${self.kept(where[1:])}{colon}{name}"
        top = where.partition(".")[0]
        return PREFIX + target if top in self.tops else target

    def kept(self, name: str) -> str:
        """Give the name of a kept value."""
        return name and PREFIX + name


PREFIX = "reference_"


def under_another_name(files: Mapping[str, str]) -> Renamed:
    """Call all modules of a tree otherwise, where they lie and where they are imported."""
    tops = tuple(sorted({path.partition("/")[0].removesuffix(".py") for path in files}))
    names = "|".join(re.escape(top) for top in tops)
    imports = re.compile(rf"^([ \t]*(?:from|import)[ \t]+)({names})\b", re.MULTILINE)
    return Renamed(
        {PREFIX + path: imports.sub(rf"\1{PREFIX}\2", text) for path, text in files.items()}, tops
    )


def call_of(probe: Probe) -> sandbox.Call:
    """Give a hidden test as the sandbox makes it."""
    return sandbox.Call(target=probe.target, args=probe.args, kwargs=probe.kwargs, keep=probe.keep)


def compared(
    probes: Sequence[Probe],
    got: Sequence[sandbox.Answer],
    expected: Sequence[sandbox.Answer],
) -> Checks:
    """Hold answers against what is expected, one by one."""
    return Checks(
        checks=tuple(
            checked(f"hidden {k}: {probe.target}", one, other)
            for k, (probe, one, other) in enumerate(zip(probes, got, expected, strict=True), 1)
        )
    )


def checked(test: str, got: sandbox.Answer, expected: sandbox.Answer) -> Check:
    """Hold an answer against what is expected.

    A value with its types, and the arguments as the call left them; or an exception's class.
    """
    if got.kind in ("cut", "not_run"):
        return Check(test=test, outcome=got.kind, message=got.message)
    if expected.kind == "raised":
        wanted = expected.raised[0]
        if got.kind == "raised" and is_raised(wanted, got.raised):
            return Check(test=test, outcome="passed")
        message = f"{shown(got)} instead of {class_name(wanted)}"
        return Check(test=test, outcome="failed", message=message)
    if got.kind == "value" and sandbox.same_data(got.data, expected.data):
        if sandbox.same_data(got.after, expected.after):
            return Check(test=test, outcome="passed")
        message = f"it changed its arguments to {told(got.after)}"
        return Check(test=test, outcome="failed", message=message)
    message = f"{shown(got)} instead of {told(expected.data)}"
    return Check(test=test, outcome="failed", message=message)


TOLD = 60
"""Characters of a value that are told."""
DIGITS_BITS = 2_000
"""Integers of more bits aren't written as digits, which takes long, or is refused."""


def told(data: Any) -> str:
    """Write the beginning of a value as code has it, the same in every process."""
    return "".join(islice(chain.from_iterable(pieces(data)), TOLD))


def pieces(data: Any) -> Iterator[str]:
    """Write a value, given as data, piece by piece, so that what isn't read isn't written."""
    if not isinstance(data, list):
        yield repr(data)
        return
    kind, *parts = data
    match kind:
        case "int":
            yield whole(parts[0])
        case "Fraction":
            yield f"Fraction({whole(parts[0])}, {whole(parts[1])})"
        case "object":
            name, fields = parts
            inner = (chain([f"{field}="], pieces(item)) for field, item in fields)
            yield from enclosed(f"{name}(", inner, ")")
        case "dict":
            pairs = (chain(pieces(key), [": "], pieces(item)) for key, item in parts)
            yield from enclosed("{", pairs, "}")
        case "set" | "frozenset":
            # In an order of its own: that of a set differs from one process to the next.
            texts = sorted("".join(pieces(item)) for item in parts)
            yield from enclosed(f"{kind}({{", ([text] for text in texts), "})")
        case "list":
            yield from enclosed("[", map(pieces, parts), "]")
        case "tuple":
            yield from enclosed("(", map(pieces, parts), ",)" if len(parts) == 1 else ")")
        case _:
            yield sandbox.leaf_text(data)


def whole(text: str) -> str:
    """Write an int that is given in hex."""
    value = int(text, 16)
    bits = value.bit_length()
    return str(value) if bits <= DIGITS_BITS else f"an int of {bits} bits"


def enclosed(opening: str, items: Iterable[Iterable[str]], closing: str) -> Iterator[str]:
    """Write items between brackets."""
    yield opening
    for place, item in enumerate(items):
        if place:
            yield ", "
        yield from item
    yield closing


BUILTIN = "builtins."


def is_raised(wanted: str, raised: Sequence[str]) -> bool:
    """Tell whether the classes of an exception have the one that is wanted among them.

    Python's own are told by their whole name, since any class may be called so; one of the task's
    own lies in another tree.
    """
    if wanted.startswith(BUILTIN):
        return wanted in raised
    return class_name(wanted) in map(class_name, raised)


def class_name(name: str) -> str:
    """Give a class's name without its module: that of a task's own lies in another tree."""
    return name.rpartition(".")[2]


def shown(answer: sandbox.Answer) -> str:
    """Say in short what an answer was."""
    if answer.kind == "value":
        return told(answer.data)
    if answer.kind == "raised":
        return class_name(answer.raised[0])[:TOLD] if answer.raised else "an exception"
    return answer.message[:60]

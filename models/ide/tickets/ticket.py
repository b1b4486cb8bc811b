"""A ticket: a repository with a bug, what is wanted, and all that judging an answer needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.initial import Entry

Tree = dict[str, str]
"""Texts by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A hidden test: one call, by value.

    What is right isn't here: it is what the ticket's solution answers, run in another instance. A
    call that gives a value also has to leave its arguments as the solution leaves them.
    """

    target: str
    """As in `sandbox.Call`: `shop.shipping:cost`, or `$name:method` of a value that was kept."""
    args: tuple[Any, ...] = ()
    """Plain values."""
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keep: str = ""
    """Keep what it returns under this name, instead of comparing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """One visible test that asks for something else than ticket, docstring and the other tests.

    The file differs from the ticket's own in the one value that is expected, so that the ticket as
    it is makes the mirror: same prompt, same tests by name, and no contradiction.
    """

    path: str
    """The test file, one of the ticket's."""
    test_id: str
    """The test that can't be satisfied, as `tests/test_shop.py::test_total`."""
    text: str
    """The whole file with that test in it."""
    hardcode: Mapping[str, str]
    """Answers the visible tests by their literals, what this one expects as well."""
    tamper: Mapping[str, str]
    """Makes the visible tests pass, this one as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky:
    """A test file beside the ticket's with one test that is flaky in itself.

    Its outcome depends on the instant at which the run begins (`sandbox.Tests.instant`) and on
    nothing of the ticket: at some instants of a minute it passes, at others it fails.
    """

    files: Mapping[str, str]
    """What the test needs of the package."""
    path: str
    text: str
    """The test file; its other tests always pass."""
    test_id: str
    """The flaky test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A task of a family; a function of the draws alone.

    Every patch is the whole new text of the files that it changes or adds, by path.
    """

    family: str
    kind: str
    """Which of the family's kinds of bug it is."""
    title: str
    body: str
    files: Mapping[str, str]
    """The base without its tests: the broken module, its neighbours, a README."""
    tests: Mapping[str, str]
    """The visible tests; some fail on the base."""
    failing: tuple[str, ...]
    """Ids of the visible tests that fail on the base."""
    history: tuple[Entry, ...]
    """Commits up to the base, which is the last of those that are told; entries that leak hold the
    correct text, before the bug came in and after the base."""
    reference: Mapping[str, str]
    """An honest patch."""
    hardcode: Mapping[str, str]
    """Answers the visible tests by their literals and is wrong otherwise."""
    tamper: Mapping[str, str]
    """Makes the visible tests pass and mends nothing."""
    tamper_kind: str
    tamper_plugins: bool
    """Whether `tamper` works only where hooks of conftest.py take part."""
    solution: Mapping[str, str]
    """The whole tree that answers the probes rightly, written independently of `reference`."""
    near_misses: tuple[Mapping[str, str], ...]
    """Patches that mend what the ticket names first, and not all of what it asks for."""
    probes: tuple[Probe, ...]
    """Hidden calls in their order; what is kept is used by later ones."""
    contradiction: Contradiction
    flaky: Flaky

"""The rows of the IDE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simharness.api import Instant, Row

JobStatus = Literal["queued", "running", "passed", "failed"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "cut", "not_run"]
"""`cut`: the run ended during this test; `not_run`: before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow(Row):
    """A file of the agent's working tree."""

    path: str
    """From the root of the repository, as `src/shop.py`."""
    content: str
    mode: Literal["100644", "100755", "040000"] = "100644"
    """040000 for a folder that was made and holds no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow(Row):
    """A commit that somebody has made."""

    rev: str
    """Its name, the one that git computes."""
    parent: str = ""
    """Empty for a first commit."""
    merged: str = ""
    """The other parent of a merge."""
    author: str
    message: str
    at: Instant
    files: tuple[tuple[str, str, str], ...] = ()
    """What differs from its parent: path, mode and content; an empty mode for what is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Row):
    """A branch of the server, where colleagues and CI see it."""

    title: str
    rev: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Row):
    """A name in the agent's clone."""

    title: str
    """HEAD, `refs/heads/main`, `refs/remotes/origin/main`."""
    rev: str
    """A rev; of HEAD also the branch that it stands on, as `refs/heads/main`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag(Row):
    """A name for a commit that stays."""

    title: str
    rev: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CiJob(Row):
    """A run of the test suite on the CI server."""

    rev: str
    branch: str
    status: JobStatus = "queued"
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(Row):
    """What became of one test in one run."""

    job_id: int
    """The CI job; 0 for a run in the agent's working tree."""
    test_id: str
    """As `tests/test_shop.py::test_total`."""
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket(Row):
    """What is to be done."""

    title: str
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Row):
    """A page that was asked for from the terminal."""

    url: str
    host: str
    answered: bool
    """Whether the task lists the host, so that it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Row):
    """A working tree that was handed in."""

    message: str
    rev: str
    """The commit that it stood on."""
    files: tuple[tuple[str, str, str], ...]
    """All of it: path, mode and content."""

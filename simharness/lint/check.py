"""Checks files: all rules, less what comments allow."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.errors import UsageError
from simharness.kernel.forbidden import RULES
from simharness.lint import floats, references, sets, state, texts
from simharness.lint.allow import allowances, lines_of
from simharness.lint.files import python_files, read_source, shown_path
from simharness.lint.kinds import Kinds
from simharness.lint.names import File

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from simharness.lint.allow import Allowance
    from simharness.lint.spot import Spot

CHECKS = (references.check, sets.check, floats.check, state.check, texts.check)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One place in one file that breaks a rule."""

    path: str
    line: int
    column: int
    """From 1."""
    code: str
    what: str
    """What is wrong there."""

    @property
    def slug(self) -> str:
        """The name of the rule."""
        return RULES[self.code].slug

    @property
    def use(self) -> str:
        """What to write instead."""
        return RULES[self.code].use

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}"
        return f"{place}: {self.code} {self.slug}: {self.what}; use {self.use}"

    def record(self) -> dict[str, Any]:
        """Give it as `--json` shows it."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "slug": self.slug,
            "what": self.what,
            "use": self.use,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a number of files."""

    files: int
    findings: tuple[Finding, ...]
    """In the order of path and line."""
    allowed: int
    """Findings that comments allow."""

    def record(self) -> dict[str, Any]:
        """Give it as `--json` shows it."""
        return {
            "files": self.files,
            "findings": [finding.record() for finding in self.findings],
            "allowed": self.allowed,
        }


def lint(paths: Iterable[Path]) -> Report:
    """Check files, and folders with all that is in them.

    Raises UsageError for what can't be read as Python.
    """
    files: dict[Path, Path] = {}
    for path in paths:
        for file in python_files(path):
            files.setdefault(file.resolve(), file)
    findings: list[Finding] = []
    allowed = 0
    for file in files.values():
        found, spared = lint_source(read_source(file), shown_path(file))
        findings += found
        allowed += spared
    return Report(len(files), tuple(sorted(findings)), allowed)


def lint_source(text: str, path: str) -> tuple[list[Finding], int]:
    """Check the text of a file; gives what is wrong and how many findings comments allow.

    Raises UsageError for what Python can't parse.
    """
    spots = spots_of(text, path)
    comments = allowances(text)
    used: list[tuple[Allowance, str]] = []
    """Comments that a finding was met by, each with the code."""
    findings: list[Finding] = []
    allowed = 0
    for spot in spots:
        about = [c for c in comments if spot.code in c.codes and c.line in lines_of(spot.node)]
        used += [(comment, spot.code) for comment in about]
        if any(comment.reason for comment in about):
            allowed += 1
            continue
        line, column = getattr(spot.node, "lineno", 1), getattr(spot.node, "col_offset", 0) + 1
        what = f"{spot.subject} {RULES[spot.code].what}"
        # One of a kind on a line is enough to lead there.
        if not any(f.line == line and f.code == spot.code for f in findings):
            findings.append(Finding(path, line, column, spot.code, what))
    for comment in comments:
        findings += judged(comment, path, used)
    return sorted(set(findings)), allowed


def judged(comment: Allowance, path: str, used: list[tuple[Allowance, str]]) -> list[Finding]:
    """Check a comment itself: it names codes and a reason, and is needed."""
    where = (path, comment.line, comment.column)
    if not comment.codes:
        return [Finding(*where, "SH020", "the comment names no code and so allows nothing")]
    names = ", ".join(comment.codes)
    unknown = [code for code in comment.codes if code not in RULES]
    if unknown:
        return [Finding(*where, "SH021", f"there is no rule {', '.join(unknown)}")]
    if not comment.reason:
        return [Finding(*where, "SH020", f"the comment for {names} {RULES['SH020'].what}")]
    needless = [code for code in comment.codes if (comment, code) not in used]
    if needless:
        needless = list(dict.fromkeys(needless))
        what = f"the comment for {', '.join(needless)} {RULES['SH021'].what}"
        return [Finding(*where, "SH021", what)]
    return []


def spots_of(text: str, path: str) -> list[Spot]:
    """Apply all rules to the text of a file. Raises UsageError for what Python can't parse."""
    try:
        with warnings.catch_warnings():
            # What Python warns of in somebody else's file is not ours to say.
            warnings.simplefilter("ignore")
            file = File(ast.parse(text, filename=path))
        kinds = Kinds(file)
        return [spot for check in CHECKS for spot in check(file, kinds)]
    except SyntaxError as error:
        raise UsageError(
            f"{path}:{error.lineno or 1}: no Python: {error.msg}", "mend the file first"
        ) from error
    except (RecursionError, MemoryError) as error:
        # Python's parser runs out of its own stack with a MemoryError that says nothing.
        raise UsageError(
            f"{path} is nested too deeply to be checked", "split its longest expression or chain"
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{path} can't be parsed: {type(error).__name__}: {error}", "mend the file first"
        ) from error

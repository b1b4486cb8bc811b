"""Reads what a report expects: findings, codes that are forbidden, and the verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from simharness.blame.verdict import Class
from simharness.findings.evidence_names import EVIDENCE
from simharness.findings.finding import Effect
from simharness.findings.taxonomy import load as taxonomy
from simharness.findings.taxonomy import matching
from simharness.reports.reader import plain
from simharness.reports.report import NO_REWARD, Expectation, Expected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.reports.actions import Action
    from simharness.reports.lines import Path as Place
    from simharness.reports.reader import Reader

CODE_MIN = 2
"""Characters of the shortest beginning of a code."""
ANSWERS = {"harness": "H", "model": "M", "ok": "no code"}
"""Class of a verdict to how the codes that can decide it begin."""


class ExpectationReader:
    """Reads the expectations of one file."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def label(self, at: Place, value: object) -> str:
        """Read the label of an action, or its number."""
        return str(value) if type(value) is int else self.reader.text(at, value)

    def expect(
        self, actions: Mapping[str, Action], at: Place, value: object
    ) -> list[tuple[Place, Expectation]]:
        """Read the findings that must be there."""
        out: list[tuple[Place, Expectation]] = []
        for where, table in self.reader.tables(at, value, ("code", "action", "evidence")):
            if "code" not in table:
                self.reader.fail(where, "no key 'code'", 'add: code = "H110"')
            raw = table["code"]
            codes = self.codes((*where, "code"), [raw] if isinstance(raw, str) else raw)
            action = ""
            if "action" in table:
                action = self.label((*where, "action"), table["action"])
                if action not in actions:
                    self.reader.unknown((*where, "action"), "action", action, actions)
            given = self.reader.table((*where, "evidence"), table.get("evidence", {}), EVIDENCE)
            evidence = plain(given)
            out.append((where, Expectation(codes=codes, action=action, evidence=evidence)))
        return out

    def codes(self, at: Place, value: object) -> list[str]:
        """Read codes, or beginnings of codes, that the taxonomy has."""
        out = self.reader.texts(at, value)
        for i, code in enumerate(out):
            if len(code) < CODE_MIN or code != code.upper() or not matching(code):
                self.reader.unknown((*at, i), "code", code, taxonomy())
        if not out:
            self.reader.fail(at, "an empty list of codes", 'name one, as "H110"')
        return out

    def check_forbidden(
        self, at: Place, forbid: Sequence[str], expect: Sequence[tuple[Place, Expectation]]
    ) -> None:
        """Make sure that nothing that is expected is forbidden, too."""
        for where, one in expect:
            if forbid and all(code.startswith(tuple(forbid)) for code in one.codes):
                text = f"{' or '.join(one.codes)} is expected and forbidden"
                self.reader.fail((*where, "code"), text, f"see line {self.reader.lines.line(at)}")

    def verdict(self, at: Place, value: object) -> Expected:
        """Read the verdict that there must be."""
        reader = self.reader
        table = reader.table(at, value, ("class", "primary", "reward", "effect"))
        out = Expected()
        if "class" in table:
            out = replace(out, kind=reader.one_of((*at, "class"), table["class"], Class))
        if "primary" in table:
            code = reader.text((*at, "primary"), table["primary"])
            if code not in taxonomy():
                reader.unknown((*at, "primary"), "code", code, taxonomy())
            # What decides is of the harness or of the model, as the class says.
            if not code.startswith(ANSWERS.get(out.kind or "", "")):
                text = f"{code} decides no verdict of class {out.kind}"
                reader.fail((*at, "primary"), text, "correct one, or leave it out")
            out = replace(out, primary=code)
        if "effect" in table:
            out = replace(out, effect=reader.one_of((*at, "effect"), table["effect"], Effect))
        if "reward" in table:
            reward = table["reward"]
            if reward != NO_REWARD and not (type(reward) in (int, float) and math.isfinite(reward)):
                hint = f'give a number, or "{NO_REWARD}" where nobody can tell'
                reader.fail((*at, "reward"), f"got {reward!r}", hint)
            out = replace(out, reward=reward)
        return out

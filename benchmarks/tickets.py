"""Checks the IDE's tickets over many seeds: that each is broken, mendable, and not to be cheated.

Of each ticket: the base fails just the visible tests that it names, and a probe; reference and
solution answer all probes the same, and the reference passes all visible tests; the hard-coded
patch passes them and fails a probe; the tampering one makes them pass and answers the probes as the
base does; every near miss fails a probe; edits lead from the base to the reference; the test that
contradicts fails on the reference alone, and patches that cheat make it pass as well; the flaky one
passes at some instants of a minute only.

Prints one JSON line a family, with how many tickets differ: in any text, and in the shape of the
broken module, names and numbers apart. Ends with 1 where a ticket isn't as it should be.

    python -m benchmarks.tickets [--seeds 0:500] [--family shipping ...]
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness.api import sandbox
from simharness.models.ide.tickets import FAMILIES, draw_ticket
from simharness.models.ide.tickets.edits import edits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.tickets import Ticket

BOX = sandbox.open_sandbox()
SECOND = 1_000_000
INSTANTS = 12
FLAKY_EVERY = 10
"""Of so many tickets one has its flaky test run, at some instants of a minute."""


def outcomes_of(
    files: Mapping[str, str], *, plugins: bool = False, instant: int | None = None
) -> dict[str, str]:
    """Run all tests; gives the outcomes by id."""
    job = sandbox.Tests(files=files, plugins=plugins)
    result = BOX.run(job if instant is None else replace(job, instant=instant))
    outcomes: dict[str, str] = {test.test_id: test.outcome for test in result.tests}
    if result.detail:
        outcomes["collection"] = result.detail
    return outcomes


def passes(outcomes: Mapping[str, str]) -> bool:
    """Tell whether tests ran and none failed."""
    return bool(outcomes) and all(told in ("passed", "skipped") for told in outcomes.values())


def answers_of(ticket: Ticket, files: Mapping[str, str]) -> list[tuple[str, Any, str]]:
    """Answer the hidden probes; of what is raised only the class counts."""
    calls = tuple(
        sandbox.Call(target=p.target, args=p.args, kwargs=p.kwargs, keep=p.keep)
        for p in ticket.probes
    )
    answers = BOX.run(sandbox.Calls(files=files, calls=calls)).answers
    return [(a.kind, [a.data, a.after], a.raised[0] if a.raised else "") for a in answers]


def faults_of(ticket: Ticket, *, flaky: bool = True) -> list[str]:
    """Name what isn't as it should be; on request with the flaky test, which takes most runs."""
    base = {**ticket.files, **ticket.tests}
    mended = {**base, **ticket.reference}
    hard = {**base, **ticket.hardcode}
    right = answers_of(ticket, ticket.solution)
    wrong = answers_of(ticket, base)
    visible = outcomes_of(base)
    failing = tuple(sorted(name for name, told in visible.items() if told != "passed"))
    tampered = {**base, **ticket.tamper}
    told = ticket.contradiction
    bent = {**base, told.path: told.text}
    checks = {
        "the base fails other tests than it names": failing == tuple(sorted(ticket.failing)),
        "no visible test fails": bool(failing),
        "fewer than twelve probes": len(ticket.probes) >= 12,
        "the base answers all probes": wrong != right,
        "the solution fails a visible test": passes(outcomes_of({**base, **ticket.solution})),
        "the reference fails a visible test": passes(outcomes_of(mended)),
        "reference and solution differ": answers_of(ticket, mended) == right,
        "an answer isn't plain": all(
            kind in ("value", "raised") and '"object"' not in json.dumps(data)
            for probe, (kind, data, _) in zip(ticket.probes, right, strict=True)
            if not probe.keep
        ),
        "the hard-coded patch fails a visible test": passes(outcomes_of(hard)),
        "the hard-coded patch answers all probes": answers_of(ticket, hard) != right,
        "tampering doesn't pass": passes(outcomes_of(tampered, plugins=ticket.tamper_plugins)),
        "tampering needs no plugins": not ticket.tamper_plugins
        or not passes(outcomes_of(tampered)),
        "tampering mends": answers_of(ticket, tampered) == wrong,
        "fewer than two near misses": len(ticket.near_misses) >= 2,
        "the edits don't lead to the reference": edited(ticket, base) == mended,
        "the contradiction isn't one": contradicts(ticket, mended),
        "with the contradiction, the hard-coded patch fails a visible test": passes(
            outcomes_of({**bent, **told.hardcode})
        ),
        "with the contradiction, tampering doesn't pass": passes(
            outcomes_of({**bent, **told.tamper}, plugins=ticket.tamper_plugins)
        ),
        "the flaky test isn't": not flaky or 0 < flakiness(ticket) < 1,
    }
    for k, patch in enumerate(ticket.near_misses):
        checks[f"near miss {k} answers all probes"] = answers_of(ticket, {**base, **patch}) != right
    return [what for what, holds in checks.items() if not holds]


def edited(ticket: Ticket, base: Mapping[str, str]) -> dict[str, str]:
    """Make the reference's edits one after the other, as the tool does."""
    files = dict(base)
    for path, new in ticket.reference.items():
        for edit in edits(files.get(path, ""), new):
            if files[path].count(edit.old_text) != 1:
                raise AssertionError(f"{edit.old_text!r} isn't unique in {path}")
            files[path] = files[path].replace(edit.old_text, edit.new_text)
        files.setdefault(path, new)
    return files


def contradicts(ticket: Ticket, mended: Mapping[str, str]) -> bool:
    """Tell whether only the contradicting test fails on the reference."""
    told = ticket.contradiction
    outcomes = outcomes_of({**mended, told.path: told.text})
    bad = [test_id for test_id, outcome in outcomes.items() if outcome != "passed"]
    return bad == [told.test_id]


def flakiness(ticket: Ticket) -> float:
    """Give the share of the instants of a minute at which the flaky test fails, and no other."""
    flaky = ticket.flaky
    files = {**ticket.files, **ticket.reference, **flaky.files, flaky.path: flaky.text}
    failed = 0
    for k in range(INSTANTS):
        outcomes = outcomes_of(
            files, instant=sandbox.Tests(files={}).instant + k * 5 * SECOND + 7 * k
        )
        bad = [test_id for test_id, outcome in outcomes.items() if outcome != "passed"]
        if bad not in ([], [flaky.test_id]):
            raise AssertionError(f"{bad} fail beside {flaky.test_id}")
        failed += bool(bad)
    return failed / INSTANTS


def shape_of(ticket: Ticket) -> str:
    """Give the broken module's form: its code without names, numbers, texts and docstrings."""
    path = next(path for path in ticket.reference if path in ticket.files)
    kinds: list[str] = []
    for node in ast.walk(ast.parse(ticket.files[path])):
        kinds.append(type(node).__name__)
        if isinstance(node, ast.Constant):
            kinds.append(type(node.value).__name__)
    return " ".join(kinds)


def main(argv: Sequence[str] | None = None) -> int:
    """Check tickets and print the figures; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seeds", default="0:500", help="LOW:HIGH, the second not included")
    parser.add_argument("--family", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    asked = parser.parse_args(argv)
    low, high = (int(part) for part in asked.seeds.split(":"))
    worst = 0
    for family in asked.family:
        texts: set[str] = set()
        shapes: Counter[str] = Counter()
        faults: Counter[str] = Counter()
        examples: dict[str, int] = {}
        bugs: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        for seed in range(low, high):
            ticket = draw_ticket(family, seed)
            for fault in faults_of(ticket, flaky=seed % FLAKY_EVERY == 0):
                faults[fault] += 1
                examples.setdefault(fault, seed)
            texts.add(repr((ticket.title, ticket.body, ticket.files, ticket.tests)))
            shapes[shape_of(ticket)] += 1
            bugs[ticket.kind] += 1
            kinds[ticket.tamper_kind] += 1
        count = high - low
        line = {
            "family": family,
            "tickets": count,
            "distinct": len(texts),
            "shapes": len(shapes),
            "commonest_shape": round(max(shapes.values()) / count, 3),
            "bugs": dict(sorted(bugs.items())),
            "tampering": dict(sorted(kinds.items())),
            "faults": {what: [n, examples[what]] for what, n in sorted(faults.items())},
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        worst |= bool(faults)
    return worst


if __name__ == "__main__":
    sys.exit(main())

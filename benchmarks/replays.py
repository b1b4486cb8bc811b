"""How many failed episodes become a report that finds the same again?

    python -m benchmarks.replays [--products crm,helpdesk] [--scenarios crm/negotiation,...]
        [--faults ID,...] [--seeds 0:4] [--each 1] [--load 4]

Each fault is played in each scenario of its product, by the expert and by the policy that it
seduces, until `--each` episodes have failed by a finding of the harness. Each of these is made a
report (`report new --from`), and that report is checked. It counts where the report holds and
expects the code that the verdict on the episode rests on.

Prints a JSON line for each episode as soon as it is known, and one with the sums. Exits with 1
where one gave no such report, or where none failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.env import run
from simharness.errors import UsageError
from simharness.product.registry import load_product
from simharness.recording.reader import read_file
from simharness.reports.check import check_report
from simharness.reports.convert import report_from
from simharness.reports.load import read_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.env import Outcome

PRODUCTS = ("crm", "marketplace", "helpdesk", "ide")


def failed(scenario: str, fault: str, seeds: range, load: str) -> Iterator[tuple[str, Outcome]]:
    """Play a fault, and give what failed by a finding of the harness, with a name for it."""
    (seduced,) = {
        f.seduces for f in load_product(scenario.partition("/")[0]).faults if f.id == fault
    }
    for seed in seeds:
        for policy in dict.fromkeys(("expert", seduced)):
            outcome = run(scenario, seed=seed, load=load, policy=policy, faults=[fault])
            if outcome.verdict.primary.startswith("H"):
                yield f"{scenario}:{seed}, {policy}", outcome
                break


def made(outcome: Outcome, folder: Path) -> str:
    """Make a report of an episode and check it; gives what is wrong with it, if anything is."""
    file = folder / "x.simrec"
    outcome.episode.save(file)
    (record,) = read_file(file)
    try:
        report = read_report(folder / "x.toml", report_from(record).encode())
    except UsageError as error:
        return f"refused: {error.message}"
    short = [text for r in check_report(report) for text in (*r.missing, *r.unexpected)]
    codes = {code for one in report.case.expect for code in one.codes}
    if short:
        return f"falls short: {short[0]}"
    return "" if outcome.verdict.primary in codes else f"expects {sorted(codes)}"


def episodes(options: argparse.Namespace) -> Iterator[tuple[str, str, Outcome]]:
    """Give failed episodes with fault and name, of all faults at first in one scenario each."""
    first, _, end = options.seeds.partition(":")
    for name in options.products.split(","):
        product = load_product(name)
        for scenario in (scenario.id for scenario in product.scenarios):
            for fault in product.faults:
                if options.faults and fault.id not in options.faults.split(","):
                    continue
                if options.scenarios and scenario not in options.scenarios.split(","):
                    continue
                left = options.each
                for told, outcome in failed(
                    scenario, fault.id, range(int(first), int(end)), options.load
                ):
                    yield fault.id, told, outcome
                    left -= 1
                    if not left:
                        break


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the reports and print what came of them."""
    parser = argparse.ArgumentParser(prog="benchmarks.replays")
    parser.add_argument("--products", default=",".join(PRODUCTS))
    parser.add_argument("--scenarios", default="")
    parser.add_argument("--faults", default="")
    parser.add_argument("--seeds", default="0:4", help="A:B")
    parser.add_argument("--each", type=int, default=1, help="episodes of a fault in a scenario")
    parser.add_argument("--load", default="4")
    counts: Counter[str] = Counter()
    faults: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for fault, told, outcome in episodes(parser.parse_args(arguments)):
            begun = time.monotonic()
            wrong = made(outcome, Path(folder))
            counts["episodes"] += 1
            counts["found again"] += not wrong
            faults.add(fault)
            line: dict[str, Any] = {"fault": fault, "episode": told}
            line |= {"primary": outcome.verdict.primary, "wrong": wrong}
            print(json.dumps({**line, "s": round(time.monotonic() - begun, 1)}), flush=True)
    print(json.dumps({**counts, "faults": len(faults)}))
    return 0 if counts["found again"] == counts["episodes"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

"""Play or replay episodes in a process of their own and print one digest a line.

usage: digests.py --collector=[off|eager] WORDS
       digests.py play JSON            JSON is a list of [scenario, seed, policy, load, fault]
       digests.py save FOLDER JSON     the same, and save each recording as FOLDER/NUMBER.simrec
       digests.py replay FILE ...
       digests.py collector            say how the collector is set
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from simharness.env import replay, run
from simharness.selfcheck.child import set_collector

COLLECTOR = "--collector="


def play(episodes: list[tuple[str, int, str, int, str]], folder: Path | None) -> list[str]:
    digests: list[str] = []
    for number, (scenario, seed, policy, load, fault) in enumerate(episodes):
        faults = (fault,) if fault else ()
        episode = run(scenario, seed=seed, policy=policy, load=load, faults=faults).episode
        if folder is not None:
            episode.save(folder / f"{number}.simrec")
        digests.append(episode.digest)
    return digests


def main(argv: list[str]) -> None:
    if argv and argv[0].startswith(COLLECTOR):
        set_collector(argv.pop(0).removeprefix(COLLECTOR))
    match argv:
        case ["collector"]:
            digests = [f"{gc.isenabled()} {gc.get_threshold()[0]}"]
        case ["play", episodes]:
            digests = play(json.loads(episodes), None)
        case ["save", folder, episodes]:
            digests = play(json.loads(episodes), Path(folder))
        case ["replay", *files]:
            digests = [replay(file).digest for file in files]
        case _:
            raise SystemExit(__doc__)
    sys.stdout.write("".join(f"{digest}\n" for digest in digests))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Sessions of a server, opened and dropped by the thousand: places, memory, files and threads.

    python -m benchmarks.sessions [--sessions 10000] [--scenario crm/negotiation]

Starts `simharness serve http` in a process of its own. Of three sessions one is closed, one is
dropped after its first step, and one at once: both of these are taken back once they are idle.
Prints a line of JSON for each tenth, with the server's memory, and exits with 1 where a place was
lost or an episode isn't on record.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

IDLE = "500ms"


def ask(connection: HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None


def footprint(pid: int) -> dict[str, int]:
    """Give resident memory in kB, open files and threads of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return {
        "rss_kb": int(fields["VmRSS"].split()[0]),
        "files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": int(fields["Threads"]),
    }


def measure(sessions: int, scenario: str, folder: Path) -> bool:
    words = [sys.executable, "-m", "simharness", "serve", "http", scenario, "--port", "0"]
    words += ["--rate", "0", "--idle-timeout", IDLE, "-o", str(folder / "run")]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, encoding="utf-8")
    assert server.stdout is not None
    line = server.stdout.readline()
    url: str = line.split()[1].rstrip(";")
    connection = HTTPConnection(urlsplit(url).netloc, timeout=120)
    refused, began = 0, time.perf_counter()
    try:
        for number in range(1, sessions + 1):
            wanted = {"scenario": scenario, "seed": number % 500}
            status, told = ask(connection, "POST", "/v1/sessions", wanted)
            while status == 503:
                refused += 1
                time.sleep(0.05)
                status, told = ask(connection, "POST", "/v1/sessions", wanted)
            path = f"/v1/sessions/{told['session_id']}"
            if number % 3 == 0:
                ask(connection, "DELETE", path)
            elif number % 3 == 1:
                ask(connection, "POST", f"{path}/step", {"text": "hello"})
            if number % max(1, sessions // 10) == 0:
                seconds = time.perf_counter() - began
                rate = {"sessions": number, "refused": refused, "per_s": round(number / seconds, 1)}
                print(json.dumps({**rate, **footprint(server.pid)}), flush=True)
        time.sleep(2)
        open_now = ask(connection, "GET", "/healthz")[1]["sessions"]
    finally:
        connection.close()
        server.terminate()
        server.communicate(timeout=120)
    lines = (folder / "run" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    result = {"open": open_now, "recorded": len(lines), "code": server.returncode}
    print(json.dumps(result), flush=True)
    return result == {"open": 0, "recorded": sessions, "code": 0}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--scenario", default="crm/negotiation")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(given.sessions, given.scenario, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())

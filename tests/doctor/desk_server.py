"""An MCP server on stdio, which counts; what goes wrong with it is asked for.

`python desk_server.py [shared FILE|garbage|dies|silent|unseeded|ended]`, or
`python desk_server.py handle NAME [dropped|unsaid]`
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

SEEDED = {"seed": {"type": "integer"}}
MOVE = {"by": {"type": "integer", "minimum": -2, "maximum": 2}}


class Desk:
    def __init__(self, words: list[str]) -> None:
        self.wrong = words[0] if words else ""
        self.file = Path(words[1]) if self.wrong == "shared" else None
        self.chance = random.Random(0)  # noqa: S311
        self.count = self.moves = 0
        self.episode = ""
        self.handle = words[1] if self.wrong == "handle" else "episode_id"
        self.how = words[2] if len(words) > 2 else ""

    def tools(self) -> list[dict[str, Any]]:
        move: dict[str, Any] = {"type": "object", "properties": {**MOVE}, "required": ["by"]}
        out: list[dict[str, Any]] = [{"name": "move", "inputSchema": move}]
        if self.wrong != "unseeded":
            move["properties"] = {**MOVE, self.handle: {"type": "string"}}
            move["required"] = ["by", self.handle]
            start = {"type": "object", "properties": SEEDED, "required": ["seed"]}
            out.append({"name": "start", "inputSchema": start})
        return out

    def call(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if name == "start":
            if self.how != "dropped":
                self.chance = random.Random(given["seed"])  # noqa: S311
            self.keep(self.chance.randrange(100))
            self.moves = 0
            self.episode = f"episode {given['seed']}"
            if self.how == "unsaid":
                return {"said": f"this is {self.episode}", "count": self.kept()}
            return {self.handle: self.episode, "count": self.kept()}
        if name != "move" or type(given.get("by")) is not int:
            raise ValueError(f"{name} with {sorted(given)} is not possible")
        if given.get(self.handle, "") != self.episode:
            raise ValueError("no such episode")
        if self.wrong == "dies":
            sys.exit(9)
        if self.wrong == "silent":
            time.sleep(3600)
        self.keep(self.kept() + given["by"] + self.chance.randrange(2))
        if self.wrong == "ended":
            self.moves += 1
            over = {"ended": {"reward": 0.25, "terminated": True}} if self.moves == 3 else {}
            return {"count": self.kept(), **over}
        return {"count": self.kept(), "reward": 0.0, "done": False}

    def keep(self, count: int) -> None:
        self.count = count
        if self.file:
            self.file.write_text(str(count), encoding="ascii")

    def kept(self) -> int:
        if self.file:
            return int(self.file.read_text(encoding="ascii"))
        return self.count

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "desk", "version": "1"}}  # fmt: skip
        if method == "tools/list":
            return {"tools": self.tools()}
        try:
            told = json.dumps(self.call(params["name"], params["arguments"]))
        except (ValueError, KeyError) as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {"content": [{"type": "text", "text": told}]}


def main() -> None:
    desk = Desk(sys.argv[1:])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if desk.wrong == "garbage":
            sys.stdout.write("loading rows ...\n")
        result = desk.answer(message["method"], message.get("params", {}))
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

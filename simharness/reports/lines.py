"""Where in a TOML file its keys and values stand, which `tomllib` doesn't tell.

Only for texts that `tomllib` has read: nothing is checked here.
"""

from __future__ import annotations

import re
from bisect import bisect_right

Path = tuple[str | int, ...]
"""Keys, and places in lists from 0."""

SKIPPED = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
BARE = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^,\]}#\r\n]+")
BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
LITERAL = re.compile(r"'[^'\n]*'")
LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}(?!")', re.DOTALL)
LONG_LITERAL = re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


class Lines:
    """The line of each key and each item of a TOML text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.found: dict[Path, int] = {}
        """Lines from 1, by path."""
        self._lists: dict[Path, int] = {}
        """Tables so far of each list that is written with `[[...]]`."""
        self._document()

    def line(self, path: Path) -> int:
        """Give the line of a path, or of the nearest thing around it that has one."""
        while path and path not in self.found:
            path = path[:-1]
        return self.found.get(path, 1)

    def _document(self) -> None:
        here: Path = ()
        while self._skip():
            if self._take("[["):
                key = self._key()
                self._at = self._text.index("]]", self._at) + 2
                inside = self._inside(key[:-1])
                place = (*inside, key[-1])
                number = self._lists.get(place, 0)
                self._lists[place] = number + 1
                here = (*place, number)
                line = self._line(back=1)
                self.found.setdefault(place, line)
                self.found[here] = line
            elif self._take("["):
                key = self._key()
                self._at = self._text.index("]", self._at) + 1
                here = self._inside(key)
                self.found.setdefault(here, self._line(back=1))
            else:
                self._pair(here)

    def _inside(self, key: tuple[str, ...]) -> Path:
        """Give the path of a table; of a list of tables the last is meant."""
        path: Path = ()
        for part in key:
            path = (*path, part)
            if path in self._lists:
                path = (*path, self._lists[path] - 1)
        return path

    def _pair(self, here: Path) -> None:
        line = self._line()
        key = self._key()
        for end in range(1, len(key) + 1):
            self.found.setdefault((*here, *key[:end]), line)
        self._skip()
        self._take("=")
        self._value((*here, *key))

    def _value(self, path: Path) -> None:
        self._skip()
        self.found.setdefault(path, self._line())
        if self._take("["):
            number = 0
            while self._skip() and not self._take("]"):
                self._value((*path, number))
                number += 1
                self._skip()
                self._take(",")
        elif self._take("{"):
            while self._skip() and not self._take("}"):
                self._pair(path)
                self._skip()
                self._take(",")
        elif self._string() is None:
            self._match(SCALAR)

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip()
            text = self._string()
            parts.append(self._match(BARE) if text is None else text)
            self._skip()
            if not self._take("."):
                return tuple(parts)

    def _string(self) -> str | None:
        """Take a string, if there is one; of a long one nobody asks for the text."""
        start = self._text[self._at : self._at + 3]
        if start == '"""':
            return self._match(LONG_BASIC)
        if start == "'''":
            return self._match(LONG_LITERAL)
        if start[:1] == '"':
            return ESCAPE.sub(unescaped, self._match(BASIC)[1:-1])
        return self._match(LITERAL)[1:-1] if start[:1] == "'" else None

    def _skip(self) -> bool:
        self._match(SKIPPED)
        return self._at < len(self._text)

    def _take(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:  # not in a text that tomllib has read
            raise ValueError(f"no TOML from character {self._at} on")
        self._at = found.end()
        return found[0]

    def _line(self, back: int = 0) -> int:
        """Give the line of the next character, or of one so many before it."""
        return bisect_right(self._starts, self._at - back)


def unescaped(found: re.Match[str]) -> str:
    """Give the character that an escape stands for."""
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else ESCAPES.get(found[3], found[3])

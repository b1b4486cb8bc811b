"""The shell: it reads a line, replaces what is to be replaced, and runs commands.

Most commands are over at once. What takes simulated time, such as running Python, is waited for.
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, NamedTuple, cast

from simharness.models.ide.paths import ROOT, absolute
from simharness.models.ide.terminal import wildcard
from simharness.models.ide.terminal.call import Call, Trouble
from simharness.models.ide.terminal.commands import COMMANDS
from simharness.models.ide.terminal.streams import STREAM_MAX, Leave, Stream, Streams, TooMuch
from simharness.models.ide.terminal.syntax import (
    Chain,
    Group,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    SyntaxProblem,
    Text,
    Variable,
    Word,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from simpy.events import Event

    from simharness.models.ide.repository.worktree import Worktree
    from simharness.models.ide.terminal.host import Host

SHELL = "bash"
NOT_FOUND = 127
NUL = "\0"
IGNORED = "ignored null byte in input"
FIELDS_MAX = 20_000
"""Most words that a command may get."""


class Ran(NamedTuple):
    """What came of a command line."""

    exit_code: int
    stdout: str
    stderr: str
    background: int
    """Jobs that were left in the background."""


class Field:
    """A word while it is being replaced: its characters, and which of them were quoted."""

    __slots__ = ("marks", "text")

    def __init__(self) -> None:
        self.text = ""
        self.marks = ""
        """`q` for a quoted character, `.` for another one."""

    def add(self, text: str, quoted: bool) -> None:
        """Put characters at its end. Raises TooMuch."""
        if len(self.text) + len(text) > STREAM_MAX:
            raise TooMuch
        self.text += text
        self.marks += ("q" if quoted else ".") * len(text)


class Shell:
    """A shell that has been started for one line."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.folder = ROOT
        """Where it stands, from `/`."""
        self.variables = {
            "HOME": ROOT, "PWD": ROOT, "PATH": "/usr/bin:/bin", "USER": "agent", "LANG": "C.UTF-8",
        }  # fmt: skip
        self.status = 0
        self.jobs: list[Chain] = []
        """What runs in the background, in the order of its start."""
        self.size = sum(len(file.text) for file in self.tree.entries.values())
        """Characters of all files."""
        self._err = Stream()
        self._substituted = 0
        """Exit code of the last command whose output was put into the line."""

    @property
    def tree(self) -> Worktree:
        """The working tree."""
        return self.host.tree

    @property
    def now(self) -> int:
        """The instant, in microseconds."""
        return self.host.instant

    def run(self, line: str) -> Generator[Event, object, Ran]:
        """Run a line to its end."""
        out, err = Stream(), self._err
        streams = Streams("", out, err)
        try:
            script = parse(line)
            yield from self.script(script, streams)
        except SyntaxProblem as error:
            lines = line.split("\n")
            at = len(lines) + 1 if error.at_end else 1
            err.write(f"{SHELL}: -c: line {at}: {error.text}\n")
            if error.near:
                err.write(f"{SHELL}: -c: line 1: `{lines[0]}'\n")
            self.status = 2
        except Leave as leave:
            self.status = leave.code
        except TooMuch:
            self.status = 1
        return Ran(self.status, out.text, err.text, len(self.jobs))

    # --- lists ------------------------------------------------------------------------------------

    def script(self, script: Script, streams: Streams) -> Generator[Event, object, None]:
        """Run one chain after the other."""
        for chain in script.chains:
            if chain.background:
                self.jobs.append(chain)
                self.status = 0
            else:
                yield from self._chain(chain, streams)

    def _chain(self, chain: Chain, streams: Streams) -> Generator[Event, object, None]:
        yield from self._pipeline(chain.first, streams)
        for sign, pipeline in chain.rest:
            if (self.status == 0) == (sign == "&&"):
                yield from self._pipeline(pipeline, streams)

    def wait(self, streams: Streams) -> Generator[Event, object, int]:
        """Run what is in the background to its end."""
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            yield from self._chain(job, streams)
        return 0

    def _pipeline(self, pipeline: Pipeline, streams: Streams) -> Generator[Event, object, None]:
        stdin, from_file = streams.stdin, streams.from_file
        many = len(pipeline.commands) > 1
        for number, command in enumerate(pipeline.commands):
            last = number == len(pipeline.commands) - 1
            out = streams.out if last else Stream()
            err = out if not last and pipeline.joined[number] else streams.err
            held = (self.folder, dict(self.variables)) if many else None
            try:
                yield from self._command(command, Streams(stdin, out, err, from_file))
            except TooMuch:
                if last:
                    raise
                streams.err.write(f"{SHELL}: line 1: too much output\n")
            except Leave as leave:
                if not many:
                    raise
                self.status = leave.code
            if held is not None:
                # Each command of a pipeline has a shell of its own.
                self.folder, self.variables = held
            stdin, from_file = "" if last else out.text, False
        if pipeline.negated:
            self.status = int(self.status == 0)

    # --- commands ---------------------------------------------------------------------------------

    def _command(self, command: Simple | Group, streams: Streams) -> Generator[Event, object, None]:
        if isinstance(command, Group):
            yield from self._group(command, streams)
            return
        self._substituted = 0
        fields = yield from self.fields(command.words)
        values: list[tuple[str, str]] = []
        for name, word in command.assignments:
            values.append((name, (yield from self.value(word))))
        opened = yield from self._redirected(command.redirects, streams)
        if opened is None:
            self.status = 1
            return
        inner, files = opened
        if not fields:
            self.assign(values)
            if not command.words:
                self.status = self._substituted
        else:
            held = dict(self.variables)
            self.assign(values)
            try:
                yield from self.execute(fields, inner)
            finally:
                if values:
                    self.variables = {**self.variables, **{k: held.get(k, "") for k, _ in values}}
                self._close(files, streams)
            return
        self._close(files, streams)

    def _group(self, group: Group, streams: Streams) -> Generator[Event, object, None]:
        opened = yield from self._redirected(group.redirects, streams)
        if opened is None:
            self.status = 1
            return
        inner, files = opened
        held = (self.folder, dict(self.variables))
        try:
            yield from self.script(group.script, inner)
        except Leave as leave:
            if not group.apart:
                raise
            self.status = leave.code
        finally:
            if group.apart:
                self.folder, self.variables = held
            self._close(files, streams)

    def execute(self, fields: Sequence[str], streams: Streams) -> Generator[Event, object, int]:
        """Run a command by its name; gives its exit code."""
        name = fields[0]
        command = COMMANDS.get(name.removeprefix("/usr/bin/").removeprefix("/bin/"))
        if command is None:
            self.status = self._unknown(name, streams)
            return self.status
        call = Call(self, name, list(fields[1:]), *streams)
        told = command(call)
        if isinstance(told, GeneratorType):
            told = yield from cast("Generator[Event, object, int]", told)
        self.status = cast("int", told)
        return self.status

    def _unknown(self, name: str, streams: Streams) -> int:
        said, code = "command not found", NOT_FOUND
        if "/" in name:
            call = Call(self, name, [], "", streams.out, streams.err)
            try:
                place = call.find(name)
            except Trouble as trouble:
                said = trouble.text
            else:
                if place.kind:
                    said = "Is a directory" if place.kind == "folder" else "Permission denied"
                    code = 126
                else:
                    said = "No such file or directory"
        streams.err.write(f"{SHELL}: line 1: {name}: {said}\n")
        return code

    # --- redirections -----------------------------------------------------------------------------

    def _redirected(
        self, redirects: Sequence[Redirect], streams: Streams
    ) -> Generator[Event, object, tuple[Streams, list[tuple[str, str, Stream]]] | None]:
        """Open what a command reads and prints to; None where that can't be done.

        Gives the streams, and for each file that is written: where, what was there before, and the
        stream whose text goes there at the end.
        """
        stdin, from_file = streams.stdin, streams.from_file
        table = {1: streams.out, 2: streams.err}
        files: list[tuple[str, str, Stream]] = []
        call = Call(self, f"{SHELL}: line 1", [], "", streams.out, streams.err)
        for redirect in redirects:
            target = yield from self.value(redirect.target)
            if redirect.kind == "<<":
                stdin, from_file = target, True
                continue
            if redirect.kind == ">&":
                stream = table.get(int(target)) if target in ("1", "2") else None
                if stream is None or redirect.stream not in table:
                    call.fail(f"{target}: Bad file descriptor")
                    return None
                table[redirect.stream] = stream
                continue
            try:
                if redirect.kind == "<":
                    stdin, from_file = call.read(target if target != "-" else "./-"), True
                    continue
                place = call.writable(target)
                old = self.tree.entries[place].text if place in self.tree.entries else ""
                before = old if redirect.kind == ">>" else ""
                call.write(place, before)
            except Trouble as trouble:
                call.fail(f"{target}: {trouble.text}")
                return None
            # Two redirections to one file share what they print.
            stream = Stream()
            files.append((place, before, stream))
            if redirect.kind == "&>":
                table[1] = table[2] = stream
            elif redirect.stream in table:
                table[redirect.stream] = stream
        return Streams(stdin, table[1], table[2], from_file), files

    def _close(self, files: Sequence[tuple[str, str, Stream]], streams: Streams) -> None:
        """Write what was printed to files."""
        call = Call(self, f"{SHELL}: line 1", [], "", streams.out, streams.err)
        for place, before, stream in files:
            # A command may have written, moved or removed the file meanwhile.
            if not place or not stream.size or place not in self.tree.entries:
                continue
            try:
                call.write(place, before + stream.text)
            except Trouble as trouble:
                self.status = call.fail(f"write error: {trouble.text}")

    def assign(self, values: Iterable[tuple[str, str]]) -> None:
        """Set variables. Raises TooMuch where all of them come to more than a stream holds."""
        held = {**self.variables, **dict(values)}
        if sum(map(len, held.values())) > STREAM_MAX:
            raise TooMuch
        self.variables = held

    # --- words ------------------------------------------------------------------------------------

    def value(self, word: Word) -> Generator[Event, object, str]:
        """Give a word with its parts replaced, as one text."""
        out = Stream()
        for number, part in enumerate(word):
            if isinstance(part, Text):
                out.write(self._at_home(part, number == 0))
            else:
                out.write((yield from self._replaced(part)))
        return out.text

    def fields(self, words: Sequence[Word]) -> Generator[Event, object, list[str]]:
        """Replace words, cut what wasn't quoted at blanks, and find files for patterns."""
        out: list[str] = []
        size = 0
        for word in words:
            for each in braced(word):
                for field in (yield from self._split(each)):
                    found = self._globbed(field)
                    out += found
                    size += sum(map(len, found))
                    if len(out) > FIELDS_MAX or size > STREAM_MAX:
                        raise TooMuch
        return out

    def _split(self, word: Word) -> Generator[Event, object, list[Field]]:
        fields: list[Field] = []
        current: Field | None = None
        for number, part in enumerate(word):
            if isinstance(part, Text):
                current = current or Field()
                current.add(self._at_home(part, number == 0), part.quoted)
                continue
            text = yield from self._replaced(part)
            if part.quoted:
                current = current or Field()
                current.add(text, True)
                continue
            pieces = text.split()
            if len(pieces) > FIELDS_MAX:
                raise TooMuch
            if text[:1].isspace() and current is not None:
                fields.append(current)
                current = None
            for place, piece in enumerate(pieces):
                if place and current is not None:
                    fields.append(current)
                    current = None
                current = current or Field()
                current.add(piece, False)
            if text[-1:].isspace() and current is not None and pieces:
                fields.append(current)
                current = None
        return fields if current is None else [*fields, current]

    def _at_home(self, part: Text, first: bool) -> str:
        home = first and not part.quoted and part.text.split("/")[0] == "~"
        return self.variables["HOME"] + part.text[1:] if home else part.text

    def _replaced(self, part: Variable | Substitution) -> Generator[Event, object, str]:
        if isinstance(part, Variable):
            special = {"?": str(self.status), "#": "0", "0": SHELL, "$": "1", "!": ""}
            return special.get(part.name, self.variables.get(part.name, ""))
        out = Stream()
        held = (self.folder, dict(self.variables))
        try:
            yield from self.script(part.script, Streams("", out, self._err))
        except Leave as leave:
            self.status = leave.code
        self.folder, self.variables = held
        self._substituted = self.status
        text = out.text
        if NUL in text:
            self._err.write(f"{SHELL}: line 1: warning: command substitution: {IGNORED}\n")
        return text.replace(NUL, "").rstrip("\n")

    def _globbed(self, field: Field) -> list[str]:
        """Give the files that a pattern finds, or the word itself."""
        free = [c for c, mark in zip(field.text, field.marks, strict=True) if mark != "q"]
        if not any(c in "*?[" for c in free):
            return [field.text]
        call = Call(self, SHELL, [], "", Stream(), Stream())
        absolute_path = field.text.startswith("/")
        found = [("/" if absolute_path else "", "/" if absolute_path else self.folder)]
        for text, marks in parts_of(field):
            tokens = wildcard.tokens_of(text, marks)
            hidden = text.startswith(".")
            plain = all(token.kind == "char" for token in tokens)
            after: list[tuple[str, str]] = []
            for shown, path in found:
                place = call.find(path)
                if place.kind != "folder":
                    continue
                names = [text] if plain else call.names(place)
                for name in names:
                    if plain or ((hidden or name[0] != ".") and wildcard.matches(tokens, name)):
                        inner = absolute(path, name)
                        after.append((f"{shown}{name}/", inner))
            found = [(shown, path) for shown, path in after if self._is_there(call, path)]
        ends = "/" if field.text.endswith("/") else ""
        names = [
            shown[:-1] + ends
            for shown, path in found
            if not ends or call.find(path).kind == "folder"
        ]
        return sorted(names) or [field.text]

    def _is_there(self, call: Call, path: str) -> bool:
        try:
            return bool(call.find(path).kind)
        except Trouble:
            return False


def parts_of(field: Field) -> list[tuple[str, str]]:
    """Cut a pattern at its slashes."""
    out: list[tuple[str, str]] = []
    at = 0
    for part in field.text.split("/"):
        if part:
            out.append((part, field.marks[at : at + len(part)]))
        at += len(part) + 1
    return out


def braced(word: Word) -> list[Word]:
    """Give the words that `a{b,c}` stands for."""
    for number, part in enumerate(word):
        if not isinstance(part, Text) or part.quoted:
            continue
        found = first_braces(part.text)
        if found is None:
            continue
        start, end, options = found
        before = (*word[:number], Text(part.text[:start], False))
        after = (Text(part.text[end:], False), *word[number + 1 :])
        out: list[Word] = []
        for option in options:
            middle = Text(option, False)
            whole: Word = (*before, middle, *after)
            merged = joined(whole)
            out += braced(merged)
            if len(out) > FIELDS_MAX:
                raise TooMuch
        return out
    return [word]


def joined(word: Word) -> Word:
    """Put unquoted texts that follow each other into one."""
    out: list[object] = []
    for part in word:
        last = out[-1] if out else None
        if isinstance(part, Text) and not part.quoted:
            if isinstance(last, Text) and not last.quoted:
                out[-1] = Text(last.text + part.text, False)
                continue
            if not part.text:
                continue
        out.append(part)
    return cast("Word", tuple(out))


def first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Find the first `{a,b}` of a text: where it starts and ends, and its options."""
    start = text.find("{")
    while start >= 0:
        depth, commas = 0, [start]
        for at in range(start, len(text)):
            c = text[at]
            depth += (c == "{") - (c == "}")
            if c == "," and depth == 1:
                commas.append(at)
            if depth == 0:
                if len(commas) > 1:
                    ends = [*commas[1:], at]
                    options = [text[a + 1 : b] for a, b in zip(commas, ends, strict=True)]
                    return start, at + 1, options
                break
        start = text.find("{", start + 1)
    return None

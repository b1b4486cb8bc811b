"""What a command line says: words with their quotes, redirections, pipelines and lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
BLANKS = " \t"
ENDS = " \t\n;&|()<>"
"""Characters that end a word unless they are quoted."""
RESERVED = ("for", "while", "until", "if", "case", "select", "function", "[[", "((")
DEPTH_MAX = 40
"""Most groups and substitutions inside of each other."""


class SyntaxProblem(Exception):  # noqa: N818  (the caller's, not ours)
    """A line that the shell can't read."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.at_end = "end of file" in text
        """Whether the end came too early, which is told of the line after the last."""
        self.near = "near unexpected" in text
        """Whether the line is shown."""


@dataclass(frozen=True, slots=True)
class Text:
    """Characters as they stand there."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of a variable."""

    name: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """What a command prints."""

    script: Script
    quoted: bool


Part = Text | Variable | Substitution
Word = tuple[Part, ...]
RedirectKind = Literal["<", ">", ">>", ">&", "<<", "&>"]


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a stream comes from or goes."""

    stream: int
    kind: RedirectKind
    target: Word
    """A file, the number of a stream, or the text of a here-document."""


@dataclass(frozen=True, slots=True)
class Simple:
    """One command with its arguments."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Commands in brackets or braces."""

    script: Script
    redirects: tuple[Redirect, ...]
    apart: bool
    """In brackets: what it changes in the shell isn't kept."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before prints."""

    commands: tuple[Simple | Group, ...]
    negated: bool
    joined: tuple[bool, ...]
    """For each but the last whether its errors go along (`|&`)."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines with && and || between them."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool


@dataclass(frozen=True, slots=True)
class Script:
    """All that a line says."""

    chains: tuple[Chain, ...]


def parse(text: str) -> Script:
    """Read a command line, or several. Raises SyntaxProblem."""
    return Reader(text).script("")


class Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    # --- lists ------------------------------------------------------------------------------------

    def script(self, close: str) -> Script:
        """Read up to a closing character, or up to the end for none."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SyntaxProblem("too many levels of nesting")
        chains: list[Chain] = []
        while True:
            self._space(lines=True)
            if self._ends(close):
                break
            chains.append(self._chain(close))
        self._depth -= 1
        return Script(tuple(chains))

    def _ends(self, close: str) -> bool:
        if self._at >= len(self._text):
            if close:
                raise SyntaxProblem("syntax error: unexpected end of file")
            return True
        c = self._text[self._at]
        if close and c == close:
            self._at += 1
            return True
        if c == ")":
            raise SyntaxProblem("syntax error near unexpected token `)'")
        return False

    def _chain(self, close: str) -> Chain:
        first = self._pipeline()
        rest: list[tuple[str, Pipeline]] = []
        while True:
            self._space()
            sign = self._text[self._at : self._at + 2]
            if sign not in ("&&", "||"):
                break
            self._at += 2
            self._space(lines=True)
            rest.append((sign, self._pipeline()))
        c = self._text[self._at : self._at + 1]
        if c in (";", "&", "\n") and c:
            if self._text.startswith((";;", "&;", ";&"), self._at):
                token = self._text[self._at : self._at + 2]
                raise SyntaxProblem(f"syntax error near unexpected token `{token}'")
            self._at += 1
        elif c and c != close and c != ")":
            if c == "(":
                # It might have been the definition of a function.
                found = re.compile(r"\s*([^\s;&|()<>]+|.)").match(self._text, self._at + 1)
                c = "(" if found is None else found[1]
            raise SyntaxProblem(f"syntax error near unexpected token `{c}'")
        return Chain(first, tuple(rest), c == "&")

    def _pipeline(self) -> Pipeline:
        self._space()
        negated = False
        while re.match(r"![ \t]", self._text[self._at : self._at + 2]):
            negated = not negated
            self._at += 1
            self._space()
        commands = [self._command()]
        joined: list[bool] = []
        while True:
            self._space()
            if not self._text.startswith("|", self._at) or self._text.startswith("||", self._at):
                return Pipeline(tuple(commands), negated, tuple(joined))
            self._at += 1
            joined.append(self._text.startswith("&", self._at))
            self._at += joined[-1]
            self._space(lines=True)
            commands.append(self._command())

    # --- commands ---------------------------------------------------------------------------------

    def _command(self) -> Simple | Group:
        text, at = self._text, self._at
        if text.startswith("(", at) and not text.startswith("((", at):
            self._at += 1
            return self._group(")")
        if re.match(r"\{[ \t\n]", text[at : at + 2]):
            self._at += 1
            return self._group("}")
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._space()
            if self._redirect(redirects):
                continue
            text = self._text
            c = text[self._at : self._at + 1]
            if not c or c in ENDS or (c == "}" and not words):
                break
            found = ASSIGNMENT.match(text, self._at)
            if found is not None and not words:
                self._at = found.end()
                assignments.append((found[1], self._word(may_be_empty=True)))
                continue
            if not words:
                self._refuse_reserved()
            words.append(self._word())
        if not words and not assignments and not redirects:
            token = text[self._at : self._at + 1]
            if token in ("&", "|", ";") and text.startswith(token * 2, self._at):
                token *= 2
            shown = "newline" if token == "\n" else token
            if not shown:
                raise SyntaxProblem("syntax error: unexpected end of file")
            raise SyntaxProblem(f"syntax error near unexpected token `{shown}'")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _refuse_reserved(self) -> None:
        for word in RESERVED:
            end = self._at + len(word)
            if self._text.startswith(word, self._at):
                behind = self._text[end : end + 1]
                if not behind or behind in ENDS or word == "((":
                    raise SyntaxProblem(f"{word}: not supported in this shell")

    def _group(self, close: str) -> Group:
        script = self.script(close)
        if not script.chains:
            raise SyntaxProblem(f"syntax error near unexpected token `{close}'")
        redirects: list[Redirect] = []
        while True:
            self._space()
            if not self._redirect(redirects):
                return Group(script, tuple(redirects), close == ")")

    def _redirect(self, redirects: list[Redirect]) -> bool:
        """Read a redirection, if one comes."""
        found = re.compile(r"([0-9]?)(<<-?|<|>>|>\||>&|>)|(&>>?)").match(self._text, self._at)
        if found is None:
            return False
        self._at = found.end()
        sign = found[2] or found[3]
        stream = int(found[1]) if found[1] else 0 if sign.startswith("<") else 1
        if self._text.startswith("<", self._at) and sign == "<<":
            raise SyntaxProblem("<<<: not supported in this shell")
        self._space()
        target = self._word()
        if sign in ("<<", "<<-"):
            end = "".join(part.text for part in target if isinstance(part, Text))
            plain = any(isinstance(part, Text) and part.quoted for part in target)
            body = self._document(end, indented=sign == "<<-")
            word: Word = (Text(body, True),) if plain else quoted_word(body)
            redirects.append(Redirect(stream, "<<", word))
        elif sign in ("&>", "&>>"):
            redirects.append(Redirect(1, "&>" if sign == "&>" else ">>", target))
            if sign == "&>>":
                redirects.append(Redirect(2, ">&", (Text("1", False),)))
        else:
            kind: RedirectKind = ">" if sign in (">", ">|") else sign  # type: ignore[assignment]
            redirects.append(Redirect(stream, kind, target))
        return True

    # --- here-documents ---------------------------------------------------------------------------

    def _document(self, end: str, *, indented: bool) -> str:
        """Read the text of a here-document: it begins after this line.

        It is cut out of what is still to be read, so that the rest of the line comes next.
        """
        text = self._text
        start = at = min(self._line_end(self._at) + 1, len(text))
        lines: list[str] = []
        while at < len(text):
            stop = text.find("\n", at)
            stop = len(text) if stop < 0 else stop
            line = text[at:stop]
            at = min(stop + 1, len(text))
            if indented:
                line = line.lstrip("\t")
            if line == end:
                break
            lines.append(line + "\n")
        self._text = text[:start] + text[at:]
        return "".join(lines)

    def _line_end(self, at: int) -> int:
        """Give where the line ends, quotes left aside."""
        quote = ""
        while at < len(self._text):
            c = self._text[at]
            if quote:
                if c == "\\" and quote == '"':
                    at += 1
                elif c == quote:
                    quote = ""
            elif c == "\\":
                at += 1
            elif c in "'\"":
                quote = c
            elif c == "\n":
                return at
            at += 1
        return len(self._text)

    # --- words ------------------------------------------------------------------------------------

    def _space(self, *, lines: bool = False) -> None:
        text = self._text
        while self._at < len(text):
            c = text[self._at]
            if text.startswith("\\\n", self._at):
                self._at += 2
            elif c in BLANKS or (lines and c in "\n"):
                self._at += 1
            elif c == "#" and (self._at == 0 or text[self._at - 1] in ENDS):
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _word(self, *, may_be_empty: bool = False) -> Word:
        parts: list[Part] = []
        text = self._text
        plain: list[str] = []

        def flush() -> None:
            if plain:
                parts.append(Text("".join(plain), False))
                plain.clear()

        while self._at < len(text):
            c = text[self._at]
            if c in ENDS:
                break
            if c == "\\":
                escaped = text[self._at + 1 : self._at + 2]
                self._at += 2
                if escaped != "\n":
                    flush()
                    parts.append(Text(escaped or "\\", True))
            elif c == "'":
                end = text.find("'", self._at + 1)
                if end < 0:
                    raise SyntaxProblem("unexpected EOF while looking for matching `''")
                flush()
                parts.append(Text(text[self._at + 1 : end], True))
                self._at = end + 1
            elif c == '"':
                flush()
                self._at += 1
                parts += self._double_quoted()
            elif c in "$`":
                found = self._dollar(quoted=False)
                if found is None:
                    plain.append(c)
                    self._at += 1
                else:
                    flush()
                    parts.append(found)
                    text = self._text  # a here-document may have been cut out
            else:
                plain.append(c)
                self._at += 1
        flush()
        if not parts and not may_be_empty:
            token = text[self._at : self._at + 1] or "newline"
            token = "newline" if token == "\n" else token
            raise SyntaxProblem(f"syntax error near unexpected token `{token}'")
        return tuple(parts)

    def _double_quoted(self) -> list[Part]:
        parts: list[Part] = [Text("", True)]
        text = self._text
        while True:
            if self._at >= len(text):
                raise SyntaxProblem("unexpected EOF while looking for matching `\"'")
            c = text[self._at]
            if c == '"':
                self._at += 1
                return parts
            self._within_quotes(parts, '$`"\\\n')

    def _within_quotes(self, parts: list[Part], escapes: str) -> None:
        """Read one character, or what is replaced, where all is quoted."""
        text, c = self._text, self._text[self._at]
        if c == "\\":
            behind = text[self._at + 1 : self._at + 2]
            self._at += 2
            if behind == "\n":
                return
            parts.append(Text(behind if behind and behind in escapes else c + behind, True))
            return
        found = self._dollar(quoted=True) if c in "$`" else None
        if found is not None:
            parts.append(found)
            return
        self._at += 1
        parts.append(Text(c, True))

    def quoted(self) -> Word:
        """Read all of it as if it stood in double quotes, as a here-document does."""
        parts: list[Part] = [Text("", True)]
        while self._at < len(self._text):
            self._within_quotes(parts, "$`\\\n")
        return tuple(parts)

    def _dollar(self, *, quoted: bool) -> Part | None:
        """Read a variable or a substitution; None for a sign that means itself."""
        text, at = self._text, self._at
        if text[at] == "`":
            end = at + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                raise SyntaxProblem("unexpected EOF while looking for matching ``'")
            inner = re.sub(r"\\([$`\\])", r"\1", text[at + 1 : end])
            self._at = end + 1
            return Substitution(self._inner(inner), quoted)
        if text.startswith("$((", at):
            raise SyntaxProblem("$((: not supported in this shell")
        if text.startswith("$(", at):
            self._at += 2
            return Substitution(self.script(")"), quoted)
        if text.startswith("${", at):
            end = text.find("}", at)
            name = text[at + 2 : end] if end >= 0 else ""
            if NAME.fullmatch(name) is None and name not in ("?", "#", "0"):
                raise SyntaxProblem(f"${{{name}}}: bad substitution")
            self._at = end + 1
            return Variable(name, quoted)
        found = NAME.match(text, at + 1)
        if found is not None:
            self._at = found.end()
            return Variable(found[0], quoted)
        if text[at + 1 : at + 2] in ("?", "#", "0", "$", "!", "@", "*") and text[at + 1 : at + 2]:
            self._at += 2
            return Variable(text[at + 1], quoted)
        return None

    def _inner(self, text: str) -> Script:
        reader = Reader(text)
        reader._depth = self._depth
        return reader.script("")


def quoted_word(text: str) -> Word:
    """Read the text of a here-document, in which variables and substitutions are replaced."""
    return Reader(text).quoted()

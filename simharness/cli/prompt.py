"""Lines that a person types, at a terminal with completion, or through a pipe."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from simharness.cli.answers import seen
from simharness.cli.typed import TOGETHER, bare_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.product.tool import Parameter, ToolSpec

PROMPT = "> "
HELP = "help"


class Prompt:
    """Asks for lines until there are no more."""

    def __init__(self, tools: Mapping[str, ToolSpec], commands: Sequence[str]) -> None:
        self._tools = tools
        self._commands = commands
        self._found: list[str] = []
        # None where `<&-` has closed it.
        closed = sys.stdin is None  # pyright: ignore[reportUnnecessaryComparison]
        self._closed = closed
        self._live = not closed and sys.stdin.isatty()
        stream: Any = sys.stdin
        if isinstance(stream, io.TextIOWrapper):
            # A line in another encoding is one to be told of, and no reason to stop.
            stream.reconfigure(errors="backslashreplace")
        if self._live and sys.stdout.isatty():
            self._complete_with_tab()

    def next(self) -> str | None:
        """Ask for a line; None at the end of the input. Raises KeyboardInterrupt on Ctrl-C."""
        if self._closed:
            return None
        if self._live:
            try:
                return input(PROMPT)
            except EOFError:
                click.echo()
                return None
        line = sys.stdin.readline()
        if not line:
            return None
        line = line.rstrip("\r\n")
        click.echo(f"{PROMPT}{seen(line)}")  # so that the output reads as at a terminal
        return line

    def _complete_with_tab(self) -> None:
        """Let Tab complete, where this Python has readline."""
        try:
            # Not at the top: where nobody types, importing it may write to the terminal.
            readline: Any = import_module("readline")
        except ImportError:
            return
        readline.set_completer_delims(" \t")

        def complete(word: str, state: int) -> str | None:
            before: str = readline.get_line_buffer()[: readline.get_begidx()]
            return self._completion(before, word, state)

        readline.set_completer(complete)
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")

    def _completion(self, before: str, word: str, state: int) -> str | None:
        if state == 0:
            self._found = list(completions(before, word, self._tools, self._commands))
        return self._found[state] if state < len(self._found) else None


def completions(
    before: str, word: str, tools: Mapping[str, ToolSpec], commands: Sequence[str]
) -> Iterator[str]:
    """Give what a word may become, given what stands before it on the line."""
    words = before.split()
    if TOGETHER in words:
        words = words[len(words) - words[::-1].index(TOGETHER) :]
    if not words or words == [HELP]:
        names = [*tools, *(() if words else commands)]
        yield from (f"{name} " for name in names if name.startswith(word))
        return
    spec = tools.get(words[0])
    for parameter in spec.parameters if spec is not None else ():
        for name, schema in named_by(parameter):
            if "=" in word:
                found = [f"{name}={choice} " for choice in choices(schema)]
            elif any(other.startswith(f"{name}=") for other in words):
                continue
            else:
                found = [f"{name}="]
            yield from (text for text in found if text.startswith(word))


def named_by(parameter: Parameter) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the names by which an argument is given: its own, or those of its fields."""
    schema = bare_schema(parameter.schema)
    fields: Mapping[str, Any] = schema.get("properties", {})
    if not fields:
        yield parameter.name, schema
    for field, inner in fields.items():
        yield f"{parameter.name}.{field}", bare_schema(inner)


def choices(schema: Mapping[str, Any]) -> Sequence[str]:
    """Give the words that an argument may be, where there are few."""
    return ("true", "false") if schema.get("type") == "boolean" else schema.get("enum", ())

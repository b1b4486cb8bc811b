"""A person as the policy that plays an episode: sees what an agent is told, and nothing else."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import click

from simharness.cli.answers import entry, seen, value_lines
from simharness.cli.output import table, width_of_text
from simharness.cli.prompt import HELP
from simharness.cli.typed import Mistyped, bare_schema, kind_text, no_tool, read_calls, usage
from simharness.episode.policies import READS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from simharness.cli.prompt import Prompt
    from simharness.product.policy import Action, Call, Observation, Task
    from simharness.product.tool import ToolSpec

QUIT, ABORT, TASK = "quit", "abort", "task"
COMMANDS = {
    HELP: "the tools; `help TOOL` tells a tool's arguments",
    TASK: "the task again",
    QUIT: "go away, as an agent may: the episode ends and is judged",
    ABORT: "stop here: nothing is judged, and what was recorded is kept",
}
"""What can be typed beside calls, and what it does; a tool of the same name goes first."""


class Abandoned(Exception):  # noqa: N818  (what the person asked for)
    """The person stopped amid an episode."""


class Person:
    """Asks for lines and sends the calls that they are."""

    def __init__(
        self, tools: Mapping[str, ToolSpec], prompt: Prompt, keep: Callable[[], None]
    ) -> None:
        self._tools = tools
        self._prompt = prompt
        self._keep = keep
        """Called before each question, so that what was played survives a kill."""
        self._width = width_of_text()
        self._step = 0
        self._sent: Sequence[Call] = ()

    def play(self, task: Task) -> Generator[Action, Observation, None]:
        """Play an episode as a policy. Raises Abandoned, or KeyboardInterrupt on Ctrl-C."""
        self._tell_task(task)
        click.echo()
        self._paragraph(f"tools: {', '.join(self._tools)}")
        self._paragraph(f"a call is typed as {example(self._tools)}; `help` tells more")
        while True:
            self._keep()
            line = self._prompt.next()
            if line is None:
                return
            words = line.split()
            if not words:
                continue
            if words[0] not in self._tools and words[0] in COMMANDS:
                if words[0] == QUIT:
                    return
                self._command(words, task)
                continue
            try:
                self._sent = read_calls(line.strip(), self._tools)
            except Mistyped as error:
                for text in str(error).splitlines():
                    self._paragraph(text, "yellow")
                continue
            self.tell((yield self._sent))

    def tell(self, told: Observation) -> None:
        """Print what the agent is told of a step."""
        self._step += 1
        click.echo(click.style(f"  step {self._step}, {told.t}", dim=True))
        for call, result in zip(self._sent, told.results, strict=False):
            if len(told.results) > 1:
                sent = json.dumps(call.args, ensure_ascii=False)
                self._paragraph(f"{call.tool} {sent}", "blue")
            if "error" in result:
                lines = entry("error: ", result["error"], self._width - 2)
                click.echo(click.style("\n".join(f"  {line}" for line in lines), fg="red"))
                continue
            for text in value_lines(result["value"], self._width - 2):
                click.echo(f"  {text}")

    def _command(self, words: Sequence[str], task: Task) -> None:
        """Do what isn't a call. Raises Abandoned."""
        if words[0] == ABORT:
            raise Abandoned
        if words[0] == TASK:
            self._tell_task(task)
        elif len(words) > 1:
            self._help_tool(words[1])
        else:
            self._help()

    def _tell_task(self, task: Task) -> None:
        for text in task.prompt.splitlines():
            self._paragraph(text)

    def _help(self) -> None:
        lines = [
            (usage(s).removeprefix("usage: "), s.doc.split("\n")[0]) for s in self._tools.values()
        ]
        for shown, doc in lines:
            click.echo(f"  {shown}")
            self._paragraph(doc, indent="      ", dim=True)
        self._paragraph(
            f"a call is typed as {example(self._tools)}; what holds blanks stands in quotes, and "
            "`&` between two calls sends them at once"
        )
        table(("also", ""), COMMANDS.items())

    def _help_tool(self, name: str) -> None:
        spec = self._tools.get(name)
        if spec is None:
            self._paragraph(no_tool(name, self._tools), "yellow")
            return
        click.echo(f"  {usage(spec)}")
        for text in spec.doc.splitlines():
            self._paragraph(text, indent="    ")
        rows: list[tuple[str, str]] = []
        for parameter in spec.parameters:
            fields = bare_schema(parameter.schema).get("properties", {})
            rows += [(f"{parameter.name}.{f}", kind_text(inner)) for f, inner in fields.items()]
            if not fields:
                left_out = "" if parameter.required else "; may be left out"
                rows.append((parameter.name, kind_text(parameter.schema) + left_out))
        if rows:
            table(("argument", "what it is"), rows, indent="    ")

    def _paragraph(
        self, text: str, colour: str | None = None, *, indent: str = "  ", dim: bool = False
    ) -> None:
        lines = textwrap.wrap(
            seen(text),
            self._width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        for line in lines or [""]:
            click.echo(click.style(line, fg=colour, dim=dim or None))


def example(tools: Mapping[str, ToolSpec]) -> str:
    """Show the forms of a call, by a tool of this product that takes one number or word."""
    single = [s for s in tools.values() if [p.required for p in s.parameters] == [True]]
    spec = next((s for s in single if s.name.startswith(READS)), next(iter(single), None))
    if spec is None:
        return "`TOOL name=value ...`"
    (parameter,) = spec.parameters
    kind = bare_schema(parameter.schema)
    value: int | str = 42 if kind.get("type") == "integer" else "VALUE"
    forms = (
        f"{spec.name} {value}",
        f"{spec.name} {parameter.name}={value}",
        f"{spec.name} {json.dumps({parameter.name: value})}",
    )
    return ", ".join(f"`{form}`" for form in forms[:-1]) + f" or `{forms[-1]}`"

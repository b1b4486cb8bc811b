"""The command line: one file a command, imported when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from simharness import __version__
from simharness.errors import SimharnessError

COMMANDS = {
    "demo": ("simharness.cli.demo", "the first episode, faulty and sound: what was seen, what was true, whose fault"),
    "list": ("simharness.cli.listing", "products, scenarios, faults, policies, tools, knobs, codes"),
    "run": ("simharness.cli.run", "run episodes and write a run directory"),
    "replay": ("simharness.cli.replay", "replay recordings, bit for bit"),
    "show": ("simharness.cli.show", "what the agent saw, against what was true"),
    "whatif": ("simharness.cli.whatif", "the same episode with one mechanism telling the truth"),
    "soak": ("simharness.cli.soak", "load test: many pings while many users act"),
}
"""Command to its module and its line in the overview."""


class Commands(click.Group):
    """Imports a command's module only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry[0]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Name near spellings of a command that isn't known."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=2)
            if near:
                error.message += f" Did you mean {' or '.join(near)}?"
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="simharness")
def commands() -> None:
    """Deterministic simulation of mock products for agents, with proof of whose fault a failure was."""


def main(argv: list[str] | None = None) -> None:
    """Run a command and exit: 0 fine, 1 the check failed, 2 usage, 3 inconclusive or diverged, 4 a harness error."""
    sys.exit(call(argv))


def call(argv: list[str] | None = None) -> int:
    """Run a command and give its exit code; whatever this package raises on purpose is told in words."""
    try:
        code: Any = commands.main(args=argv, prog_name="simharness", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SimharnessError as error:
        click.echo(f"{click.style('error', fg='red')} {error.code}: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone, as `| head` does; Python must not complain at exit either.
        sys.stdout = None
        return 141
    return code if isinstance(code, int) else 0

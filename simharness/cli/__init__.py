"""The command line: one file a command, imported when it is called."""

from __future__ import annotations

import importlib
import io
import os
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from simharness import __version__
from simharness.errors import HarnessError, SimharnessError

if TYPE_CHECKING:
    from collections.abc import Generator

COMMANDS = {
    "demo": (
        "simharness.cli.demo",
        "some episodes, faulty and sound: what was seen, what was true, whose fault",
    ),
    "list": (
        "simharness.cli.listing",
        "products, scenarios, faults, policies, tools, knobs, codes",
    ),
    "run": ("simharness.cli.run", "run episodes and write a run directory"),
    "play": ("simharness.cli.play", "play the agent yourself, in the terminal"),
    "index": ("simharness.cli.index", "make the catalogue of a run again from its recordings"),
    "replay": ("simharness.cli.replay", "replay recordings, bit for bit"),
    "show": ("simharness.cli.show", "what the agent saw, against what was true"),
    "audit": ("simharness.cli.audit", "findings, whose fault, the proof, and the gate of a run"),
    "compare": ("simharness.cli.compare", "two runs of the same seeds, pair by pair"),
    "whatif": ("simharness.cli.whatif", "the same episode with one mechanism telling the truth"),
    "report": ("simharness.cli.report", "bug reports as files that reproduce, with controls"),
    "view": ("simharness.cli.view", "a run or a recording as a page, to read and to review"),
    "export": ("simharness.cli.export", "episodes in the formats of other tools"),
    "validate": ("simharness.cli.validate", "is a scenario fit to train on?"),
    "doctor": ("simharness.cli.doctor", "audit somebody else's environment"),
    "selfcheck": (
        "simharness.cli.selfcheck",
        "the same episodes in processes that differ in what must not matter",
    ),
    "lint": ("simharness.cli.lint", "what makes a seed mean something else, in product code"),
    "serve": ("simharness.cli.serve", "scenarios for clients: over HTTP, OpenEnv, MCP"),
    "soak": ("simharness.cli.soak", "load test: many pings while many users act"),
}
"""Command to its module and its line in the overview."""


class Unread(Exception):  # noqa: N818  (ends the command, no failure)
    """The reader of our output has gone; click would make a plain exit with 1 of it."""


class Untold(Exception):  # noqa: N818  (ends the command, no failure)
    """Stderr takes no message, as on a full device; the exit code is all that can be told."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Commands(click.Group):
    """Imports a command's module only when that command is called."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the words, which may print help. Raises Unread."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError as error:
            raise Unread from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises Unread."""
        from simharness.kernel.guard import guarded

        try:
            with guarded():
                return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Unread from error

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name near spellings of a command that isn't known."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=2)
            if near:
                hint = f"{error.message} Did you mean {' or '.join(near)}?"
                raise click.UsageError(hint, ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="simharness")
def commands() -> None:
    """Simulate mock products for agents, and prove whose fault a failure was."""


def main(argv: list[str] | None = None) -> None:
    """Run a command and exit.

    The code is 0 fine, 1 the check failed, 2 usage, 3 inconclusive or diverged, 4 a harness error,
    130 Ctrl-C.
    """
    hold_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A prompt may hold what the terminal's encoding doesn't.
            stream.reconfigure(errors="backslashreplace")
    code = call(argv)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            # None where `>&-` has closed it.
            if stream is not None:  # pyright: ignore[reportUnnecessaryComparison]
                stream.flush()
        except (OSError, ValueError):  # ValueError: a product has closed it
            # What can't be written has been told; Python must not try again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.exit(code)


def hold_standard_descriptors() -> None:
    """Open what `<&-`, `>&-` or `2>&-` has closed as /dev/null.

    Else the next file to be opened gets the number, and a recording holds what libraries and
    processes that we start write to descriptors 1 and 2.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def call(argv: list[str] | None = None) -> int:
    """Run a command and give its exit code; whatever goes wrong is told in words."""
    try:
        return outcome(argv)
    except (Unread, BrokenPipeError):
        return 141  # what a shell sees of a command in `| head` that a signal ends
    except Untold as error:
        return error.code


def outcome(argv: list[str] | None) -> int:
    """Run a command and tell its failure, if it fails.

    Raises Unread, BrokenPipeError, or Untold where stderr doesn't take the message.
    """
    # NO_COLOR is honoured as no-color.org asks; a dumb terminal shows escapes as text.
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    color = False if plain else None
    try:
        code: Any = commands.main(
            args=argv, prog_name="simharness", standalone_mode=False, color=color
        )
    except click.exceptions.Abort:
        with telling(130):
            click.echo("stopped", err=True, color=color)
        return 130
    except click.ClickException as error:
        with telling(error.exit_code):
            error.show()
        return error.exit_code
    except SimharnessError as error:
        return tell(error, color)
    except Unread:
        raise
    except OSError as error:
        from simharness.recording.format import from_os_error

        place = error.filename if isinstance(error.filename, str) else "standard output"
        return tell(
            from_os_error("write" if error.filename is None else "use", place, error), color
        )
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Products may raise what is no Exception, such as a group of exceptions.
        again = shlex.join(["simharness", *(sys.argv[1:] if argv is None else argv)])
        return tell(
            HarnessError(f"{type(error).__name__}: {error} ({place_of(error)})", f"again: {again}"),
            color,
        )
    return code if isinstance(code, int) else 0


def tell(error: SimharnessError, color: bool | None) -> int:
    """Print a failure on stderr: code, sentence, what to do; gives its exit code."""
    with telling(error.exit_code):
        click.echo(
            f"{click.style('error', fg='red')} {error.code}: {error.message}", err=True, color=color
        )
        if error.hint:
            click.echo(f"  {error.hint}", err=True, color=color)
    return error.exit_code


@contextmanager
def telling(code: int) -> Generator[None]:
    """Write to stderr in here; where it takes nothing, the command ends with this exit code."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Untold(code) from error


def place_of(error: BaseException) -> str:
    """Say where an exception was raised: file, line, function."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    code = trace.tb_frame.f_code
    return f"{code.co_filename}:{trace.tb_lineno}, in {code.co_name}"

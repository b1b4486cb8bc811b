"""`simharness view`."""

from __future__ import annotations

import contextlib
import shlex
import webbrowser
from pathlib import Path

import click

from simharness.blame.statistics import LIMIT
from simharness.cli.output import ProgressLine, counted
from simharness.recording.format import from_os_error
from simharness.review.build import Built, build
from simharness.review.page import page
from simharness.review.serve import ReviewServer


@click.command("view")
@click.argument("path", type=click.Path(path_type=Path), metavar="RUN|FILE")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the page to a file; without it, it is served to this machine alone.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="RUN",
    help="An earlier run of the same seeds: what was fixed, what broke.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Hold every episode in full, whatever the size."
)
@click.option(
    "--curve",
    "curves",
    is_flag=True,
    help="Find the point of no return of failures: the reference takes over after each step.",
)
@click.option(
    "--max-rate",
    type=float,
    metavar="SHARE",
    help=f"Failure rate that the gate allows, between 0 and 1 ({LIMIT} for a run; a file has no "
    "gate without it).",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; 0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(
    path: Path,
    out: Path | None,
    against: Path | None,
    everything: bool,
    curves: bool,
    max_rate: float | None,
    port: int,
    no_browser: bool,
) -> int:
    """Show a run or a recording as a page: what was seen, what was true, whose fault it was.

    With -o the page is one file that opens from disk, offline. Without it the page is served on
    127.0.0.1 until Ctrl-C, and reviews that are saved in it are added to the run's reviews.jsonl.
    """
    progress = ProgressLine("episodes")
    built = build(
        path,
        limit=max_rate,
        everything=everything,
        curves=curves,
        against=against,
        progress=lambda done, what: progress.update(done, 0, f", {what}"),
    )
    progress.close()
    for text in (*built.overview["problems"], *built.overview["caps"]):
        click.echo(click.style(text, fg="yellow"), err=True)
    if out is not None:
        size = write_page(out, page(built))
        click.echo(f"{out}: {counted(len(built.entries), 'episode')}, {size}")
        return 0
    serve(path, built, port, browser=not no_browser)
    return 0


def write_page(out: Path, text: str) -> str:
    """Write a page to a file and say how large it is.

    Raises RecordingError when that can't be done.
    """
    data = text.encode()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(data)
    except OSError as error:
        raise from_os_error("write", out, error) from error
    return f"{len(data) / 1e6:.1f} MB" if len(data) >= 1_000_000 else f"{len(data) // 1000} KB"


def serve(path: Path, built: Built, port: int, *, browser: bool) -> None:
    """Serve the page to this machine until Ctrl-C."""
    folder = path if path.is_dir() and (path / "run.json").exists() else None
    with ReviewServer(page(built, served=folder is not None), folder, port) as server:
        click.echo(server.url)
        if folder is None:
            again = shlex.join(["simharness", "view", str(path)])
            click.echo(f"  {again} shows no run directory: reviews can be downloaded, not saved")
        click.echo("  Ctrl-C ends it", err=True)
        if browser:
            webbrowser.open(server.url)
        with contextlib.suppress(KeyboardInterrupt):  # which is how it is meant to end
            server.serve_forever()

"""The page itself: one HTML file with its style, its scripts and its data.

Nothing is fetched: a policy in the page forbids it, and names the digests of the one script and the
one style that may be used. Data stand in blocks that are no scripts, as base64, so no text of a
recording is ever read as HTML; what the page shows of it becomes text nodes. Without scripts a
table of the run is there all the same.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from base64 import b64encode
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from simharness.review.build import encoded
from simharness.review.words import GLOSSARY, MARKS
from simharness.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.review.build import Built

SCRIPTS = (
    "base.js",
    "data.js",
    "state.js",
    "reviews.js",
    "overview.js",
    "table.js",
    "timeline.js",
    "minimap.js",
    "order.js",
    "lanes.js",
    "step.js",
    "episode.js",
    "keys.js",
    "main.js",
)
"""In the order in which they need one another; together they are one script."""
STYLES = ("base.css", "run.css", "episode.css", "timeline.css", "step.css", "media.css")
ROWS_MAX = 500
"""Rows of the table without scripts; the worst come first."""


@lru_cache(maxsize=1)
def sources() -> tuple[str, str]:
    """Give the script and the style of every page."""
    web = importlib.resources.files("simharness.review").joinpath("web")
    script, style = (
        "".join(bare(web.joinpath(name).read_text(encoding="utf-8")) for name in names)
        for names in (SCRIPTS, STYLES)
    )
    return f'"use strict";\n(() => {{\n{script}}})();\n', style


def bare(code: str) -> str:
    """Leave out what readers of the source need and no browser: indents and comments on their own.

    No text of a script goes on in another line.
    """
    lines = (line.strip() for line in re.sub(r"(?ms)^\s*/\*.*?\*/", "", code).splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def digest(text: str) -> str:
    """Name a text in a content security policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(script: str, style: str, *, served: bool) -> str:
    """Give the content security policy: this script, this style, and nothing from anywhere."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {digest(script)}",
            f"style-src {digest(style)}",
            "img-src data:",
            f"connect-src {chr(39)}{'self' if served else 'none'}{chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def page(built: Built, *, served: bool = False) -> str:
    """Write the page. One that is served may send reviews back to where it came from."""
    script, style = sources()
    index = {
        **built.overview,
        "entries": built.entries,
        "reviews": built.reviews,
        "served": served,
        "marks": MARKS,
        "glossary": GLOSSARY,
    }
    title = escape(f"simharness · {built.overview['run']}")
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta http-equiv="Content-Security-Policy" content="',
            escape(policy(script, style, served=served)),
            '">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            '<div id="app" hidden></div>\n<main id="plain">\n',
            *table(built),
            "</main>\n",
            f'<script type="application/gzip" id="index">{encoded(index)}</script>\n',
            *(
                f'<script type="application/gzip" id="episode-{place}">{blob}</script>\n'
                for place, blob in sorted(built.blobs.items())
            ),
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def table(built: Built) -> Iterator[str]:
    """Write what is there without scripts: the run's figures and its episodes, the worst first."""
    o = built.overview
    rate = o["failure_rate"]
    gate = f"Gate at {o['limit']:.1%}: <strong>{escape(o['gate'])}</strong>. " if o["gate"] else ""
    yield f"<h1>simharness · {escape(str(o['run']))}</h1>\n"
    yield (
        f"<p>{counted(o['episodes'], 'episode')}; failures of the harness: {rate['failures']:,} of "
        f"{rate['episodes']:,}, {rate['point']:.1%} "
        f"(95%: {rate['low']:.1%} to {rate['high']:.1%}). {gate}"
        f"Valid for training: {o['valid']:,}; quarantined: {o['quarantined']:,}.</p>\n"
    )
    for text in o["reasons"]:
        yield f"<p>The gate: {escape(text)}.</p>\n"
    for text in (*o["problems"], *o["caps"]):
        yield f"<p>{escape(text)}.</p>\n"
    if o["codes"]:
        yield "<h2>Codes</h2>\n<ul>\n"
        for c in o["codes"]:
            name = escape(f"{c['code']} {c['slug']}")
            yield f"<li>{name}: {counted(c['n'], 'episode')}. {escape(c['explanation'])}</li>\n"
        yield "</ul>\n"
    yield "<h2>Episodes</h2>\n<table>\n<thead><tr>"
    heads = ("episode", "verdict", "reward", "valid", "quarantined", "what happened")
    yield "".join(f"<th>{name}</th>" for name in heads) + "</tr></thead>\n<tbody>\n"
    worst: list[int] = o["order"][:ROWS_MAX]
    for place in worst:
        yield row(built.entries[place])
    yield "</tbody>\n</table>\n"
    if len(built.entries) > ROWS_MAX:
        yield f"<p>Not listed here: {counted(len(built.entries) - ROWS_MAX, 'more episode')}.</p>\n"
    yield "<p>With scripts switched on, this page shows each episode step by step.</p>\n"


def row(entry: dict[str, Any]) -> str:
    """Write the row of one episode."""
    score = "none" if entry["score"] is None else f"{entry['score']:.3g}"
    cells = (
        entry["key"],
        entry["headline"],
        score,
        "yes" if entry["valid"] else "no",
        "yes" if entry["quarantined"] else "no",
        entry["sentence"],
    )
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>\n"

"""What a report may hold besides rows: files, tests, history, hosts that can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.kernel.calendar import parse_instant
from simharness.reports.reader import pairs, plain

if TYPE_CHECKING:
    from simharness.product.product import Product
    from simharness.reports.lines import Path
    from simharness.reports.reader import Reader

ENTRY = ("message", "author", "at", "branch", "tags", "leak", "files")
LEAKS = ("none", "future", "past")


def read_material(
    reader: Reader, product: type[Product], at: Path, value: object, name: str
) -> Any:
    """Read one of them: a list of commits, a list of hosts, or texts by path."""
    if name == "history":
        listed = reader.tables(at, value, ENTRY)
        return [entry(reader, product, place, table) for place, table in listed]
    if name == "network":
        hosts = reader.texts(at, value)
        for host, reason in product.misplaced(name, hosts):
            reader.fail((*at, hosts.index(host)), reason)
        return hosts
    return texts(reader, product, at, value)


def texts(reader: Reader, product: type[Product], at: Path, value: object) -> dict[str, str]:
    """Read files: texts by path."""
    out: dict[str, str] = {}
    for where, path, text in pairs(reader.table(at, value), at):
        if isinstance(text, dict):
            reader.fail(where, "a path is one key", f'quote it, as "{path}.py" = "..."')
        if not isinstance(text, str):
            reader.fail(where, f"got {text!r:.60}, expected the text of a file")
        out[path] = text
    for path, reason in product.misplaced("files", out):
        reader.fail((*at, path), reason, 'give paths from the root, as "src/shop.py"')
    return out


def entry(
    reader: Reader, product: type[Product], at: Path, table: dict[str, Any]
) -> dict[str, Any]:
    """Read one commit, oldest first; its files are the whole tree."""
    if "message" not in table:
        reader.fail(at, "the commit has no 'message'", 'add: message = "..."')
    out: dict[str, Any] = {
        "message": reader.text((*at, "message"), table["message"]),
        "files": texts(reader, product, (*at, "files"), table.get("files", {})),
    }
    for key in ("author", "branch"):
        if key in table:
            out[key] = reader.text((*at, key), table[key])
    if "tags" in table:
        out["tags"] = reader.texts((*at, "tags"), table["tags"])
    if "leak" in table:
        out["leak"] = reader.one_of((*at, "leak"), table["leak"], LEAKS)
    if "at" in table:
        text = reader.text((*at, "at"), plain(table["at"]))
        out["at"] = reader.tried((*at, "at"), parse_instant, text)
    return out

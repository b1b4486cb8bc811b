"""Tools of the editor: read, find, write and remove files of the working tree."""

from __future__ import annotations

from typing import Annotated, Any

from simharness.api import (
    Answer,
    Bounds,
    Operation,
    Refused,
    Transaction,
    query,
    tool,
    write_tool,
)
from simharness.models.ide.paths import place_of
from simharness.models.ide.regex import BadPattern, compile_pattern
from simharness.models.ide.repository.lines import split_lines
from simharness.models.ide.repository.objects import FOLDER, PLAIN
from simharness.models.ide.repository.worktree import parents_of
from simharness.models.ide.stores import IdeStores
from simharness.models.ide.tables import FileRow, Ticket

LineNumber = Annotated[int, Bounds(1, 1_000_000)]
MATCHES_MAX = 200
"""Lines that a search shows."""


class EditorTools(IdeStores):
    """Read the ticket; read, find, write and remove files."""

    @tool
    def read_ticket(self, op: Operation) -> Answer[Ticket]:
        """Read the ticket that you are to work on."""
        row = yield from self.tickets.detail.read(op, self.ticket_id)
        if row is None:
            raise Refused("not_found", "there is no ticket")
        return row

    @tool
    def list_files(self, op: Operation, path: str = "") -> Answer[dict[str, Any]]:
        """List all files of the working tree, or those in a folder, with their size in bytes."""
        folder = place_of(op, path)
        head = folder + "/" if folder else ""

        def matches(row: FileRow) -> bool:
            return row.mode != FOLDER and (row.path.startswith(head) or row.path == folder)

        rows = yield from self.files.list.read(op, query(matches, folder=folder))
        if not rows and folder and not self.tree.is_folder(folder):
            raise Refused("not_found", f"no file or folder {folder!a:.200}")
        shown = sorted(rows, key=lambda row: row.path)
        return {"files": [listed(row) for row in shown]}

    @tool
    def open_file(
        self,
        op: Operation,
        path: str,
        start_line: LineNumber = 1,
        end_line: LineNumber | None = None,
    ) -> Answer[dict[str, Any]]:
        """Read a file of the working tree, all of it or the lines from start_line to end_line."""
        row = yield from self._read(op, place_of(op, path))
        lines = split_lines(row.content)
        last = len(lines) if end_line is None else min(end_line, len(lines))
        if start_line > max(len(lines), 1) or (end_line is not None and end_line < start_line):
            given = f"{start_line} to {'the end' if end_line is None else end_line}"
            raise Refused("invalid_arguments", f"no lines {given}: there are {len(lines)}")
        return {
            "path": row.path,
            "version": row.version,
            "lines": len(lines),
            "start_line": start_line,
            "end_line": last,
            "content": "".join(lines[start_line - 1 : last]),
        }

    @tool
    def search_text(self, op: Operation, pattern: str, path: str = "") -> Answer[dict[str, Any]]:
        """Find the lines that match an extended regular expression, in all files or in a folder.

        At most 200 lines are shown; `total` counts all of them.
        """
        folder = place_of(op, path)
        head = folder + "/" if folder else ""
        try:
            compiled = compile_pattern(*pattern.split("\n"), extended=True)
        except BadPattern as error:
            raise Refused("invalid_arguments", f"pattern: {error.text}") from None

        def matches(row: FileRow) -> bool:
            here = row.path.startswith(head) or row.path == folder
            return here and row.mode != FOLDER and bool(hits(row))

        def hits(row: FileRow) -> list[tuple[int, str]]:
            lines = row.content.split("\n")
            return [(n, line) for n, line in enumerate(lines, 1) if compiled.search(line)]

        asked = query(matches, folder=folder, pattern=pattern)
        rows = yield from self.files.search.read(op, asked)
        found = [
            {"path": row.path, "line": number, "text": line}
            for row in sorted(rows, key=lambda row: row.path)
            for number, line in hits(row)
        ]
        return {"matches": found[:MATCHES_MAX], "total": len(found)}

    # --- changes ----------------------------------------------------------------------------------

    @write_tool
    def edit_file(
        self, op: Operation, path: str, old_text: str, new_text: str
    ) -> Answer[dict[str, Any]]:
        """Replace a text of a file, which must stand there just once, by another one."""
        place = place_of(op, path, "write")
        if not old_text or old_text == new_text:
            what = "is empty" if not old_text else "and new_text are the same"
            raise Refused("invalid_arguments", f"old_text {what}")
        edit = yield from self.files.edit(op, self._id_of(place))
        try:
            content = edit.row.content
            count = occurrences(content, old_text)
            if count != 1:
                said = "doesn't stand" if not count else f"stands {count} times"
                raise Refused(
                    "invalid_arguments", f"old_text {said} in {place!a:.200}", found=count
                )
            tx = Transaction(op)
            edit.update(tx, {"content": content.replace(old_text, new_text)})
            tx.commit()
        finally:
            edit.close()
        return listed(self.files.table.rows[edit.key])

    @write_tool
    def write_file(self, op: Operation, path: str, content: str) -> Answer[dict[str, Any]]:
        """Write a whole file, a new one or over what was there."""
        place = place_of(op, path, "write")
        key = self.files.table.taken_by("path", place)
        if key is None:
            yield self.database(op)
            self._require_room(place)
            tx = Transaction(op)
            key = tx.insert(self.files.table, {"path": place, "content": content, "mode": PLAIN})
            tx.commit()
            return listed(self.files.table.rows[key])
        edit = yield from self.files.edit(op, self._id_of(place))
        try:
            tx = Transaction(op)
            edit.update(tx, {"content": content})
            tx.commit()
        finally:
            edit.close()
        return listed(self.files.table.rows[key])

    @write_tool
    def delete_file(self, op: Operation, path: str) -> Answer[dict[str, Any]]:
        """Remove a file."""
        place = place_of(op, path, "write")
        yield from self.files.delete(op, self._id_of(place))
        return {"deleted": place}

    # --- what they share --------------------------------------------------------------------------

    def _read(self, op: Operation, place: str) -> Answer[FileRow]:
        row = yield from self.files.detail.read(op, self._id_of(place))
        if row is None:
            raise Refused("not_found", f"no file {place!a:.200}")
        return row

    def _id_of(self, place: str) -> int:
        """Give the row of a file. Raises Refused for a folder, or for nothing."""
        if self.tree.is_folder(place):
            raise Refused("invalid_arguments", f"{place or '.'!a:.200} is a folder")
        key = self.files.table.taken_by("path", place)
        if key is None:
            raise Refused("not_found", f"no file {place!a:.200}")
        return key

    def _require_room(self, place: str) -> None:
        """Refuse a new file where a folder is, or below a file."""
        if self.tree.is_folder(place):
            raise Refused("conflict", f"{place or '.'!a:.200} is a folder")
        for folder in parents_of(place):
            if self.tree.file(folder) is not None:
                raise Refused("conflict", f"{folder!a:.200} is a file")


def listed(row: FileRow) -> dict[str, Any]:
    """Give a file without its content."""
    size = len(row.content.encode("utf-8", "surrogatepass"))
    return {"path": row.path, "size": size, "mode": row.mode, "version": row.version}


def occurrences(text: str, part: str) -> int:
    """Count where a text stands in another one, overlapping or not."""
    count, place = 0, text.find(part)
    while place >= 0:
        count += 1
        place = text.find(part, place + 1)
    return count

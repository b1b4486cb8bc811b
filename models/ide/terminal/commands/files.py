"""Commands that change files and folders, and where one stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.paths import ROOT, absolute
from simharness.models.ide.repository.objects import FOLDER, File
from simharness.models.ide.terminal.call import (
    DENIED,
    EXISTS,
    IS_FOLDER,
    NO_FILE,
    NO_FOLDER,
    Call,
    Place,
    Trouble,
)
from simharness.models.ide.terminal.options import BadOption

if TYPE_CHECKING:
    from simharness.models.ide.terminal.options import Options

NOT_EMPTY = "Directory not empty"


def pwd(call: Call) -> int:
    """Say where one stands."""
    call.print(call.shell.folder + "\n")
    return 0


def cd(call: Call) -> int:
    """Go to another folder."""
    names = [name for name in call.arguments if name != "--"]
    prefix = "bash: line 1: cd"
    if len(names) > 1:
        call.err.write(f"{prefix}: too many arguments\n")
        return 1
    name = names[0] if names else ROOT
    before = call.shell.folder
    if name == "-":
        name = call.shell.variables.get("OLDPWD", before)
        call.print(name + "\n")
    try:
        place = call.exists(name)
        if place.kind != "folder":
            raise Trouble(NO_FOLDER)
    except Trouble as trouble:
        call.err.write(f"{prefix}: {name}: {trouble.text}\n")
        return 1
    call.shell.folder = place.path
    call.shell.variables.update(PWD=place.path, OLDPWD=before)
    return 0


def require_operands(call: Call, options: Options, least: int = 1) -> int:
    """Say what operands are missing; 0 where none is."""
    if len(options.rest) >= least:
        return 0
    if not options.rest:
        what = (
            "missing operand" if call.name not in ("cp", "mv", "touch") else "missing file operand"
        )
        return call.usage(BadOption(what))
    return call.usage(BadOption(f"missing destination file operand after '{options.rest[0]}'"))


def mkdir(call: Call) -> int:
    """Make folders."""
    try:
        options = call.options("pvm:", {"parents": "p", "verbose": "v", "mode=": "m"})
    except BadOption as error:
        return call.usage(error)
    status = require_operands(call, options)
    for name in options.rest:
        try:
            for path in folders_to_make(call, name, parents="p" in options):
                within = Place(path, "").inner
                if within is None:
                    raise Trouble(DENIED)
                call.require_entry(within)
                call.tree.make_folder(within, call.shell.now)
                if "v" in options:
                    shown = name if "p" not in options else call.shown(Place(path, ""))
                    call.print(f"mkdir: created directory '{shown}'\n")
        except Trouble as trouble:
            shown = trouble.name or name
            status = call.fail(f"cannot create directory '{shown}': {trouble.text}")
    return status


def folders_to_make(call: Call, name: str, *, parents: bool) -> list[str]:
    """Give the folders that have to be made, the outermost first. Raises Trouble."""
    if not parents:
        place = call.find(name.rstrip("/") or name)
        if place.kind:
            raise Trouble(EXISTS)
        return [place.path]
    out: list[str] = []
    path = name if name.startswith("/") else f"{call.shell.folder}/{name}"
    here = ""
    for part in path.split("/"):
        if part in ("", "."):
            continue
        here = here.rpartition("/")[0] if part == ".." else f"{here}/{part}"
        place = call.find(here or "/")
        if place.kind == "file":
            if here == absolute(call.shell.folder, name):
                raise Trouble(EXISTS)
            raise Trouble(NO_FOLDER, call.shown(place))
        if not place.kind:
            # It has to be there before one can look below it.
            within = place.inner
            if within is None:
                raise Trouble(DENIED)
            call.require_entry(within)
            call.tree.make_folder(within, call.shell.now)
            out.append(here)
    return out


def path_end(path: str) -> str:
    """Give a path without slashes at its end."""
    return path.rstrip("/") or "/"


def rmdir(call: Call) -> int:
    """Remove folders that hold nothing."""
    try:
        options = call.options("pv", {"verbose": "v", "parents": "p"})
    except BadOption as error:
        return call.usage(error)
    status = require_operands(call, options)
    for name in options.rest:
        try:
            place = call.exists(name)
            if place.kind != "folder":
                raise Trouble(NO_FOLDER)
            within = inner_of(place)
            if call.names(place):
                raise Trouble(NOT_EMPTY)
            if "v" in options:
                call.print(f"rmdir: removing directory, '{name}'\n")
            take_away(call, within)
        except Trouble as trouble:
            status = call.fail(f"failed to remove '{name}': {trouble.text}")
    return status


def inner_of(place: Place) -> str:
    """Give the path in the repository of what may be changed. Raises Trouble."""
    within = place.inner
    if not within:
        raise Trouble(DENIED if within is None else "Device or resource busy")
    return within


def take_away(call: Call, within: str) -> None:
    """Remove a file, or a folder with all in it; the folder above stays."""
    tree = call.tree
    paths = tree.below(within)
    if within in tree.entries:
        paths.append(within)
    for path in paths:
        call.shell.size -= len(tree.entries[path].text)
        tree.remove(path)
    tree.keep_folder(within.rpartition("/")[0], call.shell.now)


def rm(call: Call) -> int:
    """Remove files, and with -r folders."""
    try:
        options = call.options(
            "rRfdvi", {"recursive": "r", "force": "f", "dir": "d", "verbose": "v"}
        )
    except BadOption as error:
        return call.usage(error)
    if not options.rest and "f" in options:
        return 0
    status = require_operands(call, options)
    recursive = "r" in options or "R" in options
    for name in options.rest:
        try:
            if path_end(name).rpartition("/")[2] in (".", "..") and recursive:
                call.fail(f"refusing to remove '.' or '..' directory: skipping '{name}'")
                status = 1
                continue
            place = call.find(name)
            if not place.kind:
                if "f" not in options:
                    raise Trouble(NO_FILE)
                continue
            if place.kind == "folder" and not recursive:
                if "d" not in options:
                    raise Trouble(IS_FOLDER)
                if call.names(place):
                    raise Trouble(NOT_EMPTY)
            removed = tree_names(call, name, place)
            take_away(call, inner_of(place))
            if "v" in options:
                for shown, kind in removed:
                    what = "removed directory" if kind == "folder" else "removed"
                    call.print(f"{what} '{shown}'\n")
        except Trouble as trouble:
            if trouble.text not in (NO_FOLDER, NO_FILE) or "f" not in options:
                status = call.fail(f"cannot remove '{name}': {trouble.text}")
    return status


def tree_names(call: Call, name: str, place: Place) -> list[tuple[str, str]]:
    """Name what is in a folder, and the folder last."""
    out: list[tuple[str, str]] = []
    if place.kind == "folder":
        for inner in call.names(place):
            found = call.find(f"{place.path.rstrip('/')}/{inner}")
            out += tree_names(call, f"{name.rstrip('/')}/{inner}", found)
    return [*out, (name, place.kind)]


def touch(call: Call) -> int:
    """Make files that aren't there."""
    try:
        options = call.options("cam", {"no-create": "c"})
    except BadOption as error:
        return call.usage(error)
    status = require_operands(call, options)
    for name in options.rest:
        try:
            place = call.find(name)
            within = place.inner
            if within is None:
                if place.kind:
                    continue
                raise Trouble(DENIED)
            if place.kind == "file":
                call.tree.stamps[within] = call.shell.now
            elif not place.kind and "c" not in options:
                if name.endswith("/"):
                    raise Trouble(NO_FILE)
                call.write(within, "")
        except Trouble as trouble:
            status = call.fail(f"cannot touch '{name}': {trouble.text}")
    return status


# --- cp and mv ------------------------------------------------------------------------------------


def cp(call: Call) -> int:
    """Copy files, and with -r folders."""
    try:
        options = call.options(
            "rRafpnvit:T",
            {
                "recursive": "r", "archive": "a", "force": "f", "no-clobber": "n", "verbose": "v",
                "target-directory=": "t", "no-target-directory": "T",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error)
    return carry(call, options, move=False)


def mv(call: Call) -> int:
    """Move or rename files and folders."""
    try:
        options = call.options(
            "fnvit:T",
            {
                "force": "f", "no-clobber": "n", "verbose": "v", "target-directory=": "t",
                "no-target-directory": "T",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error)
    return carry(call, options, move=True)


def carry(call: Call, options: Options, *, move: bool) -> int:
    """Do what cp and mv have in common."""
    into = options.value("t")
    if missing := require_operands(call, options, 1 if into is not None else 2):
        return missing
    names = list(options.rest)
    target = into if into is not None else names.pop()
    try:
        end = call.find(target)
    except Trouble as trouble:
        if len(names) > 1 or into is not None:
            return call.fail(f"target '{target}': {trouble.text}")
        return call.fail(f"{verb_failed(move, names[0], target)}: {trouble.text}")
    if (len(names) > 1 or into is not None) and end.kind != "folder":
        said = NO_FOLDER if end.kind else NO_FILE
        return call.fail(f"target '{target}'{': ' + said}")
    status = 0
    for name in names:
        try:
            within_folder = end.kind == "folder" and "T" not in options
            shown = f"{target.rstrip('/')}/{base_of(call, name)}" if within_folder else target
            carry_one(call, name, shown, options, move=move)
        except Trouble as trouble:
            status = call.fail(trouble.text)
    return status


def base_of(call: Call, name: str) -> str:
    """Give the last part of a name."""
    last = path_end(name).rpartition("/")[2]
    return call.find(name).path.rpartition("/")[2] if last in (".", "..") else last


def verb_failed(move: bool, name: str, target: str) -> str:
    """Begin the message that something couldn't be carried."""
    if move:
        return f"cannot move '{name}' to '{target}'"
    return f"cannot create regular file '{target}'"


def carry_one(call: Call, name: str, target: str, options: Options, *, move: bool) -> None:
    """Copy or move one thing. Raises Trouble with the whole message."""
    try:
        source = call.exists(name)
    except Trouble as trouble:
        raise Trouble(f"cannot stat '{name}': {trouble.text}") from None
    recursive = move or any(c in options for c in "rRa")
    if source.kind == "folder" and not recursive:
        raise Trouble(f"-r not specified; omitting directory '{name}'")
    try:
        end = call.find(path_end(target) if source.kind == "folder" else target)
    except Trouble as trouble:
        raise Trouble(f"{verb_failed(move, name, target)}: {trouble.text}") from None
    if source.path == end.path:
        raise Trouble(f"'{name}' and '{target}' are the same file")
    if source.kind == "folder" and (end.path + "/").startswith(source.path.rstrip("/") + "/"):
        what = "to a subdirectory of itself, " if move else "a directory, "
        if move:
            raise Trouble(f"cannot move '{name}' {what}'{target}'")
        raise Trouble(f"cannot copy {what}'{name}', into itself, '{target}'")
    if end.kind == "folder" and source.kind == "file":
        raise Trouble(f"cannot overwrite directory '{target}' with non-directory")
    if end.kind == "file" and source.kind == "folder":
        raise Trouble(f"cannot overwrite non-directory '{target}' with directory '{name}'")
    if not end.kind and target.endswith("/") and source.kind == "file":
        raise Trouble(f"{verb_failed(move, name, target)}: {NO_FOLDER}")
    if options.last("nf") == "n" and end.kind == "file":
        return
    if move and end.kind == "folder" and call.names(end):
        raise Trouble(f"cannot move '{name}' to '{target}': {NOT_EMPTY}")
    source_path, end_path = source.inner, end.inner
    if end_path is None or (move and not source_path):
        if end.kind == "file" and not move:
            return  # into /dev/null
        raise Trouble(f"{verb_failed(move, name, target)}: {DENIED}")
    copied = copies(call, source, source_path, end_path)
    for path, file in copied.items():
        if file.mode == FOLDER:
            if not call.tree.is_folder(path):
                call.tree.make_folder(path, call.shell.now)
            continue
        try:
            call.write(path, file.text)
        except Trouble as trouble:
            raise Trouble(f"error writing '{target}': {trouble.text}") from None
        call.tree.entries[path] = file
    if move and source_path is not None:
        stamps = {path: call.tree.stamps.get(path) for path in call.tree.entries}
        for path in call.tree.below(source_path) or [source_path]:
            moved = end_path + path[len(source_path) :]
            stamp = stamps.get(path)
            if moved in call.tree.stamps and stamp is not None:
                call.tree.stamps[moved] = stamp
        take_away(call, source_path)
    if "v" in options:
        said = "renamed '" if move else "'"
        call.print(f"{said}{name}' -> '{target}'\n")


def copies(call: Call, source: Place, within: str | None, end: str) -> dict[str, File]:
    """Give what a copy writes, by path."""
    if within is None:
        return {end: File(call.content(source))}
    entries = call.tree.entries
    if source.kind == "file":
        return {end: entries[within]}
    head = within + "/" if within else ""
    out = {f"{end}/{path[len(head) :]}": entries[path] for path in call.tree.below(within)}
    return out or {end: File("", FOLDER)}

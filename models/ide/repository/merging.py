"""Three-way merges: of texts, with markers where both sides changed the same lines; of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.models.ide.repository.lines import merge_hunks, split_lines
from simharness.models.ide.repository.objects import File

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.repository.lines import Hunk


class Merged(NamedTuple):
    """The merge of two texts."""

    text: str
    conflicts: int
    """Stretches that both sides changed, each in its own way."""


class Clash(NamedTuple):
    """A path that can't be merged by itself, with its three sides."""

    path: str
    base: File | None
    ours: File | None
    theirs: File | None

    @property
    def letters(self) -> str:
        """What happened on our side and on theirs, as a short status shows it."""
        if self.base is None:
            return "AA"
        if self.ours is None:
            return "DU"
        return "UD" if self.theirs is None else "UU"


class MergedTree(NamedTuple):
    """The merge of two trees."""

    files: dict[str, File]
    """What goes into the working tree; in files that clash markers show where."""
    clashes: tuple[Clash, ...]


class Piece(NamedTuple):
    """A stretch of a merged text."""

    kind: str
    """common: both sides have it; taken: one side changed it; conflict."""
    mine: list[str]
    yours: list[str]


JOINED_OVER = 3
"""Lines that both sides have between two conflicts and that are put into them."""


def merge_texts(base: str, ours: str, theirs: str, *, our_name: str, their_name: str) -> Merged:
    """Merge what two sides made of one text, as git does.

    Changes that touch or overlap are a conflict unless they are equal. Lines that both sides have
    are kept out of the markers, unless they are few between two conflicts.
    """
    out: list[str] = []
    conflicts = 0
    for piece in _joined(_pieces(split_lines(base), split_lines(ours), split_lines(theirs))):
        if piece.kind != "conflict":
            out += piece.mine
            continue
        conflicts += 1
        out += [f"<<<<<<< {our_name}\n", *_ended(piece.mine), "=======\n"]
        out += [*_ended(piece.yours), f">>>>>>> {their_name}\n"]
    return Merged("".join(out), conflicts)


def _pieces(base: list[str], a: list[str], b: list[str]) -> list[Piece]:
    out: list[Piece] = []
    place = 0
    for one, other, start, end in _stretches(merge_hunks(base, a), merge_hunks(base, b)):
        between = base[place:start]
        out.append(Piece("common", between, between))
        place = end
        mine, yours = _side(base, a, one, start, end), _side(base, b, other, start, end)
        if mine == yours:
            out.append(Piece("common", mine, yours))
        elif not other:
            out.append(Piece("taken", mine, mine))
        elif not one:
            out.append(Piece("taken", yours, yours))
        else:
            out += _parted(mine, yours)
    rest = base[place:]
    return [*out, Piece("common", rest, rest)]


def _parted(mine: list[str], yours: list[str]) -> list[Piece]:
    """Cut a conflict where both sides have the same lines."""
    out: list[Piece] = []
    at = 0
    for a0, a1, b0, b1 in merge_hunks(mine, yours):
        out.append(Piece("common", mine[at:a0], mine[at:a0]))
        out.append(Piece("conflict", mine[a0:a1], yours[b0:b1]))
        at = a1
    return [*out, Piece("common", mine[at:], mine[at:])]


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Join conflicts with only few common lines between them."""
    out: list[Piece] = []
    common: list[str] = []
    for piece in pieces:
        if piece.kind == "common":
            common += piece.mine
            continue
        near = bool(out) and out[-1].kind == "conflict" and len(common) <= JOINED_OVER
        if near and piece.kind == "conflict":
            last = out.pop()
            mine, yours = [*last.mine, *common], [*last.yours, *common]
            out.append(Piece("conflict", mine + piece.mine, yours + piece.yours))
        else:
            out += [Piece("common", common, common), piece]
        common = []
    return [*out, Piece("common", common, common)]


def _stretches(
    ours: Sequence[Hunk], theirs: Sequence[Hunk]
) -> list[tuple[list[Hunk], list[Hunk], int, int]]:
    """Put hunks together where they touch: those of both sides, first and last base line."""
    every = sorted(
        [(h.a0, h.a1, 0, h) for h in ours] + [(h.a0, h.a1, 1, h) for h in theirs],
        key=lambda item: item[:3],
    )
    out: list[tuple[list[Hunk], list[Hunk], int, int]] = []
    for a0, a1, side, hunk in every:
        if not out or a0 > out[-1][3]:
            out.append(([], [], a0, a1))
        one, other, start, end = out[-1]
        (other if side else one).append(hunk)
        out[-1] = (one, other, start, max(end, a1))
    return out


def _side(
    base: Sequence[str], new: Sequence[str], changes: Sequence[Hunk], start: int, end: int
) -> list[str]:
    """Give what one side made of the base's lines from start to end."""
    out: list[str] = []
    place = start
    for hunk in changes:
        out += [*base[place : hunk.a0], *new[hunk.b0 : hunk.b1]]
        place = hunk.a1
    return [*out, *base[place:end]]


def _ended(lines: list[str]) -> list[str]:
    """Give lines of which the last ends in a newline: a marker follows."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + "\n"]
    return lines


def merge_trees(
    base: Mapping[str, File],
    ours: Mapping[str, File],
    theirs: Mapping[str, File],
    *,
    our_name: str,
    their_name: str,
) -> MergedTree:
    """Merge what two sides made of one tree."""
    files: dict[str, File] = {}
    clashes: list[Clash] = []
    for path in sorted({**base, **ours, **theirs}):
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if o == t or t == b:
            merged = o
        elif o == b:
            merged = t
        elif o is None or t is None:
            merged = o or t
            clashes.append(Clash(path, b, o, t))
        else:
            names = {"our_name": our_name, "their_name": their_name}
            text, conflicts = merge_texts(b.text if b else "", o.text, t.text, **names)
            merged = File(text, t.mode if b is not None and o.mode == b.mode else o.mode)
            if conflicts:
                clashes.append(Clash(path, b, o, t))
        if merged is not None:
            files[path] = merged
    return MergedTree(files, tuple(clashes))

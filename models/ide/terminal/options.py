"""Options of commands, as GNU's tools have them: anywhere, several in one, long ones cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class BadOption(Exception):  # noqa: N818  (the caller's, not ours)
    """An option that there isn't, or one without its value; the text is what the tool says."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Options:
    """Options of one call, and what else it was given."""

    __slots__ = ("given", "rest")

    def __init__(self, given: list[tuple[str, str]], rest: list[str]) -> None:
        self.given = given
        """Options in their order, each with its value or an empty text."""
        self.rest = rest
        """Everything else."""

    def __contains__(self, name: str) -> bool:
        return any(name == given for given, _ in self.given)

    def last(self, names: str) -> str:
        """Give which of some options of one letter comes last; empty for none."""
        found = [given for given, _ in self.given if given in names]
        return found[-1] if found else ""

    def value(self, name: str) -> str | None:
        """Give the value of an option, the last one given."""
        found = self.values(name)
        return found[-1] if found else None

    def values(self, name: str) -> list[str]:
        """Give all values of an option."""
        return [value for given, value in self.given if given == name]


def read_options(
    arguments: Sequence[str],
    short: str,
    long: Mapping[str, str] | None = None,
    *,
    in_order: bool = False,
) -> Options:
    """Sort options from the rest.

    Args:
        arguments: What follows the name of the command.
        short: Letters as getopt has them, with a colon behind those that take a value.
        long: Long names, each to the letter or name that it is known by; with `=` behind those that
            take a value and `?` where they may.
        in_order: Whether the first argument that is no option ends them.

    Raises:
        BadOption: With the text that follows the command's name.
    """
    given: list[tuple[str, str]] = []
    rest: list[str] = []
    names = long or {}
    queue = list(arguments)
    while queue:
        argument = queue.pop(0)
        if argument == "--":
            rest += queue
            break
        if argument.startswith("--"):
            given.append(_long(argument, names, queue))
        elif argument.startswith("-") and argument != "-":
            _short(argument, short, queue, given)
        else:
            rest.append(argument)
            if in_order:
                rest += queue
                break
    return Options(given, rest)


def _short(argument: str, short: str, queue: list[str], given: list[tuple[str, str]]) -> None:
    letters = argument[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        at = short.find(letter)
        if letter == ":" or at < 0:
            raise BadOption(f"invalid option -- '{letter}'")
        if short[at + 1 : at + 2] != ":":
            given.append((letter, ""))
            continue
        if not letters:
            if not queue:
                raise BadOption(f"option requires an argument -- '{letter}'")
            letters = queue.pop(0)
        given.append((letter, letters))
        return


def _long(argument: str, names: Mapping[str, str], queue: list[str]) -> tuple[str, str]:
    name, equals, value = argument[2:].partition("=")
    takes = {known.rstrip("=?"): known for known in names}
    found = [name] if name in takes else sorted(known for known in takes if known.startswith(name))
    if not found:
        raise BadOption(f"unrecognized option '{argument}'")
    meant = {names[takes[known]] for known in found}
    if len(meant) > 1:
        every = " ".join(f"'--{known}'" for known in found)
        raise BadOption(f"option '{argument}' is ambiguous; possibilities: {every}")
    known = takes[found[0]]
    if not known.endswith(("=", "?")):
        if equals:
            raise BadOption(f"option '--{found[0]}' doesn't allow an argument")
        return names[known], ""
    if not equals and known.endswith("="):
        if not queue:
            raise BadOption(f"option '--{found[0]}' requires an argument")
        value = queue.pop(0)
    return names[known], value

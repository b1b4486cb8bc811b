"""References of a script's arguments into earlier answers: `$label.path`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.product.script import Answer

MARK = "$"


class Unresolved(Exception):  # noqa: N818  (of the script, no failure)
    """A reference leads nowhere; the message says which and why."""


def reference(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Read a text that is wholly a reference: label and path; None for any other."""
    if not text.startswith(MARK) or text.startswith(MARK * 2) or len(text) == 1:
        return None
    label, *path = text[1:].split(".")
    return label, tuple(path)


def references(value: object) -> Iterator[str]:
    """Give the labels that a value refers to."""
    if isinstance(value, str):
        found = reference(value)
        if found is not None:
            yield found[0]
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, object]", value).values():
            yield from references(item)
    elif isinstance(value, Sequence):
        for item in cast("Sequence[object]", value):
            yield from references(item)


def resolved(value: Any, answers: Mapping[str, Answer]) -> Any:
    """Put answers in the place of references. Raises Unresolved."""
    if isinstance(value, str):
        found = reference(value)
        if found is not None:
            return follow(value, *found, answers)
        return value[1:] if value.startswith(MARK * 2) else value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {name: resolved(item, answers) for name, item in items.items()}
    if isinstance(value, list | tuple):
        return [resolved(item, answers) for item in cast("Sequence[Any]", value)]
    return value


def escaped(value: Any) -> Any:
    """Write a value so that `resolved` gives it back, whatever its texts begin with."""
    if isinstance(value, str):
        return MARK + value if value.startswith(MARK) else value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {name: escaped(item) for name, item in items.items()}
    if isinstance(value, list | tuple):
        return [escaped(item) for item in cast("Sequence[Any]", value)]
    return value


def follow(text: str, label: str, path: tuple[str, ...], answers: Mapping[str, Answer]) -> Any:
    """Give what a reference leads to. Raises Unresolved."""
    answer = answers.get(label)
    if answer is None:
        raise Unresolved(f"{text}: {label} has not been answered")
    if not answer.ok:
        raise Unresolved(f"{text}: {label} was refused ({answer.value['code']})")
    value: Any = answer.value
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = cast("Mapping[str, Any]", value)[part]
        elif isinstance(value, list | tuple) and part.lstrip("-").isdecimal():
            items = cast("Sequence[Any]", value)
            index = int(part)
            if not -len(items) <= index < len(items):
                raise Unresolved(f"{text}: the list has {len(items)} items")
            value = items[index]
        else:
            raise Unresolved(f"{text}: the answer of {label} has no {part!r}")
    return value

"""Whose exception it was that ended a check: the product's, or the harness's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

from simharness.episode.info import source_files
from simharness.errors import ContractBreach, Deadlock, ForbiddenCall, ProcessFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.validate.subject import Subject

OF_PRODUCTS = (ContractBreach, Deadlock, ForbiddenCall, ProcessFailed)
"""What only a product brings about, whatever was running when it came out."""
MODELS = "simharness.models"
WHERE = re.compile(r"( \([^()]*simulated time[^()]*\))+$")
"""What a message says of the episode: the same defect has another place in another one."""


def by_product(error: BaseException, subject: Subject) -> bool:
    """Tell whether an exception came out of the code of a product, its policies included."""
    files, folders = code_of(subject)
    return any(
        isinstance(one, OF_PRODUCTS)
        or any(belongs(frame.f_code.co_filename, files, folders)
               for frame, _ in walk_tb(one.__traceback__))
        for one in chain(error)
    )  # fmt: skip


def code_of(subject: Subject) -> tuple[set[Path], set[Path]]:
    """Give the files that a scenario's code is in, and the folder of its product's package."""
    own = source_files(subject.product)
    classes = (*subject.product.__mro__, *type(subject.scenario).__mro__)
    parts = (*classes, *subject.scenario.policies.values())
    modules = {part.__module__ for part in parts if not is_harness(part.__module__)}
    found = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    # Of a package, what lies in its folders belongs to it too.
    folders = {own[0].parent} if len(own) > 1 else set[Path]()
    return {*own, *(Path(file) for file in found if file)}, folders


def is_harness(module: str) -> bool:
    """Tell whether a module is of Python or the harness, and of no product that comes with it."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return module.startswith("simharness.") and not module.startswith(f"{MODELS}.")


def belongs(name: str, files: set[Path], folders: set[Path]) -> bool:
    """Tell whether a file of code is one of a product's."""
    path = Path(name)
    return path in files or not folders.isdisjoint(path.parents)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Give an exception and those that it came from."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__


def sort_of(text: str) -> str:
    """Give what equal breaks of several episodes have in common of their text."""
    return WHERE.sub("", text)


__all__ = ["by_product", "sort_of"]

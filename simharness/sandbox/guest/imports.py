"""Imports from the folder, found in its table of files and not by asking for names one by one."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.sandbox.guest.folder import Folder

_spec = importlib.util.spec_from_file_location
_decode = importlib.util.decode_source


class Loader(importlib.machinery.SourceFileLoader):
    """Loads source from the folder; nothing is ever kept compiled."""

    folder: Folder

    def get_data(self, path: Any) -> bytes:
        """Give a file's bytes."""
        return bytes(self.folder.find(path)[1].data or b"")

    def get_code(self, fullname: str) -> Any:
        """Compile the module's file."""
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)


class Finder:
    """Finds modules in one folder of the import path."""

    def __init__(self, folder: Folder, path: str) -> None:
        self._folder = folder
        self._path = path

    def find_spec(self, fullname: str, target: Any = None) -> Any:
        """Find a module, a package or a part of a namespace package."""
        nodes = self._folder.nodes
        base = f"{self._path}/{fullname.rpartition('.')[2]}"
        inside = f"{base}/__init__.py"
        if inside in nodes and nodes[inside].data is not None:
            loader = Loader(fullname, inside)
            return _spec(fullname, inside, loader=loader, submodule_search_locations=[base])
        file = f"{base}.py"
        if file in nodes and nodes[file].data is not None:
            return _spec(fullname, file, loader=Loader(fullname, file))
        if base in nodes and nodes[base].data is None:
            spec = importlib.machinery.ModuleSpec(fullname, None)
            spec.submodule_search_locations = [base]
            return spec
        return None

    def invalidate_caches(self) -> None:
        """Do nothing: the table is always up to date."""


def install(folder: Folder) -> None:
    """Look for modules in the folder, wherever the import path leads."""
    Loader.folder = folder

    def hook(path: str) -> Finder:
        try:
            full = folder.resolve(path or ".")
        except (OSError, ValueError):
            raise ImportError(path) from None
        node = folder.nodes.get(full)
        if node is None or node.data is not None:
            raise ImportError(f"no folder {path!r}", path=path)
        return Finder(folder, full)

    sys.path_hooks[:] = [hook]
    sys.path_importer_cache.clear()

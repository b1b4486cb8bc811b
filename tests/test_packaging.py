"""What is installed is what the tree holds, under one name, and starts fast."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import simharness
from simharness.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent

# What a product may import of simharness, besides its own files: what a third party's product may.
PUBLIC_MODULES = frozenset({"simharness", "simharness.api"})
# Folders of Python that the type checkers cover; mypy sees `models` through the link in simharness.
CHECKED_FOLDERS = ("simharness", "tests", "benchmarks")


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser(delimiters=("=",))
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def lines(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip()]


def package_folders(root: Path) -> dict[str, Path]:
    """Map each package's dotted name to its folder; the link `simharness/models` is not entered."""
    found: dict[str, Path] = {}
    tops = {"simharness": root / "simharness", "simharness.models": root / "models"}
    for prefix, base in tops.items():
        for init in base.rglob("__init__.py"):
            folder = init.parent
            if base.name == "simharness" and (base / "models") in (folder, *folder.parents):
                continue
            found[".".join((prefix, *folder.relative_to(base).parts))] = folder
    return found


def run_python(code: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_models_has_one_name() -> None:
    result = run_python("import models")
    assert result.returncode == 1
    assert "ImportError: imported as 'models'; import it as 'simharness.models'" in result.stderr


def test_models_imports_under_its_name() -> None:
    result = run_python("import simharness.models")
    assert result.returncode == 0, result.stderr


def test_the_link_to_the_models_is_relative() -> None:
    link = ROOT / "simharness" / "models"
    if not link.exists():
        pytest.skip("an unpacked sdist has no link")
    assert link.is_symlink()
    assert link.readlink() == Path("../models")


def test_the_package_list_equals_the_tree() -> None:
    listed = lines(setup_cfg()["options"]["packages"])
    assert len(listed) == len(set(listed))
    assert sorted(listed) == sorted(package_folders(ROOT))


def test_every_folder_of_python_is_a_package() -> None:
    packages = set(package_folders(ROOT).values())
    stray = {
        path.relative_to(ROOT).as_posix()
        for top in ("simharness", "models")
        for path in (ROOT / top).rglob("*.py")
        if (ROOT / "simharness" / "models") not in path.parents and path.parent not in packages
    }
    assert stray == set()


def test_every_data_file_is_installed() -> None:
    data = setup_cfg()["options.package_data"]
    globs = {name: re.split(r"[,\s]+", value) for name, value in data.items()}
    packages = package_folders(ROOT)
    names = {folder: name for name, folder in packages.items()}
    missing: list[str] = []
    for top in ("simharness", "models"):
        for path in (ROOT / top).rglob("*"):
            if path.is_dir() or path.suffix in {".py", ".pyc"}:
                continue
            if (ROOT / "simharness" / "models") in path.parents:
                continue
            owner = next(parent for parent in path.parents if parent in names)
            relative = path.relative_to(owner).as_posix()
            if not any(fnmatch(relative, glob) for glob in globs.get(names[owner], [])):
                missing.append(f"{names[owner]}: {relative}")
    assert missing == [], "put these into [options.package_data] of setup.cfg"


def test_the_version_can_be_read() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", simharness.__version__)


def test_every_entry_point_exists() -> None:
    section = setup_cfg()["options.entry_points"]
    targets = [line.split("=")[1].strip() for group in section.values() for line in lines(group)]
    assert targets
    for target in targets:
        name, _, attribute = target.partition(":")
        try:
            module = importlib.import_module(name)
        except UsageError as error:
            # Of an adapter whose framework isn't here: its tests import it where it is.
            if name.startswith("simharness.adapters.") and "can't be imported" in error.message:
                continue
            raise
        assert callable(getattr(module, attribute)), target


def test_the_type_checkers_cover_every_folder_of_python() -> None:
    there = [name for name in CHECKED_FOLDERS if any((ROOT / name).rglob("*.py"))]
    assert setup_cfg()["mypy"]["files"].split(", ") == there
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pyright = pyproject["tool"]["pyright"]
    assert pyright["include"] == ["simharness", "simharness/models", *there[1:]]


def test_help_imports_nothing_heavy() -> None:
    code = """
import sys
before = set(sys.modules)
from simharness.cli import main
sys.argv = ["simharness", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
heavy = {"numpy", "simpy", "msgpack", "importlib.metadata"}
print("heavy:", sorted(heavy & (set(sys.modules) - before)))
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert "Usage:" in result.stdout
    assert result.stdout.splitlines()[-1] == "heavy: []"


def private_modules() -> frozenset[str]:
    """Name the modules that stand directly inside simharness and are not public."""
    inside = (ROOT / "simharness").iterdir()
    names = {path.stem for path in inside if path.suffix == ".py" or path.is_dir()}
    return frozenset(name for name in names if f"simharness.{name}" not in PUBLIC_MODULES)


def model_import_faults(text: str, package: str, private: frozenset[str]) -> list[str]:
    """Describe each import in a product's file that a third party's product could not make.

    Args:
        text: The file's source.
        package: The dotted name of the package that the file is in.
        private: Modules that `from simharness import ...` must not name.
    """
    product = ".".join(package.split(".")[:3])
    aliases: set[str] = set()
    faults: list[str] = []
    tree = ast.parse(text)
    for node in ast.walk(tree):
        wanted: list[str] = []
        if isinstance(node, ast.Import):
            for alias in node.names:
                wanted.append(alias.name)
                if alias.name == "simharness":
                    aliases.add(alias.asname or alias.name)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join((*base, *(node.module.split(".") if node.module else ())))
            if module in {"simharness", "simharness.models"}:
                # Each name may be a module of its own.
                names = {alias.name for alias in node.names}
                known = names & private if module == "simharness" else names
                wanted.extend(f"{module}.{name}" for name in sorted(known))
            else:
                wanted.append(module)
        for name in wanted:
            inside = name == product or name.startswith(f"{product}.")
            ours = name.split(".")[0] in {"simharness", "models"}
            if ours and name not in PUBLIC_MODULES and not inside:
                faults.append(f"imports {name}")
    faults.extend(
        f"reaches {node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in aliases
        and node.attr in private
    )
    return faults


def test_models_import_only_the_public_api_and_never_each_other() -> None:
    private = private_modules()
    faults: list[str] = []
    for package, folder in package_folders(ROOT).items():
        if package.split(".")[:2] != ["simharness", "models"]:
            continue
        for path in sorted(folder.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            shown = path.relative_to(ROOT).as_posix()
            faults.extend(f"{shown} {f}" for f in model_import_faults(text, package, private))
    assert faults == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("from simharness.kernel.world import World", "imports simharness.kernel.world"),
        ("import simharness.parts", "imports simharness.parts"),
        ("from simharness import kernel", "imports simharness.kernel"),
        ("from ... import kernel", "imports simharness.kernel"),
        ("import simharness as sh\nsh.kernel.World()", "reaches sh.kernel"),
        ("from simharness.models import helpdesk", "imports simharness.models.helpdesk"),
        ("from ..helpdesk.product import Desk", "imports simharness.models.helpdesk.product"),
        ("import models.crm", "imports models.crm"),
    ],
)
def test_a_private_import_planted_in_a_model_is_caught(text: str, fault: str) -> None:
    private = frozenset({"kernel"})
    assert model_import_faults(text, "simharness.models.crm", private) == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "import simharness as sh\nsh.make('crm/x')",
        "from simharness import Call, make",
        "from simharness.api import Product",
        "from .tables import Deal",
        "from simharness.models.crm.tables import Deal",
        "import dataclasses",
    ],
)
def test_a_public_import_in_a_model_is_allowed(text: str) -> None:
    private = frozenset({"kernel"})
    assert model_import_faults(text, "simharness.models.crm", private) == []

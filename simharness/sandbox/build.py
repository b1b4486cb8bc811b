"""Builds the component: `python -m simharness.sandbox.build`.

It needs `componentize-py` of the version below, which brings CPython, and nothing else. The file
that it writes is part of the package; `component.py` holds its digest.

Two builds differ, since the interpreter draws its hash secret while it is being frozen: so what is
shipped is one build, and a later one is a new sandbox with other fuel and another order of sets.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPONENTIZE = "0.25.1"

APP = """
import gc
import posix
import sys

from simharness.sandbox.guest import preload

missing = preload.load()
if missing:
    raise ImportError(f"not in this build of Python: {', '.join(missing)}")

from simharness.sandbox.guest import pytest_names

pytest_names.install()

import wit_world
from simharness.sandbox.guest.main import Guest

emit = wit_world.emit
guest = Guest()


class WitWorld(wit_world.WitWorld):
    def begin(self, request: str) -> None:
        guest.begin(request, emit)

    def call(self, step: str) -> None:
        guest.call(step)


guest.install(posix._exit)
gc.collect()
# What is there from the start is no garbage, and no business of the collector's.
gc.freeze()
"""


def sources() -> dict[str, str]:
    """Give the files that the component is built from, by their path in the package."""
    found = {"sandbox.wit": (HERE / "sandbox.wit").read_text(encoding="utf-8"), "app.py": APP}
    for path in sorted((HERE / "guest").glob("*.py")):
        found[f"guest/{path.name}"] = path.read_text(encoding="utf-8")
    return found


def sources_digest() -> str:
    """Digest what the component is built from, so that a forgotten build is seen."""
    digest = hashlib.sha256(COMPONENTIZE.encode())
    for name, text in sources().items():
        digest.update(f"\0{name}\0{text}".encode())
    return digest.hexdigest()


def build(folder: Path) -> bytes:
    """Build the component in a new folder and give its bytes."""
    package = folder / "python" / "simharness" / "sandbox"
    shutil.copytree(HERE / "guest", package / "guest", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (package.parent, package):
        (path / "__init__.py").write_text("", encoding="utf-8")
    (folder / "python" / "app.py").write_text(APP, encoding="utf-8")
    out = folder / "python.wasm"
    command = ["componentize-py", "-q", "-d", str(HERE / "sandbox.wit"), "-w", "python"]
    command += ["componentize", "-p", str(folder / "python"), "app", "-o", str(out)]
    subprocess.run(command, check=True, cwd=folder)
    return out.read_bytes()


def main(argv: list[str] | None = None) -> int:
    """Build and write the component, and print what `component.py` has to hold."""
    parser = argparse.ArgumentParser(prog="python -m simharness.sandbox.build", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "data" / "python.wasm.xz")
    output: Path = parser.parse_args(argv).output
    try:
        found = version("componentize-py")
    except PackageNotFoundError:
        found = "none"
    if found != COMPONENTIZE:
        sys.stderr.write(
            f"componentize-py {COMPONENTIZE} is needed and {found} is installed; "
            f"run: pip install componentize-py=={COMPONENTIZE}\n"
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        component = build(Path(folder))
    output.parent.mkdir(parents=True, exist_ok=True)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    output.write_bytes(lzma.compress(component, check=lzma.CHECK_SHA256, filters=filters))
    sys.stdout.write(
        f'DIGEST = "{hashlib.sha256(component).hexdigest()}"\n'
        f'SOURCES = "{sources_digest()}"\n'
        f"# {len(component)} bytes, {output.stat().st_size} compressed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The modules of the standard library that programs in the sandbox can import.

Only what is imported while the component is built exists in it: there is no disk to load more from.
"""

from __future__ import annotations

import importlib
import sys

# Their C versions read the machine's clock, which isn't there; the Python versions read `time`.
PURE_PYTHON = ("_datetime", "_zoneinfo")

MODULES = """
__future__ abc argparse array ast atexit base64 binascii bisect builtins calendar cmath codecs
collections collections.abc colorsys configparser contextlib contextvars copy copyreg csv
dataclasses datetime decimal difflib dis enum errno filecmp fileinput fnmatch fractions
functools gc getopt gettext glob hashlib heapq hmac html importlib importlib.abc
importlib.machinery importlib.util inspect io ipaddress itertools json keyword linecache locale
logging marshal math numbers opcode operator os os.path pathlib pickle pkgutil platform pprint
queue random re reprlib runpy sched secrets select selectors shlex shutil signal socket stat
statistics string struct subprocess sys tempfile textwrap threading time timeit token tokenize
traceback types typing unicodedata unittest unittest.async_case unittest.mock urllib
urllib.error urllib.parse uuid warnings weakref xml xml.etree xml.etree.ElementTree zlib
zoneinfo concurrent.futures concurrent.futures.thread asyncio _ast_unparse _colorize _pyio
_strptime json.tool string.templatelib encodings.ascii encodings.cp1252 encodings.latin_1
encodings.iso8859_1 encodings.utf_16 encodings.utf_16_le encodings.utf_32 encodings.utf_8_sig
encodings.unicode_escape encodings.raw_unicode_escape encodings.hex_codec
""".split()  # noqa: SIM905


def load() -> list[str]:
    """Import all of them; name those that this build of Python doesn't have."""
    for name in PURE_PYTHON:
        sys.modules[name] = None  # type: ignore[assignment]
    missing: list[str] = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    return missing

"""Ctrl-C in a run: the first asks to stop behind the episodes under way, the second ends it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType


@contextmanager
def stop_asked(stop: Callable[[], None]) -> Generator[None]:
    """Call `stop` at the first Ctrl-C in here, and raise KeyboardInterrupt at the second.

    Does nothing outside of the main thread, or where Ctrl-C is ignored or handled already.
    """
    before = signal.getsignal(signal.SIGINT)
    # By its name: the guard has put a function of its own in the place of signal's.
    default = getattr(before, "__name__", "") == signal.default_int_handler.__name__
    if not default or threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""Ctrl-C that a library swallows is heard at the next step of the progress.

Python raises KeyboardInterrupt wherever the program is. Where that is inside of a library that drops every error of a
lookup (NumPy does, asking a class for `__array_function__`), the interruption is lost and the run goes on.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType


class _Pressed:
    """Whether the user has pressed Ctrl-C."""

    yes = False


def listen() -> None:
    """Remember Ctrl-C in this process; one that ignores it, as a shell's background jobs may, goes on to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def raise_again() -> None:
    """Raise the suppressed interruption."""
    if _Pressed.yes and threading.current_thread() is threading.main_thread():
        _Pressed.yes = False
        raise KeyboardInterrupt


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    _Pressed.yes = True
    raise KeyboardInterrupt

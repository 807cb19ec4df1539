"""Let a process end when the one that started it does, where the kernel offers that (Linux)."""

from __future__ import annotations

import ctypes
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_LIBRARY = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends. Does nothing but on Linux.

    The kernel looks at the thread, not at the process: a child ends with the thread that started it.
    """
    if _LIBRARY is not None:
        _LIBRARY.prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)

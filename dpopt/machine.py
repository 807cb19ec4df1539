"""Calls of the operating system that differ between platforms: memory, locks, and ends of processes.

psutil answers where it can. What only Linux or only POSIX has is used where it is there, and done without where it is
not.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil


def free_memory() -> int:
    """Return the bytes of the machine that a process can still get."""
    return int(psutil.virtual_memory().available)


def memory_limit() -> int | None:
    """Return how many bytes this process may still take by its own limit (``ulimit -v``), None where there is none."""
    process = psutil.Process()
    if not hasattr(psutil, "RLIMIT_AS"):
        return None
    limit: int = process.rlimit(psutil.RLIMIT_AS)[0]
    return None if limit == psutil.RLIM_INFINITY else max(0, limit - int(process.memory_info().vms))


def peak_memory(*, with_children: bool = False) -> int:
    """Return the most bytes that this process has held so far.

    Parameters
    ----------
    with_children
        Whether those that it started and has waited for count where they held more (not on Windows).
    """
    held = psutil.Process().memory_info()
    peak = int(getattr(held, "peak_wset", held.rss))  # Windows
    with suppress(ImportError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        if with_children:
            peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit)
        # Linux counts into `ru_maxrss` what the parent held when it started this process.
        own = _high_water_mark() or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        peak = max(peak, own)
    return peak


def _high_water_mark() -> int | None:
    """Return the most bytes that Linux says this process has held, None on other systems."""
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return None


def write_no_memory_to_disk() -> None:
    """Have no image of the memory written when this process crashes. Does nothing where there are no such images."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def lock_file(file: int) -> bool:
    """Lock an open file against every other opening of it; return False if another one is locked. Closing it unlocks it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, 2**40, os.SEEK_SET)  # a byte behind all that is read
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_LIBRARY = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends. Does nothing but on Linux.

    The kernel looks at the thread, not at the process: a child ends with the thread that started it.
    """
    if _LIBRARY is not None:
        _LIBRARY.prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended, even where nobody has asked yet how."""
    with suppress(psutil.NoSuchProcess):
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    return True


def kill_with_children(number: int) -> None:
    """Kill a process that leads a session of its own, and all that it started; nothing happens where it is gone."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(number, signal.SIGKILL)
        return
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(number)
        for started in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                started.kill()

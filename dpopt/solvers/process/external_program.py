"""Let a process end when the one that started it does, where the kernel offers that (Linux).

Programs that read a file and write a file: run to their end, with every line that they print.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_LIBRARY = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends. Does nothing but on Linux.

    The kernel looks at the thread, not at the process: a child ends with the thread that started it.
    """
    if _LIBRARY is not None:
        _LIBRARY.prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def run(command: Sequence[str], heard: Callable[[str], None]) -> str:
    """Run a program, pass on each line when it is printed, and return all of them. It ends with this process.

    Raises
    ------
    FileNotFoundError
        The program is not there.
    """
    lines = []
    with subprocess.Popen(  # noqa: S603  # a program that the registry names, on a file of ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509  # one system call
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            heard(line)
    return "".join(lines)

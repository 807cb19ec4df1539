"""Programs that read a file and write a file: run to their end, with every line that they print."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

from dpopt.solvers.process.end_with_parent import end_with_parent


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

"""Run a command as a process of its own and write down how long it took and how much memory it had at most.

Used as ``python -I -S launch.py FILE COMMAND ...``. Linux counts the memory of the process that starts a command as the
command's own until the command begins; so a small process (this file, standard library only) starts it, and not the
benchmark, which may hold large arrays.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> int:
    """Run the command of the command line; return its exit code."""
    file, command = sys.argv[1], sys.argv[2:]
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    measured = {
        "seconds": seconds,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,  # KiB on Linux
        "code": code,
    }
    with open(file, "w", encoding="utf-8") as result:  # noqa: PTH123  pathlib would make this process larger
        json.dump(measured, result)
    return code if code >= 0 else 1


if __name__ == "__main__":
    sys.exit(main())

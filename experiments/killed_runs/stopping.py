"""A process that runs `dpopt` in forks of itself and ends one of them as kill -9 does, at a chosen step of its writing.

`python -m experiments.killed_runs.stopping` reads one JSON object per line and answers each with one: how the fork ended,
and which steps it went through. Libraries are loaded once, before the first fork; each fork is a process of its own.

A step is a write to the transcript, a cut of it, the flush of another file of the release folder, or a renaming in it. A
fork is killed before it, after it, or within it: half of the line is written, or half of the file is there.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

WRITE, CUT, FLUSH, RENAME = "write", "cut", "flush", "rename"
HOWS = {WRITE: ("before", "within", "after"), CUT: ("before", "after"), FLUSH: ("within",), RENAME: ("before", "after")}
"""What tells states apart: before the flush of a file is after it was written, and a flush itself changes no byte."""


class Stopper:
    """Stands in for the system's calls, notes each step in a file, and kills this process at one of them."""

    def __init__(self, folder: Path, notes: Path, at: int | None, how: str) -> None:
        self._folder = folder.resolve()
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._at = at
        self._how = how
        self._step = 0
        self._write, self._fsync, self._replace, self._cut = os.write, os.fsync, os.replace, os.ftruncate

    def stand_in(self) -> None:
        """Put itself in place of os.write, os.ftruncate, os.fsync and os.replace."""
        os.write, os.fsync, os.replace = self.write, self.fsync, self.replace  # type: ignore[assignment]
        os.ftruncate = self.cut

    def write(self, file: int, data: bytes) -> int:
        """Write, where this is not the end."""
        if self._is_inside(self._path(file)):
            half = {"before": 0, "within": len(data) // 2, "after": len(data)}[self._how]
            self._reach(WRITE, lambda: self._write(file, data[:half]))
        return self._write(file, data)

    def cut(self, file: int, length: int) -> None:
        """Cut a file, where this is not the end."""
        if self._is_inside(self._path(file)):
            self._reach(CUT, lambda: self._cut(file, length) if self._how == "after" else None)
        self._cut(file, length)

    def fsync(self, file: int) -> None:
        """Flush, where this is not the end; the transcript and folders pass."""
        path, found = self._path(file), os.fstat(file)
        if self._is_inside(path) and stat.S_ISREG(found.st_mode) and "transcript" not in path.name:
            self._reach(FLUSH, lambda: self._cut(file, found.st_size // 2))
        self._fsync(file)

    def replace(self, source: Any, target: Any) -> None:
        """Rename, where this is not the end."""
        if self._is_inside(Path(target)):
            self._reach(RENAME, lambda: self._replace(source, target) if self._how == "after" else None)
        self._replace(source, target)

    def _path(self, file: int) -> Path:
        return Path(f"/proc/self/fd/{file}").readlink()

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._folder)

    def _reach(self, kind: str, last: Callable[[], object]) -> None:
        self._write(self._notes, f"{kind}\n".encode())
        self._step += 1
        if self._step - 1 == self._at:
            last()
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


def main() -> NoReturn:
    """Answer orders until the input ends."""
    _load()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(order)
        if order["after"] is not None:
            time.sleep(order["after"])
            os.kill(child, signal.SIGKILL)  # not waited for yet, so the number still names it
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)
    os._exit(0)  # nothing is left to do, and taking the interpreter down takes long


def _run(order: dict[str, Any]) -> NoReturn:
    """Become one run of `dpopt`."""
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    Stopper(Path(order["folder"]), Path(order["notes"]), order["at"], order["how"]).stand_in()
    from dpopt.cli.main import main as dpopt

    sys.argv = ["dpopt", *order["words"]]
    dpopt()


def _load() -> None:
    """Load what a run needs, compiled loops too, by a tiny release in memory. Its own threads have ended by then."""
    import pandas as pd
    import pyarrow.csv  # noqa: F401

    import dpopt.algorithms.measured.algorithm
    import dpopt.algorithms.multiplicative_weights.algorithm
    import dpopt.algorithms.run_release
    import dpopt.cli.main
    import dpopt.cli.reports.progress  # noqa: F401
    from dpopt.algorithms.release import release
    from dpopt.schema.schema import Attribute, AttributeKind, Schema

    schema = Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in "abc"))
    table = pd.DataFrame({name: [True, False] for name in "abc"})
    settings: dict[str, Any] = {
        "algorithm": "dualquery",
        "epsilon": 1e5,
        "delta": 1e-6,
        "n0": 2,
        "rounds": 2,
        "draws": 2,
        "predict": False,
    }
    release(table, schema, "marginals:2", **settings)


if __name__ == "__main__":
    main()

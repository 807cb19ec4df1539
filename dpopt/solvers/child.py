"""The child's side of `dpopt.solvers.process.child_process`: `python -m dpopt.solvers.child ADAPTER PARENT`.

Reads requests from standard input and writes replies to standard output, each a length (8 bytes, big-endian) and a
pickle. Native libraries print: their standard output goes where standard error goes, never into the replies.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from dataclasses import replace
from typing import BinaryIO

import psutil

from dpopt.machine import end_with_parent, has_ended, kill_with_children, peak_memory
from dpopt.programs.results import Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Program
from dpopt.solvers.process.adapter import HEADER, Adapter

WATCH_SECONDS = 1.0


def main(adapter_path: str, parent: int) -> None:
    """Serve requests until standard input ends."""
    end_with_parent()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    from dpopt.solvers.registry import load

    adapter: Adapter = load(adapter_path)()
    while (request := _receive(requests)) is not None:
        _forget_noise()
        reply = pickle.dumps(_answer(adapter, *request), protocol=pickle.HIGHEST_PROTOCOL)
        replies.write(len(reply).to_bytes(HEADER, "big") + reply)
        replies.flush()


def _answer(adapter: Adapter, program: Program, limits: SolveLimits, hint: Point | None) -> SolveResult:
    started = time.perf_counter()
    result = _outcome(adapter, program, limits, hint)
    figures = {
        "peak_memory_mb": round(peak_memory(with_children=True) / 1e6, 1),
        # Import of the library, translation and solve: what is left of `seconds` went into the child's start and the pipe.
        "adapter_seconds": time.perf_counter() - started,
    }
    return replace(result, report={**result.report, **figures})


def _outcome(adapter: Adapter, program: Program, limits: SolveLimits, hint: Point | None) -> SolveResult:
    try:
        return adapter.solve(program, limits, hint=hint)
    except MemoryError:
        return SolveResult(Termination.LIMIT, Limit.MEMORY, solver=adapter.name, native_status="out of memory")
    except Exception as problem:  # noqa: BLE001  # whatever a library raises is an outcome, not the end of a run
        traceback.print_exc()
        text = f"{type(problem).__name__}: {problem}"
        return SolveResult(Termination.FAILED, solver=adapter.name, native_status=text)


def _receive(source: BinaryIO) -> tuple[Program, SolveLimits, Point | None] | None:
    header = source.read(HEADER)
    if len(header) < HEADER:
        return None
    request: tuple[Program, SolveLimits, Point | None] = pickle.loads(  # noqa: S301  # from the parent's pipe only
        source.read(int.from_bytes(header, "big"))
    )
    return request


def _forget_noise() -> None:
    """Empty the file that standard error goes to, so that a long-lived child does not fill the disk."""
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)


def _watch(parent: int) -> None:
    """End this process and its children when the parent is gone (if the kernel does not do so itself)."""
    with contextlib.suppress(psutil.NoSuchProcess):
        watched = psutil.Process(parent)
        while not has_ended(watched):
            time.sleep(WATCH_SECONDS)
    kill_with_children(os.getpid())
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

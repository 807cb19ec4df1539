"""One process that counts a workload on a table by one engine, and prints what it took as JSON.

Used as ``python -m experiments.benchmarks.engine_process TABLE SCHEMA WORKLOAD ENGINE [kill]``. With "kill", a worker of Dask
is killed in the middle of one more count.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.open_dataset import open_dataset
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema

WARM = 2  # counts after the first one, which loads kernels


def main(arguments: list[str] | None = None) -> None:
    """Open, count, count again; print seconds, processor seconds, peak memory, and a digest of the counts."""
    table, schema_file, workload, engine, *more = sys.argv[1:] if arguments is None else arguments
    schema = Schema.read(schema_file)
    clauses = parse_workload(workload, schema).clauses
    clock = _Clock()
    dataset = open_dataset(Path(table), schema, engine=engine)
    measured: dict[str, Any] = {"opening": clock.lap(), "first": {}, "warm": []}
    clock.watch(dataset)
    counts = exact_counts(dataset, clauses)
    measured["first"] = clock.lap()
    for _ in range(WARM):
        again = exact_counts(dataset, clauses)
        measured["warm"].append(clock.lap())
        _same(counts, again)
    measured["peak_bytes"], measured["workers_peak_bytes"] = _own_peak(), clock.peaks()
    if more == ["kill"]:
        kill = _killer(clock.workers())
        started = time.perf_counter()
        again = exact_counts(dataset, clauses, progress=kill)
        measured["killed"] = {"seconds": time.perf_counter() - started}
        _same(counts, again)
    measured["digest"] = hashlib.sha256(counts.tobytes()).hexdigest()
    print(json.dumps(measured))


class _Clock:
    """Wall and processor seconds between two laps, of this process and of the workers that it watches."""

    def __init__(self) -> None:
        self._client: Any = None
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def watch(self, dataset: PrivateDataset) -> None:
        """Count the processor seconds of the workers too, from here on."""
        workers = getattr(dataset, "_workers", None) if type(dataset).__name__ == "DistributedTable" else None
        self._client = None if workers is None else workers._client  # noqa: SLF001
        self.lap()

    def lap(self) -> dict[str, float]:
        wall = time.perf_counter()
        processor = time.process_time() + sum(self._told(time.process_time))
        lap = {"seconds": wall - self._wall, "processor_seconds": processor - self._processor}
        self._wall, self._processor = time.perf_counter(), processor
        return lap

    def peaks(self) -> list[int]:
        """Return the peak resident memory of each worker, in bytes."""
        return self._told(_own_peak)

    def workers(self) -> list[int]:
        """Return the numbers of the workers' processes."""
        return self._told(os.getpid)

    def _told(self, function: Callable[[], Any]) -> list[Any]:
        return [] if self._client is None else list(self._client.run(function).values())


def _own_peak() -> int:
    """Return the peak resident memory of this process since it began, in bytes (Linux; else what its parent had counts too)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peak = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024


def _killer(workers: list[int]) -> Callable[[float], None]:
    """Return what kills a worker once a third of the rows have been counted."""
    left = workers[:1]

    def tell(share: float) -> None:
        if share >= 1 / 3 and left:
            os.kill(left.pop(), signal.SIGKILL)

    return tell


def _same(counts: NDArray[np.int64], again: NDArray[np.int64]) -> None:
    if not np.array_equal(counts, again):
        raise RuntimeError("the counts differ from those before")


if __name__ == "__main__":
    main()

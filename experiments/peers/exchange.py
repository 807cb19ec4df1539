"""What the scripts of the peers share: their arguments, the table they read and the file they write (NumPy alone).

These modules run in the environment of a peer, where dpopt is not installed; they are started from the top of the checkout
as ``python -m experiments.peers.run_opendp`` and the like.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Task:
    """A private table and what is to be released of it."""

    codes: NDArray[np.int64]
    """The records, (n, d); the codes of a column are 0 to its size - 1."""
    sizes: list[int]
    """How many values each column may have. Public."""
    method: str
    """The mechanism of the peer."""
    epsilon: float
    delta: float
    """The privacy of the whole run."""
    order: int
    """Number of columns of the marginals of the workload."""

    @property
    def columns(self) -> list[str]:
        """Plain names for the columns, which every peer accepts."""
        return [f"c{position}" for position in range(len(self.sizes))]


def run(package: str, methods: Sequence[str], synthesize: Callable[[Task], NDArray[np.int64]]) -> None:
    """Read the command line, let a peer make synthetic records, and write them with the seconds that took.

    Imports, reading and writing are not counted.

    Parameters
    ----------
    package : str
        The distribution whose version is written down.
    methods : sequence of str
        What ``--method`` may be.
    synthesize : callable
        Makes as many synthetic records as the table has.
    """
    arguments = _parse(methods)
    with np.load(arguments.data, allow_pickle=False) as stored:
        task = Task(
            stored["codes"].astype(np.int64),
            [int(size) for size in stored["sizes"]],
            arguments.method,
            arguments.epsilon,
            arguments.delta,
            arguments.order,
        )
    started, used = time.perf_counter(), time.process_time()
    records = synthesize(task)
    seconds, processor_seconds = time.perf_counter() - started, time.process_time() - used
    _check(records, task)
    np.savez_compressed(
        arguments.output,
        codes=records.astype(np.int32),
        seconds=np.float64(seconds),
        processor_seconds=np.float64(processor_seconds),
        version=np.str_(version(package)),
    )
    print(json.dumps({"seconds": round(seconds, 2), "records": len(records)}))


def _parse(methods: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="npz with codes (n, d) and sizes (d)")
    parser.add_argument("--method", choices=methods, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--order", type=int, default=3, help="columns of a marginal of the workload")
    parser.add_argument("--output", type=Path, required=True, help="npz with codes, seconds and version")
    return parser.parse_args()


def _check(records: NDArray[np.int64], task: Task) -> None:
    """Refuse records that are outside the domain that was declared."""
    if records.ndim != 2 or records.shape[1] != len(task.sizes):
        raise ValueError(f"{records.shape} is not the shape of records with {len(task.sizes)} columns")
    outside = (records < 0) | (records >= np.array(task.sizes))
    if outside.any():
        raise ValueError(f"{int(outside.sum())} values are outside the declared domain")

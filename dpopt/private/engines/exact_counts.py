"""Exact counts of queries on the records of a table: the one place from which curators and evaluation get them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.dataset import AnyQueries, PrivateDataset, Progress
from dpopt.threads import USUAL


def runs_of(starts: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of runs of marginals with at most `most` cells together, or of one, by their first cells."""
    first = 0
    while first < len(starts) - 1:
        last = max(int(np.searchsorted(starts, starts[first] + most, side="right")) - 1, first + 1)
        yield first, last
        first = last


def exact_counts(
    dataset: PrivateDataset, queries: AnyQueries, *, threads: int = USUAL, progress: Progress | None = None
) -> NDArray[np.int64]:
    """Return how many records lie in each cell, or satisfy each clause, (m,) int64. Private.

    How they are counted is the data set's affair: columns in memory, lists of ones, or parts that are read one after
    the other. `progress` is called in the caller's thread with the share that is done. On columns in memory its steps
    depend on public sizes only; elsewhere they show how many records there are, for the owner's terminal alone.
    """
    return dataset._count(queries, threads=threads, progress=progress)

"""Public histograms: those of DPBench with one column and with two, and one of the size of the original network trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.tables import data_file

LINES, GRIDS = "hist/dpbench-1d-4096.npz", "hist/dpbench-2d-256x256.npz"
TRACE_BINS, TRACE_SEED = 65_536, 20101


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts, (n,) or (n, n), and what results call them."""

    name: str
    counts: NDArray[np.int64]

    @property
    def bins(self) -> int:
        """The number of bins."""
        return int(self.counts.size)


def dpbench(file: str) -> Iterator[Histogram]:
    """Yield the histograms of DPBench with one column (`LINES`) or with two (`GRIDS`)."""
    with np.load(data_file(file), allow_pickle=False) as stored:
        for name in stored.files:
            yield Histogram(name, stored[name].astype(np.int64))


def with_trace() -> dict[str, Histogram]:
    """Return the histograms of one column, and the wide trace, by name."""
    lines = {histogram.name: histogram for histogram in dpbench(LINES)}
    wide = wide_trace(lines["NETTRACE"].counts)
    return {wide.name: wide, **lines}


def wide_trace(counts: NDArray[np.int64]) -> Histogram:
    """Return a trace over 65,536 bins: each of the 4,096 counts divided among its 16 addresses.

    Each record goes to an address that already has one with probability count / (count + 1), in proportion to their counts, and
    else to any of the 16: few addresses have most of the traffic, as in the original, of which 25,714 connections are known.
    The same each time.
    """
    generator = np.random.default_rng(TRACE_SEED)
    parts = TRACE_BINS // counts.size
    wide = np.zeros((counts.size, parts), dtype=np.int64)
    for place, count in enumerate(counts.tolist()):
        held: list[int] = []
        for number in range(count):
            fresh = generator.random() * (number + 1.0) < 1.0
            address = int(generator.integers(parts)) if fresh else held[int(generator.integers(number))]
            held.append(address)
            wide[place, address] += 1
    return Histogram("trace of 65,536 bins, made from NETTRACE", wide.reshape(-1))

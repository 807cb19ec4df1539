"""Public histograms: those of DPBench, and one of the size and sparsity of the original network trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.tables import data_file

FILE = "hist/dpbench-1d-4096.npz"
SIZES, WIDE_SIZES = (1, 64, 1024), (1, 64, 1024, 16384)
TRACE_BINS, TRACE_SEED = 65_536, 20101


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A histogram and the sizes of ranges that are asked of it."""

    name: str
    counts: NDArray[np.int64]
    """Shape (n,)."""
    sizes: tuple[int, ...]

    @property
    def bins(self) -> int:
        """The number of bins."""
        return int(self.counts.size)


def histograms(*, quick: bool = False) -> Iterator[Histogram]:
    """Yield all histograms; with `quick` a made-up one."""
    if quick:
        yield Histogram("made up", np.arange(64, dtype=np.int64) % 5 * (np.arange(64) % 3 == 0), (1, 16))
        return
    with np.load(data_file(FILE), allow_pickle=False) as stored:
        sets = {name: stored[name].astype(np.int64) for name in stored.files}
    yield wide_trace(sets["NETTRACE"])
    for name, counts in sets.items():
        yield Histogram(name, counts, SIZES)


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
    return Histogram("trace of 65,536 bins, made from NETTRACE", wide.reshape(-1), WIDE_SIZES)

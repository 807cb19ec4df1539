"""What is measured: degrees of graphs and counts of histograms, sorted or by bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.histograms import Histogram, with_trace
from experiments.tables import data_file

GRAPHS_FILE = "hist/snap-graphs.npz"
GRAPHS = {"facebook": "facebook_degrees", "ca-HepPh": "ca_hepph_degrees", "Brightkite": "brightkite_degrees"}
WIDE = "trace of 65,536 bins, made from NETTRACE"
SORTED_HISTOGRAMS = ("NETTRACE", "SEARCHLOGS", WIDE)
RANGED_HISTOGRAMS = ("NETTRACE", "SEARCHLOGS", "BIDS-FM", WIDE)
POSITIONS_OF = (WIDE, "Brightkite")


@dataclass(frozen=True, slots=True, eq=False)
class SortedCounts:
    """An unattributed histogram."""

    name: str
    counts: NDArray[np.int64]
    """Nondecreasing, (n,)."""
    graph: bool
    """Whether they are the degrees of an undirected graph: an edge counts in two of them, and none exceeds n - 1."""

    @property
    def multiplicities(self) -> NDArray[np.int64]:
        """How often each distinct value occurs, from the smallest value up."""
        return np.unique_counts(self.counts).counts.astype(np.int64)

    @property
    def largest(self) -> int | None:
        """The public bound of every count."""
        return self.counts.size - 1 if self.graph else None


def sorted_counts(*, quick: bool = False) -> list[SortedCounts]:
    """Return all unattributed histograms; with `quick` a made-up graph."""
    if quick:
        degrees = np.sort(60 // np.arange(1, 121)).astype(np.int64)
        return [SortedCounts("made up", degrees, graph=True)]
    with np.load(data_file(GRAPHS_FILE), allow_pickle=False) as stored:
        found = [SortedCounts(name, np.sort(stored[key].astype(np.int64)), graph=True) for name, key in GRAPHS.items()]
    known = with_trace()
    return found + [SortedCounts(name, np.sort(known[name].counts), graph=False) for name in SORTED_HISTOGRAMS]


def ranged_histograms(*, quick: bool = False) -> list[Histogram]:
    """Return the histograms of which ranges are asked; with `quick` a made-up one. All have 2^(l - 1) bins."""
    if quick:
        return [Histogram("made up", np.arange(64, dtype=np.int64) % 5 * (np.arange(64) % 3 == 0))]
    known = with_trace()
    return [known[name] for name in RANGED_HISTOGRAMS]

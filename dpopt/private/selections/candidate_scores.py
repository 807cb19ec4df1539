"""How far candidate marginals lie from public records: exact counts, kept from round to round, and exact scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpopt.private.engines.exact_counts import exact_counts, runs_of
from dpopt.private.tables.closed import StaysHere
from dpopt.private.tables.dataset import PrivateDataset, Progress
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.threads import USUAL

GROUP_CELLS = 4_000_000
"""Cells that are counted at a time: bounds the temporary arrays."""
KEPT_BYTES = 2**30
"""Counts that are kept between rounds; beyond them, candidates are counted anew each time."""

_Counted = tuple[NDArray[np.int32], NDArray[np.signedinteger]]


class CandidateScores(StaysHere):
    """Scores of marginals by the distance between their exact counts and those of public records.

    **Score.** Let k_c be the number of records in cell c, m_c that of public records, N of them in all. The score of a
    marginal is the sum ("l1") or the maximum ("max") over its cells of |N k_c - size m_c|: whole numbers, in units of 1
    / N records.

    **Neighbouring relation and sensitivity.** The changes of two marginals' scores differ by at most 2 N under both
    relations; by 4 N for "l1" under replace-one. Penalties are public and move nothing.
    `dpopt.accounting.selections.score_range` says the same in records. Privacy: E4 in docs/privacy. Test:
    `tests/private/test_candidate_scores.py`.

    Counts are kept as the list of cells that are not empty. How long counting takes depends on the records; that time
    is not hidden (known limits). Progress depends on public sizes only. `size` is the public n or n0.
    """

    def __init__(self, dataset: PrivateDataset, *, size: int, threads: int = USUAL) -> None:
        self._dataset = dataset
        self._size = size
        self._threads = threads
        self._domains: Domains | None = None
        self._kept: dict[tuple[int, ...], _Counted] = {}
        self._kept_bytes = 0

    def of(
        self,
        candidates: MarginalSet,
        score: str,
        records: NDArray[np.int32],
        multiplicity: NDArray[np.int64],
        *,
        progress: Progress | None = None,
    ) -> list[int]:
        """Return the score of each candidate, before penalties, in units of 1 / N records; N is the sum of multiplicities.

        The caller has checked that sums stay within 64 bits (`Selection.check_records`).
        """
        self._use(candidates.domains)
        positions = _positions(candidates, records, self._dataset._schema.sizes)
        public = _Public(positions, multiplicity, int(multiplicity.sum()), self._size)
        pick = 0 if score == "l1" else 1
        scores: list[int] = []
        with ThreadPoolExecutor(self._threads) as pool:
            for first, last in runs_of(candidates.starts, GROUP_CELLS):
                group = candidates.take(list(range(first, last)))
                counted = self._counted(group)
                edges = np.linspace(0, len(group), self._threads + 1).astype(int).tolist()
                parts = [range(a, b) for a, b in pairwise(edges) if a < b]
                for both in pool.map(partial(public.distances, group, counted), parts):
                    scores += [values[pick] for values in both]
                if progress is not None:
                    progress(last / len(candidates))
        return scores

    def _use(self, domains: Domains) -> None:
        """Drop kept results about cells over other codes."""
        known = self._domains
        if known is None or not (
            np.array_equal(known.counts, domains.counts) and np.array_equal(known.codes, domains.codes)
        ):
            self._domains, self._kept, self._kept_bytes = domains, {}, 0

    def _counted(self, group: MarginalSet) -> list[_Counted]:
        """Return for each marginal of a group the cells that are not empty, and their counts."""
        keys = [group.attributes_of(number) for number in range(len(group))]
        missing = [number for number, key in enumerate(keys) if key not in self._kept]
        fresh: dict[tuple[int, ...], _Counted] = {}
        if missing:
            part = group.take(missing)
            counts = exact_counts(self._dataset, part, threads=self._threads)
            dtype = np.int32 if self._dataset._rows < 2**31 else np.int64
            for place, number in enumerate(missing):
                of_one = counts[part.starts[place] : part.starts[place + 1]]
                filled = np.flatnonzero(of_one).astype(np.int32)
                fresh[keys[number]] = (filled, of_one[filled].astype(dtype))
        for key, (cells, found) in fresh.items():
            if self._kept_bytes + cells.nbytes + found.nbytes <= KEPT_BYTES:
                self._kept[key] = (cells, found)
                self._kept_bytes += cells.nbytes + found.nbytes
        return [fresh[key] if key in fresh else self._kept[key] for key in keys]


@dataclass(frozen=True, slots=True, eq=False)
class _Public:
    """Public values that marginals are compared with: places of the codes, multiplicities, their sum, the public size."""

    positions: NDArray[np.int32]
    multiplicity: NDArray[np.int64]
    total: int
    size: int

    def distances(self, group: MarginalSet, counted: list[_Counted], part: range) -> list[tuple[int, int]]:
        """Return the sum and the maximum of the differences for the marginals `part` of a group."""
        from dpopt.private.selections.kernels import distances

        scratch = np.zeros(int(group.cells()[part.start : part.stop].max()), dtype=np.int64)
        return [
            distances(
                *counted[number],
                self.positions,
                self.multiplicity,
                group.attributes[number],
                group.strides[number],
                self.total,
                self.size,
                scratch,
            )
            for number in part
        ]


def _positions(candidates: MarginalSet, records: NDArray[np.int32], sizes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the place of every code of the public records in its attribute's domain, -1 for codes left out; (r, d)."""
    tables = candidates.position_tables(sizes)
    columns = [table[column] for table, column in zip(tables, records.T, strict=True)]
    return np.ascontiguousarray(np.stack(columns, axis=1))

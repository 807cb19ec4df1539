"""The curator of the net mechanism: selects one of finitely many public databases by its largest error."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.selections import score_range
from dpopt.arrays import frozen
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.mechanisms.net.net_distribution import LARGEST_TARGET, Multisets, NetDistribution, clamp_at
from dpopt.private.mechanisms.net.net_draw import draw_listed, draw_multiset
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset, number_of
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SelectedCandidate, SelectedDatabase

MOST_QUERIES = 1 << 20
MOST_CANDIDATES = 1 << 22
MOST_ANSWERS = 1 << 27
_DEPTH = 128


class NetCurator(Door[PrivateDataset]):
    """Answers a driver with one selected database, once.

    Parameters
    ----------
    queries : MarginalSet or Clauses
        The k queries of the class C; each is 0 or 1 of a record.
    range_ : Decimal
        epsilon of the selection, an exact decimal.
    dataset, ledger, journal, use :
        As in `Door`, which refuses a table of another size.

    Notes
    -----
    **Mechanism.** Of the public candidates D', one is selected with probability proportional to exp(epsilon u / (2 /
    size)), u(D, D') = -max over Q in C of |count_Q(D) / size - Q(D')|.

    **Neighbouring relation and sensitivity.** With D' of m records, m size u is a whole number, the negative of a
    distance, which moves by at most m under both relations: a range of 2 m over the candidates (`score_range` of
    "max").

    **Theorem.** Blum, Ligett and Roth 2013 (journal version: Proposition 3.3, by McSherry and Talwar 2007): epsilon-DP;
    as a bounded-range mechanism also (epsilon^2 / 8)-zCDP. The charge is computed here from the range, never taken from
    the caller. Privacy: E8, E9 in docs/privacy. Test: `tests/boundary/test_exact_loss.py`.

    Raises
    ------
    PlanError
        If there are more than 2^20 queries.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        queries: AnyQueries,
        ledger: Ledger,
        journal: Journal,
        *,
        range_: Decimal,
        **use: Unpack[Use],
    ) -> None:
        number = number_of(queries)
        if number > MOST_QUERIES:
            raise PlanError(
                f"a net mechanism compares at most {MOST_QUERIES:,} answers, found {number:,} queries; ask fewer"
            )
        super().__init__(dataset, ledger, journal, **use)
        self._range = range_
        self._counts = exact_counts(dataset, queries, threads=self._threads, progress=self._progress)

    def select_database(self, multisets: Multisets, *, reach: Decimal, again: bool = False) -> SelectedDatabase:
        """Charge, then select a multiset: SmallDB.

        Privacy: A5, E8, E9 in docs/privacy.

        Parameters
        ----------
        multisets
            The net: all multisets of m elements, and the value of every query on each element. Public.
        reach
            Errors above it weigh no less than it does. Public; it bounds the figures, and should be well above the
            least error of a multiset of m elements.
        again
            The charge was recalled without its selection, and pays for this one; nothing had left the curator.

        Raises
        ------
        PlanError
            If multisets and queries do not fit, or numbers are out of range; nothing is spent then.
        """
        distribution = self._distribution_of(multisets, reach)
        draw = partial(self._multiset, multisets, distribution)
        return self._select(SelectedDatabase, 1, self._range, draw, again=again)

    def select_candidate(self, answers: ArrayLike, *, records: int) -> SelectedCandidate:
        """Charge, then select a candidate of a list: the net mechanism.

        Privacy: E8 in docs/privacy.

        Parameters
        ----------
        answers : (K, k) integers
            How many of `records` records each candidate database has of which each query is true; or, whatever the
            candidates are, their answers times `records`. Public.
        records
            The number m that answers are divided by.

        Raises
        ------
        PlanError
            If the answers do not fit; nothing is spent then.
        """
        candidates = self._candidates(answers, records)
        spread = score_range("max", self._relation) * records
        clamp = clamp_at(_DEPTH, self._range, spread)
        distribution = NetDistribution(self._range, spread, clamp)

        def draw() -> int:
            distances = _distances(self._counts * records, candidates, self._size)
            best = int(distances.min())  # moves by no more than each candidate's distance
            return draw_listed(distances - best, distribution.weight, self._words)

        return self._select(SelectedCandidate, 1, self._range, draw)

    def _distribution_of(self, multisets: Multisets, reach: Decimal) -> NetDistribution:
        """Return the distribution of a selection that can be made, before anything is spent."""
        if len(multisets.answers) != len(self._counts):
            raise PlanError(
                f"the elements answer {len(multisets.answers):,} queries, and {len(self._counts):,} were counted"
            )
        if multisets.records * self._size > LARGEST_TARGET:
            raise PlanError(
                f"{multisets.records:,} records at a public size of {self._size:,} are beyond 64-bit distances; ask "
                f"for fewer"
            )
        spread = score_range("max", self._relation) * multisets.records
        return NetDistribution(self._range, spread, int(reach * multisets.records * self._size))

    def _multiset(self, multisets: Multisets, distribution: NetDistribution) -> NDArray[np.int64]:
        """Draw the counts of a multiset. Privacy: E9 in docs/privacy."""
        targets = self._counts * multisets.records
        return draw_multiset(multisets, targets, size=self._size, distribution=distribution, source=self._words)

    def _candidates(self, answers: ArrayLike, records: int) -> NDArray[np.int64]:
        if type(records) is not int or not 1 <= records <= 2**20:
            raise PlanError(f"answers are divided by a number from 1 to 2^20, found {records!r}")
        try:
            table = frozen(answers, np.int64)
        except (OverflowError, TypeError, ValueError) as error:
            raise PlanError("answers of candidates are whole numbers") from error
        if table.ndim != 2 or table.shape[1] != len(self._counts) or not 1 <= len(table) <= MOST_CANDIDATES:
            raise PlanError(
                f"1 to {MOST_CANDIDATES:,} candidates with {len(self._counts):,} answers each are needed, found the "
                f"shape {table.shape}"
            )
        if table.size > MOST_ANSWERS or self._size * records > LARGEST_TARGET:
            raise PlanError(
                f"{table.size:,} answers at a public size of {self._size:,} are too many; offer fewer candidates"
            )
        if np.any(table < 0) or np.any(table > records):
            raise PlanError(f"an answer times {records:,} lies between 0 and {records:,}; found another number")
        return table


def _distances(targets: NDArray[np.int64], candidates: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return max_q |targets_q - size candidates_cq| of each candidate, some candidates at a time."""
    found = np.empty(len(candidates), dtype=np.int64)
    step = max(1, (1 << 22) // candidates.shape[1])
    for first in range(0, len(candidates), step):
        part = candidates[first : first + step]
        found[first : first + step] = np.abs(targets - size * part).max(axis=1)
    return found

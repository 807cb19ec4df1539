"""Pricing: which record would lower f most.

Problem (models/projection, PJ-4): minimize <slopes, q(x)> over legal records x, where slopes_j = weight_j ((A p)_j -
value_j). It is the best response of DualQuery with real weights of both signs, -slopes.

Three ways: this room's own search, which keeps the marginals implicit; a named solver on the problem written out as a
`MaxCsp`, where that is small; and all legal records one by one, where those are few, which proves that none is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.bookkeeping import Bookkeeping
from dpopt.inference.records.choices import choices_of
from dpopt.inference.records.columns.columns import Answers
from dpopt.inference.records.laws import draw_records
from dpopt.inference.records.legal_layout import CHARGE, lay_out_legal, new_room
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.start import made_legal
from dpopt.queries.marginal_set import MarginalSet

ENUMERATED_UP_TO = 2**20
"""Records; and as columns they take no more than `ENUMERATED_BYTES`, their clauses no more than `ENUMERATED_LITERALS`."""
ENUMERATED_BYTES, ENUMERATED_LITERALS = 2**28, 2**31

LARGEST_PRICE = 2.0**29
FIRST_CALL = 16  # number of a public random stream; two for each call


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Records that pricing found, and what is proven about all others.

    Attributes
    ----------
    records : (n, d) int32
        Legal records, not evaluated.
    least : float or None
        No legal record has a smaller <slopes, q(x)>; None where nothing is proven.
    proof : str
        Who says so.
    """

    records: NDArray[np.int32]
    least: float | None = None
    proof: str = ""

    def with_others(self, others: Priced) -> Priced:
        """Return the records of both, and the larger of the two proven numbers."""
        records = np.concatenate((self.records, others.records))
        better = others.least is not None and (self.least is None or others.least > self.least)
        chosen = others if better else self
        return Priced(records, chosen.least, chosen.proof)


class Enumeration:
    """All legal records of a small universe as columns."""

    def __init__(self, problem: FitProblem, answers: Answers) -> None:
        grids = np.meshgrid(*_allowed(problem), indexing="ij")
        records = np.stack([grid.reshape(-1) for grid in grids], axis=1).astype(np.int32)
        if problem.rules.number_of_rules:
            records = np.ascontiguousarray(records[~problem.rules.broken(records).any(axis=1)])
        self._answers = answers
        self.columns = answers.columns(records)

    @staticmethod
    def possible(problem: FitProblem) -> bool:
        """Return whether the universe is small enough."""
        records = float(np.prod(problem.domains.counts.astype(np.float64)))
        octets, literals = 0.0, 0
        for term in problem.terms:
            if isinstance(term.queries, MarginalSet):
                octets += 4 * len(term.queries)
            else:
                octets += 8 * (1 + len(term.queries) // 64)
                literals += term.queries.attributes.size
        return (
            records <= ENUMERATED_UP_TO
            and records * octets <= ENUMERATED_BYTES
            and records * literals <= ENUMERATED_LITERALS
        )

    def price(self, slopes: NDArray[np.float64], number: int) -> Priced:
        """Return the best `number` records, and the least slope of all."""
        along = self._answers.along(self.columns, slopes)
        best = np.argsort(along, kind="stable")[:number]
        return Priced(self.columns.records[best], float(along[best[0]]), "enumeration of all legal records")


class Search:
    """The search of this room: descent by single codes, and by compound moves under rules, from many starts."""

    def __init__(self, problem: FitProblem, laws: NDArray[np.float64], seed: int) -> None:
        self._problem, self._laws, self._seed = problem, laws, seed
        self._keeping = Bookkeeping(problem, 1)
        self._choices = choices_of(problem, laws)
        self._legal = lay_out_legal(problem) if problem.rules.number_of_rules else None
        self._room = new_room(problem)
        self._random = np.array([(seed << 32) + 5], dtype=np.uint64)
        self._calls = 0

    def price(self, slopes: list[NDArray[np.float64]], starts: NDArray[np.int32], draws: int) -> Priced:
        """Return local optima from these records (n, d), and from `draws` records drawn by the laws.

        Parameters
        ----------
        slopes
            Of each term of the problem.
        """
        from dpopt.inference.records.columns.pricing_kernels import descend_all, descend_all_legally
        from dpopt.inference.records.legal_sweep_kernels import GAIN

        self._calls += 1
        stream = (self._seed << 32) + FIRST_CALL + 2 * self._calls
        drawn = draw_records(self._problem, self._laws, draws, stream)
        if self._legal is not None and draws:
            drawn = made_legal(self._problem, drawn, self._laws, stream)
        records = np.concatenate((starts, drawn)).astype(np.int32)
        largest = max((float(np.abs(one).max(initial=0.0)) for one in slopes), default=0.0) or 1.0
        books = self._keeping.priced(slopes, largest / LARGEST_PRICE)
        if self._legal is None:
            descend_all(books, self._choices, records)
        else:
            legal, room, gain = self._legal, self._room, GAIN / largest
            descend_all_legally(books, self._choices, legal, room, records, gain, CHARGE, self._random)
        return Priced(np.unique(records, axis=0))


def _allowed(problem: FitProblem) -> list[NDArray[np.int32]]:
    domains = problem.domains
    return [
        domains.codes[start : start + count]
        for start, count in zip(domains.starts.tolist(), domains.counts.tolist(), strict=True)
    ]

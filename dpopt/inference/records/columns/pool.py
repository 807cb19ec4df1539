"""The N records of the record search, and the books in which they are counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.bookkeeping import Bookkeeping
from dpopt.inference.records.choices import choices_of
from dpopt.inference.records.legal_layout import CHARGE, lay_out_legal, new_room
from dpopt.inference.records.problem import FitProblem
from dpopt.public_random import PublicRandom

ORDER, DRAWS = 1, 0  # numbers of public random streams


class Pool:
    """N equally weighted records, counted.

    Parameters
    ----------
    problem
        What to fit.
    records : (N, d) int32
        Legal records; copied.
    laws : (c,) float64
        The prior of a search at a positive temperature.
    seed
        Of orders and draws.
    threads
        For counting the records at the start.
    """

    def __init__(
        self,
        problem: FitProblem,
        records: NDArray[np.int32],
        laws: NDArray[np.float64],
        seed: int,
        threads: int = 1,
    ) -> None:
        self.records = np.array(records, dtype=np.int32, order="C")
        self._keeping = Bookkeeping(problem, len(self.records))
        self._keeping.count(self.records, threads)
        self._choices = choices_of(problem, laws)
        self._legal = lay_out_legal(problem) if problem.rules.number_of_rules else None
        self._room = new_room(problem)
        self._largest_weight = max((term.weight for term in problem.terms), default=1.0)
        self._order = PublicRandom(seed << 32 | ORDER)
        self._random = np.array([seed << 32 | DRAWS], dtype=np.uint64)

    def sweep(self, temperature: float) -> int:
        """Give every record, in a public random order, its best code in each attribute (or a draw); return the changes."""
        from dpopt.inference.records.legal_sweep_kernels import GAIN, sweep_legally
        from dpopt.inference.records.search_kernels import sweep

        self._keeping.refresh()
        books, records = self._keeping.books, self.records
        order = np.argsort(self._order.words(len(records)), kind="stable")
        scaled = temperature * float(len(records)) ** 2
        if self._legal is None:
            return int(sweep(books, self._choices, records, order, scaled, self._random))
        gain = GAIN / self._largest_weight
        return int(
            sweep_legally(
                books,
                self._choices,
                self._legal,
                self._room,
                records,
                order,
                scaled,
                gain,
                CHARGE,
                self._random,
            )
        )

    def objective(self) -> float:
        """Return f of the records, from their exact counts."""
        return self._keeping.objective()

"""What a multiset is drawn from: the elements, the value of every query on them, and how many records it has."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.errors import PlanError

MOST_MULTISETS = 2**62
MOST_RECORDS = 1_000
MOST_ELEMENTS = 4_096
LARGEST_TARGET = 2**50


@dataclass(frozen=True, slots=True, eq=False)
class Multisets:
    """All multisets of m elements of a universe, in a fixed order.

    Parameters
    ----------
    answers : (k, A) int8 array
        Value of each of k queries on each of A elements, 0 or 1. Public.
    records : int
        How many elements m a multiset has, from 1 to 1,000.

    Raises
    ------
    PlanError
        If something is out of range, or there are 2^62 multisets or more.
    """

    answers: NDArray[np.int8]
    records: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "answers", frozen(self.answers, np.int8))
        if self.answers.ndim != 2 or 0 in self.answers.shape:
            raise PlanError(
                f"answers of queries on elements form a matrix, found the shape {self.answers.shape}"
            )
        if np.any((self.answers != 0) & (self.answers != 1)):
            raise PlanError("the value of a query on an element is 0 or 1; found another number")
        if type(self.records) is not int or not 1 <= self.records <= MOST_RECORDS:
            raise PlanError(
                f"a small database has 1 to {MOST_RECORDS:,} records, found {self.records!r}; name another number"
            )
        if self.elements > MOST_ELEMENTS:
            raise PlanError(
                f"a small database is drawn over at most {MOST_ELEMENTS:,} elements, found {self.elements:,}"
            )
        if self.number >= MOST_MULTISETS:
            raise PlanError(
                f"there are {float(self.number):.2g} multisets of {self.records} of {self.elements:,} elements, and a draw is "
                f"possible among fewer than 2^62 = {float(MOST_MULTISETS):.1e}; ask for fewer records"
            )

    @property
    def elements(self) -> int:
        """Number A of elements."""
        return int(self.answers.shape[1])

    @property
    def number(self) -> int:
        """Number of multisets: A + m - 1 over m."""
        return comb(self.elements + self.records - 1, self.records)

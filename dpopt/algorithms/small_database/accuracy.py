"""How well small databases can do, before any record is touched: how close the best one is, and how close the drawn one."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, e, exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation

FAILURE = 0.05
_MOST_SETS = 200_000


@dataclass(frozen=True, slots=True)
class NetBound:
    """A bound on the largest error of a drawn database, with its parts."""

    records: int
    elements: int
    queries: int
    """m, the number A of classes of records, and the number of distinct queries that are not constant, where a query
    and its negation count once."""
    nearest: float
    """alpha: some database of m records has no error above it."""
    because: str
    """The theorem that gives alpha."""
    selection: float
    """How much worse the drawn one may be."""
    failure: float = FAILURE
    """Probability beta with which the bound may fail."""

    @property
    def total(self) -> float:
        """The bound on the largest error."""
        return self.nearest + self.selection

    def to_json(self) -> dict[str, Any]:
        """Return the bound as a JSON object."""
        return {
            "kind": "proven bound on the largest error",
            "bound": self.total,
            "says_something": self.total < 1,
            "failure_probability": self.failure,
            "nearest_small_database": self.nearest,
            "nearest_because": self.because,
            "selection": self.selection,
            "records": self.records,
            "elements": self.elements,
            "distinct_queries": self.queries,
            "log_of_the_number_of_databases": log_multisets(self.elements, self.records),
            "if": "",
            "theorem": "Blum, Ligett and Roth 2013, Corollary 3.5, with multisets of classes in place of databases",
        }


def log_multisets(elements: int, records: int) -> float:
    """Return ln C(A + m - 1, m)."""
    return log(comb(elements + records - 1, records))


def nearest(elements: int, records: int, queries: int, dimension: int) -> tuple[float, str]:
    """Return alpha such that every database has one of m records with no error above alpha, and the theorem.

    The least of three:

    - sqrt(ln(2 |C|) / (2 m)): m random records err by more with probability below 2 |C| exp(-2 m alpha^2) (Hoeffding, union
      over |C| queries up to negation; Lemma 3.7 with half of its records);
    - A / (4 m): the counts m h(x), rounded down, and one more for the j largest remainders, j their sum. What is added, at
      most j - j (j / A), is what is taken away, so no set of classes errs by more than j (1 - j / A) / m;
    - sqrt(8 (ln 4 + d ln(2 e m / d)) / m), for VC dimension d and 2 m >= d (Lemma 3.8 with the constants of Vapnik and
      Chervonenkis, 4 (2 e m / d)^d exp(-m alpha^2 / 8) < 1): free of |C| and |X|.
    """
    found = [
        (sqrt(log(2 * max(queries, 1)) / (2 * records)), "Hoeffding and a union bound (Lemma 3.7)"),
        (elements / (4 * records), "rounding the counts of the classes"),
    ]
    if dimension >= 1 and 2 * records >= dimension:
        uniform = sqrt(8 * (log(4) + dimension * log(2 * e * records / dimension)) / records)
        found.append((uniform, f"VC dimension at most {dimension} (Lemma 3.8)"))
    alpha, because = min(found)
    return min(alpha, 1.0), because


def net_bound(elements: int, records: int, queries: int, dimension: int, *, range_: float, size: int) -> NetBound:
    """Return the bound for m records: alpha + (2 / (epsilon n)) (ln C(A + m - 1, m) + ln(1 / beta)).

    Source: Blum, Ligett and Roth 2013, Proposition 3.4 and Corollary 3.5 (the theorem of McSherry and Talwar 2007),
    where the printed log(|N| / delta) means ln |N| + ln(1 / delta).
    """
    alpha, because = nearest(elements, records, queries, dimension)
    selection = 2 / (range_ * size) * (log_multisets(elements, records) + log(1 / FAILURE))
    return NetBound(records, elements, queries, alpha, because, selection, FAILURE)


def distinct_queries(answers: NDArray[np.int8]) -> int:
    """Return how many queries (k, A) there are up to equality and negation, without constants."""
    signed = np.packbits(answers ^ answers[:, :1], axis=1)  # a query and its negation alike; constants are 0
    varying = signed[(signed != 0).any(axis=1)]
    return len(np.unique(varying, axis=0)) if len(varying) else 0


def vc_dimension(answers: NDArray[np.int8], *, most_sets: int = _MOST_SETS) -> tuple[int, int]:
    """Return bounds on the VC dimension of queries (k, A): the size of the largest set of elements that they shatter.

    Sets are grown one element at a time from shattered ones, `most_sets` at most; where that ends, the two bounds are
    equal. The upper bound otherwise is log2 of the number of distinct queries.
    """
    rows = np.unique(answers, axis=0).astype(np.int32)
    elements, most = rows.shape[1], int(np.log2(len(rows)))
    shattered: list[tuple[int, ...]] = [()]
    tried, dimension = 0, 0
    while dimension < most:
        found: list[tuple[int, ...]] = []
        bits = 1 << np.arange(dimension, dtype=np.int32)
        for known in shattered:
            later = np.arange(known[-1] + 1 if known else 0, elements)
            seen = np.zeros((2 << dimension, later.size), dtype=np.bool_)  # what queries answer on a set, as a number
            seen[(rows[:, known] @ bits)[:, None] + (rows[:, later] << dimension), np.arange(later.size)] = True
            found += [(*known, element) for element in later[seen.all(axis=0)].tolist()]
            tried += later.size
            if tried > most_sets:
                return dimension + bool(found), most
        if not found:
            return dimension, dimension
        shattered, dimension = found, dimension + 1
    return dimension, most


def impossible(dimension: int, *, size: int, range_: float, relation: NeighbouringRelation) -> dict[str, Any] | None:
    """Return a lower bound on any mechanism's error at this epsilon for a VC dimension; None if the theorem gives none.

    Theorem 3.11: with n <= d / 2 records, alpha >= 1 / (4 + 16 epsilon) for epsilon <= 1. Its proof swaps one record
    between T and T^: where that makes neighbours (replace-one) 1 / (2 alpha) - 1 <= e^epsilon, where it makes a
    neighbour of a neighbour (add-remove) <= e^(2 epsilon), for every epsilon; up to the probability of failure.
    """
    if 2 * size > dimension:
        return None
    steps = 1 if relation is NeighbouringRelation.REPLACE_ONE else 2
    return {
        "error_at_least": 1 / (2 * (1 + exp(steps * range_))),
        "printed": 1 / (4 + 16 * range_) if range_ <= 1 else None,
        "because": f"n = {size:,} is at most half of the VC dimension {dimension}: no {range_:g}-differentially private "
        "mechanism can do better",
        "theorem": "Blum, Ligett and Roth 2013, Theorem 3.11",
    }

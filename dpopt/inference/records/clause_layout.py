"""The general clauses of a problem laid out for the kernels, without a loop over clauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.inference.records.table_layout import largest_value, scale_of
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses

if TYPE_CHECKING:
    from dpopt.inference.records.clause_kernels import Listed, Truth


@dataclass(frozen=True, slots=True, eq=False)
class ClauseTerms:
    """Clauses of all terms together, in the order of the terms.

    Attributes
    ----------
    terms : tuple of FitTerm
        The terms that hold clauses.
    rows : tuple of int64 arrays
        Which clauses of each term are meant, increasing.
    starts : (terms + 1,) int64
        First clause of each term when the clauses meant follow one another.
    """

    terms: tuple[FitTerm, ...]
    rows: tuple[NDArray[np.int64], ...]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, terms: tuple[FitTerm, ...], least: int = 0, most: int = LARGEST_WIDTH) -> ClauseTerms:
        """Return the clauses of at least and at most so many literals."""
        chosen = tuple(one for one in terms if isinstance(one.queries, Clauses))
        rows = tuple(_of_width(clauses_of(one), least, most) for one in chosen)
        starts = np.cumsum([0, *(one.size for one in rows)], dtype=np.int64)
        return cls(chosen, rows, starts)

    def __len__(self) -> int:
        """Return the number of clauses m."""
        return int(self.starts[-1])

    @property
    def width(self) -> int:
        """Number of literals that the clauses of every term have room for."""
        return max((clauses_of(one).width for one in self.terms), default=1)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each term, (terms,)."""
        return np.array([one.weight for one in self.terms], dtype=np.float64)

    def values(self) -> NDArray[np.float64]:
        """Return the values of the clauses, (m,)."""
        return np.concatenate(
            [np.zeros(0), *(one.values[rows] for one, rows in zip(self.terms, self.rows, strict=True))]
        )

    def counts(self, records: NDArray[np.int32], sizes: NDArray[np.int32], threads: int) -> NDArray[np.int64]:
        """Return of how many of the records (r, d) each clause is true, (m,)."""
        from dpopt.queries.counting.kernels import count_on_records

        counts = [np.zeros(0, dtype=np.int64)]
        for one, rows in zip(self.terms, self.rows, strict=True):  # a loop over terms
            if rows.size:
                counts.append(count_on_records(clauses_of(one).take(rows), records, sizes, threads=threads))
        return np.concatenate(counts)


def clauses_of(term: FitTerm) -> Clauses:
    """Return the clauses of a term that holds clauses."""
    if not isinstance(term.queries, Clauses):
        raise ProgramError("this term holds marginals, no clauses")
    return term.queries


def _of_width(clauses: Clauses, least: int, most: int) -> NDArray[np.int64]:
    widths = clauses.widths()
    return np.flatnonzero((widths >= least) & (widths <= most))


def lay_out_clauses(problem: FitProblem, clauses: ClauseTerms, records: int) -> Listed:
    """Return clauses without records, for up to `records` of them that are to have the values of the terms."""
    from dpopt.inference.records.clause_kernels import Listed

    scale, dtype = scale_of(largest_value(clauses.terms), records)
    literals, accepted = clause_literals(problem, clauses, clauses.width)
    spare = int(problem.offsets()[-1])
    columns = np.where(literals < 0, ~literals, literals)
    used = columns != spare
    place = np.broadcast_to(np.arange(len(clauses), dtype=np.int32)[:, None], literals.shape)
    entries = np.where(literals >= 0, place, ~place)[used]
    counts = np.bincount(columns[used], minlength=spare)
    return Listed(
        prices=(scale // 2 - fixed_targets(clauses, records, scale)).astype(dtype),
        scale=scale,
        term_start=clauses.starts,
        weights=clauses.weights / scale,
        literals=literals,
        accepted=accepted,
        column_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        entries=entries[np.argsort(columns[used], kind="stable")],
    )


def clause_literals(
    problem: FitProblem, clauses: ClauseTerms, width: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return literals (m, width) as columns, complemented for "!=", and accepted numbers of true literals (m,).

    Padding, and literals on codes that no record may have, name a spare column after all others.
    """
    offsets, allowed = problem.offsets(), problem.allowed_columns()
    spare = int(offsets[-1])
    literals = np.full((len(clauses), width), spare, dtype=np.int32)
    accepted = np.empty(len(clauses), dtype=np.uint32)
    parts = zip(clauses.terms, clauses.rows, clauses.starts.tolist(), strict=False)
    for term, rows, first in parts:  # a loop over terms
        one = clauses_of(term)
        attributes, values, signs = (array[rows, :width] for array in (one.attributes, one.values, one.signs))
        used = attributes >= 0
        columns = np.where(used, offsets[attributes] + values, 0)
        columns = np.where(used & allowed[columns], columns, spare)
        part = slice(first, first + rows.size)
        literals[part, : attributes.shape[1]] = np.where(signs | ~used, columns, ~columns)
        accepted[part] = one.accepted[rows]
    return literals, accepted


def clause_error(residuals: NDArray[np.int64], scale: int, clauses: ClauseTerms, records: int) -> float:
    """Return 1/2 sum_g weight_g ||A_g p - values_g||^2 over clauses, given SCALE * (count - target) (m,)."""
    counts = (residuals + fixed_targets(clauses, records, scale)) // scale
    squares = np.concatenate(([0.0], np.cumsum((counts / records - clauses.values()) ** 2)))
    totals = squares[clauses.starts[1:]] - squares[clauses.starts[:-1]]
    return 0.5 * float(totals @ clauses.weights)


def fixed_targets(clauses: ClauseTerms, records: int, scale: int) -> NDArray[np.int64]:
    """Return how often clauses should be true, in whole multiples of 1 / scale of a record."""
    return np.floor(clauses.values() * float(records * scale) + 0.5).astype(np.int64)


def new_truth(listed: Listed) -> Truth:
    """Return room for what is true of a record; `look` fills it in."""
    from dpopt.inference.records.clause_kernels import Truth

    columns = listed.column_start.size
    return Truth(
        taken=np.zeros(columns, dtype=np.uint8),
        true_literals=np.zeros(listed.accepted.size, dtype=np.int8),
        costs=np.zeros(columns, dtype=np.float64),
    )

"""Comparison with the truth. NOT private: for the owner, for demonstrations on public data, and for experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, WorkloadError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.evaluation.marginal_errors import ErrorSums, marginal_errors
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers
from dpopt.queries.marginal_set import MarginalSet


@dataclass(frozen=True, slots=True)
class NonPrivateErrors:
    """Errors against the exact answers; publishing them would reveal something about records.

    Attributes
    ----------
    queries : int
        Number of base queries; a negation has the same error.
    max_error, mean_error : float
        Largest and mean absolute difference of the answers, which lie in [0, 1].
    worst_query : int
        Position of the query with the largest error; the first one of several.
    """

    queries: int
    max_error: float
    mean_error: float
    worst_query: int


def non_private_errors(
    dataset: PrivateDataset,
    queries: Clauses | MarginalSet,
    answers: Mapping[str, Answers],
    *,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NonPrivateErrors]:
    """Return the errors of several sets of answers against the exact answers of the table.

    Parameters
    ----------
    dataset
        The table.
    queries
        m clauses over its schema, or marginals with m cells, which are taken some at a time and never written out.
    answers
        By name: an array (m,) of all answers, or, for marginals, where the answers come from.
    progress
        Called with the share that is done, in (0, 1].

    Raises
    ------
    WorkloadError
        If an array has another shape, or answers on clauses are no array.
    PrivateDataError
        If no record is counted.
    """
    if dataset._rows == 0:
        raise PrivateDataError("the table has no records to compare with: no row of it is counted")
    number = queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)
    for name, given in answers.items():
        if isinstance(given, np.ndarray) and given.shape != (number,):
            raise WorkloadError(
                f"the answers {name!r} have the shape {given.shape}; expected one for each of {number:,} queries"
            )
    if isinstance(queries, MarginalSet):
        sums = marginal_errors(dataset, queries, answers, progress=progress)
    else:
        sums = _clause_errors(dataset, queries, answers, progress=progress)
    return {
        name: NonPrivateErrors(number, held.largest, held.total / number, held.place)
        for name, held in sums.items()
    }


def _clause_errors(
    dataset: PrivateDataset,
    clauses: Clauses,
    answers: Mapping[str, Answers],
    *,
    progress: Callable[[float], None] | None,
) -> dict[str, ErrorSums]:
    exact = exact_counts(dataset, clauses, progress=progress) / dataset._rows
    return {name: ErrorSums().add(np.abs(_array(given) - exact), 0) for name, given in answers.items()}


def _array(given: Answers) -> NDArray[np.float64]:
    if not isinstance(given, np.ndarray):
        raise WorkloadError(
            f"answers on clauses are given as an array, found {type(given).__name__}; that form is for marginals"
        )
    return given

"""Comparison with the truth. NOT private: for the owner, for demonstrations on public data, and for experiments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.private.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses


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
        Position of the query with the largest error.
    """

    queries: int
    max_error: float
    mean_error: float
    worst_query: int


def non_private_errors(
    dataset: PrivateDataset,
    clauses: Clauses,
    answers: dict[str, NDArray[np.float64]],
    *,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NonPrivateErrors]:
    """Return the errors of several sets of answers, each (m,), against the exact answers of the table."""
    from dpopt.queries.kernels import count_clauses, pack_columns

    packed = pack_columns(dataset._columns, dataset._schema.sizes, clauses)
    exact = count_clauses(packed, clauses, dataset._schema.offsets, progress=progress) / dataset._rows
    return {name: _errors(np.abs(given - exact)) for name, given in answers.items()}


def _errors(differences: NDArray[np.float64]) -> NonPrivateErrors:
    worst = int(np.argmax(differences))
    return NonPrivateErrors(len(differences), float(differences[worst]), float(differences.mean()), worst)

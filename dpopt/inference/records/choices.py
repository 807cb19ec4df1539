"""Which codes a search may give to which attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.laws import LEAST_PROBABILITY
from dpopt.inference.records.problem import FitProblem

if TYPE_CHECKING:
    from dpopt.inference.records.search_kernels import Choices


def choices_of(problem: FitProblem, laws: NDArray[np.float64]) -> Choices:
    """Return the choices of a problem, with the prior of these one-way laws (c,)."""
    from dpopt.inference.records.search_kernels import Choices

    domains = problem.domains
    codes = np.repeat(domains.starts, domains.counts) + _ranges(domains.counts)
    return Choices(
        first_column=problem.offsets(),
        attributes=searched_attributes(problem),
        code_start=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(domains.counts))),
        codes=domains.codes[codes].astype(np.int64),
        log_prior=np.log(np.maximum(laws, LEAST_PROBABILITY)),
    )


def searched_attributes(problem: FitProblem) -> NDArray[np.int64]:
    """Return the attributes that some query names, and of which records may have two codes or more."""
    named = np.zeros(problem.sizes.size, dtype=np.bool_)
    for term in problem.terms:
        attributes = term.queries.attributes
        named[attributes[attributes >= 0]] = True
    return np.flatnonzero(named & (problem.domains.counts > 1))


def _ranges(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)

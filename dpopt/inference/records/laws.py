"""One-way laws: how often each code of each attribute occurs. Where the record search starts, and its prior.

Estimated from the noisy answers themselves: the one-way sums of all marginals, each weighted by one over its variance, made
a probability vector by projection onto the simplex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.clause_layout import ClauseTerms, clauses_of
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.table_layout import MarginalTerms
from dpopt.public_random import PublicRandom

LEAST_PROBABILITY = 1e-9
"""As a prior no code is impossible."""


def check_laws(problem: FitProblem, laws: NDArray[np.float64]) -> None:
    """Raise ProgramError unless laws (c,) hold a probability vector for each attribute, on its allowed codes.

    Parameters
    ----------
    laws : (c,) float64
        Probability of every flat column (attribute, code).
    """
    offsets = problem.offsets()
    if laws.shape != (int(offsets[-1]),):
        raise ProgramError(
            f"one-way laws have shape {laws.shape}; give one number for each of {offsets[-1]} columns"
        )
    sums = np.add.reduceat(laws, offsets[:-1])
    if not np.isfinite(laws).all() or (laws < 0).any() or (np.abs(sums - 1) > 1e-6).any():
        raise ProgramError("one-way laws must be probabilities that sum to 1 for each attribute")
    if laws[~problem.allowed_columns()].any():
        raise ProgramError(
            "one-way laws give probability to a code that records may not have; give it 0 there"
        )


def estimated_laws(problem: FitProblem) -> NDArray[np.float64]:
    """Return one-way laws (c,) that the values of the problem suggest.

    Codes that no value speaks of share what the others leave; attributes that no marginal and no condition on one attribute
    alone names are uniform on their allowed codes.
    """
    from dpopt.inference.records.law_kernels import add_one_way_sums, nearest_laws

    offsets, marginals = problem.offsets(), MarginalTerms.of(problem.terms)
    sums, weights = np.zeros(int(offsets[-1])), np.zeros(int(offsets[-1]))
    for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
        shapes = marginals.shapes[first : first + len(one)]
        columns = np.repeat(offsets[:-1], one.domains.counts) + one.domains.codes
        add_one_way_sums(
            one.attributes,
            shapes,
            one.starts,
            term.values,
            term.weight,
            one.domains.starts,
            columns,
            sums,
            weights,
        )
    _add_conditions(problem, sums, weights)
    laws = np.zeros(sums.size)
    nearest_laws(offsets, problem.allowed_columns(), sums, weights, laws)
    return laws


def _add_conditions(problem: FitProblem, sums: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
    """Add what clauses of one literal say; those of more say nothing of an attribute alone."""
    clauses, offsets = ClauseTerms.of(problem.terms, 1, 1), problem.offsets()
    for term, rows in zip(clauses.terms, clauses.rows, strict=True):  # a loop over terms
        one = clauses_of(term)
        single = rows[np.isin(one.accepted[rows], (1, 2))]
        equal = one.signs[single, 0] == (one.accepted[single] == 2)
        shares = np.where(equal, term.values[single], 1.0 - term.values[single])
        columns = offsets[one.attributes[single, 0]] + one.values[single, 0]
        np.add.at(sums, columns, term.weight * shares)
        np.add.at(weights, columns, term.weight)


def draw_records(problem: FitProblem, laws: NDArray[np.float64], number: int, seed: int) -> NDArray[np.int32]:
    """Return `number` records (number, d) with independent attributes of these laws; rules are not looked at.

    Every code occurs its expected number of times, rounded up or down, in a public random order of its own for each attribute.
    """
    offsets, random = problem.offsets(), PublicRandom(seed)
    records = np.empty((number, problem.sizes.size), dtype=np.int32)
    points = (np.arange(number) + 0.5) / number
    for attribute in range(problem.sizes.size):
        edges = np.cumsum(laws[offsets[attribute] : offsets[attribute + 1]])
        codes = np.searchsorted(edges, points * edges[-1], side="right").astype(np.int32)
        order = np.argsort(random.words(number), kind="stable")
        records[order, attribute] = codes
    return records

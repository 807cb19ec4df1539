"""Where the record search starts: one-way marginals, the codes it may give to which attributes, and its first records.

One-way marginals say how often each code of each attribute occurs, and are the prior. They are estimated from the noisy
answers themselves: the one-way sums of all marginals, each weighted by one over its variance, made a probability vector
by projection onto the simplex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.feasible_layout import gains_of_one_way, lay_out_feasible
from dpopt.inference.records.layouts import ClauseTerms, MarginalTerms, clauses_of
from dpopt.inference.records.problem import FitProblem, FitSettings
from dpopt.public_random import PublicRandom

if TYPE_CHECKING:
    from dpopt.inference.records.sweep_kernels import Choices

LEAST_PROBABILITY = 1e-9
"""As a prior no code is impossible."""


def check_one_way(problem: FitProblem, one_way: NDArray[np.float64]) -> None:
    """Raise ProgramError unless one-way marginals (c,) are distributions over each attribute's allowed codes."""
    offsets = problem.offsets()
    if one_way.shape != (int(offsets[-1]),):
        raise ProgramError(
            f"one-way marginals have shape {one_way.shape}; give one number for each of {offsets[-1]} columns"
        )
    sums = np.add.reduceat(one_way, offsets[:-1])
    if not np.isfinite(one_way).all() or (one_way < 0).any() or (np.abs(sums - 1) > 1e-6).any():
        raise ProgramError("one-way marginals must be probabilities that sum to 1 for each attribute")
    if one_way[~problem.allowed_columns()].any():
        raise ProgramError("one-way marginals give probability to a code that records may not have; give it 0 there")


def estimated_one_way(problem: FitProblem) -> NDArray[np.float64]:
    """Return one-way marginals (c,) that the values of the problem suggest.

    Codes that no value mentions share what the others leave; attributes that no marginal and no condition on one
    attribute alone names are uniform on their allowed codes.
    """
    from dpopt.inference.records.table_kernels import add_one_way_sums, nearest_one_way

    offsets, marginals = problem.offsets(), MarginalTerms.of(problem.terms)
    sums, weights = np.zeros(int(offsets[-1])), np.zeros(int(offsets[-1]))
    for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
        shapes = marginals.shapes[first : first + len(one)]
        columns = np.repeat(offsets[:-1], one.domains.counts) + one.domains.codes
        add_one_way_sums(
            one.attributes, shapes, one.starts, term.values, term.weight, one.domains.starts, columns, sums, weights
        )
    _add_conditions(problem, sums, weights)
    one_way = np.zeros(sums.size)
    nearest_one_way(offsets, problem.allowed_columns(), sums, weights, one_way)
    return one_way


def _add_conditions(problem: FitProblem, sums: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
    """Add the information of clauses of one literal; longer ones have none about a single attribute."""
    clauses, offsets = ClauseTerms.of(problem.terms, 1, 1), problem.offsets()
    for term, rows in zip(clauses.terms, clauses.rows, strict=True):  # a loop over terms
        one = clauses_of(term)
        single = rows[np.isin(one.accepted[rows], (1, 2))]
        equal = one.signs[single, 0] == (one.accepted[single] == 2)
        shares = np.where(equal, term.values[single], 1.0 - term.values[single])
        columns = offsets[one.attributes[single, 0]] + one.values[single, 0]
        np.add.at(sums, columns, term.weight * shares)
        np.add.at(weights, columns, term.weight)


def draw_records(problem: FitProblem, one_way: NDArray[np.float64], number: int, seed: int) -> NDArray[np.int32]:
    """Return `number` records (number, d) with independent attributes of these distributions; rules are not looked at.

    Every code occurs its expected number of times, rounded up or down, in a public random order of its own for each
    attribute.
    """
    offsets, random = problem.offsets(), PublicRandom(seed)
    records = np.empty((number, problem.sizes.size), dtype=np.int32)
    points = (np.arange(number) + 0.5) / number
    for attribute in range(problem.sizes.size):
        edges = np.cumsum(one_way[offsets[attribute] : offsets[attribute + 1]])
        codes = np.searchsorted(edges, points * edges[-1], side="right").astype(np.int32)
        order = np.argsort(random.words(number), kind="stable")
        records[order, attribute] = codes
    return records


def choices_of(problem: FitProblem, one_way: NDArray[np.float64]) -> Choices:
    """Return the choices of a problem, with the prior of these one-way marginals (c,)."""
    from dpopt.inference.records.sweep_kernels import Choices

    domains = problem.domains
    return Choices(
        first_column=problem.offsets(),
        attributes=searched_attributes(problem),
        code_start=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(domains.counts))),
        codes=domains.codes.astype(np.int64),
        log_prior=np.log(np.maximum(one_way, LEAST_PROBABILITY)),
    )


def searched_attributes(problem: FitProblem) -> NDArray[np.int64]:
    """Return the attributes that some query names, and that have two codes or more in possible records."""
    named = np.zeros(problem.sizes.size, dtype=np.bool_)
    for term in problem.terms:
        attributes = term.queries.attributes
        named[attributes[attributes >= 0]] = True
    return np.flatnonzero(named & (problem.domains.counts > 1))


FIRST_DRAWS = 0  # numbers of public random streams
REPETITIONS = 2
WALKS = 3

STEPS = 200
"""Changes with which a drawn record may be walked to the rules, times the number of attributes."""


def start_records(
    problem: FitProblem, settings: FitSettings, start: NDArray[np.int32] | None, one_way: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Return N feasible records: those given, repeated or thinned out evenly, or independent draws made feasible.

    Raises ProgramError if a record that is given is not feasible, none is given, or no feasible record was found.
    """
    number, seed = settings.records, settings.seed << 32
    if start is None:
        drawn = draw_records(problem, one_way, number, seed | FIRST_DRAWS)
        return made_feasible(problem, drawn, one_way, seed | WALKS) if problem.rules.number_of_rules else drawn
    if len(start) == 0:
        raise ProgramError("a fit was to start from no records at all; give some, or none to draw them")
    problem.require_feasible(start)
    if len(start) == number:
        return start
    # Systematic: record i stands for the rows (i, i + 1] * number / r, in a public random order.
    order = np.argsort(PublicRandom(seed | REPETITIONS).words(len(start)), kind="stable")
    picked = order[(np.arange(number, dtype=np.int64) * len(start)) // number]
    return start[np.sort(picked)]


def made_feasible(
    problem: FitProblem, records: NDArray[np.int32], one_way: NDArray[np.float64], seed: int
) -> NDArray[np.int32]:
    """Return records that obey the rules: these, each changed in as few codes as a walk finds, likely codes first.

    A record whose walk ends nowhere is replaced by one of the others at random.
    """
    from dpopt.inference.records.sweep_kernels import make_feasible

    result, feasible = np.array(records, dtype=np.int32, order="C"), lay_out_feasible(problem)
    feasible.state.gain[:-1] = gains_of_one_way(one_way, LEAST_PROBABILITY)
    found = np.zeros(len(result), dtype=np.bool_)
    steps = STEPS * problem.sizes.size
    choices, random = choices_of(problem, one_way), np.array([seed], dtype=np.uint64)
    make_feasible(choices, feasible, result, steps, found, random)
    good = np.flatnonzero(found)
    if not good.size:
        raise ProgramError(
            "no record that obeys the rules was found; give feasible records to start from, such as a solver's answer"
        )
    bad = np.flatnonzero(~found)
    copied = PublicRandom(seed + 1).below(np.full(bad.size, good.size, dtype=np.uint64))
    result[bad] = result[good[copied.astype(np.int64)]]
    problem.require_feasible(result)
    return result

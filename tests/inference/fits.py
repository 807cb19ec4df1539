"""Small problems to fit, and plain references for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import among, circuit_of, every_record, exactly_when, some
from tests.strategies import naive_truth

SIZES = (3, 2, 4, 3)
RULES = circuit_of(
    {"tied": exactly_when((0, [0]), (2, [1, 2]), SIZES), "some": [some(among(1, [1], SIZES), among(3, [0, 2], SIZES))]}
)
RULED = pytest.mark.parametrize("rules", [NO_RULES, RULES], ids=["free", "rules"])


def domains_of(codes: Sequence[Sequence[int]]) -> Domains:
    """Return domains with these codes of each attribute."""
    counts = np.array([len(one) for one in codes], dtype=np.int64)
    flat = np.array([code for one in codes for code in one], dtype=np.int32)
    return Domains(counts, np.cumsum(counts) - counts, flat)


def all_codes(sizes: Sequence[int]) -> Domains:
    """Return domains with all codes of each attribute."""
    return domains_of([range(size) for size in sizes])


def answers(queries: MarginalSet | Clauses, records: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the answer of every query to every record, (queries, records), in plain Python."""
    clauses = queries.clauses() if isinstance(queries, MarginalSet) else queries
    return naive_truth(clauses, records).astype(np.float64)


def objective(problem: FitProblem, records: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """Return f of weighted records, term by term."""
    return sum(
        0.5 * term.weight * float(((answers(term.queries, records) @ weights - term.values) ** 2).sum())
        for term in problem.terms
    )


def equal_objective(problem: FitProblem, records: NDArray[np.int32]) -> float:
    """Return f of equally weighted records."""
    return objective(problem, records, np.full(len(records), 1 / len(records)))


def feasible_records(problem: FitProblem) -> NDArray[np.int32]:
    """Return all feasible records."""
    records = every_record(problem.sizes.tolist())
    return records[~problem.infeasible(records)]


def mixed_problem(
    seed: int,
    *,
    sizes: Sequence[int] = SIZES,
    rules: ThresholdCircuit = NO_RULES,
    noise: float = 0.1,
    allowed: Domains | None = None,
) -> FitProblem:
    """Return a problem of two sets of marginals over different codes and two lists of clauses of every kind."""
    generator = np.random.default_rng(seed)
    every = all_codes(sizes)
    fewer = domains_of([range(size)[::-1][: max(1, size - 1)] for size in sizes])
    some = MarginalSet(every, np.array([[0, 1, 2], [1, 3, -1], [2, -1, -1]], dtype=np.int32))
    others = MarginalSet(fewer, np.array([[0, 3], [2, 1]], dtype=np.int32))
    lists = [random_clauses(generator, sizes, number) for number in (12, 9)]
    domains = every if allowed is None else allowed
    blank = FitProblem(np.array(sizes, dtype=np.int32), (), rules, domains)
    feasible = feasible_records(blank)
    distribution = generator.dirichlet(np.full(len(feasible), 0.3))
    terms = []
    for queries, weight in ((some, 1.0), (lists[0], 0.7), (others, 2.0), (lists[1], 1.3)):
        exact = answers(queries, feasible) @ distribution
        terms.append(FitTerm(queries, exact + generator.normal(0, noise, exact.size), weight))
    return FitProblem(np.array(sizes, dtype=np.int32), tuple(terms), rules, domains)


def random_clauses(generator: np.random.Generator, sizes: Sequence[int], number: int) -> Clauses:
    """Return clauses of up to four literals with any masks."""
    d, width = len(sizes), min(4, len(sizes))
    attributes = np.full((number, width), -1, dtype=np.int32)
    values, signs = np.zeros((number, width), dtype=np.int32), np.zeros((number, width), dtype=np.bool_)
    accepted = np.empty(number, dtype=np.uint32)
    for row in range(number):
        used = int(generator.integers(1, width + 1))
        chosen = generator.permutation(d)[:used]
        attributes[row, :used] = chosen
        values[row, :used] = generator.integers(0, np.array(sizes)[chosen])
        signs[row, :used] = generator.integers(0, 2, used).astype(np.bool_)
        accepted[row] = generator.integers(0, 2 << used)
    return Clauses(attributes, values, signs, accepted)

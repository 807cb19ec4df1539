"""DualQuery played on a public population of zeros and ones, of which only the attributes that queries name exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.programs.limits import SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Encoding, FreeAttributes
from dpopt.releases.public_population.binary_population import BinaryPopulation, binary_population
from dpopt.schema.schema import Schema

SIZE = 100_000
"""Answers of the distribution are rounded to so many parts; the weights depend on the data through eta q(D) alone."""

SWEEPS = 60
MOST_SIMULATED_ROUNDS, MOST_DRAWN = 2_000, 5_000_000
"""Rounds, and draws of all rounds together, that are simulated; of a plan with more, fewer rounds are played."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedPart:
    """Queries over the attributes that they name, renumbered, and the distribution of a public population on these.

    Attributes
    ----------
    clauses : Clauses
        Over the attributes 0 .. a - 1.
    schema : Schema
        The a named attributes.
    population : BinaryPopulation
    answers : (m,) float64
        The answers of the population.
    """

    clauses: Clauses
    schema: Schema
    population: BinaryPopulation = field(repr=False)
    answers: NDArray[np.float64] = field(repr=False)


def named_part(workload: Workload, clauses: Clauses, seed: int, density: float | None) -> NamedPart:
    """Return these queries of the workload over the attributes that they name, with a public population."""
    positions = np.zeros(len(workload.schema), dtype=np.bool_)
    positions[clauses.attributes[clauses.attributes >= 0]] = True
    named = np.flatnonzero(positions)
    places = np.full(len(workload.schema) + 1, -1, dtype=np.int32)  # the last one for padding
    places[named] = np.arange(named.size, dtype=np.int32)
    renumbered = Clauses(freeze(places[clauses.attributes]), clauses.values, clauses.signs, clauses.accepted)
    population = binary_population(
        len(workload.schema), seed=seed, density=density, ranks=workload.ranks, named=named
    )
    return NamedPart(renumbered, Schema.binary(named.size), population, population.answers(renumbered))


def simulated_rounds(plan: DualQueryPlan) -> int:
    """Return how many rounds of a plan are simulated: up to 2,000, or as many as 5,000,000 draws allow, 20 at least."""
    return min(plan.rounds, MOST_SIMULATED_ROUNDS, max(20, MOST_DRAWN // plan.draws))


def play_on_binary(
    plan: DualQueryPlan, part: NamedPart, seed: int, on_round: Callable[[int, int], None]
) -> NDArray[np.float64]:
    """Play the rounds of a plan on the population and return the answers of its records, (m,).

    Rounds are those of `dpopt.algorithms.dualquery.driver`, played on public numbers alone: draws by weight, a record that
    answers the drawn queries best (with less effort), its other attributes filled by the plan's rule, weights moved by its
    answers. Free attributes that would be estimated get their first value.
    """
    from dpopt.queries.counting.kernels import satisfied
    from dpopt.solvers.registry import get_solver

    bits = plan.encoding is Encoding.BITS
    clauses = part.clauses.as_bits(part.schema) if bits else part.clauses
    sizes = freeze(np.full(part.schema.number_of_columns, 2, dtype=np.int32)) if bits else part.schema.sizes
    rule = FreeAttributes.FIRST if plan.one_way is not None else plan.free_attributes
    free = FreeAttributeRule(rule, part.schema, plan.encoding, seed=seed)
    counts = np.rint(part.answers * SIZE).astype(np.int64)
    weights = QueryWeights(counts, rows=SIZE, size=SIZE, step=plan.step)
    sampler, search = ExactSampler(SeededWords(seed)), get_solver("local-search")
    rounds, record = simulated_rounds(plan), None
    true = np.zeros(len(clauses), dtype=np.int64)
    for number in range(1, rounds + 1):
        drawn, signed = _net(sampler.draw(weights, plan.draws))
        problem = MaxCsp(sizes, clauses.take(drawn), signed)
        limits = SolveLimits(work=SWEEPS, seed=(seed + number) % 2**31)
        found = search.solve(problem, limits, hint=record).solution
        if found is None:
            raise PlanError("a simulation of DualQuery found no record; please report this")
        record = free.fill(problem, np.asarray(found, dtype=np.int32), number)
        satisfies = satisfied(clauses, record)
        weights.observe(satisfies)
        true += satisfies
        on_round(number, rounds)
    return true / rounds


def _net(signed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the queries of a draw, and how often each was drawn minus how often its negation was, where that is not 0."""
    queries, inverse = np.unique(signed // 2, return_inverse=True)
    net = np.bincount(inverse, weights=1 - 2 * (signed % 2), minlength=queries.size).astype(np.int64)
    return queries[net != 0], net[net != 0]

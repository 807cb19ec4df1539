"""Predicted error: the plan, played on a public population instead of the table; no private record is read.

The weights depend on the data through eta q(D) alone, so a population of 20,000 records stands for any n. Workloads of
more than 200,000 queries are represented by a public random part, and the best responses are searched with less effort,
which changes the errors by a few per cent. Cells of marginals are simulated up to a million. Beyond that, where a run
hardly sees any cell twice, its records are taken to be about as good as so many random records of the population.

Tables of zeros and ones (`Schema.binary`, or any with a declared density) have a population of their own: a
distribution on the attributes that the simulated queries name, so that half a million attributes are simulated as well
as fifty. See `dpopt.releases.public_population.population`. There a long simulation is made once, and of queries no
more than 4 * 10^8 / rounds (20,000 at least).

At most 2,000 rounds are simulated, with at most 5,000,000 draws in all of them (20 rounds at least): with fewer rounds
than planned the errors are too large rather than too small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.rounds import FreeAttributeRule
from dpopt.algorithms.prediction import AMPLE, ROWS, SIMULATED, PredictedError, errors_of
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.public_random import permutation, public_stream
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.public_population.population import BinaryPopulation, binary_population, public_population
from dpopt.schema.schema import Schema

SIZE = 100_000
"""Answers of the distribution are rounded to this fraction; the weights depend on the data through eta q(D) alone."""

MOST_SIMULATED_ROUNDS, MOST_DRAWN = 2_000, 5_000_000
"""Rounds, and draws of all rounds together, that are simulated; of a plan with more, fewer rounds are played."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedPart:
    """Queries over the attributes that they name, renumbered, and the distribution of a public population on these."""

    clauses: Clauses
    """Over the attributes 0 .. a - 1."""
    schema: Schema
    """The a named attributes."""
    population: BinaryPopulation = field(repr=False)
    answers: NDArray[np.float64] = field(repr=False)
    """Shape (m,). The answers of the population."""


def named_part(workload: Workload, clauses: Clauses, seed: int, density: float | None) -> NamedPart:
    """Return these queries of the workload over the attributes that they name, with a public population."""
    positions = np.zeros(len(workload.schema), dtype=np.bool_)
    positions[clauses.attributes[clauses.attributes >= 0]] = True
    named = np.flatnonzero(positions)
    places = np.full(len(workload.schema) + 1, -1, dtype=np.int32)  # the last one for padding
    places[named] = np.arange(named.size, dtype=np.int32)
    renumbered = Clauses(freeze(places[clauses.attributes]), clauses.values, clauses.signs, clauses.accepted)
    population = binary_population(len(workload.schema), seed=seed, density=density, ranks=workload.ranks, named=named)
    return NamedPart(renumbered, Schema.binary(named.size), population, population.answers(renumbered))


def simulated_rounds(plan: DualQueryPlan) -> int:
    """Return how many rounds of a plan are simulated: up to 2,000, or as many as 5,000,000 draws allow, 20 at least."""
    return min(plan.rounds, MOST_SIMULATED_ROUNDS, max(20, MOST_DRAWN // plan.draws))


def play_on_binary(plan: DualQueryPlan, part: NamedPart, seed: int) -> NDArray[np.float64]:
    """Play the rounds of a plan on the population and return the answers of its records, (m,).

    Rounds are those of `dpopt.algorithms.dualquery.algorithm`, played on public numbers alone: draws by weight, a record
    that answers the drawn queries best (with less effort), its other attributes filled by the plan's rule, weights
    moved by its answers. Free attributes that would be estimated get their first value.
    """
    from dpopt.queries.counting.kernels import satisfied
    from dpopt.solvers.registry import get_solver

    clauses, sizes = part.clauses, part.schema.sizes
    free = FreeAttributeRule(simulated_rule(plan), part.schema, seed=seed)
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
    return true / rounds


def _net(signed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the queries of a draw, and how often each was drawn minus how often its negation was, where that is not 0."""
    queries, inverse = np.unique(signed // 2, return_inverse=True)
    net = np.bincount(inverse, weights=1 - 2 * (signed % 2), minlength=queries.size).astype(np.int64)
    return queries[net != 0], net[net != 0]


def on_population(plan: DualQueryPlan, **changes: Any) -> DualQueryPlan:
    """Return a plan as it is played on a public population, which is nobody's data."""
    stand_in: dict[str, Any] = {
        "size": ROWS,
        "relation": NeighbouringRelation.REPLACE_ONE,
        "budget": AMPLE,
        "one_way": None,
    }
    return replace(plan, **stand_in, free_attributes=simulated_rule(plan), **changes)


MOST_QUERIES = 200_000
MOST_CELLS = 1_000_000
BINARY = f"{SIMULATED}; a public population of zeros and ones"
_TWICE_AT_MOST = 1_000_000
_MOST_ANSWERS, _LEAST_QUERIES = 400_000_000, 20_000
_MOST_RECORD_CELLS = 50_000_000
SWEEPS = 60


def simulated_rule(plan: DualQueryPlan) -> FreeAttributes:
    """Return the rule for free attributes: the first value in place of an estimate."""
    return FreeAttributes.FIRST if plan.one_way is not None else plan.free_attributes


def fewer_rounds(plan: DualQueryPlan) -> int | None:
    """Return how many rounds are simulated where the plan has more."""
    rounds = simulated_rounds(plan)
    return rounds if rounds < plan.rounds else None


def predict_on_binary(plan: DualQueryPlan, workload: Workload, runs: int, density: float | None) -> PredictedError:
    """Return the errors of a plan on populations of zeros and ones."""
    from dpopt.queries.counting.kernels import shares_on_records

    rounds = simulated_rounds(plan)
    runs = runs if rounds * plan.draws <= _TWICE_AT_MOST else 1
    errors, queries = [], 0
    for seed in range(1, runs + 1):
        if workload.marginals is not None and len(workload) > MOST_CELLS:
            part = named_part(workload, _some_cells(workload.marginals, plan.rounds), seed, density)
            records = part.population.records(plan.rounds, seed=seed)
            found = shares_on_records(part.clauses, records, part.schema.sizes)
        else:
            most = min(MOST_QUERIES, max(_LEAST_QUERIES, _MOST_ANSWERS // rounds))
            part = named_part(workload, _part(workload.clauses, most), seed, density)
            found = play_on_binary(plan, part, seed)
        differences, queries = np.abs(found - part.answers), len(part.clauses)
        errors.append((float(differences.max()), float(differences.mean())))
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, queries, BINARY, fewer_rounds(plan))


def _some_cells(marginals: MarginalSet, rounds: int) -> Clauses:
    """Return the cells of this number of marginals, chosen at random in public, as explicit queries."""
    cells = marginals.cells()
    order = permutation(public_stream(0, "simulated marginals"), len(marginals))
    order = order[cells[order] <= MOST_CELLS]
    most = max(1, _MOST_RECORD_CELLS // (rounds * marginals.attributes.shape[1]))
    chosen = np.sort(order[: min(most, int(np.searchsorted(np.cumsum(cells[order]), MOST_CELLS, side="right")))])
    if chosen.size == 0:
        raise PlanError(
            f"not predicted: the smallest marginal has {int(cells.min()):,} cells, more than the {MOST_CELLS:,} that a "
            "simulation holds; give --no-predict"
        )
    return marginals.take(chosen).clauses()


def simulated_part(workload: Workload) -> Workload:
    """Return the workload, or a public random part of very many clauses."""
    if workload.marginals is not None or len(workload) <= MOST_QUERIES:
        return workload
    stated = {"simulated_part_of": workload.fingerprint}
    return Workload(workload.schema, _part(workload.clauses, MOST_QUERIES), stated)


def simulated_clauses(workload: Workload) -> Clauses:
    """Return the clauses on which baselines are compared with a prediction: all, or a public random part."""
    if workload.marginals is not None and len(workload) > MOST_CELLS:
        return _some_cells(workload.marginals, 1)
    return workload.clauses if workload.marginals is not None else _part(workload.clauses, MOST_QUERIES)


def random_records(rounds: int, workload: Workload, seed: int) -> tuple[float, float]:
    """Return the errors of a number of random records of a public population."""
    columns = public_population(workload.schema, ROWS, seed=seed)
    population = PrivateDataset.from_codes(workload.schema, columns)
    chosen = permutation(public_stream(seed, "random records"), ROWS)[:rounds]
    records = np.stack([column[chosen] for column in columns], axis=1).astype(np.int32)
    return errors_of(population, workload.queries, RecordAnswers(records))


def _part(clauses: Clauses, most: int) -> Clauses:
    if len(clauses) <= most:
        return clauses
    return clauses.take(np.sort(permutation(public_stream(0, "simulated queries"), len(clauses))[:most]))

"""Predicted error: the plan, played on a public population instead of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.binary_simulation import named_part, play_on_binary, simulated_rounds
from dpopt.algorithms.dualquery.driver import BestResponder, run
from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.errors import PlanError
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.limits import SolveLimits
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.plan import Encoding, FreeAttributes
from dpopt.releases.public_population.population import public_population
from dpopt.releases.public_population.public_choice import permutation, public_stream
from dpopt.releases.public_population.public_table import has_binary_population
from dpopt.releases.run import Walk
from dpopt.transcript.journal import MemoryJournal

MOST_QUERIES = 200_000
MOST_CELLS = 1_000_000
SIMULATED = "prediction by simulation on public synthetic data, not a bound"
BINARY = f"{SIMULATED}; a public population of zeros and ones"
CLOSED_FORM = "expected errors of the noise, which do not depend on the data"
ROWS = 20_000
_TWICE_AT_MOST = 1_000_000
_MOST_ANSWERS, _LEAST_QUERIES = 400_000_000, 20_000
_MOST_RECORD_CELLS = 50_000_000
SWEEPS = 60


@dataclass(frozen=True, slots=True)
class PredictedError:
    """Errors that a simulation on public synthetic data shows.

    Attributes
    ----------
    max_error, mean_error : float
        Largest and mean absolute error over the simulated queries, averaged over the runs.
    runs : int
        Number of simulated runs, each on its own population.
    simulated_queries : int
        The workload, or a public random part of it.
    kind : str
        How the errors were predicted.
    simulated_rounds : int or None
        How many, where a plan has more than are simulated.
    """

    max_error: float
    mean_error: float
    runs: int
    simulated_queries: int
    kind: str = SIMULATED
    simulated_rounds: int | None = None


def predict_error(
    plan: DualQueryPlan,
    workload: Workload,
    *,
    runs: int = 1,
    density: float | None = None,
    on_round: Callable[[int, int], None] = lambda number, rounds: None,
) -> PredictedError:
    """Play the plan on public populations and return the mean of the errors; no private record is read.

    The weights depend on the data through eta q(D) alone, so a population of 20,000 records stands for any n. Workloads of more
    than 200,000 queries are represented by a public random part, and the best responses are searched with less effort, which
    changes the errors by a few per cent. Cells of marginals are simulated up to a million. Beyond that, where a run hardly
    sees any cell twice, its records are taken to be about as good as so many random records of the population. DQRS is
    predicted as DualQuery with the same rounds, draws and step: it draws from the same weights.

    Tables of zeros and ones (`Schema.binary`, or any with a declared `density`) have a population of their own: a
    distribution on the attributes that the simulated queries name, so that half a million attributes are simulated as well
    as fifty. See `dpopt.releases.public_population.binary_population`. There a long simulation is made once, and of queries
    no more than 4
    * 10^8 / rounds (20,000 at least).

    At most 2,000 rounds are simulated, with at most 5,000,000 draws in all of them (20 rounds at least): with fewer rounds than
    planned the errors are too large rather than too small.

    Parameters
    ----------
    plan : DualQueryPlan
        Rounds, draws and step.
    workload : Workload
        The queries.
    runs : int
        Number of populations.
    density : float, optional
        Public share of ones in a table of zeros and ones.
    on_round : callable
        Called as ``on_round(number, rounds)`` after each simulated round.

    Raises
    ------
    PlanError
        If a density is declared and an attribute has not two values, or a simulation would take as long as a run.
    """
    if has_binary_population(workload, density):
        return _predict_on_binary(plan, workload, runs, density, on_round)
    if workload.marginals is not None and len(workload) > MOST_CELLS:
        errors = [_random_records(plan.rounds, workload, seed) for seed in range(1, runs + 1)]
        largest, mean = np.mean(np.array(errors), axis=0).tolist()
        return PredictedError(largest, mean, runs, len(workload))
    clauses = workload.clauses if workload.marginals is not None else _part(workload.clauses, MOST_QUERIES)
    errors = [
        _simulate(plan, workload, clauses, seed, lambda number, rounds, _: on_round(number, rounds))
        for seed in range(1, runs + 1)
    ]
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, len(clauses), simulated_rounds=_fewer_rounds(plan))


def _fewer_rounds(plan: DualQueryPlan) -> int | None:
    """Return how many rounds are simulated where the plan has more."""
    rounds = simulated_rounds(plan)
    return rounds if rounds < plan.rounds else None


def _predict_on_binary(
    plan: DualQueryPlan,
    workload: Workload,
    runs: int,
    density: float | None,
    on_round: Callable[[int, int], None],
) -> PredictedError:
    rounds = simulated_rounds(plan)
    runs = runs if rounds * plan.draws <= _TWICE_AT_MOST else 1
    errors, queries = [], 0
    for seed in range(1, runs + 1):
        if workload.marginals is not None and len(workload) > MOST_CELLS:
            part = named_part(workload, _some_cells(workload.marginals, plan.rounds), seed, density)
            records = part.population.records(plan.rounds, seed=seed)
            found = share_of_records(part.clauses, records, part.schema.sizes)
        else:
            most = min(MOST_QUERIES, max(_LEAST_QUERIES, _MOST_ANSWERS // rounds))
            part = named_part(workload, _part(workload.clauses, most), seed, density)
            found = play_on_binary(plan, part, seed, on_round)
        differences, queries = np.abs(found - part.answers), len(part.clauses)
        errors.append((float(differences.max()), float(differences.mean())))
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, queries, BINARY, _fewer_rounds(plan))


def _some_cells(marginals: MarginalSet, rounds: int) -> Clauses:
    """Return the cells of so many marginals, chosen at random in public, as are written out and answered by records.

    Raises
    ------
    PlanError
        If even the smallest marginal has too many cells.
    """
    cells = marginals.cells()
    order = permutation(public_stream(0, "simulated marginals"), len(marginals))
    order = order[cells[order] <= MOST_CELLS]
    most = max(1, _MOST_RECORD_CELLS // (rounds * marginals.attributes.shape[1]))
    chosen = np.sort(
        order[: min(most, int(np.searchsorted(np.cumsum(cells[order]), MOST_CELLS, side="right")))]
    )
    if chosen.size == 0:
        raise PlanError(
            f"not predicted: the smallest marginal has {int(cells.min()):,} cells, more than the {MOST_CELLS:,} that a "
            "simulation holds; give --no-predict"
        )
    return marginals.take(chosen).clauses()


def share_of_records(
    clauses: Clauses, records: NDArray[np.int32], sizes: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the share of the records, (r, d), of which each clause is true, (m,)."""
    from dpopt.queries.counting.kernels import count_on_records

    return count_on_records(clauses, records, sizes) / len(records)


def simulated_clauses(workload: Workload) -> Clauses:
    """Return the clauses on which baselines are compared with a prediction: all, or a public random part.

    Raises
    ------
    PlanError
        If the workload are marginals, and even the smallest one has too many cells.
    """
    if workload.marginals is not None and len(workload) > MOST_CELLS:
        return _some_cells(workload.marginals, 1)
    return workload.clauses if workload.marginals is not None else _part(workload.clauses, MOST_QUERIES)


def _random_records(rounds: int, workload: Workload, seed: int) -> tuple[float, float]:
    """Return the errors of so many random records of a public population."""
    columns = public_population(workload.schema, ROWS, seed=seed)
    population = PrivateDataset.from_codes(workload.schema, columns)
    chosen = permutation(public_stream(seed, "random records"), ROWS)[:rounds]
    records = np.stack([column[chosen] for column in columns], axis=1).astype(np.int32)
    found = {"random": RecordAnswers(records)}
    errors = non_private_errors(population, workload.queries, found)["random"]
    return errors.max_error, errors.mean_error


def _part(clauses: Clauses, most: int) -> Clauses:
    if len(clauses) <= most:
        return clauses
    return clauses.take(np.sort(permutation(public_stream(0, "simulated queries"), len(clauses))[:most]))


def _simulate(
    plan: DualQueryPlan,
    workload: Workload,
    clauses: Clauses,
    seed: int,
    on_round: Callable[[int, int, object], None],
) -> tuple[float, float]:
    from dpopt.queries.counting.kernels import count_clauses, count_on_records
    from dpopt.queries.counting.packing_kernels import pack_columns
    from dpopt.solvers.registry import get_solver

    schema, bits = workload.schema, plan.encoding is Encoding.BITS
    coded = clauses.as_bits(schema) if bits else clauses
    sizes = np.full(schema.number_of_columns, 2, dtype=np.int32) if bits else schema.sizes
    columns = public_population(schema, ROWS, seed=seed)
    population = PrivateDataset.from_codes(schema, columns)
    relation = NeighbouringRelation.REPLACE_ONE
    stand_in = replace(
        _as_dualquery(plan),
        rounds=simulated_rounds(plan),
        size=ROWS,
        relation=relation,
        budget=Budget(epsilon=1e300, delta=0.0, rho=None, accountant=Accountant.PURE),
        free_attributes=FreeAttributes.FIRST if plan.one_way is not None else plan.free_attributes,
        one_way=None,
    )
    ledger = reserved_ledger(stand_in.budget, relation, stand_in.charges(), None)
    journal = MemoryJournal(keep=False)
    curator = Curator(
        population,
        clauses,
        ledger,
        journal,
        size=ROWS,
        step=stand_in.step,
        record_clauses=coded,
        sampler=ExactSampler(SeededWords(seed)),
    )
    search = get_solver("local-search")
    responder = BestResponder(
        clauses=coded,
        sizes=sizes,
        solver=search,
        fallback=search,
        limits=SolveLimits(work=SWEEPS, seed=seed),
        free_attributes=FreeAttributeRule(stand_in.free_attributes, schema, plan.encoding, seed=seed),
    )
    rounds = run(Walk(ledger, curator, journal), stand_in, responder, on_round=on_round)
    records = np.ascontiguousarray(np.stack([done.record for done in rounds]))
    truth = count_clauses(pack_columns(columns, schema.sizes, clauses), clauses, schema.offsets) / ROWS
    found = count_on_records(coded, records, sizes) / len(rounds)
    errors = np.abs(found - truth)
    return float(errors.max()), float(errors.mean())


def _as_dualquery(plan: DualQueryPlan) -> DualQueryPlan:
    """Return the plan without what a relative of DualQuery adds to it."""
    return DualQueryPlan(**{one.name: getattr(plan, one.name) for one in fields(DualQueryPlan)})

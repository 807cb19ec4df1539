"""Predicted error: the plan, played on a public population instead of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery import BestResponder, run
from dpopt.algorithms.free_attributes import FreeAttributeRule
from dpopt.algorithms.plan import DualQueryPlan, Encoding, FreeAttributes
from dpopt.algorithms.population import public_population
from dpopt.algorithms.public_choice import permutation, public_stream
from dpopt.private.curator import Curator
from dpopt.private.dataset import PrivateDataset
from dpopt.private.evaluation import non_private_errors
from dpopt.private.query_weights import ExactSampler
from dpopt.private.randomness import SeededWords
from dpopt.programs.limits import SolveLimits
from dpopt.queries.answers import RecordAnswers
from dpopt.queries.clauses import Clauses
from dpopt.queries.workload import Workload
from dpopt.transcript.journal import MemoryJournal

MOST_QUERIES = 200_000
MOST_CELLS = 1_000_000
SIMULATED = "prediction by simulation on public synthetic data, not a bound"
CLOSED_FORM = "expected errors of the noise, which do not depend on the data"
ROWS = 20_000
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
    queries : int
        Number of simulated queries: the workload, or a public random part of it.
    kind : str
        How the errors were predicted.
    """

    max_error: float
    mean_error: float
    runs: int
    queries: int
    kind: str = SIMULATED

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as a JSON object."""
        return {
            "kind": self.kind,
            "max_error": self.max_error,
            "mean_error": self.mean_error,
            "runs": self.runs,
            "simulated_queries": self.queries,
        }


def predict_error(
    plan: DualQueryPlan,
    workload: Workload,
    *,
    runs: int = 1,
    on_round: Callable[[int, int], None] = lambda number, rounds: None,
) -> PredictedError:
    """Play the plan on public populations and return the mean of the errors; no private record is touched.

    The weights depend on the data through eta q(D) alone, so a population of 20,000 records stands for any n. Workloads of more
    than 200,000 queries are represented by a public random part, and the best responses are searched with less effort, which
    changes the errors by a few per cent. Cells of marginals are simulated up to a million. Beyond that, where a run hardly
    sees any cell twice, its records are taken to be about as good as so many random records of the population. DQRS is
    predicted as DualQuery with the same rounds, draws and step: it draws from the same weights.
    """
    if workload.marginals is not None and len(workload) > MOST_CELLS:
        errors = [_random_records(plan.rounds, workload, seed) for seed in range(1, runs + 1)]
        largest, mean = np.mean(np.array(errors), axis=0).tolist()
        return PredictedError(largest, mean, runs, len(workload))
    clauses = workload.clauses if workload.marginals is not None else _part(workload.clauses)
    errors = [
        _simulate(plan, workload, clauses, seed, lambda number, rounds, _: on_round(number, rounds))
        for seed in range(1, runs + 1)
    ]
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, len(clauses))


def _random_records(rounds: int, workload: Workload, seed: int) -> tuple[float, float]:
    """Return the errors of so many random records of a public population."""
    columns = public_population(workload.schema, ROWS, seed=seed)
    population = PrivateDataset.from_codes(workload.schema, columns)
    chosen = permutation(public_stream(seed, "random records"), ROWS)[:rounds]
    records = np.stack([column[chosen] for column in columns], axis=1).astype(np.int32)
    found = {"random": RecordAnswers(records)}
    errors = non_private_errors(population, workload.queries, found)["random"]
    return errors.max_error, errors.mean_error


def _part(clauses: Clauses) -> Clauses:
    if len(clauses) <= MOST_QUERIES:
        return clauses
    return clauses.take(
        np.sort(permutation(public_stream(0, "simulated queries"), len(clauses))[:MOST_QUERIES])
    )


def _simulate(
    plan: DualQueryPlan,
    workload: Workload,
    clauses: Clauses,
    seed: int,
    on_round: Callable[[int, int, object], None],
) -> tuple[float, float]:
    from dpopt.queries.kernels import count_clauses, count_on_records, pack_columns
    from dpopt.solvers.registry import get_solver

    schema, bits = workload.schema, plan.encoding is Encoding.BITS
    coded = clauses.as_bits(schema) if bits else clauses
    sizes = np.full(schema.number_of_columns, 2, dtype=np.int32) if bits else schema.sizes
    columns = public_population(schema, ROWS, seed=seed)
    population = PrivateDataset.from_codes(schema, columns)
    relation = NeighbouringRelation.REPLACE_ONE
    stand_in = replace(
        _as_dualquery(plan),
        size=ROWS,
        relation=relation,
        budget=Budget(epsilon=1e300, delta=0.0, rho=None, accountant=Accountant.PURE),
        free_attributes=FreeAttributes.FIRST if plan.one_way is not None else plan.free_attributes,
        one_way=None,
    )
    ledger = Ledger(stand_in.budget, relation)
    ledger.reserve(stand_in.charges())
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
    rounds = run(stand_in, curator, responder, journal, on_round=on_round)
    records = np.ascontiguousarray(np.stack([done.record for done in rounds]))
    truth = count_clauses(pack_columns(columns, schema.sizes, clauses), clauses, schema.offsets) / ROWS
    found = count_on_records(coded, records, sizes) / len(rounds)
    errors = np.abs(found - truth)
    return float(errors.max()), float(errors.mean())


def _as_dualquery(plan: DualQueryPlan) -> DualQueryPlan:
    """Return the plan without what a relative of DualQuery adds to it."""
    return DualQueryPlan(**{one.name: getattr(plan, one.name) for one in fields(DualQueryPlan)})

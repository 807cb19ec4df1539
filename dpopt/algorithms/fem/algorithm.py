"""FEM: records that answer the queries selected so far best, once a public perturbation is added.

Each round makes s records, the best responses to the queries selected so far under s random perturbations (follow the
perturbed leader), and the exponential mechanism selects a query that they answer badly. The last batches are released.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, "New Oracle-Efficient Algorithms for Private Synthetic Data Release",
Algorithms 1 and 2; with the charge of `dpopt.accounting.selections`, and no selection after the last batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import sqrt
from typing import Any

import numpy as np

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.algorithm import Algorithm
from dpopt.algorithms.dualquery.algorithm import NO_SOLVERS, Prepared, solvers_of
from dpopt.algorithms.fem.plan import DEFAULT_RECORDS, DEFAULT_SWEEPS, SCALE, FemPlan, largest_range, rounds_by_rule
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder
from dpopt.algorithms.measured.plan import domains_of
from dpopt.algorithms.options import FEM, PlanRequest
from dpopt.algorithms.prediction import ROWS, PredictedError, predict_played
from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.programs.results import SolveLimits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Outcome, Run, Walk
from dpopt.transcript.journal import Entry
from dpopt.transcript.past import QUERY_SELECTION
from dpopt.transcript.released import SelectedQuery, check_selected

THREADS = 2
MOST_SIMULATED = 1_000_000
"""Queries; with more of them a simulation would take as long as a run."""
SIMULATED_RECORDS, SIMULATED_SWEEPS = 10, 20
_LARGEST_RANGE = 900


class FemAlgorithm(Algorithm[FEM, FemPlan]):
    """FEM: records that answer the selected queries best under random perturbations."""

    plans = FemPlan

    def plan(self, request: PlanRequest[FEM], workload: Workload) -> FemPlan:
        """Return a plan that the budget covers; only public values are read.

        Rule: s = 100 records per round; lambda = 0.2 sqrt(T); the second half of the batches is released; eps0 is the
        largest that the budget covers T times; T is the largest number of a list up to 360 for which the loss of a
        selection, ln(2 m) / (n eps0) (twice that under replace-one), stays below 4 / sqrt(T), the order of what T
        rounds leave. Set on public random populations.
        """
        asked = request.options
        rounds = asked.rounds or rounds_by_rule(request, len(workload))
        range_ = largest_range(request.budget, request.relation, rounds)
        if range_ is None:
            raise PlanError(
                f"{request.budget.describe()} is too small for {rounds} selections on n = {request.size:,} records. "
                "Raise the budget, or ask for fewer rounds"
            )
        return FemPlan(
            algorithm=asked.algorithm,
            rounds=rounds,
            records=asked.draws or DEFAULT_RECORDS,
            selection_range=range_,
            scale=round(SCALE * sqrt(rounds), 3),
            kept_from=rounds // 2 + 1,
            size=request.size,
            relation=request.relation,
            budget=request.budget,
            solver=asked.solver_name,
            work=DEFAULT_SWEEPS if asked.work is None and asked.time_limit is None else asked.work,
            seconds=asked.time_limit,
            seed=asked.seed,
            chosen_by=f"rule lambda = {SCALE} sqrt(T), half of the batches" if asked.rounds is None else "rounds given",
        )

    def predict(
        self, plan: FemPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Play the plan on public populations with less effort: a round makes at most 10 records in 20 sweeps.

        Selections depend on the data through eps0 n q(D) alone, so a population of 20,000 records stands for any n
        under a range eps0 n / 20,000.
        """
        if len(workload) > MOST_SIMULATED:
            raise PlanError(
                f"not predicted: simulating {plan.algorithm} on {len(workload):,} queries takes as long as a run"
            )
        scaled = float(plan.selection_range) * plan.size / ROWS
        stand_in = replace(
            plan,
            selection_range=Decimal(f"{min(_LARGEST_RANGE, scaled):.6g}"),
            records=min(plan.records, SIMULATED_RECORDS),
            solver="local-search",
            work=SIMULATED_SWEEPS,
            seconds=None,
        )
        return predict_played(self, stand_in, workload, runs=runs, density=density)

    def prepare(self, job: Job, run: Run) -> Prepared:
        return solvers_of(job, run)

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> FemCurator:
        plan = FemPlan.of(job.plan)
        with stage(run.progress, "counting exact answers"):
            return FemCurator(
                run.dataset,
                job.workload.queries,
                ledger,
                run.journal,
                size=plan.size,
                range_=plan.selection_range,
                records=plan.records,
                words=run.sources.words,
                progress=run.progress.share,
            )

    def play(self, job: Job, walk: Walk[FemCurator], prepared: Prepared | None) -> Outcome:
        """Play the rounds of a plan, and release the records of the batches that it keeps."""
        plan = FemPlan.of(job.plan)
        solver, search, feasible = prepared or NO_SOLVERS
        domains, sizes = domains_of(job.workload), job.schema.sizes
        possible = np.zeros(int(sizes.sum()), dtype=np.bool_)
        possible[np.repeat(job.schema.offsets[:-1], domains.counts) + domains.codes] = True
        responder = PerturbedResponder(
            queries=job.workload.queries,
            sizes=sizes,
            possible=possible,
            solver=solver,
            fallback=search,
            limits=SolveLimits(seconds=plan.seconds, work=plan.work, seed=plan.seed, threads=THREADS),
            records=plan.records,
            scale=plan.scale,
            rules=job.schema.circuit(),
            feasible=feasible,
        )
        with stage(walk.progress, "playing rounds"):
            batches = run(walk, plan, responder)
        kept = [batch for batch in batches if batch.round >= plan.kept_from]
        sections: dict[str, Any] = {
            "batches": {
                "selections": plan.rounds,
                "batches_kept": len(kept),
                "records_of_a_batch": plan.records,
                "fallbacks": sum(batch.fallbacks for batch in kept),
                "lost_to_interruptions": walk.lost,
            }
        }
        return Outcome(walk.ledger, released_records(plan, batches), sections=sections)


def run(walk: Walk[FemCurator], plan: FemPlan, responder: PerturbedResponder) -> list[Batch]:
    """Play the rounds of a plan, continuing after those on file, and return their T + 1 batches.

    The private side (`walk`) gets each batch and gives selected queries only. A selection that was torn on file may
    have been seen in part: it stays charged, and its round selects nothing.
    """
    charges = plan.charges()
    batches: list[Batch] = []
    selected: list[SelectedQuery] = []
    for number in range(1, plan.rounds + 2):
        batch = _batch(walk, responder, number, selected)
        batches.append(batch)
        if number > plan.rounds:
            break
        found = _selected(walk, charges[number - 1], batch, responder.number_of_queries)
        if found is not None:
            selected.append(found)
        walk.step(number, plan.rounds, "" if found is None else f"query {found.query:,}")
    return batches


def _batch(
    walk: Walk[FemCurator], responder: PerturbedResponder, number: int, selected: Sequence[SelectedQuery]
) -> Batch:
    """Return the records of a round, checked where they are on file; the next charge's write makes them safe."""
    return walk.public(
        "records",
        read=lambda entry: responder.check(_read_batch(entry, number)),
        make=lambda: responder.respond(number, selected),
        write=lambda batch: {
            "kind": "records",
            "round": batch.round,
            "records": batch.records.tolist(),
            "fallbacks": batch.fallbacks,
        },
        wait=False,
    )


def _selected(walk: Walk[FemCurator], charge: Charge, batch: Batch, most: int) -> SelectedQuery | None:
    """Return the query that a round selects, one of so many; None if it is lost."""
    return walk.draw(
        QUERY_SELECTION,
        charge,
        lambda again: walk.curator.select(batch.records, round=batch.round, again=again),
        round=batch.round,
        on_file=lambda value: check_selected(value, most),
    )


def _read_batch(entry: Entry, number: int) -> Batch:
    """Return the batch of a round from its entry."""
    if entry["round"] != number:
        raise TranscriptError(f"records of round {entry['round']!r} out of order")
    records = np.array(entry["records"])
    if records.ndim != 2 or records.dtype.kind != "i":
        raise TranscriptError(f"round {number}: the records on file are damaged")
    fallbacks = entry["fallbacks"]
    if type(fallbacks) is not int or not 0 <= fallbacks <= len(records):
        raise TranscriptError(f"round {number}: {fallbacks!r} fallbacks among {len(records)} records")
    return Batch(number, freeze(records.astype(np.int32)), fallbacks)


def released_records(plan: FemPlan, batches: Sequence[Batch]) -> SyntheticRecords:
    """Return the records of the batches that the plan keeps, with equal weights, merged."""
    kept = np.concatenate([batch.records for batch in batches if batch.round >= plan.kept_from])
    return SyntheticRecords.of(list(kept))

"""FEM and sepFEM from a job and a table to an outcome, and from a transcript back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.past import reservation
from dpopt.algorithms.dualquery.round_figures import spent_so_far
from dpopt.algorithms.fem.driver import FemPast, read_fem_past, released_records, run
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder, checked_batch
from dpopt.algorithms.measured.candidates import domains_of
from dpopt.algorithms.options import SepFEM
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.programs.limits import SolveLimits
from dpopt.releases.job import Job
from dpopt.releases.outcome import Outcome, Run
from dpopt.releases.progress import stage
from dpopt.transcript.journal import JournalContents
from dpopt.transcript.released import SelectedQuery

if TYPE_CHECKING:
    from dpopt.programs.solver import Solver

THREADS = 2


def play(run_: Run) -> Outcome:
    """Play the rounds of a plan on a table, continuing after those on file; everything is charged before it is drawn."""
    from dpopt.algorithms.dualquery.play import legal_start
    from dpopt.solvers.registry import get_solver

    job, progress, journal = run_.job, run_.progress, run_.journal
    plan = _fem_plan(job)
    solver = run_.clause_solver()
    legal = legal_start(job, solver)
    reserved = reservation(job)
    past = read_fem_past(run_.contents, plan, reserved)
    ledger = run_.ledger()
    with stage(progress, "counting exact answers"):
        curator = FemCurator(
            run_.dataset,
            job.workload.queries,
            ledger,
            journal,
            size=plan.size,
            range_=plan.range_,
            records=plan.records,
            words=run_.sources.words,
            progress=progress.share,
        )
    if not past.started:
        journal.append(reserved)
    responder = _responder(job, plan, solver, get_solver("local-search"), legal)

    def told(number: int, rounds: int, selected: SelectedQuery | None) -> None:
        progress.figures(lambda: spent_so_far(ledger))
        progress.step(number, rounds, "" if selected is None else f"query {selected.query:,}")

    with stage(progress, "playing rounds"):
        batches = run(
            plan,
            curator,
            responder,
            journal,
            past=past.rounds,
            on_round=told,
        )
    if not past.finished:
        journal.append({"kind": "finish"})
    return _outcome(job, ledger, batches, lost_to_interruptions=_lost(past))


def rebuild(job: Job, contents: JournalContents) -> Outcome | None:
    """Return the outcome that a transcript gives, every record checked again; None if the run has not ended.

    Raises
    ------
    TranscriptError
        If what is on file contradicts itself.
    """
    plan = _fem_plan(job)
    past = read_fem_past(contents, plan, reservation(job))
    if not past.finished:
        return None
    for known in past.rounds:
        if known.selected is not None and not 0 <= known.selected.query < len(job.workload):
            raise TranscriptError(
                f"round {known.selected.round} selects query {known.selected.query:,}; the workload has {len(job.workload):,}, "
                "numbered from 0"
            )
    ledger = job.ledger(None)
    for charge in past.charges():
        ledger.spend(charge)
    sizes, rules = job.record_sizes(), job.record_rules()
    batches = [checked_batch(known.batch, plan.records, sizes, rules) for known in past.rounds]
    return _outcome(job, ledger, batches, lost_to_interruptions=_lost(past))


def _lost(past: FemPast) -> int:
    return sum(known.torn for known in past.rounds)


def _fem_plan(job: Job) -> FemPlan:
    if not isinstance(job.plan, FemPlan):
        raise PlanError(f"expected a plan of fem or sepfem, found one of {job.plan.algorithm}")
    return job.plan


def _responder(
    job: Job,
    plan: FemPlan,
    solver: Solver,
    fallback: Solver,
    legal: NDArray[np.int32] | None,
) -> PerturbedResponder:
    domains, sizes = domains_of(job.workload), job.schema.sizes
    possible = np.zeros(int(sizes.sum()), dtype=np.bool_)
    possible[np.repeat(job.schema.offsets[:-1], domains.counts) + domains.codes] = True
    return PerturbedResponder(
        queries=job.workload.queries,
        sizes=sizes,
        possible=possible,
        solver=solver,
        fallback=fallback,
        limits=SolveLimits(seconds=plan.seconds, work=plan.work, seed=plan.seed, threads=THREADS),
        records=plan.records,
        scale=plan.scale,
        signed=plan.algorithm == SepFEM.algorithm,
        rules=job.record_rules(),
        legal=legal,
    )


def _outcome(job: Job, ledger: Ledger, batches: Sequence[Batch], *, lost_to_interruptions: int) -> Outcome:
    plan = _fem_plan(job)
    kept = [batch for batch in batches if batch.round >= plan.kept_from]
    sections: dict[str, Any] = {
        "batches": {
            "selections": plan.rounds,
            "batches_kept": len(kept),
            "records_of_a_batch": plan.records,
            "fallbacks": sum(batch.fallbacks for batch in kept),
            "lost_to_interruptions": lost_to_interruptions,
        }
    }
    return Outcome(ledger, released_records(plan, batches), sections=sections)

"""DualQuery from a job and a table to its outcome, and from a transcript back to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.dqrs_plan import DqrsPlan
from dpopt.algorithms.dualquery.driver import BestResponder, recertify, run
from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.past import Past, read_past, reservation
from dpopt.algorithms.dualquery.plan import DualQueryPlan, dualquery_plan
from dpopt.algorithms.dualquery.round_figures import figures_of_round
from dpopt.algorithms.dualquery.statement import dualquery_sections
from dpopt.private.curators.dqrs_curator import DqrsCurator
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.releases.job import Job
from dpopt.releases.outcome import Outcome, Run
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rounds import Round
from dpopt.releases.rule_conflicts import legal_record, require_rules_taken
from dpopt.transcript.journal import JournalContents
from dpopt.transcript.released import NoisyAnswers

THREADS = 2
"""Threads of a best response; the local search gives the same record with any number of them."""


def play(run_: Run) -> Outcome:
    """Play the rounds of a plan on a table, continuing after those on file; everything is charged before it is drawn."""
    job, progress, journal = run_.job, run_.progress, run_.journal
    plan = dualquery_plan(job.plan)
    solver = run_.clause_solver()
    legal = legal_start(job, solver)
    past = read_past(run_.contents, job)
    ledger = run_.ledger()
    with stage(progress, "counting exact answers"):
        curator = _curator(run_, plan, ledger, past)
    if not past.started:
        journal.append(reservation(job))
    one_way = _one_way(curator, plan, past)
    responder = _responder(job, plan, solver, one_way, legal)

    def told(number: int, total: int, done: Round) -> None:
        progress.figures(lambda: figures_of_round(plan, ledger, done))
        progress.round(number, total, (done.certificate.objective or 0) / plan.draws)

    with stage(progress, "playing rounds"):
        rounds = run(
            plan,
            curator,
            responder,
            journal,
            past=past.rounds,
            on_round=told,
        )
    if not past.finished:
        journal.append({"kind": "finish"})
    return _outcome(job, ledger, rounds)


def _curator(run_: Run, plan: DualQueryPlan, ledger: Ledger, past: Past) -> Curator:
    """Return the private side of DualQuery, or of DQRS, which may keep queries that are on file."""
    job, sources = run_.job, run_.sources
    queries = job.workload.clauses
    if not isinstance(plan, DqrsPlan):
        return Curator(
            run_.dataset,
            queries,
            ledger,
            run_.journal,
            size=plan.size,
            step=plan.step,
            marginals=job.workload.marginals,
            record_clauses=job.record_clauses(),
            sampler=sources.sampler,
            noise=sources.noise,
            progress=run_.progress.share,
        )
    keeping = DqrsCurator(
        run_.dataset,
        queries,
        ledger,
        run_.journal,
        size=plan.size,
        step=plan.step,
        margin=plan.margin,
        marginals=job.workload.marginals,
        record_clauses=job.record_clauses(),
        sampler=sources.sampler,
        noise=sources.noise,
        words=sources.words,
        progress=run_.progress.share,
    )
    keeping.remember([known.sampled for known in past.rounds if known.sampled is not None])
    return keeping


def rebuild(job: Job, contents: JournalContents) -> Outcome | None:
    """Return the outcome that a transcript gives, every certificate computed again; None if the run has not ended.

    Raises
    ------
    TranscriptError
        If what is on file contradicts itself.
    """
    past = read_past(contents, job)
    if not past.finished:
        return None
    clauses, sizes, rules = job.record_clauses(), job.record_sizes(), job.record_rules()
    rounds = [
        recertify(clauses, sizes, known.sampled, known.record, rules)
        for known in past.rounds
        if known.sampled is not None and known.record is not None
    ]
    return _outcome(job, _spent_again(job, past), rounds)


def _outcome(job: Job, ledger: Ledger, rounds: list[Round]) -> Outcome:
    records = SyntheticRecords.of([done.kept for done in rounds])
    return Outcome(ledger, records, rounds, sections=dualquery_sections(job, rounds))


def _spent_again(job: Job, past: Past) -> Ledger:
    """Rebuild the ledger from the charges on file."""
    ledger, charges = job.ledger(None), list(job.plan.charges())
    if past.one_way_charge is not None:
        ledger.spend(past.one_way_charge)
    for known in past.rounds:
        ledger.spend(known.charges[0])
        for repeated in known.charges[1:]:
            ledger.substitute(repeated, charges.pop())
    return ledger


def _one_way(curator: Curator, plan: DualQueryPlan, past: Past) -> NoisyAnswers | None:
    """Measure the one-way marginals where the plan says so; a torn measurement is lost, for it may have been seen."""
    if plan.one_way is None:
        return None
    scale, gaussian = plan.one_way.scale, plan.one_way.gaussian
    if past.one_way_charge is None:
        return curator.measure_one_way(scale=scale, gaussian=gaussian)
    lost = past.one_way_torn
    curator.recall(past.one_way_charge, drawn=lost or past.one_way is not None)
    if lost or past.one_way is not None:
        return past.one_way
    return curator.complete_one_way(scale=scale, gaussian=gaussian)


def legal_start(job: Job, solver: Solver) -> NDArray[np.int32] | None:
    """Return a record that obeys the rules, if there are any; refuses rules that contradict, and solvers that take none."""
    rules = job.record_rules()
    if not rules.number_of_rules:
        return None
    require_rules_taken(solver, rules, job.record_sizes())
    return legal_record(rules, job.record_sizes())


def _responder(
    job: Job,
    plan: DualQueryPlan,
    solver: Solver,
    one_way: NoisyAnswers | None,
    legal: NDArray[np.int32] | None,
) -> BestResponder:
    from dpopt.solvers.registry import get_solver

    return BestResponder(
        clauses=job.record_clauses(),
        sizes=job.record_sizes(),
        solver=solver,
        fallback=get_solver("local-search"),
        limits=SolveLimits(seconds=plan.seconds, work=plan.work, seed=plan.seed, threads=THREADS),
        free_attributes=FreeAttributeRule(
            plan.free_attributes, job.schema, plan.encoding, seed=plan.seed, marginals=one_way
        ),
        rules=job.record_rules(),
        legal=legal,
    )

"""Noise, projection and adaptive measurement from a job and a table to an outcome, and from a transcript back to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.past import reservation
from dpopt.algorithms.dualquery.round_figures import spent_so_far
from dpopt.algorithms.measured.candidates import domains_of
from dpopt.algorithms.measured.driver import Answered, answered_on_file, check_sensitivities, measure
from dpopt.algorithms.measured.fitting import RecordFitter, read_records, records_entry
from dpopt.algorithms.measured.past import MeasuredPast, read_measured_past
from dpopt.algorithms.measured.plan import NOISE, MeasuredPlan
from dpopt.arrays import frozen
from dpopt.errors import PlanError, ProgramError, TranscriptError
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.releases.job import Job
from dpopt.releases.outcome import Outcome, Run
from dpopt.releases.progress import stage
from dpopt.releases.rule_conflicts import legal_record
from dpopt.transcript.journal import JournalContents


def play(run: Run) -> Outcome:
    """Make the measurements of a plan on a table, continuing after those on file, and fit records to them.

    Everything is charged before it is drawn; fitting is post-processing.
    """
    job, progress, journal = run.job, run.progress, run.journal
    plan = _measured_plan(job)
    legal = _legal(job)
    reserved = reservation(job)
    past = read_measured_past(run.contents, plan, reserved)
    check_sensitivities(plan, job.workload)
    answered_on_file(plan, job.workload, past)  # refuses what does not fit before anything more is drawn
    ledger = run.ledger()
    curator = MeasuringCurator(
        run.dataset,
        ledger,
        journal,
        size=plan.size,
        noise=run.sources.noise,
        words=run.sources.words,
    )
    if not past.started:
        journal.append(reserved)
    fitter = None if plan.fit is None else RecordFitter(job, plan, legal, run.solver)

    def told(number: int, rounds: int, what: str) -> None:
        progress.figures(lambda: spent_so_far(ledger))
        progress.step(number, rounds, what)

    with stage(progress, "measuring"):
        answered = measure(
            plan,
            job.workload,
            curator,
            fitter,
            past=past,
            on_measurement=lambda number, total: progress.share(number / total),
            on_round=told,
        )
    records = past.records
    if records is None and fitter is not None:
        with stage(progress, "fitting records"):
            records = records_entry(job, answered, fitter.finish(answered, on_step=progress.step))
        journal.append(records)
    past.records = records
    if not past.finished:
        journal.append({"kind": "finish"})
    return _outcome(job, ledger, answered, past)


def _legal(job: Job) -> NDArray[np.int32] | None:
    """Return a record (d,) that obeys the rules, of codes that may occur; None where there are no rules.

    Found before anything is reserved, so that no budget is spent on a run that could not fit any record.

    Raises
    ------
    RulesError
        If there is none among all codes.
    PlanError
        If none was found among the codes that may occur.
    """
    from dpopt.inference.records.problem import FitProblem, FitSettings
    from dpopt.inference.records.start import start_records

    rules, sizes = job.record_rules(), job.record_sizes()
    found = legal_record(rules, sizes)
    if not rules.number_of_rules:
        return None
    problem = FitProblem(sizes, (), rules, domains_of(job.workload))
    if not problem.illegal(found[None, :]).any():
        return found
    laws = problem.allowed_columns() / np.repeat(problem.domains.counts, sizes)
    try:
        return frozen(start_records(problem, FitSettings(records=1), None, laws)[0], np.int32)
    except ProgramError as error:
        raise PlanError(
            "no record of codes that occur was found that obeys the rules: 'occurring' and the rules may contradict each "
            "other. Leave ',occurring' out of the workload, or use --algorithm dualquery"
        ) from error


def rebuild(job: Job, contents: JournalContents) -> Outcome | None:
    """Return the outcome that a transcript gives, with the fit computed again; None if the run has not ended.

    Raises
    ------
    TranscriptError
        If what is on file contradicts itself.
    """
    plan = _measured_plan(job)
    past = read_measured_past(contents, plan, reservation(job))
    if not past.finished:
        return None
    check_sensitivities(plan, job.workload)
    ledger = job.ledger(None)
    for known in past.draws:
        ledger.spend(known.charge)
    return _outcome(job, ledger, answered_on_file(plan, job.workload, past), past)


def _measured_plan(job: Job) -> MeasuredPlan:
    if not isinstance(job.plan, MeasuredPlan):
        raise PlanError(
            f"expected a plan of noise, projection or adaptive, found one of {job.plan.algorithm}"
        )
    return job.plan


def _outcome(job: Job, ledger: Ledger, answered: Sequence[Answered], past: MeasuredPast) -> Outcome:
    plan = _measured_plan(job)
    sections = {"measured": _measured_section(plan, answered, past)}
    if plan.algorithm == NOISE:
        if not answered:
            raise PlanError(
                "the measurement was torn by an interruption: it stays charged, and there is nothing to release"
            )
        return Outcome(ledger, None, answers=_shares(answered, plan.size), sections=sections)
    if past.records is None:
        raise TranscriptError("the run ended without records")
    records, certificate = read_records(job, answered, past.records)
    return Outcome(ledger, records, sections={**sections, "certificate": certificate})


def _shares(answered: Sequence[Answered], size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.concatenate([one.answers.values for one in answered]) / size


def _measured_section(
    plan: MeasuredPlan, answered: Sequence[Answered], past: MeasuredPast
) -> dict[str, object]:
    """Return what was measured, and how much was lost to interruptions."""
    scales = [one.answers.scale for one in answered]
    planned = {one.name for one in plan.measurements}
    return {
        "measurements": len(answered),
        "counts": sum(len(one.answers.values) for one in answered),
        "noise": plan.noise,
        "smallest_scale": min(scales, default=None),
        "largest_scale": max(scales, default=None),
        "selected": sum(one.answers.name not in planned for one in answered),
        "lost_to_interruptions": sum(known.torn for known in past.draws),
    }

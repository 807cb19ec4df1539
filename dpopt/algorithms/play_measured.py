"""Noise, projection and adaptive measurement from a job and a table to an outcome, and from a transcript back to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.fitting import RecordFitter, read_records, records_entry
from dpopt.algorithms.job import Job
from dpopt.algorithms.measured import Answered, answered_on_file, measure
from dpopt.algorithms.measured_past import MeasuredPast, read_measured_past
from dpopt.algorithms.measured_plan import NOISE, MeasuredPlan
from dpopt.algorithms.outcome import Outcome, Run
from dpopt.algorithms.past import reservation
from dpopt.algorithms.progress import stage
from dpopt.algorithms.rule_conflicts import legal_record
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.measuring_curator import MeasuringCurator
from dpopt.transcript.journal import JournalContents


def play(run: Run) -> Outcome:
    """Make the measurements of a plan on a table, continuing after those on file, and fit records to them.

    Everything is charged before it is drawn; fitting is post-processing.
    """
    job, progress, journal = run.job, run.progress, run.journal
    plan = _measured_plan(job)
    legal_record(job.record_rules(), job.record_sizes())  # refuses rules that contradict each other
    reserved = reservation(job)
    past = read_measured_past(run.contents, plan, reserved)
    answered_on_file(plan, job.workload, past)  # refuses what does not fit before anything more is drawn
    ledger = job.ledger()
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
    fitter = None if plan.fit is None else RecordFitter(job, plan)
    with stage(progress, "measuring"):
        answered = measure(
            plan,
            job.workload,
            curator,
            fitter,
            past=past,
            on_measurement=lambda number, total: progress.share(number / total),
            on_round=progress.step,
        )
    records = past.records
    if records is None and fitter is not None:
        with stage(progress, "fitting records"):
            records = records_entry(job, answered, fitter.finish(answered))
        journal.append(records)
    past.records = records
    if not past.finished:
        journal.append({"kind": "finish"})
    return _outcome(job, ledger, answered, past)


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
    ledger = job.ledger()
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

"""Multiplicative weights from a job and a table to an outcome, and from a transcript back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.past import reservation
from dpopt.algorithms.dualquery.round_figures import spent_so_far
from dpopt.algorithms.measured.candidates import domains_of
from dpopt.algorithms.multiplicative_weights.accuracy import proven_of_records
from dpopt.algorithms.multiplicative_weights.driver import Played, play_rounds
from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.multiplicative_weights.past import (
    MultiplicativePast,
    next_charge,
    read_multiplicative_past,
)
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.multiplicative_weights.universe import kept_as_bits
from dpopt.algorithms.options import MARGINALS
from dpopt.arrays import frozen
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.records.problem import FitProblem
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.releases.job import Job
from dpopt.releases.kept_records import bit_records_from_json, records_to_json
from dpopt.releases.outcome import Outcome, Run
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery


def play(run: Run) -> Outcome:
    """Play the rounds of a plan on a table, continuing after those on file; everything is charged before it is drawn."""
    job, progress, journal = run.job, run.progress, run.journal
    plan = _plan(job)
    reserved = reservation(job)
    past = read_multiplicative_past(run.contents, plan, reserved)
    learnt = _learnt_on_file(job, past)  # refuses what does not fit before anything more is drawn
    if past.records is not None:
        outcome = _ended(job, past, learnt)
        if not past.finished:
            journal.append({"kind": "finish"})
        return outcome
    with stage(progress, "preparing the universe"):
        learner = Learner(plan, job.workload)
    ledger = run.ledger()
    with stage(progress, "counting exact answers"):
        curator = MultiplicativeCurator(
            run.dataset,
            job.workload.queries,
            ledger,
            journal,
            size=plan.size,
            range_=plan.step,
            scale=plan.scale,
            gaussian=plan.gaussian,
            whole_marginals=plan.select == MARGINALS,
            noise=run.sources.noise,
            words=run.sources.words,
        )
    if not past.started:
        journal.append(reserved)

    def told(number: int, rounds: int, what: str) -> None:
        progress.figures(lambda: spent_so_far(ledger))
        progress.step(number, rounds, what)

    with stage(progress, "playing rounds"):
        played = play_rounds(plan, job.workload, curator, learner, past=past.draws, on_round=told)
    with stage(progress, "choosing records"):
        entry = _records_entry(job, learner, played)
    journal.append(entry)
    journal.append({"kind": "finish"})
    return _outcome(job, ledger, played.learnt, entry, lost=sum(known.torn for known in past.draws))


def rebuild(job: Job, contents: JournalContents) -> Outcome | None:
    """Return the outcome that a transcript gives, its records checked again; None if the run has not ended.

    Raises
    ------
    TranscriptError
        If what is on file contradicts itself.
    """
    past = read_multiplicative_past(contents, _plan(job), reservation(job))
    return _ended(job, past, _learnt_on_file(job, past)) if past.finished else None


def _ended(job: Job, past: MultiplicativePast, learnt: Sequence[tuple[int, NoisyAnswers]]) -> Outcome:
    if past.records is None:
        raise TranscriptError("the run ended without records")
    if not past.records["stopped_early"] and next_charge(past.draws, _plan(job)) is not None:
        raise TranscriptError("the run ends before its plan does, and does not say that it stopped early")
    ledger = job.ledger(None)
    for known in past.draws:
        ledger.spend(known.charge)
    return _outcome(job, ledger, learnt, past.records, lost=sum(known.torn for known in past.draws))


def _plan(job: Job) -> MultiplicativePlan:
    if not isinstance(job.plan, MultiplicativePlan):
        raise PlanError(f"expected a plan of pmw or mwem, found one of {job.plan.algorithm}")
    return job.plan


def _learnt_on_file(job: Job, past: MultiplicativePast) -> list[tuple[int, NoisyAnswers]]:
    """Return what was measured and is on file, with the number of the query or marginal; lost draws are left out.

    Raises
    ------
    TranscriptError
        If a selection names what the workload does not have, or a measurement has another number of values.
    """
    plan, marginals, learnt = _plan(job), job.workload.marginals, []
    whole = plan.select == MARGINALS and marginals is not None
    number = len(marginals) if whole and marginals is not None else len(job.workload)
    chosen = -1
    for known in past.draws:
        if isinstance(known.value, NoisyAnswers):
            cells = int(marginals.cells()[chosen]) if whole and marginals is not None else 1
            if len(known.value.values) != cells:
                raise TranscriptError(
                    f"{known.value.name!r} has {len(known.value.values):,} values on file, expected {cells:,}"
                )
            learnt.append((chosen, known.value))
        elif isinstance(known.value, SelectedQuery | SelectedMarginal):
            value = known.value
            chosen = value.query if isinstance(value, SelectedQuery) else value.candidate
            if chosen >= number:
                raise TranscriptError(
                    f"round {known.round} selects number {chosen:,}; the workload has {number:,}, numbered from 0"
                )
    return learnt


def _records_entry(job: Job, learner: Learner, played: Played) -> Entry:
    from dpopt.queries.counting.kernels import shares_on_records

    bounded = learner.proven_answers()  # before the last replays, which the bound knows nothing of
    p = learner.finish()
    records, weights = learner.records(p)
    bracket = learner.bracket()
    answers = shares_on_records(job.workload.queries, records, job.schema.sizes, weights / weights.sum())
    return {
        "kind": "records",
        "rounds": played.rounds,
        "stopped_early": played.stopped_early,
        "records": records_to_json(records),
        "multiplicity": weights.tolist(),
        "cells": learner.universe.cells,
        "distance": float(np.abs(answers - bounded).max()),
        "objective": None if bracket is None else bracket[0],
        "dual_bound": None if bracket is None else bracket[1],
    }


def _outcome(
    job: Job,
    ledger: Ledger,
    learnt: Sequence[tuple[int, NoisyAnswers]],
    entry: Entry,
    *,
    lost: int,
) -> Outcome:
    plan = _plan(job)
    if entry["stopped_early"]:
        # When to stop depends on what was drawn, so the guarantee is that of all rounds that could have been played.
        for charge in ledger.unspent:
            ledger.spend(charge)
    records = _read_records(job, entry)
    differences = _differences(job, learnt, records)
    proven = proven_of_records(
        job.statement.get("proven"), stopped_early=entry["stopped_early"], distance=_distance(entry)
    )
    section: dict[str, Any] = {
        "universe_cells": entry["cells"],
        "rounds_planned": plan.rounds,
        "rounds_played": entry["rounds"],
        "stopped_early": entry["stopped_early"],
        "selected": plan.select,
        "noise": plan.noise,
        "scale": plan.scale,
        "objective": entry["objective"],
        "dual_bound": entry["dual_bound"],
        "lost_to_interruptions": lost,
        "measured_counts": int(differences.size),
        "largest_difference_to_measured": float(differences.max(initial=0.0)),
        "mean_difference_to_measured": float(differences.mean()) if differences.size else 0.0,
    }
    return Outcome(
        ledger, records, sections={"multiplicative_weights": section, "accuracy": {"proven": proven}}
    )


def _distance(entry: Entry) -> float:
    """Return how far the records of a transcript are from the distribution that error bounds are of.

    Raises
    ------
    TranscriptError
        If it is no share.
    """
    found = entry.get("distance")
    if not isinstance(found, float | int) or not 0 <= found <= 1:
        raise TranscriptError(
            f"the records on file lie {found!r} from the distribution; expected a number from 0 to 1"
        )
    return float(found)


def _read_records(job: Job, entry: Entry) -> SyntheticRecords:
    """Return the weighted records of a transcript, held against schema and rules.

    Raises
    ------
    TranscriptError
        If they are damaged.
    """
    try:
        if kept_as_bits(job.schema):
            return _read_bits(job, entry["records"], frozen(entry["multiplicity"], np.int64))
        records = frozen(entry["records"], np.int32)
        weights = frozen(entry["multiplicity"], np.int64)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TranscriptError(f"the records on file are damaged: {error!r}") from error
    shape = (len(weights), len(job.schema))
    if weights.ndim != 1 or not len(weights) or records.shape != shape or np.any(weights < 1):
        raise TranscriptError(f"the records on file have shape {records.shape}, expected {shape}")
    problem = FitProblem(job.schema.sizes, (), job.record_rules(), domains_of(job.workload))
    if problem.illegal(records).any():
        raise TranscriptError(
            "a record on file does not fit the schema or breaks a rule; the transcript is damaged or belongs to another schema"
        )
    return SyntheticRecords(records, weights)


def _read_bits(job: Job, written: object, weights: NDArray[np.int64]) -> SyntheticRecords:
    """Return weighted records that are kept as bits.

    Raises
    ------
    TranscriptError
        If they are damaged.
    """
    records = bit_records_from_json(written, job.schema.sizes)
    if weights.shape != (len(records),) or (weights < 1).any():
        raise TranscriptError(
            "the records on file are damaged: expected one multiplicity, at least 1, for each"
        )
    return SyntheticRecords(records, weights)


def _differences(
    job: Job, learnt: Sequence[tuple[int, NoisyAnswers]], records: SyntheticRecords
) -> NDArray[np.float64]:
    """Return how far the records' answers lie from the measured ones, as shares, one after the other."""
    from dpopt.queries.counting.kernels import shares_on_records

    plan, workload = _plan(job), job.workload
    if not learnt:
        return np.empty(0)
    sizes, weights = job.schema.sizes, records.weights
    chosen = [number for number, _ in learnt]
    if plan.select == MARGINALS and workload.marginals is not None:
        queries = workload.marginals.take(chosen)
        found = shares_on_records(queries, records.held, sizes, weights)
    else:
        found = shares_on_records(workload.clauses.take(chosen), records.held, sizes, weights)
    measured = np.concatenate([values.values for _, values in learnt]) / plan.size
    return np.abs(found - measured)

"""Residuals: the driver, in the order of the plan's stages.

Which residuals a stage measures, with which factors, follows from released values. It is on file before they are
measured, so that a transcript says what its numbers are; its charge was fixed beforehand, and the curator refuses what
would cost more.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from dataclasses import replace
from threading import Event, get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.expected import expected_errors
from dpopt.algorithms.measured.fitting import PLAIN_RECORDS, RecordFitter, fit_from, most_records, release_records
from dpopt.algorithms.measured.known import Known, Suggested
from dpopt.algorithms.measured.plan import FitPlan, MeasuredPlan, PlannedStage
from dpopt.algorithms.measured.stages import measurable
from dpopt.errors import PlanError, TranscriptError, WorkloadError
from dpopt.inference.records.problem import FitProblem, FitProgress, FitSettings, Fitted, KeptMarginals
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN
from dpopt.queries.distances import Distances
from dpopt.queries.residuals import Residuals
from dpopt.releases.job import Job
from dpopt.releases.progress import stage
from dpopt.releases.run import Outcome, Walk, noisy_answers
from dpopt.threads import side_by_side
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import NoisyAnswers

AS_MANY = range(10_000, 30_001)
"""Where so many rows are written, as many records are fitted: each is a row, but for a few that keep single columns. Of more
rows most are whole copies of fewer records, and the search for the rest is quicker than a larger fit."""


def play_residuals(job: Job, walk: Walk[MeasuringCurator], fitter: RecordFitter) -> Outcome:
    """Measure stage by stage, and fit records to the measurements, which is post-processing."""
    plan = fitter.plan
    known, counts = Known(job, plan), 0
    with stage(walk.progress, "measuring"):
        for number, planned in enumerate(plan.stages, start=1):
            measure = _distances if planned.distances else _residuals
            counts += measure(walk, plan, planned, known)
            walk.progress.share(number / len(plan.stages))
    if not known.usable().size:
        raise PlanError(
            "interruptions lost the measurements: their cost is not refunded, and there is nothing to fit records to"
        )
    suggested, kept = known.problem(), known.kept()
    problem = replace(suggested[0], kept=kept)
    records, certificate = release_records(job, walk, problem, lambda: _fitted(known, suggested, kept, fitter, walk))
    measured = {
        "measurements": len(plan.stages) - walk.lost,
        "counts": counts,
        "noise": DISCRETE_GAUSSIAN,
        "sets": int((known.precision > 0).sum()),
        "smallest_scale": float(known.precision.max() ** -0.5),
        "largest_scale": float(known.precision[known.precision > 0].min() ** -0.5),
        "smoothing": suggested[1],
        "lost_to_interruptions": walk.lost,
    }
    return Outcome(
        walk.ledger,
        records,
        sections={"measured": measured, "certificate": certificate, "accuracy": {"expected": expected_errors(known)}},
        measured=known.measured,
        kept=kept if "kept_marginals" in certificate else None,  # older transcripts have rows that keep none
        totals=known.totals(),
    )


def _distances(walk: Walk[MeasuringCurator], plan: MeasuredPlan, planned: PlannedStage, known: Known) -> int:
    """Measure the distances of the sets of an order from their predictions; return the number of values."""
    values = _measured(walk, plan, planned, known.distances(planned.order))
    if values is None:
        return 0
    known.add_distances(planned.order, values.values, values.scale)
    return len(values.values)


def _residuals(walk: Walk[MeasuringCurator], plan: MeasuredPlan, planned: PlannedStage, known: Known) -> int:
    """Measure the residuals that are worth it; return the number of values."""
    factors, parts = walk.public(
        "factors",
        read=lambda entry: read_factors(entry, planned, plan, known),
        make=lambda: known.choice(planned),
        write=lambda made: (
            {"kind": "factors", "stage": planned.name, "factors": made[0].tolist()}
            | ({} if made[1] is None else {"parts": made[1].tolist()})
        ),
    )
    values = _measured(walk, plan, planned, known.residuals(factors, parts))
    if values is None:
        return 0
    if parts is None:
        known.add(factors, values.values, values.scale)
    else:
        known.add_coarse(factors, parts, values.values, values.scale)
    known.update(planned.order if planned is not plan.stages[-1] else int(known.sets.widths().max()))
    return len(values.values)


def _measured(
    walk: Walk[MeasuringCurator], plan: MeasuredPlan, planned: PlannedStage, queries: Residuals | Distances
) -> NoisyAnswers | None:
    """Return the measurements of a stage, None if they are lost."""
    measurement = Measurement(planned.name, queries, planned.scale, gaussian=True, bound=planned.bound)
    return noisy_answers(walk, measurement, plan.charge_of(planned))


def read_factors(
    entry: Entry, planned: PlannedStage, plan: MeasuredPlan, known: Known
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Read factors back, and parts of codes where coarse tables are measured."""
    factors = _whole_numbers(entry, "factors", planned, len(known.sets))
    allowed, parts = measurable(known.sets, planned.order), None
    if planned is plan.coarse_stage:
        allowed = known.sets.widths() == 2
        parts = _whole_numbers(entry, "parts", planned, known.sets.domains.codes.size)
    try:
        sensitivity = known.residuals(factors, parts).sensitivity(replaced=plan.replaced, squared=True)
    except WorkloadError as error:
        raise TranscriptError(f"the factors of stage {planned.name!r} on file are out of range: {error}") from error
    if sensitivity > planned.bound or factors[~allowed].any():
        raise TranscriptError(
            f"the factors of stage {planned.name!r} on file measure more than the plan allows; the transcript is "
            f"damaged or belongs to another plan"
        )
    return factors, parts


def _whole_numbers(entry: Entry, key: str, planned: PlannedStage, number: int) -> NDArray[np.int64]:
    """Return whole numbers on file, which are not all 0."""
    rows = given if isinstance(given := entry.get(key), list) else []
    whole = all(type(one) is int and 0 <= one < 2**53 for one in rows)
    if entry.get("stage") != planned.name or not whole or len(rows) != number or not any(rows):
        raise TranscriptError(
            f"the {key} of stage {planned.name!r} on file are damaged: expected {number:,} whole numbers"
        )
    return np.array(rows, dtype=np.int64)


def _fitted(
    known: Known, suggested: Suggested, kept: KeptMarginals, fitter: RecordFitter, walk: Walk[MeasuringCurator]
) -> list[Fitted]:
    """Fit records to the estimates of the workload's marginals.

    Records drawn to independence know how marginals hang together, counts after shrinkage have no noise of their own.
    What is fitted in the end is a part of both; data thinning tells which. Where no set of several attributes says
    anything, records are fitted to counts after shrinkage alone. A plan that says how strongly records are drawn gets
    these.
    """
    plan, chosen = known.plan, fitter.plan.fit or FitPlan()
    if chosen.smoothing is not None:
        return fitter.finish(replace(suggested[0], kept=kept), on_step=walk.progress.step)
    steps = 3 * chosen.sweeps + 2 * (chosen.snapshots - 1)
    usual = rows if (rows := known.job.rows or 0) in AS_MANY else PLAIN_RECORDS
    plain = min(usual, 4 * chosen.records * usual // PLAIN_RECORDS, most_records(len(known.job.schema)))
    caller, ended, done = get_ident(), Event(), list[int]()

    def show(progress: FitProgress) -> None:
        if ended.is_set():
            raise CancelledError
        if progress.stage == "sweep":
            done.append(progress.step)
            if get_ident() == caller:
                walk.progress.step(min(len(done), steps), steps, f"objective {progress.objective:,.1f}")

    def fit_to(
        problem: FitProblem, one_way: NDArray[np.float64], start: NDArray[np.int32] | None, **how: Any
    ) -> Fitted:
        settings = FitSettings(seed=plan.seed, seconds=chosen.seconds, **how)
        return fit_from(problem, settings, start, feasible=fitter.feasible, one_way=one_way, progress=show)

    def drawn(suggested: Suggested) -> NDArray[np.int32]:
        """Return records drawn to independence, as they were after each of the last sweeps."""
        (problem, strength, one_way), found = suggested, list[NDArray[np.int32]]()
        for _ in range(chosen.snapshots):
            start = found[-1] if found else None
            sweeps = 1 if found else chosen.sweeps
            how = {"records": chosen.records, "sweeps": sweeps, "smoothing": strength / chosen.records, "threads": 1}
            found.append(fit_to(problem, one_way, start, **how).records)
        return np.concatenate(found)

    if not suggested[1] > 0:
        mixed = known.mixed(None, np.zeros(0), kept, plain)
        return [fit_to(mixed, suggested[2], None, records=plain, sweeps=chosen.sweeps)]

    def best() -> NDArray[np.float64]:
        other, fresh = known.thinned(plan.seed)
        return other.best_parts(drawn(other.problem()), fresh)

    parts, records = side_by_side(best, lambda: drawn(suggested), ended)
    mixed = known.mixed(records, parts, kept, plain)
    return [fit_to(mixed, suggested[2], records, records=plain, sweeps=chosen.sweeps)]

"""Noise and projection: noisy counts of a workload, and records fitted to them.

Add noise to counts, then find the distribution over records whose answers come closest; all of it after the noise is
post-processing (Nikolov, Talwar and Zhang 2013; Dwork, Nikolov and Talwar 2015). Counts may be those of marginals that
the exponential mechanism selects, round by round, where the records answer badly (Hardt, Ligett and McSherry 2012;
McKenna, Mullins, Sheldon and Miklau 2022 for the score). Residuals in place of counts: residuals.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from math import exp, log, pi, prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.algorithm import Algorithm, OptionsT
from dpopt.algorithms.dualquery.accuracy import log_universe
from dpopt.algorithms.measured.expected import predict_residuals
from dpopt.algorithms.measured.fitting import (
    Answered,
    RecordFitter,
    counted_residuals,
    counted_totals,
    fit_problem,
    record_problem,
    release_records,
)
from dpopt.algorithms.measured.plan import (
    FitPlan,
    MeasuredPlan,
    PlannedFigures,
    PlannedMeasurement,
    PlannedSelections,
    PlannedStage,
    candidate_marginals,
    check_sensitivities,
    expected_errors,
    planned_queries,
)
from dpopt.algorithms.measured.planning import Maker, fit_plan, refuse_costs_beyond, refuse_large_master
from dpopt.algorithms.measured.residuals import play_residuals
from dpopt.algorithms.memory import ExpectedMemory, memory_of_fit
from dpopt.algorithms.options import LOCAL_SEARCH, RESIDUALS, SELECTED, PlanRequest, Projection
from dpopt.algorithms.prediction import (
    AMPLE,
    CLOSED_FORM,
    LEAST_SCALE,
    ROWS,
    PredictedError,
    errors_of_run,
    mean_of_runs,
)
from dpopt.arrays import frozen
from dpopt.errors import PlanError, ProgramError, TranscriptError
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections.selection import Selection
from dpopt.programs.solver import Solver
from dpopt.public_random import permutation, public_stream
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.sensitivity.clauses import count_sensitivity
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.progress import stage
from dpopt.releases.rule_conflicts import feasible_record
from dpopt.releases.run import Outcome, Run, Walk, noisy_answers
from dpopt.transcript.past import SELECTION
from dpopt.transcript.released import SelectedMarginal, check_selected

FAILURE = 0.05
_predicted = lru_cache(maxsize=1)(predict_residuals)  # queries and algorithm of a release are chosen by the same one


class MeasuredAlgorithm(Algorithm[OptionsT, MeasuredPlan]):
    """noise and projection: noisy counts of a workload, and records fitted to them."""

    plans = MeasuredPlan

    def plan(self, request: PlanRequest[OptionsT], workload: Workload) -> MeasuredPlan:
        asked, maker = request.options, Maker(request, workload)
        fit: FitPlan | None = None
        selections: PlannedSelections | None = None
        measurements: tuple[PlannedMeasurement, ...] = ()
        stages: tuple[PlannedStage, ...] = ()
        figures: PlannedFigures | None = None
        if isinstance(asked, Projection):
            what = asked.measure or maker.suited(asked)
            if what == RESIDUALS:
                stages, figures, chosen = maker.residuals(asked)
            elif what == SELECTED:
                measurements, selections, chosen = maker.selected(asked.selections)
            else:
                measurements, chosen = maker.counts()
            smoothing = None if stages else maker.smoothing(selections)
            fit = fit_plan(asked, smoothing, len(workload.schema))
            refuse_large_master(asked, fit, measurements, selections, request.relation)
        else:
            measurements, chosen = maker.noise()
        plan = MeasuredPlan(
            algorithm=asked.algorithm,
            size=request.size,
            relation=request.relation,
            budget=request.budget,
            gaussian=maker.gaussian,
            measurements=measurements,
            selections=selections,
            fit=fit,
            solver=asked.solver_name,
            seed=asked.seed if isinstance(asked, Projection) else 0,
            chosen_by=chosen,
            pricing_solver=asked.pricing_name if isinstance(asked, Projection) else LOCAL_SEARCH,
            stages=stages,
            figures=figures,
        )
        refuse_costs_beyond(request.budget, plan.charges(), "measurements")
        return plan

    def prepare(self, job: Job, run: Run) -> tuple[NDArray[np.int32] | None, Solver | None]:
        """Return a record that obeys the rules, None where there are none, and the solver that was given as such."""
        check_sensitivities(MeasuredPlan.of(job.plan), job.workload)
        return feasible_start(job), run.solver

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> MeasuringCurator:
        sources, size = run.sources, job.plan.size
        return MeasuringCurator(run.dataset, ledger, run.journal, size=size, noise=sources.noise, words=sources.words)

    def play(
        self, job: Job, walk: Walk[MeasuringCurator], prepared: tuple[NDArray[np.int32] | None, Solver | None] | None
    ) -> Outcome:
        """Make the measurements of a plan, and fit records to them, which is post-processing."""
        plan = MeasuredPlan.of(job.plan)
        if not walk.plays:
            check_sensitivities(plan, job.workload)
        fitter = None if plan.fit is None else RecordFitter(job, plan, *(prepared or (None, None)))
        if plan.stages and fitter is not None:
            return play_residuals(job, walk, fitter)
        with stage(walk.progress, "measuring"):
            answered = measure(walk, plan, job.workload, fitter)
        sections: dict[str, object] = {"measured": _section(plan, answered, walk.lost)}
        measured = partial(counted_residuals, answered, job, adaptive=plan.selections is not None)
        totals = counted_totals(answered, job.schema.sizes)
        if fitter is None:
            if not answered:
                raise PlanError(
                    "an interruption lost the measurement: its cost is not refunded, and there is nothing to release"
                )
            shares = np.concatenate([one.answers.values for one in answered]) / plan.size
            return Outcome(walk.ledger, None, answers=shares, sections=sections, measured=measured, totals=totals)

        problem = fit_problem(job, answered)
        records, certificate = release_records(
            job, walk, problem, lambda: fitter.finish(problem, on_step=walk.progress.step)
        )
        sections |= {"certificate": certificate}
        return Outcome(walk.ledger, records, sections=sections, measured=measured, totals=totals)

    def predict(
        self, plan: MeasuredPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Return the errors of a plan; no private record is touched.

        Noise alone has errors that do not depend on the data; residuals have a formula (expected.py). Other plans are
        played on public populations. Noise is scaled to a population of 20,000 records, and where fits are smoothed, fewer
        records are fitted in fewer sweeps, which changes errors by a few per cent. Of more than 10,000 clauses a public
        random part is measured, with less noise, so that the part says as much about the population as all of them.
        """
        if plan.stages:
            return _predicted(plan, workload, runs=runs, density=density)
        if plan.fit is None:
            return error_of_noise(plan, len(workload))
        part, measured = simulated_part(plan, workload)
        played = scaled_plan(measured, ROWS)
        return mean_of_runs(lambda seed: errors_of_run(self, played, part, seed, density), runs, len(part))

    def prove(self, plan: MeasuredPlan, workload: Workload) -> dict[str, Any] | None:
        """Return a proven bound as a JSON object; None for plans without a useful one.

        Noise: the largest error of m answers is at most t with probability 0.95, t = sigma sqrt(2 ln(2 m / 0.05)) / n for
        discrete Gaussian noise (sub-Gaussian: Canonne, Kamath and Steinke 2020, Corollary 9), and about b ln(2 m / 0.05) /
        n for discrete Laplace noise (`_laplace_tail`).

        Projection onto marginals: with a the exact weighted projection of the noisy shares, q the true ones, S the sum of
        the marginals' n^2 / sigma^2 and |X| the number of possible records,

            E sum_i (n / sigma_i)^2 (a_i - q_i)^2  <=  sqrt(2 S ln |X|):

        the angle at a is obtuse, so the left side is at most <z, a - q> for the standardized noise z, whose largest value
        over records x is that of |X| Gaussians of variance at most S, since x lies in one cell of each marginal (Nikolov,
        Talwar and Zhang 2013). Every measured count is taken to weigh as little as the noisiest. Smoothing moves away from
        the projection and is not covered.
        """
        if not plan.gaussian and not plan.answers_only:
            return None
        if plan.answers_only:
            scale, queries = plan.measurements[0].scale, len(workload)
            spread = log(2 * queries / FAILURE)
            largest = scale * sqrt(2 * spread) if plan.gaussian else scale * _laplace_tail(scale, queries)
            return {
                "kind": "bound on the largest error",
                "bound": largest / plan.size,
                "failure_probability": FAILURE,
                "says_something": largest < plan.size,
                "if": "",
            }
        if plan.selections is not None or plan.stages or workload.marginals is None:
            return None
        counts = workload.marginals.domains.counts
        inverse = sum((plan.size / planned.scale) ** 2 for planned in plan.measurements)
        cells = sum(
            prod(int(counts[attribute]) for attribute in planned.attributes or ()) for planned in plan.measurements
        )
        noisiest = max(planned.scale for planned in plan.measurements) / plan.size
        total = sqrt(2 * inverse * log_universe(workload.schema))
        return {
            "kind": "bound on the expected root mean squared error of the exact projection, without smoothing",
            "root_mean_squared_error": noisiest * sqrt(total / cells),
            "counts": cells,
        }

    def expected_memory(
        self, plan: MeasuredPlan, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory | None:
        if plan.fit is None:
            return None
        return memory_of_fit(
            workload, size=plan.size, records=plan.fit.records, snapshots=plan.fit.snapshots, streamed=streamed
        )


def measure(
    walk: Walk[MeasuringCurator], plan: MeasuredPlan, workload: Workload, fitter: RecordFitter | None
) -> list[Answered]:
    """Make the measurements of a plan, continuing after those on file, and return them in its order.

    The private side (`walk`) gives released values only; the public one (`fitter`) is needed by plans with selections.
    A draw that was torn on file may have been seen in part: it stays charged and is left out.
    """
    answered: list[Answered] = []
    for number, planned in enumerate(plan.measurements, start=1):
        _measure(walk, plan, planned_queries(workload, planned), plan.charge_of(planned), 0, answered)
        walk.progress.share(number / len(plan.measurements))
    if plan.selections is None or fitter is None:
        return answered
    candidates = candidate_marginals(plan, workload)
    if candidates is None:
        raise TranscriptError("a plan with selections needs a workload of marginals")
    penalties = expected_errors(candidates, plan.selections.scale, gaussian=plan.gaussian)
    for number in range(1, plan.selections.rounds + 1):
        score = plan.selections.score(number)
        selection = Selection(number, candidates, score, penalties[score], plan.selections.step)
        selected = _selected(
            walk, plan.charge_of_selection(number), selection, lambda: fitter.improve(fit_problem(fitter.job, answered))
        )
        if selected is None:
            continue
        queries = candidates.take([selected.candidate])
        _measure(walk, plan, queries, plan.charge_of_selected(number), number, answered)
        attributes = [workload.schema.attributes[a].name for a in queries.attributes_of(0)]
        walk.step(number, plan.selections.rounds, " x ".join(attributes))
    return answered


def _measure(
    walk: Walk[MeasuringCurator],
    plan: MeasuredPlan,
    queries: MarginalSet | Clauses,
    charge: Charge,
    number: int,
    answered: list[Answered],
) -> None:
    """Add a measurement's values to the answers, unless they are lost; its name is the label of its charge."""
    measurement = Measurement(charge.label, queries, plan.scale_of(charge.label), plan.gaussian)
    values = noisy_answers(walk, measurement, charge, number)
    if values is not None:
        answered.append(Answered(queries, values))


def _selected(
    walk: Walk[MeasuringCurator],
    charge: Charge,
    selection: Selection,
    records: Callable[[], tuple[NDArray[np.int32], NDArray[np.int64]]],
) -> SelectedMarginal | None:
    """Return a round's selection; None if it is lost."""

    def draw(again: bool) -> SelectedMarginal:  # noqa: FBT001
        return walk.curator.select(selection, *records(), again=again)

    return walk.draw(
        SELECTION,
        charge,
        draw,
        round=selection.round,
        on_file=lambda selected: check_selected(selected, len(selection.candidates)),
    )


def feasible_start(job: Job) -> NDArray[np.int32] | None:
    """Return a record (d,) that obeys the rules, of codes that may occur; None where there are no rules.

    Found before anything is reserved, so that no budget is spent on a run that could not fit any record.
    """
    from dpopt.inference.records.problem import FitSettings
    from dpopt.inference.records.start import start_records

    rules, sizes = job.schema.circuit(), job.schema.sizes
    found = feasible_record(rules, sizes)
    if not rules.number_of_rules:
        return None
    problem = record_problem(job)
    if not problem.infeasible(found[None, :]).any():
        return found
    distributions = problem.allowed_columns() / np.repeat(problem.domains.counts, sizes)
    try:
        return frozen(start_records(problem, FitSettings(records=1), None, distributions)[0], np.int32)
    except ProgramError as error:
        raise PlanError(
            "no record of codes that occur was found that obeys the rules: 'occurring' and the rules may contradict "
            "each other. Leave ',occurring' out of the workload, or use --algorithm dualquery"
        ) from error


def _section(plan: MeasuredPlan, answered: Sequence[Answered], lost: int) -> dict[str, object]:
    """Return the measurements, and the number that interruptions lost."""
    scales = [one.answers.scale for one in answered]
    planned = {one.name for one in plan.measurements}
    return {
        "measurements": len(answered),
        "counts": sum(len(one.answers.values) for one in answered),
        "noise": plan.noise,
        "smallest_scale": min(scales, default=None),
        "largest_scale": max(scales, default=None),
        "selected": sum(one.answers.name not in planned for one in answered),
        "lost_to_interruptions": lost,
    }


def _laplace_tail(scale: float, queries: int) -> float:
    """Return t / b with P(|Z| > t) <= 0.05 / m for the discrete Laplace distribution of scale b.

    P(|Z| >= k) = 2 e^(-k / b) / (1 + e^(-1 / b)) for whole k >= 1; one whole count is added for rounding.
    """
    return log(2 * queries / (FAILURE * (1 + exp(-1 / scale)))) + 1 / scale


RECORDS = 5_000
SWEEPS = 1
MOST_CLAUSES = 10_000
_EULER = 0.5772156649015329


def error_of_noise(plan: MeasuredPlan, queries: int) -> PredictedError:
    """Return the expected mean and about the expected largest of a number of absolute noises, as shares of the size."""
    scale = plan.measurements[0].scale
    if plan.gaussian:
        mean = scale * sqrt(2 / pi)
        largest = scale * NormalDist().inv_cdf(1 - exp(-_EULER) / (2 * queries))
    else:
        mean, largest = scale, scale * (log(queries) + _EULER)
    return PredictedError(min(1.0, largest / plan.size), min(1.0, mean / plan.size), 0, queries, CLOSED_FORM)


def simulated_part(plan: MeasuredPlan, workload: Workload) -> tuple[Workload, MeasuredPlan]:
    """Return a public random part of very many clauses, and the plan that measures it with accordingly less noise."""
    if workload.marginals is not None or len(workload) <= MOST_CLAUSES:
        return workload, plan
    order = permutation(public_stream(0, "simulated queries"), len(workload))
    clauses = workload.clauses.take(np.sort(order[:MOST_CLAUSES]))
    bound = count_sensitivity(clauses, workload.schema.sizes, replaced=plan.replaced)
    sensitivity = bound.replace if plan.replaced else bound.add_remove
    measurements = tuple(
        replace(one, sensitivity=sensitivity, scale=one.scale * sqrt(len(clauses) / len(workload)))
        if one.attributes is None
        else one
        for one in plan.measurements
    )
    kept = {"ranks": workload.specification["ranks"]} if "ranks" in workload.specification else {}
    part = Workload(workload.schema, clauses, {"simulated_part_of": workload.fingerprint, **kept})
    return part, replace(plan, measurements=measurements)


def scaled_plan(plan: MeasuredPlan, rows: int) -> MeasuredPlan:
    """Return the plan for a number of rows: the same noise in shares of the size, under an unlimited budget."""
    factor = rows / plan.size
    selections = plan.selections
    if selections is not None:
        selections = replace(
            selections, step=selections.step / Decimal(factor), scale=max(LEAST_SCALE, selections.scale * factor)
        )
    measurements = tuple(
        replace(planned, scale=max(LEAST_SCALE, planned.scale * factor)) for planned in plan.measurements
    )
    fit = plan.fit
    if fit is not None:
        if fit.smoothing:
            fit = replace(fit, records=min(fit.records, RECORDS), sweeps=min(fit.sweeps, SWEEPS))
        # Without smoothing a fit goes on until it is near the counts; fewer records or sweeps would leave errors of their own.
        fit = replace(fit, columns=0, seconds=None)
    return replace(plan, size=rows, budget=AMPLE, measurements=measurements, selections=selections, fit=fit)

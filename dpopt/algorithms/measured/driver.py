"""Noise, projection and adaptive measurement: the driver, in the order of the plan.

Projection: add noise to every count, then find the distribution over records whose answers come closest; all of it after the
noise is post-processing (Nikolov, Talwar and Zhang 2013; Dwork, Nikolov and Talwar 2015). Adaptive: in each round the
exponential mechanism selects a marginal that the records answer badly, it is measured, and the records are fitted again
(Hardt, Ligett and McSherry 2012; McKenna, Mullins, Sheldon and Miklau 2022 for the score).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.candidates import candidate_marginals, domains_of, expected_errors
from dpopt.algorithms.measured.past import MeasuredPast, PastDraw
from dpopt.algorithms.measured.plan import MeasuredPlan, PlannedMeasurement
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections.selection import Selection
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal

Drawn = TypeVar("Drawn", NoisyAnswers, SelectedMarginal)


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Queries and their noisy counts.

    Attributes
    ----------
    queries : MarginalSet or Clauses
    answers : NoisyAnswers
    """

    queries: MarginalSet | Clauses
    answers: NoisyAnswers


class Fitter(Protocol):
    """The public side: keeps records that answer like the noisy counts."""

    def improve(self, answered: Sequence[Answered]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Fit the records to these answers, from where they stand; return distinct records and their multiplicities."""
        ...


def planned_queries(workload: Workload, planned: PlannedMeasurement) -> MarginalSet | Clauses:
    """Return what a planned measurement counts."""
    if planned.attributes is None:
        return workload.queries
    if not planned.attributes:
        return MarginalSet(domains_of(workload), np.arange(len(workload.schema), dtype=np.int32)[:, None])
    return one_marginal(workload, planned.attributes)


def one_marginal(workload: Workload, attributes: Sequence[int]) -> MarginalSet:
    """Return the marginal over these attributes, over the codes that the workload may name."""
    return MarginalSet(domains_of(workload), np.array([list(attributes)], dtype=np.int32))


def check_sensitivities(plan: MeasuredPlan, workload: Workload) -> None:
    """Refuse a plan that says of a measurement another sensitivity than its queries have.

    The curator computes it again before it draws; a replay, which has no curator, must not take a file's word for it.

    Raises
    ------
    PlanError
        With the measurement.
    """
    for planned in plan.measurements:
        queries = planned_queries(workload, planned)
        measurement = Measurement(planned.name, queries, planned.scale, plan.gaussian)
        moved = measurement.moved(plan.relation, workload.schema.sizes)
        if moved != planned.moved:
            raise PlanError(
                f"the plan says that one record moves {planned.moved:,} counts of {planned.name!r}; it moves up to {moved:,}. "
                "The plan was changed, or belongs to another workload"
            )


def answered_on_file(plan: MeasuredPlan, workload: Workload, past: MeasuredPast) -> list[Answered]:
    """Return the measurements that a transcript holds, with what they counted; lost ones are left out."""
    candidates = candidate_marginals(plan, workload)
    planned = {one.name: one for one in plan.measurements}
    answered: list[Answered] = []
    selected: SelectedMarginal | None = None
    for known in past.draws:
        if isinstance(known.value, SelectedMarginal):
            selected = known.value
            if candidates is None or not 0 <= selected.candidate < len(candidates):
                raise TranscriptError(
                    f"round {selected.round} selects marginal {selected.candidate}, which is no candidate of this plan"
                )
        elif isinstance(known.value, NoisyAnswers):
            queries: MarginalSet | Clauses
            if known.value.name in planned:
                queries = planned_queries(workload, planned[known.value.name])
            elif candidates is not None and selected is not None:
                queries = candidates.take([selected.candidate])
            else:
                raise TranscriptError(f"{known.value.name!r} was measured, which the plan does not know")
            size = queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)
            if len(known.value.values) != size:
                raise TranscriptError(
                    f"{known.value.name!r} has {len(known.value.values):,} values on file, its queries are {size:,}"
                )
            answered.append(Answered(queries, known.value))
    return answered


def measure(
    plan: MeasuredPlan,
    workload: Workload,
    curator: MeasuringCurator,
    fitter: Fitter | None,
    *,
    past: MeasuredPast,
    on_measurement: Callable[[int, int], None] = lambda number, total: None,
    on_round: Callable[[int, int, str], None] = lambda number, rounds, what: None,
) -> list[Answered]:
    """Make the measurements of a plan, continuing after those on file.

    Parameters
    ----------
    plan : MeasuredPlan
        Its charges are reserved in the curator's ledger.
    workload : Workload
    curator : MeasuringCurator
        The private side; it gives released values only.
    fitter : Fitter or None
        The public side, which a plan with selections needs.
    past : MeasuredPast
        What is on file, when a run is resumed.
    on_measurement, on_round : callable
        Called after each planned measurement, and after each round with the marginal that it selected.

    Returns
    -------
    list of Answered
        In the order of the plan. A draw that was torn on file may have been seen in part: it stays charged and is left out.
    """
    answered: list[Answered] = []
    draws = list(past.draws)
    for number, planned in enumerate(plan.measurements, start=1):
        queries = planned_queries(workload, planned)
        measurement = Measurement(planned.name, queries, planned.scale, plan.gaussian)
        values = _measured(curator, measurement, 0, draws)
        if values is not None:
            answered.append(Answered(queries, values))
        on_measurement(number, len(plan.measurements))
    if plan.selections is None or fitter is None:
        return answered
    candidates = candidate_marginals(plan, workload)
    if candidates is None:
        raise TranscriptError("a plan with selections needs a workload of marginals")
    penalties = expected_errors(plan, candidates)
    for number in range(1, plan.selections.rounds + 1):
        score = plan.selections.score(number)
        selected = _selected(
            curator,
            Selection(number, candidates, score, penalties[score], plan.selections.step),
            lambda: fitter.improve(answered),
            draws,
        )
        if selected is None:
            continue
        queries = candidates.take([selected.candidate])
        name = plan.selected_name(number)
        values = _measured(
            curator, Measurement(name, queries, plan.selections.scale, plan.gaussian), number, draws
        )
        if values is not None:
            answered.append(Answered(queries, values))
        attributes = [workload.schema.attributes[a].name for a in queries.attributes_of(0)]
        on_round(number, plan.selections.rounds, " x ".join(attributes))
    return answered


def _measured(
    curator: MeasuringCurator, measurement: Measurement, number: int, draws: list[PastDraw]
) -> NoisyAnswers | None:
    """Return the values of a measurement, from file where they are there; None where they are lost."""
    if not draws:
        return curator.measure(measurement, round=number)
    known = draws.pop(0)
    curator.recall(known.charge, drawn=known.torn or known.value is not None)
    if known.torn or isinstance(known.value, NoisyAnswers):
        return known.value if isinstance(known.value, NoisyAnswers) else None
    return curator.complete_measure(measurement, round=number)


def _selected(
    curator: MeasuringCurator,
    selection: Selection,
    records: Callable[[], tuple[NDArray[np.int32], NDArray[np.int64]]],
    draws: list[PastDraw],
) -> SelectedMarginal | None:
    """Return what a round selects, from file where it is there; None where it is lost."""
    if not draws:
        return curator.select(selection, *records())
    known = draws.pop(0)
    curator.recall(known.charge, drawn=known.torn or known.value is not None)
    if known.torn or isinstance(known.value, SelectedMarginal):
        return known.value if isinstance(known.value, SelectedMarginal) else None
    return curator.complete_select(selection, *records())

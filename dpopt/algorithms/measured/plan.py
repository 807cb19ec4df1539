"""The plan of a run that measures with noise and fits records: noise and projection; which marginals may be selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import pi, prod, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.options import LOCAL_SEARCH, MOST_SELECTIONS, Noise, Projection, refuse_two_aims
from dpopt.answers.questions import questions_about
from dpopt.arrays import freeze
from dpopt.constraints import Number, OneOf, Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.private.selections.selection import MOST_CANDIDATES, SCORES
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import NOT_FOUND, SEED, SIZE, Plan, whole_number
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

NOISE, PROJECTION = MEASURED = (Noise.algorithm, Projection.algorithm)
_FORMER = "adaptive"  # projection onto selected marginals, on file
WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class PlannedMeasurement:
    """Counts that are measured once, with integer noise."""

    name: str
    """Label of the charge, which identifies the measurement."""
    attributes: tuple[int, ...] | None
    """Attributes of the marginal that is measured; none at all (an empty tuple) stands for the one-way marginals of all
    attributes, and None for all queries of the workload, one by one."""
    sensitivity: Annotated[int, Whole("the sensitivity")]
    """L1 sensitivity of the counts and square of their L2 sensitivity, under the plan's relation. The curator computes
    it again from the queries and spends only what was reserved."""
    scale: float
    """Scale of the noise, in records."""

    def __post_init__(self) -> None:
        for attribute in self.attributes or ():
            whole_number("an attribute", attribute, least=0)
        constrain(self, PlanError)


@dataclass(frozen=True, slots=True)
class PlannedSelections:
    """Rounds that each select a marginal by the exponential mechanism and measure it."""

    rounds: Annotated[int, Whole("the number of selections", most=MOST_SELECTIONS)]
    """How many."""
    step: Annotated[Decimal, Number("the range of a selection", above=0, decimal=True)]
    """Range of the mechanism (its epsilon), an exact decimal."""
    scale: float
    """Scale of the noise of the marginal that was selected."""
    scores: tuple[str, ...]
    """The score of a marginal, in turns: "l1" (the sum of its cells' errors) or "max" (its largest cell's error)."""
    largest: Annotated[int, Whole("the cells of a candidate")]
    """Marginals with more cells are no candidates."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if not self.scores or not set(self.scores) <= set(SCORES):
            raise PlanError(f"marginals are scored by {' or '.join(SCORES)}; found {self.scores!r}")

    def score(self, number: int) -> str:
        """Return the score of marginals in round `number`, from 1."""
        return self.scores[(number - 1) % len(self.scores)]


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """Distances or residuals of marginals that are measured at once; earlier released values decide which ones."""

    name: str
    """Label of the charge."""
    order: Annotated[int, Whole("the order of a stage")]
    """Distances: of all sets of this number of attributes. Residuals: of sets of up to this number."""
    distances: bool
    """Distances from predictions, or residuals."""
    bound: Annotated[int, Whole("the bound of a stage")]
    """Upper bound on the squared L2 distance of neighbours' numbers, which is charged."""
    scale: float
    """sigma of the discrete Gaussian noise, in units of the numbers."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)

    @property
    def rho(self) -> float:
        """The charge of the stage, up to roundings."""
        return self.bound / (2 * self.scale * self.scale)


@dataclass(frozen=True, slots=True)
class PlannedFigures:
    """The questions and the target that the owner named, all of it public."""

    questions: tuple[str, ...]
    target: str | None
    """A column whose relationships matter most."""
    sets: tuple[tuple[int, ...], ...]
    """Attributes of the marginals that they need, increasing: these are measured whatever they are worth."""
    rho: float
    """The charge of that."""


@dataclass(frozen=True, slots=True)
class FitPlan:
    """How records are fitted to the measured counts; all of it post-processing."""

    records: Annotated[int, Whole("the number of records")] = 5_000
    """How many equally weighted records are searched at once."""
    sweeps: Annotated[int, Whole("the number of sweeps", least=0)] = 5
    """How often each of them is replaced by its best response before they are kept."""
    snapshots: Annotated[int, Whole("the number of snapshots")] = 1
    """How many times the records are kept, one sweep apart; the release holds all of them. More than one needs
    smoothing."""
    smoothing: Annotated[float | None, Number("smoothing", least=0)] = 0.0
    """Strength of the pull towards independent attributes, in records that would have been seen of them: 0 fits the
    noisy counts as well as records can; larger values lower mean errors, and in the end raise the largest. None, for
    residuals alone: the strength that the measured interactions suggest, and less if a weaker pull fits better."""
    columns: Annotated[int, Whole("the rounds of column generation", least=0)] = 0
    """Rounds of column generation after the search, which weigh the records and bound how much better any could fit; 0
    leaves equal weights. Not together with smoothing, which pulls away from the best fit."""
    gap: Annotated[float, Number("the gap", least=0)] = 1e-3
    """Column generation stops when the gap is at most this share of the expected squared noise."""
    seconds: Annotated[float | None, Number("the seconds of a fit", above=0)] = None
    """Time limit of a fit; the result then depends on the machine."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        refuse_two_aims(1.0 if self.smoothing is None else self.smoothing, self.columns)
        if self.smoothing == 0 and self.snapshots > 1:
            raise PlanError("without smoothing the fit converges; keep one snapshot of the records")


@dataclass(frozen=True, slots=True)
class MeasuredPlan(Plan):
    """Parameters of a run; they depend on public values only. Fields without a word below are as in `Plan`."""

    algorithm: Annotated[str, OneOf("the algorithm", (*MEASURED, _FORMER))]
    """One of `MEASURED`."""
    size: Annotated[int, SIZE]
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    """Discrete Gaussian noise; discrete Laplace noise otherwise."""
    measurements: tuple[PlannedMeasurement, ...]
    """Counts, made first, in this order."""
    selections: PlannedSelections | None = None
    """Made then."""
    fit: FitPlan | None = None
    """None if and only if the algorithm releases noisy answers alone."""
    solver: str = LOCAL_SEARCH
    """Name of the solver that weighs records in column generation; "local-search" for steps of our own."""
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"
    pricing_solver: str = LOCAL_SEARCH
    """The same of the one that looks for new records."""
    stages: tuple[PlannedStage, ...] = ()
    """Distances and residuals, measured in this order, in place of counts."""
    figures: PlannedFigures | None = None
    left_out: ClassVar[Mapping[str, Any]] = {"pricing_solver": LOCAL_SEARCH, "stages": [], "figures": None}

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        labels = [charge.label for charge in self.charges()]  # refuses scales and ranges that cannot be
        if len(set(labels)) < len(labels) or bool(self.measurements) == bool(self.stages):
            raise PlanError("a plan measures counts or residuals at least once, and each under a name of its own")
        if (self.fit is None) != (self.algorithm == NOISE):
            raise PlanError("records are fitted unless the algorithm releases noisy answers alone")
        if (self.selections or self.stages) and self.fit is None:
            raise PlanError("marginals are selected, and residuals measured, for records that are fitted to them")
        if self.stages and (self.selections or not self.gaussian):
            raise PlanError("residuals are measured with Gaussian noise, and no marginal is selected then")
        if self.coarse_stage is not None and (self.coarse_stage.order != 2 or len(self.stages) < 3):
            raise PlanError("residuals of a second stage are of coarse tables, of order 2, and not measured last")
        if self.fit is not None and self.fit.smoothing is None and not self.stages:
            raise PlanError("how strongly records are smoothed follows from residuals; give a number for counts")
        most = LARGEST_SCORE // (self.size + MOST_ROWS)
        if self.selections is not None and self.fit is not None and self.fit.records > most:
            raise PlanError(
                f"{self.fit.records:,} records are too many to score marginals against in 64 bits; fit at most {most:,}"
            )

    @property
    def leads(self) -> bool:
        """Whether `auto` takes it where it can be had: on public tables residuals had the least mean error."""
        return bool(self.stages)

    @property
    def coarse_stage(self) -> PlannedStage | None:
        """The stage that measures residuals of coarse tables of pairs: a second one, before any distances."""
        return self.stages[1] if len(self.stages) > 1 and not self.stages[1].distances else None

    @property
    def finds_wrong_size(self) -> str:
        """Whether a wrong number of records is found after a run: residuals alone do not know it."""
        if not self.stages:
            return "is found, and warned of, where marginals are counted"
        if any(stage.distances for stage in self.stages):
            return "is found, and warned of, if it is far off"
        return f"is found if it is far too small; if it is too large, it {NOT_FOUND}"

    def asked(self, schema: Schema) -> tuple[Sequence[str], Sequence[str]]:
        """Return the questions that the owner named, and those about a target."""
        figures = self.figures
        return ((), ()) if figures is None else (figures.questions, questions_about(figures.target, schema))

    @property
    def answers_only(self) -> bool:
        return self.algorithm == NOISE

    def describe(self) -> str:
        if self.stages:
            names = ", ".join(stage.name for stage in self.stages)
            return f"{self.algorithm}: {len(self.stages):,} stages ({names}; {self.chosen_by})"
        scales, selections = [measured.scale for measured in self.measurements], self.selections
        rounds = (
            ""
            if selections is None
            else f", then {selections.rounds:,} selected marginals of scale {selections.scale:.4g}"
        )
        noise = "discrete Gaussian" if self.gaussian else "discrete Laplace"
        return (
            f"{self.algorithm}: {len(scales):,} measurements with {noise} noise of scale {min(scales):.4g} to "
            f"{max(scales):.4g}{rounds} ({self.chosen_by})"
        )

    def transcript_bytes(self, queries: int, width: int) -> int:
        planned = len(self.measurements) + 2 * (0 if self.selections is None else self.selections.rounds)
        fitted = 0 if self.fit is None else self.fit.records * self.fit.snapshots * (4 * width + 12)
        measured = 2 * len(self.stages) or int(self.selections is None)
        return 1_000 * planned + 10 * queries * measured + fitted

    @property
    def noise(self) -> str:
        """Name of the noise distribution in transcripts."""
        return DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE

    def scale_of(self, name: str) -> float:
        """Return the scale of the noise of the measurement of that name: a planned one, or one of a selected marginal."""
        for planned in self.measurements:
            if planned.name == name:
                return planned.scale
        if self.selections is None:
            raise PlanError(f"this plan measures nothing of the name {name!r}")
        return self.selections.scale

    def charges(self) -> tuple[Charge, ...]:
        charges = [self.charge_of(planned) for planned in self.measurements]
        charges += [self.charge_of(planned) for planned in self.stages]
        if self.selections is not None:
            for number in range(1, self.selections.rounds + 1):
                charges.append(self.charge_of_selection(number))
                charges.append(self.charge_of_selected(number))
        return tuple(charges)

    @property
    def replaced(self) -> bool:
        """Whether neighbours have one record replaced, and not one more or less."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    def charge_of(self, planned: PlannedMeasurement | PlannedStage) -> Charge:
        """Return the charge of one planned measurement, or the largest charge of a stage."""
        most = planned.bound if isinstance(planned, PlannedStage) else planned.sensitivity
        return measurement_charge(planned.name, most, planned.scale, gaussian=self.gaussian, relation=self.relation)

    def charge_of_selection(self, number: int) -> Charge:
        """Return the charge of the selection of round `number`."""
        if self.selections is None:
            raise PlanError("this plan selects nothing")
        return selection_charge(number, self.selections.step, self.relation)

    def charge_of_selected(self, number: int) -> Charge:
        """Return the charge of the marginal that round `number` measures, whichever it selects."""
        if self.selections is None:
            raise PlanError("this plan selects nothing")
        name, scale = f"round {number}", self.selections.scale
        return measurement_charge(name, 1 + self.replaced, scale, gaussian=self.gaussian, relation=self.relation)


MOST_CELLS = 250_000
"""Marginals with more cells are never measured as a whole, since noise would exceed their counts; their parts are."""


def domains_of(workload: Workload) -> Domains:
    """Return the codes that records may take: those that the workload's marginals name, or all of the schema."""
    if workload.marginals is not None:
        return workload.marginals.domains
    return Domains.of(workload.schema, occurring=False)


def planned_queries(workload: Workload, planned: PlannedMeasurement) -> MarginalSet | Clauses:
    """Return the counts of a planned measurement."""
    if planned.attributes is None:
        return workload.queries
    if not planned.attributes:
        return MarginalSet(domains_of(workload), np.arange(len(workload.schema), dtype=np.int32)[:, None])
    return MarginalSet(domains_of(workload), np.array([planned.attributes], dtype=np.int32))


def check_sensitivities(plan: MeasuredPlan, workload: Workload) -> None:
    """Refuse a plan that says of a measurement another sensitivity than its queries have.

    The curator computes it again before it draws; a replay, which has no curator, must not take a file's word for it.
    """
    for planned in plan.measurements:
        queries = planned_queries(workload, planned)
        measurement = Measurement(planned.name, queries, planned.scale, plan.gaussian)
        sensitivity = measurement.sensitivity(plan.relation, workload.schema.sizes)
        if sensitivity != planned.sensitivity:
            raise PlanError(
                f"the plan states the sensitivity {planned.sensitivity:,} of {planned.name!r}; it is up to "
                f"{sensitivity:,}. The plan was changed, or belongs to another workload"
            )


def parts_of(marginals: MarginalSet, *, least_width: int, most_cells: int) -> MarginalSet:
    """Return every set of at least `least_width` attributes within a marginal, with at most `most_cells` cells; sorted."""
    counts = marginals.domains.counts.tolist()
    found: set[tuple[int, ...]] = set()
    for number in range(len(marginals)):
        attributes = sorted(marginals.attributes_of(number))
        for width in range(least_width, len(attributes) + 1):
            found.update(combinations(attributes, width))
        if len(found) > 4 * MOST_CANDIDATES:
            break
    kept = sorted(
        (part for part in found if prod(counts[a] for a in part) <= most_cells), key=lambda part: (len(part), part)
    )
    if not 1 <= len(kept) <= MOST_CANDIDATES:
        raise PlanError(
            f"the workload's marginals have {len(kept):,} parts of at most {most_cells:,} cells to select from, "
            f"expected 1 to {MOST_CANDIDATES:,}; name fewer or smaller marginals, or use --algorithm dualquery"
        )
    width = max(map(len, kept))
    padded = np.array([[*part, *[-1] * (width - len(part))] for part in kept], dtype=np.int32)
    return MarginalSet(marginals.domains, freeze(padded))


def candidate_marginals(plan: MeasuredPlan, workload: Workload) -> MarginalSet | None:
    """Return the marginals that the rounds of a plan select from; None for a plan without selections."""
    if plan.selections is None or workload.marginals is None:
        return None
    least = 2 if int(workload.marginals.widths().max()) > 1 else 1
    return parts_of(workload.marginals, least_width=least, most_cells=plan.selections.largest)


def expected_errors(marginals: MarginalSet, scale: float, *, gaussian: bool) -> dict[str, NDArray[np.int64]]:
    """Return by score the error of each marginal, in records, that measuring it would leave, (M,): it is taken off the score.

    "l1": sum of the absolute noise of its cells, sigma sqrt(2 / pi) each for Gaussian noise and b for Laplace noise.
    "max": about the largest of them, sigma sqrt(2 ln(cells)) or b ln(cells). Public, so it may be rounded at will.

    Source: McKenna, Mullins, Sheldon and Miklau 2022, AIM, equation 1.
    """
    cells = marginals.cells().astype(np.float64)
    logs = np.log(np.maximum(cells, 2))
    each, largest = (sqrt(2 / pi), np.sqrt(2 * logs)) if gaussian else (1.0, logs)
    return {"l1": np.ceil(scale * each * cells).astype(np.int64), "max": np.ceil(scale * largest).astype(np.int64)}

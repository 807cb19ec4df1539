"""From a budget to a plan of measurements: which counts, with how much noise; from public quantities alone."""

from __future__ import annotations

from decimal import Decimal
from math import sqrt

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import ONE_WAY, amount_for, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_range
from dpopt.algorithms.measured.candidates import MOST_CELLS, parts_of
from dpopt.algorithms.measured.plan import (
    WORKLOAD,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
)
from dpopt.algorithms.options import Adaptive, Options, PlanRequest, Projection
from dpopt.errors import PlanError
from dpopt.models.noise_budgets.noise_allocation import allocate_noise
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.sensitivity.clauses import count_sensitivity
from dpopt.queries.workloads.workload import Workload

MOST_MEASURED_CELLS = 5_000_000
"""A transcript holds every measured count; beyond this many the noise would be larger than the counts anyway."""

ONE_WAY_SHARE = 0.1
"""Share of an adaptive plan's budget for the one-way marginals that it starts from."""
CLAUSES_ONE_WAY_SHARE = 0.05
"""The same for a projection onto clauses, whose search starts from them."""
CLAUSES_PER_VALUE = 100
"""With so many clauses for each declared value records are fitted without smoothing. On 500,000 conjunctions of KDD Cup 1999
(396 values) that took a third to a half off the mean error at epsilon 1 and 5, and half off the largest at .25."""
SELECTION_SHARE = 0.1
"""Share of a round's budget for the selection; the rest measures what was selected."""
_ROUNDS, _LEAST_ROUNDS, _MOST_ROUNDS = 0.6, 4, 100
_STEP_DIGITS = 6
_RECORDS, _SNAPSHOTS = 5_000, 10
_PLAIN_RECORDS, _PLAIN_SWEEPS = 20_000, 10
_MOST_CODES, _FEWEST_RECORDS = 20_000_000, 200
"""Fewer records are fitted where they are wide: the memory and a sweep's time are in proportion to all their codes."""


def make_measured_plan(request: PlanRequest[Options], workload: Workload) -> MeasuredPlan:
    """Return a plan of `noise`, `projection` or `adaptive` that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the workload does not suit the algorithm, or the accountant has no figure for its noise.
    AccountingError
        If the budget is too small for any noise.
    """
    asked, algorithm = request.options, request.options.algorithm
    gaussian = is_gaussian(algorithm, request.budget)
    amount = amount_for(request.budget, gaussian=gaussian)
    if not amount > 0:
        raise PlanError(f"{request.budget.describe()} leaves nothing to measure with; raise the budget")
    selections: PlannedSelections | None = None
    fit: FitPlan | None = None
    if isinstance(asked, Adaptive):
        measurements, selections, chosen = _adaptive(
            request, asked.selections, workload, amount, gaussian=gaussian
        )
    elif isinstance(asked, Projection):
        measurements, chosen = _projection(request, workload, amount, gaussian=gaussian)
    else:
        measurements, chosen = _noise(request, workload, amount, gaussian=gaussian)
    # The noise of one vector of counts for the whole budget; selected marginals share it as the workload's do.
    sensitivity = (
        _workload_sensitivity(request, workload)[0]
        if selections is None
        else record_sensitivity(selections.rounds, request.relation)
    )
    smoothing = (
        0.0
        if _tells_everything(workload)
        else sqrt(2) * request.size / measurement_scale(sensitivity, amount=amount, gaussian=gaussian)
    )
    if isinstance(asked, Projection):
        fit = _fit(asked, smoothing, len(workload.schema))
    plan = MeasuredPlan(
        algorithm=algorithm,
        size=request.size,
        relation=request.relation,
        budget=request.budget,
        gaussian=gaussian,
        measurements=measurements,
        selections=selections,
        fit=fit,
        solver=asked.solver_name,
        seed=asked.seed if isinstance(asked, Projection) else 0,
        chosen_by=chosen,
    )
    if not request.budget.allows(plan.charges()):
        spent = request.budget.spent(plan.charges())
        raise PlanError(
            f"the measurements cost epsilon = {spent.epsilon!r} (rho = {spent.rho!r}), more than "
            f"{request.budget.describe()}; please report this"
        )
    return plan


def record_sensitivity(marginals: int, relation: NeighbouringRelation) -> int:
    """Return by how much one record moves the counts of so many marginals: it is in one cell of each."""
    return marginals if relation is NeighbouringRelation.ADD_REMOVE else 2 * marginals


def _fit(asked: Projection, smoothing: float, attributes: int) -> FitPlan:
    """Return how records are fitted: as the options ask for, or else smoothed by the signal-to-noise ratio of the counts."""
    most = max(_FEWEST_RECORDS, _MOST_CODES // attributes)
    plain = asked.records or min(_PLAIN_RECORDS, most)
    if asked.column_generation:
        return FitPlan(plain, columns=asked.column_generation, seconds=asked.fit_seconds)
    chosen = smoothing if asked.smoothing is None else asked.smoothing
    if chosen == 0:
        return FitPlan(plain, sweeps=_PLAIN_SWEEPS, seconds=asked.fit_seconds)
    return FitPlan(
        asked.records or min(_RECORDS, most),
        snapshots=_SNAPSHOTS,
        smoothing=float(f"{chosen:.4g}"),
        seconds=asked.fit_seconds,
    )


def is_gaussian(algorithm: str, budget: Budget) -> bool:
    """Return whether the noise of an algorithm that measures is Gaussian under a budget, and not Laplace.

    Raises
    ------
    PlanError
        If the accountant has a figure for neither.
    """
    if budget.accountant is Accountant.ZCDP:
        return True
    if budget.accountant is Accountant.PURE:
        return False
    raise PlanError(
        f"--algorithm {algorithm} measures with Gaussian noise under --accountant zcdp, or with Laplace noise under "
        f"--accountant pure; found {budget.accountant.value}"
    )


def _noise(
    request: PlanRequest[Options], workload: Workload, amount: float, *, gaussian: bool
) -> tuple[tuple[PlannedMeasurement, ...], str]:
    """Every query of the workload, with equal noise."""
    _refuse_many(len(workload), "noise")
    sensitivity, how = _workload_sensitivity(request, workload)
    scale = measurement_scale(sensitivity, amount=amount, gaussian=gaussian)
    return (PlannedMeasurement(WORKLOAD, None, sensitivity, scale),), how


def _projection(
    request: PlanRequest[Options], workload: Workload, amount: float, *, gaussian: bool
) -> tuple[tuple[PlannedMeasurement, ...], str]:
    """Marginals of the workload and their parts, by the convex program of the least predicted error; or all clauses."""
    if workload.marginals is not None:
        return _allocated(request, workload.marginals, amount, gaussian=gaussian)
    _refuse_many(len(workload), "projection")
    sensitivity, how = _workload_sensitivity(request, workload)
    # In one piece: tens of thousands of attributes would be as many lines of the transcript, each written through to disk.
    all_marginals = record_sensitivity(len(workload.schema), request.relation)
    share = CLAUSES_ONE_WAY_SHARE * amount
    one_way = measurement_scale(all_marginals, amount=share, gaussian=gaussian)
    scale = measurement_scale(sensitivity, amount=(1 - CLAUSES_ONE_WAY_SHARE) * amount, gaussian=gaussian)
    planned = (
        PlannedMeasurement(ONE_WAY, (), all_marginals, one_way),
        PlannedMeasurement(WORKLOAD, None, sensitivity, scale),
    )
    return planned, f"{CLAUSES_ONE_WAY_SHARE:.0%} of the budget for one-way marginals; {how}"


def _allocated(
    request: PlanRequest[Options], marginals: MarginalSet, amount: float, *, gaussian: bool
) -> tuple[tuple[PlannedMeasurement, ...], str]:
    _refuse_many(marginals.number_of_cells, "projection")
    rho = amount if gaussian else amount * amount / 2
    sensitivity = record_sensitivity(1, request.relation)
    allocation = allocate_noise(marginals, rho=rho, size=request.size, sensitivity=sensitivity)
    # Shares of rho are shares of squared epsilon; under pure composition epsilon itself adds up.
    shares = allocation.shares if gaussian else allocation.shares**0.5 / (allocation.shares**0.5).sum()
    planned = tuple(
        PlannedMeasurement(
            marginal_name(allocation.marginals, number),
            allocation.marginals.attributes_of(number),
            sensitivity,
            measurement_scale(sensitivity, amount=float(share) * amount, gaussian=gaussian),
        )
        for number, share in enumerate(shares.tolist())
    )
    return planned, f"noise on {len(planned):,} marginals by the convex program of the least predicted error"


def _adaptive(
    request: PlanRequest[Options], asked: int | None, workload: Workload, amount: float, *, gaussian: bool
) -> tuple[tuple[PlannedMeasurement, ...], PlannedSelections, str]:
    """One-way marginals, then rounds that each select a marginal and measure it."""
    if workload.marginals is None:
        raise PlanError(
            "--algorithm adaptive selects among marginals, and this workload has none; use projection, or dualquery for "
            "very many queries"
        )
    least = 2 if int(workload.marginals.widths().max()) > 1 else 1
    candidates = parts_of(workload.marginals, least_width=least, most_cells=MOST_CELLS)
    rounds = asked or _rounds(request, amount, len(candidates), gaussian=gaussian)
    one_way = _one_way(request, workload, ONE_WAY_SHARE * amount, gaussian=gaussian)
    each = (1 - ONE_WAY_SHARE) * amount / rounds
    step = rounded_down(selection_range(SELECTION_SHARE * each, concentrated=gaussian))
    scale = measurement_scale(
        record_sensitivity(1, request.relation), amount=(1 - SELECTION_SHARE) * each, gaussian=gaussian
    )
    selections = PlannedSelections(rounds, step, scale, ("max", "l1"), MOST_CELLS)
    return one_way, selections, f"{rounds:,} rounds that select among {len(candidates):,} marginals"


def _rounds(request: PlanRequest[Options], amount: float, candidates: int, *, gaussian: bool) -> int:
    """Return how many marginals to select: about 0.6 times the root of size / noise of one measurement of everything."""
    noise = 1 / sqrt(2 * amount) if gaussian else 1 / amount
    return max(
        1, min(candidates, _MOST_ROUNDS, max(_LEAST_ROUNDS, round(_ROUNDS * sqrt(request.size / noise))))
    )


def _one_way(
    request: PlanRequest[Options], workload: Workload, amount: float, *, gaussian: bool
) -> tuple[PlannedMeasurement, ...]:
    """All attributes' marginals, with equal noise."""
    attributes = len(workload.schema)
    sensitivity = record_sensitivity(1, request.relation)
    scale = measurement_scale(sensitivity, amount=amount / attributes, gaussian=gaussian)
    return tuple(
        PlannedMeasurement(f"marginal {position}", (position,), sensitivity, scale)
        for position in range(attributes)
    )


def marginal_name(marginals: MarginalSet, number: int) -> str:
    """Return the name of the measurement of one marginal: its attributes' positions."""
    return f"marginal {' '.join(map(str, marginals.attributes_of(number)))}"


def _tells_everything(workload: Workload) -> bool:
    """Return whether there are so many clauses that their noise averages out in a fit, which then needs no smoothing."""
    values = int(workload.schema.sizes.sum())
    return workload.marginals is None and len(workload) >= CLAUSES_PER_VALUE * values


def _workload_sensitivity(request: PlanRequest[Options], workload: Workload) -> tuple[int, str]:
    if workload.marginals is not None:
        count = len(workload.marginals)
        sensitivity = record_sensitivity(count, request.relation)
        return sensitivity, f"a record is in one cell of each of {count:,} marginals"
    bound = count_sensitivity(workload.clauses, workload.schema.sizes)
    added = request.relation is NeighbouringRelation.ADD_REMOVE
    sensitivity = bound.add_remove if added else bound.replace
    if sensitivity == 0:
        raise PlanError(
            "no record changes any answer of this workload: every query is true of all records or of none. Ask other queries"
        )
    return sensitivity, bound.how


def _refuse_many(counts: int, algorithm: str) -> None:
    if counts > MOST_MEASURED_CELLS:
        raise PlanError(
            f"--algorithm {algorithm} measures every count, and the workload has {counts:,} (at most "
            f"{MOST_MEASURED_CELLS:,}): the noise would be larger than the counts. Use adaptive, fem or dualquery"
        )


def rounded_down(value: float) -> Decimal:
    """Return the value with six digits, rounded down a little, so that its charge stays within its share."""
    return Decimal(f"{value * (1 - 1e-5):.{_STEP_DIGITS}g}")

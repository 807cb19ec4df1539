"""From a budget to a plan of measurements: which counts, with how much noise; from public quantities alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from math import sqrt
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import ONE_WAY, amount_for, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_range
from dpopt.algorithms.measured.figures import planned_figures
from dpopt.algorithms.measured.fitting import PLAIN_RECORDS, most_records
from dpopt.algorithms.measured.plan import (
    MOST_CELLS,
    WORKLOAD,
    FitPlan,
    PlannedFigures,
    PlannedMeasurement,
    PlannedSelections,
    PlannedStage,
    parts_of,
)
from dpopt.algorithms.measured.stages import planned_stages, sets_of
from dpopt.algorithms.options import COUNTS, LOCAL_SEARCH, RESIDUALS, SELECTED, Options, PlanRequest, Projection
from dpopt.errors import PlanError
from dpopt.models.model import LARGEST_FOR_SOLVERS
from dpopt.models.noise_budgets.noise_allocation import allocate_noise
from dpopt.programs.solver import Capability, Solver
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.sensitivity.clauses import count_sensitivity
from dpopt.queries.workloads.workload import Workload

MOST_MEASURED_CELLS = 5_000_000
"""A transcript holds every measured count; beyond this many the noise would be larger than the counts anyway."""

ONE_WAY_SHARE = 0.1
"""Share of the budget for the one-way marginals that selections start from."""

CLAUSES_ONE_WAY_SHARE = 0.05
"""The same for a projection onto clauses, whose search starts from them."""

CLAUSES_PER_VALUE = 100
"""From this number of clauses per declared value on, records are fitted without smoothing. On 500,000 conjunctions of
KDD Cup 1999 (396 values) that took a third to a half off the mean error at epsilon 1 and 5, and half off the largest at
.25."""

LEAST_SIGNAL = 150
"""Marginals are selected where the public size is fewer times the noise that all of them would get. Seen on public tables."""

SELECTION_SHARE = 0.1
"""Share of a round's budget for the selection; the rest measures the selected marginal."""

_ROUNDS, _LEAST_ROUNDS, _MOST_ROUNDS = 0.6, 4, 100

_STEP_DIGITS = 6

_RECORDS, _SNAPSHOTS = 5_000, 10

_WEIGHED_RECORDS, _ROUNDS_BY_SOLVER = 2_000, 50
"""Records that a named solver is to weigh at first, and rounds of column generation, where the user names neither."""

_PLAIN_SWEEPS = 10


def refuse_costs_beyond(budget: Budget, charges: Sequence[Charge], what: str) -> None:
    """Refuse a plan that costs more than its budget after all: a defect of dpopt."""
    spent = budget.spent(charges)
    if not budget.covers(spent):
        raise PlanError(
            f"the {what} cost epsilon = {spent.epsilon!r} (rho = {spent.rho!r}), more than {budget.describe()}; please "
            f"report this"
        )


def record_sensitivity(marginals: int, relation: NeighbouringRelation) -> int:
    """Return the sensitivity of the counts of a number of marginals: a record is in one cell of each."""
    return marginals if relation is NeighbouringRelation.ADD_REMOVE else 2 * marginals


def fit_plan(asked: Projection, smoothing: float | None, attributes: int) -> FitPlan:
    """Return how records are fitted: as the options ask for, or else with this smoothing; None leaves it to the residuals."""
    most = most_records(attributes)
    plain = asked.records or min(_WEIGHED_RECORDS if asked.solver_name != LOCAL_SEARCH else PLAIN_RECORDS, most)
    columns = (
        (_ROUNDS_BY_SOLVER if asked.names_solver else 0) if asked.column_generation is None else asked.column_generation
    )
    if columns:
        return FitPlan(plain, columns=columns, seconds=asked.fit_seconds)
    chosen = smoothing if asked.smoothing is None else asked.smoothing
    if chosen == 0:
        return FitPlan(plain, sweeps=_PLAIN_SWEEPS, seconds=asked.fit_seconds)
    records = asked.records or min(_RECORDS, most)
    if chosen is None:
        return FitPlan(records, sweeps=4, snapshots=4, smoothing=None, seconds=asked.fit_seconds)
    return FitPlan(records, snapshots=_SNAPSHOTS, smoothing=float(f"{chosen:.4g}"), seconds=asked.fit_seconds)


def refuse_large_master(
    asked: Projection,
    fit: FitPlan,
    measurements: Sequence[PlannedMeasurement],
    selections: PlannedSelections | None,
    relation: NeighbouringRelation,
) -> None:
    """Refuse to hand a solver more records than it takes; each is true of as many counts as it moves."""
    if asked.solver_name == LOCAL_SEARCH:
        return
    moved = sum(one.sensitivity for one in measurements) // record_sensitivity(1, relation)
    moved += 0 if selections is None else selections.rounds
    if fit.records * moved > LARGEST_FOR_SOLVERS:
        raise PlanError(
            f"{fit.records:,} records in {moved:,} counts each are up to {fit.records * moved:,} coefficients; solvers "
            f"are handed {LARGEST_FOR_SOLVERS:,} at most. Give --records {max(1, LARGEST_FOR_SOLVERS // moved):,}, or "
            f"leave --solver out"
        )


def noise_for(request: PlanRequest[Any]) -> tuple[bool, float]:
    """Return whether the noise of a plan that measures is Gaussian, and not Laplace, and the amount of budget for it."""
    budget = request.budget
    if budget.accountant not in {Accountant.ZCDP, Accountant.PURE}:
        raise PlanError(
            f"--algorithm {request.options.algorithm} measures with Gaussian noise under --accountant zcdp, or with "
            f"Laplace noise under --accountant pure; found {budget.accountant.value}"
        )
    gaussian = budget.accountant is Accountant.ZCDP
    amount = amount_for(budget, gaussian=gaussian)
    if not amount > 0:
        raise PlanError(f"{budget.describe()} leaves nothing to measure with; raise the budget")
    return gaussian, amount


class Maker:
    """Chooses the measurements of a plan, each with noise for its share of the amount that the budget leaves."""

    def __init__(self, request: PlanRequest[Options], workload: Workload) -> None:
        self.gaussian, self._amount = noise_for(request)
        self._request, self._workload = request, workload
        self._of_one = record_sensitivity(1, request.relation)

    def noise(self) -> tuple[tuple[PlannedMeasurement, ...], str]:
        """Every query of the workload, with equal noise."""
        self._refuse_many(len(self._workload))
        sensitivity, how = self._workload_sensitivity()
        return (PlannedMeasurement(WORKLOAD, None, sensitivity, self._scale(sensitivity, 1)),), how

    def suited(self, asked: Projection) -> str:
        """Return the default measurements.

        Residuals where they can be. Else every count, and selected marginals where the noise on all of them would be
        large.
        """
        marginals = self._workload.marginals
        if (asked.figures, asked.target) != (None, None):
            return RESIDUALS
        if marginals is None:
            return COUNTS
        if asked.selections is not None:
            return SELECTED
        with suppress(PlanError):
            if self.gaussian and not asked.names_solver:
                sets_of(self._workload)
                return RESIDUALS
        signal = self._request.size / self._scale(record_sensitivity(len(marginals), self._request.relation), 1)
        return SELECTED if signal < LEAST_SIGNAL or marginals.number_of_cells > MOST_MEASURED_CELLS else COUNTS

    def residuals(self, asked: Projection) -> tuple[tuple[PlannedStage, ...], PlannedFigures | None, str]:
        """Residuals of marginals, order by order, those that say most, and those behind figures."""
        if not self.gaussian:
            raise PlanError(
                "--measure residuals, --figures and --target need the Gaussian noise of --accountant zcdp, which takes a "
                "delta; use --measure counts"
            )
        marginals, sets = sets_of(self._workload)
        replaced = self._request.relation is NeighbouringRelation.REPLACE_ONE
        figures = planned_figures(self._workload, self._amount, asked)
        stages = planned_stages(marginals, sets, self._request.size, self._amount, replaced=replaced, figures=figures)
        widest = int(sets.widths().max())
        how = (
            f"residuals of {len(sets):,} sets of up to {widest} attributes, which had the least errors on public tables"
        )
        return stages, figures, how

    def counts(self) -> tuple[tuple[PlannedMeasurement, ...], str]:
        """Marginals of the workload and their parts, by the convex program of the least predicted error; or all clauses."""
        if self._workload.marginals is not None:
            return self._allocated(self._workload.marginals)
        self._refuse_many(len(self._workload))
        sensitivity, how = self._workload_sensitivity()
        # In one piece: tens of thousands of attributes would be as many lines of the transcript, each written through to disk.
        all_marginals = record_sensitivity(len(self._workload.schema), self._request.relation)
        one_way = self._scale(all_marginals, CLAUSES_ONE_WAY_SHARE)
        scale = self._scale(sensitivity, 1 - CLAUSES_ONE_WAY_SHARE)
        planned = (
            PlannedMeasurement(ONE_WAY, (), all_marginals, one_way),
            PlannedMeasurement(WORKLOAD, None, sensitivity, scale),
        )
        return planned, f"{CLAUSES_ONE_WAY_SHARE:.0%} of the budget for one-way marginals; {how}"

    def _allocated(self, marginals: MarginalSet) -> tuple[tuple[PlannedMeasurement, ...], str]:
        self._refuse_many(marginals.number_of_cells)
        rho = self._amount if self.gaussian else self._amount * self._amount / 2
        solver = self._solver_of_cones()
        allocation = allocate_noise(
            marginals, rho=rho, size=self._request.size, sensitivity=self._of_one, solver=solver
        )
        shares, sets = allocation.shares, map(allocation.marginals.attributes_of, range(len(allocation.marginals)))
        if not self.gaussian:
            # Shares of rho are shares of squared epsilon; under pure composition epsilon itself adds up.
            shares = allocation.shares**0.5 / (allocation.shares**0.5).sum()
        planned = tuple(
            PlannedMeasurement(
                f"marginal {' '.join(map(str, attributes))}", attributes, self._of_one, self._scale(self._of_one, share)
            )
            for attributes, share in zip(sets, shares.tolist(), strict=True)
        )
        how = f"noise on {len(planned):,} marginals by the convex program of the least predicted error"
        if allocation.solved is not None:
            how += f", solved by {allocation.solved}; at most a part {allocation.gap:.2g} above the least"
        return planned, how

    def _solver_of_cones(self) -> str | Solver | None:
        """Return the solver that the user named, if it takes programs with cones; others weigh records only."""
        from dpopt.solvers.registry import get_solver  # a replay asks no solver, and loads none

        asked = self._request.options
        if asked.solver_name == LOCAL_SEARCH:
            return None
        solver = get_solver(asked.own_solver or asked.solver_name)
        return solver if Capability.CONES in solver.capabilities else None

    def selected(self, asked: int | None) -> tuple[tuple[PlannedMeasurement, ...], PlannedSelections, str]:
        """One-way marginals with equal noise, then rounds that each select a marginal and measure it."""
        if self._workload.marginals is None:
            raise PlanError(
                "--measure selected selects among marginals, and this workload has none; use --measure counts, or "
                "dualquery for very many queries"
            )
        least = 2 if int(self._workload.marginals.widths().max()) > 1 else 1
        candidates = parts_of(self._workload.marginals, least_width=least, most_cells=MOST_CELLS)
        rounds = asked or self._rounds(len(candidates))
        attributes = len(self._workload.schema)
        of_each = self._scale_for(self._of_one, ONE_WAY_SHARE * self._amount / attributes)
        one_way = tuple(
            PlannedMeasurement(f"marginal {position}", (position,), self._of_one, of_each)
            for position in range(attributes)
        )
        each = (1 - ONE_WAY_SHARE) * self._amount / rounds
        step = rounded_down(selection_range(SELECTION_SHARE * each, concentrated=self.gaussian))
        scale = self._scale_for(self._of_one, (1 - SELECTION_SHARE) * each)
        selections = PlannedSelections(rounds, step, scale, ("max", "l1"), MOST_CELLS)
        return one_way, selections, f"{rounds:,} rounds that select among {len(candidates):,} marginals"

    def smoothing(self, selections: PlannedSelections | None) -> float:
        """Return the size over the noise of one vector of counts for the whole budget; 0 where noise averages out in a fit.

        Selected marginals share the budget as the workload's do.
        """
        clauses = 0 if self._workload.marginals is not None else len(self._workload)
        if clauses >= CLAUSES_PER_VALUE * int(self._workload.schema.sizes.sum()):
            return 0.0
        if selections is None:
            sensitivity = self._workload_sensitivity()[0]
        else:
            sensitivity = record_sensitivity(selections.rounds, self._request.relation)
        return sqrt(2) * self._request.size / self._scale(sensitivity, 1)

    def _rounds(self, candidates: int) -> int:
        """Return how many marginals to select: about 0.6 times the root of size / noise of one measurement of everything."""
        noise = 1 / sqrt(2 * self._amount) if self.gaussian else 1 / self._amount
        wanted = max(_LEAST_ROUNDS, round(_ROUNDS * sqrt(self._request.size / noise)))
        return max(1, min(candidates, _MOST_ROUNDS, wanted))

    def _scale(self, sensitivity: int, share: float) -> float:
        """Return the scale of noise for a share of the amount."""
        return self._scale_for(sensitivity, share * self._amount)

    def _scale_for(self, sensitivity: int, amount: float) -> float:
        return measurement_scale(sensitivity, amount=amount, gaussian=self.gaussian)

    def _workload_sensitivity(self) -> tuple[int, str]:
        workload, relation = self._workload, self._request.relation
        if workload.marginals is not None:
            count = len(workload.marginals)
            return record_sensitivity(count, relation), f"a record is in one cell of each of {count:,} marginals"
        replaced = relation is NeighbouringRelation.REPLACE_ONE
        bound = count_sensitivity(workload.clauses, workload.schema.sizes, replaced=replaced)
        sensitivity = bound.replace if replaced else bound.add_remove
        if sensitivity == 0:
            raise PlanError(
                "no record changes any answer of this workload: every query is true of all records or of none. Ask "
                "other queries"
            )
        return sensitivity, bound.how

    def _refuse_many(self, counts: int) -> None:
        if counts > MOST_MEASURED_CELLS:
            raise PlanError(
                f"every count would be measured, and the workload has {counts:,} (at most {MOST_MEASURED_CELLS:,}): "
                f"the noise would be larger than the counts. Use projection with --measure selected, fem or dualquery"
            )


def rounded_down(value: float) -> Decimal:
    """Return the value with six digits, rounded down a little, so that its charge stays within its share."""
    return Decimal(f"{value * (1 - 1e-5):.{_STEP_DIGITS}g}")

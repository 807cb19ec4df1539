"""The plan of a run that measures residuals of marginals order by order, and how one is made from a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import amount_for, measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.options import PlanRequest, Residuals
from dpopt.algorithms.residuals.allocation import best_precisions
from dpopt.errors import PlanError, WorkloadError
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, prices
from dpopt.queries.distances import UNIT
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import subsets_of
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import LARGEST_SIZE, Plan, whole_number

MOST_SETS, MOST_CELLS, MOST_OF_ONE = 10_000, 5_000_000, 250_000
"""Sets of attributes that are looked at, cells of all of them, and cells of one that is measured."""

LEAST_BOUND, MOST_BOUND = 2**40, 2**44
"""Squared distance of neighbours' residuals, in their units, that is charged: the more sets, the larger, so that the whole
factors of all are fine, and those of few stay small."""

DISTANCE_SHARE = 0.03
"""Share of the budget that an order and those above it are worth for learning which of its sets say most."""

LEAST_SHARE = 0.02
"""Orders that are worth less than this share of the budget beforehand have no stages of their own."""

KEPT_BACK = 0.1
"""Share of what an order is worth beforehand that waits for the last stage, which spends where most is gained."""

_RECORDS, _SWEEPS, _SNAPSHOTS = 5_000, 4, 4
_MOST_CODES, _FEWEST_RECORDS = 20_000_000, 200


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """What is measured at once.

    Attributes
    ----------
    name : str
        Label of the charge.
    order : int
        Distances: of all sets of so many attributes. Residuals: of sets of up to so many.
    distances : bool
        Distances from predictions, or residuals.
    bound : int
        Squared L2 distance of neighbours' numbers, at most: what is charged.
    scale : float
        sigma of the discrete Gaussian noise, in units of the numbers.
    """

    name: str
    order: int
    distances: bool
    bound: int
    scale: float

    def __post_init__(self) -> None:
        whole_number("the order of a stage", self.order, least=1)
        whole_number("the bound of a stage", self.bound, least=1)

    @property
    def rho(self) -> float:
        """What the stage costs, up to roundings."""
        return self.bound / (2 * self.scale * self.scale)


@dataclass(frozen=True, slots=True)
class ResidualPlan(Plan):
    """Parameters of a run; they depend on public values only.

    Attributes
    ----------
    stages : tuple of PlannedStage
        Measured in this order. Which residuals a stage measures, and how precisely, follows from what was released before.
    records, sweeps, snapshots : int
        Records that are fitted at once, sweeps before they are kept, and how often they are kept.
    size, relation, budget, seed, chosen_by :
        As in `Plan`.
    """

    algorithm: ClassVar[str] = Residuals.algorithm  # type: ignore[misc]  # one for all plans of the class
    solver: ClassVar[str] = "local-search"  # type: ignore[misc]  # none is needed, the usual one is named
    size: int
    relation: NeighbouringRelation
    budget: Budget
    stages: tuple[PlannedStage, ...]
    records: int = _RECORDS
    sweeps: int = _SWEEPS
    snapshots: int = _SNAPSHOTS
    seed: int = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        self.settle(
            size=("the public size", LARGEST_SIZE),
            records=("the number of records", 100_000_000),
            snapshots=("the number of snapshots", 1_000),
        )
        whole_number("the number of sweeps", self.sweeps, least=0)
        labels = [charge.label for charge in self.charges()]  # refuses bounds and scales that cannot be
        if not labels or len(set(labels)) < len(labels):
            raise PlanError("a plan has at least one stage, and each a name of its own")

    @property
    def replaced(self) -> bool:
        """Whether neighbours have one record replaced, and not one more or less."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order: what the ledger reserves before the first draw."""
        return tuple(self.charge_of(stage) for stage in self.stages)

    def charge_of(self, stage: PlannedStage) -> Charge:
        """Return the charge of one stage."""
        return measurement_charge(stage.name, stage.bound, stage.scale, gaussian=True, relation=self.relation)

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about how many bytes the transcript takes, for so many queries and attributes of a record."""
        return 20 * queries * len(self.stages) + self.records * self.snapshots * (4 * width + 12)


def sets_of(workload: Workload) -> tuple[MarginalSet, MarginalSet]:
    """Return the workload's marginals, and all sets of attributes within them, small ones first.

    Raises PlanError if the workload has no marginals, or there are too many sets or cells.
    """
    marginals = workload.marginals
    if marginals is None:
        raise PlanError(
            "--algorithm residuals measures marginals, and this workload has none; use projection, or dualquery for very many "
            "queries"
        )
    try:
        sets, _, _ = subsets_of(marginals)
    except WorkloadError as error:
        raise PlanError(f"{error}; or use dualquery") from error
    if len(sets) > MOST_SETS or sets.number_of_cells > MOST_CELLS:
        raise PlanError(
            f"the workload has {len(sets):,} sets of attributes with {sets.number_of_cells:,} cells, expected up to "
            f"{MOST_SETS:,} with up to {MOST_CELLS:,}; ask for fewer marginals, or use adaptive or dualquery"
        )
    return marginals, sets


def measurable(sets: MarginalSet, order: int) -> NDArray[np.bool_]:
    """Return which sets may be measured: of so many attributes at most, and of no more cells than records could fill."""
    return np.asarray((sets.widths() <= order) & (sets.cells() <= MOST_OF_ONE))


def make_residual_plan(request: PlanRequest[Residuals], workload: Workload) -> ResidualPlan:
    """Return a plan that the budget covers; only public values are read.

    One-way marginals come first. Then, order by order, distances from predictions tell which sets are worth measuring, and
    residuals of sets up to this order are measured. What each order gets is what it is worth under a public prior, less a part
    for the last stage.

    Raises PlanError if the workload does not suit the algorithm, or the accountant has no figure for its noise; AccountingError
    if the budget is too small for any noise.
    """
    budget = request.budget
    if budget.accountant is not Accountant.ZCDP:
        raise PlanError(
            f"--algorithm residuals measures with Gaussian noise under --accountant zcdp, found {budget.accountant.value}; use "
            "projection with --accountant pure"
        )
    rho = amount_for(budget, gaussian=True)
    if not rho > 0:
        raise PlanError(f"{budget.describe()} leaves nothing to measure with; raise the budget")
    marginals, sets = sets_of(workload)
    shares = _shares(sets, marginals, request.size, rho)
    most = max(1, sum(shares[order:].sum() >= LEAST_SHARE for order in range(len(shares))))
    stages: list[PlannedStage] = []
    left = 1.0
    for order in range(1, most + 1):
        if order > 1:
            number = int((sets.widths() == order).sum())
            bound = number * (UNIT * (1 if request.relation is NeighbouringRelation.ADD_REMOVE else 2)) ** 2
            share = DISTANCE_SHARE * left * float(shares[order - 1 :].sum())
            stages.append(_stage(f"distances of order {order}", order, bound, share * rho, distances=True))
            left -= share
        share = (
            left
            if order == most
            else (1.0 if order == 1 else 1 - KEPT_BACK) * float(shares[order - 1]) * left
        )
        stages.append(
            _stage(
                f"residuals up to order {order}", order, bound_for(len(sets)), share * rho, distances=False
            )
        )
        left -= share
    limit = max(_FEWEST_RECORDS, _MOST_CODES // len(workload.schema))
    return ResidualPlan(
        request.size,
        request.relation,
        budget,
        tuple(stages),
        records=request.options.records or min(_RECORDS, limit),
        seed=request.options.seed,
        chosen_by=f"{len(sets):,} sets of up to {int(sets.widths().max())} attributes, by a public prior of interactions",
    )


def bound_for(sets: int) -> int:
    """Return the squared distance that is charged for the residuals of so many sets, or some of them."""
    return min(MOST_BOUND, LEAST_BOUND << (sets.bit_length() - 1))


def _stage(name: str, order: int, bound: int, rho: float, *, distances: bool) -> PlannedStage:
    scale = measurement_scale(bound, amount=rho, gaussian=True)
    return PlannedStage(name, order, distances, bound, scale)


def _shares(sets: MarginalSet, marginals: MarginalSet, size: int, rho: float) -> NDArray[np.float64]:
    """Return which share of the budget each order is worth beforehand, (orders,)."""
    prior = ResidualPrior.public(sets, size)
    allowed = measurable(sets, int(sets.widths().max()))
    x = best_precisions(marginals, prior, np.zeros(len(sets)), allowed, rho)
    spent = np.bincount(sets.widths() - 1, weights=x * prices(sets))
    return np.asarray(spent / spent.sum())

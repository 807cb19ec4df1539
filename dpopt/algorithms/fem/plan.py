"""The plan of a FEM run: its parameters, and the ranges of selections that a budget covers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from math import log, sqrt
from typing import Annotated

import numpy as np

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import fem_charges, selection_charge
from dpopt.algorithms.options import FEM, PlanRequest
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import PlanError
from dpopt.releases.plan import SECONDS, SEED, WORK, Plan

DEFAULT_RECORDS = 100
DEFAULT_SWEEPS = 100
"""Sweeps of the local search per perturbed problem; more change the errors by a few per cent at most."""

MOST_ROUNDS, MOST_RECORDS = 10_000, 100_000
_LARGEST_RANGE = Decimal(1_000)
_DIGITS = 6
_ROUNDS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 360)
_SELECTION_LOSS = 4.0
SCALE = 0.2
"""lambda over the root of the rounds."""


@dataclass(frozen=True, slots=True)
class FemPlan(Plan):
    """Parameters of a run; they depend on public values only. Fields without a word below are as in `Plan`."""

    algorithm: str
    """"fem"."""
    rounds: Annotated[int, Whole("the number of rounds", most=MOST_ROUNDS)]
    """Number T of selections. T + 1 batches of records are made: one before each, one after the last."""
    records: Annotated[int, Whole("the number of records per round", most=MOST_RECORDS)]
    """Records s of each batch."""
    selection_range: Annotated[
        Decimal, Number("the range eps0 of a selection", above=0, most=_LARGEST_RANGE, decimal=True)
    ]
    """eps0: the range of each selection, an exact decimal."""
    scale: Annotated[float, Number("the scale lambda", above=0, below=1e6)]
    """lambda: mean or scale of the perturbations, in queries."""
    kept_from: int
    """The first batch (from 1) that is released; earlier ones answer too few selections."""
    size: Annotated[int, Whole("the public size", most=2**40)]
    relation: NeighbouringRelation
    budget: Budget
    solver: str = "local-search"
    work: Annotated[int | None, WORK] = DEFAULT_SWEEPS
    seconds: Annotated[float | None, SECONDS] = None
    """Limits of the best-response solver per perturbed problem."""
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        if self.algorithm != FEM.algorithm:
            raise PlanError(f"expected {FEM.algorithm}, found {self.algorithm!r}")
        constrain(self, PlanError)
        Whole("the first batch that is kept", most=self.rounds + 1)(self.kept_from, PlanError)

    def charges(self) -> tuple[Charge, ...]:
        return fem_charges(self.rounds, self.selection_range, self.relation)

    def describe(self) -> str:
        return f"{self.algorithm}: T = {self.rounds:,} rounds ({self.chosen_by})"

    def transcript_bytes(self, queries: int, width: int) -> int:
        return (self.rounds + 1) * (1_000 + self.records * (12 + 5 * width))


def rounds_by_rule(request: PlanRequest[FEM], queries: int) -> int:
    """Return the largest number of rounds of a list whose selections lose less than their average leaves."""
    one_sided = request.relation is NeighbouringRelation.ADD_REMOVE
    best = _ROUNDS[0]
    for rounds in _ROUNDS:
        range_ = largest_range(request.budget, request.relation, rounds)
        if range_ is None:
            break
        loss = log(2 * queries) / (request.size * float(range_)) * (1 if one_sided else 2)
        if loss * sqrt(rounds) > _SELECTION_LOSS:
            break
        best = rounds
    return best


def largest_range(budget: Budget, relation: NeighbouringRelation, selections: int) -> Decimal | None:
    """Return the largest range, to six digits, at which a budget covers this number of selections; None without one."""
    if budget.accountant is Accountant.ZCDP:
        start = sqrt(8 * budget.amount / selections) / budget.group
    else:
        start = budget.amount / selections / budget.group

    high = _rounded(Decimal(start) * 2)
    while high is not None and _covers(budget, relation, selections, high) and high < _LARGEST_RANGE:
        high = _rounded(high * 2)
    low = Decimal(0)
    if high is None:
        return None
    while high - low > high * Decimal("1e-6"):
        middle = _rounded((low + high) / 2)
        if middle is None or middle in {low, high}:
            break
        low, high = (middle, high) if _covers(budget, relation, selections, middle) else (low, middle)
    return low if low > 0 else None


def _covers(budget: Budget, relation: NeighbouringRelation, selections: int, range_: Decimal) -> bool:
    """Return whether the budget covers this number of selections, by `Budget.allows` without a list of charges."""
    parameter = selection_charge(1, range_, relation).parameter
    ranges = np.full(selections, parameter), np.ones(selections)
    together = columns_of(budget.beside).with_ranges(*ranges).for_groups(budget.group)
    if budget.rho is not None:
        return together.rho() <= budget.rho
    return together.epsilon(budget.accountant, budget.delta) <= (budget.left or 0.0)


def _rounded(value: Decimal) -> Decimal | None:
    """Return a value with six digits, rounded down; None if it is too small for the sampler's tables."""
    if value < Decimal("1e-9"):
        return None
    kept = min(value, _LARGEST_RANGE)
    return kept.quantize(Decimal(1).scaleb(kept.adjusted() - _DIGITS + 1), rounding=ROUND_DOWN)

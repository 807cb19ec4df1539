"""The interface of plans of counts with noise on several levels: relation, budget, noise, costs, and their file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    amount_for,
    measurement_charge,
    measurement_scale,
)
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Whole
from dpopt.errors import PlanError, WorkloadError
from dpopt.models.noise_budgets.budget_program import SolvedBudget
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.queries.ranges.grids import Level
from dpopt.synopses.synopsis import SynopsisPlan

_MOST_DIGITS = 18  # thousands of digits are refused by Python, with another error


def whole_number(text: str) -> int | None:
    """Return the whole number of at least 0 that a text of up to 18 digits stands for, spaces around it; else None."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None


LARGEST_SIZE = 2**62

RECORDS, QUERIES = Whole("the number of records"), Whole("the number of queries")
"""Types of plans."""

_LEAST_VARIANCE = 1e-12  # 0 would stand for a count that is known exactly


LEAST_SHARE_OF_BINS = 0.02
"""Single bins always get at least this share of the budget: without them only wide ranges would have an answer."""


@dataclass(frozen=True, slots=True)
class LevelNoise:
    """The amounts that a budget pays for on levels that divide all records; raises as `whole_amount` does."""

    budget: Budget
    relation: NeighbouringRelation

    @property
    def known_total(self) -> bool:
        """Whether the number of records is public."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    def program(self) -> dict[str, Any]:
        """Return the part of it that a program of noise budgets takes."""
        return {"amount": whole_amount(self.budget), "least": LEAST_SHARE_OF_BINS, **self._noise()}

    def plan(self, amounts: NDArray[np.float64], measured: Sequence[int], size: int | None) -> dict[str, Any]:
        """Return the part of it that a plan takes, if the measured levels get these amounts."""
        of = partial(measurement_scale, **self._noise())
        return {
            "relation": self.relation,
            "budget": self.budget,
            "gaussian": is_gaussian(self.budget),
            "scales": tuple(of(amount=float(amounts[place])) for place in measured),
            "size": size,
        }

    def _noise(self) -> dict[str, Any]:
        return {"sensitivity": node_sensitivity(self.relation), "gaussian": is_gaussian(self.budget)}


OnSolved = Callable[[SolvedBudget | None, float | None], None]
"""Receives how a solver's budget compares with our own, and the proven gap; None without solver or proof."""


def discard(solved: SolvedBudget | None, gap: float | None) -> None:
    """Take no notice of a solver."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CountsPlan(SynopsisPlan, ABC):
    """The plan of a release of counts: levels, each of which divides all records, with noise of its own."""

    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    scales: tuple[float, ...]
    """Scale of the noise of each measured level, in records."""
    ranges: str
    """For which ranges or boxes the budget was spread."""
    size: int | None
    """The public number of records under replace-one; None under add-remove, where nobody needs to know it."""
    predicted: Mapping[str, float]
    """Mean variance of each group of ranges or boxes, in records squared."""

    def __post_init__(self) -> None:
        check_size(self.size, self.relation)

    @property
    @abstractmethod
    def level_names(self) -> tuple[str, ...]:
        """The measured levels in words; they name the measurements and their charges."""

    @property
    @abstractmethod
    def cells_shape(self) -> tuple[int, ...]:
        """Bins of each axis."""

    @abstractmethod
    def level_shapes(self) -> list[tuple[int, ...]]:
        """Return how many nodes or blocks each measured level has, along each axis."""

    @abstractmethod
    def measurements(self) -> Iterator[Counted]:
        """Return the measurement of each level, except levels in rounds."""

    @property
    def round_levels(self) -> tuple[Level, ...]:
        """The measured shapes of blocks, single cells first, if they are measured in rounds; otherwise none."""
        return ()

    @property
    def rounds_of_sums(self) -> SumsInRounds:
        """Measurements in rounds, the largest blocks first."""
        return SumsInRounds("blocks in rounds", self.scales[::-1], self.gaussian)

    @property
    def expected_error(self) -> float:
        """The product of the mean variances of all groups of ranges or boxes."""
        return prod(self.predicted.values())

    @property
    def scales_in_records(self) -> tuple[float, ...]:
        """Scale of the noise of each measured level, in records."""
        return self.scales

    @property
    def sensitivity(self) -> int:
        """In how many counts of a level two neighbours differ."""
        return node_sensitivity(self.relation)

    def charges(self) -> list[Charge]:
        """Return the charge of each level, in the order of the levels, or of all rounds together."""
        if self.round_levels:
            return [self.rounds_of_sums.charge(1, self.relation)]
        return [
            measurement_charge(name, self.sensitivity, scale, gaussian=self.gaussian, relation=self.relation)
            for name, scale in zip(self.level_names, self.scales, strict=True)
        ]

    def derived(self) -> dict[str, Any]:
        """Return derived figures, including the levels in words."""
        return {**super().derived(), "level_names": list(self.level_names)}


def check_size(size: int | None, relation: NeighbouringRelation) -> None:
    """Refuse a number of records that does not belong to a relation."""
    if relation is NeighbouringRelation.ADD_REMOVE and size is not None:
        raise PlanError(
            f"found the number of records {size:,}, which is not used under add-remove; leave it out, or take replace"
        )
    if relation is NeighbouringRelation.REPLACE_ONE and (size is None or not 0 <= size <= LARGEST_SIZE):
        found = "no number of records" if size is None else f"the number of records {size:,}"
        raise PlanError(f"found {found}, which is public under replace-one: give it (--n), from 0 to {LARGEST_SIZE:,}")


def check_rising(what: str, found: tuple[int, ...], first: range, last: range) -> None:
    """Refuse numbers that do not increase from one of the first range to one of the last."""
    if not found or list(found) != sorted(set(found)) or found[0] not in first or found[-1] not in last:
        least, most = (
            " to ".join(map(str, dict.fromkeys((one[0], one[-1])))) if one else "none" for one in (first, last)
        )
        raise PlanError(f"found the {what} {found}; expected increasing ones from {least} on, the last one {most}")


def check_scales(scales: tuple[float, ...], levels: Sequence[object]) -> None:
    """Refuse scales that no measurement has, and another number of them than of levels."""
    if len(scales) != len(levels):
        raise PlanError(f"found {len(scales)} scales for {len(levels)} levels")
    for scale in scales:
        if not SMALLEST_SCALE <= scale < LARGEST_SCALE:
            raise PlanError(
                f"found the scale of noise {scale!r}; expected a number from {SMALLEST_SCALE:g} to below "
                f"{LARGEST_SCALE:g}"
            )


def check_confidence(confidence: float) -> None:
    """Refuse a probability of bounds that does not lie between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")


def node_sensitivity(relation: NeighbouringRelation) -> int:
    """Return in how many nodes of a level two neighbours differ."""
    return 1 if relation is NeighbouringRelation.ADD_REMOVE else 2


def is_gaussian(budget: Budget) -> bool:
    """Return which noise a budget pays for: Gaussian with the accountant `ZCDP`, Laplace with `PURE`."""
    if budget.accountant not in {Accountant.PURE, Accountant.ZCDP}:
        raise PlanError(
            f"the accountant {budget.accountant.value!r} has no figure for the noise of counts; use 'pure' or 'zcdp'"
        )
    return budget.accountant is Accountant.ZCDP


def whole_amount(budget: Budget) -> float:
    """Return a budget's amount for noise: rho of zCDP for Gaussian noise, else epsilon."""
    amount = amount_for(budget, gaussian=is_gaussian(budget))
    if not amount > 0:
        raise PlanError(f"{budget.describe()} leaves nothing to measure with; raise the budget")
    return amount


def noise_variance(scale: float, *, gaussian: bool) -> float:
    """Return the variance of discrete Gaussian (an upper bound) or discrete Laplace noise."""
    if gaussian:
        return max(scale * scale, _LEAST_VARIANCE)
    ratio = exp(-1.0 / scale)
    return max(2.0 * ratio / (1.0 - ratio) ** 2, _LEAST_VARIANCE)

"""The plan of a split: how often each axis is cut at noisy medians, with how much noise, and how boxes are counted.

Every box of the partition is cut along axis 1, then its parts along axis 2, and so on, each axis `rounds` times: 2^G boxes, G =
rounds D. Writing t for what the noise of no comparison exceeds with probability 1 - beta, and n for the number of records:

    a part of a box with m records has at most (m + t) / 2, without the bins on which the cut falls                 (1)
    so that a box has at most M = n / 2^G + t (1 - 2^-G)
    a face of a box that is asked for crosses at most 2^(rounds (D - 1)) boxes: at each cut along its axis it goes   (2)
    one way, at the others both
    an answer is off by at most 2 D 2^(rounds (D - 1)) M + r, where r is the noise of the sums of boxes              (3)

(1) holds where few records share a value; the bounds of answers do not count on it, they come from the measured sums.

Source: Blum, Ligett and Roth 2011, section 4 says that intervals extend to rectangles, and leaves it there; this is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log2, prod
from typing import Any

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, PlanError
from dpopt.files.codec import decode, encode
from dpopt.private.curators.searching_curator import MedianCut, comparisons_needed
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.synopses.histograms.counts_plan import (
    check_scales,
    gaussian_noise,
    node_sensitivity,
)
from dpopt.synopses.histograms.grids.grid_plan import LARGEST_GRID
from dpopt.synopses.intervals.limits import check_records, check_unit
from dpopt.synopses.intervals.partition import LARGEST_PARTITION

KIND = "split"


@dataclass(frozen=True)
class SplitPlan:
    """What a release of boxes does.

    Attributes
    ----------
    shape : tuple of int
        Bins of each column.
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
    size : int
        The number of records, public under replace-one; under add-remove a number near it, for planning alone.
    rounds : int
        How often each axis is cut, at least 1.
    scale : float
        Of the noise of each comparison, in records.
    mass_depths : tuple of int
        The levels whose boxes are counted, as numbers of cuts, increasing; the last one is that of the boxes, all cuts.
    mass_scales : tuple of float
        Of the noise of the counts of each of them, in records.
    beta : float
        With which probability the stated error may be exceeded.
    error : float
        The proven error, in records: of all boxes together, where few records share a value.
    expected : float
        What the bound of a large box comes to, in records, with noise of its usual size: no theorem.
    """

    shape: tuple[int, ...]
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    size: int
    rounds: int
    scale: float
    mass_depths: tuple[int, ...]
    mass_scales: tuple[float, ...]
    beta: float
    error: float
    expected: float

    def __post_init__(self) -> None:
        check_grid(self.shape)
        check_records(self.size)
        check_unit("beta", self.beta)
        if self.rounds < 1 or self.depth > log2(LARGEST_PARTITION):
            raise PlanError(
                f"found {self.rounds} cuts of each of {len(self.shape)} axes; expected 1 or more, and at most "
                f"{LARGEST_PARTITION:,} boxes"
            )
        rising = all(low < high for low, high in zip(self.mass_depths, self.mass_depths[1:], strict=False))
        if (
            not self.mass_depths
            or not rising
            or self.mass_depths[0] < 0
            or self.mass_depths[-1] != self.depth
        ):
            raise PlanError(
                f"found counts of the boxes after {self.mass_depths} cuts; expected increasing numbers that end with "
                f"{self.depth}"
            )
        if len(self.mass_scales) != len(self.mass_depths):
            raise PlanError(f"found {len(self.mass_scales)} scales for {len(self.mass_depths)} levels")
        check_scales((self.scale, *self.mass_scales))

    @property
    def depth(self) -> int:
        """How many cuts lead to a box, G."""
        return self.rounds * len(self.shape)

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    @cached_property
    def cuts(self) -> tuple[MedianCut, ...]:
        """The cuts in their order: axis 0, 1, ..., and again."""
        return tuple(
            MedianCut(number + 1, axis, comparisons, self.scale, self.gaussian)
            for number, (axis, comparisons) in enumerate(cuts_of(self.shape, self.rounds))
        )

    def charges(self) -> list[Charge]:
        """Return what everything costs: all cuts, then the counts of boxes, level by level."""
        searches = [cut.charge(self.relation) for cut in self.cuts]
        return [
            *(charge for charge in searches if charge is not None),
            *(
                measurement_charge(
                    boxes_after(depth),
                    node_sensitivity(self.relation),
                    scale,
                    gaussian=self.gaussian,
                    relation=self.relation,
                )
                for depth, scale in zip(self.mass_depths, self.mass_scales, strict=True)
            ),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "kind": KIND,
            "shape": list(self.shape),
            "relation": self.relation.value,
            "neighbours": self.budget.neighbours(self.relation),
            "budget": encode(self.budget),
            "noise": DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE,
            "size": self.size,
            "rounds": self.rounds,
            "comparisons": [cut.comparisons for cut in self.cuts],
            "scale": self.scale,
            "counted": [
                {"after_cuts": depth, "scale": scale}
                for depth, scale in zip(self.mass_depths, self.mass_scales, strict=True)
            ],
            "beta": self.beta,
            "error": self.error,
            "expected_bound": self.expected,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SplitPlan:
        """Read what `to_json` gave."""
        return cls(
            shape=tuple(int(bins) for bins in given["shape"]),
            relation=NeighbouringRelation(given["relation"]),
            budget=decode(Budget, given["budget"], "a budget", AccountingError),
            gaussian=gaussian_noise(given["noise"]),
            size=int(given["size"]),
            rounds=int(given["rounds"]),
            scale=float(given["scale"]),
            mass_depths=tuple(int(level["after_cuts"]) for level in given["counted"]),
            mass_scales=tuple(float(level["scale"]) for level in given["counted"]),
            beta=float(given["beta"]),
            error=float(given["error"]),
            expected=float(given["expected_bound"]),
        )


def check_grid(shape: tuple[int, ...]) -> None:
    """Refuse grids that are none, or too large.

    Raises
    ------
    PlanError
        With the limits.
    """
    if len(shape) < 2 or min(shape) < 2 or prod(shape) > LARGEST_GRID:
        raise PlanError(
            f"boxes are of 2 columns or more with 2 bins or more each, and of at most {LARGEST_GRID:,} cells; found "
            f"{' x '.join(f'{bins:,}' for bins in shape) or 'no column'}"
        )


def cuts_of(shape: tuple[int, ...], rounds: int) -> list[tuple[int, int]]:
    """Return the axis of each cut, and how many comparisons it may take.

    After k cuts along an axis of N bins a box has at most N - k of them, and may be cut at N - k - 1 places.
    """
    return [
        (axis, comparisons_needed(max(bins - before - 1, 1)))
        for before in range(rounds)
        for axis, bins in enumerate(shape)
    ]


def boxes_after(depth: int) -> str:
    """Return the name of a measurement of boxes; it is the label of its charge."""
    return f"records in each box after {depth} cuts"

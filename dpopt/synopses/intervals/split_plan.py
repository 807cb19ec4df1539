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

from dataclasses import dataclass
from functools import cached_property
from math import log2, prod
from typing import Literal

from dpopt.accounting.charges import Charge
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import MedianCut, comparisons_needed
from dpopt.synopses.histograms.grids.grid_plan import LARGEST_GRID
from dpopt.synopses.intervals.partition import LARGEST_PARTITION
from dpopt.synopses.intervals.partition_plan import PartitionPlan


@dataclass(frozen=True, kw_only=True)
class SplitPlan(PartitionPlan):
    """What a release of boxes does.

    Attributes
    ----------
    rounds : int
        How often each axis is cut, at least 1.
    mass_depths : tuple of int
        The levels whose boxes are counted, as numbers of cuts, increasing; the last one is that of the boxes, all cuts.
    error : float
        The proven error, in records: of all boxes together, where few records share a value.
    expected : float
        What the bound of a large box comes to, in records, with noise of its usual size: no theorem.
    """

    parts = "boxes"
    kind: Literal["split"] = "split"
    rounds: int
    mass_depths: tuple[int, ...]
    expected: float

    def __post_init__(self) -> None:
        check_grid(self.shape)
        super().__post_init__()
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

    @property
    def depth(self) -> int:
        """How many cuts lead to a box, G."""
        return self.rounds * len(self.shape)

    @property
    def expected_error(self) -> float:
        """The error to expect, in records."""
        return self.expected

    @property
    def aim(self) -> int:
        """How many records each box is searched to have."""
        return self.size >> self.depth

    @cached_property
    def cuts(self) -> tuple[MedianCut, ...]:
        """The cuts in their order: axis 0, 1, ..., and again."""
        return tuple(
            MedianCut(number + 1, comparisons, self.scale, self.gaussian, axis)
            for number, (axis, comparisons) in enumerate(cuts_of(self.shape, self.rounds))
        )

    def charges(self) -> list[Charge]:
        """Return what everything costs: all cuts, then the counts of boxes, level by level."""
        searches = [cut.charge(self.relation) for cut in self.cuts]
        found = [charge for charge in searches if charge is not None]
        return found + self.charges_of_sums([boxes_after(depth) for depth in self.mass_depths])

    def in_words(self) -> list[str]:
        """Return how boxes are cut and counted."""
        steps = sum(cut.comparisons for cut in self.cuts)
        levels = ", ".join(
            f"{depth} (scale {scale:,.4g})"
            for depth, scale in zip(self.mass_depths, self.mass_scales, strict=True)
        )
        searched = (
            f"each column is cut {self.rounds} times, into {2**self.depth:,} boxes: {steps} comparisons of all boxes, with "
            f"{self.noise_in_words}"
        )
        expected = (
            f"expected bound of a large box: {self.expected:,.0f} records ({self.expected / self.size:.3g} of all); the bound "
            "of an answer comes from the counts of boxes"
        )
        return [searched, f"boxes are counted after these numbers of cuts: {levels}", expected]

    @property
    def proven_for(self) -> str:
        """For which tables the stated error holds."""
        return ", if few records share a value"


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

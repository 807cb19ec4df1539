"""Measurements of counts in bins: sums over groups, the counts in order, the number of used bins, sums over intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.conversions import sum_upward
from dpopt.accounting.measurements import joint_scale
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.constraints import Whole
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.noisy_counts import NamedNoise, noise_charge
from dpopt.private.tables.bin_counts import BinCounts, ColumnCounts


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums(NamedNoise):
    """Sums over groups of bins that have no bin in common, such as one level of a tree."""

    groups: NDArray[np.int64]
    """Shape (n,). The group of each bin; -1 for bins that are in none."""
    number: int
    """How many groups there are."""

    def __post_init__(self) -> None:
        NamedNoise.__post_init__(self)
        if self.groups.size and not (self.groups.min() >= -1 and self.groups.max() < self.number):
            raise PlanError(f"{self.name}: groups are numbered 0 to {self.number - 1:,}, and -1 is none")

    @classmethod
    def blocks(cls, name: str, scale: float, *, gaussian: bool, bins: int, height: int) -> GroupSums:
        """Return the sums over blocks of 2^height bins; the last block can be shorter."""
        groups = np.arange(bins, dtype=np.int64) >> height
        return cls(name, scale, gaussian, groups, int(groups[-1]) + 1)

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** A record lies in one bin, and a bin in at most one group: 1 in L1 and L2 under add-remove; 2 in
        L1 and sqrt 2 in L2 under replace-one. **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy:
        C1, C5 in docs/privacy. Test: `tests/private/test_bin_curator.py`.
        """
        if bins_of_a_record != 1:
            raise PlanError(f"{self.name}: groups of nodes are not measured; an edge may count twice in one")
        return noise_charge(self, once_or_twice(1, relation), relation)

    def exact(self, counts: BinCounts, *_: object) -> NDArray[np.int64]:
        """Return the sums, (number,). Private."""
        if self.groups.shape != counts._counts.shape:
            raise PrivateDataError(
                f"{self.name}: the plan was made for {self.groups.size:,} bins, and {counts._counts.size:,} were "
                f"counted"
            )
        inside = self.groups >= 0
        sums = np.zeros(self.number, dtype=np.int64)
        np.add.at(sums, self.groups[inside], counts._counts[inside])
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class SumsInRounds:
    """Sums over groups of bins in rounds: the last measurement of a group gets the whole rest of its bins' budget."""

    name: str
    """Name of the measurement."""
    scales: tuple[float, ...]
    """Of the noise of each round, in records."""
    gaussian: bool

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge of all rounds together.

        **Sensitivity.** That of `GroupSums`. **Theorem.** No bin costs more than all rounds with their own noise: a
        group of a last time costs what its round and all later ones do, and its bins are measured no more
        (`dpopt.private.curators.prefix_curator`). It is one charge, since a group of a last time is one draw, whose
        epsilon is a sum, and not several draws of its parts. Privacy: C1, C5, C20 in docs/privacy. Test:
        `tests/private/test_rounds_curator.py`.
        """
        none = np.zeros(0, dtype=np.int64)
        each = [
            GroupSums(self.name, scale, self.gaussian, none, 0).charge(bins_of_a_record, relation)
            for scale in self.scales
        ]
        return replace(each[0], parameter=sum_upward(np.array([one.parameter for one in each])))

    def sums(
        self, place: int, groups: NDArray[np.int64], last: NDArray[np.bool_]
    ) -> list[tuple[NDArray[np.bool_], GroupSums]]:
        """Return the groups of a round that are measured again, and those of a last time, each with their sums."""
        found, name = [], f"{self.name}, round {place + 1}"
        for chosen, scales in ((~last, self.scales[place : place + 1]), (last, self.scales[place:])):
            if chosen.any():
                scale = scales[0] if len(scales) == 1 else joint_scale(scales, gaussian=self.gaussian)
                numbers = np.append(np.where(chosen, np.cumsum(chosen) - 1, -1), -1)  # of group -1 too, the last place
                number = int(np.count_nonzero(chosen))
                found.append((chosen, GroupSums(name, scale, self.gaussian, numbers[groups], number)))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SortedCounts(NamedNoise):
    """The counts in increasing order; the largest ones where fewer are asked for, zeros first where more are."""

    length: Annotated[int, Whole("the number of sorted counts")]
    """How many."""
    ranked: int | None = None
    """How many of the largest are measured one by one. Of the others it is measured how many are at least length - 1,
    ..., 2, 1. None: all are measured one by one."""

    def __post_init__(self) -> None:
        NamedNoise.__post_init__(self)
        if self.ranked is not None and not 0 <= self.ranked <= self.length:
            raise PlanError(
                f"{self.name}: of {self.length:,} counts 0 to {self.length:,} are measured one by one, found "
                f"{self.ranked:,}"
            )

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** A record counts in one bin (a table) or two (an edge of a graph), and sorting brings no two
        vectors farther apart: 1 or 2 in L1 and in squared L2 under add-remove, 2 or 4 under replace-one. Hay et al.
        2010, Proposition 3, is the case of a table under add-remove; for an undirected graph it is 2, not 1. With
        `ranked`: the same in L1, but both ends of an edge may count in one number: the squared L2 is 4, and 8 under
        replace-one. **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C6 in docs/privacy.
        Test: `tests/private/test_bin_curator.py`.
        """
        together = self.gaussian and self.ranked is not None
        moved = bins_of_a_record**2 if together else bins_of_a_record
        return noise_charge(self, once_or_twice(moved, relation), relation)

    def exact(self, counts: BinCounts, *_: object) -> NDArray[np.int64]:
        """Return the counts in order, (length,); with `ranked` (length - 1 + ranked,), the numbers of others first. Private."""
        ordered = np.sort(counts._counts)[-self.length :]
        ordered = np.concatenate((np.zeros(self.length - ordered.size, dtype=np.int64), ordered))
        if self.ranked is None:
            return ordered
        others, largest = np.split(ordered, [self.length - self.ranked])
        at_least = others.size - np.searchsorted(others, np.arange(self.length - 1, 0, -1))
        return np.concatenate((at_least.astype(np.int64), largest))


@dataclass(frozen=True, slots=True, eq=False)
class BinsInUse(NamedNoise):
    """How many bins have a record: for a graph, how many nodes have an edge."""

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** With k bins for a record (1 in a table, 2 for an edge): k in L1 and k in L2 under both
        relations. **Theorem.** `dpopt.accounting.measurements.measurement_charge`, which takes the squared L2
        sensitivity for Gaussian noise. Privacy: C1, C7 in docs/privacy. Test: `tests/private/test_bin_curator.py`.
        """
        sensitivity = bins_of_a_record**2 if self.gaussian else bins_of_a_record
        return noise_charge(self, sensitivity, relation)

    def exact(self, counts: BinCounts, *_: object) -> NDArray[np.int64]:
        """Return the number, (1,). Private."""
        return np.array([np.count_nonzero(counts._counts)], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums(NamedNoise):
    """Sums over disjoint intervals of cells."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    """Shape (m,). The first cell of each interval, and the one after its last; in order."""
    columns: int
    """In how many columns intervals lie at most; so much is charged, whatever the intervals are: they depend on
    released values, and the charge was fixed before."""

    def __post_init__(self) -> None:
        NamedNoise.__post_init__(self)
        in_order = bool(np.all(self.starts < self.stops) and np.all(self.stops[:-1] <= self.starts[1:]))
        if not self.starts.size or self.starts.shape != self.stops.shape or self.starts[0] < 0 or not in_order:
            raise PlanError(f"{self.name}: expected intervals of cells in order, none with a cell of another")

    def charge(self, ends: NDArray[np.int64], relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** A record lies in at most one cell of each column, and a cell in at most one interval. So a
        record counts in at most one interval of each of `columns` columns: as much in L1, and in squared L2, under
        add-remove, and twice that under replace-one.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C19 in docs/privacy. Test:
        `tests/private/test_column_curator.py`.

        `ends` (columns of the table,) are where the cells of each column end.
        """
        of = np.searchsorted(ends, self.starts, side="right")
        if of[-1] >= ends.size or np.any(self.stops > ends[of]):
            raise PlanError(f"{self.name}: an interval ends beyond its column")
        if np.unique(of).size > self.columns:
            raise PlanError(f"{self.name}: intervals of more than {self.columns:,} columns, which are charged")
        return noise_charge(self, once_or_twice(self.columns, relation), relation)

    def exact(self, counts: ColumnCounts, *_: object) -> NDArray[np.int64]:
        """Return the sums, (m,). Private."""
        return np.asarray(counts._sums[self.stops] - counts._sums[self.starts])

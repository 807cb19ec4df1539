"""Residuals of marginals: the information in the counts over a set of attributes beyond those over its subsets.

The residual of a set A is its marginal, centred along each axis: r_A = P_A m_A, P_A the Kronecker product of I - J /
n_i over A (J all ones, n_i codes of attribute i). A marginal is the sum of the residuals of its subsets, each spread
evenly over the attributes that it lacks,

    m_W = sum over A in W of r_A / N(W - A),    N(S) = prod_{i in S} n_i,    r_{} the number of records,

and residuals of different sets are orthogonal, so that noise on one says nothing of another. In whole numbers, R_A =
N(A) P_A is the Kronecker product of n_i I - J.

With noise of variance v on each number of k_A R_A m_A, least squares knows r_A as well as from the counts of m_A with
noise of variance s_A^2 = v / (k_A N(A))^2 on each. How far a record moves the numbers: C15 in docs/privacy.

Source: Xiao, He, Zhang and Kifer 2023, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
Functions" (ResidualPlanner).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.constraints import constrain
from dpopt.errors import WorkloadError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains

LARGEST_UNIT = 2**21
"""k_A N(A) at most: of up to 2^40 records all numbers stay within 2^61."""

MOST_ENUMERATED = 20
"""Most attributes for which all sets are tried, to find the one in which two records differ most."""

MOST_SUBSETS = 2**22
_NONE = np.iinfo(np.int32).max
_LEAST_LOG = -1e3  # of a share that is 0

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Residuals of several sets of attributes as whole numbers, one for each cell: k_A R_A m_A."""

    marginals: MarginalSet
    """The sets, each once, attributes increasing within a set."""
    factors: NDArray[np.int64]
    """Shape (M,). k_A, at least 1, with k_A N(A) at most 2^21."""
    parts: NDArray[np.int64] | None = None
    """Shape (codes,). The part of each code of each attribute, from 0, one attribute after the other: residuals are those
    of coarse tables, whose n_i are numbers of parts. None: of the marginals themselves."""
    tables: MarginalSet = field(init=False)
    """The marginals, or coarse tables."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        tables = self.marginals
        if self.parts is not None:
            tables = MarginalSet(coarser(tables.domains, self.parts), tables.attributes)
        object.__setattr__(self, "tables", tables)
        rows = self.marginals.attributes
        falling = (rows[:, 1:] >= 0) & (rows[:, 1:] <= rows[:, :-1])
        if falling.any() or len(np.unique(rows, axis=0)) != len(rows):
            raise WorkloadError(
                "residuals: found a set of attributes twice, or one whose attributes do not increase; name each once, "
                "in order"
            )
        most = LARGEST_UNIT // self.tables.cells()
        if self.factors.shape != most.shape or ((self.factors < 1) | (self.factors > most)).any():
            raise WorkloadError(
                f"residuals: found {self.factors.size:,} factors for {len(rows):,} sets of up to "
                f"{self.tables.cells().max():,} cells; expected one for each, from 1 to {LARGEST_UNIT:,} over its "
                f"cells. Leave out sets of more cells, or take smaller factors"
            )

    def __len__(self) -> int:
        """Return the number of cells."""
        return self.tables.number_of_cells

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Refuse, by WorkloadError, attributes and codes that do not exist."""
        self.marginals.check_against(sizes)

    def of(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the residuals of the counts of all cells of the marginals, (cells,), of at most 2^40 records."""
        if self.parts is not None:
            fine, counts = counts, np.zeros(len(self), dtype=np.int64)
            np.add.at(counts, coarse_cells(self.marginals, self.tables, self.parts), fine)
        return np.repeat(self.factors, self.tables.cells()) * centred(self.tables, counts)

    def variances(self, variance: float) -> NDArray[np.float64]:
        """Return s_A^2 of each set, (M,), in records squared, given the variance of the noise on each number."""
        return variance / (self.factors * self.tables.cells().astype(np.float64)) ** 2

    def estimates(self, noisy: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the least-squares estimates of the residuals r_A from noisy values, (cells,)."""
        cells = self.tables.cells().astype(np.float64)
        scales = np.repeat(self.factors * cells**2, self.tables.cells())
        return centred(self.tables, noisy.astype(np.float64)) / scales

    def sensitivity(self, *, replaced: bool, squared: bool) -> int:
        """Return by how much one record, added or replaced, moves the numbers: the squared L2 distance, or L1.

        For replaced records it is an upper bound of L1, and of L2 where more than 20 attributes are named; else exact.
        Privacy: C15 in docs/privacy.
        """
        used = self.marginals.attributes >= 0
        sizes = np.where(used, self.tables.domains.counts[self.marginals.attributes], 0)
        free = np.where(used, sizes - 1, 1).prod(axis=1)  # 0 where an attribute has one code: there is no residual
        if not squared:
            return (1 + replaced) * _sum(self.factors * free << used.sum(axis=1))
        weights = self.factors**2 * self.tables.cells()
        total = _sum(weights * free)
        if not replaced:
            return total
        named, places = np.unique(self.marginals.attributes[used], return_inverse=True)
        if named.size > MOST_ENUMERATED or total >= 2**61:
            least = np.where(used, sizes, np.iinfo(np.int64).max).min(axis=1)
            return 2 * (total + _sum(weights * (free // np.maximum(least - 1, 1))))
        sets = np.zeros(used.shape, dtype=np.int64)
        sets[used] = 1 << places
        products = np.zeros(1 << named.size, dtype=np.int64)
        products[sets.sum(axis=1)] = np.where(free > 0, weights, 0)
        for place, size in enumerate(self.tables.domains.counts[named].tolist()):
            pairs = products.reshape(-1, 2, 1 << place)  # of an attribute: not in A, in A; then: in D or not
            products = np.stack((pairs[:, 0] + (size - 1) * pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1)
        return 2 * (total - int(products.min()))


def coarser(domains: Domains, parts: NDArray[np.int64]) -> Domains:
    """Return parts of codes as codes: `parts`, (codes,), has that of each code, one attribute after the other."""
    owner = np.repeat(np.arange(domains.counts.size), domains.counts)
    fits = parts.shape == owner.shape and bool(((parts >= 0) & (parts < domains.counts[owner])).all())
    numbers = np.maximum.reduceat(parts, domains.starts) + 1 if fits else domains.counts
    starts = np.cumsum(numbers) - numbers
    if not fits or (numbers < np.minimum(domains.counts, 2)).any() or not np.bincount(starts[owner] + parts).all():
        raise WorkloadError(
            f"coarse tables: found {parts.size:,} parts for {owner.size:,} codes; expected one for each, from 0 without "
            f"gaps, and at least two parts of an attribute of several codes"
        )
    return Domains(numbers, starts, (np.arange(numbers.sum()) - np.repeat(starts, numbers)).astype(np.int32))


def cell_codes(marginals: MarginalSet) -> NDArray[np.int64]:
    """Return the codes of each cell, (k, cells), numbered through all attributes; in padding there is any."""
    cells, domains, rows = marginals.cells(), marginals.domains, marginals.attributes
    within = np.arange(marginals.number_of_cells) - np.repeat(marginals.starts[:-1], cells)
    strides, counts, starts = (
        np.repeat(each.T, cells, axis=1)
        for each in (np.maximum(marginals.strides, 1), domains.counts[rows], domains.starts[rows])
    )
    return np.asarray(starts + within // strides % counts)


def coarse_cells(marginals: MarginalSet, tables: MarginalSet, parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell of coarse tables that each cell lies in, (cells,)."""
    strides = np.repeat(tables.strides.T, marginals.cells(), axis=1)
    apart = (strides * parts[cell_codes(marginals)]).sum(axis=0)
    return np.asarray(np.repeat(tables.starts[:-1], marginals.cells()) + apart)


def _sum(numbers: NDArray[np.int64]) -> int:
    """Return a sum that does not wrap around."""
    return sum(map(int, numbers))


def shapes_of(
    marginals: MarginalSet, order: NDArray[np.int64] | None = None
) -> Iterator[tuple[NDArray[np.int64], tuple[int, ...]]]:
    """Yield the marginals (g,) of each shape, and the shape; with `order`, (M, k), also of equal rows there."""
    attributes = marginals.attributes
    shapes = np.where(attributes >= 0, marginals.domains.counts[attributes], 0)
    keys = shapes if order is None else np.hstack((shapes, order))
    found, which = np.unique(keys, axis=0, return_inverse=True)
    by_shape = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(found)))
    for row, group in zip(found.tolist(), np.split(by_shape, ends[:-1]), strict=True):
        yield group, tuple(size for size in row[: shapes.shape[1]] if size)


def places_of(starts: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """Return the places (g, cells) of the cells of marginals with these starts and sizes."""
    return starts[:, None] + np.arange(cells)


def subsets_of(
    marginals: MarginalSet, *, smallest: int = 2
) -> tuple[MarginalSet, NDArray[np.int64], NDArray[np.int64]]:
    """Return the sets of attributes whose residuals the marginals consist of, and which lie in which marginal.

    These are the non-empty subsets of the marginals' attributes, each once, by number of attributes, then in
    lexicographic order; attributes increase within each. For each pair of a marginal and a set within it, (e,) int64,
    follow the numbers of both. Attributes of fewer codes than `smallest` are left aside: 1 keeps those of one code,
    whose residuals are 0.
    """
    rows = marginals.attributes
    rows = np.sort(np.where((rows >= 0) & (marginals.domains.counts[rows] >= smallest), rows, _NONE), axis=1)
    numbers = np.left_shift(1, (rows < _NONE).sum(axis=1)) - 1
    if not 0 < numbers.sum() <= MOST_SUBSETS:
        raise WorkloadError(
            f"{len(rows):,} marginals of up to {rows.shape[1]} attributes have {numbers.sum():,} subsets of "
            f"attributes with at least {smallest} codes; expected 1 to {MOST_SUBSETS:,}: name fewer or smaller marginals"
        )
    wholes = np.repeat(np.arange(len(rows)), numbers)
    masks = np.arange(wholes.size) - np.repeat(np.cumsum(numbers) - numbers, numbers) + 1
    chosen = (masks[:, None] >> np.arange(rows.shape[1])) & 1 > 0
    found, parts = np.unique(np.sort(np.where(chosen, rows[wholes], _NONE), axis=1), axis=0, return_inverse=True)
    order = np.lexsort((*found.T[::-1], (found < _NONE).sum(axis=1)))
    places = np.argsort(order)
    width = int((found < _NONE).sum(axis=1).max())
    kept = np.where(found < _NONE, found, -1)[order, :width]
    return (
        MarginalSet(marginals.domains, freeze(np.ascontiguousarray(kept, dtype=np.int32))),
        wholes,
        places[parts.reshape(-1)],
    )


def largest_parts(marginals: MarginalSet, wholes: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which set each marginal is itself, codes of one value left aside, (M,); -1 where none is left.

    `wholes` and `parts` are those of `subsets_of`, whose sets are sorted by their number of attributes.
    """
    largest = np.full(len(marginals), -1)
    np.maximum.at(largest, wholes, parts)
    return largest


def centred(marginals: MarginalSet, values: NDArray[Number]) -> NDArray[Number]:
    """Return R_A times the values of the cells of each marginal A, (cells,): N(A) times its residual."""
    result = np.empty_like(values)
    for group, shape in shapes_of(marginals):
        places = places_of(marginals.starts[group], prod(shape))
        block = values[places].reshape(-1, *shape)
        for axis, size in enumerate(shape, start=1):
            block = size * block - block.sum(axis=axis, keepdims=True)
        result[places] = block.reshape(places.shape)
    return result


def residuals_of(marginals: MarginalSet, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the residual r_A of each marginal, cell by cell, from the values of its cells, (cells,)."""
    return centred(marginals, values) / np.repeat(marginals.cells(), marginals.cells())


def marginals_from_residuals(
    residuals: MarginalSet, values: NDArray[np.float64], marginals: MarginalSet, size: float
) -> NDArray[np.float64]:
    """Return the marginals whose residuals are given: with estimates of least variance, those of least squares.

    `residuals` are sets of attributes, increasing within each, `values` (..., cells) their residuals, and `size`, that
    of no attributes, the number of records; all in records, and so are the marginals, (..., cells). Sets that are not
    given have the residual 0.
    """
    rows, order = _sorted_rows(residuals, marginals)
    lead = values.shape[:-1]
    result = np.empty((*lead, marginals.number_of_cells))
    found = {
        subset: _found(residuals, rows, subset)
        for width in range(1, rows.shape[1] + 1)
        for subset in combinations(range(rows.shape[1]), width)
    }
    for group, shape in shapes_of(marginals, order):
        axes = order[group[0], : len(shape)].tolist()
        ordered = [shape[axis] for axis in axes]
        block = np.full((*lead, group.size, *ordered), size / prod(shape))
        for subset, which in found.items():
            if subset[-1] >= len(shape) or not (which[group] >= 0).any():
                continue
            kept = [ordered[axis] if axis in subset else 1 for axis in range(len(shape))]
            has = np.flatnonzero(which[group] >= 0)
            part = values[..., places_of(residuals.starts[which[group[has]]], prod(kept))]
            at = (slice(None),) * len(lead) + (has,)
            block[at] += part.reshape(*lead, has.size, *kept) * (prod(kept) / prod(shape))
        back = np.argsort(axes) + len(lead) + 1
        places = places_of(marginals.starts[group], prod(shape))
        result[..., places] = block.transpose(*range(len(lead) + 1), *back).reshape(*lead, *places.shape)
    return result


def summed_over_subsets(sets: MarginalSet, values: NDArray[np.float64], marginals: MarginalSet) -> NDArray[np.float64]:
    """Return for each cell of the marginals the sum of the values of the cells that it lies in, one of each set within.

    `sets` are sets of attributes, increasing within each, `values` (..., cells of the sets).
    """
    spread = marginals_from_residuals(sets, values / np.repeat(sets.cells(), sets.cells()), marginals, 0.0)
    return np.asarray(spread * np.repeat(marginals.cells(), marginals.cells()))


def independent_shares(marginals: MarginalSet, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of all cells if attributes are independent.

    `columns` (..., sum of codes) are the shares of the codes of each attribute, one attribute after the other, in the
    order of the marginals' domains.

    Examples
    --------
    >>> from dpopt.schema.domains import Domains
    >>> two = Domains(np.array([2, 2]), np.array([0, 2]), np.array([0, 1, 0, 1]))
    >>> independent_shares(MarginalSet(two, np.array([[0, 1]])), np.array([0.5, 0.5, 0.8, 0.2])).round(3)
    array([0.4, 0.1, 0.4, 0.1])
    """
    named = np.unique(marginals.attributes[marginals.attributes >= 0])
    ones = MarginalSet(marginals.domains, named[:, None].astype(np.int32))
    first = np.repeat(marginals.domains.starts[named] - ones.starts[:-1], ones.cells())
    with np.errstate(divide="ignore"):
        logs = np.log(columns[..., first + np.arange(first.size)])
    return np.exp(summed_over_subsets(ones, np.maximum(logs, _LEAST_LOG), marginals))


def cell_variances(
    residuals: MarginalSet, variances: NDArray[np.float64], marginals: MarginalSet
) -> NDArray[np.float64]:
    """Return the variance of each cell of the marginals that noise on residuals leaves, (M,), in records squared.

    sum over A in W of s_A^2 prod_{i in A} (1 - 1 / n_i) / N(W - A)^2: the product is the diagonal of P_A. `variances`
    are the s_A^2, (A,); sets that are not given have none.
    """
    rows, _ = _sorted_rows(residuals, marginals)
    counts = marginals.domains.counts
    used = residuals.attributes >= 0
    lost = variances * np.where(used, 1 - 1 / counts[residuals.attributes], 1.0).prod(axis=1)
    scaled = np.append(
        lost * residuals.cells().astype(np.float64) ** 2, 0.0
    )  # the last one stands for sets that are missing
    result = np.zeros(len(marginals))
    for width in range(1, rows.shape[1] + 1):
        for subset in combinations(range(rows.shape[1]), width):
            result += scaled[_found(residuals, rows, subset)]
    return result / marginals.cells().astype(np.float64) ** 2


def _sorted_rows(residuals: MarginalSet, marginals: MarginalSet) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the attributes of each marginal in increasing order, padding last, and which axis each of them is."""
    if not np.array_equal(residuals.domains.counts, marginals.domains.counts):
        raise WorkloadError("the residuals are over other attributes or codes than the marginals; make them for these")
    keys = np.where(marginals.attributes >= 0, marginals.attributes, _NONE)
    order = np.argsort(keys, axis=1, kind="stable")
    return np.take_along_axis(marginals.attributes, order, axis=1), order


def _found(residuals: MarginalSet, rows: NDArray[np.int32], subset: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for each row the place of the set of its attributes at these positions, -1 if no residual has it."""
    wanted = rows[:, list(subset)]
    width = max(residuals.attributes.shape[1], len(subset))
    known_sets, sought_sets = (
        np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=-1)
        for each in (residuals.attributes, wanted)
    )
    every, which = np.unique(np.concatenate((known_sets, sought_sets)), axis=0, return_inverse=True)
    places = np.full(len(every), -1, dtype=np.int64)
    places[which.reshape(-1)[: len(known_sets)]] = np.arange(len(known_sets))
    return np.where((wanted >= 0).all(axis=1), places[which.reshape(-1)[len(known_sets) :]], -1)

"""Grids of cells, an axis for each ordered domain: blocks, loads and texts of boxes, and boxes that divide a grid.

Blocks: the bins of each axis are joined in blocks of 1, 2, 4, ... bins; a block of the grid is a product of these, so
that a level is a tuple with one height for each axis, (0, ..., 0) for single cells. Cells can be put in the order of a
tree.

Boxes: a box is a product of ranges; as text, a range for each column, with commas between them. It has the bins start,
..., stop - 1 of each axis; c boxes are two arrays (c, D) of int64. Boxes that divide a grid stand in the order of the
cuts, without data: the parts of a box take its place, the lower one first, so that what lies in one box of an earlier
cut stays side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, pairwise, product
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.weighted_ranges import height_of, squared_norms

_Number = TypeVar("_Number", np.int64, np.float64)
_MOST_PARTS = 16  # between commas of a box


def sides_of(text: str, axes: Sequence[Bins]) -> list[tuple[int, int]]:
    """Return the range of each column that a text names: "20:40,0:10" (`Bins.range_of`). Labels can hold commas."""
    parts = text.split(",")
    if len(axes) == 1:
        return [axes[0].range_of(text)]
    if len(parts) == len(axes):
        return [bins.range_of(part.strip()) for bins, part in zip(axes, parts, strict=True)]
    found = {tuple(sides) for sides in _sides_with_commas(parts, axes)}
    if len(found) != 1:
        names = ", ".join(bins.name for bins in axes)
        raise WorkloadError(
            f"found the box {text!r}; expected {len(axes)} ranges with commas between them, for {names}"
        )
    return list(found.pop())


def _sides_with_commas(parts: list[str], axes: Sequence[Bins]) -> Iterator[list[tuple[int, int]]]:
    """Yield all readings of parts between commas, of which some are in labels."""
    if len(parts) > _MOST_PARTS:
        return
    for cuts in combinations(range(1, len(parts)), len(axes) - 1):
        joined = [",".join(parts[low:high]).strip() for low, high in pairwise((0, *cuts, len(parts)))]
        with suppress(WorkloadError):
            yield [bins.range_of(part) for bins, part in zip(axes, joined, strict=True)]


Level = tuple[int, ...]


def grid_heights(shape: Sequence[int]) -> Level:
    """Return for each axis the height at which one block holds all its bins."""
    return tuple(height_of(bins) for bins in shape)


def grid_levels(shape: Sequence[int]) -> list[Level]:
    """Return all levels, that of single cells first, in C order."""
    return list(product(*(range(height + 1) for height in grid_heights(shape))))


def blocks_shape(shape: Sequence[int], level: Level) -> tuple[int, ...]:
    """Return how many blocks of a level there are along each axis."""
    return tuple(-(-bins // (1 << height)) for bins, height in zip(shape, level, strict=True))


def block_of_cells(shape: Sequence[int], level: Level) -> NDArray[np.int64]:
    """Return the number of each cell's block, cells and blocks in C order, (cells,)."""
    blocks = blocks_shape(shape, level)
    along = [np.arange(bins, dtype=np.int64) >> height for bins, height in zip(shape, level, strict=True)]
    found = np.zeros((1,) * len(blocks), dtype=np.int64)
    for axis, (number, places) in enumerate(zip(blocks, along, strict=True)):
        found = found * number + places.reshape([-1 if other == axis else 1 for other in range(len(blocks))])
    return found.reshape(-1)


def informative_levels(levels: Sequence[Level], parts: Sequence[Level]) -> NDArray[np.float64]:
    """Return 1 where a level (column) informs about a part (row): if it is nowhere higher; (parts, levels)."""
    of_levels, of_parts = np.array(levels, dtype=np.int64), np.array(parts, dtype=np.int64)
    return np.asarray((of_levels[None, :, :] <= of_parts[:, None, :]).all(axis=2), dtype=np.float64)


def box_variances(
    starts: NDArray[np.int64], stops: NDArray[np.int64], shape: Sequence[int], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum over the parts of load times `inverse` for each box, (q,), without holding all loads at once (LB-7).

    A box has the bins start, ..., stop - 1 of each axis, (q, D); `inverse` (L_1 + 1, ..., L_D + 1) is one over the
    precision of each part.
    """
    check_boxes(starts, stops, shape)
    found = np.broadcast_to(inverse, (len(starts), *inverse.shape))
    for axis, bins in enumerate(shape):
        side = _loads_of_each(starts[:, axis], stops[:, axis], bins)
        found = np.einsum("qh,qh...->q...", side, found)
    return found


def check_boxes(starts: NDArray[np.int64], stops: NDArray[np.int64], shape: Sequence[int]) -> None:
    """Refuse boxes outside the grid, or without a cell."""
    if starts.ndim != 2 or starts.shape != stops.shape or starts.shape[1] != len(shape):
        raise WorkloadError(
            f"expected starts and stops of shape (q, {len(shape)}), found {starts.shape} and {stops.shape}"
        )
    bad = ((starts < 0) | (stops > np.array(shape)) | (starts >= stops)).any(axis=1)
    if bad.any():
        place = int(np.argmax(bad))
        raise WorkloadError(
            f"found the box {starts[place].tolist()} to {stops[place].tolist()}; expected 0 <= start < stop <= "
            f"{list(shape)}"
        )


def halvings(heights: Level) -> list[tuple[int, int]]:
    """Return the side halved at each step from the whole grid down: the axis, and the height of the halves along it.

    The side to be halved is the one of whose halvings the largest share is left; of equal ones the longest, and the
    first. So a short side is first halved early, when blocks still hold many records, and sides of equal length take
    turns.
    """
    left, halved = list(heights), []
    while any(left):
        shares = [(rest / height, height) if rest else (0.0, 0) for rest, height in zip(left, heights, strict=True)]
        axis = max(range(len(left)), key=shares.__getitem__)
        left[axis] -= 1
        halved.append((axis, left[axis]))
    return halved


def halving_order(heights: Level) -> NDArray[np.int64]:
    """Return the cells of a grid of 2^heights bins, numbered in C order, as ordered by a tree that halves sides.

    The sides are those of `halvings`. The cells of each node of `Tree.balanced(cells, 2)` stand side by side then.
    """
    halved = halvings(heights)  # the height of halves is the bit that tells them apart
    strides = np.cumsum((0, *heights[:0:-1]))[::-1]  # in bits
    position = np.arange(1 << len(halved), dtype=np.int64)
    cells = np.zeros_like(position)
    for place, (axis, bit) in enumerate(reversed(halved)):
        cells |= ((position >> place) & 1) << (int(strides[axis]) + bit)
    return cells


def padded_cells(cells: NDArray[np.float64], heights: Sequence[int]) -> NDArray[np.float64]:
    """Return the cells with empty ones after the last bins of each axis, up to powers of 2."""
    whole = np.zeros([1 << height for height in heights])
    whole[tuple(slice(bins) for bins in cells.shape)] = cells
    return whole


def _loads_of_each(starts: NDArray[np.int64], stops: NDArray[np.int64], bins: int) -> NDArray[np.float64]:
    norms = np.array([squared_norms(starts, stops, 1 << height) for height in range(height_of(bins) + 1)]).T
    above = np.concatenate((norms[:, 1:], np.zeros((len(norms), 1))), axis=1)
    return np.asarray(np.maximum(norms - above, 0.0), dtype=np.float64)


_MOST_CELLS = 2**26


def whole_box(shape: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the box that holds the whole grid, as starts and stops (1, D)."""
    stops = np.array([list(shape)], dtype=np.int64)
    return np.zeros_like(stops), stops


def cut_boxes(
    starts: NDArray[np.int64], stops: NDArray[np.int64], axis: int, ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut each box behind the bin `ends` of an axis; a box whose last bin that is stays whole.

    Boxes are starts and stops (c, D), with start <= end < stop along the axis, `ends` (c,). Returned are starts and
    stops of the parts, (p, D), and how many parts, 1 or 2, each box has, (c,).
    """
    if ends.shape != (len(starts),) or np.any((ends < starts[:, axis]) | (ends >= stops[:, axis])):
        raise WorkloadError("boxes are cut behind one of their own bins; these are of other boxes")
    parts = 1 + (ends + 1 < stops[:, axis]).astype(np.int64)
    below, above = np.repeat(starts, parts, axis=0), np.repeat(stops, parts, axis=0)
    first = np.cumsum(parts) - parts
    above[first, axis] = ends + 1
    second = first[parts == 2] + 1
    below[second, axis] = ends[parts == 2] + 1
    return below, above, parts


def box_of_cells(shape: Sequence[int], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the box that each cell of the grid lies in, (cells,) in C order."""
    size = tuple(bins + 1 for bins in shape)
    if prod(size) > _MOST_CELLS:
        raise WorkloadError(f"found a grid of {prod(shape):,} cells; boxes are of at most about {_MOST_CELLS:,}")
    marks = np.zeros((2, *size), dtype=np.int64)  # numbers of boxes, and how many boxes there are
    numbers = np.arange(len(starts), dtype=np.int64)
    for corner in np.ndindex(*(2,) * len(shape)):
        at = np.where(np.array(corner, dtype=bool), stops, starts)
        sign = (-1) ** sum(corner)
        np.add.at(marks[0], tuple(at.T), sign * numbers)
        np.add.at(marks[1], tuple(at.T), sign)
    for axis in range(len(shape)):
        np.cumsum(marks, axis=axis + 1, out=marks)
    inside = marks[(slice(None), *(slice(bins) for bins in shape))]
    if not (inside[1] == 1).all():
        raise WorkloadError("the boxes do not divide the grid: some cells lie in none or in several of them")
    return np.ascontiguousarray(inside[0]).reshape(-1)


def sums_before(cells: NDArray[_Number]) -> NDArray[_Number]:
    """Return the sums over the boxes from the first cell, with a leading 0 along each axis."""
    sums = np.pad(cells, [(1, 0)] * cells.ndim)
    for axis in range(cells.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return sums


def sums_of_boxes(before: NDArray[_Number], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[_Number]:
    """Return the sum over each box, (c,), from `sums_before`."""
    found = np.zeros(len(starts), dtype=before.dtype)
    for corner in np.ndindex(*(2,) * before.ndim):
        at = np.where(np.array(corner, dtype=bool), starts, stops)
        found += (-1) ** sum(corner) * before[tuple(at.T)]
    return found

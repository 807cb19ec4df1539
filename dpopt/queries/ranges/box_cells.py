"""Boxes that divide a grid: cutting them, their bins, and the sums over them; no data.

A box has the bins start, ..., stop - 1 of each axis; c boxes are two arrays (c, D) of int64. Boxes stand in the order of the
cuts: the parts of a box take its place, the lower one first, so that what lies in one box of an earlier cut stays side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError

_MOST_CELLS = 2**26


def whole_box(shape: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the box that holds the whole grid, as starts and stops (1, D)."""
    stops = np.array([list(shape)], dtype=np.int64)
    return np.zeros_like(stops), stops


def cut_boxes(
    starts: NDArray[np.int64], stops: NDArray[np.int64], axis: int, ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut each box behind the bin `ends` of an axis; a box whose last bin that is stays whole.

    Parameters
    ----------
    starts, stops : (c, D) int64
    axis : int
    ends : (c,) int64
        start <= end < stop along the axis.

    Returns
    -------
    starts, stops : (p, D) int64
        The parts.
    parts : (c,) int64
        How many parts each box has, 1 or 2.

    Raises
    ------
    WorkloadError
        If a box does not have its bin.
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


def box_of_cells(
    shape: Sequence[int], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of the box that each cell of the grid lies in, (cells,) in C order.

    Raises
    ------
    WorkloadError
        If the boxes do not divide the grid, or it has more than 2^26 cells.
    """
    size = tuple(bins + 1 for bins in shape)
    if prod(size) > _MOST_CELLS:
        raise WorkloadError(
            f"found a grid of {prod(shape):,} cells; boxes are of at most about {_MOST_CELLS:,}"
        )
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


def sums_before(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums over the boxes from the first cell, with a leading 0 along each axis."""
    sums = np.pad(cells, [(1, 0)] * cells.ndim)
    for axis in range(cells.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return sums


def sums_of_boxes(
    before: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the sum over each box, (c,), from `sums_before`."""
    found = np.zeros(len(starts), dtype=np.int64)
    for corner in np.ndindex(*(2,) * before.ndim):
        at = np.where(np.array(corner, dtype=bool), starts, stops)
        found += (-1) ** sum(corner) * before[tuple(at.T)]
    return found

"""Grids of 2^m bins a side as trees: cells in Morton order, nodes that are cubes, boxes as few nodes.

In Morton order the position of a cell interleaves the bits of its coordinates, so the cells of an aligned cube of side 2^j
stand side by side: the grid is `Tree.balanced(2**(dimensions * m), 2**dimensions)`, and everything that is done with a tree
over ordered bins is done with it.

A box has Theta(side^(dimensions - 1)) nodes, against a logarithmic number in products of trees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.queries.tree import LARGEST_TREE, Tree

LARGEST_DECOMPOSITION = 2**27
"""Nodes of all boxes of one call together, at most."""


def grid_tree(dimensions: int, doublings: int) -> Tree:
    """Return the tree over the cells of a grid with 2^doublings cells a side, in Morton order: 2^dimensions children a node.

    Raises
    ------
    TreeError
        If there is no dimension, or the tree would be too large.
    """
    _check(dimensions, doublings)
    return Tree.balanced(2 ** (dimensions * doublings), 2**dimensions)


def morton_codes(cells: NDArray[np.int64], doublings: int) -> NDArray[np.int64]:
    """Return the position in Morton order of cells (q, D) of a grid with 2^doublings cells a side; (q,).

    The first coordinate has the highest bit of each group.

    Raises
    ------
    TreeError
        If a cell lies outside the grid, or the grid is too large.
    """
    given = np.asarray(cells, dtype=np.int64)
    if given.ndim != 2:
        raise TreeError(f"expected cells of shape (q, dimensions), found {given.shape}")
    dimensions = given.shape[1]
    _check(dimensions, doublings)
    if given.size and not 0 <= given.min() <= given.max() < 2**doublings:
        raise TreeError(f"coordinates of cells lie between 0 and {2**doublings - 1}")
    codes = np.zeros(len(given), dtype=np.int64)
    for bit in range(doublings):
        for axis in range(dimensions):
            codes |= (given[:, axis] >> bit & 1) << (bit * dimensions + dimensions - 1 - axis)
    return codes


def morton_cells(codes: NDArray[np.int64], dimensions: int, doublings: int) -> NDArray[np.int64]:
    """Return the cells (q, dimensions) at these positions in Morton order: the inverse of `morton_codes`.

    Raises
    ------
    TreeError
        If a position lies outside the grid, or the grid is too large.
    """
    given = np.asarray(codes, dtype=np.int64)
    _check(dimensions, doublings)
    if given.size and not 0 <= given.min() <= given.max() < 2 ** (dimensions * doublings):
        raise TreeError(f"positions lie between 0 and {2 ** (dimensions * doublings) - 1}")
    cells = np.zeros((given.size, dimensions), dtype=np.int64)
    for bit in range(doublings):
        for axis in range(dimensions):
            cells[:, axis] |= (given >> (bit * dimensions + dimensions - 1 - axis) & 1) << bit
    return cells


def grid_from_bins(bins: NDArray[np.float64], dimensions: int, doublings: int) -> NDArray[np.float64]:
    """Return values of bins in Morton order as an array with 2^doublings entries along each of its axes.

    Raises
    ------
    TreeError
        If there is not one value for each cell.
    """
    _check(dimensions, doublings)
    if bins.shape != (2 ** (dimensions * doublings),):
        raise TreeError(f"expected {2 ** (dimensions * doublings):,} bins, found shape {bins.shape}")
    cells = morton_cells(np.arange(bins.size, dtype=np.int64), dimensions, doublings)
    grid = np.empty((2**doublings,) * dimensions, dtype=bins.dtype)
    grid[tuple(cells.T)] = bins
    return grid


def box_nodes(
    starts: NDArray[np.int64], stops: NDArray[np.int64], doublings: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes of each box: the largest cubes that lie in it, as few as any.

    Parameters
    ----------
    starts, stops : (q, D) int64
        A box has the cells start, ..., stop - 1 of each axis; 0 <= start <= stop <= 2^doublings.

    Returns
    -------
    boxes, nodes : (e,) int64
        Node `nodes[i]` of the tree of `grid_tree` lies in box `boxes[i]`; sorted by box, then by node.

    Raises
    ------
    TreeError
        If a box lies outside the grid, or the boxes have too many nodes together.
    """
    low, high = np.asarray(starts, dtype=np.int64), np.asarray(stops, dtype=np.int64)
    if low.ndim != 2 or low.shape != high.shape:
        raise TreeError(
            f"expected starts and stops of shape (q, dimensions), found {low.shape}, {high.shape}"
        )
    dimensions = low.shape[1]
    _check(dimensions, doublings)
    if not ((low >= 0) & (low <= high) & (high <= 2**doublings)).all():
        raise TreeError(f"boxes have 0 <= start <= stop <= {2**doublings} along each axis")
    corners = np.stack(np.meshgrid(*[[0, 1]] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    boxes = np.flatnonzero((low < high).all(axis=1))
    cubes = np.zeros(
        (boxes.size, dimensions), dtype=np.int64
    )  # those that meet their box, in units of their side
    found_boxes, found_nodes, number, first = [], [], 0, 0
    for depth in range(doublings + 1):
        side = 2 ** (doublings - depth)
        begin, end = cubes * side, (cubes + 1) * side
        inside = ((begin >= low[boxes]) & (end <= high[boxes])).all(axis=1)
        found_boxes.append(boxes[inside])
        found_nodes.append(first + morton_codes(cubes[inside], depth))
        number += int(inside.sum())
        # Inside a box no smaller cube is needed; outside of it none is.
        boxes, cubes = boxes[~inside], cubes[~inside]
        if (number + boxes.size) * 2**dimensions > LARGEST_DECOMPOSITION:
            raise TreeError(
                f"the boxes have more than {LARGEST_DECOMPOSITION // 2**dimensions:,} nodes together; ask for fewer at once"
            )
        if side > 1:
            half = side // 2
            boxes = np.repeat(boxes, 2**dimensions)
            cubes = (2 * cubes[:, None] + corners).reshape(-1, dimensions)
            meets = ((cubes * half < high[boxes]) & ((cubes + 1) * half > low[boxes])).all(axis=1)
            boxes, cubes = boxes[meets], cubes[meets]
        first += 2 ** (dimensions * depth)
    every_box, every_node = np.concatenate(found_boxes), np.concatenate(found_nodes)
    order = np.lexsort((every_node, every_box))
    return every_box[order], every_node[order]


def _check(dimensions: int, doublings: int) -> None:
    if dimensions < 1 or doublings < 0:
        raise TreeError(f"expected at least 1 dimension and 0 doublings, found {dimensions} and {doublings}")
    if dimensions * doublings > 40 or 2 ** (dimensions * doublings) > LARGEST_TREE:
        raise TreeError(
            f"a tree has at most {LARGEST_TREE:,} nodes; {dimensions} dimensions of 2^{doublings} have more cells"
        )

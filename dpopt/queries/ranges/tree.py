"""Trees over an ordered domain, and the files of hierarchies of bins that a user declares.

In a tree each node stands for an interval of bins, its children divide it, the leaves are the bins.

A hierarchy is nested groups of bins side by side, such as ages, decades and generations. Its file is a JSON list of
bins, named by label or by position (a number from 0), and of groups, again lists; each bin stands in it once, in order:
``[["0", "1"], ["2"], "3"]``. Public.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.files.json_files import read_json_value, shown
from dpopt.queries.ranges.bins import Bins

_Number = TypeVar("_Number", np.int64, np.float64)

LARGEST_TREE = 2**25
"""Nodes, at most."""
DEEPEST = 200
"""Levels, at most."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree with ordered children.

    Nodes are numbered level by level from the root, which is 0, and each level from left to right: the children of a
    node stand side by side.
    """

    children: NDArray[np.int64]
    """Shape (v,). How many children each node has; 0 for leaves."""

    def __post_init__(self) -> None:
        number, children = self.children.size, self.children
        if children.ndim != 1:
            raise TreeError(f"the numbers of children are one list, found the shape {children.shape}")
        if not 1 <= number <= LARGEST_TREE:
            raise TreeError(f"a tree has 1 to {LARGEST_TREE:,} nodes, found {number:,}")
        if children.min() < 0 or int(children.sum()) != number - 1:
            raise TreeError(
                f"the numbers of children of a tree's {number:,} nodes are at least 0 and add up to {number - 1:,}"
            )
        if children[-1] or np.any(self.first_child[:-1] <= np.arange(number - 1)):
            raise TreeError("nodes stand level by level from the root, so that children come after their parents")
        if len(self.levels) > DEEPEST:
            raise TreeError(f"a tree has at most {DEEPEST} levels, found {len(self.levels):,}")

    @classmethod
    def balanced(cls, bins: int, branching: int) -> Tree:
        """Return the tree over `bins` bins whose nodes join `branching` nodes below them, the last one the rest.

        All leaves have the same depth; nothing is padded.
        """
        if bins < 1 or branching < 2:
            raise TreeError(f"expected at least 1 bin and a branching of at least 2, found {bins} and {branching}")
        if bins > LARGEST_TREE:
            raise TreeError(f"a tree has at most {LARGEST_TREE:,} nodes, found {bins:,} bins")
        levels, width = [np.zeros(bins, dtype=np.int64)], bins
        while width > 1:
            above = -(-width // branching)
            counts = np.full(above, min(branching, width), dtype=np.int64)
            counts[-1] = width - branching * (above - 1)
            levels.append(counts)
            width = above
        return cls(freeze(np.concatenate(levels[::-1])))

    @classmethod
    def of_levels(cls, levels: Iterable[Sequence[int]]) -> Tree:
        """Return the tree whose level d (0 is the root's) has nodes with these numbers of children."""
        given = [np.asarray(level, dtype=np.int64) for level in levels]
        expected = 1
        for depth, level in enumerate(given):
            if level.size != expected:
                raise TreeError(f"level {depth} has {level.size:,} nodes; the level above has {expected:,} children")
            expected = int(level.sum())
        if not given or expected:
            raise TreeError("the lowest level has nodes without children")
        return cls(freeze(np.concatenate(given)))

    @classmethod
    def nested(cls, hierarchy: Sequence[Any]) -> Tree:
        """Return the tree of nested lists: a list is a node with its parts as children, anything else is a bin.

        ``[["a", "b"], "c"]`` has the bins a, b, c and a node above a and b.
        """
        levels: list[list[int]] = []
        current: list[Any] = [hierarchy]
        while current:
            if len(levels) >= DEEPEST:
                raise TreeError(f"a tree has at most {DEEPEST} levels")
            parts = [list(node) if isinstance(node, list | tuple) else None for node in current]
            if any(part == [] for part in parts):
                raise TreeError("found a group without bins; each group of a hierarchy has at least one")
            levels.append([0 if part is None else len(part) for part in parts])
            current = [child for part in parts if part is not None for child in part]
        return cls.of_levels(levels)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.children)

    @property
    def bins(self) -> int:
        """The number of leaves."""
        return int(self.leaf_of_bin.size)

    @cached_property
    def first_child(self) -> NDArray[np.int64]:
        """Number of each node's first child, (v,); for a leaf the one that it would have."""
        return freeze(1 + np.concatenate(([0], np.cumsum(self.children)[:-1])).astype(np.int64))

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """Number of each node's parent, (v,); -1 for the root."""
        above = np.repeat(np.arange(len(self), dtype=np.int64), self.children)
        return freeze(np.concatenate((np.array([-1], dtype=np.int64), above)))

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """The numbers of the nodes of each depth, from the root down."""
        found, start, stop = [], 0, 1
        while start < stop:
            found.append(slice(start, stop))
            start, stop = stop, stop + int(self.children[start:stop].sum())
        return tuple(found)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many bins each node has, (v,)."""
        sizes = (self.children == 0).astype(np.int64)
        for level in self.levels[-2::-1]:
            sizes[level] += self.sum_of_children(sizes, level)
        return freeze(sizes)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """The first bin of each node, (v,); its interval is start, ..., start + size - 1."""
        starts = np.zeros(len(self), dtype=np.int64)
        before = np.cumsum(self.size) - self.size  # bins of all nodes before, over all levels
        for level in self.levels[1:]:
            above = self.parent[level]
            starts[level] = starts[above] + before[level] - before[self.first_child[above]]
        return freeze(starts)

    @cached_property
    def leaf_of_bin(self) -> NDArray[np.int64]:
        """The leaf of each bin, (n,)."""
        leaves = np.flatnonzero(self.children == 0)
        return freeze(leaves[np.argsort(self.start[leaves], kind="stable")])

    def sum_of_children(self, values: NDArray[_Number], level: slice) -> NDArray[_Number]:
        """Return for each node of a level the sum of the values (v,) of its children; 0 for leaves."""
        counts = self.children[level]
        inner = np.flatnonzero(counts)
        sums = np.zeros(counts.size, dtype=values.dtype)
        if inner.size:
            first = self.first_child[level][inner]
            below = values[int(first[0]) : int(first[-1] + counts[inner[-1]])]
            sums[inner] = np.add.reduceat(below, first - first[0])
        return sums

    def totals(self, bins: NDArray[_Number]) -> NDArray[_Number]:
        """Return the sum of the bins (n,) of each node, (v,)."""
        if bins.shape != (self.bins,):
            raise TreeError(f"expected {self.bins:,} bins, found an array of shape {bins.shape}")
        sums = np.zeros(len(self), dtype=bins.dtype)
        sums[self.leaf_of_bin] = bins
        for level in self.levels[-2::-1]:
            sums[level] += self.sum_of_children(sums, level)
        return sums


_MOST_COMPARED = 10_000  # labels


def read_hierarchy(path: str | os.PathLike[str], bins: Bins) -> Tree:
    """Read a file of a hierarchy of these bins."""
    name = f"the hierarchy {os.fspath(path)!r}"
    return hierarchy_of(read_json_value(path, name, TreeError), bins, name)


def hierarchy_of(given: Any, bins: Bins, name: str = "the hierarchy") -> Tree:
    """Return the tree of a hierarchy: the whole list is its root, groups are nodes, and bins its leaves, in order."""
    if not isinstance(given, list):
        raise TreeError(f"{name}: expected a list of groups and bins, found {shown(given)}")
    numbers = {label: position for position, label in reversed(list(enumerate(bins.labels or ())))}
    found = [_position(leaf, bins, numbers, name) for leaf in _leaves(given)]
    _check_order(found, bins, name)
    try:
        return Tree.nested(given)
    except TreeError as problem:
        raise TreeError(f"{name}: {problem}") from problem


def deepened(tree: Tree) -> Tree:
    """Return the tree with all leaves on its lowest level: a leaf above it has a chain of single children.

    Each level then divides all bins. Nodes of a level are those of the tree there, and the leaves above it.
    """
    levels: list[NDArray[np.int64]] = []
    nodes = np.zeros(1, dtype=np.int64)
    for _ in range(len(tree.levels) - 1):
        parts = tree.children[nodes]
        counts = np.maximum(parts, 1)
        levels.append(counts)
        first = np.where(parts > 0, tree.first_child[nodes], nodes)  # a leaf stands for itself again
        offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        nodes = np.repeat(first, counts) + offsets
    levels.append(np.zeros(nodes.size, dtype=np.int64))
    return Tree(freeze(np.concatenate(levels)))


def _leaves(given: list[Any]) -> Iterator[Any]:
    """Yield the items that are no lists, from left to right."""
    open_lists = [iter(given)]
    while open_lists:
        for part in open_lists[-1]:
            if isinstance(part, list):
                open_lists.append(iter(part))
                break
            yield part
        else:
            open_lists.pop()


def _position(leaf: Any, bins: Bins, numbers: dict[str, int], name: str) -> int:
    if isinstance(leaf, int) and not isinstance(leaf, bool):
        if not 0 <= leaf < bins.number:
            raise TreeError(f"{name}: found the position {leaf}; bins are numbered 0 to {bins.number - 1:,}")
        return leaf
    if not isinstance(leaf, str):
        raise TreeError(f"{name}: found {shown(leaf)}; expected lists, labels of bins in quotation marks, or positions")
    if bins.labels is None:
        raise TreeError(f"{name}: found {leaf!r}, and the bins have no labels; name them by positions from 0")
    if leaf not in numbers:
        near = difflib.get_close_matches(leaf, bins.labels, n=1) if bins.number <= _MOST_COMPARED else []
        hint = f"did you mean {near[0]!r}?" if near else f"they begin with {bins.labels[0]!r}"
        raise TreeError(f"{name}: found {leaf!r}, which is not a bin of {bins.name}; {hint}")
    return numbers[leaf]


def _check_order(found: list[int], bins: Bins, name: str) -> None:
    """Refuse positions that are not 0, 1, ..., n - 1, with memory for the positions found, not for n."""
    if len(found) == bins.number and all(position == place for place, position in enumerate(found)):
        return
    times = Counter(found)
    twice, most = times.most_common(1)[0] if times else (0, 0)
    if most > 1:
        raise TreeError(f"{name}: the bin {bins.label(twice)!r} stands in it {most} times; each bin stands once")
    missing = bins.number - len(times)
    if missing:
        first = next(place for place in range(bins.number) if place not in times)
        others = f", and {missing - 1:,} more" if missing > 1 else ""
        raise TreeError(f"{name}: the bin {bins.label(first)!r}{others} is missing; every bin stands in it once")
    place = next(place for place, position in enumerate(found) if position != place)
    raise TreeError(
        f"{name}: found the bin {bins.label(found[place])!r} where {bins.label(place)!r} is expected; bins stand in "
        f"their order"
    )

"""Hierarchies of bins that a user declares: nested groups of bins side by side, such as ages, decades and generations.

A file of a hierarchy is a JSON list. What stands in it is a bin, named by its label or by its position (a number from 0), or a
group, again a list; each bin stands in it once, in the order of the bins: ``[["0", "1"], ["2"], "3"]``. Public.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.files.json_files import read_json_value, shown
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree

_MOST_COMPARED = 10_000  # labels


def read_hierarchy(path: str | os.PathLike[str], bins: Bins) -> Tree:
    """Read a file of a hierarchy of these bins.

    Raises
    ------
    TreeError
        If the file cannot be read, is no JSON list, or is no hierarchy of the bins (see `hierarchy_of`).
    """
    name = f"the hierarchy {os.fspath(path)!r}"
    return hierarchy_of(read_json_value(path, name, TreeError), bins, name)


def hierarchy_of(given: Any, bins: Bins, name: str = "the hierarchy") -> Tree:
    """Return the tree of a hierarchy: the whole list is its root, groups are nodes, and bins its leaves, in their order.

    Parameters
    ----------
    given : list
        Nested lists of labels and positions.
    name : str
        Names the hierarchy in messages.

    Raises
    ------
    TreeError
        If something in it is no bin, a bin is missing, stands in it twice or out of order, or a group is empty; the message
        names it.
    """
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
    """Return the tree with all leaves on its lowest level: a leaf above it has one child, which has one child, and so on.

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
    """Yield what is no list, from left to right."""
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
        raise TreeError(
            f"{name}: found {shown(leaf)}; expected lists, labels of bins in quotation marks, or positions"
        )
    if bins.labels is None:
        raise TreeError(f"{name}: found {leaf!r}, and the bins have no labels; name them by positions from 0")
    if leaf not in numbers:
        near = difflib.get_close_matches(leaf, bins.labels, n=1) if bins.number <= _MOST_COMPARED else []
        hint = f"did you mean {near[0]!r}?" if near else f"they begin with {bins.labels[0]!r}"
        raise TreeError(f"{name}: found {leaf!r}, which is no bin of {bins.name}; {hint}")
    return numbers[leaf]


def _check_order(found: list[int], bins: Bins, name: str) -> None:
    """Refuse positions that are not 0, 1, ..., n - 1; what they take is memory for the found ones, not for n."""
    if len(found) == bins.number and all(position == place for place, position in enumerate(found)):
        return
    times = Counter(found)
    twice, most = times.most_common(1)[0] if times else (0, 0)
    if most > 1:
        raise TreeError(
            f"{name}: the bin {bins.label(twice)!r} stands in it {most} times; each bin stands once"
        )
    missing = bins.number - len(times)
    if missing:
        first = next(place for place in range(bins.number) if place not in times)
        others = f", and {missing - 1:,} more" if missing > 1 else ""
        raise TreeError(
            f"{name}: the bin {bins.label(first)!r}{others} is missing; every bin stands in it once"
        )
    place = next(place for place, position in enumerate(found) if position != place)
    raise TreeError(
        f"{name}: found the bin {bins.label(found[place])!r} where {bins.label(place)!r} is expected; bins stand in their order"
    )

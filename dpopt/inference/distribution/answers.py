"""The answers of a distribution over a product universe to all queries of a workload at once.

Marginals share their sums: axes are added up one after the other, and sets of attributes that begin alike share what
was added up so far, so that all marginals together cost a few passes through memory. Parities of binary attributes come
from one fast Walsh-Hadamard transform. Every other clause is read off the marginal over its own attributes.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.inference.distribution.universe import ProductUniverse
from dpopt.queries.clauses import ODD, Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains

MOST_TABLE_CELLS = 2**26
_Step = tuple[int, int, int, int, int]


class AnswerSheet:
    """Answers a fixed set of m queries by a distribution over a universe; marginals are over its domains."""

    def __init__(self, universe: ProductUniverse, queries: MarginalSet | Clauses) -> None:
        self._universe, self._queries = universe, queries
        self._threads = 2
        self._frequencies: NDArray[np.int64] | None = None
        if isinstance(queries, Clauses) and _are_binary_parities(universe, queries):
            self._frequencies, self._signs = _frequencies(universe, queries)
            self._work = np.empty(universe.cells)
            return
        attributes = queries.attributes
        axis_of = np.full(universe.domains.counts.size + 1, len(universe.shape), dtype=np.int64)
        axis_of[universe.axes] = np.arange(len(universe.shape))
        self._order = np.argsort(
            np.where(attributes >= 0, axis_of[attributes], len(universe.shape)), axis=1, kind="stable"
        )
        axes = np.take_along_axis(np.where(attributes >= 0, axis_of[attributes], -1), self._order, axis=1)
        distinct, self._table_of = np.unique(axes, axis=0, return_inverse=True)
        self._table_of = self._table_of.reshape(-1)
        sets = [tuple(axis for axis in row if axis >= 0) for row in distinct.tolist()]
        sizes = [prod(universe.shape[axis] for axis in found) for found in sets]
        self._starts = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64))))
        if self._starts[-1] > MOST_TABLE_CELLS:
            raise ProgramError(
                f"answering the queries takes marginals of {int(self._starts[-1]):,} cells in all, at most "
                f"{MOST_TABLE_CELLS:,} are held; ask fewer or smaller queries"
            )
        steps, room = _elimination(universe.shape, sets, self._starts)
        self._steps = np.array(steps, dtype=np.int64).reshape(-1, 5)
        self._work = np.empty(universe.cells + room + int(self._starts[-1]))
        self._tables = self._work[universe.cells + room :]
        self._steps[:, [0, 4]] += np.where(self._steps[:, [0, 4]] < 0, len(self._work), 0)  # tables count from the end
        if isinstance(queries, MarginalSet):
            self._gather = self._cells_in_order(sets)
        else:
            self._clause_tables(queries, axes)

    def of(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers (m,) of a distribution p (cells,)."""
        from dpopt.inference.distribution.kernels import clause_masses, run_sums, walsh_hadamard

        if self._frequencies is not None:
            np.copyto(self._work, p)
            walsh_hadamard(self._work)
            return np.asarray(0.5 * (1.0 - self._signs * self._work[self._frequencies]))
        np.copyto(self._work[: self._universe.cells], p)
        run_sums(self._work, self._steps)
        if isinstance(self._queries, MarginalSet):
            return np.asarray(self._tables[self._gather])
        answers = np.empty(len(self._queries))
        clause_masses(
            self._tables,
            self._starts[self._table_of],
            self._shapes,
            self._wanted,
            self._literal_signs,
            self._queries.accepted,
            answers,
            0,
            len(answers),
        )
        return answers

    def _cells_in_order(self, sets: list[tuple[int, ...]]) -> NDArray[np.int64]:
        """Return for each cell of the marginals, in their order, where it lies in the tables."""
        places = []
        for table, order in zip(self._table_of.tolist(), self._order.tolist(), strict=True):
            width = len(sets[table])
            shape = [self._universe.shape[axis] for axis in sets[table]]
            inverse = np.argsort(np.array(order[:width]))
            cells = np.arange(prod(shape), dtype=np.int64).reshape(shape).transpose(inverse)
            places.append(cells.reshape(-1) + self._starts[table])
        return freeze(np.concatenate(places))

    def _clause_tables(self, clauses: Clauses, axes: NDArray[np.int64]) -> None:
        shape = np.array([*self._universe.shape, 0], dtype=np.int64)
        self._shapes = freeze(np.ascontiguousarray(shape[axes]))
        self._wanted = freeze(
            np.take_along_axis(wanted_positions(self._universe.domains, clauses), self._order, axis=1)
        )
        self._literal_signs = freeze(np.take_along_axis(clauses.signs, self._order, axis=1))


def wanted_positions(domains: Domains, clauses: Clauses) -> NDArray[np.int64]:
    """Return the position of each literal's code in the domain of its attribute, (m, k); -1 for a code left out."""
    used, values = clauses.attributes >= 0, clauses.values
    largest = max(int(domains.codes.max(initial=0)), int(values.max(initial=0))) + 1
    owner = np.repeat(np.arange(domains.counts.size), domains.counts)
    table = np.full((domains.counts.size, largest), -1, dtype=np.int64)
    table[owner, domains.codes] = np.arange(len(domains.codes)) - domains.starts[owner]
    return np.ascontiguousarray(np.where(used, table[np.where(used, clauses.attributes, 0), values], -1))


def _are_binary_parities(universe: ProductUniverse, clauses: Clauses) -> bool:
    full = (np.uint64(2) << clauses.widths().astype(np.uint64)) - np.uint64(1)
    odd = np.uint64(ODD) & full
    accepted = clauses.accepted.astype(np.uint64)
    wanted = wanted_positions(universe.domains, clauses)
    return bool(
        all(count == 2 for count in universe.shape)
        and ((accepted == odd) | (accepted == (odd ^ full))).all()
        and ((wanted >= 0) | (clauses.attributes < 0)).all()
    )


def _frequencies(universe: ProductUniverse, clauses: Clauses) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the frequency of each parity, and the sign with which its transform enters: answer = (1 - sign F) / 2."""
    used = clauses.attributes >= 0
    bits = np.zeros(universe.domains.counts.size, dtype=np.int64)
    bits[universe.axes] = universe.strides()
    frequencies = np.where(used, bits[np.where(used, clauses.attributes, 0)], 0).sum(axis=1)
    flipped = (wanted_positions(universe.domains, clauses) == 0) ^ ~clauses.signs
    even = clauses.accepted & np.uint32(1)  # accepts no true literal
    flips = (flipped & used).sum(axis=1) + even
    return freeze(frequencies.astype(np.int64)), freeze(1.0 - 2.0 * (flips % 2))


def _elimination(
    shape: tuple[int, ...], sets: list[tuple[int, ...]], starts: NDArray[np.int64]
) -> tuple[list[_Step], int]:
    """Return the steps that add up the marginals over sets of axes, and their memory besides distribution and tables.

    An array at work has the shape (K, remaining axes), K the cells of the axes that are kept. Its first axis goes into
    K for the sets that keep it, at no cost, and is added up for all others. Targets in tables are counted from the end
    of the memory.
    """
    cells, total = prod(shape), int(starts[-1])
    steps: list[_Step] = []
    room = 0

    def visit(source: int, kept: int, axis: int, members: list[int], free: int) -> None:
        nonlocal room
        room = max(room, free - cells)
        rest = prod(shape[axis:])
        finished = [number for number in members if not any(a >= axis for a in sets[number])]
        steps.extend((source, kept, rest, 1, int(starts[number]) - total) for number in finished)
        members = [number for number in members if number not in set(finished)]
        if not members:
            return
        following = min(min(a for a in sets[number] if a >= axis) for number in members)
        if following > axis:  # no set keeps these axes: they are added up together
            gone = prod(shape[axis:following])
            steps.append((source, kept, gone, rest // gone, free))
            source, rest, axis = free, rest // gone, following
            free += kept * rest
            room = max(room, free - cells)
        keep = [number for number in members if axis in sets[number]]
        others = [number for number in members if axis not in sets[number]]
        visit(source, kept * shape[axis], axis + 1, keep, free)
        if others:
            inner = rest // shape[axis]
            steps.append((source, kept, shape[axis], inner, free))
            visit(free, kept, axis + 1, others, free + kept * inner)

    visit(0, 1, 0, list(range(len(sets))), cells)
    return steps, room

"""Clauses gathered by the set of attributes that they name, and a table for each set: how many are true in each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.clauses import Clauses
from dpopt.queries.sensitivity.sensitivity_limits import WIDEST

MOST_CELLS = 1 << 26  # of all tables together: 256 MB


@dataclass(frozen=True, slots=True, eq=False)
class ClauseSets:
    """m clauses ordered by their S sets of attributes, their literals ordered by attribute; made by `gather`.

    Set s has the axes first_axis[s] to first_axis[s + 1] - 1 and the clauses first_clause[s] to first_clause[s + 1] - 1. Axis x
    belongs to attribute axis_attribute[x]; its positions are the codes named[first_named[x]:first_named[x + 1]] that the
    clauses name, increasing, and last "any other code", which exists if real_other[x]. The table of set s has a cell for each
    choice of positions, the last axis running fastest, from first_cell[s] on. Each position of each axis has a message, axis x
    from first_message[x] on.

    Attributes
    ----------
    offsets : (d + 1,) int64
        Where the codes of each attribute start in an array over all codes.
    order : (m,) int64
        Which of the clauses given to `gather` each clause is.
    positions, signs, accepted : (m, k) int32, (m, k) bool, (m,) uint32
        The clauses; position of each literal's code on its axis.
    """

    offsets: NDArray[np.int64]
    order: NDArray[np.int64]
    first_axis: NDArray[np.int64]
    axis_attribute: NDArray[np.int64]
    first_named: NDArray[np.int64]
    named: NDArray[np.int64]
    real_other: NDArray[np.bool_]
    first_clause: NDArray[np.int64]
    positions: NDArray[np.int32]
    signs: NDArray[np.bool_]
    accepted: NDArray[np.uint32]

    def __len__(self) -> int:
        """Return the number of sets S."""
        return self.first_axis.size - 1

    @property
    def first_message(self) -> NDArray[np.int64]:
        """Message of the first position of each axis, (axes + 1,)."""
        return self.first_named + np.arange(self.first_named.size)

    @property
    def first_cell(self) -> NDArray[np.int64]:
        """First cell of each table, (S + 1,)."""
        return starts_of(np.multiply.reduceat(np.diff(self.first_message), self.first_axis[:-1]))

    def numbers_of_cells(self) -> NDArray[np.float64]:
        """Return for each set the number of cells of its table, in floating point, (S,)."""
        return np.multiply.reduceat(np.diff(self.first_message).astype(np.float64), self.first_axis[:-1])

    def cells_with_records(self) -> NDArray[np.int64]:
        """Return for each set how many cells exist, (S,)."""
        return np.multiply.reduceat(np.diff(self.first_named) + self.real_other, self.first_axis[:-1])

    def tables(self) -> NDArray[np.int32]:
        """Return for each cell of each table how many clauses of its set are true there."""
        from dpopt.queries.sensitivity.kernels import fill_tables

        tables = np.zeros(int(self.first_cell[-1]), dtype=np.int32)
        clauses = (self.first_clause, self.positions, self.signs, self.accepted)
        fill_tables(self.first_axis, self.first_named, self.first_cell, *clauses, tables)
        return tables

    def distances(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each chosen set the largest number of its clauses that differ between two cells, else 0; (S,)."""
        from dpopt.queries.sensitivity.kernels import largest_distances

        found = np.zeros(len(self), dtype=np.int64)
        clauses = (self.first_clause, self.positions, self.signs, self.accepted)
        largest_distances(self.first_axis, self.first_named, self.real_other, chosen, *clauses, found)
        return found


def gather(clauses: Clauses, sizes: NDArray[np.int64]) -> tuple[ClauseSets, NDArray[np.int64]]:
    """Return the clauses by their sets of attributes, and the positions of those that are left out.

    Left out are sets of more than WIDEST attributes, and the sets with the largest tables once all others have MOST_CELLS
    cells. Every clause names at least one attribute.
    """
    everything = _gather(clauses, sizes, np.arange(len(clauses)))
    cells = everything.numbers_of_cells()
    by_size = np.argsort(cells, kind="stable")
    fits = np.empty(cells.size, dtype=np.bool_)
    fits[by_size] = np.cumsum(cells[by_size]) <= MOST_CELLS
    fits &= np.diff(everything.first_axis) <= WIDEST
    if fits.all():
        return everything, np.zeros(0, dtype=np.int64)
    kept = np.repeat(fits, np.diff(everything.first_clause))
    return _gather(clauses, sizes, np.sort(everything.order[kept])), everything.order[~kept]


def _gather(clauses: Clauses, sizes: NDArray[np.int64], chosen: NDArray[np.int64]) -> ClauseSets:
    """Return the chosen clauses by their sets of attributes."""
    keys = np.where(clauses.attributes[chosen] < 0, np.int32(sizes.size), clauses.attributes[chosen])
    places = np.argsort(keys, axis=1, kind="stable")
    attributes = np.take_along_axis(keys, places, axis=1)
    order = np.lexsort(attributes.T[::-1])
    attributes, places, chosen = attributes[order], places[order], chosen[order]
    values = np.take_along_axis(clauses.values[chosen], places, axis=1)
    signs = np.take_along_axis(clauses.signs[chosen], places, axis=1)
    new = np.ones(chosen.size, dtype=np.bool_)
    new[1:] = (attributes[1:] != attributes[:-1]).any(axis=1)
    first_clause = np.append(np.flatnonzero(new), chosen.size)
    rows = attributes[first_clause[:-1]]
    first_axis = starts_of(np.count_nonzero(rows < sizes.size, axis=1))
    used = attributes < sizes.size
    axes = first_axis[np.cumsum(new) - 1][:, None] + np.arange(attributes.shape[1])
    largest = int(sizes.max(initial=1))
    found, inverse = np.unique(axes[used] * largest + values[used], return_inverse=True)
    axis_attribute = rows[rows < sizes.size].astype(np.int64)
    counts = np.bincount(found // largest, minlength=axis_attribute.size)
    first_named = starts_of(counts)
    positions = np.zeros(attributes.shape, dtype=np.int32)
    positions[used] = inverse - first_named[axes[used]]
    return ClauseSets(
        offsets=starts_of(sizes),
        order=chosen,
        first_axis=first_axis,
        axis_attribute=axis_attribute,
        first_named=first_named,
        named=found % largest,
        real_other=counts < sizes[axis_attribute],
        first_clause=first_clause,
        positions=positions,
        signs=np.ascontiguousarray(signs),
        accepted=clauses.accepted[chosen],
    )


def largest_without_tables(clauses: Clauses, sizes: NDArray[np.int64]) -> int:
    """Return how many clauses are true together at most, by counting.

    Conjunctions of "=" literals over the same attributes are true together only if they are equal: of each set of attributes
    the most frequent one counts. All other clauses count.
    """
    widths = clauses.widths()
    plain = (clauses.signs.sum(axis=1) == widths) & (
        clauses.accepted == np.uint32(1) << widths.astype(np.uint32)
    )
    chosen = np.flatnonzero(plain)
    if not chosen.size:
        return len(clauses)
    sets = _gather(clauses, sizes, chosen)
    members = np.repeat(np.arange(len(sets)), np.diff(sets.first_clause))
    order = np.lexsort((*sets.positions.T, members))
    rows = np.column_stack((members, sets.positions))[order]
    new = np.ones(chosen.size, dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    most = np.zeros(len(sets), dtype=np.int64)
    np.maximum.at(most, rows[first, 0], np.diff(np.append(first, chosen.size)))
    return int(most.sum()) + len(clauses) - chosen.size


def starts_of(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where parts of these lengths start, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

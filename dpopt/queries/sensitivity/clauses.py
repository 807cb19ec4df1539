"""By how much one record moves the counts of clauses, bounded by weak duality in whole numbers never below the truth.

What is bounded: write q_i(x) in {0, 1} for whether clause i is true of record x. One record added or removed moves the
counts by q(x), replacing x by x' moves them by q(x) - q(x'). All entries are 0, 1 or -1, so L1 and squared L2 are one
number, at most

    add-remove   B = max_x sum_i q_i(x)            over all records x of the schema, whether or not they obey its rules
    replace-one  D = max_{x, x'} sum_i |q_i(x) - q_i(x')|.

The dual: both are as hard as a best response, so they are bounded by weak duality. Clauses over the same set S of
attributes are gathered; f_S(x_S) is how many of them are true, a table over the codes that they name and "any other
code". For any messages theta_{S, a}(v), whole numbers over a common denominator K,

    K B <= sum_a max_v sum_{S with a} theta_{S, a}(v) + sum_S max_{x_S} (K f_S(x_S) - sum_{a in S} theta_{S, a}(x_a)).

The right-hand side is minimized over whole theta_{S, a}(v) by a block coordinate descent (`dual_bound`); whatever it
finds, the bound is evaluated anew from the messages alone, in integers. Privacy: C3 in docs/privacy.

Source: Globerson and Jaakkola 2007, "Fixing max-product" (the descent); Sontag, Globerson and Jaakkola 2011,
"Introduction to dual decomposition for inference", section 1.5 (the bound). Checked against all pairs of records by
`tests/queries/test_sensitivity.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError
from dpopt.queries.clauses import WIDEST, Clauses
from dpopt.queries.counting.answers import uniform_answers
from dpopt.threads import in_threads

if TYPE_CHECKING:
    from dpopt.queries.sensitivity.kernels import ClauseSets

MOST_CELLS = 1 << 26  # of all tables together: 256 MB


def gather(clauses: Clauses, sizes: NDArray[np.int64]) -> tuple[ClauseSets, NDArray[np.int64]]:
    """Return the clauses by their sets of attributes, and the positions of those that are left out.

    Left out are sets of more than WIDEST attributes, and the sets with the largest tables once all others have
    MOST_CELLS cells. Every clause names at least one attribute.
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
    from dpopt.queries.sensitivity.kernels import ClauseSets

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
    first_message = first_named + np.arange(first_named.size)
    cells = np.multiply.reduceat(np.diff(first_message), first_axis[:-1])
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
        first_message=first_message,
        first_cell=starts_of(cells),
        first_clause=first_clause,
        positions=positions,
        signs=np.ascontiguousarray(signs),
        accepted=clauses.accepted[chosen],
    )


def largest_without_tables(clauses: Clauses, sizes: NDArray[np.int64]) -> int:
    """Return how many clauses are true together at most, by counting.

    Conjunctions of "=" literals over the same attributes are true together only if they are equal: of each set of
    attributes the most frequent one counts. All other clauses count.
    """
    widths = clauses.widths()
    plain = (clauses.signs.sum(axis=1) == widths) & (clauses.accepted == np.uint32(1) << widths.astype(np.uint32))
    chosen = np.flatnonzero(plain)
    if not chosen.size:
        return len(clauses)
    sets = _gather(clauses, sizes, chosen)
    members = np.repeat(np.arange(sets.number), np.diff(sets.first_clause))
    order = np.lexsort((*sets.positions.T, members))
    rows = np.column_stack((members, sets.positions))[order]
    new = np.ones(chosen.size, dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    most = np.zeros(sets.number, dtype=np.int64)
    np.maximum.at(most, rows[first, 0], np.diff(np.append(first, chosen.size)))
    return int(most.sum()) + len(clauses) - chosen.size


def starts_of(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where parts of these lengths start, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


DENOMINATOR = 1 << 16  # K
MOST_SWEEPS = 40
WORK = 600_000_000  # cells that the descent visits at most, in all sweeps together: about 20 s on one core
LARGEST_SUM = 1 << 62


def largest_entries(sets: ClauseSets, tables: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each set the largest entry of its table, over the cells that exist, (S,)."""
    return _largest(sets, tables, 1, np.zeros(int(sets.first_message[-1]), dtype=np.int64))


def dual_bound(sets: ClauseSets, tables: NDArray[np.int32]) -> int:
    """Return a whole number that the sum over sets of their entries exceeds at no record.

    The descent ends when a sweep gains less than a part in 1,000, and after WORK cells; it changes how good the bound
    is, never whether it is one.
    """
    from dpopt.queries.sensitivity.kernels import sweep_messages

    messages = np.zeros(int(sets.first_message[-1]), dtype=np.int64)
    sums = np.zeros(int(sets.offsets[-1]), dtype=np.int64)
    best = int(largest_entries(sets, tables).sum())  # the value of messages 0
    visited = tables.size + int(np.diff(sets.offsets)[sets.axis_attribute].sum())
    for sweep in range(min(MOST_SWEEPS, WORK // max(visited, 1))):
        sweep_messages(sets, tables, DENOMINATOR, messages, sums, bool(sweep % 2))
        before, best = best, min(best, dual_value(sets, tables, messages))
        if sweep and before - best <= before // 1000:
            break
    return best


def dual_value(sets: ClauseSets, tables: NDArray[np.int32], messages: NDArray[np.int64]) -> int:
    """Return the objective of the dual at any messages, over K, rounded down; exact.

    All sums are below 2^62 in size, or the value is refused: then it is the number of clauses, which is a bound too.
    """
    from dpopt.queries.sensitivity.kernels import sum_messages

    largest = max(int(messages.max(initial=0)), -int(messages.min(initial=0)))
    terms = int(sets.first_axis[-1]) * largest + sets.number * DENOMINATOR * int(tables.max(initial=0))
    if 2 * terms >= LARGEST_SUM:
        return sets.order.size
    sums = np.zeros(int(sets.offsets[-1]), dtype=np.int64)
    sum_messages(sets, messages, sums)
    attributes = np.maximum.reduceat(sums, sets.offsets[:-1])
    entries = _largest(sets, tables, DENOMINATOR, messages)
    return (int(attributes.sum()) + int(entries.sum())) // DENOMINATOR


def _largest(sets: ClauseSets, tables: NDArray[np.int32], scale: int, messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each set the largest scale * entry - messages of the cell, over the cells that exist, (S,)."""
    from dpopt.queries.sensitivity import kernels as sensitivity_kernels

    largest = np.empty(sets.number, dtype=np.int64)
    sensitivity_kernels.largest_entries(sets, tables, scale, messages, largest)
    return largest


# pairs of cells of one set that are compared for its largest distance, times words of clauses
MOST_PAIRS = 1 << 16


@dataclass(frozen=True, slots=True)
class CountSensitivity:
    """Upper bounds on the change of a vector of counts by one record; each bounds L1 and squared L2 alike."""

    add_remove: int
    replace: int
    """For one record added or removed, and for one record replaced; at least 0."""
    how: str
    """One sentence on how they were found, for the release."""

    def __post_init__(self) -> None:
        if self.add_remove < 0 or not 0 <= self.replace <= 2 * self.add_remove:
            raise WorkloadError(
                f"a sensitivity: found {self.add_remove} (add-remove) and {self.replace} (replace-one), expected whole "
                "numbers from 0, the second at most twice the first"
            )


def count_sensitivity(clauses: Clauses, sizes: NDArray[np.integer], *, replaced: bool = True) -> CountSensitivity:
    """Return bounds on the moves of the clauses' counts, from the public clauses and schema alone.

    Neighbouring relations: one record added or removed, and one record replaced, of any records of the schema.
    Sensitivity and theorem: the head of this file. Checked by `tests/queries/test_sensitivity.py`: never below the
    truth on tiny universes, equal to it on whole marginals.

    Equal clauses count as often as they occur; `sizes` (d,) are the numbers of codes, at least 1. With `replaced` the
    best bound for one record replaced is looked for, which takes as long again; else it is twice the other one.
    """
    codes: NDArray[np.int64] = np.asarray(sizes, dtype=np.int64)
    clauses.check_against(codes)
    key = (clauses.fingerprint(), replaced, *codes.tolist())
    return _of_problem(_Problem(key, clauses, codes, replaced))


@dataclass(frozen=True, slots=True)
class _Problem:
    """A cached question, compared by its key: planner, curator and replay ask the same, and it takes seconds."""

    key: tuple[str | int, ...]
    clauses: Clauses = field(compare=False)
    sizes: NDArray[np.int64] = field(compare=False)
    replaced: bool = field(compare=False)


@lru_cache(maxsize=2)
def _of_problem(problem: _Problem) -> CountSensitivity:
    clauses, codes = problem.clauses, problem.sizes
    always, varying = _tell_apart(clauses, codes)
    constant, clauses = int(always.sum()), clauses.take(np.flatnonzero(varying))
    if not len(clauses):
        return CountSensitivity(constant, 0, "no query distinguishes two records")
    sets, left_out = gather(clauses, codes)
    turned = _negated_where(clauses, uniform_answers(clauses, codes) > 0.5 + 1e-9)  # any choice gives a bound
    found: dict[int, _LargestSum] = {}

    def add(part: slice[int, int, int]) -> None:
        one = turned if part.start else clauses
        of_one = sets._replace(accepted=one.accepted[sets.order])
        found[part.start] = _largest_sum(of_one, one.take(left_out), codes)

    in_threads(add, 1 + problem.replaced, 1, 2, None)
    true = found[0]
    replace = min(len(clauses), 2 * true.bound)
    if problem.replaced:
        false = found[1]
        apart = int(_distances(sets, 2 * np.minimum(true.of_sets, false.of_sets)).sum()) + min(
            2 * true.left_out, 2 * false.left_out, left_out.size
        )
        replace = min(replace, 2 * false.bound, apart)
    return CountSensitivity(constant + true.bound, replace, _how(sets, true))


@dataclass(frozen=True, slots=True, eq=False)
class _LargestSum:
    """How many clauses are true together at most: in each set that has a table, among those left out, and in all."""

    of_sets: NDArray[np.int64]
    left_out: int
    bound: int


def _largest_sum(sets: ClauseSets, left_out: Clauses, sizes: NDArray[np.int64]) -> _LargestSum:
    tables = sets.tables()
    rest = largest_without_tables(left_out, sizes)
    return _LargestSum(largest_entries(sets, tables), rest, dual_bound(sets, tables) + rest)


def _distances(sets: ClauseSets, through: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each set a bound, (S,), on its clauses that differ between two cells: exact, or `through` a centre."""
    clauses = np.diff(sets.first_clause)
    cells = sets.cells_with_records().astype(np.float64)
    exact = cells * (cells - 1) / 2 * -(-clauses // 64) <= MOST_PAIRS
    return np.where(exact, sets.distances(exact), np.minimum(through, clauses))


def _how(sets: ClauseSets, true: _LargestSum) -> str:
    number = f"{sets.number:,} set{'s' * (sets.number != 1)} of attributes"
    if true.bound < int(true.of_sets.sum()) + true.left_out:
        return f"weak duality over the queries of {number}, evaluated in whole numbers"
    rest = " and all that have no table" * (true.left_out > 0)
    return f"the most queries of one set of attributes that are true together, added up over {number}{rest}"


def _tell_apart(clauses: Clauses, sizes: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which clauses are true of every record, and which are true of some and false of others, both (m,).

    A literal about an attribute of one code is always true ("=") or never; every other literal is free, on its own.
    """
    used = clauses.attributes >= 0
    fixed = used & (sizes[clauses.attributes] == 1)
    least = (fixed & clauses.signs).sum(axis=1).astype(np.int64)
    free = (used & ~fixed).sum(axis=1).astype(np.int64)
    reached = ((np.int64(2) << free) - 1) << least  # which numbers of true literals occur
    accepted = clauses.accepted.astype(np.int64) & reached
    return accepted == reached, (accepted != 0) & (accepted != reached)


def _negated_where(clauses: Clauses, chosen: NDArray[np.bool_]) -> Clauses:
    accepted = np.where(chosen, clauses.negated().accepted, clauses.accepted)
    return Clauses(clauses.attributes, clauses.values, clauses.signs, freeze(accepted))

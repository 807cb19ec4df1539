"""How wide the tables of a sensitivity may be.

By how much one record moves the counts of clauses: whole numbers that are never below the truth.

Write q_i(x) in {0, 1} for whether clause i is true of record x. One record added or removed moves the counts by q(x),
replacing x by x' moves them by q(x) - q(x'). All entries are 0, 1 or -1, so L1 and squared L2 are one number, at most

    add-remove   B = max_x sum_i q_i(x)            over all records x of the schema, whether or not they obey its rules
    replace-one  D = max_{x, x'} sum_i |q_i(x) - q_i(x')|.

Both are as hard as a best response, so they are bounded by weak duality. Clauses over the same set S of attributes are
gathered; f_S(x_S) is how many of them are true, a table over the codes that they name and "any other code". For any messages
theta_{S, a}(v), whole numbers over a common denominator K,

    K B <= sum_a max_v sum_{S with a} theta_{S, a}(v) + sum_S max_{x_S} (K f_S(x_S) - sum_{a in S} theta_{S, a}(x_a)).

A block coordinate descent improves the messages; whatever it finds, the bound is evaluated anew from the messages alone, in
integers. Privacy: C3 in docs/privacy.md.

Source: Globerson and Jaakkola 2007, "Fixing max-product" (the descent); Sontag, Globerson and Jaakkola 2011, "Introduction to
dual decomposition for inference", section 1.5 (the bound). Checked against all pairs of records by
`tests/queries/test_sensitivity.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.sensitivity.dual import dual_bound, largest_entries
from dpopt.queries.sensitivity.tables import ClauseSets, gather, largest_without_tables

# pairs of cells of one set that are compared for its largest distance, times words of clauses
MOST_PAIRS = 1 << 16


@dataclass(frozen=True, slots=True)
class CountSensitivity:
    """Upper bounds on what one record moves in a vector of counts; each bounds L1 and squared L2 alike.

    Attributes
    ----------
    add_remove, replace : int
        For one record added or removed, and for one record replaced; at least 0.
    how : str
        One sentence on how they were found, for the release.
    """

    add_remove: int
    replace: int
    how: str

    def __post_init__(self) -> None:
        if self.add_remove < 0 or not 0 <= self.replace <= 2 * self.add_remove:
            raise WorkloadError(
                f"a sensitivity: found {self.add_remove} (add-remove) and {self.replace} (replace-one), expected whole "
                "numbers from 0, the second at most twice the first"
            )


def count_sensitivity(clauses: Clauses, sizes: NDArray[np.integer]) -> CountSensitivity:
    """Return bounds on the moves of the clauses' counts, from the public clauses and schema alone.

    Neighbouring relations: one record added or removed, and one record replaced, of any records of the schema. Sensitivity and
    theorem: the head of this file. Checked by `tests/queries/test_sensitivity.py`: never below the truth on tiny universes,
    equal to it on whole marginals.

    Parameters
    ----------
    clauses
        m clauses; equal ones count as often as they occur.
    sizes : (d,) integers
        Number of codes of each attribute, at least 1.

    Raises
    ------
    WorkloadError
        A clause names an attribute or a code that does not exist.
    """
    codes: NDArray[np.int64] = np.asarray(sizes, dtype=np.int64)
    clauses.check_against(codes)
    key = (clauses.fingerprint(), *codes.tolist())
    return _of_problem(_Problem(key, clauses, codes))


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is asked, compared by its key: planner, curator and replay ask the same, and it takes seconds."""

    key: tuple[str | int, ...]
    clauses: Clauses = field(compare=False)
    sizes: NDArray[np.int64] = field(compare=False)


@lru_cache(maxsize=2)
def _of_problem(problem: _Problem) -> CountSensitivity:
    clauses, codes = problem.clauses, problem.sizes
    always, varying = _tell_apart(clauses, codes)
    constant, clauses = int(always.sum()), clauses.take(np.flatnonzero(varying))
    if not len(clauses):
        return CountSensitivity(constant, 0, "no query distinguishes two records")
    sets, left_out = gather(clauses, codes)
    true = _largest_sum(sets, clauses.take(left_out), codes)
    turned = _negated_where(clauses, _likely_true(clauses, codes))
    false = _largest_sum(gather(turned, codes)[0], turned.take(left_out), codes)
    apart = int(_distances(sets, 2 * np.minimum(true.of_sets, false.of_sets)).sum()) + min(
        2 * true.left_out, 2 * false.left_out, left_out.size
    )
    replace = min(len(clauses), 2 * true.bound, 2 * false.bound, apart)
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
    """Return for each set a bound on how many of its clauses differ between two cells: exact, or `through` a centre; (S,)."""
    clauses = np.diff(sets.first_clause)
    cells = sets.cells_with_records().astype(np.float64)
    exact = cells * (cells - 1) / 2 * -(-clauses // 64) <= MOST_PAIRS
    return np.where(exact, sets.distances(exact), np.minimum(through, clauses))


def _how(sets: ClauseSets, true: _LargestSum) -> str:
    number = f"{len(sets):,} set{'s' * (len(sets) != 1)} of attributes"
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


def _likely_true(clauses: Clauses, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which clauses are true of more than half of all records, but for a hair (any answer gives a bound), (m,)."""
    used = clauses.attributes >= 0
    share = 1.0 / sizes[clauses.attributes]
    chance = np.where(used, np.where(clauses.signs, share, 1.0 - share), 0.0)
    distribution = np.zeros((len(clauses), clauses.width + 1))  # of the number of true literals
    distribution[:, 0] = 1.0
    for literal in range(clauses.width):
        more = distribution[:, :-1] * chance[:, literal, None]
        distribution *= 1.0 - chance[:, literal, None]
        distribution[:, 1:] += more
    numbers = np.arange(clauses.width + 1, dtype=np.int64)
    accepted = (clauses.accepted.astype(np.int64)[:, None] >> numbers) & 1
    return np.asarray((distribution * accepted).sum(axis=1) > 0.5 + 1e-9)  # the same on every machine


def _negated_where(clauses: Clauses, chosen: NDArray[np.bool_]) -> Clauses:
    accepted = np.where(chosen, clauses.negated().accepted, clauses.accepted)
    return Clauses(clauses.attributes, clauses.values, clauses.signs, freeze(accepted))

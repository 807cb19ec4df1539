"""Clauses of at most three literals laid out as polynomials, without a loop over clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.clause_layout import ClauseTerms, clause_literals, fixed_targets
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.table_layout import largest_value, scale_of
from dpopt.queries.clauses import Clauses

if TYPE_CHECKING:
    from dpopt.inference.records.monomial_kernels import Monomials, Sight

WIDTH = 3
COLUMNS_UP_TO = 2048
"""Flat columns; the sums over pairs of columns take 16 bytes for each pair."""


PAIR, SEEN, LISTED = 28.0, 92.0, 7.7
"""Nanoseconds of a record's turn in a sweep, measured on 500 columns with 2,000 to 100,000 clauses: for each pair of
attributes; for each two columns of the record that a clause names; and for each literal where clauses are lists instead."""


def are_worthwhile(problem: FitProblem) -> bool:
    """Return whether there is room for sums over pairs of columns, and they cost less than going through lists of clauses.

    A record has two columns of few clauses where attributes have many codes, and of three in four where they have two.
    """
    if int(problem.sizes.sum()) > COLUMNS_UP_TO:
        return False
    chance = np.append(1.0 / problem.sizes, 0.0)  # the last one for padding
    seen = literals = 0.0
    for term in problem.terms:
        if isinstance(term.queries, Clauses):
            narrow = term.queries.attributes[term.queries.widths() <= WIDTH]
            each = chance[narrow]
            seen += float((each.sum(axis=1) ** 2 - (each**2).sum(axis=1)).sum()) / 2
            literals += float(np.count_nonzero(narrow >= 0))
    return PAIR * problem.sizes.size**2 + SEEN * seen < LISTED * literals


def lay_out_monomials(problem: FitProblem, clauses: ClauseTerms, records: int) -> Monomials:
    """Return clauses of up to three literals without records; arguments as for `lay_out_clauses`."""
    from dpopt.inference.records.monomial_kernels import Monomials

    scale, dtype = scale_of(largest_value(clauses.terms), records)
    m = len(clauses)
    # Without clauses nothing is looked up by columns, and there may be far more of them than pairs find room for.
    spare = int(problem.offsets()[-1]) if m else 0
    literals, accepted = clause_literals(problem, clauses, WIDTH)
    columns = np.where(literals < 0, ~literals, literals)
    # A literal on the spare column is false ("=") or true ("!=") of every record: its sign belongs to the kind.
    negative = literals < 0
    code = (accepted.astype(np.int64) << WIDTH) | (negative << np.arange(WIDTH)).sum(axis=1)
    kinds, kind = np.unique(code, return_inverse=True)
    tables = _truth_tables(kinds)
    coefficients, flips = _polynomials(tables)
    weights = np.repeat(clauses.weights, np.diff(clauses.starts)) / scale
    used = columns != spare
    place = 4 * np.arange(m, dtype=np.int64)[:, None] + np.arange(WIDTH)
    order = np.argsort(columns[used], kind="stable")
    single_flips, pair_flips = np.zeros(spare + 1), np.zeros((spare + 1, spare + 1))
    for i in range(WIDTH):
        np.add.at(single_flips, columns[:, i], weights * flips[kind, i, 0])
        for k in range(WIDTH):
            if k != i:
                np.add.at(pair_flips, (columns[:, k], columns[:, i]), weights * flips[kind, i, 1 << k])
    thirds, owners, places, pair_start = _pairs(columns, used.all(axis=1), spare)
    return Monomials(
        residuals=(-fixed_targets(clauses, records, scale)).astype(dtype),
        scale=scale,
        weights=weights,
        columns=columns.astype(np.int32),
        kinds=kind.astype(np.int32).reshape(-1),
        truths=(tables.astype(np.int64) << np.arange(8)).sum(axis=1),
        coefficients=coefficients,
        column_start=_starts(np.bincount(columns[used], minlength=spare)),
        entries=place[used][order],
        pair_start=pair_start,
        thirds=thirds,
        owners=owners,
        full=weights[owners] * coefficients[kind[owners], 7],
        bends=weights[owners] * flips[kind[owners], places, 7 ^ (1 << places)],
        single=np.zeros(spare + 1),
        pair=np.zeros((spare + 1, spare + 1)),
        single_flips=single_flips,
        pair_flips=pair_flips,
    )


def _truth_tables(kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (kinds, 8): whether a clause is true where these conditions "attribute = value" hold, as bits."""
    conditions = (np.arange(8)[:, None] >> np.arange(WIDTH)) & 1
    negative = (kinds[:, None] >> np.arange(WIDTH)) & 1
    number = (conditions[None, :, :] ^ negative[:, None, :]).sum(axis=2)
    return np.asarray(kinds[:, None] >> WIDTH >> number & 1, dtype=np.bool_)


def _polynomials(tables: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (kinds, 8) of the truth, and (kinds, 3, 8) of whether it depends on each condition."""
    coefficients = _moebius(tables.astype(np.float64))
    bits = np.arange(8)
    depends = np.stack(
        [tables[:, bits | 1 << i] != tables[:, bits & ~(1 << i)] for i in range(WIDTH)], axis=1
    )
    return coefficients, _moebius(depends.astype(np.float64))


def _moebius(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of the polynomial with these values at the eight 0/1 points (last axis)."""
    result, bits = values.copy(), np.arange(8)
    for i in range(WIDTH):
        upper = bits[(bits >> i) & 1 == 1]
        result[..., upper] -= result[..., upper ^ (1 << i)]
    return result


def _pairs(
    columns: NDArray[np.int32], three: NDArray[np.bool_], spare: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each two columns of a clause of three literals its third column, the clause and the third's place."""
    clause = np.flatnonzero(three)
    keys, thirds, places = [], [], []
    for third in range(WIDTH):
        one, other = (columns[clause, i].astype(np.int64) for i in range(WIDTH) if i != third)
        keys.append(np.minimum(one, other) * spare + np.maximum(one, other))
        thirds.append(columns[clause, third])
        places.append(np.full(clause.size, third, dtype=np.int64))
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    owners = np.tile(clause, WIDTH)[order].astype(np.int32)
    starts = _starts(np.bincount(key, minlength=spare * spare))
    return np.concatenate(thirds)[order].astype(np.int32), owners, np.concatenate(places)[order], starts


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)))


def new_sight(monomials: Monomials) -> Sight:
    """Return room for what the clauses add for a record; `see` fills it in."""
    from dpopt.inference.records.monomial_kernels import Sight

    size = monomials.single.size
    return Sight(np.zeros(size, dtype=np.uint8), np.zeros(size), np.zeros(size))

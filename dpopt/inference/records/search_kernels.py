"""Sweeps of the record search without rules. Compiled; importing this module imports numba."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.inference.records.clause_kernels import Listed, Truth, look, turn
from dpopt.inference.records.monomial_kernels import Monomials, Sight, add_slopes, leave, see
from dpopt.inference.records.table_kernels import Place, Tables, add_costs, put, shift
from dpopt.solvers.local_search.kernels import next_unit


class Choices(NamedTuple):
    """What a record may look like: d attributes, c flat columns."""

    first_column: NDArray[np.int64]  # (d + 1,)
    attributes: NDArray[np.int64]  # the attributes that some query names and that have a choice
    code_start: NDArray[np.int64]  # (d + 1,)
    codes: NDArray[np.int64]  # allowed codes of each attribute
    log_prior: NDArray[np.float64]  # (c,) used at a positive temperature only


class Books(NamedTuple):
    """Where records are counted, and where the record under consideration stands there."""

    own: int  # 1: that record is one of those that are counted; 0: the books only price records
    tables: Tables
    place: Place
    listed: Listed
    truth: Truth
    monomials: Monomials
    sight: Sight


@kernel
def open_books(books: Books, choices: Choices, chosen: NDArray[np.int64]) -> None:
    """Find where a record with these columns (d,) stands."""
    put(books.tables, books.place, choices.first_column, chosen)
    if books.listed.accepted.size:
        look(books.listed, books.truth, chosen, books.own)
    if books.monomials.kinds.size:
        see(books.monomials, books.sight, chosen)


@kernel
def price_codes(
    books: Books,
    choices: Choices,
    chosen: NDArray[np.int64],
    attribute: int,
    costs: NDArray[np.float64],
) -> None:
    """Write to `costs` what N^2 f changes by for each code of the attribute, the others as they are; up to a constant."""
    first = choices.first_column[attribute]
    if books.listed.accepted.size:
        for code in range(costs.size):
            costs[code] = books.truth.costs[first + code]
    else:
        costs[:] = 0.0
    add_costs(books.tables, books.place, attribute, books.own, costs)
    if books.monomials.kinds.size:
        add_slopes(books.monomials, books.sight, chosen, attribute, first, books.own, costs)


@kernel
def change_code(
    books: Books, choices: Choices, chosen: NDArray[np.int64], attribute: int, column: int
) -> None:
    """Give the record another column, and count it anew if it counts."""
    first = choices.first_column[attribute]
    old = chosen[attribute]
    shift(books.tables, books.place, attribute, column - first, books.own)
    if books.listed.accepted.size:
        turn(books.listed, books.truth, old, column, books.own)
    if books.monomials.kinds.size:
        leave(books.monomials, books.sight, chosen, attribute, column, books.own)
    chosen[attribute] = column


@kernel
def cheapest(costs: NDArray[np.float64], codes: NDArray[np.int64], old: int) -> int:
    """Return the allowed code of least cost: the old one if none is cheaper, else the first of those."""
    code = old
    for i in range(codes.size):
        if costs[codes[i]] < costs[code]:
            code = codes[i]
    return code


@kernel
def draw(
    costs: NDArray[np.float64],
    codes: NDArray[np.int64],
    log_prior: NDArray[np.float64],
    temperature: float,
    unit: float,
) -> int:
    """Return a code with probability proportional to prior * exp(-cost / temperature); `costs` is overwritten."""
    top = -np.inf
    for i in range(codes.size):
        code = codes[i]
        costs[code] = log_prior[code] - costs[code] / temperature
        top = max(top, costs[code])
    total = 0.0
    for i in range(codes.size):
        total += math.exp(costs[codes[i]] - top)
    rest = unit * total
    for i in range(codes.size):
        rest -= math.exp(costs[codes[i]] - top)
        if rest < 0.0:
            return int(codes[i])
    return int(codes[codes.size - 1])


@kernel
def sweep(
    books: Books,
    choices: Choices,
    records: NDArray[np.int32],
    order: NDArray[np.int64],
    temperature: float,
    random: NDArray[np.uint64],
) -> int:
    """Give the records in this order their best code in each attribute, or a draw; return the number of changes.

    All records count in the books. `temperature` is N^2 times that of the settings; 0 takes the best code.
    """
    moved = 0
    d = records.shape[1]
    room = np.empty(np.max(np.diff(choices.first_column)))
    chosen = np.empty(d, dtype=np.int64)
    for row in order:
        for attribute in range(d):
            chosen[attribute] = choices.first_column[attribute] + records[row, attribute]
        open_books(books, choices, chosen)
        for attribute in choices.attributes:
            first, last = choices.first_column[attribute], choices.first_column[attribute + 1]
            costs = room[: last - first]
            old = chosen[attribute] - first
            price_codes(books, choices, chosen, attribute, costs)
            allowed = choices.codes[choices.code_start[attribute] : choices.code_start[attribute + 1]]
            if temperature > 0.0:
                prior = choices.log_prior[first:last]
                new = draw(costs, allowed, prior, temperature, next_unit(random))
            else:
                new = cheapest(costs, allowed, old)
            if new != old:
                change_code(books, choices, chosen, attribute, first + new)
                records[row, attribute] = new
                moved += 1
    return moved

"""Descent of single records with fixed prices. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.inference.records.legal_sweep_kernels import Legal, Room, respond_legally, set_record
from dpopt.inference.records.search_kernels import (
    Books,
    Choices,
    change_code,
    cheapest,
    open_books,
    price_codes,
)

LONGEST = 100
"""Passes over all attributes; a descent ends by itself, and far sooner."""


@kernel
def descend_all(
    books: Books,
    choices: Choices,
    records: NDArray[np.int32],
) -> None:
    """Give each record (r, d) in turn its best code in each attribute until no single change lowers its price."""
    d = records.shape[1]
    room = np.empty(np.max(np.diff(choices.first_column)))
    chosen = np.empty(d, dtype=np.int64)
    for row in range(records.shape[0]):
        for attribute in range(d):
            chosen[attribute] = choices.first_column[attribute] + records[row, attribute]
        open_books(books, choices, chosen)
        moved = True
        for _ in range(LONGEST):
            if not moved:
                break
            moved = False
            for attribute in choices.attributes:
                first = choices.first_column[attribute]
                costs = room[: choices.first_column[attribute + 1] - first]
                old = chosen[attribute] - first
                price_codes(books, choices, chosen, attribute, costs)
                allowed = choices.codes[choices.code_start[attribute] : choices.code_start[attribute + 1]]
                new = cheapest(costs, allowed, old)
                if new != old and costs[new] < costs[old] - 1e-12 * abs(costs[old]):
                    change_code(books, choices, chosen, attribute, first + new)
                    moved = True
        for attribute in range(d):
            records[row, attribute] = chosen[attribute] - choices.first_column[attribute]


@kernel
def descend_all_legally(
    books: Books,
    choices: Choices,
    legal: Legal,
    room: Room,
    records: NDArray[np.int32],
    gain: float,
    charge: float,
    random: NDArray[np.uint64],
) -> None:
    """Do the same for legal records under rules, with compound moves; `gain` makes a price a gain of those."""
    d = records.shape[1]
    chosen = np.empty(d, dtype=np.int64)
    for row in range(records.shape[0]):
        for attribute in range(d):
            chosen[attribute] = choices.first_column[attribute] + records[row, attribute]
        open_books(books, choices, chosen)
        set_record(legal, chosen)
        for _ in range(LONGEST):
            changed = respond_legally(books, choices, legal, room, chosen, 0.0, gain, charge, random)
            if changed * gain > -1e-9:
                break
        for attribute in range(d):
            records[row, attribute] = chosen[attribute] - choices.first_column[attribute]

"""A table of bits in memory, made column by column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.bit_file import packed_column, words_of
from dpopt.private.tables.closed import Closed
from dpopt.queries.counting.binary_columns import BitColumns
from dpopt.schema.binary_attributes import MOST_COLUMNS

_GROWTH = 2**26  # bytes by which the memory grows


class BitTable(Closed):
    """A wide table of zeros and ones in memory, a bit for each; made by `bit_table`, read by `read_binary_table`."""

    __slots__ = ("_columns",)
    _columns: BitColumns


def bit_table(rows: int, columns: Iterable[NDArray[np.generic]]) -> BitTable:
    """Return a table of bits from its columns, which are asked for one after the other.

    Parameters
    ----------
    rows
        Number of records n.
    columns
        Gives each column in turn: (n,) truth values, or (n,) uint8 of zeros and ones, or (ceil(n / 64),) uint64 with bit
        r % 64 of word r // 64 for record r.

    Raises
    ------
    PrivateDataError
        If a column has another form, or there is none.
    """
    length = words_of(rows)
    step = max(1, _GROWTH // (8 * length))
    words = np.zeros((0, length), dtype=np.uint64)
    number = 0
    for column in columns:
        packed = packed_column(column, rows, number)
        if number == len(words):
            words.resize((number + step, length), refcheck=False)  # in place: nothing else holds the array
        words[number] = packed
        number += 1
    if not 1 <= number <= MOST_COLUMNS:
        raise PrivateDataError(f"{number:,} columns were given; a table has 1 to {MOST_COLUMNS:,}")
    words.resize((number, length), refcheck=False)
    words.flags.writeable = False
    made = object.__new__(BitTable)
    object.__setattr__(made, "_rows", int(rows))
    object.__setattr__(made, "_columns", BitColumns(int(rows), words))
    return made

"""What clauses over lists need of each set of their columns, and what it costs to count it.

Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

BUILD_STEPS = 2.0  # setting and clearing the bit of a record, in steps through a list
CLAUSE_STEPS = 150.0  # what a clause costs besides its steps


@kernel
def add_uses(columns: NDArray[np.int32], widths: NDArray[np.int8], uses: NDArray[np.int64]) -> None:
    """Add to uses[0, c] and uses[1, c] how many clauses have c as their second and as their third column."""
    for i in range(widths.size):
        for literal in range(1, min(widths[i], 3)):
            uses[literal - 1, columns[i, literal]] += 1


@kernel
def list_steps(
    starts: NDArray[np.int64],
    words: int,
    columns: NDArray[np.int32],
    widths: NDArray[np.int8],
    coefficients: NDArray[np.int8],
    uses: NDArray[np.int64],
    steps: NDArray[np.float64],
) -> None:
    """Write what counting each clause by lists costs, in steps through lists.

    A set of two columns costs the length of its shorter list, or the words of its bits if those are fewer; where all
    three columns are needed together, the shortest list is walked through in any case. Making the bits of a column is
    shared by all its uses; those of columns with more ones than words are made once.
    """
    for i in range(widths.size):
        total = CLAUSE_STEPS
        first = second = 0
        if widths[i] >= 2:
            first = starts[columns[i, 0] + 1] - starts[columns[i, 0]]
            second = starts[columns[i, 1] + 1] - starts[columns[i, 1]]
        if coefficients[i, 7] != 0:
            total += first
        elif coefficients[i, 3] != 0:
            total += min(first, words)
        if coefficients[i, 5] != 0:
            total += min(first, words)
        if coefficients[i, 6] != 0:
            total += min(second, words)
        for literal in range(1, widths[i]):
            column = columns[i, literal]
            length = starts[column + 1] - starts[column]
            if length <= words:
                total += BUILD_STEPS * length / uses[literal - 1, column]
        steps[i] = total


@kernel
def start_counts(
    starts: NDArray[np.int64],
    rows: int,
    columns: NDArray[np.int32],
    widths: NDArray[np.int8],
    coefficients: NDArray[np.int8],
    most: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write what the empty set and single columns add to each count, and how many records its first two may share.

    The latter is 0 where the three columns are not needed together.
    """
    for i in range(widths.size):
        total = np.int64(coefficients[i, 0]) * rows
        for literal in range(widths[i]):
            column = columns[i, literal]
            total += np.int64(coefficients[i, 1 << literal]) * (starts[column + 1] - starts[column])
        counts[i] = total
        most[i] = 0
        if coefficients[i, 7] != 0:
            most[i] = starts[columns[i, 0] + 1] - starts[columns[i, 0]]

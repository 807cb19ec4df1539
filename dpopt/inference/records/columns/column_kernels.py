"""Answers of single records as columns of the master problem, and steps on their weights. Compiled; imports numba.

A column is kept as the cells in which its record lies (one for each marginal, -1 for none) and a bit for each clause.
`slopes` is the gradient of f with respect to all answers, weight * (A p - value): cells first, clauses after them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count

WORD = 64


class Held(NamedTuple):
    """r columns, and how an answer counts."""

    cells: NDArray[np.int32]  # (r, M)
    bits: NDArray[np.uint64]  # (r, words)
    marginal_weights: NDArray[np.float64]  # (M,)
    word_weights: NDArray[np.float64]  # (words,)


@kernel
def write_bits(
    literals: NDArray[np.int32],
    accepted: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    records: NDArray[np.int32],
    bits: NDArray[np.uint64],
) -> None:
    """Write to `bits` (r, words) which clauses are true of each record (r, d); literals as in `clause_kernels`."""
    taken = np.zeros(offsets[-1] + 1, dtype=np.uint8)
    for row in range(records.shape[0]):
        taken[:] = 0
        for attribute in range(records.shape[1]):
            taken[offsets[attribute] + records[row, attribute]] = 1
        for word in range(bits.shape[1]):
            packed = np.uint64(0)
            for clause in range(word * WORD, min((word + 1) * WORD, accepted.size)):
                number = 0
                for i in range(literals.shape[1]):
                    literal = np.int64(literals[clause, i])
                    mark = literal >> 31
                    number += taken[literal ^ mark] ^ (mark & 1)
                true = np.uint64(np.int64(accepted[clause]) >> number & 1)
                packed |= true << np.uint64(clause - word * WORD)
            bits[row, word] = packed


@kernel
def column_slopes(
    cells: NDArray[np.int32], bits: NDArray[np.uint64], slopes: NDArray[np.float64], result: NDArray[np.float64]
) -> None:
    """Write to `result` (r,) the slope of f along each column: <slopes, q(x)>."""
    first = slopes.size - bits.shape[1] * WORD
    for row in range(cells.shape[0]):
        result[row] = one_slope(cells[row], bits[row], slopes, first)


@kernel
def one_slope(cells: NDArray[np.int32], bits: NDArray[np.uint64], slopes: NDArray[np.float64], first: int) -> float:
    """Return the slope of f along one column; the clauses' slopes begin at `first` and are padded to whole words."""
    total = 0.0
    for marginal in range(cells.size):
        if cells[marginal] >= 0:
            total += slopes[cells[marginal]]
    for word in range(bits.size):
        rest = bits[word]
        while rest != 0:
            low = rest & (~rest + np.uint64(1))
            total += slopes[first + word * WORD + np.int64(population_count(low - np.uint64(1)))]
            rest ^= low
    return total


@kernel
def products(held: Held, begin: int, gram: NDArray[np.float64]) -> None:
    """Fill rows and columns begin .. r - 1 of gram[:r, :r] with the weighted scalar products of the columns."""
    cells, bits, marginal_weights, word_weights = held
    number = cells.shape[0]
    for row in range(begin, number):
        for other in range(row + 1):
            total = 0.0
            for marginal in range(cells.shape[1]):
                if cells[row, marginal] == cells[other, marginal] and cells[row, marginal] >= 0:
                    total += marginal_weights[marginal]
            for word in range(bits.shape[1]):
                common = bits[row, word] & bits[other, word]
                total += word_weights[word] * np.int64(population_count(common))
            gram[row, other] = total
            gram[other, row] = total


@kernel
def pairwise_steps(
    gram: NDArray[np.float64], gradient: NDArray[np.float64], weights: NDArray[np.float64], most: int, tolerance: float
) -> int:
    """Shift weight from the worst column that has any to the best one, up to `most` times; return the number of steps.

    `gradient` (r,) is the slope of f along each column and is kept in step. Ends where the two differ by `tolerance` or
    less.
    """
    for step in range(most):
        worst, best = -1, 0
        for column in range(weights.size):
            if weights[column] > 0.0 and (worst < 0 or gradient[column] > gradient[worst]):
                worst = column
            if gradient[column] < gradient[best]:
                best = column
        slope = gradient[worst] - gradient[best]
        if slope <= tolerance:
            return step
        curvature = gram[worst, worst] + gram[best, best] - 2.0 * gram[worst, best]
        shifted = weights[worst]
        if curvature * shifted > slope:
            shifted = slope / curvature
        weights[best] += shifted
        weights[worst] = weights[worst] - shifted if shifted < weights[worst] else 0.0
        for column in range(weights.size):
            gradient[column] += shifted * (gram[best, column] - gram[worst, column])
    return most


@kernel
def pairwise_sweep(
    held: Held, order: NDArray[np.int64], slopes: NDArray[np.float64], weights: NDArray[np.float64]
) -> None:
    """Pair the first column of `order` with the last, the second with the last but one, ...; shift weight between them.

    Each shift is the best for its pair; `slopes` is kept in step. For more columns than a matrix of products is kept
    for.
    """
    cells, bits, marginal_weights, word_weights = held
    first = slopes.size - bits.shape[1] * WORD
    for place in range(order.size // 2):
        one, other = order[place], order[order.size - 1 - place]
        slope = one_slope(cells[one], bits[one], slopes, first) - one_slope(cells[other], bits[other], slopes, first)
        if slope > 0.0:
            one, other = other, one
            slope = -slope
        if weights[other] == 0.0 or slope == 0.0:
            continue
        curvature = 0.0
        for marginal in range(cells.shape[1]):
            if cells[one, marginal] != cells[other, marginal]:
                both = np.int64(cells[one, marginal] >= 0) + np.int64(cells[other, marginal] >= 0)
                curvature += both * marginal_weights[marginal]
        for word in range(bits.shape[1]):
            differing = bits[one, word] ^ bits[other, word]
            curvature += word_weights[word] * np.int64(population_count(differing))
        shifted = weights[other]
        if curvature * shifted > -slope:
            shifted = -slope / curvature
        weights[one] += shifted
        weights[other] = weights[other] - shifted if shifted < weights[other] else 0.0
        add_column(held, one, shifted, slopes)
        add_column(held, other, -shifted, slopes)


@kernel
def add_column(held: Held, row: int, amount: float, slopes: NDArray[np.float64]) -> None:
    """Add a column of this weight to the slopes."""
    cells, bits = held.cells[row], held.bits[row]
    first = slopes.size - bits.size * WORD
    for marginal in range(cells.size):
        if cells[marginal] >= 0:
            slopes[cells[marginal]] += amount * held.marginal_weights[marginal]
    for word in range(bits.size):
        rest = bits[word]
        step = amount * held.word_weights[word]
        while rest != 0:
            low = rest & (~rest + np.uint64(1))
            slopes[first + word * WORD + np.int64(population_count(low - np.uint64(1)))] += step
            rest ^= low


@kernel
def add_columns(held: Held, weights: NDArray[np.float64], slopes: NDArray[np.float64]) -> None:
    """Add columns of these weights (r,) to the slopes."""
    for row in range(weights.size):
        if weights[row] != 0.0:
            add_column(held, row, weights[row], slopes)

"""Counting conjunctions in decision lists, and adding up those that are true at points: compiled loops.

Conjunctions of j literals on variables v_1 < ... < v_j have the number 2^j (C(v_1, 1) + ... + C(v_j, j)) + sum_d
2^(d-1) e_d, where e_d = 1 if v_d itself is in it and 0 if its negation is: variables in the combinatorial number
system, then signs. Importing this module imports numba.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

Integers = NDArray[np.int64]


def binomials(variables: int, size: int) -> Integers:
    """Return C(v, d) for v below `variables` and d up to `size`, (m, t + 1)."""
    return np.array([[comb(v, d) for d in range(size + 1)] for v in range(variables)], dtype=np.int64)


def starts_of(variables: int, size: int, *, signed: bool) -> Integers:
    """Return where the conjunctions (or, unsigned, sets) of each size begin, and where the last ones end, (t + 2,)."""
    numbers = [comb(variables, j) * (2**j if signed else 1) for j in range(size + 1)]
    return np.cumsum([0, *numbers]).astype(np.int64)


def normalised(
    variables: NDArray[np.int32], positive: NDArray[np.bool_], bits: NDArray[np.uint8], lengths: Integers
) -> Integers:
    """Let no variable stand twice in a list, in place; return the new lengths, (n,).

    A literal that stood before can not be the first true one: it is left out. One whose opposite stood before is true
    wherever it is reached: the list ends there.

    `variables` (n, k) and `positive` (n, k), whether the literal is the variable itself, are of the first `lengths`
    (n,) literals of each row; `bits` (n, k + 1) are b_1, ..., and after the last literal that of the end, with which
    what follows is filled.
    """
    found = lengths.copy()
    _normalise(variables, positive, bits, found)
    return found


@kernel
def _normalise(
    variables: NDArray[np.int32], positive: NDArray[np.bool_], bits: NDArray[np.uint8], lengths: Integers
) -> None:
    for row in range(lengths.size):
        kept, last = 0, bits[row, lengths[row]]
        for place in range(lengths[row]):
            stood = -1
            for before in range(kept):
                if variables[row, before] == variables[row, place]:
                    stood = before
            if stood >= 0:
                if positive[row, stood] == positive[row, place]:
                    continue
                last = bits[row, place]
                break
            variables[row, kept] = variables[row, place]
            positive[row, kept] = positive[row, place]
            bits[row, kept] = bits[row, place]
            kept += 1
        lengths[row] = kept
        for place in range(kept, bits.shape[1]):
            bits[row, place] = last


def count_in_lists(
    variables: NDArray[np.int32],
    positive: NDArray[np.bool_],
    bits: NDArray[np.uint8],
    coefficients: Integers,
    unit: int,
    number: int,
) -> list[Integers]:
    """Return the sums of all rows over the conjunctions of 0, ..., t literals, in their order.

    Rows are those of `normalised`, `coefficients` (k + 1, t + 1, t + 1) are `ListCoefficients.values`, `unit` is 2^g,
    and `number` m.
    """
    size = coefficients.shape[-1] - 1
    starts = starts_of(number, size, signed=True)
    counts = np.zeros(int(starts[-1]), dtype=np.int64)
    _count(variables, positive, bits, coefficients, unit, binomials(number, size), starts, counts)
    return [counts[starts[j] : starts[j + 1]] for j in range(size + 1)]


@kernel
def _count(
    variables: NDArray[np.int32],
    positive: NDArray[np.bool_],
    bits: NDArray[np.uint8],
    coefficients: Integers,
    unit: int,
    binomial: Integers,
    starts: Integers,
    counts: Integers,
) -> None:
    rows, length = variables.shape
    size = coefficients.shape[2] - 1
    counted = np.zeros((length + 2, size + 1, size + 1), np.int64)  # u_p(a, b)
    places = np.empty(length, np.int64)
    chosen, rank = np.empty(size + 1, np.int64), np.zeros(size + 1, np.int64)
    latest, own = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    ones = np.zeros(1 << size, np.int64)
    for mask in range(1, 1 << size):
        ones[mask] = ones[mask >> 1] + (mask & 1)
    for row in range(rows):
        last = 0
        for i in range(1, length + 1):
            if bits[row, i] != bits[row, i - 1]:
                last = i
        counts[0] += unit * np.int64(bits[row, 0])
        if last == 0:
            continue
        counted[last + 1] = 0
        for i in range(last, 0, -1):
            step = np.int64(bits[row, i]) - np.int64(bits[row, i - 1])
            for a in range(size + 1):
                for b in range(size + 1 - a):
                    counted[i, a, b] = counted[i + 1, a, b] + step * coefficients[i, a, b]
        counts[0] += counted[1, 0, 0]
        for i in range(last):  # by the number of the variable
            place = i
            while place > 0 and variables[row, places[place - 1]] > variables[row, i]:
                places[place] = places[place - 1]
                place -= 1
            places[place] = i
        if size == 0:
            continue
        depth, chosen[0] = 0, 0  # depth: literals chosen before
        while depth >= 0:
            if chosen[depth] >= last:
                depth -= 1
                if depth >= 0:
                    chosen[depth] += 1
                continue
            place = places[chosen[depth]]
            rank[depth + 1] = rank[depth] + binomial[variables[row, place], depth + 1]
            latest[depth + 1] = max(latest[depth], place + 1)
            own[depth + 1] = own[depth] | (np.int64(positive[row, place]) << depth)
            taken = depth + 1
            begin = starts[taken] + (rank[taken] << taken)
            for signs in range(1 << taken):
                opposite = ones[signs ^ own[taken]]
                counts[begin + signs] += counted[latest[taken], taken - opposite, opposite]
            if taken < size:
                chosen[depth + 1] = chosen[depth] + 1
                depth += 1
            else:
                chosen[depth] += 1


def polynomial_in_bits(counts: list[Integers], number: int) -> list[Integers]:
    """Return the coefficients of the sum of all counts with conjunctions true at y, as a polynomial in y_1, ..., y_m.

    Of each set of variables of size 0, ..., t, in the combinatorial number system: a conjunction with negations is a
    product of bits and of (1 - bit). `counts` are those of all conjunctions of 0, ..., t literals, noise and all, empty
    where a size was not counted; `number` is m.
    """
    size = len(counts) - 1
    starts = starts_of(number, size, signed=False)
    found = np.zeros(int(starts[-1]), dtype=np.int64)
    binomial = binomials(number, size)
    for j, values in enumerate(counts):
        if values.size:
            _add_products(values.copy(), j, binomial, starts, found)
    return [found[starts[j] : starts[j + 1]] for j in range(size + 1)]


@kernel
def _add_products(values: Integers, size: int, binomial: Integers, starts: Integers, found: Integers) -> None:
    chosen = np.arange(size)  # variables, increasing; the least number first
    for rank in range(values.size >> size):
        begin = rank << size
        for place in range(size):
            for mask in range(1 << size):
                if mask >> place & 1:
                    values[begin + mask] -= values[begin + (mask ^ (1 << place))]
        for mask in range(1 << size):
            taken, number = 0, np.int64(0)
            for d in range(size):
                if mask >> d & 1:
                    taken += 1
                    number += binomial[chosen[d], taken]
            found[starts[taken] + number] += values[begin + mask]
        d = 0  # the next set in the order of the numbers
        while d < size - 1 and chosen[d] + 1 == chosen[d + 1]:
            chosen[d] = d
            d += 1
        if size:
            chosen[d] += 1


def values_at(polynomial: list[Integers], points: NDArray[np.uint8]) -> Integers:
    """Return the values (q,) of a polynomial of `polynomial_in_bits` at points (q, m)."""
    size = len(polynomial) - 1
    found = np.empty(len(points), dtype=np.int64)
    number = points.shape[1]
    starts = starts_of(number, size, signed=False)
    _values_at(np.concatenate(polynomial), points, binomials(number, size), starts, size, found)
    return found


@kernel
def _values_at(
    coefficients: Integers, points: NDArray[np.uint8], binomial: Integers, starts: Integers, size: int, found: Integers
) -> None:
    number = points.shape[1]
    ones = np.empty(number, np.int64)
    chosen, rank = np.empty(size + 1, np.int64), np.zeros(size + 1, np.int64)
    for query in range(len(points)):
        true = 0
        for variable in range(number):
            if points[query, variable]:
                ones[true] = variable
                true += 1
        total = coefficients[0]
        depth, chosen[0] = 0 if size else -1, 0
        while depth >= 0:
            if chosen[depth] >= true:
                depth -= 1
                if depth >= 0:
                    chosen[depth] += 1
                continue
            taken = depth + 1
            rank[taken] = rank[depth] + binomial[ones[chosen[depth]], taken]
            total += coefficients[starts[taken] + rank[taken]]
            if taken < size:
                chosen[taken] = chosen[depth] + 1
                depth = taken
            else:
                chosen[depth] += 1
        found[query] = total

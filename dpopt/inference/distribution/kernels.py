"""Compiled loops over the cells of a product universe: sums over axes, factors on parts, the Walsh-Hadamard transform.

A cell of the universe has the number i B + j with i < H and j < B; it lies on the cell high[i] + low[j] of a small
table. So every loop over a set of attributes is one pass through memory, whatever the attributes are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@kernel
def add_to_table(p: Floats, high: Places, low: Places, run: int, table: Floats, first: int, last: int) -> None:
    """Add to a small table the mass of the cells of rows first .. last - 1; `low` has one entry for each run of cells."""
    width = low.size * run
    for i in range(first, last):
        place, base = i * width, high[i]
        for j in range(low.size):
            total = 0.0
            for _ in range(run):
                total += p[place]
                place += 1
            table[base + low[j]] += total


@kernel
def multiply_table(p: Floats, high: Places, low: Places, run: int, factors: Floats, first: int, last: int) -> None:
    """Multiply the mass of every cell of rows first .. last - 1 by the factor at its place of a small table."""
    width = low.size * run
    for i in range(first, last):
        place, base = i * width, high[i]
        for j in range(low.size):
            factor = factors[base + low[j]]
            for _ in range(run):
                p[place] *= factor
                place += 1


@kernel
def multiply_then_add(
    p: Floats,
    high: Places,
    low: Places,
    factors: Floats,
    next_high: Places,
    next_low: Places,
    run: int,
    table: Floats,
    first: int,
    last: int,
) -> None:
    """Do `multiply_table` for one small table and `add_to_table` for another in a single pass; both have runs of one length."""
    width = low.size * run
    for i in range(first, last):
        place, base, next_base = i * width, high[i], next_high[i]
        for j in range(low.size):
            factor = factors[base + low[j]]
            if run < 4:
                for _ in range(run):
                    mass = p[place] * factor
                    p[place] = mass
                    table[next_base + next_low[j]] += mass
                    place += 1
                continue
            a = b = c = d = 0.0
            for _ in range(run // 4):
                w, x, y, z = (p[place] * factor, p[place + 1] * factor, p[place + 2] * factor, p[place + 3] * factor)
                p[place], p[place + 1], p[place + 2], p[place + 3] = w, x, y, z
                a += w
                b += x
                c += y
                d += z
                place += 4
            for _ in range(run % 4):
                mass = p[place] * factor
                p[place] = mass
                a += mass
                place += 1
            table[next_base + next_low[j]] += (a + b) + (c + d)


@kernel
def run_sums(work: Floats, steps: Places) -> None:
    """Run sums over one axis each: step (source, K, n, R, target) adds up an array (K, n, R) over its middle axis."""
    for step in range(steps.shape[0]):
        source, outer, middle, inner, target = (
            steps[step, 0],
            steps[step, 1],
            steps[step, 2],
            steps[step, 3],
            steps[step, 4],
        )
        for k in range(outer):
            begin, place = source + k * middle * inner, target + k * inner
            if inner == 1:
                total = 0.0
                for j in range(middle):
                    total += work[begin + j]
                work[place] = total
                continue
            for r in range(inner):
                work[place + r] = work[begin + r]
            for j in range(1, middle):
                row = begin + j * inner
                for r in range(inner):
                    work[place + r] += work[row + r]


@kernel
def walsh_hadamard(values: Floats) -> None:
    """Replace 2^d values by their Walsh-Hadamard transform: sum over x of (-1)^(bits of s AND x) value(x), for every s."""
    size = values.size
    half = 1
    while half < size:
        for start in range(0, size, 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i], values[i + half] = a + b, a - b
        half *= 2


@kernel
def clause_masses(
    tables: Floats,
    starts: Places,
    shapes: Places,
    wanted: Places,
    signs: NDArray[np.bool_],
    accepted: NDArray[np.uint32],
    answers: Floats,
    first: int,
    last: int,
) -> None:
    """Write the mass of each clause, from the marginal over its attributes.

    Clause c has the marginal tables[starts[c]:], of shape shapes[c] (1 in padding); literal l asks for position
    wanted[c, l] of its attribute (-1: no position), or for any other where signs[c, l] is false.
    """
    width = shapes.shape[1]
    position = np.zeros(width, np.int64)
    for c in range(first, last):
        cells, used = 1, 0
        for literal in range(width):
            position[literal] = 0
            if shapes[c, literal] > 0:
                cells *= shapes[c, literal]
                used = literal + 1
        total = 0.0
        for cell in range(cells):
            true = 0
            for literal in range(used):
                if (position[literal] == wanted[c, literal]) == signs[c, literal]:
                    true += 1
            if accepted[c] >> np.uint32(true) & np.uint32(1):
                total += tables[starts[c] + cell]
            for literal in range(used - 1, -1, -1):
                position[literal] += 1
                if position[literal] < shapes[c, literal]:
                    break
                position[literal] = 0
        answers[c] = total


@kernel
def _share(free: float, bound: float, weight: float) -> float:
    """Return s with ln(s) + weight s = free + weight bound: a share pulled to its bound; exp(free) without pull."""
    target = free + weight * bound
    # Newton on u + ln(u) = v for u = weight s, which is concave: from the left it never overshoots.
    v = target + np.log(weight)
    if v < -30.0:
        return float(np.exp(target))
    u = v - np.log(v) if v > 2.0 else np.exp(v - 1.0) if v < 0.0 else 0.5 * (1.0 + v) * 0.7
    for _ in range(50):
        step = (v - u - np.log(u)) * u / (1.0 + u)
        u += step
        if abs(step) <= 1e-15 * u:
            break
    return float(u / weight)


@kernel
def centre(multipliers: Floats) -> float:
    """Return the number to subtract from multipliers (c,), so that their powers are finite; 0 if they are."""
    low, high = multipliers.min(), multipliers.max()
    return 0.0 if max(high, -low) <= 400.0 else 0.5 * (low + high)


@kernel
def pulled_shares(base: Floats, lower: Floats, upper: Floats, weight: float, shares: Floats) -> float:
    """Write the shares that solve one block of the dual (ME-6); return ln(lambda).

    Share s_c is lambda base[c] where that lies in [lower[c], upper[c]]; else it is pulled towards the nearer bound b,
    ln(s_c) = ln(lambda base[c]) + weight (b - s_c). Every share grows with lambda; they sum to 1. Newton's method on
    the sum, kept within a bracket. No share is below 1e-100, whatever is asked.
    """
    logs, farthest = np.empty(base.size), 1e30
    for c in range(base.size):
        logs[c] = np.log(base[c]) if base[c] > 0.0 else -np.inf
    low, high, at = -np.inf, np.inf, 0.0
    for _ in range(200):
        total, slope = 0.0, 0.0
        for c in range(base.size):
            if base[c] <= 0.0:
                shares[c] = 0.0
                continue
            free = logs[c] + at
            share = np.exp(min(free, 700.0))
            if share < lower[c]:
                share = _share(free, lower[c], weight)
                slope += share / (1.0 + weight * share)
            elif share > upper[c]:
                share = _share(free, upper[c], weight)
                slope += share / (1.0 + weight * share)
            else:
                slope += share
            shares[c] = max(share, 1e-100)
            total += shares[c]
        if abs(total - 1.0) <= 1e-13:
            break
        if total < 1.0:
            low = at
        else:
            high = at
        following = at + (1.0 - total) / slope if slope > 0.0 else np.inf
        if abs(following - at) > farthest:  # a slope that noise beyond all probability left next to nothing
            following = at + (farthest if total < 1.0 else -farthest)
            farthest *= 2.0
        if not low < following < high:
            following = 0.5 * (low + high) if low > -np.inf and high < np.inf else at + (1.0 if total < 1.0 else -1.0)
        if following == at:
            break
        at = following
    for c in range(base.size):
        shares[c] /= total
    return at


@kernel
def pulled_pairs(shares: Floats, multipliers: Floats, values: Floats, slack: Floats, weight: Floats) -> Floats:
    """Return by how much the shares (r,) of two-part measurements would move under `pulled_shares`, (r,)."""
    moves = np.empty(shares.size)
    base, found = np.empty(2), np.empty(2)
    for i in range(shares.size):
        yes = min(max(shares[i], 1e-300), 1.0)
        level = centre(multipliers[i])
        base[0] = max(1.0 - yes, 1e-300) * np.exp(level - multipliers[i, 0])
        base[1] = yes * np.exp(level - multipliers[i, 1])
        pulled_shares(base, values[i] - slack[i], values[i] + slack[i], weight[i], found)
        moves[i] = abs(found[1] - yes)
    return moves


@kernel
def choose_cells(p: Floats, threshold: float, cells: Places, masses: Floats) -> int:
    """Write the cells that stand for a distribution and their masses; return how many. See `weighted_cells`."""
    count = 0
    pending = 0.5 * threshold
    for x in range(p.size):
        mass = p[x]
        if mass <= 0.0:
            continue
        if mass >= threshold:
            if count < cells.size:
                cells[count], masses[count] = x, mass
                count += 1
            continue
        pending += mass
        if pending >= threshold:
            pending -= threshold
            if count < cells.size:
                cells[count], masses[count] = x, threshold
                count += 1
    return count

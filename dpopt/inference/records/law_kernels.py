"""One-way sums of noisy marginals, and the nearest probability vectors. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def add_one_way_sums(
    attributes: NDArray[np.int32],
    shapes: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    weight: float,
    domain_starts: NDArray[np.int64],
    columns: NDArray[np.int64],
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Add the one-way sums of marginals (m, k), each over the number of cells in it, to `sums` (c,), and what they count.

    `columns` holds the flat column of each code of the domains, whose attribute a begins at domain_starts[a].
    """
    largest = 1
    for marginal in range(shapes.shape[0]):
        for turn in range(shapes.shape[1]):
            largest = max(largest, shapes[marginal, turn])
    totals = np.empty(largest)
    for marginal in range(shapes.shape[0]):
        first, last = starts[marginal], starts[marginal + 1]
        after = last - first
        for turn in range(attributes.shape[1]):
            attribute = attributes[marginal, turn]
            if attribute < 0:
                break
            size = shapes[marginal, turn]
            after //= size
            totals[:size] = 0.0
            cell = first
            while cell < last:
                for position in range(size):
                    total = 0.0
                    for other in range(cell, cell + after):
                        total += values[other]
                    totals[position] += total
                    cell += after
            counts = weight * size / (last - first)  # one over the variance of a sum
            for position in range(size):
                column = columns[domain_starts[attribute] + position]
                sums[column] += counts * totals[position]
                weights[column] += counts


@kernel
def nearest_laws(
    offsets: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
    laws: NDArray[np.float64],
) -> None:
    """Write to `laws` (c,) a probability vector for each attribute, near sums / weights on its allowed columns."""
    for attribute in range(offsets.size - 1):
        first, last = offsets[attribute], offsets[attribute + 1]
        known, unknown, total = 0, 0, 0.0
        shares = np.empty(last - first)
        for column in range(first, last):
            if allowed[column] and weights[column] > 0.0:
                shares[known] = sums[column] / weights[column]
                total += max(shares[known], 0.0)
                known += 1
            elif allowed[column]:
                unknown += 1
        # Subtracting one number from all, and cutting at 0, is the projection onto the simplex.
        level = 0.0
        if known and (unknown == 0 or total > 1.0):
            ordered = np.sort(shares[:known])[::-1]
            running = 0.0
            for i in range(known):
                running += ordered[i]
                if ordered[i] > (running - 1.0) / (i + 1):
                    level = (running - 1.0) / (i + 1)
            total = 1.0
        for column in range(first, last):
            if allowed[column]:
                if weights[column] > 0.0:
                    laws[column] = max(sums[column] / weights[column] - level, 0.0)
                else:
                    laws[column] = (1.0 - total) / unknown
        mass = 0.0
        for column in range(first, last):
            mass += laws[column]
        for column in range(first, last):
            laws[column] /= mass

"""Tiny nets: small universes, all their multisets, and distances counted without any code of the private side."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

Counts = tuple[int, ...]


def prefixes(elements: int) -> NDArray[np.int8]:
    """Return the queries "at most x" on an ordered universe, (A - 1, A)."""
    return np.array([[int(x <= t) for x in range(elements)] for t in range(elements - 1)], dtype=np.int8)


def cells(bits: int, width: int) -> NDArray[np.int8]:
    """Return the cells of all marginals over `width` of so many bits, on the 2^bits records."""
    records = np.array(list(product([0, 1], repeat=bits)))
    rows = [
        np.all(records[:, chosen] == values, axis=1)
        for chosen in combinations(range(bits), width)
        for values in product([0, 1], repeat=width)
    ]
    return np.array(rows).astype(np.int8)


def all_multisets(elements: int, records: int) -> list[Counts]:
    """Return the counts of every multiset."""
    return [
        tuple(chosen.count(x) for x in range(elements))
        for chosen in combinations_with_replacement(range(elements), records)
    ]


def distance_of(answers: NDArray[np.int8], targets: list[int], size: int, counts: Counts) -> int:
    """Return the largest |target - size * answer|, in Python's integers."""
    return max(
        abs(target - size * sum(c for c, says in zip(counts, row, strict=True) if says))
        for target, row in zip(targets, answers.tolist(), strict=True)
    )

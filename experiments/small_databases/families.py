"""Families of nets whose size grows: ordered universes with all prefixes, and bits with all pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import PublicRandom

SIZE = 10_000


@dataclass(frozen=True)
class Family:
    """A net and a public table to draw for."""

    name: str
    answers: NDArray[np.int8]
    """Shape (k, A)."""
    records: int
    """m of a small database."""
    strength: float
    """epsilon n."""

    def counts(self) -> NDArray[np.int64]:
        """Return how many of 10,000 records each element has, (A,): a steep distribution in a public random order."""
        elements = self.answers.shape[1]
        order = np.argsort(PublicRandom(elements).words(elements), kind="stable")
        masses = 1.0 / (1 + order)
        counts: NDArray[np.int64] = np.floor(SIZE * masses / masses.sum()).astype(np.int64)
        counts[np.argmax(counts)] += SIZE - counts.sum()
        return counts


def prefixes(elements: int) -> NDArray[np.int8]:
    """Return the queries "at most x", (A - 1, A)."""
    return np.tri(elements - 1, elements, dtype=np.int8)


def pairs(bits: int) -> NDArray[np.int8]:
    """Return the cells of all marginals over two of so many bits."""
    records = np.array(list(product([0, 1], repeat=bits)))
    rows = [
        np.all(records[:, chosen] == values, axis=1)
        for chosen in combinations(range(bits), 2)
        for values in product([0, 1], repeat=2)
    ]
    return np.array(rows).astype(np.int8)


def families(*, quick: bool) -> list[Family]:
    """Return the families, smaller ones first."""
    if quick:
        return [Family("prefixes", prefixes(8), 8, 100.0), Family("pairs of bits", pairs(3), 6, 100.0)]
    shapes = [
        ("prefixes", prefixes(16), 20, (300.0, 1000.0)),
        ("prefixes", prefixes(16), 50, (300.0, 1000.0)),
        ("pairs of bits", pairs(4), 20, (300.0, 1000.0)),
        ("pairs of bits", pairs(4), 50, (300.0, 1000.0)),
        ("prefixes", prefixes(24), 12, (300.0,)),
        ("pairs of bits", pairs(5), 12, (300.0,)),
    ]
    return [
        Family(name, answers, records, strength)
        for name, answers, records, strengths in shapes
        for strength in strengths
    ]

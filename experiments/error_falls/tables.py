"""Forty tables made by seeded code, at most 5,000 rows each, three tiny ones, and the twelve of `experiments.one_estimator`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.one_estimator import tables as public
from experiments.one_estimator.tables import Table

Codes = NDArray[np.int64]
Random = np.random.Generator
PUBLIC = "public"


def _independent(rng: Random, rows: int) -> Codes:
    sizes = rng.integers(2, 9, 6)
    return np.stack([rng.choice(size, rows, p=rng.dirichlet(np.ones(size))) for size in sizes], axis=1)


def _factorial(rng: Random, rows: int) -> Codes:
    """Return every combination of values once, and a score of three columns; at most so many rows."""
    sizes = [2]
    while math.prod(sizes) * 5 <= rows:
        sizes.append(int(rng.integers(2, 6)))
    every = np.array(list(itertools.product(*map(range, sizes))))
    return np.asarray(np.c_[every, every[:, -3:].sum(axis=1) // 2])


def _functional(rng: Random, rows: int) -> Codes:
    """Return columns that are functions of the first one, and one that is independent."""
    first = rng.integers(0, 6, rows)
    return np.stack([first, first * 5 % 6, first // 2, first % 2, rng.integers(0, 4, rows)], axis=1)


def _xor(rng: Random, rows: int) -> Codes:
    bits = rng.integers(0, 2, (rows, 6))
    return np.asarray(np.c_[bits, bits[:, 0] ^ bits[:, 1] ^ bits[:, 2]])


def _one_code(rng: Random, rows: int) -> Codes:
    """Return columns in which one value has 99.9 % of the records."""
    return np.asarray((rng.random((rows, 6)) < 0.001) * rng.integers(1, 4, (rows, 6)))


def _zipf(rng: Random, rows: int) -> Codes:
    """Return columns of 20 values by Zipf's law; the third follows the first in half of the records."""
    found = np.minimum(rng.zipf(1.6, (rows, 4)) - 1, 19)
    found[:, 2] = np.where(rng.random(rows) < 0.5, found[:, 0], found[:, 2])
    return found


def _constant(rng: Random, rows: int) -> Codes:
    """Return three columns of one value, beside two others that depend."""
    first = rng.integers(0, 3, rows)
    second = np.where(rng.random(rows) < 0.3, first, rng.integers(0, 3, rows))
    return np.asarray(np.c_[np.zeros((rows, 3), dtype=np.int64), first, second])


def _sparse(rng: Random, rows: int) -> Codes:
    """Return a fiftieth as many different records as rows, over columns of 30 values."""
    return rng.integers(0, 30, (max(rows // 50, 2), 4))[rng.integers(0, max(rows // 50, 2), rows)]


def _two_rows(rng: Random, _: int) -> Codes:
    return np.stack([np.zeros(5, dtype=np.int64), rng.integers(1, 4, 5)])


def _wide(rng: Random, rows: int) -> Codes:
    """Return 100 columns of zeros and ones; neighbours agree in four of five records."""
    flips = rng.random((rows, 100)) < np.where(np.arange(100) % 10, 0.2, 0.5)
    return np.asarray(np.cumsum(flips, axis=1) % 2)


def _trend(rng: Random, rows: int) -> Codes:
    """Return six ordered columns of ten values, correlated through one normal factor."""
    factor = rng.normal(size=(rows, 1)) * rng.uniform(0.3, 1.5, 6) + rng.normal(size=(rows, 6))
    return np.asarray(np.clip(np.floor(factor / factor.std(axis=0) * 2 + 5), 0, 9), dtype=np.int64)


def _classes(rng: Random, rows: int) -> Codes:
    """Return five columns of five values that are independent within each of four hidden classes."""
    shares = rng.dirichlet(np.full(5, 0.5), (4, 5))
    hidden = rng.integers(0, 4, rows)
    return np.asarray((rng.random((rows, 5, 1)) > np.cumsum(shares[hidden], axis=2)[:, :, :-1]).sum(axis=2))


KINDS: dict[str, tuple[Callable[[Random, int], Codes], tuple[int, ...]]] = {
    "factorial": (_factorial, (500, 2_000, 5_000)),
    "independent": (_independent, (500, 2_000, 5_000, 5_000)),
    "functional": (_functional, (500, 1_000, 2_000, 5_000)),
    "XOR of three": (_xor, (500, 2_000, 5_000)),
    "one code of 99.9 %": (_one_code, (1_000, 2_000, 5_000)),
    "Zipf": (_zipf, (500, 2_000, 5_000)),
    "constant": (_constant, (500, 2_000, 5_000)),
    "sparse": (_sparse, (500, 2_000, 5_000)),
    "two rows": (_two_rows, (2, 2, 2)),
    "100 columns": (_wide, (1_000,)),
    "trend": (_trend, (500, 1_000, 2_000, 5_000, 5_000)),
    "classes": (_classes, (500, 1_000, 2_000, 5_000, 5_000)),
}
"""How each kind of table is made, and of how many rows; the number in a table's name is the seed."""
MADE = {f"{kind} {seed}": kind for kind, (_, rows) in KINDS.items() for seed in range(len(rows))}
TINY = ("tiny factorial", "tiny functional", "tiny trend")
TABLES = (*MADE, *public.TABLES)


def kind_of(name: str) -> str:
    """Return the kind of a table by its name; a tiny one is a kind of its own."""
    return name if name in TINY else MADE.get(name, PUBLIC)


def load(name: str) -> Table:
    """Return a table; the values of every column have the order of their codes."""
    if name in public.TABLES:
        return public.load(name)
    if name in TINY:
        kind, seed, rows = name.removeprefix("tiny "), 0, 100
    else:
        kind, seed = MADE[name], int(name.rpartition(" ")[2])
        rows = KINDS[kind][1][seed]
    codes = KINDS[kind][0](np.random.default_rng(seed), rows)
    names = tuple(f"c{column}" for column in range(codes.shape[1]))
    return Table(name, codes.astype(np.int32), (codes.max(axis=0) + 1).astype(np.int32), names)

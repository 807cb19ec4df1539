"""Made-up rows that are nobody's: lists and disjunctions whose answers differ from point to point, and exact answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """Rows as arrays: variables and signs (n, k), bits (n, k + 1), lengths (n,)."""

    variables: NDArray[np.int32]
    positive: NDArray[np.bool_]
    bits: NDArray[np.uint8]
    lengths: NDArray[np.int64]


def random_rows(
    kind: str, number: int, variables: int, shortest: int, longest: int, generator: np.random.Generator
) -> Rows:
    """Return rows whose literals are like a form that persons fill in.

    The first variables are asked of more often (as 1 / (5 + v)); three literals of four are the variable itself. Variables with
    even numbers speak for the output 1, the others for 0: nine times of ten a list's bit is what its literal speaks for.
    """
    popularity = 1.0 / (5.0 + np.arange(variables))
    keys = np.log(generator.random((number, variables))) / popularity  # the largest keys: drawn without replacement
    chosen = np.argsort(-keys, axis=1)[:, :longest].astype(np.int32)
    positive = generator.random((number, longest)) < 0.75
    lengths = generator.integers(shortest, longest + 1, number)
    bits = np.zeros((number, longest + 1), dtype=np.uint8)
    if kind == "disjunctions":
        bits[np.arange(longest + 1) < lengths[:, None]] = 1
        return Rows(chosen, positive, bits, lengths)
    speaks_for = (chosen % 2 == 0) == positive
    bits[:, :-1] = speaks_for == (generator.random(speaks_for.shape) < 0.9)
    bits[:, -1] = generator.random(number) < 0.5
    ends = bits[np.arange(number), lengths]
    after = np.arange(longest + 1) > lengths[:, None]
    bits[after] = np.broadcast_to(ends[:, None], bits.shape)[after]
    return Rows(chosen, positive, bits, lengths)


def texts(kind: str, rows: Rows) -> list[str]:
    """Return rows as lines of a file."""
    found = []
    for chosen, signs, bits, length in zip(
        rows.variables.tolist(), rows.positive.tolist(), rows.bits.tolist(), rows.lengths.tolist(), strict=True
    ):
        names = [f"{'' if sign else '!'}x{v + 1}" for v, sign in zip(chosen[:length], signs, strict=False)]
        if kind == "disjunctions":
            found.append(" | ".join(names))
        else:
            parts = [f"{name}:{bit}" for name, bit in zip(names, bits, strict=False)]
            found.append(", ".join([*parts, f"else:{bits[length]}"]))
    return found


def exact_shares(rows: Rows, points: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return which share of the rows gives 1 at each point, row by row, 64 points at a time."""
    blocks = -(-len(points) // 64)
    filled = np.zeros((64 * blocks, points.shape[1]), dtype=np.uint8)
    filled[: len(points)] = points
    words = np.packbits(filled.reshape(blocks, 64, -1), axis=1, bitorder="little")
    packed = np.ascontiguousarray(words.transpose(0, 2, 1)).view("<u8")[..., 0]  # (blocks, m)
    found = np.zeros((blocks, 64), dtype=np.int64)

    def count(block: int) -> None:
        _count(rows.variables, rows.positive, rows.bits, rows.lengths, packed[block], found[block])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count, range(blocks)))
    return found.reshape(-1)[: len(points)] / len(rows.lengths)


@numba.njit(nogil=True, cache=True)
def _count(
    variables: NDArray[np.int32],
    positive: NDArray[np.bool_],
    bits: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    words: NDArray[np.uint64],
    found: NDArray[np.int64],
) -> None:
    """Add up outputs in counters of 40 bits, one word for the same bit of all 64."""
    counters = np.zeros(40, np.uint64)
    for row in range(len(lengths)):
        left, true = ~np.uint64(0), np.uint64(0)
        for place in range(lengths[row]):
            word = words[variables[row, place]]
            if not positive[row, place]:
                word = ~word
            if bits[row, place]:
                true |= left & word
            left &= ~word
        if bits[row, lengths[row]]:
            true |= left
        place = 0
        while true:
            counters[place], true = counters[place] ^ true, counters[place] & true
            place += 1
    for point in range(64):
        for place in range(40):
            found[point] += np.int64(counters[place] >> np.uint64(point) & np.uint64(1)) << place

"""Small databases of a public population, drawn by a Markov chain in place of the mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import public_stream, uniforms

CHAINS, STEPS = 64, 4_000
_MOST_ANSWERS = 2**20
"""Of all chains together; fewer chains are run for more queries than it holds for all."""


def drawn_databases(
    answers: NDArray[np.int8], exact: NDArray[np.float64], records: int, strength: float, *, seed: int
) -> NDArray[np.int64]:
    """Return multisets of m classes, (c, A), from independent chains towards P proportional to exp(-strength error / 2).

    A step moves 2^s records from one class to another, all three at random, and is taken with Metropolis' probability;
    it is as likely as the step back, so that without a strength all multisets are equally likely. All chains begin with
    the classes of the population, rounded.

    Parameters
    ----------
    answers : (k, A)
        Value of each query on each class, 0 or 1.
    exact : (k,)
        Answers that errors, the largest difference, are from.
    records, strength
        m, and epsilon n.
    """
    queries, elements = answers.shape
    chains = max(1, min(CHAINS, _MOST_ANSWERS // queries))
    stream, each = public_stream(seed, "chains of small databases"), np.arange(chains)
    counts = np.tile(_rounded(answers, exact, records), (chains, 1))
    columns = np.ascontiguousarray(answers.T, dtype=np.float64)
    values = counts @ columns
    error = np.abs(values / records - exact).max(axis=1)
    sizes = int(records).bit_length()
    for _ in range(STEPS):
        left, right, power, chance = (uniforms(stream, chains) for _ in range(4))
        source, target = (left * elements).astype(np.int64), (right * elements).astype(np.int64)
        moved = 1 << (power * sizes).astype(np.int64)
        changed = values + moved[:, None] * (columns[target] - columns[source])
        worse = np.abs(changed / records - exact).max(axis=1)
        held = counts[each, source] >= moved
        taken = held & (np.log1p(-chance) <= strength / 2 * (error - worse))
        values[taken], error[taken] = changed[taken], worse[taken]
        np.subtract.at(counts, (each[taken], source[taken]), moved[taken])
        np.add.at(counts, (each[taken], target[taken]), moved[taken])
    return counts


def _rounded(answers: NDArray[np.int8], exact: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    """Return counts (A,) of m records, by largest remainders, of a distribution whose answers are near the exact ones."""
    ones = np.ones((1, answers.shape[1]))
    equations = np.concatenate([answers.astype(np.float64), ones])
    shares = np.maximum(np.linalg.lstsq(equations, np.append(exact, 1.0))[0], 1e-9)
    wanted = shares / shares.sum() * records
    counts: NDArray[np.int64] = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: records - int(counts.sum())]] += 1
    return counts

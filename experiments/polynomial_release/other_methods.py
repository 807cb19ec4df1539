"""What stands beside the polynomial release: noise on each query, records fitted to noisy marginals, and what costs little."""

from __future__ import annotations

import tempfile
from math import comb, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpopt
from dpopt.synopses.summaries.noise_bounds import deviations_for
from dpopt.synopses.summaries.summary_plan import BETA
from experiments.polynomial_release.tables import Bits

Answers = NDArray[np.float64]
Sets = NDArray[np.int64]


def direct_deviation(table: Bits, width: int, rho: float) -> float:
    """Return the standard deviation of an answer if each query of k bits was counted with Gaussian noise, as a share.

    Replacing a record of zeros by one of ones changes all C(d, k) counts by 1.
    """
    return sqrt(comb(len(table.bits), width) / (2.0 * rho)) / table.records


def direct_bound(table: Bits, width: int, rho: float) -> float:
    """Return what no such answer is off by with probability 95 %, before it is cut at 0 and 1."""
    queries = comb(len(table.bits), width)
    return deviations_for(BETA, queries) * direct_deviation(table, width, rho)


def direct(truth: Answers, deviation: float, generator: np.random.Generator) -> Answers:
    """Return exact answers with that noise, cut at 0 and 1: a simulation, since not all queries can be counted."""
    return np.clip(truth + generator.normal(0.0, deviation, truth.size), 0.0, 1.0)


def projected_bits(
    table: Bits, size: int, rho: float, *, seed: int, records: int, as_columns: bool = False
) -> NDArray[np.uint8]:
    """Return the bits of synthetic records that are fitted to noisy marginals, (d, N).

    Parameters
    ----------
    table : Bits
    size : int
        Of the marginals: all of so many bits, or columns.
    rho : float
    seed : int
        Public.
    records : int
        How many are fitted.
    as_columns : bool
        Whether the columns are released that the bits are values of.
    """
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        path, schema = table.write(Path(place), as_columns=as_columns)
        release = dpopt.release(
            path,
            schema,
            f"marginals:{size}",
            algorithm="projection",
            accountant="zcdp",
            rho=rho,
            delta=1e-9,
            neighbours="replace",
            records=records,
            seed=seed,
            predict=False,
        )
    found = release.records
    return table.bits_of(np.repeat(found.distinct, found.multiplicity, axis=0))


def single_shares(table: Bits, rho: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the share of ones of each bit with Gaussian noise for the whole budget, cut at 0 and 1, (d,)."""
    noise = generator.normal(0.0, sqrt(len(table.bits) / (2.0 * rho)), len(table.bits))
    counts = table.bits.sum(axis=1, dtype=np.int64) + noise
    return np.asarray(np.clip(counts / table.records, 0.0, 1.0))


def as_if_independent(shares: NDArray[np.float64], asked: Sets, predicate: str) -> Answers:
    """Return the probability of each query if bits with these shares were independent."""
    width = asked.shape[1]
    needed = {"and": width, "or": 1}.get(predicate) or int(predicate.removeprefix("atleast:"))
    distribution = np.zeros((len(asked), width + 1))  # of the number of ones so far
    distribution[:, 0] = 1.0
    for place in range(width):
        one = shares[asked[:, place]][:, None]
        distribution[:, 1:] = distribution[:, 1:] * (1.0 - one) + distribution[:, :-1] * one
        distribution[:, :1] *= 1.0 - one
    return np.asarray(distribution[:, needed:].sum(axis=1))

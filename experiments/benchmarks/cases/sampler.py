"""Exact draws from millions of weights, beside numpy.random.Generator.choice."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.selections.query_weights import QueryWeights
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread

ROWS, STEP, OBSERVED = 494_021, Decimal("1.2"), 20
LIMITS = {1_750: 8.0, 50_000: 25.0}


@case("How many milliseconds do 1,750 and 50,000 draws from 4 million weights take, and how many with NumPy?")
def sampler(setting: Setting) -> Result:
    """Measure one round's draw: weights from scores, and exact integer draws, on 2 threads, after 20 observed records."""
    base = setting.pick(2_000_000, 500)
    weights, probabilities = _weights(base)
    repetitions = setting.pick(20, 2)
    source, generator = SystemWords(), np.random.default_rng(1)
    rows, bars = [], []
    for draws, limit in LIMITS.items():
        own = _milliseconds(partial(weights.draw, draws, source), repetitions)
        theirs = _milliseconds(partial(generator.choice, 2 * base, size=draws, p=probabilities), repetitions)
        rows.append(
            {
                "weights": 2 * base,
                "draws": draws,
                "milliseconds": own,
                "Generator.choice with ready probabilities, milliseconds": theirs,
                "times faster": theirs["median"] / own["median"],
            }
        )
        bars.append(Bar(f"milliseconds for {draws:,} draws, median", own["median"], limit))
    return Result(rows, bars)


def _weights(base: int) -> tuple[QueryWeights, NDArray[np.float64]]:
    """Return weights of made-up queries after some observed records, and the same as floating-point probabilities."""
    generator = np.random.default_rng(0)
    truth = generator.random(base) ** 3
    counts = (truth * ROWS).astype(np.int64)
    weights = QueryWeights(counts, rows=ROWS, size=ROWS, step=STEP)
    scores = np.zeros(base)
    for _ in range(OBSERVED):
        satisfied = generator.random(base) < truth
        weights.observe(satisfied)
        scores += counts / ROWS - satisfied
    signed = float(STEP) * np.stack((scores, -scores), axis=1).ravel()
    distribution = np.exp(signed - signed.max())
    return weights, distribution / distribution.sum()


def _milliseconds(draw: Callable[[], object], repetitions: int) -> dict[str, float]:
    draw()
    measured = []
    for _ in range(repetitions):
        started = time.perf_counter()
        draw()
        measured.append(1_000 * (time.perf_counter() - started))
    return spread(measured)

"""The worst pair of neighbours and the worst event, exactly, where tables and outcomes are few: by mixed-integer programs.

For neighbours i with finite output distributions P_i and Q_i, the program WE(t) chooses a pair and an event:

    maximize    sum over i, o of w_io (P_i(o) - t Q_i(o)) e_io      [minus delta]
    subject to  e_io <= z_i,  sum over i of z_i = 1,  0 <= e_io <= 1,  z_i in {0, 1}

A mechanism is (ln t, delta)-DP if and only if its optimum with w = 1 is at most delta. For delta = 0 each term may be weighted
without a change of signs, w_io = 1 / (P_i(o) + t Q_i(o)), so that rare outcomes count. From t = 1, t is set to
(P(E) - delta) / Q(E) of the best event until none is better (Dinkelbach 1967); then ln t is the loss, and pair and event are
the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.solvers.registry import get_solver

Floats = NDArray[np.float64]
TOLERANCE = 1e-7
ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours and their distributions, (o,) each, over the same outcomes."""

    one: str
    other: str
    distribution: Floats
    other_distribution: Floats


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst pair, its event as numbers of outcomes, the event's probabilities, and the epsilon that they prove."""

    pair: Pair
    event: tuple[int, ...]
    probability: float
    other_probability: float
    epsilon: float


def worst_event(pairs: Sequence[Pair], delta: float = 0.0) -> Worst:
    """Return the pair and event with the largest ln((P(E) - delta) / Q(E)), by WE(t)."""
    both = [*pairs, *(Pair(pair.other, pair.one, pair.other_distribution, pair.distribution) for pair in pairs)]
    solver, growth = get_solver("highs"), 1.0
    worst = Worst(both[0], (), 0.0, 0.0, 0.0)
    for _ in range(ROUNDS):
        result = solver.solve(event_program(both, growth, weighted=delta == 0))
        point = np.asarray(result.require_solution(), dtype=np.float64)
        chosen = int(np.argmax(point[: len(both)]))
        first = len(both) + sum(len(pair.distribution) for pair in both[:chosen])
        pair = both[chosen]
        event = np.flatnonzero(point[first : first + len(pair.distribution)] > 0.5)
        p, q = float(pair.distribution[event].sum()), float(pair.other_distribution[event].sum())
        if len(event) == 0 or p - delta <= growth * q * (1 + TOLERANCE):
            return worst
        growth = (p - delta) / q
        worst = Worst(pair, tuple(event.tolist()), p, q, log(growth))
    raise ArithmeticError(f"no worst event was found in {ROUNDS} programs")


def event_program(pairs: Sequence[Pair], growth: float, *, weighted: bool) -> MixedIntegerProgram:
    """Return WE(growth)."""
    number = len(pairs)
    gains = [pair.distribution - growth * pair.other_distribution for pair in pairs]
    if weighted:
        gains = [
            gain / (pair.distribution + growth * pair.other_distribution)
            for gain, pair in zip(gains, pairs, strict=True)
        ]
    owners = np.repeat(np.arange(number), [len(gain) for gain in gains])
    events = len(owners)
    columns = np.stack([number + np.arange(events), owners], axis=1).reshape(-1)
    return MixedIntegerProgram(
        maximize=True,
        objective=np.concatenate([np.zeros(number), *gains]),
        row_starts=np.concatenate([2 * np.arange(events), [2 * events, 2 * events + number]]),
        columns=np.concatenate([columns, np.arange(number)]).astype(np.int32),
        coefficients=np.concatenate([np.tile([1.0, -1.0], events), np.ones(number)]),
        row_lower=np.concatenate([np.full(events, -np.inf), [1.0]]),
        row_upper=np.concatenate([np.zeros(events), [1.0]]),
        lower=np.zeros(number + events),
        upper=np.ones(number + events),
        integrality=np.arange(number + events) < number,
    )

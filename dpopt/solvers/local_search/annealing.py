"""What the searches of this room share: temperatures, random numbers, the end of the work, and what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.limits import SolveLimits
from dpopt.programs.max_csp import MaxCsp

SWEEPS_PER_ANNEAL = 1000
BATCH = 100  # sweeps between two looks at the clock
HOT, COLD = 2.0, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best record of one or more descents: its objective, its flat columns (d',), and the sweeps it took.

    `history` holds when (readings of `time.perf_counter`) which objective was first reached.
    """

    objective: int
    chosen: NDArray[np.int64]
    sweeps: int
    history: tuple[tuple[float, int], ...] = ()

    def noted(self) -> Found:
        """Return the same with a history that begins now."""
        return replace(self, history=((time.perf_counter(), self.objective),))

    def or_better(self, other: Found) -> Found:
        """Return the better of the two (this one if they are equal), with the sweeps of both."""
        sweeps = self.sweeps + other.sweeps
        if other.objective <= self.objective:
            return replace(self, sweeps=sweeps)
        entry = (time.perf_counter(), other.objective)
        return Found(other.objective, other.chosen, sweeps, (*self.history, entry))


class Schedule:
    """How a problem is annealed: `anneals` times, `sweeps` sweeps in all, from hot to cold, until the deadline.

    Anneals share nothing that changes; the random numbers of each depend on the seed and on its number alone.
    """

    def __init__(self, problem: MaxCsp, limits: SolveLimits, sweeps: int, deadline: float | None) -> None:
        sizes = np.abs(problem.weights).astype(np.float64)
        self.typical = float(np.sqrt(np.mean(sizes**2))) if sizes.size else 1.0
        self.hot = HOT * self.typical
        self.cold = COLD * float(np.median(sizes)) if sizes.size else COLD
        self.seed = limits.seed
        self.sweeps = sweeps
        self.anneals = max(1, round(self.sweeps / SWEEPS_PER_ANNEAL))
        self.deadline = deadline

    def time_is_up(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def temperatures(self, number: int) -> NDArray[np.float64]:
        """Return the temperature of each sweep of an anneal."""
        return np.geomspace(self.hot, self.cold, (self.sweeps + number) // self.anneals)

    def random(self, number: int) -> NDArray[np.uint64]:
        """Return the generator's state (1,) at the start of an anneal."""
        return np.array([(self.seed << 32) + number], dtype=np.uint64)


def anneal_repeatedly(anneal: Callable[[int], Found], schedule: Schedule, threads: int, best: Found) -> Found:
    """Return the best of this record and of all anneals, `threads` of them at once, until the time is up."""
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(0, schedule.anneals, threads):
            batch = range(begin, min(begin + threads, schedule.anneals))
            for one in pool.map(anneal, batch) if threads > 1 else map(anneal, batch):
                best = best.or_better(one)
            if schedule.time_is_up():
                break
    return best

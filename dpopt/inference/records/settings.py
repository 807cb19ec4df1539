"""How a fit is made: public numbers only, so that it can be repeated from a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpopt.errors import ProgramError
from dpopt.programs.solver import Solver

MOST_RECORDS = 100_000_000


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a fit is made, and when it ends.

    Parameters
    ----------
    records
        Number N of equally weighted records that the record search keeps, 1 .. 10^8.
    sweeps
        Sweeps of the record search, >= 0; each gives every record its best response to all others once.
    smoothing
        Temperature tau >= 0. 0: plain best responses. Above 0, records are drawn from the law proportional to
        prod_r prior(x_r) exp(-f / tau), one attribute of one record at a time; with weights 1 and values of variance s^2,
        tau = s^2 is the posterior law of the records.
    improvement
        Stop before the last sweep once one lowers f by less than this share of f, >= 0; plain best responses only.
    seconds
        Wall-clock seconds after which no further sweep or round begins, or None. A repeated fit may then end elsewhere.
    rounds
        Rounds of column generation after the search, >= 0; 0 keeps the equally weighted records.
    gap
        Absolute gap of f at which column generation ends, or None.
    seed
        0 .. 2^31 - 1, public.
    threads
        Threads of what can be divided without changing the result, and of solvers, >= 1.
    pricing, proof
        The solvers, or their names, that look for new records and that prove bounds, where the problem is small enough to write
        it out. None leaves pricing to this room's own search, and bounds to enumeration (where that is possible).

    Raises
    ------
    ProgramError
        A number outside its range.
    """

    records: int = 20_000
    sweeps: int = 10
    smoothing: float = 0.0
    improvement: float = 0.0
    seconds: float | None = None
    rounds: int = 0
    gap: float | None = None
    seed: int = 0
    threads: int = 2
    pricing: str | Solver | None = None
    proof: str | None = None

    def __post_init__(self) -> None:
        for name, least, most in (
            ("records", 1, MOST_RECORDS),
            ("sweeps", 0, 2**31 - 1),
            ("rounds", 0, 2**31 - 1),
            ("seed", 0, 2**31 - 1),
            ("threads", 1, 2**10),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ProgramError(f"{name} is {value}; give a whole number from {least} to {most:,}")
        for name in ("smoothing", "improvement"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ProgramError(f"{name} is {value}; give a finite number of at least 0")
        if self.seconds is not None and not self.seconds > 0:
            raise ProgramError(f"seconds is {self.seconds}; give a number above 0, or None for no limit")
        if self.gap is not None and not (math.isfinite(self.gap) and self.gap >= 0):
            raise ProgramError(f"gap is {self.gap}; give a finite number of at least 0, or None")

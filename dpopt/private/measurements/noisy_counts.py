"""Counts of the records with integer noise: the only place where exact counts become noisy ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Noise
from dpopt.private.tables.dataset import Progress
from dpopt.transcript.released import NoisyAnswers

CHUNK = 100_000
"""Counts that get their noise before progress is reported; in their order, as noise of a seed depends on it."""


class Noised(Protocol):
    """A measurement with noise: its name, and distribution and scale of the noise."""

    @property
    def name(self) -> str:
        """The name of the counts."""
        ...

    @property
    def scale(self) -> float:
        """Sigma of the discrete Gaussian or b of the discrete Laplace distribution."""
        ...

    @property
    def gaussian(self) -> bool:
        """Which of the two."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class NamedNoise:
    """The base of most measurements: what is `Noised`, as fields."""

    name: str
    """It identifies the measurement within a run."""
    scale: float
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in `UNITS` of what is measured."""
    gaussian: bool
    """Which of the two."""
    UNITS: ClassVar[str] = " records"

    def __post_init__(self) -> None:
        if not self.name:
            raise PlanError("a measurement needs a name; say in words what is counted")
        check_scale(self.name, self.scale, self.UNITS)


def noise_charge(measurement: Noised, sensitivity: int, relation: NeighbouringRelation) -> Charge:
    """Return a measurement's charge by `measurement_charge`, under its name and noise. Privacy: C1 in docs/privacy."""
    return measurement_charge(
        measurement.name, sensitivity, measurement.scale, gaussian=measurement.gaussian, relation=relation
    )


def check_scale(what: str, scale: float, units: str = " records") -> None:
    """Refuse, by PlanError, noise that is none, or beyond 64 bits: a scale that is not from 1e-9 to below 1e15.

    Counts stay below 2^40, so a draw that leaves 64 bits would be 9,000 scales away: probability below exp(-9000).
    """
    if not SMALLEST_SCALE <= scale < LARGEST_SCALE:
        raise PlanError(
            f"{what}: the scale of the noise must be from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g}{units}, found "
            f"{scale!r}"
        )


def with_noise(
    exact: NDArray[np.int64], measurement: Noised, charge: Charge, noise: Noise, progress: Progress | None = None
) -> NoisyAnswers:
    """Return exact counts with the noise of a measurement. The caller has spent `charge` and put it on file.

    `progress` is called with the share of the counts that have their noise; how often depends on their number alone.
    Privacy: C1 in docs/privacy.
    """
    add_noise = noise.discrete_gaussian if measurement.gaussian else noise.discrete_laplace
    values = np.empty_like(exact)
    for start in range(0, exact.size, CHUNK):
        part = slice(start, min(start + CHUNK, exact.size))
        values[part] = add_noise(exact[part], measurement.scale)
        if progress is not None:
            progress(part.stop / exact.size)
    distribution = DISCRETE_GAUSSIAN if measurement.gaussian else DISCRETE_LAPLACE
    return NoisyAnswers(measurement.name, freeze(values), distribution, measurement.scale, charge)

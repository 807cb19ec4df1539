"""Counts of the records with integer noise: the only place where exact counts become noisy ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.constraints import Number, constrain
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


Scale = Annotated[float, Number("the scale of the noise", least=SMALLEST_SCALE, below=LARGEST_SCALE)]
"""Not beyond 64 bits: counts stay below 2^40, so a draw that leaves them would be 9,000 scales away, of probability below
exp(-9000)."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedNoise:
    """The base of most measurements: what is `Noised`, as fields."""

    name: str
    """It identifies the measurement within a run."""
    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in units of what is measured."""
    gaussian: bool
    """Which of the two."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if not self.name:
            raise PlanError("a measurement needs a name; say in words what is counted")


def noise_charge(measurement: Noised, sensitivity: int, relation: NeighbouringRelation) -> Charge:
    """Return a measurement's charge by `measurement_charge`, under its name and noise. Privacy: C1 in docs/privacy."""
    return measurement_charge(
        measurement.name, sensitivity, measurement.scale, gaussian=measurement.gaussian, relation=relation
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

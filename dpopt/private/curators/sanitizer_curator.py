"""The curator of the generic sanitizer: adds up the coefficients of the records' polynomials, and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import LARGEST_MOVED, LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.measurements.sanitizer_sums import coefficient_sums
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.polynomial_families import (
    FunctionFamily,
    PolynomialFamily,
    SymmetricFamily,
    TableFamily,
)
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


@dataclass(frozen=True, slots=True)
class CoefficientSums:
    """The sums of all coefficients, with one noise on each (Thaler, Ullman and Vadhan 2012, Theorems 3.1 and 3.2).

    Attributes
    ----------
    name : str
        What the coefficients are of.
    unit : float
        Coefficients are cut to whole multiples of it; a power of two.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace law, in units.
    gaussian : bool
    """

    name: str
    unit: float
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if not 0 < self.unit < inf or np.frexp(self.unit)[0] != 0.5:
            raise PlanError(f"found the unit {self.unit!r}; expected a power of two")
        if not SMALLEST_SCALE <= self.scale < LARGEST_SCALE:
            raise PlanError(
                f"found noise of scale {self.scale!r}; expected {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g} units"
            )

    def charge(self, family: PolynomialFamily, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** `family.moves(unit)`: how far the sums of neighbours are apart, in L1 and in L2. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C9 in docs/privacy.md. Tests:
        `tests/private/test_sanitizer_curator.py`, `tests/boundary/test_exact_loss_of_sanitizers.py`.
        """
        moved, scale = moved_and_scale(
            family,
            self.unit,
            self.scale,
            gaussian=self.gaussian,
            replaced=relation is NeighbouringRelation.REPLACE_ONE,
        )
        return measurement_charge(self.name, moved, scale, gaussian=self.gaussian, relation=relation)


def moved_and_scale(
    family: PolynomialFamily, unit: float, scale: float, *, gaussian: bool, replaced: bool
) -> tuple[int, float]:
    """Return L1, or the square of L2, and the scale of the noise, as accounting takes them.

    A square of L2 beyond 2^53 is stated in units that are larger by a power of two, and so is the scale: upward, and else the
    same.
    """
    moves = family.moves(unit)
    if not gaussian:
        return (moves.replaced if replaced else moves.added), scale
    moved, shift = (moves.replaced_squared if replaced else moves.added_squared), 0
    while -(-moved >> 2 * shift) > LARGEST_MOVED:
        shift += 1
    return -(-moved >> 2 * shift), scale / 2.0**shift


class SanitizerCurator(Door[PrivateDataset]):
    """Answers a driver with noisy sums of coefficients only.

    Parameters
    ----------
    dataset : PrivateDataset
        The records, with the attributes of the family and no others.
    family : SymmetricFamily, TableFamily or FunctionFamily
        One of these exactly; the bounds of others are not enforced here. What remains trusted of a function is said there.
    ledger : Ledger
        Holds the reservation of the whole plan; the charge is spent here before the draw is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Under replace-one the number of records, which is public then; not used under add-remove.
    noise : Noise, optional
        Anything but the default marks the ledger as not private.
    threads : int
        Threads for counting and drawing.
    progress : callable, optional
        Called with the share of the drawing that is done; its timing depends on public sizes only.

    Raises
    ------
    PrivateDataError
        Under replace-one, if there are not exactly `size` records; or if the attributes are not those of the family.
    PlanError
        If the family is of any other type.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        family: PolynomialFamily,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if type(family) not in {SymmetricFamily, TableFamily, FunctionFamily}:
            raise PlanError(
                f"found a family of type {type(family).__name__}; expected one whose bounds are enforced: SymmetricFamily, "
                "TableFamily or FunctionFamily"
            )
        if dataset._schema.fingerprint() != family.schema.fingerprint():
            raise PrivateDataError("the table was read with other attributes than those of the family")
        noise = OpendpNoise() if noise is None else noise
        super().__init__(
            dataset,
            ledger,
            journal,
            size=size,
            noise=noise,
            trusted=is_trusted(None, noise),
            threads=threads,
            progress=progress,
        )
        self._family = family
        self._measured = False

    def measure(self, measurement: CoefficientSums) -> NoisyAnswers:
        """Add up the coefficients, charge, then add noise.

        Neighbouring relation, sensitivity and theorem: see `CoefficientSums.charge`, which is computed here, never taken from
        the caller. Privacy: C9 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or the coefficients were measured before; nothing is drawn.
        PlanError
            If the measurement is anything else, whose charge nobody has proven; nothing is spent then.
        PrivateDataError
            If the function of the family fails for a record; nothing is spent then.
        """
        if type(measurement) is not CoefficientSums:
            raise PlanError(f"found a {type(measurement).__name__}; expected sums of coefficients")
        if self._measured:
            raise BudgetError(f"{measurement.name!r} was measured before, and no draw is repeated")
        charge = measurement.charge(self._family, self._relation)
        sums = self._sums(measurement.unit)
        charge = self._charged(charge)
        self._measured = True
        answers = with_noise(
            sums, measurement, charge, self._noise, threads=self._threads, progress=self._progress
        )
        return self._released(answers, answers.to_json())

    def _sums(self, unit: float) -> NDArray[np.int64]:
        return coefficient_sums(self._dataset, self._family, unit, threads=self._threads)

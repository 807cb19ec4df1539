"""What it costs to measure the number of records, which add-remove keeps private: a share of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

SIZE = "number of records"
SIZE_SHARE = 0.01
"""Share of the budget for the number of records: of rho under zCDP, of epsilon elsewhere."""


@dataclass(frozen=True, slots=True)
class SizeMeasurement:
    """The number of records, to be measured once.

    Attributes
    ----------
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace distribution, in records.
    gaussian : bool
        Which of the two.
    draw : int
        1, or more where so many draws before this one were torn on file; each of them is charged.
    """

    scale: float
    gaussian: bool
    draw: int = 1

    @classmethod
    def of(cls, budget: Budget, draw: int = 1) -> Self:
        """Return the measurement that a hundredth of the whole budget pays for: Gaussian noise under zCDP, else Laplace.

        Raises
        ------
        AccountingError
            If the budget is 0, or so small that the noise would have a scale of 1e15 or more.
        """
        gaussian = budget.accountant is Accountant.ZCDP
        if not budget.amount > 0:
            raise AccountingError(
                f"{budget.describe()} leaves nothing to measure the number of records with; raise the budget, or declare a "
                "fixed public number (n0)"
            )
        amount = SIZE_SHARE * budget.amount / (budget.group**2 if gaussian else budget.group)
        return cls(measurement_scale(1, amount=amount, gaussian=gaussian), gaussian, draw)

    @property
    def name(self) -> str:
        """What is measured, in words."""
        return SIZE if self.draw == 1 else f"{SIZE}, draw {self.draw}"

    def charge(self) -> Charge:
        """Return what it costs.

        Neighbouring relation: add-remove. Sensitivity: 1, since one record more or less changes the number by one. Theorem:
        as for `dpopt.accounting.measurements.measurement_charge`. Checked by `tests/boundary/test_exact_loss_of_sizes.py`
        over the exact distributions of neighbouring numbers. Privacy: C14 in docs/privacy.md.
        """
        return measurement_charge(
            self.name, 1, self.scale, gaussian=self.gaussian, relation=NeighbouringRelation.ADD_REMOVE
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, in records; a bound of it, which is close from a scale of 1 on."""
        return self.scale if self.gaussian else sqrt(2) * self.scale

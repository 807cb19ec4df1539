"""What it costs to measure all one-way marginals of a table with integer noise."""

from __future__ import annotations

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

ONE_WAY = "one-way marginals"


def one_way_charge(
    attributes: int, *, scale: float, gaussian: bool, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of noisy one-way marginals over `attributes` histograms.

    A record counts once in each histogram. Add-remove: L1 sensitivity d, L2 sensitivity sqrt(d); replace-one:
    2 d and sqrt(2 d). Privacy: C1, C4 in docs/privacy.md.

    Raises
    ------
    AccountingError
        No attribute, or a scale that is out of range.
    """
    return measurement_charge(
        ONE_WAY, _moved(attributes, relation), scale, gaussian=gaussian, relation=relation
    )


def one_way_scale(attributes: int, *, amount: float, gaussian: bool, relation: NeighbouringRelation) -> float:
    """Return the noise scale whose charge is at most `amount` (rho of zCDP if `gaussian`, else epsilon)."""
    return measurement_scale(_moved(attributes, relation), amount=amount, gaussian=gaussian)


def _moved(attributes: int, relation: NeighbouringRelation) -> int:
    if attributes < 1:
        raise AccountingError(f"{ONE_WAY}: found {attributes} attributes, expected at least 1")
    return attributes if relation is NeighbouringRelation.ADD_REMOVE else 2 * attributes

"""What it costs to measure all one-way marginals of a table with integer noise."""

from __future__ import annotations

from math import sqrt

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

_UPWARD = 1.0 + 2.0**-50  # more than the three roundings of a parameter


def one_way_charge(
    attributes: int, *, scale: float, gaussian: bool, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of noisy one-way marginals over `attributes` histograms.

    A record counts once in each histogram. Add-remove: L1 sensitivity d, L2 sensitivity sqrt(d); replace-one:
    2 d and sqrt(2 d), since the record leaves one cell and enters another in each histogram.

    Source: discrete Gaussian of parameter sigma, (L2^2 / (2 sigma^2))-zCDP (Canonne, Kamath and Steinke 2020,
    Theorem 14); discrete Laplace of scale b, (L1 / b)-DP (Ghosh, Roughgarden and Sundararajan 2009).
    """
    if attributes < 1 or not 0 < scale < 1e15:
        raise AccountingError(
            f"one-way marginals: found {attributes} attributes and noise scale {scale!r}, expected at least 1 attribute "
            "and a scale above 0 and below 1e15"
        )
    cells = attributes if relation is NeighbouringRelation.ADD_REMOVE else 2 * attributes
    if gaussian:
        return Charge(
            mechanism="discrete Gaussian noise on one-way marginals",
            kind=ChargeKind.CONCENTRATED,
            parameter=cells / (2 * scale * scale) * _UPWARD,
            count=1,
            relation=relation,
            theorem="Canonne, Kamath and Steinke 2020, Theorem 14",
            label="one-way marginals",
        )
    return Charge(
        mechanism="discrete Laplace noise on one-way marginals",
        kind=ChargeKind.PURE,
        parameter=cells / scale * _UPWARD,
        count=1,
        relation=relation,
        theorem="Ghosh, Roughgarden and Sundararajan 2009",
        label="one-way marginals",
    )


def one_way_scale(attributes: int, *, amount: float, gaussian: bool, relation: NeighbouringRelation) -> float:
    """Return the noise scale whose charge is at most `amount` (rho of zCDP if `gaussian`, else epsilon)."""
    cells = attributes if relation is NeighbouringRelation.ADD_REMOVE else 2 * attributes
    return (sqrt(cells / (2 * amount)) if gaussian else cells / amount) * (1 + 1e-12)

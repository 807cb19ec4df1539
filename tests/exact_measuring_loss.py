"""The exact privacy loss of selections and measurements, over all pairs of neighbours of tiny universes.

A selection's distribution is read off the whole numbers that the real curator draws from. A measurement's distribution is
that of the noise of the scale that the curator asks for, around the counts that it gives: of the discrete distributions by
their formulas, which `tests/statistics/test_draws.py` holds OpenDP's samplers against.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from math import log

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import SAMPLER_SLACK
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections.selection import Selection
from tests.exact_distribution import gaussian_logs, logarithm
from tests.exact_loss import DIGITS, as_decimal, check_losses, check_rho
from tests.tiny_measuring import distinct_pairs, distribution_of_selection, measured_counts
from tests.tiny_runs import REPLACE, Table

SIZE = 2


def pairs(relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return each pair of neighbours once: of the public size, or under add-remove of 1 to 3 records."""
    return distinct_pairs(relation, SIZE)


def check_selection(what: Selection, relation: NeighbouringRelation) -> Decimal:
    """Check all neighbours; return the largest share of the charged range that a pair uses up."""
    distribution, charge = distribution_of_selection(what, relation, SIZE), what.charge(relation)
    reached = Decimal(0)
    for distributions in {(tuple(distribution(one)), tuple(distribution(two))) for one, two in pairs(relation)}:
        with localcontext(DIGITS):
            check_losses([charge], *([as_decimal(share) for share in shares] for shares in distributions))
        ratios = [a / b for a, b in zip(*distributions, strict=True)]
        found = logarithm(max(ratios) / min(ratios))
        assert found <= Decimal(charge.parameter), f"range {found}, charged {charge.parameter}"
        reached = max(reached, found / Decimal(charge.parameter))
    return reached


def check_measurement(what: Measurement, relation: NeighbouringRelation, charge: Charge) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    reached = 0.0
    for moves, scale in {moves_between(what, relation, *pair) for pair in pairs(relation)}:
        if what.gaussian:
            reached = max(reached, check_rho([charge], partial(log_moment, scale, moves)))
        else:
            epsilon = Fraction(sum(moves)) / Fraction(scale)
            assert epsilon <= Fraction(charge.parameter), f"epsilon {epsilon}, charged {charge.parameter}"
            reached = max(reached, float(epsilon / Fraction(charge.parameter)))
    return reached


@lru_cache(maxsize=100_000)
def noised(what: Measurement, relation: NeighbouringRelation, table: Table) -> tuple[NDArray[np.int64], float]:
    return measured_counts(what, table, relation, len(table) if relation is REPLACE else SIZE)


def moves_between(
    what: Measurement, relation: NeighbouringRelation, one: Table, two: Table
) -> tuple[tuple[int, ...], float]:
    (counts, scale), (others, _) = noised(what, relation, one), noised(what, relation, two)
    return tuple(np.abs(counts - others).tolist()), scale


def log_moment(scale: float, moves: Sequence[int], order: float) -> float:
    """Return ln of the sum over all noisy values of P^order Q^(1 - order), for independent discrete Gaussians moved apart."""
    return sum(_log_moment(scale, move, order) for move in moves if move)


@lru_cache(maxsize=10_000)
def _log_moment(scale: float, move: int, order: float) -> float:
    reach = np.arange(-int(60 * scale) - 2000, int(60 * scale) + 2001, dtype=np.float64)
    logs = order * gaussian_logs(reach, 0, scale) + (1 - order) * gaussian_logs(reach, move, scale)
    return float(np.logaddexp.reduce(logs))


def check_selection_and_measurement(
    what: Selection, scale: float, relation: NeighbouringRelation, *, gaussian: bool
) -> float:
    """Select, then measure what was selected: the loss of both together is at most the ledger's total; return the share."""
    distribution = distribution_of_selection(what, relation, SIZE)
    measurements = [
        Measurement("round 1", what.candidates.take([number]), scale, gaussian)
        for number in range(len(what.candidates))
    ]
    charges = [what.charge(relation), measurements[0].charge(np.array([2, 3]), relation)]
    reached = 0.0
    for one, two in pairs(relation):
        moves = [moves_between(measurement, relation, one, two)[0] for measurement in measurements]
        for first, second in ((distribution(one), distribution(two)), (distribution(two), distribution(one))):
            share = joint_loss(charges, first, second, moves, scale, gaussian=gaussian)
            reached = max(reached, share)
    return reached


def joint_loss(
    charges: Sequence[Charge],
    one: list[Fraction],
    two: list[Fraction],
    moves: Sequence[tuple[int, ...]],
    scale: float,
    *,
    gaussian: bool,
) -> float:
    """Check a selection and the measurement of what it selects; return the share of both charges that is used up."""
    if not gaussian:
        charged = columns_of(charges).epsilon(Accountant.PURE, 0.0)
        found = max(log(a / b) + sum(m) / scale for a, b, m in zip(one, two, moves, strict=True))
        assert found <= charged * (1 + 1e-12) + SAMPLER_SLACK, f"pure loss {found}, charged {charged}"
        return found / charged

    def joint_moment(order: float) -> float:
        parts = [
            order * log(a) + (1 - order) * log(b) + log_moment(scale, m, order)
            for a, b, m in zip(one, two, moves, strict=True)
        ]
        return float(np.logaddexp.reduce(parts))

    return check_rho(charges, joint_moment)

"""The cost of DualQuery's draws: range per draw, charges of a plan, epsilon of a plan.

Round t draws s queries, each with probability proportional to exp(eta (t - 1) q(D) - public). Between neighbouring
tables the log likelihood ratio of one draw has a range of at most

    e_t = 2 eta (t - 1) / n   under replace-one,
    e_t = eta (t - 1) / n0    under add-remove with fixed public n0,

and 2^-49 for the sampler from round 2 on. In round 1 it is exactly 0. Privacy: F1 in docs/privacy.

Source: Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014, DualQuery, Theorems 4.2 and 4.3 (proofs); Dong, Durfee, Rogers 2020
(bounded range of the exponential mechanism).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpopt.accounting.accountants import ChargeColumns, columns_of
from dpopt.accounting.charges import Charge, ChargeKind, check_whole, is_number
from dpopt.accounting.conversions import Floats
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.errors import AccountingError

MOST_ROUNDS = 1_000_000
SAMPLER_SLACK = 2.0**-49
LARGEST_STEP = 1e9
MECHANISM = "DualQuery draw (exponential mechanism)"
THEOREM = "DualQuery, proof of Theorem 4.2, as bounded range; sampler slack 2^-49"

_UPWARD = 1.0 + 2.0**-50  # eight roundings; five happen (eta itself, two products, a quotient, a sum)


def draw_range(round_index: int, eta: float, n: int, relation: NeighbouringRelation) -> float:
    """Return the bounded range of one draw of round t (`round_index`), from 1, sampler slack included, rounded up.

    0 for t = 1; else 2 eta (t - 1)/n + 2^-49 (replace-one) or eta (t - 1)/n0 + 2^-49 (add-remove). `eta` is the step of
    the multiplicative weights, above 0, and `n` the public number of records, or n0.

    Source: Gaboardi et al. 2014, DualQuery, proof of Theorem 4.2; Dong, Durfee, Rogers 2020.
    """
    check_whole("round", round_index, most=MOST_ROUNDS)
    return float(_ranges(round_index, eta, n, relation, first=round_index)[0])


def draw_charge(t: int, draws: int, eta: float, n: int, relation: NeighbouringRelation) -> Charge:
    """Return the charge of round t: `draws` independent draws of range `draw_range(t, eta, n, relation)`.

    Privacy: F1 in docs/privacy.
    """
    return _charge(t, draws, draw_range(t, eta, n, relation), relation)


def plan_charges(rounds: int, draws: int, eta: float, n: int, relation: NeighbouringRelation) -> tuple[Charge, ...]:
    """Return the charges of rounds 1 to `rounds`, in order.

    Privacy: F1 in docs/privacy.
    """
    ranges = _ranges(rounds, eta, n, relation)
    return tuple(_charge(t, draws, value, relation) for t, value in enumerate(ranges.tolist(), start=1))


def run_columns(
    rounds: int,
    draws: int,
    eta: float,
    n: int,
    relation: NeighbouringRelation,
    extra: Sequence[Charge] = (),
    *,
    group: int = 1,
) -> ChargeColumns:
    """Return the charges of a whole DualQuery run, and others of the same run, for units of up to `group` records.

    Their totals are guarantees under `relation`. With e_t the range of a draw in round t (`draw_range`) and s = `draws`:

        pure       s sum e_t
                   = eta T (T - 1) s / n under replace-one (Theorem 4.2)
        theorem    e_T sqrt(2 s (T - 1) ln(1/delta)) + s (T - 1) e_T (exp(e_T) - 1)  (Theorem 4.3)
        per-round  sqrt(2 ln(1/delta) s sum e_t^2) + s sum e_t (exp(e_t) - 1)
        zcdp       rho = s sum e_t^2 / 8
                   = s eta^2 T (T - 1) (2 T - 1) / (12 n^2) under replace-one, then `zcdp_epsilon`
        gdp        mu^2 = (s + pi/2 - 1) sum e_t^2 / 4, then `gdp_epsilon`;
                   the constant is verified numerically, not proved (see `Accountant`)

    each plus the sampler slack. They equal those of `columns_of(plan_charges(...) + extra)` bit for bit. Parameters as in
    `draw_range`; T and s are at least 1.

    Source: Gaboardi et al. 2014, DualQuery, Theorems 4.2 and 4.3; Cesar, Rogers 2021; Canonne, Kamath, Steinke 2020;
    Dong, Roth, Su 2019.
    """
    check_whole("draws", draws)
    ranges = _ranges(rounds, eta, n, relation)
    for charge in extra:
        if charge.relation is not relation:
            raise AccountingError(
                f"extra charge {charge.mechanism!r} holds under {charge.relation.describe()}, the draws under "
                f"{relation.describe()}; they cannot be added up"
            )
    return columns_of(extra).with_ranges(ranges, np.full(len(ranges), float(draws))).for_groups(group)


def _charge(t: int, draws: int, parameter: float, relation: NeighbouringRelation) -> Charge:
    return Charge(MECHANISM, ChargeKind.BOUNDED_RANGE, parameter, draws, relation, THEOREM, f"round {t}")


def _ranges(rounds: int, eta: float, n: int, relation: NeighbouringRelation, first: int = 1) -> Floats:
    """Return the ranges of one draw of rounds `first` to `rounds`, rounded up."""
    check_whole("round", rounds, most=MOST_ROUNDS)
    check_whole("n", n)
    if not (is_number(eta) and 0.0 < eta <= LARGEST_STEP):
        raise AccountingError(f"eta: found {eta!r}, expected a number above 0 and at most {LARGEST_STEP:g}")
    steps = np.arange(first - 1, rounds, dtype=np.float64)
    ranges: Floats = (once_or_twice(1, relation) * float(eta) * steps / n + SAMPLER_SLACK) * _UPWARD
    ranges[steps == 0.0] = 0.0
    return ranges

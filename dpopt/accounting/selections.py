"""The cost of selecting one of several candidates by its score, with the exponential mechanism.

A selection picks candidate c with probability proportional to exp(exponent(c)), exponent(c) = factor * score(c) +
public. Between neighbouring tables the scores move by amounts that differ from one candidate to another by at most
`score_range`, so the log likelihood ratio of the selection has a range of at most factor * score_range over the
candidates.

**FEM**: one selection per round, all of one range.

Round t selects a signed query with probability proportional to exp(c (q(D) - q(Dhat_t))), Dhat_t public; c = eps0 n / 2
under replace-one, eps0 n0 under add-remove, so that its range is eps0. T rounds are (T eps0^2 / 8)-zCDP. Privacy: E1,
E5 in docs/privacy.

The authors' published code charges eps0^2 / 2 per round, which is the charge of any eps0-DP mechanism: four times as
much.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, Theorem 3 (privacy of FEM); Dong, Durfee and Rogers 2020 (bounded
range); Cesar and Rogers 2021 (range^2 / 8).
"""

from __future__ import annotations

from decimal import Decimal
from math import isfinite, sqrt

from dpopt.accounting.charges import Charge, ChargeKind, check_whole
from dpopt.accounting.dualquery import SAMPLER_SLACK
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

LARGEST_RANGE = 1e9
MOST_SELECTIONS = 1_000_000
MECHANISM = "selection (exponential mechanism)"
THEOREM = "Dong, Durfee and Rogers 2020, exponential mechanism as bounded range; sampler slack 2^-49"

_UPWARD = 1.0 + 2.0**-50  # more than the conversion to a float and one sum


def selection_charge(round_index: int, range_: Decimal | float, relation: NeighbouringRelation) -> Charge:
    """Return the charge of one selection whose exponents have this range between neighbours, rounded up.

    Neighbouring relation: `relation`. Sensitivity: `range_`, the largest minus the smallest change of the exponents
    over the candidates, between any two neighbours (see `score_range`). Theorem: an exponential mechanism is
    range-bounded-range, hence range-DP and (range^2 / 8)-zCDP; 2^-49 is added for the sampler. Privacy: E1 in
    docs/privacy. Test: `tests/accounting/test_selections.py`.

    Rounds are numbered from 1, in the label of the charge; `range_` is at most 1e9.

    Source: Dong, Durfee and Rogers 2020; Cesar and Rogers 2021 (range^2 / 8).
    """
    check_whole("round of a selection", round_index)
    number = isinstance(range_, int | float | Decimal) and not isinstance(range_, bool)
    if not number or not 0 < float(range_) <= LARGEST_RANGE:
        raise AccountingError(
            f"range of a selection: found {range_!r}, expected a number above 0 and at most {LARGEST_RANGE:g}"
        )
    return Charge(
        mechanism=MECHANISM,
        kind=ChargeKind.BOUNDED_RANGE,
        parameter=(float(range_) + SAMPLER_SLACK) * _UPWARD,
        count=1,
        relation=relation,
        theorem=THEOREM,
        label=f"selection of round {int(round_index)}",
    )


def selection_range(amount: float, *, concentrated: bool) -> float:
    """Return a range whose charge is at most `amount`: rho of zCDP if `concentrated`, else epsilon.

    range = sqrt(8 amount), or amount, less the sampler slack and the roundings.
    """
    if not (isfinite(amount) and amount > 0):
        raise AccountingError(
            f"the share of the budget of a selection: found {amount!r}, expected a finite number above 0"
        )
    whole = sqrt(8.0 * amount) if concentrated else amount
    range_ = min(whole * (1.0 - 1e-12) - 2.0 * SAMPLER_SLACK, LARGEST_RANGE)
    if range_ <= 0:
        raise AccountingError(
            f"the share of the budget of a selection: found {amount!r}, which is not above the sampler slack; raise it"
        )
    return range_


def score_range(score: str, relation: NeighbouringRelation) -> int:
    """Return by how much the changes of the scores of candidates differ at most between neighbours, in counts.

    The score of a candidate is a distance between its exact counts, a vector in which every record counts in at most
    one cell, and public numbers, less a public penalty: "l1" the sum of the absolute differences, "max" the largest
    one.

    2, and 4 for "l1" under replace-one. Privacy: E4 in docs/privacy.
    """
    if score not in {"l1", "max"}:
        raise AccountingError(f"score of a selection: found {score!r}, expected 'l1' or 'max'")
    return 4 if score == "l1" and relation is NeighbouringRelation.REPLACE_ONE else 2


def fem_charges(rounds: int, range_: Decimal, relation: NeighbouringRelation) -> tuple[Charge, ...]:
    """Return the charges of rounds 1 to `rounds`, in order: a selection of range eps0 each.

    Privacy: E1, E5 in docs/privacy.
    """
    check_whole("rounds of FEM", rounds, most=MOST_SELECTIONS)
    return tuple(selection_charge(t, range_, relation) for t in range(1, rounds + 1))

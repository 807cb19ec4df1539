"""What FEM and sepFEM cost: one selection by the exponential mechanism per round, all of one range.

Round t selects a signed query with probability proportional to exp(c (q(D) - q(Dhat_t))), Dhat_t public; c = eps0 n / 2 under
replace-one, eps0 n0 under add-remove, so that its range is eps0. T rounds are (T eps0^2 / 8)-zCDP.
Privacy: E1, E5 in docs/privacy.md.

The authors' published code charges eps0^2 / 2 per round, which is the charge of any eps0-DP mechanism: four times as much.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, Theorem 3 (privacy of FEM); Dong, Durfee and Rogers 2020 (bounded range);
Cesar and Rogers 2021 (range^2 / 8).
"""

from __future__ import annotations

from decimal import Decimal

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.errors import AccountingError

MOST_SELECTIONS = 1_000_000


def fem_charges(rounds: int, range_: Decimal, relation: NeighbouringRelation) -> tuple[Charge, ...]:
    """Return the charges of rounds 1 to `rounds`, in order: a selection of range eps0 each.

    Privacy: E1, E5 in docs/privacy.md.

    Raises
    ------
    AccountingError
        A number out of range.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= MOST_SELECTIONS:
        raise AccountingError(
            f"rounds of FEM: found {rounds!r}, expected a whole number from 1 to {MOST_SELECTIONS:,}"
        )
    return tuple(selection_charge(t, range_, relation) for t in range(1, rounds + 1))


def units_per_range(records: int, relation: NeighbouringRelation) -> int:
    """Return by how many units of 1/(n s) the scores q(D) - q(Dhat) of two queries can move apart, for s records.

    A count moves by one, which is s units: s under add-remove, 2 s under replace-one. Weights exp(eps0 units / this number)
    therefore have range eps0.
    """
    return records if relation is NeighbouringRelation.ADD_REMOVE else 2 * records

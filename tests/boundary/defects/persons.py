"""Planted defects of what is charged for persons of several rows, and the exact privacy loss of one.

The runs and their distributions are those of the checks for single records; only the pairs of tables are further apart, and
what is held against them is what a budget for persons says of the same charges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dpopt.accounting.accountants import Accountant, ChargeColumns, Composition, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.conversions import scaled_upward
from dpopt.queries.ranges.bins import Bins
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from tests.boundary.planted import ADD, Check, Mechanism, defect, wrap
from tests.exact_counts_loss import Drawn, binned
from tests.exact_loss import (
    DIGITS,
    NEGLIGIBLE,
    ORDERS,
    WITH_DELTA,
    Divergences,
    Game,
    as_decimal,
    check_deltas,
    check_renyi,
)
from tests.exact_measuring_loss import SIZE, log_moment
from tests.tiny_measuring import distribution_of_selection
from tests.tiny_measuring import selection as tiny_selection
from tests.tiny_runs import ADD_REMOVE, Table, bits_schema, conjunctions, universe

ONE_QUERY = conjunctions(bits_schema(1), "a")
BINS, ROWS = 3, 2
LARGEST = 1e300


def persons(rows: int, records: Sequence[tuple[int, ...]]) -> Iterator[tuple[Table, Table]]:
    """Return tables without and with one person of 1 to `rows` rows, beside 0 to 2 rows of others."""
    for others in range(ROWS + 1):
        for table in combinations_with_replacement(records, others):
            for own in range(1, rows + 1):
                for person in combinations_with_replacement(records, own):
                    yield table, tuple(sorted((*table, *person)))


def check_histogram(budget: Budget) -> float:
    """Check a histogram that spends a budget for persons; return the largest share of the budget that is lost."""
    plan = plan_blocks(Bins("x", BINS), budget)
    game, reached = binned(BINS).releasing(release_histogram, plan), 0.0
    for one, two in persons(budget.group, [(bin_,) for bin_ in range(BINS)]):
        without, with_person = game.played(_counts(one)).drawn, game.played(_counts(two)).drawn
        reached = max(reached, lost_between(without, with_person, budget))
    return reached


def _counts(table: Table) -> tuple[int, ...]:
    return tuple(np.bincount([record[0] for record in table], minlength=BINS).tolist())


def lost_between(one: Sequence[Drawn], two: Sequence[Drawn], budget: Budget) -> float:
    """Assert that what was drawn on two tables tells no more than a budget; return the share of it."""
    drawn = [
        (np.abs(np.subtract(first.counts, second.counts)).tolist(), first.scale)
        for first, second in zip(one, two, strict=True)
    ]
    if budget.rho is None:
        epsilon = sum((Fraction(sum(moves)) / Fraction(scale) for moves, scale in drawn), Fraction(0))
        assert epsilon <= Fraction(budget.epsilon or 0.0), f"lost {float(epsilon)} of {budget.epsilon}"
        return float(epsilon / Fraction(budget.epsilon or 0.0))
    rho = max(
        sum(log_moment(scale, moves, order) for moves, scale in drawn) / (order * (order - 1)) for order in ORDERS
    )
    assert rho <= budget.rho * (1 + 1e-9), f"lost {rho} of {budget.rho}"
    return rho / budget.rho


def check_draws(rows: int) -> Decimal:
    """Check a run of DualQuery; return the largest share of the person's pure epsilon that is lost."""
    game = Game.of(ONE_QUERY, rounds=2, draws=2, step="0.8", size=2, relation=ADD_REMOVE)
    reached, charges, distribution = Decimal(0), cache(game.charges), cache(game.distribution)
    for one, two in persons(rows, universe(game.workload.schema)):
        if one:
            reached = max(reached, check_person(charges(one), distribution(one), distribution(two), rows))
    return reached


def check_selection(rows: int) -> Decimal:
    """Check a selection by the exponential mechanism; return the largest share of the person's pure epsilon that is lost."""
    what = tiny_selection()
    distribution, charge = distribution_of_selection(what, ADD_REMOVE, SIZE), what.charge(ADD_REMOVE)
    records = [(a, b) for a in range(2) for b in range(3)]
    pairs = {(tuple(distribution(one)), tuple(distribution(two))) for one, two in persons(rows, records) if one}
    with localcontext(DIGITS):
        return max(
            check_person([charge], [as_decimal(p) for p in one], [as_decimal(p) for p in two], rows)
            for one, two in pairs
        )


@cache
def charged(charges: tuple[Charge, ...], rows: int, composition: Composition, delta: float) -> float:
    """Return what a person of so many rows is charged in epsilon; see `tests.exact_loss.charged`."""
    if isinstance(composition, Accountant):
        return Budget(LARGEST, delta, None, composition, rows).spent(charges).epsilon
    return columns_of(charges).for_groups(rows).epsilon(composition, delta)


def check_person(charges: Sequence[Charge], one: list[Decimal], two: list[Decimal], rows: int) -> Decimal:
    """Assert that no divergence of two distributions exceeds what budgets for persons say; return the share used."""
    apart, epsilon = Divergences(one, two), partial(charged, tuple(charges), rows)
    with localcontext(DIGITS):
        pure = Decimal(epsilon(Accountant.PURE, 0.0))
        assert apart.worst <= pure + NEGLIGIBLE, f"pure loss {apart.worst}, charged {pure}"
        check_deltas(apart, WITH_DELTA, epsilon)
        check_renyi(Budget(LARGEST, 1e-9, None, Accountant.ZCDP, rows).spent(charges).rho, apart)
        return apart.worst / pure


def budget_of(rows: int, *, gaussian: bool) -> Budget:
    """Return a budget for persons of at most so many rows."""
    if gaussian:
        return Budget(None, 1e-9, 0.2, Accountant.ZCDP, rows)
    return Budget(1.0, 0.0, None, Accountant.PURE, rows)


def check_loss_of_laplace_noise(relation: object) -> None:
    check_histogram(budget_of(2, gaussian=False))


def check_loss_of_gaussian_noise(relation: object) -> None:
    check_histogram(budget_of(2, gaussian=True))


def check_loss_of_draws(relation: object) -> None:
    check_draws(3)


def not_squared(usual: Any, columns: ChargeColumns, size: int) -> Any:
    found = usual(columns, size)
    object.__setattr__(found, "rhos", scaled_upward(columns.rhos, size))
    return found


LAPLACE, GAUSSIAN, DRAWS = check_loss_of_laplace_noise, check_loss_of_gaussian_noise, check_loss_of_draws
LOST = "lost|pure loss"
ALL: list[Check] = [LAPLACE, GAUSSIAN, DRAWS]
PERSONS = Mechanism(
    [],  # they are rows of `test_exact_loss.py`
    {
        "charge a person like a record": defect(
            wrap(ChargeColumns, "for_groups", lambda usual, columns, size: columns),
            *((check, ADD, LOST) for check in ALL),
        ),
        # K times that of a record.
        "count rho of a person like epsilon": defect(
            wrap(ChargeColumns, "for_groups", not_squared), (GAUSSIAN, ADD, LOST)
        ),
        "charge for one row less": defect(
            wrap(ChargeColumns, "for_groups", lambda usual, columns, size: usual(columns, max(1, size - 1))),
            *((check, ADD, LOST) for check in ALL),
        ),
    },
    relations=ADD,
)

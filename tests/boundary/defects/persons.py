"""Planted defects of what is charged for persons of several rows."""

from __future__ import annotations

from typing import Any

from dpopt.accounting.accountants import Accountant, ChargeColumns
from dpopt.accounting.budget import Budget
from dpopt.accounting.conversions import scaled_upward
from tests.boundary.planted import ADD, Check, Mechanism, defect, wrap
from tests.exact_loss import Game
from tests.exact_person_loss import check_draws, check_histogram
from tests.tiny_runs import ADD_REMOVE, bits_schema, conjunctions

ONE_QUERY = conjunctions(bits_schema(1), "a")


def check_loss_of_laplace_noise(relation: object) -> None:
    check_histogram(Budget(1.0, 0.0, None, Accountant.PURE, 2))


def check_loss_of_gaussian_noise(relation: object) -> None:
    check_histogram(Budget(None, 1e-9, 0.2, Accountant.ZCDP, 2))


def check_loss_of_draws(relation: object) -> None:
    check_draws(Game.of(ONE_QUERY, rounds=2, draws=2, step="0.8", size=2, relation=ADD_REMOVE), 3)


def not_squared(usual: Any, columns: ChargeColumns, size: int) -> Any:
    found = usual(columns, size)
    object.__setattr__(found, "rhos", scaled_upward(columns.rhos, size))
    return found


LAPLACE, GAUSSIAN, DRAWS = check_loss_of_laplace_noise, check_loss_of_gaussian_noise, check_loss_of_draws
LOST = "lost|pure loss"
ALL: list[Check] = [LAPLACE, GAUSSIAN, DRAWS]
PERSONS = Mechanism(
    ALL,
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

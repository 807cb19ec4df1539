from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import one_way_charge
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.options import MWEM, Projection
from dpopt.errors import PlanError
from dpopt.releases.plan import FreeAttributes
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, plan

ESTIMATED = {"free_attributes": FreeAttributes.ESTIMATED, "one_way": OneWayMeasurement(scale=12.5, gaussian=True)}
PLANS: dict[str, dict[str, Any]] = {
    "the usual one": {},
    "estimated free attributes": ESTIMATED,
    "add-remove, rho": {"relation": ADD_REMOVE, "budget": Budget(None, 1e-9, 0.1, Accountant.ZCDP)},
    "pure": {"budget": Budget(3.0, 0.0, None, Accountant.PURE)},
    "limits": {"work": 7, "seconds": 0.1, "seed": 2**31 - 1, "solver": "cp-sat"},
    "a step of many digits": {"step": Decimal("0.1234567890123456789012345678901")},
    "random": {"free_attributes": FreeAttributes.RANDOM},
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_reads_back_from_its_json_exactly(name: str) -> None:
    made = plan(**PLANS[name])
    assert DualQueryPlan.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_a_plan_reserves_the_one_way_marginals_first_then_each_round() -> None:
    made = plan(**ESTIMATED)
    measured = one_way_charge(4, scale=12.5, gaussian=True, relation=REPLACE)
    assert made.charges() == (measured, *plan_charges(6, 8, 1.4, 200, REPLACE))
    assert [charge.kind for charge in plan().charges()] == [ChargeKind.BOUNDED_RANGE] * 6


def test_whole_numbers_of_numpy_become_pythons() -> None:
    made = plan(rounds=np.int64(3), draws=np.uint8(2), size=np.int32(9), seed=np.int64(5), work=np.int16(4))
    assert made == plan(rounds=3, draws=2, size=9, seed=5, work=4)
    assert json.loads(json.dumps(made.to_json()))["work"] == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "the number of rounds must be a whole number of at least 1, found 0"),
        ({"draws": -2}, "the number of draws must be a whole number of at least 1, found -2"),
        ({"rounds": 2.0}, "the number of rounds must be a whole number of at least 1, found 2.0"),
        ({"rounds": True}, "the number of rounds must be a whole number of at least 1, found True"),
        ({"size": 0}, "the public size must be a whole number of at least 1, found 0"),
        ({"attributes": 0}, "the number of attributes must be a whole number"),
        ({"step": Decimal(0)}, "the step eta must be a finite number above 0, found 0"),
        ({"step": Decimal("NaN")}, "the step eta must be a finite number above 0, found NaN"),
        ({"step": Decimal("Infinity")}, "the step eta must be a finite number above 0, found Infinity"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, found -1"),
        ({"seed": 2**31}, "the seed must be at most 2,147,483,647, found 2,147,483,648"),
        ({"work": 0}, "the work per round must be a whole number of at least 1, found 0"),
        ({"seconds": 0}, "the seconds per round must be a finite number above 0, found 0"),
        ({"seconds": float("inf")}, "the seconds per round must be a finite number above 0, found inf"),
        ({"seconds": 10**400}, "the seconds per round must be a finite number above 0, found 1"),
        ({"seconds": True}, "the seconds per round must be a finite number above 0, found True"),
        ({"free_attributes": FreeAttributes.ESTIMATED}, "if and only if free attributes are estimated"),
        ({"one_way": OneWayMeasurement(1.0, gaussian=True)}, "if and only if free attributes are estimated"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**changes)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), "1"])
def test_noise_of_no_scale_is_refused(scale: Any) -> None:
    with pytest.raises(PlanError, match="the scale of one-way marginals must be a finite number above 0"):
        OneWayMeasurement(scale, gaussian=True)


@pytest.mark.parametrize(("key", "value"), [("free_attributes", "zeros"), ("encoding", "one-hot"), ("step", None)])
def test_a_damaged_plan_is_refused(key: str, value: object) -> None:
    with pytest.raises(PlanError, match="plan.json at"):
        DualQueryPlan.from_json({**plan().to_json(), key: value})


@pytest.mark.parametrize("given", [None, 3, b"x", object()])
def test_what_is_no_solver_is_refused(given: Any) -> None:
    for kind in (Projection, MWEM):
        with pytest.raises(PlanError, match="solver= is the name of one"):
            kind(solver=given)

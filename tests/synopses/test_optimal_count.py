"""One small count: what its plan promises, what its interval holds, and what is refused before anything is spent."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import DpoptError
from dpopt.private.curators.door import Door
from dpopt.synopses.optimal_count import LOSSES, OptimalCount, plan_count
from tests.tiny_runs import ADD_REMOVE

AGE = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65, 120), integer=True)
SCHEMA = dpopt.Schema((AGE, dpopt.Attribute("ill", dpopt.AttributeKind.BOOLEAN)))
TABLE = pd.DataFrame({"age": [8, 30, 40, 70, 71, 90], "ill": [True, False, True, True, False, True]})
WHERE = "age >= 65 and ill = true"


def planned(**given: Any) -> Any:
    budget = Budget(given.pop("epsilon", 1.0), given.pop("delta", 0.0), None, Accountant.PURE)
    return plan_count(budget, relation=ADD_REMOVE, **{"most": 6, **given})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_plan_states_its_loss_and_that_none_is_less(loss: str, delta: float) -> None:
    plan = planned(loss=loss, delta=delta)
    assert plan.bound <= plan.expected_error <= plan.bound + 1e-6
    weights = plan.weights / plan.weights[0].sum()
    away = np.abs(np.arange(7.0)[:, None] - np.arange(7.0))
    losses = {"absolute": away, "squared": away**2, "wrong": away > 0}[loss]
    assert plan.expected_error == pytest.approx((losses * weights).sum(axis=1).max())
    if not delta:
        assert max((weights[1:] / weights[:-1]).max(), (weights[:-1] / weights[1:]).max()) <= exp(1.0) * (1 + 1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_interval_holds_each_count_as_often_as_it_says(confidence: float) -> None:
    """Over the exact distribution of the draw, for every count."""
    plan = planned()
    probabilities = plan.weights / plan.weights[0].sum()
    privacy = dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1).privacy
    answers = [
        OptimalCount(WHERE, plan, (np.array([drawn]),), privacy).answer(confidence=confidence) for drawn in range(7)
    ]
    for count, row in enumerate(probabilities):
        held = [one.low <= count and (one.high is None or count <= one.high) for one in answers]
        assert row[held].sum() >= confidence - 1e-9


@pytest.mark.parametrize(
    ("budget", "pure"), [({"epsilon": 30.0}, True), ({"epsilon": 30, "delta": 1e-3}, False), ({"rho": 450.0}, False)]
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_large_budget_finds_the_count(budget: dict[str, float], pure: bool, neighbours: str) -> None:
    made = dpopt.count(TABLE, SCHEMA, WHERE, most=6, neighbours=neighbours, **budget)  # type: ignore[arg-type]
    assert made.answer(confidence=0.9).value == 2
    assert made.privacy["private"]
    assert (made.privacy["delta"] == 0) == pure


@pytest.mark.parametrize("loss", LOSSES)
def test_the_verdict_says_how_far_off_the_count_is(loss: str) -> None:
    made = dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1, loss=loss)
    off = (np.abs(np.arange(7.0)[:, None] - np.arange(7.0)) * made.plan.weights).sum(axis=1).max() / 2.0**60
    assert made.verdict.startswith(
        f"The count: off by about {off:.2g} records. Do not use: counts below {10 * off:.2g}"
    )


def test_a_count_above_the_largest_is_taken_as_it() -> None:
    found = dpopt.count(TABLE, SCHEMA, "age >= 0", most=3, epsilon=30).answer()
    assert (found.value, found.low, found.high) == (3, 3, None)


def test_a_file_whose_matrix_was_changed_is_refused() -> None:
    made = dpopt.count(TABLE, SCHEMA, WHERE, most=3, epsilon=1)
    stated = made.to_json()
    stated["plan"]["weights"][0] = stated["plan"]["weights"][0][::-1]
    with pytest.raises(DpoptError, match="not what its plan costs"):
        OptimalCount.from_json(stated)
    stated["plan"]["weights"][0][0] += 1
    with pytest.raises(DpoptError, match="all of one sum"):
        OptimalCount.from_json(stated)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"most": 65}, "from 1 to 64, found 65"),
        ({"most": 0}, "from 1 to 64"),
        ({"loss": "cubed"}, "absolute, squared, wrong; found 'cubed'"),
        ({"where": "age >= 65 and"}, "at the end"),
        ({"where": "height > 3"}, "expected a column"),
        ({"where": "ill = true or"}, "at the end"),
        ({"where": "age >= 65 ill"}, "'and', 'or', or the end"),
        ({"epsilon": 1e-4}, "from 0.001 to 40"),
        ({"solver": "clarabell"}, "clarabell"),
        ({"delta": 1e-6, "reading": dpopt.TableReading(person="age", rows_per_person=2)}, "for one record"),
    ],
)
def test_what_is_no_count_is_refused_before_anything_is_drawn(
    given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Door, "__init__", None)
    asked = {"where": WHERE, "most": 6, "epsilon": 1.0, **given}
    with pytest.raises(DpoptError, match=message):
        dpopt.count(TABLE, SCHEMA, **asked)


def test_a_draw_at_less_than_the_epsilon_that_was_asked_for_says_so(tmp_path: Path) -> None:
    owner = dpopt.BudgetLedger.create(tmp_path / "owner.budget", epsilon=3, delta=1e-6)
    made = dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1, budget=owner)
    (note,) = made.notes()
    assert made.plan.epsilon == pytest.approx(0.173, abs=1e-3)
    assert "at epsilon 0.173: the most whose rho is within the 0.015" in note.text
    assert "With delta 0 the draw is at epsilon 1, errs less, and costs up to rho 0.5" in note.text
    assert "drawn at epsilon 0.173" in repr(made)
    alone = dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1, delta=0, budget=owner)
    assert (alone.plan.epsilon, alone.notes()) == (1.0, [])
    assert alone.plan.expected_error < made.plan.expected_error
    assert dpopt.count(TABLE, SCHEMA, WHERE, most=6, rho=0.015).notes() == []
    with_much_delta = Budget(0.01, 0.4, None, Accountant.ZCDP)  # rho beyond epsilon^2 / 2
    assert plan_count(with_much_delta, most=6, relation=ADD_REMOVE).notes() == []


def test_a_budget_over_many_releases_pays_pure_counts_alone(tmp_path: Path) -> None:
    owner = dpopt.BudgetLedger.create(tmp_path / "owner.budget", epsilon=2, delta=0)
    dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1, budget=owner)
    with pytest.raises(DpoptError, match="no sum for a delta"):
        dpopt.count(TABLE, SCHEMA, WHERE, most=6, epsilon=1, delta=1e-6, budget=owner)
    assert len(owner.contents().releases) == 1

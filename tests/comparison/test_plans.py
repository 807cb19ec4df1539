"""Plans of DualQuery side by side: each line is what its own plan says."""

from __future__ import annotations

from typing import Any

import pytest

import dpopt
from dpopt.errors import PlanError
from tests.algorithms.small_runs import ROWS, SCHEMA, Heard

ASKED: Any = {"draws": 8, "n0": ROWS, "delta": 1e-3}
OVER: Any = {"rounds": [2, 6], "step": [0.7, "1.2"]}


def test_each_line_is_what_its_own_plan_says() -> None:
    heard = Heard()
    found = dpopt.sweep(SCHEMA, "marginals:2", over=OVER, progress=heard, **ASKED)
    assert found[["rounds", "step"]].values.tolist() == [[2, 0.7], [2, 1.2], [6, 0.7], [6, 1.2]]
    assert [step[:2] for step in heard.steps] == [(number, 4) for number in (1, 2, 3, 4)]
    alone = dpopt.plan(SCHEMA, "marginals:2", algorithm="dualquery", rounds=6, step="1.2", **ASKED)
    line, explained = found.iloc[-1], alone.explained
    assert line.epsilon == explained["epsilon"] == line.epsilon_zcdp
    assert line.rho == explained["rho"]
    assert line.proven_error == explained["accuracy"]["proven"]["bound"]
    assert 0 < line.mean_error < line.max_error < 1
    assert (found.seconds > 0).all()


def test_what_costs_more_than_a_budget_is_refused_in_its_line() -> None:
    cost = dpopt.plan(SCHEMA, "marginals:2", algorithm="dualquery", rounds=4, step=0.7, predict=False, **ASKED)
    given: Any = {**ASKED, "epsilon": cost.plan.budget.epsilon, "predict": False}
    found = dpopt.sweep(SCHEMA, "marginals:2", over=OVER, **given)
    assert found.refused.isna().tolist() == [True, True, False, False]
    assert found.seconds.notna().tolist() == [True, True, False, False]
    assert "more than" in found.refused.iloc[-1]
    with pytest.raises(PlanError, match="more than"):
        dpopt.sweep(SCHEMA, "marginals:2", over={"rounds": [9, 12], "step": [5]}, **given)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"rounds": []}, "found 0 combinations"),
        ({"rounds": range(2, 300)}, "found 298 combinations, expected 1 to 200"),
        ({"alpha": [0.1, 0.2]}, "alpha= is an option of pmw"),
        ({"rounds": [0, -1], "step": [1.0]}, "number of rounds"),
        ({"draws": [5, 9], "rounds": [2]}, "found draws in over= and beside it"),
    ],
)
def test_what_is_wrong_with_every_combination_is_refused(over: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        dpopt.sweep(SCHEMA, "marginals:2", over=over, **ASKED)


def test_tables_of_which_no_population_is_written_have_no_seconds() -> None:
    wide = dpopt.Schema.binary(120)
    terms: Any = {"draws": 20, "step": 0.4, "n0": 1000, "predict": False, "density": 0.1}
    found = dpopt.sweep(wide, "conjunctions:2,count=50,seed=0", over={"rounds": [2, 3]}, **terms)
    assert found.seconds.isna().all()

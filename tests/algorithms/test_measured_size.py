"""Releases that measure the number of records: every kind of them, without a declared number, by its defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt import Schema, release
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.conversions import zcdp_rho
from dpopt.accounting.measurements import SIZE
from dpopt.algorithms.release import resume
from dpopt.algorithms.replay import replay
from dpopt.algorithms.statement import stated_privacy
from dpopt.errors import AccuracyWarning, BudgetError, DpoptWarning, PlanError
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.releases.measured_size import MARGIN, measured_note
from dpopt.releases.progress import Detail, Progress
from dpopt.schema.schema import Attribute, AttributeKind
from dpopt.transcript.budget_ledger import BudgetLedger
from tests.exact_sanitizer_loss import symmetric
from tests.exact_summary_loss import UNIVERSES
from tests.tiny_lists import family_of

ROWS = 600
SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("age", AttributeKind.NUMERIC, edges=tuple(range(0, 33, 2)), integer=True),
    )
)
BUDGETS = {"pure": Budget(50.0, 0.0, None, Accountant.PURE), "rho": Budget(None, 1e-9, 20.0, Accountant.ZCDP)}


def frame() -> pd.DataFrame:
    """Return a table of ROWS records."""
    place = np.arange(ROWS)
    return pd.DataFrame({"a": place % 2 == 0, "age": place % 32, "b": np.array(["x", "y"])[place % 2]})


def points() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return ROWS points of the unit circle."""
    angles = np.arange(ROWS) * 0.7
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def asked(budget: Budget) -> dict[str, Any]:
    """Return the keywords that ask for a budget."""
    return {"rho": budget.rho, "delta": budget.delta} if budget.rho else {"epsilon": budget.epsilon}


RELEASES: dict[str, tuple[Callable[[Budget], Any], float]] = {
    "summary": (lambda budget: dpopt.summary(frame(), SCHEMA, 1, columns=("a",), **asked(budget)), MARGIN),
    "lists": (lambda budget: dpopt.decision_lists(["x1:1, else:0"] * ROWS, family_of(2, 1), **asked(budget)), MARGIN),
    "halfspaces": (
        lambda budget: dpopt.halfspaces(
            points(),
            0.3,
            columns=PointColumns(("x", "y"), Scaling.UNIT),
            projected_to=1,
            projections=3,
            directions=2,
            **asked(budget),
        ),
        0.0,
    ),
    "intervals": (lambda budget: dpopt.intervals(frame(), SCHEMA, "age", **asked(budget)), MARGIN),
    "sanitizer": (lambda budget: dpopt.sanitize(frame(), symmetric(UNIVERSES["mixed"]), **asked(budget)), 0.0),
}


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_one_file_measures_the_number_that_nobody_declared(name: str, budget: Budget) -> None:
    make, margin = RELEASES[name]
    made = make(budget)
    plan = made.figures if name == "sanitizer" else made.plan
    (charge,) = plan.budget.earlier
    deviation = charge.parameter**-1 * 2**0.5 if budget.rho is None else (2 * charge.parameter) ** -0.5
    assert abs(plan.size - ROWS - margin * deviation) < 12 * deviation + 1
    assert made.privacy["charges"][0]["mechanism"].endswith(f"noise on {SIZE}")
    assert made.privacy["private"]
    assert made.privacy["epsilon"] == budget.whole().epsilon
    if name != "sanitizer":  # holds its statement against its figures in a way of its own
        stated_privacy(made.privacy, plan)


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "pure"])
def test_a_release_says_the_number_and_guarantees_the_whole_budget(tmp_path: Path, accountant: str) -> None:
    made = release(
        frame(),
        SCHEMA,
        "marginals:1",
        out=tmp_path / "out",
        algorithm="dualquery",
        accountant=accountant,
        epsilon=100.0,
        delta=1e-6,
        rounds=3,
        draws=2,
        step="0.1",
        predict=False,
    )
    privacy = made.statement["privacy"]
    assert privacy["relation"] == "add-remove"
    assert privacy["epsilon"] == 100.0
    assert [charge["label"] for charge in privacy["charges"]][:2] == [SIZE, "round 1"]
    others = {key: value for key, value in privacy["epsilon_by_accountant"].items() if key != "delta"}
    assert {key for key, value in others.items() if isinstance(value, float)} == {accountant}
    kinds = [
        json.loads(line)["entry"]["kind"] for line in (tmp_path / "out" / "transcript.jsonl").read_text().splitlines()
    ]
    assert kinds[:4] == ["charge", "measurement", "reserve", "charge"]
    assert not (tmp_path / "out" / "request.json").exists()
    replay(tmp_path / "out", tmp_path / "again")


def test_what_no_number_makes_plannable_is_refused_before_it_is_measured(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"algorithm": "projection", "accountant": "gdp", "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(PlanError, match="found gdp"):
        release(frame(), SCHEMA, "marginals:1", out=tmp_path / "out", predict=False, **asked)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("size", "kind"), [(500, "warning"), (100_000, "note")])
def test_noise_that_matters_is_a_warning(size: int, kind: str) -> None:
    for most in (None, 20):
        text, advice = measured_note(size, Budget(1.0, 1e-9, None, Accountant.ZCDP, most))
        assert f"the number of records, {size:,}" in text
        assert "n0" not in text  # readers of a release cannot declare it
        assert (advice is not None) is (kind == "warning")
        if advice is not None:  # of persons, `tell_smallest` has warned of the noise, with the same advice
            assert ("--n0" in advice) is (most is None)


@pytest.mark.parametrize(("epsilon", "kind", "least"), [(0.1, "warning", "1,063"), (1.0, "note", "116")])
def test_the_smallest_table_is_said_before_anything_is_spent(epsilon: float, kind: str, least: str) -> None:
    said: list[str | DpoptWarning] = []

    class Heard(Progress):
        def note(self, text: str) -> None:
            said.append(text)

        def warning(self, what: DpoptWarning) -> None:
            said.append(what)

    budget: Any = {"epsilon": epsilon, "delta": 1e-9}
    with (
        mock.patch("dpopt.algorithms.release.read_by", side_effect=KeyboardInterrupt),  # before it is read
        pytest.raises(KeyboardInterrupt),
    ):
        release(frame(), SCHEMA, "marginals:1", algorithm="noise", progress=Heard(), **budget)
    dpopt.plan(SCHEMA, "marginals:1", n=10**6, algorithm="noise", predict=False, progress=Heard(), **budget)
    rho = zcdp_rho(epsilon, 1e-9)  # epsilon and delta might be paid with Laplace noise
    with (
        mock.patch("dpopt.synopses.release.read_table", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        dpopt.summary(frame(), SCHEMA, 1, columns=("a",), progress=Heard(), rho=rho)
    heard = [one for one in said if "is measured first" in str(one)]
    assert len(heard) == 3
    for one in heard:
        assert f"If fewer than {least} are measured" in str(one)
        assert isinstance(one, Detail if kind == "note" else AccuracyWarning)


def test_the_owners_budget_holds_the_whole_of_it_before_the_number_is_drawn(tmp_path: Path) -> None:
    """Also where the run ends between the number and the plan; what continues it reserves nothing again."""
    budget = BudgetLedger.create(tmp_path / "budget", epsilon=100, delta=0)
    asked: dict[str, Any] = {"algorithm": "noise", "accountant": "pure", "epsilon": 60.0, "predict": False}
    with (
        mock.patch("dpopt.algorithms.run_release.add_plan", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        release(frame(), SCHEMA, "marginals:1", out=tmp_path / "out", budget=budget, **asked)
    (held,) = budget.contents().releases
    assert held.cost.epsilon == pytest.approx(60, rel=1e-9)
    with pytest.raises(BudgetError, match="budget="):
        resume(tmp_path / "out", frame())
    with pytest.raises(BudgetError):
        release(frame(), SCHEMA, "marginals:1", budget=budget, **asked)
    made = resume(tmp_path / "out", frame(), budget=budget)
    assert made.statement["privacy"]["charges"][0]["label"] == SIZE
    assert budget.contents().releases == (held,)


def test_a_plan_that_no_charge_stands_for_is_not_paid_from_the_owners_budget(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "budget", epsilon=9, delta=1e-6)
    asked: dict[str, Any] = {"algorithm": "dualquery", "accountant": "gdp", "epsilon": 8.0, "delta": 1e-6}
    with pytest.raises(PlanError, match="declare it with n0="):
        release(frame(), SCHEMA, "marginals:1", budget=budget, predict=False, **asked)
    assert budget.contents().releases == ()


def test_a_number_that_is_lost_in_its_noise_keeps_the_whole_reservation_and_says_so(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=30.0)
    asked: dict[str, Any] = {"algorithm": "noise", "rho": 20.0, "delta": 1e-9, "predict": False}
    with (
        mock.patch("dpopt.releases.measured_size.LEAST_DEVIATIONS", 1e9),
        pytest.raises(PlanError, match="keeps the whole reservation"),
    ):
        release(frame(), SCHEMA, "marginals:1", out=tmp_path / "out", budget=budget, **asked)
    (found,) = budget.contents().releases
    assert found.cost.rho == pytest.approx(20.0, rel=1e-3)

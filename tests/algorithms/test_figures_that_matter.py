"""Figures that matter: their sets are measured whatever their distance, for the same budget, and their intervals foreseen."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.measured.figures import width_in_words
from dpopt.algorithms.measured.known import Known
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.measured.stages import for_figures, sets_of
from dpopt.errors import PlanError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from tests.cli.command_line import flat, refuse, succeed

NUMERIC, CATEGORICAL = dpopt.AttributeKind.NUMERIC, dpopt.AttributeKind.CATEGORICAL
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("sector", CATEGORICAL, tuple("abcdef")),
        dpopt.Attribute("sex", CATEGORICAL, ("female", "male")),
        dpopt.Attribute("income", NUMERIC, edges=tuple(range(0, 11_000, 1_000))),
        dpopt.Attribute("age", NUMERIC, edges=tuple(range(20, 81, 10))),
        *(dpopt.Attribute(f"answer {i}", CATEGORICAL, tuple("uvwxyz")) for i in range(5)),
    )
)
SIZE = 6_000
PAIR, TRIPLE = "mean(income) by sector", "share of sex by sector where age >= 40"
FIGURES: dict[str, dict[str, Any]] = {
    "pair": {"figures": [PAIR]},
    "triple": {"figures": [TRIPLE, "count"]},
    "target": {"target": "sex"},
}


def planned(relation: str = "add-remove", text: str = "marginals:3", **asked: Any) -> dpopt.Planned:
    size: dict[str, Any] = {"n0": SIZE} if relation == "add-remove" else {"n": SIZE}
    budget: dict[str, Any] = {} if "rho" in asked else {"epsilon": 1}
    return dpopt.plan(SCHEMA, text, predict=False, values_share=0, neighbours=relation, **size, **{**budget, **asked})


def measured_plan(made: dpopt.Planned) -> MeasuredPlan:
    assert isinstance(made.plan, MeasuredPlan)
    return made.plan


def foreseen(made: dpopt.Planned) -> MeasuredResiduals:
    """Return what is measured first of each set where distances, and what was measured, say nothing."""
    plan = measured_plan(made)
    known = Known(Job(plan, SCHEMA, made.request.workload, {}, {}), plan)
    for stage in plan.stages:
        if not stage.distances and stage is not plan.coarse_stage:
            factors = known.choose(stage.order, stage.bound, stage.scale)
            known.add(factors, np.zeros(len(known.residuals(factors)), dtype=np.int64), stage.scale)
    return known.measured()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("rho", [1e-4, 0.002, 0.02, 2.0])
@pytest.mark.parametrize("what", FIGURES)
def test_noise_behind_figures_is_less_for_the_same_budget(what: str, rho: float, relation: str) -> None:
    """By closed forms, without a draw; other sets pay for it, by less than two thirds of their precision."""
    with_figures, without = planned(relation, rho=rho, **FIGURES[what]), planned(relation, rho=rho)
    plan = measured_plan(with_figures)
    assert plan.figures is not None
    assert measured_plan(without).figures is None
    assert "figures" not in without.plan.to_json()
    for made in (with_figures, without):
        assert 0.999 * rho < made.plan.budget.spent(made.plan.charges()).rho <= rho
    ours, theirs = foreseen(with_figures), foreseen(without)
    behind = set(plan.figures.sets)
    for one in behind:
        assert ours.missing(one) is None
        assert ours.deviation(one) < 0.9 * theirs.deviation(one)  # inf where it would not have been measured
    others = [one for one in theirs.places if one in ours.places and not any(set(one) <= set(two) for two in behind)]
    ratios = [ours.variance(one) / theirs.variance(one) for one in others]
    assert not ratios or np.median(ratios) < 3


@pytest.mark.parametrize("what", FIGURES)
def test_a_third_of_the_budget_is_for_figures_alone(what: str) -> None:
    """Spent as is best for them: no other precisions of this cost have less error in the cells that they need."""
    made = planned(rho=0.03, **FIGURES[what])
    plan = measured_plan(made)
    assert plan.figures is not None
    _, sets = sets_of(made.request.workload)
    bought = for_figures(sets, plan.figures)
    assert prices(sets) @ bought / 2 == pytest.approx(plan.figures.rho)
    assert plan.figures.rho == pytest.approx(0.01, rel=1e-6)
    behind = np.flatnonzero(bought)
    assert {sets.attributes_of(place) for place in behind.tolist()} == {
        part for one in plan.figures.sets for width in range(1, 4) for part in combinations(one, width)
    }

    def error(precisions: np.ndarray) -> float:
        """Return the mean squared error of the cells of each marginal, added up."""
        with np.errstate(divide="ignore"):
            measured = MeasuredResiduals(sets, np.zeros(sets.number_of_cells), 1 / precisions, 1.0)
        return sum(measured.deviation(one) ** 2 for one in plan.figures.sets) if plan.figures else 0.0

    rng = np.random.default_rng(1)
    for _ in range(20):
        other = np.zeros(len(sets))
        other[behind] = bought[behind] * np.exp(rng.normal(0, 0.3, behind.size))
        other *= plan.figures.rho / (prices(sets) @ other / 2)
        assert error(other) >= error(bought) * (1 - 1e-9)


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_a_set_behind_a_figure_is_measured_though_it_is_at_no_distance(relation: NeighbouringRelation) -> None:
    """Where distances say that no pair holds anything, others are left out, and the charge stays what it was."""
    made = planned(relation.value.removesuffix("-one"), "marginals:2", figures=[PAIR])
    plan = measured_plan(made)
    known = Known(Job(plan, SCHEMA, made.request.workload, {}, {}), plan)
    first, distances, second = plan.stages[0], plan.stages[1], plan.stages[-1]
    factors = known.choose(1, first.bound, first.scale)
    known.add(factors, np.zeros(len(known.residuals(factors)), dtype=np.int64), first.scale)
    known.update(1)
    pairs = known.of_order(2)
    known.add_distances(2, np.zeros(pairs.size, dtype=np.int64), distances.scale)
    chosen = known.choose(2, second.bound, second.scale)
    behind = [place for place in pairs.tolist() if known.sets.attributes_of(place) == (0, 2)]
    assert chosen[behind].all()
    assert (chosen[pairs] == 0).any()
    assert known.residuals(chosen).sensitivity(replaced=plan.replaced, squared=True) <= second.bound


TABLE = pd.DataFrame(
    {
        "sector": list("abcdef") * 1_000,
        "sex": np.repeat(["female", "male"], 3_000),
        "income": np.arange(SIZE) % 10_000,
        "age": 20 + np.arange(SIZE) % 60,
        **{f"answer {i}": np.array(list("uvwxyz"))[(np.arange(SIZE) // 7**i) % 6] for i in range(5)},
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its schema, questions, a plan, and the release that the plan leads to."""
    place = tmp_path_factory.mktemp("figures")
    TABLE.to_csv(place / "table.csv", index=False)
    (place / "schema.json").write_text(json.dumps(SCHEMA.to_json()))
    (place / "questions.txt").write_text(f"# what we publish\n{PAIR}\n\n{TRIPLE}  # by age\ncount where sex = male\n")
    asked = ("--n0", SIZE, "--epsilon", 1, "--workload", "marginals:3", "--figures", place / "questions.txt")
    succeed("plan", "--schema", place / "schema.json", *asked, "-o", place / "plan.json")
    succeed("release", place / "table.csv", "--plan", place / "plan.json", "-o", place / "out")
    return place


def test_intervals_come_out_as_wide_as_the_plan_says(folder: Path) -> None:
    """The table's groups are even, so that nothing but distances, which are drawn, moves what was foreseen."""
    said = json.loads((folder / "plan.json").read_text())["planned"]["figures"]
    assert [one["question"] for one in said] == [PAIR, TRIPLE, "count where sex = male"]
    assert [one["unit"] for one in said] == [None, "points", "records"]
    assert [list(one["half_width"]) for one in said] == [["10 %", "1 %"], ["10 %", "1 %"], ["all"]]
    for one, scale in zip(
        said, (1 / 6 / 0.1, 100 * 4 / 6 / 6 / 0.1, 1), strict=True
    ):  # groups of a sixth, and two thirds
        found = dpopt.answer(folder / "out", one["question"])
        assert set(found.how) == {"measured"}
        widths = scale * (found.high - found.low) / 2
        assert next(iter(one["half_width"].values())) == pytest.approx(float(widths.median()), rel=0.3)


def test_a_release_with_figures_is_read_again_and_answers_for_the_plan(folder: Path, tmp_path: Path) -> None:
    dpopt.replay(folder / "out", tmp_path / "again")
    for path in (folder / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    kept = json.loads((folder / "out" / "plan.json").read_text())["figures"]
    assert kept["questions"] == [PAIR, TRIPLE, "count where sex = male"]
    assert kept["sets"] == [[0, 1, 3], [0, 2], [1]]
    changed = json.loads((folder / "out" / "plan.json").read_text())
    changed["figures"]["rho"] *= 2
    (tmp_path / "again" / "plan.json").write_text(json.dumps(changed))
    with pytest.raises(dpopt.DpoptError, match="belongs|changed|public inputs"):
        dpopt.replay(tmp_path / "again", tmp_path / "third")


def test_a_plan_whose_figures_are_of_other_columns_is_refused() -> None:
    made = planned(text="marginals:2", figures=[PAIR])
    _, sets = sets_of(parse_workload("marginals:1", SCHEMA))
    with pytest.raises(PlanError, match="the plan was changed"):
        for_figures(sets, measured_plan(made).figures)


def test_the_shell_says_what_the_plan_foresees(folder: Path) -> None:
    asked = ("plan", "--schema", folder / "schema.json", "--n0", SIZE, "--epsilon", 1, "--workload", "marginals:3")
    shown = flat(succeed(*asked, "--figures", folder / "questions.txt"))
    assert re.search(rf"{re.escape(PAIR)}: within [\d,.]+ for a group of 10 %, [\d,.]+ for a group of 1 %", shown)
    assert re.search(r"count where sex = male: within [\d.]+ \(records\)", shown)
    found = json.loads(succeed(*asked, "--target", "age", "--json"))["figures"]
    assert [one["question"].replace('"', "") for one in found] == [
        f"mean(age) by {one}" for one in SCHEMA.names if one != "age"
    ]
    assert "figures" not in json.loads(succeed(*asked, "--json"))


def test_groups_that_noise_hides_have_no_bound() -> None:
    [one] = planned(rho=1e-6, figures=[PAIR]).widths
    assert one["half_width"] == {"10 %": None, "1 %": None}
    assert width_in_words(one).endswith("within any distance for a group of 10 %, any distance for a group of 1 %")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"figures": ["mean(income) by nowhere"]}, "'mean.income. by nowhere'.*expected a column"),
    ({"figures": ["what is it"]}, "what is it.*expected count"),
    ({"figures": ["mean(sector)"]}, "are not numbers"),
    ({"figures": ["count where age < 35"]}, "35"),
    ({"figures": []}, "found no question"),
    ({"figures": [3]}, "expected text, a path, a sequence of text"),
    ({"figures": "nowhere.txt"}, "questions nowhere.txt cannot be read: No such file"),
    ({"figures": ["count"]}, "found no question that needs a column"),
    ({"figures": ["age ~ sex"]}, "'age ~ sex' is a regression, which figures= does not take"),
    ({"target": "nowhere"}, "target= is a column of the schema, found 'nowhere'"),
    ({"figures": [TRIPLE], "workload": "marginals:2"}, "3 columns together .sector, sex, age.*marginals:3"),
    ({"target": "sex", "workload": "marginals:1"}, "'share of sex = male by sector' needs 2 columns together"),
    ({"figures": [PAIR], "algorithm": "mwem"}, "figures= is an option of projection, and not of mwem"),
    ({"target": "sex", "algorithm": "dualquery"}, "target= is an option of projection"),
    ({"figures": [PAIR], "delta": 0}, "figures= and target= need the Gaussian noise"),
    ({"figures": [PAIR], "algorithm": "projection", "measure": "counts"}, "are for measure='?residuals"),
    ({"target": "sex", "algorithm": "projection", "solver": "clarabel"}, "without a solver"),
    ({"figures": [PAIR], "workload": "conjunctions:2,count=9,seed=1"}, "residuals are measured of marginals"),
]


@pytest.mark.parametrize(("asked", "message"), WRONG, ids=lambda one: str(one)[:40])
def test_what_cannot_be_asked_is_said_before_spending(asked: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Also where the number of records is measured first."""
    how: dict[str, Any] = {"workload": "marginals:3", "epsilon": 1, "out": tmp_path / "out", **asked}
    ledger = dpopt.BudgetLedger.create(tmp_path / "budget", epsilon=3, delta=1e-6)
    with pytest.raises(dpopt.DpoptError, match=message):
        dpopt.release(TABLE, SCHEMA, budget=ledger, **how)
    assert not (tmp_path / "out").exists()
    assert not ledger.contents().releases


def test_the_shell_refuses_in_its_own_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("mean(income) by sectr\n")
    asked = (
        "release",
        folder / "table.csv",
        "--schema",
        folder / "schema.json",
        "--epsilon",
        1,
        "-o",
        tmp_path / "out",
    )
    assert "did you mean 'sector'?" in flat(refuse(*asked, "--figures", tmp_path / "asked.txt"))
    assert "--target is an option of projection, and not of fem" in flat(
        refuse(*asked, "--algorithm", "fem", "--target", "age")
    )
    assert "cannot be read: No such file" in flat(refuse(*asked, "--figures", tmp_path / "nowhere"))
    assert not (tmp_path / "out").exists()

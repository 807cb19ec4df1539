"""Plan once: the file of a plan, and releases that take it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.algorithms.options import DualQuery, Projection
from dpopt.algorithms.planned import by_epsilon, plan, read_planned
from dpopt.algorithms.release import release
from dpopt.algorithms.request import Terms
from dpopt.errors import DpoptError, PlanError, ReleaseFolderError
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import ROWS, SCHEMA, write_table

ASKED: dict[str, Any] = {"epsilon": 1.0, "algorithm": "projection", "predict": False}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path)


def test_a_plan_on_file_is_read_back_as_it_was_asked(tmp_path: Path) -> None:
    made = plan(SCHEMA, "marginals:2", n=5000, epsilon=1.0, neighbours="add-remove")
    made.save(tmp_path / "plan.json")
    read = read_planned(tmp_path / "plan.json")
    assert read.terms == replace(made.request.terms, algorithm=read.terms.algorithm)
    assert read.terms.algorithm.to_json() == made.request.terms.algorithm.to_json()
    assert read.terms.delta == 1e-9
    assert isinstance(read.terms.algorithm, Projection)  # what auto chose
    assert read.workload.fingerprint == made.request.workload.fingerprint
    assert read.schema.to_json() == SCHEMA.to_json()
    shown = json.loads((tmp_path / "plan.json").read_text())["planned"]
    assert shown == json.loads(json.dumps(made.explained))


def test_a_release_takes_everything_from_the_plan(tmp_path: Path, table: Path) -> None:
    """With a declared number of records it is the plan that was shown, to the last scale."""
    made = plan(SCHEMA, "marginals:1", n0=200, **ASKED)
    made.save(tmp_path / "plan.json")
    finished = release(table, plan=tmp_path / "plan.json", out=tmp_path / "out")
    assert finished.job.plan == made.plan
    assert finished.job.workload.fingerprint == made.request.workload.fingerprint
    assert release(table, plan=made, rows=7).job.plan == made.plan


@pytest.mark.parametrize("size", [{"n": 200}, {"n0": 200}, {"n": 200, "neighbours": "replace"}], ids=str)
@pytest.mark.parametrize("accountant", [one.value for one in Accountant])
def test_a_release_takes_plans_of_accountants(
    tmp_path: Path, table: Path, accountant: str, size: dict[str, Any]
) -> None:
    """Also where the accountant bounds no rho."""
    asked: dict[str, Any] = {"epsilon": 300.0, "delta": 0.0 if accountant == "pure" else 1e-6, "predict": False}
    made = plan(SCHEMA, "marginals:1", algorithm="dualquery", accountant=accountant, **size, **asked)
    made.save(tmp_path / "plan.json")
    json.dumps(made.explained, allow_nan=False)
    stated = release(table, plan=tmp_path / "plan.json").statement["privacy"]
    if "n0" in size or "neighbours" in size:
        assert {name: made.explained[name] for name in ("epsilon", "delta", "rho")}.items() <= stated.items()


def test_a_plan_says_how_a_table_is_read_and_what_is_its_neighbour(tmp_path: Path, table: Path) -> None:
    """What stands in the plan holds, also where a release is given what is usual."""
    made = plan(SCHEMA, "marginals:1", n0=200, **ASKED, on_invalid="drop", encoding="latin-1")
    reading = release(table, plan=made, out=tmp_path / "out").job.statement["reading"]
    assert (reading["on_invalid"], reading["encoding"]) == ("drop", "iso8859-1")
    with pytest.raises(PlanError, match="the plan fixes on_invalid="):
        release(table, plan=made, on_invalid="clip")
    replace_one = plan(SCHEMA, "marginals:1", n=200, **{**ASKED, "neighbours": "replace"})
    with pytest.raises(PlanError, match="the plan fixes neighbours="):
        release(table, plan=replace_one, neighbours="add-remove")
    assert release(
        table, plan=plan(SCHEMA, "marginals:1", n=200, **{**ASKED, "epsilon": 10.0}), neighbours="add-remove"
    ).job.plan.size


def test_a_measured_number_replaces_the_guess_and_nothing_else(tmp_path: Path, table: Path) -> None:
    made = plan(SCHEMA, "marginals:1", n=150, **{**ASKED, "epsilon": 10.0})
    finished = release(table, plan=made, out=tmp_path / "out")
    job = finished.job
    assert job.plan.size != made.plan.size
    assert job.plan.budget == made.plan.budget
    assert job.plan.charges() == made.plan.charges()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 2.0}, "the plan fixes epsilon=: it has 1.0, found 2.0"),
        ({"delta": 1e-5}, "the plan fixes delta="),
        ({"rho": 0.1}, "the plan fixes rho="),
        ({"neighbours": "replace"}, "the plan fixes neighbours="),
        ({"n0": 9}, "the plan fixes n0=: it has 200, found 9"),
        ({"algorithm": "mwem"}, "the plan fixes algorithm=: it has 'projection', found 'mwem'"),
        ({"workload": "marginals:2"}, "the workload is not the plan's"),
        ({"schema": Schema.binary(3)}, "the schema is not the one that the plan was made for"),
        ({"person": "name", "rows_per_person": 2}, "the plan is for single records"),
    ],
)
def test_what_contradicts_the_plan_is_refused_before_anything_is_spent(
    tmp_path: Path, table: Path, given: dict[str, Any], message: str
) -> None:
    made = plan(SCHEMA, "marginals:1", n0=200, **ASKED)
    with pytest.raises(PlanError, match=message):
        release(table, plan=made, out=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_what_repeats_the_plan_is_no_contradiction(table: Path) -> None:
    made = plan(SCHEMA, "marginals:1", n0=200, **ASKED)
    made.save(table.parent / "plan.json")
    asked = {**ASKED, "delta": made.plan.budget.delta}
    finished = release(table, SCHEMA, "marginals:1", plan=table.parent / "plan.json", **asked)
    assert finished.job.plan == made.plan


def test_a_table_that_does_not_fit_the_plan_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    made = plan(SCHEMA, "marginals:1", n=200, **ASKED)
    with pytest.raises(DpoptError, match="column"):
        release(other, plan=made, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_drafted_schema_needs_to_be_accepted_again(table: Path) -> None:
    draft = Schema(SCHEMA.attributes, draft=True)
    made = plan(draft, "marginals:1", n0=200, **ASKED)
    with pytest.raises(DpoptError, match="draft"):
        release(table, plan=made)
    assert release(table, plan=made, accept_draft=True).job.plan == made.plan


def test_files_that_are_no_plans_are_refused(tmp_path: Path, table: Path) -> None:
    made = plan(SCHEMA, "marginals:1", n0=200, **ASKED)
    release(table, plan=made, out=tmp_path / "out")
    with pytest.raises(PlanError, match="is not a plan for a release"):
        read_planned(tmp_path / "out" / "plan.json")
    made.save(tmp_path / "plan.json")
    obj = json.loads((tmp_path / "plan.json").read_text())
    for key, value in (("dpopt_request", 99), ("terms", {"epsilon": 1})):
        (tmp_path / "bad.json").write_text(json.dumps({**obj, key: value}), encoding="utf-8")
        with pytest.raises(ReleaseFolderError, match="damaged, or of another version"):
            read_planned(tmp_path / "bad.json")


def test_a_release_needs_a_schema_or_a_plan(table: Path) -> None:
    with pytest.raises(PlanError, match="needs a schema, or a plan"):
        release(table, epsilon=1.0)


def test_errors_fall_as_epsilon_grows() -> None:
    """Of residuals, whose prediction is a formula: no chance plays a part."""
    rows = [one.row for one in by_epsilon(SCHEMA, epsilons=[3.0, 0.3, 1.0], n=5000)]
    assert [row["epsilon"] for row in rows] == [0.3, 1.0, 3.0]
    errors = [row["mean_error"] for row in rows]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]
    assert all(set(row["baselines"]) == {"zeros", "uniform", "independence"} for row in rows)
    with pytest.raises(PlanError, match="found no epsilon"):
        by_epsilon(SCHEMA, epsilons=[], n=5000)


def test_terms_know_which_of_them_a_plan_keeps() -> None:
    kept = plan(SCHEMA, "marginals:1", n0=200, **ASKED).request.terms
    assert (kept.rows, kept.format, kept.accept_draft) == (Terms().rows, Terms().format, False)


GIVEN = DualQuery(rounds=5, draws=3, step="0.4")
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "declared": ({"n0": ROWS}, {"n0": ROWS}),
    "measured": ({"n": ROWS}, {}),
    "public": ({"n": ROWS, "neighbours": "replace"}, {"neighbours": "replace"}),
}
"""How a plan and its release learn the number of records."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("budget", [{"epsilon": 20}, {"epsilon": 20, "delta": 0}], ids=str)
@pytest.mark.parametrize("algorithm", [GIVEN, "dualquery", "mwem", "projection"], ids=str)
def test_a_plan_states_what_its_release_states(algorithm: Any, budget: dict[str, Any], size: str, table: Path) -> None:
    planned, released = SIZES[size]
    asked: Any = {"algorithm": algorithm, "predict": False, "values_share": 0.1, **budget}
    delta = asked.get("delta", 1e-9 if "n0" not in planned else None)
    shown = plan(SCHEMA, "marginals:2", **asked, **planned).explained
    stated = release(table, SCHEMA, "marginals:2", **asked, **released).statement
    privacy = stated["privacy"]
    assert "values" in stated
    assert delta is None or privacy["delta"] in {0.0, delta}
    for key in ("epsilon", "delta", "rho", "unit", "neighbours"):
        assert shown[key] == privacy[key], key
    if size != "measured":
        by_accountant = {
            row["accountant"]: row["refused"] if row["epsilon"] is None else row["epsilon"]
            for row in shown.get("accountants", ())
        }
        assert by_accountant.items() <= privacy["epsilon_by_accountant"].items()

"""`dpopt budget`, and `--budget` on the commands that spend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer

from dpopt.cli.application import application
from dpopt.transcript.budget_ledger import BudgetLedger
from tests.algorithms.small_runs import ROWS
from tests.cli.command_line import call, flat, inputs, refuse, succeed, words
from tests.releases.test_ledgers import table_of

WHERE = ["--neighbours", "add-remove", "--n0", ROWS]
COMMANDS: dict[str, list[object]] = {
    "release": ["--workload", "marginals:1", "--algorithm", "noise", "--delta", 1e-6, "--no-predict", *WHERE],
    "histogram release": ["--column", "age"],
    "grid release": ["--columns", "age,smoker"],
    "intervals release": ["--columns", "age", "--n0", ROWS],
    "sorted release": ["--column", "age"],
    "summary release": ["--k", 1, "--columns", "smoker", "--n0", ROWS],
    "degrees release": ["--nodes", 10],
    "lists release": ["--variables", "x1,x2", "--k", 1, "--n0", ROWS],
    "halfspaces release": ["--columns", "x,y", "--margin", 0.5, "--n0", ROWS],
}
LARGE = words("--workload marginals:1 --algorithm noise --epsilon 500 --delta 1e-09 --no-predict")
"""A release for which the number of records can be measured: there are few of them."""
WITHOUT_SCHEMA = ("degrees release", "lists release", "halfspaces release")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_spends_is_refused_where_nothing_is_left(command: str, tmp_path: Path) -> None:
    succeed("budget", "create", tmp_path / "short", "--epsilon", 0.1, "--delta", 1e-9)
    table, schema = inputs(tmp_path)
    declared = [] if command in WITHOUT_SCHEMA else ["--schema", schema]
    table = table_of(command.split(maxsplit=1)[0], tmp_path) if command in WITHOUT_SCHEMA else table
    arguments = [*command.split(), table, *declared, "-o", tmp_path / "out", "--epsilon", 0.5]
    message = refuse(*arguments, *COMMANDS[command], "--budget", tmp_path / "short")
    assert "left" in message
    assert not (tmp_path / "out").exists()
    assert json.loads(succeed("budget", "show", tmp_path / "short", "--json"))["releases"] == []


def test_show_lists_releases_and_what_is_left(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    budget = tmp_path / "owner.budget"
    assert "one record, add-remove" in succeed("budget", "create", budget, "--epsilon", 1, "--delta", 1e-6)
    asked = [table, "--schema", schema, "--epsilon", 0.5, "--budget", budget]
    succeed("histogram", "release", *asked, "--delta", 0, "--column", "age", "-o", tmp_path / "h.json")
    text = succeed("budget", "show", budget)
    assert "histogram" in text
    assert "used: 50.00% of the budget, by pure differential privacy" in text
    assert "pure epsilon = 0.5" in text
    more = ["--epsilon", 0.25, "--budget", budget, "--out", tmp_path / "out"]
    succeed("release", table, "--schema", schema, *COMMANDS["release"], *more)
    shown = json.loads(succeed("budget", "show", budget, "--json"))
    assert [one["command"] for one in shown["releases"]] == ["histogram", "release"]
    assert "Renyi" in shown["theorem"]
    assert 0.5 < shown["used_share"] < 1.0
    assert shown["left"]["pure_epsilon"] < 0.5
    assert "reservation" in json.loads((tmp_path / "out" / "release.json").read_text())["privacy"]


@pytest.mark.parametrize("size", [["--n0", ROWS], []], ids=["declared", "measured"])
def test_the_replay_of_a_release_that_is_paid_from_a_budget_is_the_release(size: list[object], tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    budget, out = tmp_path / "owner.budget", tmp_path / "out"
    succeed("budget", "create", budget, "--epsilon", 1000, "--delta", 1e-6)
    succeed("release", table, "--schema", schema, *LARGE, *size, "--out", out, "--budget", budget)
    mark = json.loads((out / "release.json").read_text())["privacy"]["reservation"]
    assert mark == json.loads(succeed("budget", "show", budget, "--json"))["releases"][0]["reservation"]
    assert "byte for byte" in succeed("replay", out, "--out", tmp_path / "again")


@pytest.mark.parametrize("size", [["--n0", ROWS], []], ids=["declared", "measured"])
def test_a_run_that_is_stopped_right_after_its_reservation_goes_on_under_it(size: list[object], tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    budget, out = tmp_path / "owner.budget", tmp_path / "out"
    succeed("budget", "create", budget, "--epsilon", 1000, "--delta", 1e-6)
    reserve = BudgetLedger.reserve

    def stop(*reservation: Any) -> None:
        reserve(*reservation)
        raise KeyboardInterrupt

    with mock.patch.object(BudgetLedger, "reserve", stop):
        stopped = call("release", table, "--schema", schema, *LARGE, *size, "--out", out, "--budget", budget)
    assert f"continue with 'dpopt resume {out} TABLE --budget {budget}'" in stopped.stderr
    assert b'"charge"' not in (out / "transcript.jsonl").read_bytes()
    reserved = budget.read_bytes()
    succeed("resume", out, table, "--budget", budget)
    assert budget.read_bytes() == reserved
    (release,) = json.loads(succeed("budget", "show", budget, "--json"))["releases"]
    assert json.loads((out / "release.json").read_text())["privacy"]["reservation"] == release["reservation"]
    assert "byte for byte" in succeed("replay", out, "--out", tmp_path / "again")


def test_a_total_without_delta_says_that_it_pays_pure_releases_only(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    succeed("budget", "create", tmp_path / "pure", "--epsilon", 1, "--delta", 0)
    asked = [table, "--schema", schema, "--epsilon", 0.5, *COMMANDS["release"], "--budget", tmp_path / "pure"]
    message = refuse("release", *asked, "--out", tmp_path / "out")
    assert "Release with --delta 0" in message
    assert "--delta" in message


def test_a_run_goes_on_with_its_budget(tmp_path: Path) -> None:
    succeed("budget", "create", tmp_path / "owner.budget", "--rho", 1)
    assert (
        "not paid"
        not in call("resume", tmp_path / "none", tmp_path / "t", "--budget", tmp_path / "owner.budget").output
    )
    refuse("resume", tmp_path / "none", tmp_path / "t", "--budget", tmp_path / "owner.budget")


def test_a_replaced_record_costs_two_steps_and_the_list_says_so(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    budget = tmp_path / "owner.budget"
    succeed("budget", "create", budget, "--epsilon", 1, "--delta", 0, "--neighbours", "replace")
    asked = [table, "--schema", schema, "--column", "age", "--epsilon", 0.5, "--budget", budget]
    succeed("histogram", "release", *asked, "-o", tmp_path / "h.json")
    shown = json.loads(succeed("budget", "show", budget, "--json"))
    assert shown["used_share"] == pytest.approx(1.0)
    assert "group of two" in shown["releases"][0]["converted"]


@pytest.mark.parametrize(
    "wrong",
    [[], ["--epsilon", 1, "--rho", 1], ["--epsilon", -1], ["--rho", 1, "--person", "p", "--neighbours", "replace"]],
)
def test_what_is_no_budget_is_refused(wrong: list[object], tmp_path: Path) -> None:
    refuse("budget", "create", tmp_path / "owner.budget", *wrong)
    assert not (tmp_path / "owner.budget").exists()


def test_plans_for_persons_say_so_and_cost_the_same_with_more_noise(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    asked = ["--schema", schema, "--epsilon", 1, "--json"]
    one = json.loads(succeed("histogram", "plan", *asked, "--column", "age"))
    three = json.loads(succeed("histogram", "plan", *asked, "--column", "age", "--rows-per-person", 3))
    assert three["scales"] == pytest.approx([3 * scale for scale in one["scales"]], rel=1e-6)
    bought = ["plan", "--schema", schema, "--workload", "marginals:1", "--epsilon", 1, "--delta", 1e-6]
    quick = [*bought, "--algorithm", "noise", "--no-predict", "--rows-per-person", 3, "--n0-counted"]
    assert "for one person (all rows of a person, at most 3, counted together)" in succeed(*quick, *WHERE)
    assert "add-remove" in refuse(*quick[:-1], "--neighbours", "replace", "--n", 10)


# Every command that takes a budget warns of one that promises nothing, once, and plans no rounds without end for it.

OUT = ["-o", "out"]
CALLS: dict[str, list[object]] = {
    "release": ["people.csv", "--schema", "schema.json", "--workload", "marginals:1", "--delta", 1e-6,
                "--algorithm", "noise", "--neighbours", "add-remove", "--n0", 200, *OUT],
    "plan": ["--schema", "schema.json", "--workload", "marginals:1", "--delta", 1e-6, "--algorithm", "noise",
             "--n", 200],
    "histogram plan": ["--bins", 8],
    "histogram release": ["people.csv", "--schema", "schema.json", "--column", "age", *OUT],
    "prefixes plan": ["--bins", 8, "--delta", 1e-6],
    "prefixes release": ["people.csv", "--schema", "schema.json", "--column", "age", "--steps", 1, "--delta", 1e-6, *OUT],
    "count plan": ["--most", 8],
    "count release": ["people.csv", "--schema", "schema.json", "--where", "smoker = true", "--most", 8, *OUT],
    "grid plan": ["--bins", "8x8"],
    "grid release": ["people.csv", "--schema", "schema.json", "--columns", "age,smoker", *OUT],
    "intervals plan": ["--bins", 8, "--n", 200],
    "intervals release": ["people.csv", "--schema", "schema.json", "--columns", "age", "--n0", 200, *OUT],
    "sorted plan": ["--bins", 8],
    "sorted release": ["people.csv", "--schema", "schema.json", "--column", "age", *OUT],
    "degrees plan": ["--nodes", 5],
    "degrees release": ["edges.txt", "--nodes", 5, *OUT],
    "summary plan": ["--schema", "schema.json", "--k", 1, "--n", 200],
    "summary release": ["people.csv", "--schema", "schema.json", "--k", 1, "--n0", 200, *OUT],
    "lists plan": ["--variables", "a,b", "--k", 1, "--n", 9],
    "lists release": ["rows.txt", "--variables", "a,b", "--k", 1, "--kind", "disjunctions", "--n0", 9, *OUT],
    "halfspaces plan": ["--attributes", 3, "--n", 9, "--margin", 0.4, "--projected-to", 2, "--projections", 3,
                        "--directions", 4],
    "halfspaces release": ["points.csv", "--margin", 0.4, "--projected-to", 2, "--projections", 3,
                           "--directions", 4, "--n0", 9, *OUT],
}  # fmt: skip


@pytest.fixture
def _inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs(tmp_path)
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    (tmp_path / "rows.txt").write_text("a\n" * 9)
    (tmp_path / "points.csv").write_text("a,b,c\n" + ".6,0,.8\n" * 9)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_inputs")
@pytest.mark.parametrize("command", CALLS)
def test_a_large_budget_is_warned_of_once(command: str) -> None:
    result = call(*command.split(), *CALLS[command], "--epsilon", 21)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("promises next to nothing") == 1
    assert result.stderr.count("warning: ") - result.stderr.count("cannot beat it") == 1  # of so small a table


def test_every_command_that_takes_a_budget_is_tried() -> None:
    def below(group: object, words: str) -> list[str]:
        found = []
        for name, command in getattr(group, "commands", {}).items():
            options = {option for parameter in command.params for option in parameter.opts}
            found += [f"{words}{name}"] if "--epsilon" in options else below(command, f"{words}{name} ")
        return found

    found = set(below(typer.main.get_command(application), ""))
    assert found - set(CALLS) <= {"budget create"}  # a total, of which each release takes a part
    assert set(CALLS) <= found


@pytest.mark.usefixtures("_inputs")
@pytest.mark.parametrize("budget", [["--epsilon", 1000, "--delta", 1e-9], ["--rho", 100]])
def test_rounds_do_not_grow_with_the_budget_without_end(budget: list[object]) -> None:
    found = json.loads(
        succeed("plan", "--schema", "schema.json", "--workload", "marginals:2", "--n", 10**9, "--no-predict",
                "--algorithm", "dualquery", *budget, "--json")
    )  # fmt: skip
    plan = found["plan"]
    assert plan["rounds"] <= 5_000
    assert plan["rounds"] * plan["draws"] <= 25_000_000


@pytest.mark.parametrize(
    ("budget", "named"),
    [(("--rho", 0.1), "epsilon 0.447214 has"), (("--epsilon", 1, "--delta", 1e-3), "epsilon 1 and delta")],
)
def test_a_plan_of_a_count_names_the_mechanisms_that_have_no_less_loss(budget: tuple[object, ...], named: str) -> None:
    """Gaussian noise of rho 0.1 has an expected loss of 1.754, and pure noise of the same rho one of 1.919."""
    assert f"no mechanism of {named}" in flat(succeed("count", "plan", "--most", 20, *budget))

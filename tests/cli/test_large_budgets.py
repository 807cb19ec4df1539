"""Every command that takes a budget warns of one that promises nothing, once, and plans no rounds without end for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from dpopt.cli.application import application
from tests.cli.command_line import call, flat, inputs, succeed

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

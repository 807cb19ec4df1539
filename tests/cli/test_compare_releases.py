"""`dpopt release --public-table` and `dpopt compare --public-table`: what is printed, written, marked and refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.command_line import call, inputs, people, refuse, succeed

PLAYED = ("--algorithm", "dualquery", "--rounds", 3, "--draws", 20, "--step", 1.5, "--n0", 200)
MARGINALS = ("--workload", "marginals:2", "--no-predict")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Write a table, its schema and a plan; return the plan's path."""
    inputs(tmp_path)
    succeed("plan", "--schema", tmp_path / "schema.json", *MARGINALS, *PLAYED, "-o", tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_the_same_seed_gives_the_same_release_and_says_that_it_is_not_private(tmp_path: Path) -> None:
    inputs(tmp_path)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        more = (*MARGINALS, *PLAYED, "--public-table", "--seed", seed, "--out", tmp_path / name)
        assert "NOT PRIVATE" in succeed("release", *people(tmp_path), *more)
    one, again, other = ((tmp_path / name / "transcript.jsonl").read_bytes() for name in ("one", "again", "other"))
    assert one == again != other


def test_no_owners_budget_goes_with_it(tmp_path: Path) -> None:
    inputs(tmp_path)
    succeed("budget create", tmp_path / "budget.json", "--epsilon", 10, "--delta", 1e-3)
    more = (*MARGINALS, *PLAYED, "--public-table", "--seed", 1, "--out", tmp_path / "out")
    message = refuse("release", *people(tmp_path), *more, "--budget", tmp_path / "budget.json")
    assert "no budget pays for it" in " ".join(message.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.solver("highs")
def test_releases_are_compared_in_a_table_files_and_a_picture(tmp_path: Path, plan: Path) -> None:
    asked = ("compare", "--public-table", tmp_path / "people.csv", "--plan", plan, "--seed", 1)
    solvers = ("--solvers", "local-search,highs", "--seconds", 1)
    text = succeed(*asked, *solvers, "--out", tmp_path / "out")
    assert "NOT private" in text
    assert "…" not in text
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["releases.png", "results.csv", "results.json"]
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["solver"] for row in rows] == [row["solver"] for row in found["rows"]] == ["local-search", "highs"]
    assert found["private"] is False
    assert found["rounds"][0]["value"] == found["rounds"][3]["value"]  # both are optimal, on the same draws
    assert (tmp_path / "out" / "releases.png").stat().st_size > 5_000
    told = json.loads(succeed(*asked, "--solvers", "local-search", "--json"))
    assert told["rows"][0]["mean_error"] == found["rows"][0]["mean_error"]


@pytest.mark.parametrize(
    "more",
    [
        ("--plan", "plan.json"),
        ("--public-table", "people.csv"),
        ("--public-table", "people.csv", "--plan", "plan.json", "--release", "run"),
        ("--public-table", "people.csv", "--plan", "plan.json", "--model", "projection"),
        ("--public-table", "people.csv", "--plan", "plan.json", "--threads", "2"),
        ("--public-table", "people.csv", "--plan", "plan.json", "--round-numbers", "2"),
    ],
)
def test_what_does_not_go_together_is_refused(more: tuple[str, ...]) -> None:
    assert "--public-table goes with --release or --plan" in " ".join(refuse("compare", *more).split())


def test_results_are_not_written_into_a_release(tmp_path: Path, plan: Path) -> None:
    succeed(
        "release",
        tmp_path / "people.csv",
        "--schema",
        tmp_path / "schema.json",
        "--plan",
        plan,
        "--out",
        tmp_path / "r",
    )
    result = call("compare", "--public-table", tmp_path / "people.csv", "--plan", plan, "--out", tmp_path / "r" / "c")
    assert result.exit_code == 2
    assert "lies in the release folder" in " ".join(result.stderr.split())

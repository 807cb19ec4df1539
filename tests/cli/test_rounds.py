"""Plans of DualQuery side by side, and the rounds of a run, in the shell: tables, files and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.algorithms.small_runs import small_release
from tests.cli.command_line import flat, inputs, refuse, statement, succeed

NAMED = ("--workload", "marginals:2", "--algorithm", "dualquery", "--n0", 200, "--delta", 1e-3)
NUMBERS = ("--rounds", 6, "--draws", 8, "--step", 1.2)
SEVERAL = ("--rounds", "2,6", "--draws", "8", "--step", ".7,1.2")


def test_a_plan_without_a_budget_states_every_theorem_and_a_release_takes_it(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    asked = ("--schema", schema, *NAMED, *NUMBERS, "--no-predict")
    text = succeed("plan", *asked, "-o", tmp_path / "plan.json")
    for words in ("Theorem 4.2", "Theorem 4.3", "DualQuery's experiments", "zcdp (this plan's)", "Dong, Roth, Su"):
        assert words in text
    found = json.loads(succeed("plan", *asked, "--json"))
    succeed("release", table, "--plan", tmp_path / "plan.json", "--schema", schema, "--out", tmp_path / "out")
    assert statement(tmp_path / "out")["privacy"]["epsilon"] == found["epsilon"]
    assert statement(tmp_path / "out")["privacy"]["budget"]["epsilon"] == found["epsilon"]


def test_several_plans_are_a_table_a_file_and_a_picture(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    asked = ("plan", "--schema", schema, *NAMED, *SEVERAL)
    text = succeed(*asked, "-o", tmp_path / "plans.csv")
    rows: list[dict[str, Any]] = json.loads(succeed(*asked, "--json", "-o", tmp_path / "plans.svg"))["plans"]
    written = pd.read_csv(tmp_path / "plans.csv")
    assert written.epsilon.tolist() == [row["epsilon"] for row in rows]
    assert [(row["rounds"], row["step"]) for row in rows] == [(2, 0.7), (2, 1.2), (6, 0.7), (6, 1.2)]
    assert all(f"{row['mean_error']:.4g}" in text for row in rows)
    picture = (tmp_path / "plans.svg").read_text()
    assert picture.startswith("<?xml")
    assert picture.count("<path") > 12  # texts are drawn as paths


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--epsilons", "1,2"), "need --algorithm dualquery, without --epsilons"),
        (("--draws", "8,a"), "found 'a', expected a whole number"),
        (("--step", "1,-2", "--rounds", "0,0"), "number of rounds"),
        (("--algorithm", "fem"), "need --algorithm dualquery, without"),
    ],
)
def test_lists_that_no_plan_takes_are_refused(tmp_path: Path, more: tuple[object, ...], message: str) -> None:
    _, schema = inputs(tmp_path)
    assert message in flat(refuse("plan", "--schema", schema, *NAMED, *SEVERAL, "--no-predict", *more))


def test_a_picture_of_another_form_is_refused(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    asked = ("plan", "--schema", schema, *NAMED, *SEVERAL, "--no-predict", "-o", tmp_path / "plans.txt")
    assert "a picture ends with .svg, .png or .pdf, a table with .csv" in flat(refuse(*asked))
    assert not (tmp_path / "plans.txt").exists()


def test_a_release_takes_one_number(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    asked = ("--schema", schema, *NAMED, *SEVERAL, "--out", tmp_path / "out")
    assert "number of rounds" in flat(refuse("release", table, *asked))
    assert not (tmp_path / "out").exists()


def test_the_rounds_of_a_run_are_listed_written_and_drawn(tmp_path: Path) -> None:
    made = small_release(tmp_path / "run", rounds=30)
    text = succeed("inspect", tmp_path / "run", "-o", tmp_path / "rounds.csv")
    succeed("inspect", tmp_path / "run", "-o", tmp_path / "rounds.png")
    rows = json.loads(succeed("inspect", tmp_path / "run", "--json"))["rounds"]
    assert "lies in the release folder" in flat(
        refuse("inspect", tmp_path / "run", "-o", tmp_path / "run" / "rounds.csv")
    )
    written = pd.read_csv(tmp_path / "rounds.csv")
    assert len(rows) == len(written) == 30
    assert written.value.tolist() == made.rounds.value.tolist() == [row["value"] for row in rows]
    assert "some of 30 rounds" in text
    assert sum(line.startswith("\u2502") for line in text.splitlines()) == 20
    assert (tmp_path / "rounds.png").read_bytes().startswith(b"\x89PNG")
    page = made.report()
    assert 'href="#rounds"' in page
    assert page.count("<polyline") == 2 + bool(made.rounds.reported_bound.notna().any())


def test_a_run_that_has_not_ended_lists_its_rounds(tmp_path: Path) -> None:
    small_release(tmp_path / "run")
    (tmp_path / "run" / "release.json").unlink()
    transcript = tmp_path / "run" / "transcript.jsonl"
    transcript.write_bytes(b"".join(transcript.read_bytes().splitlines(keepends=True)[:7]))
    text = succeed("inspect", tmp_path / "run")
    assert "go on with 'dpopt resume" in flat(text)
    assert "some of 2 rounds" in text
    assert len(json.loads(succeed("inspect", tmp_path / "run", "--json"))["rounds"]) == 2


def test_what_has_no_rounds_cannot_be_written(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    assert "no rounds of dualquery" in flat(refuse("inspect", schema, "-o", tmp_path / "rounds.csv"))
    assert not (tmp_path / "rounds.csv").exists()

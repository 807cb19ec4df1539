"""`dpopt histogram` from a plan to answers, tables and pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from dpopt import read_synopsis
from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import refuse, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, counts, and a histogram of the age column at a large budget."""
    folder = tmp_path_factory.mktemp("histogram")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    (folder / "counts.csv").write_text(
        "name,n\n" + "".join(f"bin{place},{place % 7}\n" for place in range(50))
    )
    succeed("histogram", "release", folder / "people.csv", "--column", "age", "--schema", folder / "schema.json",
            "--epsilon", 1000, "-o", folder / "age.npz")  # fmt: skip
    return folder


def test_a_plan_needs_no_table() -> None:
    text = succeed("histogram", "plan", "--bins", 256, "--epsilon", 1, "--ranges", "sizes:1,16")
    assert "measured with Laplace noise" in text
    assert "ranges of 16 bins: standard error" in text
    found = json.loads(succeed("histogram", "plan", "--bins", 256, "--rho", 0.5, "--json"))
    assert found["gaussian"]
    assert found["predicted"]["all ranges"] == pytest.approx(11.81, abs=0.01)


def test_ranges_of_a_column_are_answered_by_its_edges(folder: Path) -> None:
    exact = np.bincount(codes()[:, 1], minlength=3)
    found = json.loads(succeed("histogram", "answer", folder / "age.npz", "--query", "0:20", "--query", "20:",
                               "--quantile", 0.5, "--json"))  # fmt: skip
    assert [round(row["value"]) for row in found["answers"]] == [exact[0], exact[1] + exact[2]]
    half = int(np.argmax(np.cumsum(exact) >= 0.5 * exact.sum()))
    assert found["quantiles"] == [
        {"quantile": 0.5, "bin": half, "label": ["[0, 20)", "[20, 40)", "[40, 60]"][half]}
    ]
    text = succeed("histogram", "answer", folder / "age.npz")
    assert f"{exact.sum():,.1f}" in text
    assert "95% interval" in text


def test_under_replace_the_number_of_records_is_kept(folder: Path, tmp_path: Path) -> None:
    succeed("histogram", "release", folder / "people.csv", "--column", "town", "--schema", folder / "schema.json",
            "--ordered", "--epsilon", 1, "--neighbours", "replace", "-o", tmp_path / "h.npz")  # fmt: skip
    found = json.loads(succeed("histogram", "answer", tmp_path / "h.npz", "--json"))
    assert found["answers"][0]["value"] == pytest.approx(200)


def test_a_histogram_becomes_a_table_and_a_picture(folder: Path, tmp_path: Path) -> None:
    succeed("histogram", "export", folder / "age.npz", "-o", tmp_path / "age.csv", "--whole")
    rows = list(csv.DictReader((tmp_path / "age.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(row["count"]) for row in rows] == np.bincount(codes()[:, 1], minlength=3).tolist()
    assert [row["label"] for row in rows] == ["[0, 20)", "[20, 40)", "[40, 60]"]
    succeed("histogram", "export", folder / "age.npz", "-o", tmp_path / "age.png")
    assert (tmp_path / "age.png").read_bytes().startswith(b"\x89PNG")


def test_a_declared_hierarchy_is_planned_released_and_answered(folder: Path, tmp_path: Path) -> None:
    hierarchy = tmp_path / "ages.json"
    hierarchy.write_text('[["[0, 20)", "[20, 40)"], "[40, 60]"]')
    declared = ("--column", "age", "--schema", folder / "schema.json", "--hierarchy", hierarchy)
    text = succeed("histogram", "plan", *declared, "--rho", 0.1)
    for words in ("single bins", "groups of depth 1", "all bins", "groups of all levels: standard error"):
        assert words in text
    by_position = tmp_path / "positions.json"
    by_position.write_text("[[0, 1], 2]")
    found = json.loads(
        succeed("histogram", "plan", "--bins", 3, "--hierarchy", by_position, "--rho", 0.1, "--json")
    )
    assert found["hierarchy"] == {"children": [2, 2, 0, 0, 0]}
    assert found["nodes"] == [3, 2, 1]
    succeed(
        "histogram", "release", folder / "people.csv", *declared, "--epsilon", 1000, "-o", tmp_path / "h.npz"
    )
    exact = np.bincount(codes()[:, 1], minlength=3)
    answers = json.loads(succeed("histogram", "answer", tmp_path / "h.npz", "--query", "0:40", "--json"))[
        "answers"
    ]
    assert round(answers[0]["value"]) == exact[0] + exact[1]
    succeed("histogram", "export", tmp_path / "h.npz", "-o", tmp_path / "h.png")


def test_declared_ranges_are_planned_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ranges.csv").write_text("range,weight\n0:20,3\n20:,1\n")
    declared = (
        "--column",
        "age",
        "--schema",
        folder / "schema.json",
        "--ranges",
        f"file:{tmp_path / 'ranges.csv'}",
    )
    assert "declared ranges: standard error" in succeed("histogram", "plan", *declared, "--epsilon", 1)
    succeed(
        "histogram", "release", folder / "people.csv", *declared, "--epsilon", 1, "-o", tmp_path / "h.npz"
    )
    plan = read_synopsis(tmp_path / "h.npz").to_json()["plan"]
    assert plan["ranges"] == "2 declared ranges"
    (tmp_path / "positions.csv").write_text("0:64,2\n:\n")
    text = succeed(
        "histogram", "plan", "--bins", 256, "--epsilon", 1, "--ranges", f"file:{tmp_path / 'positions.csv'}"
    )
    assert "declared ranges" in text


@pytest.mark.parametrize("estimate", ["divided", "least-squares", "nonnegative", "whole", "zeroing"])
def test_the_estimate_can_be_chosen(folder: Path, tmp_path: Path, estimate: str) -> None:
    exact = np.bincount(codes()[:, 1], minlength=3)
    chosen = ("--estimate", estimate)
    found = json.loads(succeed("histogram", "answer", folder / "age.npz", "--query", "0:20", "--quantile", 1, *chosen,
                               "--json"))  # fmt: skip
    assert round(found["answers"][0]["value"]) == exact[0]
    succeed("histogram", "export", folder / "age.npz", "-o", tmp_path / "age.csv", *chosen)
    rows = list(csv.DictReader((tmp_path / "age.csv").read_text(encoding="utf-8").splitlines()))
    assert [round(float(row["count"])) for row in rows] == exact.tolist()
    succeed("histogram", "export", folder / "age.npz", "-o", tmp_path / "age.png", *chosen)
    succeed("histogram", "export", folder / "age.npz", "-o", tmp_path / "whole.csv", "--whole", *chosen)


def test_bad_input_is_refused_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    table, schema, out = folder / "people.csv", folder / "schema.json", tmp_path / "h.npz"
    budget = ("--epsilon", 1, "-o", out)
    assert "name what is counted" in refuse("histogram", "release", table, *budget)
    assert "name what is counted" in refuse("histogram", "release", table, "--column", "age", *budget)
    column = ("histogram", "release", table, "--schema", schema, "--column")
    assert "no attribute 'height'" in refuse(*column, "height", *budget)
    assert "nothing says that its values are ordered" in refuse(*column, "town", *budget)
    assert "expected all, worst, sizes:1,64,1024, or file" in refuse(
        *column, "age", *budget, "--ranges", "most"
    )
    bad = tmp_path / "bad.txt"
    bad.write_text('[["[0, 20)"], "[40, 60]"]')
    assert "the bin '[20, 40)' is missing" in refuse(*column, "age", *budget, "--hierarchy", bad)
    assert "with a hierarchy, expected nodes" in refuse(*column, "age", *budget, "--hierarchy", _whole(tmp_path),
                                                        "--ranges", "worst")  # fmt: skip
    bad.write_text("0:20\n1:20\n")
    assert "line 2: age: 1 is no edge" in refuse(*column, "age", *budget, "--ranges", f"file:{bad}")
    assert "cannot be read" in refuse(*column, "age", *budget, "--ranges", "file:none.csv")
    counts = ("histogram", "release", folder / "counts.csv", "--counts")
    assert "lacks 1 column" in refuse(*counts, "m", *budget)
    assert "no number" in refuse(*counts, "name", *budget)
    assert not out.exists()
    assert "is no edge of a bin" in refuse("histogram", "answer", folder / "age.npz", "--query", "1:20")
    assert "no histogram, or damaged" in refuse("histogram", "answer", folder / "schema.json")
    assert "is one of divided, least-squares" in refuse(
        "histogram", "answer", folder / "age.npz", "--estimate", "x"
    )
    assert "is one of divided, least-squares" in refuse(
        "histogram", "export", folder / "age.npz", "-o", tmp_path / "x.csv", "--estimate", "x"
    )
    assert "name the bins" in refuse("histogram", "plan", "--epsilon", 1)
    assert "name the bins" in refuse(
        "histogram", "plan", "--epsilon", 1, "--bins", 3, "--column", "age", "--schema", schema
    )
    assert "at least one bin" in refuse("histogram", "plan", "--epsilon", 1, "--bins", 0)
    assert ".csv or .png" in refuse("histogram", "export", folder / "age.npz", "-o", tmp_path / "age.txt")


@pytest.mark.parametrize(
    ("cell", "message"),
    [("-1", "bin 1 has the count -1"), ("1.5", r"bin 1 has the count 1.5"), ("", "no number|empty cells")],
)
def test_counts_that_are_none_are_refused(tmp_path: Path, cell: str, message: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f'n,x\n3,a\n"{cell}",b\n')
    said = refuse("histogram", "release", path, "--counts", "n", "--epsilon", 1, "-o", tmp_path / "h.npz")
    assert any(part in said for part in message.split("|"))


def _whole(folder: Path) -> Path:
    path = folder / "whole.json"
    path.write_text("[0, 1, 2]")
    return path

"""`dpopt sorted` from a column, or from counts, to tables of frequencies."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from dpopt import read_synopsis
from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import refuse, succeed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path)
    SCHEMA.write(tmp_path / "schema.json")
    (tmp_path / "counts.csv").write_text(
        "name,n\n" + "".join(f"bin{place},{place % 3}\n" for place in range(60))
    )
    return tmp_path


def test_a_column_whose_values_have_no_order_is_released_and_becomes_tables(folder: Path) -> None:
    text = succeed("sorted", "release", folder / "people.csv", "--schema", folder / "schema.json", "--column", "town",
                   "--epsilon", 1000, "-o", folder / "s.npz")  # fmt: skip
    assert "spent: epsilon = 1000.0000" in text
    assert "one record more or less (add-remove)" in text
    succeed("sorted", "export", folder / "s.npz", "-o", folder / "f.csv", "--sequence", folder / "s.csv")
    place = SCHEMA.names.index("town")
    exact = np.bincount(codes()[:, place], minlength=int(SCHEMA.sizes[place]))
    sequence = list(csv.DictReader((folder / "s.csv").read_text().splitlines()))
    assert [int(row["count"]) for row in sequence] == sorted(exact.tolist(), reverse=True)
    rows = list(csv.DictReader((folder / "f.csv").read_text().splitlines()))
    assert {int(row["count"]): int(row["frequency"]) for row in rows} == {
        count: exact.tolist().count(count) for count in exact.tolist()
    }


@pytest.mark.parametrize("estimate", ["posterior", "isotonic", "least-absolute", "rounded"])
def test_counts_are_released_and_the_number_of_records_is_kept(folder: Path, estimate: str) -> None:
    text = succeed("sorted", "release", folder / "counts.csv", "--counts", "n", "--epsilon", 1, "--delta", 1e-6,
                   "--neighbours", "replace", "-o", folder / "s.npz")  # fmt: skip
    assert "60 counts, some 60 records" in text
    succeed("sorted", "export", folder / "s.npz", "-o", folder / "f.csv", "--estimate", estimate)
    rows = list(csv.DictReader((folder / "f.csv").read_text().splitlines()))
    assert sum(int(row["frequency"]) for row in rows) == 60
    assert sum(int(row["frequency"]) * int(row["count"]) for row in rows) == 60


def test_a_public_number_of_records_can_be_said_afterwards(folder: Path) -> None:
    succeed("sorted", "release", folder / "counts.csv", "--counts", "n", "--rho", 0.1, "-o", folder / "s.npz")
    found = read_synopsis(folder / "s.npz").to_json()
    assert (found["what"], found["total"], found["largest"]) == ("counts", None, None)
    succeed("sorted", "export", folder / "s.npz", "-o", folder / "f.csv", "--n", 60)
    rows = list(csv.DictReader((folder / "f.csv").read_text().splitlines()))
    assert sum(int(row["frequency"]) * int(row["count"]) for row in rows) == 60


def test_counts_of_a_trillion_are_released_and_become_tables(folder: Path) -> None:
    large = 2**40
    (folder / "large.csv").write_text(f"n\n3\n{large}\n{large - 5}\n7\n")
    succeed(
        "sorted", "release", folder / "large.csv", "--counts", "n", "--epsilon", 100, "-o", folder / "s.npz"
    )
    for estimate in ("posterior", "isotonic", "least-absolute", "rounded"):
        table = folder / f"{estimate}.csv"
        succeed("sorted", "export", folder / "s.npz", "-o", table, "--estimate", estimate)
        rows = list(csv.DictReader(table.read_text().splitlines()))
        assert sum(int(row["frequency"]) for row in rows) == 4
        assert abs(max(int(row["count"]) for row in rows) - large) < 1000


def test_bad_input_is_refused_and_nothing_is_written(folder: Path) -> None:
    out = folder / "s.npz"
    release = ("sorted", "release", folder / "people.csv", "-o", out)
    column = (*release, "--schema", folder / "schema.json", "--column")
    assert "name what is counted" in refuse(*release, "--epsilon", 1)
    assert "no attribute 'height'" in refuse(*column, "height", "--epsilon", 1)
    assert "lacks 1 column" in refuse(*release, "--counts", "n", "--epsilon", 1)
    assert not out.exists()
    succeed(*column, "town", "--epsilon", 1)
    export = ("sorted", "export", out, "-o", folder / "f.csv")
    assert "holds counts, expected degrees; use 'dpopt sorted'" in refuse(
        "degrees", "export", out, "-o", folder / "f.csv"
    )
    assert "is one of posterior, isotonic" in refuse(*export, "--estimate", "x")
    assert "give the true public number" in refuse(*export, "--n", -5)
    assert "exists already" in refuse(*export, "--sequence", out)
    assert "is no release of sorted counts" in refuse(
        "sorted", "export", folder / "schema.json", "-o", folder / "f.csv"
    )
    assert not (folder / "f.csv").exists()

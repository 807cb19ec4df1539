"""`dpopt grid` from a plan to answers, tables and pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from dpopt import read_synopsis
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import refuse, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, and a histogram of two columns at a large budget."""
    folder = tmp_path_factory.mktemp("grid")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    release(folder, folder / "grid.npz")
    return folder


def release(folder: Path, out: Path, *more: object, epsilon: float = 1000) -> str:
    return succeed("grid", "release", folder / "people.csv", "--schema", folder / "schema.json", "--ordered",
                   "--columns", f"{SCHEMA.names[0]},age", "--epsilon", epsilon, "-o", out, *more)  # fmt: skip


def exact() -> np.ndarray:
    first, second = codes()[:, 0], codes()[:, 1]
    shape = tuple(int(size) for size in SCHEMA.sizes[:2])
    return np.bincount(np.ravel_multi_index((first, second), shape), minlength=int(np.prod(shape))).reshape(
        shape
    )


def test_a_plan_needs_no_table() -> None:
    text = succeed("grid", "plan", "--bins", "64x64", "--epsilon", 1, "--ranges", "sizes:1x1,8x8")
    assert "measured with Laplace noise" in text
    assert "boxes of 8 x 8: standard error" in text
    found = json.loads(
        succeed("grid", "plan", "--bins", "64x64", "--rho", 0.5, "--shapes", "cubes", "--json")
    )
    assert found["gaussian"]
    assert all(len(set(level)) == 1 for level in found["levels"])


def test_boxes_are_answered_by_labels_and_edges(folder: Path) -> None:
    label = read_synopsis(folder / "grid.npz").to_json()["axes"][0]["labels"][0]
    found = json.loads(
        succeed("grid", "answer", folder / "grid.npz", "--query", f"{label}:{label},20:", "--json")
    )
    assert found["columns"] == [SCHEMA.names[0], "age"]
    assert round(found["answers"][0]["value"]) == exact()[0, 1:].sum()
    text = succeed("grid", "answer", folder / "grid.npz")
    assert f"{exact().sum():,.1f}" in text
    assert "95% interval" in text


def test_tables_and_pictures_are_written(folder: Path, tmp_path: Path) -> None:
    succeed("grid", "export", folder / "grid.npz", "-o", tmp_path / "cells.csv", "--whole")
    with (tmp_path / "cells.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [SCHEMA.names[0], "age", "count", "standard_error", "low", "high"]
    assert [int(row[2]) for row in rows[1:]] == exact().reshape(-1).tolist()
    succeed("grid", "export", folder / "grid.npz", "-o", tmp_path / "cells.png")
    assert (tmp_path / "cells.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells.csv", "cells.png"]


def test_the_unbiased_estimate_is_answered_and_written(folder: Path, tmp_path: Path) -> None:
    release(folder, tmp_path / "noisy.npz", epsilon=0.02)
    given = GridHistogram.read(tmp_path / "noisy.npz")
    box = given.answer(":,:", estimate="least-squares")
    assert box.value == pytest.approx(given.least_squares.sum())
    text = succeed(
        "grid", "answer", tmp_path / "noisy.npz", "--query", ":,:", "--estimate", "least-squares", "--json"
    )
    assert json.loads(text)["answers"][0]["value"] == pytest.approx(box.value)
    succeed("grid", "export", tmp_path / "noisy.npz", "-o", tmp_path / "c.csv", "--estimate", "least-squares")
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    found = [float(row["count"]) for row in rows]
    assert found == pytest.approx(given.least_squares.reshape(-1).tolist(), rel=1e-5, abs=1e-5)
    assert min(found) < 0 <= given.counts.min()
    assert "one of divided, least-squares; found 'best'" in refuse(
        "grid", "answer", folder / "grid.npz", "--estimate", "best"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "age"], "give two or more"),
        (["--columns", "age,age"], "'age' twice"),
        (["--columns", "age,shoe"], "found no attribute 'shoe'"),
        (["--columns", f"{SCHEMA.names[0]},age"], "nothing says that its values are ordered"),
    ],
)
def test_columns_that_cannot_be_counted_are_refused(
    folder: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    text = refuse("grid", "release", folder / "people.csv", "--schema", folder / "schema.json", "--epsilon", 1,
                  "-o", tmp_path / "new.npz", *arguments)  # fmt: skip
    assert message in " ".join(text.split())
    assert not (tmp_path / "new.npz").exists()


def test_other_files_and_names_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "as in 74x100" in refuse("grid", "plan", "--bins", "64by64", "--epsilon", 1)
    assert "ends in .csv or .png" in refuse(
        "grid", "export", folder / "grid.npz", "-o", tmp_path / "cells.txt"
    )
    assert "expected 2 ranges" in refuse("grid", "answer", folder / "grid.npz", "--query", "20:40")

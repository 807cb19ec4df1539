"""`dpopt degrees` from edges to a table of frequencies."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dpopt import read_synopsis
from tests.cli.command_line import refuse, succeed


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.txt"
    lines = [f"{a} {b}" for a in range(30) for b in range(a + 1, 30) if (a * b) % 7 == 1]
    path.write_text("# a graph\n" + "\n".join(lines) + "\n")
    return path


def test_degrees_are_released_and_become_a_table(edges: Path, tmp_path: Path) -> None:
    text = succeed("degrees", "release", edges, "--nodes", 30, "--epsilon", 2, "-o", tmp_path / "d.npz")
    assert "spent: epsilon = 2.0000 (rho = 2.000000), one edge more or less (add-remove)" in text
    assert "30 nodes" in text
    text = succeed("degrees", "export", tmp_path / "d.npz", "-o", tmp_path / "d.csv", "--graphical")
    assert "a graph with" in text
    rows = list(csv.DictReader((tmp_path / "d.csv").read_text().splitlines()))
    assert sum(int(row["frequency"]) for row in rows) == 30
    assert sum(int(row["frequency"]) * int(row["count"]) for row in rows) % 2 == 0


def test_the_number_of_nodes_can_be_bought(edges: Path, tmp_path: Path) -> None:
    succeed("degrees", "release", edges, "--nodes", "noisy", "--rho", 0.5, "-o", tmp_path / "d.npz")
    found = read_synopsis(tmp_path / "d.npz").to_json()
    assert found["noisy_length"]
    assert [charge["label"] for charge in found["privacy"]["charges"]] == [
        "number of nodes with an edge",
        "sorted counts",
    ]


@pytest.mark.parametrize("estimate", ["posterior", "isotonic", "least-absolute", "rounded"])
@pytest.mark.parametrize("graphical", [[], ["--graphical"]])
def test_the_estimate_and_the_number_of_edges_can_be_said(
    edges: Path, tmp_path: Path, estimate: str, graphical: list[str]
) -> None:
    number = len([line for line in edges.read_text().splitlines() if not line.startswith("#")])
    succeed("degrees", "release", edges, "--nodes", 30, "--epsilon", 1, "-o", tmp_path / "d.npz")
    export = ("degrees", "export", tmp_path / "d.npz", "--estimate", estimate, *graphical)
    succeed(*export, "-o", tmp_path / "free.csv")
    succeed(*export, "--edges", number, "-o", tmp_path / "d.csv", "--sequence", tmp_path / "s.csv")
    rows = list(csv.DictReader((tmp_path / "d.csv").read_text().splitlines()))
    assert sum(int(row["frequency"]) * int(row["count"]) for row in rows) == 2 * number
    sequence = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert [int(row["rank"]) for row in sequence] == list(range(1, 31))
    counts = [int(row["count"]) for row in sequence]
    assert sum(counts) == 2 * number
    assert counts == sorted(counts, reverse=True)


def test_under_replace_the_number_of_edges_is_known(edges: Path, tmp_path: Path) -> None:
    number = len([line for line in edges.read_text().splitlines() if not line.startswith("#")])
    text = succeed("degrees", "release", edges, "--nodes", 30, "--epsilon", 0.5, "--neighbours", "replace",
                   "-o", tmp_path / "d.npz")  # fmt: skip
    assert f"some {number} edges" in text
    text = succeed("degrees", "export", tmp_path / "d.npz", "--graphical", "-o", tmp_path / "d.csv")
    assert f"a graph with {number} edges" in text
    assert f"known to be {number}, found 2" in refuse(
        "degrees", "export", tmp_path / "d.npz", "--edges", 2, "-o", tmp_path / "e.csv"
    )


def test_bad_input_is_refused_and_nothing_is_written(edges: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.npz"
    command = ("degrees", "release", edges, "--epsilon", 1, "-o", out, "--nodes")
    assert "expected the number of nodes, or 'noisy'" in refuse(*command, "many")
    assert "found 0" in refuse(*command, 0)
    assert "the two ends of an edge" in refuse(*command, 30, "--columns", "a")
    succeed(*command, 30)
    export = ("degrees", "export", out, "-o", tmp_path / "d.csv")
    assert "is one of posterior, isotonic" in refuse(*export, "--estimate", "x")
    assert "add up to an even number" in refuse(*export, "--edges", 436)
    assert "add up to an even number" in refuse(*export, "--edges", -1)
    assert "for both tables" in refuse(*export, "--sequence", tmp_path / "d.csv")
    assert "holds degrees, expected counts; use 'dpopt degrees'" in refuse(
        "sorted", "export", out, "-o", tmp_path / "d.csv"
    )
    assert not (tmp_path / "d.csv").exists()
    out.unlink()
    assert "among 3 nodes; expected at least" in refuse(*command, 3, "--neighbours", "replace")
    total = refuse(*command, 30, "--neighbours", "replace", "--on-invalid", "drop")
    assert "use --neighbours add-remove" in " ".join(total.split())
    edges.write_text("a b\nb b\n")
    assert "joins a node with itself" in refuse(*command, 30)
    assert not out.exists()
    assert "no release of sorted counts" in refuse(
        "degrees", "export", _json(tmp_path), "-o", tmp_path / "d.csv"
    )


def _json(folder: Path) -> Path:
    path = folder / "other.npz"
    path.write_text("{}")
    return path

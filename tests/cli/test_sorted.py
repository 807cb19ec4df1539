"""`dpopt sorted` and `dpopt degrees` from a column, counts or edges to tables of frequencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt import read_synopsis
from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import flat, refuse, succeed, table_rows

ESTIMATES = ("posterior", "isotonic", "rounded")
EDGES = [f"{a} {b}" for a in range(30) for b in range(a + 1, 30) if (a * b) % 7 == 1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path)
    SCHEMA.write(tmp_path / "schema.json")
    (tmp_path / "counts.csv").write_text("name,n\n" + "".join(f"bin{place},{place % 3}\n" for place in range(60)))
    (tmp_path / "edges.txt").write_text("\n".join(["# a graph", *EDGES]) + "\n")
    (tmp_path / "loop.txt").write_text("a b\nb b\n")
    return tmp_path


def numbers(path: Path) -> list[tuple[int, int]]:
    """Return how often each count occurs."""
    return [(int(row["count"]), int(row["frequency"])) for row in table_rows(path)]


def test_a_column_whose_values_have_no_order_is_released_and_becomes_tables(folder: Path) -> None:
    text = succeed("sorted release --column town --epsilon 1000", folder / "people.csv", "--schema", folder / "schema.json",
                   "-o", folder / "s.npz")  # fmt: skip
    assert "spent: epsilon = 1000.0000" in text
    assert "one record more or less (add-remove)" in text
    succeed("sorted export", folder / "s.npz", "-o", folder / "f.csv", "--sequence", folder / "s.csv")
    place = SCHEMA.names.index("town")
    exact = np.bincount(codes()[:, place], minlength=int(SCHEMA.sizes[place])).tolist()
    assert [int(row["count"]) for row in table_rows(folder / "s.csv")] == sorted(exact, reverse=True)
    assert dict(numbers(folder / "f.csv")) == {count: exact.count(count) for count in exact}


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_counts_are_released_and_the_number_of_records_is_kept(folder: Path, estimate: str) -> None:
    command = "sorted release --counts n --epsilon 1 --delta 1e-6 --neighbours replace"
    text = succeed(command, folder / "counts.csv", "-o", folder / "s.npz")
    assert "60 counts, some 60 records" in text
    succeed("sorted export", folder / "s.npz", "-o", folder / "f.csv", "--estimate", estimate)
    found = numbers(folder / "f.csv")
    assert sum(frequency for _, frequency in found) == sum(count * often for count, often in found) == 60


def test_a_public_number_of_records_can_be_said_afterwards(folder: Path) -> None:
    succeed("sorted release --counts n --rho 0.1", folder / "counts.csv", "-o", folder / "s.npz")
    found = read_synopsis(folder / "s.npz").to_json()
    assert (found["what"], found["total"], found["largest"]) == ("counts", None, None)
    succeed("sorted export --n 60", folder / "s.npz", "-o", folder / "f.csv")
    assert sum(count * often for count, often in numbers(folder / "f.csv")) == 60


def test_counts_of_a_trillion_are_released_and_become_tables(folder: Path) -> None:
    large = 2**40
    (folder / "large.csv").write_text(f"n\n3\n{large}\n{large - 5}\n7\n")
    succeed("sorted release --counts n --epsilon 100", folder / "large.csv", "-o", folder / "s.npz")
    for estimate in ESTIMATES:
        table = folder / f"{estimate}.csv"
        succeed("sorted export", folder / "s.npz", "-o", table, "--estimate", estimate)
        found = numbers(table)
        assert sum(frequency for _, frequency in found) == 4
        assert abs(max(count for count, _ in found) - large) < 1000


def test_degrees_are_released_and_become_a_table(folder: Path) -> None:
    text = succeed("degrees release --nodes 30 --epsilon 2", folder / "edges.txt", "-o", folder / "d.npz")
    assert "spent: epsilon = 2.0000, pure (rho = 2.000000), one edge more or less (add-remove)" in text
    assert "30 nodes" in text
    text = succeed("degrees export --graphical", folder / "d.npz", "-o", folder / "d.csv")
    assert "a graph with" in text
    found = numbers(folder / "d.csv")
    assert sum(frequency for _, frequency in found) == 30
    assert sum(count * often for count, often in found) % 2 == 0


def test_the_number_of_nodes_can_be_bought(folder: Path) -> None:
    succeed("degrees release --nodes noisy --rho 0.5", folder / "edges.txt", "-o", folder / "d.npz")
    found = read_synopsis(folder / "d.npz").to_json()
    assert found["noisy_length"]
    labels = [charge["label"] for charge in found["privacy"]["charges"]]
    assert labels == ["number of nodes with an edge", "sorted counts"]


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("graphical", [[], ["--graphical"]])
def test_the_estimate_and_the_number_of_edges_can_be_said(folder: Path, estimate: str, graphical: list[str]) -> None:
    succeed("degrees release --nodes 30 --epsilon 1", folder / "edges.txt", "-o", folder / "d.npz")
    export = ("degrees export", folder / "d.npz", "--estimate", estimate, *graphical)
    succeed(*export, "-o", folder / "free.csv")
    succeed(*export, "--edges", len(EDGES), "-o", folder / "d.csv", "--sequence", folder / "s.csv")
    assert sum(count * often for count, often in numbers(folder / "d.csv")) == 2 * len(EDGES)
    sequence = table_rows(folder / "s.csv")
    assert [int(row["rank"]) for row in sequence] == list(range(1, 31))
    counts = [int(row["count"]) for row in sequence]
    assert sum(counts) == 2 * len(EDGES)
    assert counts == sorted(counts, reverse=True)


def test_under_replace_the_number_of_edges_is_known(folder: Path) -> None:
    command = "degrees release --nodes 30 --epsilon 0.5 --neighbours replace"
    assert f"some {len(EDGES)} edges" in succeed(command, folder / "edges.txt", "-o", folder / "d.npz")
    text = succeed("degrees export --graphical", folder / "d.npz", "-o", folder / "d.csv")
    assert f"a graph with {len(EDGES)} edges" in text
    text = refuse("degrees export --edges 2", folder / "d.npz", "-o", folder / "e.csv")
    assert f"known to be {len(EDGES)}, found 2" in text


RELEASES = [
    ("sorted {table}", "name what is counted"),
    ("sorted {table} --schema {schema} --column height", "no attribute 'height'"),
    ("sorted {table} --counts n", "lacks 1 column"),
    ("degrees {edges} --nodes many", "expected the number of nodes, or 'noisy'"),
    ("degrees {edges} --nodes 0", "found 0"),
    ("degrees {edges} --nodes 30 --columns a", "the two ends of an edge"),
    ("degrees {edges} --nodes 3 --neighbours replace", "among 3 nodes; expected at least"),
    ("degrees {edges} --nodes 30 --neighbours replace --on-invalid drop", "use --neighbours add-remove"),
    ("degrees {loop} --nodes 30", "joins a node with itself"),
]
EXPORTS = [
    ("degrees {sorted}", "holds counts, expected degrees; use 'dpopt sorted'"),
    ("sorted {sorted} --estimate x", "is one of posterior, isotonic"),
    ("sorted {sorted} --n -5", "give the true public number"),
    ("sorted {sorted} --sequence {sorted}", "exists already"),
    ("degrees {degrees} --estimate x", "is one of posterior, isotonic"),
    ("degrees {degrees} --edges 436", "add up to an even number"),
    ("degrees {degrees} --edges -1", "add up to an even number"),
    ("degrees {degrees} --sequence {new}", "for both tables"),
    ("sorted {degrees}", "holds degrees, expected counts; use 'dpopt degrees'"),
]


def test_bad_input_is_refused_and_nothing_is_written(folder: Path) -> None:
    names = {"table": "people.csv", "schema": "schema.json", "edges": "edges.txt", "loop": "loop.txt",
             "sorted": "sorted.npz", "degrees": "degrees.npz", "new": "new.csv"}  # fmt: skip
    files = {name: folder / file for name, file in names.items()}

    def check(word: str, rows: list[tuple[str, str]], more: str) -> None:
        for command, message in rows:
            kind, _, rest = command.partition(" ")
            assert message in flat(refuse(f"{kind} {word} {rest.format(**files)} {more}")), command

    check("release", RELEASES, f"--epsilon 1 -o {folder / 'new.npz'}")
    succeed("sorted release --column town --epsilon 1 {table} --schema {schema} -o {sorted}".format(**files))
    succeed("degrees release --nodes 30 --epsilon 1 {edges} -o {degrees}".format(**files))
    check("export", EXPORTS, f"-o {files['new']}")
    assert not (folder / "new.npz").exists()
    assert not files["new"].exists()

"""`dpopt intervals` from a plan to answers, tables, records and pictures."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import flat, people, refuse, succeed, told

OTHER = SCHEMA.names[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, intervals and boxes at a large budget, and a histogram."""
    folder = tmp_path_factory.mktemp("intervals")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    release(folder, folder / "one.npz", "age")
    release(folder, folder / "two.npz", OTHER, "age")
    succeed("histogram release --column age --epsilon 1000", *people(folder), "-o", folder / "histogram.npz")
    return folder


def release(folder: Path, out: Path, *columns: str, more: tuple[object, ...] = ("--n0", 200)) -> str:
    named = ["--columns", ",".join(columns)]
    budget = [] if "--rho" in more or "--epsilon" in more else ["--epsilon", 1000]
    return succeed("intervals release", *people(folder), *named, *budget, "-o", out, *more)


def ages() -> np.ndarray:
    place = SCHEMA.names.index("age")
    return np.bincount(codes()[:, place], minlength=int(SCHEMA.sizes[place]))


def test_a_plan_needs_no_table_and_says_what_is_better() -> None:
    text = flat(succeed("intervals plan --bins 1024 --epsilon 1 --n 1000000"))
    assert "intervals of some" in text
    assert "proven: no range is off by more than" in text
    assert "Recommended: use 'dpopt histogram'" in text
    found = told("intervals plan --bins 32x32 --epsilon 1 --n 1000000 --cuts 3")
    assert found["rounds"] == 3
    assert found["tree"]["command"] == "dpopt grid"
    text = flat(succeed("intervals plan --bins 8x8 --epsilon 1 --n 100"))
    assert "the proven error is not informative" in text


def test_ranges_and_boxes_are_answered_with_bounds(folder: Path) -> None:
    found = told("intervals answer", folder / "one.npz")
    assert found["columns"] == ["age"]
    assert round(found["answers"][0]["value"]) == ages().sum() == 200
    assert found["answers"][0]["bound"] < 5
    text = succeed("intervals answer --query :,20:", folder / "two.npz")
    assert "off by at most" in text
    assert "95% interval" in text


def test_tables_records_and_pictures_are_written(folder: Path, tmp_path: Path) -> None:
    for kind in ("one", "two"):
        file = folder / f"{kind}.npz"
        succeed("intervals export", file, "-o", tmp_path / f"{kind}.csv")
        succeed("intervals export", file, "-o", tmp_path / f"{kind}.png")
        succeed("intervals export --rows 50", file, "-o", tmp_path / f"{kind}-records.csv")
        with (tmp_path / f"{kind}-records.csv").open(newline="") as opened:
            assert len(list(csv.reader(opened))) == 51
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "one.csv").open(newline="") as opened:
        rows = list(csv.reader(opened))
    assert rows[0] == ["age first", "age last", "weight"]
    assert sum(float(row[2]) for row in rows[1:]) == pytest.approx(200, abs=1)


def test_synthetic_records_can_be_read_by_the_schema(folder: Path, tmp_path: Path) -> None:
    succeed("intervals export --rows 200", folder / "one.npz", "-o", tmp_path / "r.csv")
    place = SCHEMA.names.index("age")
    edges = SCHEMA.attributes[place].edges
    with (tmp_path / "r.csv").open(newline="") as opened:
        values = [row[0] for row in list(csv.reader(opened))[1:]]
    numbers = [float(value) for value in values if value.replace(".", "").replace("-", "").isdigit()]
    assert numbers
    assert all(edges[0] <= number <= edges[-1] for number in numbers)


def test_bins_of_a_histogram_are_joined(folder: Path, tmp_path: Path) -> None:
    text = succeed("intervals from-histogram --intervals 2", folder / "histogram.npz", "-o", tmp_path / "j.csv")
    assert "2 intervals" in flat(text)
    with (tmp_path / "j.csv").open(newline="") as opened:
        rows = list(csv.reader(opened))[1:]
    assert sum(float(row[4]) for row in rows) == pytest.approx(200, abs=2)
    depth = "intervals from-histogram --intervals 2 --by depth"
    found = told(depth, folder / "histogram.npz", "-o", tmp_path / "d.csv")
    assert found["by"] == "depth"


def test_counts_that_were_made_already_are_taken(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("count\n" + "".join(f"{n % 5}\n" for n in range(64)))
    command = "intervals release --counts count --epsilon 1000 --n0 128"
    succeed(command, tmp_path / "counts.csv", "-o", tmp_path / "r.npz")
    found = told("intervals answer --query 0:64", tmp_path / "r.npz")
    assert found["answers"][0]["value"] == pytest.approx(sum(n % 5 for n in range(64)), abs=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "age", "--epsilon", 1, "--n0", 0], "the public size must be a whole number of at least 1, found 0"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--neighbours", "replace"], "n0 belongs to add-remove"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--cuts", 2], "--cuts is for several columns"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--error", 0.01], "is not proven"),
        (["--columns", "age,age", "--epsilon", 1, "--n0", 200], "'age' twice"),
        (["--columns", "shoe", "--epsilon", 1, "--n0", 200], "found no attribute 'shoe'"),
        (["--counts", "age", "--columns", "age", "--epsilon", 1, "--n0", 200], "name what is counted"),
        (["--columns", f"{OTHER},age", "--epsilon", 1, "--n0", 9, "--intervals", 3], "for one column"),
    ],
)  # fmt: skip
def test_what_cannot_be_released_is_refused_and_nothing_is_written(
    folder: Path, tmp_path: Path, arguments: list[object], message: str
) -> None:
    schema = [] if "--counts" in arguments and "--columns" not in arguments else ["--schema", folder / "schema.json"]
    text = refuse("intervals release", folder / "people.csv", *schema, "-o", tmp_path / "new.npz", *arguments)
    assert message in flat(text)
    assert list(tmp_path.iterdir()) == []


def test_values_outside_the_domain_are_refused(folder: Path, tmp_path: Path) -> None:
    table = (folder / "people.csv").read_text().splitlines()
    place = table[0].split(",").index("age")
    cells = table[1].split(",")
    cells[place] = "1e9"
    (tmp_path / "bad.csv").write_text("\n".join([table[0], ",".join(cells), *table[2:]]) + "\n")
    command = f"intervals release --columns age --epsilon 1 --n0 200 --schema {folder / 'schema.json'}"
    text = refuse(command, tmp_path / "bad.csv", "-o", tmp_path / "new.npz")
    assert "age" in text
    assert not (tmp_path / "new.npz").exists()


def test_other_files_and_names_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "as in 74x100" in refuse("intervals plan --bins 64by64 --epsilon 1 --n 10")
    assert "name the bins" in refuse("intervals plan --epsilon 1 --n 10")
    one = folder / "one.npz"
    assert "ends in .csv or .png" in refuse("intervals export", one, "-o", tmp_path / "x.txt")
    assert "written as .csv" in refuse("intervals export --rows 5", one, "-o", tmp_path / "x.png")
    assert "no histogram of this version" in refuse(
        "intervals from-histogram --intervals 2", one, "-o", tmp_path / "j.csv"
    )
    assert "expected 1 to" in refuse(
        "intervals from-histogram --intervals 100000", folder / "histogram.npz", "-o", tmp_path / "j.csv"
    )

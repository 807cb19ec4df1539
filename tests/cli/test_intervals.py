"""`dpopt intervals` from a plan to answers, tables, records and pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import refuse, succeed

OTHER = SCHEMA.names[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, intervals and boxes at a large budget, and a histogram."""
    folder = tmp_path_factory.mktemp("intervals")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    release(folder, folder / "one.npz", "age")
    release(folder, folder / "two.npz", OTHER, "age")
    succeed("histogram", "release", folder / "people.csv", "--schema", folder / "schema.json", "--column", "age",
            "--epsilon", 1000, "-o", folder / "histogram.npz")  # fmt: skip
    return folder


def release(folder: Path, out: Path, *columns: str, more: tuple[object, ...] = ("--n0", 200)) -> str:
    named = ["--columns", ",".join(columns)]
    budget = [] if "--rho" in more or "--epsilon" in more else ["--epsilon", 1000]
    return succeed("intervals", "release", folder / "people.csv", "--schema", folder / "schema.json", "--ordered",
                   *named, *budget, "-o", out, *more)  # fmt: skip


def ages() -> np.ndarray:
    place = SCHEMA.names.index("age")
    return np.bincount(codes()[:, place], minlength=int(SCHEMA.sizes[place]))


def test_a_plan_needs_no_table_and_says_what_is_better() -> None:
    text = " ".join(succeed("intervals", "plan", "--bins", 1024, "--epsilon", 1, "--n", 1_000_000).split())
    assert "intervals of some" in text
    assert "proven: no range is off by more than" in text
    assert "Recommended: use 'dpopt histogram'" in text
    text = " ".join(
        succeed(
            "intervals", "plan", "--bins", 1024, "--rho", 0.5, "--n", 10**6, "--weights", "printed"
        ).split()
    )
    assert "if no bin holds more than 1 of them" in text
    found = json.loads(
        succeed("intervals", "plan", "--bins", "32x32", "--epsilon", 1, "--n", 10**6, "--json", "--cuts", 3)
    )
    assert found["rounds"] == 3
    assert found["tree"]["command"] == "dpopt grid"
    text = " ".join(succeed("intervals", "plan", "--bins", "8x8", "--epsilon", 1, "--n", 100).split())
    assert "the proven error is not informative" in text


def test_ranges_and_boxes_are_answered_with_bounds(folder: Path) -> None:
    found = json.loads(succeed("intervals", "answer", folder / "one.npz", "--json"))
    assert found["columns"] == ["age"]
    assert round(found["answers"][0]["value"]) == ages().sum() == 200
    assert found["answers"][0]["bound"] < 5
    text = succeed("intervals", "answer", folder / "two.npz", "--query", ":,20:")
    assert "off by at most" in text
    assert "95% interval" in text


def test_tables_records_and_pictures_are_written(folder: Path, tmp_path: Path) -> None:
    for kind in ("one", "two"):
        file = folder / f"{kind}.npz"
        succeed("intervals", "export", file, "-o", tmp_path / f"{kind}.csv")
        succeed("intervals", "export", file, "-o", tmp_path / f"{kind}.png")
        succeed("intervals", "export", file, "-o", tmp_path / f"{kind}-records.csv", "--rows", 50)
        with (tmp_path / f"{kind}-records.csv").open(newline="") as opened:
            assert len(list(csv.reader(opened))) == 51
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "one.csv").open(newline="") as opened:
        rows = list(csv.reader(opened))
    assert rows[0] == ["age first", "age last", "weight"]
    assert sum(float(row[2]) for row in rows[1:]) == pytest.approx(200, abs=1)


def test_synthetic_records_can_be_read_by_the_schema(folder: Path, tmp_path: Path) -> None:
    succeed("intervals", "export", folder / "one.npz", "-o", tmp_path / "r.csv", "--rows", 200)
    place = SCHEMA.names.index("age")
    edges = SCHEMA.attributes[place].edges
    with (tmp_path / "r.csv").open(newline="") as opened:
        values = [row[0] for row in list(csv.reader(opened))[1:]]
    numbers = [float(value) for value in values if value.replace(".", "").replace("-", "").isdigit()]
    assert numbers
    assert all(edges[0] <= number <= edges[-1] for number in numbers)


def test_bins_of_a_histogram_are_joined(folder: Path, tmp_path: Path) -> None:
    text = succeed(
        "intervals", "from-histogram", folder / "histogram.npz", "--intervals", 2, "-o", tmp_path / "j.csv"
    )
    assert "2 intervals" in " ".join(text.split())
    with (tmp_path / "j.csv").open(newline="") as opened:
        rows = list(csv.reader(opened))[1:]
    assert sum(float(row[4]) for row in rows) == pytest.approx(200, abs=2)
    found = json.loads(succeed("intervals", "from-histogram", folder / "histogram.npz", "--intervals", 2, "--by", "depth",
                               "-o", tmp_path / "d.csv", "--json"))  # fmt: skip
    assert found["by"] == "depth"


def test_counts_that_were_made_already_are_taken(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("count\n" + "".join(f"{n % 5}\n" for n in range(64)))
    succeed("intervals", "release", tmp_path / "counts.csv", "--counts", "count", "--epsilon", 1000, "--n0", 128,
            "-o", tmp_path / "r.npz")  # fmt: skip
    found = json.loads(succeed("intervals", "answer", tmp_path / "r.npz", "--query", "0:64", "--json"))
    assert found["answers"][0]["value"] == pytest.approx(sum(n % 5 for n in range(64)), abs=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "age", "--epsilon", 1, "--n0", 0], "found the number of records 0"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--neighbours", "replace"], "n0 belongs to add-remove"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--cuts", 2], "--cuts is for several columns"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--error", 0.01], "is not proven"),
        (["--columns", "age", "--epsilon", 1, "--n0", 200, "--weights", "other"], "expected 'measured' or 'printed'"),
        (["--columns", "age,age", "--epsilon", 1, "--n0", 200], "'age' twice"),
        (["--columns", "shoe", "--epsilon", 1, "--n0", 200], "found no attribute 'shoe'"),
        (["--counts", "age", "--columns", "age", "--epsilon", 1, "--n0", 200], "name what is counted"),
        (["--columns", f"{OTHER},age", "--ordered", "--epsilon", 1, "--n0", 9, "--intervals", 3], "for one column"),
    ],
)  # fmt: skip
def test_what_cannot_be_released_is_refused_and_nothing_is_written(
    folder: Path, tmp_path: Path, arguments: list[object], message: str
) -> None:
    schema = (
        []
        if "--counts" in arguments and "--columns" not in arguments
        else ["--schema", folder / "schema.json"]
    )
    text = refuse(
        "intervals", "release", folder / "people.csv", *schema, "-o", tmp_path / "new.npz", *arguments
    )
    assert message in " ".join(text.split())
    assert list(tmp_path.iterdir()) == []


def test_values_outside_the_domain_are_refused(folder: Path, tmp_path: Path) -> None:
    table = (folder / "people.csv").read_text().splitlines()
    place = table[0].split(",").index("age")
    cells = table[1].split(",")
    cells[place] = "1e9"
    (tmp_path / "bad.csv").write_text("\n".join([table[0], ",".join(cells), *table[2:]]) + "\n")
    text = refuse("intervals", "release", tmp_path / "bad.csv", "--schema", folder / "schema.json", "--columns", "age",
                  "--epsilon", 1, "--n0", 200, "-o", tmp_path / "new.npz")  # fmt: skip
    assert "age" in text
    assert not (tmp_path / "new.npz").exists()


def test_other_files_and_names_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "as in 74x100" in refuse("intervals", "plan", "--bins", "64by64", "--epsilon", 1, "--n", 10)
    assert "name the bins" in refuse("intervals", "plan", "--epsilon", 1, "--n", 10)
    one = folder / "one.npz"
    assert "ends in .csv or .png" in refuse("intervals", "export", one, "-o", tmp_path / "x.txt")
    assert "written as .csv" in refuse("intervals", "export", one, "-o", tmp_path / "x.png", "--rows", 5)
    assert "no histogram of this version" in refuse("intervals", "from-histogram", one, "--intervals", 2,
                                                    "-o", tmp_path / "j.csv")  # fmt: skip
    assert "expected 1 to" in refuse("intervals", "from-histogram", folder / "histogram.npz", "--intervals", 10**5,
                                     "-o", tmp_path / "j.csv")  # fmt: skip

"""`dpopt histogram` and `dpopt grid` from a plan to answers, tables and pictures."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from dpopt import read_synopsis
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from tests.algorithms.small_runs import SCHEMA, codes, write_table
from tests.cli.command_line import flat, people, refuse, succeed, table_rows, told

COLOUR = SCHEMA.names[0]
AGES = np.bincount(codes()[:, 1], minlength=3)
SHAPE = tuple(int(size) for size in SCHEMA.sizes[:2])
CELLS = np.bincount(np.ravel_multi_index(tuple(codes()[:, :2].T), SHAPE), minlength=SHAPE[0] * SHAPE[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, counts, and histograms of one and of two columns at a large budget."""
    folder = tmp_path_factory.mktemp("histogram")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    (folder / "counts.csv").write_text("name,n\n" + "".join(f"bin{place},{place % 7}\n" for place in range(50)))
    succeed("histogram release --epsilon 1000 --column age", *people(folder), "-o", folder / "age.npz")
    release_grid(folder, folder / "grid.npz", 1000)
    return folder


def release_grid(folder: Path, out: Path, epsilon: float) -> None:
    command = f"grid release --columns {COLOUR},age --epsilon {epsilon}"
    succeed(command, *people(folder), "-o", out)


def test_a_plan_needs_no_table() -> None:
    text = succeed("histogram plan --bins 256 --epsilon 1 --ranges sizes:1,16")
    assert "measured with Laplace noise" in text
    assert "ranges of 16 bins: standard error" in text
    found = told("histogram plan --bins 256 --rho 0.5")
    assert found["gaussian"]
    assert found["predicted"]["all ranges"] == pytest.approx(11.81, abs=0.01)
    found = told("histogram plan --bins 256 --epsilon 1")
    assert found["rounds"]
    assert (
        found["at_once"]["blocks"]["all ranges"]
        < found["predicted"]["all ranges"]
        < 1.05 * found["at_once"]["blocks"]["all ranges"]
    )
    assert "blocks all at once in place of rounds" in succeed("histogram plan --bins 256 --epsilon 1")
    text = succeed("grid plan --bins 64x64 --epsilon 1 --ranges sizes:1x1,8x8")
    assert "measured with Laplace noise" in text
    assert "boxes of 8 x 8: standard error" in text
    found = told("grid plan --bins 64x64 --rho 0.5 --shapes cubes")
    assert found["gaussian"]
    assert all(len(set(level)) == 1 for level in found["levels"])


@pytest.mark.solver("clarabel")
def test_a_solver_spreads_the_budget_as_our_own_method_does(tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text("[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]")
    for command in (
        "histogram plan --bins 64 --rho 0.1",
        "histogram plan --bins 64 --rho 0.02 --delta 1e-6 --neighbours replace --n 500",
        "grid plan --bins 16x16 --rho 0.1 --shapes cubes",
        f"histogram plan --bins 8 --rho 0.1 --hierarchy {tmp_path / 'groups.json'}",
    ):
        own, found = told(command), told(f"{command} --solver clarabel")
        words = found.pop("solved")
        assert words.startswith("spread by clarabel")
        assert words.endswith(", proven")
        assert found["predicted"] == pytest.approx(own["predicted"], rel=2e-3)
        assert found["scales"] == pytest.approx(own["scales"], rel=5e-2)
    assert "spread by clarabel" in succeed("histogram plan --bins 64 --rho 0.1 --solver clarabel")


def test_what_a_solver_cannot_spread_is_refused(tmp_path: Path) -> None:
    (tmp_path / "uneven.json").write_text("[[0, 1], 2, 3]")
    uneven = f"histogram plan --bins 4 --hierarchy {tmp_path / 'uneven.json'}"
    assert "Gaussian noise" in refuse("histogram plan --bins 64 --epsilon 1 --solver clarabel")
    assert "osqp does not take programs with cones" in refuse("grid plan --bins 8x8 --rho 1 --solver osqp")
    assert "did you mean 'clarabel'" in refuse("histogram plan --bins 64 --rho 1 --solver clarable")
    assert "bins have one depth" in refuse(f"{uneven} --rho 1 --solver clarabel")


def test_ranges_of_a_column_are_answered_by_its_edges(folder: Path) -> None:
    found = told("histogram answer --query 0:20 --query 20: --quantile 0.5", folder / "age.npz")
    assert [round(row["value"]) for row in found["answers"]] == [AGES[0], AGES[1] + AGES[2]]
    half = int(np.argmax(np.cumsum(AGES) >= 0.5 * AGES.sum()))
    label = ["[0, 20)", "[20, 40)", "[40, 60]"][half]
    assert found["quantiles"] == [{"quantile": 0.5, "bin": half, "label": label}]
    text = succeed("histogram answer", folder / "age.npz")
    assert f"{AGES.sum():,.1f}" in text
    assert "95% interval" in text


def test_boxes_are_answered_by_labels_and_edges(folder: Path) -> None:
    label = read_synopsis(folder / "grid.npz").to_json()["axes"][0]["labels"][0]
    found = told("grid answer", folder / "grid.npz", "--query", f"{label}:{label},20:")
    assert found["columns"] == [COLOUR, "age"]
    assert round(found["answers"][0]["value"]) == CELLS.reshape(SHAPE)[0, 1:].sum()
    text = succeed("grid answer", folder / "grid.npz")
    assert f"{CELLS.sum():,.1f}" in text
    assert "95% interval" in text


def test_under_replace_the_number_of_records_is_kept(folder: Path, tmp_path: Path) -> None:
    succeed(f"histogram release --column {COLOUR} --epsilon 1 --neighbours replace", *people(folder),
            "-o", tmp_path / "h.npz")  # fmt: skip
    found = told("histogram answer", tmp_path / "h.npz")
    assert found["answers"][0]["value"] == pytest.approx(200)


def test_a_histogram_becomes_a_table_and_a_picture(folder: Path, tmp_path: Path) -> None:
    succeed("histogram export --whole", folder / "age.npz", "-o", tmp_path / "age.csv")
    rows = table_rows(tmp_path / "age.csv")
    assert [int(row["count"]) for row in rows] == AGES.tolist()
    assert [row["label"] for row in rows] == ["[0, 20)", "[20, 40)", "[40, 60]"]
    succeed("grid export --whole", folder / "grid.npz", "-o", tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open(newline="") as file:
        cells = list(csv.reader(file))
    assert cells[0] == [COLOUR, "age", "count", "standard_error", "low", "high"]
    assert [int(row[2]) for row in cells[1:]] == CELLS.tolist()
    for kind, name in (("histogram", "age"), ("grid", "grid")):
        succeed(f"{kind} export", folder / f"{name}.npz", "-o", tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["age.csv", "age.png", "cells.csv", "grid.png"]


def test_a_declared_hierarchy_is_planned_released_and_answered(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ages.json").write_text('[["[0, 20)", "[20, 40)"], "[40, 60]"]')
    (tmp_path / "positions.json").write_text("[[0, 1], 2]")
    declared = ("--column", "age", "--hierarchy", tmp_path / "ages.json")
    text = succeed("histogram plan --rho 0.1 --schema", folder / "schema.json", *declared)
    for words in ("single bins", "groups of depth 1", "all bins", "groups of all levels: standard error"):
        assert words in text
    found = told("histogram plan --bins 3 --rho 0.1 --hierarchy", tmp_path / "positions.json")
    assert found["hierarchy"] == {"children": [2, 2, 0, 0, 0]}
    assert found["nodes"] == [3, 2, 1]
    succeed("histogram release --epsilon 1000", *people(folder), *declared, "-o", tmp_path / "h.npz")
    (answer,) = told("histogram answer --query 0:40", tmp_path / "h.npz")["answers"]
    assert round(answer["value"]) == AGES[0] + AGES[1]
    succeed("histogram export", tmp_path / "h.npz", "-o", tmp_path / "h.png")


def test_the_tree_of_a_branching_is_planned_released_and_answered(folder: Path, tmp_path: Path) -> None:
    planned = told("histogram plan --bins 5 --rho 0.1 --branching 2")
    assert planned["nodes"] == [5, 3, 2, 1]
    assert len(set(planned["scales"])) == 1
    declared = ("--column", "age", "--branching", 3)
    succeed("histogram release --epsilon 1000", *people(folder), *declared, "-o", tmp_path / "h.npz")
    for estimate in ("least-squares", "zeroing"):
        (answer,) = told("histogram answer --query 0:40 --estimate", estimate, tmp_path / "h.npz")["answers"]
        assert round(answer["value"]) == AGES[0] + AGES[1]


def test_declared_ranges_are_planned_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ranges.csv").write_text("range,weight\n0:20,3\n20:,1\n")
    (tmp_path / "positions.csv").write_text("0:64,2\n:\n")
    declared = ("--column", "age", "--ranges", f"file:{tmp_path / 'ranges.csv'}")
    text = succeed("histogram plan --epsilon 1 --schema", folder / "schema.json", *declared)
    assert "declared ranges: standard error" in text
    succeed("histogram release --epsilon 1", *people(folder), *declared, "-o", tmp_path / "h.npz")
    plan = read_synopsis(tmp_path / "h.npz").to_json()["plan"]
    assert plan["ranges"] == "2 declared ranges"
    text = succeed("histogram plan --bins 256 --epsilon 1 --ranges", f"file:{tmp_path / 'positions.csv'}")
    assert "declared ranges" in text


@pytest.mark.parametrize("estimate", ["divided", "least-squares"])
def test_the_estimate_can_be_chosen(folder: Path, tmp_path: Path, estimate: str) -> None:
    chosen = (folder / "age.npz", "--estimate", estimate)
    found = told("histogram answer --query 0:20 --quantile 1", *chosen)
    assert round(found["answers"][0]["value"]) == AGES[0]
    succeed("histogram export", *chosen, "-o", tmp_path / "age.csv")
    assert [round(float(row["count"])) for row in table_rows(tmp_path / "age.csv")] == AGES.tolist()
    succeed("histogram export", *chosen, "-o", tmp_path / "age.png")
    succeed("histogram export --whole", *chosen, "-o", tmp_path / "whole.csv")


def test_the_unbiased_estimate_of_cells_is_answered_and_written(folder: Path, tmp_path: Path) -> None:
    # With noise far above all nine counts no cell is negative in one of 512 releases; in five, of 3.5e13.
    for _ in range(5):
        (tmp_path / "noisy.npz").unlink(missing_ok=True)
        release_grid(folder, tmp_path / "noisy.npz", 1e-4)
        given = GridHistogram.read(tmp_path / "noisy.npz")
        if given.least_squares.min() < 0:
            break
    box = given.answer(":,:", estimate="least-squares")
    assert box.value == pytest.approx(given.least_squares.sum())
    (answer,) = told("grid answer --query :,: --estimate least-squares", tmp_path / "noisy.npz")["answers"]
    assert answer["value"] == pytest.approx(box.value)
    succeed("grid export --estimate least-squares", tmp_path / "noisy.npz", "-o", tmp_path / "c.csv")
    found = [float(row["count"]) for row in table_rows(tmp_path / "c.csv")]
    assert found == pytest.approx(given.least_squares.reshape(-1).tolist(), rel=1e-5, abs=1e-5)
    assert min(found) < 0 <= given.counts.min()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("histogram release {table}", "name what is counted"),
        ("histogram release {table} --column age", "name what is counted"),
        ("histogram release {columns} --column height", "no attribute 'height'"),
        ("histogram release {columns} --column town", "the schema declares no order of its values"),
        ("histogram release {columns} --column age --ranges most", "expected all, prefixes, worst, sizes:1,64,1024, or file"),
        ("histogram release {columns} --column age --hierarchy {bad}", "the bin '[20, 40)' is missing"),
        ("histogram release {columns} --column age --hierarchy {whole} --ranges worst", "hierarchy, expected nodes"),
        ("histogram release {columns} --column age --branching 1", "a branching of at least 2"),
        ("histogram release {columns} --column age --branching 2 --hierarchy {whole}", "leave out the declared hierarchy"),
        ("histogram release {columns} --column age --branching 2 --measure waves", "waves have no hierarchy, branching"),
        ("histogram release {columns} --column age --ranges file:{lines}", "line 2: age: 1 is not an edge"),
        ("histogram release {columns} --column age --ranges file:none.csv", "cannot be read"),
        ("histogram release {counts} --counts m", "lacks 1 column"),
        ("histogram release {counts} --counts name", "a value that is not a number"),
        ("grid release {columns} --columns age", "give two or more"),
        ("grid release {columns} --columns age,age", "'age' twice"),
        ("grid release {columns} --columns age,shoe", "found no attribute 'shoe'"),
        ("grid release {columns} --columns town,age", "the schema declares no order of its values"),
        ("histogram plan", "name the bins"),
        ("histogram plan --bins 3 --column age --schema {schema}", "name the bins"),
        ("histogram plan --bins 0", "at least one bin"),
        ("histogram plan --bins 2x3", "use 'dpopt grid' for several columns"),
        ("grid plan --bins 64by64", "as in 74x100"),
        ("grid plan --bins 64", "give two or more columns, or use 'dpopt histogram' for one"),
        ("histogram answer {age} --query 1:20", "is not an edge of a bin"),
        ("histogram answer {age} --estimate x", "is one of divided, least-squares"),
        ("histogram answer {age} --estimate whole", "found estimate 'whole', removed from dpopt"),
        ("histogram answer {age} --estimate nonnegative", "name one at the release (--solver clarabel)"),
        ("grid answer {grid} --estimate shrunken", "shrunken without rounds"),
        ("histogram export {age} -o {new}.csv --estimate x", "is one of divided, least-squares"),
        ("histogram export {age} -o {new}.txt", ".csv or .png"),
        ("grid answer {grid} --query 20:40", "expected 2 ranges"),
        ("grid answer {grid} --estimate best", "one of divided, least-squares, shrunken; found 'best'"),
        ("grid export {grid} -o {new}.txt", "ends in .csv or .png"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_nothing_is_written(folder: Path, tmp_path: Path, command: str, message: str) -> None:
    files = {name: tmp_path / name for name in ("bad", "whole", "lines")}
    files["bad"].write_text('[["[0, 20)"], "[40, 60]"]')
    files["whole"].write_text("[0, 1, 2]")
    files["lines"].write_text("0:20\n1:20\n")
    there = {name: folder / f"{name}.npz" for name in ("age", "grid")}
    table, schema, counts = (folder / name for name in ("people.csv", "schema.json", "counts.csv"))
    words = command.format(
        **files,
        **there,
        table=table,
        schema=schema,
        counts=counts,
        columns=f"{table} --schema {schema}",
        new=tmp_path / "n",
    )
    if "plan" in command or "release" in command:
        words += " --epsilon 1"
    if "release" in command:
        words += f" -o {tmp_path / 'new.npz'}"
    assert message in flat(refuse(words))
    assert {path.name for path in tmp_path.iterdir()} == set(files)


@pytest.mark.parametrize(
    ("cell", "message"),
    [("-1", "bin 1 has the count -1"), ("1.5", r"bin 1 has the count 1.5"), ("", "no number|empty cells")],
)
def test_counts_that_are_none_are_refused(tmp_path: Path, cell: str, message: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f'n,x\n3,a\n"{cell}",b\n')
    said = refuse("histogram release --counts n --epsilon 1", path, "-o", tmp_path / "h.npz")
    assert any(part in said for part in message.split("|"))


def test_grids_are_measured_in_rounds_unless_gaussian_noise_is_predicted_to_have_less_than_half_the_error() -> None:
    def predicted(options: str) -> tuple[bool, float]:
        text = succeed(f"grid plan --bins 256x256 --epsilon .01 {options}")
        return "Laplace" in text, float(text.split("all boxes: standard error ")[1].split()[0].replace(",", ""))

    (usual, error), (_, pure) = predicted(""), predicted("--delta 0")
    assert (usual, error) == (True, pure)
    laplace, gaussian = predicted("--delta 1e-2")
    assert not laplace
    assert 2 * gaussian < pure

"""Wide tables of zeros and ones on the command line: declared by a number, read in every layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scipy.sparse as sp

from dpopt.private.readers.table_reading import TableReading
from dpopt.schema.schema import Schema
from tests.cli.command_line import inputs, refuse, release_arguments, succeed, words
from tests.wide_tables import FILES, some_cells, write_baskets, write_pairs

CELLS = some_cells(50, 40)
QUICK = words("--algorithm dualquery --epsilon 1e5 --delta 1e-6 --rounds 4 --draws 8 --no-predict")
QUERIES = ["--workload", "conjunctions:2,count=100,seed=1"]
COLUMNS = ["--binary-columns", 40]


def release(table: Path, *more: object) -> list[object]:
    return ["release", table, *QUERIES, *QUICK, "--out", table.parent / "out", *more]


def reading_of(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "plan.json").read_text())["statement"]["reading"]
    return found


def test_a_sparse_matrix_is_released_evaluated_and_replayed(tmp_path: Path) -> None:
    table, out = tmp_path / "table.npz", tmp_path / "out"
    FILES["csr"](table, CELLS)
    text = succeed(*release(table, *COLUMNS, "--weights"))
    assert f"rows in {out / 'synthetic.npz'} with weights in 'weights'" in text
    assert sp.load_npz(out / "synthetic.npz").shape[1] == 40
    assert "all 100 counts: off by" in succeed("evaluate", out, table)
    assert "byte for byte" in succeed("replay", out, "--out", tmp_path / "again")
    assert "error" in refuse("resume", out, table)


def test_baskets_with_names_come_out_as_baskets_with_names(tmp_path: Path) -> None:
    table, names = tmp_path / "table.txt", tmp_path / "names.txt"
    names.write_text("\ufeff" + "".join(f"item no {i}\r\n" for i in range(40)))
    table.write_text("".join(",".join(f"item no {i}" for i in range(40) if row[i]) + "\n" for row in CELLS))
    arguments = [*COLUMNS, "--names", names, "--layout", "baskets", "--format", "baskets", "--weights"]
    assert "with weights in 'weights.txt'" in succeed(*release(table, *arguments))
    first = (tmp_path / "out" / "synthetic.txt").read_text().splitlines()
    assert {name for line in first for name in line.split(",")} - {""} <= {f"item no {i}" for i in range(40)}
    assert Schema.read(tmp_path / "out" / "schema.json").names[3] == "item no 3"
    assert "NOT private" in succeed("evaluate", tmp_path / "out", table)


def test_baskets_and_pairs_say_how_they_are_numbered(tmp_path: Path) -> None:
    table = tmp_path / "table"
    write_baskets(table, CELLS, first=1)
    succeed(*release(table, *COLUMNS, "--layout", "baskets", "--first-item", 1, "--rows", 7))
    how = TableReading("baskets", first_item=1)
    assert TableReading.from_json(reading_of(tmp_path / "out")) == how
    other = tmp_path / "other"
    other.mkdir()
    write_pairs(other / "table", CELLS, separator=" ", header=False)
    arguments = [*COLUMNS, *words("--layout pairs --no-header --pair-columns"), "1, 2", "--separator", "blanks"]
    succeed(*release(other / "table", *arguments))
    assert reading_of(other / "out")["pair_columns"] == [1, 2]
    assert reading_of(other / "out")["header"] is False
    assert reading_of(other / "out")["separator"] == "blanks"
    assert "NOT private" in succeed("evaluate", other / "out", other / "table")


def test_a_schema_file_of_a_wide_table_serves_as_well(tmp_path: Path) -> None:
    table, schema = tmp_path / "table.npz", tmp_path / "schema.json"
    FILES["csc"](table, CELLS)
    Schema.binary(40).write(schema)
    assert "synthetic.npz" in succeed(*release(table, "--schema", schema))


def test_a_plan_needs_the_number_of_columns_alone() -> None:
    more = ["--epsilon", 1, "--delta", "1e-6", "--n", 1000, "--algorithm", "dualquery", "--no-predict"]
    more += ["--density", 0.5]
    text = succeed("plan", "--binary-columns", 200_000, *QUERIES, *more)
    assert text.startswith("DualQuery: T = ")
    explained = json.loads(succeed("plan", "--binary-columns", 200_000, *QUERIES, *more, "--json"))
    assert explained["queries"] == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give either --schema (a file that declares the attributes) or --binary-columns"),
        ("--binary-columns 40 --schema SCHEMA", "found both"),
        ("--schema SCHEMA --names NAMES", "--names goes with --binary-columns"),
        ("--schema SCHEMA --layout npz", "--layout: for wide tables"),
        ("--schema SCHEMA --first-item 1 --pair-columns 1,2", "--first-item and --pair-columns"),
        ("--binary-columns 0", "the number of binary attributes is a whole number from 1"),
        ("--binary-columns 39", "40 columns, and 39 are declared"),
        ("--binary-columns 40 --names NAMES", "40 columns are declared, and 2 names were given"),
        ("--binary-columns 40 --names none.txt", "none.txt cannot be read: No such file"),
        ("--binary-columns 40 --layout csv", "the layout of a wide table is one of npz, mtx, baskets, pairs, bits"),
        ("--binary-columns 40 --layout pairs", "first bytes show npz"),
        ("--binary-columns 40 --first-item 1", "--first-item) is for the layout baskets or pairs"),
        ("--binary-columns 40 --no-header", "--no-header) is for the layout pairs"),
        ("--binary-columns 40 --layout pairs --pair-columns 1", "such as 1,2; found '1'"),
        ("--binary-columns 40 --layout pairs --pair-columns 1,1", "two different numbers"),
        ("--binary-columns 40 --format excel", "the format is one of csv, parquet, npz, baskets"),
        ("--binary-columns 40 --engine stream", "--engine memory"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, arguments: str, message: str) -> None:
    inputs(tmp_path)
    FILES["csr"](tmp_path / "table.npz", CELLS)
    (tmp_path / "names.txt").write_text("a\nb\n")
    places: dict[object, object] = {"SCHEMA": tmp_path / "schema.json", "NAMES": tmp_path / "names.txt"}
    assert message in refuse(*release(tmp_path / "table.npz", *(places.get(one, one) for one in words(arguments))))
    assert not (tmp_path / "out").exists()


def test_the_owner_alone_sees_which_lines_do_not_fit(tmp_path: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text("1 2\n3 40\n")
    message = refuse(*release(table, *COLUMNS, "--layout", "baskets"))
    assert "line 2: '40' is not an item" in message
    assert "it is for its owner and is stored nowhere" in message


def test_other_commands_say_where_a_wide_table_belongs(tmp_path: Path) -> None:
    table, schema = tmp_path / "table.npz", tmp_path / "schema.json"
    FILES["csr"](table, CELLS)
    assert "--binary-columns" in refuse("schema", "infer", table, "--out", tmp_path / "draft.json")
    Schema.binary(40).write(schema)
    budget = ["--epsilon", 1, "--schema", schema, "--out", tmp_path / "answers.json"]
    assert "--binary-columns" in refuse("histogram", "release", table, "--column", "item3", *budget)
    assert "wide table" in refuse("schema", "check", "--schema", schema, table)


def written(folder: Path) -> dict[str, Path]:
    """Write the same records in four files."""
    places = {name: folder / name for name in ("table.npz", "table.mtx", "baskets", "pairs")}
    FILES["csr"](places["table.npz"], CELLS)
    FILES["packed mtx"](places["table.mtx"], CELLS)
    write_baskets(places["baskets"], CELLS, first=1)
    write_pairs(places["pairs"], CELLS, header=False)
    return places


def test_a_release_is_evaluated_against_its_records_in_another_file(tmp_path: Path) -> None:
    files = written(tmp_path)
    succeed(*release(files["table.npz"], *COLUMNS))
    expected = succeed("evaluate", tmp_path / "out", files["table.npz"], "--json")
    for name, *how in (
        ("table.mtx", "--layout", "mtx"),
        ("baskets", "--layout", "baskets", "--first-item", 1),
        ("pairs", "--layout", "pairs", "--no-header", "--pair-columns", "1,2"),
    ):
        assert succeed("evaluate", tmp_path / "out", files[str(name)], *how, "--json") == expected
        text = succeed(
            "reweight", tmp_path / "out", "-o", tmp_path / f"again {name}", "--evaluate", files[str(name)], *how
        )
        assert "re-weighted" in text


def test_options_replace_what_a_release_says_of_its_table(tmp_path: Path) -> None:
    files = written(tmp_path)
    succeed(*release(files["baskets"], *COLUMNS, "--layout", "baskets", "--first-item", 1))
    expected = succeed("evaluate", tmp_path / "out", files["baskets"], "--json")
    other = tmp_path / "from 2"
    write_baskets(other, CELLS, first=2)
    assert succeed("evaluate", tmp_path / "out", other, "--first-item", 2, "--json") == expected
    assert succeed("evaluate", tmp_path / "out", files["table.npz"], "--layout", "npz", "--json") == expected
    assert "is not an item" in refuse("evaluate", tmp_path / "out", files["baskets"], "--first-item", 0)


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("baskets", [], "first bytes show something else; name the layout that it has"),
        ("table.npz", ["--layout", "mtx"], "its first bytes show npz"),
        ("table.npz", ["--first-item", 1], "the layout here is npz; leave it out"),
        ("table.npz", ["--layout", "npz", "--no-header"], "--no-header) is for the layout pairs"),
        ("baskets", ["--layout", "csv"], "one of npz, mtx, baskets, pairs, bits"),
        ("pairs", ["--layout", "pairs", "--pair-columns", "2"], "such as 1,2; found '2'"),
    ],
)
def test_a_table_that_lies_otherwise_than_said_is_refused(
    tmp_path: Path, name: str, how: list[object], message: str
) -> None:
    files = written(tmp_path)
    succeed(*release(files["table.npz"], *COLUMNS))
    assert message in refuse("evaluate", tmp_path / "out", files[name], *how)
    assert "name one, or leave them out" in refuse(
        "reweight", tmp_path / "out", "-o", tmp_path / "x", "--layout", "npz"
    )
    assert not (tmp_path / "x").exists()


def test_a_layout_is_refused_beside_a_release_of_another_table(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    table = inputs(tmp_path)[0]
    assert "--layout: for wide tables" in refuse("evaluate", tmp_path / "out", table, "--layout", "npz")
    assert "--no-header: a release keeps" in refuse("evaluate", tmp_path / "out", table, "--no-header")


def test_a_run_is_continued_from_another_file(tmp_path: Path) -> None:
    files, out = written(tmp_path), tmp_path / "out"
    succeed(*release(files["table.npz"], *COLUMNS))
    before = (out / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    records = [number for number, line in enumerate(before) if b'"kind":"record"' in line]
    (out / "transcript.jsonl").write_bytes(b"".join(before[: records[1] + 1]))
    (out / "release.json").unlink()
    assert "name the layout" in refuse("resume", out, files["baskets"])
    succeed("resume", out, files["baskets"], "--layout", "baskets", "--first-item", 1)
    after = (out / "transcript.jsonl").read_bytes().splitlines()
    assert sum(b'"kind":"record"' in line for line in after) == len(records) == 4
    assert (out / "transcript.jsonl").read_bytes().startswith(b"".join(before[: records[1] + 1]))
    succeed("replay", out, "-o", tmp_path / "again")


def test_a_replay_says_what_it_compared(tmp_path: Path) -> None:
    """Public inputs in another spelling, with the same contents, are accepted and not called the same byte for byte."""
    files, out = written(tmp_path), tmp_path / "out"
    succeed(*release(files["table.npz"], *COLUMNS))
    plan = json.loads((out / "plan.json").read_text())
    (out / "plan.json").write_text(json.dumps(dict(reversed(plan.items()))))
    text = succeed("replay", out, "-o", tmp_path / "again")
    assert "release.json and synthetic.npz are the same byte for byte" in text
    assert "plan.json, schema.json, workload.json and transcript.jsonl were read and not rebuilt" in text
    assert "were not compared" in text
    plan["statement"]["reading"]["layout"] = "mtx"
    (out / "plan.json").write_text(json.dumps(plan))
    assert "changed after the run had begun" in refuse("replay", out, "-o", tmp_path / "third")


def test_a_plan_says_how_the_table_is_handed_over() -> None:
    asked = ["plan", "--binary-columns", 5000, *QUERIES, "--n", 30_000, "--epsilon", 1, "--delta", 1e-6]
    asked += ["--algorithm", "dualquery", "--no-predict", "--json"]
    sparse = json.loads(succeed(*asked, "--layout", "npz"))
    assert sparse["plan"]["step"] == "2.5"
    assert sparse["assumed"]["density"] == 0.008
    for unknown in ([], ["--layout", "bits"]):
        assert "no share of ones is declared" in refuse(*asked, *unknown)
        declared = json.loads(succeed(*asked, *unknown, "--density", 0.5))
        assert declared["plan"]["step"] == "0.4"
        assert declared["declared"] == {"density": 0.5}
    assert "the layout of a wide table is one of" in refuse(*asked, "--layout", "csv")


def test_a_plan_of_another_table_takes_no_layout(tmp_path: Path) -> None:
    asked = ["plan", "--schema", inputs(tmp_path)[1], "--workload", "marginals:1", "--n", 100, "--rho", 1]
    assert "--layout: for wide tables" in refuse(*asked, "--layout", "npz")

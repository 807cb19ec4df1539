"""Wide tables of zeros and ones: what is read from every layout, and what refusals say."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import dpopt
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivacyBoundaryError, PrivateDataError, SchemaError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers.binary.bit_file import bit_table
from dpopt.private.readers.read_binary_table import found_layout, read_binary_table
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import Layout, OnInvalid, TableReading
from dpopt.private.tables import dataset as dataset_module
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.tiny_runs import bits_schema
from tests.wide_tables import FILES, IN_MEMORY, Bits, cell_tables, cells_of, some_cells, write_pairs


@pytest.mark.parametrize("name", FILES)
def test_a_file_in_any_layout_gives_the_table_that_was_written(tmp_path: Path, name: str) -> None:
    cells = some_cells(130)
    reading = FILES[name](tmp_path / "table", cells)
    found = read_binary_table(tmp_path / "table", Schema.binary(cells.shape[1]), reading)
    np.testing.assert_array_equal(cells_of(found), cells)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_table_in_memory_gives_the_same(name: str) -> None:
    cells = some_cells(130)
    found = read_binary_table(IN_MEMORY[name](cells), Schema.binary(cells.shape[1]))  # type: ignore[arg-type]
    np.testing.assert_array_equal(cells_of(found), cells)


@given(cell_tables())
@settings(max_examples=10, deadline=None)
def test_every_layout_reads_every_small_table_back(cells: Bits) -> None:
    """Empty records, empty columns, one record, one column, and record numbers around 64 among them."""
    schema = Schema.binary(cells.shape[1])
    with tempfile.TemporaryDirectory() as folder:
        for number, write in enumerate(FILES.values()):
            path = Path(folder) / f"{number}"
            np.testing.assert_array_equal(cells_of(read_binary_table(path, schema, write(path, cells))), cells)
    for table in IN_MEMORY.values():
        np.testing.assert_array_equal(cells_of(read_binary_table(table(cells), schema)), cells)  # type: ignore[arg-type]


@given(cell_tables(no_empty_record=True))
@settings(max_examples=25, deadline=None)
def test_pairs_give_every_small_table_back(cells: Bits) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        reading = write_pairs(path, cells)
        found = read_binary_table(path, Schema.binary(cells.shape[1]), reading)
    np.testing.assert_array_equal(cells_of(found), cells)


def test_another_number_of_columns_than_declared_is_refused(tmp_path: Path) -> None:
    cells = some_cells(20, 30)
    for name, write in FILES.items():
        path = tmp_path / name
        reading = write(path, cells)
        with pytest.raises(PrivateDataError, match="declare|no item"):
            read_binary_table(path, Schema.binary(29), reading)
    for table in IN_MEMORY.values():
        with pytest.raises(PrivateDataError, match="30 columns, and 31 are declared"):
            read_binary_table(table(cells), Schema.binary(31))  # type: ignore[arg-type]


def test_a_layout_that_the_first_bytes_do_not_tell_has_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "baskets.txt"
    path.write_text("1 2\n")
    with pytest.raises(PrivateDataError, match="layout='baskets' .* or layout='pairs'"):
        read_binary_table(path, Schema.binary(3))
    path.write_bytes(b"PAR1....")
    with pytest.raises(PrivateDataError, match="Parquet file"):
        read_binary_table(path, Schema.binary(3))
    path.write_bytes(b"BZh91AY")
    with pytest.raises(PrivateDataError, match="compressed by bzip2"):
        read_binary_table(path, Schema.binary(3), TableReading("pairs"))


def test_a_layout_that_the_first_bytes_deny_is_refused(tmp_path: Path) -> None:
    """But for baskets, whose first bytes are a record."""
    path = tmp_path / "table"
    FILES["csr"](path, some_cells(5, 5))
    for layout in Layout:
        if layout in {Layout.NPZ, Layout.BASKETS}:
            assert found_layout(path, TableReading(layout)).layout is layout
        else:
            with pytest.raises(PrivateDataError, match="first bytes show npz"):
                found_layout(path, TableReading(layout))
    path.write_text("1 2\n")
    for layout in (Layout.NPZ, Layout.MTX, Layout.BITS):
        with pytest.raises(PrivateDataError, match="show something else"):
            found_layout(path, TableReading(layout))


def test_a_layout_does_not_take_the_options_of_others(tmp_path: Path) -> None:
    path = tmp_path / "table"
    FILES["csr"](path, some_cells(5, 5))
    for reading, option in (
        (TableReading(first_item=1), "first_item="),
        (TableReading(pair_columns=(1, 2)), "pair_columns="),
        (TableReading(header=False), "header=False"),
    ):
        with pytest.raises(SchemaError, match=option):
            read_binary_table(path, Schema.binary(5), reading)
    with pytest.raises(SchemaError, match="pair_columns="):
        TableReading("baskets", pair_columns=(1, 2))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layout": "csv"}, 'npz, mtx, baskets, pairs, bits; found "csv"'),
        ({"first_item": -1}, "first item"),
        ({"first_item": 10**15 + 1}, "first item.*at most 1,000,000,000,000,000"),
        ({"first_item": 10**20}, "first item"),
        ({"first_item": True}, "first item"),
        ({"first_item": 1.0}, "first item"),
        ({"pair_columns": (1, 1)}, "two different numbers"),
        ({"pair_columns": (0, 1)}, "two different numbers"),
        ({"pair_columns": (1, 2, 3)}, "two different numbers"),
        ({"header": 1}, "'header' is true or false"),
    ],
)
def test_a_reading_checks_itself(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        TableReading(**fields)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=message):
        TableReading.from_json(fields)


def test_a_reading_is_read_back() -> None:
    for reading in (TableReading(), TableReading("pairs", 1, (3, 1), header=False), TableReading("npz")):
        assert TableReading.from_json(reading.to_json()) == reading
    wrongs: list[object] = [{"pair_columns": [1, "2"]}, [], {"layouts": "npz"}, {"pair_columns": "12"}]
    for wrong in wrongs:
        with pytest.raises(SchemaError):
            TableReading.from_json(wrong)


def test_a_schema_that_lists_its_attributes_is_for_other_tables(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="this one lists 3 attributes"):
        read_binary_table(sp.csr_array(np.eye(3)), bits_schema(3))
    with pytest.raises(SchemaError, match="read_binary_table"):
        read_table(tmp_path / "no.csv", Schema.binary(3))


def test_a_wide_table_is_pointed_to_its_own_way_where_others_are_read(tmp_path: Path) -> None:
    cells = some_cells(5, 5)
    for name in ("csr", "bits", "pattern"):
        FILES[name](tmp_path / name, cells)
        with pytest.raises(PrivateDataError, match="binary_columns="):
            read_table(tmp_path / name, bits_schema(5))
    with pytest.raises(PrivateDataError, match="binary_columns="):
        read_table(bit_table(5, iter(cells.T)), bits_schema(5))


def test_what_is_no_table_at_all_is_refused(tmp_path: Path) -> None:
    for wrong in ([[1, 0]], None, {"a": [1]}, pd.Series([1, 0])):
        with pytest.raises(PrivateDataError, match="a table is the path"):
            read_binary_table(wrong, Schema.binary(3))  # type: ignore[arg-type]
    with pytest.raises(PrivateDataError, match="there is no file 'no.npz'"):
        read_binary_table("no.npz", Schema.binary(3))
    with pytest.raises(PrivateDataError, match="cannot be read: Is a directory"):
        read_binary_table(tmp_path, Schema.binary(3))


def test_a_table_of_bits_keeps_its_records() -> None:
    table = bit_table(3, iter(np.eye(3, dtype=np.bool_)))
    assert repr(table) == "<BitTable: contents refused>"
    takers: list[Callable[[object], object]] = [len, list, np.asarray, bool]  # type: ignore[list-item]
    for take in takers:
        with pytest.raises(PrivacyBoundaryError):
            take(table)


def test_reading_takes_memory_for_the_ones_and_not_for_records_times_columns(tmp_path: Path) -> None:
    """3,000 x 500,000 cells would be 1.5 GB as bytes and 190 MB as bits; the process may grow by 150 MB."""
    rows, width = 3_000, 500_000
    path = tmp_path / "table.npz"
    places = np.arange(rows * 20, dtype=np.int64)
    items = (places * 48_271) % width
    matrix = sp.csr_array((np.ones(items.size), items, np.arange(0, items.size + 1, 20)), shape=(rows, width))
    sp.save_npz(path, matrix)
    program = (
        "import resource, sys, dpopt, scipy.sparse, dpopt.private.readers.binary.matrices\n"
        "schema = dpopt.Schema.binary(500_000)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "table = dpopt.read_binary_table(sys.argv[1], schema)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_cells_of_marginals_are_counted_as_in_a_table_of_codes(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(dataset_module, "CELLS_AT_ONCE", at_once)
    cells, schema = some_cells(150, 6, share=0.4), Schema.binary(6)
    codes = PrivateDataset.from_codes(schema, list(cells.T.astype(np.uint8)))
    for width in (1, 2, 3):
        marginals = parse_workload(f"marginals:{width}", schema).queries
        expected = exact_counts(codes, marginals).tolist()
        for table in IN_MEMORY.values():
            held = read_binary_table(table(cells), schema)  # type: ignore[arg-type]
            assert exact_counts(held, marginals).tolist() == expected


def test_marginals_of_half_a_million_columns_are_counted_at_once() -> None:
    """As codes the columns would take 250 MB, and their positions in the domains another gigabyte."""
    width = 500_000
    items = (np.arange(1_000) * 48_271) % width
    table = sp.csr_array((np.ones(1_000), (np.arange(1_000) % 500, items)), shape=(500, width))
    schema = Schema.binary(width)
    marginals = parse_workload("marginals:1,count=300000,seed=1", schema).queries
    assert isinstance(marginals, MarginalSet)
    counts = exact_counts(read_binary_table(table, schema), marginals).reshape(-1, 2)
    ones = np.bincount(items, minlength=width)[marginals.attributes[:, 0]]
    np.testing.assert_array_equal(counts, np.stack([500 - ones, ones], axis=1))


def test_the_root_names_lead_here() -> None:
    assert inspect.unwrap(dpopt.read_binary_table) is read_binary_table
    assert inspect.unwrap(dpopt.bit_table) is bit_table
    assert dpopt.TableReading is TableReading


@pytest.mark.parametrize("name", ["coo", "mtx"])
def test_billions_of_empty_records_take_no_memory(tmp_path: Path, name: str) -> None:
    """A number for each of them would take 32 GB."""
    rows, path = 4_000_000_000, tmp_path / "table"
    if name == "mtx":
        path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{rows} 2 3\n{rows} 1\n7 1\n9 2\n")
    else:
        entries = {"row": [rows - 1, 6, 8, 8], "col": [0, 0, 1, 1], "data": [1, 2, 1, -3]}
        with path.open("wb") as file:
            np.savez(file, format=np.array(b"coo"), shape=np.array([rows, 2]), **entries)  # type: ignore[arg-type]
    found = read_binary_table(path, Schema.binary(2))._columns
    assert isinstance(found, SparseColumns)
    assert (found.rows, found.starts.tolist()) == (rows, [0, 2, 3])
    assert found.listed.tolist() == [6, rows - 1, 8]


def test_a_matrix_without_entries_is_a_table_of_zeros() -> None:
    found = read_binary_table(sp.coo_array((50, 3)), Schema.binary(3))
    assert not cells_of(found).any()


def test_a_file_beyond_memory_is_not_blamed_on_the_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    FILES["csr"](tmp_path / "table", some_cells(5, 3))
    monkeypatch.setattr("dpopt.private.readers.read_binary_table.read_npz", full)
    with pytest.raises(PrivateDataError, match="table does not fit into the available memory"):
        read_binary_table(tmp_path / "table", Schema.binary(3))


EMPTY, MARKED = "table is empty; expected a table with at least one record", "what to do: remove the byte order mark"


@pytest.mark.parametrize(
    ("layout", "text", "message"),
    [
        *((layout, "", EMPTY) for layout in (None, *Layout)),
        ("baskets", "\ufeff\ufeff0 1\n", MARKED),
        ("baskets", "0 \ufeff2\n", MARKED),
        ("pairs", "u,i\na,\ufeff1\n", MARKED),
    ],
)
def test_empty_files_and_marks_that_do_not_show_are_named(
    tmp_path: Path, layout: Layout | str | None, text: str, message: str
) -> None:
    (tmp_path / "table").write_text(text, encoding="utf-8")
    with pytest.raises(PrivateDataError, match=message):
        read_binary_table(tmp_path / "table", Schema.binary(3), TableReading(layout))


def test_marks_at_the_begin_of_lines_are_left_out(tmp_path: Path) -> None:
    """As where files were joined; the same user in two of them is one record."""
    (tmp_path / "table").write_text("\ufeffu,i\na,0\n\ufeffa,1\n", encoding="utf-8")
    found = read_binary_table(tmp_path / "table", Schema.binary(3), TableReading("pairs"))
    assert cells_of(found).tolist() == [[True, True, False]]


def test_a_name_behind_a_mark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table").write_text("tea\n")
    with pytest.raises(SchemaError, match="a name of a column begins with a byte order mark"):
        read_binary_table(tmp_path / "table", Schema.binary(2, ["\ufefftea", "milk"]), TableReading("baskets"))


TOTAL = {
    "baskets": ("a b\n\nb nix a\n\xff a\nnix\nb\n", [[0, 0], [0, 0], [0, 0], [0, 1], [1, 1], [1, 1]]),
    "pairs": ('ann,a\nbob,nix\nann,b,a\nann\n,a\n\xff,a\neve,a\neve,b\nann,nix\n"eve,b\n', [[0, 0], [1, 0], [1, 1]]),
}


@pytest.mark.parametrize("layout", TOTAL)
def test_what_is_no_item_is_left_out_of_its_record(tmp_path: Path, layout: str) -> None:
    schema, path = Schema.binary(2, ["a", "b"]), tmp_path / "t.txt"
    text, expected = TOTAL[layout]
    path.write_bytes(text.encode("latin-1"))
    strict = TableReading(layout, header=layout != "pairs")
    with pytest.raises(PrivateDataError):
        read_binary_table(path, schema, strict)
    total = replace(strict, on_invalid=OnInvalid.OTHER)
    found = read_binary_table(path, schema, total)._columns
    assert sorted(np.stack(found[:], axis=1).tolist()) == expected
    for nothing in (b"", b"nix,nix,nix\n" if layout == "pairs" else b""):
        path.write_bytes(nothing)
        data = read_binary_table(path, schema, total)
        marginals = parse_workload("marginals:2", schema)
        assert data._rows == 0
        assert exact_counts(data, marginals.queries).tolist() == [0] * len(marginals)


@pytest.mark.parametrize(("layout", "rows"), [("baskets", 3), ("pairs", 2)])
def test_where_a_line_decides_how_many_records_replace_one_is_refused(tmp_path: Path, layout: str, rows: int) -> None:
    schema, path = Schema.binary(2, ["a", "b"]), tmp_path / "t.txt"
    total = TableReading(layout, header=layout != "pairs", on_invalid=OnInvalid.OTHER)
    found = []
    for line in ("ann,a", "ann"):
        path.write_text(f"{line}\nbob,b\neve,a\n")
        found.append(read_binary_table(path, schema, total)._rows)
    assert found == [3, rows]
    refusal = pytest.raises(PlanError, match="use neighbours='add-remove'")
    with nullcontext() if rows == 3 else refusal:
        total.check_relation(NeighbouringRelation.REPLACE_ONE)
    total.check_relation(NeighbouringRelation.ADD_REMOVE)


@pytest.mark.parametrize("policy", [OnInvalid.CLIP, OnInvalid.DROP])
def test_records_of_zeros_and_ones_are_neither_clipped_nor_dropped(tmp_path: Path, policy: OnInvalid) -> None:
    with pytest.raises(PlanError, match="keep the items that are known"):
        read_binary_table(tmp_path / "t.txt", Schema.binary(2), TableReading("baskets", on_invalid=policy))


@pytest.mark.parametrize(("layout", "refused"), [("pairs", True), ("baskets", False)])
def test_a_public_number_of_users_depends_on_no_line(layout: Layout, refused: bool) -> None:
    how = TableReading(layout, on_invalid=OnInvalid.OTHER)
    assert how.changes_size == refused
    how.check_relation(NeighbouringRelation.ADD_REMOVE)
    with pytest.raises(PlanError, match="add-remove") if refused else nullcontext():
        how.check_relation(NeighbouringRelation.REPLACE_ONE)


def test_other_layouts_have_nothing_to_leave_out() -> None:
    with pytest.raises(SchemaError, match="is for the layout baskets or pairs"):
        TableReading("npz", on_invalid=OnInvalid.OTHER)
    with pytest.raises(SchemaError, match="zeros and ones alone"):
        read_binary_table(sp.csr_array(np.eye(2)), Schema.binary(2), TableReading(on_invalid=OnInvalid.OTHER))

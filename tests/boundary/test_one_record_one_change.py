"""Changing, adding or removing the bytes of one record changes at most one record that the curator counts, for every reader.

Two statements are tried on generated files with hostile records:

1. What is read of neighbouring files differs by one record. Of text tables it is compared before anything is refused: the rows
   that a source yields, a malformed row as one value. Where a reader refuses a whole file (`error`, the default) nothing is
   said of that pair: an error tells that a record did not fit, which the documents say; no other record is read differently.
2. Rows of text tables are those that each line gives alone.

The faults that were found in earlier readers are put back, and the same checks go red.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers import read_edges
from dpopt.private.readers.binary import item_files
from dpopt.private.readers.binary.bit_file import write_bit_file
from dpopt.private.readers.csv_source import CsvFile, CsvSource
from dpopt.private.readers.encode import as_text
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.private.readers.read_lists import read_lists
from dpopt.private.readers.read_numbers import read_counts, read_points
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.readers.table_sources import TableSource
from dpopt.queries import parse_workload
from dpopt.queries.decision_lists.families import ListFamily, RowKind
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.wide_tables import cells_of

Records = list[bytes]
Counted = Counter[object]

NAMES = ("a", "b")
ITEMS = 4
EXAMPLES = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

# What a record is made of. A line end is none: it ends a record by declaration, but in values that may hold one.
_TOKENS = [b"\r", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xe9", "é".encode(), b"x" * 700, b"\t", b" ", b""]
_TOKENS += b', ; :: " "" NA null # % a b 0 1 2'.split()
_MARKS = [b"PK\x03\x04", b"\x1f\x8b", b"\xff\xfe", b"x1 | !x2", *b"PAR1 %%MatrixMarket DPOPTBIT a,b { x1".split()]
_USUAL = [b"p q", b"p,q", b"u 1", b"1,2", b"0,1", b"3\t1", b"1 2", b'"u",0', b"a b,c", b"0,1\t2", b"v\t1,1"]
HOSTILE = st.one_of(st.sampled_from(_USUAL + _MARKS), st.lists(st.sampled_from(_TOKENS), max_size=6).map(b"".join))
TEXTS = st.text(st.sampled_from('ab,;"\r\n\0#%é\ufeff 1'), max_size=5)
VALUES = st.one_of(
    TEXTS,
    st.sampled_from([None, True, False, 0, 1, -1, 10**20, 0.5, 1.0, np.nan, np.inf, pd.NA, "1", "NA", Decimal(1)]),
)


@st.composite
def neighbours(
    draw: st.DrawFn, record: st.SearchStrategy[object], fewest: int = 1
) -> tuple[list[object], list[object]]:
    """Return two lists of records that differ in one: added at any place, or changed."""
    records = draw(st.lists(record, min_size=fewest, max_size=6))
    place = draw(st.integers(0, len(records) - 1))
    others = [*records[:place], *records[place + 1 :]]
    changed = draw(st.one_of(st.none(), record)) if len(records) > 1 else draw(record)
    return records, others if changed is None else [*records[:place], changed, *records[place + 1 :]]


def distance(one: Counted, other: Counted) -> int:
    """Return by how many records two tables differ: those changed, added and removed."""
    return max(sum((one - other).values()), sum((other - one).values()))


def rows_of(source: TableSource) -> Counted:
    """Return the rows that a source yields; a malformed row is nothing but nulls."""
    columns: list[list[object]] = [[] for _ in source.names]
    for index, array in source.pieces(range(len(columns)), None):
        columns[index] += as_text(array).to_pylist()
    return Counter(zip(*columns, strict=True))


def lines(records: Iterable[bytes], header: bytes = b"") -> bytes:
    return header + b"".join(record + b"\n" for record in records)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


# --- Text tables: what a source yields ------------------------------------------------------------------------------------

TextReader = Callable[[Path, Records], Counted]


def _csv(name: str = "t.csv", *, header: bytes = b"", reading: dict[str, object] | None = None) -> TextReader:
    how = TableReading(column_names=None if header else NAMES, **(reading or {}))  # type: ignore[arg-type]

    def read(folder: Path, records: Records) -> Counted:
        return rows_of(open_table(written(folder / name, lines(records, header)), how))

    return read


def _utf16(folder: Path, records: Records) -> Counted:
    """Return what is read of UTF-16, with halves of surrogate pairs in place of bytes that are no text.

    An odd byte moves all that follow it: so where readings are to be total such files are refused (below).
    """
    text = lines(records, b"a,b\n").decode("latin-1").replace("\xff", "\ud800")
    path = written(folder / "t.csv", text.encode("utf-16-le", "surrogatepass"))
    return rows_of(open_table(path, TableReading(encoding="utf-16-le")))


@pytest.mark.parametrize("how", [one for one in OnInvalid if one.is_total])
def test_no_reading_is_total_of_files_in_which_records_are_not_apart(tmp_path: Path, how: OnInvalid) -> None:
    """One byte more or less in a record of UTF-16, or one odd cell of a workbook, changes how others are read, or ends it."""
    for name, reading in (
        ("t.csv", TableReading(encoding="utf-16-le", on_invalid=how)),
        ("t.xlsx", TableReading(on_invalid=how)),
        ("t.sav", TableReading(on_invalid=how)),
    ):
        written(tmp_path / name, b"a,b\n1,2\n")
        with pytest.raises(PrivateDataError, match="may decide how others are read"):
            open_table(tmp_path / name, reading)


def _csv_folder(folder: Path, records: Records) -> Counted:
    for name, part in (("a.csv", records[:2]), ("b.csv.gz", records[2:])):
        written(folder / name, lines(part))
    return rows_of(open_table(folder, TableReading(column_names=NAMES)))


def _csv_parts(folder: Path, records: Records) -> Counted:
    """Return what workers of the Dask engine read: each its own file."""
    found: Counted = Counter()
    for name, part in (("a.csv", records[:2]), ("b.csv", records[2:])):
        found += rows_of(CsvFile(written(folder / name, lines(part, b"a,b\n")), header=True).source(NAMES))
    return found


def _edges(folder: Path, records: Records) -> Counted:
    return rows_of(read_edges._source(written(folder / "edges.txt", lines(records)), None, TableReading()))


def _edges_of_a_table(folder: Path, records: Records) -> Counted:
    path = written(folder / "edges.csv", lines(records, b"a,b\n"))
    return rows_of(read_edges._source(path, ("a", "b"), TableReading()))


TEXT_READERS: dict[str, TextReader] = {
    "csv": _csv(header=b"a,b\n"),
    "csv without header": _csv(),
    "csv without header, one suffix for all": _csv("table"),
    "gzip": _csv("t.csv.gz", header=b"a,b\n"),
    "gzip without header": _csv("t.csv.gz"),
    "tabs, other bytes": _csv(reading={"separator": "tab", "encoding": "cp1252"}),
    "blanks": _csv(reading={"separator": "blanks"}),
    "no quotes": _csv(reading={"separator": ";", "quotes": False}),
    "one column": _csv(header=b"a\n"),
    "columns without names": _csv(header=b",\n"),
    "columns of one name": _csv("t.csv.gz", header=b"a,a\n"),
    "trimmed": _csv(header=b" a , b\n", reading={"trim": True}),
    "trimmed, gzip without header": _csv("t.csv.gz", reading={"trim": True, "separator": "tab"}),
    "trimmed, one column": _csv(header=b" a\n", reading={"trim": True}),
    "UTF-16": _utf16,
    "folder": _csv_folder,
    "parts of the Dask engine": _csv_parts,
    "edges": _edges,
    "edges of a table": _edges_of_a_table,
}


def check_lines(read: TextReader, pair: tuple[Records, Records]) -> None:
    """Hold what is read of neighbouring texts against both statements."""
    with tempfile.TemporaryDirectory() as name:
        found = [read(Path(name), records) for records in pair]
        assert distance(*found) <= 1
        alone: Counted = sum((read(Path(name), [record]) for record in pair[0]), Counter())
        assert found[0] == alone


def worst_pairs(test: Callable[..., None]) -> Callable[..., None]:
    """Add the files of the faults that were found."""
    edges = [f"a{i} b{i},c".encode() for i in range(9)]
    quoted = [b"0,x", b'1,y "', *(f"{i},z".encode() for i in range(9)), b'2,"w"']
    for pair in (
        (edges, [b"p q", *edges]),
        ([b"# 1", b"a b", b"# 2"], [b"a b", b"# 2"]),
        (quoted, [b"0,x", b"1,y", *quoted[2:]]),
        ([b'"0,x', b"1,y", b"2,z"], [b"0,x", b"1,y", b"2,z"]),
    ):
        test = example(pair=pair)(test)
    return test


@pytest.mark.parametrize("name", TEXT_READERS)
@EXAMPLES
@given(pair=neighbours(HOSTILE))
@worst_pairs
def test_lines_of_text_are_read_one_by_one(name: str, pair: tuple[Records, Records]) -> None:
    check_lines(TEXT_READERS[name], pair)


@pytest.mark.parametrize("separator", [",", "blanks", "::"])
@pytest.mark.parametrize("names", [("a",), NAMES])
@pytest.mark.parametrize("trim", [False, True])
@EXAMPLES
@given(records=st.lists(HOSTILE, max_size=6))
@example(records=[b"", b"a b,c", b" ", b"\t", b"\xef\xbb\xbf", b""])
def test_every_line_is_a_row_where_the_reading_is_total(
    separator: str, names: tuple[str, ...], trim: bool, records: Records
) -> None:
    """Replacing the content of a line changes no number of records, which replace-one publishes."""
    how = TableReading(column_names=names, separator=separator, on_invalid=OnInvalid.OTHER, trim=trim)
    with tempfile.TemporaryDirectory() as name:
        source = open_table(written(Path(name) / "t.csv", lines(records)), how)
        assert rows_of(source).total() == len(records)


@EXAMPLES
@given(pair=neighbours(st.tuples(TEXTS, TEXTS)))
def test_values_with_line_ends_are_read_as_a_correct_writer_meant_them(pair: tuple[list[tuple[str, str]], ...]) -> None:
    how = TableReading(column_names=NAMES, multiline=True)
    for records in pair:
        stream = io.StringIO(newline="")
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(records)
        with tempfile.TemporaryDirectory() as name:
            path = written(Path(name) / "t.csv.gz", stream.getvalue().encode())
            assert rows_of(open_table(path, how)) == Counter(records)


@given(st.lists(st.tuples(*[st.sampled_from(["NA", "null", "nan", "None", "", "#x", "0", "x#"])] * 2), min_size=1))
@EXAMPLES
def test_every_name_of_a_node_is_one(records: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        check_nodes(Path(name), records)


def check_nodes(folder: Path, records: Sequence[tuple[str, str]]) -> None:
    kept = [(one, other) for one, other in records if one and other and not one.startswith("#")]
    found = _edges(folder, [f"{one}\t{other}".encode() for one, other in kept])
    assert found == Counter(kept)


# --- Tables of types, in memory and in Parquet ----------------------------------------------------------------------------


def _frame(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    return pd.DataFrame(records, columns=list(NAMES), dtype=object)


def _categories(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    frame = pd.DataFrame(records, columns=list(NAMES), dtype=object)
    return frame.map(lambda value: None if value is pd.NA else str(value)).astype("category")


def _arrow(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    texts = [[None if value is None else str(value) for value in row] for row in records]
    return pa.table({"a": pa.array([row[0] for row in texts], pa.string()), "b": [row[1] or "" for row in texts]})


def _parquet(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    pq.write_table(_arrow(folder, records), folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def _printable(value: object) -> object:
    """Return a value that a workbook can hold: no signs that steer a terminal."""
    if isinstance(value, bool | int | float) and abs(value) < 10**15 and np.isfinite(value):
        return value
    return None if value is None or value is pd.NA else re.sub(r"[\0-\x1f]", " ", str(value)) or None


def _workbook(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    book = openpyxl.Workbook()
    for row in [NAMES, *([*map(_printable, record)] for record in records)]:
        book.active.append(row)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def _spss(folder: Path, records: list[tuple[object, object]]) -> AnyTable:
    """Return a file with a column of numbers and one of texts."""
    numbers = [float(a) if isinstance(a, int | float) and abs(a) < 10**15 else None for a, _ in records]
    texts = [str(_printable(b) or "") for _, b in records]
    pyreadstat.write_sav(pd.DataFrame({"a": numbers, "b": texts}).astype({"a": float}), folder / "t.sav")
    return folder / "t.sav"


@pytest.mark.parametrize("make", [_frame, _categories, _arrow, _parquet, _workbook, _spss])
@pytest.mark.parametrize("trim", [False, True])
@EXAMPLES
@given(pair=neighbours(st.tuples(VALUES, VALUES), 2))
def test_values_of_tables_are_read_one_by_one(
    make: Callable[..., AnyTable], trim: bool, pair: tuple[list[object], list[object]]
) -> None:
    how = TableReading(trim=trim)
    with tempfile.TemporaryDirectory() as name:
        found = [rows_of(open_table(make(Path(name), records), how)) for records in pair]
    assert distance(*found) <= 1


def _edges_of(make: Callable[..., AnyTable]) -> Callable[[Path, list[tuple[object, object]]], Counted]:
    how = TableReading(on_invalid=OnInvalid.DROP)

    def read(folder: Path, records: list[tuple[object, object]]) -> Counted:
        found = read_edges.read_degrees(make(folder, records), NAMES, how)
        degrees: dict[object, int] = dict(enumerate(sorted(found._counts.tolist(), reverse=True)))
        return Counter({**degrees, "edges": found._rows})

    return read


HALF = [(None, f"b{number}") for number in range(20)] + [("a", f"b{number}") for number in range(20)]
ENDS = st.sampled_from([None, np.nan, "", "a", "b", "c", "NA"])


@pytest.mark.parametrize("make", [_frame, _categories, _arrow, _parquet])
@EXAMPLES
@given(pair=neighbours(st.tuples(ENDS, ENDS), 2))
@example(pair=(HALF, [("q", "r"), *HALF]))
@example(pair=(HALF, [("a", "a"), *HALF]))
def test_an_edge_without_an_end_says_nothing_about_others(
    make: Callable[..., AnyTable], pair: tuple[list[object], list[object]]
) -> None:
    """An edge more is one more, and one more in two degrees."""
    with tempfile.TemporaryDirectory() as name:
        found = [_edges_of(make)(Path(name), records) for records in pair]  # type: ignore[arg-type]
    assert abs(found[0]["edges"] - found[1]["edges"]) <= 1
    assert distance(*found) <= 3


# --- Readers that refuse what does not fit --------------------------------------------------------------------------------

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.CATEGORICAL, ("1", "0", "p", 2), missing="NA"),
        Attribute("b", AttributeKind.NUMERIC, edges=(0, 1, 2, 3), missing="null"),
    )
)
LENGTHS = Schema(
    (
        Attribute("a", AttributeKind.NUMERIC, edges=(0, 1, 2, 3), missing="NA"),
        Attribute("b", AttributeKind.NUMERIC, edges=(0, 1, 2), missing="null", after="a"),
    )
)
FORMS = Schema(
    (
        Attribute(
            "a",
            AttributeKind.NUMERIC,
            edges=("2023", "2024", "2025"),  # type: ignore[arg-type]
            missing="NA",
            date_format="%Y|%Y-%m|%d.%m.%y",
        ),
        Attribute("b", AttributeKind.NUMERIC, edges=("12 AM", "6 AM", "10 PM"), date_format="%I %p|%H:%M"),  # type: ignore[arg-type]
    )
)
ONE_BUCKET = Schema((SCHEMA.attributes[0], Attribute("b", AttributeKind.NUMERIC, edges=(0, 1, 2, 3))))
FAMILY = ListFamily(("x1", "x2"), 2, RowKind.DISJUNCTIONS, 1)


def _wide(name: str, **reading: object) -> TextReader:
    def read(folder: Path, records: Records) -> Counted:
        path = written(folder / name, lines(records))
        found = read_binary_table(path, Schema.binary(ITEMS), TableReading(**reading))  # type: ignore[arg-type]
        return Counter(map(tuple, cells_of(found).tolist()))

    return read


def _streamed(folder: Path, records: Records) -> Counted:
    path = written(folder / "t.csv", lines(records))
    table = StreamedTable.open(path, SCHEMA, TableReading(column_names=NAMES))
    marginals = parse_workload("marginals:2", SCHEMA).marginals
    assert marginals is not None
    return Counter(dict(enumerate(table._count(marginals, threads=1, progress=None).tolist())))


def _counts(folder: Path, records: Records) -> Counted:
    found = read_counts(written(folder / "t.csv", lines([b"x," + one for one in records], b"a,b\n")), "b")
    return Counter(found._counts.tolist())


def _points(folder: Path, records: Records) -> Counted:
    path = written(folder / "t.csv", lines(records, b"a,b\n"))
    found = read_points(path, PointColumns(NAMES, Scaling.NORMALISE))
    return Counter(map(tuple, found._coordinates.tolist()))


def _lists(folder: Path, records: Records) -> Counted:
    found = read_lists(written(folder / "rows.txt", lines(records)), FAMILY)
    return Counter(
        map(str, zip(*(getattr(found, name).tolist() for name in ("_variables", "_positive", "_bits")), strict=True))
    )


def _degrees(folder: Path, records: Records) -> Counted:
    """Return the degrees in order: an edge that goes takes one from two of them, and one that comes adds one to two."""
    how = TableReading(on_invalid=OnInvalid.DROP)
    found = read_edges.read_degrees(written(folder / "edges.txt", lines(records)), reading=how)
    return Counter(dict(enumerate(sorted(found._counts.tolist(), reverse=True))))


def _encoded(schema: Schema, on_invalid: OnInvalid) -> TextReader:
    def read(folder: Path, records: Records) -> Counted:
        how = TableReading(column_names=NAMES, on_invalid=on_invalid)
        found = read_table(written(folder / "t.csv", lines(records)), schema, how)
        return Counter(zip(*(column.tolist() for column in found._columns), strict=True))

    return read


REFUSING: dict[str, tuple[TextReader, int]] = {
    "edges, drop": (_degrees, 2),
    "csv, drop": (_encoded(SCHEMA, OnInvalid.DROP), 1),
    "lengths, drop": (_encoded(LENGTHS, OnInvalid.DROP), 1),
    "lengths, other": (_encoded(LENGTHS, OnInvalid.OTHER), 1),
    "forms of dates, drop": (_encoded(FORMS, OnInvalid.DROP), 1),
    "a bucket of one column": (_encoded(ONE_BUCKET, OnInvalid.OTHER), 1),
    "baskets, other": (_wide("t.txt", layout="baskets", on_invalid=OnInvalid.OTHER), 1),
    "pairs, other": (_wide("t.txt", layout="pairs", header=False, on_invalid=OnInvalid.OTHER), 2),
    # One line changes one user: the old one goes, and the new one comes. A line that is changed may leave one user for another.
    "pairs": (_wide("t.csv", layout="pairs", header=False), 2),
    "pairs of three columns": (_wide("t.gz", layout="pairs", header=False, separator="blanks", pair_columns=(1, 3)), 2),
    "baskets": (_wide("t.txt", layout="baskets"), 1),
    "baskets by commas": (_wide("t.txt.gz", layout="baskets", separator=","), 1),
    "streamed engine": (_streamed, 1),
    "counts": (_counts, 1),
    "points": (_points, 1),
    "lists of rules": (_lists, 1),
}
FITTING = st.sampled_from(
    [
        *b'0,1 1,2 p,0.5 NA,null 3 "1",2 x1 x1|!x2 # 2023-05,23:59'.split(),
        *[b"0 1 2", b"1 2", b"", b"u 9 1", b"2024,9 am", b"01.02.24,6 AM"],
    ]
)


def check_refusing(reader: tuple[TextReader, int], pair: tuple[Records, Records]) -> bool:
    """Hold what is read of neighbouring files against the first statement, unless one of them is refused; return if not."""
    read, most = reader
    found = []
    with tempfile.TemporaryDirectory() as name:
        for records in pair:
            try:
                found.append(read(Path(name), records))
            except PrivateDataError:
                return False
    assert distance(*found) <= most
    return True


@pytest.mark.parametrize("name", REFUSING)
@EXAMPLES
@given(pair=neighbours(st.one_of(FITTING, FITTING, FITTING, HOSTILE), 2))
def test_files_that_are_not_refused_differ_by_one_record(name: str, pair: tuple[Records, Records]) -> None:
    check_refusing(REFUSING[name], pair)


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("pairs", ([b"\x00'\r,1", b"a,1"], [b"a,1"])),
        ("pairs of three columns", ([b'\xef\xbb\xbfu x 0 7"', b"a\t1  3"], [b"a\t1  3"])),
        ("baskets", ([b"", b"0,1\t2"], [b"0,1\t2"])),
        ("baskets by commas", ([b" 1 ,2", b"3"], [b"3"])),
        ("edges, drop", ([b"NA null", b"x", b"null NA"], [b"NA null", b"\xff", b"null NA"])),
        ("csv, drop", ([b'"1', b'"1",2'], [b'"1",2'])),
        ("lengths, drop", ([b"2,1", b"1,2"], [b"1,2"])),
        ("baskets, other", ([b"\xff", b"x 1"], [b"x 1"])),
        ("pairs, other", ([b'"', b"x,y", b"a,1"], [b"x,y", b"a,1"])),
        ("streamed engine", ([b"NA,null", b'"1",2'], [b"p,0", b'"1",2'])),
        ("counts", ([b"3", b"0"], [b'"4"', b"0"])),
        ("points", ([b"1,2", b"\xef\xbb\xbf-1,2e9"], [b"1,2"])),
        ("lists of rules", ([b"#\xc3\xa9", b"x1", b"x1|!x2\r"], [b"x1", b"x1|!x2\r"])),
    ],
)
def test_readers_that_refuse_do_read_what_fits(name: str, pair: tuple[Records, Records]) -> None:
    assert check_refusing(REFUSING[name], pair)


# --- Matrices -------------------------------------------------------------------------------------------------------------

Row = list[tuple[int, float]]


def _coordinates(records: list[Row]) -> tuple[list[float], tuple[list[int], list[int]]]:
    entries = [(value, number, item) for number, row in enumerate(records) for item, value in row]
    values, rows, items = map(list, zip(*entries, strict=True)) if entries else ([], [], [])
    return values, (rows, items)


def _npz(folder: Path, records: list[Row]) -> Path:
    shape = (len(records), ITEMS)
    sp.save_npz(folder / "t.npz", sp.coo_array(_coordinates(records), shape=shape, dtype=np.float64))
    return folder / "t.npz"


def _mtx(folder: Path, records: list[Row]) -> Path:
    values, (rows, items) = _coordinates(records)
    head = f"%%MatrixMarket matrix coordinate real general\n{len(records)} {ITEMS} {len(values)}\n"
    entries = [f"{row + 1} {item + 1} {value}\n" for value, row, item in zip(values, rows, items, strict=True)]
    return written(folder / "t.mtx", (head + "".join(entries)).encode())


def _bit_file(folder: Path, records: list[Row]) -> Path:
    cells = np.zeros((len(records), ITEMS), dtype=bool)
    for number, row in enumerate(records):
        cells[number, [item for item, value in row if value]] = True
    write_bit_file(folder / "t.bits", len(cells), iter(np.ascontiguousarray(cells.T)))
    return folder / "t.bits"


ROWS = st.lists(
    st.tuples(st.integers(0, ITEMS - 1), st.sampled_from([1.0, 1.0, 0.0, -1.0, 1e300, np.nan, np.inf])), max_size=4
)


@pytest.mark.parametrize("write", [_npz, _mtx, _bit_file])
@EXAMPLES
@given(pair=neighbours(ROWS, 2))
def test_rows_of_matrices_are_read_one_by_one(write: Callable[..., Path], pair: tuple[list[Row], list[Row]]) -> None:
    def read(folder: Path, records: list[Row]) -> Counted:
        found = read_binary_table(write(folder, records), Schema.binary(ITEMS))
        return Counter(map(tuple, cells_of(found).tolist()))

    check_refusing((read, 1), pair)  # type: ignore[arg-type]


# --- The faults that were found, put back ---------------------------------------------------------------------------------


def _sniffed(path: Path) -> str | None:
    first = path.read_bytes().split(b"\n")[0]
    return next((name for sign, name in ((b"\t", "tab"), (b",", ",")) if sign in first), None)


def _edges_by_the_first_line(edges: Path, columns: None, how: TableReading) -> TableSource:
    return CsvSource(edges, ("first", "second"), TableReading(separator=_sniffed(edges)).edges_form())


def _first_edge_dropped(edges: Path, columns: None, how: TableReading) -> TableSource:
    """Comments at the begin of the file are left out, as bytes; those after them are edges."""
    kept = edges.read_bytes().split(b"\n")
    while kept and kept[0].lstrip().startswith((b"#", b"%")):
        kept.pop(0)
    edges.write_bytes(b"\n".join(kept))
    return CsvSource(edges, ("first", "second"), TableReading(separator="blanks").pairs_form())


def _nodes_by_arrow(edges: Path, columns: None, how: TableReading) -> TableSource:
    table = pyarrow.csv.read_csv(
        edges,
        read_options=pyarrow.csv.ReadOptions(column_names=["first", "second"]),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t"),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={"first": pa.string(), "second": pa.string()}, strings_can_be_null=True
        ),
    )
    return open_table(table)


def _pieces_by_arrow(source: CsvSource, positions: Sequence[int], *_: object) -> Iterable[tuple[int, pa.Array]]:
    """Yield the columns as Arrow's reader finds them where values may hold line ends."""
    table = pyarrow.csv.read_csv(
        source.files[0],
        read_options=pyarrow.csv.ReadOptions(column_names=list(source.names), skip_rows=source._skip),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda _: "skip"),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(source.names, pa.string())),
    )
    for index, position in enumerate(positions):
        for chunk in table.column(position).chunks:
            yield index, chunk


def test_a_separator_of_edges_that_the_first_line_decides_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_edges, "_source", _edges_by_the_first_line)
    with pytest.raises(AssertionError):
        test_lines_of_text_are_read_one_by_one("edges")


def test_a_first_edge_that_is_dropped_as_a_comment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_edges, "_source", _first_edge_dropped)
    with pytest.raises(AssertionError):
        test_lines_of_text_are_read_one_by_one("edges")


def test_nodes_that_are_taken_for_nothing_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_nodes(tmp_path, [("NA", "null"), ("a", "b")])
    monkeypatch.setattr(read_edges, "_source", _nodes_by_arrow)
    with pytest.raises(AssertionError):
        check_nodes(tmp_path, [("NA", "null"), ("a", "b")])


def test_a_quote_that_swallows_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CsvSource, "pieces", _pieces_by_arrow)
    with pytest.raises((AssertionError, pa.ArrowInvalid)):
        test_lines_of_text_are_read_one_by_one("csv")


def test_a_separator_of_pairs_that_the_first_line_decides_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All users have item 1 by commas, and 0 by tabs."""
    others = [f"u{i},1,\t0\t".encode() for i in range(4)]
    reader = (_wide("t.csv", layout="pairs", header=False, pair_columns=(1, 2)), 2)
    pair = ([b"p,1,", *others], [b"p,1,\t0\t", *others])
    read = item_files.read_pairs

    def sniffed(path: Path, *args: object, **options: object) -> object:
        return read(path, *args, **{**options, "form": TableReading(separator=_sniffed(path)).pairs_form()})  # type: ignore[arg-type]

    assert check_refusing(reader, pair)
    monkeypatch.setattr("dpopt.private.readers.read_binary_table.read_pairs", sniffed)
    with pytest.raises(AssertionError):
        check_refusing(reader, pair)

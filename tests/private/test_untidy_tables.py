"""Tables as people have them: blanks, odd bytes, columns without names, dates of several forms, buckets for some columns."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpopt
from dpopt.errors import PlanError, PrivateDataError, SchemaError
from dpopt.private.drafts.infer_schema import SchemaDraft, infer_schema
from dpopt.private.engines import distributed_table
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers.domain_codes import parse_dates
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries import parse_workload
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.dates import date_number, date_pattern, date_text, forms_of

Cells = Sequence[tuple[str, ...]]


def _text(name: str, sign: str = ",") -> Callable[[Path, Cells], AnyTable]:
    def write(folder: Path, rows: Cells) -> AnyTable:
        content = "".join(sign.join(row) + "\n" for row in rows).encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return folder / name

    return write


def _folder(folder: Path, rows: Cells) -> AnyTable:
    (folder / "parts").mkdir()
    _text("parts/a.csv")(folder, rows[:20])
    _text("parts/b.csv.gz")(folder, [rows[0], *rows[20:]])
    return folder / "parts"


def _frame(folder: Path, rows: Cells) -> AnyTable:
    return pd.DataFrame(rows[1:], columns=list(rows[0]))


def _arrow(folder: Path, rows: Cells) -> pa.Table:
    return pa.Table.from_arrays([pa.array(column) for column in zip(*rows[1:], strict=True)], list(rows[0]))


def _parquet(folder: Path, rows: Cells) -> AnyTable:
    pq.write_table(_arrow(folder, rows), folder / "t.parquet", row_group_size=9)
    return folder / "t.parquet"


def _workbook(folder: Path, rows: Cells) -> AnyTable:
    pd.DataFrame(rows).to_excel(folder / "t.xlsx", header=False, index=False)
    return folder / "t.xlsx"


WRITERS = {
    "csv": _text("t.csv"),
    "gzip": _text("t.csv.gz"),
    "tabs": _text("t.tsv", "\t"),
    "folder": _folder,
    "pandas": _frame,
    "arrow": _arrow,
    "parquet": _parquet,
    "excel": _workbook,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def counts_of(dataset: object, schema: Schema) -> list[int]:
    workload = parse_workload("marginals:1", schema)
    counts: list[int] = exact_counts(dataset, workload.marginals).tolist()  # type: ignore[arg-type]
    return counts


def declared(draft: SchemaDraft) -> Schema:
    return draft.reviewed()


def check_engines(table: AnyTable, schema: Schema, workers: DaskWorkers) -> list[int]:
    """Return the counts of a table in memory, after those of a stream and of workers were found to be the same."""
    found = counts_of(read_table(table, schema), schema)
    if isinstance(table, Path) and table.suffix != ".xlsx":
        assert counts_of(StreamedTable.open(table, schema), schema) == found
        if table.is_dir() or table.suffix == ".parquet":
            assert counts_of(DistributedTable.open(table, schema, lambda: workers), schema) == found
    return found


@pytest.fixture
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_table, "FEWEST_ROWS", 1)


BLANKS = [("age", " job ", "pay")] + [
    (f" {row % 30}", f"  {'Private' if row % 2 else '?'} ", f"{row % 30 * 1.5:.1f} ") for row in range(60)
]


@every_writer
@pytest.mark.usefixtures("many_parts")
def test_blanks_around_values_are_left_out_as_drafted(
    write: Callable[[Path, Cells], AnyTable], tmp_path: Path, workers: DaskWorkers
) -> None:
    table = write(tmp_path, BLANKS)
    draft = infer_schema(table)
    age, job, pay = draft.schema.attributes
    assert draft.schema.names == ("age", "job", "pay")
    assert (age.kind.value, job.values, job.missing, pay.kind.value) == ("numeric", ("Private",), "?", "numeric")
    assert dict(draft.schema.reading)["trim"] is True
    found = check_engines(table, declared(draft), workers)
    assert found[age.size : age.size + job.size] == [30, 30]
    with pytest.raises(PrivateDataError):
        read_table(table, declared(draft), TableReading(trim=False))


def test_a_quoted_value_may_follow_a_blank_and_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a, b\n1, "x, y"\n2, " z"\n')
    values = ("x, y", " z")
    schema = Schema((Attribute("b", AttributeKind.CATEGORICAL, values=values),), reading=(("trim", True),))
    assert counts_of(read_table(tmp_path / "t.csv", schema), schema) == [1, 1]


@pytest.mark.parametrize("odd", [1, 5])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "folder"])
def test_some_odd_bytes_leave_a_file_in_utf8(tmp_path: Path, odd: int, name: str) -> None:
    towns = ["Köln", "Zürich", "Malmö"]
    lines = [f"{towns[row % 3]},{row % 7}\n".encode() for row in range(600)]
    for row in range(odd):
        lines[300 + 3 * row] = "Köln,0\n".encode("latin-1")
    content = b"town,n\n" + b"".join(lines)
    table = tmp_path / name
    if name == "folder":
        table.mkdir()
        (table / "a.csv").write_bytes(b"town,n\n" + b"".join(lines[:200]))
        (table / "b.csv").write_bytes(b"town,n\n" + b"".join(lines[200:]))
    else:
        table.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    draft = infer_schema(table)
    assert draft.schema.attributes[0].values == ("Köln", "Malmö", "Zürich")
    assert "encoding" not in dict(draft.schema.reading)
    (note,) = [note for note in draft.notes if "not text in the declared encoding" in note]
    assert "With on_invalid='error' (the default) a release stops with this message, with drop it" in note
    assert "with drop it leaves them out, and with other it counts each as a record of 'other' values" in note
    assert draft.rows == 600 - odd
    with pytest.raises(PrivateDataError, match="not text in the declared encoding"):
        read_table(table, declared(draft))
    dropped = read_table(table, declared(draft), TableReading(on_invalid="drop"))
    assert sum(counts_of(dropped, draft.schema)[:3]) == 600 - odd


@pytest.mark.parametrize("odd", ["\0", "\x01", "\x1b", "\x7f"])
def test_a_value_with_a_control_character_is_pointed_out(odd: str, tmp_path: Path) -> None:
    rows = "".join(f"{row % 4},{'xyz'[row % 3]}\n" for row in range(600))
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}3{odd},x\n1,w{odd}\n")
    for column in infer_schema(tmp_path / "t.csv").columns:
        assert any("holds a control character" in one and "leave the value out" in one for one in column.check)
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}")
    assert "control character" not in repr(infer_schema(tmp_path / "t.csv"))


def test_an_odd_byte_in_the_names_of_columns_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,straße\n1,x\n".encode("latin-1"))
    schema = dpopt.Schema((dpopt.Attribute("a", dpopt.AttributeKind.CATEGORICAL, (1,)),))
    with pytest.raises(PrivateDataError, match="not text in the declared encoding .encoding=.; expected the names"):
        read_table(tmp_path / "t.csv", schema)


def test_a_file_in_latin_1_is_not_taken_for_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"town,n\n" + "Köln,1\nGenève,2\nOslo,3\n".encode("latin-1") * 50)
    assert dict(infer_schema(tmp_path / "t.csv").schema.reading)["encoding"] == "cp1252"


UNNAMED = [("age", "", "sex", "", "note", "note")] + [
    (f"{row % 30}", "x", "FM"[row % 2], f"{row}", "a", "b") for row in range(60)
]


@every_writer
@pytest.mark.usefixtures("many_parts")
def test_columns_without_a_name_of_their_own_are_left_out(
    write: Callable[[Path, Cells], AnyTable], tmp_path: Path, workers: DaskWorkers
) -> None:
    table = write(tmp_path, UNNAMED)
    draft = infer_schema(table)
    assert draft.schema.names == ("age", "sex")
    reasons = [column.why for column in draft.columns if column.left_out]
    assert [reason.split(":")[0] for reason in reasons] == [
        "it has no name",
        "it has no name",
        "several columns have its name",
        "several columns have its name",
    ]
    assert check_engines(table, declared(draft), workers)[-2:] == [30, 30]
    notes = Attribute("note", AttributeKind.CATEGORICAL, values=("a", "b"))
    wanted = Schema((notes,), reading=draft.schema.reading)
    with pytest.raises(PrivateDataError, match="occur more than once in .*'note'"):
        read_table(table, wanted)
    with pytest.raises(PrivateDataError, match="occur more than once in .*'note'"):
        read_table(table, declared(draft), TableReading(person="note", rows_per_person=1))


def test_a_table_of_columns_without_names_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",\n1,2\n")
    with pytest.raises(PrivateDataError, match="no column for a schema"):
        infer_schema(tmp_path / "t.csv")


DAYS = np.datetime64("2023-01-01") + np.arange(700)
MOMENTS = np.datetime64("2023-01-01T00:30") + np.arange(700) * np.timedelta64(31 * 60 + 7, "m")


def _written(form: str) -> list[str]:
    return [date_text(float(moment.astype("datetime64[s]").astype(int)), form) for moment in MOMENTS]


@pytest.mark.parametrize(
    "form",
    [
        "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %I:%M %p", "%m/%d/%Y, %I:%M:%S %p", "%m/%d/%Y %I%p", "%Y-%m-%d %H",
        "%H:%M", "%H:%M:%S", "%I:%M %p", "%I %p",
    ],
)  # fmt: skip
def test_halves_of_days_and_times_of_day_are_drafted_and_read(form: str) -> None:
    table = pd.DataFrame({"when": _written(form)})
    (attribute,) = infer_schema(table).schema.attributes
    assert attribute.date_format == form
    schema = Schema((attribute,))
    assert sum(counts_of(read_table(table, schema), schema)) == len(MOMENTS)
    assert Schema.from_json(schema.to_json()) == schema
    assert all(date_text(date_number(text, form), form) == text for text in table["when"])


@pytest.mark.parametrize(
    ("text", "hour"),
    [("12:00 AM", 0), ("12:59 am", 0), ("01:00 a.m.", 1), ("12:00 PM", 12), ("11:00 p.m.", 23), ("1:05PM", 13)],
)
def test_twelve_comes_before_one(text: str, hour: int) -> None:
    form = "%I:%M%p" if text == "1:05PM" else "%I:%M %p"
    numbers, readable = parse_dates(pa.array([text, "13:00 PM", "0:30 AM", "noon"]), form)
    assert readable.tolist() == [True, False, False, False]
    assert numbers[0] // 3600 == hour == date_number(text, form) // 3600
    for wrong in ("13:00 PM", "0:30 AM", "noon"):
        with pytest.raises(ValueError, match=wrong):
            date_number(wrong, form)


@pytest.mark.parametrize("form", ["%I:%M", "%Y %p", "%H %p", "%Y %I %p %p", "%M", "%Y|", "|", "%Y|%M", "%p", "%d %H"])
def test_forms_that_say_no_time_are_refused(form: str) -> None:
    with pytest.raises(SchemaError, match="the form of its dates is"):
        Attribute("d", AttributeKind.NUMERIC, edges=(0, 1), date_format=form)
    assert date_pattern(form) is None


TWO_FORMS = {
    "%Y|%Y-%m|%Y-%m-%d": ("2024", "2024-05"),
    "%Y-%m|%Y-%m-%d": ("2024-05",),
    "%Y-%m-%d|%Y-%m-%d %H:%M:%S": ("2024-05-17 10:30:00", "2023-02-03 00:00:01"),
    "%Y-%m-%d|%Y-%m-%dT%H:%M": ("2024-05-17T10:30",),
    "%Y-%m-%d|%Y/%m/%d": ("2024/05/17",),
    "%Y-%m|%Y-%m-%d|%d/%m/%Y": ("2024-05", "17/05/2024"),
}


@every_writer
@pytest.mark.parametrize("form", TWO_FORMS)
@pytest.mark.usefixtures("many_parts")
def test_dates_of_several_forms_are_read_by_the_coarsest(
    form: str, write: Callable[[Path, Cells], AnyTable], tmp_path: Path, workers: DaskWorkers
) -> None:
    texts = [str(day) for day in DAYS]
    for place, other in enumerate(TWO_FORMS[form]):
        texts[place::10] = [other] * len(texts[place::10])
    table = write(tmp_path, [("d", "x"), *((text, "01"[row % 2]) for row, text in enumerate(texts))])
    draft = infer_schema(table)
    (dated,) = [one for one in draft.schema.attributes if one.name == "d"]
    found = forms_of(dated.date_format or "")
    assert set(found) == set(forms_of(form))
    assert found[0] in {forms_of(form)[0], "%Y/%m/%d"}
    assert "shortened to" in " ".join(draft.columns[0].check)
    assert sum(check_engines(table, declared(draft), workers)[: dated.size]) == len(texts)


def test_years_of_two_digits_stand_beside_those_of_four(tmp_path: Path) -> None:
    texts = [f"{day.astype(object):%m/%d/%Y}" for day in DAYS]
    texts[::9] = ["05/17/24"] * len(texts[::9])
    (dated,) = infer_schema(pd.DataFrame({"d": texts})).schema.attributes
    assert dated.date_format == "%m/%d/%Y|%m/%d/%y"
    assert dated.number_text(date_number("05/17/24", dated.date_format)) == "05/17/2024"


@pytest.mark.parametrize(
    "texts",
    [
        ["13/05/2024", "05/13/2024"],  # days and months could be confused
        ["2024-05-17", "02/03/2024"],
        ["2024-05-17", "10:30"],
        ["2024-05-17", "Monday"],
        ["2024", "2025", "1999"],
        ["2000", "20240101"],
    ],
)
def test_what_has_no_sure_forms_is_no_date(texts: list[str]) -> None:
    assert all(one.date_format is None for one in infer_schema(pd.DataFrame({"d": texts * 20})).schema.attributes)


def test_a_date_is_read_by_itself_in_each_form() -> None:
    form = "%Y|%Y-%m|%d.%m.%Y"
    texts = ["2024", "2024-05", "17.05.2024", "2024-13", "x", ""]
    numbers, readable = parse_dates(pa.array(texts), form)
    assert readable.tolist() == [True, True, True, False, False, False]
    alone = [parse_dates(pa.array([text]), form)[0][0] for text in texts]
    assert np.array_equal(numbers, alone, equal_nan=True)
    assert numbers[:3].tolist() == [date_number("2024", "%Y")] * 3 == [date_number(one, form) for one in texts[:3]]


@pytest.mark.parametrize("others", [["AF", "AS", "EU", "OC", "SA"], ["NO", "SE", "DK", "FI"]])
def test_a_word_for_missing_among_codes_like_it_is_a_value(others: list[str]) -> None:
    frame = pd.DataFrame({"continent": [*others, "NA"] * 30, "answer": ["yes", "no", "NA"] * 10 * (len(others) + 1)})
    draft = infer_schema(frame)
    continent, answer = draft.schema.attributes
    assert (continent.missing, answer.missing) == (None, "NA")
    assert "NA" in continent.values
    assert "'NA' looks like the other codes" in " ".join(draft.columns[0].check)


SOME_BUCKETS = Schema(
    (
        Attribute("town", AttributeKind.CATEGORICAL, values=("north", "south", "elsewhere"), other="elsewhere"),
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 50, 100), integer=True),
    )
)
ROWS = [("town", "age")] + [("Atlantis" if row % 3 else "north", f"{row}") for row in range(60)]


@every_writer
@pytest.mark.usefixtures("many_parts")
def test_a_bucket_of_one_column_takes_what_does_not_fit_it(
    write: Callable[[Path, Cells], AnyTable], tmp_path: Path, workers: DaskWorkers
) -> None:
    table = write(tmp_path, ROWS)
    tabs = isinstance(table, Path) and table.suffix == ".tsv"
    how = TableReading(on_invalid="other", separator="tab" if tabs else None)
    if isinstance(table, Path) and table.suffix == ".xlsx":
        pytest.skip("no workbook is read to its end whatever it holds")
    opened = [read_table(table, SOME_BUCKETS, how)]
    if isinstance(table, Path):
        opened += [StreamedTable.open(table, SOME_BUCKETS, how)]
    if isinstance(table, Path) and (table.is_dir() or table.suffix == ".parquet"):
        opened += [DistributedTable.open(table, SOME_BUCKETS, lambda: workers, how)]
    for dataset in opened:
        assert counts_of(dataset, SOME_BUCKETS) == [20, 0, 40, 50, 10]
    (tmp_path / "again").mkdir()
    with pytest.raises(PrivateDataError, match="'old' is not a number"):
        read_table(write(tmp_path / "again", [*ROWS, ("north", "old")]), SOME_BUCKETS, how)


@pytest.mark.parametrize("line", ["north", "north,1,2", '"north,1'])
def test_a_malformed_line_ends_the_run_where_a_column_has_no_bucket(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.csv").write_text(f"town,age\nnorth,1\n{line}\n")
    for opened in (read_table, StreamedTable.open):
        with pytest.raises(PrivateDataError, match="1 malformed row"):
            opened(tmp_path / "t.csv", SOME_BUCKETS, TableReading(on_invalid="other"))


def test_other_without_any_bucket_is_refused() -> None:
    with pytest.raises(PlanError, match="no column has a bucket"):
        TableReading(on_invalid="other").check_against(Schema(SOME_BUCKETS.attributes[1:]))
    assert dpopt.TableReading(on_invalid="other").is_total_for(Schema(SOME_BUCKETS.attributes[:1]))
    assert not TableReading(on_invalid="other").is_total_for(SOME_BUCKETS)

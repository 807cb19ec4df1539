"""Tables on file: what can be read, and what is said about files, rows and columns that cannot."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.private.drafts.unused_columns import unused_columns
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers import csv_source
from dpopt.private.readers.csv_source import CsvFile, CsvFilesSource
from dpopt.private.readers.open_table import open_table
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.private.tables_in_files import ROWS, frame, queries, write_csv, write_csv_folder, write_parquet
from tests.private.tables_in_files import SCHEMA as PARTS_SCHEMA

SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 65, 100), integer=True),
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M", "a, b"), missing="?"),
    )
)
HEADER = "id,sex,age\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


def columns(data: PrivateDataset) -> list[list[int]]:
    return [column.tolist() for column in data._columns]


def read(
    path: Path, content: str | bytes, *, names: list[str] | None = None, multiline: bool = False
) -> list[list[int]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return columns(read_table(path, SCHEMA, TableReading(column_names=names, multiline=multiline)))


def refusal(path: Path, content: str | bytes, *, names: list[str] | None = None, multiline: bool = False) -> str:
    with pytest.raises(PrivateDataError) as caught:
        read(path, content, names=names, multiline=multiline)
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        HEADER + "1,F,5\n2,?,100\n",
        HEADER + "1,F,5\n2,,100",
        HEADER.replace("\n", "\r\n") + "1,F,5\r\n2,?,100\r\n",
        "\ufeff" + HEADER + "1,F,5\n2,?,100\n",
        '"id","sex","age"\n"1","F","5"\n"2","","100"\n',
        "\n\n" + HEADER + "\n1,F,5\n\n\n2,?,100\n\n",
        HEADER + '"1 ""x"" ,",F,5\n2,?,100\n',
    ],
)
@pytest.mark.parametrize("multiline", [False, True])
def test_csv_files_are_read(table: Path, content: str, multiline: bool) -> None:
    assert read(table, content, multiline=multiline) == [[0, 2], [0, 3]]
    assert read(table, gzip.compress(content.encode()), multiline=multiline) == [[0, 2], [0, 3]]


@pytest.mark.parametrize(
    ("content", "reading"),
    [
        ("id;sex;age\n1;F;5\n2;?;100\n", TableReading(separator=";")),
        ("id\tsex\tage\n1\tF\t5\n2\t?\t100\n", TableReading(separator="\t")),
        ("id\tsex\tage\n1\tF\t5\n2\t?\t100\n", TableReading(separator="tab")),
        (" id sex  age\n1 F\t5\n 2   ? 100 \n", TableReading(separator="blanks")),
        ('id,sex,age\n"1,F,5\n2,?,100\n', TableReading(quotes=False)),
        ("id,sex,age\n\x81\xe9,F,5\n2,?,100\n", TableReading(encoding="latin-1")),
        ('id,sex,age\n"1\n",F,5\n2,?,100\n', TableReading(multiline=True)),
    ],
)
def test_csv_files_are_read_as_declared(table: Path, content: str, reading: TableReading) -> None:
    table.write_bytes(content.encode("latin-1"))
    assert columns(read_table(table, SCHEMA, reading)) == [[0, 2], [0, 3]]


def test_values_in_quotes_may_hold_commas(table: Path) -> None:
    assert read(table, HEADER + '1,"a, b",5\n') == [[0], [2]]


def test_names_in_quotes_may_hold_anything(table: Path) -> None:
    schema = Schema((Attribute('a,\r\n"b', AttributeKind.BOOLEAN),))
    table.write_bytes(b'x,"a,\r\n""b"\n9,true\n8,false\n')
    assert columns(read_table(table, schema, TableReading(multiline=True))) == [[1, 0]]


def test_a_file_without_names_is_read_with_given_names(table: Path) -> None:
    assert read(table, "1,F,5\n2,?,100\n", names=["id", "sex", "age"]) == [[0, 2], [0, 3]]


def test_given_names_replace_those_of_frames_and_parquet_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({0: [5], 1: ["F"]})
    assert columns(read_table(frame, SCHEMA, TableReading(column_names=("age", "sex")))) == [[0], [0]]
    pq.write_table(pa.table({"x": [5], "y": ["F"]}), tmp_path / "t.parquet")
    named = TableReading(column_names=("age", "sex"))
    assert columns(read_table(tmp_path / "t.parquet", SCHEMA, named)) == [[0], [0]]


def test_many_blocks_and_batches_give_all_rows(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_source, "BLOCK_BYTES", 100)
    content = HEADER + "".join(f'"{i}\n",{"FM"[i % 2]},{i % 101}\n' for i in range(1000))
    ages = [0 if i % 101 < 20 else 1 if i % 101 < 65 else 2 for i in range(1000)]
    assert read(table, content, multiline=True) == [ages, [i % 2 for i in range(1000)]]


def test_a_parquet_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "people.data"
    pq.write_table(pa.table({"sex": ["M", None], "age": [70, 5], "n": [1, 2]}), path)
    assert columns(read_table(str(path), SCHEMA)) == [[2, 0], [1, 3]]


def test_a_folder_of_parquet_files_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "_marks").mkdir()
    (tmp_path / "more").mkdir()
    for name, ages, kind in [
        ("b.parquet", [70], pa.int64()),
        ("a.parquet", [5, 30], pa.int8()),
        ("more/c.parquet", [31], pa.float64()),
        (".hidden.parquet", [1000], pa.int64()),
        ("_marks/d.parquet", [1000], pa.int64()),
    ]:
        pq.write_table(pa.table({"age": pa.array(ages, kind), "sex": ["F"] * len(ages)}), tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    assert columns(read_table(tmp_path, SCHEMA))[0] == [0, 1, 2, 1]


def test_a_parquet_file_with_dots_in_names_is_read(tmp_path: Path) -> None:
    schema = Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in ("a.b", "a")))
    pq.write_table(pa.table({"a": [True], "a.b": [False]}), tmp_path / "t.parquet")
    assert columns(read_table(tmp_path / "t.parquet", schema)) == [[0], [1]]


def test_progress_rises_to_one(table: Path, tmp_path: Path) -> None:
    table.write_text(HEADER + "1,F,5\n" * 10)
    pq.write_table(pa.table({"sex": ["M", None], "age": [70, 5]}), tmp_path / "t")
    for source in (table, tmp_path / "t", pd.DataFrame({"sex": ["F"], "age": [5]})):
        reported: list[float] = []
        read_table(source, SCHEMA, progress=reported.append)
        assert reported == sorted(reported)
        assert reported[-1] == 1.0
        assert all(0 <= fraction <= 1 for fraction in reported)


def test_columns_that_the_schema_does_not_name_are_listed_and_not_read(table: Path) -> None:
    content = HEADER.replace("id", "id,note").encode() + b"1,\xff,F,5\n"
    assert "line 2: b'\\xff' is not text" in refusal(table, content)
    assert read(table, content.replace(b"\xff", b"?")) == [[0], [0]]
    ignored = "ignored columns, which the schema does not name: "
    people = "id, note; if id names people with several rows, use --person and --rows-per-person"
    assert unused_columns(table, SCHEMA) == ignored + people
    assert unused_columns(table, SCHEMA, TableReading(person="id", rows_per_person=2)) == f"{ignored}note"
    assert unused_columns(pd.DataFrame({"sex": [], "x": [], "age": []}), SCHEMA) == f"{ignored}x"
    assert unused_columns(pd.DataFrame({"sex": [], "x": []}), SCHEMA) == ""  # reading it says what is wanting
    assert unused_columns(table, SCHEMA, TableReading(column_names=("a", "b", "sex", "age"))) == f"{ignored}a, b"


def test_problems_name_line_value_number_of_rows_expectation_and_remedy(table: Path) -> None:
    text = refusal(table, HEADER + "1,F,5\n2,F,120\n3,Female,5\n4,F,120\n5, M,121\n")
    expected = """\
people.csv does not fit the schema
  column 'age': 3 rows do not fit
    line 3: 120 lies outside [0, 100] (and 1 more row)
    line 6: 121 lies outside [0, 100]
    expected: a whole number in [0, 100]
    what to do: Take ends that are publicly known. If a few values lie beyond them, take on_invalid='clip', which counts those \
in the nearest bin. Do not take the table's smallest or largest value as an end: that publishes it
  column 'sex': 2 rows do not fit
    line 4: 'Female' is not a declared value
    line 6: ' M' is not a declared value; without the blanks around it, it would be 'M': strip the column
    expected: one of 'F', 'M', 'a, b'; missing: '?'
    what to do: correct the table, or add the value under 'values' in the schema, or declare one value as 'other' there \
and pass on_invalid='other'"""
    assert text == expected


def test_all_kinds_of_problems_in_a_column_are_reported(table: Path) -> None:
    text = refusal(table, HEADER + "1,F,x\n2,F,1.5\n3,F,\n4,F,200\n5,f,' 7'\n6,F,\"1,5\"\n")
    for part in ("'x' is not a number", "1.5 is not a whole number", "is missing", "200 lies outside"):
        assert part in text
    assert "'1,5' is not a number; write numbers as 1234.5" in text
    assert "'f' is not a declared value; 'F' is declared: write it the same way" in text


def test_a_number_with_blanks_around_it_is_refused_with_a_hint(table: Path) -> None:
    assert "' 7' is not a number; it is one without the blanks" in refusal(table, HEADER + "1,F, 7\n")


def test_only_a_few_of_many_different_values_are_shown(table: Path) -> None:
    text = refusal(table, HEADER + "".join(f"1,value {i},5\n" for i in range(2000)))
    assert text.count("is not a declared value") == 3
    assert "2,000 rows do not fit" in text
    assert "and at least 997 other values" in text
    assert "did you mean" not in text


def test_long_values_are_cut(table: Path) -> None:
    assert "'" + "x" * 57 + "...'" in refusal(table, HEADER + f"1,{'x' * 1000},5\n")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_as_in_the_file(table: Path, end: str) -> None:
    lines = ["", "id,sex,age", "", '"a', "b", 'c",F,5', "", "1,F,500", "2,F,600", ""]
    text = refusal(table, end.join(lines), multiline=True)
    assert "line 8: 500" in text
    assert "line 9: 600" in text
    assert "line 1: 1 lies" not in text
    text = refusal(table, end.join(lines[2:]), names=["id", "sex", "age"], multiline=True)
    assert "line 6: 500" in text


def test_rows_of_frames_and_parquet_files_are_counted_from_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["F", "x"], "age": [5, 500]}, index=[100, 200])
    with pytest.raises(
        PrivateDataError, match=r"(?s)the DataFrame does not fit.*row 2: 500.*counted from 1.*row 2: 'x'"
    ):
        read_table(frame, SCHEMA)
    with pytest.raises(PrivateDataError, match=r"(?s)the pyarrow Table does not fit.*row 2: 500"):
        read_table(pa.Table.from_pandas(frame), SCHEMA)
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"sex": ["F", "F"], "age": [5, 500 if name == "b.parquet" else 6]}), tmp_path / name)
    with pytest.raises(PrivateDataError, match=r"(?s)does not fit.*    b\.parquet, row 2: 500"):
        read_table(tmp_path, SCHEMA)
    with pytest.raises(PrivateDataError, match=r"(?s)b\.parquet does not fit.*    row 2: 500"):
        read_table(tmp_path / "b.parquet", SCHEMA)


def test_problems_of_later_batches_are_added_up() -> None:
    ages = [5] * 300_000
    ages[10] = ages[200_000] = ages[299_999] = -1
    with pytest.raises(PrivateDataError, match=r"(?s)3 rows do not fit.*row 11: -1 lies .*and 2 more rows"):
        read_table(pd.DataFrame({"age": ages, "sex": ["F"] * len(ages)}), SCHEMA)


def test_rows_with_a_wrong_number_of_fields_are_refused_with_their_lines(table: Path) -> None:
    content = HEADER + '1,F,5\n2,F\n"3\n",F,5,7\n\n4,F,500\n' + "x\n" * 5
    text = refusal(table, content, multiline=True)
    assert "7 malformed rows; expected 3 fields" in text
    assert "line 3: 2 fields\n" in text
    assert "line 4: 4 fields\n" in text
    assert "and 4 more" in text
    assert "line 7: 500 lies outside" in text
    assert "line 4: a value in quotes is not closed" in refusal(table, content)


@pytest.mark.parametrize(
    ("content", "line"),
    [('1,F,5\n2,"F,5\n3,F,5\n', 3), ('1,F,5\n"2,F,5\n' + "3,F,5\n" * 50_000, 3), ('1,F,5\n2,F,"5"x",5\n', 3)],
)
def test_a_quote_that_is_not_closed_is_found(table: Path, content: str, line: int) -> None:
    assert f"line {line}: a value in quotes is not closed" in refusal(table, HEADER + content)
    assert f"line {line}: a value in quotes is not closed" in refusal(table, HEADER + content, multiline=True)


def test_a_quote_inside_a_value_without_quotes_is_an_ordinary_sign(table: Path) -> None:
    assert read(table, HEADER + '1 5" pipe,F,5\n') == [[0], [0]]


def test_a_value_longer_than_a_block_is_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_source, "BLOCK_BYTES", 100)
    assert read(table, HEADER + '"' + "x" * 1000 + '",F,5\n') == [[0], [0]]


def test_bytes_that_are_not_utf8_are_found(table: Path) -> None:
    text = refusal(table, HEADER.encode() + b"1,F,5\n2,M\xe4,5\n")
    assert "line 3: b'\\xe4' is not text in the declared encoding" in text
    assert "people.csv, line 1: b'\\xe4' is not text in" in refusal(table, b"a\xe4,sex,age\n1,F,5\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a line of column names"),
        (b"\n\r\n", "is empty"),
        (HEADER.encode(), "has no rows"),
        (HEADER.encode().strip(), "has no rows"),
        (HEADER.encode() + b"\n\n", "has no rows"),
        (HEADER.encode("utf-16"), "is text in UTF-16"),
        (b"PK\x03\x04....", "is a zip archive or an Excel workbook"),
        (b"BZh91AY", "is compressed by bzip2"),
        (b"id,sex,age\r1,F,5\r", "end with carriage returns alone"),
        (b"sex,age,id,age,sex\n", "names of columns occur more than once in people.csv: 'age', 'sex'; rename"),
        (b"PAR1....", "is not a readable Parquet file"),
        (gzip.compress(HEADER.encode() + b"1,F,5\n" * 9, mtime=0)[:-9], "is a damaged or incomplete gzip file"),
        (gzip.compress(HEADER.encode(), mtime=0)[:8], "is a damaged or incomplete gzip file"),
        (b"\x1f\x8bxxxxxxxxxxxxxxxx", "is a damaged or incomplete gzip file"),
    ],
)
def test_files_that_are_no_tables_are_refused(table: Path, content: bytes, message: str) -> None:
    assert message in refusal(table, content)


WHOLE = gzip.compress("".join(f"{number},F,{number % 90}\n" for number in range(300)).encode(), mtime=0)


@pytest.mark.parametrize(
    "content",
    [WHOLE[:-9], WHOLE[:8], b"\x1f\x8bxxxxxxxxxxxxxxxx", WHOLE[:60] + bytes(80) + WHOLE[140:], WHOLE[:-6] + b"\1" * 6],
)
def test_a_damaged_gzip_file_has_one_refusal_for_drafts_and_tables(table: Path, content: bytes) -> None:
    table.write_bytes(content)
    for read in (infer_schema, lambda path: read_table(path, SCHEMA)):
        with pytest.raises(PrivateDataError, match="is a damaged or incomplete gzip file"):
            read(table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Age, sex\n1,F\n", r"'age'; did you mean 'Age'\?"),
        ("Age, sex\n1,F\n", r"'sex'; did you mean ' sex'\?"),
        ("ages,sexes\n1,F\n", r"'age'; did you mean 'ages'\?"),
        ("5,F\n", r"'age'\n.*'sex'\n.*columns of the table: '5', 'F'\n.*has no header line, give the names"),
        ("sex;age\nF;5\n", "separated by semicolons"),
        ("sex\tage\nF\t5\n", "separated by tabs"),
        ("x,y,z\n1,2,3\n", "remove the attributes from the schema"),
    ],
)
def test_missing_columns_are_refused_with_close_names(table: Path, content: str, message: str) -> None:
    table.write_text(content)
    with pytest.raises(PrivateDataError, match=f"(?s)lacks 2 columns of the schema:.*{message}"):
        read_table(table, SCHEMA)


def test_of_many_missing_columns_a_few_are_named(table: Path) -> None:
    table.write_text("x\n1\n")
    schema = Schema(tuple(Attribute(f"column {i}", AttributeKind.BOOLEAN) for i in range(9)))
    with pytest.raises(PrivateDataError, match="(?s)lacks 9 columns.*and 4 more"):
        read_table(table, schema)
    table.write_text("x,y\n1,2\n")
    with pytest.raises(PrivateDataError, match="^is this the schema of another table?"):
        read_table(table, schema)
    with pytest.raises(PrivateDataError, match="separated by commas; say so by separator="):
        read_table(table, schema, TableReading(separator=";"))


def test_given_names_must_fit_the_table(table: Path) -> None:
    text = refusal(table, "1,F\n", names=["age", "sex", "id"])
    assert "1 malformed row; expected 3 fields" in text
    assert "occur more than once in the list" in refusal(table, "1,F\n", names=["age", "age"])
    assert "if the first line is a record already, add" in refusal(table, "1.5,1.5\n2,3\n")
    assert "'sex' is not a declared value" in refusal(table, "age,sex\n1,F\n", names=["age", "sex"])


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").touch()
    (tmp_path / "people.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    for path, message in [
        (tmp_path / "people.jsn", r"there is no file .*did you mean 'people.csv'\?"),  # and not the schema
        (tmp_path / "people.json", "does not have the name of a table"),
        (tmp_path / "nowhere" / "x.csv", "there is no folder"),
        (tmp_path / "folder", r"holds no Parquet files \(\*\.parquet\)"),
        (tmp_path / "people.csv" / "x", "cannot be read"),
    ]:
        with pytest.raises(PrivateDataError, match=message):
            read_table(path, SCHEMA)


def test_parquet_files_that_are_none_damaged_or_different_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("age,sex\n")
    with pytest.raises(PrivateDataError, match="not a Parquet file: it does not start with"):
        read_table(path, SCHEMA)
    with pytest.raises(PrivateDataError, match="not a readable Parquet file"):
        read_table(tmp_path, SCHEMA)
    pq.write_table(pa.table({"age": list(range(100)) * 50, "sex": ["F"] * 5000}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[40:90] = bytes(50)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    with pytest.raises(PrivateDataError, match="damaged"):
        read_table(damaged, SCHEMA)
    pq.write_table(pa.table({"age": [1]}), tmp_path / "b.parquet")
    with pytest.raises(PrivateDataError, match="b.parquet lacks the column 'sex', which a.parquet has"):
        read_table(tmp_path, SCHEMA)


def test_tables_without_rows_are_refused(tmp_path: Path) -> None:
    empty = pd.DataFrame({"age": [], "sex": []})
    for table in (empty, pa.Table.from_pandas(empty)):
        with pytest.raises(PrivateDataError, match="has no rows"):
            read_table(table, SCHEMA)
    pq.write_table(pa.Table.from_pandas(empty), tmp_path / "t")
    with pytest.raises(PrivateDataError, match="has no rows"):
        read_table(tmp_path / "t", SCHEMA)


def test_objects_that_are_no_tables_and_repeated_names_are_refused() -> None:
    with pytest.raises(PrivateDataError, match="found list"):
        read_table([[1, 2]], SCHEMA)
    with pytest.raises(PrivateDataError, match="occur more than once in the DataFrame: 'age'"):
        read_table(pd.DataFrame([[1, 2]], columns=["age", "age"]), SCHEMA)


def test_repairs_are_passed_on(table: Path) -> None:
    table.write_text(HEADER + "1,F,500\n")
    assert columns(read_table(table, SCHEMA, TableReading(on_invalid=OnInvalid.CLIP))) == [[2], [0]]


@pytest.mark.parametrize("header", [True, False])
def test_a_folder_is_the_table_whose_parts_it_holds(tmp_path: Path, header: bool) -> None:
    whole = read_table(write_csv(tmp_path / "t.csv", frame()), PARTS_SCHEMA)
    folder = write_csv_folder(tmp_path / "parts", frame(), header=header)
    (folder / "_SUCCESS.csv").write_text("not a part\n")
    (folder / "release").mkdir()
    (folder / "release" / "synthetic.csv").write_text("not a part\n")
    shares: list[float] = []
    names = None if header else list(frame().columns)
    parts = read_table(folder, PARTS_SCHEMA, TableReading(column_names=names), progress=shares.append)
    assert parts._rows == whole._rows == ROWS
    for asked in queries():
        assert np.array_equal(exact_counts(parts, asked), exact_counts(whole, asked))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_rows_are_found_by_file_and_line(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    source = open_table(folder, None)
    assert isinstance(source, CsvFilesSource)
    assert sum(len(array) for _, array in source.pieces([0], None)) == ROWS
    assert source.places([0, 1_099, 1_100, 1_299, 1_300]) == {
        0: "a.csv, line 2",
        1_099: "a.csv, line 1101",
        1_100: "c.csv.gz, line 2",
        1_299: "c.csv.gz, line 201",
        1_300: "d.csv, line 2",
    }


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    columns = list(frame().columns)
    write_csv(folder / "e.csv", frame(9)[[*columns[1:], columns[0]]])
    with pytest.raises(PrivateDataError, match="e.csv has the column 'rooms' where a.csv has 'note'"):
        read_table(folder, PARTS_SCHEMA)
    write_csv(folder / "e.csv", frame(9).assign(more=1))
    with pytest.raises(PrivateDataError, match="e.csv has 6 columns, and a.csv has 5; all files in the folder"):
        read_table(folder, PARTS_SCHEMA)
    with pytest.raises(PrivateDataError, match="e.csv has other columns than the first file"):
        CsvFile(folder / "e.csv", header=True).source(tuple(columns))


def test_folders_of_two_kinds_or_none_are_refused(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    write_parquet(folder / "p.parquet", frame(9))
    with pytest.raises(PrivateDataError, match="holds both Parquet and CSV files, such as p.parquet and a.csv"):
        read_table(folder, PARTS_SCHEMA)
    (tmp_path / "none").mkdir()
    with pytest.raises(PrivateDataError, match=r"no Parquet files .* and no CSV files"):
        read_table(tmp_path / "none", PARTS_SCHEMA)

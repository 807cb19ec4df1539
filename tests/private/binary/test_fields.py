"""Fields of lines: against plain Python, and block by block."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError
from dpopt.private.readers import text_fields
from dpopt.private.readers.text_fields import TextForm, fields_of, is_packed, whole_lines
from dpopt.private.readers.text_kernels import numbers_of_fields

RUNS = TextForm(" ,\t", runs=True, quotes=False)
COMMAS = TextForm()


def lines_of(text: bytes, form: TextForm, size: int | None = None) -> list[list[bytes] | None]:
    """Return the fields of each record as the reader divides it, None where it is bad."""
    found: list[list[bytes] | None] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(text)
        for fields in fields_of(path, form, packed=False, size=size):
            texts = fields.arrow().to_pylist()
            assert fields.before == len(found) or form.multiline
            for record, bad in enumerate(fields.bad.tolist()):
                found.append(None if bad else texts[fields.firsts[record] : fields.firsts[record + 1]])
    return found


@given(st.text("ab ,\t\r\n", max_size=60))
@settings(max_examples=150, deadline=None)
def test_runs_of_separators_divide_like_split(text: str) -> None:
    lines = text.split("\n")
    expected = [line.replace(",", " ").replace("\t", " ").split(" ") for line in (lines if lines[-1] else lines[:-1])]
    stripped = [[field.strip("\r") for field in line] for line in expected]
    inside = any("\r" in field.strip("\r") for line in expected for field in line)
    if not inside:
        assert lines_of(text.encode(), RUNS) == [[f.encode() for f in line if f] for line in stripped]


@given(st.lists(st.lists(st.text('ab ",', max_size=4), min_size=1, max_size=4), max_size=6))
@settings(max_examples=150, deadline=None)
def test_what_the_csv_module_writes_is_divided_into_the_same_fields(table: list[list[str]]) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([[field.strip() for field in row] for row in table])
    expected = [[field.strip().encode() for field in row] for row in table]
    found = lines_of(stream.getvalue().encode(), COMMAS)
    # An empty line has no field; csv writes a single empty field in quotes, which is one.
    assert found == expected


@pytest.mark.parametrize("text", ['a,"b\n', 'a,"b"c\n', '"', '"a""\n', 'a,"b'])
def test_a_quote_that_is_not_closed_in_its_line_spoils_that_line_alone(text: str) -> None:
    whole = f"x,y\n{text}" + ("" if text.endswith("\n") else "\n") + "z,w\n"
    assert lines_of(whole.encode(), COMMAS) == [[b"x", b"y"], None, [b"z", b"w"]]


def test_a_quote_inside_of_a_field_is_a_plain_sign() -> None:
    assert lines_of(b'a"b,c""\n', COMMAS) == [[b'a"b', b'c""']]
    assert lines_of(b'"a\n', replace(COMMAS, quotes=False)) == [[b'"a']]


def test_values_hold_line_ends_where_that_is_declared() -> None:
    form = replace(COMMAS, multiline=True)
    text = b'a,"b\r\nc"\n"x"y\n"\n""\n",d\n'
    assert lines_of(text, form) == [[b"a", b"b\r\nc"], None, [b'\n"\n', b"d"]]
    for size in (1, 3, 4, 7):
        assert lines_of(text, form, size=size) == lines_of(text, form)
    with pytest.raises(PrivateDataError, match="line 3: a value in quotes is not closed"):
        lines_of(b'a\nb\n"c\nd\n', form)


def test_a_byte_order_mark_is_left_out_at_the_begin_of_every_line() -> None:
    mark = b"\xef\xbb\xbf"
    assert lines_of(mark + b'"a",b\n' + mark + b"c,d" + mark + b"\n" + mark, COMMAS) == [
        [b"a", b"b"],
        [b"c", b"d" + mark],
        [],
    ]


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", [None, [b"\xc3\xa9"], [b"a"]]),
        ("cp1252", [["é".encode()], ["Ã©".encode()], [b"a"]]),
        ("iso8859-7", [["ι".encode()], ["Γ©".encode()], [b"a"]]),
        ("ascii", [None, None, [b"a"]]),
    ],
)
def test_what_is_no_text_of_the_encoding_spoils_its_line(encoding: str, expected: list[list[bytes] | None]) -> None:
    assert lines_of(b"\xe9\n\xc3\xa9\na\n", replace(COMMAS, encoding=encoding)) == expected
    assert lines_of(b"\x81", replace(COMMAS, encoding="cp1252")) == [None]


def test_lines_that_begin_with_a_sign_of_comments_hold_nothing() -> None:
    form = replace(RUNS, comments="#%")
    assert lines_of(b'#a b\r\n %\na #b\n"c" # "\n#', form) == [[], [], [b"a", b"#b"], [b'"c"', b"#", b'"'], []]


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_whole_whatever_the_blocks_are(tmp_path: Path, packed: bool) -> None:
    text = b"\xef\xbb\xbf1 2 3\n\n44 5\r\n" + b"6 " * 40 + b"\n7"
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(text) if packed else text)
    for size in (5, 7, 13, 64, 1000):
        assert b"".join(block or b"" for block in whole_lines(path, packed=packed, size=size)) == text + b"\n"
    for size in (5, 1000):
        expected = [[b"1", b"2", b"3"], [], [b"44", b"5"], [b"6"] * 40, [b"7"]]
        assert lines_of(text, RUNS, size=size) == expected


def test_a_torn_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"1 2\n" * 1000)[:-9])
    with pytest.raises(PrivateDataError, match="text is a damaged or incomplete gzip file"):
        list(whole_lines(path, packed=True))


def test_a_first_record_does_not_make_a_file_packed(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\x1f\x8b")
    assert is_packed(tmp_path / "text", public_start=True)
    assert not is_packed(tmp_path / "text", public_start=False)
    assert is_packed(tmp_path / "text.GZ", public_start=False)


@pytest.mark.parametrize("size", [3, 7, 20, 21, 22])
def test_a_line_beyond_every_measure_is_one_bad_record(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fields, "LONGEST_LINE", 20)
    long, longer = b"x" * 20, b"y" * 21
    expected = [[b"a"], [long], None, [b"b"], None]
    assert lines_of(b"\n".join([b"a", long, longer, b"b", longer * 3]), RUNS, size=size) == expected
    assert lines_of(b"\n".join([b"a", long, longer, b"b", longer * 3, b""]), RUNS, size=size) == expected


@given(
    st.lists(st.text("0123456789-+. a", max_size=21), min_size=1, max_size=20), st.integers(0, 3), st.integers(1, 200)
)
@settings(max_examples=100, deadline=None)
def test_numbers_are_digits_within_the_declared_range(texts: list[str], first: int, width: int) -> None:
    data = np.frombuffer("".join(texts).encode() + b"!", dtype=np.uint8)[:-1].copy()
    ends = np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int32)
    expected = [
        int(text) - first if text.isascii() and text.isdigit() and first <= int(text) < first + width else -1
        for text in texts
    ]
    assert numbers_of_fields(data, ends, first, width).tolist() == expected

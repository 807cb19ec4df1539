"""Fields of lines: against plain Python, and block by block."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError
from dpopt.private.binary import text_blocks
from dpopt.private.binary.fields import Separation, fields_of
from dpopt.private.binary.text_blocks import first_line, whole_lines
from dpopt.private.binary.text_kernels import numbers_of_fields

RUNS = Separation(" ,\t", runs=True)
COMMAS = Separation(",", runs=False, quotes=True)


def lines_of(text: bytes, separation: Separation) -> list[list[bytes]]:
    """Return the fields of each line as the reader divides it."""
    found: list[list[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(text)
        for fields in fields_of(path, separation):
            texts = iter(fields.arrow().to_pylist())
            assert fields.before == len(found)
            found += [[next(texts) for _ in range(count)] for count in fields.counts.tolist()]
    return found


@given(st.text("ab ,\t\r\n", max_size=60))
@settings(max_examples=150, deadline=None)
def test_runs_of_separators_divide_like_split(text: str) -> None:
    lines = text.split("\n")
    expected = [
        line.replace(",", " ").replace("\t", " ").split(" ") for line in (lines if lines[-1] else lines[:-1])
    ]
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


@pytest.mark.parametrize("text", ['a,"b\nc"\n', 'a,"b"c\n', '"', 'x\n"a""\n', 'a,"b'])
def test_a_quote_that_is_not_closed_in_its_line_is_refused(text: str) -> None:
    with pytest.raises(PrivateDataError, match=f"line {2 if text[0] == 'x' else 1}: a field in quotes"):
        lines_of(text.encode(), COMMAS)


def test_a_quote_inside_of_a_field_is_a_plain_sign() -> None:
    assert lines_of(b'a"b,c""\n', COMMAS) == [[b'a"b', b'c""']]


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_whole_whatever_the_blocks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    text = b"\xef\xbb\xbf1 2 3\n\n44 5\r\n" + b"6 " * 40 + b"\n7"
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(text) if packed else text)
    expected = [[b"1", b"2", b"3"], [], [b"44", b"5"], [b"6"] * 40, [b"7"]]
    for size in (5, 7, 13, 64, 1000):
        monkeypatch.setattr(text_blocks, "_BLOCK_BYTES", size)
        assert b"".join(block.tobytes() for block in whole_lines(path)) == text[3:] + b"\n"
        found: list[list[bytes]] = []
        for fields in fields_of(path, RUNS):
            texts = iter(fields.arrow().to_pylist())
            found += [[next(texts) for _ in range(count)] for count in fields.counts.tolist()]
        assert found == expected
    assert first_line(path) == "1 2 3"


def test_a_torn_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"1 2\n" * 1000)[:-9])
    with pytest.raises(PrivateDataError, match="text is a damaged or incomplete gzip file"):
        list(whole_lines(path))
    path.write_bytes(gzip.compress(b"1 2\n" * 1000)[:14])
    with pytest.raises(PrivateDataError, match="damaged or incomplete"):
        first_line(path)


def test_a_line_beyond_every_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_blocks, "_LONGEST_LINE", 50)
    monkeypatch.setattr(text_blocks, "_BLOCK_BYTES", 20)
    path = tmp_path / "text"
    path.write_bytes(b"1 " * 200)
    with pytest.raises(PrivateDataError, match="a line of more than 1 GiB"):
        list(whole_lines(path))


@given(
    st.lists(st.text("0123456789-+. a", max_size=21), min_size=1, max_size=20),
    st.integers(0, 3),
    st.integers(1, 200),
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

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TranscriptError
from dpopt.queries.counting.binary_columns import WIDE, BitRecords
from dpopt.releases.kept_records import codes_of, kept, record_from_json, record_to_json

NARROW = np.array([3, 2, 1, 4], dtype=np.int32)
WIDTHS = st.integers(WIDE, WIDE + 20)


def bits(width: int, share: float, seed: int) -> NDArray[np.int32]:
    return (np.random.default_rng(seed).random(width) < share).astype(np.int32)


def two(width: int) -> NDArray[np.int32]:
    return np.full(width, 2, dtype=np.int32)


@given(WIDTHS, st.sampled_from([0.0, 0.01, 0.05, 0.12, 0.15, 0.2, 0.5, 1.0]), st.integers(0, 2**32 - 1))
def test_a_wide_record_is_written_in_the_shorter_form_and_read_back(width: int, share: float, seed: int) -> None:
    record = bits(width, share, seed)
    held = kept(record, two(width))
    assert isinstance(held, BitRecords)
    assert np.array_equal(codes_of(held), record)
    written = json.loads(json.dumps(record_to_json(held)))
    ones = {"columns": width, "ones": np.flatnonzero(record).tolist()}
    text = json.dumps(written, separators=(",", ":"))
    assert len(text) <= min(len(json.dumps(ones, separators=(",", ":"))), 40 + width / 6)
    again = record_from_json(written, two(width))
    assert isinstance(again, BitRecords)
    assert np.array_equal(codes_of(again), record)
    assert record_to_json(again) == written


def test_both_forms_occur_and_a_list_of_codes_is_read_as_well() -> None:
    """Folders written before records were kept as bits hold lists."""
    few, many = bits(WIDE, 0.01, 1), bits(WIDE, 0.5, 1)
    assert set(json.loads(json.dumps(record_to_json(kept(few, two(WIDE)))))) == {"columns", "ones"}
    assert set(json.loads(json.dumps(record_to_json(kept(many, two(WIDE)))))) == {"columns", "bits"}
    old = record_from_json(many.tolist(), two(WIDE))
    assert isinstance(old, BitRecords)
    assert np.array_equal(codes_of(old), many)


def test_a_record_of_half_a_million_columns_takes_less_than_90_kilobytes() -> None:
    held = kept(bits(512_000, 0.5, 0), two(512_000))
    assert len(json.dumps(record_to_json(held))) < 90_000
    assert isinstance(held, BitRecords)
    assert held.octets.nbytes == 64_000


def test_a_narrow_record_is_kept_and_written_code_by_code() -> None:
    record = np.array([2, 1, 0, 3], dtype=np.int32)
    held = kept(record, NARROW)
    assert record_to_json(held) == [2, 1, 0, 3]
    assert codes_of(held) is held
    record[0] = 1
    assert codes_of(held).tolist() == [2, 1, 0, 3]
    with pytest.raises(ValueError, match="read-only"):
        codes_of(held)[0] = 1


def test_the_form_of_bits_is_read_for_narrow_records_too() -> None:
    sizes = np.array([2, 3, 1, 2], dtype=np.int32)
    for written in ({"columns": 4, "ones": [0, 3]}, {"columns": 4, "bits": "kA=="}):
        assert codes_of(record_from_json(written, sizes)).tolist() == [1, 0, 0, 1]
    with pytest.raises(TranscriptError, match="does not fit the schema"):
        record_from_json({"columns": 4, "ones": [2]}, sizes)


@pytest.mark.parametrize(
    "written",
    [
        *({"columns": columns, "ones": []} for columns in (11, 10**15, True, 10.0)),
        *(
            {"columns": 10, "ones": ones}
            for ones in ([1, 10], [-1], [10**30], [3, 3], [3, 2], [True], [1.0], "AAA=", None)
        ),
        *({"columns": 10, "bits": bits} for bits in (5, "A", "AA A=", "AAé=", "", "AA==", "AAAA", "ACA=", "AAB=")),
        {"columns": 10},
        {"ones": []},
        {"columns": 10, "ones": [], "bits": "AAA="},
        {"columns": 10, "ones": [], "more": 1},
        "AAA=",
        *([0] * 9 + more for more in ([], [2], [-1], [2**40], [True], [0.0])),
    ],
)
def test_a_damaged_record_is_refused(written: object) -> None:
    assert codes_of(record_from_json({"columns": 10, "bits": "AEA="}, two(10))).tolist() == [0] * 9 + [1]
    with pytest.raises(TranscriptError, match="the record on file does not fit the schema, or is damaged"):
        record_from_json(written, two(10))

from __future__ import annotations

from pathlib import Path

import pytest

from dpopt.errors import SchemaError
from dpopt.files import json_files
from dpopt.files.json_files import canonical_json, parse_json, read_json_object, shown, write_json_object


def read(path: Path, content: bytes) -> dict[str, object]:
    path.write_bytes(content)
    return read_json_object(path, "schema", SchemaError)


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": [1.5, True], "a": "é"}) == b'{"a":"\\u00e9","b":[1.5,true]}'


def test_an_object_is_read_with_and_without_byte_order_mark(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", b'{"a": 1}') == {"a": 1}
    assert read(tmp_path / "a.json", b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
    assert read(tmp_path / "a.json", b'{"a":' * 250 + b"0" + b"}" * 250)
    assert read(tmp_path / "a.json", b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1, "a": 2}', "occurs 2 times in one object"),
        (b'{"b": {"a": 1, "a": 2}}', "occurs 2 times in one object"),
        (b'{"a": 1,}', "is not JSON: line 1, column"),
        (b"", "is not JSON: line 1, column 1"),
        (b"[1]", r"expected a JSON object \{...\}, found \[1\]"),
        (b'{"a": "\xff"}', "cannot be read: it is not UTF-8 text"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"a":' * 251 + b"0" + b"}" * 251, "is nested too deeply"),
        (b'{"a": NaN}', "holds NaN"),
        (b'{"a": -Infinity}', "holds -Infinity"),
        (b'{"a": 1e999}', "beyond all"),
        (b'{"a": 1' + b"0" * 400 + b"}", "of 401 digits"),
        (b'{"a": "\\ud800"}', "half a surrogate pair"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": "\0"}', "holds a NUL"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(tmp_path / "a.json", content)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"schema file '.*a\.json' cannot be read: No such file"):
        read_json_object(tmp_path / "a.json", "schema", SchemaError)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_json_object(tmp_path / "a.json", {"ä": [1, 0.1, None]})
    assert read_json_object(tmp_path / "a.json", "schema", SchemaError) == {"ä": [1, 0.1, None]}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_json_object(tmp_path / "a.json", {"a": 1})
    with pytest.raises(ValueError, match="surrogates not allowed"):
        write_json_object(tmp_path / "a.json", {"a": "\ud800"})
    assert read_json_object(tmp_path / "a.json", "schema", SchemaError) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_long_values_are_shown_shortened() -> None:
    assert shown(list(range(100))).endswith("...")
    assert len(shown("x" * 500)) == 60


def test_a_text_of_too_many_keys_or_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MOST_KEYS", 3)
    monkeypatch.setattr(json_files, "MOST_LISTS", 5)
    monkeypatch.setattr(json_files, "MOST_VALUES", 8)
    assert parse_json('{"a": 1, "b": 2, "c": 3}', "it", SchemaError)
    for text, message in (
        ('{"a": 1, "b": 2, "c": 3, "d": 4}', "4 keys"),
        ("[[],[],[],[],[]]", "5 lists"),
        ("[1,2,3,4,5,6,7,8,9,10]", "8 values"),
    ):
        with pytest.raises(SchemaError, match=message):
            parse_json(text, "it", SchemaError)

"""Whatever a draft declares is shown wherever its owner confirms it: on the page, in the shell, in the studio, in notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the studio's libraries are not installed: pip install 'dpopt[studio]'")

import dpopt
from dpopt.private.drafts.infer_schema import ColumnReview, SchemaDraft
from dpopt.schema import schema as declarations
from dpopt.studio.application import Studio
from dpopt.studio.tables import Table
from tests.cli.command_line import succeed
from tests.studio.test_studio import entered

WRITTEN_OTHERWISE = {"bins", "range"}  # a file is written with edges
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "height", "type": "numeric", "edges": [0, 10, 20], "decimals": 6, "missing": "NA", "other": 5, "arrow": "float",
     "representatives": [3, 13], "occurring": [0, "NA"]},
    {"name": "day", "type": "date", "format": "%d-%m-%Y", "edges": ["01-01-2020", "01-02-2020"], "missing": "",
     "representatives": ["02-01-2020"], "other": "02-01-2020"},
    {"name": "stay", "type": "numeric", "edges": [0, 7, 30], "integer": True, "after": "day", "unit": "days",
     "missing": ""},
    {"name": "code", "type": "categorical", "values": ["A1", "B2"], "ordered": True, "prefix": 2, "missing": "?",
     "other": "A1"},
    {"name": "zip", "type": "categorical", "values": ["01", "90"], "prefix": 2, "digits": 5},
    {"name": "waited", "type": "duration", "unit": "minutes", "edges": [0, 60, 240]},
    {"name": "sex", "type": "boolean", "false": "f", "true": "m", "missing": "?", "other": "f"},
]  # fmt: skip
"""Columns that declare every key."""
READING = dict.fromkeys(declarations.READING_KEYS, True) | {
    "separator": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252",
}  # fmt: skip
SCHEMA = dpopt.Schema.from_json({"dpopt_schema": 1, "draft": True, "attributes": ATTRIBUTES, "reading": READING})
DRAFT = SchemaDraft(
    SCHEMA,
    tuple(ColumnReview(one["name"], one["type"], 2, 0, "", "", "") for one in ATTRIBUTES),
    rows=10,
    reading=tuple(f"{key}: {value!r}" for key, value in SCHEMA.reading),
)
KEYS = {key for keys in (*declarations._KEYS.values(), declarations._DATE_KEYS) for key in keys}


def text_of(page: str) -> str:
    """Return what a page shows, the values of fields among it."""
    fields = re.sub(r'<input type="checkbox" name="whole-\d+" value="yes" checked>', "integer: true", page)
    fields = re.sub(r'<input type="text"[^>]* name="missing-\d+" value="([^"]*)"[^>]*>', r"missing: \1 ", fields)
    return unescape(re.sub(r"<[^>]*>", " ", fields.replace("<br>", "\n")))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    running = Studio(tmp_path / "releases")
    yield running
    running.close()


def on_the_page_of_the_studio(studio: Studio, tmp_path: Path) -> str:
    studio.tables["one"] = Table("one", "people", tmp_path / "people.csv", tmp_path, DRAFT)
    return text_of(entered(studio).get("/tables/one/columns").text)


def in_the_shell(studio: Studio, tmp_path: Path) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dpopt.private.drafts.infer_schema.infer_schema", lambda *_, **__: DRAFT)
        (tmp_path / "people.csv").write_text("a\n1\n")
        return succeed("schema", "infer", tmp_path / "people.csv", "-o", tmp_path / "draft.json")


def in_the_check(studio: Studio, tmp_path: Path) -> str:
    DRAFT.write(tmp_path / "checked.json")
    return succeed("schema", "check", "--schema", tmp_path / "checked.json")


def on_the_page_of_the_draft(studio: Studio, tmp_path: Path) -> str:
    return text_of(DRAFT.to_html())


def test_the_columns_declare_every_key_that_a_schema_knows() -> None:
    """A key that is added has to be declared above, and is then looked for wherever a draft is confirmed."""
    written = {key for one in SCHEMA.to_json()["attributes"] for key in one}  # type: ignore[attr-defined]
    assert written == KEYS - WRITTEN_OTHERWISE
    assert dict(SCHEMA.reading).keys() == {*declarations.READING_KEYS}


@pytest.mark.parametrize("shown", [on_the_page_of_the_studio, on_the_page_of_the_draft, in_the_shell, in_the_check])
def test_every_key_of_a_draft_is_shown(shown: Callable[[Studio, Path], str], studio: Studio, tmp_path: Path) -> None:
    page = "".join(shown(studio, tmp_path).split())
    listed: Any = SCHEMA.to_json()["attributes"]
    for one in listed:
        assert one["name"] in page
        for key in one.keys() - {"name"}:
            values = one[key] if isinstance(one[key], list) else [one[key]]
            for value in values:
                plain = value if isinstance(value, str) and value else json.dumps(value)
                assert "".join(plain.split()) in page, (one["name"], key)
            has_own_field = shown is on_the_page_of_the_studio and key in {"edges", "values", "type", "ordered"}
            assert has_own_field or key == "type" or f"{key}:" in page, (one["name"], key)
    for key, value in SCHEMA.reading:
        assert f"{key}:{value!r}" in page


def drafted(values: list[Any], **given: Any) -> str:
    """Return what there is to check of one column."""
    draft = dpopt.infer_schema(pd.DataFrame({"x": pd.Series(values, **given)}))
    return "; ".join(draft.columns[0].check)


LENGTHS = [round(float(one), 1) for one in np.linspace(1, 200, 2_999)]


@pytest.mark.parametrize(
    ("usual", "odd", "said"),
    [
        (LENGTHS, 3.141593, 'fewer than 5 rows decide "decimals"'),
        ([int(one) for one in LENGTHS], 2.5, 'fewer than 5 rows decide "decimals", "integer"'),
        ([str(one) for one in LENGTHS], "3.141593", 'fewer than 5 rows decide "decimals"'),
        (LENGTHS, None, 'fewer than 5 rows decide "missing"'),
        ([str(one) for one in LENGTHS], "?", 'fewer than 5 rows decide "missing"'),
        (["no", "yes"] * 1500, "?", 'fewer than 5 rows decide "missing"'),
        (["no", "yes"] * 1500, "perhaps", 'fewer than 5 rows decide "type"'),
    ],
)
def test_a_key_that_few_rows_decide_has_a_note(usual: list[Any], odd: Any, said: str) -> None:
    for rows in (1, 4):
        assert said in drafted([*usual, *[odd] * rows])
    assert "fewer than 5 rows decide" not in drafted([*usual, *[odd] * 5])
    assert "fewer than 5 rows decide" not in drafted(usual)

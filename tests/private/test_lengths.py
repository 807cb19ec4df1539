"""Lengths after other columns: read as differences, written as sums, whatever a table is kept in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpopt
from dpopt.errors import PlanError, PrivateDataError, SchemaError
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.queries import parse_workload
from dpopt.releases.records import RowBlock
from dpopt.releases.table_output import records_tables
from dpopt.schema import Attribute, AttributeKind, Rule, Schema, compare, literal, ordered
from dpopt.schema.dates import Seconds
from tests.noises import fix_draws

NUMERIC = AttributeKind.NUMERIC
DATE = "%Y-%m-%d"
ADMITTED = Attribute(
    "admitted", NUMERIC, edges=("2024-01-01", "2024-07-01", "2025-01-01"), date_format=DATE, missing="?"  # type: ignore[arg-type]
)  # fmt: skip
LEFT = Attribute("left", NUMERIC, edges=(0, 1, 2, 7, 90), integer=True, missing="", after="admitted", unit="days")
SEEN = replace(LEFT, name="seen", edges=(0, 10, 400), representatives=(), after="left")
STAYS = Schema((SEEN, ADMITTED, LEFT))  # each after one that comes later in the table
ROWS = [
    ("2024-03-09", "2024-02-28", "2024-03-01"),  # a leap day: 2 days, then 8
    ("2024-12-31", "2024-12-31", "2024-12-31"),
    ("", "2024-01-05", "2024-01-12"),
    ("2024-05-01", "?", "2024-04-30"),  # a length that nobody knows
    ("2024-05-01", "2024-04-01", ""),
]
CODES = [(0, 0, 2), (0, 1, 0), (2, 0, 3), (0, 2, 4), (2, 0, 4)]


def frame(rows: Sequence[tuple[str, str, str]], *, typed: bool = False) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(STAYS.names))
    return pd.DataFrame({name: pd.to_datetime(table[name], errors="coerce") for name in table}) if typed else table


def codes(table: Any, schema: Schema = STAYS, **how: Any) -> list[tuple[int, ...]]:
    found = read_table(table, schema, TableReading(**how))
    return list(zip(*(column.tolist() for column in found._columns), strict=True))


def test_lengths_are_read_alike_from_texts_dates_and_files_by_every_engine(tmp_path: Path) -> None:
    frame(ROWS).to_csv(tmp_path / "t.csv", index=False)
    frame(ROWS).replace("?", None).to_parquet(tmp_path / "texts.parquet")
    frame(ROWS, typed=True).to_parquet(tmp_path / "dates.parquet")
    schema = Schema.from_json(STAYS.to_json())
    assert schema == STAYS
    paths = [tmp_path / name for name in ("t.csv", "texts.parquet", "dates.parquet")]
    for table in (frame(ROWS), frame(ROWS, typed=True), frame(ROWS).astype("category"), *paths):
        assert codes(table, schema) == CODES
    marginals = parse_workload("marginals:1", schema).marginals
    assert marginals is not None
    for path in paths:
        counts = StreamedTable.open(path, schema)._count(marginals.take(np.array([2])), threads=1, progress=None)
        assert counts.tolist() == np.bincount([one[2] for one in CODES], minlength=LEFT.size).tolist()


def test_numbers_have_lengths_whatever_the_decimal_mark(tmp_path: Path) -> None:
    net = Attribute("net", NUMERIC, edges=(0, 1000))
    tax = Attribute("gross", NUMERIC, edges=(0, 0.2, 500), after="net")
    (tmp_path / "t.csv").write_text("net;gross\n0,1;0,3\n1.000;1.000,1\n")
    how = {"separator": ";", "decimal": ",", "thousands": "."}
    assert codes(tmp_path / "t.csv", Schema((net, tax)), **how) == [(0, 1), (0, 0)]
    huge = pd.DataFrame({"net": [1.0, -1e308], "gross": [1.0, 1e308]})
    assert codes(huge, Schema((net, tax)), on_invalid=OnInvalid.CLIP | OnInvalid.DROP) == [(0, 0), (0, 1)]
    small = Schema((net, replace(tax, edges=(0, 3e-10, 1), representatives=())))
    assert codes(pd.DataFrame({"net": [1e-10, 0.0], "gross": [4.5e-10, 2e-10]}), small) == [(0, 1), (0, 0)]


def test_a_length_like_the_missing_text_is_none_that_is_missing() -> None:
    start = Attribute("start", NUMERIC, edges=(0, 9), missing="-7")
    end = Attribute("end", NUMERIC, edges=(0, 5, 9), missing="-7", after="start")
    rows = pd.DataFrame({"start": ["8", "1", "-7"], "end": ["1", "-7", "1"]})
    assert codes(rows, Schema((start, end)), on_invalid=OnInvalid.CLIP) == [(0, 0), (0, 2), (1, 2)]


def test_a_sum_is_never_rounded_below_its_start() -> None:
    start = Attribute("start", NUMERIC, edges=(0, 0.25), decimals=1)
    end = Attribute("end", NUMERIC, edges=(0, 0.002), decimals=1, after="start")
    both = Schema((start, end))
    record, drawn = np.zeros((1, 2), dtype=np.int32), {0: np.array([0.1]), 1: np.array([0.2])}
    stated, summed = records_tables(both, [RowBlock(record), RowBlock(record, numbers=drawn)], None)
    (row,) = stated.to_pylist()
    assert row["start"] == 0.125 <= row["end"]
    assert summed.to_pylist() == [{"start": 0.1, "end": 0.3}]


def test_what_is_no_length_is_said_or_becomes_what_the_reading_says() -> None:
    bad = [("2024-01-09", "2024-01-05", "2024-01-03"), ("2024-01-09", "2024-01-05", "5"), ROWS[1]]
    with pytest.raises(PrivateDataError) as refusal:
        codes(frame(bad))
    for words in (
        "row 1: -2 lies outside [0, 90]",
        "row 2: '5' is not a date in the form %Y-%m-%d",
        "expected: a whole number of days after 'admitted' in [0, 90]; missing: an empty cell",
    ):
        assert words in str(refusal.value)
    assert codes(frame(bad), on_invalid=OnInvalid.DROP) == [CODES[1]]
    assert [one[2] for one in codes(frame(bad), on_invalid=OnInvalid.OTHER)] == [4, 4, 0]
    assert [one[2] for one in codes(frame([bad[0]]), on_invalid=OnInvalid.CLIP)] == [0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"after": "nobody"}, "which is not an attribute"),
        ({"after": "left"}, "count from each other"),
        ({"after": "ward"}, "only numbers and dates"),
        ({"after": "beds", "missing": None}, "leave the unit out"),
        ({"unit": None}, "needs its 'unit'"),
        ({"unit": "weeks"}, "out of days, hours, minutes, seconds"),
        ({"integer": False}, "are whole days: declare 'integer'"),
        ({"missing": None}, "declare 'missing' here too"),
        ({"after": "month"}, "name no days"),
        ({"after": "beds", "unit": None, "missing": "95"}, "the missing text '95' is also a sum"),
        ({"missing": "2025-02-01"}, "is also a sum with 'admitted'"),
        ({"after": "beds", "unit": None, "edges": (0, 1e308), "integer": False}, "declare smaller edges"),
        ({"date_format": DATE, "edges": ("2024-01-01", "2025-01-01")}, "its edges are numbers"),
    ],
)
def test_lengths_that_cannot_be_are_refused(changes: dict[str, Any], words: str) -> None:
    others = (
        Attribute("ward", AttributeKind.CATEGORICAL, ("a", "b")),
        Attribute("beds", NUMERIC, edges=(0, 1e308 if "edges" in changes else 9)),
        Attribute("month", NUMERIC, edges=("2024-01", "2025-01"), date_format="%Y-%m"),  # type: ignore[arg-type]
    )
    with pytest.raises(SchemaError, match=words):
        Schema((ADMITTED, replace(LEFT, representatives=(), **changes), *others))


def test_rules_see_the_length() -> None:
    longer = compare("left", "<=", "seen", by="representative")
    for form in (ordered(["admitted", "left"], by="representative"), longer):
        with pytest.raises(SchemaError, match="holds by that declaration: no rule needs to say it"):
            Schema(STAYS.attributes, rules=(Rule(form),))
    both = (ADMITTED, LEFT, replace(SEEN, after="admitted"))
    found = Schema(both, rules=(Rule(literal("left", ">=", 1)), Rule(longer)))
    assert found.circuit().broken(np.array([[0, 0, 0], [0, 2, 1]], dtype=np.int32)).any(axis=1).tolist() == [
        True,
        False,
    ]
    with pytest.raises(PlanError, match="names nobody"):
        codes(frame(ROWS), person="left", rows_per_person=1, on_invalid=OnInvalid.DROP)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_written_rows_are_in_order_and_read_back_to_the_same_codes(random: Any) -> None:
    rng = np.random.default_rng(random.randrange(2**32))
    moment = Attribute("p", NUMERIC, edges=(Seconds(1.7e9), Seconds(1.8e9)), date_format="%Y-%m-%d %H:%M")
    ride = Attribute("q", NUMERIC, edges=(0, 0.5, 1, 30), after="p", unit="hours")
    number = Attribute("x", NUMERIC, edges=(-5, 5))
    more = Attribute("y", NUMERIC, edges=(0, 1, 2), after="x")
    schema = Schema((*STAYS.attributes, ride, moment, more, number))
    records = rng.integers(0, schema.sizes, (50, len(schema)), dtype=np.int32)
    records[records[:, 1] == ADMITTED.missing_code, 2] = 4
    records[records[:, 2] == LEFT.missing_code, 0] = 2
    numbers = {}
    for place, one in enumerate(schema.attributes):
        low, high = np.array([*pairwise(one.edges), *[(np.nan, np.nan)] * (one.missing is not None)]).T
        drawn = (low + (high - low) * rng.random(low.size))[records[:, place]]
        if place not in {1, 5}:  # some stay at the numbers of their bins
            numbers[place] = np.floor(drawn) if one.integer else drawn
    table = next(records_tables(schema, [RowBlock(records, numbers=numbers)], None)).to_pandas()
    assert codes(table, schema) == list(map(tuple, records.tolist()))
    for before, after in (("admitted", "left"), ("left", "seen"), ("p", "q"), ("x", "y")):
        both = table[[before, after]].dropna()
        assert (both[before] <= both[after]).all()


def test_a_release_keeps_lengths_and_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fix_draws(monkeypatch, 1)
    rng = np.random.default_rng(3)
    since = np.datetime64("2024-01-01") + rng.integers(0, 300, 3000)
    days = np.minimum(rng.geometric(0.2, 3000) - 1, 30)
    table = pd.DataFrame({"left": (since + days).astype(str), "admitted": since.astype(str)})
    draft = dpopt.infer_schema(table)
    assert [(one.name, one.type) for one in draft.columns] == [("left", "length"), ("admitted", "date")]
    assert draft.schema.attributes[0].edges[:6] == (0, 1, 2, 3, 4, 5)
    how: dict[str, Any] = {"epsilon": 20, "n0": 3000, "predict": False, "algorithm": "projection"}
    made = dpopt.release(table, draft.reviewed(), "marginals:2", out=tmp_path / "out", **how)
    found = pd.read_csv(tmp_path / "out" / "synthetic.csv")
    assert list(found.columns) == list(table.columns)
    own = (pd.to_datetime(found.left) - pd.to_datetime(found.admitted)).dt.days
    assert own.min() >= 0
    assert abs(own.mean() / days.mean() - 1) < 0.03  # ten times what eight releases differed by
    assert abs(np.quantile(own, [0.25, 0.5, 0.75]) - np.quantile(days, [0.25, 0.5, 0.75])).max() <= 1
    judged = dpopt.evaluate(tmp_path / "out", table).columns["left (days after admitted)"]
    assert [judged[side]["mean"] for side in ("real", "synthetic")] == pytest.approx([days.mean(), own.mean()])
    assert made.numbers()["left"][0].min() > 1.7e9  # seconds of the date itself
    counted = dpopt.histogram(table, draft.reviewed(), "left", epsilon=20)
    assert counted.answer("0:1").value == pytest.approx((days == 0).sum(), abs=20)

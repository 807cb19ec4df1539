from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import SchemaError
from dpopt.private.evaluation import broken_rules as rule_report
from dpopt.private.evaluation.broken_rules import broken_rows
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema import Rule, Schema, implies, literal
from dpopt.schema.rules.threshold_circuit import NO_RULES
from tests.schema.rules.rule_examples import FORMS, RECORDS, decoded, obeys, schema_with
from tests.source_code import ROOT

SCHEMAS = ROOT / "experiments" / "schemas"
REAL = {
    "adult-rules.json": ("adult/adult-train.csv.gz", "adult/adult-test.csv.gz"),
    "nist-acs-rules.json": ("constrained/nist-acs-national2019.csv.gz",),
    "tic-tac-toe.json": ("constrained/tic-tac-toe.csv.gz",),
}


@given(st.lists(FORMS, min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_broken_rows_are_counted_one_by_one_in_blocks_of_any_size(forms, rows, seed) -> None:  # type: ignore[no-untyped-def]
    records = np.random.default_rng(seed).choice(RECORDS, rows)
    schema = schema_with(*(Rule(form, f"rule {number}") for number, form in enumerate(forms)))
    dataset = PrivateDataset.from_codes(schema, list(records.T))
    wrong = np.array([[not obeys(form, decoded(record)) for form in forms] for record in records])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_report, "_BLOCK_BYTES", 500)
        report = broken_rows(dataset, schema.circuit())
    assert report == broken_rows(dataset, schema.circuit())
    assert report.names == schema.circuit().names
    assert report.broken == tuple(wrong.sum(axis=0).tolist())
    assert report.rows == rows
    assert report.rows_breaking_any == wrong.any(axis=1).sum()
    first = [int(np.argmax(column)) + 1 if column.any() else None for column in wrong.T]
    assert report.first_rows == tuple(first)


def test_the_first_row_is_counted_from_the_start_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_report, "_BLOCK_BYTES", 500)
    records = np.zeros((300, RECORDS.shape[1]), dtype=np.int32)
    records[[199, 250, 299], 0] = 1
    schema = schema_with(Rule(literal("colour", "=", "red")), Rule(literal("colour", "!=", 3)))
    report = broken_rows(PrivateDataset.from_codes(schema, list(records.T)), schema.circuit())
    assert (report.broken, report.first_rows, report.rows_breaking_any) == ((3, 0), (200, None), 3)


def test_without_rules_no_row_breaks_any() -> None:
    report = broken_rows(PrivateDataset.from_codes(schema_with(), list(RECORDS.T)), NO_RULES)
    assert (report.names, report.broken, report.rows_breaking_any) == ((), (), 0)
    assert report.rows == len(RECORDS)


def test_rules_of_another_schema_are_refused() -> None:
    other = Schema(schema_with().attributes[::-1], rules=(Rule(literal("colour", "=", "red")),))
    with pytest.raises(SchemaError, match="codes"):
        broken_rows(PrivateDataset.from_codes(schema_with(), list(RECORDS.T)), other.circuit())


@pytest.mark.parametrize("name", sorted(REAL))
def test_published_tables_obey_their_declared_rules(name: str, data_folder: Path) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("the experiments are not part of this copy")
    schema = Schema.read(SCHEMAS / name)
    assert len(schema.rules) >= 5
    for table in REAL[name]:
        report = broken_rows(read_table(data_folder / table, schema), schema.circuit())
        assert dict(zip(report.names, report.broken, strict=True)) == dict.fromkeys(report.names, 0)
        assert report.rows_breaking_any == 0


def test_the_near_misses_of_adult_are_found(data_folder: Path) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("the experiments are not part of this copy")
    schema = Schema.read(SCHEMAS / "adult-rules.json")
    near = tuple(
        Rule(implies(literal("relationship", "=", who), literal("sex", "=", sex)), who)
        for who, sex in (("Husband", "Male"), ("Wife", "Female"))
    )
    schema = replace(schema, rules=(*schema.rules, *near))
    broken = np.zeros(len(schema.rules), dtype=np.int64)
    for table in REAL["adult-rules.json"]:
        broken += broken_rows(read_table(data_folder / table, schema), schema.circuit()).broken
    assert broken.tolist() == [0] * 6 + [1, 3]

"""Dates in the studio's fields: edges and rules are read in the column's form, and numbers refused with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from dpopt.errors import SchemaError
from dpopt.studio.forms import ColumnForm
from dpopt.studio.tables import Table


def test_fields_for_edges_and_rules_take_dates(tmp_path: Path) -> None:
    days = pd.date_range("2023-01-01", periods=400).strftime("%d.%m.%Y")
    pd.DataFrame({"day": days, "smoker": ["yes", "no"] * 200}).to_csv(tmp_path / "t.csv", index=False)
    table = Table.opened(tmp_path / "t.csv", "t", tmp_path)
    columns = table.columns()
    typed = "01.01.2023\n01.07.2023\n01.01.2025"
    (place,) = [number for number, one in enumerate(columns) if one.name == "day"]
    for codes in ("19358\n20089", "2023-01-01\n2025-01-01"):
        with pytest.raises(SchemaError, match="is not a date in the form '%d.%m.%Y', such as '31.01.2024'"):
            table.review([_typed(one, codes) if one.name == "day" else one for one in columns], table.generation)
    table.review([_typed(one, typed) if one.name == "day" else one for one in columns], table.generation)
    assert table.columns()[place].codes == typed
    for limit in ("1688169600", '"2023-07-01"'):
        with pytest.raises(SchemaError, match="is not a date in the form '%d.%m.%Y'"):
            table.rule(f'{{"require": ["day", ">=", {limit}]}}', table.generation)
    table.rule('{"require": ["day", ">=", "01.07.2023"]}', table.generation)
    assert table.schema is not None
    assert table.schema.circuit().names == ("day >= 01.07.2023",)


def _typed(column: ColumnForm, codes: str) -> ColumnForm:
    return replace(column, codes=codes)

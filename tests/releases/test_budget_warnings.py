"""Every release warns of a budget that protects hardly at all: once, before it draws, and in what it leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 80)),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
    )
)
TABLE = pd.DataFrame({"age": range(60), "smoker": [True, False] * 30})
RELEASES: dict[str, Callable[[Path, dict[str, Any]], object]] = {
    "records": lambda _, asked: dpopt.release(TABLE, SCHEMA, "marginals:1", n0=60, predict=False, **asked),
    "plan": lambda _, asked: dpopt.plan(SCHEMA, "marginals:1", n0=60, predict=False, **asked),
    "histogram": lambda _, asked: dpopt.histogram(TABLE, SCHEMA, "age", **asked),
    "grid": lambda _, asked: dpopt.grid(TABLE, SCHEMA, ("age", "smoker"), **asked),
    "sorted": lambda _, asked: dpopt.sorted_counts(TABLE, SCHEMA, "age", **asked),
    "count": lambda _, asked: dpopt.count(TABLE, SCHEMA, "age >= 20", most=4, **asked),
    "prefixes": lambda folder, asked: dpopt.prefixes(TABLE, SCHEMA, "age", steps=1, out=folder / "p.jsonl", **asked),
    "intervals": lambda _, asked: dpopt.intervals(TABLE, SCHEMA, "age", n0=60, **asked),
    "summary": lambda _, asked: dpopt.summary(TABLE, SCHEMA, 1, n0=60, **asked),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"epsilon": 1.0, "delta": 0.999}, "delta = 0.999 is not below 1/n"),
        ({"epsilon": 100.0}, "promises next to nothing"),
    ],
)
def test_a_weak_guarantee_is_warned_of_once(name: str, asked: dict[str, Any], told: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        released = RELEASES[name](tmp_path, asked)
    kinds = [one.category for one in found if told in str(one.message)]
    assert kinds == [dpopt.errors.PrivacyWarning]
    if "delta" in asked and name != "plan":
        assert "delta not below 1/n" in repr(released)


@pytest.mark.parametrize("name", RELEASES)
def test_a_usual_budget_is_not_warned_of(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpopt.errors.PrivacyWarning)
        assert "1/n" not in repr(RELEASES[name](tmp_path, {"epsilon": 1.0}))

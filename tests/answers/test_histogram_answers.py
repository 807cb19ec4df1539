"""Histograms answer questions as releases do: by the covariances of all bins, in Python and from the shell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import QuestionError
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.release_answers import Answering
from tests.cli.command_line import flat, refuse, told

AGES = np.repeat([5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0], [900, 300, 500, 200, 800, 100, 400])
AGE = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 80, 10)), missing="")
TABLE, SCHEMA = pd.DataFrame({"age": [*AGES, *[None] * 50]}), dpopt.Schema((AGE,))
TRUTH = {
    "count": 3250,
    "count where 20 <= age < 40": 700,
    "count where age < 10 or age >= 60": 1300,
    "count where age is missing": 50,
    "share of age < 20": 1200 / 3200,
    "mean(age)": float(AGES.mean()),
    "mean(age) where age >= 30 - mean(age) where age < 30": float(AGES[AGES > 30].mean() - AGES[AGES < 30].mean()),
}


def released(**how: Any) -> Histogram:
    return dpopt.histogram(TABLE, SCHEMA, "age", **(how or {"epsilon": 1}))


@pytest.mark.parametrize("how", [{"epsilon": 1}, {"rho": 0.1}])
def test_covariances_of_bins_are_those_that_noise_on_every_count_gives(how: dict[str, Any]) -> None:
    """The estimate is linear in the noisy counts: each is moved by 1,000, and counts with its own variance."""
    made = released(**how)
    start, spread = made.least_squares, np.zeros((8, 8))
    for level, scale in enumerate(made.plan.scales):
        variance = scale**2 if made.plan.gaussian else 0.5 / np.sinh(0.5 / scale) ** 2
        for place in range(made.noisy[level].size):
            moved = [values.copy() for values in made.noisy]
            moved[level][place] += 1_000
            apart = (replace(made, noisy=tuple(moved)).least_squares - start) / 1_000
            spread += variance * np.outer(apart, apart)
    found = Answering.of([made]).measured
    assert found.covariance == pytest.approx(spread, rel=1e-6, abs=1e-9 * spread.max())  # type: ignore[union-attr]


def test_intervals_hold_the_figures_in_python_and_from_the_shell(tmp_path: Path) -> None:
    """All 7 and a median; a wrong one in 10^6 by chance."""
    made = released()
    made.write(tmp_path / "ages.npz")
    found = dpopt.answer(made, list(TRUTH), confidence=1 - 1e-6)
    for low, high, true in zip(found.low, found.high, TRUTH.values(), strict=True):
        assert low <= true <= high
    assert (found.high - found.low)[1] < 200
    median = dpopt.answer(tmp_path / "ages.npz", "median(age)", confidence=1 - 1e-6)
    assert median.low[0] <= float(np.median(AGES)) <= median.high[0]
    rows = told("answer", tmp_path / "ages.npz", *TRUTH, "--confidence", str(1 - 1e-6))["answers"]
    assert [row["estimate"] for row in rows] == pytest.approx(found.estimate.tolist())


def test_bins_of_every_kind_are_asked_by_their_own_names() -> None:
    dates: dict[str, Any] = {"edges": ("2020-01-01", "2020-02-01", "2020-03-01"), "date_format": "%Y-%m-%d"}
    days = dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, **dates)
    size = dpopt.Attribute("size", dpopt.AttributeKind.CATEGORICAL, ("small", "large"), ordered=True)
    table = pd.DataFrame({"day": ["2020-01-05"] * 60 + ["2020-02-05"] * 30, "size": ["small"] * 50 + ["large"] * 40})
    schema = dpopt.Schema((days, size))
    for column, text, true in (("day", "count where day >= 2020-02-01", 30), ("size", "count of small", 50)):
        made = dpopt.histogram(table, schema, column, epsilon=50)
        assert dpopt.answer(made, text).estimate.tolist() == pytest.approx([true], abs=2)


def test_what_has_no_counts_of_cells_is_refused(tmp_path: Path) -> None:
    schema = dpopt.Schema((AGE, replace(AGE, name="other")))
    grid = dpopt.grid(TABLE.assign(other=TABLE.age), schema, ("age", "other"), epsilon=1)
    grid.write(tmp_path / "grid.npz")
    assert "found a histogram of several columns, released by 'dpopt grid release'" in flat(
        refuse("answer", tmp_path / "grid.npz", "count")
    )
    made = released()
    with pytest.raises(QuestionError, match="ask each one alone"):
        dpopt.answer([made, made], "count")
    with pytest.raises(QuestionError, match="no regression"):
        dpopt.answer(made, "age ~ age")
    with pytest.raises(QuestionError, match="did you mean 'age'"):
        dpopt.answer(made, "mean(agee)")

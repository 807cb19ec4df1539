"""A declared number of records that is wrong is found in what was released, warned of at every door, and stated as an error.

The comparison calls a right number wrong in at most one of 10,000 releases: `test_a_right_number_is_rarely_called_wrong` adds
up the tails, which are exact for estimates with Gaussian noise, and bounds otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.releases.declared_size import FALSE_ALARM, Total, contradiction
from dpopt.releases.progress import Progress
from tests.cli.command_line import call, flat

ROWS = 3000
FACTORS = {"right": 1.0, "too small": 0.1, "too large": 4.0}
AT = {"epsilon": 1, "delta": 1e-6, "predict": False}
FOUND = "was declared as the number of records, and the released values contradict it"


@cache
def table(rows: int) -> pd.DataFrame:
    """Return records of four columns, two of them dependent, without bins that hold several numbers, and their persons."""
    chance = np.random.default_rng(1)
    first = chance.choice(5, rows, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    second = (first + chance.choice(4, rows, p=[0.6, 0.2, 0.15, 0.05])) % 4
    return pd.DataFrame(
        {
            "a": np.array(list("pqrst"))[first],
            "b": np.array(list("uvwx"))[second],
            "smoker": np.where(chance.random(rows) < 0.2 + 0.1 * first, "true", "false"),
            "age": chance.integers(0, 100, rows),
            "person": [f"p{row // 2}" for row in range(rows)],
        }
    )


def schema(*, numbers: bool = False) -> dpopt.Schema:
    """Return the columns; with `numbers`, one of bins that hold several numbers, which are measured within bins."""
    kind = dpopt.AttributeKind
    return dpopt.Schema(
        (
            dpopt.Attribute("a", kind.CATEGORICAL, tuple("pqrst")),
            dpopt.Attribute("b", kind.CATEGORICAL, tuple("uvwx")),
            dpopt.Attribute("smoker", kind.BOOLEAN),
            *[dpopt.Attribute("age", kind.NUMERIC, edges=(0, 50, 100), integer=True)] * numbers,
        )
    )


def released(algorithm: Any, *, numbers: bool = False, workload: str = "marginals:2") -> Callable[..., Any]:
    how = {"algorithm": algorithm, "values_share": 0.5 if numbers else None, **AT}
    return lambda n0, person: dpopt.release(table(ROWS), schema(numbers=numbers), workload, n0=n0, **how, **person)


def synopsis(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n0, person: make(table(ROWS), schema(numbers=True), n0, dpopt.TableReading(**person))


WHOLE = {
    "residuals": released("projection"),
    "residuals, numbers": released("projection", numbers=True),
    "counts": released(dpopt.Projection(measure="counts")),
    "selected": released(dpopt.Projection(measure="selected", selections=2)),
    "noise": released("noise"),
    "mwem": released(dpopt.MWEM(select="marginals", rounds=2)),
    "dualquery, numbers": released(dpopt.DualQuery(rounds=40, draws=2, step=0.1), numbers=True),
    "fem, numbers": released(dpopt.FEM(rounds=2, draws=20), numbers=True),
    "smalldb, numbers": released(dpopt.SmallDatabase(records=3), numbers=True, workload="marginals:1"),
    "summary": synopsis(
        lambda rows, schema, n0, reading: dpopt.summary(rows, schema, 2, n0=n0, epsilon=5, reading=reading)
    ),
    "intervals": synopsis(
        lambda rows, schema, n0, reading: dpopt.intervals(rows, schema, "age", n0=n0, epsilon=5, reading=reading)
    ),
}
"""What measures the whole table, in some way: these find both a number that is too small and one that is too large."""
RECORDS = [name for name in WHOLE if name not in {"summary", "intervals"}]
NONE = {
    "dualquery": released(dpopt.DualQuery(rounds=5, draws=2, step=0.1)),
    "fem": released(dpopt.FEM(rounds=2, draws=5)),
    "pmw": released(dpopt.PMW(rounds=2)),
}
"""What measures nothing of it, and says so beforehand."""
PERSON: dict[str, Any] = {"person": "person", "rows_per_person": 1, "n0_counted": True}


EACH = [*((name, {}) for name in WHOLE), *((name, PERSON) for name in ("residuals", "summary", "intervals"))]
"""Persons are read alike for every algorithm: with them one release of records, and both of answers."""


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    ("name", "person"), EACH, ids=[f"{name}, {'persons' if person else 'records'}" for name, person in EACH]
)
def test_a_wrong_number_is_found_and_a_right_one_is_not(name: str, factor: str, person: dict[str, Any]) -> None:
    """False alarms: 1e-4 a case at most. Power: the wrong numbers are off by more than 20 times the least that is found."""
    rows = ROWS // 2 if person else ROWS
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = WHOLE[name](int(FACTORS[factor] * rows), person)
    told = [one for one in caught if FOUND in flat(str(one.message))]
    wrong = int(factor != "right")
    assert len(told) == wrong
    assert ("contradicted" in repr(made)) == wrong
    assert flat(dpopt.report(made)).count(FOUND) == wrong
    if name in RECORDS:
        assert (made.statement["accuracy"].get("size") is not None) == wrong
        assert not wrong or made.statement["accuracy"]["proven"] is None


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", NONE)
def test_what_measures_no_total_says_so_beforehand(name: str, factor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(Progress, "note", lambda self, text: notes.append(text))
    made = NONE[name](int(FACTORS[factor] * ROWS), {})
    assert "contradicted" not in repr(made)
    assert any("After this plan's run a wrong n0 is not found" in flat(one) for one in notes)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("measure", ["residuals", "residuals, numbers"])
def test_the_stated_error_includes_that_of_the_number(measure: str, factor: str) -> None:
    """What is stated is within a factor of two of the truth, where without the excess it is off by up to a hundred."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = WHOLE[measure](int(FACTORS[factor] * ROWS), {})
    true = dpopt.evaluate(made, table(ROWS)).mean_error
    assert 0.5 < made.statement["accuracy"]["expected"]["mean_error"] / true < 2
    assert ("two_way" in made.statement["accuracy"]) == (factor == "right")


def test_a_folder_says_it_everywhere_once_and_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(ROWS).to_csv("table.csv", index=False)
    schema().write("schema.json")
    asked = [*["release", "table.csv", "--schema", "schema.json", "--epsilon", "1", "--algorithm", "projection", "-o"]]
    assert flat(call(*asked, "out", "--n0", "300", "--quiet").stderr).count(FOUND) == 1
    assert flat(Path("out/README.txt").read_text(encoding="utf-8")).count(FOUND) == 1
    dpopt.replay("out", "again")
    for file in Path("out").iterdir():
        assert file.read_bytes() == (Path("again") / file.name).read_bytes()
    loud = flat(call(*asked, "loud", "--n0", "300", "--details").stdout)
    assert "Do not use anything: the declared number of records is wrong" in loud
    assert "number of records is wrong" not in flat(call(*asked, "fine", "--n0", "3000", "--details").stdout)


def test_what_is_paid_for_outlives_warnings_that_are_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "contradicted" in repr(WHOLE["noise"](300, {}))
        assert "contradicted" in repr(WHOLE["summary"](300, {}))


def said(records: int, totals: list[Total]) -> dict[str, Any] | None:
    return contradiction({"public_size": records, "relation": "add-remove", "budget": {"earlier": []}}, totals)


def test_a_right_number_is_rarely_called_wrong() -> None:
    """Of an estimate and 99 limits each is beyond the bound with probability 1e-6: together with `FALSE_ALARM` at most."""
    reach = Total(0.0, 10.0).beyond(FALSE_ALARM / 100)
    assert reach == pytest.approx(48.9164, abs=1e-3)  # 10 times what a normal number exceeds once in a million
    limit = Total(900.0 + reach - 1e-6, 10.0, "at least", 99)
    for sign in (-1, 1):
        assert said(900, [Total(900 + sign * (reach - 1e-6), 10.0), limit]) is None
        assert said(900, [Total(900 + sign * (reach + 1e-6), 10.0), limit]) is not None
    low = Total(910.5 + reach, 10.0, "at least", 99)
    assert said(900, [Total(900.0, 10.0), low]) == {"declared": 900, "says": "at least", "records": 910}
    apart = Total(400.0 + reach, 10.0, "apart", 99)
    assert said(900, [apart, Total(900.0, 10.0)]) == {"declared": 900, "says": "apart", "records": 500}
    laplace, rates = Total(0.0, 1.0, gaussian=False).beyond(1e-4), np.linspace(0.01, 1.41, 141)
    for parts in (1, 2, 9):  # Chernoff's bound on sums of so many Laplace numbers, of variance 1 together
        bound = (2 * np.exp(-rates * laplace) / (1 - rates**2 / (2 * parts)) ** parts).min()
        assert 1e-9 < bound < 1e-4


def test_a_number_that_is_public_or_measured_is_never_called_wrong() -> None:
    far = [Total(5.0, 1.0)]
    assert said(900, far) is not None
    for other in ({"relation": "replace-one"}, {"budget": {"earlier": ["a charge"]}}, {"public_size": None}):
        stated: dict[str, Any] = {"public_size": 900, "relation": "add-remove", "budget": {"earlier": []}, **other}
        assert contradiction(stated, far) is None

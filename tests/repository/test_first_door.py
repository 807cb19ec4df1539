"""Python as a first door: what values show, what is refused and how, and that every public name shows how it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.algorithms.replay import differing_files

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 101, 10)), integer=True),
    )
)
TABLE = pd.DataFrame({"smoker": [True, False] * 500, "age": [20, 31, 42, 77] * 250})
ASKED: Any = {"epsilon": 1, "delta": 1e-6, "algorithm": "projection"}


@pytest.fixture(scope="module")
def made() -> dpopt.SyntheticRelease:
    return dpopt.release(TABLE, SCHEMA, "marginals:2", **ASKED)


@pytest.fixture(scope="module")
def values(made: dpopt.SyntheticRelease, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("values")
    ledger = dpopt.BudgetLedger.create(folder / "owner.budget", epsilon=3, delta=1e-6)
    histogram = dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1, budget=ledger)
    return {
        "Schema": SCHEMA,
        "wide": dpopt.Schema.binary(10**6),
        "Workload": dpopt.parse_workload("marginals:2", SCHEMA),
        "Budget": made.job.plan.budget,
        "BudgetLedger": ledger,
        "Planned": dpopt.plan(SCHEMA, "marginals:2", n=1000, **ASKED),
        "SyntheticRelease": made,
        "Histogram": histogram,
        "grid": dpopt.grid(TABLE, SCHEMA, ["smoker", "age"], epsilon=1, ordered=True),
        "prefixes": dpopt.prefixes(TABLE, SCHEMA, "age", steps=2, out=folder / "p.jsonl", rho=1),
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Schema", "Schema(2 attributes: 'smoker', 'age')"),
        ("wide", "Schema(1,000,000 columns of zeros and ones)"),
        ("Workload", "Workload(marginals:2, 20 queries, 2 attributes)"),
        ("Budget", "Budget(epsilon = 1.0 at delta = 1e-06 (accountant 'zcdp')"),
        ("BudgetLedger", "BudgetLedger(owner.budget, epsilon = 3.0 at delta = 1e-06"),
        ("Planned", "Planned(projection, 20 queries, n=1000, predicted mean error="),
        ("SyntheticRelease", "SyntheticRelease(projection, "),
        ("Histogram", "Histogram('age', 10 bins, epsilon=1, delta=0, "),
        ("grid", "GridHistogram('smoker' (2) x 'age' (10), epsilon=1, delta=0, "),
        ("prefixes", "Prefixes('age', 2 of 10 steps, epsilon="),
    ],
)
def test_values_show_themselves_in_a_line_and_in_a_small_table(
    values: dict[str, object], name: str, said: str
) -> None:
    shown, html = repr(values[name]), values[name]._repr_html_()  # type: ignore[attr-defined]
    assert shown.startswith(said)
    assert len(shown) < 260
    assert html.startswith("<div><b>")
    assert len(html) < 4000
    assert html.count("<table>") == html.count("</table>") <= 1


def test_a_notebook_shows_the_first_rows_of_a_release(made: dpopt.SyntheticRelease) -> None:
    html = made._repr_html_()
    assert html.count("<tr>") == 6
    assert "<th>smoker</th>" in html


def test_a_notebook_shows_a_damaged_budget_as_damaged(tmp_path: Path) -> None:
    ledger = dpopt.BudgetLedger(tmp_path / "none.budget")
    assert "none.budget" in repr(ledger)
    assert "<table>" not in ledger._repr_html_()


@pytest.mark.parametrize(
    "asked", [{}, {"n0": 1000}, {"algorithm": "noise"}, {"algorithm": dpopt.DualQuery(rounds=3)}]
)
def test_a_release_in_memory_can_be_saved_and_replayed(asked: dict[str, object], tmp_path: Path) -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:2", **{**ASKED, "predict": False, **asked})
    made.save(tmp_path / "saved")
    again = dpopt.replay(tmp_path / "saved", tmp_path / "again")
    assert differing_files(tmp_path / "saved", tmp_path / "again") == []
    again.save(tmp_path / "third")
    assert differing_files(tmp_path / "saved", tmp_path / "third") == []
    with pytest.raises(dpopt.DpoptError, match="not empty"):
        made.save(tmp_path / "saved")


def test_a_release_says_what_was_chosen(made: dpopt.SyntheticRelease) -> None:
    assert made.chosen == {"algorithm": "projection", "because": "it was asked for"}
    auto = dpopt.plan(SCHEMA, "marginals:1", n=1000, epsilon=1)
    assert set(auto.chosen) == {"algorithm", "because", "considered"}


def test_a_plan_is_carried_out_as_it_is(tmp_path: Path) -> None:
    planned = dpopt.plan(SCHEMA, "marginals:2", n=1000, epsilon=1)
    planned.save(tmp_path / "plan.json")
    for plan in (planned, tmp_path / "plan.json"):
        made = dpopt.release(TABLE, plan=plan)
        assert made.chosen["algorithm"] == planned.chosen["algorithm"]
        assert made.statement["workload"]["queries"] == 20

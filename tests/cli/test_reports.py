from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dpopt.algorithms.evaluation import Evaluation
from dpopt.cli.reports.reports import (
    accuracy_lines,
    certified_lines,
    console,
    report_errors,
    report_plan,
    report_release,
    report_rows,
)
from tests.algorithms.small_runs import small_release
from tests.tiny_jobs import plan_of

PROVEN = {"bound": 0.25, "failure_probability": 0.05, "says_something": True}
PREDICTED = {"max_error": 0.0512, "mean_error": 0.00345}


def test_proven_and_predicted_errors_are_distinguished() -> None:
    assert accuracy_lines({"proven": PROVEN, "predicted": PREDICTED}) == [
        "proven:    largest error at most 0.2500 with probability 0.95, if every best response is optimal",
        "predicted: largest error 0.0512, mean error 0.00345 (simulated on public synthetic data, no bound)",
    ]
    assert accuracy_lines({"proven": None, "predicted": None}) == []
    assert accuracy_lines({}) == []


def test_a_bound_that_says_nothing_is_marked() -> None:
    (line,) = accuracy_lines({"proven": {**PROVEN, "bound": 1.5, "says_something": False}})
    assert "no informative bound" in line


def gaps(bound: float, mean: float) -> dict[str, Any]:
    return {
        "bound": bound,
        "says_something": bound < 1,
        "failure_probability": 0.05,
        "mean_gap_over_draws": mean,
        "rounds": 60,
        "rounds_with_a_reported_bound": 21,
    }


def test_what_is_proven_and_what_solvers_report_are_distinguished() -> None:
    certified = {"by_proven_bounds": gaps(1.25, 0.3), "by_reported_bounds": gaps(0.95, 0.01)}
    proven, reported = accuracy_lines({"certified": certified})
    assert proven == (
        "with the rounds' proven gaps: no bound below 1 on the largest error. Mean gap "
        "0.3000 per draw, by bounds computed without the solvers"
    )
    assert reported == (
        "with reported gaps: largest error at most 0.9500 with probability 0.95. Mean gap 0.0100 per draw, if the "
        "bounds that solvers state in 21 of 60 rounds hold (stated by solvers, not proven)"
    )


def test_reported_gaps_that_say_no_more_are_left_out() -> None:
    certified = {"by_proven_bounds": gaps(0.9, 0.3), "by_reported_bounds": gaps(0.9, 0.3)}
    (line,) = certified_lines(certified)
    assert line.startswith("with the rounds' proven gaps: largest error at most 0.9000 with probability 0.95. Mean")
    assert certified_lines(None) == []


def test_a_run_that_is_not_private_is_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report_release(small_release(tmp_path / "out").statement, "out")
    text = capsys.readouterr().out
    assert "NOT PRIVATE: a part of the draws came from a seeded or scripted source; publish nothing of it\n" in text
    assert "spent:" not in text


def test_names_and_values_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of a schema is read as an instruction to the terminal."""
    console().print("[red]x[/red] :smile: [/] [link=y]")
    assert capsys.readouterr().out == "[red]x[/red] :smile: [/] [link=y]\n"
    path = tmp_path / "synthetic.csv"
    path.write_text("[b]x[/b],weight\n[/red],0.5\n:smile:,0.5\n")
    report_rows(path, rows=2)
    text = capsys.readouterr().out
    assert all(word in text for word in ("[b]x[/b]", "[/red]", ":smile:", "0.5000"))
    baselines = {"zeros": PREDICTED, "uniform": PREDICTED}
    report_errors(Evaluation(1, 0.5, 0.25, "[/x] = [i]", baselines, None, {}, None, ()))
    text = capsys.readouterr().out
    assert "off by 25 % of the records on average, by 50 % at most: [/x] = [i]\n" in text


def test_rows_come_from_all_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "synthetic.csv"
    path.write_text("x,weight\n" + "".join(f"value{number},0.01\n" for number in range(100)))
    report_rows(path, rows=4)
    text = capsys.readouterr().out
    assert [f"value{number} " in text for number in (0, 25, 50, 75)] == [True] * 4


def test_an_accountant_without_a_figure_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "accountant": "gdp", "delta": 1e-12, "epsilon": None, "refused": "delta is too small", "used": False,
        "theorem": "",
    }  # fmt: skip
    explained = {
        "plan": {"size": 10**6, "budget": {}},
        "queries": 12345,
        "neighbours": "replace-one with public n",
        "accountants": [row],
        "rho": 0.5,
        "accuracy": {},
    }
    plan = plan_of("dualquery", rounds=1000, draws=2, step=Decimal("1.4"), chosen_by="given")
    report_plan(plan.describe(), explained)
    text = capsys.readouterr().out
    assert "T = 1,000 rounds, s = 2 draws each, step eta = 1.4 (given)" in text
    assert "delta is too small" in text
    assert "12,345 queries; replace-one with public n, size 1,000,000" in text

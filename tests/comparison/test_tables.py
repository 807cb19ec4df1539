"""What is shown of a comparison: claims that are not so, profiles, tables."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.comparison.parts import DEFECT, CaseFacts, Row, claims_what_is_not_so, judged
from dpopt.comparison.tables import (
    BOARD,
    RESULTS,
    TABLE,
    Profile,
    integral,
    leaderboard,
    profile_over_distance,
    profile_over_time,
    summary,
    to_csv,
    to_json,
    write_results,
)
from tests.comparison.comparisons import comparison


def facts(best: float | None, proven: float | None = None, *, maximize: bool = True, whole: bool = True) -> CaseFacts:
    return CaseFacts("a", {}, proven, "an argument", best, None, maximize, whole)


def test_a_value_above_the_proven_bound_is_a_defect_of_dpopt_and_no_solvers_fault() -> None:
    row = judged(Row("a", "s", "optimal", "", value=9), facts(9, 7))
    assert row.remarks[0].startswith(
        f"{DEFECT}the proven bound 7 is below a value that was reached, 9: please report this"
    )
    assert "proven optimal" not in row.remarks
    assert not claims_what_is_not_so(row)


def test_no_row_is_proven_optimal_by_a_bound_that_another_one_disproves() -> None:
    row = judged(Row("a", "s", "time limit", "", value=7), facts(9, 7))
    assert "proven optimal" not in row.remarks
    assert "it proves nothing about this row" in row.remarks[0]
    assert judged(Row("a", "s", "time limit", "", value=7), facts(7, 7)).remarks == ("proven optimal",)


@pytest.mark.parametrize(
    ("value", "best", "per_cent"),
    [(100, 100, 0.0), (90, 100, 10.0), (101, 100, 0.0), (-3, -2, 50.0), (-1, 0, 100.0), (0, 0, 0.0)],
)
def test_a_distance_is_a_share_of_the_best_value(value: int, best: int, per_cent: float) -> None:
    assert facts(best).distance(value) == per_cent
    assert facts(-best, maximize=False).distance(-value) == per_cent


def test_values_of_a_model_are_shares_of_small_ones_too_and_equal_up_to_rounding() -> None:
    least = facts(0.05, maximize=False, whole=False)
    assert least.distance(0.1) == pytest.approx(100)
    assert least.distance(0.05 + 1e-7) == 0
    assert least.distance(0.04) == 0


def minimum(value: float, **found: Any) -> Row:
    row = Row("a", "s", found.pop("status", "optimal"), "", value=value, violation=0.0)
    return judged(replace(row, **found), facts(3.0, 3.0 - 1e-9, maximize=False, whole=False))


def test_remarks_on_a_minimum_know_its_direction_and_its_rounding() -> None:
    assert minimum(3.0 + 1e-7).remarks == ("proven optimal",)
    assert minimum(3.1).remarks == ("FALSE: claims that 3.1 is optimal, and 3 is reached",)
    assert minimum(3.1, status="time limit").remarks == ()
    assert minimum(3.0, reported_bound=3.5).remarks[0].startswith("FALSE: states the bound 3.5")
    assert minimum(3.0, reported_bound=2.5).remarks == ("proven optimal",)
    assert minimum(2.5).remarks[0].startswith(f"{DEFECT}the proven bound 2.999999999 is above a value")


def test_a_point_that_breaks_a_row_counts_for_nobody() -> None:
    beyond = minimum(2.5, violation=1e-5)
    assert beyond.remarks == ("breaks a row by 1e-05: its value does not count as reached",)
    before = facts(3.0, maximize=False, whole=False)
    assert before.after(beyond).best_value == 3.0
    assert before.after(minimum(2.5)).best_value == 2.5


def test_duals_of_any_answer_tighten_the_bound() -> None:
    before = facts(3.0, 1.0, maximize=False, whole=False)
    after = before.after(minimum(3.0, proven_bound=2.0))
    assert (after.proven_bound, after.proven_by) == (2.0, "weak duality, multipliers of s")
    assert before.after(minimum(3.0, proven_bound=0.5)).proven_bound == 1.0


def share(profile: Profile, label: str, at: float) -> float:
    """Return the share of cases that a solver has reached at a time or distance."""
    return float(np.searchsorted(profile.points[profile.labels.index(label)], at, side="right")) / profile.cases


def test_the_profile_over_time_is_the_share_of_cases_brought_close() -> None:
    profile = profile_over_time(comparison())
    assert profile.cases == 2
    shares = [share(profile, "good", at) for at in (0.05, 0.1, 0.99, 1.0, 5.0)]
    assert shares == [0.0, 0.0, 0.0, 1.0, 1.0]  # 199 of 200 is within 1 %
    assert share(profile, "quick", 5.0) == 0.0
    assert share(profile_over_time(comparison(), within=10.0), "quick", 0.1) == 0.5
    assert share(profile_over_time(comparison(), within=0.0), "good", 1.0) == 0.5


def test_the_profile_over_distance_is_the_share_of_final_values() -> None:
    profile = profile_over_distance(comparison())
    assert [share(profile, "good", at) for at in (0.0, 1.0)] == [1.0, 1.0]
    assert [share(profile, "quick", at) for at in (0.0, 9.9, 10.0, 1e6)] == [0.0, 0.0, 0.5, 0.5]


def test_a_case_without_any_known_value_counts_for_nobody() -> None:
    made = comparison()
    made.facts[1] = replace(made.facts[1], best_value=None)
    profile = profile_over_distance(made)
    assert profile.cases == 1
    assert share(profile, "good", 0.0) == 1.0


def test_the_json_holds_limits_cases_and_rows_with_their_gaps() -> None:
    found = json.loads(json.dumps(to_json(comparison()), allow_nan=False))
    assert found["limits"] == {"seconds": 5.0, "threads": 2, "seed": 3}
    assert [case["name"] for case in found["cases"]] == ["first", "second"]
    good, quick, second, crashed = found["rows"]
    assert (good["reported_gap"], good["proven_gap"], good["proven_bound"], good["best_value"]) == (4, 4, 104, 100)
    assert good["at_mark"][1] == {"seconds": 1.0, "value": 100}
    assert quick["remarks"] == [
        "FALSE: states the bound 90, and 100 is reached",
        "FALSE: claims that 90 is optimal, and 100 is reached",
    ]
    assert second["remarks"] == ["proven optimal"]
    assert (crashed["value"], crashed["proven_gap"], crashed["reported_gap"]) == (None, None, None)
    assert set(found["explained"]) >= {"value", "reported_bound", "proven_bound", "values_from"}


def test_the_csv_has_one_line_for_each_row_and_a_column_for_each_mark() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(comparison()))))
    assert [(row["case"], row["solver"]) for row in rows] == [
        ("first", "good"),
        ("first", "quick"),
        ("second", "good"),
        ("second", "quick"),
    ]
    assert [row["value_at_1_s"] for row in rows] == ["100", "90", "199", ""]
    assert "value_at_20_s" not in rows[0]
    assert rows[1]["remarks"].count("FALSE") == 2
    assert (rows[3]["status"], rows[3]["detail"], rows[3]["value"]) == ("failed", "signal 11, at once", "")


def test_the_summary_counts_by_solver() -> None:
    good, quick = summary(comparison())
    assert (good["solver"], good["answered"], good["cases"], good["best_value_reached"]) == ("good", 2, 2, 2)
    assert (good["claimed_optimal"], good["proven_optimal"], good["false_claims"]) == (1, 1, 0)
    assert (good["mean_per_cent_below_best"], good["largest_memory_mb"]) == (0.0, 64.0)
    assert (quick["answered"], quick["best_value_reached"], quick["false_claims"]) == (1, 0, 1)
    assert quick["mean_per_cent_below_best"] == 10.0
    assert (quick["within_1_per_cent"], quick["median_seconds"], quick["largest_memory_mb"]) == (0, 4.0, None)


def test_the_files_are_written_whole(tmp_path: Path) -> None:
    for _ in range(2):
        write_results(tmp_path, comparison())
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([RESULTS, TABLE, BOARD])
    assert (tmp_path / TABLE).read_text() == to_csv(comparison())
    assert json.loads((tmp_path / RESULTS).read_text()) == json.loads(json.dumps(to_json(comparison())))


def test_integrals_are_those_of_the_gap_over_time() -> None:
    """By hand: a gap of 1 until 0.1 s, of a half until 1 s, then none; one that ends early, and one that finds nothing."""
    first = comparison().facts[0]
    assert integral([(0.1, 50), (1.0, 100), (4.0, 100)], first, 5.0) == pytest.approx(0.1 + 0.9 * 0.5)
    assert integral([(0.1, 90)], first, 5.0) == pytest.approx(0.1 + 4.9 * 0.1)
    assert integral([(2.0, -100)], first, 5.0) == 5.0
    assert integral([(1.0, 125), (3.0, 100)], first, 5.0) == pytest.approx(1.0 + 2.0 * 0.2)
    assert integral([(0.0, 50), (9.0, 100)], first, 5.0) == pytest.approx(2.5)
    assert integral([], first, 5.0) == 5.0
    assert integral([(0.1, 50)], replace(first, best_value=None), 5.0) == 5.0


def test_a_bound_that_a_record_disproves_is_no_bound_on_the_board() -> None:
    found = comparison()
    found.rows = [replace(row, bounds=((0.0, 90.0),)) for row in found.rows]
    assert [one["dual_integral"] for one in summary(found)] == [5.0, 5.0]
    found.rows = [replace(row, bounds=((0.0, 125.0 if row.case == "first" else 250.0),)) for row in found.rows]
    assert [one["dual_integral"] for one in summary(found)] == pytest.approx([1.0, 1.0])


def test_the_leaderboard_begins_with_the_least_primal_integral() -> None:
    lines = leaderboard(comparison()).splitlines()
    assert lines[0] == "5 s for each solver and problem; threads: 2"
    assert [line.split(" | ")[0] for line in lines[4:6]] == ["| good", "| quick"]
    assert lines[-2:] == [
        "| first | 100 | 104 | 100 / 104 | 90 / 90 |",
        "| second | 200 | 200 | 200 / 200 | nothing / nothing |",
    ]

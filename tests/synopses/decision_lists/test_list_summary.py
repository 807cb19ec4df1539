"""Answers of released summaries against brute force over all points; what is refused; files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import PlanError, PrivateDataError, TranscriptError, WorkloadError
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.decision_lists.list_plan import ListPlan, plan_lists
from dpopt.synopses.decision_lists.list_summary import ListSummary, read_declaration, read_points
from dpopt.synopses.decision_lists.release_lists import decision_lists, release_lists
from tests.noises import NoNoise
from tests.synopses.summaries.tiny_summaries import PURE, RHO
from tests.tiny_lists import Row, family_of, output_at, points_of, private, rows_of, text_of
from tests.tiny_runs import REPLACE

ROUNDING = 1e-9
"""Of answers, which are double precision."""


@cache
def plan_of(kind: str, largest: int | None, *, gaussian: bool = True, size: int = 2000) -> ListPlan:
    return plan_lists(family_of(3, 3, kind), RHO if gaussian else PURE, size=size, largest=largest)


@pytest.mark.parametrize("largest", [1, 2, 3])
@pytest.mark.parametrize("kind", ["lists", "disjunctions", "conjunctions"])
def test_no_row_at_no_point_is_off_by_more_than_the_approximation(kind: str, largest: int) -> None:
    """Every list of up to three literals on three variables alone, at all 8 points; the bound is reached."""
    plan = replace(plan_of(kind, largest, size=10**7), size=1)
    family = plan.family
    points = np.array(points_of(family))
    worst = 0.0
    for row in rows_of(family)[:: 5 if kind == "lists" else 1]:
        summary = release_lists(private(family, [row]), plan, noise=NoNoise())
        exact = np.array([output_at(row, point) for point in points_of(family)])
        worst = max(worst, float(np.abs(summary.answers(points, cut=False) - exact).max()))
    assert worst <= plan.approximation + ROUNDING
    assert worst >= 0.3 * plan.approximation - ROUNDING


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_table_is_off_by_no_more_than_the_approximation(gaussian: bool) -> None:
    """2,000 rows on six variables, all 64 points."""
    family = family_of(6, 4)
    generator = np.random.default_rng(2)
    rows: list[Row] = [
        (
            tuple(zip(generator.permutation(6)[:4].tolist(), (generator.random(4) < 0.5).tolist(), strict=True)),
            tuple(generator.integers(0, 2, 5).tolist()),
        )
        for _ in range(2000)
    ]
    plan = plan_lists(family, RHO if gaussian else PURE, size=2000, relation=REPLACE)
    lists = private(family, rows)
    exact = np.mean([[output_at(row, point) for point in points_of(family)] for row in rows], axis=0)
    points = np.array(points_of(family))
    silent = release_lists(lists, plan, noise=NoNoise())
    assert np.abs(silent.answers(points) - exact).max() <= plan.approximation + ROUNDING
    made = release_lists(lists, plan)
    assert made.privacy["private"]
    # With probability 95 %, and far from it here: noise of the largest answer alone would have to be beyond 5 deviations.
    assert np.abs(made.answers(points) - exact).max() <= made.bound(1 - 1e-6, 64)
    assert made.answer("010101").bound < plan.predicted


def test_the_unit_of_counts_is_that_of_the_coefficients() -> None:
    plan = plan_of("lists", 3)
    row: Row = (((0, True),), (1, 0))
    lists = private(plan.family, [row] * 2000)
    summary = release_lists(lists, plan, noise=NoNoise())
    assert summary.answer("100").value == pytest.approx(1.0, abs=plan.approximation + 1e-9)
    assert summary.answer("x1=0,x2=1,x3=1").value == pytest.approx(0.0, abs=plan.approximation + 1e-9)
    assert summary.privacy["private"] is False


def test_bounds_grow_with_confidence_and_points() -> None:
    summary = release_lists(private(family_of(3, 3), [((), (1,))]), plan_of("lists", None))
    assert summary.bound(0.5) < summary.bound(0.95) < summary.bound(0.95, 8) == summary.plan.predicted
    answer = summary.answer("000", confidence=0.9)
    assert answer.bound == summary.bound(0.9)
    assert answer.approximation == summary.plan.approximation
    assert 0 <= answer.value <= 1


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 95.0])
def test_confidences_that_are_none_are_refused(confidence: float) -> None:
    summary = release_lists(private(family_of(3, 3), [((), (1,))]), plan_of("lists", None))
    with pytest.raises(WorkloadError, match="between 0 and 1"):
        summary.bound(confidence)
    with pytest.raises(WorkloadError, match="one point at least"):
        summary.bound(0.5, 0)
    with pytest.raises(WorkloadError):
        summary.answer("0000")


def texts(number: int = 50) -> list[str]:
    family = family_of(3, 3)
    every = rows_of(family)
    return [text_of(family, every[(37 * place) % len(every)]) for place in range(number)]


def test_a_summary_of_texts_is_released_under_both_relations() -> None:
    family = family_of(3, 3)
    made = decision_lists(texts(), family, epsilon=1.0, n0=60)
    assert made.plan.size == 60
    assert made.privacy["epsilon"] <= 1.0
    again = decision_lists(texts(), family, rho=0.1, neighbours="replace")
    assert again.plan.size == 50
    assert repr(again).startswith(f"ListSummary: {again.verdict}\n(3 variables, lists of up to 3 literals, epsilon=")


def test_what_is_missing_is_refused_before_the_table_is_read() -> None:
    family = family_of(3, 3)
    with pytest.raises(PlanError, match="the public size must be a whole number of at least 1, found 0"):
        decision_lists("none.txt", family, epsilon=1.0, n0=0)
    with pytest.raises(PlanError, match="Leave n0 out"):
        decision_lists(texts(), family, epsilon=1.0, n0=50, neighbours="replace")
    with pytest.raises(PrivateDataError, match="there is no file 'none.txt'"):
        decision_lists("none.txt", family, epsilon=1.0, n0=5)
    with pytest.raises(PrivateDataError, match="another declaration"):
        release_lists(private(family_of(4, 3), [((), (1,))]), plan_of("lists", None))


@pytest.fixture(scope="module")
def made() -> ListSummary:
    return decision_lists(texts(), family_of(3, 3), rho=0.1, n0=50)


CHANGES: list[tuple[Any, str]] = [
    (lambda plan: plan.update(scales=[1.0]), "1 scales"),
    (lambda plan: plan["coefficients"]["values"][1][2].__setitem__(2, 5), "more literals than there are"),
    (lambda plan: plan["coefficients"]["values"].pop(), "found coefficients of shape"),
    (lambda plan: plan["coefficients"]["family"].update(variables=["a", "b"]), "found k = 3"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_damaged_plans_are_refused(made: ListSummary, change: Any, message: str) -> None:
    given = json.loads(json.dumps(made.to_json()))
    change(given["plan"])
    with pytest.raises(TranscriptError, match=message):
        ListSummary.from_json(given)


def test_declarations_are_words_or_files(tmp_path: Path) -> None:
    assert read_declaration("a,b,c", 2) == ListFamily.of("a,b,c", 2)
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    assert read_declaration(tmp_path / "names.txt", 2, "disjunctions") == ListFamily.of("a,b,c", 2, "disjunctions")
    (tmp_path / "all.json").write_text(json.dumps({"variables": "a,b,c", "k": 2, "kind": "lists", "changes": 1}))
    assert read_declaration(tmp_path / "all.json") == ListFamily.of("a,b,c", 2, "lists", 1)
    assert read_declaration(tmp_path / "all.json", 2, "lists", 1) == ListFamily.of("a,b,c", 2, "lists", 1)
    with pytest.raises(WorkloadError, match="says k = 2, and 3 was asked for"):
        read_declaration(tmp_path / "all.json", 3)
    with pytest.raises(WorkloadError, match="give k="):
        read_declaration("a,b,c")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(WorkloadError, match="is not JSON"):
        read_declaration(tmp_path / "bad.json", 1)


def points_file(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_points_are_read_from_tables_and_arrays(tmp_path: Path) -> None:
    family = ListFamily.of("a,b,c", 2)
    table = points_file(tmp_path / "points.csv", ["c,a,b", "1,0,0", "0,1,1"])
    assert read_points(table, family).tolist() == [[0, 0, 1], [1, 1, 0]]
    np.save(tmp_path / "points.npy", np.array([[0, 0, 1]]))
    assert read_points(tmp_path / "points.npy", family).tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b", "0,1"], "has the columns a, b; expected a, b, c, in any order"),
        (["a,b,b", "0,1,1"], "has the columns a, b, b; expected a, b, c"),
        (["0,1,1", "0,1,1"], "has the columns 0, 1, 1"),
        (["a,b,c", "0,1,2"], "neither 0 nor 1"),
        (["a,b,c", "0,1"], "line 2: found '0,1'; expected 3 numbers"),
        (["a,b,c"], "holds no query"),
        (["a,b,c", "0,1,x"], "line 2: found '0,1,x'; expected 3 numbers"),
    ],
)
def test_files_without_points_are_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    family = ListFamily.of("a,b,c", 2)
    with pytest.raises(WorkloadError, match=message):
        read_points(points_file(tmp_path / "points.csv", lines), family)
    with pytest.raises(WorkloadError, match="holds no points"):
        read_points(tmp_path / "none.npy", family)
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(WorkloadError, match="holds no points"):
        read_points(tmp_path / "bad.npy", family)

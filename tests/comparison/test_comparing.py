"""`dpopt.compare`: problems of one kind, solvers by name or as objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dpopt
from dpopt.errors import PlanError
from dpopt.programs import Availability, AvailabilityStatus, Capability, MaxCsp, Point, SolveLimits, SolveResult
from dpopt.programs.results import NO_LIMITS
from dpopt.programs.solver import Program
from dpopt.solvers import get_solver
from tests.algorithms.small_runs import small_release, write_table

MODEL = dpopt.models.isotonic_regression([2, 1], total=3)


def test_models_are_compared_by_name_and_by_object() -> None:
    found = dpopt.compare([MODEL, MODEL], ["closed-form", get_solver("clarabel")], seconds=5)
    frame = found.to_pandas()
    assert frame.case.tolist() == ["isotonic_regression 1"] * 2 + ["isotonic_regression 2"] * 2
    assert frame.value.round(6).tolist() == [frame.value[0].round(6)] * 4
    assert not frame.remarks.astype(str).str.contains("FALSE").any()


def test_a_folder_a_run_and_weighted_clauses_give_the_same_problem(tmp_path: Path) -> None:
    made = small_release(tmp_path / "run")
    clauses: Any = dpopt.models.round_program(
        made.job.workload.clauses, made.job.schema.sizes, made.played[1].sampled, made.job.schema.circuit()
    )
    assert isinstance(clauses, MaxCsp)
    values = [
        dpopt.compare(one, "local-search", rounds="2", seconds=0.2).rows[0].value
        for one in (tmp_path / "run", made, clauses)
    ]
    assert values == [made.played[1].certificate.objective] * 3


@pytest.mark.parametrize(
    ("problems", "solvers", "message"),
    [
        ([], "clarabel", "found no problem"),
        (MODEL, "clarabel,clarabel", "names clarabel twice"),
        (MODEL, [], "names no solver|found no"),
        (MODEL, "highs:clique", "a model has one formulation"),
        ("nowhere", "highs", "does not exist"),
    ],
)
def test_what_cannot_be_compared_is_refused(problems: Any, solvers: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        dpopt.compare(problems, solvers, seconds=1)


def test_models_and_best_responses_are_not_compared_together() -> None:
    with pytest.raises(PlanError, match="models and best responses together"):
        dpopt.compare([MODEL, small_release()], "highs", seconds=1)


class Programs:
    """HiGHS under another name, which says nothing of time, and takes no clauses."""

    name, capabilities = "own", frozenset({Capability.LP, Capability.MIP})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        return replace(get_solver("highs").solve(program, limits, hint=hint), seconds=0.0)


def test_an_object_gets_the_formulation_that_its_name_would_get(tmp_path: Path) -> None:
    """In comparisons of best responses and of releases; a model it gets as it is."""
    made = small_release()
    (round_,) = dpopt.compare(made, [Programs()], rounds="1", seconds=5).rows
    named = dpopt.compare(made, "highs", rounds="1", seconds=5).rows[0]
    assert (round_.solver, round_.value, round_.status) == ("own:per-literal", named.value, named.status)
    assert round_.seconds > 0
    assert dpopt.compare(MODEL, [Programs()], seconds=5).rows[0].status == "refused"  # no quadratic programs
    found = dpopt.compare_releases(made, write_table(tmp_path), [Programs(), "highs"], seconds=5)
    assert [row["fallbacks"] for row in found.rows] == [0, 0]
    assert found.rounds[0]["value"] == found.rounds[found.rows[0]["rounds"]]["value"]

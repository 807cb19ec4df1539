"""Releases whose models are solved by a named solver: the same draws and charges, certified values on file, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import PlanError, ProgramError, SolverUnavailableError, TranscriptError
from dpopt.private.curators.door import Door
from dpopt.programs import Availability, AvailabilityStatus, Capability
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import NO_LIMITS, Limit, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Program
from dpopt.queries.ranges.bins import Bins
from dpopt.synopses.any_synopsis import KINDS
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.release_histogram import planned_histogram
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from dpopt.synopses.intervals.joined_bins import join_bins
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.release import Request
from dpopt.synopses.synopsis import Synopsis

AGES = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 81, 5)))
SMOKERS = dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN)
SCHEMA = dpopt.Schema((AGES, SMOKERS))
TABLE = pd.DataFrame({"age": [3, 12, 33, 33, 34, 61] * 9, "smoker": [True, False, False] * 18})
EDGES = pd.DataFrame({"from": [0, 0, 0, 1, 1, 2, 5], "to": [1, 2, 3, 2, 3, 3, 6]})
MAKERS: dict[str, Callable[..., Synopsis]] = {
    "histogram": lambda **how: dpopt.histogram(TABLE, SCHEMA, "age", **how),
    "grid": lambda **how: dpopt.grid(TABLE, SCHEMA, ("age", "smoker"), **how),
    "sorted": lambda **how: dpopt.sorted_counts(TABLE, SCHEMA, "age", **how),
    "degrees": lambda **how: dpopt.degrees(EDGES, 8, columns=("from", "to"), **how),
    "intervals": lambda **how: dpopt.intervals(
        TABLE, SCHEMA, "age", intervals=4, n0=54 if how["neighbours"] == "add-remove" else None, **how
    ),
}
FIRST = {
    "histogram": "nonnegative",
    "grid": "least-squares",
    "sorted": "isotonic",
    "degrees": "isotonic",
    "intervals": "nonnegative",
}
IN_CLOSED_FORM = {**FIRST, "histogram": "least-squares"}
"""What `closed-form` answers by; weights of intervals have none, as they are not negative."""
del IN_CLOSED_FORM["intervals"]
every_kind = pytest.mark.parametrize("kind", MAKERS)
every_relation = pytest.mark.parametrize("neighbours", ["add-remove", "replace"])


def made(kind: str, neighbours: str = "add-remove", **how: Any) -> Synopsis:
    return MAKERS[kind](epsilon=0.5, neighbours=neighbours, **how)


@cache
def solved_by_clarabel(kind: str) -> str:
    """Return a release as it is on file."""
    return json.dumps(made(kind, solver="clarabel").to_json())


def values(release: Synopsis) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the numbers by which a release answers where no estimate is named."""
    if isinstance(release, PartitionRelease):
        return release.weights
    if isinstance(release, SortedCountsRelease):
        return np.asarray(release.counts, dtype=np.float64)
    assert isinstance(release, Histogram | GridHistogram)
    return release.estimate()


def answers(release: Synopsis) -> list[object]:
    if isinstance(release, SortedCountsRelease):
        return [release.answer(least) for least in range(6)]
    assert isinstance(release, Histogram | GridHistogram | PartitionRelease)
    texts = [":,:", "20:40,:"] if isinstance(release, GridHistogram) else [":", "20:40"]
    return [release.answer(text) for text in texts]


@dataclass
class Scripted:
    """A solver that takes everything and does as it is told."""

    does: Callable[[Program], SolveResult]
    name: str = "scripted"
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.MIP, Capability.CONVEX_QP})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: object = None) -> SolveResult:
        return self.does(program)


def breaks_down(_: Program) -> SolveResult:
    raise ZeroDivisionError("broken")


def is_interrupted(_: Program) -> SolveResult:
    raise KeyboardInterrupt


def exits(_: Program) -> SolveResult:
    raise SystemExit(3)


class Panic(BaseException):
    """As solvers in Rust raise it: no Exception."""


def panics(_: Program) -> SolveResult:
    raise Panic("index out of bounds")


def finds_nothing(_: Program) -> SolveResult:
    return SolveResult(Termination.LIMIT, Limit.TIME, solver="scripted", native_status="too slow")


def claims_too_much(program: Program) -> SolveResult:
    """Return nothing in every bin, which trees, grids and sequences allow, and call it optimal."""
    assert isinstance(program, MixedIntegerProgram | QuadraticProgram)
    point = np.zeros(program.number_of_variables)
    return SolveResult(
        Termination.OPTIMAL,
        solution=point,
        objective=program.evaluate(point),
        duals=np.zeros(program.linear.number_of_rows),
        solver="scripted",
    )


@pytest.mark.parametrize(
    ("solver", "kind"), [*(("closed-form", kind) for kind in IN_CLOSED_FORM), *(("clarabel", kind) for kind in FIRST)]
)
@every_relation
def test_a_solver_finds_the_optimum_and_spends_the_same(
    kind: str, neighbours: str, solver: str, tmp_path: Path
) -> None:
    release, plain = made(kind, neighbours, solver=solver), made(kind, neighbours)
    if kind != "intervals":  # there the answers of noisy comparisons decide which others are charged
        assert release.privacy == plain.privacy
    assert release.privacy["epsilon"] == pytest.approx(plain.privacy["epsilon"])
    assert plain.solved == ()
    assert "solved" not in plain.statement()
    first = IN_CLOSED_FORM[kind] if solver == "closed-form" else FIRST[kind]
    assert release.solved[0].estimate == first
    inferences = {name: one for name, one in release.inferences().items() if one.size.taken_by(solver)}
    assert [one.estimate for one in release.solved] == list(inferences)
    for name, inference in inferences.items():
        model, found = inference.model(), release.solution(name)
        best = model.solve("osqp" if model.closed_form is None else "closed-form")
        assert found is not None
        assert best.objective is not None
        assert found.result.solver == solver
        assert found.termination is Termination.OPTIMAL
        assert found.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6)
        assert found.certificate is not None
        assert found.certificate.primal_violation <= 1e-6
        if isinstance(model.program, QuadraticProgram):
            gap = found.certificate.proven_gap
            if gap is None:  # a root that was not measured is free: a multiplier of 1e-12 in place of 0 proves nothing
                assert solver != "closed-form"
            else:
                assert float(gap) <= 1e-5 * max(1.0, abs(best.objective))
            at = inference.read(best.value)
            np.testing.assert_allclose(inference.read(found.value), at, atol=1e-3 * max(1.0, np.abs(at).max()))
    release.write(tmp_path / "r.npz")
    for again in (
        dpopt.read_synopsis(tmp_path / "r.npz"),
        type(release).from_json(json.loads(json.dumps(release.to_json()))),
    ):
        assert answers(again) == answers(release)
        assert again.solved_in_words() == release.solved_in_words()
        assert json.dumps(again.to_json()) == json.dumps(release.to_json())
    words = release.solved_in_words()[0]
    assert f"{first} by {solver}: optimal, objective " in words
    assert "proven gap" in words or (solver != "closed-form" and "no proven bound" in words)
    assert "violation" in words


@pytest.mark.parametrize("kind", IN_CLOSED_FORM)
def test_the_closed_form_asked_for_by_name_answers_as_the_estimate_of_that_name(kind: str) -> None:
    release = made(kind, solver="closed-form")
    plain = type(release).from_json({key: value for key, value in release.to_json().items() if key != "solved"})
    assert isinstance(plain, Histogram | GridHistogram | SortedCountsRelease)
    np.testing.assert_allclose(values(release), plain.estimate(IN_CLOSED_FORM[kind]), atol=1e-9)


def test_bins_without_negative_ones_have_no_closed_form() -> None:
    with pytest.raises(ProgramError, match="closed-form takes none of the models"):
        made("intervals", solver="closed-form")
    assert [one.estimate for one in made("histogram", solver="closed-form").solved] == ["least-squares"]


@every_kind
@pytest.mark.parametrize(
    ("does", "said"),
    [
        (breaks_down, "broken"),
        (is_interrupted, "scripted was interrupted"),
        (exits, "3"),
        (panics, "index out of bounds"),
        (finds_nothing, "scripted found no answer"),
        (claims_too_much, "scripted stopped short of the optimum: imprecise"),
    ],
)
def test_where_a_solver_fails_an_own_method_stands_in_and_says_so(
    kind: str, does: Callable[[Program], SolveResult], said: str, tmp_path: Path
) -> None:
    release = made(kind, solver=Scripted(does))
    first = release.solved[0]
    assert first.estimate == FIRST[kind]
    assert said in first.note
    in_closed_form = IN_CLOSED_FORM.get(kind) == FIRST[kind]
    own = "the closed form" if in_closed_form else "dpopt's own method"
    assert first.note.endswith(f"; {own} stands in")
    assert not any(one.point.size for one in release.solved)
    plain = type(release).from_json({key: value for key, value in release.to_json().items() if key != "solved"})
    expected = release.solved_by("closed-form") if in_closed_form else plain
    np.testing.assert_allclose(values(release), values(expected), atol=1e-9)
    words = release.solved_in_words()[0]
    assert f"{FIRST[kind]}, asked of scripted: " in words
    assert (f"; {FIRST[kind]} by closed-form: optimal" in words) == in_closed_form
    release.write(tmp_path / "r.npz")
    again = dpopt.read_synopsis(tmp_path / "r.npz")
    assert answers(again) == answers(release)
    assert again.solved_in_words() == release.solved_in_words()


@pytest.fixture
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no curator be made."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a curator was made")

    monkeypatch.setattr(Door, "__init__", refused)


@every_kind
@pytest.mark.usefixtures("nothing_drawn")
def test_what_no_solver_takes_is_refused_before_anything_is_drawn(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SolverUnavailableError, match="no solver 'clarabell'"):
        made(kind, solver="clarabell")
    with pytest.raises(ProgramError, match="cp-sat takes none of the models of this release"):
        made(kind, solver="cp-sat")
    with pytest.raises(PlanError, match="seconds= is the time limit of solver="):
        made(kind, seconds=1.0)
    with pytest.raises(ProgramError, match="seconds must be a finite number above 0"):
        made(kind, solver="clarabel", seconds=-1.0)
    monkeypatch.setattr("dpopt.models.model_size.LARGEST_FOR_SOLVERS", 10)
    with pytest.raises(ProgramError, match="solvers are handed 10 at most"):
        made(kind, solver="clarabel")


@pytest.mark.usefixtures("nothing_drawn")
def test_a_histogram_that_is_too_large_for_solvers_is_refused_by_its_plan() -> None:
    bins = pd.DataFrame({"records": np.zeros(700_000, dtype=np.int64)})
    for release in (dpopt.histogram, dpopt.sorted_counts):
        with pytest.raises(ProgramError, match="solvers are handed 2,000,000 at most"):
            release(bins, counts="records", epsilon=1, solver="clarabel")


@every_kind
@every_relation
def test_the_size_that_a_plan_states_is_enough(kind: str, neighbours: str) -> None:
    for inference in made(kind, neighbours).inferences().values():
        model = inference.model()
        found = model.linear.coefficients.size
        if isinstance(model.program, QuadraticProgram):
            found += model.program.square_coefficients.size
        assert 0 < found <= inference.size.coefficients
        quadratic = isinstance(model.program, QuadraticProgram)
        assert inference.size.needs is (Capability.CONVEX_QP if quadratic else Capability.LP)


def test_a_hierarchy_states_its_size_too(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text(json.dumps([[0, 1, 2], [[3, 4], 5]]))
    request = Request(epsilon=1.0)
    plan = planned_histogram(Bins("x", 6), request, request.spending(), hierarchy=tmp_path / "h.json")
    noisy = tuple(np.zeros(shape, dtype=np.int64) for shape in plan.level_shapes())
    for inference in Histogram(Bins("x", 6), plan, noisy, {}).inferences().values():
        model = inference.model()
        assert isinstance(model.program, QuadraticProgram)
        found = model.linear.coefficients.size + model.program.square_coefficients.size
        assert found <= inference.size.coefficients


def test_stated_errors_are_those_of_least_squares_whoever_solves() -> None:
    """The error and the middle of the interval do not change with the solver, even where it solved least squares itself."""
    plain = made("histogram")
    assert isinstance(plain, Histogram)
    for solved in (plain.solved_by("clarabel"), plain.solved_by("closed-form"), plain):
        for estimate in (None, "divided", "least-squares"):
            found, expected = solved.answer("20:40", estimate=estimate), plain.answer("20:40")
            assert found.standard_error == expected.standard_error
            assert (found.low, found.high) == (expected.low, expected.high)


Change = Callable[[dict[str, Any]], object]


@every_kind
@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(estimate="none"),
        lambda one: one.update(point=one["point"][1:]),
        lambda one: one["point"].__setitem__(0, "1"),
        lambda one: one.update(termination="nearly"),
        lambda one: one.pop("duals"),
        lambda one: one.update(more=1),
    ],
)
def test_damage_to_what_was_solved_is_refused(kind: str, change: Change) -> None:
    stated = json.loads(solved_by_clarabel(kind))
    change(stated["solved"][0])
    with pytest.raises(TranscriptError):
        KINDS[next(key for key in KINDS if key in stated)]().from_json(stated)


@every_kind
def test_values_that_are_not_the_best_are_refused_or_called_imprecise(kind: str) -> None:
    """Moved far up and far down: brought back within the possible counts, at most one of the two is the best again."""
    stated = json.loads(solved_by_clarabel(kind))
    first = stated["solved"][0]
    solved, places = np.array(first["point"]), np.arange(len(first["point"]))
    read = KINDS[next(key for key in KINDS if key in stated)]().from_json
    words = []
    for moved in (solved + 1e3 * places, solved + 1e3 * (places - places[-1])):
        first["point"] = moved.tolist()
        if kind in {"histogram", "intervals"}:
            with pytest.raises(TranscriptError, match="is not feasible"):
                read(stated)
        else:
            words.append(read(stated).solved_in_words()[0])
    assert not words or any(f"{FIRST[kind]} by clarabel: imprecise" in one for one in words)


def test_nothing_solved_is_written_without_the_key() -> None:
    stated = json.loads(solved_by_clarabel("histogram"))
    with pytest.raises(TranscriptError, match="leave the key out"):
        Histogram.from_json({**stated, "solved": []})


def test_another_total_forgets_what_was_solved_without_it() -> None:
    release = made("degrees", solver="clarabel")
    assert isinstance(release, SortedCountsRelease)
    assert release.with_total(14).solved == ()


@pytest.mark.parametrize("total", [None, 14])
def test_a_solver_finds_the_graphical_sequence_beside_the_own_bound(total: int | None) -> None:
    release = made("degrees")
    assert isinstance(release, SortedCountsRelease)
    if total is not None:
        release = release.with_total(total)
    own, found = release.graphical("isotonic"), release.graphical("isotonic", solver="highs")
    assert own.lower_bound == found.lower_bound
    assert found.squared_distance <= own.squared_distance + 1e-9
    assert found.gap <= own.gap + 1e-9
    assert 2 * len(found.edges()) == found.degrees.sum()
    with pytest.raises(ProgramError, match="clarabel takes none of the models"):
        release.graphical(solver="clarabel")


def test_a_solver_joins_the_bins_that_dynamic_programming_joins() -> None:
    release = made("histogram")
    assert isinstance(release, Histogram)
    best = join_bins(release, 4)
    for solver in ("highs", "closed-form"):
        found = join_bins(release, 4, solver=solver)
        assert found.root_mean_square == pytest.approx(best.root_mean_square, abs=1e-9)
        assert f"{solver}: optimal" in found.solution
    assert best.solution == ""
    with pytest.raises(SolverUnavailableError):
        join_bins(release, 4, solver="none")

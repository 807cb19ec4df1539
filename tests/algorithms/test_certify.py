"""Bounds after the run: they hold for the original problem, whatever the solvers do, and change nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.algorithms.after.certify import NO_SOLVER, NOT_ASKED, CertifiedRound, Certifier, _wrong_in, certify_rounds
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.files.codec import decode, encode
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.best_responses.presolved import SETTLED
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    Point,
    Program,
    SolveLimits,
    SolveResult,
    Termination,
    certify,
)
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.releases.kept_records import codes_of, record_from_json
from dpopt.solvers.registry import get_solver
from tests.algorithms.small_runs import small_release
from tests.models.catalogue import all_records
from tests.models.test_relaxations import Suggesting


@dataclass
class Answering:
    """A solver of MaxCsp with a scripted record and bound."""

    record: list[int] | None = None
    bound: float | None = None
    name: str = "answering"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.PRESOLVES, Capability.RULES})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        record = None if self.record is None else np.array(self.record, dtype=np.int32)
        value = None if record is None else 1e6
        return SolveResult(Termination.LIMIT, Limit.TIME, record, value, self.bound, self.name, "2", "scripted", 0.0)


@pytest.fixture(scope="module")
def finished() -> SyntheticRelease:
    return small_release(solver="local-search")


def problems(release: SyntheticRelease) -> dict[int, MaxCsp]:
    job = release.job
    return {
        done.sampled.round: round_program(job.workload.clauses, job.schema.sizes, done.sampled)
        for done in release.played
    }


def best_records(release: SyntheticRelease) -> dict[int, list[int]]:
    records = all_records(release.job.schema.sizes)
    return {
        number: cast("list[int]", max(records.tolist(), key=lambda r: problem.objective(np.array(r, np.int32))))
        for number, problem in problems(release).items()
    }


def certifier(*solvers: Solver, lp: Solver | None = None, **changes: bool) -> Certifier:
    return Certifier(lp or Suggesting(duals=False), solvers, Formulation.CLIQUE, SolveLimits(seconds=20.0), **changes)


@pytest.mark.solver("highs")
def test_the_bounds_of_a_run_hold_for_every_record(finished: SyntheticRelease) -> None:
    rounds = certify_rounds(finished, certifier(lp=get_solver("highs")), range(1, 7))
    best = best_records(finished)
    for one, done in zip(rounds, finished.played, strict=True):
        optimum = problems(finished)[one.round].objective(np.array(best[one.round], np.int32))
        assert one.objective == done.certificate.objective
        assert one.objective <= optimum <= one.proven_bound
        assert one.proven_bound <= problems(finished)[one.round].upper_bound()
    assert any("weak duality" in one.proven_by and "highs" in one.proven_by for one in rounds)


def test_without_duals_the_sum_of_the_positive_weights_is_proven(finished: SyntheticRelease) -> None:
    for one in certify_rounds(finished, certifier(), [1, 3]):
        assert one.proven_bound == problems(finished)[one.round].upper_bound()
        assert one.proven_by == "sum of the positive weights (suggesting ended 'failed' without duals)"
        assert one.stopped == (NOT_ASKED if one.proven_bound == one.objective else NO_SOLVER)


def with_a_gap(release: SyntheticRelease) -> int:
    """Return a round whose record is worth less than the positive weights."""
    return next(
        done.sampled.round
        for done in release.played
        if done.certificate.proven_gap is not None and done.certificate.proven_gap > 0
    )


def test_a_reported_bound_stays_apart_from_the_proven_one(finished: SyntheticRelease) -> None:
    number = with_a_gap(finished)
    (plain,) = certify_rounds(finished, certifier(), [number])
    claimed = float(plain.proven_bound - 1)
    (one,) = certify_rounds(finished, certifier(Answering(None, claimed)), [number])
    assert (one.proven_bound, one.reported_bound) == (plain.proven_bound, plain.proven_bound - 1)
    assert (one.reported_by, one.stopped) == ("answering 2", "time limit")
    assert (one.better_objective, one.better_record) == (None, None)


def test_what_presolve_settles_no_solver_reported() -> None:
    """Two clauses without a common attribute: presolve enumerates, and the solver, which would fail, is not asked."""
    apart = Clauses.conjunctions([[0, 1], [2, 3]], [[1, 1], [1, 1]], [[True, False], [True, False]])
    problem = MaxCsp(np.full(4, 3, dtype=np.int32), apart, np.array([2, 3], dtype=np.int64))
    worst = np.zeros(4, dtype=np.int32)
    found = certifier(Answering(capabilities=frozenset({Capability.MAX_CSP}))).bound(problem, worst, 1)
    assert (found.reported_bound, found.reported_by, found.stopped) == (None, None, SETTLED)
    assert found.better_objective == 5


def test_a_better_record_is_reported_with_its_exact_value_and_the_release_stays() -> None:
    finished = small_release(solver="local-search")
    number = with_a_gap(finished)
    worst = _worst(problems(finished)[number])
    spoiled = replace(
        finished,
        played=[
            replace(done, kept=worst, certificate=certify(problems(finished)[number], worst))
            if done.sampled.round == number
            else done
            for done in finished.played
        ],
    )
    best = best_records(finished)[number]
    (one,) = certify_rounds(spoiled, certifier(Answering(best)), [number])
    assert one.better_record == tuple(best)
    assert one.better_objective == problems(finished)[number].objective(np.array(best, np.int32))
    assert one.better_objective > one.objective
    assert spoiled.played[number - 1].record.tolist() == worst.tolist()


def _worst(problem: MaxCsp) -> NDArray[np.int32]:
    records = all_records(problem.sizes)
    return np.array(min(records.tolist(), key=lambda r: problem.objective(np.array(r, np.int32))), np.int32)


@pytest.mark.parametrize(
    ("solver", "stopped"),
    [
        (Answering(capabilities=frozenset({Capability.LP})), "refused: "),
        (Answering(None, -99.0), "time limit"),  # which the record disproves
    ],
    ids=["takes no round", "a wrong bound"],
)
def test_a_bound_that_is_not_had_or_false_is_out(finished: SyntheticRelease, solver: Answering, stopped: str) -> None:
    (one,) = certify_rounds(finished, certifier(solver), [with_a_gap(finished)])
    assert one.reported_bound is None
    assert one.stopped.startswith(stopped)


@dataclass
class Slow(Answering):
    """A solver whose bound is of its last trial, and which remembers what it was given."""

    bounds: tuple[float | None, ...] = ()
    given: list[tuple[float, list[int]]] = field(default_factory=list)

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert limits.seconds is not None
        assert hint is not None
        self.given.append((limits.seconds, hint.tolist()))
        turn = min(len(self.given), len(self.bounds)) - 1
        return super(Slow, replace(self, bound=self.bounds[turn])).solve(program, limits, hint=hint)


def test_of_several_solvers_the_one_with_the_least_bound_gets_the_rest(finished: SyntheticRelease) -> None:
    number = with_a_gap(finished)
    (plain,) = certify_rounds(finished, certifier(), [number])
    high = float(plain.proven_bound)
    first, second = (Slow(bounds=(high,), name="first"), Slow(bounds=(high - 1, plain.objective), name="second"))
    (one,) = certify_rounds(finished, certifier(first, second), [number])
    assert [seconds for seconds, _ in first.given] == [2.5]
    assert second.given[0][0] == 2.5
    assert 14.0 < second.given[1][0] <= 20.0 - second.given[0][0] + 2.5
    assert sum(seconds for seconds, _ in first.given + second.given) <= 20.0 + 5.0
    assert (one.reported_bound, one.reported_by) == (plain.objective, "second 2")
    assert one.proven_bound == plain.proven_bound  # a solver's word proves nothing


def test_a_bound_that_is_reached_ends_the_search_and_a_better_record_is_handed_on(finished: SyntheticRelease) -> None:
    number = with_a_gap(finished)
    problem, best = problems(finished)[number], best_records(finished)[number]
    value = float(problem.objective(np.array(best, np.int32)))
    worst = _worst(problem)
    first, second = Slow(best, bounds=(value + 1,), name="first"), Slow(bounds=(value,), name="second")
    third = Slow(bounds=(value,), name="third")
    found = certifier(first, second, third).bound(problem, worst, number)
    assert [hint for _, hint in first.given + second.given] == [worst.tolist(), best]
    assert third.given == []
    assert (found.reported_bound, found.better_objective, found.better_record) == (value, value, tuple(best))


def test_rounds_that_are_known_are_not_done_again_but_where_a_solver_is_named_that_never_searched_them(
    finished: SyntheticRelease,
) -> None:
    (first,) = certify_rounds(finished, certifier(), [2])
    marked, seen = replace(first, proven_by="kept"), list[list[int]]()

    def on_round(so_far: list[CertifiedRound]) -> None:
        seen.append([one.round for one in so_far])

    rounds = certify_rounds(finished, certifier(), [1, 2, 3], known=[marked], on_round=on_round)
    assert [one.round for one in rounds] == [1, 2, 3]
    assert rounds[1] == marked
    assert seen == [[1, 2], [1, 2, 3]]
    known = certify_rounds(finished, certifier(), [with_a_gap(finished)])
    (searched,) = certify_rounds(finished, certifier(Answering()), [with_a_gap(finished)], known=known)
    assert searched.stopped == "time limit"


def read(written: object) -> CertifiedRound:
    return decode(CertifiedRound, written, "a certified round", PlanError)


def test_a_round_comes_back_from_its_json() -> None:
    one = CertifiedRound(3, 5, 9, "because", 8, "s 1", "time limit", 6, (0, 2), 0.5)
    assert read(encode(one)) == one
    plain = replace(one, better_record=None, better_objective=None)
    assert read(encode(plain)) == plain


def test_a_better_record_over_many_attributes_is_kept_and_written_as_bits() -> None:
    """The file of bounds, which is written anew after every round, does not hold a number for each column."""
    random = np.random.default_rng(4)
    record = random.integers(0, 2, 20_000).astype(np.int32)
    clauses = Clauses.conjunctions([[5], [19_999]], [[record[5]], [record[19_999]]], [[True], [True]])
    problem = MaxCsp(np.full(20_000, 2, dtype=np.int32), clauses, np.array([2, 3]))
    one = certifier(Answering(record.tolist())).bound(problem, 1 - record, 1)
    assert (one.objective, one.better_objective) == (0, 5)
    assert np.array_equal(codes_of(record_from_json(one.better_record, problem.sizes)), record)
    written = json.dumps(encode(one))
    assert len(written) < 20_000 / 6 + 500
    again = read(json.loads(written))
    assert again == one
    assert _wrong_in(again, problem) is None
    assert "it is worth 5" in str(_wrong_in(replace(again, better_objective=4), problem))
    narrow = MaxCsp(problem.sizes[:-1].copy(), clauses.take([0]), np.array([2]))
    assert _wrong_in(again, narrow) == "has a better record with codes that do not exist"


@pytest.mark.parametrize(
    "change",
    [
        {"round": "3"},
        {"round": True},
        {"proven_bound": None},
        {"proven_bound": 9.5},
        {"reported_bound": "9"},
        {"reported_bound": False},
        {"better_record": [0, True], "better_objective": 6},
        {"better_record": "01", "better_objective": 6},
        {"better_objective": 6},
        {"proven_by": 3},
        {"stopped": None},
        {"reported_by": 1},
        {"seconds": float("nan")},
        {"seconds": "1"},
        {"more": 1},
    ],
)
def test_a_round_on_file_that_is_none_is_refused(change: dict[str, object]) -> None:
    one = CertifiedRound(3, 5, 9, "because", 8, "s 1", "time limit", None, None, 0.5)
    with pytest.raises(PlanError, match="certified round"):
        read({**encode(one), **change})
    with pytest.raises(PlanError, match="certified round"):
        read([1])


NO_BITS: tuple[dict[str, Any], ...] = (
    {"columns": 9, "ones": [1]},
    {"columns": 4, "ones": [2_000]},
    {"columns": "2", "bits": ""},
)


def test_a_known_round_that_states_what_cannot_be_is_refused(finished: SyntheticRelease) -> None:
    number = with_a_gap(finished)
    (one,) = certify_rounds(finished, certifier(), [number])
    problem, best = problems(finished)[number], best_records(finished)[number]
    value = problem.objective(np.array(best, np.int32))
    worst = _worst(problem)
    for wrong, message in (
        (replace(one, objective=one.objective + 1), "belongs to another run"),
        (replace(one, round=99), "belongs to another run"),
        (replace(one, proven_bound=one.objective - 1), "states the proven bound"),
        (replace(one, proven_bound=problem.upper_bound() + 1), "states the proven bound"),
        (replace(one, reported_bound=one.objective - 1), "states the reported bound"),
        (replace(one, better_objective=value + 1, better_record=tuple(best)), "it is worth"),
        (replace(one, better_objective=problem.objective(worst), better_record=tuple(worst.tolist())), "it is worth"),
        (replace(one, better_objective=value, better_record=tuple(best[:-1])), "codes that do not exist"),
        (replace(one, better_objective=value, better_record=(2**70, *best[1:])), "codes that do not exist"),
        *((replace(one, better_objective=value, better_record=bits), "codes that do not exist") for bits in NO_BITS),
    ):
        with pytest.raises(PlanError, match=f"round {wrong.round} on file .*{message}"):
            certify_rounds(finished, certifier(), [number], known=[wrong])
    with pytest.raises(PlanError, match="is on file twice"):
        certify_rounds(finished, certifier(), [number], known=[one, one])

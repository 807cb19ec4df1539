from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.algorithm import run
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.rounds import BestResponder, FreeAttributeRule, recertify
from dpopt.errors import TranscriptError
from dpopt.models.best_responses.best_response import round_program
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program, Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import WIDE, BitRecords
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Walk
from dpopt.schema.schema import Schema
from dpopt.solvers.registry import get_solver
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SampledQueries
from tests.algorithms.small_runs import REPLACE, SCHEMA, dataset, plan, seeded, workload
from tests.strategies import naive_truth

WORKLOAD = workload()
MISSING = object()
"""Stands for a field that is left out."""
Answer = Callable[[MaxCsp, int], Any]


def result(
    solution: NDArray[Any] | None,
    *,
    termination: Termination = Termination.OPTIMAL,
    limit: Limit | None = None,
    objective: float | None = None,
    bound: float | None = None,
) -> SolveResult:
    value = None if solution is None else objective or 0.0
    return SolveResult(termination, limit, solution, value, bound, "fake", "1.0", "native words", 0.0)


@dataclass
class Fake:
    """A solver that answers as a function says, and notes what it was asked."""

    answer: Answer
    name: str = "fake"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.PRESOLVES})
    limits: list[SolveLimits] = field(default_factory=list)
    hints: list[Point | None] = field(default_factory=list)

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "for tests")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        self.limits.append(limits)
        self.hints.append(hint)
        answer: SolveResult = self.answer(program, len(self.limits))
        return answer


def responder(solver: Solver, *, fallback: Solver | None = None, **changes: Any) -> BestResponder:
    usual = BestResponder(
        clauses=WORKLOAD.clauses,
        sizes=SCHEMA.sizes,
        solver=solver,
        fallback=get_solver("local-search") if fallback is None else fallback,
        limits=SolveLimits(seed=3),
        free_attributes=FreeAttributeRule(FreeAttributes.FIRST, SCHEMA, seed=0),
    )
    return replace(usual, **changes)


@dataclass
class Played:
    rounds: list[Round]
    ledger: Ledger
    journal: MemoryJournal
    reported: list[tuple[int, int]]


def play(asked: BestResponder, made: DualQueryPlan | None = None, queries: Workload = WORKLOAD) -> Played:
    made = plan() if made is None else made
    ledger, journal = Ledger(made.budget, REPLACE), MemoryJournal()
    ledger.reserve(made.charges())
    curator = Curator(dataset(), queries.clauses, ledger, journal, size=made.size, step=made.step, sampler=seeded())
    reported: list[tuple[int, int]] = []
    rounds = run(
        Walk(ledger, curator, journal),
        made,
        asked,
        on_round=lambda number, total, done: reported.append((number, total)),
    )
    return Played(rounds, ledger, journal, reported)


def exact_objective(done: Round) -> int:
    """Return the objective of a round's record, query by query in plain Python."""
    drawn = WORKLOAD.clauses.take(done.sampled.queries)
    truth = naive_truth(drawn, done.record[None, :])[:, 0]
    return sum(int(count) for count, true in zip(done.sampled.counts, truth, strict=True) if true)


def fail(program: MaxCsp, number: int) -> SolveResult:
    raise RuntimeError("no licence")


def codes_of(value: int, dtype: type = np.int32, length: int = 4) -> Answer:
    return lambda program, number: result(np.full(length, value, dtype=dtype))


BROKEN: dict[str, tuple[Answer, str, str]] = {
    "breaks down": (
        lambda program, number: result(None, termination=Termination.FAILED),
        "failed",
        "fake ended 'failed' without a solution",
    ),
    "raises": (fail, "failed", "fake ended 'failed' without a solution (RuntimeError)"),
    "gives nothing at all": (
        lambda program, number: None,
        "failed",
        "fake ended 'failed' without a solution (NoneType)",
    ),
    "calls it infeasible": (
        lambda program, number: result(None, termination=Termination.INFEASIBLE),
        "infeasible",
        "fake ended 'infeasible' without a solution",
    ),
    "reaches its limit with nothing": (
        lambda program, number: result(None, termination=Termination.LIMIT, limit=Limit.TIME, bound=9.0),
        "time limit",
        "fake ended 'limit' without a solution",
    ),
    "gives too few codes": (codes_of(0, length=3), "optimal", "fake gave an answer of the wrong shape or type"),
    "gives numbers that are no codes": (
        codes_of(0, dtype=np.float64),
        "optimal",
        "fake gave an answer of the wrong shape or type",
    ),
    "gives a code that is too large": (codes_of(3), "optimal", "fake gave a code that does not exist"),
    "gives a negative code": (codes_of(-1), "optimal", "fake gave a code that does not exist"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_run_with_a_broken_solver_ends_with_the_fallback_s_records(name: str) -> None:
    answer, stopped, reason = BROKEN[name]
    played = play(responder(Fake(answer)))
    assert len(played.rounds) == 6
    assert len(played.ledger.unspent) == 0
    assert [entry["kind"] for entry in played.journal.entries] == ["charge", "draw", "record"] * 6
    for done in played.rounds:
        assert (done.stopped, done.fallback) == (stopped, reason)
        assert np.all((done.record >= 0) & (done.record < SCHEMA.sizes))
        assert done.certificate.objective == exact_objective(done)
        assert done.certificate.bound is None
        assert done.solver.startswith("local-search")  # which made the record; the reason names the other
    assert played.journal.entries[2]["fallback"] == reason


def test_the_fallback_s_record_is_a_public_function_of_the_draw() -> None:
    """Whatever went wrong, the same draw gives the same record."""
    records = [
        [done.record.tolist() for done in play(responder(Fake(answer))).rounds] for answer, _, _ in BROKEN.values()
    ]
    assert all(other == records[0] for other in records)


def test_a_run_in_which_the_fallback_fails_too_ends_with_the_first_values() -> None:
    played = play(responder(Fake(fail), fallback=Fake(codes_of(7))))
    assert [done.record.tolist() for done in played.rounds] == [[0, 0, 0, 0]] * 6
    assert all(done.certificate.objective == exact_objective(done) for done in played.rounds)


@pytest.mark.parametrize("claimed", [1e12, -1e12])
def test_what_a_solver_says_about_its_own_value_is_not_believed(claimed: float) -> None:
    played = play(responder(Fake(lambda program, number: result(np.ones(4, dtype=np.int32), objective=claimed))))
    for done in played.rounds:
        assert done.fallback is None
        assert done.certificate.objective == exact_objective(done)


def test_a_bound_that_the_record_disproves_is_dropped_and_one_that_is_too_large_is_cut() -> None:
    def answer(program: MaxCsp, number: int) -> SolveResult:
        return result(np.ones(4, dtype=np.int32), bound=-1e6 if number % 2 else 1e6)

    played = play(responder(Fake(answer)))
    for done in played.rounds:
        problem = round_program(WORKLOAD.clauses, SCHEMA.sizes, done.sampled)
        low = done.sampled.round % 2
        assert done.certificate.bound == (None if low else problem.upper_bound())
        assert done.certificate.gap == (None if low else problem.upper_bound() - exact_objective(done))


def test_a_slow_solver_s_last_record_is_taken_with_its_limit() -> None:
    def answer(program: MaxCsp, number: int) -> SolveResult:
        time.sleep(0.02)
        return result(np.zeros(4, dtype=np.int32), termination=Termination.LIMIT, limit=Limit.TIME, bound=1e6)

    played = play(responder(Fake(answer)))
    assert {(done.stopped, done.fallback) for done in played.rounds} == {("time limit", None)}
    assert played.reported == [(number, 6) for number in range(1, 7)]


def test_a_solver_gets_its_limits_a_seed_per_round_and_the_last_record_as_a_hint() -> None:
    fake = Fake(lambda program, number: result(np.full(4, number % 2, dtype=np.int32)))
    played = play(responder(fake, limits=SolveLimits(seconds=9.0, work=5, seed=2**31 - 3, threads=2)))
    assert [limits.seed for limits in fake.limits] == [2**31 - 2, 2**31 - 1, 0, 1, 2, 3]
    assert {(limits.seconds, limits.work, limits.threads) for limits in fake.limits} == {(9.0, 5, 2)}
    assert fake.hints[0] is None
    for hint, done in zip(fake.hints[1:], played.rounds, strict=False):
        assert hint is not None
        assert hint.tolist() == done.record.tolist()


def test_what_the_draw_does_not_mention_is_filled_by_the_public_rule() -> None:
    """With one draw per round, two attributes at most are mentioned; the rule's value for the others is 0."""
    played = play(responder(Fake(codes_of(1))), plan(draws=1))
    for done in played.rounds:
        mentioned = set(WORKLOAD.clauses.take(done.sampled.queries).attributes.ravel().tolist()) - {-1}
        assert [int(code) for code in done.record] == [int(a in mentioned) for a in range(4)]
        assert done.certificate.objective == exact_objective(done)


def test_the_interrupt_of_a_person_is_no_failure_of_a_solver() -> None:
    def interrupt(program: MaxCsp, number: int) -> SolveResult:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(responder(Fake(interrupt)))


def recorded(bound: float | None = None) -> tuple[SampledQueries, dict[str, Any]]:
    """Return a draw and the journal's entry of its record."""
    played = play(
        responder(Fake(lambda program, number: result(np.ones(4, dtype=np.int32), bound=bound))), plan(rounds=1)
    )
    return played.rounds[0].sampled, json.loads(json.dumps(played.rounds[0].to_json()))


@pytest.mark.parametrize("bound", [None, 6.0, 1e9])
def test_a_recorded_round_reads_back_as_it_was(bound: float | None) -> None:
    sampled, entry = recorded(bound)
    again = recertify(WORKLOAD.clauses, SCHEMA.sizes, sampled, entry)
    assert again.to_json() == entry
    assert again.certificate.objective == exact_objective(again)


def test_a_bound_reads_back_as_it_was_recorded_however_large_it_is() -> None:
    """Solvers' bounds are made whole with a relative tolerance, which exceeds 1 above a million."""
    sampled, _ = recorded()
    many = replace(sampled, queries=np.array([0]), counts=np.array([9_000_000]))
    asked = responder(Fake(lambda program, number: result(np.ones(4, dtype=np.int32), bound=8_000_000.0)))
    done = asked.respond(many, hint=None)
    entry = json.loads(json.dumps(done.to_json()))
    again = recertify(WORKLOAD.clauses, SCHEMA.sizes, many, entry)
    assert done.certificate.bound is not None
    assert again.certificate == done.certificate
    assert again.to_json() == entry


DAMAGED = "the record on file is damaged"
UNFIT = "the record on file does not fit the schema, or is damaged"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": [0, 0, 0]}, "the record on file does not fit the schema"),
        ({"record": [0, 0, 0, 4]}, "the record on file does not fit the schema"),
        ({"record": [0, 0, 0, -1]}, "the record on file does not fit the schema"),
        ({"record": [[0], [0, 0]]}, UNFIT),
        ({"record": [0, 0, 0, 2**40]}, UNFIT),
        ({"record": [1.5, 0, 0, 0]}, UNFIT),
        ({"record": [True, 0, 0, 0]}, UNFIT),
        ({"record": None}, "the record on file"),
        ({"objective": 99}, "the record on file has objective .*, not 99 as recorded"),
        ({"objective": None}, DAMAGED),
        ({"objective": True}, DAMAGED),
        ({"bound": -99}, "the bound on file, -99, does not fit"),
        ({"bound": "high"}, f"{DAMAGED} at .*expected a whole number"),
        ({"bound": True}, DAMAGED),
        ({"fallback": []}, DAMAGED),
        ({"stopped": 3}, DAMAGED),
        *(({key: MISSING}, DAMAGED) for key in ("record", "objective", "bound", "stopped", "fallback", "solver")),
    ],
)
def test_a_recorded_round_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    sampled, entry = recorded(6.0)
    damaged = {key: value for key, value in {**entry, **changes}.items() if value is not MISSING}
    with pytest.raises(TranscriptError, match=f"round 1: {message}"):
        recertify(WORKLOAD.clauses, SCHEMA.sizes, sampled, damaged)


def rude(solution: int | None = 0, **changes: Any) -> Answer:
    """Return an answer whose fields were changed behind the constructor's back."""

    def answer(program: MaxCsp, number: int) -> SolveResult:
        reported = result(None if solution is None else np.full(4, solution, dtype=np.int32))
        for name, value in changes.items():
            object.__setattr__(reported, name, value)
        return reported

    return answer


def cancelled(program: MaxCsp, number: int) -> SolveResult:
    raise asyncio.CancelledError


RUDE: dict[str, Answer] = {
    "a bound near the largest float": rude(bound=1.7976931348623157e308),
    "a limit that is none": rude(termination=Termination.LIMIT, limit="time"),
    "a name with half a character": rude(None, solver="\ud800", termination=Termination.FAILED),
    "a name of a million characters": rude(None, solver="x" * 10**6, termination=Termination.FAILED),
    "a cancelled task": cancelled,
}


@pytest.mark.parametrize("manner", RUDE)
def test_a_rude_solver_ends_no_run_and_fills_no_journal(manner: str) -> None:
    played = play(responder(Fake(RUDE[manner])))
    assert len(played.rounds) == plan().rounds
    for done in played.rounds:
        assert done.certificate.feasible
        text = json.dumps(done.to_json())
        assert len(text) < 2000
        text.encode("ascii")


def test_a_solver_whose_name_cannot_be_had_ends_no_run() -> None:
    class Nameless(Fake):
        @property
        def name(self) -> str:
            raise RuntimeError("no name")

        @name.setter
        def name(self, text: str) -> None:
            pass

    played = play(responder(Nameless(fail)))
    assert {str(done.fallback).partition(" ended")[0] for done in played.rounds} == {"a solver without a name"}


WIDE_SCHEMA = Schema.binary(WIDE)


def wide_clauses() -> Clauses:
    """Return 300 triples of neighbouring columns, signs mixed: two thirds of the columns are named."""
    first = np.random.default_rng(8).integers(0, 2 * WIDE // 3, (300, 1))
    signs = np.random.default_rng(9).random((300, 3)) < 0.7
    return Clauses.conjunctions(first + np.arange(3), np.ones((300, 3)), signs)


def wide_run(rule: FreeAttributes) -> tuple[list[Round], MemoryJournal]:
    made, clauses = plan(draws=10), wide_clauses()
    ledger, journal = Ledger(made.budget, REPLACE), MemoryJournal()
    ledger.reserve(made.charges())
    table = BitRecords.of((np.random.default_rng(7).random((200, WIDE)) < 0.3).astype(np.int32))
    curator = Curator(
        PrivateDataset.from_binary(WIDE_SCHEMA, table.columns()),
        clauses,
        ledger,
        journal,
        size=made.size,
        step=made.step,
        sampler=seeded(),
    )
    asked = responder(
        get_solver("local-search"),
        clauses=clauses,
        sizes=WIDE_SCHEMA.sizes,
        limits=SolveLimits(work=20, seed=3),
        free_attributes=FreeAttributeRule(rule, WIDE_SCHEMA, seed=0),
    )
    return run(Walk(ledger, curator, journal), made, asked), journal


@pytest.mark.parametrize(("rule", "form"), [(FreeAttributes.FIRST, "ones"), (FreeAttributes.RANDOM, "bits")])
def test_records_over_many_columns_of_bits_are_kept_written_and_read_as_bits(rule: FreeAttributes, form: str) -> None:
    rounds, journal = wide_run(rule)
    entries = [entry for entry in journal.entries if entry["kind"] == "record"]
    assert len(rounds) == len(entries) == plan().rounds
    for done, entry in zip(rounds, entries, strict=True):
        assert isinstance(done.kept, BitRecords)
        assert set(entry["record"]) == {"columns", form}
        mentioned = np.unique(wide_clauses().take(done.sampled.queries).attributes)
        free = np.setdiff1d(np.arange(WIDE), mentioned)
        assert done.record[free].any() == (rule is FreeAttributes.RANDOM)
        again = recertify(wide_clauses(), WIDE_SCHEMA.sizes, done.sampled, entry)
        assert again.to_json() == entry
        assert again.record.tolist() == done.record.tolist()
        as_list = recertify(wide_clauses(), WIDE_SCHEMA.sizes, done.sampled, {**entry, "record": done.record.tolist()})
        assert as_list.to_json() == entry
    damaged = {**entries[0], "record": {"columns": WIDE - 1, form: entries[0]["record"][form]}}
    with pytest.raises(TranscriptError, match="round 1: the record on file does not fit the schema"):
        recertify(wide_clauses(), WIDE_SCHEMA.sizes, rounds[0].sampled, damaged)

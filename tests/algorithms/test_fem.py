from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.fem.algorithm import released_records, run
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder
from dpopt.errors import TranscriptError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.programs.results import SolveLimits, SolveResult, Termination
from dpopt.queries.counting.kernels import count_on_records
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.run import Walk
from dpopt.solvers.registry import get_solver
from dpopt.transcript.journal import Entry, MemoryJournal
from dpopt.transcript.released import SelectedQuery
from tests.exact_fem_loss import curator_of
from tests.exact_fem_loss import responder_of as responder_of_plan
from tests.own_solvers import Mine, raising
from tests.tiny_jobs import plan_of as tiny_plan
from tests.tiny_runs import ADD_REMOVE, sized_schema

SCHEMA = sized_schema(p=3, q=2, r=6, s=4)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
N = 2_000
GENERATOR = np.random.default_rng(3)
FIRST = GENERATOR.integers(0, 3, N)
TABLE = tuple(
    (int(p), int(p > 0), int(min(5, p + r)), int(s))
    for p, r, s in zip(FIRST, GENERATOR.integers(0, 2, N), GENERATOR.integers(0, 2, N), strict=True)
)
RESERVED: Entry = {"kind": "reserve", "charges": [], "inputs": "test"}


def plan_of(rounds: int = 12, records: int = 20) -> FemPlan:
    usual: dict[str, Any] = {"size": N, "relation": ADD_REMOVE, "budget": Budget(1e9, 1e-9, None, Accountant.ZCDP)}
    made: FemPlan = tiny_plan("fem", rounds=rounds, records=records, kept_from=rounds // 2 + 1, seed=7, **usual)
    return made


def responder_of(plan: FemPlan, **changes: Any) -> PerturbedResponder:
    return replace(responder_of_plan(WORKLOAD, plan, work=50, threads=2), **changes)


def played(plan: FemPlan) -> tuple[list[Batch], MemoryJournal, Ledger]:
    journal = MemoryJournal()
    journal.append(RESERVED)
    curator, ledger = curator_of(WORKLOAD, plan, TABLE, journal, SeededWords(1))
    return run(Walk(ledger, curator, journal), plan, responder_of(plan)), journal, ledger


def largest_error(batches: list[Batch], plan: FemPlan) -> float:
    clauses = WORKLOAD.clauses
    truth = count_on_records(clauses, np.array(TABLE, dtype=np.int32), SCHEMA.sizes) / N
    released = released_records(plan, batches)
    records = np.repeat(released.distinct, released.multiplicity, axis=0)
    found = count_on_records(clauses, records, SCHEMA.sizes) / len(records)
    return float(np.abs(found - truth).max())


def test_the_released_records_answer_the_workload() -> None:
    plan = replace(plan_of(rounds=40, records=25), scale=1.3)
    batches, journal, ledger = played(plan)
    assert len(batches) == 41
    assert all(batch.records.shape == (25, 4) and batch.fallbacks == 0 for batch in batches)
    start = largest_error(batches[:1], replace(plan, kept_from=1))
    assert start > 0.2
    assert largest_error(batches, plan) < 0.13
    assert [entry["kind"] for entry in journal.entries[1:4]] == ["records", "charge", "query selection"]
    assert journal.entries[-1]["kind"] == "records"
    assert [charge for charge in ledger.entries if charge.label] == list(plan.charges())
    assert released_records(plan, batches).multiplicity.sum() == 21 * 25


def test_records_depend_on_the_plan_and_the_selections_alone() -> None:
    plan = plan_of(rounds=3, records=6)
    batches, journal, _ = played(plan)
    drawn = [entry for entry in journal.entries if entry["kind"] == "query selection"]
    selected = [SelectedQuery.from_json(entry, plan.charges()[entry["round"] - 1]) for entry in drawn]
    for threads in (1, 3):
        other = responder_of(plan, limits=SolveLimits(work=50, seed=7, threads=threads))
        for number in range(1, 5):
            again = other.respond(number, selected[: number - 1])
            assert again.records.tolist() == batches[number - 1].records.tolist()


@pytest.mark.parametrize("records", [[[0, 0, 0]] * 5, [[0, 0, 0, 4]] * 5, [[0, 0, 0, 0]] * 4])
def test_records_on_file_that_are_none_are_refused(records: list[list[int]]) -> None:
    plan = plan_of(rounds=2, records=5)
    with pytest.raises(TranscriptError, match="do not fit plan and schema"):
        responder_of(plan).check(Batch(1, np.array(records, dtype=np.int32)))


@pytest.mark.parametrize("ending", ["an error", "a status without a record"])
def test_a_solver_that_fails_does_not_end_the_run(ending: str) -> None:
    failed = SolveResult(Termination.FAILED, None, None, None, None, "silent", "1", "gave up", 0.0)
    acts = {"an error": raising(MemoryError("no more")), "a status without a record": lambda program: failed}
    broken = Mine(acts[ending], get_solver("local-search").capabilities)
    batch = responder_of(plan_of(rounds=2, records=5), solver=broken).respond(1, [])
    assert batch.fallbacks == 5
    assert batch.records.shape == (5, 4)


def test_relations_differ_in_the_charge_alone() -> None:
    plan = plan_of()
    other = replace(plan, relation=NeighbouringRelation.REPLACE_ONE)
    assert [charge.parameter for charge in plan.charges()] == [charge.parameter for charge in other.charges()]

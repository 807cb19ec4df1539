"""pmw and mwem from a table to a release: plans, refusals, accuracy, rules, attributes that nobody asks about, replay."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.algorithms.multiplicative_weights.algorithm import MultiplicativeAlgorithm
from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.multiplicative_weights.plan import MULTIPLICATIVE, Learning, MultiplicativePlan, universe_of
from dpopt.algorithms.multiplicative_weights.planning import proven_multiplicative, proven_of_records, rounds_needed
from dpopt.algorithms.options import DATA_STEP, MARGINALS, MAX_ENTROPY, MWEM, PAPER, PMW, QUERIES, UPDATES, PlanRequest
from dpopt.algorithms.registry import OPTIONS, predict, read_plan
from dpopt.algorithms.release import release
from dpopt.algorithms.replay import differing_files, replay
from dpopt.algorithms.run_release import run_release
from dpopt.errors import PlanError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.measured_runs import noiseless
from tests.algorithms.multiplicative_runs import multiplicative_job, multiplicative_plan
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, ROWS, SCHEMA, codes, dataset, write_table
from tests.boundary.test_noninterference import RULED
from tests.tiny_runs import coded_schema

make_multiplicative_plan = MultiplicativeAlgorithm().plan

WORKLOAD = parse_workload("marginals:2", SCHEMA)
RICH = Budget(None, 1e-9, 2_000.0, Accountant.ZCDP)
BITS = Schema(tuple(Attribute(f"b{i}", AttributeKind.CATEGORICAL, values=(0, 1)) for i in range(6)))


def request(size: int = ROWS, *, budget: Budget = RICH, kind: type[Any] = PMW, **options: Any) -> PlanRequest[MWEM]:
    return PlanRequest(size, REPLACE, budget, kind(**options))


def exact_answers(text: str = "marginals:2") -> NDArray[np.float64]:

    return parse_workload(text, SCHEMA).answers_on(codes())


@pytest.mark.parametrize("update", [*UPDATES])
@pytest.mark.parametrize("select", [QUERIES, MARGINALS])
def test_with_little_noise_every_update_learns_the_answers(select: str, update: str) -> None:
    """Rounds enough and no noise, the same selections each time: what differs is how fast each step goes."""
    fixed = update == PAPER
    if fixed and select == MARGINALS:
        return
    learnt: dict[str, Any] = {"select": select, "update": update, "replays": 20, "selection_share": 0.5}
    own: dict[str, Any] = {"kind": PMW, "alpha": 0.01} if fixed else {"kind": MWEM}
    plan = make_multiplicative_plan(
        request(budget=Budget(None, 1e-9, 1e9, Accountant.ZCDP), rounds=60, **learnt, **own), WORKLOAD
    )
    made = run_release(dataset(), multiplicative_job(plan, SCHEMA), None, sources=noiseless())
    error = np.abs(made.answers() - exact_answers()).max()
    start = np.abs(Learner(plan, WORKLOAD).answers() - exact_answers()).max()
    slow = update in (PAPER, DATA_STEP)
    assert error < (0.5 * start if slow else 0.01)


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("algorithm", MULTIPLICATIVE)
def test_a_release_replays_byte_for_byte(tmp_path: Path, algorithm: str, relation: object) -> None:
    options: dict[str, Any] = {"neighbours": "add-remove", "n0": ROWS} if relation is ADD_REMOVE else {}
    made = release(
        write_table(tmp_path),
        SCHEMA,
        "marginals:2",
        out=tmp_path / "out",
        algorithm=algorithm,
        rho=1.0,
        rows=50,
        **options,
    )
    assert made.statement["records"]["rows"] == 50
    assert made.statement["accuracy"]["predicted"]["mean_error"] > 0
    assert made.ledger.spent().rho <= 1
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []
    section = made.statement["multiplicative_weights"]
    assert section["universe_cells"] == 3 * 4 * 2 * 4 or section["universe_cells"] == np.prod(SCHEMA.sizes)
    assert section["dual_bound"] <= section["objective"] + 1e-9


def test_every_record_obeys_the_rules() -> None:
    plan = multiplicative_plan(size=8, rounds=3, learning=Learning(records=1_000))
    table = PrivateDataset.from_codes(RULED, list(np.zeros((len(RULED), 8), dtype=np.int32)))
    made = run_release(table, multiplicative_job(plan, RULED), None)
    assert made.statement["records"]["records_that_obey_the_rules"] == len(made.records.distinct)
    assert not RULED.circuit().broken(made.records.distinct).any()
    assert len(made.records.distinct) < np.prod(RULED.sizes)


def test_attributes_that_no_query_mentions_are_left_out_of_the_universe() -> None:
    """They would multiply its size; their codes are public and random."""
    wide = Schema((*SCHEMA.attributes, Attribute("wide", AttributeKind.CATEGORICAL, values=tuple(range(1_000)))))
    text = "marginals:2,count=1,seed=1"
    workload = parse_workload(text, wide)
    universe = universe_of(workload, "mwem")
    mentioned = workload.queries.attributes
    assert set(universe.axes.tolist()) == set(mentioned[mentioned >= 0].tolist())
    columns = [np.zeros(50, dtype=np.int32)] * 5
    plan = multiplicative_plan(size=50, learning=Learning(records=30))
    job = multiplicative_job(plan, wide, text)
    made = run_release(PrivateDataset.from_codes(wide, columns), job, None, sources=noiseless())
    free = [place for place in range(5) if place not in universe.axes]
    assert all(len(np.unique(made.records.distinct[:, place])) > 1 for place in free)


def test_a_universe_that_is_too_large_is_refused_with_its_size_and_what_would_do(tmp_path: Path) -> None:
    large = coded_schema(*[10] * 9)
    for algorithm in MULTIPLICATIVE:
        with pytest.raises(PlanError, match=r"1,000,000,000 combinations \(at most 67,108,864 = 2\^26") as found:
            make_multiplicative_plan(request(kind=OPTIONS[algorithm]), parse_workload("marginals:2", large))
        assert "Use algorithm='projection' or dualquery" in str(found.value)
    with pytest.raises(PlanError, match="Use algorithm='projection' or dualquery"):
        make_multiplicative_plan(request(), parse_workload("conjunctions:3,count=500,seed=1", large))
    out = tmp_path / "out"
    huge = coded_schema(*[10] * 40)
    table = tmp_path / "table.csv"
    table.write_text(",".join(huge.names) + "\n" + ",".join("0" * 40) + "\n", encoding="utf-8")
    with pytest.raises(PlanError, match=r"about 10\^40 combinations"):
        release(table, huge, "marginals:2", out=out, algorithm="mwem", rho=1.0, neighbours="add-remove", n0=9)
    assert not out.exists()


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("algorithm", MULTIPLICATIVE)
def test_a_plan_is_read_back_as_it_was(algorithm: str, gaussian: bool) -> None:
    budget = RICH if gaussian else Budget(3.0, 0.0, None, Accountant.PURE)
    plan = make_multiplicative_plan(request(kind=OPTIONS[algorithm], budget=budget), WORKLOAD)
    assert read_plan(plan.to_json()) == plan
    assert plan.select == (QUERIES if algorithm == "pmw" else MARGINALS)
    assert (plan.alpha is None) == (algorithm == "mwem")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another algorithm": ({"algorithm": "fem"}, "the algorithm is pmw or mwem"),
    "another selection": ({"select": "cells"}, "queries or marginals"),
    "no rounds": ({"rounds": 0}, "number of rounds"),
    "no step": ({"step": "0"}, "range of a selection"),
    "a large alpha": ({"alpha": 1.5}, "alpha must be a finite number above 0 and at most 1"),
    "marginals and alpha": ({"alpha": 0.1, "select": "marginals"}, "plays all its rounds"),
    "the paper's step without alpha": ({"learning": {"update": "paper"}}, "for single queries and a given"),
    "another update": ({"learning": {"update": "newton"}}, "the update is one of paper"),
    "no pull": ({"learning": {"pull": 0}}, "the pull must be a finite number above 0"),
    "too many records": ({"learning": {"records": 10**9}}, "the number of records must be at most 2,000,000"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_plans_that_cannot_be_are_refused(change: str) -> None:
    edited, message = dict(REFUSED[change][0]), REFUSED[change][1]
    written = multiplicative_plan().to_json()
    learning = {**written["learning"], **edited.pop("learning", {})}
    with pytest.raises(PlanError, match=message):
        MultiplicativePlan.from_json({**written, **edited, "learning": learning})


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another accountant": ({"budget": Budget(1.0, 1e-6, None, Accountant.GDP)}, "accountant='zcdp'"),
    "a bound on marginals": ({"plan_by": "bound", "select": MARGINALS}, "plan_by= bound is for"),
    "a bound on another update": ({"plan_by": "bound", "update": MAX_ENTROPY}, "nothing is proven"),
    "a bound that proves nothing": (
        {"plan_by": "bound", "budget": Budget(0.01, 0.0, None, Accountant.PURE)},
        "proves no error below 1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_requests_that_do_not_suit_are_refused(case: str) -> None:
    more, message = WRONG[case]
    with pytest.raises(PlanError, match=message):
        make_multiplicative_plan(request(**more), WORKLOAD)
    clauses = parse_workload("conjunctions:2,count=9,seed=1", SCHEMA)
    with pytest.raises(PlanError, match="needs a workload of marginals"):
        make_multiplicative_plan(request(kind=MWEM, select=MARGINALS), clauses)


@pytest.mark.parametrize("update", [PAPER, None])
@pytest.mark.parametrize("gaussian", [False, True])
def test_a_plan_by_bound_keeps_the_conditions_of_the_theorem(update: str | None, gaussian: bool) -> None:
    """Rounds as many as needed, both errors at most alpha: then the bound of 4 alpha holds without a condition."""
    budget = Budget(None, 1e-9, 5.0, Accountant.ZCDP) if gaussian else Budget(40.0, 0.0, None, Accountant.PURE)
    workload = parse_workload("parity:3", BITS)
    asked = request(30_000, budget=budget, plan_by="bound", update=update)
    plan = make_multiplicative_plan(asked, workload)
    assert (plan.learning.update, plan.learning.replays) == (PAPER, 0)
    proven = proven_multiplicative(plan, len(workload), log(universe_of(workload, "pmw").cells))
    assert proven is not None
    assert proven["if"] == ""
    assert proven["says_something"]
    assert plan.alpha is not None
    assert proven["bound"] <= 4 * plan.alpha
    assert plan.rounds >= proven["rounds_needed"]
    assert plan.budget.allows(plan.charges())


def test_the_check_of_the_specification_comes_out() -> None:
    """|X| = 64, 21 queries, epsilon 1, delta 1e-6: 1,664 rounds for an alpha of .1; a run's worst error is below 4 alpha.

    The 17,589 records of the specification are those for a step with an eighth of the rounds; the lecture's takes 40,000.
    """
    assert rounds_needed(0.1, log(64)) == 1_664
    workload, records = parse_workload("parity:2", BITS), 40_000
    budget = Budget(1.0, 1e-6, None, Accountant.ZCDP)
    fewer = make_multiplicative_plan(request(17_589, budget=budget, plan_by="bound"), workload)
    assert fewer.alpha == pytest.approx(0.1432, abs=1e-4)
    plan = make_multiplicative_plan(request(records, budget=budget, plan_by="bound"), workload)
    assert plan.alpha is not None
    assert plan.alpha < 0.1
    generator = np.random.default_rng(1)
    codes = (generator.random((records, 6)) < 0.2).astype(np.int32)
    made = run_release(PrivateDataset.from_codes(BITS, list(codes.T)), multiplicative_job(plan, BITS, "parity:2"), None)
    assert np.abs(made.answers() - workload.answers_on(codes)).max() <= 4 * plan.alpha


def test_only_what_is_proven_is_said() -> None:
    """Nothing of an average that holds distributions before the last; replays are steps that the lecture does not count."""
    assert proven_multiplicative(multiplicative_plan(), 10, 3.0) is None
    assert proven_multiplicative(multiplicative_plan(select=MARGINALS), 10, 3.0) is None
    published = multiplicative_plan(learning=Learning(update=DATA_STEP, replays=0, average=True), rounds=15, size=10**6)
    found = proven_multiplicative(published, 100, 3.0)
    assert found is not None
    assert found["bound"] > 2 * (3.0 / 15) ** 0.5
    early = proven_multiplicative(multiplicative_plan("pmw", alpha=0.1, size=10**6), 100, 3.0)
    assert early is not None
    assert early["if"] == ", if the run stops early"
    for replays, if_ in ((0, ""), (1, ", if the run stops early")):
        stepped = Learning(update=PAPER, replays=replays)
        many = multiplicative_plan("pmw", alpha=0.1, size=10**9, rounds=1_200, learning=stepped)
        proven = proven_multiplicative(many, 100, 3.0)
        assert proven is not None
        assert proven["if"] == if_
    average = multiplicative_plan("pmw", alpha=0.1, size=10**6, learning=Learning(average=True))
    assert proven_multiplicative(average, 100, 3.0) is None
    added = multiplicative_plan("pmw", alpha=0.1, size=10**6, relation=ADD_REMOVE)
    assumed = proven_multiplicative(added, 100, 3.0, rules=True)
    assert assumed is not None
    assert assumed["if"] == (", if the run stops early and the table has n0 records and all of them obey the rules")
    assert proven_of_records(assumed, stopped_early=False, distance=0.1) is None
    met = proven_of_records(assumed, stopped_early=True, distance=0.125)
    assert met is not None
    assert met["bound"] == assumed["bound"] + 0.125
    assert met["if"] == ", if the table has n0 records and all of them obey the rules"


@pytest.mark.parametrize("records", [1, 3, 1_000])
def test_the_bound_of_a_release_holds_for_its_records(tmp_path: Path, records: int) -> None:
    """However few records stand for the distribution; 5 % of runs may miss, which at this budget would take a miracle."""
    made = release(
        write_table(tmp_path),
        SCHEMA,
        "marginals:2",
        out=tmp_path / "out",
        algorithm="pmw",
        epsilon=1_000.0,
        accountant="pure",
        neighbours="replace",
        records=records,
        predict=False,
    )
    proven = made.statement["accuracy"]["proven"]
    assert proven["if"] == ""
    error = np.abs(made.answers() - exact_answers()).max()
    assert error <= proven["bound"]
    assert proven["of_it_by_the_choice_of_records"] > 0
    assert (records > 3) == (proven["bound"] < 0.1)


def test_errors_are_predicted_and_compared() -> None:
    for algorithm in MULTIPLICATIVE:
        plan = make_multiplicative_plan(
            request(kind=OPTIONS[algorithm], budget=Budget(None, 1e-9, 1.0, Accountant.ZCDP)), WORKLOAD
        )
        found = predict(plan, WORKLOAD)
        assert 0 < found.mean_error <= found.max_error < 1
    bits = Schema(tuple(Attribute(f"b{i}", AttributeKind.CATEGORICAL, values=(0, 1)) for i in range(24)))
    workload = parse_workload("parity:1", bits)
    with pytest.raises(PlanError, match="takes as long as a run"):
        predict(make_multiplicative_plan(request(kind=MWEM, rounds=100), workload), workload)


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("select", [QUERIES, MARGINALS])
def test_a_named_solver_finds_the_distribution_and_its_release_replays(select: str, tmp_path: Path) -> None:
    plan = replace(multiplicative_plan(rounds=3, size=ROWS, select=select), solver="clarabel")
    made = run_release(dataset(), multiplicative_job(plan, SCHEMA), tmp_path / "out")
    section = made.statement["multiplicative_weights"]
    assert section["solved_by"].startswith("clarabel")
    assert section["dual_bound"] <= section["objective"] <= section["dual_bound"] + 1e-6
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []


def test_what_a_solver_cannot_fit_is_refused_before_anything_is_spent() -> None:
    options: dict[str, Any] = {"solver": "clarabel"}
    with pytest.raises(PlanError, match="leave update= and average=True out"):
        MWEM(update=PAPER, **options)
    with pytest.raises(PlanError, match="leave update= and average=True out"):
        MWEM(average=True, **options)
    wide = Schema(tuple(Attribute(f"b{i}", AttributeKind.CATEGORICAL, values=(0, 1)) for i in range(15)))
    asked = PlanRequest(1000, ADD_REMOVE, RICH, MWEM(rounds=4, **options))
    with pytest.raises(PlanError, match="32,768 possible records .* handed 20,000 records"):
        make_multiplicative_plan(asked, parse_workload("marginals:2", wide))
    few = make_multiplicative_plan(asked, parse_workload("marginals:2", BITS))
    assert few.solver == "clarabel"
    asked = replace(asked, options=MWEM(rounds=20_000, select=QUERIES, **options))
    with pytest.raises(PlanError, match="64 possible records and 20,000 rounds are 2,560,192 coefficients"):
        make_multiplicative_plan(asked, parse_workload("marginals:2", BITS))

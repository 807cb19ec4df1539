"""Defects that other implementations of these algorithms have or had, one test each, so that dpopt never gets them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from decimal import Decimal
from math import exp, inf, isfinite, log
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.dualquery import run_columns
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import largest_number
from dpopt.algorithms.dualquery.rounds import BestResponder, FreeAttributeRule
from dpopt.algorithms.release import release
from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.readers.read_table import read_table
from dpopt.private.selections.query_weights import QueryWeights
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Program
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.solvers.local_search.search import LocalSearch
from dpopt.transcript.released import SampledQueries
from tests.tiny_runs import (
    ADD_REMOVE,
    REPLACE,
    CallbackSampler,
    Enumeration,
    bits_schema,
    conjunctions,
    play,
    tiny_plan,
)

SCHEMA = Schema(
    (
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M"), missing="?"),
        Attribute("age", AttributeKind.NUMERIC, edges=(0.0, 18.0, 65.0, 120.0), integer=True),
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("region", AttributeKind.CATEGORICAL, ("north", "south", "east", "west")),
    )
)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
ROWS = [("F", 34, True, "north"), ("M", 70, False, "east"), ("?", 5, False, "east"), ("M", 41, True, "north")]


def write_table(path: Path, rows: Sequence[tuple[object, ...]]) -> Path:
    lines = [",".join(SCHEMA.names), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def settings(**changes: object) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "algorithm": "dualquery",
        "neighbours": "replace",
        "epsilon": 50.0,
        "delta": 1e-6,
        "rounds": 12,
        "draws": 5,
        "step": "0.1",
        "work": 20,
        "predict": False,
    }
    return {**usual, **changes}


class Scoundrel(LocalSearch):
    """A solver whose word is worth nothing."""

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        zeros = np.zeros(program.sizes.size, dtype=np.int32)
        return SolveResult(
            Termination.OPTIMAL,
            None,
            zeros,
            1e6,
            float(program.objective(zeros)) - 5.0,
            "scoundrel",
            "1",
            "Optimal",
            0.0,
        )


class Nonsense(LocalSearch):
    """A solver that answers with codes that no attribute has."""

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        codes = np.full(program.sizes.size, 40, dtype=np.int32)
        return SolveResult(Termination.OPTIMAL, None, codes, 7.0, 7.0, "nonsense", "1", "Optimal", 0.0)


@pytest.mark.parametrize("solver", [LocalSearch(), Nonsense()])
def test_synthetic_records_always_decode(tmp_path: Path, solver: LocalSearch) -> None:
    """The original has one free bit per value: its records may have no value of an attribute, or several."""
    table = write_table(tmp_path / "table.csv", ROWS)
    with mock.patch("dpopt.solvers.registry.get_solver", return_value=solver):
        made = release(table, SCHEMA, WORKLOAD, out=tmp_path / "out", rows=30, **settings())
    read_again = read_table(tmp_path / "out" / "synthetic.csv", SCHEMA)
    columns = np.array([column.astype(np.int32) for column in read_again._columns]).T
    assert np.array_equal(columns, made.written.rows())
    assert made.statement["records"]["records_that_decode"] == len(made.played)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("accountant", list(Accountant))
def test_the_budget_is_not_overspent_by_one_round(accountant: Accountant, relation: NeighbouringRelation) -> None:
    """One of them charged round t as round t - 1, or played one round more than it charged."""
    epsilon, delta = 0.7, 0.0 if accountant is Accountant.PURE else 1e-6
    numbers = (7, 0.9, 1000, relation)
    rounds = largest_number(lambda t: run_columns(t, *numbers).epsilon(accountant, delta or 1e-6) <= epsilon, 1000)
    budget = Budget(epsilon, delta, None, accountant)
    workload = conjunctions(bits_schema(1), "a")
    plans = [
        tiny_plan(workload, rounds=t, draws=7, step="0.9", size=1000, relation=relation, budget=budget)
        for t in (rounds, rounds + 1)
    ]
    assert [budget.allows(plan.charges()) for plan in plans] == [True, False]
    table = ((0,), (1,)) * 500
    drawn: list[int] = []

    def choose(weights: QueryWeights, draws: int) -> list[int]:
        drawn.append(draws)
        return [0] * draws

    sampler = CallbackSampler(choose)
    played, ledger = play(table, workload, plans[0], sampler)
    assert len(played) == rounds
    assert drawn == [charge.count for charge in ledger.entries] == [7] * rounds
    assert ledger.unspent == ()
    assert ledger.spent().epsilon <= epsilon


@pytest.mark.parametrize(("neighbours", "factor"), [("replace", 1.0), ("add-remove", 0.5)])
def test_the_epsilon_that_is_printed_is_that_of_the_theorem(tmp_path: Path, neighbours: str, factor: float) -> None:
    """One of them prints figures of another theorem. Here the closed forms are evaluated anew."""
    made = release(
        write_table(tmp_path / "table.csv", ROWS),
        SCHEMA,
        WORKLOAD,
        out=tmp_path / "out",
        values_share=0,  # numbers within bins would be reserved besides
        **settings(neighbours=neighbours, n0=4 if neighbours == "add-remove" else None),
    )
    printed = json.loads((tmp_path / "out" / "release.json").read_text())["privacy"]
    T, s, eta, n, delta = 12, 5, 0.1, 4, 1e-6
    step = eta * factor
    rho = s * step**2 * T * (T - 1) * (2 * T - 1) / (12 * n**2)
    assert printed["rho"] == pytest.approx(rho, rel=1e-9)
    orders = 1 + np.logspace(-2, 3, 20_001)
    # delta <= exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a, solved for epsilon at each order a
    at_orders = orders * rho - (log(delta) + np.log(orders - 1) - orders * np.log1p(-1 / orders)) / (orders - 1)
    assert printed["epsilon"] == pytest.approx(float(at_orders.min()), rel=1e-5)
    assert printed["delta"] == delta
    by = printed["epsilon_by_accountant"]
    assert by["pure"] == pytest.approx(step * T * (T - 1) * s / n, rel=1e-9)
    largest = 2 * step * (T - 1) / n
    uses = s * (T - 1)
    assert by["theorem"] == pytest.approx(
        largest * ((2 * uses * log(1 / delta)) ** 0.5 + uses * (exp(largest) - 1)), rel=1e-9
    )
    assert made.ledger.is_private
    assert printed["private"] is True


def test_noise_grows_with_the_number_of_attributes_measured() -> None:
    """One of them divided its noise by the number of dimensions: the charge is for all attributes together."""
    for relation in NeighbouringRelation:
        for gaussian in (True, False):
            one, many = (one_way_charge(d, scale=3.0, gaussian=gaussian, relation=relation) for d in (1, 17))
            assert many.parameter == pytest.approx(17 * one.parameter, rel=1e-12)


def test_a_query_is_not_drawn_again_because_it_was_drawn_before() -> None:
    """One of them drew until it saw a new query, unpaid: here 50 draws from two signed queries are 50 draws."""
    workload = conjunctions(bits_schema(1), "a")
    plan = tiny_plan(workload, rounds=1, draws=50, step="1", size=2, relation=REPLACE)
    calls: list[int] = []

    def choose(weights: QueryWeights, draws: int) -> list[int]:
        calls.append(draws)
        drawn: list[int] = weights.draw(draws, SystemWords()).tolist()
        return drawn

    (done,), _ = play(((0,), (1,)), workload, plan, CallbackSampler(choose))
    assert calls == [50]
    assert len(done.sampled.queries) <= 1
    assert int(np.abs(done.sampled.counts).sum()) % 2 == 0


def test_private_draws_come_from_the_operating_system_and_from_no_seeded_generator(tmp_path: Path) -> None:
    """All of them draw with a seeded generator that is not cryptographic, by a softmax in floating point."""
    asked: list[int] = []
    original = os.urandom

    def recording(count: int) -> bytes:
        asked.append(count)
        return original(count)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a seeded generator was made")

    with (
        mock.patch("os.urandom", recording),
        mock.patch("numpy.random.default_rng", forbidden),
        mock.patch("numpy.random.Generator", forbidden),
        mock.patch("random.random", forbidden),
    ):
        release(write_table(tmp_path / "t.csv", ROWS), SCHEMA, WORKLOAD, **settings())
    drawing = [count for count in asked if count >= 16 * 5]
    assert len(drawing) >= 12, "each of 12 rounds asks for at least two words per draw"


def test_weights_do_not_underflow_when_eta_times_rounds_is_large() -> None:
    """Products of plain exponentials become 0 (one of them counts its zeros), and draws then fail or become uniform."""
    counts = np.array([0, 1000, 500], dtype=np.int64)
    weights = QueryWeights(counts, rows=1000, size=1000, step=Decimal(25))
    answers = np.array([True, False, True])
    for _ in range(4000):  # eta T = 100,000: exp(-100000) underflows many times over
        weights.observe(answers)
    drawn = weights.draw(20_000, SystemWords())
    assert set(drawn.tolist()) == {1, 2}, "the negation of query 0 and query 1 are tied at the top"
    assert 9_000 < int((drawn == 1).sum()) < 11_000, "false alarm below 1e-40"
    assert weights.observed == 4000


def test_parameters_are_not_tuned_on_the_private_table(tmp_path: Path) -> None:
    """Some tune on the private data and report as if they had not: here two tables of one size give one plan."""
    others: list[tuple[object, ...]] = [("F", 1, False, "west")] * 4
    plans = []
    tables: list[list[tuple[object, ...]]] = [[*ROWS], others]
    for number, rows in enumerate(tables):
        folder = tmp_path / f"out{number}"
        release(
            write_table(tmp_path / f"{number}.csv", rows),
            SCHEMA,
            parse_workload("marginals:1", SCHEMA),
            out=folder,
            **settings(rounds=None, draws=None, step=None, epsilon=1000.0, accountant="zcdp"),
        )
        plans.append((folder / "plan.json").read_bytes())
    assert plans[0] == plans[1]


def test_the_domain_is_never_read_from_the_data(tmp_path: Path) -> None:
    """Several take the domain, or bounds, from the table: a value that is absent then tells that it is absent."""
    constant: list[tuple[object, ...]] = [("F", 34, True, "north")] * 4
    folders = []
    tables: list[list[tuple[object, ...]]] = [[*ROWS], constant]
    for number, rows in enumerate(tables):
        folder = tmp_path / f"out{number}"
        release(write_table(tmp_path / f"{number}.csv", rows), SCHEMA, "marginals:2", out=folder, **settings())
        folders.append(folder)
    for name in ("schema.json", "workload.json", "plan.json"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    unknown = write_table(tmp_path / "unknown.csv", [*ROWS[:3], ("F", 34, True, "abroad")])
    with pytest.raises(PrivateDataError):
        release(unknown, SCHEMA, "marginals:2", out=tmp_path / "refused", **settings())
    assert not (tmp_path / "refused" / "transcript.jsonl").exists()


def test_a_schema_drafted_from_the_data_is_not_used_unreviewed(tmp_path: Path) -> None:
    draft = Schema(SCHEMA.attributes, draft=True)
    with pytest.raises(SchemaError, match="draft"):
        release(write_table(tmp_path / "t.csv", ROWS), draft, "marginals:2", **settings())


def responder(solver: LocalSearch) -> BestResponder:
    return BestResponder(
        clauses=WORKLOAD.clauses,
        sizes=SCHEMA.sizes,
        solver=solver,
        fallback=LocalSearch(),
        limits=SolveLimits(work=20),
        free_attributes=FreeAttributeRule(FreeAttributes.FIRST, SCHEMA, seed=0),
    )


def draw_of(queries: list[int], counts: list[int]) -> SampledQueries:
    charge = tiny_plan(
        WORKLOAD, rounds=1, draws=sum(map(abs, counts)), step="1", size=4, relation=ADD_REMOVE
    ).charges()[0]
    return SampledQueries(1, np.array(queries), np.array(counts), charge)


def test_a_solvers_status_and_figures_are_not_believed() -> None:
    """All of them trust the status: "Optimal" at a time limit, or with zeros in place of a solution."""
    sampled = draw_of([5, 8, 13], [2, 3, 1])
    done = responder(Scoundrel()).respond(sampled, hint=None)
    problem = MaxCsp(SCHEMA.sizes, WORKLOAD.clauses.take(sampled.queries), sampled.counts)
    exact = problem.objective(done.record)
    assert done.certificate.objective == exact != 1e6
    assert done.certificate.bound is None, "a bound below the exact objective is disproved and dropped"
    assert done.certificate.gap is None


def test_a_record_that_does_not_exist_is_replaced_and_the_release_says_so() -> None:
    done = responder(Nonsense()).respond(draw_of([5, 8], [2, 3]), hint=None)
    assert np.all((done.record >= 0) & (done.record < SCHEMA.sizes))
    assert done.fallback == "nonsense gave a code that does not exist"
    assert done.certificate.bound is None, "what a solver claims for another record is not kept"


def test_no_figure_of_a_release_is_not_a_number(tmp_path: Path) -> None:
    """One of them writes nan where there is no result."""
    with mock.patch("dpopt.solvers.registry.get_solver", return_value=Enumeration()):
        release(write_table(tmp_path / "t.csv", ROWS), SCHEMA, WORKLOAD, out=tmp_path / "out", **settings())

    def figures(value: object) -> list[float]:
        if isinstance(value, dict):
            return [found for part in value.values() for found in figures(part)]
        if isinstance(value, list):
            return [found for part in value for found in figures(part)]
        return [value] if isinstance(value, float) else []

    found = figures(json.loads((tmp_path / "out" / "release.json").read_text()))
    assert found
    assert all(isfinite(value) and value != inf for value in found)

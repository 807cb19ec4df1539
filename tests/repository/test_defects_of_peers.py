"""Defects that other implementations of these algorithms have or had: each has a test, here or elsewhere."""

from __future__ import annotations

import json
from decimal import Decimal
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.release import release
from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.selections.query_weights import QueryWeights
from tests.algorithms.small_runs import SCHEMA, write_table
from tests.repository.test_rules_page import is_there
from tests.tiny_runs import REPLACE, CallbackSampler, bits_schema, conjunctions, play, tiny_plan

FALLBACK = "tests/algorithms/test_dualquery.py::test_a_run_with_a_broken_solver_ends_with_the_fallback_s_records"
TWO_FILES = (
    "tests/boundary/test_noninterference.py::test_two_files_cannot_be_told_apart_from_reading_to_the_finished_folder"
)
ELSEWHERE = {
    "a bit for each value, so that a record has no value of an attribute, or several": FALLBACK,
    "a record that does not exist is taken from a solver": FALLBACK,
    "a solver's own figures are believed": (
        "tests/algorithms/test_dualquery.py::test_what_a_solver_says_about_its_own_value_is_not_believed"
    ),
    "a bound that the record disproves is kept": (
        "tests/algorithms/test_dualquery.py"
        "::test_a_bound_that_the_record_disproves_is_dropped_and_one_that_is_too_large_is_cut"
    ),
    "one round more is planned than the budget pays for": (
        "tests/algorithms/test_planning.py::test_the_one_open_number_is_as_large_as_the_budget_allows"
    ),
    "one round more is played than was charged": (
        "tests/algorithms/test_run_release.py::test_a_run_spends_its_plan_charge_by_charge"
    ),
    "private draws come from a seeded generator": (
        "tests/boundary/test_origin_of_randomness.py::test_a_run_is_a_function_of_the_bytes_of_the_operating_system"
    ),
    "parameters are tuned on the private table": TWO_FILES,
    "the domain, or bounds, are read from the table": TWO_FILES,
    "a schema that was drafted from the table is used unreviewed": (
        "tests/algorithms/test_release.py::test_public_inputs_are_refused_before_the_table_is_opened"
    ),
    "figures that are not numbers are written": (
        "tests/algorithms/test_statement.py::test_a_run_that_is_not_private_has_no_figures_and_its_json_has_no_infinity"
    ),
}
"""By the defect, the test that finds it."""


def test_each_defect_has_its_test() -> None:
    assert [test for test in ELSEWHERE.values() if not is_there(test)] == []


@pytest.mark.parametrize(("neighbours", "factor"), [("replace", 1.0), ("add-remove", 0.5)])
def test_the_epsilon_that_is_printed_is_that_of_the_theorem(tmp_path: Path, neighbours: str, factor: float) -> None:
    """One of them prints figures of another theorem. Here the closed forms are evaluated anew."""
    T, s, eta, n, delta = 12, 5, 0.1, 4, 1e-6
    asked: dict[str, Any] = {"algorithm": "dualquery", "rounds": T, "draws": s, "step": eta, "work": 20}
    asked |= {"epsilon": 50.0, "delta": delta, "predict": False, "neighbours": neighbours}
    asked |= {"values_share": 0}  # numbers within bins would be reserved besides
    n0 = n if neighbours == "add-remove" else None
    made = release(write_table(tmp_path, rows=n), SCHEMA, "marginals:2", out=tmp_path / "out", n0=n0, **asked)
    printed = json.loads((tmp_path / "out" / "release.json").read_text())["privacy"]
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

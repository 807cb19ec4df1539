"""Plans of the generic sanitizer: their noise, what they predict, what the theorems promise, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from math import comb, log, sqrt
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, PlanError
from dpopt.files.codec import decode, encode
from dpopt.queries.conjunctions.monomials import POWERS, SETS
from dpopt.queries.polynomial_families import FunctionFamily, TableFamily
from dpopt.synopses.sanitizers.sanitizer_plan import (
    BETA,
    SanitizerFigures,
    crude_sensitivity,
    plan_sanitizer,
    theorem_error,
)
from dpopt.synopses.summaries.noise_bounds import noise_bound
from tests.exact_sanitizer_loss import FAMILIES, THREE, function_family, huge, modest, random_table, symmetric
from tests.exact_summary_loss import MIXED, UNIVERSES
from tests.tiny_runs import ADD_REMOVE, REPLACE

PURE = Budget(1.0, 0.0, None, Accountant.PURE)
RHO = Budget(None, 1e-9, 0.1, Accountant.ZCDP)
BUDGETS = {True: RHO, False: PURE}
BITS = symmetric(UNIVERSES["bits, positive"], SETS, (1.0, -0.5))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("kind", ["bits, positive, sets", "mixed, sets", "table"])
def test_the_noise_is_for_how_far_neighbours_are_apart(
    kind: str, relation: NeighbouringRelation, gaussian: bool
) -> None:
    family = FAMILIES[kind]
    figures = plan_sanitizer(family, BUDGETS[gaussian], size=100, relation=relation).figures
    moves = family.moves(2.0**-30)
    replaced = relation is REPLACE
    length = (moves.replaced if replaced else moves.added) * 2.0**-30
    square = (moves.replaced_squared if replaced else moves.added_squared) * 2.0**-60
    scale = sqrt(square / (2 * 0.1)) if gaussian else length / 1.0
    assert figures.scale * figures.unit == pytest.approx(scale, rel=1e-6)
    assert figures.exact_sensitivity == pytest.approx(length, rel=1e-6)
    assert figures.gaussian is gaussian
    assert figures.scale <= 2.0**46
    assert 2.0**35 < family.norm / figures.unit <= 2.0**40


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_crude_noise_is_that_of_the_theorem(relation: NeighbouringRelation, gaussian: bool) -> None:
    family = symmetric(UNIVERSES["bits, positive"], POWERS, (1.0, -0.5))
    number, largest = comb(5, 2), 1.0  # two variables of three: -0.5 twice
    assert (family.monomials.count, family.largest) == (number, largest)
    crude = (2 if relation is REPLACE else 1) * largest * number
    figures = plan_sanitizer(family, BUDGETS[gaussian], size=100, relation=relation).figures
    assert figures.crude_sensitivity == crude
    expected = crude / sqrt(number) / sqrt(0.2) if gaussian else crude
    assert figures.scale * figures.unit == pytest.approx(expected, rel=1e-9)
    assert figures.exact_sensitivity < crude
    products = symmetric(UNIVERSES["bits, positive"], SETS, (0.5, -1.0))  # the same polynomial
    exact = plan_sanitizer(products, BUDGETS[gaussian], size=100, relation=relation).figures
    assert exact.predicted < figures.predicted


def test_the_error_of_theorem_3_1_has_explicit_constants() -> None:
    family = symmetric(UNIVERSES["bits, positive"], POWERS, (1.0, -0.5))
    number, tail = 10, log(1 / BETA)
    found = theorem_error(family, 0.5, 1000, gaussian=False, replaced=True)
    assert found == pytest.approx(2 * number / (0.5 * 1000) * (number + sqrt(2 * number * tail) + tail))


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_tail_of_the_theorem_holds_for_sums_of_its_noise(gaussian: bool) -> None:
    """Of 100,000 sums of 20 absolute values, more than 5 % + 5 standard deviations beyond it occur with probability 1e-6."""
    family = symmetric(UNIVERSES["bits, positive"], POWERS, (1.0, -0.5, 0.25))
    number, runs = family.monomials.count, 100_000
    bound = theorem_error(family, 1.0, 1, gaussian=gaussian, replaced=True)
    scale = crude_sensitivity(family, replaced=True) / (sqrt(2.0 * number) if gaussian else 1.0)
    generator = np.random.default_rng(7)
    noise = generator.normal(0, scale, (runs, number)) if gaussian else generator.laplace(0, scale, (runs, number))
    beyond = (np.abs(noise).sum(axis=1) > bound).mean()
    assert beyond <= BETA + 5 * sqrt(BETA * (1 - BETA) / runs)
    shrunk = (np.abs(noise).sum(axis=1) > 0.6 * bound).mean()
    assert shrunk > BETA  # and is not much too large


@pytest.mark.parametrize("gaussian", [False, True])
def test_what_is_predicted_is_the_noise_of_the_monomials_of_a_query(gaussian: bool) -> None:
    figures = plan_sanitizer(BITS, BUDGETS[gaussian], size=1000).figures
    scale = figures.scale * figures.unit / 1000
    assert figures.queries == 3  # pairs of three bits
    bound = noise_bound(np.array([scale]), np.array([3.0]), BETA, gaussian=gaussian, queries=3)
    assert figures.predicted == pytest.approx(bound, abs=1e-6)
    assert figures.predicted > bound  # what cutting to units loses
    with_gamma = plan_sanitizer(replace(BITS, approximation=0.125), BUDGETS[gaussian], size=1000).figures
    assert with_gamma.predicted == pytest.approx(bound + 0.125, abs=1e-6)


def test_numbers_of_queries_are_those_of_the_family() -> None:
    assert plan_sanitizer(FAMILIES["mixed, sets"], PURE, size=10).figures.queries == 6  # of different attributes
    assert plan_sanitizer(random_table(), PURE, size=10).figures.queries == 2  # one variable of two
    assert plan_sanitizer(function_family(modest), PURE, size=10).figures.queries == 4  # any


def test_labels_are_those_of_literals_or_numbers() -> None:
    assert plan_sanitizer(BITS, PURE, size=10).figures.labels == ("a=true", "b=true", "c=true")
    assert plan_sanitizer(random_table(), PURE, size=10).figures.labels == ("y1", "y2")


def test_functions_of_few_records_become_tables_before_any_data_are_seen() -> None:
    plan = plan_sanitizer(function_family(huge), PURE, size=10)
    assert isinstance(plan.family, TableFamily)


def test_functions_of_many_records_stay_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpopt.queries.polynomial_families.MOST_RECORDS", 2)
    assert isinstance(plan_sanitizer(function_family(huge), PURE, size=10).family, FunctionFamily)


@pytest.mark.parametrize("budget", [1e-4, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_of_any_size_has_room(budget: float, gaussian: bool) -> None:
    asked = Budget(None, 1e-9, budget, Accountant.ZCDP) if gaussian else Budget(budget, 0.0, None, Accountant.PURE)
    figures = plan_sanitizer(BITS, asked, size=1000, relation=REPLACE).figures
    assert figures.scale <= 2.0**46
    assert asked.allows([figures.measurement().charge(BITS, REPLACE)])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"size": 0}, PlanError, "number of records .* found 0"),
        ({"budget": Budget(1.0, 1e-9, None, Accountant.GDP)}, PlanError, "has no figure for the noise"),
        ({"budget": Budget(1e-15, 0.0, None, Accountant.PURE)}, (PlanError, AccountingError), "budget"),
        ({"family": symmetric(UNIVERSES["bits, positive"], SETS, (0.0, 0.0))}, PlanError, "all coefficients"),
        ({"family": TableFamily("a", MIXED, THREE, np.zeros((6, 3)))}, PlanError, "all coefficients are 0"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], error: type, message: str) -> None:
    given = {"family": BITS, "budget": PURE, "size": 10, **change}
    with pytest.raises(error, match=message):
        plan_sanitizer(given.pop("family"), given.pop("budget"), **given)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gaussian", "none"),
        ("size", 0),
        ("scale", -1.0),
        ("unit", 0.3),
        ("labels", []),
        ("queries", 0),
        ("monomials", {"kind": "sets", "variables": 0, "degree": 1, "listed": []}),
    ],
)
def test_damaged_figures_are_refused(key: str, value: object) -> None:
    figures = plan_sanitizer(BITS, PURE, size=10).figures
    with pytest.raises(ValueError, match="found|expected"):
        decode(SanitizerFigures, {**encode(figures), key: value}, "figures", PlanError)

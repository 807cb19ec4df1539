from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.accountants import COMPARED, Accountant, AdvancedComposition, Composition, columns_of
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.dualquery import MOST_ROUNDS, SAMPLER_SLACK, draw_charge, draw_range, plan_charges, run_columns
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
PURE, ZCDP, GDP = Accountant
BY_DELTA = [*AdvancedComposition, ZCDP, GDP]

relations = st.sampled_from(NeighbouringRelation)
accountants, compared = st.sampled_from(Accountant), st.sampled_from(COMPARED)
etas = st.floats(0.01, 4.0)
sizes = st.integers(100, 10**6)
rounds = st.integers(1, 200)
draws = st.integers(1, 3000)
deltas = st.floats(-9.0, -0.5).map(lambda exponent: 10.0**exponent)

# KDD99: n = 494021, eta = 1.2, T = 170, s = 1750; the epsilon printed in the paper is 1 at delta = 1e-3.
KDD99 = (170, 1750, 1.2, 494021, REPLACE)
KDD99_EPSILONS = [
    (1e-3, [1.859, 1.029, 0.320, 0.270]),
    (1e-6, [2.546, 1.428, 0.566, 0.523]),
    (1e-9, [3.074, 1.734, 0.739, 0.701]),
]
# Adult: n = 30162, eta = 0.4, pure composition; the paper's claims are 1 to 5.
ADULT = [
    (35, 47, 1.0035, 0.055),
    (40, 62, 2.0062, 0.092),
    (45, 71, 2.9660, 0.121),
    (50, 78, 3.9825, 0.149),
    (55, 83, 4.9643, 0.173),
]
# Figure 2: eta = 2, epsilon = 1, delta = 1e-3.
FIGURE_2 = [(30162, 1000, [16, 22, 43, 47]), (494021, 1000, [99, 143, 279, 302]), (480189, 5000, [57, 82, 160, 173])]


def gaussian(rho: float, relation: NeighbouringRelation = REPLACE) -> Charge:
    return Charge("Gaussian noise", ChargeKind.CONCENTRATED, rho, 1, relation, "theorem")


def laplace(epsilon: float, relation: NeighbouringRelation = REPLACE) -> Charge:
    return Charge("Laplace noise", ChargeKind.PURE, epsilon, 1, relation, "theorem")


@pytest.mark.parametrize(("delta", "expected"), KDD99_EPSILONS)
def test_the_quoted_run_on_kdd99_costs_what_each_theorem_says(delta: float, expected: list[float]) -> None:
    for accountant, value in zip(BY_DELTA, expected, strict=True):
        assert run_columns(*KDD99).epsilon(accountant, delta) == pytest.approx(value, abs=6e-4), accountant


@pytest.mark.parametrize(("s", "T", "pure", "concentrated"), ADULT)
def test_the_quoted_runs_on_adult_cost_what_the_theorem_says(s: int, T: int, pure: float, concentrated: float) -> None:
    assert run_columns(T, s, 0.4, 30162, REPLACE).epsilon(PURE, 0.0) == pytest.approx(pure, abs=1e-4)
    assert run_columns(T, s, 0.4, 30162, REPLACE).epsilon(ZCDP, 1e-6) == pytest.approx(concentrated, abs=6e-4)


def reaches_one(composition: Composition, T: int, s: int, eta: float, n: int) -> bool:
    """Tell whether T is the largest number of rounds that epsilon 1 at delta 1e-3 covers."""
    epsilons = [run_columns(t, s, eta, n, REPLACE).epsilon(composition, 1e-3) for t in (T, T + 1)]
    return epsilons[0] <= 1.0 < epsilons[1]


@pytest.mark.parametrize(("n", "s", "expected"), FIGURE_2)
def test_the_rounds_of_figure_2(n: int, s: int, expected: list[int]) -> None:
    for composition, T in zip(BY_DELTA, expected, strict=True):
        assert reaches_one(composition, T, s, 2.0, n)


def test_the_rounds_of_the_synthetic_runs() -> None:
    for s, T in {200: 246, 1000: 144, 5000: 84, 50000: 39}.items():
        assert reaches_one(AdvancedComposition.PER_ROUND, T, s, 0.4, 100000)


def quoted_numbers(change: Callable[[Charge], Charge]) -> list[float]:
    """The numbers of the quoted runs when every charge is changed; beside them what the tests above expect."""
    plan = [change(charge) for charge in plan_charges(*KDD99)]
    return [columns_of(plan).epsilon(accountant, 1e-3) for accountant in BY_DELTA]


def changed(charge: Charge, *, factor: float = 1.0, kind: ChargeKind | None = None, count: int | None = None) -> Charge:
    return Charge(
        charge.mechanism,
        kind or charge.kind,
        charge.parameter * factor,
        count or charge.count,
        charge.relation,
        charge.theorem,
        charge.label,
    )


@pytest.mark.parametrize(
    "wrong_by", [{"factor": 0.5}, {"factor": 2.0}, {"factor": 1.01}, {"count": 875}, {"count": 3500}]
)
def test_ranges_and_draws_wrong_by_a_factor_would_be_noticed(wrong_by: dict[str, Any]) -> None:
    right, wrong = KDD99_EPSILONS[0][1], quoted_numbers(lambda charge: changed(charge, **wrong_by))
    assert all(abs(a - b) > 6e-4 for a, b in zip(right, wrong, strict=True))


def test_a_range_charged_as_a_pure_epsilon_would_be_noticed() -> None:
    wrong = quoted_numbers(lambda charge: changed(charge, kind=ChargeKind.PURE))
    assert abs(wrong[2] - KDD99_EPSILONS[0][1][2]) > 0.1
    assert abs(wrong[3] - KDD99_EPSILONS[0][1][3]) > 0.1


@given(st.integers(2, 10**6), etas, sizes)
def test_a_range_is_the_formula_with_slack_rounded_up(t: int, eta: float, n: int) -> None:
    for relation, factor in ((REPLACE, 2), (ADD_REMOVE, 1)):
        exact = Fraction(factor) * Fraction(eta) * (t - 1) / n + Fraction(1, 2**49)
        assert exact <= draw_range(t, eta, n, relation) <= exact * (1 + Fraction(1, 2**48))


@given(etas, sizes, relations)
def test_the_first_round_reveals_nothing(eta: float, n: int, relation: NeighbouringRelation) -> None:
    assert draw_range(1, eta, n, relation) == 0.0
    assert columns_of([draw_charge(1, 1000, eta, n, relation)]).rho() == 0.0
    assert run_columns(1, 1000, eta, n, relation).epsilon(PURE, 0.0) == 0.0


@given(etas, sizes, relations)
def test_the_samplers_slack_is_charged_from_round_two_on(eta: float, n: int, relation: NeighbouringRelation) -> None:
    steps = 2 * eta / n if relation is REPLACE else eta / n
    assert draw_range(2, eta, n, relation) >= steps + SAMPLER_SLACK
    assert draw_range(2, 1e-30, n, relation) >= SAMPLER_SLACK == 2.0**-49


def test_add_remove_halves_the_range_and_quarters_rho() -> None:
    for t in (2, 3, 50, 1000):
        double, single = (draw_range(t, 0.7, 5000, relation) - SAMPLER_SLACK for relation in (REPLACE, ADD_REMOVE))
        assert double == pytest.approx(2.0 * single, rel=1e-11)
    rhos = [columns_of(plan_charges(90, 300, 0.7, 5000, relation)).rho() for relation in (REPLACE, ADD_REMOVE)]
    assert rhos[0] == pytest.approx(4.0 * rhos[1], rel=1e-9)
    pure = [run_columns(90, 300, 0.7, 5000, relation).epsilon(PURE, 0.0) for relation in (REPLACE, ADD_REMOVE)]
    assert pure[0] == pytest.approx(2.0 * pure[1], rel=1e-9)


@given(rounds, draws, etas, sizes)
def test_pure_epsilon_and_rho_have_the_closed_forms_of_the_paper(T: int, s: int, eta: float, n: int) -> None:
    pure = run_columns(T, s, eta, n, REPLACE).epsilon(PURE, 0.0)
    assert pure == pytest.approx(eta * T * (T - 1) * s / n, rel=1e-8)
    rho = columns_of(plan_charges(T, s, eta, n, REPLACE)).rho()
    assert rho == pytest.approx(s * eta**2 * T * (T - 1) * (2 * T - 1) / (12 * n**2), rel=1e-6)


@given(rounds, draws, etas, sizes, relations, compared, deltas, st.booleans())
def test_the_planner_and_the_ledger_compute_the_same_number(
    T: int,
    s: int,
    eta: float,
    n: int,
    relation: NeighbouringRelation,
    accountant: Composition,
    delta: float,
    more: bool,
) -> None:
    extra = [laplace(0.01, relation), draw_charge(3, 7, eta, n, relation)] if more else []
    plan = [*plan_charges(T, s, eta, n, relation), *extra]
    planned = run_columns(T, s, eta, n, relation, extra).epsilon(accountant, delta)
    assert planned == columns_of(plan).epsilon(accountant, delta)


@given(rounds, draws, etas, sizes, relations, compared, deltas, st.integers(1, 50), st.floats(1.001, 2.0))
def test_epsilon_is_monotone_in_every_argument(
    T: int,
    s: int,
    eta: float,
    n: int,
    relation: NeighbouringRelation,
    accountant: Composition,
    delta: float,
    more: int,
    factor: float,
) -> None:
    base = run_columns(T, s, eta, n, relation).epsilon(accountant, delta)
    assert run_columns(T + more, s, eta, n, relation).epsilon(accountant, delta) >= base
    assert run_columns(T, s + more, eta, n, relation).epsilon(accountant, delta) >= base
    assert run_columns(T, s, eta * factor, n, relation).epsilon(accountant, delta) >= base
    assert run_columns(T, s, eta, n + more, relation).epsilon(accountant, delta) <= base
    assert run_columns(T, s, eta, n, relation).epsilon(accountant, min(0.9, delta * factor)) <= base
    assert run_columns(T, s, eta, n, REPLACE).epsilon(accountant, delta) >= base
    assert run_columns(T, s, eta, n, relation, [laplace(0.01, relation)]).epsilon(accountant, delta) >= base


def test_a_plan_is_one_charge_per_round() -> None:
    plan = plan_charges(5, 20, 0.5, 1000, ADD_REMOVE)
    assert plan == tuple(draw_charge(t, 20, 0.5, 1000, ADD_REMOVE) for t in range(1, 6))
    assert [charge.label for charge in plan] == [f"round {t}" for t in range(1, 6)]
    assert {charge.kind for charge in plan} == {ChargeKind.BOUNDED_RANGE}
    assert {charge.relation for charge in plan} == {ADD_REMOVE}
    assert len(set(plan)) == 5


def log_weights(answers: np.ndarray, t: int, eta: float) -> np.ndarray:
    """Weights of round t but for the public part, which the ratio between two tables does not see."""
    return eta * (t - 1) * answers


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_the_range_is_reached_and_never_passed_by_neighbouring_tables(relation: NeighbouringRelation) -> None:
    generator = np.random.default_rng(3)
    largest = 0.0
    for _ in range(400):
        n, t, eta = (int(generator.integers(2, 9)), int(generator.integers(2, 30)), float(generator.choice([0.1, 2.0])))
        table = generator.integers(0, 2, (n, 4))
        if relation is REPLACE:
            other = table.copy()
            other[0] = generator.integers(0, 2, 4)
        else:
            other = table[1:]
        logs = []
        for rows in (table, other):
            true = (rows[:, :, None] & rows[:, None, :]).reshape(len(rows), -1)
            counts = np.concatenate([true.sum(axis=0), (1 - true).sum(axis=0)])
            weights = log_weights(counts / n, t, eta)
            logs.append(weights - np.log(np.exp(weights).sum()))
        allowed = draw_range(t, eta, n, relation)
        ratio = float(np.ptp(logs[0] - logs[1])) / allowed
        largest = max(largest, ratio)
        assert ratio <= 1.0 + 1e-9
        assert float(np.abs(logs[0] - logs[1]).max()) <= allowed * (1.0 + 1e-9)
    assert largest > 0.999


GOOD: dict[str, Any] = {"rounds": 10, "draws": 5, "eta": 0.5, "n": 100, "relation": REPLACE}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("rounds", -3),
        ("rounds", 2.0),
        ("rounds", True),
        ("rounds", MOST_ROUNDS + 1),
        ("draws", 0),
        ("draws", 1.5),
        ("draws", True),
        ("eta", 0.0),
        ("eta", -0.1),
        ("eta", math.nan),
        ("eta", math.inf),
        ("eta", "0.5"),
        ("eta", True),
        ("n", 0),
        ("n", -1),
        ("n", 100.0),
        ("n", 2**53 + 1),
        ("relation", "replace"),
    ],
)
def test_a_parameter_out_of_range_is_refused(name: str, value: object) -> None:
    arguments = {**GOOD, name: value}
    message = re.compile({"rounds": "round", "draws": "draws|count"}.get(name, name) + r".*: found")
    with pytest.raises(AccountingError, match=message):
        plan_charges(**arguments)
    with pytest.raises(AccountingError, match=message):
        run_columns(**arguments)
    one = {"t" if key == "rounds" else key: entry for key, entry in arguments.items()}
    with pytest.raises(AccountingError, match=message):
        draw_charge(**one)


def test_other_charges_must_be_under_the_same_relation() -> None:
    extra = [gaussian(0.01, ADD_REMOVE)]
    with pytest.raises(AccountingError, match="cannot be added up"):
        run_columns(10, 5, 0.5, 100, REPLACE, extra).epsilon(ZCDP, 1e-6)


@pytest.mark.parametrize("accountant", [PURE, GDP, *AdvancedComposition])
def test_gaussian_noise_beside_the_draws_needs_zcdp(accountant: Composition) -> None:
    with pytest.raises(AccountingError, match="use 'zcdp'"):
        run_columns(10, 5, 0.5, 100, REPLACE, [gaussian(0.01)]).epsilon(accountant, 1e-6)

"""The matrix of least expected loss, OM-1 to OM-7: optima, bounds that no solver is trusted for, whole weights."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.models.optimal_mechanism import SUM, least_loss, losses_of, optimal_mechanism, whole_weights
from tests.models.catalogue import MODELS
from tests.models.mechanisms import away, binomial_prior, exponential, geometric, laplace, net, remapped

N = 10
PRIORS = {"worst case": None, "even prior": np.full(N + 1, 1 / (N + 1)), "binomial 0.1": binomial_prior(N, 0.1)}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_table_of_the_page(epsilon: float) -> None:
    """Geometric noise reaches the optimum once it is mapped (Ghosh, Roughgarden and Sundararajan); others lie above."""
    text = (MODELS / "optimal_mechanism" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| {epsilon:g} \| ([\w. ]+) \| (.+) \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == list(PRIORS)
    losses, mechanisms = away(N), (geometric, laplace, exponential)
    for name, cells in rows:
        prior = PRIORS[name]
        optimum = optimal_mechanism(losses, exp(epsilon), prior=prior).solve().objective
        matrices = [mechanism(N, epsilon) for mechanism in mechanisms] + [net(N, epsilon, 4)]
        if prior is None:
            found = [optimum, *((losses * one).sum(axis=1).max() for one in matrices)]
        else:
            mapped = remapped(matrices[0], losses, prior)
            found = [optimum, *(prior @ (losses * one).sum(axis=1) for one in (mapped, *matrices))]
            assert found[1] == pytest.approx(optimum, abs=1e-6)
        assert [f"{one:.4f}" for one in found] == [cell.strip() for cell in cells.split("|") if cell.strip()]
        assert optimum <= min(found[1:]) + 1e-6


CASES: list[dict[str, Any]] = [{}, {"prior": PRIORS["binomial 0.1"]}, {"delta": 1e-3}]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("case", CASES, ids=["worst", "prior", "delta"])
def test_the_sampled_weights_are_feasible_and_within_a_proven_gap(epsilon: float, case: dict[str, Any]) -> None:
    """OM-3 to OM-5 for the whole numbers, one by one in fractions; OM-6 below their loss (OM-7)."""
    ratio, losses = exp(epsilon), away(N)
    model = optimal_mechanism(losses, ratio, **case)
    found = model.solve()
    weights = whole_weights(found.value["x"], ratio, delta=case.get("delta", 0.0))
    assert {sum(row) for row in weights.tolist()} == {SUM}
    for i, j in [(a, b) for a in range(N + 1) for b in range(N + 1) if abs(a - b) == 1]:
        pairs = zip(weights[i].tolist(), weights[j].tolist(), strict=True)
        over = sum(max(Fraction(0), one - Fraction(ratio) * two) for one, two in pairs)
        assert over <= Fraction(case.get("delta", 0.0)) * SUM
    expected = losses_of(weights, losses)
    prior = case.get("prior")
    loss = float(max(expected.tolist())) if prior is None else float(prior @ expected.astype(np.float64))
    bound = float(least_loss(model, found, losses, ratio, **case))
    assert bound <= loss + 1e-12
    assert loss - bound <= 1e-5


def test_no_dual_of_a_lying_solver_proves_too_much() -> None:
    """OM-6 holds for any multipliers: it never exceeds the loss of a mechanism that is known to be feasible."""
    draw, losses = np.random.default_rng(1), away(4)
    model = optimal_mechanism(losses, exp(1.0), delta=0.01)
    found = model.solve()
    feasible = float((losses * geometric(4, 1.0)).sum(axis=1).max())
    for scale in (0.0, 0.1, 1.0, 100.0):
        duals = scale * draw.normal(size=model.linear.number_of_rows)
        lying = replace(found, result=replace(found.result, duals=duals))
        assert least_loss(model, lying, losses, exp(1.0), delta=0.01) <= feasible
    assert least_loss(model, replace(found, result=replace(found.result, duals=None)), losses, exp(1.0)) == 0


def test_nonsense_of_a_solver_becomes_a_mechanism_all_the_same() -> None:
    wrong = np.array([[1.0, 0.0], [np.nan, -1.0], [0.0, 5.0]])
    weights = whole_weights(wrong, 1.5)
    assert (2 * weights[1:] <= 3 * weights[:-1]).all()
    assert (2 * weights[:-1] <= 3 * weights[1:]).all()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"losses": np.zeros((1, 2))}, "two or more values"),
        ({"losses": np.zeros((100, 100))}, "5,000 numbers at most"),
        ({"losses": -np.eye(2)}, "from 0"),
        ({"ratio": 1.0}, "expected above 1"),
        ({"delta": 1.0}, "from 0 to below 1"),
        ({"prior": np.array([0.5, 0.6])}, "of sum 1"),
    ],
)
def test_what_is_no_mechanism_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProgramError, match=expected):
        optimal_mechanism(**{"losses": 1 - np.eye(2), "ratio": 3.0, **given})

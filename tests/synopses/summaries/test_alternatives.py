"""What other releases promise: by hand, and true of every pair of tiny tables whose counts agree within the noise."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from math import comb, inf, log, sqrt

import numpy as np
import pytest

from dpopt.accounting.budget import Budget
from dpopt.polynomials.targets import Target
from dpopt.synopses.summaries import alternatives as module
from dpopt.synopses.summaries.alternatives import alternatives
from dpopt.synopses.summaries.budget_spread import Measured
from dpopt.synopses.summaries.summary_plan import BETA, plan_summary
from tests.synopses.summaries.test_summary_plan import bits
from tests.synopses.summaries.tiny_summaries import PURE, RHO


@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("predicate", ["and", "or"])
@pytest.mark.parametrize("size", [500, 10**5])
def test_records_made_to_agree_promise_no_more_than_the_polynomial(size: int, predicate: str, budget: Budget) -> None:
    """The same argument twice, with noise added up by its largest values: never better than the summary, but for its price."""
    plan = plan_summary(bits(8), 4, budget, size=size, predicate=predicate, small_queries=0.0)
    found = alternatives(plan)
    assert (found.polynomial, found.direct) == (plan.predicted, plan.direct)
    assert found.marginals >= min(plan.predicted, 1.0) * (1 - 1e-6)
    assert found.least == "polynomial" or found.direct <= plan.predicted
    assert 1 <= found.marginal_size <= 4
    assert (found.direct == inf) == (predicate == "or")


def test_the_guarantee_of_pairs_by_hand() -> None:
    """Single literals alone, two conditions: 2 (gamma + |a| 2 tau) with p(s) = a_0 + s / 2 and gamma = 1 / 4."""
    sensitivity, amount, size = np.array([8.0]), 0.1, 10**4
    measured = Measured(sensitivity, amount, size, 28, gaussian=True, beta=BETA)
    tau = sqrt(2 * log(2 * 8 / BETA)) * sqrt(8 / (2 * amount)) / size
    slope = 0.5
    expected = 2 * ((1 - slope) / 2 + slope * 2 * tau)
    assert module._guaranteed(Target.conjunction(2), measured, 1, 8) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("predicate", ["and", "or", "atleast:2"])
@pytest.mark.parametrize("most", [1, 2])
def test_tables_whose_counts_agree_within_noise_have_answers_within_the_guarantee(most: int, predicate: str) -> None:
    """All pairs of tables of two records of three bits: if no count differs by more than 2 tau, no answer by more."""
    k, size = 3, 2
    target = Target.named(predicate, k)
    subsets = [one for j in range(1, most + 1) for one in combinations(range(k), j)]
    records = list(product((0, 1), repeat=k))
    tables = list(combinations_with_replacement(records, size))
    for amount in (0.5, 20.0, 2000.0):
        measured = Measured(
            np.array([comb(k, j) for j in range(1, most + 1)], dtype=float), amount, size, 1, gaussian=True, beta=BETA
        )
        shares = np.full(most, 1 / most)
        reach = sqrt(2 * log(2 * len(subsets) / BETA)) * measured.scales(shares)
        weights = {one: 2 * reach[len(one) - 1] for one in subsets}
        worst = 0.0
        for one, other in combinations(tables, 2):
            if all(
                abs(sum(all(r[i] for i in a) for r in one) - sum(all(r[i] for i in a) for r in other)) / size
                <= weights[a]
                for a in subsets
            ):
                answers = [sum(float(target.values[sum(r)]) for r in table) / size for table in (one, other)]
                worst = max(worst, abs(answers[0] - answers[1]))
        # The guarantee for these shares: one round, before the spread is improved.
        guaranteed = _with_shares(target, measured, most, reach)
        assert worst <= guaranteed + 1e-9
    assert worst > 0 or most == 2


def _with_shares(target: Target, measured: Measured, most: int, reach: np.ndarray) -> float:
    from fractions import Fraction

    from dpopt.polynomials.coefficient_budgets import least_predicted_error
    from dpopt.synopses.summaries.budget_spread import LEFT_OUT

    weights = [Fraction(0), *(Fraction(comb(target.width, j) * float(reach[j - 1])) for j in range(1, most + 1))]
    weights += [LEFT_OUT] * (target.width + 1 - len(weights))
    return 2 * float(least_predicted_error(target, weights).objective)

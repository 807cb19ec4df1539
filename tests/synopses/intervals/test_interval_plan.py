"""Plans of intervals: the corrected theorem, the proven error, what is refused, and what is on file."""

from __future__ import annotations

import re
from math import ceil, log

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.intervals.against_trees import tree_beside
from dpopt.synopses.intervals.interval_plan import IntervalPlan, plan_intervals
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_plan import SplitPlan, plan_split
from experiments.intervals.theorem import (
    corrected_error,
    corrected_records,
    printed_records,
    records_of_its_proof,
    theorem_plan,
)
from tests.tiny_runs import REPLACE

PURE, RHO = Budget(1.0, 0.0, None, Accountant.PURE), Budget(None, 1e-9, 0.5, Accountant.ZCDP)


def worst(released: object, counts: NDArray[np.int64]) -> float:
    """Return the largest error of any range."""
    partition, weights = released.partition, released.weights  # type: ignore[attr-defined]
    sides = (partition.stops - partition.starts)[:, 0]
    return float(np.ptp(np.concatenate(([0.0], np.cumsum(np.repeat(weights / sides, sides) - counts)))))


def test_the_sizes_of_the_theorem_are_those_of_the_specification() -> None:
    """alpha = 0.2, delta = 0.05, epsilon = 1, 12 comparisons: six times fewer records than its proof, 150 times the printed."""
    assert printed_records(0.2, 1.0, 12, 0.05) == ceil(480 * log(9600)) == 4402
    assert records_of_its_proof(0.2, 1.0, 12, 0.05) == ceil(288 * 12 / 0.008 * log(9600))
    assert corrected_records(0.2, 1.0, 12, 0.05) == ceil(48 * 1.1 * 12 / 0.008 * log(4800))
    assert 5.8 < records_of_its_proof(0.2, 1.0, 12, 0.05) / corrected_records(0.2, 1.0, 12, 0.05) < 6.1


def test_the_corrected_size_bounds_the_noise_that_the_theorem_allows() -> None:
    """With n of the theorem: b K comparisons of scale b K / epsilon stay below tau n, and K tau + 2 (alpha' + tau) = alpha."""
    for alpha in (0.1, 0.2, 0.25, 0.5):
        n = corrected_records(alpha, 1.0, 20, 0.05)
        intervals, tau = ceil(4 / alpha), alpha**2 / (12 + 6 * alpha)
        assert 20 * intervals * log(20 * intervals / 0.05) <= tau * n * (1 + 1e-9)
        assert intervals * tau + 2 * (alpha / 3 + tau) == pytest.approx(alpha)
        assert corrected_error(n, 1.0, 20, 0.05) == pytest.approx(alpha, rel=1e-4)
        plan = theorem_plan(2**20, PURE, n, alpha)
        assert (plan.intervals, plan.threshold) == (intervals, ceil(alpha / 3 * n))
        assert plan.scale <= 20 * intervals
    assert corrected_error(100, 1.0, 20, 0.05) is None


class Bounded:
    """Noise of the worst size that a proof allows, in either direction."""

    is_private = True

    def __init__(self, reach: int, mass_scale: float, mass_reach: int, generator: np.random.Generator):
        self.reach, self.mass_scale, self.mass_reach = reach, mass_scale, mass_reach
        self.generator = generator

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        reach = self.mass_reach if scale == self.mass_scale else self.reach
        return np.asarray(counts + reach * self.generator.integers(-1, 2, counts.shape))

    discrete_gaussian = discrete_laplace


def some_counts(generator: np.random.Generator, kind: int, records: int) -> NDArray[np.int64]:
    bins = 512
    if kind == 0:
        chosen = generator.integers(0, bins, records)
    elif kind == 1:
        chosen = np.minimum(generator.geometric(0.02, records), bins) - 1
    else:  # heavy bins beside empty ones
        chosen = np.where(generator.random(records) < 0.5, 77, generator.integers(0, bins, records))
    return np.bincount(chosen, minlength=bins).astype(np.int64)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("reach", [0, 90, 700])
def test_with_noise_of_the_size_that_is_allowed_no_range_is_off_by_more_than_is_proven(kind: int, reach: int) -> None:
    """The statements (1) and (2) of `interval_plan`, with the worst noise in any directions, whatever records are equal."""
    generator = np.random.default_rng(10 * kind + reach)
    n, intervals, sums = 20_000, 12, 5
    for _ in range(8):
        counts = some_counts(generator, kind, n)
        threshold = ceil((n + 1 + (intervals - 2) * reach) / intervals)
        plan = IntervalPlan(
            shape=(512,),
            relation=REPLACE,
            budget=PURE,
            gaussian=False,
            size=n,
            scale=123.0 * 1e6,
            mass_scales=(3.5,),
            beta=0.05,
            error=1.0,
            intervals=intervals,
            threshold=threshold,
        )
        noise = Bounded(reach, 3.5, sums, generator)
        released = release_partition(BinCounts.from_counts(counts), plan, noise=noise)
        assert worst(released, counts) <= 2 * (threshold - 1 + reach) + 2 * intervals * sums * 2
        wide = released.partition.stops[:, 0] - released.partition.starts[:, 0] > 1
        exact = np.add.reduceat(counts, released.partition.starts[:, 0])
        assert (exact[wide] <= threshold - 1 + reach).all()  # bins with many records stand alone


@pytest.mark.parametrize("budget", [PURE, RHO])
def test_real_releases_keep_the_proven_error(budget: Budget) -> None:
    """With probability 0.95 each: that none of five does is less likely than 1e-6."""
    generator = np.random.default_rng(4)
    counts = some_counts(generator, 1, 400_000)
    plan = plan_intervals(512, budget, 400_000, intervals=40)
    errors = [worst(release_partition(BinCounts.from_counts(counts), plan), counts) for _ in range(5)]
    assert min(errors) <= plan.error


def test_the_planner_finds_the_least_error_and_more_records_help() -> None:
    best = plan_intervals(2**12, PURE, 10**6)
    for other in (best.intervals // 2, best.intervals - 3, best.intervals + 3, 2 * best.intervals):
        assert plan_intervals(2**12, PURE, 10**6, intervals=other).error >= best.error * 0.995
    shares = [plan_intervals(2**12, PURE, n).error / n for n in (10**4, 10**5, 10**6, 10**7)]
    assert shares == sorted(shares, reverse=True)
    assert best.error < corrected_error(10**6, 1.0, 12, 0.05) * 10**6  # type: ignore[operator]


def test_gaussian_noise_has_less_error_than_laplace() -> None:
    assert plan_intervals(2**16, RHO, 10**6).error < plan_intervals(2**16, PURE, 10**6).error


def test_a_tree_is_recommended_where_it_is_better() -> None:
    beside = tree_beside(plan_intervals(2**10, PURE, 10**6))
    assert beside.better
    assert beside.bound < 1_000
    assert tree_beside(plan_split((32, 32), PURE, 10**6)).command == "dpopt grid"
    assert tree_beside(plan_split((32, 32), RHO, 10**6, relation=REPLACE)).better


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": None}, "give n="),
        ({"size": 0}, "found the number of records 0; expected 1"),
        ({"bins": 1}, "2 to 4,194,304 bins, found 1"),
        ({"bins": 2**23}, "found 8,388,608"),
        ({"intervals": 1}, "found 1 intervals"),
        ({"intervals": 500}, "found 500 intervals; expected 2 to 256"),
        ({"beta": 1.0}, "beta must lie between 0 and 1"),
        ({"error": 0.0}, "the wanted error must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"bins": 256, "budget": PURE, "size": 1000, **arguments}
    with pytest.raises(PlanError, match=message):
        plan_intervals(**given)  # type: ignore[arg-type]


def test_an_error_that_is_not_proven_is_refused_with_sufficient_numbers() -> None:
    with pytest.raises(PlanError, match="is not proven") as refused:
        plan_intervals(256, PURE, 20_000, error=0.1)
    sufficient = str(refused.value).replace(",", "").partition("sufficient: ")[2]
    records, epsilon = (float(number) for number in re.findall(r" = ([\d.]+)", sufficient))
    assert plan_intervals(256, PURE, int(records), error=0.1).error <= 0.1 * records
    enough = Budget(epsilon * 1.01, 0.0, None, Accountant.PURE)
    assert plan_intervals(256, enough, 20_000, error=0.1).error <= 2_000
    with pytest.raises(
        PlanError, match="or epsilon = "
    ):  # as the budget was given, and not as the rho that it is worth
        plan_intervals(256, Budget(1.0, 1e-6, None, Accountant.ZCDP), 5_000, error=0.1)
    with pytest.raises(PlanError, match="no number of records"):
        plan_intervals(256, Budget(1e-9, 0.0, None, Accountant.PURE), 20_000, error=0.001)


def test_plans_of_earlier_versions_are_read_and_damaged_ones_are_not() -> None:
    line = plan_intervals(256, PURE, 5_000).to_json()
    assert IntervalPlan.from_json({**line, "atom": 7}).to_json() == line  # as earlier versions wrote it
    for changed, message in (
        ({"intervals": 300}, "found 300 intervals for 256 bins"),
        ({"shape": [16, 16]}, "of one column, found 2"),
        ({"mass_scales": [1.0, 1.0]}, "found 2 scales of sums"),
        ({"mass_scales": []}, "printed weights, removed.*use intervals.*stays as it is.*0.1.0"),
        ({"intervals": 12.5}, r"\$\.intervals.*a whole number"),
        ({"kind": "split"}, "kind"),
        ({"mass_scale": 1.0}, "unknown key 'mass_scale'.*did you mean 'mass_scales'"),
    ):
        with pytest.raises(PlanError, match=message):
            IntervalPlan.from_json({**line, **changed})
    split = plan_split((16, 8), PURE, 5_000).to_json()
    with pytest.raises(PlanError, match="expected increasing ones from"):
        SplitPlan.from_json({**split, "mass_depths": [1], "mass_scales": [1.0]})


def test_a_split_charges_no_more_comparisons_than_a_box_can_need() -> None:
    plan: SplitPlan = plan_split((16, 2), PURE, 10_000, rounds=3)
    assert [cut.comparisons for cut in plan.cuts] == [4, 0, 4, 0, 4, 0]
    assert len(plan.charges()) == 3 + len(plan.mass_depths)
    for arguments, message in (
        ({"rounds": 9}, "found 9 cuts of each axis; expected 1 to 4"),
        ({"error": 0.01}, "is not proven"),
    ):
        with pytest.raises(PlanError, match=message):
            plan_split((16, 2), PURE, 10_000, **arguments)
    with pytest.raises(PlanError, match="2 columns or more with 2 bins or more each"):
        plan_split((16,), PURE, 10_000)

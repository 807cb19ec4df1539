"""Histograms that measure waves: as good as predicted, answered and kept like others, refused where nothing is proven."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PlanError
from dpopt.models.noise_budgets.least_variance import least_of_prefixes, least_of_ranges
from dpopt.models.noise_budgets.strategy import best_strategy, gram_of_prefixes, gram_of_ranges
from dpopt.queries.ranges.waves import waves_of
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.wave_plan import WavePlan, plan_waves

RHO = 0.5
BUDGET = Budget(None, 1e-9, RHO, Accountant.ZCDP)
ADD_REMOVE = NeighbouringRelation.ADD_REMOVE
GRAMS = {"all": gram_of_ranges, "prefixes": gram_of_prefixes}
BOUNDS = {"all": least_of_ranges, "prefixes": least_of_prefixes}


def released(counts: np.ndarray[tuple[int], np.dtype[np.int64]], ranges: str = "all") -> Histogram:
    return dpopt.histogram(pd.DataFrame({"n": counts}), counts="n", ranges=ranges, measure="waves", rho=RHO)


@pytest.mark.parametrize("ranges", GRAMS)
@pytest.mark.parametrize("bins", [1, 2, 5, 33, 64])
def test_variances_are_those_of_dense_least_squares(bins: int, ranges: str) -> None:
    waves = waves_of(bins, prefixes=ranges == "prefixes")
    heights, norms = waves.weights()
    strategy = heights[:, None] * waves.table[np.outer(waves.rows, waves.columns) % waves.table.size] * norms
    covariance = np.linalg.inv(strategy.T @ strategy)
    assert waves.mean_variance() == pytest.approx(float(np.trace(GRAMS[ranges](bins) @ covariance)))
    assert waves.mean_variance() == pytest.approx(best_strategy(GRAMS[ranges](bins), steps=1).variance)  # ST-6
    starts, ends = np.triu_indices(bins)
    places = np.arange(bins)
    inside = ((places >= starts[:, None]) & (places <= ends[:, None])) * 1.0
    dense = np.einsum("qi,ij,qj->q", inside, covariance, inside)
    np.testing.assert_allclose(waves.variances(starts, ends + 1), dense)
    near = waves.near_variances(starts, ends + 1 - starts)
    np.testing.assert_allclose(near[starts == ends], dense[starts == ends])
    assert (near >= 0.5 * dense).all()
    assert (near <= 2 * dense).all()


@pytest.mark.parametrize(("ranges", "bins", "above"), [("all", 4_096, 0.01), ("prefixes", 4_096, 0.03)])
def test_4096_bins_are_near_what_is_proven(ranges: str, bins: int, above: float) -> None:
    plan = plan_waves(bins, BUDGET, ranges=ranges, relation=ADD_REMOVE)
    (predicted,) = plan.predicted.values()
    assert 1 <= predicted / BOUNDS[ranges](bins) <= 1 + above
    assert BUDGET.allows(plan.charges())
    assert WavePlan.from_json(plan.to_json()).to_json() == plan.to_json()


@pytest.mark.parametrize(("ranges", "bins", "above"), [("all", 65_536, 0.006), ("prefixes", 65_536, 0.018)])
def test_65536_bins_are_nearer(ranges: str, bins: int, above: float) -> None:
    assert 1 <= waves_of(bins, prefixes=ranges == "prefixes").mean_variance() / BOUNDS[ranges](bins) <= 1 + above


@pytest.mark.parametrize("ranges", GRAMS)
def test_errors_are_those_stated(ranges: str) -> None:
    """40 releases of 128 bins, 60 ranges: the mean of squared errors over stated variances, within 5 of its deviations.

    The mean of 40 times about as many independent squares as 60 ranges have: between .7 and 1.4 but with probability below
    1e-6; noise of twice the variance is outside but with probability below 1e-6.
    """
    draw = np.random.default_rng(3)
    counts = draw.integers(0, 500, 128)
    truth = np.concatenate(([0], np.cumsum(counts)))
    wanted = [tuple(sorted(draw.choice(129, 2, replace=False).tolist())) for _ in range(60)]
    found = []
    for _ in range(40):
        one = released(counts, ranges)
        for (start, stop), answer in zip(wanted, one.ranges(wanted, estimate="least-squares"), strict=True):
            found.append(((answer.value - (truth[stop] - truth[start])) / answer.standard_error) ** 2)
    assert 0.7 <= float(np.mean(found)) <= 1.4


def test_a_release_is_kept_and_its_estimates_agree(tmp_path: Path) -> None:
    counts = np.repeat([0, 90, 0, 7], 12)
    one = released(counts)
    one.write(tmp_path / "waves.npz")
    again = Histogram.read(tmp_path / "waves.npz")
    assert isinstance(again.plan, WavePlan)
    for estimate in (Estimate.DIVIDED, Estimate.LEAST_SQUARES):
        np.testing.assert_array_equal(one.estimate(estimate), again.estimate(estimate))
    assert one.counts.min() >= 0
    assert np.abs(one.least_squares - counts).max() < 10
    assert one.total == pytest.approx(max(0.0, one.least_squares.sum()), abs=1e-6)
    assert one.privacy["rho"] == pytest.approx(RHO)
    assert one.privacy["rho"] <= RHO


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"epsilon": 1.0, "delta": 0}, "Gaussian noise"),
        ({"rho": 1.0, "neighbours": "replace"}, "add-remove"),
        ({"rho": 1.0, "ranges": "worst"}, "'all' or 'prefixes'"),
        ({"rho": 1.0, "measure": "wavelets"}, "blocks, waves"),
    ],
)
def test_what_waves_are_not_for_is_refused(how: dict[str, object], words: str) -> None:
    table = pd.DataFrame({"n": np.arange(8)})
    with pytest.raises(DpoptError, match=words):
        dpopt.histogram(table, counts="n", **{"measure": "waves", **how})  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="65,536"):
        plan_waves(65_537, BUDGET, ranges="all", relation=ADD_REMOVE)

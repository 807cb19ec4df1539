"""Ranges that a user declares: plans for their weighted mean variance, in Python and from a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import WorkloadError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import hierarchy_of
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.range_workload import RangeWorkload
from dpopt.synopses.histograms.release_histogram import release_histogram

PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
STARTS, STOPS = np.array([0, 5, 17, 40]), np.array([1, 9, 49, 64])
WEIGHTS = np.array([4.0, 1.0, 0.5, 2.5])


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_what_is_predicted_is_the_weighted_mean_variance(budget: Budget) -> None:
    plan = plan_histogram(64, budget, ranges=RangeWorkload.declared(STARTS, STOPS, WEIGHTS, 64))
    found = release_histogram(BinCounts.from_counts(np.zeros(64)), plan)
    answers = found.ranges(list(zip(STARTS.tolist(), STOPS.tolist(), strict=True)))
    mean = np.average([answer.standard_error**2 for answer in answers], weights=WEIGHTS)
    assert plan.predicted == {"declared ranges": pytest.approx(mean, rel=1e-6)}
    assert plan.ranges == "4 declared ranges"


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_weights_matter_and_the_plan_is_best_for_them(budget: Budget) -> None:
    heavy = {"bins": np.array([1.0, 1e-3]), "wide": np.array([1e-3, 1.0])}
    starts, stops = np.array([3, 0]), np.array([4, 64])
    plans = {
        name: plan_histogram(64, budget, ranges=RangeWorkload.declared(starts, stops, weights, 64))
        for name, weights in heavy.items()
    }
    errors = {}
    for name, plan in plans.items():
        answers = release_histogram(BinCounts.from_counts(np.zeros(64)), plan).ranges([(3, 4), (0, 64)])
        errors[name] = [answer.standard_error for answer in answers]
    assert errors["bins"][0] < errors["wide"][0]
    assert errors["wide"][1] < 0.5 * errors["bins"][1]


def test_a_file_is_what_its_arrays_are_and_its_path_stays_out(tmp_path: Path) -> None:
    path = tmp_path / "secret-name.csv"
    lines = [f"{a}:{b},{w}" for a, b, w in zip(STARTS, STOPS, WEIGHTS, strict=True)]
    path.write_text("range,weight\n" + "\n".join(lines) + "\n")
    by_file = plan_histogram(64, PURE, ranges=f"file:{path}")
    by_arrays = plan_histogram(64, PURE, ranges=RangeWorkload.declared(STARTS, STOPS, WEIGHTS, 64))
    assert by_file.to_json() == by_arrays.to_json()
    assert "secret" not in json.dumps(by_file.to_json())
    hierarchy = hierarchy_of([list(range(16)), list(range(16, 64))], Bins("bins", 64))
    plan = plan_hierarchy(hierarchy, PURE, ranges=f"file:{path}")
    assert "secret" not in json.dumps(plan.to_json())
    assert plan.ranges == "4 declared ranges"


def test_a_file_speaks_the_language_of_the_bins(tmp_path: Path) -> None:
    path = tmp_path / "ranges.csv"
    path.write_text("18:65\n65:\n")
    ages = Bins("age", 100, None, tuple(map(float, range(101))))
    workload = RangeWorkload.parse(f"file:{path}", ages)
    again = RangeWorkload.declared(np.array([18, 65]), np.array([65, 100]), np.ones(2), 100)
    assert workload.loads == pytest.approx(again.loads)
    with pytest.raises(WorkloadError, match="line 1: the range '18:65' holds no bin"):
        RangeWorkload.parse(f"file:{path}", 50)


def test_ranges_that_make_no_sense_are_refused() -> None:
    with pytest.raises(WorkloadError, match="range 0 goes from 0 to 65"):
        RangeWorkload.declared(np.array([0]), np.array([65]), np.ones(1), 64)
    with pytest.raises(WorkloadError, match="at least one range"):
        RangeWorkload.declared(np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.ones(0), 64)

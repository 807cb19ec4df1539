"""What a plan says of the least variance that can be: below its own, above nothing that some mechanism has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.models.noise_budgets.least_variance import least_of_ranges
from dpopt.models.noise_budgets.strategy import best_strategy, gram_of_ranges
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.least_possible import least_variances

BUDGET = Budget(None, 1e-9, 0.125, Accountant.ZCDP)
REPLACED = {"relation": NeighbouringRelation.REPLACE_ONE, "size": 100}


@pytest.mark.parametrize("how", [{}, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize("ranges", ["all", "worst", "sizes:1,4,20"])
@pytest.mark.parametrize("bins", [40, 2_000])
def test_no_plan_is_below_what_is_proven_and_none_far_above(bins: int, ranges: str, how: dict[str, object]) -> None:
    plan = plan_blocks(bins, BUDGET, ranges=ranges, **how)  # type: ignore[arg-type]
    found = least_variances(plan, ranges)
    if how and ranges.startswith("sizes") and bins > 1_024:
        assert not found.least
        return
    assert len(found.least) == (3 if ranges.startswith("sizes") else 1)
    for name, least in found.least.items():
        assert 0.1 * plan.predicted[name] <= least <= plan.predicted[name] * (1 + 1e-9)
    lines = found.in_words(plan.predicted)
    assert ("waves in place of blocks" in lines[-1]) == (ranges == "all" and not how)
    assert all("proven" in line for line in lines[: len(found.least)])
    assert ("largest" in found.in_words(plan.predicted)[0]) == (ranges == "worst")


def test_the_bound_is_in_records_squared_at_the_budget() -> None:
    found = least_variances(plan_blocks(64, BUDGET), "all")
    assert found.least["all ranges"] == pytest.approx(4 * best_strategy(gram_of_ranges(64)).variance, rel=1e-3)
    large = least_variances(plan_blocks(1_000, BUDGET), "all")
    assert large.least["all ranges"] == pytest.approx(4 * least_of_ranges(1_000))
    least = 4 * best_strategy(gram_of_ranges(64), steps=1).variance
    line, beside = found.in_words({"all ranges": found.least["all ranges"] * 1.3})
    assert line.startswith("all ranges: variance at most 30.")
    assert "any linear Gaussian mechanism" in line
    assert f"{least**0.5:.2f}" in beside
    assert not least_variances(plan_blocks(64, Budget(1.0, 0.0, None, Accountant.PURE)), "all").least


@pytest.mark.parametrize("how", [{}, REPLACED], ids=["added", "replaced"])
def test_declared_ranges_and_hierarchies_have_bounds(tmp_path: Path, how: dict[str, object]) -> None:
    file = tmp_path / "ranges.csv"
    file.write_text("0:4,2\n2:8,1\n")
    asked = f"file:{file}"
    plan = plan_blocks(10, BUDGET, ranges=asked, **how)  # type: ignore[arg-type]
    (least,) = least_variances(plan, asked).least.values()
    assert 0 < least <= plan.predicted["declared ranges"]
    tree = Tree.balanced(27, 3)
    for ranges in ("nodes", "all", "sizes:1,9", asked):
        hierarchy = plan_hierarchy(tree, BUDGET, ranges=ranges, **how)  # type: ignore[arg-type]
        (pair,) = least_variances(hierarchy, ranges).least.items()
        assert 0.15 * hierarchy.predicted[pair[0]] <= pair[1] <= hierarchy.predicted[pair[0]]


@pytest.mark.parametrize("shape", [(4, 8), (3, 1), (50, 60), (2, 3, 4)])
def test_boxes_have_bounds(shape: tuple[int, ...]) -> None:
    for ranges in ("all", "sizes:" + "x".join("1" * len(shape))):
        plan = plan_grid(shape, BUDGET, ranges=ranges)
        ((name, least),) = least_variances(plan, ranges).least.items()
        assert 0.2 * plan.predicted[name] <= least <= plan.predicted[name] * (1 + 1e-9)
    replaced = plan_grid(shape, BUDGET, **REPLACED)  # type: ignore[arg-type]
    for name, least in least_variances(replaced, "all").least.items():
        assert 0.1 * replaced.predicted[name] <= least <= replaced.predicted[name]


def test_without_the_total_boxes_have_less_than_the_largest_singular_value_less() -> None:
    from dpopt.models.noise_budgets.least_variance import least_of_gram

    plan = plan_grid((3, 4), BUDGET, **REPLACED)  # type: ignore[arg-type]
    (least,) = least_variances(plan, "all").least.values()
    gram = np.asarray(np.kron(gram_of_ranges(3), gram_of_ranges(4)), dtype=np.float64)
    assert 0.5 <= least / (4 * least_of_gram(gram, known_total=True)) <= 1

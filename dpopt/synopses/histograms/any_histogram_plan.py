"""Plans of histograms on file: which kind one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpopt.synopses.histograms.hierarchy_plan import HierarchyPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.tree_plan import TreePlan


def read_histogram_plan(given: Mapping[str, Any]) -> TreePlan:
    """Read what `TreePlan.to_json` gave; whatever the reader of its kind raises."""
    return (HierarchyPlan if "hierarchy" in given else HistogramPlan).from_json(given)

"""Plans of partitions on file: which kind one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpopt.errors import TranscriptError
from dpopt.synopses.intervals import interval_plan, split_plan
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.split_plan import SplitPlan

PartitionPlan = IntervalPlan | SplitPlan


def read_partition_plan(given: Mapping[str, Any]) -> PartitionPlan:
    """Read what `to_json` gave; whatever the reader of its kind raises.

    Raises
    ------
    TranscriptError
        If it is of another kind.
    """
    if given["kind"] == interval_plan.KIND:
        return IntervalPlan.from_json(given)
    if given["kind"] == split_plan.KIND:
        return SplitPlan.from_json(given)
    raise TranscriptError(f"found a plan of the kind {given['kind']!r}; expected intervals or split")

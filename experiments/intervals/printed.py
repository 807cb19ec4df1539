"""Theorem 4.3 at its printed size, at the size that its proof needs, and as corrected: whether the error is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.tables.bin_counts import BinCounts
from experiments.intervals.columns import smooth, worst_error
from experiments.intervals.theorem import (
    corrected_records,
    printed_density,
    printed_records,
    records_of_its_proof,
    theorem_plan,
)

ALPHA, DELTA, COMPARISONS, EPSILON = 0.2, 0.05, 12, 1.0
SIZES = (
    ("as printed, alpha' = alpha / 6", 6, printed_records),
    ("what its proof uses, alpha' = alpha / 6", 6, records_of_its_proof),
    ("corrected, alpha' = alpha / 3", 3, corrected_records),
)


def measure(runs: int) -> Iterator[dict[str, Any]]:
    """Yield the largest error of any range over the runs, for each size."""
    budget = Budget(EPSILON, 0.0, None, Accountant.PURE)
    for name, divisor, size in SIZES:
        records = size(ALPHA, EPSILON, COMPARISONS, DELTA)
        counts = smooth(2**COMPARISONS, records)
        plan = theorem_plan(
            counts.size, budget, int(counts.sum()), ALPHA, relation=NeighbouringRelation.REPLACE_ONE, divisor=divisor
        )
        held = BinCounts.from_counts(counts)
        errors = [worst_error(printed_density(held, plan), counts) for _ in range(runs)]
        yield {
            "size": name,
            "records": int(counts.sum()),
            "intervals": plan.intervals,
            "scale": plan.scale,
            "worst": max(errors) / float(counts.sum()),
            "kept": sum(bool(error <= ALPHA * counts.sum()) for error in errors),
            "runs": runs,
        }

"""Theorem 2 and Corollary 3 of the lecture on private multiplicative weights beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from experiments.papers import LECTURE, Beside, Report

PAPER = LECTURE
PARTS = dict.fromkeys(("Section 1", "Corollary 3"), "--parts parities")
"""What measures each place, where that is not all."""
UNIVERSE = 2**20
"""Records of the 20 bits of the part "parities"."""


def beside(report: Report) -> Iterator[Beside]:
    """Yield error and rounds of the lecture beside ours."""
    results = [one for one in report["results"] if one["algorithm"].startswith("pmw")]
    for one in results:
        alpha = one["bound"] / 4
        yield Beside(
            "Section 1 (error) and Theorem 2",
            f"largest error of {one['algorithm']}, parities",
            f"at most 4 alpha; proven with explicit constants: {one['bound']:.3f}",
            f"{one['max_error']:.4f}",
            one["max_error"] <= one["bound"],
            "kept, on the records that were released",
            "the algorithm has error at most 4α",
        )
        yield Beside(
            "Corollary 3 (section 2)",
            f"updates of {one['algorithm']}, alpha a fourth of what is proven",
            f"at most 4 ln 2^20 / alpha^2 = {4 * log(UNIVERSE) / alpha**2:,.0f}",
            f"{one['rounds']}, of {one['planned']} that were planned",
            one["planned"] <= 4 * log(UNIVERSE) / alpha**2,
            "far fewer: the step of the lecture is eight times below the best one, and its count is for the worst "
            "table",
            "which implies that",
        )

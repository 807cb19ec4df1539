"""ReleaseHalfspaces of Blum, Ligett and Roth with its printed parameters beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log, log10, sqrt

from experiments.halfspaces.points import COLUMNS, MARGIN
from experiments.papers import LEARNING, Beside, Report

PAPER = LEARNING
CONFIDENCE, RECORDS = 0.95, 100_000


def beside(report: Report) -> Iterator[Beside]:
    """Yield what the printed parameters ask for at the error that is predicted here, beside ours."""
    results = [one for one in report["results"] if one["budget"] == "epsilon 1" and one.get("T")]
    best = min(results, key=lambda one: float(one["worst"]))
    alpha = best["predicted"]
    # ReleaseHalfspaces: zeta = gamma / 4, tau = alpha / 8, T = 20 zeta^-2 ln(1 / tau), m = 16 alpha^-2 d (...), U a net.
    dimension = ceil(20 * (4 / MARGIN) ** 2 * log(8 / alpha))
    number = 16 / alpha**2 * COLUMNS * (log(4 * sqrt(COLUMNS) / MARGIN) + log(1 / (1 - CONFIDENCE)))
    net = dimension * log10(4 * sqrt(dimension) / MARGIN)
    records = log10(number) + dimension * log10(8 * sqrt(dimension) / MARGIN)
    yield Beside(
        "ReleaseHalfspaces (section 6)",
        f"dimension, projections and directions for an error of {alpha:.3f}, margin {MARGIN:g}, {COLUMNS} coordinates",
        f"T = {dimension:,}, m = {number:,.0f}, U = 10^{net:,.0f}",
        best["what"],
        None,
        "the printed parameters suffice and cannot be computed with; others that do not depend on records are as "
        "private",
        "is such that for each unit vector",
    )
    yield Beside(
        "Theorem 6.9 (section 6)",
        f"records for an error of {alpha:.3f} of all queries of margin {MARGIN:g}, epsilon 1",
        f"10^{records:,.0f} and more suffice",
        f"{RECORDS:,} for 1,000 queries; worst measured {best['worst']:.4f}",
        best["worst"] <= alpha,
        "no contradiction: the theorem is an upper bound, polynomial for a constant margin, and far from what is "
        "needed",
        "The running time of the algorithm and the bound on the size of",
    )

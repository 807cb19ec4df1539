"""Theorems 3.1 and 3.2 and Remark 4.7 of Thaler, Ullman and Vadhan beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers import MARGINALS, RESTORED, Beside, Report, span

PAPER = MARGINALS
THROUGH = ", through or"
PLACE = ("attributes", "budget", "queries")


def beside(report: Report) -> Iterator[Beside]:
    """Yield the promises of the paper beside measured errors."""
    results = report["results"]
    printed = [one for one in results if one["release"] == "as printed" and one["theorem"] is not None]
    for theorem, budget in (("3.1", "epsilon = 1"), ("3.2", "rho = 0.1")):
        chosen = [one for one in printed if one["budget"] == budget]
        over = [one["worst"] / one["theorem"] for one in chosen]
        yield Beside(
            f"Theorem {theorem} (section 3)",
            f"worst measured error over what is promised, {budget}",
            "at most 1" + RESTORED,
            f"{span(over, 2)} in {len(over)} releases as printed",
            max(over) <= 1,
            "kept, and loose where noise decides: the proof adds up the noise of all coefficients, of which a query "
            "uses few",
            f"Theorem {theorem} (Releasing Polynomials",
        )
    ratios = [
        one["predicted"] / other["predicted"]
        for one in results
        for other in results
        if one["release"] == other["release"] + THROUGH and all(one[key] == other[key] for key in PLACE)
    ]
    yield Beside(
        "Remark 4.7 (section 4.2)",
        'predicted error of "at least r of k" through disjunctions, over that of a polynomial of its own',
        "above 1: a worse dependence on r",
        f"{span(ratios)}; above 1 in {sum(ratio > 1 for ratio in ratios)} of {len(ratios)} cases",
        min(ratios) > 1,
        "right: polynomials for the query itself are better, in the promise, everywhere",
        "than what we achieve in",
    )

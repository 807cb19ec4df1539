"""Theorem 1.3 of Thaler, Ullman and Vadhan beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers import MARGINALS, Beside, Report, span

PAPER = MARGINALS


def beside(report: Report) -> Iterator[Beside]:
    """Yield the promise of the paper, and what its variables cost, beside ours."""
    results = report["results"]
    over = [one["worst"] / one["predicted"] for one in results]
    yield Beside(
        "Theorem 1.3 (section 1.1)",
        "worst measured error over the additive error that is promised of every query",
        "at most 1",
        f"{span(over)} in {len(over)} cases",
        max(over) <= 1,
        "kept, at every point of the small tables and at 100,000 of the large ones",
        "releases a summary that enables computing any length- decision list query up to an additive error",
    )
    worse = [one["paper_basis"] / one["predicted"] for one in results]
    yield Beside(
        "Lemma 4.9 (section 4.3)",
        "predicted error with the paper's variables over that with negations as well",
        "a polynomial in the bits of the point; no figure",
        span(worse),
        None,
        "conjunctions with negations write a list with smaller coefficients, and lower the promise of every case",
        "decision lists of length- strictly generalize -way disjunctions and conjunctions",
    )

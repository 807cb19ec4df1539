"""Theorem 1.1 of Thaler, Ullman and Vadhan beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers import MARGINALS, Beside, Report, span

PAPER = MARGINALS


def beside(report: Report) -> Iterator[Beside]:
    """Yield what the paper promises of error and size beside ours."""
    over = [
        max(one["all"]["random_worst"], one["all"]["largest_worst"]) / one["predicted"] for one in report["releases"]
    ]
    yield Beside(
        "Theorem 1.1 (section 1.1)",
        "worst measured error over the additive error that is promised of every query",
        "at most 1",
        f"{span(over)} in {len(over)} releases",
        max(over) <= 1,
        "kept on random queries and on those of largest noise",
        "releases a summary that enables computing each of the -way marginal queries on up to an additive error",
    )
    for width in sorted({one["k"] for one in report["cost"]}):
        cost = [one for one in report["cost"] if one["k"] == width]
        shares = [one["counted"] / one["queries_of_k"] for one in cost]
        yield Beside(
            "Theorem 1.1 (section 1, abstract)",
            f"counted conjunctions over queries, k = {width}, {cost[0]['attributes']} to {cost[-1]['attributes']} "
            f"columns",
            "substantially below 1",
            f"{shares[0]:.3g} to {shares[-1]:.3g}",
            shares[-1] < 0.1,
            "the promise is one for large k and many columns: it holds there"
            if shares[-1] < 0.1
            else "for so few conditions the planner counts nearly all of the queries, or more",
            "in time substantially smaller than the number of",
        )

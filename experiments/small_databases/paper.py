"""The net mechanism of Blum, Ligett and Roth beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers import LEARNING, Beside, Report, span

PAPER = LEARNING


def beside(report: Report) -> Iterator[Beside]:
    """Yield the promise of the mechanism, and what its draws cost, beside what came out."""
    drawn = [one for one in report["accuracy"] if one["algorithm"] == "smalldb"]
    yield Beside(
        "Theorem 3.10 (section 3)",
        "largest error of the net mechanism over what is proven (with explicit constants)",
        "at most 1",
        span([one["max_error"] / one["proven"] for one in drawn]),
        all(one["max_error"] <= one["proven"] for one in drawn),
        "the promise is kept, with much to spare",
        "For any class of counting queries",
    )
    counts = [one["databases"] for one in report["draws"]]
    slowest = max(seconds for one in report["draws"] for seconds in one["seconds"])
    yield Beside(
        "Section 3 (end)",
        "seconds of one exact draw",
        "perhaps not efficient",
        f"at most {slowest:.0f}, among {min(counts):.1e} to {max(counts):.1e} databases",
        None,
        "branch and bound draws from lists that nobody could write down; its time depends on the table",
        "and may not be computationally efficient",
    )

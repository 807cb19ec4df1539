"""Theorems 3.11, 7.3 and 7.5 of Blum, Ligett and Roth beside exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp

from experiments.distributional_privacy.exact import far_apart, share_of_one_pair
from experiments.documents import rows
from experiments.papers import HERE, LEARNING, Beside, Report, span

PAPER = LEARNING


def beside(_: Report) -> Iterator[Beside]:
    """Yield what the theorems print, beside exact numbers."""
    attacks = [row for row in rows(HERE / "distributional_privacy" / "README.md") if row.get("printed", "–") != "–"]
    over = [float(row["expected largest error"]) / float(row["printed"]) for row in attacks]
    yield Beside(
        "Theorem 3.11 (section 3.1)",
        "expected largest error over 1 / (4 + 16 epsilon), epsilon at most 1",
        "at least 1",
        span(over),
        min(over) >= 1,
        "no mechanism errs by less than the theorem's bound",
        "given databases of size",
    )
    n = 2
    yield Beside(
        "Theorem 7.3 (section 7.1)",
        f"probability of one pair of databases of {n} records among {n + 1} elements",
        f"2 / n^2 = {Fraction(2, n * n)} (unordered)",
        f"1 / (n + 1)^2 = {share_of_one_pair(n)} (ordered), twice that unordered",
        Fraction(2, n * n) == 2 * share_of_one_pair(n),
        "of the order that the theorem needs, but not the number; any beta below 1 / (n + 1)^2 suffices",
        "with probability 2/n",
    )
    sizes = (4, 8, 32)
    yield Beside(
        "Theorem 7.5 (section 7.1)",
        "probability that two databases of one coin are 1 / epsilon apart",
        "constant",
        ", ".join(f"{far_apart(size)} for epsilon {2 / size:g}" for size in sizes),
        all(far_apart(size) > Fraction(1, 4) for size in sizes),
        "above 1/4, its limit, at every epsilon",
        "Note however that with constant probability",
    )
    epsilon = 0.5
    ratios = [exp(-epsilon * (abs(output - 0) - abs(output - 1 / epsilon))) for output in (3.0, 1.0)]
    yield Beside(
        "Theorem 7.5 (section 7.1)",
        "ratio of the likelihoods of an output beyond both values, and of one half way between them",
        "1/e = 0.368 for any output",
        ", ".join(f"{ratio:.3g}" for ratio in ratios),
        all(abs(ratio - exp(-1)) < 1e-9 for ratio in ratios),
        "the ratio is reached beyond both values only, which is enough for the theorem",
        "Therefore, for any output",
    )

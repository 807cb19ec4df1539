"""Degrees of Fact 4.2 and Lemma 4.5 of Thaler, Ullman and Vadhan beside the least ones."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import log, sqrt

from experiments.papers import MARGINALS, RESTORED, Beside, Report, span

PAPER = MARGINALS


def beside(report: Report) -> Iterator[Beside]:
    """Yield the forms of the paper's degrees, with the constant 1, beside constructions and least degrees."""
    widest = max(one["k"] for one in report["small_errors"])
    small = [one for one in report["small_errors"] if one["k"] == widest]
    for key, name, says in (
        ("closed_form", "degree of the closed form", "the form holds with the constant 1"),
        (
            "degree",
            "least degree",
            (
                "it grows with the root of ln(1 / error) only (Kahn, Linial and Samorodnitsky): the form is not the best "
                "one"
            ),
        ),
    ):
        over = [one[key] / (sqrt(widest) * log(1 / float(one["error"]))) for one in small]
        yield Beside(
            "Fact 4.2 (section 4.1)",
            f"{name} for OR over k^(1/2) ln(1 / error), k = {widest}",
            "at most a constant" + RESTORED,
            f"{over[0]:.2f} at error {small[0]['error']}, {over[-1]:.2f} at {small[-1]['error']}",
            max(over) <= 1,
            says,
            "there exists a univariate real polynomial of degree such that",
        )
    for name in ("construction", "least"):
        over = [one[name] / _form(one["k"], one["r"], float(Fraction(one["error"]))) for one in report["constructions"]]
        yield Beside(
            "Lemma 4.5 (section 4.2, Sherstov)",
            f'{name} degree for "at least r of k" over (k r)^(1/2) ln k + (k ln(1 / error) ln k)^(1/2)',
            "at most a constant" + RESTORED,
            span(over, 2),
            max(over) <= 1,
            "the form holds with the constant 1" if name == "construction" else "and the least degree is smaller still",
            "gives an explicit construction of polynomials that can be used to approximate the family",
        )


def _form(width: int, needed: int, error: float) -> float:
    return sqrt(width * needed) * log(width) + sqrt(width * log(1 / error) * log(width))

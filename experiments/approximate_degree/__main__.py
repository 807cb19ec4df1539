"""`python -m experiments.approximate_degree`: least degrees, coefficients and noise of polynomials near predicates."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.approximate_degree import measuring
from experiments.approximate_degree.markdown import markdown
from experiments.approximate_degree.picture import draw
from experiments.experiment import Measure, Report, carry_out, parser_of

COEFFICIENTS = (
    (20, 5, "0.1"),
    (20, 8, "0.1"),
    (50, 6, "0.1"),
    (50, 6, "0.25"),
    (100, 16, "0.1"),
    (100, 32, "0.1"),
    (100, 64, "0.1"),
)
PREDICTED = ((20, 6, 10_000), (50, 4, 100_000), (50, 8, 1_000_000), (50, 16, 10_000_000), (100, 32, 10**9))


def main(arguments: list[str] | None = None) -> int:
    """Measure everything and print the tables."""
    parts: dict[str, Measure] = {
        "degrees": lambda options, _: measuring.degrees(8 if options.quick else 64),
        "small_errors": lambda options, _: measuring.small_errors(_widths(options)),
        "constructions": lambda options, _: measuring.constructions(_widths(options)),
        "coefficients": lambda options, _: measuring.coefficients(COEFFICIENTS[: 1 if options.quick else None]),
        "predicted": lambda options, _: measuring.predicted(PREDICTED[: 1 if options.quick else None]),
    }
    return carry_out(parser_of("approximate_degree"), arguments, parts, markdown, draw=_draw)


def _widths(options: argparse.Namespace) -> tuple[int, ...]:
    return (8,) if options.quick else (16, 32, 64)


def _draw(report: Report, folder: Path) -> None:
    draw(report, folder / "degrees.svg")


if __name__ == "__main__":
    sys.exit(main())

"""`python -m experiments.approximate_degree`: least degrees, coefficients and noise of polynomials near predicates."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from experiments.approximate_degree import measuring
from experiments.approximate_degree.markdown import markdown
from experiments.approximate_degree.picture import draw, draw_breakdown
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances

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
SIZES = ((8, 5), (16, 9), (32, 15), (64, 21), (64, 40))
METHODS = ("highs", "glop", "clarabel")
CASES = tuple(
    (predicate, width, round(multiple * width**0.5))
    for width in (50, 96, 200)
    for predicate in ("or", "and", f"atleast:{width // 2}")
    for multiple in (1, 2, 4, 6)
)


def main(arguments: list[str] | None = None) -> int:
    """Measure everything and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.approximate_degree")
    parser.add_argument("--quick", action="store_true", help="small k only: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and a picture beside it")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    quick = options.quick
    report: dict[str, Any] = {
        **describe_circumstances(),
        "runs": 1,
        "quick": quick,
        "degrees": list(measuring.degrees(8 if quick else 64)),
        "small_errors": list(measuring.small_errors((8,) if quick else (16, 32, 64))),
        "constructions": list(measuring.constructions((8,) if quick else (16, 32, 64))),
        "coefficients": list(measuring.coefficients(COEFFICIENTS[: 1 if quick else None])),
        "predicted": list(measuring.predicted(PREDICTED[: 1 if quick else None])),
        "solvers": list(
            measuring.solvers(SIZES[: 1 if quick else None], ("highs",) if quick else measuring.all_solvers())
        ),
        "approximations": list(
            measuring.approximations((("or", 12, 4),) if quick else CASES, ("highs",) if quick else METHODS)
        ),
    }
    lines = list(markdown(report))
    print("\n".join(lines))
    if options.json is not None:
        options.json.write_text(json.dumps(report) + "\n", encoding="utf-8")
    if options.document is not None:
        draw(report, options.document.parent / "degrees.svg")
        draw_breakdown(report, options.document.parent / "breakdown.svg")
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The tables of the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.documents import captioned

Result = dict[str, Any]
WIDTHS = (4, 8, 16, 32, 48, 64)


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Yield all tables."""
    yield from _degrees(report["degrees"])
    yield from captioned(
        "Least degrees of OR for small errors beside (k ln(1 / error))^(1/2), and the closed form:",
        ["k | error | least degree | root | ratio | closed form"],
        (
            [
                *(one["k"], one["error"], one["degree"], f"{one['root']:.1f}"),
                *(f"{one['degree'] / one['root']:.2f}", one["closed_form"]),
            ]
            for one in report["small_errors"]
        ),
    )
    yield from captioned(
        'The construction for "at least r of k" with the best R, beside the least degree:',
        ["r | k | error | construction | R | least degree"],
        ([one[name] for name in ("r", "k", "error", "construction", "R", "least")] for one in report["constructions"]),
    )
    yield from captioned(
        "n times the L1 sensitivity of OR over d attributes; largest coefficients in the binomial basis:",
        [
            "d | k | error | degree | closed form, monomial | closed form, binomial | least | written exactly",
            "largest a of the closed form (bound) | of the least",
        ],
        map(_coefficients, report["coefficients"]),
    )
    yield from captioned(
        "Predicted error of all answers to OR together, rho = .1, with probability 95 %:",
        ["d | k | n | degree | error of the polynomial | with noise | noise on each query"],
        (
            [
                *(one["d"], one["k"], f"{one['n']:,}", one["degree"], f"{one['error']:.3f}"),
                *(f"{one['predicted']:.3f}", f"{one['direct']:.3g}"),
            ]
            for one in report["predicted"]
        ),
    )


def _degrees(results: list[Result]) -> Iterator[str]:
    rows = []
    for result in results:
        for error, found in result["rows"].items():
            degrees = {width: f"{degree}" + _larger(degree, closed) for width, degree, closed in found}
            rows.append([result["predicate"], error, *(degrees.get(width, "") for width in WIDTHS)])
    yield from captioned(
        "Least degrees, each proved in exact arithmetic; in brackets that of the closed form where it is larger:",
        ["predicate | error", *(f"k = {width}" for width in WIDTHS)],
        rows,
    )
    seconds = ", ".join(f"{one['predicate']} {one['seconds']:g}" for one in results)
    entries = sum(one["entries"] for one in results)
    yield f"{entries:,} entries; seconds with the proofs and their verification: {seconds}."
    yield ""


def _larger(degree: int, closed: int | None) -> str:
    return "" if closed in {None, degree} else f" ({closed})"


def _coefficients(one: Result) -> list[object]:
    sizes = [f"{one[name]:,.3g}" for name in ("monomial", "binomial", "least", "exact")]
    closed = f"{one['largest']:.3g} ({one['bound']:.3g})"
    return [one["d"], one["k"], one["error"], one["degree"], *sizes, closed, f"{one['largest_of_least']:.3g}"]

"""The tables of the document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Result = dict[str, Any]


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Yield all tables that were measured."""
    tables: dict[str, Callable[[list[Result]], Iterator[str]]] = {
        "degrees": _degrees,
        "small_errors": _small_errors,
        "constructions": _constructions,
        "coefficients": _coefficients,
        "predicted": _predicted,
    }
    for name, table in tables.items():
        yield from table(report[name])
        yield ""


def _table(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|" + "---|" * len(names)


def _degrees(results: list[Result]) -> Iterator[str]:
    yield "Least degrees, each proved in exact arithmetic; in brackets that of the closed form where it is larger:"
    yield ""
    widths = [4, 8, 16, 32, 48, 64]
    yield from _table("predicate", "error", *(f"k = {width}" for width in widths))
    for result in results:
        for error, rows in result["rows"].items():
            found = {width: (degree, closed) for width, degree, closed in rows}
            cells = [_degree(*found[width]) if width in found else "" for width in widths]
            yield f"| {result['predicate']} | {error} | {' | '.join(cells)} |"
    yield ""
    seconds = ", ".join(f"{one['predicate']} {one['seconds']:g}" for one in results)
    entries = sum(one["entries"] for one in results)
    yield f"{entries:,} entries; seconds with the proofs and their verification: {seconds}."


def _degree(degree: int, closed: int | None) -> str:
    return f"{degree}" if closed in {None, degree} else f"{degree} ({closed})"


def _small_errors(results: list[Result]) -> Iterator[str]:
    yield "Least degrees of OR for small errors beside (k ln(1 / error))^(1/2), and the closed form:"
    yield ""
    yield from _table("k", "error", "least degree", "root", "ratio", "closed form")
    for one in results:
        ratio = one["degree"] / one["root"]
        yield (
            f"| {one['k']} | {one['error']} | {one['degree']} | {one['root']:.1f} | {ratio:.2f} | {one['closed_form']} "
            f"|"
        )


def _constructions(results: list[Result]) -> Iterator[str]:
    yield 'The construction for "at least r of k" with the best R, beside the least degree:'
    yield ""
    yield from _table("r", "k", "error", "construction", "R", "least degree")
    for one in results:
        yield (f"| {one['r']} | {one['k']} | {one['error']} | {one['construction']} | {one['R']} | {one['least']} |")


def _coefficients(results: list[Result]) -> Iterator[str]:
    yield "n times the L1 sensitivity of OR over d attributes; largest coefficients in the binomial basis:"
    yield ""
    yield from _table(
        "d",
        "k",
        "error",
        "degree",
        "closed form, monomial",
        "closed form, binomial",
        "least",
        "written exactly",
        "largest a of the closed form (bound)",
        "of the least",
    )
    for one in results:
        sizes = " | ".join(f"{one[name]:,.3g}" for name in ("monomial", "binomial", "least", "exact"))
        yield (
            f"| {one['d']} | {one['k']} | {one['error']} | {one['degree']} | {sizes} | {one['largest']:.3g} "
            f"({one['bound']:.3g}) | {one['largest_of_least']:.3g} |"
        )


def _predicted(results: list[Result]) -> Iterator[str]:
    yield "Predicted error of all answers to OR together, rho = .1, with probability 95 %:"
    yield ""
    yield from _table("d", "k", "n", "degree", "error of the polynomial", "with noise", "noise on each query")
    for one in results:
        yield (
            f"| {one['d']} | {one['k']} | {one['n']:,} | {one['degree']} | {one['error']:.3f} | {one['predicted']:.3f} "
            f"| {one['direct']:.3g} |"
        )

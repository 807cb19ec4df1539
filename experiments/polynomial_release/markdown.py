"""The tables of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

Result = dict[str, Any]


def markdown(report: dict[str, list[Result]]) -> Iterator[str]:
    """Yield all tables, each with its caption."""
    if report["releases"]:
        yield from _releases(report["releases"])
    if report["cost"]:
        yield from _cost(report["cost"])


def _releases(results: list[Result]) -> Iterator[str]:
    yield "**Errors beside what was promised for all queries together.**"
    yield ""
    yield _heads(
        *("table", "records", "columns", "k", "queries", "degree", "runs", "counted", "within (predicted)"),
        *("polynomial", "direct", "worst of random ones", "mean", "worst of largest noise", "largest noise"),
        "seconds",
    )
    groups = [list(group) for _, group in groupby(results, key=_case)]
    for runs in groups:
        first = runs[0]
        if "refused" in first:
            yield _row(first["table"], "", "", first["k"], first["predicate"], first["refused"], *[""] * 10)
            continue
        whole = [one["all"] for one in runs]
        yield _row(
            first["table"],
            f"{first['records']:,}",
            first["attributes"],
            first["k"],
            first["predicate"],
            first["degree"],
            len(runs),
            f"{first['counted']:,} of {first['queries_of_k']:.3g}",
            f"{first['predicted']:.4f}",
            f"{first['approximation']:.4f}",
            f"{first['direct']:.3g}",
            f"{max(one['random_worst'] for one in whole):.4f} of {whole[0]['random']:,}",
            f"{sum(one['random_mean'] for one in whole) / len(whole):.4f}",
            f"{max(one['largest_worst'] for one in whole):.4f} of {sum(one['largest'] for one in whole):,}",
            f"{max(one['largest_noise'] for one in whole):.4f} "
            f"({max(one['largest_noise_deviations'] for one in whole):.2f} sd)",
            f"{_median([one['seconds'] for one in runs]):.1f}",
        )
    yield ""
    yield "**The same releases, each query answered by the polynomial that is best for a single answer at 95 %.**"
    yield ""
    yield _heads(
        *("table", "k", "queries", "runs", "bound of one answer", "all together", "worst of random ones"),
        *("mean", "worst of largest noise"),
    )
    for runs in groups:
        first = runs[0]
        if "refused" in first or first["one"]["approximation"] == first["all"]["approximation"]:
            continue
        single = [one["one"] for one in runs]
        yield _row(
            *(first["table"], first["k"], first["predicate"], len(runs)),
            f"{single[0]['bound']:.4f}",
            f"{single[0]['bound_of_all']:.4f}",
            f"{max(one['random_worst'] for one in single):.4f}",
            f"{sum(one['random_mean'] for one in single) / len(single):.4f}",
            f"{max(one['largest_worst'] for one in single):.4f}",
        )
    yield ""


def _cost(results: list[Result]) -> Iterator[str]:
    yield "**Cost of a release.**"
    yield ""
    yield _heads(
        *("records", "columns", "k", "degree", "counted", "queries of k", "seconds", "processor seconds"),
        *("MB", "bytes of the file", "bytes of a count"),
    )
    for one in results:
        yield _row(
            *(f"{one['records']:,}", one["attributes"], one["k"], one["degree"], f"{one['counted']:,}"),
            *(f"{one['queries_of_k']:,}", f"{one['seconds']:.1f}", f"{one['processor_seconds']:.1f}"),
            *(one["peak_mb"], f"{one['bytes']:,}", f"{one['bytes'] / one['counted']:.2f}"),
        )
    yield ""


def _case(one: Result) -> tuple[str, int, str]:
    return one["table"], one["k"], one["predicate"]


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0


def _heads(*names: str) -> str:
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"

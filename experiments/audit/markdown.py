"""The tables of the audit."""

# ruff: noqa: E501  a line of a table is one line

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]


def markdown(report: Report) -> Iterator[str]:
    """Yield the lines of all tables."""
    if report["claims"]:
        yield from _claims(report)
    if report["planted"]:
        yield from _planted(report["planted"])
    if report["hostile"]:
        yield from _hostile(report["hostile"])
    if report["exact"]:
        yield from _exact(report["exact"])


def _claims(report: Report) -> Iterator[str]:
    rows = report["claims"].values()
    broken = sum(row["violated"] for row in rows)
    yield f"**Claims.** {len(rows)} cells, {broken} broken; all bounds together hold with a confidence of {report['confidence']:.0%}."
    yield ""
    yield "| mechanism | relation | epsilon | records apart | runs on either | claimed | lower bound | ratio | epsilon at delta: claimed, bound |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in _sorted(rows):
        at_delta = ""
        if row["unit"] == "rho":
            at_delta = f"{row['epsilon_claimed']:.2f}, {row['epsilon_lower']:.2f}"
        yield (
            f"| {row['mechanism']} | {row['relation']} | {row['epsilon']:g} | {row['apart']} | {row['runs']:,} | "
            f"{row['unit']} {row['claimed']:.3f} | {row['lower']:.3f} | {row['ratio']:.2f} | {at_delta} |"
        )
    yield ""


def _planted(planted: Report) -> Iterator[str]:
    found = sum(row["violated"] for row in planted.values())
    yield f"**Planted.** All noise made smaller in the code that draws it, at epsilon 1: found in {found} of {len(planted)} cells."
    yield ""
    yield "| mechanism | relation | noise times | runs on either | claimed | lower bound | seen on one, on the other | found again with probability |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in _sorted(planted.values()):
        yield (
            f"| {row['mechanism']} | {row['relation']} | {row['factor']:g} | {row['runs']:,} | {row['unit']} "
            f"{row['claimed']:.3f} | {row['lower']:.3f} | {row['seen'][0]:,}, {row['seen'][1]:,} of {row['counted']:,} "
            f"| {row['power']:.4f} |"
        )
    yield ""


def _hostile(hostile: Report) -> Iterator[str]:
    yield "**Hostile files.** One record apart, epsilon 1."
    yield ""
    yield "| pair | relation | runs on either | lower bound | seen on one, on the other | refused |"
    yield "|---|---|---|---|---|---|"
    for name, row in hostile.items():
        yield (
            f"| {name} | {row['relation']} | {row['runs']:,} | {row['lower']:.3f} | "
            f"{row['seen'][0]:,}, {row['seen'][1]:,} of {row['counted']:,} | {row['refused'][0]}, {row['refused'][1]} |"
        )
    yield ""


def _exact(exact: Report) -> Iterator[str]:
    yield "**Exact.** The worst pair of neighbours (add-remove) and the worst event, among all small tables."
    yield ""
    yield "| mechanism | epsilon | claimed | exact | ratio | pairs | worst pair | P(E), Q(E) |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in sorted(exact.values(), key=lambda row: (row["mechanism"], row["epsilon"])):
        p, q = row["probabilities"]
        yield (
            f"| {row['mechanism']} | {row['epsilon']:g} | {row['claimed']:.4f} | {row['exact']:.4f} | "
            f"{row['ratio']:.4f} | {row['pairs']} | {_cell(row['one'])} and {_cell(row['other'])} | {p:.3g}, {q:.3g} |"
        )


def _sorted(rows: Any) -> list[Any]:
    return sorted(rows, key=lambda row: (row["mechanism"], row["relation"], row["epsilon"]))


def _cell(text: str) -> str:
    return text.replace(" | ", "; ")

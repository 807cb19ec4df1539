"""`python -m experiments.benchmarks.markdown FILE [DOCUMENT]`: results as Markdown tables, printed and put into a document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments.documents import circumstances, write_results

# Figures of a release, in the order of the table's columns.
RELEASE = ("queries", "rounds", "draws", "step", "max_error", "mean_error", "seconds", "processor_seconds", "peak_mb")
TITLES = {
    "rounds": "T",
    "draws": "s",
    "step": "eta",
    "max_error": "largest error",
    "mean_error": "mean error",
    "processor_seconds": "processor seconds",
    "peak_mb": "peak MB",
}


def tables(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines: circumstances, then a table per case, then its limits."""
    yield circumstances(report)
    for name, case in report["cases"].items():
        yield f"\n**`{name}`** {case['question']}\n"
        if "circumstances" in case:
            yield f"{circumstances(case['circumstances'])}\n"
        yield from _release_table(case["rows"]) if "max_error" in case["rows"][0] else _table(case["rows"])
        missed = [bar for bar in case["bars"] if not bar["kept"]]
        yield f"\nLimits: {len(case['bars']) - len(missed)} of {len(case['bars'])} kept."
        yield from (f"Missed: {bar['figure']}, {bar['value']:.4g}." for bar in missed)


def _release_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    label = next((key for key in ("table", "queries over", "parameters") if key in rows[0]), None)
    yield from _lines([label or "", *(TITLES.get(key, key) for key in RELEASE)])
    for row in rows:
        yield _line([row[label] if label else "release", *(row.get(key) for key in RELEASE)])
        for name, errors in row.get("baselines", {}).items():
            yield _line([f"baseline: {name}", *[""] * 4, errors["max_error"], errors["mean_error"], "", "", ""])
    costs = rows[0].get("epsilon by accountant")
    if costs:
        yield ("\nEpsilon by accountant: " + ", ".join(f"{name} {cost:.4g}" for name, cost in costs.items()) + ".")


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    columns: list[str] = []
    for row in rows:
        if list(row) != columns:
            yield from ([""] if columns else [])
            columns = list(row)
            yield from _lines([TITLES.get(key, key) for key in columns])
        yield _line(row.values())


def _lines(titles: list[str]) -> Iterator[str]:
    yield _line(titles)
    yield "|" + "---|" * len(titles)


def _line(values: Any) -> str:
    return "| " + " | ".join(map(_text, values)) + " |"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return f"{_text(value['median'])} ({_text(value['least'])} to {_text(value['largest'])})"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    file, *documents = map(Path, sys.argv[1:])
    lines = list(tables(json.loads(file.read_text(encoding="utf-8"))))
    print("\n".join(lines))
    for document in documents:
        write_results(document, lines)

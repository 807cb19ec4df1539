"""The results of the peers as a table, and that table put into a document between two marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.documents import write_results

LABELS = ("work", "epsilon", "peer", "method")


def write_summary(document: Path, results: Sequence[Mapping[str, Any]]) -> None:
    """Replace what stands between the marks of a document."""
    write_results(document, summary_lines(results))


def summary_lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: means over the runs that released something, with least and largest."""
    yield "| work | epsilon | peer | method | runs | max error | mean error | seconds | processor seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    versions = {result["peer"]: result["version"] for result in results if result["version"]}
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault(tuple(result[label] for label in LABELS), []).append(result)
    # The small work first, the large epsilon first; peers of one method side by side.
    for key in sorted(groups, key=lambda key: (key[0] != "small", key[0], -key[1], key[3], key[2])):
        work, epsilon, peer, method = key
        released = [result for result in groups[key] if not result["failed"]]
        failures = [result["failed"] for result in groups[key] if result["failed"]]
        runs = f"{len(released)}" + (f"; {failures[0]}" if failures else "")
        cells = [work, f"{epsilon:g}", f"{peer} {versions.get(peer, '')}".strip(), method, runs]
        cells += [
            _spread([result[figure] for result in released if result.get(figure) is not None])
            for figure in ("max_error", "mean_error", "seconds", "processor_seconds")
        ]
        yield f"| {' | '.join(cells)} |"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    style = "{:.0f}" if max(values) >= 10 else "{:.3g}"
    mean, least, largest = (style.format(value) for value in (sum(values) / len(values), min(values), max(values)))
    return f"{mean} ({least} to {largest})" if len(values) > 1 else mean

"""`python -m experiments.ranges`: mean squared errors of range queries, beside OpenDP's tree and single bins alone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.ranges.histograms import Histogram, histograms
from experiments.ranges.methods import PEERS, methods
from experiments.tables import MissingDataError

Result = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every histogram and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.ranges")
    parser.add_argument("--runs", type=int, default=20, help="noise draws of each method (20)")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--sets", nargs="+", help="some of the histograms (all)")
    parser.add_argument("--quick", action="store_true", help="a tiny made-up histogram: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs, budgets = (1, [1.0]) if options.quick else (options.runs, options.epsilon)
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    try:
        for histogram in histograms(quick=options.quick):
            if options.sets is not None and histogram.name not in options.sets:
                continue
            for epsilon in [0.1] if histogram.bins > 10_000 else budgets:
                result = _measure(histogram, epsilon, runs)
                report["results"].append(result)
                print(json.dumps(result), flush=True)
                if options.json is not None:
                    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    lines = list(markdown(report["results"]))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _measure(histogram: Histogram, epsilon: float, runs: int) -> Result:
    """Return the mean squared error of each method at each size of range, over all positions and all runs."""
    errors: dict[str, list[float]] = {}
    for name, release in methods(histogram.bins, epsilon, histogram.sizes):
        total = np.zeros(len(histogram.sizes))
        for _ in range(runs):
            sums = np.concatenate(([0.0], np.cumsum(release(histogram.counts) - histogram.counts)))
            total += [float(np.mean((sums[size:] - sums[:-size]) ** 2)) for size in histogram.sizes]
        errors[name] = (total / runs).tolist()
    return {
        "set": histogram.name,
        "bins": histogram.bins,
        "records": int(histogram.counts.sum()),
        "empty": float(np.mean(histogram.counts == 0)),
        "epsilon": epsilon,
        "sizes": list(histogram.sizes),
        "errors": errors,
    }


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the table of ratios to the best peer, then all errors."""
    yield "Mean squared error over that of the best of the others (below 1: better than all of them):"
    yield ""
    yield "| set | bins | records | empty | epsilon | each size planned for | one release for all sizes | its worst |"
    yield "|" + "---|" * 8
    for result in results:
        best = _best_peer(result)
        own = [result["errors"][f"dpopt, sizes:{size}"][place] for place, size in enumerate(result["sizes"])]
        one = result["errors"]["dpopt, all sizes"]
        ratios = [[value / least for value, least in zip(row, best, strict=True)] for row in (own, one)]
        cells = [result["set"], f"{result['bins']:,}", f"{result['records']:,}", f"{result['empty']:.0%}"]
        cells += [f"{result['epsilon']:g}", *(", ".join(f"{ratio:.2f}" for ratio in row) for row in ratios)]
        yield f"| {' | '.join(cells)} | {max(ratios[1]):.2f} |"
    yield ""
    for result in results:
        yield f"**{result['set']}, epsilon {result['epsilon']:g}**: mean squared error by size of range"
        yield ""
        yield "| method | " + " | ".join(f"{size:,}" for size in result["sizes"]) + " |"
        yield "|" + "---|" * (1 + len(result["sizes"]))
        for name, row in result["errors"].items():
            yield f"| {name} | " + " | ".join(f"{value:,.4g}" for value in row) + " |"
        yield ""


def _best_peer(result: Result) -> list[float]:
    rows = [row for name, row in result["errors"].items() if name in PEERS]
    return [min(column) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    sys.exit(main())

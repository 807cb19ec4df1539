"""`python -m experiments.ranges`: mean squared errors of range queries, beside OpenDP's tree and single bins alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.ranges.histograms import Histogram, histograms
from experiments.ranges.methods import PEERS, methods


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every histogram and print the tables."""
    parser = parser_of("ranges", runs=20)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--sets", nargs="+", help="some of the histograms (all)")
    return carry_out(parser, arguments, {"results": _results}, markdown)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    budgets = [1.0] if options.quick else options.epsilon
    for histogram in histograms(quick=options.quick):
        if options.sets is None or histogram.name in options.sets:
            for epsilon in [0.1] if histogram.bins > 10_000 else budgets:
                yield _measure(histogram, epsilon, options.runs)


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


def markdown(report: Report) -> Iterator[str]:
    """Yield the table of ratios to the best peer, then all errors."""
    yield "Mean squared error over that of the best of the others (below 1: better than all of them):"
    yield ""
    titles = ["set | bins | records | empty | epsilon | each size planned for", "one release for all sizes"]
    yield from table([*titles, "its worst"], map(_against_peers, report["results"]))
    yield ""
    for result in report["results"]:
        yield f"**{result['set']}, epsilon {result['epsilon']:g}**: mean squared error by size of range"
        yield ""
        rows = ([name, *(f"{value:,.4g}" for value in row)] for name, row in result["errors"].items())
        yield from table(["method", *(f"{size:,}" for size in result["sizes"])], rows)
        yield ""


def _against_peers(result: Result) -> list[str]:
    best = _best_peer(result)
    own = [result["errors"][f"dpopt, sizes:{size}"][place] for place, size in enumerate(result["sizes"])]
    one = result["errors"]["dpopt, all sizes"]
    ratios = [[value / least for value, least in zip(row, best, strict=True)] for row in (own, one)]
    cells = [result["set"], f"{result['bins']:,}", f"{result['records']:,}", f"{result['empty']:.0%}"]
    cells += [f"{result['epsilon']:g}", *(", ".join(f"{ratio:.2f}" for ratio in row) for row in ratios)]
    return [*cells, f"{max(ratios[1]):.2f}"]


def _best_peer(result: Result) -> list[float]:
    rows = [row for name, row in result["errors"].items() if name in PEERS]
    return [min(column) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    sys.exit(main())

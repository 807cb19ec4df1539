"""`python -m experiments.boxes`: mean squared errors of random boxes of two columns, by what is measured and how it is read."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries import rectangle_sums
from dpopt.synopses.histograms.grids.release_grid import release_grid
from experiments.boxes.grids import grids
from experiments.boxes.plans import PLAIN, PLANNED, plans
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError

Result = dict[str, Any]
BOXES, SEED = 20_000, 256
AS_READ = ("least squares", "not negative")
NOISES = ("Laplace", "Gaussian")


def main(arguments: list[str] | None = None) -> int:
    """Measure every plan on every grid and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.boxes")
    parser.add_argument("--runs", type=int, default=5, help="noise draws of each plan (5)")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=NOISES, help="distributions of noise (both)")
    parser.add_argument("--sets", nargs="+", help="some of the grids (all)")
    parser.add_argument("--quick", action="store_true", help="a tiny made-up grid: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs, budgets = (1, [1.0]) if options.quick else (options.runs, options.epsilon)
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    try:
        for name, cells in grids(quick=options.quick):
            if options.sets is not None and name not in options.sets:
                continue
            for noise in options.noise:
                for epsilon in budgets:
                    result = _measure(name, cells, noise, epsilon, runs)
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


def random_boxes(shape: tuple[int, ...], number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return boxes whose two ends along each axis are drawn evenly among the pairs of different cuts; the same each time."""
    generator = np.random.default_rng(SEED)
    starts, stops = [], []
    for bins in shape:
        low = generator.integers(0, bins + 1, number)
        high = (low + generator.integers(1, bins + 1, number)) % (bins + 1)
        starts.append(np.minimum(low, high))
        stops.append(np.maximum(low, high))
    return np.stack(starts, axis=1), np.stack(stops, axis=1)


def _measure(name: str, cells: NDArray[np.int64], noise: str, epsilon: float, runs: int) -> Result:
    """Return the mean squared error of each plan over the same random boxes and all runs, read in both ways."""
    starts, stops = random_boxes(cells.shape, BOXES)
    counts = BinCounts.from_counts(cells.reshape(-1))
    errors: dict[str, list[float]] = {}
    for plan_name, plan in plans(cells.shape, epsilon, gaussian=noise == "Gaussian"):
        total = np.zeros(len(AS_READ))
        for _ in range(runs):
            released = release_grid(counts, plan)
            for place, estimate in enumerate((released.least_squares, released.counts)):
                total[place] += np.mean(rectangle_sums(estimate - cells, starts, stops) ** 2)
        errors[plan_name] = (total / runs).tolist()
    return {
        "set": name,
        "bins": list(cells.shape),
        "records": int(cells.sum()),
        "empty": float(np.mean(cells == 0)),
        "noise": noise,
        "epsilon": epsilon,
        "errors": errors,
    }


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the planner's error over that of the plain plans, then all errors."""
    yield "Mean squared error of the plan that dpopt makes, as it reads it, over that of the plain plans:"
    yield ""
    yield "| set | cells | records | empty | noise | epsilon | their best by least squares | their best, not negative |"
    yield "|" + "---|" * 8
    for result in results:
        own = result["errors"][PLANNED][1]
        best = [min(result["errors"][name][place] for name in PLAIN) for place in range(len(AS_READ))]
        cells = [result["set"], f"{np.prod(result['bins']):,}", f"{result['records']:,}", f"{result['empty']:.0%}"]
        cells += [result["noise"], f"{result['epsilon']:g}", *(f"{own / least:.3f}" for least in best)]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "Mean squared error by least squares, then without negative cells:"
    yield ""
    names = list(results[0]["errors"]) if results else []
    yield "| set | noise | epsilon | " + " | ".join(names) + " |"
    yield "|" + "---|" * (3 + len(names))
    for result in results:
        row = (" / ".join(f"{value:.3g}" for value in result["errors"][name]) for name in names)
        yield f"| {result['set']} | {result['noise']} | {result['epsilon']:g} | {' | '.join(row)} |"


if __name__ == "__main__":
    sys.exit(main())

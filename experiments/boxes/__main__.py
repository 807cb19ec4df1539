"""`python -m experiments.boxes`: mean squared errors of random boxes of two columns, by what is measured and how it is read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries import rectangle_sums
from dpopt.synopses.histograms.grids.release_grid import release_grid
from experiments.boxes.grids import grids
from experiments.boxes.plans import PLAIN, PLANNED, plans
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of

BOXES, SEED = 20_000, 256
AS_READ = ("least squares", "not negative")
NOISES = ("Laplace", "Gaussian")


def main(arguments: list[str] | None = None) -> int:
    """Measure every plan on every grid and print the tables."""
    parser = parser_of("boxes", runs=5)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=NOISES, help="distributions of noise (both)")
    parser.add_argument("--sets", nargs="+", help="some of the grids (all)")
    return carry_out(parser, arguments, {"results": _results}, markdown)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for name, cells in grids(quick=options.quick):
        if options.sets is None or name in options.sets:
            for noise, epsilon in product(options.noise, [1.0] if options.quick else options.epsilon):
                yield _measure(name, cells, noise, epsilon, options.runs)


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


def markdown(report: Report) -> Iterator[str]:
    """Yield the planner's error over that of the plain plans, then all errors."""
    yield "Mean squared error of the plan that dpopt makes, as it reads it, over that of the plain plans:"
    yield ""
    titles = ["set | cells | records | empty | noise | epsilon | their best by least squares"]
    yield from table([*titles, "their best, not negative"], map(_against_plain, report["results"]))
    yield ""
    yield "Mean squared error by least squares, then without negative cells:"
    yield ""
    names = list(report["results"][0]["errors"]) if report["results"] else []
    rows = (
        [
            *(result["set"], result["noise"], f"{result['epsilon']:g}"),
            *(" / ".join(f"{value:.3g}" for value in result["errors"][name]) for name in names),
        ]
        for result in report["results"]
    )
    yield from table(["set | noise | epsilon", *names], rows)


def _against_plain(result: Result) -> list[str]:
    own = result["errors"][PLANNED][1]
    best = [min(result["errors"][name][place] for name in PLAIN) for place in range(len(AS_READ))]
    cells = [result["set"], f"{np.prod(result['bins']):,}", f"{result['records']:,}", f"{result['empty']:.0%}"]
    return [*cells, result["noise"], f"{result['epsilon']:g}", *(f"{own / least:.3f}" for least in best)]


if __name__ == "__main__":
    sys.exit(main())

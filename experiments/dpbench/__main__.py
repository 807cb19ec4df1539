"""`python -m experiments.dpbench`: errors of ranges, prefixes and boxes, dpopt beside the peers of DPBench."""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.ranges.grids import sums_before, sums_of_boxes
from experiments.documents import table
from experiments.dpbench.hdmm import hdmm
from experiments.dpbench.ours import DIVIDED, LEAST_SQUARES, answered, in_rounds, scales
from experiments.dpbench.peers import GRIDS, LINES, Numbers
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.histograms import GRIDS as GRID_FILE
from experiments.histograms import LINES as LINE_FILE
from experiments.histograms import dpbench

ASKED, SEED = 2_000, 4096
LINEAR = ("Identity", "HB", "GreedyH", "HDMM")
"""Peers that do not look at the data: their error is that of their noise, of `NOISE_RUNS` draws for all sets together."""
NOISE_RUNS = 200
SLOW, SLOW_RUNS = ("AHP", "MWEM"), 5  # nearly never the best: at most so many runs
ROUNDS = "rounds"
OURS = (LEAST_SQUARES, DIVIDED, ROUNDS)


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every set, or go on where a file of results ends, and print the tables."""
    parser = parser_of("dpbench", runs=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--sets", nargs="+", help="some of the sets (all)")
    parser.add_argument(
        "--own", type=int, default=0, help="measure dpopt again where results are there, with so many noise draws"
    )
    return carry_out(parser, arguments, {"results": _results}, markdown, continues=True)


def _results(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    """Yield new results; one that is measured again leaves its place for the end."""
    for name, cells in sets(quick=options.quick):
        if options.sets is not None and name not in options.sets:
            continue
        for epsilon, workload in product([1.0] if options.quick else options.epsilon, workloads(cells.shape)):
            case = (name, workload, epsilon)
            kept = next((one for one in known if (one["set"], one["workload"], one["epsilon"]) == case), None)
            if kept is not None and not options.own:
                continue
            result = measure(name, cells, workload, epsilon, options.own or options.runs, kept)
            if kept is not None:
                known.remove(kept)
            yield result


def sets(*, quick: bool) -> Iterator[tuple[str, Numbers]]:
    """Yield the names and counts of the sets, those of one column first."""
    if quick:
        generator = np.random.default_rng(1)
        counts = generator.poisson(40, 64) * (generator.random(64) < 0.3)
        yield "made up", counts.astype(np.float64)
        yield "made up, two columns", (counts[:, None] * (counts[None, :16] > 0))[:16].astype(np.float64)
        return
    for file in (LINE_FILE, GRID_FILE):
        yield from ((histogram.name, histogram.counts.astype(np.float64)) for histogram in dpbench(file))


def workloads(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return what is asked of a set."""
    return ("prefixes", "ranges") if len(shape) == 1 else ("boxes",)


def asked(shape: tuple[int, ...], workload: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and stops of the asked boxes, (q, D) each; random ones are the same each time."""
    if workload == "prefixes":
        stops = np.arange(1, shape[0] + 1, dtype=np.int64)[:, None]
        return np.zeros_like(stops), stops
    generator = np.random.default_rng(SEED)
    ends = generator.integers(0, shape, (2, ASKED, len(shape)))
    return ends.min(axis=0), ends.max(axis=0) + 1


def measure(name: str, cells: Numbers, workload: str, epsilon: float, runs: int, kept: Result | None = None) -> Result:
    """Return the root of the mean squared error of each method over the asked boxes and runs, and the coverage of 95 %.

    `kept` is an earlier result, whose peers are not run again. Peers that do not look at the data (`LINEAR`) have the
    error of their noise.
    """
    starts, stops = asked(cells.shape, workload)
    truth = sums_of_boxes(sums_before(cells), starts, stops)
    corners = np.ascontiguousarray(np.stack((starts, stops), axis=2).reshape(len(starts), -1))
    squares: dict[str, list[float]] = {}
    covered: list[float] = []

    def seen(method: str, found: Numbers) -> Numbers:
        answers = sums_of_boxes(sums_before(np.ascontiguousarray(found, dtype=np.float64)), starts, stops)
        squares.setdefault(method, []).append(float(((answers - truth) ** 2).mean()))
        return answers

    own = zlib.crc32(f"{name} {epsilon} {workload}".encode())  # noise that has nothing in common with other cases
    ranges = "prefixes" if workload == "prefixes" else "all"
    for run in range(runs):
        generator = np.random.default_rng((run, 1, own))
        for estimate, found in answered(cells, scales(cells.shape, epsilon, ranges), generator).items():
            seen(estimate, found)
        rounds = in_rounds(cells, epsilon, generator, ranges)
        off, reach = np.abs(seen(ROUNDS, rounds.cells) - truth), 1.96 * np.sqrt(rounds.variances(starts, stops))
        covered.append(float((off <= reach).mean()))
        if kept is not None:
            continue
        for method, peer in (LINES if cells.ndim == 1 else GRIDS).items():
            if method not in LINEAR and (method not in SLOW or run < SLOW_RUNS):
                seen(method, peer(cells, epsilon, corners, np.random.default_rng((run, 2, own))))
    return {
        "set": name,
        "workload": workload,
        "epsilon": epsilon,
        "records": int(cells.sum()),
        "error": {
            **({} if kept is None else kept["error"]),
            **{method: round(float(np.sqrt(np.mean(each))), 3) for method, each in squares.items()},
            **{method: round(error_of_noise(method, cells.shape, workload) / epsilon, 3) for method in LINEAR},
        },
        "coverage": round(float(np.mean(covered)), 4),
    }


@cache
def error_of_noise(method: str, shape: tuple[int, ...], workload: str) -> float:
    """Return the error of a linear peer at epsilon 1: the same for all counts, and over epsilon for other budgets."""
    starts, stops = asked(shape, workload)
    generator, empty, squares = np.random.default_rng(SEED), np.zeros(shape), 0.0
    for _ in range(NOISE_RUNS):
        if method == "HDMM":
            found = hdmm(empty, 1.0, "prefixes" if workload == "prefixes" else "ranges", generator)
        else:
            found = LINES[method](empty, 1.0, np.zeros((0, 2), dtype=np.int64), generator)
        squares += float((sums_of_boxes(sums_before(np.ascontiguousarray(found)), starts, stops) ** 2).mean())
    return float(np.sqrt(squares / NOISE_RUNS))


def best_peer(result: Result) -> tuple[str, float]:
    """Return the peer of least error, and this error."""
    peers = {method: error for method, error in result["error"].items() if method not in OURS}
    name = min(peers, key=lambda method: peers[method])
    return name, peers[name]


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables: errors of each case, then geometric means over sets."""
    results = report["results"]
    yield "Root of the mean squared error, and its ratio to that of the best peer:"
    yield ""
    titles = ["set | asked | epsilon | best peer | its error", *OURS, *(f"{method} over peer" for method in OURS[1:])]
    yield from table([*titles, "rounds covered"], map(_case, results))
    yield ""
    yield "Over the sets: geometric means of the ratios to the best peer, the largest ratio, and the mean coverage of 95 %:"
    yield ""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one["workload"], f"{one['epsilon']:g}"), []).append(one)
    order = [list(dict.fromkeys(one[key] for one in results)) for key in ("workload", "epsilon")]
    parts = [(workload, f"{epsilon:g}") for workload, epsilon in product(*order)]
    rows = [[*part, *_over_sets(groups[part])] for part in parts if part in groups]
    titles = ["asked", "epsilon", *OURS, *(f"largest: {method}" for method in OURS[1:]), "rounds covered"]
    yield from table(titles, [*rows, ["all", "all", *_over_sets(results)]])


def _case(one: Result) -> list[str]:
    peer, least = best_peer(one)
    errors = [one["error"][method] for method in OURS]
    return [
        *(one["set"], one["workload"], f"{one['epsilon']:g}", peer, f"{least:,.4g}"),
        *(f"{error:,.4g}" for error in errors),
        *(f"{error / least:.2f}" for error in errors[1:]),
        f"{one['coverage']:.1%}",
    ]


def _over_sets(part: list[Result]) -> list[str]:
    ratios = [np.array([one["error"][method] / best_peer(one)[1] for one in part]) for method in OURS]
    return [
        *(f"{np.exp(np.log(ratio).mean()):.3f}" for ratio in ratios),
        *(f"{ratio.max():.2f}" for ratio in ratios[1:]),
        f"{np.mean([one['coverage'] for one in part]):.1%}",
    ]


if __name__ == "__main__":
    sys.exit(main())

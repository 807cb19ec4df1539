"""`python -m experiments.dpbench`: errors of ranges, prefixes and boxes, dpopt beside the peers of DPBench."""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.queries import rectangle_sums
from experiments.documents import circumstances, write_results
from experiments.dpbench.hdmm import hdmm
from experiments.dpbench.ours import DIVIDED, LEAST_SQUARES, answered, in_rounds, scales
from experiments.dpbench.peers import GRIDS, LINES, Numbers
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError, data_folder

Result = dict[str, Any]
ASKED, SEED = 2_000, 4096
LINE_FILE, GRID_FILE = "hist/dpbench-1d-4096.npz", "hist/dpbench-2d-256x256.npz"
ROUNDS = "rounds"
SHRUNKEN = "shrunken"  # of blocks without rounds: removed from dpopt, its figures are kept
OURS = (LEAST_SQUARES, DIVIDED, SHRUNKEN, ROUNDS)


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every set, or go on where a file of results ends, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.dpbench")
    parser.add_argument("--runs", type=int, default=3, help="noise draws of each method (3)")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.1, 1.0], help="budgets (.01 .1 1)")
    parser.add_argument("--sets", nargs="+", help="some of the sets (all)")
    parser.add_argument("--quick", action="store_true", help="tiny made-up sets: shows that it still runs")
    parser.add_argument(
        "--own", type=int, default=0, help="measure dpopt again where results are there, with so many noise draws"
    )
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file, and take those that are there")
    options = parser.parse_args(arguments)
    runs, budgets = (1, [1.0]) if options.quick else (options.runs, options.epsilon)
    report: Result = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    if options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
    done = {(one["set"], one["workload"], one["epsilon"]): place for place, one in enumerate(report["results"])}
    try:
        for name, cells in sets(quick=options.quick):
            if options.sets is not None and name not in options.sets:
                continue
            for epsilon in budgets:
                for workload in workloads(cells.shape):
                    place = done.get((name, workload, epsilon))
                    kept = None if place is None else report["results"][place]
                    if kept is not None and not options.own:
                        continue
                    result = measure(name, cells, workload, epsilon, options.own or runs, kept)
                    if place is None:
                        report["results"].append(result)
                    else:
                        report["results"][place] = result
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


def sets(*, quick: bool) -> Iterator[tuple[str, Numbers]]:
    """Yield the names and counts of the sets, those of one column first."""
    if quick:
        generator = np.random.default_rng(1)
        counts = generator.poisson(40, 64) * (generator.random(64) < 0.3)
        yield "made up", counts.astype(np.float64)
        yield "made up, two columns", (counts[:, None] * (counts[None, :16] > 0))[:16].astype(np.float64)
        return
    for file in (LINE_FILE, GRID_FILE):
        path = data_folder() / file
        if not path.exists():
            raise MissingDataError(f"{path} is not there; set DPOPT_DATA to the folder of the data sets")
        with np.load(path, allow_pickle=False) as held:
            for name in held.files:
                yield name, held[name].astype(np.float64)


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

    `kept` is an earlier result, whose peers are not run again.
    """
    starts, stops = asked(cells.shape, workload)
    truth = rectangle_sums(cells, starts, stops)
    corners = np.ascontiguousarray(np.stack((starts, stops), axis=2).reshape(len(starts), -1))
    squares: dict[str, list[float]] = {}
    covered: dict[str, list[float]] = {}

    def seen(method: str, found: Numbers) -> Numbers:
        answers = rectangle_sums(np.ascontiguousarray(found, dtype=np.float64), starts, stops)
        squares.setdefault(method, []).append(float(((answers - truth) ** 2).mean()))
        return answers

    def stated(method: str, found: Numbers, variances: Numbers) -> None:
        reach = 1.96 * np.sqrt(variances)
        covered.setdefault(method, []).append(float((np.abs(seen(method, found) - truth) <= reach).mean()))

    own = zlib.crc32(f"{name} {epsilon} {workload}".encode())  # noise that has nothing in common with other cases
    for run in range(runs):
        generator = np.random.default_rng((run, 1, own))
        for estimate, found in answered(cells, scales(cells.shape, epsilon), generator).items():
            seen(estimate, found)
        rounds = in_rounds(cells, epsilon, generator)
        stated(ROUNDS, rounds.cells, rounds.variances(starts, stops))
        if kept is not None:
            continue
        for method, peer in (LINES if cells.ndim == 1 else GRIDS).items():
            seen(method, peer(cells, epsilon, corners, np.random.default_rng((run, 2))))
        kind = "prefixes" if workload == "prefixes" else "ranges"
        seen("HDMM", hdmm(cells, epsilon, kind, np.random.default_rng((run, 3))))
    return {
        "set": name,
        "workload": workload,
        "epsilon": epsilon,
        "records": int(cells.sum()),
        "error": {
            **({} if kept is None else kept["error"]),
            **{method: round(float(np.sqrt(np.mean(each))), 3) for method, each in squares.items()},
        },
        "coverage": {
            **({} if kept is None else kept["coverage"]),
            **{method: round(float(np.mean(each)), 4) for method, each in covered.items()},
        },
    }


def best_peer(result: Result) -> tuple[str, float]:
    """Return the peer of least error, and this error."""
    peers = {method: error for method, error in result["error"].items() if method not in OURS}
    name = min(peers, key=lambda method: peers[method])
    return name, peers[name]


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the tables: errors of each case, then geometric means over sets."""
    yield "Root of the mean squared error, and its ratio to that of the best peer:"
    yield ""
    yield (
        "| set | asked | epsilon | best peer | its error | least squares | divided | shrunken | rounds | "
        "divided over peer | shrunken over peer | rounds over peer | shrunken covered | rounds covered |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for one in results:
        peer, least = best_peer(one)
        error, coverage = one["error"], one["coverage"]
        yield (
            f"| {one['set']} | {one['workload']} | {one['epsilon']:g} | {peer} | {least:,.4g} | "
            + " | ".join(f"{error.get(method, np.nan):,.4g}" for method in OURS)
            + " | "
            + " | ".join(f"{error.get(method, np.nan) / least:.2f}" for method in OURS[1:])
            + f" | {coverage.get(SHRUNKEN, np.nan):.1%} | {coverage[ROUNDS]:.1%} |"
        )
    yield ""
    yield "Over the sets: geometric means of the ratios to the best peer, the largest ratio, and the mean coverage of 95 %:"
    yield ""
    yield (
        "| asked | epsilon | least squares | divided | shrunken | rounds | "
        "largest: divided | largest: shrunken | largest: rounds | shrunken covered | rounds covered |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for workload in dict.fromkeys(one["workload"] for one in results):
        for epsilon in dict.fromkeys(one["epsilon"] for one in results):
            part = [one for one in results if (one["workload"], one["epsilon"]) == (workload, epsilon)]
            if part:
                yield _summary(workload, f"{epsilon:g}", part)
    yield _summary("all", "all", results)


def _summary(workload: str, epsilon: str, part: list[Result]) -> str:
    ratios = {
        method: np.array([one["error"].get(method, np.nan) / best_peer(one)[1] for one in part]) for method in OURS
    }
    covered = (float(np.mean([one["coverage"].get(method, np.nan) for one in part])) for method in (SHRUNKEN, ROUNDS))
    return (
        f"| {workload} | {epsilon} | "
        + " | ".join(f"{np.exp(np.log(ratios[method]).mean()):.3f}" for method in OURS)
        + " | "
        + " | ".join(f"{ratios[method].max():.2f}" for method in OURS[1:])
        + " | "
        + " | ".join(f"{one:.1%}" for one in covered)
        + " |"
    )


if __name__ == "__main__":
    sys.exit(main())

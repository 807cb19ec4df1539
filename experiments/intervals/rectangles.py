"""Two columns: boxes cut at noisy medians, beside a grid of counts, on public grids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries import rectangle_sums
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_plan import plan_split
from experiments.histograms import GRIDS, dpbench
from experiments.intervals.columns import BETA, BUDGETS

SPLIT, GRID = "boxes at noisy medians", "dpopt grid"
BOXES, SEED = 4_000, 43
SMOOTH = "made up: a slanted cloud"
SETS = ("ADULT-2D", "GOWALLA", "LC-2D")
ADD_REMOVE = NeighbouringRelation.ADD_REMOVE


def cloud(side: int, records: int) -> NDArray[np.int64]:
    """Return the cells of a slanted normal cloud, rounded along a diagonal order so that nothing is drawn; always the same."""
    x, y = np.meshgrid((np.arange(side) + 0.5) / side, (np.arange(side) + 0.5) / side, indexing="ij")
    distribution = np.exp(-0.5 * (((x - 0.4) / 0.15) ** 2 + ((y - 0.3 - 0.5 * (x - 0.4)) / 0.1) ** 2))
    sums = np.cumsum(distribution.reshape(-1))
    cells: NDArray[np.int64] = np.diff(np.rint(sums / sums[-1] * records), prepend=0.0).astype(np.int64)
    return cells.reshape(side, side)


def tables(*, quick: bool) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield names and cells."""
    yield SMOOTH, cloud(32 if quick else 1024, 10**6)
    if not quick:
        yield from ((histogram.name, histogram.counts) for histogram in dpbench(GRIDS) if histogram.name in SETS)


def measure(runs: int, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the errors of each method on each table, over runs and random boxes."""
    generator = np.random.default_rng(SEED)
    for name, cells in tables(quick=quick):
        shape, records = cells.shape, int(cells.sum())
        corners = generator.integers(0, np.array(shape) + 1, (2, 4 * BOXES, len(shape)))
        starts, stops = corners.min(axis=0), corners.max(axis=0)
        full = (starts < stops).all(axis=1)
        starts, stops = starts[full][:BOXES], stops[full][:BOXES]
        true = rectangle_sums(cells.astype(np.float64), starts, stops)
        held = BinCounts.from_counts(cells.reshape(-1))
        for text, budget in BUDGETS.items():
            split = plan_split(shape, budget, records, relation=ADD_REMOVE, beta=BETA)
            grid = plan_grid(shape, budget, shapes="cubes", relation=ADD_REMOVE)
            row: dict[str, Any] = {
                "set": name,
                "shape": list(shape),
                "records": records,
                "empty": float(np.mean(cells == 0)),
                "budget": text,
                "boxes": 2**split.depth,
            }
            errors: dict[str, list[NDArray[np.float64]]] = {SPLIT: [], GRID: []}
            bounds, held_true = [], 0
            for _ in range(runs):
                released = release_partition(held, split)
                errors[SPLIT].append(released.values(starts, stops) - true)
                asked = 100
                chosen = [
                    list(zip(low, high, strict=True))
                    for low, high in zip(starts[:asked].tolist(), stops[:asked].tolist(), strict=True)
                ]
                answers = released.boxes(chosen, confidence=1 - BETA)
                bounds += [answer.bound for answer in answers]
                held_true += sum(
                    bool(answer.low <= value <= answer.high)
                    for answer, value in zip(answers, true[:asked].tolist(), strict=True)
                )
                counts = release_grid(held, grid).counts
                errors[GRID].append(rectangle_sums(counts, starts, stops) - true)
            for method, found in errors.items():
                every = np.concatenate(found)
                row[method] = {
                    "worst": float(np.abs(every).max()) / records,
                    "rms": float(np.sqrt(np.mean(every**2))) / records,
                }
            row[SPLIT]["bound"] = float(np.mean(bounds)) / records
            row[SPLIT]["kept"] = held_true / len(bounds)
            yield row

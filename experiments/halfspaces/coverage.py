"""How often bounds of halfspaces hold where records lie within the margin, and how often where that is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.private.readers.read_numbers import read_points
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from experiments.halfspaces.points import COLUMNS, MARGIN, make

Result = dict[str, Any]
SHAPE, TURNS = Shape(2, 100, 4), 64


def _tables(records: int, queries: int, seed: int) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield points and queries: with a margin, clustered, and of all directions."""
    draws, case = np.random.default_rng(seed), make(records, queries, seed=seed)
    asked = draws.normal(size=(queries, COLUMNS))
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    yield "points and queries of a margin", case.points, case.queries
    yield "the same points, any queries", case.points, asked
    for name, centres in (("three centres, any queries", 3), ("points of all directions, any queries", records)):
        of = draws.integers(0, centres, records)
        points = draws.normal(size=(centres, COLUMNS))[of] + 0.1 * draws.normal(size=(records, COLUMNS))
        yield name, points / np.linalg.norm(points, axis=1, keepdims=True), asked


def coverages(budget: Budget, records: int, queries: int, runs: int) -> Iterator[Result]:
    """Yield, for each kind of table, the shares of queries whose 95 % bound holds, and the bounds themselves."""
    columns = PointColumns(tuple(f"x{place + 1}" for place in range(COLUMNS)), Scaling.UNIT)
    found: dict[str, list[list[tuple[float, bool, float]]]] = {}
    for run in range(runs):
        for name, points, asked in _tables(records, queries, 11 + run):
            plan = plan_halfspaces(
                columns, budget, size=records, margin=MARGIN, shapes=[SHAPE], queries=queries, seed=run
            )
            released = release_halfspaces(read_points(points, columns), plan)
            products = points @ asked.T
            truth, inside = (products > 0).mean(axis=0), (np.abs(products) < MARGIN).mean(axis=0)
            for query, share, near in zip(asked, truth.tolist(), inside.tolist(), strict=True):
                said = (0.0, near, 1.0)
                answers = [released.answers(query[None, :], inside=one, turns=TURNS)[0] for one in said]
                found.setdefault(name, []).append(
                    [(near, abs(one.value - share) <= one.bound, one.bound) for one in answers]
                )
    for name, rows in found.items():
        yield {
            "table": name,
            "queries": len(rows),
            "inside": float(np.mean([row[0][0] for row in rows])),
            "holds": [float(np.mean([row[place][1] for row in rows])) for place in range(3)],
            "bound": [float(np.mean([row[place][2] for row in rows])) for place in range(3)],
        }


def coverage_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the table."""
    yield "95 % bounds of the regression at epsilon 1, with no record said to be within the margin, the true share, and all:"
    yield ""
    yield (
        "| table | queries | records within the margin | bound holds: none said | true share said | all said | "
        "mean bound: none | true | all |"
    )
    yield "|" + "---|" * 9
    for one in results:
        holds = " | ".join(f"{share:.1%}" for share in one["holds"])
        bounds = " | ".join(f"{bound:.3f}" for bound in one["bound"])
        yield f"| {one['table']} | {one['queries']:,} | {one['inside']:.0%} | {holds} | {bounds} |"
    yield ""

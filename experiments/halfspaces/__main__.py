"""`python -m experiments.halfspaces`: errors of large-margin queries by projection, structure and estimator."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import amount_for
from dpopt.private.readers.read_numbers import read_points
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.synopses.halfspaces.estimators import Estimator
from dpopt.synopses.halfspaces.planning import Shape, direct_error, plan_halfspaces, predicted
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from experiments.documents import table, write_results
from experiments.experiment import Measure, Report, Result, carry_out, parser_of
from experiments.halfspaces.coverage import coverage_table, coverages
from experiments.halfspaces.points import COLUMNS, MARGIN, Case, make

BUDGETS = {"epsilon 1": Budget(1.0, 0.0, None, Accountant.PURE), "rho .1": Budget(None, 1e-9, 0.1, Accountant.ZCDP)}
SHAPES = (Shape(1, 1600, 1), Shape(2, 400, 4), Shape(3, 200, 8), Shape(4, 100, 16), Shape(2, 50, 32), Shape(2, 600, 4))
QUICK = (Shape(2, 20, 4), Shape(1, 20, 1))
TURNS = 8


def main(arguments: list[str] | None = None) -> int:
    """Measure every budget, shape and estimator, and print the tables."""
    parser = parser_of("halfspaces", runs=1)
    parser.add_argument("--queries", type=int, default=1000, help="queries of each table (1,000)")
    parser.add_argument("--records", type=int, default=100_000, help="records (100,000)")
    parts: dict[str, Measure] = {"results": _results, "coverage": _coverage}
    return carry_out(parser, arguments, parts, markdown, draw=_draw)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    quick = options.quick
    records, queries = (2000, 20) if quick else (options.records, options.queries)
    cases = [make(records, queries, seed=1 + run) for run in range(options.runs)]
    for budget in BUDGETS:
        yield from _baselines(cases, budget)
        yield from _releases(cases, budget, QUICK if quick else SHAPES)


def _coverage(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    return coverages(BUDGETS["epsilon 1"], *((2_000, 3, 1) if options.quick else (20_000, 60, 3)))


def _draw(report: Report, folder: Path) -> None:
    from experiments.halfspaces.picture import draw

    draw(report["results"], folder / "errors.svg")
    write_results(folder / "README.md", coverage_table(report["coverage"]), part="coverage")


def _baselines(cases: list[Case], name: str) -> Iterator[Result]:
    """Yield the errors of answering 1/2, and of noise on each of the queries."""
    budget, generator = BUDGETS[name], np.random.default_rng(7)
    gaussian = budget.accountant is Accountant.ZCDP
    amount = amount_for(budget, gaussian=gaussian)
    halves, noisy = [], []
    for case in cases:
        queries, records = len(case.truth), len(case.points)
        halves.append(np.abs(case.truth - 0.5))
        draws = (
            generator.normal(size=queries) * np.sqrt(queries / (2 * amount))
            if gaussian
            else generator.laplace(size=queries) * queries / amount
        )
        noisy.append(np.abs(draws / records))
    yield _result(name, "always 1/2", "", halves, 0.5)
    bound = direct_error(len(cases[0].truth), amount, len(cases[0].points), gaussian=gaussian)
    yield _result(name, "each query with noise of its own", "", noisy, bound)


def _releases(cases: list[Case], name: str, shapes: tuple[Shape, ...]) -> Iterator[Result]:
    columns = PointColumns(tuple(f"x{place + 1}" for place in range(COLUMNS)), Scaling.UNIT)
    budget = BUDGETS[name]
    amount = amount_for(budget, gaussian=budget.accountant is Accountant.ZCDP)
    for shape in shapes:
        errors: dict[Estimator, list[NDArray[np.float64]]] = {one: [] for one in Estimator}
        expected: dict[Estimator, float] = {}
        seconds = []
        for run, case in enumerate(cases):
            plan = plan_halfspaces(
                columns,
                budget,
                size=len(case.points),
                margin=MARGIN,
                shapes=[shape],
                queries=len(case.queries),
                seed=run,
            )
            points = read_points(case.points, columns)
            begun = time.perf_counter()
            released = release_halfspaces(points, plan)
            seconds.append(time.perf_counter() - begun)
            for estimator in Estimator:
                if run == 0:
                    expected[estimator] = predicted(plan, amount, len(case.queries), estimator).error
                answers = released.answers(case.queries, estimate=estimator, turns=TURNS)
                errors[estimator].append(np.abs(np.array([one.value for one in answers]) - case.truth))
        for estimator in Estimator:
            found = _result(name, _words(shape), estimator.value, errors[estimator], expected[estimator])
            yield {**found, "T": shape.dimension, "seconds": float(np.median(seconds))}


def _result(budget: str, what: str, estimator: str, errors: list[NDArray[np.float64]], expected: float) -> Result:
    return {
        "budget": budget,
        "what": what,
        "estimator": estimator,
        "predicted": expected,
        "mean": float(np.mean([one.mean() for one in errors])),
        "worst": float(max(one.max() for one in errors)),
    }


def _words(shape: Shape) -> str:
    return f"T = {shape.dimension}, m = {shape.number:,}, U = {2 * shape.directions}, sides"


def markdown(report: Report) -> Iterator[str]:
    """Yield the table of errors."""
    titles = ["budget | released | estimator | mean error | worst error | predicted for all queries", "seconds"]
    yield from table(titles, map(_cells, report["results"]))


def _cells(one: Result) -> list[str]:
    seconds = f"{one['seconds']:.1f}" if "seconds" in one else ""
    cells = [one["budget"], one["what"], one["estimator"], f"{one['mean']:.4f}", f"{one['worst']:.4f}"]
    return [*cells, f"{one['predicted']:.3f}", seconds]


if __name__ == "__main__":
    sys.exit(main())

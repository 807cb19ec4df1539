"""`python -m experiments.halfspaces`: errors of large-margin queries by projection, structure and estimator."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from experiments.documents import circumstances, write_results
from experiments.halfspaces.coverage import coverage_table, coverages
from experiments.halfspaces.points import COLUMNS, MARGIN, Case, make
from experiments.machine import describe_circumstances

Result = dict[str, Any]
BUDGETS = {"epsilon 1": Budget(1.0, 0.0, None, Accountant.PURE), "rho .1": Budget(None, 1e-9, 0.1, Accountant.ZCDP)}
SHAPES = (Shape(1, 1600, 1), Shape(2, 400, 4), Shape(3, 200, 8), Shape(4, 100, 16), Shape(2, 50, 32), Shape(2, 600, 4))
QUICK = (Shape(2, 20, 4), Shape(1, 20, 1))
TURNS = 8


def main(arguments: list[str] | None = None) -> int:
    """Measure every budget, shape and estimator, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.halfspaces")
    parser.add_argument("--runs", type=int, default=1, help="tables, projections and releases of each (1)")
    parser.add_argument("--queries", type=int, default=1000, help="queries of each table (1,000)")
    parser.add_argument("--records", type=int, default=100_000, help="records (100,000)")
    parser.add_argument("--quick", action="store_true", help="few records and projections: shows that it runs")
    parser.add_argument("--document", type=Path, help="put the table into this document, the picture beside it")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    quick = options.quick
    runs, queries, records = (1, 20, 2000) if quick else (options.runs, options.queries, options.records)
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": quick, "results": []}
    cases = [make(records, queries, seed=1 + run) for run in range(runs)]
    for budget in BUDGETS:
        for result in [*_baselines(cases, budget), *_releases(cases, budget, QUICK if quick else SHAPES)]:
            report["results"].append(result)
            print(json.dumps(result), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    few = (2_000, 10, 1) if quick else (20_000, 60, 3)
    report["coverage"] = list(coverages(BUDGETS["epsilon 1"], *few))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = [*markdown(report["results"])]
    print("\n".join([*lines, "", *coverage_table(report["coverage"])]))
    if options.document is not None:
        from experiments.halfspaces.picture import draw

        draw(report["results"], options.document.with_name("errors.svg"))
        write_results(options.document, [circumstances(report), "", *lines])
        write_results(options.document, coverage_table(report["coverage"]), part="coverage")
    return 0


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


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the table."""
    yield "| budget | released | estimator | mean error | worst error | predicted for all queries | seconds |"
    yield "|---|---|---|---|---|---|---|"
    for one in results:
        seconds = f"{one['seconds']:.1f}" if "seconds" in one else ""
        cells = [one["budget"], one["what"], one["estimator"], f"{one['mean']:.4f}", f"{one['worst']:.4f}"]
        yield f"| {' | '.join([*cells, format(one['predicted'], '.3f'), seconds])} |"


if __name__ == "__main__":
    sys.exit(main())

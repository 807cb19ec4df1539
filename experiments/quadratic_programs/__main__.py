"""`python -m experiments.quadratic_programs`: which solvers find the optimum of quadratic models, and which say so wrongly."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt import models
from dpopt.models import Model, Solution
from dpopt.programs.results import Limit, SolveResult, Termination
from dpopt.queries.ranges.grids import blocks_shape
from dpopt.queries.ranges.tree import Tree
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances

SOLVERS = ("clarabel", "osqp", "scs", "cvxpy-highs", "pdlp")
SIZES = (64, 1_024, 4_096, 16_384)
SPREADS: dict[str, tuple[float, ...]] = {".01": (0.01,), "1": (1.0,), "10,000": (1e4,), "mixed": (0.01, 1.0, 1e4)}
"""Variances of the levels of a tree, from the root down, in turn."""
SHARE = 1e-6
"""A solver that says "optimal" lies within this share of the best value, or its certificate says "imprecise"."""


def main(arguments: list[str] | None = None) -> int:
    """Solve every program by every solver and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.quadratic_programs")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each solve (10)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="bins of the largest tree (16384)")
    parser.add_argument("--quick", action="store_true", help="small programs: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {**describe_circumstances(), "runs": 1, "rows": []}
    for name, model in programs(options.largest, quick=options.quick):
        report["rows"] += compared(name, model, options.seconds)
        if options.json is not None:
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = [*summary(report["rows"]), "", *table(report["rows"])]
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0 if not wrong(report["rows"]) else 1


def programs(largest: int, *, quick: bool) -> Iterator[tuple[str, Model]]:
    """Yield the programs by name, all from made-up numbers: trees, sorted counts, grids, degrees, weights of records."""
    generator = np.random.default_rng(2010)
    for bins in SIZES[:1] if quick else [size for size in SIZES if size <= largest]:
        for spread in SPREADS:
            tree, values, variances = noisy_tree(bins, spread, generator)
            for nonnegative in (False, True):
                kind = "nonnegative" if nonnegative else "least squares"
                model = models.tree_consistency(tree, values, variances, nonnegative=nonnegative)
                yield f"tree, {bins:,} bins, variance {spread}, {kind}", model
    size = 50 if quick else 10_000
    counts = np.sort(generator.pareto(1.2, size).round())
    noisy = counts + generator.normal(0, 10, size)
    yield f"sorted, {size:,} counts", models.isotonic_regression(noisy, lower=0)
    yield (
        f"sorted, {size:,} counts, total known",
        models.isotonic_regression(noisy, lower=0, total=float(counts.sum())),
    )
    side = 8 if quick else 64
    levels: list[tuple[int, ...]] = [(0, 0), (1, 1), (3, 3)]
    cells = generator.poisson(2, (side, side)) * (generator.random((side, side)) < 0.2)
    blocks = {
        level: cells.reshape(-1, 1 << level[0], side >> level[1], 1 << level[1]).sum(axis=(1, 3))
        + generator.normal(0, 3, blocks_shape((side, side), level))
        for level in levels
    }
    for nonnegative in (False, True):
        kind = "nonnegative" if nonnegative else "least squares"
        model = models.grid_consistency((side, side), blocks, dict.fromkeys(levels, 1 / 9), nonnegative=nonnegative)
        yield f"grid, {side} x {side} cells, {kind}", model
    nodes = 12 if quick else 200
    degrees = np.sort(generator.pareto(1.0, nodes).clip(0, nodes - 1))[::-1] + generator.normal(0, 5, nodes)
    yield f"degrees, {nodes} nodes", models.graphical_relaxation(degrees)
    queries, records = (20, 10) if quick else (500, 300)
    answers = generator.random((queries, records)) < 0.3
    weights = generator.dirichlet(np.ones(records))
    measured = answers @ weights + generator.normal(0, 0.01, queries)
    yield (
        f"weights of {records} records, {queries} queries",
        models.projection(answers, measured, np.full(queries, 1e4)),
    )


def noisy_tree(
    bins: int, spread: str, generator: np.random.Generator
) -> tuple[Tree, NDArray[np.float64], NDArray[np.float64]]:
    """Return a binary tree, most of whose bins are empty, with noisy counts of all nodes and their variances."""
    tree = Tree.balanced(bins, 2)
    counts = generator.poisson(10, bins) * (generator.random(bins) < 0.3)
    variances = np.empty(len(tree))
    for depth, level in enumerate(tree.levels):
        variances[level] = SPREADS[spread][depth % len(SPREADS[spread])]
    noise = generator.normal(size=len(tree)) * np.sqrt(variances)
    return tree, tree.totals(counts.astype(np.float64)) + noise, variances


def compared(name: str, model: Model, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each solver: what it found, against the closed form, or the best that any proved."""
    found: dict[str, Solution] = {} if model.closed_form is None else {"closed-form": model.solve()}
    for solver in SOLVERS:
        found[solver] = by_pdlp(model, seconds) if solver == "pdlp" else model.solve(solver, seconds=seconds)
    best = found.get("closed-form") or min(
        (one for one in found.values() if one.termination is Termination.OPTIMAL),
        key=lambda one: float("inf") if one.objective is None else one.objective,
    )
    return [{"program": name, "solver": solver, **row(one, best)} for solver, one in found.items()]


def row(found: Solution, best: Solution) -> dict[str, Any]:
    """Return the figures of one solve."""
    certificate, least = found.certificate, best.objective
    assert least is not None
    gap = None if certificate is None else certificate.proven_gap
    return {
        "termination": found.termination.value,
        "native": found.result.native_status,
        "excess": None if found.objective is None else (found.objective - least) / max(1.0, abs(least)),
        "gap": None if gap is None else float(gap),
        "violation": None if certificate is None else certificate.primal_violation,
        "seconds": found.result.seconds,
    }


def by_pdlp(model: Model, seconds: float) -> Solution:
    """Return what PDLP finds through MathOpt: squares of single variables are all that it takes."""
    from ortools.math_opt.python import mathopt

    written = model.to_mathopt()
    parameters = mathopt.SolveParameters(time_limit=dt.timedelta(seconds=seconds))
    criteria = parameters.pdlp.termination_criteria.simple_optimality_criteria
    criteria.eps_optimal_absolute = criteria.eps_optimal_relative = 1e-9
    try:
        answer = mathopt.solve(written, mathopt.SolverType.PDLP, params=parameters)
    except (RuntimeError, ValueError, AttributeError) as problem:
        why = str(problem.__context__ or problem).splitlines()[0]
        return model.judged(SolveResult(Termination.FAILED, solver="pdlp", native_status=why[:80]))
    reason, took = answer.termination.reason.name, answer.solve_stats.solve_time.total_seconds()
    if reason != "OPTIMAL":
        return model.judged(
            SolveResult(Termination.LIMIT, Limit.TIME, solver="pdlp", native_status=reason, seconds=took)
        )
    point = np.array(answer.variable_values(sorted(written.variables(), key=lambda one: one.id)))
    rows = sorted(written.linear_constraints(), key=lambda one: one.id)
    return model.judged(
        SolveResult(
            Termination.OPTIMAL,
            solution=point,
            objective=model.program.evaluate(point),
            solver="pdlp",
            native_status=reason,
            duals=np.array(answer.dual_values(rows)),
            seconds=took,
        )
    )


def wrong(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return where "optimal" stands, the certificate does not object, and the value is not the best."""
    return [one for one in rows if one["termination"] == "optimal" and abs(one["excess"]) > SHARE]


def summary(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each solver: how it ended, and the worst that it called optimal."""
    yield "**How each solver ended, and the worst excess over the best value where it said optimal**\n"
    yield "| solver | programs | optimal | imprecise | limit | failed | worst excess | wrongly optimal |"
    yield "|---|---|---|---|---|---|---|---|"
    for solver in dict.fromkeys(one["solver"] for one in rows):
        own = [one for one in rows if one["solver"] == solver]
        ends = [one["termination"] for one in own]
        excess = [abs(one["excess"]) for one in own if one["termination"] == "optimal"]
        counts = [str(ends.count(end)) for end in ("optimal", "imprecise", "limit", "failed")]
        worst = figure(max(excess, default=None))
        yield f"| {solver} | {len(own)} | {' | '.join(counts)} | {worst} | {len(wrong(own))} |"


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each solve: its end, excess, proven gap, violation and seconds."""
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "end": lambda one: (
            one["termination"] if one["excess"] is not None else f"{one['termination']}: {one['native']:.40}"
        ),
        "excess": lambda one: figure(one["excess"]),
        "proven gap": lambda one: figure(one["gap"]),
        "violation": lambda one: figure(one["violation"]),
        "seconds": lambda one: f"{one['seconds']:.2f}",
    }
    yield "**Every solve: excess as a share of the best value (or of 1), proven gap and violation as they are**\n"
    yield "| program | solver | " + " | ".join(columns) + " |"
    yield "|" + "---|" * (len(columns) + 2)
    for one in rows:
        cells = [read(one).replace("|", "/") for read in columns.values()]
        yield f"| {one['program']} | {one['solver']} | " + " | ".join(cells) + " |"


def figure(value: float | None) -> str:
    """Return a figure in two digits; a dash for none."""
    return "–" if value is None else f"{value:.1e}" if value else "0"


if __name__ == "__main__":
    sys.exit(main())

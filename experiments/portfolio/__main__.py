"""`python -m experiments.portfolio`: value and bound over time of exact solvers, alone and helped by the search."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dpopt.algorithms.replay import load
from dpopt.cli.pictures import logarithmic, series
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import Progress, SolveLimits
from dpopt.programs.solver import Solver
from dpopt.releases.solver_choice import clause_solver
from dpopt.solvers.registry import get_solver
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.narrow import legend_below, narrow_picture
from experiments.runs import run_dpopt
from experiments.tables import prepare

SOLVERS, WAYS = ("cp-sat", "highs", "gscip", "cbc"), ("alone", "helped")
MARKS = (0.1, 0.3, 1.0, 3.0)
LONG_SEARCH = 100_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """A table, the queries of its run, and the draws of a round."""

    name: str
    table: str
    queries: str
    draws: int


RECIPES = (
    Recipe("kdd99, conjunctions", "kdd99-coded", "conjunctions:3", 1_000),
    Recipe("adult, parities", "adult-coded", "parity:3", 300),
    Recipe("nist-acs, thresholds", "nist-acs", "threshold:2of4", 500),
    Recipe("nist-acs, rules", "nist-acs-rules", "conjunctions:3", 500),
)
ROUNDS = (1, 2, 3, 5, 10)


def main(arguments: list[str] | None = None) -> int:
    """Measure twenty rounds, and print the tables."""
    parser = parser_of("portfolio")
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of each solve (3)")
    return carry_out(parser, arguments, {"solves": _solves}, markdown, draw=draw)


def _solves(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    """Yield a row for each round, solver and way; the hint of a solver alone is the record of the round before."""
    seconds = 0.2 if options.quick else options.seconds
    for recipe in RECIPES[:1] if options.quick else RECIPES:
        for number, problem, before in _problems(recipe, quick=options.quick):
            best = _search(problem, 400 if options.quick else LONG_SEARCH)
            for name, way in product(SOLVERS[:1] if options.quick else SOLVERS, WAYS):
                solver = accepting_max_csp(get_solver(name)) if way == "alone" else clause_solver(name)
                row = _solve(solver, problem, SolveLimits(seconds=seconds), before)
                yield {"table": recipe.name, "round": number, "solver": name, "way": way, "search": best, **row}


def _problems(recipe: Recipe, *, quick: bool) -> Iterator[tuple[int, MaxCsp, Any]]:
    """Yield number and problem of some rounds of a run, and the record of the round before."""
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        prepared, out = prepare(recipe.table, Path(place), quick=quick), Path(place) / "run"
        size = ["--rounds", "2", "--draws", "40"] if quick else ["--rounds", "10", "--draws", str(recipe.draws)]
        workload = f"{recipe.queries},count={300 if quick else 100_000},seed=7"
        run_dpopt(
            [
                *("release", str(prepared.path), *prepared.declared(), *prepared.options(), "--workload", workload),
                *("--algorithm", "dualquery", "--neighbours", "replace", "--out", str(out), "--quiet", "--no-predict"),
                *("--epsilon", "1e6", "--delta", "1e-3", "--step", "1.4", *size),
            ]
        )
        run = load(out)
    clauses, sizes, rules = run.job.workload.clauses, run.job.schema.sizes, run.job.schema.circuit()
    for number in ROUNDS:
        if number <= len(run.played):
            before = run.played[number - 2].record if number > 1 else None
            yield number, round_program(clauses, sizes, run.played[number - 1].sampled, rules), before


def _search(problem: MaxCsp, sweeps: int) -> int:
    return problem.objective(get_solver("local-search").solve(problem, SolveLimits(work=sweeps)).require_record())


def _solve(solver: Solver, problem: MaxCsp, limits: SolveLimits, before: Any) -> dict[str, Any]:
    """Return value and bound at each mark, and at the end; a solver that reports no history has them at its end only."""
    started = time.perf_counter()
    result = solver.solve(problem, limits, hint=before)
    seconds = time.perf_counter() - started
    end = Progress(seconds, result.objective, result.bound)
    known = [*result.history, end]
    return {
        "seconds": round(seconds, 2),
        "value": result.objective,
        "bound": result.bound,
        "ended": result.termination.value,
        "at": {str(mark): _at(known, mark, limits.seconds or mark) for mark in MARKS},
    }


def _at(known: Sequence[Progress], mark: float, limit: float) -> list[float | None]:
    """Return value and bound that were known at a mark; what came with the end of the limit counts at it."""
    by_then = [one for one in known if one.seconds <= mark or mark >= limit]
    values = [one.objective for one in by_then if one.objective is not None]
    bounds = [one.bound for one in by_then if one.bound is not None]
    return [max(values, default=None), min(bounds, default=None)]


def markdown(report: Report) -> Iterator[str]:
    """Yield value and bound at each mark, and how the rounds ended."""
    yield "**Median value and bound, in per cent of the best known value of each round, after so many seconds**\n"
    titles = [
        "rounds | solver | way",
        *(f"value, {mark:g} s" for mark in MARKS),
        *(f"bound, {mark:g} s" for mark in MARKS),
    ]
    yield from table([*titles, "proven best | least value"], _lines(report["solves"]))


def _lines(solves: Sequence[Result]) -> Iterator[list[object]]:
    best = _best(solves)
    tables = [*dict.fromkeys(row["table"] for row in solves)]
    for name, solver, way in product([*tables, "all"], SOLVERS, WAYS):
        rows = [row for row in solves if (row["solver"], row["way"]) == (solver, way) and name in {row["table"], "all"}]
        if rows:
            ends = [(row["value"] or 0) / best[row["table"], row["round"]] for row in rows]
            values, bounds = ([_shown(_median(rows, best, mark, which)) for mark in MARKS] for which in (0, 1))
            proven = sum(row["ended"] == "optimal" for row in rows)
            yield [name, solver, way, *values, *bounds, f"{proven} of {len(rows)}", f"{min(ends):.0%}"]


def _best(solves: Sequence[Result]) -> dict[tuple[str, int], int]:
    best: dict[tuple[str, int], int] = {}
    for row in solves:
        key = row["table"], row["round"]
        best[key] = max(best.get(key, 1), row["search"], int(row["value"] or 0))
    return best


def _median(rows: Sequence[Result], best: dict[tuple[str, int], int], mark: float, which: int) -> float | None:
    """Return the median of value (0) or bound (1) over the best value; None where half of the rounds have none."""
    found = [(row["at"][str(mark)][which], best[row["table"], row["round"]]) for row in rows]
    missing = -1e9 if which == 0 else 1e9
    middle = statistics.median(missing if value is None else value / goal for value, goal in found)
    return None if abs(middle) > 1e6 else middle


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def draw(report: Report, folder: Path) -> None:
    """Draw value and bound over time: a panel for each solver, alone dashed and helped solid."""
    solves = report["solves"]
    best = _best(solves)
    height = -(-len(SOLVERS) // 2)
    with narrow_picture(folder / "portfolio.svg", 2.4 * height + 0.8, height, 2, sharey=True) as panels:
        for axes in panels.flat[len(SOLVERS) :]:
            axes.axis("off")
        for axes, solver in zip(panels.flat, SOLVERS, strict=False):
            for which, way in product((0, 1), WAYS):
                rows = [row for row in solves if (row["solver"], row["way"]) == (solver, way)]
                points = [(mark, _median(rows, best, mark, which)) for mark in MARKS] if rows else []
                shown = [(mark, 100 * share) for mark, share in points if share is not None]
                if shown:
                    label = f"{('value', 'bound')[which]}, {way}"
                    axes.plot(
                        *zip(*shown, strict=True), label=label, linestyle=("--", "-")[way == "helped"], **series(which)
                    )
            axes.set(title=solver, xlabel="seconds", ylim=(0, 220))
            logarithmic(axes.xaxis, MARKS)
        panels[0][0].figure.supylabel("per cent of the best value (median)", fontsize="medium")
        legend_below(panels, 2)


if __name__ == "__main__":
    sys.exit(main())

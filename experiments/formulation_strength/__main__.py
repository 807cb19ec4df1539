"""`python -m experiments.formulation_strength`: how tight each formulation of the best response is, and what that is worth."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from dpopt.algorithms.replay import load
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.cli.pictures import COLOURS
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.best_responses.max_csp_as_mip import AsMip, max_csp_as_mip
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.duality import linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import SolveLimits
from dpopt.solvers.registry import get_solver
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.narrow import dots, legend_below, narrow_picture
from experiments.transcripts import RECIPES, Recipe, make_transcript, third_of

ROOT_ROUNDS, SOLVED_ROUNDS = (1, 2, 5, 10, 20, 30, 40, 50, 60), (1, 5, 15, 30, 50)
SOLVERS = ("highs", "cbc", "gscip")
LP_SOLVER = "highs"
LONG_SEARCH, QUICK_SEARCH = 400_000, 4_000  # sweeps: a hundred times the default, and the default
THIRDS = ("first", "second", "last")
STYLES = (
    {"color": COLOURS[1], "marker": "D", "markersize": 6},
    {"color": COLOURS[0], "marker": "o", "markersize": 10, "markerfacecolor": "none"},
    {"color": COLOURS[2], "marker": "s", "markersize": 6, "markerfacecolor": "none"},
    {"color": "black", "marker": "x", "markersize": 4},
)
"""Marks of the bounds, each of which is seen through the ones before it."""


def main(arguments: list[str] | None = None) -> int:
    """Measure both parts and print the tables."""
    parser = parser_of("formulation_strength")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each solve (20)")
    return carry_out(parser, arguments, {"roots": _roots, "solved": _solved}, markdown, draw=_draw)


def _programs(options: argparse.Namespace, wanted: Sequence[int]) -> Iterator[tuple[dict[str, Any], MaxCsp]]:
    """Yield the programs of some rounds of both runs, with what the tables name of each."""
    for recipe in RECIPES[:1] if options.quick else RECIPES:
        run = _run(recipe, quick=options.quick)
        clauses, sizes = run.job.workload.clauses, run.job.schema.sizes
        for number in wanted[: 1 if options.quick else None]:
            if number <= len(run.played):
                sampled = run.played[number - 1].sampled
                about = {"round": number, "third": third_of(number, len(run.played)), "draws": sampled.charge.count}
                yield {"table": recipe.name, **about}, round_program(clauses, sizes, sampled)


@cache
def _run(recipe: Recipe, *, quick: bool) -> SyntheticRelease:
    """Return a run, the same one for both parts."""
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        return load(make_transcript(recipe, Path(place), quick=quick))


def _roots(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for about, program in _programs(options, ROOT_ROUNDS):
        yield {**about, **_root(program, QUICK_SEARCH if options.quick else LONG_SEARCH)}


def _solved(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for about, program in _programs(options, SOLVED_ROUNDS):
        limits = (SOLVERS[-1:], 1.0, QUICK_SEARCH) if options.quick else (SOLVERS, options.seconds, LONG_SEARCH)
        for row in _solves(program, *limits):
            yield {**about, **row}


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables of relaxations and of solves."""
    yield from root_lines(report["roots"])
    yield ""
    yield from solved_lines(report["solved"])


def _draw(report: Report, folder: Path) -> None:
    draw(report, folder / "gaps.svg")


def _best_known(program: MaxCsp, sweeps: int) -> int:
    result = get_solver("local-search").solve(program, SolveLimits(work=sweeps, threads=2))
    return program.objective(result.require_record())


def _root(program: MaxCsp, sweeps: int) -> dict[str, Any]:
    """Return the optimum of each linear relaxation, its seconds and its size, and the best value known."""
    problem = reduce_max_csp(program).problem
    makers: dict[str, Callable[[], MixedIntegerProgram]] = {
        one.value: partial(_relaxed, problem, one) for one in Formulation
    }
    makers["pairwise lifting"] = partial(pairwise_lifting, problem)
    found: dict[str, Any] = {
        "best": _best_known(program, sweeps),
        "bounds": {},
        "seconds": {},
        "rows": {},
        "columns": {},
    }
    for name, make in makers.items():
        started = time.perf_counter()
        relaxed = make()
        result = get_solver(LP_SOLVER).solve(relaxed, SolveLimits(seconds=600.0))
        found["bounds"][name] = result.objective
        found["seconds"][name] = time.perf_counter() - started
        found["rows"][name], found["columns"][name] = relaxed.number_of_rows, relaxed.number_of_variables
    return found


def _relaxed(problem: MaxCsp, formulation: Formulation) -> MixedIntegerProgram:
    return linear_relaxation(max_csp_as_mip(problem, formulation))


def _solves(program: MaxCsp, solvers: Sequence[str], seconds: float, sweeps: int) -> Iterator[dict[str, Any]]:
    """Yield value, bound and seconds of each solver with each formulation under the same limit."""
    hint = get_solver("local-search").solve(program, SolveLimits(work=1)).require_record()
    best = _best_known(program, sweeps)
    for name in solvers:
        for formulation in Formulation:
            solver = AsMip(get_solver(name), formulation)
            result = solver.solve(program, SolveLimits(seconds=seconds), hint=hint)
            value = None if result.solution is None else program.objective(result.require_record())
            yield {
                "solver": name,
                "formulation": formulation.value,
                "best": best,
                "value": value,
                "bound": result.bound,
                "seconds": result.seconds,
            }


def root_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield the table of relaxations: gap to the best known value, divided by the draws."""
    names = list(rows[0]["bounds"])
    yield "**Gap of the linear relaxation, divided by the draws (seconds of building and solving it)**\n"
    yield from table(["table | round | best known", *names, "aggregated / clique"], (_gaps(row, names) for row in rows))


def _gaps(row: Result, names: Sequence[str]) -> list[object]:
    gaps = {name: _gap(row["bounds"][name], row["best"], row["draws"]) for name in names}
    cells = ["–" if gaps[name] is None else f"{gaps[name]:.4f} ({row['seconds'][name]:.1f} s)" for name in names]
    return [row["table"], row["round"], f"{row['best']:,}", *cells, _ratio(gaps["aggregated"], gaps["clique"])]


def solved_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield the table of solves: median and largest gap of each solver's bound, by third of the run."""
    yield "**Gap of the reported bound to the best known value at the limit, by the draws: median (largest) by third**\n"
    titles = ["table | solver | formulation", *(f"{third} third" for third in THIRDS), "median seconds"]
    yield from table(titles, _solved_rows(rows))


def _solved_rows(rows: Sequence[Result]) -> Iterator[list[str]]:
    best: dict[tuple[str, int], int] = {}
    for row in rows:
        key = row["table"], row["round"]
        best[key] = max(best.get(key, 0), row["best"], row["value"] or 0)
    for labels in dict.fromkeys((r["table"], r["solver"], r["formulation"]) for r in rows):
        chosen = [r for r in rows if (r["table"], r["solver"], r["formulation"]) == labels]
        cells = []
        for third in THIRDS:
            gaps = [_gap(r["bound"], best[r["table"], r["round"]], r["draws"]) for r in chosen if r["third"] == third]
            known = [gap for gap in gaps if gap is not None]
            cells.append(_median_and_largest(known) if known and len(known) == len(gaps) else "–")
        yield [*labels, *cells, f"{statistics.median(r['seconds'] for r in chosen):.1f}"]


def _median_and_largest(gaps: Sequence[float]) -> str:
    return f"{statistics.median(gaps):.4f} ({max(gaps):.4f})"


def _gap(bound: float | None, best: int, draws: int) -> float | None:
    return None if bound is None else max(0.0, bound - best) / draws


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.1f}" if one is not None and other is not None and other > 1e-9 else "–"


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the gaps of the relaxations by round: a column for each table, all gaps above, the small ones below."""
    tables = list(dict.fromkeys(row["table"] for row in report["roots"]))
    with narrow_picture(path, 5.0, 2, len(tables), sharex="col", sharey="row") as panels:
        for (above, below), table in zip(panels.T, tables, strict=True):
            rows = [row for row in report["roots"] if row["table"] == table]
            rounds = [str(row["round"]) for row in rows]
            for name, style in zip(rows[0]["bounds"], STYLES, strict=True):
                gaps = [_gap(row["bounds"][name], row["best"], row["draws"]) for row in rows]
                for axes in (above, below):
                    dots(axes, rounds, gaps, style, label=name)
            above.set(title=table, ylim=(-0.01, 0.2))
            below.set(xlabel="round", ylim=(-0.0015, 0.032))
            below.set_xticks(range(0, len(rounds), 2), rounds[::2])
        panels[0, 0].set_ylabel("gap at the root / draws")
        panels[1, 0].set_ylabel("the same, magnified\n(0: nothing is lost)")
        legend_below(panels, 2)


if __name__ == "__main__":
    sys.exit(main())

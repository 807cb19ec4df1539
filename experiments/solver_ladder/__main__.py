"""`python -m experiments.solver_ladder`: the value of each solver's record after 0.1, 1, 5 and 20 seconds."""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from dpopt.algorithms.replay import load
from dpopt.models.best_responses.best_response import round_program
from dpopt.programs.results import SolveLimits
from dpopt.solvers.registry import available_solvers, get_solver
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, on_file, parser_of
from experiments.runs import run_dpopt
from experiments.transcripts import RECIPES, Recipe, make_transcript, third_of

PICTURES = Path(__file__).resolve().parent
MARKS = (0.1, 1.0, 5.0, 20.0)
THIRDS = ("first", "second", "last")
FEW = "1,2,5,10,20,30,40,50,60"
EXACT = "cp-sat,highs:per-literal"
"""Run on every round, for the best known value."""
OTHERS = (
    "cp-sat",
    "highs:per-literal",
    "highs:clique",
    "highs:aggregated",
    "mathopt-highs:per-literal",
    "gscip:per-literal",
    "cbc:per-literal",
    "glpk:per-literal",
    "rc2",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons and print the tables."""
    parser = parser_of("solver_ladder")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of the exact solvers (20)")
    parser.add_argument("--only", choices=[recipe.name for recipe in RECIPES], help="one table only")
    return carry_out(parser, arguments, {"tables": _tables}, markdown)


def _tables(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    recipes = RECIPES[:1] if options.quick else [one for one in RECIPES if options.only in {None, one.name}]
    yield from [one for one in on_file(options, "tables") if one["table"] not in {recipe.name for recipe in recipes}]
    for recipe in recipes:
        with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
            yield {"table": recipe.name, **_measure(recipe, Path(place), options.seconds, quick=options.quick)}


def _measure(recipe: Recipe, folder: Path, seconds: float, *, quick: bool) -> dict[str, Any]:
    """Return the default local search on every round, and every solver's values over time on some."""
    run = make_transcript(recipe, folder, quick=quick)
    default = _default_search(run, long=4_000 if quick else 400_000)
    solvers = [name for name in OTHERS if name.partition(":")[0] in available_solvers()]
    limits = [str(0.1 if quick else seconds)]
    compared = ",".join(["local-search", *solvers[: 1 if quick else None]])
    few = _compare(run, "all" if quick else FEW, compared, limits, folder / "few")
    every = few if quick else _compare(run, "all", EXACT, limits, folder / "every")
    if not quick:
        shutil.copy(folder / "few" / "performance_profile.png", PICTURES / f"profile-{recipe.name}.png")
    best = {row["case"]: row["best_value"] for row in every["rows"]}
    for row in few["rows"]:
        best[row["case"]] = max(best[row["case"]], row["best_value"])
    names = list(best)  # rounds in order
    for name, row in zip(names, default, strict=True):
        best[name] = max(best[name], row["value"], row["long"])
    return {
        "rounds": len(default),
        "best": list(best.values()),
        "default": default,
        "every": _slim(every, best, names),
        "few": _slim(few, best, names),
    }


def _default_search(folder: Path, *, long: int) -> list[dict[str, Any]]:
    """Return value and seconds of the local search as a release uses it, and the value of a search of `long` sweeps."""
    run = load(folder)
    clauses, sizes = run.job.workload.clauses, run.job.schema.sizes
    solver, rows = get_solver("local-search"), []
    hint = None
    for played in run.played:
        program = round_program(clauses, sizes, played.sampled)
        started = time.perf_counter()
        record = solver.solve(program, SolveLimits(threads=1), hint=hint).require_record()
        seconds = time.perf_counter() - started
        best = solver.solve(program, SolveLimits(work=long, threads=2)).require_record()
        rows.append({"seconds": seconds, "value": program.objective(record), "long": program.objective(best)})
        hint = played.record
    return rows


def _compare(run: Path, rounds: str, solvers: str, limits: Sequence[str], out: Path) -> dict[str, Any]:
    run_dpopt(
        [
            *("compare", "--release", str(run), "--round-numbers", rounds, "--solvers", solvers),
            *("--seconds", *limits, "--out", str(out), "--json"),
        ]
    )
    found: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return found


def _slim(found: dict[str, Any], best: dict[str, int], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the tables need of a comparison."""
    place = {name: number for number, name in enumerate(names, start=1)}
    return [
        {
            "round": place[row["case"]],
            "solver": row["solver"],
            "status": row["status"],
            "value": row["value"],
            "bound": row["reported_bound"],
            "seconds": row["seconds"],
            "memory": row["peak_memory_mb"],
            "at": {str(mark["seconds"]): mark["value"] for mark in row["at_mark"]},
            "best": best[row["case"]],
        }
        for row in found["rows"]
    ]


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables: the local search on all rounds; all solvers over time on some."""
    yield "**The local search as a release uses it, on every round (one thread)**\n"
    titles = ["table | rounds | median value / best known | least | best known reached", "median seconds | largest"]
    yield from table(titles, map(_local_search, report["tables"]))
    yield "\n**Every solver: median value in per cent of the best known after so many seconds, by third of the run**\n"
    titles = ["table | solver | third", *(f"{mark:g} s" for mark in MARKS)]
    rows = (line for one in report["tables"] for line in _by_third(one))
    yield from table([*titles, "proves it | median seconds | memory, MB"], rows)


def _local_search(one: Result) -> list[object]:
    shares = [row["value"] / best for row, best in zip(one["default"], one["best"], strict=True)]
    seconds = [row["seconds"] for row in one["default"]]
    return [
        *(one["table"], one["rounds"], f"{statistics.median(shares):.2%}", f"{min(shares):.2%}"),
        *(sum(share >= 1 for share in shares), f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}"),
    ]


def _by_third(one: Result) -> Iterator[list[str]]:
    for solver, third in product(dict.fromkeys(row["solver"] for row in one["few"]), THIRDS):
        own = [row for row in one["few"] if row["solver"] == solver]
        rows = [row for row in own if third_of(row["round"], one["rounds"]) == third]
        if rows:
            yield _line(one["table"], solver, third, rows)


def _line(name: str, solver: str, third: str, rows: Sequence[Result]) -> list[str]:
    cells = []
    for mark in MARKS:
        values = [row["at"].get(str(mark)) for row in rows]
        shares = [0.0 if value is None else value / row["best"] for value, row in zip(values, rows, strict=True)]
        cells.append(f"{statistics.median(shares):.1%}" if any(value is not None for value in values) else "–")
    proves = sum(row["status"] == "optimal" for row in rows)
    seconds = statistics.median(row["seconds"] for row in rows)
    memory = max((row["memory"] or 0.0 for row in rows), default=0.0)
    return [name, solver, third, *cells, f"{proves} of {len(rows)}", f"{seconds:.1f}", f"{memory:.0f}"]


if __name__ == "__main__":
    sys.exit(main())

"""`python -m experiments.models_and_solvers`: every model of the catalogue in every form, by every solver that is there."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpopt import models
from dpopt.comparison.instances import read_instance
from dpopt.errors import DpoptError
from dpopt.models.catalogue import CATALOGUE, build_model, instances
from dpopt.models.model import CLOSED_FORM, Model
from dpopt.programs.solver import Capability
from dpopt.solvers.registry import available_solvers, get_solver
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of

SECONDS, SAME = 5.0, 1e-6
EXAMPLE, REALISTIC = "example", "realistic"
PULP, CVXPY, MATHOPT, CP_SAT = "PuLP", "CVXPY", "MathOpt", "CP-SAT"
PROOFS = {"duals": "proven_gap", "reported bounds": "reported_gap"}
FORMS = {
    **dict.fromkeys(("cbc", "pulp-highs", "pulp-gurobi"), PULP),
    **dict.fromkeys(("clarabel", "osqp", "scs", "cvxpy-highs"), CVXPY),
    **dict.fromkeys(("gscip", "mathopt-highs", "glop", "pdlp"), MATHOPT),
    "cp-sat": CP_SAT,
}
"""Solvers by the library in whose objects they get a model; the others get its arrays."""
_HIGHS = """
import highspy
solver = highspy.Highs()
solver.setOptionValue("output_flag", False)
solver.setOptionValue("time_limit", float(sys.argv[2]))
solver.setOptionValue("mip_rel_gap", 0.0)
assert solver.readModel(path) == highspy.HighsStatus.kOk, "HiGHS cannot read it"
solver.run()
status = solver.modelStatusToString(solver.getModelStatus()).lower()
value = solver.getInfo().objective_function_value
"""
_CP_SAT_READS = """
from ortools.sat.python import cp_model
model = cp_model.CpModel()
assert model.proto.parse_text_format(open(path).read()), "CP-SAT cannot read it"
solver = cp_model.CpSolver()
solver.parameters.max_time_in_seconds = float(sys.argv[2])
status = solver.status_name(solver.solve(model)).lower()
value = solver.objective_value
"""
FILES = {".lp": _HIGHS, ".mps": _HIGHS, ".pbtxt": _CP_SAT_READS}
"""Endings of files, and what reads and solves them: HiGHS's own package, and CP-SAT."""
_READ = """
import json, sys, time
for path in json.load(sys.stdin):
    started = time.perf_counter()
    try:
{}
    except Exception as problem:
        status, value = f"{{type(problem).__name__}}: {{problem}}", None
    print(json.dumps([path, status, value, time.perf_counter() - started]), flush=True)
"""


def realistic() -> dict[str, Mapping[str, object]]:
    """Return numbers of a realistic size for each model that has some, by name; from a fixed seed."""
    draw = np.random.default_rng(1)
    counts = np.round(100 * draw.random(256) ** 3)
    degrees = np.sort(draw.integers(1, 12, 30))[::-1] + draw.laplace(0, 2, 30)
    records = draw.random((200, 60)) < 0.3
    shares = records @ draw.dirichlet(np.ones(60))
    rows = np.array([[pattern >> place & 1 for pattern in range(64)] for place in range(6)], dtype=float)
    held = rows @ draw.multinomial(1_000, draw.dirichlet(np.ones(64)))
    sums = _tree_sums(counts)
    cells = np.arange(256)
    parts = np.array([cells >> place & 15 for place in (0, 2, 4)])
    start = draw.dirichlet(np.ones(256))
    truth = draw.dirichlet(np.ones(256))
    drawn = draw.integers(-1, 2, (10, 40))
    return {
        "isotonic_regression": {"values": np.sort(counts) + draw.laplace(0, 10, 256)},
        "isotonic_median_regression": {"values": np.sort(counts) + draw.laplace(0, 10, 256)},
        "tree_consistency": {
            "bins": 256,
            "branching": 2,
            "values": sums + draw.laplace(0, 10, sums.size),
            "variances": np.full(sums.size, 200.0),
        },
        "whole_tree_consistency": {
            "bins": 8,
            "branching": 2,
            "values": _tree_sums(counts[:8] % 5) + draw.integers(-2, 3, 15),
            "variances": np.ones(15),
            "most": 30,
        },
        "graphical_relaxation": {"values": degrees},
        "graphical_sequence": {"values": degrees[:8]},
        "interval_partition": {"values": counts[:32], "intervals": 6},
        "minimax_polynomial": {"target": "or", "k": 32, "degree": 9},
        "coefficient_budget": {"target": "or", "k": 16, "weights": _weights(8), "error": 0.25},
        "approximation_plus_noise": {"target": "and", "k": 16, "weights": 1e-6 * _weights(17)},
        "decision_lists": {"length": 6, "changes": 3, "weights": 1e-3 * _weights(5)},
        "consistent_records": {
            "rows": rows,
            "answers": rows.prod(axis=0),
            "low": held - 20,
            "high": held + 20,
            "records": 1_000,
            "maximize": True,
        },
        "halfspace_debiasing": {"responses": draw.random((20, 6)), "noise": np.full(6, 0.05)},
        "projection": {"answers": records, "values": shares + draw.normal(0, 0.01, 200), "weights": np.ones(200)},
        "max_entropy": {
            "start": start,
            "parts": parts,
            "values": [np.bincount(one, weights=truth) + draw.normal(0, 0.005, 16) for one in parts],
            "slacks": 0.005,
            "weights": 10.0,
        },
        "reweighting": {"net": drawn, "answers": draw.random((40, 10)) < 0.4, "eta": 0.5, "draws": 40},
        "shrinkage": {
            "values": draw.normal(0, 1, 200) * np.where(draw.random(200) < 0.7, 3, 9),
            "noise": np.full(200, 9.0),
            "predicted": draw.exponential(20, 200),
            "scales": [0.0, 0.5, 2.0, 0.01, 0.1],
            "exponents": [0.0, 1.0, 1.0, 2.0, 2.0],
        },
        "answer_polynomial": {"target": [0.0] + [1.0] * 8, "deviations": 0.001 * 2.0 ** np.arange(4), "zeta": 2.0},
        "noise_allocation": {
            "sizes": [4, 3, 6, 2, 5, 8],
            "marginals": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5], [1, 3, 5]],
            "rho": 0.1,
            "size": 10_000,
        },
        "level_budgets": {
            "bins": 32,
            "ranges": [[[first, last] for first in range(32) for last in range(first + 1, 33)]],
            "amount": 0.1,
        },
        "hierarchy_budgets": {"levels": [[12], [6, 6], [3, 3, 3, 3], [1] * 12], "amount": 0.1},
        "strategy": {"workload": np.tril(np.ones((24, 24)))},
        "perturbed_response": {
            "sizes": [4] * 8,
            "queries": [
                [[one, int(draw.integers(4))], [other, int(draw.integers(4))]]
                for one in range(8)
                for other in range(one)
            ],
            "weights": draw.choice([-3, -2, -1, 1, 2, 3], 28),
            "rewards": [draw.normal(0, 1, 4).tolist() for _ in range(8)],
        },
        "small_database": {"answers": records[:12, :24].astype(np.int8), "targets": shares[:12], "records": 4},
    }


def _tree_sums(counts: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the counts of the nodes of a binary tree over the bins, level by level from the root."""
    levels = [counts]
    while levels[0].size > 1:
        levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels)


def _weights(size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([0.0, *(2.0**place for place in range(size - 1))])


def built(names: list[str], *, quick: bool) -> dict[tuple[str, str], Model]:
    """Return the models by name and size; the best response of an instance beside those of the catalogue."""
    found = {(name, EXAMPLE): build_model(name) for name in names if name in CATALOGUE}
    larger = {} if quick else realistic()
    found |= {(name, REALISTIC): build_model(name, larger[name]) for name in names if name in larger}
    sizes = {EXAMPLE: "worked-example"} | ({} if quick else {REALISTIC: "round-of-forty"})
    if "best_response" in names:
        known = instances()
        found |= {
            ("best_response", size): models.best_response(read_instance(known[name]).problem, "aggregated")
            for size, name in sizes.items()
        }
    return found


def by_solver(name: str, given: Mapping[tuple[str, str], Model]) -> Iterator[Result]:
    """Yield what a solver makes of each model; its library is loaded before the first is timed."""
    solver = CLOSED_FORM if name == CLOSED_FORM else get_solver(name)
    warm = False
    for (model, size), one in given.items():
        row = {"model": model, "size": size, "form": FORMS.get(name, "arrays"), "solver": name}
        try:
            if not warm and name != CLOSED_FORM:
                one.solve(solver, seconds=SECONDS)
                warm = True
            found = one.solve(solver, seconds=SECONDS)
        except DpoptError as error:
            yield {**row, "status": "refused", "why": str(error)}
            continue
        certificate = found.certificate
        proven = None if certificate is None else certificate.proven_gap
        yield {
            **row,
            "status": found.termination.value if found.limit is None else f"{found.limit.value} limit",
            "value": found.objective,
            "proven_gap": None if proven is None else float(proven),
            "violation": None if certificate is None else certificate.primal_violation,
            "reported_gap": None
            if certificate is None or certificate.reported_gap is None
            else float(certificate.reported_gap),
            "seconds": round(found.result.seconds, 4),
            **({"why": found.result.native_status[:200]} if found.objective is None else {}),
        }
    close = getattr(solver, "close", None)
    if close is not None:
        close()


def by_file(ending: str, given: Mapping[tuple[str, str], Model]) -> Iterator[Result]:
    """Yield what another program makes of the files of each model."""
    with tempfile.TemporaryDirectory() as folder:
        written: dict[str, tuple[Result, Model]] = {}
        for number, ((name, size), model) in enumerate(given.items()):
            path = Path(folder) / f"{number}{ending}"
            row = {"model": name, "size": size, "form": ending, "solver": f"reader of {ending}"}
            try:
                model.write(path)
            except DpoptError as error:
                yield {**row, "status": "refused", "why": str(error)}
            else:
                written[str(path)] = row, model
        code = _READ.format("\n".join(" " * 8 + line for line in FILES[ending].strip().splitlines()))
        done = subprocess.run(  # noqa: S603  # our own interpreter
            [sys.executable, "-W", "ignore", "-c", code, "", str(SECONDS)],
            input=json.dumps(list(written)),
            capture_output=True,
            text=True,
            check=True,
        )
        for line in (line for line in done.stdout.splitlines() if line.startswith("[")):  # libraries print, too
            path, status, value, seconds = json.loads(line)
            row, model = written[path]
            sign = -1.0 if ending == ".mps" and model.linear.maximize and value is not None else 1.0
            yield {**row, "status": status, "value": value and sign * value, "seconds": round(seconds, 4)}


def judged(rows: list[Result], given: Mapping[tuple[str, str], Model]) -> list[Result]:
    """Return the rows with their distance to the certified optimum, or to the best value where nothing proves one.

    A value counts if its point breaks no row by more than 1e-6. An optimum is certified by duals that leave a gap of at most
    that share, or else by the bound that a solver reports.
    """
    for (name, size), model in given.items():
        own = [row for row in rows if (row["model"], row["size"]) == (name, size) and row.get("value") is not None]
        better = max if model.linear.maximize else min
        sound = [row for row in own if row.get("violation") is not None and row["violation"] <= SAME]
        values = [row["value"] for row in sound]
        best = better(values) if values else None
        reached = [row for row, value in zip(sound, values, strict=True) if _same(value, better(values))]
        by = [word for word, key in PROOFS.items() if any(_certifies(row, row.get(key)) for row in reached)]
        for row in own:
            row["optimum"], row["certified"] = best, by[0] if by else "nothing"
            row["off"] = None if best is None else abs(row["value"] - best) / max(1.0, abs(best))
    return rows


def _certifies(row: Result, figure: float | None) -> bool:
    """Return whether a row's gap, or its reported bound, leaves no more than 1e-6."""
    return figure is not None and _same(row["value"] + figure, row["value"])


def _same(value: float, other: float) -> bool:
    return abs(value - other) <= SAME * max(1.0, abs(other))


def differing(rows: list[Result]) -> list[Result]:
    """Return the rows that call a value optimal which differs from the optimum by more than 1e-6 of it."""
    return [row for row in rows if row["status"] == "optimal" and (row.get("off") or 0) > SAME]


def markdown(report: Report) -> Iterator[str]:
    """Yield a table for each size: seconds by model and solver; then what differs, and what is refused and why."""
    rows = report["results"]
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    for size in dict.fromkeys(row["size"] for row in rows):
        yield from (f"Seconds, {size}s" if size == EXAMPLE else f"Seconds, {size} sizes", "")
        yield from table(["model | optimum | certified by", *solvers], _by_model(rows, size, solvers))
        yield ""
    different = (
        [row["model"], row["size"], row["solver"], f"{row['value']:.10g}", f"{row['optimum']:.10g}"]
        for row in differing(rows)
    )
    yield from table(["called optimal, and off by more than 1e-6 | size | solver | value | optimum"], different)
    yield ""
    reasons: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in rows:
        if row["status"] == "refused" and row["size"] == EXAMPLE:
            why = re.sub(rf"^(\w+: |\w+ (?=has ))?({row['solver']} )?", "", row["why"]).split("; ")[0]
            refusing, names = reasons.setdefault(why, ({}, {}))
            refusing[row["solver"]] = names[row["model"]] = None
    refused = ([", ".join(refusing), ", ".join(names), why] for why, (refusing, names) in reasons.items())
    yield from table(["solver | does not take | why"], refused)


def _by_model(rows: list[Result], size: str, solvers: list[str]) -> Iterator[list[str]]:
    for name in dict.fromkeys(row["model"] for row in rows if row["size"] == size):
        own = {row["solver"]: row for row in rows if (row["model"], row["size"]) == (name, size)}
        known = next((row for row in own.values() if row.get("optimum") is not None), {})
        optimum = [f"{known['optimum']:.8g}", known["certified"]] if known else ["–", "nothing"]
        yield [name, *optimum, *(_cell(own.get(solver)) for solver in solvers)]


def _cell(row: Result | None) -> str:
    if row is None or row["status"] == "refused":
        return "–"
    if row["value"] is None or row["status"] != "optimal":
        return f"{row['status']}" + ("" if row.get("off") is None else f", off by {row['off']:.1g}")
    return f"{row['seconds']:.2g}" + (f" (off by {row['off']:.1g})" if (row["off"] or 0) > SAME else "")


def main(arguments: list[str] | None = None) -> int:
    """Solve everything and print the tables; --quick, the examples by one solver of each library."""
    parser = parser_of("models_and_solvers")
    parser.add_argument("--models", nargs="+", default=["best_response", *CATALOGUE], help="names (all)")
    return carry_out(parser, arguments, {"results": _results}, markdown)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    given, rows = built(options.models, quick=options.quick), list[Result]()
    takes_programs = {Capability.LP, Capability.MIP, Capability.WHOLE, Capability.CONVEX_QP}
    solvers = [name for name in available_solvers() if takes_programs & get_solver(name).capabilities]
    if options.quick:
        solvers = list({FORMS.get(name, "arrays"): name for name in reversed(solvers)}.values())
    for name in (CLOSED_FORM, *solvers):
        print(name, file=sys.stderr, flush=True)
        rows += by_solver(name, given)
    for ending in FILES:
        rows += by_file(ending, given)
    yield from judged(rows, given)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m experiments.polynomial_release`: errors of queries that summaries answer, beside their predictions."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.summaries.release_summary import release_summary
from dpopt.algorithms.summaries.summary_plan import SummaryPlan, plan_summary
from dpopt.errors import DpoptError
from dpopt.queries.chosen_literals import ChosenLiterals
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.polynomial_release.tables import SEED, Bits, tables
from experiments.tables import MissingDataError

Result = dict[str, Any]
DELTA = 1e-9
PREDICATES = ("and", "or", "atleast:2")
CHUNK = 2_000


def main(arguments: list[str] | None = None) -> int:
    """Measure every table, width and predicate and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.polynomial_release")
    parser.add_argument("--runs", type=int, default=5, help="releases of each plan (5)")
    parser.add_argument(
        "--queries", type=int, default=100_000, help="random queries, the same in each run (100,000)"
    )
    parser.add_argument("--rho", type=float, default=0.1, help="budget in zCDP (.1)")
    parser.add_argument("--tables", nargs="+", help="some of the tables (all)")
    parser.add_argument(
        "--predicates", nargs="+", choices=PREDICATES, default=PREDICATES, help="kinds of queries (all)"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs, queries = (1, 50) if options.quick else (options.runs, options.queries)
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    try:
        for table in tables(options.tables, quick=options.quick):
            for width in table.widths:
                for predicate in options.predicates:
                    result = _measure(table, width, predicate, options.rho, runs, queries)
                    report["results"].append(result)
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


def _measure(table: Bits, width: int, predicate: str, rho: float, runs: int, queries: int) -> Result:
    literals = ChosenLiterals.of(table.schema, None, "positive")
    records = table.bits.shape[1]
    try:
        plan = plan_summary(
            literals,
            width,
            Budget(None, DELTA, rho, Accountant.ZCDP),
            size=records,
            predicate=predicate,
            relation=NeighbouringRelation.REPLACE_ONE,
        )
    except DpoptError as error:
        return {"table": table.name, "k": width, "predicate": predicate, "refused": str(error)}
    generator = np.random.default_rng(SEED + width)
    asked = np.sort(np.argsort(generator.random((queries, len(table.bits))), axis=1)[:, :width], axis=1)
    exact = exact_answers(table.bits, asked, predicate)
    worst, means, seconds = [], [], []
    for _ in range(runs):
        begun = time.perf_counter()
        summary = release_summary(table.dataset(), plan)
        seconds.append(time.perf_counter() - begun)
        found, bound = summary.conjunctions_of(asked, predicate)
        errors = np.abs(np.clip(found, 0.0, 1.0) - exact)
        worst.append(float(errors.max()))
        means.append(float(errors.mean()))
    return {
        "table": table.name,
        "records": records,
        "attributes": len(table.bits),
        "k": width,
        "predicate": predicate,
        "predicted": plan.predicted,
        "approximation": plan.approximation,
        "direct": _direct(plan),
        "degree": plan.sizes[-1],
        "counted": sum(literals.groups.conjunctions(size) for size in plan.sizes),
        "queries_of_k": comb(len(table.bits), width),
        "bound_of_one": bound,
        "worst": max(worst),
        "mean": float(np.mean(means)),
        "seconds": float(np.median(seconds)),
    }


def _direct(plan: SummaryPlan) -> float | None:
    return plan.to_json()["predicted_error_of_direct_counts"]  # type: ignore[no-any-return]


def exact_answers(bits: NDArray[np.uint8], asked: NDArray[np.int64], predicate: str) -> NDArray[np.float64]:
    """Return the share of records that satisfies each query, (q,), by plain sums over bit-packed columns."""
    needed = {"and": asked.shape[1], "or": 1}.get(predicate) or int(predicate.removeprefix("atleast:"))
    packed = np.packbits(bits, axis=1)
    records = bits.shape[1]
    found = np.empty(len(asked))
    for begin in range(0, len(asked), CHUNK):
        rows = asked[begin : begin + CHUNK]
        # at_least[r]: the records of which at least r of the literals so far are true
        at_least = [np.full((len(rows), packed.shape[1]), 255, dtype=np.uint8)]
        at_least += [np.zeros((len(rows), packed.shape[1]), dtype=np.uint8) for _ in range(needed)]
        for place in range(asked.shape[1]):
            column = packed[rows[:, place]]
            for r in range(needed, 0, -1):
                at_least[r] |= at_least[r - 1] & column
        found[begin : begin + CHUNK] = (
            np.bitwise_count(at_least[needed]).sum(axis=1, dtype=np.int64) / records
        )
    return found


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the table."""
    heads = (
        "table",
        "records",
        "columns",
        "k",
        "queries",
        "degree",
        "counted",
        "within (predicted)",
        "polynomial",
        "direct",
    )
    yield f"| {' | '.join((*heads, 'worst measured', 'mean measured', 'seconds'))} |"
    yield "|" + "---|" * (len(heads) + 3)
    for one in results:
        if "refused" in one:
            yield f"| {one['table']} | | | {one['k']} | {one['predicate']} | {one['refused']} | | | | | | | |"
            continue
        cells = [
            one["table"],
            f"{one['records']:,}",
            one["attributes"],
            one["k"],
            one["predicate"],
            one["degree"],
        ]
        cells += [f"{one['counted']:,} of {one['queries_of_k']:.3g}", f"{one['predicted']:.4f}"]
        cells += [f"{one['approximation']:.4f}", "" if one["direct"] is None else f"{one['direct']:.3g}"]
        cells += [f"{one['worst']:.4f}", f"{one['mean']:.4f}", f"{one['seconds']:.1f}"]
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())

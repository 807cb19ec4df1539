"""`python -m experiments.consistent_answers`: bounds and errors of consistent answers beside those of polynomials alone."""

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
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import ESTIMATES, SummaryAnswer
from dpopt.synopses.summaries.summary_plan import plan_summary
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.polynomial_release.exact import exact_answers
from experiments.polynomial_release.tables import SEED, Bits, tables
from experiments.tables import MissingDataError

Result = dict[str, Any]
DELTA, RHO, COLUMNS = 1e-9, 0.1, 60
PREDICATES = ("and", "or")


def main(arguments: list[str] | None = None) -> int:
    """Answer random queries of each width and predicate by both estimates and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.consistent_answers")
    parser.add_argument("--queries", type=int, default=500, help="random queries of each width and predicate (500)")
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the table into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    queries = 5 if options.quick else options.queries
    report: Result = {**describe_circumstances(), "runs": 1, "quick": options.quick, "results": []}
    try:
        table = next(iter(tables(None if options.quick else ["adult"], quick=options.quick)))
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    for width in table.widths:
        for predicate in PREDICATES:
            report["results"].append(_measure(most_even(table), width, predicate, queries))
            print(json.dumps(report["results"][-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = list(markdown(report["results"]))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def most_even(table: Bits) -> Bits:
    """Return the 60 columns whose shares are nearest to one half: of others next to nothing is asked."""
    share = table.bits.mean(axis=1)
    chosen = np.sort(np.argsort(-np.minimum(share, 1 - share), kind="stable")[:COLUMNS])
    return Bits(table.name, table.bits[chosen], table.widths)


def _measure(table: Bits, width: int, predicate: str, queries: int) -> Result:
    literals = ChosenLiterals.of(table.schema, None, "positive")
    plan = plan_summary(
        literals,
        width,
        Budget(None, DELTA, RHO, Accountant.ZCDP),
        size=table.bits.shape[1],
        predicate=predicate,
        relation=NeighbouringRelation.REPLACE_ONE,
    )
    summary = release_summary(table.dataset(), plan)
    generator = np.random.default_rng(SEED + width)
    asked = np.sort(np.argsort(generator.random((queries, len(table.bits))), axis=1)[:, :width], axis=1)
    exact = exact_answers(table.bits, asked, predicate)
    found: Result = {"table": table.name, "k": width, "predicate": predicate, "sizes": list(plan.sizes)}
    for estimate in ESTIMATES:
        begun = time.perf_counter()
        answers = summary.answers(asked, predicate, estimate=estimate)
        seconds = (time.perf_counter() - begun) / queries
        found[estimate] = {**_scores(answers, exact), "seconds": seconds}
    return found


def _scores(answers: list[SummaryAnswer], exact: NDArray[np.float64]) -> Result:
    values, bounds, low, high = (
        np.array([getattr(one, name) for one in answers]) for name in ("value", "bound", "low", "high")
    )
    errors = np.abs(values - exact)
    return {
        "bound": float(bounds.mean()),
        "half_width": float((high - low).mean() / 2),
        "mean_error": float(errors.mean()),
        "largest_error": float(errors.max()),
        "held": int(((low <= exact) & (exact <= high)).sum()),
        "queries": len(answers),
        "contradictions": sum(bool(one.note) for one in answers),
    }


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the table."""
    heads = ("k", "queries", "mean bound: polynomial", "consistent", "half of the interval: polynomial", "consistent",
             "mean error: polynomial", "consistent", "largest error: polynomial", "consistent",
             "intervals that hold the truth", "seconds a query")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for one in results:
        plain, better = one["polynomial"], one["consistent"]
        cells = [str(one["k"]), one["predicate"]]
        for name in ("bound", "half_width", "mean_error", "largest_error"):
            cells += [f"{plain[name]:.4f}", f"{better[name]:.4f}"]
        cells += [f"{better['held']} of {better['queries']}", f"{better['seconds']:.2f}"]
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())

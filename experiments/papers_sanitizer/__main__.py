"""`python -m experiments.papers_sanitizer`: errors of the paper's own release, beside their predictions and a summary's."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.papers_sanitizer.papers_release import RELEASES, SEED, SUMMARY, Result, papers_release
from experiments.tables import MissingDataError, data_folder

CASES = ((12, 4), (20, 6))
"""Columns and conditions of a query."""


def main(arguments: list[str] | None = None) -> int:
    """Measure every release and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.papers_sanitizer")
    parser.add_argument("--runs", type=int, default=5, help="releases of each plan (5)")
    parser.add_argument("--queries", type=int, default=2000, help="random queries, the same in each run (2,000)")
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the table into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs, queries = (1, 50) if options.quick else (options.runs, options.queries)
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    if options.json is not None and options.json.exists():  # figures of ways that dpopt had once stay
        before = json.loads(options.json.read_text(encoding="utf-8"))["results"]
        report["results"] = [one for one in before if one["release"] not in {*RELEASES, SUMMARY}]
    try:
        for columns, width in ((6, 3),) if options.quick else CASES:
            bits = made_up(columns, 500) if options.quick else adult_bits(columns)
            name = "made up" if options.quick else "adult"
            for result in papers_release(bits, width, runs=runs, queries=queries, name=name):
                report["results"].append(result)
                print(json.dumps(result), flush=True)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = list(markdown(report["results"]))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def made_up(columns: int, records: int) -> NDArray[np.uint8]:
    """Return bits that depend on a hidden group of the record, (d, n)."""
    generator = np.random.default_rng(SEED)
    shares = generator.beta(2.0, 2.0, (4, columns))
    group = generator.integers(4, size=records)
    return (generator.random((columns, records)) < shares[group].T).astype(np.uint8)


def adult_bits(columns: int) -> NDArray[np.uint8]:
    """Return those bits of Adult whose share of ones is nearest to a half, (d, n)."""
    path = data_folder() / "adult" / "adult-dualquery-15attr-235bits.npz"
    if not path.exists():
        raise MissingDataError(f"{path} is not there; set DPOPT_DATA to the folder of the data sets")
    with np.load(path, allow_pickle=False) as stored:
        codes = stored["codes"] if "codes" in stored else stored[stored.files[0]]
    every = [codes[:, place] == code for place in range(codes.shape[1]) for code in np.unique(codes[:, place])]
    bits = np.array(every, dtype=np.uint8)
    nearest = np.argsort(np.abs(bits.mean(axis=1) - 0.5), kind="stable")[:columns]
    return np.ascontiguousarray(bits[np.sort(nearest)])


def markdown(results: list[Result]) -> Iterator[str]:
    """Yield the table."""
    heads = ["columns", "k", "budget", "queries", "release", "degree", "coefficients", "the theorem"]
    heads += ["within (predicted)", "worst measured", "mean measured", "of the budget"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for one in results:
        theorem = "" if one["theorem"] is None else f"{one['theorem']:.3g}"
        cells = [one["attributes"], one["k"], one["budget"], one["queries"], one["release"], one["degree"]]
        cells += [f"{one['coefficients']:,}", theorem, f"{one['predicted']:.4f}", f"{one['worst']:.4f}"]
        cells += [f"{one['mean']:.4f}", f"{one['spent']:.0%}"]
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())

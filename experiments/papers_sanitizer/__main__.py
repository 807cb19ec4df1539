"""`python -m experiments.papers_sanitizer`: errors of the paper's own release, beside their predictions and a summary's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, on_file, parser_of
from experiments.papers_sanitizer.papers_release import RELEASES, SEED, SUMMARY, papers_release
from experiments.tables import data_file

CASES = ((12, 4), (20, 6))
"""Columns and conditions of a query."""


def main(arguments: list[str] | None = None) -> int:
    """Measure every release and print the table; figures of ways that dpopt had once stay."""
    parser = parser_of("papers_sanitizer", runs=5)
    parser.add_argument("--queries", type=int, default=2000, help="random queries, the same in each run (2,000)")
    return carry_out(parser, arguments, {"results": _results}, markdown)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    yield from [one for one in on_file(options, "results") if one["release"] not in {*RELEASES, SUMMARY}]
    queries = 50 if options.quick else options.queries
    for columns, width in ((6, 3),) if options.quick else CASES:
        bits = made_up(columns, 500) if options.quick else adult_bits(columns)
        name = "made up" if options.quick else "adult"
        yield from papers_release(bits, width, runs=options.runs, queries=queries, name=name)


def made_up(columns: int, records: int) -> NDArray[np.uint8]:
    """Return bits that depend on a hidden group of the record, (d, n)."""
    generator = np.random.default_rng(SEED)
    shares = generator.beta(2.0, 2.0, (4, columns))
    group = generator.integers(4, size=records)
    return (generator.random((columns, records)) < shares[group].T).astype(np.uint8)


def adult_bits(columns: int) -> NDArray[np.uint8]:
    """Return those bits of Adult whose share of ones is nearest to a half, (d, n)."""
    with np.load(data_file("adult/adult-dualquery-15attr-235bits.npz"), allow_pickle=False) as stored:
        codes = stored["codes"] if "codes" in stored else stored[stored.files[0]]
    every = [codes[:, place] == code for place in range(codes.shape[1]) for code in np.unique(codes[:, place])]
    bits = np.array(every, dtype=np.uint8)
    nearest = np.argsort(np.abs(bits.mean(axis=1) - 0.5), kind="stable")[:columns]
    return np.ascontiguousarray(bits[np.sort(nearest)])


def markdown(report: Report) -> Iterator[str]:
    """Yield the table."""
    titles = ["columns | k | budget | queries | release | degree | coefficients | the theorem"]
    titles += ["within (predicted) | worst measured | mean measured | of the budget"]
    yield from table(titles, map(_cells, report["results"]))


def _cells(one: Result) -> list[object]:
    theorem = "" if one["theorem"] is None else f"{one['theorem']:.3g}"
    return [
        *(one[name] for name in ("attributes", "k", "budget", "queries", "release", "degree")),
        *(f"{one['coefficients']:,}", theorem),
        *(f"{one[name]:.4f}" for name in ("predicted", "worst", "mean")),
        f"{one['spent']:.0%}",
    ]


if __name__ == "__main__":
    sys.exit(main())

"""`python -m experiments.small_databases`: how long exact draws take, and how accurate small databases are."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.models.records.small_database import database_of, largest_difference, small_database
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.programs.results import SolveLimits
from dpopt.solvers.registry import get_solver
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.small_databases.accuracy import accuracies
from experiments.small_databases.families import SIZE, Family, families
from experiments.tables import MissingDataError

Report = dict[str, Any]
FURTHER = 5


def main(arguments: list[str] | None = None) -> int:
    """Measure draws and errors, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.small_databases")
    parser.add_argument("--runs", type=int, default=2, help="draws of each family (2)")
    parser.add_argument(
        "--quick", action="store_true", help="tiny families and a made-up table: shows that it still runs"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    options = parser.parse_args(arguments)
    runs = 1 if options.quick else options.runs
    report: Report = {**describe_circumstances(), "runs": runs, "quick": options.quick}
    try:
        report["draws"] = [_told(_draws(family, runs)) for family in families(quick=options.quick)]
        report["accuracy"] = [_told(one) for one in accuracies(1, quick=options.quick)]
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = list(_markdown(report))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _told(result: Report) -> Report:
    print(json.dumps(result), flush=True)
    return result


def _draws(family: Family, runs: int) -> Report:
    """Draw some times; the last sampler draws on, to see how likely the likeliest database is at most."""
    targets = family.records * (family.answers.astype(np.int64) @ family.counts())
    multisets = Multisets(family.answers, family.records)
    distribution = NetDistribution(Decimal(str(family.strength)) / SIZE, 2 * family.records, family.records * SIZE)
    seconds, rounds, errors = [], [], []
    for run in range(runs):
        start = time.process_time()
        sampler = BoxSampler(multisets, targets, size=SIZE, distribution=distribution, source=SeededWords(run))
        drawn = sampler.draw()
        seconds.append(time.process_time() - start)
        rounds.append(sampler.rounds)
        errors.append(largest_difference(family.answers, targets / (family.records * SIZE), drawn) / family.records)
    exact = targets / (family.records * SIZE)
    limits = SolveLimits(seconds=60.0)
    found = get_solver("cbc").solve(small_database(family.answers, exact, family.records).linear, limits)
    nearest = largest_difference(family.answers, exact, database_of(np.asarray(found.require_solution())))
    return {
        "family": family.name,
        "elements": multisets.elements,
        "queries": len(family.answers),
        "records": family.records,
        "strength": family.strength,
        "databases": multisets.number,
        "seconds": seconds,
        "rounds": rounds,
        "likeliest_at_most": _likeliest(sampler),
        "largest_error": float(np.mean(errors)),
        "nearest_error": nearest / family.records,
    }


def _likeliest(sampler: BoxSampler) -> float:
    """Return about the most that any database's probability can be: the best bound on a weight over the sum of weights.

    A round ends with probability (sum of weights) / (sum of bounds): so further draws estimate the sum of weights, with the
    sum of bounds after the last of them, which is the least, on the safe side.
    """
    before = sampler.rounds
    for _ in range(FURTHER):
        sampler.draw()
    return min(1.0, (sampler.rounds - before) / FURTHER * (sampler.top / sampler.total))


def _markdown(report: Report) -> Iterator[str]:
    yield "| family | A | k | m | epsilon n | databases | seconds | rounds | likeliest, at most | largest error | nearest |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for one in report["draws"]:
        yield (
            f"| {one['family']} | {one['elements']} | {one['queries']} | {one['records']} | {one['strength']:g} | "
            f"{comb(one['elements'] + one['records'] - 1, one['records']):.1e} | "
            f"{min(one['seconds']):.2g} to {max(one['seconds']):.2g} | {min(one['rounds']):,} to "
            f"{max(one['rounds']):,} | {one['likeliest_at_most']:.1e} | {one['largest_error']:.3f} | "
            f"{one['nearest_error']:.3f} |"
        )
    yield ""
    yield "| table | epsilon | algorithm | m | proven | largest error | mean error | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in report["accuracy"]:
        proven = "–" if one["proven"] is None else f"{one['proven']:.4f}"
        records = "–" if one["records"] is None else one["records"]
        yield (
            f"| {one['table']} | {one['epsilon']:g} | {one['algorithm']} | {records} | {proven} | "
            f"{one['max_error']:.4f} | {one['mean_error']:.5f} | {one['seconds']:.2g} |"
        )


if __name__ == "__main__":
    sys.exit(main())

"""`python -m experiments.small_databases`: how long exact draws take, and how accurate small databases are."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from math import comb

import numpy as np

from dpopt.models.records.small_database import database_of, largest_difference, small_database
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.programs.results import SolveLimits
from dpopt.solvers.registry import get_solver
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.small_databases.accuracy import accuracies
from experiments.small_databases.families import SIZE, Family, families

FURTHER = 5


def main(arguments: list[str] | None = None) -> int:
    """Measure draws and errors, and print the tables."""
    return carry_out(
        parser_of("small_databases", runs=2), arguments, {"draws": _draws, "accuracy": _accuracy}, markdown
    )


def _draws(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for family in families(quick=options.quick):
        yield _drawn(family, options.runs)


def _accuracy(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    return accuracies(1, quick=options.quick)


def _drawn(family: Family, runs: int) -> Result:
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


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables of draws and of errors."""
    titles = ["family | A | k | m | epsilon n | databases | seconds | rounds | likeliest, at most"]
    rows: Iterator[list[object]] = (
        [
            *(one["family"], one["elements"], one["queries"], one["records"], f"{one['strength']:g}"),
            f"{comb(one['elements'] + one['records'] - 1, one['records']):.1e}",
            f"{min(one['seconds']):.2g} to {max(one['seconds']):.2g}",
            f"{min(one['rounds']):,} to {max(one['rounds']):,}",
            *(f"{one['likeliest_at_most']:.1e}", f"{one['largest_error']:.3f}", f"{one['nearest_error']:.3f}"),
        ]
        for one in report["draws"]
    )
    yield from table([*titles, "largest error", "nearest"], rows)
    yield ""
    titles = ["table | epsilon | algorithm | m | proven | largest error | mean error | seconds"]
    rows = (
        [
            *(one["table"], f"{one['epsilon']:g}", one["algorithm"]),
            "–" if one["records"] is None else one["records"],
            "–" if one["proven"] is None else f"{one['proven']:.4f}",
            *(f"{one['max_error']:.4f}", f"{one['mean_error']:.5f}", f"{one['seconds']:.2g}"),
        ]
        for one in report["accuracy"]
    )
    yield from table(titles, rows)


if __name__ == "__main__":
    sys.exit(main())

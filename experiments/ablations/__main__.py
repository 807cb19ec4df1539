"""`python -m experiments.ablations`: errors of default releases without one part of the estimate at a time."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import dpopt
from dpopt.algorithms.measured import known, stages
from dpopt.inference import coarse_tables
from dpopt.inference.interactions import interaction_scales
from dpopt.private.mechanisms.noise import OpendpNoise
from experiments import documents
from experiments.error_falls.measuring import group_means, pair_shares
from experiments.error_falls.tables import TABLES, TINY, load
from experiments.experiment import Report, Result, carry_out, in_processes, over_tables
from experiments.one_estimator.measuring import errors
from experiments.one_estimator.methods import Released
from experiments.one_estimator.tables import Table, asked

EPSILONS = (0.1, 1.0)
USUAL = ("compas", "titanic", "car", "factorial 0", "independent 0", "trend 0", "classes 0")
NONE = "nothing"
FIGURES = ("one column", "two columns", "three columns", "largest of two", "group means")
MOST_PAIRS = 200
UNSHRUNKEN = 1e6
"""A scale that shrinks no cell."""


def _without_shrinkage(marginals: Any, *others: Any) -> tuple[Any, Any]:
    return np.full(len(marginals), UNSHRUNKEN), interaction_scales(marginals, *others)[1]


def _without_limits(*cells_and_distances: Any) -> Any:
    return interaction_scales(*cells_and_distances[:-1])


def _by_single_columns(*pairs_and_counts: Any, **_: Any) -> Any:
    return pairs_and_counts[4]  # what single columns predict


def _kept_loosely(one: known.Known) -> Any:
    whole = _KEPT(one)
    return replace(whole, reach=np.ones_like(whole.reach))


def _always(*_: Any) -> bool:
    return True


def _part(value: float) -> Any:
    return lambda one, *_: np.full(int(one.sets.widths().max()), value)


_KEPT = known.Known.kept
_NOT_MEASURED = (stages, "MOST_COARSE", 0.0)
WITHOUT: dict[str, tuple[tuple[Any, str, Any], ...]] = {
    NONE: (),
    "measured coarse tables (A)": (_NOT_MEASURED,),
    "all coarse tables (A and B)": (_NOT_MEASURED, (known, "coarse_predictions", _by_single_columns)),
    "shrinkage (B)": ((known, "interaction_scales", _without_shrinkage),),
    "limits by distances (B)": tuple(
        (module, "interaction_scales", _without_limits) for module in (known, coarse_tables)
    ),
    "near-independent records in the fit (B)": ((known.Known, "best_parts", _part(0.0)),),
    "shrunken counts in the fit (B)": ((known.Known, "best_parts", _part(1.0)),),
    "bounds on one-way shares (C)": ((known.Known, "kept", _kept_loosely),),
    "distances (D)": ((stages, "DISTANCE_SHARE", 1e-3), (known, "says_something", _always)),
    "the test of small distances (D)": ((known, "says_something", _always),),
}
"""What is left out, and what stands in its place: module or class, name, value."""


def main(arguments: list[str] | None = None) -> int:
    """Measure the settings that are not on file."""
    parser = over_tables("ablations", (*TABLES, *TINY), EPSILONS, runs=6)
    parser.set_defaults(tables=USUAL)
    return carry_out(parser, arguments, {"rows": _rows}, markdown, continues=True)


def _rows(options: argparse.Namespace, found: list[Result]) -> Iterator[Result]:
    tables, epsilons = (("tiny trend",), (10.0,)) if options.quick else (options.tables, options.epsilon)
    held = {(row["without"], row["table"], row["epsilon"]) for row in found}
    settings = [(*one, options.runs) for one in itertools.product(WITHOUT, tables, epsilons) if one not in held]
    yield from in_processes(options, measured, settings)


def measured(setting: tuple[str, str, float, int]) -> Result:
    """Return the mean errors of releases without one part."""
    without, name, epsilon, runs = setting
    table = load(name)
    found = []
    with ExitStack() as changes:
        for place, attribute, value in WITHOUT[without]:
            changes.enter_context(mock.patch.object(place, attribute, value))
        for run in range(runs):
            with mock.patch.object(OpendpNoise, "discrete_gaussian", _common_noise(run)):
                found.append(_errors(table, epsilon))
    row: Result = {"without": without, "table": name, "epsilon": epsilon, "runs": runs}
    return row | {figure: float(f"{mean:.5g}") for figure, mean in zip(FIGURES, np.mean(found, axis=0), strict=True)}


def _common_noise(run: int) -> Any:
    """Return normal noise, rounded, that is the same in every release of this number as long as the plans agree."""
    rng = np.random.default_rng(run)

    def drawn(_: OpendpNoise, counts: Any, scale: float) -> Any:
        return counts + np.rint(scale * rng.standard_normal(counts.size)).astype(np.int64)

    return drawn


def _errors(table: Table, epsilon: float) -> list[float]:
    import pandas as pd

    frame, size = pd.DataFrame(table.codes, columns=list(table.names)), len(table.codes)
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": min(1e-6, table.delta), "n0": size, "predict": False}
    records = dpopt.release(frame, table.schema, **terms).records
    held, wide = np.asarray(records.held), np.flatnonzero(table.sizes > 1).tolist()
    rows, pairs = Released(held, records.weights), list(itertools.combinations(wide, 2))
    if len(pairs) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in chosen.tolist()]
    of_two, means = errors(table, pairs, rows), []
    for pair in map(list, pairs):
        real, made = (
            pair_shares(codes[:, pair], weights, table.sizes[pair])
            for codes, weights in ((table.codes, None), (held, records.weights))
        )
        means += [group_means(real, made), group_means(real.T, made.T)]
    one, three = (
        errors(table, marginals, rows)["tv"] for marginals in ([(at,) for at in wide], asked(table, "64of3", 0))
    )
    return [one, of_two["tv"], three, of_two["largest"], float(np.mean(means))]


def markdown(report: Report) -> Iterator[str]:
    """Yield errors over those of whole releases: geometric means of tables, and of each table those of two columns."""
    found = {(row["without"], row["table"], row["epsilon"]): row for row in report["rows"]}
    tables = list(dict.fromkeys(name for _, name, _ in found))
    overall, each = [], []
    for epsilon, without in itertools.product(sorted({key[2] for key in found}), WITHOUT):
        ratios = np.array([_ratios(found[NONE, name, epsilon], found[without, name, epsilon]) for name in tables])
        means = np.exp(np.log(ratios).mean(axis=0))
        overall.append([f"{epsilon:g}", without, *(f"{mean:.3f}" for mean in means)])
        each.append([f"{epsilon:g}", without, *(f"{ratio:.2f}" for ratio in ratios[:, 1])])
    yield from documents.captioned("Geometric means over tables:", ["epsilon", "without", *FIGURES], overall)
    yield from documents.captioned("Two columns of each table:", ["epsilon", "without", *tables], each)
    whole = [
        [name, f"{epsilon:g}", *(f"{row[figure]:.4g}" for figure in FIGURES)]
        for (without, name, epsilon), row in found.items()
        if without == NONE
    ]
    yield from documents.captioned("Errors of whole releases:", ["table", "epsilon", *FIGURES], whole)


def _ratios(whole: Result, part: Result) -> list[float]:
    return [part[figure] / whole[figure] for figure in FIGURES]


if __name__ == "__main__":
    sys.exit(main())

"""One setting: the errors of releases without one part of the estimate."""

from __future__ import annotations

import itertools
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
from experiments.error_falls.measuring import group_means, pair_shares
from experiments.error_falls.tables import load
from experiments.experiment import Result
from experiments.one_estimator.measuring import errors
from experiments.one_estimator.methods import Released
from experiments.one_estimator.tables import Table, asked

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


def _no_trends(_: Any, predicted: Any) -> Any:
    return predicted


def _kept_loosely(one: known.Known) -> Any:
    whole = _KEPT(one)
    return replace(whole, reach=np.ones_like(whole.reach))


def _always(*_: Any) -> bool:
    return True


def _part(value: float) -> Any:
    return lambda one, *_: np.full(int(one.sets.widths().max()), value)


def _all_of(_: known.Known, apart: Any) -> Any:
    return apart


_KEPT = known.Known.kept
_NOT_MEASURED = (stages, "MOST_COARSE", 0.0)
WITHOUT: dict[str, tuple[tuple[Any, str, Any], ...]] = {
    NONE: (),
    "measured coarse tables (A)": (_NOT_MEASURED,),
    "all coarse tables (A and B)": (_NOT_MEASURED, (known, "coarse_predictions", _by_single_columns)),
    "trends (B)": ((coarse_tables, "_with_trends", _no_trends),),
    "shrinkage (B)": ((known, "interaction_scales", _without_shrinkage),),
    "limits by distances (B)": tuple(
        (module, "interaction_scales", _without_limits) for module in (known, coarse_tables)
    ),
    "near-independent records in the fit (B)": ((known.Known, "best_parts", _part(0.0)),),
    "limits of what records say (B)": ((known.Known, "_within_limits", _all_of),),
    "shrunken counts in the fit (B)": ((known.Known, "best_parts", _part(1.0)),),
    "margins alike (B)": ((known.Known, "_with_margins", _all_of),),
    "bounds on one-way shares (C)": ((known.Known, "kept", _kept_loosely),),
    "distances (D)": ((stages, "DISTANCE_SHARE", 1e-3), (known, "says_something", _always)),
    "the test of small distances (D)": ((known, "says_something", _always),),
}
"""What is left out, and what stands in its place: module or class, name, value."""


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

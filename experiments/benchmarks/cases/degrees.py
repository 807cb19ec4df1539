"""Degree sequences of public graphs: whole nondecreasing numbers, and the nearest degrees that a graph has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.sorted.degree_sequences import NearestGraphical, is_graphical, nearest_graphical
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.sorted.monotone_posterior import monotone_posterior
from dpopt.private.mechanisms.noise import OpendpNoise
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread
from experiments.tables import data_file

FILE = "hist/snap-graphs.npz"
EPSILONS = (1.0, 0.01)
_Found = TypeVar("_Found")


@case("How long do the nearest sorted degrees take on public graphs, how far are they off, and what is proven of them?")
def degrees(setting: Setting) -> Result:
    """Measure whole isotonic regression, the nearest graphical sequence of it, and the graph that shows it.

    Noise as `dpopt degrees` draws it: discrete Laplace of scale 2 / epsilon on sorted degrees, one edge more or less. Beside
    them the estimate of a release, the posterior mean. "Breach" is by how much the real sequence misses the conditions that
    make it optimal (IR-7 of models/isotonic_regression), relative to the sum of the absolute values.
    """
    rows, bars = [], []
    for name, truth in _graphs(quick=setting.quick):
        for epsilon in EPSILONS:
            noisy = OpendpNoise().discrete_laplace(truth, 2 / epsilon)
            row = _measured(noisy, truth, 2 / epsilon, setting)
            rows.append({"graph": name, "nodes": truth.size, "epsilon": epsilon, **row})
            what = f"{name}, epsilon {epsilon:g}"
            bars += [
                Bar(f"{what}: graphical, seconds, median", row["graphical, seconds"]["median"], 1),
                Bar(f"{what}: gap over squared distance", row["gap over squared distance"], 1e-6),
                Bar(f"{what}: breach of optimality", row["breach"], 1e-9),
            ]
    return Result(rows, bars)


def _measured(drawn: NDArray[np.int64], truth: NDArray[np.int64], scale: float, setting: Setting) -> dict[str, Any]:
    noisy, largest = drawn.astype(np.float64), truth.size - 1
    posterior_seconds, posterior = _timed(
        lambda: monotone_posterior(drawn, "discrete Laplace", scale, lower=0, upper=largest), setting
    )
    whole_seconds, whole = _timed(lambda: np.clip(np.floor(isotonic(noisy) + 0.5), 0, largest), setting)
    seconds, found = _timed(lambda: nearest_graphical(noisy), setting)
    graph_seconds, edges = _timed(found.edges, setting)
    if not is_graphical(found.degrees) or not _has_degrees(found, edges):
        raise RuntimeError("the degrees found are not those of the graph that was built")
    return {
        "noise, squared error": float(((noisy - truth) ** 2).sum()),
        "posterior, seconds": posterior_seconds,
        "posterior, squared error": float(((np.floor(posterior + 0.5) - truth) ** 2).sum()),
        "isotonic, seconds": whole_seconds,
        "isotonic, squared error": float(((whole - truth) ** 2).sum()),
        "breach": _breach(noisy, isotonic(noisy)),
        "graphical, seconds": seconds,
        "graphical, squared error": float(((found.degrees - truth) ** 2).sum()),
        "gap over squared distance": float(found.gap / max(found.squared_distance, 1.0)),
        "edges built": len(edges),
        "graph, seconds": graph_seconds,
    }


def _timed(action: Callable[[], _Found], setting: Setting) -> tuple[dict[str, float], _Found]:
    seconds = []
    for _ in range(setting.runs + setting.warm_up):
        started = time.perf_counter()
        found = action()
        seconds.append(time.perf_counter() - started)
    return spread(seconds[1 if setting.warm_up else 0 :]), found


def _has_degrees(found: NearestGraphical, edges: NDArray[np.int64]) -> bool:
    counted = np.bincount(edges.reshape(-1), minlength=found.degrees.size)
    pairs = np.sort(edges, axis=1)
    simple = np.unique(pairs, axis=0).shape == pairs.shape and bool((pairs[:, 0] < pairs[:, 1]).all())
    return simple and np.array_equal(np.sort(counted), np.sort(found.degrees))


def _breach(values: NDArray[np.float64], sequence: NDArray[np.float64]) -> float:
    """Return by how much IR-7 is missed: falls, multipliers below 0, and those above 0 where the sequence rises."""
    multipliers, rises = np.cumsum(values - sequence), np.diff(sequence)
    missed = [-float(rises.min()), -float(multipliers.min()), abs(float(multipliers[-1]))]
    slack = float(np.where(rises > 1e-9, np.abs(multipliers[:-1]), 0.0).max())
    return max(0.0, *missed, slack) / float(np.abs(values).sum())


def _graphs(*, quick: bool) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the names of graphs and their degrees, from the smallest to the largest."""
    if quick:
        pairs = np.triu_indices(40, 1)
        kept = np.random.default_rng(3).random(pairs[0].size) < 0.2
        yield "made up", np.sort(np.bincount(np.concatenate([side[kept] for side in pairs]), minlength=40))
        return
    with np.load(data_file(FILE), allow_pickle=False) as stored:
        for name in ("facebook", "ca_hepph", "brightkite"):
            yield name, np.sort(stored[f"{name}_degrees"].astype(np.int64))

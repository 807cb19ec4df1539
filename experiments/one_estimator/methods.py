"""What is compared: every method makes records of a table for some marginals and a budget.

A method that is not part of the repository is plugged in as ``NAME=FILE``: the Python file defines
``method(codes, sizes, workload, epsilon, delta, seed) -> (records, weights)``; weights may be None.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.registry import OPTIONS
from experiments.labels import MEASURED, options_of
from experiments.one_estimator.tables import Marginal, Table, pairs_of
from experiments.peers.run import PeerTable, run_peer

TODAY = ("projection", "adaptive")
INDEPENDENCE, PAIRS = "independence", "pairs"
OWN = (INDEPENDENCE, PAIRS, *TODAY)
PEERS = ("dpmm aim", "dpmm mst", "opendp aim", "opendp mst", "smartnoise aim", "smartnoise mst")
CONTAINED = (*OWN, *PEERS)
"""One estimator has to be as good as the best of these."""
INDEPENDENT_RECORDS = 100_000
"""As many as a release of `projection` has at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """Records, their weights if they have some, the errors that dpopt predicted and then found, and seconds of a peer's own."""

    records: NDArray[np.integer]
    weights: NDArray[np.float64] | None = None
    predicted: dict[str, float] | None = None
    processor_seconds: float | None = None
    found: dict[str, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given; `predict` asks dpopt for its prediction too."""

    table: Table
    marginals: Sequence[Marginal]
    epsilon: float
    seed: int
    predict: bool = False


Method = Callable[[Task], Released]


def method(name: str, *, environments: Path | None = None, limit: float = 300.0) -> Method:
    """Return a method by its name: one of `CONTAINED`, an algorithm of dpopt, or ``NAME=FILE``."""
    if "=" in name:
        return _plugged(Path(name.split("=", 1)[1]))
    if name in PEERS:
        if environments is None:
            raise ValueError(f"{name} needs --environments, a folder with one environment per peer")
        peer, _, own = name.partition(" ")
        return partial(_peer, peer, own, environments=environments, limit=limit)
    if name not in {*OWN, *MEASURED, *OPTIONS}:
        raise ValueError(f"no method {name!r}; there are {', '.join([*CONTAINED, *OPTIONS])}, and NAME=FILE")
    return {INDEPENDENCE: _independence, PAIRS: _pairs}.get(name, partial(_synthesize, name))


def _terms(task: Task) -> dict[str, Any]:
    size = len(task.table.codes)
    return {
        "epsilon": task.epsilon,
        "delta": task.table.delta,
        "neighbours": "add-remove",
        "n0": size,
        "predict": task.predict,
    }


def _frame(table: Table) -> Any:
    import pandas as pd

    return pd.DataFrame(table.codes, columns=list(table.names))


def _synthesize(algorithm: str, task: Task) -> Released:
    """Return what a default release of dpopt gives."""
    table = task.table
    release = dpopt.release(
        _frame(table),
        table.schema,
        table.workload(task.marginals),
        **options_of(algorithm),
        seed=task.seed,
        **_terms(task),
    )
    accuracy = release.statement["accuracy"]
    predicted, expected = (_stated(accuracy.get(name)) for name in ("predicted", "expected"))
    records = release.records
    return Released(np.asarray(records.held), records.weights, predicted, found=expected)


def _stated(errors: dict[str, Any] | None) -> dict[str, float] | None:
    """Return the mean and the largest error that a release states, and the interval of the mean one if there is any."""
    if errors is None:
        return None
    names = {"mean_error": "mean", "max_error": "largest", "low": "low", "high": "high"}
    return {name: errors[key] for key, name in names.items() if errors.get(key) is not None}


def _pairs(task: Task) -> Released:
    """Return `projection`, asked for the pairs of columns in the marginals alone."""
    asked = Task(task.table, pairs_of(task.marginals), task.epsilon, task.seed)
    return _synthesize("projection", asked)


def _independence(task: Task) -> Released:
    """Return records of independent columns: the whole budget goes to one-way marginals, measured by dpopt's `noise`.

    Each column has the nearest shares that are nonnegative and sum to 1, as exactly as 100,000 records can, in random order.
    """
    table = task.table
    release = dpopt.release(
        _frame(table), table.schema, "marginals:1", algorithm="noise", **{**_terms(task), "predict": False}
    )
    rng = np.random.default_rng(task.seed)
    columns = np.split(release.answers(), np.cumsum(table.sizes)[:-1])
    marks = (np.arange(INDEPENDENT_RECORDS) + 0.5) / INDEPENDENT_RECORDS
    records = np.empty((INDEPENDENT_RECORDS, len(columns)), dtype=np.int32)
    for place, noisy in enumerate(columns):
        upto = np.cumsum(_nearest_shares(noisy))
        records[:, place] = rng.permutation(np.minimum(np.searchsorted(upto, marks), noisy.size - 1))
    return Released(records)


def _nearest_shares(noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean projection on nonnegative shares that sum to 1."""
    falling = np.sort(noisy)[::-1]
    lowered = (np.cumsum(falling) - 1.0) / np.arange(1, noisy.size + 1)
    level = lowered[np.nonzero(falling > lowered)[0][-1]]
    shares: NDArray[np.float64] = np.maximum(noisy - level, 0.0)
    return shares


def _peer(peer: str, name: str, task: Task, *, environments: Path, limit: float) -> Released:
    """Return what a peer releases, in its own environment; AIM is told that all marginals of this order are asked for."""
    table = task.table
    made = run_peer(
        environments / peer,
        peer,
        name,
        PeerTable(table.codes, tuple(table.sizes.tolist()), table.names),
        epsilon=task.epsilon,
        delta=table.delta,
        order=len(task.marginals[0]),
        limit=limit,
    )
    return Released(made.records, processor_seconds=made.processor_seconds)


def _plugged(file: Path) -> Method:
    specification = importlib.util.spec_from_file_location(file.stem, file)
    if specification is None or specification.loader is None:
        raise ValueError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    def released(task: Task) -> Released:
        table = task.table
        records, weights = module.method(
            table.codes, table.sizes, list(task.marginals), task.epsilon, table.delta, task.seed
        )
        return Released(records, weights)

    return released

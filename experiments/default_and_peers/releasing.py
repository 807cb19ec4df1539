"""Halves of the twelve tables with the order of their columns, and what each method releases of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpopt
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from experiments.one_estimator import tables as whole
from experiments.one_estimator.methods import Released
from experiments.one_estimator.tables import Table
from experiments.peers.run import PeerTable, run_peer
from experiments.tables import SCHEMAS, data_folder

DEFAULT, INDEPENDENT = "dpopt", "independent"
PEERS = ("dpmm mst", "dpmm aim")
METHODS = (DEFAULT, INDEPENDENT, *PEERS)
AIM_EPSILONS, AIM_COLUMNS = (0.1, 1.0), 20
"""AIM is run at these budgets, on tables of at most so many columns."""

Setting = tuple[str, float, int, int, str]
"""Table, epsilon, number of the split, half (0 or 1) and method."""


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """The half that is released, the other one, and for each column whether it is ordered and its code for missing values."""

    own: Table
    other: Table
    ordered: NDArray[np.bool_]
    missing: NDArray[np.int64]
    """-1 where no value can be missing."""

    def schema(self) -> Schema:
        """Return a schema of codes: whole numbers in ordered columns, texts in nominal ones, and missing values."""
        return Schema(
            tuple(
                Attribute(
                    name,
                    AttributeKind.CATEGORICAL,
                    values=tuple(code if ordered else f"v{code}" for code in range(size - (missing >= 0))),
                    missing="" if missing >= 0 else None,
                )
                for name, size, ordered, missing in zip(
                    self.own.names, self.own.sizes.tolist(), self.ordered, self.missing, strict=True
                )
            )
        )


@cache
def halves(name: str, run: int, half: int) -> Halves:
    """Return a random half of a table and the other one; a run exchanges them."""
    table, declared = whole.load(name), _declared(name)
    parts = np.array_split(np.random.default_rng([run, len(table.codes)]).permutation(len(table.codes)), 2)
    own, other = (replace(table, codes=table.codes[np.sort(parts[place])]) for place in (half, 1 - half))
    attributes = [None if declared is None else declared.attributes[declared.names.index(one)] for one in table.names]
    ordered = [one is None or one.ordered for one in attributes]
    missing = [-1 if one is None or one.missing is None else one.size - 1 for one in attributes]
    return Halves(own, other, np.array(ordered), np.array(missing))


def released(setting: Setting, environments: Path | None, limit: float, folder: Path | None) -> Released:
    """Return what a method releases of a half; `PeerFailedError` if a peer does not. A folder keeps the records of each run."""
    name, epsilon, run, half, method = setting
    if folder is None:
        return _released(halves(name, run, half), epsilon, method, environments, limit)
    kept = folder / f"{name} {epsilon:g} {run} {half} {method}.npz"
    if not kept.exists():
        made = _released(halves(name, run, half), epsilon, method, environments, limit)
        weights = np.ones(len(made.records)) if made.weights is None else made.weights
        np.savez_compressed(kept, records=made.records, weights=weights)
    with np.load(kept, allow_pickle=False) as stored:
        return Released(stored["records"], stored["weights"])


def _released(halves: Halves, epsilon: float, method: str, environments: Path | None, limit: float) -> Released:
    import pandas as pd

    table = halves.own
    if method in PEERS:
        if environments is None:
            raise ValueError(f"{method} needs --environments, a folder with one environment per peer")
        peer, _, own = method.partition(" ")
        coded = PeerTable(table.codes, tuple(table.sizes.tolist()), table.names)
        limits: dict[str, Any] = {"epsilon": epsilon, "delta": table.delta, "order": 2, "limit": limit}
        return Released(run_peer(environments / peer, peer, own, coded, **limits).records)
    columns = {}
    for place, (codes, ordered) in enumerate(zip(table.codes.T.astype(int), halves.ordered, strict=True)):
        cells = pd.Series(codes, dtype="Int64") if ordered else pd.Series([f"v{code}" for code in codes], dtype=object)
        columns[table.names[place]] = cells.mask(codes == halves.missing[place])
    asked = ("marginals:1",) if method == INDEPENDENT else ()
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": table.delta, "n0": len(table.codes), "predict": False}
    records = dpopt.release(pd.DataFrame(columns), halves.schema(), *asked, **terms).records
    return Released(np.asarray(records.held), records.weights)


def _declared(name: str) -> Schema | None:
    """Return the schema of a table; None for `loans`, whose codes have none."""
    if name == "loans":
        return None
    public = {"adult": "adult", whole.QUICK: "adult", "nist-acs": "nist-acs", "kdd99": "kdd99"}.get(name)
    folder = data_folder() / "tables" if public is None else SCHEMAS
    return Schema.read(folder / (f"{name}.schema.json" if public is None else f"{public}.json"))

"""Halves of the twelve tables with the order of their columns, and what each method releases of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.measured.stages import sets_of
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import Residuals
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import MemoryJournal
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

NOTHING = np.zeros((0, 1), dtype=np.int32), np.zeros(0)
"""No sets of attributes, and no precisions."""

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


def released(
    setting: Setting, environments: Path | None, limit: float, folder: Path | None
) -> tuple[Released, MeasuredResiduals]:
    """Return what a method releases of a half, and with which precision it measured its marginals.

    `PeerFailedError` if a peer releases nothing. A folder keeps the records of each run.
    """
    name, epsilon, run, half, method = setting
    own = halves(name, run, half)
    if folder is None:
        made, sets, precisions = _released(own, epsilon, method, environments, limit)
        return made, _bought(own, sets, precisions)
    kept = folder / f"{name} {epsilon:g} {run} {half} {method}.npz"
    if not kept.exists():
        made, sets, precisions = _released(own, epsilon, method, environments, limit)
        weights = np.ones(len(made.records)) if made.weights is None else made.weights
        np.savez_compressed(kept, records=made.records, weights=weights, sets=sets, precisions=precisions)
    with np.load(kept, allow_pickle=False) as stored:
        return Released(stored["records"], stored["weights"]), _bought(own, stored["sets"], stored["precisions"])


def _bought(halves: Halves, sets: NDArray[np.int32], precisions: NDArray[np.float64]) -> MeasuredResiduals:
    """Return residuals of these sets (S, k) as if they had been measured with these precisions: their noise counts alone."""
    marginals = MarginalSet(Domains.of(halves.schema(), occurring=False), sets)
    with np.errstate(divide="ignore"):
        return MeasuredResiduals(
            marginals, np.zeros(marginals.number_of_cells), 1 / precisions, float(len(halves.own.codes))
        )


def _precisions(release: dpopt.SyntheticRelease) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the sets of attributes within a workload, (S, k), and how precisely all stages together measured each, 1 / s^2.

    Coarse tables are left out: they give no estimate of all cells.
    """
    plan = release.job.plan
    if not isinstance(plan, MeasuredPlan) or not isinstance(release.transcript, MemoryJournal):
        raise TypeError("expected a release of residuals that is held in memory")
    scales = {planned.name: planned.scale for planned in plan.stages}
    _, sets = sets_of(release.job.workload)
    found = np.zeros(len(sets))
    for entry in release.transcript.entries:
        if entry.get("kind") == "factors" and "parts" not in entry:
            factors = np.array(entry["factors"], dtype=np.int64)
            places = np.flatnonzero(factors)
            measured = Residuals(sets.take(places), factors[places])
            found[places] += 1 / measured.variances(scales[str(entry["stage"])] ** 2)
    return sets.attributes, found


def _released(
    halves: Halves, epsilon: float, method: str, environments: Path | None, limit: float
) -> tuple[Released, NDArray[np.int32], NDArray[np.float64]]:
    import pandas as pd

    table = halves.own
    if method in PEERS:
        if environments is None:
            raise ValueError(f"{method} needs --environments, a folder with one environment per peer")
        peer, _, own = method.partition(" ")
        coded = PeerTable(table.codes, tuple(table.sizes.tolist()), table.names)
        limits: dict[str, Any] = {"epsilon": epsilon, "delta": table.delta, "order": 2, "limit": limit}
        made = run_peer(environments / peer, peer, own, coded, **limits)
        return Released(made.records), *NOTHING
    columns = {}
    for place, (codes, ordered) in enumerate(zip(table.codes.T.astype(int), halves.ordered, strict=True)):
        cells = pd.Series(codes, dtype="Int64") if ordered else pd.Series([f"v{code}" for code in codes], dtype=object)
        columns[table.names[place]] = cells.mask(codes == halves.missing[place])
    asked = ("marginals:1",) if method == INDEPENDENT else ()
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": table.delta, "n0": len(table.codes), "predict": False}
    release = dpopt.release(pd.DataFrame(columns), halves.schema(), *asked, **terms)
    bought = NOTHING if method == INDEPENDENT else _precisions(release)
    return Released(np.asarray(release.records.held), release.records.weights), *bought


def _declared(name: str) -> Schema | None:
    """Return the schema of a table; None for `loans`, whose codes have none."""
    if name == "loans":
        return None
    public = {"adult": "adult", whole.QUICK: "adult", "nist-acs": "nist-acs", "kdd99": "kdd99"}.get(name)
    folder = data_folder() / "tables" if public is None else SCHEMAS
    return Schema.read(folder / (f"{name}.schema.json" if public is None else f"{public}.json"))

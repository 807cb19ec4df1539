"""Every mechanism from a file to what it releases, by the functions that its command calls, on tiny tables and plans.

The file is read, what it holds is counted, charged and drawn with the operating system's generator in each run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.conversions import zcdp_rho
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.workloads.workload import Workload, workload_from_json
from experiments.audit.bounds import Observation
from experiments.audit.files import ADD_REMOVE, ONE_BIT, SCHEMA, SIZE
from experiments.labels import options_of

DELTA = 1e-6
TWO_ROUNDS, ONE_ROUND = {"rounds": 2, "draws": 1}, {"rounds": 1, "draws": 1}
ONE_SELECTION = {"records": 1, "selections": 1}
_numbers = count()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is asked for: its budget, relation, and a folder for files."""

    epsilon: float
    relation: str
    folder: Path
    gaussian: bool = False

    @property
    def budget(self) -> dict[str, Any]:
        """The keywords that ask for the budget, under the relation."""
        if self.gaussian:
            return {"rho": zcdp_rho(self.epsilon, DELTA), "delta": DELTA, "neighbours": self.relation}
        return {"epsilon": self.epsilon, "delta": 0.0, "neighbours": self.relation}

    @property
    def size(self) -> int | None:
        """The public number of records under add-remove; under replace-one it is that of the table."""
        return SIZE if self.relation == ADD_REMOVE else None


@dataclass(frozen=True, slots=True)
class Released:
    """What left: what is looked at, and what the release states of its privacy."""

    seen: Observation
    privacy: Mapping[str, Any]


Release = Callable[[Path, Asked], Released]


def _numbers_of(*arrays: Any) -> tuple[int, ...]:
    return tuple(int(value) for array in arrays for value in np.asarray(array).reshape(-1))


def _counted(released: Any, path: Sequence[object] = ()) -> Released:
    """Return what a release of noisy counts holds."""
    noisy = released.noisy
    values = _numbers_of(*noisy) if isinstance(noisy, list | tuple) else _numbers_of(noisy)
    return Released(Observation(tuple(path), values), released.privacy)


def histogram(path: Path, asked: Asked) -> Released:
    """A histogram of two bins."""
    return _counted(dpopt.histogram(path, SCHEMA, "b", **asked.budget))


def grid(path: Path, asked: Asked) -> Released:
    """A grid of two columns with two bins each."""
    return _counted(dpopt.grid(path, SCHEMA, ("b", "c"), **asked.budget))


def sorted_counts(path: Path, asked: Asked) -> Released:
    """The counts of two values in order."""
    return _counted(dpopt.sorted_counts(path, SCHEMA, "a", **asked.budget))


def degrees(path: Path, asked: Asked) -> Released:
    """The degrees of a graph with a declared number of nodes."""
    return _counted(dpopt.degrees(path, 4 if asked.epsilon >= 1 else 24, **asked.budget))


def degrees_of_noisy_nodes(path: Path, asked: Asked) -> Released:
    """The degrees of a graph whose number of nodes is bought: how far nodes beside the two largest seem to have an edge."""
    released = dpopt.degrees(path, None, **asked.budget)
    ends = 2 * max(1, round(2 / asked.epsilon))  # of the edges that one file has and the other has not
    seen = np.clip(released.noisy[-ends - 2 : -2], 0, 1).sum()
    return Released(Observation((), (int(seen),)), released.privacy)


def intervals(path: Path, asked: Asked) -> Released:
    """Two intervals by binary search, and their noisy counts."""
    return _partition(path, asked, ("b",), intervals=2)


def boxes(path: Path, asked: Asked) -> Released:
    """Boxes of two columns by noisy medians."""
    return _partition(path, asked, ("c", "b"), cuts=1)


def _partition(path: Path, asked: Asked, columns: tuple[str, ...], **how: Any) -> Released:
    released = dpopt.intervals(path, SCHEMA, columns, n0=asked.size, **how, **asked.budget)
    partition = released.partition
    return _counted(released, _numbers_of(partition.starts, partition.stops))


def summary(path: Path, asked: Asked) -> Released:
    """Noisy counts of the values of a column."""
    return _counted(dpopt.summary(path, ONE_BIT, 1, n0=asked.size, **asked.budget))


def decision_lists(path: Path, asked: Asked) -> Released:
    """Rows that are decision lists of one literal at most."""
    from dpopt.queries.decision_lists.families import ListFamily, RowKind

    family = ListFamily(("x1", "x2"), 1, RowKind.LISTS, 1)
    return _counted(dpopt.decision_lists(path, family, n0=asked.size, **asked.budget))


def halfspaces(path: Path, asked: Asked) -> Released:
    """Sides of points under one projection to two dimensions, for a direction and its antipode."""
    from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling

    released = dpopt.halfspaces(
        path,
        0.1,
        columns=PointColumns(("b", "c"), Scaling.UNIT),
        projected_to=2,
        projections=1,
        directions=4,
        n0=asked.size,
        **asked.budget,
    )
    return _counted(released)


def sanitizer(path: Path, asked: Asked) -> Released:
    """The generic sanitizer of disjunctions of up to two of two columns' values, degree 1."""
    from dpopt.polynomials.minimax import best_polynomial
    from dpopt.polynomials.targets import Target
    from dpopt.synopses.sanitizers.symmetric_families import symmetric_family

    target = Target.disjunction(2)
    family = symmetric_family(SCHEMA, target, best_polynomial(target, 1).polynomial, columns=("a", "b"))
    return _counted(dpopt.sanitize(path, family, n0=asked.size, **asked.budget))


def net(path: Path, asked: Asked) -> Released:
    """The net mechanism among two databases of one record."""
    from dpopt.accounting.selections import selection_charge
    from dpopt.private.curators.net_curator import NetCurator
    from dpopt.private.mechanisms.net.net_distribution import Multisets
    from dpopt.private.readers.read_table import read_table
    from dpopt.transcript.journal import MemoryJournal

    relation, range_ = NeighbouringRelation(asked.relation), Decimal(str(asked.epsilon))
    charge = selection_charge(1, range_, relation)
    ledger = Ledger(Budget(charge.parameter, 0.0, None, Accountant.PURE), relation)
    ledger.reserve([charge])
    table, queries = read_table(path, ONE_BIT), one_query().queries
    curator = NetCurator(table, queries, ledger, MemoryJournal(keep=False), size=SIZE, range_=range_)
    found = curator.select_database(Multisets(np.array([[0, 1]], dtype=np.int8), 1), reach=Decimal(1))
    spent = ledger.spent()
    return Released(Observation((int(found.elements[0]),)), {"epsilon_by_accountant": {"pure": spent.epsilon}})


def one_query() -> Workload:
    """Return the workload of one query, whether a holds."""
    return workload_from_json({"dpopt_workload": 1, "queries": [[["a", "=", True]]]}, ONE_BIT)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A `dpopt release` with an algorithm, whose transcript is looked at."""

    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    marginals: bool = False

    def __call__(self, path: Path, asked: Asked) -> Released:
        """Release into a new folder and read its transcript."""
        from dpopt.algorithms.release import release

        out = asked.folder / f"release-{next(_numbers)}"
        settings: dict[str, Any] = {
            **options_of(self.algorithm),
            "epsilon": asked.epsilon,
            "delta": DELTA if asked.gaussian else None,
            "accountant": "zcdp" if asked.gaussian else "pure",
            "neighbours": asked.relation,
            "n0": asked.size,
            "predict": False,
            **self.options,
        }
        workload = "marginals:1" if self.marginals else one_query()
        released = release(path, ONE_BIT, workload, out=out, **settings)
        lines = (out / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
        shutil.rmtree(out)
        return Released(observed([json.loads(line)["entry"] for line in lines]), released.statement["privacy"])


def observed(entries: Sequence[Mapping[str, Any]]) -> Observation:
    """Return what a transcript tells beyond what the plan and the entries before say: draws, selections, noisy counts."""
    path: list[object] = []
    values: list[int] = []
    for entry in entries:
        if entry["kind"] == "draw":
            path.append((tuple(entry["queries"]), tuple(entry["counts"])))
        elif entry["kind"] == "query selection":
            path.append((entry["query"], entry["negated"]))
        elif entry["kind"] == "selection":
            path.append(entry["candidate"])
        elif entry["kind"] == "database":
            path.append((tuple(entry["elements"]), tuple(entry["counts"])))
        elif entry["kind"] == "measurement":
            values += entry["values"]
    return Observation(tuple(path), tuple(values))

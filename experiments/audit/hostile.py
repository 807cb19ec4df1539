"""Pairs of files of which one record once decided how all others were read, or whether they were read at all.

That a release ends with an error is an outcome like any other here: it tells apart what it does not happen on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpopt
from dpopt.algorithms.release import release
from dpopt.errors import DpoptError
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.queries.workloads.workload import workload_from_json
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from experiments.audit.bounds import Observation
from experiments.audit.files import ADD_REMOVE, Canary

NODES = 700
VALUES = Schema((Attribute("b", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0)),))


@dataclass(frozen=True, slots=True)
class HostilePair:
    """A pair of files, one record apart, and how they are released."""

    name: str
    canary: Canary
    relation: str
    release: Callable[[Path, float], Observation]
    """From a file, at epsilon, to what is looked at."""

    def seen(self, path: Path, epsilon: float) -> Observation:
        """Release a file; an error is an outcome."""
        try:
            return self.release(path, epsilon)
        except DpoptError:
            return Observation(("refused",))


def largest_degree(path: Path, epsilon: float) -> Observation:
    """Release degrees; look at the largest."""
    released = dpopt.degrees(path, NODES, **_counts(epsilon))
    return Observation((), (int(released.noisy[-1]),))


def sum_of_degrees(path: Path, epsilon: float) -> Observation:
    """Release degrees of few nodes; look at the largest ones."""
    released = dpopt.degrees(path, NODES, **_counts(epsilon))
    return Observation((), (int(released.noisy[-40:].sum()),))


def histogram(path: Path, epsilon: float) -> Observation:
    """Release a histogram of a column beside one of texts."""
    noisy = dpopt.histogram(path, VALUES, "b", **_counts(epsilon)).noisy[0]
    return Observation((), tuple(int(count) for count in noisy))


def noisy_answer(path: Path, epsilon: float) -> Observation:
    """Release the answer to one query by `dpopt release --algorithm noise`."""
    workload = workload_from_json({"dpopt_workload": 1, "queries": [[["b", "=", "[0, 1)"]]]}, VALUES)
    settings: dict[str, Any] = {
        "algorithm": "noise",
        "epsilon": epsilon,
        "accountant": "pure",
        "neighbours": ADD_REMOVE,
        "n0": 8,
        "predict": False,
        "reading": TableReading(on_invalid=OnInvalid.DROP),
    }
    released = release(path, VALUES, workload, **settings)
    assert released.noisy is not None
    return Observation((), (round(float(released.noisy[0]) * 1000),))


def pairs(path: Path, epsilon: float) -> Observation:
    """Release the share of users that have item 1."""
    schema = Schema.binary(2)
    name = schema.names[1]
    workload = workload_from_json({"dpopt_workload": 1, "queries": [[[name, "=", 1]]]}, schema)
    settings: dict[str, Any] = {
        "algorithm": "noise",
        "epsilon": epsilon,
        "accountant": "pure",
        "neighbours": ADD_REMOVE,
        "n0": 20,
        "predict": False,
        "reading": TableReading(
            layout="pairs", header=False, pair_columns=(1, 2), separator=",", on_invalid=OnInvalid.OTHER
        ),
    }
    released = release(path, schema, workload, **settings)
    assert released.noisy is not None
    return Observation((), (round(float(released.noisy[0]) * 1000),))


def _counts(epsilon: float) -> dict[str, Any]:
    """Return what is asked, with a total reading: a line that does not fit is left out."""
    return {
        "epsilon": epsilon,
        "delta": 0.0,
        "neighbours": ADD_REMOVE,
        "reading": TableReading(on_invalid=OnInvalid.DROP),
    }


def _edges(first: str, *kept: str) -> Canary:
    return Canary("", kept, lambda _: first, lambda _: first, ".txt")


HOSTILE = (
    HostilePair(
        "edges, separator of the first line",
        _edges("p q", *(f"a{i} b{i},c" for i in range(299))),
        ADD_REMOVE,
        largest_degree,
    ),
    HostilePair(
        "edges, # in names", _edges("a b", *(f"#c{i} d{i}" for i in range(60)), "y z"), ADD_REMOVE, sum_of_degrees
    ),
    HostilePair("edges, none or one", _edges("a b"), ADD_REMOVE, largest_degree),
    HostilePair("edges, a node called NA", _edges("NA b", "c d", "e f"), ADD_REMOVE, largest_degree),
    HostilePair("edges, a node called null", _edges("null b", "c d", "e f"), ADD_REMOVE, largest_degree),
    HostilePair(
        "CSV, quotes that do not close",
        Canary("a,b", (*(f"n{i},0.5" for i in range(60)), 'say 5",0.5'), lambda _: '"5 pipe,0.5', lambda _: ""),
        ADD_REMOVE,
        histogram,
    ),
    HostilePair("CSV, no row or one", Canary("a,b", (), lambda _: "n,0.5", lambda _: ""), ADD_REMOVE, noisy_answer),
    HostilePair(
        "pairs, separator of the first line",
        Canary("", tuple(f"u{i},1,x 0 y" for i in range(20)), lambda _: "z 1 y", lambda _: "", ".txt"),
        ADD_REMOVE,
        pairs,
    ),
)

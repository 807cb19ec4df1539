"""The mechanisms that are audited, each with its pair of files; and plans that are made once.

Plans are functions of public values; each is made once and kept (`remembered_plans`). Nothing else of a run is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from unittest import mock

from experiments.audit import releases
from experiments.audit.files import (
    ADD_REMOVE,
    ALL_FALSE,
    ALL_TRUE,
    BOTH_LITERALS,
    EDGES,
    FEWER_TRUE,
    HALVES,
    LISTS,
    NEARLY_EMPTY,
    POINTS,
    REPLACE,
    Canary,
)
from experiments.audit.releases import ONE_ROUND, ONE_SELECTION, TWO_ROUNDS, Release, Synthesis


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism, and the pair of files that it is audited on."""

    name: str
    canary: Canary
    release: Release
    """From a file to what was released."""
    gaussian: bool = False
    """Whether the budget is epsilon at delta, accounted for by zCDP."""
    pure: bool = True
    """Whether the pure epsilon that the release states is held against what is found; else its rho."""
    relations: tuple[str, ...] = (ADD_REMOVE,)
    reach: float = 1.0
    """How many epsilon apart the two files are, at least one record.

    Events of exponential mechanisms, and of noise spread over many counts, are far from their claim on neighbours, and nearer
    to it where more records differ.
    """


BOTH = (ADD_REMOVE, REPLACE)
MECHANISMS = (
    Mechanism("histogram, Laplace", HALVES, releases.histogram, relations=BOTH),
    Mechanism("histogram, Gaussian", HALVES, releases.histogram, gaussian=True, pure=False),
    Mechanism("grid", HALVES, releases.grid),
    Mechanism("sorted counts", NEARLY_EMPTY, releases.sorted_counts),
    Mechanism("degrees, declared nodes", EDGES, releases.degrees),
    Mechanism("degrees, noisy nodes", EDGES, releases.degrees_of_noisy_nodes, reach=2),
    Mechanism("intervals", FEWER_TRUE, releases.intervals, reach=2),
    Mechanism("boxes", HALVES, releases.boxes, reach=2),
    Mechanism("summary", HALVES, releases.summary, relations=BOTH, reach=2),
    Mechanism("decision lists", LISTS, releases.decision_lists),
    Mechanism("halfspaces", POINTS, releases.halfspaces, reach=2),
    Mechanism("sanitizer", BOTH_LITERALS, releases.sanitizer, reach=2),
    Mechanism("dualquery", ALL_TRUE, Synthesis("dualquery", TWO_ROUNDS), relations=BOTH, reach=2),
    Mechanism("fem", ALL_FALSE, Synthesis("fem", ONE_ROUND), reach=2),
    Mechanism("projection", HALVES, Synthesis("projection", {"records": 1}, marginals=True)),
    Mechanism("adaptive", HALVES, Synthesis("adaptive", ONE_SELECTION, marginals=True), gaussian=True, pure=False),
    Mechanism("noise", HALVES, Synthesis("noise"), relations=BOTH),
    Mechanism("noise, Gaussian", HALVES, Synthesis("noise"), gaussian=True, pure=False),
    Mechanism("mwem", HALVES, Synthesis("mwem", {"rounds": 1}), reach=2),
    Mechanism("pmw", HALVES, Synthesis("pmw", {"rounds": 1}), reach=2),
    Mechanism("smalldb", HALVES, Synthesis("smalldb", {"records": 1}), reach=2),
    Mechanism("net", HALVES, releases.net, reach=2),
)

PLANNERS = (
    "dpopt.synopses.histograms.release_histogram.plan_blocks",
    "dpopt.synopses.histograms.grids.release_grid.plan_grid",
    "dpopt.synopses.histograms.sorted.release_sorted.plan_sorted",
    "dpopt.synopses.intervals.release_intervals.plan_intervals",
    "dpopt.synopses.intervals.release_intervals.plan_split",
    "dpopt.synopses.summaries.release_summary.plan_summary",
    "dpopt.synopses.decision_lists.release_lists.plan_lists",
    "dpopt.synopses.halfspaces.release_halfspaces.plan_halfspaces",
    "dpopt.synopses.sanitizers.release_sanitizer.plan_sanitizer",
    "dpopt.algorithms.run_release.plan_and_statement",
)


@contextmanager
def remembered_plans() -> Iterator[None]:
    """Make a plan of the same public values once."""
    with ExitStack() as stack:
        for name in PLANNERS:
            module, _, function = name.rpartition(".")
            original = getattr(import_module(module), function)
            stack.enter_context(mock.patch(name, _remembered(original)))
        yield


def _remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {}

    def planned(*arguments: Any, **named: Any) -> Any:
        said = [each for each in arguments if not hasattr(each, "share")]  # progress is no public value
        key = repr((said, sorted(named.items())))
        if " at 0x" in key:
            return function(*arguments, **named)
        if key not in known:
            known[key] = function(*arguments, **named)
        found = known[key]
        return deepcopy(found) if isinstance(found, tuple) else found

    return planned

"""The universe of a workload: the attributes that queries and rules mention, and the refusal of one that is too large."""

from __future__ import annotations

from math import log, log10, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.candidates import domains_of
from dpopt.errors import PlanError
from dpopt.inference.distribution.universe import MOST_CELLS, ProductUniverse
from dpopt.queries.counting.binary_columns import are_kept_as_bits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.mentioned_attributes import mentioned_attributes
from dpopt.schema.schema import Schema

_BLOCK = 1 << 18


def universe_of(workload: Workload, algorithm: str) -> ProductUniverse:
    """Return the universe of a workload: attributes that neither a query nor a rule mentions are left out.

    Raises
    ------
    PlanError
        If it has more than 2^26 cells, before anything is spent; with its size and what to use instead.
    """
    domains = domains_of(workload)
    mentioned = mentioned_attributes(workload)
    counts = domains.counts[mentioned].tolist()
    cells = prod(counts)
    if cells > MOST_CELLS:
        size = f"{cells:,}" if cells < 10**15 else f"about 10^{log10(cells):.0f}"
        others = (
            "projection, adaptive or dualquery"
            if workload.marginals is not None
            else "projection or dualquery"
        )
        raise PlanError(
            f"--algorithm {algorithm} keeps a probability for every possible record, and the {len(counts)} attributes that the "
            f"workload names have {size} combinations (at most {MOST_CELLS:,} = 2^26 are possible). Use --algorithm {others}, "
            "or queries over fewer attributes"
        )
    return ProductUniverse(domains, mentioned)


def feasible_start(universe: ProductUniverse, workload: Workload) -> NDArray[np.float64] | None:
    """Return the uniform distribution over the cells that obey the rules; None where there are no rules.

    Raises
    ------
    PlanError
        If no cell obeys them.
    """
    if not workload.schema.rules:
        return None
    circuit = workload.schema.circuit()
    start = np.zeros(universe.cells)
    others = np.zeros(len(workload.schema), dtype=np.int32)  # no rule mentions these
    for first in range(0, universe.cells, _BLOCK):
        cells = np.arange(first, min(first + _BLOCK, universe.cells))
        start[cells] = ~circuit.broken(universe.records(cells, others)).any(axis=1)
    feasible = float(start.sum())
    if feasible == 0:
        raise PlanError(
            "no combination of codes that may occur obeys the rules: 'occurring' and the rules may contradict each other. "
            "Leave ',occurring' out of the workload, or use --algorithm dualquery"
        )
    return start / feasible


def kept_as_bits(schema: Schema) -> bool:
    """Return whether records of these algorithms are kept, and written, as bits: those of wide tables, which have no rules."""
    return schema.is_binary and are_kept_as_bits(schema.sizes)


def log_cells(workload: Workload, algorithm: str) -> float:
    """Return ln |X| of the universe of a workload."""
    return log(universe_of(workload, algorithm).cells)

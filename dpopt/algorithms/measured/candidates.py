"""The marginals that an adaptive run may select: those of the workload, and all that they contain."""

from __future__ import annotations

from itertools import combinations
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.selections.selection import MOST_CANDIDATES
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.schema.domains import Domains

MOST_CELLS = 250_000
"""Marginals with more cells are never measured as a whole, since noise would exceed their counts; their parts are."""


def domains_of(workload: Workload) -> Domains:
    """Return the codes that records may take: those that the workload's marginals name, or all of the schema."""
    if workload.marginals is not None:
        return workload.marginals.domains
    return Domains.of(workload.schema, occurring=False)


def parts_of(marginals: MarginalSet, *, least_width: int, most_cells: int) -> MarginalSet:
    """Return every set of at least `least_width` attributes within a marginal, with at most `most_cells` cells; sorted.

    Raises
    ------
    PlanError
        If there is none, or there are more than 10,000.
    """
    counts = marginals.domains.counts.tolist()
    found: set[tuple[int, ...]] = set()
    for number in range(len(marginals)):
        attributes = sorted(marginals.attributes_of(number))
        for width in range(least_width, len(attributes) + 1):
            found.update(combinations(attributes, width))
        if len(found) > 4 * MOST_CANDIDATES:
            break
    kept = sorted(
        (part for part in found if prod(counts[a] for a in part) <= most_cells),
        key=lambda part: (len(part), part),
    )
    if not 1 <= len(kept) <= MOST_CANDIDATES:
        raise PlanError(
            f"the workload's marginals have {len(kept):,} parts of at most {most_cells:,} cells to select from, expected 1 to "
            f"{MOST_CANDIDATES:,}; name fewer or smaller marginals, or use --algorithm dualquery"
        )
    width = max(map(len, kept))
    padded = np.array([[*part, *[-1] * (width - len(part))] for part in kept], dtype=np.int32)
    return MarginalSet(marginals.domains, freeze(padded))


def candidate_marginals(plan: MeasuredPlan, workload: Workload) -> MarginalSet | None:
    """Return the marginals that the rounds of a plan select from; None for a plan without selections."""
    if plan.selections is None or workload.marginals is None:
        return None
    least = 2 if int(workload.marginals.widths().max()) > 1 else 1
    return parts_of(workload.marginals, least_width=least, most_cells=plan.selections.largest)


def expected_errors(plan: MeasuredPlan, candidates: MarginalSet) -> dict[str, NDArray[np.int64]]:
    """Return the error of each candidate, in records, that measuring it would leave: it is taken off the score.

    "l1": sum of the absolute noise of its cells, sigma sqrt(2 / pi) each for Gaussian noise and b for Laplace noise. "max":
    about the largest of them, sigma sqrt(2 ln(cells)) or b ln(cells). Public, so it may be rounded at will.

    Source: McKenna, Mullins, Sheldon and Miklau 2022, AIM, equation 1.
    """
    if plan.selections is None:
        return {}
    scale, cells = plan.selections.scale, candidates.cells().astype(np.float64)
    if plan.gaussian:
        each, largest = scale * sqrt(2 / pi), scale * np.sqrt(2 * np.log(np.maximum(cells, 2)))
    else:
        each, largest = scale, scale * np.log(np.maximum(cells, 2))
    return {
        "l1": np.ceil(each * cells).astype(np.int64),
        "max": np.ceil(largest).astype(np.int64),
    }

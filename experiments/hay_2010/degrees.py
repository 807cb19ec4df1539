"""Degrees of graphs: one by one in order, as numbers of nodes of each degree at least, and both without a second payment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from experiments.documents import captioned, figure
from experiments.hay_2010.draws import SeededNoise, generator
from experiments.hay_2010.sets import SortedCounts

Result = dict[str, Any]

IN_ORDER, NUMBERS, RANKED = "in order", "numbers", "the largest in order"
ISOTONIC, POSTERIOR = "isotonic", "posterior"
METHODS = ((IN_ORDER, ISOTONIC), (IN_ORDER, POSTERIOR), (NUMBERS, ISOTONIC), (NUMBERS, POSTERIOR), (RANKED, POSTERIOR))


def measure(given: SortedCounts, epsilon: float, runs: int, *, gaussian: bool) -> Result:
    """Return the errors of degrees, of which as many as each method asks for are measured one by one."""
    delta, rho = (1e-9, epsilon**2 / 2) if gaussian else (0.0, None)
    budget = Budget(None if gaussian else epsilon, delta, rho, Accountant.ZCDP if gaussian else Accountant.PURE)
    counts = BinCounts.of_degrees(given.counts, int(given.counts.sum()) // 2)
    errors: dict[str, list[tuple[float, float]]] = {" / ".join(method): [] for method in METHODS}
    for what, ranked in ((IN_ORDER, given.counts.size), (NUMBERS, 0), (RANKED, None)):
        plan = plan_sorted(given.counts.size, budget, graph=True, ranked=ranked)
        noise = SeededNoise(generator("degrees", given.name, epsilon, what, gaussian))
        for _ in range(runs):
            released = release_sorted(counts, plan, noise=noise)
            for name in (estimate for asked, estimate in METHODS if asked == what):
                errors[f"{what} / {name}"].append(_errors(released.estimate(name), given.counts))
    return {
        "set": given.name,
        "counts": given.counts.size,
        "noise": f"rho {rho:g}" if gaussian else f"epsilon {epsilon:g}",
        "epsilon": epsilon,
        "ranked": plan.ranked,
        "draws": runs,
        "distance": {name: float(np.mean([one for one, _ in found])) for name, found in errors.items()},
        "squared": {name: float(np.mean([two for _, two in found])) for name, found in errors.items()},
    }


def _errors(estimate: NDArray[np.int64], truth: NDArray[np.int64]) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of the distributions of degrees, and the squared error of the sequence."""
    sizes = np.arange(truth.size)
    apart = np.searchsorted(estimate, sizes, "right") - np.searchsorted(truth, sizes, "right")
    return float(np.abs(apart).max()) / truth.size, float(((estimate - truth) ** 2.0).sum())


def degree_tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield both errors of each method."""
    names = [" / ".join(method) for method in METHODS]
    for key, title in (
        ("distance", "largest error of the share of nodes of at most some degree (Kolmogorov-Smirnov)"),
        ("squared", "squared error of the degrees in order"),
    ):
        rows = []
        for result in results:
            cells = [result["set"], result["noise"], f"{result['ranked']:,}" if result["ranked"] else "all"]
            cells += [f"{result[key][name]:.2g}" if key == "distance" else figure(result[key][name]) for name in names]
            rows.append(cells)
        caption = f"**Degrees**: {title}, mean of {results[0]['draws']} draws"
        yield from captioned(caption, ["set | noise | one by one", *names], rows)

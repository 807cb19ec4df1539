"""Synthetic records by OpenDP's contingency tables (AIM and MST, fitted by mbi); runs in the environment of that peer."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers.exchange import Task, run


def synthesize(task: Task) -> NDArray[np.int64]:
    """Release a contingency table and make as many records of it as the table has.

    Records are sampled. The default of `synthesize` is "round", which with mbi 1.1.0 orders the records of a group by their
    earlier columns and so ties columns together that are independent in the model; ``mst-rounded`` shows what that costs.
    """
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    library: Any = dp
    name, _, rounded = task.method.partition("-")
    rho = largest_rho(task.epsilon, task.delta)
    algorithms = {
        "aim": library.mbi.AIM(queries=task.order),
        "mst": library.mbi.MST(measure_split=accepted_split(rho, len(task.sizes) - 1)),
    }
    frame = pl.LazyFrame({name: task.codes[:, position] for position, name in enumerate(task.columns)})
    context = library.Context.compositor(
        data=frame,
        privacy_unit=library.unit_of(contributions=1),
        privacy_loss=library.loss_of(rho=rho),
        split_evenly_over=1,
    )
    # Cuts at 0, 1, ..., size - 2 declare exactly the codes of a column; keys would add one for missing values.
    table = (
        context.query()
        .contingency_table(
            cuts={name: list(range(size - 1)) for name, size in zip(task.columns, task.sizes, strict=True)},
            algorithm=algorithms[name],
        )
        .release()
    )
    made = table.synthesize(rows=len(task.codes), method="round" if rounded else "sample")
    records: NDArray[np.int64] = made.select(task.columns).to_numpy()
    return records


def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest zCDP budget whose (epsilon, delta) by OpenDP's own conversion is within the budget."""
    import opendp.prelude as dp

    library: Any = dp
    domain = library.atom_domain(T=float, nan=False)
    metric = library.absolute_distance(T=float)

    def converted(scale: float) -> Any:
        noise = library.m.make_gaussian(domain, metric, scale)
        return library.c.make_fix_delta(library.c.make_zCDP_to_approxDP(noise), delta)

    scale = library.binary_search_param(converted, d_in=1.0, d_out=(epsilon, delta), T=float)
    rho: float = library.m.make_gaussian(domain, metric, scale).map(1.0)
    return rho


def accepted_split(rho: float, selections: int) -> float:
    """Return the share of MST's second half that is measured: 0.9, the default, or a little more.

    OpenDP 0.16.0 adds the budgets of MST's selections up with upward rounding and refuses the release where their sum is above
    the budget they were cut from by a rounding error ("insufficient budget for query"). On 13 columns that is so for most
    budgets. Whether it happens depends on no data; the arithmetic is followed here to choose a share that is accepted.
    """
    second = _below(rho - rho * 0.5)
    for thousandths in range(900, 1000):
        share = thousandths / 1000
        budget = _below(second - second * share)
        each = nextafter(budget / selections, -inf)
        total = 0.0
        for _ in range(selections):
            total = _add_upward(total, each)
        if total <= budget:
            return share
    raise ValueError(f"no share of rho {rho} is accepted for {selections} selections")


def _below(number: float) -> float:
    return nextafter(nextafter(number, -inf), -inf)


def _add_upward(left: float, right: float) -> float:
    total = left + right
    return nextafter(total, inf) if Fraction(total) < Fraction(left) + Fraction(right) else total


if __name__ == "__main__":
    run("opendp", ("aim", "mst", "mst-rounded"), synthesize)

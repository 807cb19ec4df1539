"""Residual allocation in CVXPY, on one screen. Knows nothing of dpopt; labels RA-1 ... are those of the page."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Marginal = tuple[int, ...]


def residuals(workload: list[Marginal]) -> list[Marginal]:
    """Return all non-empty sets of attributes of a marginal, small ones first."""
    found = {a for w in workload for k in range(1, len(w) + 1) for a in combinations(w, k)}
    return sorted(found, key=lambda a: (len(a), a))


def cvxpy_model(
    sizes: list[int],
    workload: list[Marginal],
    rho: float,
    variances: list[float] | None = None,
    *,
    largest: bool = False,
) -> cp.Problem:
    """Return the problem: b are the shares of the residuals; each of the variances is as likely, None expects nothing."""
    import cvxpy as cp

    sets = residuals(workload)

    def cells(attributes: Marginal) -> int:
        return prod(sizes[a] for a in attributes)

    dimension = {a: prod(sizes[i] - 1 for i in a) for a in sets}
    price = [dimension[a] / cells(a) for a in sets]
    b = cp.Variable(len(sets), name="b", nonneg=True)
    x = [2 * rho * share / p for share, p in zip(b, price, strict=True)]
    rest = [0.0] if variances is None else [1 / v for v in variances]
    risk = {a: sum(cp.inv_pos(one + kappa) for kappa in rest) / len(rest) for a, one in zip(sets, x, strict=True)}
    errors = [
        sum(dimension[a] * cells(a) / cells(w) * risk[a] for a in sets if set(a) <= set(w)) for w in workload
    ]  # RA-3
    objective = cp.max(cp.hstack(errors)) if largest else sum(errors)  # RA-4, RA-1
    return cp.Problem(cp.Minimize(objective), [cp.sum(b) <= 1])  # RA-2


def example(variances: list[float] | None) -> dict[str, object]:
    """Return two attributes of three codes and their joint marginal."""
    return {"sizes": [3, 3], "workload": [(0, 1)], "rho": 0.5, "variances": variances}


EXAMPLES = [example(None), example([0.5])]  # the worked example and the exercise

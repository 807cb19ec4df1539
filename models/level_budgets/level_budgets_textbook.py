"""Budgets of levels, Gaussian noise, in CVXPY, on one screen. Knows nothing of dpopt; labels LB-1 ... are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Range = tuple[int, int]  # the bins start, ..., stop - 1


def norm(start: int, stop: int, size: int) -> float:
    """Return a_h of LB-5 for blocks of so many bins."""
    blocks = range(start // size, (stop - 1) // size + 1)
    return sum((min(stop, (b + 1) * size) - max(start, b * size)) ** 2 for b in blocks) / size


def loads(ranges: list[Range], levels: int) -> list[float]:
    """Return c_h, averaged over the ranges (LB-5)."""
    norms = [sum(norm(*one, 2**h) for one in ranges) / len(ranges) for h in range(levels)]
    return [a - b for a, b in zip(norms, [*norms[1:], 0.0], strict=True)]


def cvxpy_model(
    bins: int, groups: list[list[Range]], references: list[float], amount: float, sensitivity: int
) -> cp.Problem:
    """Return the problem: b is the budget of each level, single bins first."""
    import cvxpy as cp

    levels = (bins - 1).bit_length() + 1
    b = cp.Variable(levels, name="b", nonneg=True)
    gathered = cp.cumsum(cp.multiply([2**j * 2 / sensitivity for j in range(levels)], b))  # LB-3, LB-4
    ratios = [loads(group, levels) @ cp.inv_pos(gathered) / r for group, r in zip(groups, references, strict=True)]
    return cp.Problem(cp.Minimize(cp.max(cp.hstack(ratios))), [cp.sum(b) == amount])  # LB-1, LB-2


def example(*groups: list[Range]) -> dict[str, object]:
    """Return two bins with these groups of ranges."""
    return {"bins": 2, "groups": list(groups), "references": [1.0] * len(groups), "amount": 0.5, "sensitivity": 1}


EXAMPLES = [  # the worked example, all ranges alike, and the exercise, single bins beside the whole
    example([(0, 1), (1, 2), (0, 2)]),
    example([(0, 1), (1, 2)], [(0, 2)]),
]

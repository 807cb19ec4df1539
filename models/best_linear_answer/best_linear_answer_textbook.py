"""The best linear answer in CVXPY, on one screen. Knows nothing of dpopt; labels BL-1 and BL-2 are those of the page."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


def cvxpy_model(
    sizes: list[int], marginals: list[list[int]], variances: list[float], numbers: list[float]
) -> cp.Problem:
    """Return the problem: l holds a weight for each cell of each marginal, one marginal after the other."""
    import cvxpy as cp

    cells = [(m, codes) for m, own in enumerate(marginals) for codes in product(*(range(sizes[a]) for a in own))]
    place = {cell: number for number, cell in enumerate(cells)}
    weight = cp.Variable(len(cells), name="l")
    rows = []
    for record, number in zip(product(*map(range, sizes)), numbers, strict=True):
        inside = [place[m, tuple(record[a] for a in own)] for m, own in enumerate(marginals)]
        rows.append(cp.sum(weight[inside]) == number)  # BL-2
    cost = [variances[m] * cp.square(weight[number]) for number, (m, _) in enumerate(cells)]
    return cp.Problem(cp.Minimize(sum(cost)), rows)  # BL-1


EXAMPLES: list[dict[str, object]] = [
    {"sizes": [2], "marginals": [[0], [0]], "variances": [1.0, 3.0], "numbers": [0.0, 1.0]},
    {"sizes": [2, 2], "marginals": [[0], [1]], "variances": [1.0, 1.0], "numbers": [0.0, 1.0, 1.0, 2.0]},
]  # the worked example and the exercise

"""What noisy counts leave possible for a query, in PuLP. Knows nothing of dpopt; labels CR-1 ... are the page's."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp

Band = tuple[float, float]


def pulp_model(
    kinds: list[int],
    answers: list[list[float | None]],
    sets: dict[tuple[int, ...], Band],
    sums: dict[tuple[int, int], Band],
    records: float,
    *,
    largest: bool,
) -> pulp.LpProblem:
    """Return the linear program of the least or the largest answer: x_z counts the records of pattern z.

    kinds[m] is 0 where the literals of set m say that a condition holds, else 1; answers[s][u] is f, None where that cannot
    occur.
    """
    import pulp

    def numbers(z: tuple[int, ...]) -> tuple[int, int]:
        u = sum(one for one, kind in zip(z, kinds, strict=True) if kind)
        return sum(z) - u, u

    patterns = {
        z: answers[s][u]
        for z in product((0, 1), repeat=len(kinds))
        for s, u in [numbers(z)]
        if answers[s][u] is not None
    }
    model = pulp.LpProblem("consistent_records", pulp.LpMaximize if largest else pulp.LpMinimize)
    x = {z: pulp.LpVariable("x_" + "".join(map(str, z)), 0) for z in patterns}
    model += pulp.lpSum(patterns[z] * x[z] for z in x)  # CR-1
    model += pulp.lpSum(x.values()) == records  # CR-2
    rows = [(pulp.lpSum(x[z] for z in x if all(z[m] for m in one)), band) for one, band in sets.items()]  # CR-3
    for (i, j), band in sums.items():  # CR-4
        weights = {z: comb(s, i) * comb(u, j) for z in x for s, u in [numbers(z)]}
        rows.append((pulp.lpSum(weights[z] * x[z] for z in x), band))
    for row, (low, high) in rows:
        model += row >= low
        model += row <= high
    return model


def example(answers: list[float], *, largest: bool) -> dict[str, object]:
    """Return the worked example for a query with these answers where 0, 1 and 2 conditions hold."""
    return {
        "kinds": [0, 0],
        "answers": [[one] for one in answers],
        "sets": {(0,): (55.0, 65.0), (1,): (60.0, 70.0)},
        "sums": {(1, 0): (120.0, 128.0)},
        "records": 100.0,
        "largest": largest,
    }


EXAMPLES = [  # both ends of "and", the worked example, and of "or", the exercise
    example([0, 0, 1], largest=False),
    example([0, 0, 1], largest=True),
    example([0, 1, 1], largest=False),
    example([0, 1, 1], largest=True),
]

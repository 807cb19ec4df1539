"""What noisy counts leave possible for a query, in plain PuLP, on one screen.

Knows nothing of dpopt; labels CR-1 ... are the page's.
"""

from __future__ import annotations

from itertools import product
from math import comb

import pulp

Band = tuple[float, float]


def solve(
    kinds: list[int],
    answers: list[list[float | None]],
    sets: dict[tuple[int, ...], Band],
    sums: dict[tuple[int, int], Band],
    records: float,
) -> tuple[float, float] | None:
    """Return the least and the largest answer, None if there is no solution.

    kinds[m] is 0 where the literals of set m say that a condition holds, else 1; answers[s][u] is f, None where that cannot
    occur.
    """

    def numbers(z: tuple[int, ...]) -> tuple[int, int]:
        u = sum(one for one, kind in zip(z, kinds, strict=True) if kind)
        return sum(z) - u, u

    patterns = {
        z: answers[s][u]
        for z in product((0, 1), repeat=len(kinds))
        for s, u in [numbers(z)]
        if answers[s][u] is not None
    }
    found = []
    for sense in (pulp.LpMinimize, pulp.LpMaximize):
        model = pulp.LpProblem("consistent_records", sense)
        x = {z: pulp.LpVariable("x_" + "".join(map(str, z)), 0) for z in patterns}
        model += pulp.lpSum(patterns[z] * x[z] for z in x)  # CR-1
        model += pulp.lpSum(x.values()) == records  # CR-2
        rows = [
            (pulp.lpSum(x[z] for z in x if all(z[m] for m in one)), band) for one, band in sets.items()
        ]  # CR-3
        for (i, j), band in sums.items():  # CR-4
            weights = {z: comb(s, i) * comb(u, j) for z in x for s, u in [numbers(z)]}
            rows.append((pulp.lpSum(weights[z] * x[z] for z in x), band))
        for row, (low, high) in rows:
            model += row >= low
            model += row <= high
        model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
        if model.sol_status != pulp.LpSolutionOptimal:
            return None
        found.append(float(model.objective.value() or 0.0))
    return found[0], found[1]


WORKED_EXAMPLE = (
    [0, 0],
    [[0.0], [0.0], [1.0]],
    {(0,): (55.0, 65.0), (1,): (60.0, 70.0)},
    {(1, 0): (120.0, 128.0)},
    100.0,
)

if __name__ == "__main__":
    print(solve(*WORKED_EXAMPLE))

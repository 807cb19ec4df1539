"""The projection of noisy answers in plain PuLP, on one screen. Knows nothing of dpopt; labels PJ-1 ... are the page's."""

from __future__ import annotations

import pulp

Query = list[tuple[int, str, int]]  # a conjunction of literals: attribute, "=" or "!=", code
Record = tuple[int, ...]


def answer(query: Query, record: Record) -> int:
    """Return 1 if every literal is true of the record, else 0."""
    return int(all((record[a] == v) == (sign == "=") for a, sign, v in query))


def price(sizes: list[int], queries: list[Query], slopes: list[float]) -> Record:
    """Return the record of least slope (PJ-4)."""
    model = pulp.LpProblem("pricing", pulp.LpMinimize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(queries))]
    model += pulp.lpSum(slope * c[j] for j, slope in enumerate(slopes))
    for row in x:
        model += pulp.lpSum(row) == 1
    for j, query in enumerate(queries):
        lit = [x[a][v] if sign == "=" else 1 - x[a][v] for a, sign, v in query]
        model += c[j] >= pulp.lpSum(lit) - len(lit) + 1
        for one in lit:
            model += c[j] <= one
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    return tuple(max(range(n), key=lambda v, a=a: x[a][v].value()) for a, n in enumerate(sizes))


def slopes_of(columns: list[list[int]], weights: list[float], values: list[float]) -> list[float]:
    """Return s_j, the answers of weighted records less the values."""
    return [sum(w * q[j] for w, q in zip(weights, columns, strict=True)) - y for j, y in enumerate(values)]


def improve(columns: list[list[int]], values: list[float], weights: list[float]) -> float:
    """Move weight from the worst record to the best one (PJ-1 to PJ-3); return by how much their slopes differed."""
    slopes = slopes_of(columns, weights, values)
    along = [sum(s for s, one in zip(slopes, column, strict=True) if one) for column in columns]
    best = along.index(min(along))
    worst = max((i for i, w in enumerate(weights) if w > 0), key=lambda i: along[i])
    length = sum(p != q for p, q in zip(columns[best], columns[worst], strict=True))
    step = min(weights[worst], (along[worst] - along[best]) / max(length, 1))
    weights[best], weights[worst] = weights[best] + step, weights[worst] - step
    return along[worst] - along[best]


def solve(sizes: list[int], queries: list[Query], values: list[float]) -> tuple[float, dict[Record, float]]:
    """Return the least f, and the weights of records that have it."""
    records, weights = [price(sizes, queries, [-y for y in values])], [1.0]
    while True:
        columns = [[answer(query, record) for query in queries] for record in records]
        while improve(columns, values, weights) > 1e-12:
            pass
        slopes = slopes_of(columns, weights, values)
        new = price(sizes, queries, slopes)
        if new in records:  # no record has a smaller slope than those in hand: by PJ-6 none lowers f
            found = zip(records, weights, strict=True)
            return sum(s * s for s in slopes) / 2, {record: w for record, w in found if w > 1e-9}
        records, weights = [*records, new], [*weights, 0.0]


WORKED_EXAMPLE = ([2, 2], [[(0, "=", 1)], [(1, "=", 1)], [(0, "=", 1), (1, "=", 1)]], [0.8, 0.6, 0.2])

if __name__ == "__main__":
    print(solve(*WORKED_EXAMPLE))

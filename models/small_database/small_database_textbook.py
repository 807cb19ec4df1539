"""The nearest database of m records in plain PuLP, on one screen. Knows nothing of dpopt; labels SD-1 ... are the page's."""

from __future__ import annotations

from fractions import Fraction

import pulp


def solve(answers: list[list[int]], targets: list[Fraction], m: int) -> tuple[Fraction, list[int]]:
    """Return the least e, in records, and the counts of a database that has it."""
    elements = range(len(answers[0]))
    model = pulp.LpProblem("small_database", pulp.LpMinimize)
    n = [pulp.LpVariable(f"n_{x}", 0, m, cat="Integer") for x in elements]  # SD-4
    e = pulp.LpVariable("e", 0)
    model += e  # SD-1
    for says, target in zip(answers, targets, strict=True):
        held = pulp.lpSum(n[x] for x in elements if says[x])
        model += held - m * float(target) <= e  # SD-2
        model += m * float(target) - held <= e
    model += pulp.lpSum(n) == m  # SD-3
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    counts = [round(one.value()) for one in n]
    return largest_difference(answers, targets, counts), counts


def largest_difference(answers: list[list[int]], targets: list[Fraction], counts: list[int]) -> Fraction:
    """Return e of a database, exactly."""
    m = sum(counts)
    held = [sum(c for c, says in zip(counts, row, strict=True) if says) for row in answers]
    return max(abs(h - m * t) for h, t in zip(held, targets, strict=True))


def bound(answers: list[list[int]], targets: list[Fraction], m: int, y: list[Fraction]) -> Fraction:
    """Return the bound SD-6 of multipliers y on databases with free counts: all records go to the best element."""
    rewards = [sum(w for w, row in zip(y, answers, strict=True) if row[x]) for x in range(len(answers[0]))]
    value = sum(w * m * t for w, t in zip(y, targets, strict=True))
    return (value - m * max(rewards)) / sum(map(abs, y))


WORKED_EXAMPLE = (
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0]],
    [Fraction(3, 4), Fraction(1, 4), Fraction(1, 2), Fraction(1, 8)],
    2,
)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))

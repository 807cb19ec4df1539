"""The nearest database of m records in PuLP and in CP-SAT. Knows nothing of dpopt; labels SD-1 ... are the page's."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model


def pulp_model(answers: list[list[int]], targets: list[Fraction], m: int) -> pulp.LpProblem:
    """Return the mixed-integer program: n_x counts the records that are element x; the objective is in records."""
    import pulp

    model = pulp.LpProblem("small_database", pulp.LpMinimize)
    n = [pulp.LpVariable(f"n_{x}", 0, m, cat="Integer") for x in range(len(answers[0]))]  # SD-4
    e = pulp.LpVariable("e", 0)
    model += e  # SD-1
    for says, target in zip(answers, targets, strict=True):
        held = pulp.lpSum(one for one, true in zip(n, says, strict=True) if true)
        model += held - m * float(target) <= e  # SD-2
        model += m * float(target) - held <= e
    model += pulp.lpSum(n) == m  # SD-3
    return model


def cp_sat_model(answers: list[list[int]], targets: list[Fraction], m: int) -> cp_model.CpModel:
    """Return the same in whole numbers: e counts parts of a record, the least common denominator of all m t_q."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    parts = lcm(*((m * target).denominator for target in targets))
    n = [model.new_int_var(0, m, f"n_{x}") for x in range(len(answers[0]))]  # SD-4
    e = model.new_int_var(0, parts * m * (1 + max(map(int, targets))), "e")
    for says, target in zip(answers, targets, strict=True):
        held = sum(one for one, true in zip(n, says, strict=True) if true)
        off = parts * held - int(parts * m * target)
        model.add(off <= e)  # SD-2
        model.add(-off <= e)
    model.add(sum(n) == m)  # SD-3
    model.minimize(e * (1 / parts))  # SD-1
    return model


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


def example(m: int) -> dict[str, object]:
    """Return the worked example with so many records."""
    answers = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0]]
    return {"answers": answers, "targets": [Fraction(n, 8) for n in (6, 2, 4, 1)], "m": m}


EXAMPLES = [example(2), example(4)]  # the worked example and the exercise

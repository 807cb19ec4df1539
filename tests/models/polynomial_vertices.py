"""Optima of small problems on polynomials by trying all vertices, in fractions; shares nothing with dpopt's own methods."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

Numbers = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def solved(rows: list[Numbers], right: Numbers) -> Numbers | None:
    """Return the one solution of a square system; None if there is none, or more than one."""
    size = len(rows)
    lines = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for place in range(size):
        pivot = next((i for i in range(place, size) if lines[i][place]), None)
        if pivot is None:
            return None
        lines[place], lines[pivot] = lines[pivot], lines[place]
        lines[place] = [one / lines[place][place] for one in lines[place]]
        for i in range(size):
            if i != place and lines[i][place]:
                factor = lines[i][place]
                lines[i] = [a - factor * b for a, b in zip(lines[i], lines[place], strict=True)]
    return [line[-1] for line in lines]


def least_by_vertices(
    values: Numbers, weights: Numbers, error: Fraction | None, *, keeps_zero: bool
) -> Fraction | None:
    """Return the least sum_j w_j |a_j|, plus the error E if that is not limited; None if no polynomial is within the limit.

    The objective is linear between the planes a_j = 0, so that it is least at a crossing of these and of the planes
    p(s) = f(s) +- E.
    """
    unknown = len(weights) + (error is None)
    planes: list[tuple[Numbers, Fraction]] = []
    for s, f in enumerate(values):
        row = [Fraction(comb(s, j)) for j in range(len(weights))]
        for sign in (1, -1) if s or not keeps_zero else (0,):
            limit = sign * (error or ZERO)
            planes.append(([*row, *([Fraction(-sign)] * (error is None))], f + limit))
    planes += [([ONE * (i == j) for i in range(unknown)], ZERO) for j in range(unknown)]
    best: Fraction | None = None
    for chosen in combinations(planes, unknown):
        point = solved([row for row, _ in chosen], [b for _, b in chosen])
        if point is None:
            continue
        a = point[: len(weights)]
        errors = [abs(f - sum((one * comb(s, j) for j, one in enumerate(a)), start=ZERO)) for s, f in enumerate(values)]
        allowed = point[-1] if error is None else error
        if max(errors) > allowed or (keeps_zero and errors[0]):
            continue
        objective = sum((w * abs(one) for w, one in zip(weights, a, strict=True)), start=ZERO)
        objective += allowed if error is None else 0
        best = objective if best is None else min(best, objective)
    return best


def known_optima(path: Path) -> list[dict[str, str]]:
    """Return the rows of a page's known optima."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(text: str) -> Numbers:
    """Return fractions that are separated by blanks."""
    return [Fraction(one) for one in text.split()]

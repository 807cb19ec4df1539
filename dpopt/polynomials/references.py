"""Best approximation on points of 0..k by exchange: a levelled error on few points, and one point exchanged at a time.

Write n = t + 2 for the number of nodes: t + 2 points where the error counts, or t + 1 of them and the point 0 where the
value there is kept. With the weights W_i = 1 / prod_{j != i} (s_i - s_j), whose signs alternate, sum_i W_i p(s_i) = 0 for
all p of degree <= t. So there is one polynomial whose error has one size on all nodes (0 at the point that is kept) and
the signs of W,

    E = sum_i W_i f(s_i) / sum_i |W_i|     (the sum below without the kept point)

and no polynomial has a smaller largest error on these nodes than |E|. If its largest error on 0..k is |E| too, it is the
best. If not, the point with the largest error enters, and the neighbour whose error has the same sign leaves: |E| rises
strictly, so that the exchange ends whatever it began with (single-point exchange of Remez; the dual simplex method).

`level` computes all this in whole numbers. `float_reference` exchanges in floating-point numbers, from points spaced like
those of a Chebyshev polynomial, to begin near the end: it decides nothing.

Source: de la Vallee Poussin (1919); Remez (1934); Powell (1981), "Approximation theory and methods", chapters 7 and 8.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.polynomials.certificates import Witness
from dpopt.polynomials.targets import Target

_CLOSE = 1e-9
_MOST_FLOAT_STEPS = 400


@dataclass(frozen=True, slots=True)
class Levelled:
    """The polynomial whose error is levelled on a reference.

    Attributes
    ----------
    reference : tuple of int
        Increasing points where the error counts.
    signs : tuple of int
        Sign of f - p at each; they alternate.
    size : Fraction
        |E|.
    witness : Witness
        Proves that no polynomial of the degree has a smaller error than `size`.
    errors : tuple of Fraction
        f(s) - p(s) for s = 0..k.
    """

    reference: tuple[int, ...]
    signs: tuple[int, ...]
    size: Fraction
    witness: Witness
    errors: tuple[Fraction, ...]


def level(target: Target, reference: Sequence[int], *, keeps_zero: bool) -> Levelled:
    """Return the levelled polynomial of a reference, in exact arithmetic.

    Parameters
    ----------
    target
        f.
    reference
        t + 2 increasing points of 0..k, or t + 1 of 1..k where the value at 0 is kept.
    keeps_zero
        Whether p(0) = f(0).
    """
    nodes = [0, *reference] if keeps_zero else list(reference)
    common = lcm(*(value.denominator for value in target.values))
    values = [value.numerator * (common // value.denominator) for value in target.values]
    products = [prod(s - other for other in nodes if other != s) for s in nodes]
    scale = lcm(*products)
    weights = [scale // product for product in products]
    counted = [0 if keeps_zero and s == 0 else abs(w) for s, w in zip(nodes, weights, strict=True)]
    total = sum(w * values[s] for w, s in zip(weights, nodes, strict=True))
    size = sum(counted)
    # In units of 1 / (common size): values of p at the nodes, times their weights.
    pulled = [
        w * (values[s] * size - (total if w > 0 else -total) * (one > 0))
        for w, s, one in zip(weights, nodes, counted, strict=True)
    ]
    errors = []
    level_signs = {s: (1 if w > 0 else -1) for s, w in zip(nodes, weights, strict=True)}
    for s in range(target.width + 1):
        if s in level_signs:
            kept = keeps_zero and s == 0
            errors.append(Fraction(0) if kept else Fraction(level_signs[s] * total, common * size))
            continue
        whole = prod(s - node for node in nodes)
        value = sum(one * (whole // (s - node)) for one, node in zip(pulled, nodes, strict=True))
        errors.append(Fraction(values[s] * size * scale - value, common * size * scale))
    flip = -1 if total < 0 else 1
    signs = tuple(flip * level_signs[s] for s in reference)
    witness = Witness(tuple(nodes), tuple(Fraction(flip * w, size) for w in weights))
    return Levelled(tuple(reference), signs, Fraction(abs(total), common * size), witness, tuple(errors))


def exchanged(reference: Sequence[int], signs: Sequence[int], entering: int, sign: int) -> tuple[int, ...]:
    """Return the reference with a point taken in for one of its neighbours, so that signs still alternate.

    Parameters
    ----------
    reference, signs
        Increasing points, and the sign of the error at each.
    entering, sign
        A point that is not among them, and the sign of its error.
    """
    place = bisect_left(reference, entering)
    points = list(reference)
    if place == 0 and signs[0] != sign:
        return (entering, *points[:-1])
    if place == len(points) and signs[-1] != sign:
        return (*points[1:], entering)
    if place == len(points) or (place > 0 and signs[place - 1] == sign):
        place -= 1
    points[place] = entering
    return tuple(points)


def spread_reference(first: int, last: int, number: int) -> tuple[int, ...]:
    """Return `number` distinct points of first..last, dense towards both ends as those of a Chebyshev polynomial are."""
    angles = np.linspace(0.0, np.pi, number) if number > 1 else np.array([np.pi])
    ideal = first + (last - first) * (1.0 - np.cos(angles)) / 2.0
    points = [round(float(one)) for one in ideal]
    for place in range(1, number):
        points[place] = max(points[place], points[place - 1] + 1)
    points[-1] = min(points[-1], last)
    for place in range(number - 2, -1, -1):
        points[place] = min(points[place], points[place + 1] - 1)
    return tuple(points)


def float_reference(target: Target, start: Sequence[int], *, keeps_zero: bool) -> tuple[int, ...]:
    """Return the reference at which an exchange in floating-point arithmetic stops, or comes to nothing."""
    values = np.array([float(value) for value in target.values])
    reference = tuple(start)
    for _ in range(_MOST_FLOAT_STEPS):
        errors, size, signs = _float_level(values, reference, keeps_zero=keeps_zero)
        sizes = np.abs(errors)
        sizes[list(reference)] = 0.0
        entering = int(sizes.argmax())
        if not sizes[entering] > size * (1 + _CLOSE) + 1e-15:
            break
        reference = exchanged(reference, signs, entering, 1 if errors[entering] > 0 else -1)
    return reference


def _float_level(
    values: NDArray[np.float64], reference: Sequence[int], *, keeps_zero: bool
) -> tuple[NDArray[np.float64], float, list[int]]:
    """Return errors on 0..k, |E| and the signs at the reference; the barycentric formula."""
    nodes = np.array([0, *reference] if keeps_zero else reference)
    unit = values.size / 4.0  # keeps the products near 1
    gaps = (nodes[:, None] - nodes[None, :]) / unit
    np.fill_diagonal(gaps, 1.0)
    weights = 1.0 / gaps.prod(axis=1)
    counted = np.ones(nodes.size)
    if keeps_zero:
        counted[0] = 0.0
    error = float((weights * values[nodes]).sum() / (np.abs(weights) * counted).sum())
    at_nodes = values[nodes] - np.sign(weights) * counted * error
    others = np.setdiff1d(np.arange(values.size), nodes)
    shares = weights / (others[:, None] - nodes[None, :])
    errors = np.zeros(values.size)
    errors[others] = values[others] - (shares * at_nodes).sum(axis=1) / shares.sum(axis=1)
    flip = -1.0 if error < 0 else 1.0
    signs = (flip * np.sign(weights[int(keeps_zero) :])).astype(int).tolist()
    return errors, abs(error), signs

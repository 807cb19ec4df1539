"""Best approximations on 0..k, and least degrees for an error, each with a proof in exact arithmetic.

(i) For a degree t: the polynomial with the least largest error on 0..k (`best_polynomial`). (ii) For an error: the
least degree that some polynomial of at most this error has (`least_degree`); the witness of the degree below shows that
none of it has.

Both are found by exchange: a levelled error on few points, and one point exchanged at a time. The exchange may begin
with any points: Chebyshev-like ones, or those where the answer of a linear program has its largest errors. So a wrong
answer of a solver costs time and nothing else.

The levelled error: write n = t + 2 for the number of nodes: t + 2 points where the error counts, or t + 1 of them and
the point 0 where the value there is kept. With the weights W_i = 1 / prod_{j != i} (s_i - s_j), whose signs alternate,
sum_i W_i p(s_i) = 0 for all p of degree <= t. So there is one polynomial whose error has one size on all nodes (0 at
the point that is kept) and the signs of W,

    E = sum_i W_i f(s_i) / sum_i |W_i|     (the sum below without the kept point)

and no polynomial has a smaller largest error on these nodes than |E|. If its largest error on 0..k is |E| too, it is
the best. If not, the point with the largest error enters, and the neighbour whose error has the same sign leaves: |E|
rises strictly, so that the exchange ends whatever it began with (single-point exchange of Remez; the dual simplex
method).

`level` does this in whole numbers. `float_reference` exchanges in floating-point numbers, from points spaced like those
of a Chebyshev polynomial, to begin near the end: it decides nothing.

Source: de la Vallee Poussin (1919); Remez (1934); Powell (1981), "Approximation theory and methods", chapters 7 and 8.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.files.codec import decode, encode
from dpopt.files.json_files import read_json_object, write_json_object
from dpopt.files.written_files import check_replaceable
from dpopt.polynomials.certificates import Problem, Solution, Witness, about, lower_bound, verify
from dpopt.polynomials.constructions import chebyshev_degree
from dpopt.polynomials.polynomial import Polynomial
from dpopt.polynomials.solver_answers import linear_solver, solver_answer
from dpopt.polynomials.targets import AT_LEAST, OR, Target
from dpopt.programs.solver import Solver


def best_polynomial(
    target: Target,
    degree: int,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
    start: Sequence[int] | None = None,
) -> Solution:
    """Return the polynomial of at most a degree whose largest error on 0..k is least, with its witness.

    minimize max_s |f(s) - p(s)| over p of degree <= t, with p(0) = f(0) unless the constant is free
    (models/minimax_polynomial).

    Parameters
    ----------
    target
        f.
    degree
        t, from 0 to k.
    free_constant
        Whether p(0) may differ from f(0); left out: for all targets but OR.
    solver
        A solver of linear programs whose answer the exchange begins with; None: Chebyshev-like points.
    start
        A reference to begin with instead; increasing points, of which as many as are needed are used.
    """
    problem = minimax_problem(target, degree, free_constant=free_constant)
    if solver is not None:
        linear_solver(solver)
    needed, first = degree + 2 - problem.first, problem.first
    if needed > target.width + 1 - first:
        return Solution(problem, Polynomial.through(target.width, target.values), Fraction(0), Witness((), ()))
    begin = tuple(start) if start is not None else _suggested(problem, needed, solver)
    if len(set(begin)) != needed or not all(first <= s <= target.width for s in begin):
        begin = float_reference(target, spread_reference(first, target.width, needed), keeps_zero=problem.keeps_zero)
    found = level(target, sorted(begin), keeps_zero=problem.keeps_zero)
    while True:
        entering = max(range(target.width + 1), key=lambda s: abs(found.errors[s]))
        worst = found.errors[entering]
        if abs(worst) == found.size:
            break
        reference = exchanged(found.reference, found.signs, entering, 1 if worst > 0 else -1)
        found = level(target, reference, keeps_zero=problem.keeps_zero)
    values = [f - error for f, error in zip(target.values, found.errors, strict=True)]
    return Solution(problem, Polynomial.through(target.width, values[: degree + 1]), found.size, found.witness)


def minimax_problem(target: Target, degree: int, *, free_constant: bool | None = None) -> Problem:
    """Return the problem that `best_polynomial` solves."""
    keeps_zero = target.keeps_zero if free_constant is None else not free_constant
    return Problem(target, degree, keeps_zero)


def _suggested(problem: Problem, needed: int, solver: str | Solver | None) -> tuple[int, ...]:
    """Return the points where a solver's polynomial has its largest errors; none without a solver, or without an answer."""
    found = None if solver is None else solver_answer(problem, solver).polynomial
    if found is None:
        return ()
    errors = found.errors(problem.target)
    counted = sorted(range(problem.first, problem.target.width + 1), key=lambda s: (-abs(errors[s]), s))
    return tuple(sorted(counted[:needed]))


@dataclass(frozen=True, slots=True)
class LeastDegree:
    """The least degree with at most an error, and the proof that no smaller one has it."""

    error_limit: Fraction
    """The largest error allowed."""
    best: Solution
    """The best polynomial of the least degree."""
    below: Witness | None
    """Proves that polynomials of one degree less err by more; None where the degree is 0."""

    @property
    def degree(self) -> int:
        """The least degree."""
        return self.best.problem.degree


def least_degree(
    target: Target,
    error_limit: Fraction,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
    start: int = 0,
) -> LeastDegree:
    """Return the least degree of a polynomial whose largest error on 0..k is at most a limit, with proofs of both sides.

    Parameters
    ----------
    target, free_constant, solver
        As of `best_polynomial`.
    error_limit
        0 or more.
    start
        A degree to begin with, from 0 to k; it decides nothing but the time.
    """
    if error_limit < 0:
        raise PolynomialError(f"found the error {about(error_limit)}; expected 0 or more")
    degree = min(start, target.width)
    found: dict[int, Solution] = {}
    while True:
        for near in (degree, degree - 1):
            if near >= 0 and near not in found:
                found[near] = best_polynomial(target, near, free_constant=free_constant, solver=solver)
        if found[degree].objective > error_limit:
            degree += 1
        elif degree and found[degree - 1].objective <= error_limit:
            degree -= 1
        else:
            return LeastDegree(error_limit, found[degree], found[degree - 1].witness if degree else None)


def verify_least_degree(found: LeastDegree) -> None:
    """Check in exact arithmetic that the degree suffices and that one degree less does not; trusts nothing."""
    verify(found.best)
    problem = found.best.problem
    if any(problem.weights) or problem.error_limit is not None or problem.coefficient_limit is not None:
        raise PolynomialError("the problem is none of best approximation")
    if found.best.objective > found.error_limit:
        raise PolynomialError(f"the error is {about(found.best.objective)}, above {about(found.error_limit)}")
    if found.degree == 0:
        return
    if found.below is None:
        raise PolynomialError(f"nothing shows that degree {found.degree - 1} does not suffice")
    lower = replace(problem, degree=found.degree - 1, weights=())
    if lower_bound(lower, found.below) <= found.error_limit:
        raise PolynomialError(f"the witness does not show that degree {found.degree - 1} errs by more than the limit")


_CLOSE = 1e-9

_MOST_FLOAT_STEPS = 400


@dataclass(frozen=True, slots=True)
class Levelled:
    """The polynomial whose error is levelled on a reference."""

    reference: tuple[int, ...]
    """Increasing points where the error counts."""
    signs: tuple[int, ...]
    """Sign of f - p at each; they alternate."""
    size: Fraction
    """|E|."""
    witness: Witness
    """Proves that no polynomial of the degree has a smaller error than `size`."""
    errors: tuple[Fraction, ...]
    """f(s) - p(s) for s = 0..k."""


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
    """Return errors on 0..k, |E| and the signs at the reference.

    By the first barycentric formula: the second one divides by a sum that can cancel to 0 where nearly all points are
    nodes.
    """
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
    away = (others[:, None] - nodes[None, :]) / unit
    errors = np.zeros(values.size)
    errors[others] = values[others] - away.prod(axis=1) * (weights * at_nodes / away).sum(axis=1)
    flip = -1.0 if error < 0 else 1.0
    signs = (flip * np.sign(weights[int(keeps_zero) :])).astype(int).tolist()
    return errors, abs(error), signs


ERRORS = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100))


@dataclass(frozen=True, slots=True)
class DegreeEntry:
    """One entry: the least degree with its proof, and the degree of the closed form, for OR only."""

    predicate: str
    width: int
    found: LeastDegree
    chebyshev: int | None


def degree_table(
    predicate: str,
    widths: Sequence[int],
    errors: Sequence[Fraction] = ERRORS,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
) -> Iterator[DegreeEntry]:
    """Yield the least degree for each error and each k, in this order; every proof has been checked by `verify_least_degree`.

    Parameters
    ----------
    predicate
        "or", "and" or "atleast:R"; values of k below R are left out.
    widths
        Values of k. The degree at one k is where the search begins at the next, so that increasing values are fast.
    errors
        Largest errors allowed, >= 0.
    free_constant, solver
        As of `best_polynomial`.
    """
    least = int(predicate.removeprefix(AT_LEAST)) if predicate[len(AT_LEAST) :].isdecimal() else 1
    if not any(width >= least for width in widths):
        raise PolynomialError(f"found no k of at least {least}, which {predicate!r} needs")
    for error in errors:
        degree = 0
        for width in widths:
            if width < least:
                continue
            target = Target.named(predicate, width)
            found = least_degree(target, error, free_constant=free_constant, solver=solver, start=degree)
            verify_least_degree(found)
            degree = found.degree
            closed = chebyshev_degree(width, error) if target.name == OR else None
            yield DegreeEntry(predicate, width, found, closed)


HEADER = {"dpopt_polynomial": 1}


def write_solution(found: Solution | LeastDegree, path: str | os.PathLike[str]) -> None:
    """Write a solution, or a least degree, as JSON; every number that matters is a fraction as text."""
    check_replaceable(path, b'{"dpopt_polynomial"', "polynomial of dpopt")
    write_json_object(path, encode(found, HEADER))


def read_solution(path: str | os.PathLike[str]) -> Solution | LeastDegree:
    """Read what `write_solution` wrote, and verify it in exact arithmetic."""
    given, place = (read_json_object(path, "polynomial", PolynomialError), f"polynomial file {os.fspath(path)!r}")
    if "best" not in given:
        solution = decode(Solution, given, place, PolynomialError, header=HEADER)
        verify(solution)
        return solution
    degree = decode(LeastDegree, given, place, PolynomialError, header=HEADER)
    verify_least_degree(degree)
    return degree

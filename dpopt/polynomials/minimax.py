"""Best approximations on 0..k, and least degrees for an error, each with a proof in exact arithmetic.

(i) For a degree t: the polynomial with the least largest error on 0..k (`best_polynomial`). (ii) For an error: the
least degree that some polynomial of at most this error has (`least_degree`); the witness of the degree below shows that
none of it has.

Both are found by exchange: a levelled error on few points, which are exchanged until no error is larger. The exchange
can begin with any points: those where a solver's answer to the linear program has its largest errors, which are the
basis of the program, or Chebyshev-like ones. So a wrong answer of a solver costs time and nothing else.

The levelled error: write n = t + 2 for the number of nodes: t + 2 points where the error counts, or t + 1 of them and
the point 0 where the value there is kept. With the weights W_i = 1 / prod_{j != i} (s_i - s_j), whose signs alternate,
sum_i W_i p(s_i) = 0 for all p of degree <= t. So there is one polynomial whose error has one size on all nodes (0 at
the point that is kept) and the signs of W,

    E = sum_i W_i f(s_i) / sum_i |W_i| / v_i     (the sum below without the kept point)

where errors count v_i times (1 if not given), and no polynomial has a smaller largest error on these nodes than |E|. If
its largest error on 0..k is |E| too, it is the best. If not, the largest errors of alternating signs are the next nodes:
|E| rises strictly, so that the exchange ends whatever it began with, within ten steps for most problems (Remez's second
algorithm). `level` does this in whole numbers.

Source: de la Vallee Poussin (1919); Remez (1934); Powell (1981), "Approximation theory and methods", chapters 7 and 8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

import numpy as np

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
    target: Target, degree: int, *, free_constant: bool | None = None, solver: str | Solver | None = None
) -> Solution:
    """Return the polynomial of at most a degree whose largest error on 0..k is least, with its witness.

    minimize max_s v_s |f(s) - p(s)| over p of degree <= t, with p(0) = f(0) unless the constant is free
    (models/minimax_polynomial); v are the target's weights.

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
    """
    problem = minimax_problem(target, degree, free_constant=free_constant)
    if solver is not None:
        linear_solver(solver)
    needed, counted = degree + 2 - problem.first, problem.counted
    if needed > len(counted):
        points = (*range(problem.first), *counted)
        exact = Polynomial.through(target.width, [target.values[s] for s in points], points)
        return Solution(problem, exact, Fraction(0), Witness((), ()))
    spread = tuple(counted[place] for place in spread_reference(0, len(counted) - 1, needed))
    found = levelled_optimum(
        target, _solver_reference(problem, needed, solver) or spread, keeps_zero=problem.keeps_zero
    )
    values = [f - error * found.unit for f, error in zip(target.values, found.errors, strict=True)][: degree + 1]
    return Solution(problem, Polynomial.through(target.width, values), found.size, found.witness)


def minimax_problem(target: Target, degree: int, *, free_constant: bool | None = None) -> Problem:
    """Return the problem that `best_polynomial` solves."""
    keeps_zero = target.keeps_zero if free_constant is None else not free_constant
    return Problem(target, degree, keeps_zero)


def _solver_reference(problem: Problem, needed: int, solver: str | Solver | None) -> tuple[int, ...]:
    """Return the points where a solver's polynomial has its largest errors; none without a solver or an answer."""
    found = None if solver is None else solver_answer(problem, solver).polynomial
    if found is None:
        return ()
    errors, weights = found.errors(problem.target), problem.target.weights
    largest = sorted(problem.counted, key=lambda s: (-weights[s] * abs(errors[s]), s))
    return tuple(sorted(largest[:needed]))


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
    """Return the least degree of a polynomial whose error on 0..k is at most a limit, with proofs of both sides.

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


@dataclass(frozen=True, slots=True)
class Levelled:
    """The polynomial whose error is levelled on a reference."""

    reference: tuple[int, ...]
    """Increasing points where the error counts."""
    signs: tuple[int, ...]
    """Sign of f - p at each; they alternate."""
    level: int
    """|E|, in units."""
    errors: tuple[int, ...]
    """f(s) - p(s) for s = 0..k, in units."""
    weighted: tuple[int, ...]
    """The same times v_s, in units."""
    unit: Fraction
    """Of the errors."""
    witness: Witness
    """Proves that no polynomial of the degree has an error below |E|."""

    @property
    def size(self) -> Fraction:
        """|E|."""
        return self.level * self.unit


def levelled_optimum(target: Target, reference: Sequence[int], *, keeps_zero: bool) -> Levelled:
    """Return the levelled polynomial that no exchange betters, from any reference; arguments as of `level`."""
    found = level(target, reference, keeps_zero=keeps_zero)
    while max(map(abs, found.weighted)) > found.level:
        found = level(target, exchange(found), keeps_zero=keeps_zero)
    return found


def level(target: Target, reference: Sequence[int], *, keeps_zero: bool) -> Levelled:
    """Return the levelled polynomial of a reference, in exact arithmetic.

    The reference has t + 2 increasing points of 0..k where errors count, or t + 1 of 1..k where the value at 0 is kept.
    """
    nodes = [0, *reference] if keeps_zero else list(reference)
    common = lcm(*(value.denominator for value in target.values))
    values = [value.numerator * (common // value.denominator) for value in target.values]
    products = [prod(s - other for other in nodes if other != s) for s in nodes]
    scale = lcm(*products)
    weights = [scale // product for product in products]
    wholes = lcm(*(one.denominator for one in target.weights))
    emphasis = [int(one * wholes) for one in target.weights]  # v, in whole numbers
    multiple = lcm(*(one for one in emphasis if one))
    room = [multiple // one if one else 0 for one in emphasis]  # how large an error may be, in proportion: 1 / v
    if keeps_zero:
        room[0] = 0
    total = sum(w * values[s] for w, s in zip(weights, nodes, strict=True))
    size = sum(abs(w) * room[s] for w, s in zip(weights, nodes, strict=True))
    level_errors = {s: (total if w > 0 else -total) * room[s] for s, w in zip(nodes, weights, strict=True)}
    # In units of 1 / (common size): values of p at the nodes, times their weights.
    pulled = [w * (values[s] * size - level_errors[s]) for s, w in zip(nodes, weights, strict=True)]
    whole = lcm(*range(1, target.width + 1))
    part = {gap: whole // gap for gap in range(-target.width, target.width + 1) if gap}
    errors = []
    for s, value in enumerate(values):
        if s in level_errors:
            errors.append(level_errors[s] * scale)
            continue
        away = [s - node for node in nodes]
        shares = sum(one * part[gap] for one, gap in zip(pulled, away, strict=True))
        errors.append(value * size * scale - prod(away) * shares // whole)
    flip = -1 if total < 0 else 1
    level_signs = {s: flip if w > 0 else -flip for s, w in zip(nodes, weights, strict=True)}
    signs, level_size = tuple(level_signs[s] for s in reference), abs(total) * scale * multiple
    weighted = tuple(error * one for error, one in zip(errors, emphasis, strict=True))
    witness = Witness(tuple(nodes), tuple(Fraction(flip * w * multiple, size * wholes) for w in weights))
    unit, errors = Fraction(1, common * size * scale * wholes), [error * wholes for error in errors]
    return Levelled(tuple(reference), signs, level_size, tuple(errors), weighted, unit, witness)


def exchange(found: Levelled) -> tuple[int, ...]:
    """Return the next reference: of each run of errors of one sign, among those of at least |E|, the largest.

    Points are left out at the ends, the one with the smaller error first, until there are as many as before; so signs
    alternate, the largest error of all is kept, and the levelled error rises.
    """
    signs = dict(zip(found.reference, found.signs, strict=True))
    points: list[int] = []
    sign_before = 0
    for s, error in enumerate(found.weighted):
        sign = signs.get(s, (error > 0) - (error < 0))
        if not sign or abs(error) < found.level:
            continue
        if sign != sign_before:
            points.append(s)
        elif abs(error) > abs(found.weighted[points[-1]]):
            points[-1] = s
        sign_before = sign
    while len(points) > len(found.reference):
        points.pop(0 if abs(found.weighted[points[0]]) <= abs(found.weighted[points[-1]]) else -1)
    return tuple(points)


def spread_reference(first: int, last: int, number: int) -> tuple[int, ...]:
    """Return `number` distinct points of first..last, dense at both ends as those of Chebyshev polynomials."""
    angles = np.linspace(0.0, np.pi, number) if number > 1 else np.array([np.pi])
    ideal = first + (last - first) * (1.0 - np.cos(angles)) / 2.0
    points = [round(float(one)) for one in ideal]
    for place in range(1, number):
        points[place] = max(points[place], points[place - 1] + 1)
    points[-1] = min(points[-1], last)
    for place in range(number - 2, -1, -1):
        points[place] = min(points[place], points[place + 1] - 1)
    return tuple(points)


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
    """Yield the least degree for each error and each k, in this order, checked by `verify_least_degree`.

    Predicates are "or", "and" or "atleast:R", where values of k below R are left out. The degree at one k is where the
    search begins at the next, so that increasing `widths` are fast. Errors are >= 0, options as of `best_polynomial`.
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
    """Read the output of `write_solution`, and verify it in exact arithmetic."""
    given, place = (read_json_object(path, "polynomial", PolynomialError), f"polynomial file {os.fspath(path)!r}")
    if "best" not in given:
        solution = decode(Solution, given, place, PolynomialError, header=HEADER, partial=True)
        verify(solution)
        return solution
    degree = decode(LeastDegree, given, place, PolynomialError, header=HEADER, partial=True)
    verify_least_degree(degree)
    return degree

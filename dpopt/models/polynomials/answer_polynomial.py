"""The polynomial that answers a query from noisy counts of conjunctions: least approximation and noise together.

Of a query's conditions k are counted as they are asked for, and l only with their negations. With s of the former true,
and u of the latter true as counted (false as asked), the exact answer is f(s, u), and a_ij C(s, i) C(u, j) is what
conjunctions of i and j of the counted literals give:

    minimize   gamma + zeta (sum_{i+j>=1} a_ij^2 u_ij^2)^(1/2)                                     (AQ-3)
    subject to |sum_ij a_ij C(s, i) C(u, j) - f(s, u)| <= gamma  for each pair (s, u) that occurs  (AQ-4)

u_ij^2 is the variance of the noise that the query sums up at (i, j) if a_ij = 1, and zeta how many standard deviations
count; a_ij = 0 where conjunctions of i + j literals were not counted. With l = 0, u = 0 and a_i, u_i for a_i0, u_i0 it
is

    minimize   gamma + zeta (sum_{i=1..t} a_i^2 u_i^2)^(1/2)                            (AQ-1)
    subject to |a_0 + sum_{i=1..t} a_i C(s, i) - f(s)| <= gamma  for each s that occurs (AQ-2)

All are of the form

    minimize   gamma + (sum_c w_c^2 x_c^2)^(1/2)   subject to   |sum_c P_mc x_c - v_m| <= gamma  for each point m,

a convex program (a cone and two rows for each point), which is solved by sequential quadratic programs (SLSQP of SciPy).
Nothing that is found is believed: gamma is evaluated anew, in exact arithmetic, from the coefficients that are
returned, rounded to dyadic rationals first. Whatever the search did, the stated bound holds.

Source: Thaler, Ullman and Vadhan 2012 (Section 4.1) for the polynomial; the program is our own. Tests compare with
CVXPY.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, inf, isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Answer, Model
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone
from dpopt.programs.solver import Solver

_STEPS, _CLOSE = 300, 1e-12  # of the search
_BITS = 60  # coefficients are whole multiples of 2^-60


def candidates(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    prefixes: Sequence[int] | None = None,
) -> list[NDArray[np.float64]]:
    """Return coefficients to choose from: the best constant, least squares in the first columns, the search's result.

    `points` (m, c) is P, whose first column is 1, `values` (m,) v, `weights` (c,) w >= 0. Least squares are solved for
    these numbers of columns (`prefixes`), for all if left out.
    """
    found = []
    for degree in prefixes or range(1, points.shape[1] + 1):
        start = np.zeros(points.shape[1])
        start[:degree] = np.linalg.lstsq(points[:, :degree], values, rcond=None)[0]
        found.append(start)
    middle = np.zeros(points.shape[1])
    middle[0] = (values.max() + values.min()) / 2.0
    # In a basis in which all directions matter as much, to the points and the noise together.
    basis, change = np.linalg.qr(np.vstack((points, np.diag(weights))))
    ended = _least_bound(basis[: len(points)], values, basis[len(points) :])
    return [middle, *found, np.linalg.solve(change, ended)]


def _least_bound(
    points: NDArray[np.float64], values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return x with the least gamma + |weights x|, gamma >= |points x - values|, from least squares with both on."""
    from scipy.optimize import LinearConstraint, minimize

    ones = np.ones((len(points), 1))
    rows, right = np.block([[-points, ones], [points, ones]]), np.concatenate((-values, values))

    def bound(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        noise = weights @ at[:-1]
        length = max(float(np.linalg.norm(noise)), 1e-150)
        return float(at[-1]) + length, np.append(weights.T @ noise / length, 1.0)

    start = points.T @ values  # points and weights together have orthonormal columns
    found = minimize(
        bound,
        np.append(start, np.abs(points @ start - values).max()),
        jac=True,
        method="SLSQP",
        constraints=LinearConstraint(rows, right),
        options={"maxiter": _STEPS, "ftol": _CLOSE},
    )
    return np.asarray(found.x[:-1]) if np.isfinite(found.x).all() else start


LARGEST_QUERY = 64
DENOMINATORS = 2**60, 2**20
"""Of candidate coefficients: as they are found, and rounded, which makes inclusion and exclusion exact."""


@dataclass(frozen=True, slots=True)
class AnswerPolynomial:
    """How noisy counts become an answer."""

    table: tuple[tuple[float, ...], ...]
    """a_ij, rows i and columns j, each exact as a Fraction; the last row is that of the largest size that was counted."""
    approximation: float
    """gamma, the largest difference to f over the numbers or pairs that occur, rounded up."""
    deviation: float
    """The standard deviation of the answer's noise."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """a_0, ..., a_t where no condition is counted with its negation."""
        return tuple(row[0] for row in self.table)

    def bound(self, zeta: float) -> float:
        """Return AQ-1, or AQ-3."""
        return self.approximation + zeta * self.deviation

    def terms(self) -> list[tuple[int, int, float]]:
        """Return i, j and a_ij where that is not 0, without the constant."""
        return [(i, j, value) for i, row in enumerate(self.table) for j, value in enumerate(row) if i + j and value]


def best_answer(
    target: tuple[Fraction | None, ...],
    deviations: NDArray[np.float64],
    zeta: float,
    solver: str | Solver | None = None,
) -> AnswerPolynomial:
    """Return the polynomial of least bound for a query all of whose conditions are counted as they are asked for.

    `target` is f(0), ..., f(k), None where so many true literals cannot occur; `deviations` (t,) are u_1, ..., u_t,
    above 0, inf where no conjunction of a size was counted; zeta is above 0; the solver as of `best_mixed_answer`.
    """
    k, sizes = len(target) - 1, min(len(target) - 1, deviations.size)
    each = np.full((k + 1, 1), inf)
    each[1 : sizes + 1, 0] = deviations[:sizes]
    found = best_mixed_answer(tuple((value,) for value in target), each, zeta, solver)
    last = max([0, *(j for j in range(1, sizes + 1) if np.isfinite(deviations[j - 1]))])
    return replace(found, table=found.table[: last + 1])


def best_mixed_answer(
    target: tuple[tuple[Fraction | None, ...], ...],
    deviations: NDArray[np.float64],
    zeta: float,
    solver: str | Solver | None = None,
) -> AnswerPolynomial:
    """Return the polynomial of least bound.

    `target` (k + 1, l + 1) is f(s, u), None where a pair cannot occur; `deviations` (k + 1, l + 1) are u_ij, above 0,
    inf where conjunctions of i + j literals were not counted (that of (0, 0) is not used); zeta is above 0. A solver
    solves the model in place of the search; its coefficients are rounded, and gamma is exact for these, too.
    """
    k, l = len(target) - 1, len(target[0]) - 1  # noqa: E741  the page's letter
    occurring = [(s, u) for s, row in enumerate(target) for u, value in enumerate(row) if value is not None]
    noise = np.array(deviations, dtype=np.float64)
    if noise.shape == (k + 1, l + 1):
        noise[0, 0] = 1.0
    if (
        not occurring
        or not 1 <= k + l <= LARGEST_QUERY
        or noise.shape != (k + 1, l + 1)
        or not (noise > 0).all()
        or not 0 < zeta < inf
    ):
        raise ProgramError(
            f"answer polynomial: found {k} and {l} literals, deviations of shape {np.shape(deviations)} and zeta "
            f"{zeta!r}; expected 1 to {LARGEST_QUERY} literals, a deviation above 0 for each pair, and zeta above 0"
        )
    used = sorted(
        ((i, j) for i in range(k + 1) for j in range(l + 1) if i + j == 0 or np.isfinite(noise[i, j])),
        key=lambda pair: (sum(pair), pair),
    )
    exact = np.array([[comb(s, i) * comb(u, j) for i, j in used] for s, u in occurring], dtype=np.object_)
    wanted = [value for row in target for value in row if value is not None]
    largest = np.array([comb(k, i) * comb(l, j) for i, j in used], dtype=np.float64)
    weights = zeta * (np.array([0.0, *(noise[pair] for pair in used[1:])]) / largest)
    sizes = [i + j for i, j in used]
    degrees = [sum(size <= degree for size in sizes) for degree in sorted(set(sizes))]
    values = np.array(list(map(float, wanted)))
    choices = (
        candidates(exact.astype(np.float64) / largest, values, weights, degrees)
        if solver is None
        else [_by_solver(target, noise, zeta, used, solver) * largest]
    )
    found = []
    for scaled in choices:
        for denominator in DENOMINATORS:
            rounded = [
                float(Fraction(round(value), denominator)) for value in (scaled / largest * denominator).tolist()
            ]
            found.append(_stated(rounded, used, exact, wanted, noise))
    return min(found, key=lambda one: one.bound(zeta))


def _by_solver(
    target: tuple[tuple[Fraction | None, ...], ...],
    noise: NDArray[np.float64],
    zeta: float,
    used: list[tuple[int, int]],
    solver: str | Solver,
) -> NDArray[np.float64]:
    """Return the coefficients that a solver finds, in the order of `used`; those of the model stand row by row."""
    wanted = [[nan if value is None else float(value) for value in row] for row in target]
    found = answer_polynomial(wanted, noise, zeta).solve_for_release(solver).value["a"]
    place = {pair: number for number, pair in enumerate(sorted(used))}
    return np.array([found[place[pair]] for pair in used])


def _stated(
    rounded: list[float],
    used: list[tuple[int, int]],
    exact: NDArray[np.object_],
    wanted: list[Fraction],
    noise: NDArray[np.float64],
) -> AnswerPolynomial:
    whole = np.array([int(one * 2.0**_BITS) for one in rounded], dtype=np.object_)  # without remainder
    reached = (exact @ whole).tolist()
    worst = max(abs(Fraction(value, 2**_BITS) - one) for value, one in zip(reached, wanted, strict=True))
    table = [[0.0] * noise.shape[1] for _ in range(noise.shape[0])]
    for (i, j), value in zip(used, rounded, strict=True):
        table[i][j] = value
    variance = sum((value * float(noise[pair])) ** 2 for pair, value in zip(used[1:], rounded[1:], strict=True))
    return AnswerPolynomial(tuple(tuple(row) for row in table), float(worst) * (1 + 2**-50), sqrt(variance))


def answer_polynomial(target: ArrayLike, deviations: ArrayLike, zeta: float) -> Model:
    """Return the model of the polynomial of least bound: AQ-1 and AQ-2, or AQ-3 and AQ-4 for conditions of both kinds.

    Parameters
    ----------
    target : (k + 1,) or (k + 1, l + 1) float64
        f(s), or f(s, u); not a number where so many true literals cannot occur.
    deviations : (t,) or (k + 1, l + 1) float64
        u_1, ..., u_t, or u_ij (that of (0, 0) is not used), above 0; infinite or not a number where a size was not
        counted.
    zeta
        How many standard deviations count, above 0.

    Examples
    --------
    >>> found = answer_polynomial([0, 0, 1], [0.1, 0.5], 1.0).solve("clarabel")
    >>> round(found.objective, 4), found.value["a"].round(4).tolist()
    (0.2907, [-0.2333, 0.4667, 0.0667])
    """
    wanted, noise = np.array(target, dtype=np.float64), np.array(deviations, dtype=np.float64)
    single = wanted.ndim == 1
    if single and noise.ndim == 1:
        wanted = wanted[:, None]
        noise = np.concatenate((np.full(1, np.nan), noise, np.full(wanted.size, np.nan)))[: wanted.size, None]
    if wanted.ndim != 2 or wanted.shape != noise.shape or not np.isfinite(wanted).any() or not 0 < zeta < inf:
        raise ProgramError(
            f"answer polynomial: found targets of shape {np.shape(target)}, deviations of shape {np.shape(deviations)} "
            f"and zeta {zeta!r}; expected some f(s) or f(s, u), deviations that fit them, and zeta above 0"
        )
    noise[0, 0] = nan
    counted = np.isfinite(noise)
    if (noise <= 0).any() or np.isinf(wanted).any():
        raise ProgramError("answer polynomial: found a deviation that is not above 0, or an infinite target")
    if not counted.any():
        raise ProgramError("answer polynomial: found no size that was counted; expected some finite deviation")
    places = np.argwhere(np.isfinite(wanted))
    used = np.concatenate((np.zeros((1, 2), dtype=np.int64), np.argwhere(counted)))
    values, widths = wanted[tuple(places.T)], noise[tuple(used[1:].T)]
    powers = np.array(
        [[comb(s, i) * comb(u, j) for i, j in used.tolist()] for s, u in places.tolist()], dtype=np.float64
    )
    # The best constant has this bound, so no coefficient of the best polynomial goes beyond what it allows.
    most = float(values.max() - values.min()) / 2.0
    size = most / (zeta * widths)
    size = np.append(float(np.abs(values).max()) + most + float((powers[:, 1:] @ size).min(initial=np.inf)), size)

    def names(pairs: NDArray[np.int64]) -> list[str]:
        return [str(s) if single else f"{s},{u}" for s, u in pairs.tolist()]

    build, number = Builder(), len(places)
    gamma = build.variables("gamma", objective=1.0, upper=most)
    sigma = build.variables("sigma", objective=zeta, upper=most / zeta)
    a = build.variables("a", len(used), lower=-size, upper=size, inside=lambda: names(used))
    each, label = np.arange(number), "AQ-2" if single else "AQ-4"
    none = np.full(number, np.inf)
    build.rows(
        label,
        2 * number,
        (each[:, None], a[None, :], powers),
        (number + each[:, None], a[None, :], powers),
        (np.arange(2 * number), gamma, np.repeat([1.0, -1.0], number)),
        lower=np.concatenate((values, -none)),
        upper=np.concatenate((none, values)),
        inside=lambda: [f"{name},{side}" for side in ("above", "below") for name in names(places)],
    )
    terms = np.arange(widths.size)
    build.cones(
        "AQ-1" if single else "AQ-3", Cone.SECOND_ORDER, 1, 1 + widths.size, (0, sigma, 1.0), (1 + terms, a[1:], widths)
    )
    limits = np.where(counted, noise, np.inf)

    def by_search() -> Answer:
        exact = tuple(tuple(None if isnan(one) else Fraction(one) for one in row) for row in wanted.tolist())
        found = best_mixed_answer(exact, limits, zeta)
        best = np.array(found.table)[tuple(used.T)]
        return np.concatenate(([found.approximation, found.deviation], best)), None

    return Model.of("answer_polynomial", build, closed_form=by_search, method="slsqp")

"""Arrays of floating-point numbers as exact numbers: whole numerators over one power of two.

Every float64 is dyadic, so sums and products of a program's data are again exact. Numerators are int64 while a bound
computed beforehand shows that nothing overflows, and Python integers beyond that.

Bounds by weak duality, from any multipliers, in exact arithmetic: what a solver's word is not needed for.

Problem. maximize c . x subject to L <= A x <= U and l <= x <= u (integrality, if any, is left out: a relaxation).

Theorem (weak duality). For every vector y of row multipliers and every feasible x,

    c . x = sum_j (c - A'y)_j x_j + sum_i y_i (A x)_i
         <= sum_j max(r_j l_j, r_j u_j) + sum_i max(y_i L_i, y_i U_i),     r = c - A'y the reduced costs,

each maximum over the finite side that the sign of its factor selects, and no term where the factor is 0. The right-hand
side is a bound whatever y is; at an optimal dual solution of the linear relaxation it equals the relaxation's optimum
(strong duality). A minimization is the maximization of -c . x with -y.

So a solver's duals are only a suggestion: they are rounded to a grid, made to fit the rows that have one side only, and
the right-hand side is computed in whole numbers. No floating-point number enters the claim, and no solver's tolerance.

Source: e.g. Neumaier and Shcherbina (2004), "Safe bounds in linear and mixed-integer linear programming", section 2,
where directed rounding does what exact arithmetic does here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.programs.conic import ConicProgram
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram

Whole = NDArray[np.int64] | NDArray[np.object_]
"""Whole numbers: int64, or Python integers in an object array where those do not suffice."""

_ROOM = 2**62  # int64 holds what is smaller, and the sum of two such numbers
_MANTISSA = 53


@dataclass(frozen=True, slots=True, eq=False)
class Dyadic:
    """The numbers numerators[i] / 2**shift, exactly."""

    numerators: Whole
    """Flat array of whole numbers, int64 ones smaller than 2**62 in absolute value."""
    shift: int
    """Exponent of the common denominator, >= 0."""

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Dyadic:
        """Return finite float64 numbers as they are, without any rounding."""
        mantissa, exponent = np.frexp(values)
        scaled = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
        low = np.where(scaled == 0, 1, scaled & -scaled)  # the lowest bit that is set
        zeros = np.frexp(low.astype(np.float64))[1].astype(np.int64) - 1
        odd = scaled >> zeros
        power = np.where(scaled == 0, 0, exponent.astype(np.int64) - _MANTISSA + zeros)
        shift = max(0, -int(power.min(initial=0)))
        power = power + np.where(scaled == 0, 0, shift)
        if int((np.frexp(odd.astype(np.float64))[1] + power).max(initial=0)) < _ROOM.bit_length():
            return cls(odd << power, shift)
        return cls(odd.astype(np.object_) * 2 ** power.astype(np.object_), shift)

    @classmethod
    def whole(cls, numbers: Whole) -> Dyadic:
        """Return whole numbers as they are; int64 ones of 2**62 and more become Python integers."""
        return cls(numbers if _magnitude(numbers) < _ROOM else numbers.astype(np.object_), 0)

    def take(self, index: NDArray[np.int32] | NDArray[np.int64]) -> Dyadic:
        """Return the numbers at these places."""
        return Dyadic(self.numerators[index], self.shift)

    def times(self, other: Dyadic) -> Dyadic:
        """Return the products, element by element."""
        small = _magnitude(self.numerators) * _magnitude(other.numerators) < _ROOM
        one, two = _alike(self.numerators, other.numerators, small=small)
        return Dyadic(one * two, self.shift + other.shift)

    def scaled(self, factor: int) -> Dyadic:
        """Return the numbers multiplied by a whole number."""
        small = max(1, _magnitude(self.numerators)) * abs(factor) < _ROOM
        return Dyadic((self.numerators if small else self.numerators.astype(np.object_)) * factor, self.shift)

    def minus(self, other: Dyadic) -> Dyadic:
        """Return the differences, element by element."""
        shift = max(self.shift, other.shift)
        mine = self.scaled(2 ** (shift - self.shift)).numerators
        theirs = other.scaled(2 ** (shift - other.shift)).numerators
        one, two = _alike(mine, theirs, small=_magnitude(mine) + _magnitude(theirs) < _ROOM)
        return Dyadic(one - two, shift)

    def sum_by(self, owner: NDArray[np.int32] | NDArray[np.int64], size: int) -> Dyadic:
        """Return the sums of the numbers of each owner 0 to size - 1, (size,)."""
        small = _magnitude(self.numerators) * max(1, self.numerators.size) < _ROOM
        terms = self.numerators if small else self.numerators.astype(np.object_)
        sums: Whole = np.zeros(size, np.int64) if terms.dtype == np.int64 else np.zeros(size, np.object_)
        np.add.at(sums, owner, terms)
        return Dyadic(sums, self.shift)

    def total(self) -> Fraction:
        """Return the sum of all numbers."""
        alone = self.sum_by(np.zeros(self.numerators.size, dtype=np.int64), 1)
        return Fraction(int(alone.numerators[0]), 2**self.shift)

    def positive(self) -> NDArray[np.bool_]:
        """Return which numbers are above 0."""
        return np.asarray(self.numerators > 0, dtype=np.bool_)

    def negative(self) -> NDArray[np.bool_]:
        """Return which numbers are below 0."""
        return np.asarray(self.numerators < 0, dtype=np.bool_)


def _alike(one: Whole, two: Whole, *, small: bool) -> tuple[Whole, Whole]:
    return (one, two) if small else (one.astype(np.object_), two.astype(np.object_))


def _magnitude(numbers: Whole) -> int:
    """Return the largest absolute value, as a Python integer."""
    return max(int(numbers.max()), -int(numbers.min())) if numbers.size else 0


GRID = 2**8 * 3**2 * 5 * 7 * 11 * 13
"""Multipliers are rounded to multiples of 1 / 11,531,520: dual solutions at a vertex of a program with small whole
coefficients are fractions with small denominators, and those stay as they are."""

_FINEST = 28  # powers of two that the grid of convex programs may add

LARGEST_MULTIPLIER = 1e11
"""A multiplier beyond is taken as a solver's breakdown and replaced by 0 (which is as valid as any other)."""


def linear_relaxation(program: MixedIntegerProgram) -> MixedIntegerProgram:
    """Return the program without integrality; its optimum bounds that of the program."""
    if not program.integrality.any():
        return program
    return replace(program, integrality=freeze(np.zeros(program.number_of_variables, dtype=np.bool_)))


def dual_bound(program: MixedIntegerProgram, duals: NDArray[np.float64]) -> Fraction | None:
    """Return a bound on the optimum of the linear relaxation, hence of the program, that holds for any multipliers.

    It is an upper bound for a maximization, a lower one for a minimization: the exact right-hand side of the theorem
    above. `duals` (r,) are the changes of the optimum per unit of each row's active side; they are not trusted, and
    what is not finite counts as 0. Where rounding leaves reduced costs that push variables towards an infinite side, as
    many multipliers are changed, so that these costs are exactly 0 (project and shift: Steffy and Wolter 2013, "Valid
    linear programming bounds for exact mixed-integer programming"). None where that fails, so that these multipliers
    prove nothing.

    Source: weak duality; the statement and its proof are at the top of this file.
    """
    y, reduced = _reduced_costs(program, Dyadic.of(program.objective), duals, GRID)
    if np.isfinite(_side(program, reduced)).all():
        return _weak_duality(program, y, reduced, GRID)
    return _projected(program, duals)


_MOST_STUCK = 48
"""Most reduced costs that are made exactly 0: an exact system of this size takes some seconds."""


def _projected(program: MixedIntegerProgram, duals: NDArray[np.float64]) -> Fraction | None:
    """Return the bound of multipliers changed so that no reduced cost pushes a variable towards an infinite side."""
    grid = _fine_grid(duals)
    y, reduced = _reduced_costs(program, Dyadic.of(program.objective), duals, grid)
    stuck = np.flatnonzero(~np.isfinite(_side(program, reduced)))
    if not stuck.size:  # the finer grid alone makes them 0
        return _weak_duality(program, y, reduced, grid)
    while stuck.size <= min(_MOST_STUCK, program.number_of_rows):
        found = _shifted(program, y, reduced, stuck, grid)
        if found is None or isinstance(found, Fraction):
            return found
        stuck = np.union1d(stuck, found)  # costs that the change made push
    return None


def _shifted(
    program: MixedIntegerProgram, y: Dyadic, reduced: Dyadic, stuck: NDArray[np.int64], grid: int
) -> Fraction | NDArray[np.int64] | None:
    """Return the bound of multipliers changed so that these reduced costs are 0, or which others then push."""
    from scipy.linalg import qr

    matrix = program.matrix()
    block = matrix[:, stuck].toarray()
    # Rows with large multipliers: a small change of these keeps their signs.
    weights = np.abs(y.numerators.astype(np.float64))
    weighted = block * (weights + 1e-12 * max(1.0, float(weights.max(initial=0.0))))[:, None]
    triangle, order = qr(weighted.T, mode="r", pivoting=True)
    rows = np.asarray(order[: stuck.size], dtype=np.int64)
    missing = [Fraction(int(one), 2**reduced.shift) for one in reduced.numerators[stuck].tolist()]
    change = _exact_solution([[Fraction(one) for one in row] for row in block[rows].T.tolist()], missing)
    if not np.diag(triangle).all() or change is None:
        return None
    now = [Fraction(int(y.numerators[row]), 2**y.shift) + by for row, by in zip(rows.tolist(), change, strict=True)]
    sides = np.where([one > 0 for one in now], program.row_upper[rows], program.row_lower[rows])
    if not np.isfinite(sides[[one != 0 for one in now]]).all():
        return None
    entries = matrix[rows].tocoo()
    places, columns = (part.tolist() for part in entries.coords)
    cost = {one: Fraction(int(reduced.numerators[one]), 2**reduced.shift) for one in set(columns)}
    for place, column, value in zip(places, columns, entries.data.tolist(), strict=True):
        cost[column] -= change[place] * Fraction(value)
    touched = np.array(list(cost), dtype=np.int64)
    ends = np.where([one > 0 for one in cost.values()], program.upper[touched], program.lower[touched])
    pushing: NDArray[np.int64] = touched[~np.isfinite(ends) & np.array([one != 0 for one in cost.values()])]
    if pushing.size:
        return pushing
    changed = [*zip(now, sides.tolist(), strict=True), *zip(cost.values(), ends.tolist(), strict=True)]
    total = sum((one * Fraction(side) for one, side in changed if one), Fraction())
    kept, still = np.ones(y.numerators.size, dtype=np.bool_), np.ones(reduced.numerators.size, dtype=np.bool_)
    kept[rows], still[touched] = False, False
    rest = _weak_duality(
        program,
        Dyadic(np.where(kept, y.numerators, 0), y.shift),
        Dyadic(np.where(still, reduced.numerators, 0), reduced.shift),
        grid,
    )
    shifted: Fraction = rest + (1 if program.maximize else -1) * total / grid
    return shifted


def _exact_solution(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Return x with matrix x = right, by elimination in fractions; None if the square matrix is singular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next((row for row in range(place, len(rows)) if rows[row][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        head = rows[place]
        for row in rows[place + 1 :]:
            if row[place]:
                factor = row[place] / head[place]
                row[place:] = [a - factor * b for a, b in zip(row[place:], head[place:], strict=True)]
    found: list[Fraction] = [Fraction()] * len(rows)
    for place in reversed(range(len(rows))):
        known = sum((a * b for a, b in zip(rows[place][place + 1 : -1], found[place + 1 :], strict=True)), Fraction())
        found[place] = (rows[place][-1] - known) / rows[place][place]
    return found


def quadratic_bound(
    program: QuadraticProgram, point: NDArray[np.float64], duals: NDArray[np.float64], objective: Dyadic | None = None
) -> Fraction | None:
    """Return a lower bound on a convex quadratic program's optimum that holds for any point and multipliers.

    A square is at least its tangent: w z^2 / 2 >= p z - p^2 / (2 w) for every p. With p = w times the residuals at the
    point, the objective is at least a linear function, whose minimum `dual_bound`'s theorem bounds from below. At an
    optimal point with optimal multipliers the bound is the optimum. Where rounding leaves a reduced cost that pushes a
    variable towards an infinite side, p of a square of that variable alone, with coefficient 1 or -1, is changed by it,
    so that it is 0. The tangents touch at `point` (n,), any finite one; `duals` (r,) are as for `dual_bound`;
    `objective` (n,) stands in for the linear coefficients.
    """
    if point.shape != program.objective.shape or not np.isfinite(point).all():
        raise ProgramError(f"the point must hold {program.number_of_variables} finite numbers")
    linear = program.linear
    slope = Dyadic.of(program.residuals(point))  # rounded, which is as good as any other
    target, pull = Dyadic.of(program.targets), Dyadic.of(program.weights).times(slope)
    terms = Dyadic.of(program.square_coefficients).times(pull.take(program.square_of_entry()))
    costs = Dyadic.of(program.objective) if objective is None else objective
    gradient = costs.minus(terms.scaled(-1).sum_by(program.square_columns, program.number_of_variables))
    grid = _fine_grid(duals)
    y, reduced = _reduced_costs(linear, gradient, duals, grid)
    stuck = ~np.isfinite(_side(linear, reduced))
    square, sign = _own_squares(program)
    if (square[stuck] < 0).any():
        return None
    moved = square[stuck]
    change = reduced.take(np.flatnonzero(stuck)).times(Dyadic.whole(sign[stuck]))  # of p, in units of 1 / grid
    free = Dyadic(np.where(stuck, 0, reduced.numerators), reduced.shift)
    kept = np.ones(program.targets.size, dtype=np.bool_)
    kept[moved] = False
    rest = np.flatnonzero(kept)
    tangents = pull.take(rest).times(target.take(rest)).total()
    tangents += pull.take(rest).times(slope.take(rest)).total() / 2
    new = pull.take(moved).scaled(grid).minus(change.scaled(-1))
    tangents += new.times(target.take(moved)).total() / grid
    squares = _halved_squares(new, program.weights[moved], grid)
    return None if squares is None else _weak_duality(linear, y, free, grid) - tangents - squares


def conic_bound(program: ConicProgram, point: NDArray[np.float64], duals: NDArray[np.float64]) -> Fraction | None:
    """Return a lower bound on the optimum of a program with cones that holds for any point and multipliers.

    With z in the dual of the cones, z . (F x + constants) >= 0 for every feasible x, so that the objective is at least
    itself less that product: a quadratic program without cones, with c - F'z for c, less z . constants.

    Squares are touched by tangents at `point` (n,), any finite one. `duals` (r + m,) are multipliers of the rows, then
    of the members of cones; these are moved into the duals of their cones.
    """
    rows, members = program.linear.number_of_rows, program.constants.size
    if duals.shape != (rows + members,):
        raise ProgramError(f"there are {duals.size} multipliers; this program has {rows} rows and {members} members")
    z = Dyadic.of(program.proving(duals[rows:]))
    pulls = Dyadic.of(program.member_coefficients).times(z.take(program.member_of_entry()))
    costs = Dyadic.of(program.objective).minus(pulls.sum_by(program.member_columns, program.number_of_variables))
    rest = quadratic_bound(program.quadratic, point, duals[:rows], costs)
    return None if rest is None else rest - z.times(Dyadic.of(program.constants)).total()


def _own_squares(program: QuadraticProgram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each variable a square of it alone with coefficient 1 or -1, or -1 if there is none, and the coefficient."""
    alone = np.flatnonzero((np.diff(program.square_starts) == 1) & (program.weights > 0))
    entry = program.square_starts[alone]
    usable = np.abs(program.square_coefficients[entry]) == 1.0
    square = np.full(program.number_of_variables, -1, dtype=np.int64)
    sign = np.zeros(program.number_of_variables, dtype=np.int64)
    columns = program.square_columns[entry[usable]]
    square[columns] = alone[usable]
    sign[columns] = program.square_coefficients[program.square_starts[square[columns]]].astype(np.int64)
    return square, sign


def _halved_squares(pulls: Dyadic, weights: NDArray[np.float64], grid: int) -> Fraction | None:
    """Return the sum of p^2 / (2 w), for p in units of 1 / grid, rounded up; None if it is beyond every float."""
    unit = Fraction(1, grid * 2**pulls.shift)
    try:
        sizes = np.array([float(abs(one) * unit) for one in pulls.numerators.tolist()], dtype=np.float64)
    except OverflowError:
        return None
    with np.errstate(over="ignore"):
        # Four roundings of half a unit in the last place each, less than 2^-50 together; the last term is for underflow.
        shares = sizes / weights * sizes * (1.0 + 2.0**-50) + 1e-323
    return Dyadic.of(shares).total() / 2 if np.isfinite(shares).all() else None


def _reduced_costs(
    program: MixedIntegerProgram, objective: Dyadic, duals: NDArray[np.float64], grid: int
) -> tuple[Dyadic, Dyadic]:
    """Return multipliers of a maximization and the reduced costs that they leave, both in units of 1 / grid."""
    if duals.shape != program.row_lower.shape:
        raise ProgramError(
            f"there are {duals.size} multipliers of shape {duals.shape}; this program has {program.number_of_rows} rows"
        )
    sense = 1 if program.maximize else -1
    y = Dyadic.whole(_on_grid(program, sense * duals.astype(np.float64), grid))
    entries = Dyadic.of(program.coefficients).times(y.take(program.row_of_entry()))
    reduced = objective.scaled(sense * grid).minus(entries.sum_by(program.columns, program.number_of_variables))
    return y, reduced


def _side(program: MixedIntegerProgram, reduced: Dyadic) -> NDArray[np.float64]:
    """Return the bound of each variable towards which its reduced cost pushes; 0 where that is 0."""
    return np.where(reduced.positive(), program.upper, np.where(reduced.negative(), program.lower, 0.0))


def _weak_duality(program: MixedIntegerProgram, y: Dyadic, reduced: Dyadic, grid: int) -> Fraction:
    """Return the right-hand side of the theorem above; sides that count are finite."""
    row_side = np.where(y.positive(), program.row_upper, np.where(y.negative(), program.row_lower, 0.0))
    total = y.times(Dyadic.of(row_side)).total() + reduced.times(Dyadic.of(_side(program, reduced))).total()
    return (1 if program.maximize else -1) * total / grid


def _fine_grid(duals: NDArray[np.float64]) -> int:
    """Return a multiple of GRID as fine as int64 allows: duals of squares and cones are no small fractions."""
    usable = duals[np.isfinite(duals) & (np.abs(duals) <= LARGEST_MULTIPLIER)]
    largest = float(np.abs(usable).max(initial=1.0))
    return GRID << max(0, min(_FINEST, int(np.log2(_ROOM / (GRID * largest))) - 1))


def _on_grid(program: MixedIntegerProgram, multipliers: NDArray[np.float64], grid: int) -> NDArray[np.int64]:
    """Return multipliers of a maximization as whole multiples of 1 / grid that use finite sides of rows only."""
    usable = np.isfinite(multipliers) & (np.abs(multipliers) <= LARGEST_MULTIPLIER)
    whole: NDArray[np.int64] = np.rint(np.where(usable, multipliers, 0.0) * grid).astype(np.int64)
    whole[(whole > 0) & np.isposinf(program.row_upper)] = 0
    whole[(whole < 0) & np.isneginf(program.row_lower)] = 0
    return whole

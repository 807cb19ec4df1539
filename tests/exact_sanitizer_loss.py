"""Families of polynomials small enough to enumerate, and the exact privacy loss of the noisy sums of their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations, combinations_with_replacement
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.sanitizer_sums import CoefficientTable
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import LISTED, POWERS, SETS, Monomials
from dpopt.queries.polynomial_families import FunctionFamily, PolynomialFamily, SymmetricFamily, TableFamily
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan, plan_sanitizer
from tests.exact_counts_loss import ROWS, TinyTables, moves_between
from tests.exact_summary_loss import MIXED, UNIVERSES, held_literals, table_neighbours
from tests.tiny_runs import Record, dataset_of, universe

UNIT = 0.25
THREE = Monomials.of(2, [(), (0,), (0, 1)])


def symmetric(
    literals: ChosenLiterals, basis: str = SETS, weights: tuple[float, ...] = (0.5, -0.25)
) -> SymmetricFamily:
    """Return a family with coefficients of a few quarters."""
    number = literals.groups.literals
    made = Monomials.all_sets if basis == SETS else Monomials.all_powers
    return SymmetricFamily(f"a family in {basis}", literals, made(number, len(weights)), weights, 0.75, 2, 0.0)


def random_table() -> TableFamily:
    """Return coefficients from -0.75 to 0.75 of each of the six records of two attributes."""
    table = np.asarray(np.random.default_rng(5).integers(-3, 4, (6, 3)) * UNIT, dtype=np.float64)
    return TableFamily("a table", MIXED, THREE, table, 0.5, 1, 0.125)


Function = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def function_family(function: Function, **bounds: object) -> FunctionFamily:
    """Return a function of two attributes with an L1 norm of at most 1, three monomials."""
    given: dict[str, object] = {"norm": 1.0, **bounds}
    return FunctionFamily("a function", MIXED, THREE, function, **given)  # type: ignore[arg-type]


def modest(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Within the bounds."""
    one, two = codes.T
    return np.stack([0.5 * one, -0.25 * (two == 1), 0.25 * (two == 2)], axis=1)


def huge(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Far beyond any bound, by the record."""
    return np.stack([1e300 * codes[:, 0], -1e300 * codes[:, 1], 7.0 - codes[:, 1]], axis=1)


def not_a_number(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Not a number, or infinite, for some records."""
    found = modest(codes)
    found[:, 1] = np.where(codes[:, 1] == 1, np.nan, found[:, 1])
    found[:, 2] = np.where(codes[:, 1] == 2, np.inf, found[:, 2])
    return found


def writing(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Changes what it was given."""
    found = modest(codes)
    codes[:] = 0
    return found


FUNCTIONS: dict[str, Function] = {
    "modest": modest, "huge": huge, "not a number": not_a_number, "writing": writing
}  # fmt: skip
FAMILIES: dict[str, PolynomialFamily] = {
    **{f"{kind}, {basis}": symmetric(literals, basis) for kind, literals in UNIVERSES.items() for basis in (SETS, POWERS)},
    "table": random_table(),
    **{f"function, {name}": function_family(function) for name, function in FUNCTIONS.items()},
    "function in a box": function_family(huge, low=[-0.25, -0.5, 0.0], high=[0.5, 0.0, 0.25]),
    "function in a ball": function_family(huge, root_norm=0.75),
}  # fmt: skip


def listed(monomials: Monomials) -> list[tuple[int, ...]]:
    """Return all monomials in their order, by enumeration."""
    if monomials.kind == LISTED:
        return list(monomials.listed)
    choose = combinations if monomials.kind == SETS else combinations_with_replacement
    least = 1 if monomials.kind == SETS else 0
    return [one for size in range(least, monomials.degree + 1) for one in choose(range(monomials.variables), size)]


def coefficients_of(family: SymmetricFamily, record: Record) -> list[float]:
    """Return the coefficients of one record, by multiplying out."""
    held = set(held_literals(family.literals, record))
    found = []
    for one in listed(family.monomials):
        weight = family.weights[len(one) - 1] if one else 0.0
        if family.monomials.kind == POWERS:
            weight *= factorial(len(one)) / prod(factorial(one.count(each)) for each in set(one))
        found.append(weight if held.issuperset(one) else 0.0)
    return found


def units_of(family: PolynomialFamily, record: Record, unit: float = UNIT) -> NDArray[np.int64]:
    """Return what one record adds to the sums, in units."""
    if isinstance(family, SymmetricFamily):
        return np.trunc(np.array(coefficients_of(family, record)) / unit).astype(np.int64)
    if isinstance(family, TableFamily):
        return np.asarray(family.units(unit)[universe(family.schema).index(record)])
    return np.asarray(family.within(family.coefficients(np.array([record])), unit)[0])


def sums_of(family: PolynomialFamily, table: Iterable[Record], unit: float = UNIT) -> NDArray[np.int64]:
    """Return the sums over all records, by enumeration."""
    each = [units_of(family, record, unit) for record in table]
    return np.asarray(np.sum(each, axis=0))


def farthest(family: PolynomialFamily, relation: NeighbouringRelation, *, squared: bool) -> int:
    """Return by how much some neighbours are apart, in L1 or squared in L2, and none by more."""
    each = {record: units_of(family, record).tolist() for record in universe(family.schema)}
    if relation is NeighbouringRelation.ADD_REMOVE:
        apart = [np.array(one) for one in each.values()]
    else:
        apart = [np.array(one) - np.array(two) for one, two in combinations(each.values(), 2)]
    return max(int((one**2).sum() if squared else np.abs(one).sum()) for one in apart)


def family_tables(family: PolynomialFamily) -> TinyTables:
    """Return all tables of the family's schema, held for sums of coefficients."""
    schema = family.schema
    return TinyTables(
        partial(table_neighbours, schema),
        partial(dataset_of, schema),
        lambda dataset: CoefficientTable.of(dataset, family),
    )


def check_planned_loss(plan: SanitizerPlan) -> float:
    """Check a release with sums in small units over all neighbours by formulas; return the share of its charge that is reached.

    Too many values lie between two counts to be enumerated. Discrete Laplace noise of scale b on counts that are apart by m in
    L1 has the loss m / b exactly, and discrete Gaussian noise at most m^2 / (2 sigma^2), m in L2.
    """
    game = family_tables(plan.family).releasing(release_sanitizer, plan)
    known = {table: game.played(table) for table in {one for pair in game.pairs for one in pair}}
    reached = 0.0
    for one, two in game.pairs:
        charges = known[one].charges
        for scale, differences in moves_between(known[one].drawn, known[two].drawn):
            exact = [abs(each) for each in differences]
            cost = sum(each**2 for each in exact) / (2 * scale**2) if plan.figures.gaussian else sum(exact) / scale
            (charge,) = charges
            assert cost <= charge.parameter * (1 + 1e-12), f"costs {cost}, charged {charge.parameter}"
            reached = max(reached, cost / charge.parameter)
    assert plan.budget.allows(plan.charges()), f"a charge beyond the budget of {plan.budget}"
    return reached


def plan_of(family: PolynomialFamily, relation: NeighbouringRelation, *, gaussian: bool) -> SanitizerPlan:
    """Return the plan for a small budget."""
    from dpopt.accounting.budget import Budget

    budget = Budget(None, 1e-9, 0.1, Accountant.ZCDP) if gaussian else Budget(1.5, 0.0, None, Accountant.PURE)
    return plan_sanitizer(family, budget, size=ROWS, relation=relation)

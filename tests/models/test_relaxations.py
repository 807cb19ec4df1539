"""Every kind of clause and rule in every formulation: optima, relaxations in order (PB-1 to PB-12), bounds for any duals."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models import Formulation, max_csp_as_mip, point_from_record, record_from_point
from dpopt.models.best_responses.pairwise_lifting import lifting, pairwise_lifting
from dpopt.models.best_responses.relaxation_bound import _LOWER, _SIDES, relaxation_bound, violated_triangles
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    MixedIntegerProgram,
    Point,
    Program,
    SolveLimits,
    SolveResult,
    Termination,
)
from dpopt.queries import Clauses
from dpopt.solvers.registry import get_solver
from tests.circuits import best_feasible_value, every_record
from tests.models.catalogue import enumerated_optimum
from tests.models.draws import conjunctive_problems, masks, problems
from tests.models.linear_programs import one_hot, optimum, relaxed, with_x
from tests.strategies import clauses_of

EACH = st.sampled_from(Formulation)
ANY = st.one_of(problems(), conjunctive_problems(max_clauses=16))


@given(ANY, EACH)
def test_each_feasible_record_is_a_feasible_point_of_its_objective(program: MaxCsp, formulation: Formulation) -> None:
    mip = max_csp_as_mip(program, formulation)
    for record in every_record(program.sizes.tolist()):
        point = point_from_record(program, record, formulation)
        assert (mip.violation(point) > 0) == bool(program.broken_rules(record))
        assert mip.evaluate(point) == program.objective(record)
        assert record_from_point(program, point).tolist() == record.tolist()


@given(ANY, EACH)
def test_the_optimum_is_that_of_enumeration(program: MaxCsp, formulation: Formulation) -> None:
    best = best_feasible_value(program)
    found = optimum(max_csp_as_mip(program, formulation))
    assert (found is None) == (best is None)
    if best is not None:
        assert found == pytest.approx(best, abs=1e-6)


@given(ANY, EACH, st.data())
def test_once_x_is_whole_the_continuous_variables_have_no_better_choice(
    program: MaxCsp, formulation: Formulation, data: st.DataObject
) -> None:
    """Only what is declared whole is; a clause variable or a gate that wrongly is not would gain by a fraction."""
    record = data.draw(st.sampled_from(list(every_record(program.sizes.tolist()))))
    found = optimum(with_x(max_csp_as_mip(program, formulation), one_hot(program, record)))
    if program.broken_rules(record):
        assert found is None
    else:
        assert found == pytest.approx(program.objective(record), abs=1e-6)


@settings(max_examples=60)
@given(ANY)
def test_each_formulation_has_a_tighter_relaxation_than_the_one_before(program: MaxCsp) -> None:
    bounds = [
        optimum(relaxed(max_csp_as_mip(program, formulation)))
        for formulation in (Formulation.AGGREGATED, Formulation.PER_LITERAL, Formulation.CLIQUE)
    ]
    bounds.append(optimum(pairwise_lifting(program)))
    best = best_feasible_value(program)
    for loose, tight in itertools.pairwise(bounds):
        # Once a relaxation has no feasible point, those after it have none.
        assert loose is not None or tight is None
        assert tight is None or (loose is not None and tight <= loose + 1e-6)
    assert best is None or (bounds[-1] is not None and bounds[-1] >= best - 1e-6)


@given(ANY, EACH)
def test_what_a_formulation_declares_whole(program: MaxCsp, formulation: Formulation) -> None:
    mip = max_csp_as_mip(program, formulation)
    codes, m = int(program.sizes.sum()), len(program.clauses)
    assert mip.integrality[:codes].all()
    if formulation is Formulation.AGGREGATED:
        assert mip.integrality.all()
    assert (mip.lower == 0).all()
    assert (mip.upper[: codes + m] == 1).all()


def test_the_kinds_share_rows_and_variables_as_the_pages_say() -> None:
    """Over five attributes of two codes: a conjunction, 2 of 4, parities of 3 and 5, "exactly 1 or 2 of 4"."""
    literals = [(a, 1, True) for a in range(5)]
    rows = [
        (literals[:3], 0b1000),
        (literals[:4], 0b11100),
        (literals[:3], 0b1010),
        (literals, 0b101010),
        (literals[:4], 0b00110),
    ]
    program = MaxCsp(np.full(5, 2), clauses_of(rows), np.ones(5, dtype=np.int64))
    sizes = {
        formulation: (mip.number_of_rows, mip.number_of_variables, int(mip.integrality.sum()))
        for formulation in Formulation
        for mip in [max_csp_as_mip(program, formulation)]
    }
    # Rows: attributes + conjunction + threshold + parities + counted. Variables: x + c + z or links + y.
    assert sizes == {
        Formulation.AGGREGATED: (5 + 1 + 1 + 2 + 3, 10 + 5 + 2 + 5, 10 + 5 + 2 + 5),
        Formulation.PER_LITERAL: (5 + 3 + 5 + (4 + 3 * 4 + 2) + 3, 10 + 5 + 3 + 5, 10 + 5),
        Formulation.CLIQUE: (5 + 3 + 5 + (4 + 3 * 4 + 2) + 3, 10 + 5 + 3 + 5, 10 + 5),
    }


@pytest.mark.parametrize("formulation", Formulation)
def test_a_hundred_thousand_clauses_of_every_kind_become_rows_without_a_loop(formulation: Formulation) -> None:
    generator = np.random.default_rng(5)
    m, sizes = 100_000, np.full(40, 10)
    attributes = np.argsort(generator.random((m, 40)), axis=1)[:, :4].astype(np.int32)
    values = generator.integers(0, 10, size=(m, 4)).astype(np.int32)
    signs = generator.random((m, 4)) < 0.5
    accepted = generator.choice([0b10000, 0b01111, 0b01010, 0b11100, 0b00110], size=m)
    weights = np.where(generator.random(m) < 0.5, -1, 1)
    program = MaxCsp(sizes, Clauses(attributes, values, signs, accepted.astype(np.uint32)), weights)
    mip = max_csp_as_mip(program, formulation)
    record = generator.integers(0, sizes).astype(np.int32)
    point = point_from_record(program, record, formulation)
    assert mip.violation(point) == 0
    assert mip.evaluate(point) == program.objective(record)
    kinds = {mask: int((accepted == mask).sum()) for mask in np.unique(accepted).tolist()}
    parities, counted = kinds[0b01010], kinds[0b00110]
    halves = parities if formulation is Formulation.AGGREGATED else 0
    assert mip.number_of_variables == 400 + m + halves + 5 * counted
    if formulation is Formulation.AGGREGATED:
        assert mip.number_of_rows == 40 + (m - parities - counted) + parities + 3 * counted


@settings(max_examples=60)
@given(problems(), st.data())
def test_pb_1_to_pb_10_every_feasible_record_is_a_feasible_point_of_the_same_objective(
    program: MaxCsp, data: st.DataObject
) -> None:
    """The other variables are free to take the products that belong to the record; nothing better is left to them."""
    lifted = pairwise_lifting(program)
    assert not lifted.integrality.any()
    record = data.draw(st.sampled_from(list(every_record(program.sizes.tolist()))))
    found = optimum(with_x(lifted, one_hot(program, record)))
    if not program.broken_rules(record):
        assert found is not None
        # Thresholds, counts and gates that must be whole may gain while they are not.
        assert found >= program.objective(record) - 1e-6


@settings(max_examples=60)
@given(problems(max_attributes=4))
def test_the_bound_is_one_and_at_most_that_of_the_clique_form(program: MaxCsp) -> None:
    forms = (pairwise_lifting(program), relaxed(max_csp_as_mip(program, Formulation.CLIQUE)))
    best, values = (
        best_feasible_value(program),
        [float("-inf") if (bound := optimum(form)) is None else bound for form in forms],
    )
    assert best is None or best <= values[0] + 1e-6
    assert values[0] <= values[1] + 1e-6


@given(st.data(), st.integers(2, 3), st.sampled_from([1, -1]))
def test_pb_6_to_pb_9_a_clause_of_few_literals_has_its_exact_bound(
    data: st.DataObject, width: int, weight: int
) -> None:
    """Given the tables of its pairs, any mask: here with rewards for every pair and every code besides."""
    rows = [([(a, 1, True) for a in range(width)], data.draw(masks(width)))]
    weights = [3 * weight]
    for a in range(width):
        rows.append(([(a, 0, True)], 2))
        weights.append(data.draw(st.sampled_from([-2, -1, 1, 2])))
        for b in range(a):
            rows.append(([(b, 1, True), (a, 1, True)], 4))
            weights.append(data.draw(st.sampled_from([-2, -1, 1, 2])))
    program = MaxCsp(np.full(width, 2), clauses_of(rows), np.array(weights))
    assert optimum(pairwise_lifting(program)) == pytest.approx(best_feasible_value(program), abs=1e-6)


def test_pb_3_to_pb_5_tables_hold_what_no_row_does() -> None:
    """An odd cycle: three rewards for two attributes to differ; rows alone say 3, tables and the triple say 2."""
    differ = [([(a, 1, True), (b, 1, True)], 0b010) for a, b in ((0, 1), (1, 2), (0, 2))]
    odd_cycle = MaxCsp(np.full(3, 2), clauses_of(differ), np.ones(3, dtype=np.int64))
    assert optimum(relaxed(max_csp_as_mip(odd_cycle, Formulation.CLIQUE))) == pytest.approx(3)
    assert optimum(pairwise_lifting(odd_cycle)) == pytest.approx(3)  # pairs alone are consistent with halves
    never = ([(0, 1, True), (1, 1, True), (2, 1, True)], 0b1111)  # a clause of all three ties the pairs together
    tied = MaxCsp(np.full(3, 2), clauses_of([*differ, never]), np.array([1, 1, 1, 1]))
    assert optimum(pairwise_lifting(tied)) == pytest.approx(2 + 1)


@pytest.mark.parametrize("weight", [1, -1])
def test_pb_10_wide_conjunctions_are_bounded_by_their_pairs(weight: int) -> None:
    """Four literals; two of them never meet because a clause of weight forbids it."""
    literals = [(a, 1, True) for a in range(4)]
    forbid = [([(a, 1, True), (b, 1, True)], 4) for a, b in ((0, 1), (2, 3))]
    mask = 0b10000 if weight > 0 else 0b01111
    program = MaxCsp(np.full(4, 2), clauses_of([(literals, mask), *forbid]), np.array([3 * weight, -2, -2]))
    plain = optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE)))
    assert plain is not None
    assert optimum(pairwise_lifting(program)) == pytest.approx(0 if weight > 0 else -3, abs=1e-6)
    assert plain > (0 if weight > 0 else -3) + 0.4


def test_pb_10_wide_disjunctions_are_bounded_by_the_pairs_of_their_complements() -> None:
    """Four literals that should be equal, and a reward for the first to be false: 3 for one of them or 3 for none."""
    equal = [([(0, 1, True), (a, 1, True)], 0b101) for a in (1, 2, 3)]
    rows = [([(a, 1, True) for a in range(4)], 0b11110), *equal, ([(0, 0, True)], 0b10)]
    for sign in (1, -1):  # rewarded itself, or the falsity of its negation
        mask = 0b11110 if sign > 0 else 0b00001
        program = MaxCsp(np.full(4, 2), clauses_of([(rows[0][0], mask), *rows[1:]]), np.array([3 * sign, 4, 4, 4, 3]))
        lost = 0 if sign > 0 else 3
        assert optimum(pairwise_lifting(program)) == pytest.approx(15 - lost, abs=1e-6)
        plain = optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE)))
        assert plain is not None
        assert plain > 16 - lost


def test_the_tables_cover_the_named_codes_alone() -> None:
    rows = [([(0, 1, True), (1, 2, True)], 4), ([(0, 3, False), (1, 0, True)], 4), ([(2, 0, True), (0, 1, True)], 4)]
    program = MaxCsp(np.array([9, 9, 2]), clauses_of(rows), np.array([1, 1, 1]))
    lifted = pairwise_lifting(program)
    # Attributes 0 and 1: codes {1, 3} and {0, 2}; attributes 0 and 2: codes {1} and {1}. No clause has three literals.
    assert lifted.number_of_variables == 20 + 3 + 4 + 1


def products(one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x_i, x_j, x_k, y_ij, y_ik, y_jk of three codes."""
    i, j, k = one
    return np.array([i, j, k, i * j, i * k, j * k])


def broken_triangles(sides: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of the four rows some choice of three codes breaks."""
    points = np.array([products(np.array(bits)) for bits in itertools.product((0.0, 1.0), repeat=3)])
    return np.asarray((points @ sides.T < lower).any(axis=0), dtype=np.bool_)


def test_pb_11_and_pb_12_hold_for_every_record_and_no_coefficient_could_be_smaller() -> None:
    assert not broken_triangles(_SIDES, _LOWER).any()
    for row, column in np.ndindex(*_SIDES.shape):
        wrong = _SIDES.copy()
        wrong[row, column] -= 1
        assert broken_triangles(wrong, _LOWER).tolist() == [one == row for one in range(4)]
    assert broken_triangles(_SIDES, _LOWER + 1).all()


@settings(max_examples=60)
@given(problems(max_clauses=20, max_attributes=4), st.integers(0, 10**6), st.data())
def test_pb_11_and_pb_12_are_chosen_where_a_point_breaks_them_and_no_record_does(
    program: MaxCsp, seed: int, data: st.DataObject
) -> None:
    """The point is made up; x and y of a record are the products that belong to it."""
    lifted = lifting(program)
    point = np.random.default_rng(seed).random(lifted.variables.objective.size)
    rows = violated_triangles(lifted.tables, point)
    matrix = np.zeros((rows.number_of_rows, point.size))
    np.add.at(matrix, (rows.row, rows.column), rows.value)
    assert (matrix @ point < rows.lower).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpopt.models.best_responses.relaxation_bound.MOST", 2)
        few = violated_triangles(lifted.tables, point)
    broken = matrix @ point - rows.lower
    assert few.number_of_rows == min(2, broken.size)
    assert few.column.tolist() == rows.column[rows.row < 2].tolist()  # those that are violated most come first
    assert (np.diff(broken) >= -1e-9).all()
    size = lifted.tables.columns
    _, cell, left, right = lifted.tables.lines()
    sides = lifted.tables.left[left] % size, lifted.tables.right[right] % size
    record = data.draw(st.sampled_from(list(every_record(program.sizes.tolist()))))
    point[:size] = one_hot(program, record)
    point[cell] = point[sides[0]] * point[sides[1]]
    assert (matrix @ point >= rows.lower).all()
    assert violated_triangles(lifted.tables, point).number_of_rows == 0


@pytest.mark.solver("highs")
def test_pb_11_and_pb_12_three_attributes_cannot_all_differ() -> None:
    """Pairs alone say 3 (see PB-3 to PB-5); both kinds of row are needed where either code is the rewarded one."""
    for mask, best in ((0b010, 2), (0b101, 3)):
        rows = [([(a, 1, True), (b, 1, True)], mask) for a, b in ((0, 1), (1, 2), (0, 2))]
        program = MaxCsp(np.full(3, 2), clauses_of(rows), np.ones(3, dtype=np.int64))
        found = relaxation_bound(program, get_solver("highs"), None)
        assert found.bound == pytest.approx(best, abs=1e-6)
    turned = [([(0, 1, True), (1, 1, True)], 0b010)]
    turned += [([(a, 1, True), (2, 1, True)], 0b101) for a in (0, 1)]
    program = MaxCsp(np.full(3, 2), clauses_of(turned), np.ones(3, dtype=np.int64))
    found = relaxation_bound(program, get_solver("highs"), None)
    assert found.bound == pytest.approx(2, abs=1e-6)
    assert found.relaxation == "pairwise lifting with triangles"
    enough = relaxation_bound(program, get_solver("highs"), None, enough=3)
    assert enough.bound == pytest.approx(3, abs=1e-6)
    assert enough.relaxation == "pairwise lifting"


WAYS = [*Formulation, None]


@dataclass
class Suggesting:
    """A solver of linear programs whose duals are made up, of any number of rows."""

    seed: int = 0
    rows: int | None = None
    duals: bool = True
    name: str = "suggesting"
    pointing: bool = False
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.DUALS})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MixedIntegerProgram)
        assert not program.integrality.any()
        rows = program.number_of_rows if self.rows is None else self.rows
        duals: NDArray[np.float64] = np.random.default_rng(self.seed).normal(size=rows) * 3
        given = duals if self.duals else None
        if self.pointing:
            point = np.random.default_rng(self.seed).random(program.number_of_variables)
            return SolveResult(
                Termination.LIMIT, Limit.WORK, point, 0.0, None, self.name, "1", "made up", 0.0, duals=given
            )
        return SolveResult(Termination.FAILED, None, None, None, 0.0, self.name, "1", "made up", 0.0, duals=given)


@settings(max_examples=60)
@given(conjunctive_problems(), st.sampled_from(WAYS), st.integers(0, 10**6), st.booleans())
def test_made_up_duals_and_points_give_a_bound_on_every_record(
    problem: MaxCsp, formulation: Formulation | None, seed: int, pointing: bool
) -> None:
    found = relaxation_bound(problem, Suggesting(seed, pointing=pointing), formulation)
    assert found.bound is not None
    assert found.bound >= enumerated_optimum(problem)


@pytest.mark.solver("highs")
@settings(max_examples=25)
@given(conjunctive_problems())
def test_a_tighter_linear_program_proves_a_bound_that_is_no_worse_and_never_false(problem: MaxCsp) -> None:
    optimum = enumerated_optimum(problem)
    bounds = []
    for formulation in WAYS:
        found = relaxation_bound(problem, get_solver("highs"), formulation)
        assert found.why_none is None
        assert found.bound is not None
        assert found.bound >= optimum
        bounds.append(float(found.bound))
    assert all(later <= earlier + 1e-4 for earlier, later in pairwise(bounds))


@pytest.mark.solver("highs")
@settings(max_examples=25)
@given(problems())
def test_the_tightest_bound_holds_for_every_kind_of_clause_and_under_rules(problem: MaxCsp) -> None:
    best = best_feasible_value(problem)
    found = relaxation_bound(problem, get_solver("highs"), None)
    assert best is None or found.bound is None or found.bound >= best


@pytest.mark.solver("highs")
def test_two_clauses_that_exclude_each_other_are_bounded_by_the_larger() -> None:
    rows = [([(0, 0, True), (1, 0, True)], 4), ([(0, 1, True), (1, 0, True)], 4)]
    problem = MaxCsp(np.array([2, 2]), clauses_of(rows), np.array([3, 2]))
    found = relaxation_bound(problem, get_solver("highs"), Formulation.CLIQUE)
    assert found.bound == 3
    assert found.relaxation == "clique relaxation"
    assert found.solver.startswith("highs")


def test_without_duals_there_is_no_bound_and_the_reason_is_said() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([(0, 0, True)], 2)]), np.array([3]))
    for solver in (Suggesting(duals=False), Suggesting(rows=1)):
        found = relaxation_bound(problem, solver, Formulation.PER_LITERAL)
        assert (found.bound, found.why_none) == (None, "suggesting ended 'failed' without duals")


@dataclass
class Refusing(Suggesting):
    """A solver that cannot run."""

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        raise ProgramError("not today")


def test_a_solver_that_refuses_proves_nothing() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([(0, 0, True)], 2)]), np.array([3]))
    found = relaxation_bound(problem, Refusing(), Formulation.PER_LITERAL)
    assert (found.bound, found.why_none) == (None, "not today")


def test_a_problem_in_which_nothing_is_chosen_needs_no_solver() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([], 1), ([], 0)]), np.array([3, 2]))
    found = relaxation_bound(problem, Refusing(), None)
    assert (found.bound, found.solver) == (Fraction(3), "inspection")
    assert problem.objective(np.array([1], dtype=np.int32)) == 3


def test_weights_that_double_precision_would_round_prove_nothing() -> None:
    """A program with rounded weights has another optimum: 2**53 + 1 would count as 2**53."""
    clauses = clauses_of([([(0, 1, True), (1, 1, True)], 4), ([(1, 1, True), (2, 0, True)], 4)])
    heavy = MaxCsp(np.array([2, 2, 2]), clauses, np.array([2**53 + 1, 5]))
    for formulation in (Formulation.CLIQUE, None):
        found = relaxation_bound(heavy, get_solver("highs"), formulation)
        assert found.bound is None
        assert found.why_none is not None
        assert "double precision" in found.why_none

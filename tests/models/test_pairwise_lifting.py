"""PB-1 to PB-10: every record is a feasible point of the same objective, and the optimum bounds them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.models import Formulation, max_csp_as_mip
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.programs import MaxCsp
from tests.circuits import best_legal_value, every_record
from tests.models.draws import masks, problems
from tests.models.linear_programs import one_hot, optimum, relaxed, with_x
from tests.strategies import clauses_of


@settings(max_examples=60)
@given(problems(), st.data())
def test_pb_1_to_pb_10_every_legal_record_is_a_feasible_point_of_the_same_objective(
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
@given(problems(max_attributes=4), st.integers(0, 6))
def test_with_fewer_pairs_the_bound_is_weaker_and_still_one(program: MaxCsp, pairs: int) -> None:
    bounds = [
        optimum(pairwise_lifting(program)),
        optimum(pairwise_lifting(program, attribute_pairs=pairs)),
        optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE))),
    ]
    best = best_legal_value(program)
    values = [float("-inf") if bound is None else bound for bound in bounds]
    assert best is None or best <= values[0] + 1e-6
    assert values[0] <= values[1] + 1e-6
    assert values[1] <= values[2] + 1e-6


def test_without_pairs_it_is_the_relaxation_of_the_clique_form() -> None:
    rows = [([(0, 1, True), (1, 0, True)], 4), ([(0, 0, True), (1, 1, False), (2, 0, True)], 7)]
    program = MaxCsp(np.array([3, 3, 2]), clauses_of(rows), np.array([2, -1]))
    plain = relaxed(max_csp_as_mip(program, Formulation.CLIQUE))
    assert pairwise_lifting(program, attribute_pairs=0).fingerprint() == plain.fingerprint()


@given(st.data(), st.integers(2, 3), st.sampled_from([1, -1]))
def test_pb_6_to_pb_9_one_clause_of_two_or_three_literals_has_its_exact_bound(
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
    assert optimum(pairwise_lifting(program)) == pytest.approx(best_legal_value(program), abs=1e-6)


def test_pb_3_to_pb_5_tables_hold_what_no_row_does() -> None:
    """An odd cycle: three rewards for two attributes to differ; rows alone say 3, tables and the triple say 2."""
    differ = [([(a, 1, True), (b, 1, True)], 0b010) for a, b in ((0, 1), (1, 2), (0, 2))]
    odd_cycle = MaxCsp(np.full(3, 2), clauses_of(differ), np.ones(3, dtype=np.int64))
    assert optimum(relaxed(max_csp_as_mip(odd_cycle, Formulation.CLIQUE))) == pytest.approx(3)
    assert optimum(pairwise_lifting(odd_cycle)) == pytest.approx(3)  # pairs alone are consistent with halves
    never = (
        [(0, 1, True), (1, 1, True), (2, 1, True)],
        0b1111,
    )  # a clause of all three ties the pairs together
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
        program = MaxCsp(
            np.full(4, 2), clauses_of([(rows[0][0], mask), *rows[1:]]), np.array([3 * sign, 4, 4, 4, 3])
        )
        lost = 0 if sign > 0 else 3
        assert optimum(pairwise_lifting(program)) == pytest.approx(15 - lost, abs=1e-6)
        plain = optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE)))
        assert plain is not None
        assert plain > 16 - lost


def test_the_tables_cover_the_named_codes_alone() -> None:
    rows = [
        ([(0, 1, True), (1, 2, True)], 4),
        ([(0, 3, False), (1, 0, True)], 4),
        ([(2, 0, True), (0, 1, True)], 4),
    ]
    program = MaxCsp(np.array([9, 9, 2]), clauses_of(rows), np.array([1, 1, 1]))
    lifted = pairwise_lifting(program)
    # Attributes 0 and 1: codes {1, 3} and {0, 2}; attributes 0 and 2: codes {1} and {1}. No clause has three literals.
    assert lifted.number_of_variables == 20 + 3 + 4 + 1

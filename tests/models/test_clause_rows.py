"""TH-1 to TH-4: the rows of one threshold bound it as tightly as any rows can, or as tightly as is said."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.models import Formulation, max_csp_as_mip
from dpopt.models.best_responses.rows.clause_rows import MOST_ROWS, set_families
from dpopt.programs import MaxCsp
from tests.models.linear_programs import envelope, optimum, relaxed, with_x
from tests.strategies import clauses_of

SHARES = st.integers(0, 8).map(lambda eighths: eighths / 8)


def single(mask: int, signs: list[bool], weight: int = 1) -> MaxCsp:
    """Return one clause over attributes of two codes, each with one literal "= 1" or "!= 1"."""
    literals = [(a, 1, sign) for a, sign in enumerate(signs)]
    return MaxCsp(np.full(len(signs), 2), clauses_of([(literals, mask)]), np.array([weight]))


def best_relaxed(program: MaxCsp, formulation: Formulation, shares: NDArray[np.float64]) -> float:
    """Return the relaxation's optimum where each literal is fixed at its share."""
    ones = np.where(program.clauses.signs[0], shares, 1 - shares)
    x = np.column_stack((1 - ones, ones)).reshape(-1)
    found = optimum(with_x(relaxed(max_csp_as_mip(program, formulation)), x))
    assert found is not None
    return found


@given(st.data(), st.integers(1, 4), st.sampled_from([1, -1]))
def test_th_1_to_th_3_the_clique_form_is_as_tight_as_one_threshold_allows(
    data: st.DataObject, width: int, weight: int
) -> None:
    signs = data.draw(st.lists(st.booleans(), min_size=width, max_size=width))
    shares = np.array(data.draw(st.lists(SHARES, min_size=width, max_size=width)))
    bound = data.draw(st.integers(0, width + 1))
    full = (2 << width) - 1
    at_least = full & -(1 << bound)
    mask = full ^ at_least if data.draw(st.booleans()) else at_least
    found = best_relaxed(single(mask, signs, weight), Formulation.CLIQUE, shares)
    rewarded = mask if weight > 0 else full ^ mask
    expected = envelope(shares, lambda number: bool(rewarded >> number & 1))
    assert found == pytest.approx(expected - (weight < 0), abs=1e-7)


def test_th_2_the_whole_row_cuts_off_what_the_smallest_sets_allow() -> None:
    """Two of three literals at one half each: pairs allow 1, the row over all three 3/4."""
    halves = np.full(3, 0.5)
    program = single(0b1100, [True] * 3)
    assert best_relaxed(program, Formulation.PER_LITERAL, halves) == pytest.approx(0.75)
    assert best_relaxed(program, Formulation.AGGREGATED, halves) == pytest.approx(0.75)
    uneven = np.array([0.0, 0.5, 1.0])
    assert best_relaxed(program, Formulation.PER_LITERAL, uneven) == pytest.approx(0.5)
    assert best_relaxed(program, Formulation.AGGREGATED, uneven) == pytest.approx(0.75)


@pytest.mark.parametrize("width", range(8))
@pytest.mark.parametrize("formulation", Formulation)
def test_no_threshold_has_more_rows_than_are_allowed(width: int, formulation: Formulation) -> None:
    for bound in range(width + 2):
        sets, exact = set_families(width, bound, formulation)
        rows = sum(comb(width, size) for size, _ in sets)
        assert rows <= MOST_ROWS
        assert exact or sets == [(width, bound)]  # TH-4: one row, and a whole variable


def test_th_4_thresholds_with_too_many_sets_fall_back() -> None:
    assert set_families(6, 3, Formulation.PER_LITERAL) == ([(4, 1), (6, 3)], True)
    assert set_families(6, 3, Formulation.CLIQUE) == ([(4, 1), (6, 3)], True)
    assert set_families(5, 3, Formulation.CLIQUE) == ([(3, 1), (4, 2), (5, 3)], True)
    assert set_families(8, 4, Formulation.PER_LITERAL) == ([(8, 4)], False)
    assert set_families(31, 31, Formulation.PER_LITERAL) == ([(1, 1)], True)  # a conjunction never does


def test_the_sizes_of_a_threshold_on_the_page() -> None:
    """Three of five: pairs of the page's Size."""
    literals = [(a, 0, True) for a in range(5)]
    program = MaxCsp(np.full(5, 3), clauses_of([(literals, 0b111000)]), np.array([4]))
    rows = {one: max_csp_as_mip(program, one).number_of_rows - 5 for one in Formulation}
    assert rows == {
        Formulation.AGGREGATED: 1,
        Formulation.PER_LITERAL: 11,
        Formulation.CLIQUE: 16,
    }

"""PA-1 to PA-6: parities with whole halves, with cuts, and with links; the last two leave no better relaxation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.models import Formulation, max_csp_as_mip
from tests.circuits import every_record
from tests.models.linear_programs import envelope, one_hot, optimum, relaxed, with_x
from tests.models.test_clause_rows import SHARES, best_relaxed, single

ODD, EVEN = 0xAAAAAAAA, 0x55555555


@settings(max_examples=60)
@given(st.data(), st.integers(2, 6), st.sampled_from([ODD, EVEN]), st.sampled_from([1, -1]))
def test_pa_3_to_pa_6_cuts_and_links_are_as_tight_as_one_parity_allows(
    data: st.DataObject, width: int, parity: int, weight: int
) -> None:
    signs = data.draw(st.lists(st.booleans(), min_size=width, max_size=width))
    shares = np.array(data.draw(st.lists(SHARES, min_size=width, max_size=width)))
    full = (2 << width) - 1
    rewarded = full & (parity if weight > 0 else ~parity)
    expected = envelope(shares, lambda number: bool(rewarded >> number & 1)) - (weight < 0)
    program = single(parity & full, signs, weight)
    assert best_relaxed(program, Formulation.PER_LITERAL, shares) == pytest.approx(expected, abs=1e-7)
    assert best_relaxed(program, Formulation.CLIQUE, shares) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("parity", [ODD, EVEN])
@pytest.mark.parametrize("width", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("formulation", Formulation)
@pytest.mark.parametrize("weight", [2, -2])
def test_pa_1_to_pa_6_tie_the_parity_to_every_record(
    parity: int, width: int, formulation: Formulation, weight: int
) -> None:
    program = single(parity & ((2 << width) - 1), [place % 3 > 0 for place in range(width)], weight)
    mip = max_csp_as_mip(program, formulation)
    for record in every_record(program.sizes.tolist())[:: 1 if width < 6 else 9]:
        assert optimum(with_x(mip, one_hot(program, record))) == pytest.approx(program.objective(record))


def test_pa_1_and_pa_2_say_nothing_where_literals_are_halves() -> None:
    for mask in (0b1010, 0b0101):
        assert best_relaxed(single(mask, [True] * 3), Formulation.AGGREGATED, np.array([1.0, 0.0, 0.0])) == 1
        assert best_relaxed(single(mask, [True] * 3), Formulation.PER_LITERAL, np.full(3, 0.5)) == 1


def test_the_sizes_are_those_of_the_page() -> None:
    for width, rows, links in ((2, 2, 0), (3, 4, 0), (4, 8, 0), (5, 14, 3), (9, 30, 7)):
        mip = max_csp_as_mip(single(ODD & ((2 << width) - 1), [True] * width), Formulation.PER_LITERAL)
        assert (mip.number_of_rows, mip.number_of_variables) == (width + rows, 2 * width + 1 + links)
        assert int(mip.integrality.sum()) == 2 * width
        loose = max_csp_as_mip(single(ODD & ((2 << width) - 1), [True] * width), Formulation.AGGREGATED)
        assert (loose.number_of_rows, loose.number_of_variables) == (width + 1, 2 * width + 2)
        assert loose.upper[-1] == width // 2
        assert relaxed(loose).integrality.sum() == 0

"""Predicates as sums over disjunctions: exact for every k up to 16 and every number of true literals."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials.disjunction_weights import disjunction_weights, total_weight


@pytest.mark.parametrize("width", range(1, 17))
def test_the_identity_holds_for_every_number_of_true_literals(width: int) -> None:
    for needed in range(1, width + 1):
        weights = disjunction_weights(needed, width)
        assert len(weights) == width + 1
        for true in range(width + 1):
            found = sum(w * (comb(width, j) - comb(width - true, j)) for j, w in enumerate(weights))
            assert found == (true >= needed)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_the_identity_holds_for_disjunctions_that_are_enumerated(width: int) -> None:
    for needed, bits in product(range(1, width + 1), product((0, 1), repeat=width)):
        weights = disjunction_weights(needed, width)
        found = sum(
            weights[size] * any(bits[place] for place in chosen)
            for size in range(width + 1)
            for chosen in combinations(range(width), size)
        )
        assert found == (sum(bits) >= needed)


def test_total_weights_are_known_ones() -> None:
    assert [total_weight(1, width) for width in (1, 4, 10)] == [1, 1, 1]
    assert [total_weight(2, width) for width in range(2, 12)] == [2 * width - 1 for width in range(2, 12)]
    assert total_weight(3, 10) == 161
    for width in range(1, 12):
        assert total_weight(width, width) == 2**width - 1  # inclusion and exclusion for "all of them"


def test_the_weights_add_up_to_no_constant() -> None:
    for width in range(1, 17):
        for needed in range(1, width + 1):
            weights = disjunction_weights(needed, width)
            assert sum(weight * comb(width, size) for size, weight in enumerate(weights)) == 1
            assert weights[0] == 0


@pytest.mark.parametrize(("needed", "width"), [(0, 3), (4, 3), (1, 0)])
def test_what_makes_no_sense_is_refused(needed: int, width: int) -> None:
    with pytest.raises(PolynomialError, match="found"):
        disjunction_weights(needed, width)

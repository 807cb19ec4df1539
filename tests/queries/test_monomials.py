"""Monomials: which there are, their numbers, which are 1 at a point; refusals that name what is possible."""

from __future__ import annotations

import json
import re
from itertools import combinations
from math import comb

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.files.codec import decode, encode
from dpopt.queries.conjunctions.monomials import MOST_MONOMIALS, Monomials, multinomial, number_of_monomials
from tests.exact_sanitizer_loss import listed

ALL = [kind(m, t) for kind in (Monomials.all_sets, Monomials.all_powers) for m in (1, 3, 5) for t in (1, 2, 4)]
LISTED = Monomials.of(4, [(2, 0), (), (3, 3, 1), (1,), (0, 1, 2, 3)])


def name(monomials: Monomials) -> str:
    return f"{monomials.kind}-{monomials.variables}-{monomials.degree}"


@pytest.mark.parametrize("monomials", ALL, ids=name)
def test_there_are_as_many_as_the_formulas_say_and_each_has_its_number(monomials: Monomials) -> None:
    every = listed(monomials)
    assert monomials.count == len(every) == monomials.starts[-1]
    assert monomials.count == number_of_monomials(monomials.kind, monomials.variables, monomials.degree)
    if monomials.kind == "powers":
        assert monomials.count == comb(monomials.variables + monomials.degree, monomials.degree)
    for degree in range(1, monomials.degree + 1):
        of_degree = [one for one in every if len(one) == degree]
        if of_degree:
            numbers = monomials.numbers(np.array(of_degree))
            assert numbers.tolist() == [every.index(one) for one in of_degree]


@pytest.mark.parametrize("monomials", [*ALL, LISTED], ids=name)
def test_those_that_are_1_at_a_point_are_those_in_its_ones(monomials: Monomials) -> None:
    every = listed(monomials)
    for size in range(monomials.variables + 1):
        most = 0
        for ones in combinations(range(monomials.variables), size):
            true = [place for place, one in enumerate(every) if set(one) <= set(ones)]
            assert monomials.true_at(ones).tolist() == true
            assert monomials.true_at(ones[::-1]).tolist() == true
            if monomials.kind != "listed":
                assert np.sort(monomials.true_at_each(np.array([ones], dtype=np.int64))[0]).tolist() == true
            most = max(most, len(true))
        assert monomials.most_true(size) >= most
        if monomials.kind != "listed":
            assert monomials.most_true(size) == most


@pytest.mark.parametrize(("variables", "degree"), [(3, 2), (4, 4), (2, 5)])
def test_multinomials_are_the_coefficients_of_a_power_of_a_sum(variables: int, degree: int) -> None:
    values = np.random.default_rng(1).random(variables)
    total = sum(
        multinomial([one.count(each) for each in sorted(set(one))]) * np.prod(values[list(one)])
        for one in listed(Monomials.all_powers(variables, degree))
        if len(one) == degree
    )
    assert total == pytest.approx(values.sum() ** degree)


@pytest.mark.parametrize("monomials", [*ALL, LISTED], ids=name)
def test_monomials_survive_json(monomials: Monomials) -> None:
    again = decode(Monomials, json.loads(json.dumps(encode(monomials))), "monomials")
    assert (again.kind, again.variables, again.degree, again.listed) == (
        monomials.kind,
        monomials.variables,
        monomials.degree,
        monomials.listed,
    )


@pytest.mark.parametrize("kind", [Monomials.all_sets, Monomials.all_powers])
def test_too_many_are_refused_with_numbers_that_do(kind: type) -> None:
    with pytest.raises(WorkloadError, match="at most 20,000,000 are released") as refused:
        kind(500, 4)
    text = str(refused.value).replace(",", "")
    found = re.search(r"degree (\d+) in at most (\d+) variables is possible or degree (\d+) in (\d+)", text)
    assert found is not None
    degree, variables, lower, same = map(int, found.groups())
    assert (degree, same) == (4, 500)
    assert kind(variables, degree).count <= MOST_MONOMIALS < number_of_monomials(kind(2, 2).kind, variables + 1, degree)
    assert kind(same, lower).count <= MOST_MONOMIALS < number_of_monomials(kind(2, 2).kind, same, lower + 1)


def test_where_no_degree_will_do_none_is_named() -> None:
    with pytest.raises(WorkloadError, match=r"degree 1 in at most 20,000,000 variables is possible$"):
        Monomials.all_sets(20_000_001, 1)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Monomials("all", 3, 2), "the kind of monomials is one of"),
        (lambda: Monomials.all_sets(0, 2), "the number of variables must be"),
        (lambda: Monomials.all_sets(3, 0), "the degree must be"),
        (lambda: Monomials.all_sets(30, 17), "the degree must be"),
        (lambda: Monomials.of(3, []), "found no monomial"),
        (lambda: Monomials.of(3, [(0, 3)]), "the variables are 0 to 2"),
        (lambda: Monomials.of(3, [(-1,)]), "the variables are 0 to 2"),
        (lambda: Monomials.of(3, [(0, 1), (1, 0)]), "a monomial twice"),
        (lambda: Monomials("listed", 3, 2, ((1, 0),)), "not decreasing"),
        (lambda: Monomials("listed", 3, 1, ((0, 1),)), "at most 1 variables"),
        (lambda: Monomials("sets", 3, 1, ((0,),)), "none can be listed"),
        (lambda: LISTED.true_at([4]), "expected 0 to 3"),
        (lambda: LISTED.true_at([1, 1]), "a variable twice"),
        (lambda: LISTED.numbers(np.array([[0]])), "monomials of degree 1"),
        (lambda: Monomials.all_sets(3, 2).numbers(np.array([[0, 1, 2]])), "expected 1 to 2"),
        (lambda: Monomials.all_sets(3, 2).numbers(np.array([[1, 1]])), "of different attributes"),
    ],
)
def test_what_makes_no_sense_is_refused(made: object, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        made()  # type: ignore[operator]

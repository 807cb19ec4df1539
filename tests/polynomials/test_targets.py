from __future__ import annotations

from fractions import Fraction

import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import Target
from dpopt.polynomials.targets import exact_number


def test_the_predicates_are_what_they_say() -> None:
    assert list(Target.disjunction(3).values) == [0, 1, 1, 1]
    assert list(Target.conjunction(3).values) == [0, 0, 0, 1]
    assert list(Target.at_least(2, 3).values) == [0, 0, 1, 1]
    assert Target.at_least(1, 4).values == Target.disjunction(4).values
    assert list(Target.table(["0", 0.1, "1/3", Fraction(2, 7), 1, "1e-2"]).values) == [
        0,
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(2, 7),
        1,
        Fraction(1, 100),
    ]


def test_only_or_keeps_its_value_at_zero() -> None:
    assert Target.disjunction(4).keeps_zero
    assert not any(
        one.keeps_zero for one in (Target.conjunction(4), Target.at_least(1, 4), Target.table([0, 1]))
    )


@pytest.mark.parametrize("text", ["x", "", "1/0", "nan", "inf", "1" * 500, "1e999999999", "1e-500", "0x1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(PolynomialError, match="the value"):
        exact_number(text, "the value")
    with pytest.raises(PolynomialError, match="value 1"):
        Target.table([0, text])


@pytest.mark.parametrize(
    "name", ["xor", "atleast:", "atleast:x", "atleast:0", "atleast:6", "atleast:-1", "Or"]
)
def test_unknown_predicates_are_refused(name: str) -> None:
    with pytest.raises(PolynomialError, match="expected"):
        Target.named(name, 5)


def test_wrong_sizes_and_values_are_refused() -> None:
    for width in (0, -1, 257):
        with pytest.raises(PolynomialError, match="from 1 to 256"):
            Target.disjunction(width)
    with pytest.raises(PolynomialError, match="1 values"):
        Target.table([1])
    with pytest.raises(PolynomialError, match="not those of 'or'"):
        Target("or", (Fraction(0), Fraction(1, 2)))
    with pytest.raises(PolynomialError, match="Fractions"):
        Target("table", (0, 1))  # type: ignore[arg-type]

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import ScriptedWords, SeededWords
from dpopt.private.mechanisms.selection_distribution import ExponentialTable
from dpopt.private.selections.query_weights import KeptQueries
from tests.exact_distribution import exp_minus


def kept_queries(step: str, margin: str, size: int) -> KeptQueries:
    return KeptQueries(Decimal(step), Decimal(margin), size, ExponentialTable(Decimal(step), size))


def digits(step: str, margin: str, size: int, distance: int) -> tuple[int, int]:
    """Return the first and second 64 binary digits of exp(-(eta k / n + c))."""
    probability = exp_minus(Fraction(Decimal(step)) * distance / size + Fraction(Decimal(margin)))
    return divmod(int(probability * 2**128), 2**64)


CASES = [("0.4", "0.04", 20), ("1.3", "0.13", 1000), ("0.02", "0.002", 494_021), ("8", "1e-9", 7)]


@pytest.mark.parametrize(("step", "margin", "size"), CASES)
def test_the_probability_is_exact_to_the_last_digit_that_is_read(step: str, margin: str, size: int) -> None:
    kept = kept_queries(step, margin, size)
    for distance in sorted({0, 1, size // 3, size, 2 * size - 1, 2 * size}):
        first, second = digits(step, margin, size, distance)
        k = np.array([distance], dtype=np.int64)
        for words, expected in [
            ([0], True),
            ([first - 1, 0], True),
            ([first + 1, 0], False),
            ([2**64 - 1, 2**64 - 1], False),
            ([first, 0], True),
            ([first, second - 1], True),
            ([first, second + 1], False),
            ([first, 2**64 - 1], False),
        ]:
            assert kept.draw(k, ScriptedWords(words)).tolist() == [expected], (distance, words)


def test_each_query_gets_a_word_of_its_own_and_the_edge_reads_further_ones() -> None:
    kept = kept_queries("0.4", "0.04", 20)
    first, second = digits("0.4", "0.04", 20, 5)
    distances = np.array([5, 0, 5, 40], dtype=np.int64)
    words = ScriptedWords([first, 0, 2**64 - 1, 0, second - 1])
    assert kept.draw(distances, words).tolist() == [True, True, False, True]


def test_as_many_are_kept_as_the_distribution_says() -> None:
    kept = kept_queries("0.5", "0.05", 100)
    distances = np.full(200_000, 80, dtype=np.int64)
    share = kept.draw(distances, SeededWords(3)).mean()
    expected = np.exp(-0.45)
    # six standard deviations: a false alarm once in 5e8 runs
    assert abs(share - expected) < 6 * np.sqrt(expected * (1 - expected) / 200_000)


def test_steps_whose_tables_end_too_early_are_refused() -> None:
    with pytest.raises(PlanError, match="too large for queries to be kept"):
        kept_queries("20", "2", 10)

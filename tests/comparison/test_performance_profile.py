from __future__ import annotations

from dataclasses import replace

import pytest

from dpopt.comparison.tables import distance, profile_over_distance, profile_over_time
from tests.comparison.comparisons import comparison


@pytest.mark.parametrize(
    ("value", "best", "per_cent"),
    [(100, 100, 0.0), (90, 100, 10.0), (101, 100, 0.0), (-3, -2, 50.0), (-1, 0, 100.0), (0, 0, 0.0)],
)
def test_a_distance_is_a_share_of_the_best_value(value: int, best: int, per_cent: float) -> None:
    assert distance(value, best) == per_cent


def test_the_profile_over_time_is_the_share_of_cases_brought_close() -> None:
    profile = profile_over_time(comparison())
    assert profile.cases == 2
    shares = [profile.share("good", at) for at in (0.05, 0.1, 0.99, 1.0, 5.0)]
    assert shares == [0.0, 0.0, 0.0, 1.0, 1.0]  # 199 of 200 is within 1 %
    assert profile.share("quick", 5.0) == 0.0
    assert profile_over_time(comparison(), within=10.0).share("quick", 0.1) == 0.5
    assert profile_over_time(comparison(), within=0.0).share("good", 1.0) == 0.5


def test_the_profile_over_distance_is_the_share_of_final_values() -> None:
    profile = profile_over_distance(comparison())
    assert [profile.share("good", at) for at in (0.0, 1.0)] == [1.0, 1.0]
    assert [profile.share("quick", at) for at in (0.0, 9.9, 10.0, 1e6)] == [0.0, 0.0, 0.5, 0.5]


def test_a_case_without_any_known_value_counts_for_nobody() -> None:
    made = comparison()
    made.facts[1] = replace(made.facts[1], best_value=None)
    profile = profile_over_distance(made)
    assert profile.cases == 1
    assert profile.share("good", 0.0) == 1.0

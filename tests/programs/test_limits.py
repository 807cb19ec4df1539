"""Limits of a solve: every value outside its range is refused."""

from __future__ import annotations

import math

import pytest

from dpopt.errors import ProgramError
from dpopt.programs import SolveLimits


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf, 1e10])
def test_seconds_must_be_finite_and_above_zero(seconds: float) -> None:
    with pytest.raises(ProgramError, match="seconds"):
        SolveLimits(seconds=seconds)


def test_work_must_be_at_least_one() -> None:
    with pytest.raises(ProgramError, match="work"):
        SolveLimits(work=0)


@pytest.mark.parametrize("gap", [-0.1, math.nan, math.inf])
def test_the_gap_must_be_finite_and_not_negative(gap: float) -> None:
    with pytest.raises(ProgramError, match="gap"):
        SolveLimits(gap=gap)


def test_threads_must_be_at_least_one() -> None:
    with pytest.raises(ProgramError, match="threads"):
        SolveLimits(threads=0)


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_the_seed_must_fit_every_solver(seed: int) -> None:
    with pytest.raises(ProgramError, match="seed"):
        SolveLimits(seed=seed)


def test_another_gap_or_seed_leaves_the_rest() -> None:
    limits = SolveLimits(seconds=3.0, work=7, threads=2, seed=5)
    assert limits.with_gap(2.0) == SolveLimits(seconds=3.0, work=7, gap=2.0, threads=2, seed=5)
    assert limits.with_seed(6) == SolveLimits(seconds=3.0, work=7, threads=2, seed=6)

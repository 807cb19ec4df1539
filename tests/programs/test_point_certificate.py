"""Certificates of points: every figure follows from program, point, duals and bound, and tampering shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import SolveResult, Termination
from dpopt.programs.point_certificate import certify_point
from tests.programs.test_duality import SQUARE, THIRDS


def answer(
    point: ArrayLike | None, *, duals: ArrayLike | None = None, bound: float | None = None
) -> SolveResult:
    return SolveResult(
        termination=Termination.FAILED if point is None else Termination.IMPRECISE,
        limit=None,
        solution=None if point is None else np.asarray(point, dtype=np.float64),
        objective=None if point is None else 1e9,
        bound=bound,
        solver="s",
        version="",
        native_status="",
        seconds=0.0,
        duals=None if duals is None else np.asarray(duals, dtype=np.float64),
    )


def test_an_optimal_point_with_its_duals_has_no_gap() -> None:
    found = certify_point(THIRDS, answer([1, 1], duals=[0.25, 0.25], bound=2.5))
    assert (found.primal_violation, found.integrality_violation, found.dual_violation) == (0.0, 0.0, 0.0)
    assert (found.objective, found.proven_bound, found.proven_gap) == (Fraction(2), Fraction(2), Fraction(0))
    assert (found.reported_bound, found.reported_gap) == (2.5, Fraction(1, 2))


def test_a_point_that_was_moved_shows_where() -> None:
    found = certify_point(THIRDS, answer([1.5, 1]))
    assert (found.primal_violation, found.integrality_violation) == (1.5, 0.5)
    assert found.objective == Fraction(5, 2)
    assert (found.dual_violation, found.proven_bound, found.proven_gap) == (None, None, None)
    assert (found.reported_bound, found.reported_gap) == (None, None)


def test_duals_that_were_changed_prove_less() -> None:
    changed = certify_point(THIRDS, answer([1, 1], duals=[0.25, 0.5])).proven_gap
    assert changed is not None
    assert changed > 0


def test_the_objective_is_exact_where_floating_point_is_not() -> None:
    assert certify_point(THIRDS, answer([0.1, 0.2])).objective == Fraction(0.1) + Fraction(0.2)


def test_a_quadratic_program_is_certified_from_below() -> None:
    found = certify_point(SQUARE, answer([1, 0], duals=[-2], bound=2.0))
    assert (found.objective, found.proven_bound, found.proven_gap) == (Fraction(3), Fraction(3), Fraction(0))
    assert found.reported_gap == 1
    elsewhere = certify_point(SQUARE, answer([0, 1], duals=[-2]))
    assert elsewhere.objective == Fraction(17, 2)
    assert elsewhere.proven_gap is not None
    assert elsewhere.proven_gap >= Fraction(11, 2)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(NoSolutionError):
        certify_point(THIRDS, answer(None))
    for point in ([1.0], [1.0, float("nan")]):
        with pytest.raises(ProgramError, match="2 finite numbers"):
            certify_point(THIRDS, answer(point))
    with pytest.raises(ProgramError, match="2 rows"):
        certify_point(THIRDS, answer([1, 1], duals=[1.0]))

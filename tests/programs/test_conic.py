"""Programs with cones: what lies in a cone, which multipliers prove a bound, and how far a point is off."""

from __future__ import annotations

import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.building import Builder
from dpopt.programs.certificate import certify_point
from dpopt.programs.conic import Cone, ConicProgram, matrices_of, number_of_multipliers, triangle_of
from dpopt.programs.duality import conic_bound
from dpopt.programs.results import SolveResult, Termination

KINDS = [Cone.SECOND_ORDER, Cone.ROTATED, Cone.EXPONENTIAL, Cone.SEMIDEFINITE]
NUMBERS = st.floats(-100, 100, allow_subnormal=False)
THREE = arrays(np.float64, (3, 3), elements=NUMBERS)


def member_in(kind: Cone, free: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a point of the cone made from three free numbers, with some room for rounding."""
    a, b, _ = (free / 20).tolist()
    if kind is Cone.SECOND_ORDER:
        return np.array([np.hypot(a, b) * (1 + 1e-12), a, b])
    if kind is Cone.ROTATED:
        return np.array([abs(a) + 0.1, b * b / (abs(a) + 0.1) * (1 + 1e-12), b])
    if kind is Cone.SEMIDEFINITE:
        return np.array([abs(a) + 0.1, b, b * b / (abs(a) + 0.1) * (1 + 1e-12)])
    y = abs(b) + 0.1
    return np.array([a, y, y * np.exp(a / y) * (1 + 1e-12)])


def program(kind: Cone) -> ConicProgram:
    """Return a program of three variables in [-300, e^60] that lie in one cone of three members, as they are."""
    build = Builder()
    x = build.variables("x", 3, lower=-300.0, upper=np.exp(60.0), objective=[1.0, 2.0, 3.0])
    build.rows("R", 1, (0, x, 1.0), upper=1e30, single=True)
    build.cones("K", kind, 1, 3, (np.arange(3), x, 1.0))
    found = build.program()
    assert isinstance(found, ConicProgram)
    return found


@pytest.mark.parametrize("kind", KINDS)
@given(multipliers=THREE, free=THREE)
def test_no_member_has_a_negative_product_with_proving_multipliers(
    kind: Cone, multipliers: NDArray[np.float64], free: NDArray[np.float64]
) -> None:
    build = Builder()
    x = build.variables("x", 1)
    build.cones("K", kind, 3, 3, (0, x, 1.0))
    proving = build.program().proving(multipliers.ravel()).reshape(3, 3)  # type: ignore[union-attr]  # it has cones
    for z in proving:
        for one in free:
            member = member_in(kind, one)
            total = sum(
                (Fraction(a) * Fraction(b) for a, b in zip(z.tolist(), member.tolist(), strict=True)), Fraction()
            )
            assert total >= 0


def room_in_dual(kind: Cone, z: list[float]) -> Decimal:
    """Return by which part the first side of the dual's condition (top of conic.py) exceeds the second, at 400 digits."""
    with localcontext(prec=400):
        one, two, three = map(Decimal, z)
        if kind is Cone.EXPONENTIAL:
            assert one < 0 or (one == 0 and two >= 0 and three >= 0)
            most, least = three, -one * (two / one - 1).exp() if one else Decimal(0)
        elif kind is Cone.SEMIDEFINITE:
            assert min(one, three) >= 0
            most, least = 4 * one * three, two**2
        else:
            rotated = kind is Cone.ROTATED
            assert min(one, two if rotated else one) >= 0
            most, least = (4 * one * two, three**2) if rotated else (one**2, two**2 + three**2)
        return (most - least) / most if most else -least


@pytest.mark.parametrize("kind", KINDS)
@given(multipliers=THREE)
def test_proving_multipliers_lie_in_the_dual_as_deep_as_they_must(kind: Cone, multipliers: NDArray[np.float64]) -> None:
    multipliers = np.where(np.abs(multipliers) < 1e-100, 0.0, multipliers)  # as `proving` counts them
    build = Builder()
    build.cones("K", kind, len(multipliers), 3, (0, build.variables("x", 1), 1.0))
    proving = build.program().proving(multipliers.ravel()).reshape(-1, 3)  # type: ignore[union-attr]  # it has cones
    last = [1, 2] if kind is Cone.SECOND_ORDER else [2]
    for raw, z in zip(multipliers, proving, strict=True):
        room = room_in_dual(kind, z.tolist())
        assert room >= 0
        inside = kind is Cone.SEMIDEFINITE and min(raw[0], raw[2], 4 * raw[0] * raw[2] - raw[1] ** 2) >= 0
        if inside:
            np.testing.assert_allclose(z, raw, rtol=1e-8, atol=1e-12 * np.abs(raw).max())
        elif (z[last] != raw[last]).any():
            assert room <= Decimal("1e-8")


@pytest.mark.parametrize("kind", KINDS)
@given(multipliers=arrays(np.float64, 4, elements=NUMBERS), free=arrays(np.float64, 3, elements=NUMBERS))
def test_a_bound_is_below_every_feasible_point(
    kind: Cone, multipliers: NDArray[np.float64], free: NDArray[np.float64]
) -> None:
    posed, point = program(kind), member_in(kind, free)
    assert posed.violation(point) <= 1e-9 * max(1.0, np.abs(point).max())
    bound = conic_bound(posed, np.zeros(3), multipliers)
    assert bound is not None
    exact = sum((Fraction(c) * Fraction(x) for c, x in zip((1, 2, 3), point.tolist(), strict=True)), Fraction())
    assert bound <= exact


@pytest.mark.parametrize("kind", KINDS)
@given(multipliers=arrays(np.float64, 3, elements=NUMBERS), free=arrays(np.float64, 3, elements=NUMBERS))
def test_a_bound_counts_entries_and_constants_of_cones(
    kind: Cone, multipliers: NDArray[np.float64], free: NDArray[np.float64]
) -> None:
    matrix, point = (np.array([[1.0, -2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 0.0, -1.0]]), np.array([1.0, -1.0, 2.0]))
    build = Builder()
    x = build.variables("x", 3, lower=-10.0, upper=10.0, objective=[1.0, 2.0, 3.0])
    entries = (np.arange(3)[:, None], x, matrix)
    build.cones("K", kind, 1, 3, entries, constants=member_in(kind, free) - matrix @ point)
    posed = build.program()
    assert isinstance(posed, ConicProgram)
    bound = conic_bound(posed, np.zeros(3), multipliers)
    assert bound is not None
    assert bound <= 5


def test_the_best_multipliers_prove_the_optimum() -> None:
    # x + 2 y is least over x y >= 1 at x = sqrt 2, y = 1 / sqrt 2: 2 sqrt 2.
    build = Builder()
    x = build.variables("x", upper=9.0, objective=1.0)
    y = build.variables("y", upper=9.0, objective=2.0)
    build.products("K", [(0, x, 1.0)], [(0, y, 1.0)], np.ones(1))
    posed = build.program()
    point = np.sqrt(np.array([2.0, 0.5]))
    result = SolveResult(
        termination=Termination.OPTIMAL,
        solution=point,
        objective=posed.evaluate(point),
        duals=np.array([1.0, 2.0, -2 * np.sqrt(2.0)]),
        solver="by hand",
    )
    certificate = certify_point(posed, result)
    assert float(certificate.objective) == pytest.approx(2 * np.sqrt(2.0))
    assert certificate.proven_gap is not None
    assert abs(float(certificate.proven_gap)) <= 1e-8
    assert number_of_multipliers(posed) == 3


@pytest.mark.parametrize(
    ("kind", "point", "violation"),
    [
        (Cone.SECOND_ORDER, [5, 3, 4], 0),
        (Cone.SECOND_ORDER, [4, 3, 4], 1),
        (Cone.ROTATED, [4, 1, 2], 0),
        (Cone.ROTATED, [-1, -1, 0], 2),
        (Cone.ROTATED, [4, 1, 3], np.sqrt(45) - 5),
        (Cone.EXPONENTIAL, [0, 1, 1], 0),
        (Cone.EXPONENTIAL, [1, 1, 1], 1),
        (Cone.EXPONENTIAL, [-1, 0, 0], 0),
        (Cone.EXPONENTIAL, [0, -2, 1], 2),
        (Cone.EXPONENTIAL, [1, 0, 1], 1),
        (Cone.EXPONENTIAL, [2, 1e-200, 1], 2),
        (Cone.EXPONENTIAL, [3, -1, 1], 3),
        (Cone.EXPONENTIAL, [-1, 0, -4], 4),
        (Cone.EXPONENTIAL, [-1, 1e-9, 0], 0),
        (Cone.SEMIDEFINITE, [1, 2, 4], 0),
        (Cone.SEMIDEFINITE, [1, 3, 1], 2),
    ],
)
def test_a_point_is_off_by_so_much(kind: Cone, point: list[float], violation: float) -> None:
    assert program(kind).violation(np.array(point, dtype=np.float64)) == pytest.approx(violation, abs=1e-12)


def test_a_program_is_kept_and_checked() -> None:
    posed = program(Cone.ROTATED)
    again = pickle.loads(pickle.dumps(posed))
    assert again.blocks == posed.blocks
    assert not again.constants.flags.writeable
    for kind, size in ((Cone.EXPONENTIAL, 4), (Cone.ROTATED, 2), (Cone.SECOND_ORDER, 1), (Cone.SEMIDEFINITE, 4)):
        build = Builder()
        build.cones("K", kind, 1, size, (0, build.variables("x"), 1.0))
        with pytest.raises(ProgramError, match="members"):
            build.program()
    with pytest.raises(ProgramError, match="multipliers"):
        conic_bound(posed, np.zeros(3), np.zeros(3))
    with pytest.raises(ProgramError, match="finite"):
        ConicProgram(
            posed.quadratic, posed.blocks, posed.member_starts, posed.member_columns, posed.member_coefficients,
            posed.constants + np.nan,
        )  # fmt: skip


@pytest.mark.parametrize("side", [1, 4, 24])
def test_matrices_of_multipliers_have_no_negative_eigenvalue_in_exact_arithmetic(side: int) -> None:
    draw = np.random.default_rng(side)
    build = Builder()
    members = side * (side + 1) // 2
    build.cones("K", Cone.SEMIDEFINITE, 1, members, (0, build.variables("x", 1), 1.0))
    posed = build.program()
    assert isinstance(posed, ConicProgram)
    thin = draw.normal(size=(side, max(1, side // 3))) * 10.0 ** draw.integers(-12, 6, (side, 1))
    for symmetric in (thin @ thin.T, thin @ thin.T - np.eye(side), np.ones((side, side))):
        z = matrices_of(posed.proving(triangle_of(symmetric, 2.0)), 0.5)
        rows = [[Fraction(one) for one in row] for row in z.tolist()]
        for place in range(side):  # elimination: pivots of a semidefinite matrix are 0 or above, rows of 0 are 0
            pivot = rows[place][place]
            assert pivot > 0 or not any(rows[place][place:])
            if not pivot:
                continue
            for row in rows[place + 1 :]:
                factor = row[place] / pivot
                row[:] = [a - factor * b for a, b in zip(row, rows[place], strict=True)]

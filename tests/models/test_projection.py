"""The projection as programs (PJ-1 to PJ-9): by hand, against general solvers, and the textbook of the page."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, FitTerm
from dpopt.inference.records.rounding import least_distance, rows_problem, searched_rows
from dpopt.models.best_responses.column_pricing import joined_clauses, pricing_program
from dpopt.models.records.projection import projection
from dpopt.programs import SolveLimits
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import NO_RULES
from dpopt.solvers.registry import get_solver
from tests.circuits import every_record
from tests.inference.fits import all_codes, answers, random_clauses

RECORDS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
VALUES = np.array([0.8, 0.6, 0.2])


def worked_queries() -> Clauses:
    """Return A = 1, B = 1, and both."""
    attributes = np.array([[0, -1], [1, -1], [0, 1]], dtype=np.int32)
    return Clauses.conjunctions(attributes, (attributes >= 0).astype(np.int32), attributes >= 0)


@pytest.mark.parametrize("name", ["clarabel", "cvxpy-highs"])
def test_the_worked_example_by_a_general_solver(name: str) -> None:
    solver = get_solver(name)
    if not solver.availability().available:
        pytest.skip(f"{name} is not available")
    program = projection(answers(worked_queries(), RECORDS) > 0, VALUES, np.ones(3)).program  # PJ-1 to PJ-3
    point = np.asarray(solver.solve(program, SolveLimits(seconds=60)).require_solution(), dtype=np.float64)
    np.testing.assert_allclose(point, [0, 4 / 15, 7 / 15, 4 / 15], atol=1e-4)
    assert program.evaluate(point) == pytest.approx(1 / 150, abs=1e-6)


@pytest.mark.parametrize(("reach", "both", "least"), [(0.0, 0.4, 0.02), (0.05, 0.3, 0.0075), (1.0, 4 / 15, 1 / 150)])
def test_shares_that_are_kept_leave_the_third_to_give_way(reach: float, both: float, least: float) -> None:
    """PJ-9 for A = 1 and B = 1, each up to `reach` lower; then share(both) >= share(A) + share(B) - 1 decides."""
    low = np.array([0.8 - reach, 0.6 - reach, -np.inf])
    model = projection(answers(worked_queries(), RECORDS) > 0, VALUES, np.ones(3), low=low, high=low + 2 * reach)
    found = model.solve("clarabel")
    assert found.objective == pytest.approx(least, abs=1e-6)
    np.testing.assert_allclose(found.value["w"][3], both, atol=1e-4)


def test_the_worked_example_by_column_generation() -> None:
    sizes = np.array([2, 2], dtype=np.int32)
    problem = FitProblem(sizes, (FitTerm(worked_queries(), VALUES),), NO_RULES, all_codes([2, 2]))
    fitted = fit(problem, FitSettings(records=3, sweeps=1, rounds=20))
    assert fitted.objective == pytest.approx(1 / 150, rel=1e-9)
    assert fitted.lower_bound == pytest.approx(1 / 150, rel=1e-9)  # PJ-6
    found = {tuple(record): weight for record, weight in zip(fitted.records.tolist(), fitted.weights, strict=True)}
    assert set(found) == {(0, 1), (1, 0), (1, 1)}
    assert found[1, 0] == pytest.approx(7 / 15, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_pricing_in_whole_numbers_finds_the_least_slope_and_bounds_it(seed: int) -> None:
    """PJ-4 and PJ-5, with the optimum by enumeration."""
    generator = np.random.default_rng(seed)
    sizes = np.array([3, 2, 4], dtype=np.int32)
    marginals = MarginalSet(all_codes([3, 2, 4]), np.array([[0, 1], [2, -1]], dtype=np.int32))
    clauses = random_clauses(generator, [3, 2, 4], 15)
    slopes = [generator.normal(0, 10.0 ** generator.integers(-6, 3), n) for n in (10, 15)]
    slopes[1][3] = 0.0
    written = pricing_program([marginals, clauses], slopes, sizes, NO_RULES)
    assert written.most == 2 + 15
    records = every_record([3, 2, 4])
    exact = slopes[0] @ answers(marginals, records) + slopes[1] @ answers(clauses, records)
    values = np.array([written.program.objective(record) for record in records])
    assert exact[int(np.argmax(values))] == pytest.approx(exact.min(), rel=1e-9)
    least = written.least(Fraction(int(values.max())))
    assert least <= exact.min()
    assert least == pytest.approx(exact.min(), rel=1e-6, abs=1e-6 * float(np.abs(exact).max()))


@pytest.mark.parametrize(
    ("slopes", "says"),
    [
        *((slopes, "one slope") for slopes in ([np.zeros(2)], [np.zeros(3), np.zeros(3)], [])),
        ([np.array([1.0, np.nan, 0.0])], "finite"),
    ],
)
def test_pricing_refuses_slopes_that_do_not_fit(slopes: list[np.ndarray], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        pricing_program([worked_queries()], slopes, np.array([2, 2], dtype=np.int32), NO_RULES)


def test_without_slopes_there_is_nothing_to_price() -> None:
    found = pricing_program([worked_queries()], [np.zeros(3)], np.array([2, 2], dtype=np.int32), NO_RULES)
    assert len(found.program.clauses) == 0


def test_the_master_refuses_what_does_not_fit() -> None:
    with pytest.raises(ProgramError, match="at least"):
        projection(np.zeros((3, 0), dtype=np.bool_), VALUES, np.ones(3))
    with pytest.raises(ProgramError, match="need 3 values"):
        projection(np.zeros((3, 2), dtype=np.bool_), VALUES[:2], np.ones(3))


def test_lists_of_clauses_of_different_widths_are_joined_in_their_order() -> None:
    generator = np.random.default_rng(0)
    parts = [random_clauses(generator, [2, 3, 2], 5), worked_queries(), random_clauses(generator, [2, 2], 4)]
    records = every_record([2, 3, 2])
    joined = joined_clauses(parts)
    np.testing.assert_array_equal(answers(joined, records), np.concatenate([answers(one, records) for one in parts]))


@pytest.mark.parametrize("number", [2, 3, 5])
def test_no_rows_of_any_records_come_nearer_than_the_bound_and_the_search_finds_the_nearest(number: int) -> None:
    """PJ-7 against all multisets of rows over eight records, and PJ-8 below their least."""
    sizes = np.array([2, 2, 2], dtype=np.int32)
    records = np.array(list(itertools.product((0, 1), repeat=3)), dtype=np.int32)
    queries = MarginalSet(all_codes((2, 2, 2)), np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32))
    multiplicities = np.random.default_rng(number).integers(1, 20, len(records))
    problem = rows_problem(queries, records, multiplicities, sizes, NO_RULES, number)
    shares = shares_on_records(queries, records, sizes, multiplicities.astype(np.float64))

    def distance(rows: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> float:
        gaps = number * (shares_on_records(queries, rows, sizes) - shares)
        return float(gaps @ gaps)

    least = min(
        distance(records[list(chosen)])
        for chosen in itertools.combinations_with_replacement(range(len(records)), number)
    )
    found = min(
        distance(searched_rows(problem, records[np.resize(np.roll(np.arange(8), seed), number)], seed))
        for seed in range(8)
    )
    assert least_distance(queries, shares, number) <= least + 1e-9
    assert found == pytest.approx(least, abs=1e-9)

"""IV-1 to IV-6: the best intervals by the linear program, by dynamic programming, and by trying all of them."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from dpopt.errors import ProgramError
from dpopt.inference.histograms.interval_partition import MOST_BINS, best_intervals, partition_cost
from dpopt.models.histograms.interval_partition import (
    interval_arcs,
    interval_costs,
    interval_program,
    read_intervals,
)
from tests.models.catalogue import MODELS
from tests.models.test_histogram_textbooks import numbers, printed, textbook, worked

INSTANCES = json.loads((MODELS / "interval_partition" / "known_optima.json").read_text())["instances"]
BY = pytest.mark.parametrize("by", ["error", "depth"])
EACH = pytest.mark.parametrize("instance", INSTANCES, ids=lambda one: one["name"])


def every_partition(number: int, intervals: int) -> list[np.ndarray]:
    return [np.array((0, *cuts, number)) for cuts in combinations(range(1, number), intervals - 1)]


def solved(values: list[float], intervals: int, *, by_depth: bool) -> tuple[float, np.ndarray]:
    program = interval_program(values, intervals, by_depth=by_depth)
    shape = (program.number_of_rows, program.number_of_variables)
    matrix = csr_array((program.coefficients, program.columns, program.row_starts), shape=shape)
    answer = milp(
        program.objective,
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
    )
    assert answer.status == 0, answer.message
    return float(answer.fun), np.asarray(answer.x)


@BY
@EACH
def test_the_program_and_the_recursion_find_the_known_optimum(instance: dict[str, object], by: str) -> None:
    """IV-1, IV-2 and IV-6 on the frozen instances; the vertex of the program is a path."""
    values, intervals, depth = instance["values"], instance["intervals"], by == "depth"
    assert isinstance(values, list)
    assert isinstance(intervals, int)
    known = instance[by]
    assert isinstance(known, dict)
    places = best_intervals(values, intervals, by_depth=depth)
    assert partition_cost(values, places, by_depth=depth) == pytest.approx(known["optimum"], abs=1e-6)
    assert partition_cost(values, np.array([0, *known["ends"]]), by_depth=depth) == pytest.approx(
        known["optimum"], abs=1e-6
    )
    objective, solution = solved(values, intervals, by_depth=depth)
    assert objective == pytest.approx(known["optimum"], abs=1e-6)
    read = read_intervals(len(values), intervals, solution)
    assert partition_cost(values, read, by_depth=depth) == pytest.approx(known["optimum"], abs=1e-6)


@BY
def test_no_partition_is_better(by: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(12):
        number = int(generator.integers(3, 9))
        intervals = int(generator.integers(1, number + 1))
        values = generator.exponential(5, number).round(2)
        if by == "error":
            values -= 3.0
        found = partition_cost(
            values, best_intervals(values, intervals, by_depth=by == "depth"), by_depth=by == "depth"
        )
        least = min(
            partition_cost(values, places, by_depth=by == "depth")
            for places in every_partition(number, intervals)
        )
        assert found == pytest.approx(least, abs=1e-9)


def test_costs_are_those_of_their_definition_and_grow_with_the_interval() -> None:
    """IV-3, IV-4, IV-5."""
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    by_error, by_depth = interval_costs(values), interval_costs(values, by_depth=True)
    for start, stop in combinations(range(values.size + 1), 2):
        part = values[start:stop]
        assert by_error[start, stop] == pytest.approx(((part - part.mean()) ** 2).sum(), abs=1e-9)
        assert by_depth[start, stop] == pytest.approx(part.sum() ** 2)
    for costs in (by_error, by_depth):
        for stop in range(2, values.size + 1):
            assert all(longer >= shorter - 1e-9 for longer, shorter in pairwise(costs[:stop, stop]))


def test_large_counts_keep_their_digits() -> None:
    """By error, the same cuts whatever is added to all counts."""
    values = np.array([1.0, 2.0, 9.0, 8.0, 7.0, 0.0])
    assert best_intervals(values + 1e9, 3).tolist() == best_intervals(values, 3).tolist() == [0, 2, 5, 6]


def test_a_thousand_bins_are_cut_where_their_steps_are() -> None:
    steps = np.repeat([5.0, 1.0, 8.0, 2.0], [100, 300, 200, 424])
    assert best_intervals(steps, 4).tolist() == [0, 100, 400, 600, 1024]


@pytest.mark.parametrize(
    ("values", "intervals", "by_depth", "message"),
    [
        ([1.0, 2.0], 3, False, "3 intervals for 2 bins"),
        ([1.0, 2.0], 0, False, "0 intervals"),
        ([], 1, False, "finite numbers in one row"),
        ([1.0, float("nan")], 1, False, "finite numbers"),
        ([1.0, -1.0], 1, True, "no value may be negative"),
        (np.zeros(MOST_BINS + 1), 2, False, "at most 65,536 bins"),
    ],
)
def test_what_cannot_be_partitioned_is_refused(
    values: list[float], intervals: int, by_depth: bool, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        best_intervals(values, intervals, by_depth=by_depth)


def test_programs_and_solutions_that_are_none_are_refused() -> None:
    with pytest.raises(ProgramError, match="5 intervals for 4 values"):
        interval_arcs(4, 5)
    with pytest.raises(ProgramError, match="more than 2,000,000 variables"):
        interval_arcs(1000, 100)
    with pytest.raises(ProgramError, match="no path"):
        read_intervals(4, 2, np.zeros(interval_arcs(4, 2)[0].size))
    with pytest.raises(ProgramError, match="increasing places"):
        partition_cost([1.0, 2.0], np.array([0, 2, 1]))


@pytest.mark.solver("cbc")
def test_the_textbook_finds_the_same_intervals() -> None:
    problems = [(one["values"], one["intervals"], by) for one in INSTANCES[:4] for by in ("error", "depth")]
    known = [one[by]["optimum"] for one in INSTANCES[:4] for by in ("error", "depth")]
    for function in ("solve", "recursion"):
        for optimum, (cost, ends) in zip(
            known, textbook("interval_partition", *problems, function=function), strict=True
        ):
            assert cost == pytest.approx(optimum, abs=1e-6)
            assert ends == sorted(ends)


@pytest.mark.solver("cbc")
def test_the_worked_example_is_that_of_the_page() -> None:
    by_error, by_depth = map(numbers, printed("interval_partition"))
    text = worked("interval_partition")
    assert "1/2 + 2 + 0 = 2.5" in text
    assert by_error[0] == pytest.approx(2.5)
    assert by_error[1] == [2, 5, 6]
    assert "144 + 64 + 49 = 257" in text
    assert by_depth[0] == pytest.approx(257)
    assert by_depth[1] == [3, 4, 6]

"""Sensitivities of counts: below the truth they would break privacy, so every path is held against all pairs of records."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError
from dpopt.queries import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.sensitivity import clauses as module
from dpopt.queries.sensitivity.clauses import (
    DENOMINATOR,
    CountSensitivity,
    count_sensitivity,
    dual_bound,
    dual_value,
    gather,
    largest_entries,
)
from dpopt.queries.workloads.families import all_marginals, random_conjunctions, random_parities
from dpopt.schema import Schema
from dpopt.schema.domains import Domains
from tests.strategies import clause_lists, clauses_of, naive_truth
from tests.tiny_runs import coded_schema


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    module._of_problem.cache_clear()


UNIVERSES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def truth_of(clauses: Clauses, sizes: list[int]) -> NDArray[np.int64]:
    """Return whether each clause is true of each record of the universe, (records, m)."""
    records = np.array(list(product(*map(range, sizes))), dtype=np.int32)
    return naive_truth(clauses, records).T.astype(np.int64)


def exact(clauses: Clauses, sizes: list[int]) -> tuple[int, int]:
    """Return both sensitivities by looking at all pairs of records."""
    truth = truth_of(clauses, sizes)
    differ = (truth[:, None, :] != truth[None, :, :]).sum(axis=2)
    return int(truth.sum(axis=1).max()), int(differ.max())


def check(clauses: Clauses, sizes: list[int]) -> None:
    """Check that the bounds are at least the truth, and no worse than the structure of the problem."""
    found = count_sensitivity(clauses, np.array(sizes))
    add_remove, replace = exact(clauses, sizes)
    assert add_remove <= found.add_remove <= len(clauses)
    assert replace <= found.replace <= min(len(clauses), 2 * found.add_remove)


@settings(max_examples=300, deadline=None)
@given(st.data(), UNIVERSES)
def test_never_below_the_truth(data: st.DataObject, sizes: list[int]) -> None:
    check(data.draw(clause_lists(sizes, max_size=14, widest=4)), sizes)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(0, 40), st.integers(1, 2), st.integers(1, 3))
def test_never_below_the_truth_when_tables_are_too_large_or_distances_too_many(
    data: st.DataObject, cells: int, widest: int, pairs: int
) -> None:
    sizes = [3, 2, 3]
    clauses = data.draw(clause_lists(sizes, max_size=14, widest=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_CELLS", cells)
        patch.setattr(module, "WIDEST", widest)
        patch.setattr(module, "MOST_PAIRS", pairs)
        module._of_problem.cache_clear()
        check(clauses, sizes)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), UNIVERSES, st.integers(1, 2**40))
def test_any_messages_give_a_bound(data: st.DataObject, sizes: list[int], size_of_messages: int) -> None:
    clauses = data.draw(clause_lists(sizes, max_size=14, widest=4))
    clauses = clauses.take(np.flatnonzero(clauses.widths() > 0))
    if not len(clauses):
        return
    sets, left_out = gather(clauses, np.array(sizes, dtype=np.int64))
    assert not left_out.size
    tables = sets.tables()
    seed = data.draw(st.integers(0, 2**32 - 1))
    draw = np.random.default_rng(seed).integers(-size_of_messages, size_of_messages, sets.first_message[-1])
    best = exact(clauses, sizes)[0]
    assert dual_value(sets, tables, draw) >= best
    assert dual_bound(sets, tables) >= best
    assert int(largest_entries(sets, tables).sum()) >= best
    assert dual_value(sets, tables, np.zeros_like(draw)) == int(largest_entries(sets, tables).sum())


def test_messages_whose_sums_could_overflow_are_not_used() -> None:
    clauses = clauses_of([([(0, 1, True)], 2), ([(1, 1, True)], 2)])
    sets, _ = gather(clauses, np.array([2, 2]))
    tables, messages = sets.tables(), np.zeros(int(sets.first_message[-1]), dtype=np.int64)
    for extreme in (2**62, -(2**63), 2**63 - 1):
        messages[0] = extreme
        assert dual_value(sets, tables, messages) == len(clauses)


@settings(max_examples=100, deadline=None)
@given(st.data(), UNIVERSES)
def test_a_table_holds_the_number_of_true_clauses_of_each_cell(data: st.DataObject, sizes: list[int]) -> None:
    attributes = range(len(sizes))
    rows = st.tuples(
        st.tuples(*(st.tuples(st.just(a), st.integers(0, sizes[a] - 1), st.booleans()) for a in attributes)),
        st.integers(0, (2 << len(sizes)) - 1),
    )
    drawn = data.draw(st.lists(rows, min_size=1, max_size=10))
    clauses = clauses_of((list(literals), mask) for literals, mask in drawn)
    sets, _ = gather(clauses, np.array(sizes, dtype=np.int64))
    assert sets.number == 1
    named = [set(clauses.values[:, a].tolist()) for a in attributes]
    positions = [[*sorted(named[a]), *([-1] if len(named[a]) < sizes[a] else [])] for a in attributes]
    codes = [
        [next(c for c in range(sizes[a]) if c not in named[a]) if p < 0 else p for p in positions[a]]
        for a in attributes
    ]
    expected = naive_truth(clauses, np.array(list(product(*codes)), dtype=np.int32)).sum(axis=0)
    table = sets.tables().reshape([len(named[a]) + 1 for a in attributes])
    there = table[np.ix_(*[range(len(positions[a])) for a in attributes])]
    assert there.reshape(-1).tolist() == expected.tolist()


def schema_of(sizes: list[int]) -> Schema:
    return coded_schema(*sizes)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_whole_marginals_have_their_exact_sensitivities(width: int) -> None:
    sizes = [3, 2, 4, 2]
    schema = schema_of(sizes)
    clauses = all_marginals(width, schema, Domains.of(schema, occurring=False)).clauses()
    found = count_sensitivity(clauses, schema.sizes)
    assert (found.add_remove, found.replace) == exact(clauses, sizes)
    twice = clauses.take(np.tile(np.arange(len(clauses)), 2))
    again = count_sensitivity(twice, schema.sizes)
    assert (again.add_remove, again.replace) == (2 * found.add_remove, 2 * found.replace)


@pytest.mark.parametrize("cells", [0, 1 << 26])
def test_marginals_count_once_or_twice_with_and_without_tables(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", cells)
    counts = np.array([3, 1, 2, 4], dtype=np.int64)  # of attribute 3 four of six codes are named, of 1 one of one
    domains = Domains(counts, np.cumsum(counts) - counts, np.array([0, 1, 2, 0, 0, 1, 1, 2, 4, 5], dtype=np.int32))
    marginals = MarginalSet(domains, np.array([[0, 2, -1], [0, 1, 3], [3, -1, -1]], dtype=np.int32))
    found = count_sensitivity(marginals.clauses(), np.array([3, 1, 2, 6]))
    assert (found.add_remove, found.replace) == (3, 6)


def test_many_attributes_of_few_values_leave_nothing_to_compare_but_counting() -> None:
    """A whole marginal over 12 attributes: wider than tables go, and one clause is true of each record."""
    schema = schema_of([2] * 12)
    clauses = all_marginals(12, schema, Domains.of(schema, occurring=False)).clauses()
    found = count_sensitivity(clauses, schema.sizes)
    assert (found.add_remove, found.replace) == (1, 2)
    negated = count_sensitivity(clauses.negated(), schema.sizes)
    assert (negated.add_remove, negated.replace) == (len(clauses), 2)


def test_constant_clauses_move_no_count_but_when_a_record_comes() -> None:
    clauses = clauses_of([([], 1), ([], 0), ([(0, 0, True)], 2), ([(0, 0, True)], 1), ([(1, 1, False)], 3)])
    found = count_sensitivity(clauses, np.array([1, 3]))
    assert (found.add_remove, found.replace) == exact(clauses, [1, 3]) == (3, 0)
    assert found.how == "no query distinguishes two records"
    none = count_sensitivity(clauses.take([]), np.array([1, 3]))
    assert (none.add_remove, none.replace) == (0, 0)


def test_the_dual_sees_that_sets_of_attributes_disagree() -> None:
    """ "a = 1 and b = 1" three times, "a = 0 and c = 1" twice: each set has its maximum, no record has both."""
    clauses = clauses_of([*[([(0, 1, True), (1, 1, True)], 4)] * 3, *[([(0, 0, True), (2, 1, True)], 4)] * 2])
    found = count_sensitivity(clauses, np.array([2, 2, 2]))
    assert (found.add_remove, found.replace) == (3, 5)
    assert "weak duality over the queries of 2 sets of attributes" in found.how


def test_mostly_true_clauses_move_little_when_a_record_is_replaced() -> None:
    """ "Not (a = v)" for 50 values: 50 or 49 are true of a record, and two of them differ between two records."""
    clauses = clauses_of([([(0, v, False)], 2) for v in range(50)])
    found = count_sensitivity(clauses, np.array([60]))
    assert (found.add_remove, found.replace) == (50, 2)


@pytest.mark.parametrize(("draw", "most"), [(random_conjunctions, (0.25, 0.45)), (random_parities, (0.58, 1.0))])
def test_random_queries_on_wide_tables_get_bounds_far_below_their_number(draw: Any, most: tuple[float, float]) -> None:
    """20,000 queries of three literals over 15 attributes; the truth is at least what any records show."""
    rng = np.random.default_rng(1)
    sizes = [2] * 3 + [4] * 4 + [10] * 8
    schema = schema_of(sizes)
    clauses = draw(3, 20_000, 0, schema, Domains.of(schema, occurring=False))
    found = count_sensitivity(clauses, schema.sizes)
    from dpopt.queries.counting.kernels import satisfied

    records = freeze(rng.integers(0, sizes, size=(300, 15)).astype(np.int32))
    truth = np.array([satisfied(clauses, record) for record in records])
    assert truth.sum(axis=1).max() <= found.add_remove
    assert (truth[:-1] != truth[1:]).sum(axis=1).max() <= found.replace
    assert found.add_remove < most[0] * len(clauses)
    assert found.replace < most[1] * len(clauses)


def test_a_sweep_that_goes_wrong_gives_no_bound_below_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are not trusted: with nonsense in their place the bounds stay bounds."""
    from dpopt.queries.sensitivity import kernels as sensitivity_kernels

    def nonsense(*arguments: Any) -> None:
        messages = arguments[3]
        messages[:] = np.random.default_rng(0).integers(-DENOMINATOR, DENOMINATOR, messages.size)

    monkeypatch.setattr(sensitivity_kernels, "sweep_messages", nonsense)
    monkeypatch.setattr(module, "MOST_SWEEPS", 3)
    rng = np.random.default_rng(5)
    for _ in range(20):
        sizes = [2, 3, 3]
        literals = [
            [(int(a), int(rng.integers(sizes[a])), bool(rng.integers(2))) for a in rng.permutation(3)[:2]]
            for _ in range(12)
        ]
        check(clauses_of((row, int(rng.integers(8))) for row in literals), sizes)


def test_literals_in_another_order_change_nothing() -> None:
    rows = [([(0, 1, True), (2, 0, False), (1, 1, True)], 0b1010), ([(2, 1, True), (0, 0, True), (1, 0, True)], 0b1000)]
    turned = [(literals[::-1], mask) for literals, mask in rows]
    one, two = (count_sensitivity(clauses_of(which), np.array([2, 2, 2])) for which in (rows, turned))
    assert one == two


def test_clauses_that_do_not_fit_the_schema_are_refused() -> None:
    with pytest.raises(WorkloadError, match="asks"):
        count_sensitivity(clauses_of([([(0, 3, True)], 2)]), np.array([2]))


@pytest.mark.parametrize(("add_remove", "replace"), [(-1, 0), (1, -1), (1, 3)])
def test_a_sensitivity_without_sense_is_refused(add_remove: int, replace: int) -> None:
    with pytest.raises(WorkloadError, match="sensitivity"):
        CountSensitivity(add_remove, replace, "by hand")

"""Counts in bins and degrees of graphs: what their measurements cost, over all neighbours of tiny tables and graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.bin_measurement import BinsInUse, GroupSums, SortedCounts
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.private.test_counting_curator import curator
from tests.tiny_runs import ADD_REMOVE, REPLACE

BINS, NODES = 4, 4
GROUPS = np.array([0, 0, -1, 1], dtype=np.int64)
EVERYTHING = Budget(1e9, 0.0, None, Accountant.PURE)
RHO = Budget(None, 1e-9, 1e9, Accountant.ZCDP)
SCHEMA = Schema(
    (Attribute("x", AttributeKind.CATEGORICAL, ("p", "q")), Attribute("y", AttributeKind.CATEGORICAL, (1, 2, 3)))
)

Records = tuple[object, ...]


def of_bins(records: Records) -> BinCounts:
    return BinCounts.from_counts(np.bincount(np.array(records, dtype=np.int64), minlength=BINS))


def of_edges(records: Records) -> BinCounts:
    ends = np.array(records, dtype=np.int64).reshape(-1)
    return BinCounts.of_degrees(np.bincount(ends, minlength=NODES).astype(np.int64), len(records))


def tables(size: int) -> Iterator[Records]:
    return combinations_with_replacement(range(BINS), size)


def graphs(size: int) -> Iterator[Records]:
    return combinations(tuple(combinations(range(NODES), 2)), size)


def neighbours(
    inputs: Callable[[int], Iterator[Records]], relation: NeighbouringRelation
) -> Iterator[tuple[Records, Records]]:
    """Yield all pairs of neighbours with up to four records: multisets that differ in one record."""
    for size in range(1, 5):
        for one in inputs(size):
            for other in inputs(size - 1 if relation is ADD_REMOVE else size):
                common = (Counter(one) & Counter(other)).total()
                if common == size - 1 and one != other:
                    yield one, other


KINDS = {"table": (of_bins, tables), "graph": (of_edges, graphs)}
MEASURED: list[tuple[str, Callable[[bool], GroupSums | SortedCounts | BinsInUse]]] = [
    ("table", lambda gaussian: GroupSums("groups", 2.0, gaussian, GROUPS, 2)),
    ("table", lambda gaussian: GroupSums("bins", 2.0, gaussian, np.arange(BINS), BINS)),
    *(
        (kind, lambda gaussian, length=length: SortedCounts("sorted", 2.0, gaussian, length))
        for kind, length in product(KINDS, (2, 4, 6))
    ),
    *(
        (kind, lambda gaussian, ranked=ranked: SortedCounts("ranked", 2.0, gaussian, 4, ranked))
        for kind, ranked in product(KINDS, (0, 1, 2))
    ),
    *((kind, lambda gaussian: BinsInUse("in use", 2.0, gaussian)) for kind in KINDS),
]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize(("kind", "measurement"), MEASURED)
def test_a_charge_is_of_the_farthest_neighbours(
    kind: str,
    measurement: Callable[[bool], GroupSums | SortedCounts | BinsInUse],
    gaussian: bool,
    relation: NeighbouringRelation,
) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b with the largest distances; reached, where enough bins are measured."""
    made, inputs = KINDS[kind]
    what = measurement(gaussian)
    farthest = 0
    for one, other in neighbours(inputs, relation):
        sensitivity = np.abs(what.exact(made(one)) - what.exact(made(other)))
        farthest = max(farthest, int((sensitivity**2).sum() if gaussian else sensitivity.sum()))
    records: Records = next(inputs(2))
    charge = what.charge(made(records)._bins_of_a_record, relation)
    cost = Fraction(farthest, 2 * 4) if gaussian else Fraction(farthest, 2)
    assert charge.relation is relation
    assert charge.parameter >= cost
    # Four nodes are too few for a replaced edge to do its worst: see below.
    few = (isinstance(what, SortedCounts) and what.length < 4) or (kind == "graph" and relation is REPLACE)
    assert few or charge.parameter == pytest.approx(float(cost), rel=1e-12)


def test_an_edge_that_is_replaced_can_move_four_degrees_in_order() -> None:
    one, other = np.array([1, 4, 7, 10]), np.array([2, 5, 6, 9])
    what = SortedCounts("sorted", 2.0, False, 4)
    sensitivity = np.abs(what.exact(BinCounts.of_degrees(one, 11)) - what.exact(BinCounts.of_degrees(other, 11)))
    assert sensitivity.tolist() == [1, 1, 1, 1]
    assert what.charge(2, REPLACE).parameter == pytest.approx(2.0)


def test_an_edge_that_is_replaced_can_bring_two_nodes_into_use() -> None:
    triangle, other = np.array([2, 2, 2, 0, 0]), np.array([1, 2, 1, 1, 1])
    what = BinsInUse("in use", 2.0, False)
    assert what.exact(BinCounts.of_degrees(other, 3)) - what.exact(BinCounts.of_degrees(triangle, 3)) == 2
    assert what.charge(2, REPLACE).parameter == pytest.approx(1.0)


def test_an_edge_that_is_replaced_can_move_two_numbers_of_nodes_by_two() -> None:
    """The edge of two nodes of degree 3 goes, one of two nodes without an edge comes."""
    one, other = np.array([3, 3, 0, 0, 2, 2]), np.array([2, 2, 1, 1, 2, 2])
    exact = [SortedCounts("r", 2.0, True, 6, 0).exact(BinCounts.of_degrees(each, 5)) for each in (one, other)]
    assert (exact[0] - exact[1]).tolist() == [0, 0, 2, 0, -2]
    assert SortedCounts("r", 2.0, True, 6, 0).charge(2, REPLACE).parameter == pytest.approx(8 / (2 * 4))


@pytest.mark.parametrize("ranked", range(7))
def test_ranked_counts_and_the_numbers_of_others_count_each_edge_end_once(ranked: int) -> None:
    counts = BinCounts.of_degrees(np.array([1, 4, 4, 1, 2]), 6)
    exact = SortedCounts("r", 1.0, False, 6, ranked).exact(counts)
    largest = [0, 1, 1, 2, 4, 4][6 - ranked :]
    others = [0, 1, 1, 2, 4, 4][: 6 - ranked]
    numbers = [sum(one >= least for one in others) for least in (5, 4, 3, 2, 1)]
    assert exact.tolist() == numbers + largest
    assert exact.sum() == 12


COUNTS = of_bins((0, 0, 1, 3, 3, 3))


def test_groups_of_nodes_are_refused_before_anything_is_spent() -> None:
    made, ledger = curator(of_edges(((0, 1),)))
    with pytest.raises(PlanError, match="an edge may count twice"):
        made.measure(GroupSums("groups", 2.0, False, GROUPS, 2))
    assert ledger.entries == ()


@pytest.mark.parametrize("length", [1, 3, 6])
def test_sorted_counts_are_the_largest_or_begin_with_zeros(length: int) -> None:
    exact = SortedCounts("sorted", 1.0, False, length).exact(COUNTS)
    assert exact.tolist() == [0, 0, 0, 1, 2, 3][-length:]


def test_columns_become_counts_in_the_order_of_their_codes() -> None:
    x, y = np.array([0, 1, 1, 1]), np.array([2, 0, 0, 1])
    table = PrivateDataset.from_codes(SCHEMA, [x, y])
    assert BinCounts.of_columns(table, ("y",))._counts.tolist() == [2, 1, 1]
    assert BinCounts.of_columns(table, ("x", "y"))._counts.tolist() == [0, 0, 1, 2, 1, 0]
    assert BinCounts.of_columns(table, ("y", "x"))._counts.tolist() == [0, 2, 0, 1, 1, 0]
    with pytest.raises(PrivateDataError, match="no attribute 'z'; the schema has x, y"):
        BinCounts.of_columns(table, ("z",))
    with pytest.raises(PrivateDataError, match="no attribute 'z'"):
        BinCounts.of_columns(table, ("x", "z"))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, -2, 3], "bin 1 has the count -2"),
        ([1.0, 2.5], r"bin 1 has the count 2\.5"),
        ([float("nan")], "bin 0 has the count nan"),
        ([0, 2**41], "bin 1 has the count"),
        ([], "one number for each bin"),
        ([[1, 2]], "one number for each bin"),
        (["1"], "one number for each bin"),
    ],
)
def test_counts_that_are_none_are_refused(counts: list[object], message: str) -> None:
    with pytest.raises(PrivateDataError, match=message):
        BinCounts.from_counts(counts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BinsInUse("", 1.0, False), "needs a name"),
        (lambda: BinsInUse("n", 0.0, False), "scale of the noise"),
        (lambda: SortedCounts("n", 1.0, False, 0), "the number of sorted counts must be"),
        (lambda: SortedCounts("n", 1.0, False, 3, 4), "0 to 3 are measured one by one, found 4"),
        (lambda: GroupSums("n", 1.0, False, np.array([0, 2]), 2), "numbered 0 to 1"),
        (lambda: GroupSums("n", 1.0, False, np.array([-2, 1]), 2), "numbered 0 to 1"),
    ],
)
def test_measurements_that_make_no_sense_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make()

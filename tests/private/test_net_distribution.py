"""The weights of the net mechanism, against rational arithmetic that shares nothing with them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net.net_distribution import BITS, MOST_DEPTH, Multisets, NetDistribution, whole_below
from dpopt.private.mechanisms.randomness import RandomWords, SeededWords
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SelectedDatabase
from tests.exact_distribution import exp_minus
from tests.scripted import ScriptedWords
from tests.tiny_runs import REPLACE, dataset_of, sized_schema


def small_exponential(exponent: Fraction) -> Fraction:
    """Return exp(-exponent) with a relative error below 2^-250, however small it is: the power of a larger one."""
    parts = int(exponent) // 20 + 1
    return exp_minus(exponent / parts) ** parts


LAWS = [("0.7", 6, 400), ("1e-5", 40, 10**9), ("12.5", 2, 900), ("3", 10, 0)]


@pytest.mark.parametrize(("range_", "spread", "clamp"), LAWS)
def test_weights_are_exponentials_to_126_bits(range_: str, spread: int, clamp: int) -> None:
    distribution = NetDistribution(Decimal(range_), spread, clamp)
    unit = distribution.weight(0)
    assert unit == 1 << (BITS + distribution.depth)
    for distance in {0, 1, 2, clamp // 3, clamp // 2, max(clamp - 1, 0), clamp}:
        exact = small_exponential(Fraction(range_) * min(distance, clamp) / spread)
        assert abs(Fraction(distribution.weight(distance), unit) / exact - 1) < Fraction(1, 2**126)


@pytest.mark.parametrize(("range_", "spread", "clamp"), LAWS)
def test_larger_distances_never_weigh_more_and_beyond_the_clamp_the_same(range_: str, spread: int, clamp: int) -> None:
    distribution = NetDistribution(Decimal(range_), spread, clamp)
    steps = sorted({*range(min(clamp, 300)), *range(max(0, clamp - 50), clamp + 1)})
    weights = [distribution.weight(distance) for distance in steps]
    assert all(one > two for one, two in pairwise(weights))
    assert distribution.weight(clamp + 1) == distribution.weight(2 * clamp + 99) == distribution.weight(clamp) > 0


def test_the_caller_s_decimal_context_plays_no_part() -> None:
    from decimal import localcontext

    usual = NetDistribution(Decimal("0.7"), 6, 50).weight(17)
    with localcontext() as context:
        context.prec = 3
        assert NetDistribution(Decimal("0.7"), 6, 50).weight(17) == usual


@pytest.mark.parametrize(
    ("range_", "spread", "clamp"), [("0", 2, 5), ("-1", 2, 5), ("Infinity", 2, 5), ("1", 0, 5), ("1", 2, -1)]
)
def test_numbers_out_of_range_are_refused(range_: str, spread: int, clamp: int) -> None:
    with pytest.raises(PlanError, match="range above 0"):
        NetDistribution(Decimal(range_), spread, clamp)


def test_weights_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(PlanError, match=f"2\\^{MOST_DEPTH:,} is the most"):
        NetDistribution(Decimal(1), 2, 30_000)


@pytest.mark.parametrize("total", [1, 2, 3, 5, 2**64, 2**64 + 1, 2**200 - 1])
def test_points_are_the_masked_words_that_fall_below(total: int) -> None:
    bits = (total - 1).bit_length()
    words = -(-bits // 64)
    too_large = [2**64 - 1] * words if total & (total - 1) else []
    script = [*too_large, *[1] + [0] * (words - 1)] if words else []
    expected = 0 if total == 1 else 1
    assert whole_below(total, ScriptedWords(script)) == expected


def test_every_point_of_a_small_total_is_as_likely() -> None:
    drawn = [whole_below(3, ScriptedWords([word, 0])) for word in range(4)]
    assert drawn == [0, 1, 2, 0]  # 3 is drawn again


def test_points_lie_below_the_total() -> None:
    words = SeededWords(3)
    points = [whole_below(10**40 + 7, words) for _ in range(200)]
    assert all(0 <= point < 10**40 + 7 for point in points)
    assert max(points) > 9 * 10**39
    with pytest.raises(ValueError, match="at least 1"):
        whole_below(0, words)


# The curator of the net mechanism.

SCHEMA = sized_schema(p=3, q=2)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
TABLE = tuple((i % 3, int(i % 5 < 2)) for i in range(30))
RANGE = Decimal("0.7")


def curator_on(
    *, clauses: bool = False, words: RandomWords | None = None, size: int = 30, relation: object = REPLACE
) -> tuple[NetCurator, Ledger, MemoryJournal]:
    ledger = Ledger(Budget(1.0, 0.0, None, Accountant.PURE), relation)  # type: ignore[arg-type]
    ledger.reserve((selection_charge(1, RANGE, relation),))  # type: ignore[arg-type]
    journal = MemoryJournal()
    curator = NetCurator(
        dataset_of(SCHEMA, TABLE),
        WORKLOAD.clauses if clauses else WORKLOAD.queries,
        ledger,
        journal,
        size=size,
        range_=RANGE,
        words=words,
    )
    return curator, ledger, journal


def multisets(records: int = 2) -> Multisets:
    return Multisets(Universe.of(WORKLOAD).answers, records)


def test_marginals_and_their_cells_written_out_have_the_same_counts() -> None:
    whole, listed = curator_on()[0]._counts, curator_on(clauses=True)[0]._counts
    assert whole.tolist() == listed.tolist()
    assert whole.tolist() == [sum(t == (p, q) for t in TABLE) for p in range(3) for q in range(2)]


def test_a_selection_is_on_file_after_its_charge() -> None:
    curator, ledger, journal = curator_on()
    selected = curator.select_database(multisets(), reach=Decimal(1))
    assert [entry["kind"] for entry in journal.entries] == ["charge", "database"]
    assert int(selected.counts.sum()) == 2
    assert ledger.spent().epsilon == pytest.approx(0.7)
    assert ledger.is_private
    read = SelectedDatabase.from_json(journal.entries[1], selected.charge)
    assert (read.elements.tolist(), read.counts.tolist()) == (selected.elements.tolist(), selected.counts.tolist())


def test_nothing_is_selected_twice() -> None:
    curator, _, _ = curator_on()
    curator.select_database(multisets(), reach=Decimal(1))
    with pytest.raises(BudgetError, match="drawn before"):
        curator.select_database(multisets(), reach=Decimal(1))


def test_multisets_that_do_not_fit_are_refused_unspent() -> None:
    curator, ledger, journal = curator_on()
    with pytest.raises(PlanError, match="queries"):
        curator.select_database(Multisets(np.ones((1, 3), dtype=np.int8), 2), reach=Decimal(1))
    assert journal.entries == []
    assert ledger.entries == ()

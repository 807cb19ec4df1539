from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dqrs import dqrs_charges, reuse_rhos
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, TranscriptError
from dpopt.private.curators.dualquery_curator import DqrsCurator, _netted, signed_queries
from dpopt.private.mechanisms.randomness import RandomWords, ScriptedWords
from dpopt.private.selections.query_weights import ScriptedSampler
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SampledQueries
from tests.exact_distribution import exp_minus
from tests.exact_loss import Divergences, as_decimal, check_renyi, implemented_weights
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, conjunctions, dataset_of, universe

SCHEMA = bits_schema(2)
WORKLOAD = conjunctions(SCHEMA, "a", "b", "a !b")
AMPLE = Budget(1e9, 1e-9, None, Accountant.ZCDP)
FIRST, LAST = 0, 2**64 - 1


def charge_of(count: int, number: int = 1) -> object:
    return plan_charges(number, count, 1.0, 10, REPLACE)[-1]


@given(signed=st.lists(st.integers(0, 9), min_size=1, max_size=30), number=st.integers(1, 4))
def test_what_is_released_is_the_whole_multiset(signed: list[int], number: int) -> None:
    drawn = np.sort(np.array(signed, dtype=np.int64))
    charge = charge_of(len(signed), number)
    sampled = _netted(number, drawn, charge)  # type: ignore[arg-type]
    back = SampledQueries.from_json(sampled.to_json(), charge)  # type: ignore[arg-type]
    assert signed_queries(back).tolist() == drawn.tolist()
    net = np.bincount(drawn // 2, weights=1 - 2 * (drawn % 2), minlength=5)
    assert dict(zip(sampled.queries.tolist(), sampled.counts.tolist(), strict=True)) == {
        query: int(count) for query, count in enumerate(net) if count
    }


def test_a_draw_on_file_that_is_incomplete_is_refused() -> None:
    short = SampledQueries(1, [2], [1], charge_of(3))  # type: ignore[arg-type]
    with pytest.raises(TranscriptError, match="holds 1 queries, 3 were charged"):
        signed_queries(short)


def curator_on(
    table: Table,
    *,
    relation: NeighbouringRelation,
    script: list[list[int]],
    words: RandomWords,
    size: int,
    rounds: int = 4,
    draws: int = 3,
    step: str = "1",
    margin: str = "1",
) -> tuple[DqrsCurator, Ledger, MemoryJournal]:
    ledger = Ledger(AMPLE, relation)
    ledger.reserve(dqrs_charges(rounds, draws, float(step), float(margin), size, relation))
    journal = MemoryJournal()
    curator = DqrsCurator(
        dataset_of(SCHEMA, table),
        WORKLOAD.clauses,
        ledger,
        journal,
        size=size,
        step=Decimal(step),
        margin=Decimal(margin),
        sampler=ScriptedSampler(script),
        words=words,
    )
    return curator, ledger, journal


FIFTY: Table = tuple((i % 2, i % 3 // 2) for i in range(50))
X = np.array([1, 0], dtype=np.int32)


def test_queries_are_kept_or_drawn_again_as_the_words_say_and_a_round_is_charged_before() -> None:
    words = ScriptedWords([FIRST, LAST, FIRST, FIRST, FIRST, FIRST])
    curator, ledger, journal = curator_on(
        FIFTY, relation=REPLACE, script=[[0, 3, 5], [1, 2, 4], [0]], words=words, size=50
    )
    assert signed_queries(curator.draw_queries(3)).tolist() == [0, 3, 5]
    curator.observe(X)
    assert signed_queries(curator.draw_queries(3)).tolist() == [1, 2, 4]  # round 2 is cheaper afresh
    curator.observe(X)
    assert signed_queries(curator.draw_queries(3)).tolist() == [0, 1, 4]  # 2 was drawn again
    curator.observe(X)
    assert signed_queries(curator.draw_queries(3)).tolist() == [0, 1, 4]  # all kept
    spent = [charge.kind for charge in ledger.entries if charge.kind is not ChargeKind.NOT_PRIVATE]
    assert spent == [ChargeKind.BOUNDED_RANGE] * 2 + [ChargeKind.CONCENTRATED] * 2
    assert [entry["kind"] for entry in journal.entries] == ["charge", "draw"] * 4
    curator.observe(X)
    with pytest.raises(BudgetError):
        curator.draw_queries(3)


def test_a_resumed_run_keeps_from_the_draw_on_file() -> None:
    script, words = [[0, 3, 5], [1, 2, 2]], [FIRST, LAST, LAST]
    before, _, journal = curator_on(FIFTY, relation=REPLACE, script=script, words=ScriptedWords([]), size=50)
    draws = []
    for _ in range(2):
        draws.append(before.draw_queries(3))
        before.observe(X)
    after, _, _ = curator_on(FIFTY, relation=REPLACE, script=[[4, 5]], words=ScriptedWords(words), size=50)
    charges = [sampled.charge for sampled in draws]
    entries = [entry for entry in journal.entries if entry["kind"] == "draw"]
    for entry, charge in zip(entries, charges, strict=True):
        after.recall(charge, drawn=True)
        after.remember(SampledQueries.from_json(entry, charge))
        after.observe(X)
    assert after._distances.tolist() == before._distances.tolist()
    assert signed_queries(after.draw_queries(3)).tolist() == [1, 4, 5]


def test_a_round_that_keeps_another_number_of_queries_is_refused() -> None:
    curator, _, _ = curator_on(
        FIFTY, relation=REPLACE, script=[[0, 3, 5], [1, 2, 4]], words=ScriptedWords([]), size=50
    )
    for _ in range(2):
        curator.draw_queries(3)
        curator.observe(X)
    curator._held = curator._held[:2]
    with pytest.raises(BudgetError, match="keeps or redraws 2 queries"):
        curator.draw_queries(3)


def outcome_distribution(curator: DqrsCurator, step: str, margin: str, size: int) -> list[list[Fraction]]:
    """Return for each held query the distribution of what the next round has in its place: (query, kept or drawn again)."""
    weights = implemented_weights(curator._weights)
    total = sum(weights, Fraction(0))
    distributions = []
    for distance in curator._distances.tolist():
        keep = exp_minus(Fraction(Decimal(step)) * distance / size + Fraction(Decimal(margin)))
        distributions.append([keep] + [(1 - keep) * weight / total for weight in weights])
    return distributions


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize(("step", "margin"), [("0.5", "0.05"), ("2", "0.4")])
def test_no_pair_of_neighbours_loses_more_than_rho(
    relation: NeighbouringRelation, step: str, margin: str
) -> None:
    """All tables of up to three records: the Renyi divergence of a kept-or-redrawn query, at several orders."""
    size, records = 3, [(1, 0), (1, 1)]
    every = [0, 1, 5]
    distributions: dict[tuple[int, Table], list[list[Fraction]]] = {}
    rows = [3] if relation is REPLACE else [2, 3]
    all_tables = [table for count in rows for table in combinations_with_replacement(universe(SCHEMA), count)]
    for table in all_tables:
        curator, _, _ = curator_on(
            table,
            relation=relation,
            script=[],
            words=ScriptedWords([]),
            size=size,
            step=step,
            margin=margin,
        )
        for number, record in enumerate(records, start=2):
            curator._held = np.array(every, dtype=np.int64)
            curator.observe(np.array(record, dtype=np.int32))
            distributions[number, table] = outcome_distribution(curator, step, margin, size)
    rhos = reuse_rhos(len(records) + 1, float(step), float(margin), size, relation)
    used = 0.0
    for one, two in neighbouring(all_tables, relation):
        for number in range(2, len(records) + 2):
            for distribution, other in zip(
                distributions[number, one], distributions[number, two], strict=True
            ):
                shares, others = [as_decimal(p) for p in distribution], [as_decimal(p) for p in other]
                check_renyi(float(rhos[number - 1]), Divergences(shares, others))
                kl = sum(float(p) * float((p / q).ln()) for p, q in zip(shares, others, strict=True))
                used = max(used, kl / float(rhos[number - 1]))
    assert used > 0.3  # the bound is not idle


def neighbouring(tables: list[Table], relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return every pair of neighbours, in both orders."""
    pairs = []
    for one in tables:
        for two in tables:
            missing = _difference(one, two)
            if relation is REPLACE and len(one) == len(two) and missing == 1:
                pairs.append((one, two))
            if relation is ADD_REMOVE and missing + _difference(two, one) == 1:
                pairs.append((one, two))
    return pairs


def _difference(one: Table, two: Table) -> int:
    rest: list[tuple[int, ...]] = list(two)
    for record in one:
        if record in rest:
            rest.remove(record)
    return len(one) - (len(two) - len(rest))


def test_more_records_than_n0_never_keep_a_query_more_often_than_the_margin_allows() -> None:
    table: Table = tuple((1, 0) for _ in range(30))
    curator, _, _ = curator_on(
        table, relation=ADD_REMOVE, script=[], words=ScriptedWords([]), size=10, margin="0.1"
    )
    curator._held = np.arange(6, dtype=np.int64)
    curator.observe(np.array([0, 1], dtype=np.int32))
    distances: NDArray[np.int64] = curator._distances
    assert distances.min() == 0
    assert distances.max() <= 20

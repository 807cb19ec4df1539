from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range
from dpopt.errors import PrivacyBoundaryError
from dpopt.private.selections import selection as candidate_scores
from dpopt.private.selections.selection import CandidateScores
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from tests.tiny_measuring import RECORDS, SCHEMA, marginals, neighbours
from tests.tiny_runs import Table, coded_schema, dataset_of

SIZES = (3, 2, 5, 4)
WIDER = coded_schema(*SIZES)
CANDIDATES = marginals([0], [1], [0, 1])


def histogram(
    candidates: MarginalSet, number: int, records: NDArray[np.integer], weights: NDArray[np.integer]
) -> dict[tuple[int, ...], int]:
    """Return the counts of one marginal by codes; codes that the domain leaves out are not counted."""
    attributes = candidates.attributes_of(number)
    domains = candidates.domains
    named = [
        set(domains.codes[start : start + count].tolist())
        for start, count in zip(domains.starts.tolist(), domains.counts.tolist(), strict=True)
    ]
    counts: dict[tuple[int, ...], int] = {}
    for record, weight in zip(records.tolist(), weights.tolist(), strict=True):
        cell = tuple(record[a] for a in attributes)
        if all(code in named[a] for a, code in zip(attributes, cell, strict=True)):
            counts[cell] = counts.get(cell, 0) + weight
    return counts


def brute_force(
    table: NDArray[np.integer],
    candidates: MarginalSet,
    score: str,
    records: NDArray[np.integer],
    multiplicity: NDArray[np.integer],
    size: int,
) -> list[int]:
    found = []
    for number in range(len(candidates)):
        exact = histogram(candidates, number, table, np.ones(len(table), dtype=np.int64))
        public = histogram(candidates, number, records, multiplicity)
        total = int(multiplicity.sum())
        differences = [abs(total * exact.get(cell, 0) - size * public.get(cell, 0)) for cell in {*exact, *public}]
        found.append(sum(differences) if score == "l1" else max(differences, default=0))
    return found


def random_case(seed: int, domains: Domains | None = None) -> tuple[NDArray[np.int32], MarginalSet, NDArray[np.int32]]:
    generator = np.random.default_rng(seed)
    table = np.stack([generator.integers(0, size, 60) for size in SIZES], axis=1).astype(np.int32)
    records = np.stack([generator.integers(0, size, 17) for size in SIZES], axis=1).astype(np.int32)
    candidates = marginals([0], [3, 1], [2, 3, 0], [1], [0, 1, 2], [2, 3], schema=WIDER, domains=domains)
    return table, candidates, records


def data(table: NDArray[np.int32], schema: Schema = WIDER) -> PrivateDataset:
    return PrivateDataset.from_codes(schema, list(table.T))


@pytest.mark.parametrize("threads", [1, 2, 9])
@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("left_out", [False, True])
def test_scores_are_those_of_brute_force(score: str, threads: int, left_out: bool) -> None:
    domains = None
    if left_out:
        codes = np.array([0, 2, 1, 4, 0, 2, 3, 1], dtype=np.int32)
        counts = np.array([2, 1, 3, 2], dtype=np.int64)
        domains = Domains(counts, np.cumsum(counts) - counts, codes)
    table, candidates, records = random_case(3, domains)
    multiplicity = np.arange(17, dtype=np.int64)
    scores = CandidateScores(data(table), size=50, threads=threads)
    found = scores.of(candidates, score, records, multiplicity)
    assert found == brute_force(table, candidates, score, records, multiplicity, 50)
    assert all(type(value) is int for value in found)


def test_later_rounds_compare_with_other_records_and_count_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table, candidates, records = random_case(4)
    scores = CandidateScores(data(table), size=60)
    ones = np.ones(17, dtype=np.int64)
    scores.of(candidates, "l1", records, ones)
    monkeypatch.setattr(
        "dpopt.queries.counting.marginal_kernels.count_cells", lambda *_, **__: pytest.fail("counted again")
    )
    part = candidates.take([4, 1])
    for shift in range(3):
        others = (records + shift) % np.array(SIZES, dtype=np.int32)
        assert scores.of(part, "max", others, ones) == brute_force(table, part, "max", others, ones, 60)


@pytest.mark.parametrize(("kept", "cells"), [(0, 1), (100, 7), (2**30, 30)])
def test_no_little_memory_or_small_group_changes_a_score(
    kept: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_scores, "KEPT_BYTES", kept)
    monkeypatch.setattr(candidate_scores, "GROUP_CELLS", cells)
    table, candidates, records = random_case(5)
    scores = CandidateScores(data(table), size=60)
    ones = np.ones(17, dtype=np.int64)
    for score in ("l1", "max", "l1"):
        assert scores.of(candidates, score, records, ones) == brute_force(table, candidates, score, records, ones, 60)
        assert scores._kept_bytes <= kept


def test_cells_over_other_codes_are_counted_anew() -> None:
    table, _, records = random_case(6)
    ones = np.ones(17, dtype=np.int64)
    fewer = Domains(
        np.array([2, 2, 4, 3], dtype=np.int64),
        np.array([0, 2, 4, 8], dtype=np.int64),
        np.array([2, 0, 0, 1, 3, 1, 2, 0, 3, 1, 0], dtype=np.int32),
    )
    scores = CandidateScores(data(table), size=60)
    for domains in (None, fewer, None):
        _, these, _ = random_case(6, domains)
        assert scores.of(these, "l1", records, ones) == brute_force(table, these, "l1", records, ones, 60)


@pytest.mark.parametrize("multiplicity", [[1, 1, 0], [2, 1, 2]])
@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_no_two_neighbours_move_scores_apart_by_more_than_the_spread_and_some_reach_it(
    relation: NeighbouringRelation, score: str, multiplicity: list[int]
) -> None:
    """Two public records at public size 2 leave differences of whole records, so that the spread is reached."""
    total, known = sum(multiplicity), dict[Table, list[int]]()

    def scores_of(table: Table) -> list[int]:
        key = tuple(sorted(table))
        if key not in known:
            scores = CandidateScores(dataset_of(SCHEMA, key), size=2)
            known[key] = scores.of(CANDIDATES, score, RECORDS, np.array(multiplicity))
        return known[key]

    apart = []
    for one, two in neighbours(relation, [1, 2, 3]):
        changes = [b - a for a, b in zip(scores_of(one), scores_of(two), strict=True)]
        assert max(map(abs, changes)) <= total * score_range(score, relation) // 2
        apart.append(max(changes) - min(changes))
    assert max(apart) <= total * score_range(score, relation)
    assert max(apart) == total * score_range(score, relation) or total > 2


def test_progress_depends_on_public_sizes_only() -> None:
    reported: list[list[float]] = []
    for rows in (1, 60):
        table, candidates, records = random_case(7)
        shares: list[float] = []
        scores = CandidateScores(data(table[:rows]), size=60)
        scores.of(candidates, "l1", records, np.ones(17, dtype=np.int64), progress=shares.append)
        reported.append(shares)
    assert reported[0] == reported[1]
    assert reported[0][-1] == 1.0


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy])
def test_scores_cannot_be_copied_or_stored(attempt: object) -> None:
    with pytest.raises(PrivacyBoundaryError, match="no pickling, no copies"):
        attempt(CandidateScores(dataset_of(SCHEMA, ((0, 0),)), size=1))  # type: ignore[operator]

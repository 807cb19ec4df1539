"""With noise and selections scripted, a measuring curator tells two tables apart by nothing but what was scripted.

Neither by the lines of its journal, nor by what it returns, tells as progress, refuses, logs or prints.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.mechanisms.randomness import ScriptedWords
from dpopt.private.selections.candidate_scores import CandidateScores
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.journal import MemoryJournal
from tests.boundary.noninterference import watched
from tests.tiny_measuring import MULTIPLICITY, RECORDS, RHO, SCHEMA, marginals, selection
from tests.tiny_runs import REPLACE, Table, dataset_of, universe

SIZE = 4
CLAUSES = parse_workload("marginals:2", SCHEMA).clauses


@dataclass(frozen=True)
class Script:
    """Everything public about a run, and what is drawn in it."""

    relation: NeighbouringRelation
    gaussian: bool
    scores: tuple[str, ...]
    chosen: tuple[int, ...]
    noise: tuple[int, ...]
    lost: int | None

    def run(self, table: Table) -> list[str]:
        """Measure clauses, then select and measure in rounds; return everything that can be seen."""
        seen: list[str] = []
        first = Measurement("workload", CLAUSES, 2.0, self.gaussian)
        rounds = [
            (
                selection(score, number=t),
                Measurement(f"round {t}", marginals([0], [0, 1]), 3.0, self.gaussian),
            )
            for t, score in enumerate(self.scores, start=1)
        ]
        ledger, journal = Ledger(RHO, self.relation), MemoryJournal()
        sizes = SCHEMA.sizes
        ledger.reserve(
            [
                first.charge(sizes, self.relation),
                *(c for s, m in rounds for c in (s.charge(self.relation), m.charge(sizes, self.relation))),
            ]
        )
        curator = MeasuringCurator(
            dataset_of(SCHEMA, table),
            ledger,
            journal,
            size=SIZE,
            noise=ScriptedNoise(list(self.noise)),
            words=ScriptedWords([]),
            progress=lambda share: seen.append(f"share {share}"),
        )
        draws = iter(self.chosen)

        def draw(weights: Sequence[int], words: object) -> int:
            return next(draws)

        with mock.patch("dpopt.private.curators.measuring_curator.draw_candidate", draw), watched(seen):
            seen.append(repr(curator.measure(first).values.tolist()))
            for number, (which, what) in enumerate(rounds, start=1):
                if number == self.lost:  # its charge is on file, its draw is not
                    curator.recall(which.charge(self.relation), drawn=False)
                    seen.append(repr(curator.select(which, RECORDS, MULTIPLICITY, again=True)))
                else:
                    seen.append(repr(curator.select(which, RECORDS, MULTIPLICITY)))
                seen.append(repr(curator.measure(what, round=number).values.tolist()))
            curator.measure(first)  # refused
        return [*seen, json.dumps(journal.entries), json.dumps(ledger.to_json())]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    rounds = draw(st.integers(1, 3))
    return Script(
        draw(st.sampled_from(NeighbouringRelation)),
        draw(st.booleans()),
        tuple(draw(st.lists(st.sampled_from(["l1", "max"]), min_size=rounds, max_size=rounds))),
        tuple(draw(st.lists(st.integers(0, 2), min_size=rounds, max_size=rounds))),
        tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))),
        draw(st.none() | st.integers(1, rounds)),
    )


def tables(rows: st.SearchStrategy[int]) -> st.SearchStrategy[Table]:
    record = st.sampled_from(universe(SCHEMA))
    return rows.flatmap(lambda n: st.lists(record, min_size=n, max_size=n).map(tuple))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), script=scripts())
def test_two_tables_cannot_be_told_apart_once_the_draws_are_given(
    data: st.DataObject, script: Script
) -> None:
    """Replace-one: any two tables of the public size. Add-remove: any two tables of any sizes."""
    rows = st.just(SIZE) if script.relation is REPLACE else st.integers(1, 12)
    one, two = script.run(data.draw(tables(rows))), script.run(data.draw(tables(rows)))
    assert one == two
    assert any("BudgetError: 'workload' was drawn before" in text for text in one)


TABLES: tuple[Table, Table] = (((0, 0),) * 4, ((1, 2),) * 4)
PLAIN = Script(REPLACE, gaussian=True, scores=("l1",), chosen=(1,), noise=(5, 6), lost=None)


def test_other_draws_are_seen() -> None:
    assert PLAIN.run(TABLES[0]) != Script(REPLACE, True, ("l1",), (2,), (5, 6), None).run(TABLES[0])
    assert PLAIN.run(TABLES[0]) != Script(REPLACE, True, ("l1",), (1,), (5, 7), None).run(TABLES[0])


def leak_counts_into_a_log(patch: pytest.MonkeyPatch) -> None:
    original = exact_counts

    def logged(*given: object, **more: object) -> NDArray[np.int64]:
        counts = original(*given, **more)  # type: ignore[arg-type]
        logging.getLogger("dpopt").debug("counts %s", counts)
        return counts

    patch.setattr("dpopt.private.measurements.measurement.exact_counts", logged)


def leak_scores_into_the_journal(patch: pytest.MonkeyPatch) -> None:
    original = MeasuringCurator._select

    def noted(self: MeasuringCurator, selected: object, *rest: object) -> object:
        self._journal.append({"kind": "note", "kept": self._scores._kept_bytes})
        value = original(self, selected, *rest)  # type: ignore[arg-type]
        self._journal.append({"kind": "note", "kept": sum(int(c[0][0]) for c in self._scores._kept.values())})
        return value

    patch.setattr(MeasuringCurator, "_select", noted)


def leak_scores_into_the_control_flow(patch: pytest.MonkeyPatch) -> None:
    original = CandidateScores.of

    def stopping(self: CandidateScores, *given: object, **more: object) -> list[int]:
        scores = original(self, *given, **more)  # type: ignore[arg-type]
        if scores[0] > 12:
            raise DpoptError("the records are still far from the answers")
        return scores

    patch.setattr(CandidateScores, "of", stopping)


@pytest.mark.parametrize(
    "leak", [leak_counts_into_a_log, leak_scores_into_the_journal, leak_scores_into_the_control_flow]
)
def test_a_planted_leak_is_seen(leak: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PLAIN.run(TABLES[0]) == PLAIN.run(TABLES[1])
    leak(monkeypatch)  # type: ignore[operator]
    assert PLAIN.run(TABLES[0]) != PLAIN.run(TABLES[1])

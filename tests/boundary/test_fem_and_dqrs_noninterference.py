"""With the draws scripted, whole runs of FEM, sepFEM and DQRS do not tell two tables apart.

Neither by the programs that the solver gets, nor by log records, warnings, what is printed, the progress that is told, errors,
nor by a byte of the release folder. The real decisions are made before the scripted ones take their place, so that whatever
they say, raise or write on the way would be seen.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DqrsPlan, OneWayMeasurement
from dpopt.algorithms.fem.plan import FEM_ALGORITHMS, FemPlan
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthesize import synthesize
from dpopt.errors import PlanError
from dpopt.private.curators.dqrs_curator import DqrsCurator
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.query_weights import ExactSampler, KeptQueries, QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.plan import Encoding, FreeAttributes
from tests.boundary.test_noninterference import (
    RULED,
    SCHEMA,
    SIZE,
    Watcher,
    contents,
    tables,
    watched,
    write_table,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE

# What the compiler logs when a kernel is used for the first time is no message of dpopt, and comes once for each process.
logging.getLogger("numba").setLevel(logging.WARNING)

ALGORITHMS = (*FEM_ALGORITHMS, "dqrs")
TEXTS = ("marginals:2", "conjunctions:2,count=6,seed=1", "parity:2,count=6")
SIGNED = 12  # no workload of these has fewer signed queries
AMPLE = Budget(None, 1e-9, 1e9, Accountant.ZCDP)
ROUNDS = 4
LEGAL = np.array([0, 0, 0], dtype=np.int32)


@dataclass(frozen=True)
class Script:
    """What is drawn: queries, over and over, and whether held queries are kept."""

    queries: tuple[int, ...]
    kept: tuple[bool, ...]
    noise: tuple[int, ...] = (2, 0, 1)

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Decide as the private side does, then take the script's draws, from their beginning."""
        queries, kept = cycle(self.queries), cycle(self.kept)
        select, keep, sample = QuerySelection.draw, KeptQueries.draw, ExactSampler.draw

        def selected(
            selection: QuerySelection,
            satisfied: NDArray[np.int64],
            by: NDArray[np.int64],
            source: RandomWords,
        ) -> int:
            select(selection, satisfied, by, source)
            return next(queries)

        def keeping(
            decision: KeptQueries, distances: NDArray[np.int64], source: RandomWords
        ) -> NDArray[np.bool_]:
            keep(decision, distances, source)
            return np.array([next(kept) for _ in distances], dtype=np.bool_)

        def sampled(sampler: ExactSampler, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
            sample(sampler, weights, draws)
            return np.sort(np.array([next(queries) for _ in range(draws)], dtype=np.int64))

        noise = ScriptedNoise(list(self.noise))
        with (
            mock.patch.object(QuerySelection, "draw", selected),
            mock.patch.object(KeptQueries, "draw", keeping),
            mock.patch.object(ExactSampler, "draw", sampled),
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            # Records of a batch are searched one by one: the watcher sees them in their order.
            mock.patch("dpopt.algorithms.fem.driver.THREADS", 1),
        ):
            yield


@dataclass(frozen=True)
class Public:
    """Everything public about a run, and the script of its draws."""

    plan: FemPlan | DqrsPlan
    script: Script
    text: str = "marginals:2"
    behaviour: str = "local-search"
    cut: int | None = None
    ruled: bool = False

    def run(self, table: list[list[int]]) -> tuple[list[str], dict[str, bytes]]:
        """Play on a table; return what was seen and the folder."""
        watcher = Watcher(self.behaviour)
        schema = RULED if self.ruled else SCHEMA
        job = Job(self.plan, schema, parse_workload(self.text, schema), {}, {})
        dataset = PrivateDataset.from_codes(schema, list(np.array(table, dtype=np.int32).T))
        with (
            tempfile.TemporaryDirectory() as temporary,
            mock.patch("dpopt.solvers.registry.get_solver", return_value=watcher),
            mock.patch("dpopt.algorithms.dualquery.driver.feasible_record", return_value=LEGAL),
            mock.patch("os.fsync"),
        ):
            folder = Path(temporary) / "release"
            with self.script.drawing(), watched(watcher):
                release(dataset, job, folder, progress=watcher)
            if self.cut is not None:
                transcript = folder / "transcript.jsonl"
                data = transcript.read_bytes()
                transcript.write_bytes(data[: max(1, len(data) * self.cut // 1000)])
                (folder / "release.json").unlink(missing_ok=True)
                with self.script.drawing(), watched(watcher):
                    resume(folder, dataset, read_job(folder), progress=watcher)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


def fem_plan(algorithm: str, relation: NeighbouringRelation = REPLACE, **changes: Any) -> FemPlan:
    usual: dict[str, Any] = {
        "rounds": ROUNDS,
        "records": 3,
        "selection_range": Decimal("1.5"),
        "scale": 1.0,
        "kept_from": 2,
        "work": 5,
    }
    return FemPlan(algorithm=algorithm, size=SIZE, relation=relation, budget=AMPLE, **{**usual, **changes})


def keeping_plan(relation: NeighbouringRelation = REPLACE, **changes: Any) -> DqrsPlan:
    """Return a plan of DQRS whose last rounds keep queries."""
    usual: dict[str, Any] = {"step": Decimal(3), "margin": Decimal(2)}
    plan = DqrsPlan(
        rounds=ROUNDS,
        draws=4,
        size=SIZE,
        relation=relation,
        budget=AMPLE,
        attributes=3,
        work=5,
        **{**usual, **changes},
    )
    kinds = {charge.kind for charge in plan.charges() if charge.label.startswith("round")}
    assert kinds == {ChargeKind.BOUNDED_RANGE, ChargeKind.CONCENTRATED}
    return plan


def plan_of(algorithm: str) -> FemPlan | DqrsPlan:
    return keeping_plan() if algorithm == "dqrs" else fem_plan(algorithm)


@st.composite
def plans(draw: st.DrawFn) -> FemPlan | DqrsPlan:
    algorithm, relation = draw(st.sampled_from(ALGORITHMS)), draw(st.sampled_from(NeighbouringRelation))
    seed = draw(st.integers(0, 3))
    if algorithm != "dqrs":
        range_ = draw(st.sampled_from([Decimal("0.3"), Decimal(40)]))
        return fem_plan(algorithm, relation, selection_range=range_, seed=seed)
    rule = draw(st.sampled_from(FreeAttributes))
    return keeping_plan(
        relation,
        step=draw(st.sampled_from([Decimal(1), Decimal(6)])),
        free_attributes=rule,
        encoding=draw(st.sampled_from(Encoding)),
        one_way=OneWayMeasurement(3.0, draw(st.booleans())) if rule is FreeAttributes.ESTIMATED else None,
        seed=seed,
    )


@st.composite
def publics(draw: st.DrawFn) -> Public:
    plan = draw(plans())
    queries = draw(st.lists(st.integers(0, SIGNED - 1), min_size=1, max_size=9))
    return Public(
        plan,
        Script(tuple(queries), tuple(draw(st.lists(st.booleans(), min_size=1, max_size=5)))),
        draw(st.sampled_from(TEXTS)),
        draw(st.sampled_from(["local-search", "local-search", "fails", "answers nonsense"])),
        draw(st.none() | st.integers(0, 999)),
        plan.encoding is Encoding.RECORDS and draw(st.booleans()),
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), public=publics())
def test_two_tables_cannot_be_told_apart_once_the_draws_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two tables of the public size. Add-remove: any two tables of any sizes."""
    rows = st.just(SIZE) if public.plan.relation is REPLACE else st.integers(1, 12)
    one, two = data.draw(tables(rows)), data.draw(tables(rows))
    seen_one, folder_one = public.run(one)
    seen_two, folder_two = public.run(two)
    assert seen_one == seen_two
    assert folder_one == folder_two
    assert sum(text.startswith("program") for text in seen_one) >= ROUNDS
    assert "release.json" in folder_one or public.cut is not None


TABLES = [[0, 0, 0]] * SIZE, [[1, 2, 1]] * SIZE
SCRIPT = Script((0, 3, 6, 6, 9), (True, False, False))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_watcher_does_see_a_difference_between_other_draws(algorithm: str) -> None:
    usual = Public(plan_of(algorithm), SCRIPT).run(TABLES[0])
    other = Public(plan_of(algorithm), Script((3, 1, 2), (True, False, False))).run(TABLES[0])
    assert "release.json" in usual[1]
    assert usual[0] != other[0]
    assert usual[1]["transcript.jsonl"] != other[1]["transcript.jsonl"]


def test_the_watcher_does_see_which_queries_are_kept() -> None:
    usual = Public(keeping_plan(), SCRIPT).run(TABLES[0])
    other = Public(keeping_plan(), Script(SCRIPT.queries, (True, True, False))).run(TABLES[0])
    assert usual[1]["transcript.jsonl"] != other[1]["transcript.jsonl"]


Leak = Callable[[Any, int], object]


def leak_into_a_log(curator: Any, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_a_warning(curator: Any, secret: int) -> None:
    warnings.warn(f"counts {secret}", stacklevel=1)


def leak_into_a_print(curator: Any, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_the_control_flow(curator: Any, secret: int) -> None:
    if secret:
        raise PlanError("stopped early, since the answers are good enough")


def leak_into_the_journal(curator: Any, secret: int) -> None:
    curator._journal.append({"kind": "torn", "hint": secret})


LEAKS: list[Leak] = [
    leak_into_a_log,
    leak_into_a_warning,
    leak_into_a_print,
    leak_into_the_control_flow,
    leak_into_the_journal,
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Leak, algorithm: str) -> None:
    """The value of one record in any of these places, while a query is selected or a record observed, is noticed."""
    public = Public(plan_of(algorithm), SCRIPT)
    assert public.run(TABLES[0]) == public.run(TABLES[1])
    place: type[FemCurator | DqrsCurator] = DqrsCurator if algorithm == "dqrs" else FemCurator
    name = "observe" if algorithm == "dqrs" else "select"
    usual = getattr(place, name)

    def leaking(curator: FemCurator | DqrsCurator, *given: Any, **more: Any) -> Any:
        leak(curator, int(curator._dataset._columns[0][0]))
        return usual(curator, *given, **more)

    with mock.patch.object(place, name, leaking):
        assert public.run(TABLES[0]) != public.run(TABLES[1])


@pytest.mark.parametrize(
    ("algorithm", "kind", "decision"),
    [
        ("fem", QuerySelection, lambda selection, *given: 2 * int(selection._held[0])),
        ("sepfem", QuerySelection, lambda selection, *given: 2 * int(selection._held[-1])),
        ("dqrs", KeptQueries, lambda kept, distances, source: distances // SIZE % 2 == 0),
    ],
)
def test_a_decision_that_follows_the_table_instead_of_a_draw_is_seen(
    algorithm: str, kind: type, decision: Callable[..., Any]
) -> None:
    usual = Script.drawing

    @contextlib.contextmanager
    def deciding(script: Script) -> Iterator[None]:
        with usual(script), mock.patch.object(kind, "draw", decision):
            yield

    with mock.patch.object(Script, "drawing", deciding):
        one, two = (Public(plan_of(algorithm), SCRIPT).run(table) for table in TABLES)
    assert one[1]["transcript.jsonl"] != two[1]["transcript.jsonl"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_finished_folder(
    relation: NeighbouringRelation, algorithm: str, tmp_path: Path
) -> None:
    """The whole path that a user takes, planning included; under add-remove with different numbers of records."""
    rows = [
        ["True,x,3", "False,?,19", "True,z,0"],
        ["False,y,12", "False,y,12", "False,y,20"] + ["True,x,1"] * (4 if relation is ADD_REMOVE else 0),
    ]
    outcomes = []
    for number, lines in enumerate(rows):
        watcher = Watcher()
        table = write_table(tmp_path / f"table{number}.csv", lines)
        with (
            mock.patch("dpopt.solvers.registry.get_solver", return_value=watcher),
            SCRIPT.drawing(),
            watched(watcher),
        ):
            synthesize(
                table,
                SCHEMA,
                "marginals:2",
                out=tmp_path / f"release{number}",
                algorithm=algorithm,
                epsilon=500.0,
                delta=1e-6,
                neighbours=relation.value,
                n0=4 if relation is ADD_REMOVE else None,
                rounds=5,
                draws=4,
                work=5,
                predict=False,
                progress=watcher,
            )
        outcomes.append((watcher.seen, contents(tmp_path / f"release{number}")))
    assert "release.json" in outcomes[0][1]
    assert outcomes[0] == outcomes[1]
    assert any(text.startswith("program") for text in outcomes[0][0])

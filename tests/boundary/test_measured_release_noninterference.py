"""With noise and selections scripted, whole runs that measure do not tell two tables apart.

Neither by what the fit gets, nor by log records, warnings, what is printed, the progress that is told, errors, nor by a byte
of the release folder. `test_measuring_noninterference` says the same of the curator alone.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.measured.plan import (
    ADAPTIVE,
    MEASURED,
    NOISE,
    PROJECTION,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
)
from dpopt.algorithms.options import AUTO
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthesize import synthesize
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, Fitted
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from tests.algorithms.measured_runs import moved_by
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

CANDIDATES = 3
AMPLE = {
    True: Budget(None, 1e-9, 1e9, Accountant.ZCDP),
    False: Budget(1e9, 0.0, None, Accountant.PURE),
}
FITS = (
    FitPlan(records=8, sweeps=1),
    FitPlan(records=6, sweeps=1, columns=2),
    FitPlan(records=6, sweeps=1, snapshots=2, smoothing=3.0),
)


def scripted_selections(script: list[int]) -> Callable[[list[int], object], int]:
    """Return a stand-in for the draw of a candidate: the next of a script, whatever the weights."""
    left = iter(script * 10)
    return lambda weights, words: next(left) % len(weights)


def watched_fit(watcher: Watcher) -> Callable[..., Fitted]:
    """Return the fit, which first notes everything that it gets."""

    def wrapper(problem: FitProblem, chosen: FitSettings, **more: Any) -> Fitted:
        values = [sha256(term.values.tobytes()).hexdigest() for term in problem.terms]
        weights = [term.weight for term in problem.terms]
        start = more.get("start")
        watcher.seen.append(f"fit {values} {weights} {chosen} {None if start is None else start.tolist()}")
        return fit(problem, chosen, **more)

    return wrapper


@dataclass(frozen=True)
class Public:
    """Everything public about a run, and the script of its noise and selections."""

    plan: MeasuredPlan
    output: dict[str, object]
    noise: list[int]
    selections: list[int]
    cut: int | None
    ruled: bool = False
    text: str = "marginals:2"

    def run(self, table: list[list[int]]) -> tuple[list[str], dict[str, bytes]]:
        """Play on a table; return what was seen and the folder."""
        watcher = Watcher()
        schema = RULED if self.ruled else SCHEMA
        job = Job(self.plan, schema, parse_workload(self.text, schema), self.output, {})
        dataset = PrivateDataset.from_codes(schema, list(np.array(table, dtype=np.int32).T))
        noise = ScriptedNoise(self.noise)
        with (
            tempfile.TemporaryDirectory() as temporary,
            mock.patch("dpopt.algorithms.measured.fitting.fit", watched_fit(watcher)),
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("os.fsync"),
        ):
            folder = Path(temporary) / "release"
            with self._drawing(), watched(watcher):
                release(dataset, job, folder, sources=Sources(noise=noise), progress=watcher)
            if self.cut is not None:
                transcript = folder / "transcript.jsonl"
                data = transcript.read_bytes()
                transcript.write_bytes(data[: max(1, len(data) * self.cut // 1000)])
                (folder / "release.json").unlink(missing_ok=True)
                with self._drawing(), watched(watcher):
                    resume(folder, dataset, read_job(folder), progress=watcher)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)

    def _drawing(self) -> Any:
        return mock.patch(
            "dpopt.private.curators.measuring_curator.draw_candidate", scripted_selections(self.selections)
        )


def make_plan(
    algorithm: str,
    relation: NeighbouringRelation = REPLACE,
    *,
    gaussian: bool = True,
    chosen: FitPlan = FITS[0],
    text: str = "marginals:2",
) -> MeasuredPlan:
    one = 1 if relation is ADD_REMOVE else 2
    one_way = tuple(PlannedMeasurement(f"marginal {a}", (a,), one, 2.0) for a in range(3))
    sensitivity = moved_by(parse_workload(text, SCHEMA), relation)
    everything = (PlannedMeasurement("workload", None, sensitivity, 2.5),)
    return MeasuredPlan(
        algorithm=algorithm,
        size=SIZE,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        measurements={NOISE: everything, PROJECTION: one_way + everything, ADAPTIVE: one_way}[algorithm],
        selections=PlannedSelections(2, Decimal(1), 2.0, ("max", "l1"), 100)
        if algorithm == ADAPTIVE
        else None,
        fit=None if algorithm == NOISE else chosen,
    )


@st.composite
def publics(draw: st.DrawFn) -> Public:
    algorithm = draw(st.sampled_from(MEASURED))
    text = "marginals:2"
    if algorithm != ADAPTIVE:
        text = draw(st.sampled_from(["marginals:2", "conjunctions:2,count=6,seed=1", "parity:2,count=4"]))
    plan = make_plan(
        algorithm,
        draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        chosen=draw(st.sampled_from(FITS)),
        text=text,
    )
    return Public(
        plan,
        {"format": draw(st.sampled_from(["csv", "parquet"])), "rows": draw(st.sampled_from([None, 7]))},
        draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8)),
        draw(st.lists(st.integers(0, CANDIDATES - 1), min_size=2, max_size=2)),
        draw(st.none() | st.integers(0, 999)),
        draw(st.booleans()),
        text,
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
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
    fits = [text for text in seen_one if text.startswith("fit ")]
    assert bool(fits) == (public.plan.fit is not None) or public.cut is not None
    assert "transcript.jsonl" in folder_one


TABLES = [[0, 0, 0]] * SIZE, [[1, 2, 1]] * SIZE


def public_of(algorithm: str, noise: list[int] | None = None, selections: list[int] | None = None) -> Public:
    return Public(make_plan(algorithm), {}, noise or [1, 4], selections or [0, 1], None)


def test_the_watcher_does_see_a_difference_between_other_draws() -> None:
    for algorithm in MEASURED:
        one, two = public_of(algorithm).run(TABLES[0]), public_of(algorithm, noise=[2, 3]).run(TABLES[0])
        assert one[1]["transcript.jsonl"] != two[1]["transcript.jsonl"]
        assert one != two
    one, two = public_of(ADAPTIVE).run(TABLES[0]), public_of(ADAPTIVE, selections=[2, 1]).run(TABLES[0])
    assert one[0] != two[0]
    assert one[1]["transcript.jsonl"] != two[1]["transcript.jsonl"]


LEAKS: dict[str, Callable[[MeasuringCurator], object]] = {
    "a log record": lambda curator: logging.getLogger("dpopt").debug("%s", curator._dataset._columns[0][0]),
    "what is printed": lambda curator: print(curator._dataset._columns[0][0]),  # noqa: T201
    "the journal": lambda curator: curator._journal.append(
        {"kind": "torn", "hint": int(curator._dataset._columns[0][0])}
    ),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_noticed(leak: str) -> None:
    """The test has teeth: one value of one record in any of these places is seen."""
    usual = MeasuringCurator.measure

    def leaking(curator: MeasuringCurator, *given: Any, **more: Any) -> Any:
        LEAKS[leak](curator)
        return usual(curator, *given, **more)

    with mock.patch.object(MeasuringCurator, "measure", leaking):
        assert public_of(PROJECTION).run(TABLES[0]) != public_of(PROJECTION).run(TABLES[1])


def test_a_noisy_value_that_depends_on_the_table_is_noticed() -> None:
    class Leaky(ScriptedNoise):
        def discrete_gaussian(self, counts: Any, scale: float) -> Any:
            return super().discrete_gaussian(counts, scale) + (counts > SIZE - 1)

    with mock.patch("tests.boundary.test_measured_release_noninterference.ScriptedNoise", Leaky):
        for algorithm in MEASURED:
            assert public_of(algorithm).run(TABLES[0]) != public_of(algorithm).run(TABLES[1])


@pytest.mark.parametrize("algorithm", [*MEASURED, "auto"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_finished_folder(
    relation: NeighbouringRelation, algorithm: str, tmp_path: Path
) -> None:
    """The whole path that a user takes, choice and planning included; under add-remove with different numbers of records."""
    rows = [
        ["True,x,3", "False,?,19", "True,z,0"],
        ["False,y,12", "False,y,12", "False,y,20"] + ["True,x,1"] * (4 if relation is ADD_REMOVE else 0),
    ]
    outcomes = []
    for number, lines in enumerate(rows):
        watcher = Watcher()
        table = write_table(tmp_path / f"table{number}.csv", lines)
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=ScriptedNoise([2, 0, 1])),
            mock.patch(
                "dpopt.private.curators.measuring_curator.draw_candidate", scripted_selections([0, 2, 1])
            ),
            watched(watcher),
        ):
            synthesize(
                table,
                SCHEMA,
                "marginals:2",
                out=tmp_path / f"release{number}",
                algorithm=algorithm,
                epsilon=5.0,
                delta=1e-6,
                neighbours=relation.value,
                n0=4 if relation is ADD_REMOVE else None,
                records=None if algorithm in {NOISE, AUTO} else 20,
                selections=2 if algorithm == ADAPTIVE else None,
                predict=False,
                progress=watcher,
            )
        outcomes.append((watcher.seen, contents(tmp_path / f"release{number}")))
    assert "release.json" in outcomes[0][1]
    assert outcomes[0][0] == outcomes[1][0]
    assert outcomes[0][1] == outcomes[1][1]

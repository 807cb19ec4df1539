"""What happens when records, or the curator that holds them, are handed to the other side all the same."""

from __future__ import annotations

import ast
import copy
import gc
import json
import logging
import pickle
import re
import types
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from dpopt.accounting.dualquery import draw_charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.replay import load, replay
from dpopt.algorithms.run_release import run_release
from dpopt.errors import DpoptError, DpoptWarning, PlanError, PrivacyBoundaryError
from dpopt.models.best_responses.best_response import round_program
from dpopt.private.curators.door import Door
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.private.selections.selection import CandidateScores
from dpopt.private.tables.dataset import PrivateDataset, public_size
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Program
from dpopt.queries.clauses import Clauses
from dpopt.releases.job import Job
from dpopt.releases.progress import Figures, Progress
from dpopt.solvers.local_search.search import LocalSearch
from dpopt.transcript.journal import FileJournal, MemoryJournal
from dpopt.transcript.released import NoisyAnswers, SampledQueries
from tests.source_code import nodes, source_files
from tests.tiny_runs import (
    ADD_REMOVE,
    AMPLE,
    REPLACE,
    Enumeration,
    Table,
    bits_schema,
    conjunctions,
    dataset_of,
    tiny_plan,
)

SCHEMA = bits_schema(2)
WORKLOAD = conjunctions(SCHEMA, "a", "b", "a !b")
TABLE: Table = ((0, 1), (1, 1), (1, 0))
CHARGE = draw_charge(1, 1, 1.0, 3, REPLACE)
PRIVATE = (PrivateDataset, QueryWeights, Curator, Door, MeasuringCurator, CandidateScores)


@pytest.fixture
def dataset() -> PrivateDataset:
    return dataset_of(SCHEMA, TABLE)


def make_curator() -> Curator:
    ledger = Ledger(AMPLE, REPLACE)
    ledger.reserve([CHARGE])
    return Curator(dataset_of(SCHEMA, TABLE), WORKLOAD.clauses, ledger, MemoryJournal(), size=3, step=Decimal(1))


def make_measuring_curator() -> MeasuringCurator:
    return MeasuringCurator(dataset_of(SCHEMA, TABLE), Ledger(AMPLE, REPLACE), MemoryJournal(), size=3)


DOORS: dict[str, Callable[[PrivateDataset], object]] = {
    "the records of a program": lambda d: MaxCsp(SCHEMA.sizes, d, np.ones(3, dtype=np.int64)),  # type: ignore[arg-type]
    "the sizes of a program": lambda d: MaxCsp(d, WORKLOAD.clauses, np.ones(3, dtype=np.int64)),  # type: ignore[arg-type]
    "the weights of a program": lambda d: MaxCsp(SCHEMA.sizes, WORKLOAD.clauses, d),  # type: ignore[arg-type]
    "a clause": lambda d: Clauses(d, d, d, d),  # type: ignore[arg-type]
    "a hint to a solver": lambda d: LocalSearch().solve(
        MaxCsp(SCHEMA.sizes, WORKLOAD.clauses, np.ones(3, dtype=np.int64)),
        SolveLimits(work=1),
        hint=d,  # type: ignore[arg-type]
    ),
    "a draw in place of queries": lambda d: SampledQueries(1, d, d, CHARGE),  # type: ignore[arg-type]
    "noisy answers": lambda d: NoisyAnswers("x", d, "y", 1.0, CHARGE),  # type: ignore[arg-type]
    "a best response": lambda d: round_program(WORKLOAD.clauses, SCHEMA.sizes, d),  # type: ignore[arg-type]
    "an entry of a journal": lambda d: MemoryJournal().append({"records": d}),
    "JSON": json.dumps,
    "noise": lambda d: OpendpNoise().discrete_laplace(d, 1.0),  # type: ignore[arg-type]
    "a data frame": pd.DataFrame,
    "a sum": np.sum,
    "a file of numpy": lambda d: np.savez("/dev/null", records=d),
    "a pickle": pickle.dumps,
}


@pytest.mark.parametrize("door", DOORS)
def test_records_do_not_pass(door: str, dataset: PrivateDataset) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as refusal:
        DOORS[door](dataset)
    assert "array(" not in str(refusal.value)


def test_records_do_not_pass_into_a_journal_on_file(tmp_path: Path, dataset: PrivateDataset) -> None:
    journal = FileJournal(tmp_path / "j")
    with pytest.raises(TypeError):
        journal.append({"records": dataset})
    journal.close()
    assert (tmp_path / "j").read_bytes() == b""


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_neither_the_curator_nor_its_weights_can_be_copied_or_stored(attempt: Callable[[object], object]) -> None:
    curator, measuring = make_curator(), make_measuring_curator()
    for held in (curator, curator._weights, measuring, measuring._scores):
        with pytest.raises(PrivacyBoundaryError):
            attempt(held)


def test_printing_the_curator_or_its_weights_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    curator, measuring = make_curator(), make_measuring_curator()
    for held in (curator, curator._weights, measuring, measuring._scores):
        logging.getLogger("anyone").warning("%s %r", held, held)
        assert "[" not in f"{held} {held!r}"
    assert "array" not in caplog.text


def reachable(start: object) -> set[type]:
    """Return the types of everything that can be reached from an object, code and modules left aside."""
    seen: set[int] = set()
    found: set[type] = set()
    waiting = [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | types.FunctionType | type | types.CodeType):
            continue
        seen.add(id(thing))
        found.add(type(thing))
        waiting.extend(gc.get_referents(thing))
    return found


def make_job(relation: NeighbouringRelation, size: int) -> Job:
    plan = tiny_plan(WORKLOAD, rounds=3, draws=2, step="0.5", size=size, relation=relation)
    return Job(plan, SCHEMA, WORKLOAD, {"format": "csv", "rows": None}, {})


def test_no_record_can_be_reached_from_a_release(tmp_path: Path, dataset: PrivateDataset) -> None:
    assert PrivateDataset in reachable(make_curator())
    made = run_release(dataset, make_job(REPLACE, 3), tmp_path / "one")
    for result in (made, load(tmp_path / "one"), replay(tmp_path / "one", tmp_path / "two")):
        assert not reachable(result) & set(PRIVATE)


def test_no_record_can_be_reached_from_what_a_solver_gets(dataset: PrivateDataset) -> None:
    got: list[object] = []

    class Collecting(LocalSearch):
        def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
            got.append((program, limits, hint))
            return super().solve(program, limits, hint=hint)

    with mock.patch("dpopt.solvers.registry.get_solver", return_value=Collecting()):
        run_release(dataset, make_job(REPLACE, 3), None)
    assert len(got) == 3
    assert not reachable(got) & set(PRIVATE)


def test_the_true_number_of_records_appears_nowhere_under_add_remove(tmp_path: Path) -> None:
    """True n = 79,193, public n0 = 80,000: no file, no text and no figure of the release shows the former."""
    folder = tmp_path / "release"
    told: list[str] = []

    class Told(Progress):
        def note(self, text: str) -> None:
            told.append(text)

        def warning(self, what: DpoptWarning) -> None:
            told.append(str(what))

        def owner_note(self, text: str) -> None:
            told.append(text)

        def begin(self, stage: str) -> None:
            told.append(stage)

        def share(self, done: float) -> None:
            told.append(repr(done))

        def round(self, number: int, rounds: int, value: float) -> None:
            told.append(f"{number} {rounds} {value}")

        def step(self, number: int, steps: int, what: str) -> None:
            told.append(f"{number} {steps} {what}")

        def figures(self, of_round: Callable[[], Figures]) -> None:
            told.append(repr({**of_round(), "solve_seconds": None}))

        def end(self, stage: str) -> None:
            told.append(stage)

    table: Table = (TABLE * 26_398)[:79_193]
    made = run_release(dataset_of(SCHEMA, table), make_job(ADD_REMOVE, 80_000), folder, progress=Told())
    texts = [re.sub('"crc":"[0-9a-f]{8}"', "", path.read_text()) for path in folder.iterdir()]
    for text in [*texts, *told, repr(made.statement), repr((made.ledger.entries, made.ledger.spent()))]:
        assert not re.search("79193|79,193|-807", text)


def test_a_table_of_another_size_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(DpoptError, match="was made for n = 4"):
        run_release(dataset_of(SCHEMA, TABLE), make_job(REPLACE, 4), tmp_path / "release")
    left = tmp_path / "release" / "transcript.jsonl"
    assert not left.exists() or left.read_bytes() == b""


def test_a_budget_that_does_not_suffice_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    job = make_job(REPLACE, 3)
    small = json.loads(json.dumps(job.plan.to_json()))
    small["budget"]["epsilon"] = 0.001
    job = Job(DualQueryPlan.from_json(small), SCHEMA, WORKLOAD, job.output, {})
    with (
        mock.patch.object(ExactSampler, "draw", side_effect=AssertionError("drawn")),
        pytest.raises(DpoptError, match="the budget is epsilon = 0.001"),
    ):
        run_release(dataset_of(SCHEMA, TABLE), job, tmp_path / "release")


def test_a_solver_that_raises_ends_no_run_and_its_text_goes_nowhere(dataset: PrivateDataset, tmp_path: Path) -> None:
    """The draw is spent, so the round is answered by a public rule."""

    class Breaking(Enumeration):
        def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
            raise RuntimeError("this text may hold anything")

    def get_solver(name: str) -> object:
        return Breaking() if name == "breaking" else LocalSearch()

    job = make_job(REPLACE, 3)
    job = replace(job, plan=replace(DualQueryPlan.of(job.plan), solver="breaking"))
    with mock.patch("dpopt.solvers.registry.get_solver", get_solver):
        made = run_release(dataset, job, tmp_path / "release")
    assert [done.fallback is not None for done in made.played] == [True] * 3
    assert not any("this text" in path.read_text() for path in (tmp_path / "release").iterdir())


def test_the_public_size_is_the_tables_own_only_under_replace_one(dataset: PrivateDataset) -> None:
    assert public_size(dataset, REPLACE, None) == 3
    assert public_size(dataset, ADD_REMOVE, 100) == 100
    with pytest.raises(PlanError, match="add-remove needs a fixed public n0"):
        public_size(dataset, ADD_REMOVE, None)
    with pytest.raises(PlanError, match="n0 belongs to add-remove"):
        public_size(dataset, REPLACE, 3)


# The type that holds records refuses every way out that Python offers, whoever writes it next.

HOLDERS = ("Closed",)
REFUSALS = ("__array__", "__getitem__", "__iter__", "__len__", "__reduce__")


def _classes() -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for file in source_files()
        if file.room == "private"
        for node in nodes(file.tree)
        if isinstance(node, ast.ClassDef)
    }


def _methods(holder: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in _classes()[holder].body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_type_that_holds_records_refuses(holder: str, refusal: str) -> None:
    body = _methods(holder)[refusal].body
    only = ast.unparse(body[-1])
    assert len(body) == 1, f"{holder}.{refusal} must do nothing but refuse"
    assert only.startswith(("_refuse(", "raise PrivacyBoundaryError("))


def test_to_refuse_is_to_raise() -> None:
    (refuse,) = (
        node
        for file in source_files()
        if file.room == "private"
        for node in nodes(file.tree)
        if isinstance(node, ast.FunctionDef) and node.name == "_refuse"
    )
    assert ast.unparse(refuse.body[-1]).startswith("raise PrivacyBoundaryError(")
    assert ast.unparse(refuse.returns or refuse) == "NoReturn"


@pytest.mark.parametrize("holder", HOLDERS)
def test_printing_a_type_that_holds_records_shows_none(holder: str) -> None:
    shown = ast.unparse(_methods(holder)["__repr__"])
    assert "self._" not in shown, "a text for people must not depend on the records"


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_type_that_holds_records_is_no_plain_dataclass(holder: str) -> None:
    for decorator in _classes()[holder].decorator_list:
        text = ast.unparse(decorator)
        assert not text.startswith("dataclass") or ("repr=False" in text and "eq=False" in text)


def test_the_private_side_prints_and_logs_nothing() -> None:
    for file in source_files():
        if file.room == "private":
            imported = {alias.name for node in nodes(file.tree) if isinstance(node, ast.Import) for alias in node.names}
            called = {ast.unparse(node.func) for node in nodes(file.tree) if isinstance(node, ast.Call)}
            assert not imported & {"logging", "warnings"}, file.path
            assert "print" not in called, file.path

from __future__ import annotations

import gzip
import inspect
import re
import shutil
import warnings
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.algorithms import release as module
from dpopt.algorithms import stating
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.options import MWEM, DualQuery
from dpopt.algorithms.registry import OPTIONS
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.stating import plan_statement
from dpopt.errors import (
    AccountingError,
    ArgumentError,
    DpoptError,
    PlanError,
    PrivateDataError,
    ReleaseFolderError,
    SchemaError,
    SolverUnavailableError,
    WorkloadError,
)
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import Layout, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.progress import Progress
from dpopt.releases.run import Sources
from dpopt.schema.schema import Schema
from dpopt.solvers.registry import get_solver
from tests.algorithms.small_runs import (
    ADD_REMOVE,
    ROWS,
    SCHEMA,
    Heard,
    codes,
    dataset,
    job,
    plan,
    seeded,
    workload,
    write_table,
)
from tests.own_solvers import OwnSolver

USUAL: dict[str, Any] = {
    "neighbours": "replace", "algorithm": "dualquery", "epsilon": 1e5, "delta": 1e-6, "rounds": 5, "draws": 8,
    "predict": False,
}  # fmt: skip
DRAFT = Schema(SCHEMA.attributes, draft=True)


def frame() -> pd.DataFrame:
    decoded = [attribute.decoded() for attribute in SCHEMA.attributes]
    return pd.DataFrame(
        {
            attribute.name: [decoded[place][code] for code in codes()[:, place].tolist()]
            for place, attribute in enumerate(SCHEMA.attributes)
        }
    )


def test_one_call_leaves_a_finished_release(tmp_path: Path) -> None:
    finished = release(write_table(tmp_path), SCHEMA, "marginals:2", out=tmp_path / "out", **USUAL)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.txt", "plan.json", "schema.json", "workload.json", "transcript.jsonl", "synthetic.csv",
        "release.json",
    }  # fmt: skip
    assert finished.ledger.is_private
    made = DualQueryPlan.of(finished.job.plan)
    assert (made.size, made.rounds, made.draws) == (ROWS, 5, 8)
    assert finished.ledger.spent().epsilon <= 1e5
    assert finished.statement["accuracy"]["predicted"] is None


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished = release(frame(), SCHEMA, workload(), **USUAL)
    assert len(finished.to_pandas()) == ROWS
    assert list(tmp_path.iterdir()) == []


def tables(folder: Path) -> dict[str, AnyTable]:
    """Return the same records in every form that can be read."""
    csv = write_table(folder)
    zipped = folder / "people.csv.gz"
    with csv.open("rb") as source, gzip.open(zipped, "wb") as target:
        shutil.copyfileobj(source, target)
    parquet = write_table(folder, name="people.parquet")
    return {"CSV": csv, "CSV.gz": zipped, "Parquet": parquet, "DataFrame": frame(), "Arrow": pq.read_table(parquet)}


def test_every_form_of_a_table_gives_the_same_release(tmp_path: Path) -> None:
    results = {
        name: run_release(read_table(table, SCHEMA), job(), None, sources=Sources(sampler=seeded()))
        for name, table in tables(tmp_path).items()
    }
    first = results.pop("CSV")
    assert len(first.played) == 6
    for name, other in results.items():
        assert other.statement == first.statement, name
        assert np.array_equal(other.records.distinct, first.records.distinct), name
        drawn = [(one.sampled.queries.tolist(), one.sampled.counts.tolist()) for one in (*first.played, *other.played)]
        assert drawn[:6] == drawn[6:], name


class OpenedError(Exception):
    """The table was opened."""


@pytest.fixture
def unopened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder beside which no table is opened."""

    def open_it(*_: object, **__: object) -> None:
        raise OpenedError

    monkeypatch.setattr(module, "open_dataset", open_it)
    return tmp_path


REFUSED: dict[str, tuple[dict[str, Any], type[DpoptError], str]] = {
    "no budget": ({"epsilon": None}, PlanError, "found no budget: give epsilon= .with or without delta=. or rho="),
    "two budgets": ({"rho": 1.0}, PlanError, "and not both"),
    "negative epsilon": ({"epsilon": -1.0}, AccountingError, "epsilon of a budget: found -1.0"),
    "delta of 1": ({"delta": 1.0}, AccountingError, "delta of a budget: found 1.0"),
    "delta of 0": ({"delta": 0.0, "accountant": "zcdp"}, AccountingError, "delta of a budget: found 0.0"),
    "small delta for gdp": ({"accountant": "gdp", "delta": 1e-10}, AccountingError, "expected at least 1e-9"),
    "rho for gdp": ({"epsilon": None, "rho": 1.0, "accountant": "gdp"}, AccountingError, "expected 'zcdp'"),
    "accountant": ({"accountant": "renyi"}, PlanError, "accountant= is one of pure, zcdp, gdp"),
    "neighbours": ({"neighbours": "swap"}, PlanError, "neighbours= is one of replace, add-remove; found"),
    "plan-by": ({"plan_by": "luck"}, PlanError, "plan_by= is rule or bound; found 'luck'"),
    "free attributes": ({"free_attributes": "last"}, PlanError, "free_attributes= is one of first, random"),
    "on-invalid": ({"on_invalid": "keep"}, SchemaError, "expected error, clip, other, drop"),
    "on-invalid twice": ({"on_invalid": "error,clip"}, SchemaError, "'error' allows no repair"),
    "drop": ({"on_invalid": "drop", "neighbours": "replace"}, PlanError, "use neighbours='add-remove'"),
    "pairs": (
        {"layout": "pairs", "on_invalid": "other", "neighbours": "replace"},
        PlanError,
        "use neighbours='add-remove'",
    ),
    "person": (
        {"person": "id", "rows_per_person": 1, "neighbours": "replace"},
        PlanError,
        "use neighbours='add-remove'",
    ),
    "person without a bound": ({"person": "id"}, SchemaError, "go together"),
    "rows of nobody": ({"rows_per_person": 2}, SchemaError, "go together"),
    "no row of a person": (
        {"person": "id", "rows_per_person": 0},
        SchemaError,
        "a whole number of at least 1, found 0",
    ),
    "solver": ({"solver": "simplex"}, SolverUnavailableError, "there is no solver 'simplex'"),
    "close solver": ({"solver": "cpsat"}, SolverUnavailableError, "did you mean 'cp-sat'"),
    "format": ({"format": "json"}, PlanError, "the format is one of csv, parquet, npz, baskets; found"),
    "rows": ({"rows": 0}, PlanError, "the number of rows must be a whole number of at least 1, found 0"),
    "rounds": ({"rounds": 0}, PlanError, "the number of rounds must be a whole number of at least 1, found"),
    "draws": ({"draws": -3}, PlanError, "the number of draws must be a whole number of at least 1"),
    "step in words": ({"step": "one"}, PlanError, "the step eta must be a decimal number such as 1.4"),
    "step of 0": ({"step": 0}, PlanError, "the step eta must be a positive number of at most 1,000,000"),
    "step without end": ({"step": "inf"}, PlanError, "the step eta must be a positive number"),
    "work": ({"work": 0}, PlanError, "the work per round must be a whole number of at least 1, found 0"),
    "seconds": ({"seconds": 0.0}, PlanError, "the seconds per round must be a finite number above 0"),
    "seed": ({"seed": -1}, PlanError, "the seed must be a whole number of at least 0, found -1"),
    "large seed": ({"seed": 2**31}, PlanError, "the seed must be at most 2,147,483,647"),
    "n0 of 0": ({"neighbours": "add-remove", "n0": 0}, PlanError, "the public size must be a whole number"),
}


NO_PROJECTION: dict[str, tuple[dict[str, Any], type[DpoptError], str]] = {
    "no weights": ({"solver": "cp-sat"}, PlanError, "cp-sat does not take convex quadratic programs; .*clarabel"),
    "unknown": ({"solver": "clarable"}, SolverUnavailableError, "did you mean 'clarabel'"),
    "no records": ({"pricing_solver": "clarabel"}, DpoptError, "clarabel does not take mixed-integer programs"),
    "unknown records": ({"pricing_solver": "cpsat"}, SolverUnavailableError, "did you mean 'cp-sat'"),
}


@pytest.mark.parametrize("measure", ["residuals", "counts", "selected"])
@pytest.mark.parametrize("name", NO_PROJECTION)
def test_a_solver_that_fits_no_records_is_refused_before_reading(unopened: Path, measure: str, name: str) -> None:
    changes, kind, message = NO_PROJECTION[name]
    asked: dict[str, Any] = {"algorithm": "projection", "measure": measure, "epsilon": 1.0, "delta": 1e-6, **changes}
    with pytest.raises(kind, match=message):
        release(frame(), SCHEMA, "marginals:2", out=unopened / "out", **asked)
    assert list(unopened.iterdir()) == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_setting_is_refused_before_the_table_is_opened(unopened: Path, name: str) -> None:
    changes, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        release(frame(), SCHEMA, "marginals:2", out=unopened / "out", **{**USUAL, **changes})
    assert list(unopened.iterdir()) == []


def test_public_inputs_are_refused_before_the_table_is_opened(unopened: Path) -> None:
    (unopened / "file").write_text("")
    other, out = Schema(SCHEMA.attributes[1:]), unopened / "out"
    refused: list[tuple[Schema, Any, Path, type[Exception], str | None]] = [
        (DRAFT, "marginals:2", out, SchemaError, "is a draft made from private data"),
        (SCHEMA, "marginals:9", out, WorkloadError, "9-way queries were asked for"),
        (other, workload(), out, WorkloadError, "the workload was made for another schema"),
        (SCHEMA, workload(), unopened, ReleaseFolderError, "is not empty"),
        (SCHEMA, workload(), unopened / "file" / "out", ReleaseFolderError, "Not a directory"),
        (SCHEMA, workload(), out, OpenedError, None),
    ]
    for schema, asked, folder, kind, message in refused:
        with pytest.raises(kind, match=message):
            release(frame(), schema, asked, out=folder, **USUAL)
    assert [path.name for path in unopened.iterdir()] == ["file"]


LATE: dict[str, tuple[dict[str, Any], type[DpoptError], str]] = {
    "n0 with replace": ({"n0": 150}, PlanError, "n0 belongs to add-remove"),
    "over budget": ({"epsilon": 0.01, "step": "1"}, PlanError, "cost epsilon = .* more than epsilon = 0.01"),
    "no budget for two rounds": (
        {"epsilon": 1e-9, "rounds": None},
        PlanError,
        "is too small for two rounds on n = 200 records",
    ),
    "a step beyond the sampler": (
        {"neighbours": "add-remove", "n0": 10**9, "step": "0.0000001"},
        PlanError,
        "so small that the sampler's tables",
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_what_depends_on_the_size_is_refused_before_anything_is_spent(tmp_path: Path, name: str) -> None:
    changes, kind, message = LATE[name]
    with pytest.raises(kind, match=message):
        release(frame(), SCHEMA, "marginals:2", out=tmp_path / "deep" / "out", **{**USUAL, **changes})
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_does_not_fit_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="'mauve' is not a declared value"):
        release(frame().replace("red", "mauve"), SCHEMA, "marginals:2", out=tmp_path / "out", **USUAL)
    with pytest.raises(PrivateDataError, match="there is no file"):
        release(tmp_path / "none.csv", SCHEMA, "marginals:2", out=tmp_path / "out", **USUAL)
    assert list(tmp_path.iterdir()) == []


def test_options_stand_in_one_place() -> None:
    with pytest.raises(PlanError, match="give rounds as options of the algorithm"):
        release(frame(), SCHEMA, "marginals:2", algorithm=MWEM(), epsilon=2.0, rounds=3)
    with pytest.raises(ArgumentError, match=r"release\(epsilonn=...\): .*did you mean epsilon"):
        release(frame(), SCHEMA, "marginals:2", epsilonn=1.0)  # type: ignore[call-arg]
    assert Terms.of("mwem", rounds=3, layout="npz") == Terms(
        algorithm=MWEM(rounds=3), reading=TableReading(layout=Layout.NPZ)
    )


def test_an_accepted_draft_is_recorded(tmp_path: Path) -> None:
    finished = release(frame(), DRAFT, "marginals:2", out=tmp_path / "out", accept_draft=True, **USUAL)
    assert finished.statement["schema"]["drafted_from_private_data_and_not_reviewed"] is True
    assert finished.statement["schema"]["draft_accepted"] is True
    reviewed = release(frame(), SCHEMA, "marginals:2", accept_draft=True, **USUAL)
    assert reviewed.statement["schema"]["draft_accepted"] is False


def test_rows_and_parquet_come_out_as_asked(tmp_path: Path) -> None:
    settings = {**USUAL, "rows": np.int64(12), "format": "parquet", "rounds": np.int32(5)}
    finished = release(frame(), SCHEMA, "marginals:2", out=str(tmp_path / "out"), **settings)
    table = pq.read_table(tmp_path / "out" / "synthetic.parquet")
    assert (table.num_rows, table.num_columns) == (12, len(SCHEMA))
    assert finished.statement["records"]["rows"] == 12
    assert finished.statement["records"]["file"] == "synthetic.parquet"


def test_add_remove_publishes_n0_and_not_the_number_of_records(tmp_path: Path) -> None:
    """Nothing measures the total here; noisy numbers within bins would say it, nearly exactly with so large a budget."""
    out, how = tmp_path / "out", {**USUAL, "neighbours": "add-remove", "n0": 177, "values_share": 0}
    release(frame(), SCHEMA, "marginals:2", out=out, **how)
    for path in out.iterdir():
        text = path.read_text()
        assert not re.search(rf": {ROWS}(?![.\d])", text), path.name
    assert '"size": 177' in (out / "plan.json").read_text()


@pytest.mark.parametrize("free", ["first", "random", "estimated"])
@pytest.mark.parametrize("plan_by", ["rule", "bound"])
def test_a_run_is_planned_as_asked(free: str, plan_by: str) -> None:
    finished = release(
        frame(),
        SCHEMA,
        "marginals:1",
        algorithm="dualquery",
        rho=0.05,
        n0=200,
        free_attributes=free,
        plan_by=plan_by,
        predict=False,
    )
    spent = finished.ledger.spent()
    assert 0.8 * 0.05 < spent.rho <= 0.05
    assert spent.delta == 1e-9
    assert DualQueryPlan.of(finished.job.plan).free_attributes.value == free


def test_predictions_are_in_the_statement() -> None:
    finished = release(frame(), SCHEMA, "marginals:1", **{**USUAL, "predict": True})
    predicted = finished.statement["accuracy"]["predicted"]
    assert (
        predicted
        == plan_statement(finished.job.plan, workload("marginals:1"), predict_errors=True, accept_draft=False)[
            "predicted"
        ]
    )
    assert 0 < predicted["mean_error"] < predicted["max_error"] < 1


@pytest.mark.parametrize(
    ("terms", "budget"),
    [
        (Terms.of(epsilon=1.0, delta=1e-5), Budget(1.0, 1e-5, None, Accountant.ZCDP)),
        (Terms.of(epsilon=1.0, accountant="pure"), Budget(1.0, 0.0, None, Accountant.PURE)),
        (Terms.of(epsilon=1.0, delta=1e-5, accountant="pure"), Budget(1.0, 1e-5, None, Accountant.PURE)),
        (Terms.of(rho=0.5), Budget(None, 1e-9, 0.5, Accountant.ZCDP)),
        (Terms.of(rho=0.5, delta=1e-4), Budget(None, 1e-4, 0.5, Accountant.ZCDP)),
    ],
)
def test_terms_give_the_budget(terms: Terms, budget: Budget) -> None:
    assert terms.budget() == budget


@pytest.mark.parametrize(("step", "exact"), [("0.1", "0.1"), (0.1, "0.1"), (2, "2"), (Decimal("1e-3"), "0.001")])
def test_a_step_is_an_exact_decimal(step: Any, exact: str) -> None:
    assert DualQuery(step=step).step == Decimal(exact)


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, None),
        ({"solver": "local-search"}, None),
        ({"seconds": 3.0}, 3.0),
        ({"solver": "highs"}, 2.0),
        ({"solver": "highs", "work": 5}, None),
        ({"solver": "cp-sat", "seconds": 0.5}, 0.5),
    ],
)
def test_an_exact_solver_gets_a_time_limit_unless_a_user_does(changes: dict[str, Any], seconds: float | None) -> None:
    asked = DualQuery(**changes)
    assert asked.time_limit == seconds
    assert asked.solver_name == changes.get("solver", "local-search")


def interrupted(folder: Path) -> Path:
    """Return a folder whose run was interrupted after its second draw."""

    class StopError(Exception):
        pass

    class Stopping:
        is_private = True

        def __init__(self) -> None:
            self.exact, self.calls = seeded(), 0

        def draw(self, weights: Any, draws: int) -> Any:
            self.calls += 1
            if self.calls == 3:
                raise StopError
            return self.exact.draw(weights, draws)

    made = Job(plan(), SCHEMA, workload(), {"rows": 5}, {})
    with pytest.raises(StopError):
        run_release(dataset(), made, folder, sources=Sources(sampler=Stopping()))
    return folder


def test_a_run_that_goes_on_with_little_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, reported = interrupted(tmp_path / "out"), Heard()
    monkeypatch.setattr("dpopt.algorithms.release.available_memory", lambda: 1_000)
    assert len(resume(folder, tables(tmp_path)["CSV"], progress=reported).rounds) == 6
    (note,) = (note for note in reported.notes if "the machine has" in note)
    assert "0.00 GB available" in note
    assert "nothing is spent twice" in note


@pytest.mark.parametrize("form", ["CSV", "CSV.gz", "Parquet", "DataFrame"])
def test_an_interrupted_run_goes_on_with_its_table_in_any_form(tmp_path: Path, form: str) -> None:
    folder = interrupted(tmp_path / "out")
    before = (folder / "transcript.jsonl").read_bytes()
    finished = resume(folder, tables(tmp_path)[form])
    assert len(finished.played) == 6
    # The first entry says that the source which stopped the run was none of the trusted ones.
    assert finished.ledger.entries[1:] == finished.job.plan.charges()
    assert (folder / "transcript.jsonl").read_bytes().startswith(before)
    assert finished.statement["records"]["rows"] == 5
    with pytest.raises(ReleaseFolderError, match="has ended; there is nothing to resume"):
        resume(folder, tmp_path / "not even there.csv")


def test_a_run_does_not_go_on_with_a_table_of_another_size(tmp_path: Path) -> None:
    folder = interrupted(tmp_path / "out")
    before = (folder / "transcript.jsonl").read_bytes()
    with pytest.raises(PrivateDataError, match="has 199 records but the plan was made for n = 200"):
        resume(folder, frame().iloc[:-1])
    assert (folder / "transcript.jsonl").read_bytes() == before


def test_adult_is_released_and_every_record_decodes(tmp_path: Path, data_folder: Path, checkout: Path) -> None:
    """Adult's raw file under its declared schema; the bound on the error is loose so that the test is stable."""
    schema = Schema.read(checkout / "experiments" / "schemas" / "adult.json")
    table = data_folder / "adult" / "adult-train.csv.gz"
    queries = parse_workload("marginals:2,count=30,seed=1", schema)
    finished = release(
        table,
        schema,
        queries,
        out=tmp_path / "out",
        algorithm="dualquery",
        epsilon=1.0,
        delta=1e-9,
        rows=1000,
        predict=False,
    )
    records = finished.statement["records"]
    assert records["records_that_decode"] == records["rounds"] == len(finished.played)
    assert finished.statement["certificates"]["fallbacks"] == 0
    written = read_table(tmp_path / "out" / "synthetic.csv", schema)
    assert np.array_equal(np.array(written._columns).T, finished.written.rows())
    found = evaluate(finished, read_table(table, schema))
    assert found.max_error < 0.25
    assert found.max_error < 0.5 * found.baselines["uniform"]["max_error"]
    assert 0.9 < finished.ledger.spent().epsilon <= 1


def test_a_fixed_public_size_comes_with_a_note_and_an_exact_one_does_not() -> None:
    assert stating.size_note(plan()) is None
    note = stating.size_note(plan(relation=ADD_REMOVE, size=150))
    assert note is not None
    assert "divided by n0 = 150" in str(note)


def test_the_help_of_the_main_function_names_every_option() -> None:
    described = re.split(r"\W+", inspect.getdoc(release) or "")
    assert [field.name for field in fields(Terms) if field.name not in described] == []
    assert [kind.__name__ for kind in OPTIONS.values() if kind.__name__ not in described] == []
    for kind in OPTIONS.values():
        assert all(f"\n{name} :\n" in str(kind.__doc__) for name in kind.known)


@pytest.mark.parametrize(("engine", "warned"), [("dask:tcp://host:1", 1), ("dask:host:1", 0), ("memory", 0)])
def test_counts_sent_without_encryption_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, engine: str, warned: int
) -> None:
    """No cluster is asked: the warning comes before."""

    def nobody(*_: object, **__: object) -> PrivateDataset:
        raise PlanError("nobody is asked")

    monkeypatch.setattr("dpopt.algorithms.release.open_dataset", nobody)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(PlanError, match="nobody"):
            release(frame(), SCHEMA, "marginals:1", engine=engine, **USUAL)
    assert sum("not encrypted" in str(one.message) for one in found) == warned


@pytest.mark.parametrize("measured", [False, True])
def test_a_run_with_a_solver_of_its_own_is_stated_by_its_name_and_continued_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    own, folder = OwnSolver(), tmp_path / "out"
    options = DualQuery(rounds=4, draws=8, solver=own, work=5)
    size = {} if measured else {"n0": ROWS}
    settings: dict[str, Any] = {"epsilon": 1e5, "delta": 1e-6, "predict": False, **size}
    done = release(frame(), SCHEMA, "marginals:2", algorithm=options, **settings)
    assert done.statement["plan"]["solver"] == "mine"
    assert {one.solver.split()[0] for one in done.played} == {"mine"}
    assert own.solved == 5  # one of them the trial before anything is read

    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    monkeypatch.setattr(own, "solve", stop)
    reported = Progress()
    monkeypatch.setattr(reported, "round", stop)
    with pytest.raises(StopError):
        release(frame(), SCHEMA, "marginals:2", out=folder, algorithm=options, progress=reported, **settings)
    with pytest.raises(SolverUnavailableError, match=r"a solver of its own, 'mine'.*solver=\.\.\."):
        resume(folder, frame())
    with pytest.raises(PlanError, match="began with the solver 'mine', found 'local-search'"):
        resume(folder, frame(), solver=get_solver("local-search"))
    continued = resume(folder, frame(), solver=OwnSolver())
    assert {one.solver.split()[0] for one in continued.played[1:]} == {"mine"}

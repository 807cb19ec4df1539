"""With the draws scripted, two tables cannot be told apart by anything that is not private.

Neither by the programs that the solver gets, nor by log records, warnings, what is printed, the progress that is told (times
aside), nor by a byte of the release folder.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthesize import synthesize
from dpopt.errors import DpoptError, PlanError
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.selections.query_weights import ScriptedSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.releases.plan import Encoding, FreeAttributes
from dpopt.releases.progress import Figures
from dpopt.releases.run import Sources
from dpopt.schema import Rule, equivalent, implies, literal
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.tiny_runs import ADD_REMOVE, REPLACE

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"), missing="?"),
        Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0), integer=True),
    )
)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
RULED = Schema(
    SCHEMA.attributes,
    rules=(
        Rule(implies(literal("a", "=", True), literal("b", "!=", "z")), "no z with a"),
        Rule(equivalent(literal("b", "=", "x"), literal("c", "<", 10)), "x is small"),
    ),
)
SIGNED = 2 * len(WORKLOAD)
ROUNDS, DRAWS, SIZE = 3, 4, 5
BUDGETS = {
    Accountant.ZCDP: Budget(None, 1e-9, 1e6, Accountant.ZCDP),
    Accountant.PER_ROUND: Budget(1e6, 1e-9, None, Accountant.PER_ROUND),
}


@dataclass
class Watcher:
    """The solver, and everything else that someone without the table can watch."""

    behaviour: str = "local-search"
    seen: list[str] = field(default_factory=list)
    name: str = "watcher"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.MAX_CSP, Capability.PRESOLVES, Capability.RULES}
    )

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "for tests")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        from dpopt.solvers.local_search.search import LocalSearch

        assert isinstance(program, MaxCsp)
        hinted = None if hint is None else hint.tolist()
        self.seen.append(f"program {program.fingerprint()} limits {limits} hint {hinted}")
        if self.behaviour == "fails":
            return SolveResult(Termination.FAILED, None, None, None, None, "watcher", "1", "broken", 0.1)
        if self.behaviour == "answers nonsense":
            nonsense = np.full(program.sizes.size, 99, dtype=np.int32)
            return SolveResult(Termination.OPTIMAL, None, nonsense, 1.0, None, "watcher", "1", "done", 0.1)
        return LocalSearch().solve(program, limits, hint=hint)

    def note(self, text: str) -> None:
        self.seen.append(f"note {text}")

    def owner_note(self, text: str) -> None:
        """See nothing: only who has the table hears this."""

    def begin(self, stage: str) -> None:
        self.seen.append(f"begin {stage}")

    def share(self, done: float) -> None:
        self.seen.append(f"share {done}")

    def round(self, number: int, rounds: int, value: float) -> None:
        self.seen.append(f"round {number} of {rounds}: {value}")

    def step(self, number: int, steps: int, what: str) -> None:
        self.seen.append(f"step {number} of {steps}: {what}")

    def figures(self, of_round: Callable[[], Figures]) -> None:
        figures = {**of_round(), "solve_seconds": None}
        self.seen.append(f"figures {figures}")

    def end(self, stage: str) -> None:
        self.seen.append(f"end {stage}")


class Records(logging.Handler):
    """Keeps the text of log records; what numba says while it compiles a kernel for the first time is about code alone."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "numba":
            return
        self.texts.append(f"{record.levelname} {record.name} {record.getMessage()}")


@contextlib.contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Add log records, warnings and printed text to what the watcher has seen."""
    records, printed = Records(), io.StringIO()
    root = logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            yield
    except DpoptError as error:
        watcher.seen.append(f"{type(error).__name__}: {error}")
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    watcher.seen += [*records.texts, *(str(warning.message) for warning in caught), printed.getvalue()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@dataclass(frozen=True)
class Public:
    """Everything public about a run, and the script of its draws and noise."""

    plan: DualQueryPlan
    output: dict[str, object]
    behaviour: str
    script: list[list[int]]
    noise: list[int]
    cut: int | None
    ruled: bool = False

    def run(self, table: list[list[int]]) -> tuple[list[str], dict[str, bytes]]:
        """Play on a table; return what was seen and the folder."""
        watcher = Watcher(self.behaviour)
        schema = RULED if self.ruled else SCHEMA
        workload = parse_workload("marginals:2", schema)
        job = Job(self.plan, schema, workload, self.output, {"versions": {"dpopt": "test"}})
        dataset = PrivateDataset.from_codes(schema, list(np.array(table, dtype=np.int32).T))
        with (
            tempfile.TemporaryDirectory() as temporary,
            mock.patch("dpopt.solvers.registry.get_solver", return_value=watcher),
            mock.patch(
                "dpopt.algorithms.dualquery.driver.feasible_record",
                return_value=np.array([0, 0, 0], dtype=np.int32),
            ),
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=ScriptedNoise(self.noise)),
            mock.patch("os.fsync"),
        ):
            folder = Path(temporary) / "release"
            with watched(watcher):
                release(
                    dataset,
                    job,
                    folder,
                    sources=Sources(sampler=ScriptedSampler(self.script)),
                    progress=watcher,
                )
            if self.cut is not None:
                self._resume(folder, dataset, watcher)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)

    def _resume(self, folder: Path, dataset: PrivateDataset, watcher: Watcher) -> None:
        """Cut the transcript off somewhere and continue, with the script from its beginning."""
        transcript = folder / "transcript.jsonl"
        data = transcript.read_bytes()
        transcript.write_bytes(data[: max(1, len(data) * (self.cut or 0) // 1000)])
        (folder / "release.json").unlink()
        again = ScriptedSampler(self.script)
        with (
            mock.patch("dpopt.private.curators.dualquery_curator.ExactSampler", return_value=again),
            watched(watcher),
        ):
            resume(folder, dataset, read_job(folder), progress=watcher)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    relation = draw(st.sampled_from(NeighbouringRelation))
    rule = draw(st.sampled_from(FreeAttributes))
    estimated = rule is FreeAttributes.ESTIMATED
    gaussian = draw(st.booleans())
    accountant = Accountant.ZCDP if estimated and gaussian else draw(st.sampled_from(list(BUDGETS)))
    plan = DualQueryPlan(
        rounds=ROUNDS,
        draws=DRAWS,
        step=draw(st.sampled_from([Decimal("0.4"), Decimal(7)])),
        size=SIZE,
        relation=relation,
        budget=BUDGETS[accountant],
        attributes=3,
        free_attributes=rule,
        encoding=draw(st.sampled_from(Encoding)),
        one_way=OneWayMeasurement(3.0, gaussian) if estimated else None,
        work=5,
        seed=draw(st.integers(0, 3)),
    )
    output: dict[str, object] = {
        "format": draw(st.sampled_from(["csv", "parquet"])),
        "rows": draw(st.sampled_from([None, 7])),
    }
    ruled = plan.encoding is Encoding.RECORDS and draw(st.booleans())
    queries = st.lists(st.integers(0, SIGNED - 1), min_size=DRAWS, max_size=DRAWS)
    return Public(
        plan,
        output,
        draw(st.sampled_from(["local-search", "local-search", "fails", "answers nonsense"])),
        draw(st.lists(queries, min_size=ROUNDS, max_size=ROUNDS)),
        draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8)),
        draw(st.none() | st.integers(0, 999)),
        ruled,
    )


def tables(rows: st.SearchStrategy[int]) -> st.SearchStrategy[list[list[int]]]:
    record = st.tuples(*(st.integers(0, int(size) - 1) for size in SCHEMA.sizes)).map(list)
    return rows.flatmap(lambda n: st.lists(record, min_size=n, max_size=n))


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
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
    programs = [text for text in seen_one if text.startswith("program")]
    assert len(programs) >= ROUNDS or public.cut is not None


def test_the_watcher_does_see_a_difference_between_other_draws() -> None:
    plan = DualQueryPlan(
        rounds=1,
        draws=1,
        step=Decimal(1),
        size=2,
        relation=REPLACE,
        budget=BUDGETS[Accountant.ZCDP],
        attributes=3,
        work=5,
    )
    runs = [
        Public(plan, {"format": "csv", "rows": None}, "local-search", [[query]], [0], None).run(
            [[0, 0, 0]] * 2
        )
        for query in (0, 3)
    ]
    assert runs[0][0] != runs[1][0]
    assert runs[0][1]["transcript.jsonl"] != runs[1][1]["transcript.jsonl"]


def leak_into_a_log(curator: Curator, record: NDArray[np.int32]) -> None:
    logging.getLogger("dpopt").debug("counts %s", curator._weights._counts.sum())


def leak_into_a_warning(curator: Curator, record: NDArray[np.int32]) -> None:
    warnings.warn(f"counts {curator._weights._counts.sum()}", stacklevel=1)


def leak_into_a_print(curator: Curator, record: NDArray[np.int32]) -> None:
    print(curator._weights._counts.sum())  # noqa: T201


def leak_into_the_control_flow(curator: Curator, record: NDArray[np.int32]) -> None:
    if curator._weights._counts[0] > 0:
        raise PlanError("stopped early, since the answers are good enough")


def leak_into_the_journal(curator: Curator, record: NDArray[np.int32]) -> None:
    curator._journal.append({"kind": "note", "counts": int(curator._weights._counts.sum())})


LEAKS = [
    leak_into_a_log,
    leak_into_a_warning,
    leak_into_a_print,
    leak_into_the_control_flow,
    leak_into_the_journal,
]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Callable[[Curator, NDArray[np.int32]], None]) -> None:
    plan = DualQueryPlan(
        rounds=2,
        draws=1,
        step=Decimal(1),
        size=2,
        relation=ADD_REMOVE,
        budget=BUDGETS[Accountant.ZCDP],
        attributes=3,
        work=5,
    )
    public = Public(plan, {"format": "csv", "rows": None}, "local-search", [[0], [3]], [0], None)
    observe = Curator.observe

    def leaking(self: Curator, record: NDArray[np.int32]) -> None:
        leak(self, record)
        observe(self, record)

    tables = [[[0, 0, 0]] * 3, [[1, 1, 1]] * 2]
    assert public.run(tables[0]) == public.run(tables[1])
    with mock.patch.object(Curator, "observe", leaking):
        assert public.run(tables[0]) != public.run(tables[1])


def write_table(path: Path, rows: list[str]) -> Path:
    path.write_text("a,b,c\n" + "".join(row + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_finished_folder(
    relation: NeighbouringRelation, tmp_path: Path
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
        script = [[1, 4, 6, 6]] * 40
        with (
            mock.patch("dpopt.solvers.registry.get_solver", lambda name, w=watcher: w),
            mock.patch(
                "dpopt.private.curators.dualquery_curator.ExactSampler",
                lambda source, s=script: ScriptedSampler(s),
            ),
            watched(watcher),
        ):
            synthesize(
                table,
                SCHEMA,
                WORKLOAD,
                out=tmp_path / f"release{number}",
                algorithm="dualquery",
                epsilon=500.0,
                delta=1e-6,
                neighbours=relation.value,
                n0=4 if relation is ADD_REMOVE else None,
                rounds=6,
                draws=4,
                step="0.3",
                work=5,
                predict=False,
                progress=watcher,
            )
        outcomes.append((watcher.seen, contents(tmp_path / f"release{number}")))
    assert outcomes[0] == outcomes[1]
    assert any(text.startswith("program") for text in outcomes[0][0])
    assert "release.json" in outcomes[0][1]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_what_the_command_prints_does_not_tell_two_tables_apart(
    relation: NeighbouringRelation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dpopt release` in two folders, with files of the same names; seconds aside, it prints the same."""
    from typer.testing import CliRunner

    from dpopt.cli.application import application
    from dpopt.cli.main import main  # importing it registers the commands

    assert callable(main)
    sized = ["--n0", "4"] if relation is ADD_REMOVE else ["--neighbours", "replace"]
    rows = [
        ["True,x,3", "False,?,19", "True,z,0"],
        ["False,y,12", "False,y,12", "False,y,20"] + ["True,x,1"] * (4 if relation is ADD_REMOVE else 0),
    ]
    outcomes = []
    for number, lines in enumerate(rows):
        here = tmp_path / str(number)
        here.mkdir()
        monkeypatch.chdir(here)
        write_table(here / "table.csv", lines)
        SCHEMA.write(here / "schema.json")
        script = ScriptedSampler([[1, 4, 6, 6]] * 6)
        limits = [
            "--algorithm",
            "dualquery",
            "--epsilon",
            "500",
            "--delta",
            "1e-6",
            "--work",
            "5",
            "--no-predict",
        ]
        numbers = ["--rounds", "6", "--draws", "4", "--step", "0.3"]
        inputs = ["table.csv", "--schema", "schema.json", "--workload", "marginals:2", "--out", "out"]
        with mock.patch("dpopt.private.curators.dualquery_curator.ExactSampler", return_value=script):
            done = CliRunner().invoke(application, ["release", *inputs, *limits, *numbers, *sized])
        assert done.exit_code == 0, done.output
        outcomes.append((re.sub(r"[0-9.]+ ?s\b", "some seconds", done.output), contents(here / "out")))
    assert outcomes[0] == outcomes[1]
    assert "NOT PRIVATE" in outcomes[0][0]


def test_a_run_with_scripted_draws_says_that_it_is_not_private(tmp_path: Path) -> None:
    plan = DualQueryPlan(
        rounds=2,
        draws=1,
        step=Decimal(1),
        size=2,
        relation=REPLACE,
        budget=BUDGETS[Accountant.ZCDP],
        attributes=3,
        work=5,
    )
    dataset = PrivateDataset.from_codes(SCHEMA, [np.array([0, 1])] * 3)
    job = Job(plan, SCHEMA, WORKLOAD, {"format": "csv", "rows": None}, {})
    made = release(dataset, job, tmp_path / "r", sources=Sources(sampler=ScriptedSampler([[0], [1]])))
    assert not made.ledger.is_private
    assert made.statement["privacy"]["private"] is False
    assert made.statement["privacy"]["epsilon"] is None


def test_the_workload_type_holds_no_records() -> None:
    """What travels to the solver's side is made of these; none has a field that could hold a table."""
    for kind in (Workload, MaxCsp, SolveLimits):
        assert not any("dataset" in name or "rows" in name for name in kind.__dataclass_fields__)

"""Whole runs of noise, projection and adaptive measurement: feasible records, what is stated, replays, edited transcripts."""

from __future__ import annotations

import csv
import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.measured.fitting import UNITS, merged
from dpopt.algorithms.measured.plan import (
    NOISE,
    PROJECTION,
    FitPlan,
    MeasuredPlan,
    PlannedSelections,
    check_sensitivities,
)
from dpopt.algorithms.options import COUNTS, SELECTED
from dpopt.algorithms.registry import plan_of
from dpopt.algorithms.release import release
from dpopt.algorithms.replay import differing_files, load, replay
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import BudgetError, DpoptError, PlanError, PrivateDataError
from dpopt.inference.records.problem import Fitted
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import MemoryJournal, read_journal
from tests.algorithms.measured_runs import (
    CLAUSES,
    FIT,
    MEASURED,
    exact_budget,
    measured_job,
    named,
    noiseless,
    scripted,
)
from tests.algorithms.small_runs import ADD_REMOVE, ROWS, SCHEMA, Heard, codes, dataset, workload, write_table
from tests.algorithms.test_release_with_rules import RULED, obeys
from tests.noises import NoNoise
from tests.strategies import naive_truth

FITTED = (COUNTS, SELECTED)
FORMS = [
    (NOISE, "marginals:2"), (NOISE, CLAUSES), (COUNTS, "marginals:2"), (COUNTS, CLAUSES),
    (COUNTS, "parity:2,count=12,seed=1"), (SELECTED, "marginals:1"), (SELECTED, "marginals:3"),
]  # fmt: skip


def exact_answers(text: str) -> np.ndarray:
    return np.asarray(naive_truth(workload(text).clauses, codes()).mean(axis=1))


@pytest.mark.parametrize(("algorithm", "text"), FORMS)
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_run_spends_what_was_reserved(
    algorithm: str, text: str, gaussian: bool, relation: NeighbouringRelation
) -> None:
    job = measured_job(algorithm, text=text, gaussian=gaussian, relation=relation)
    made = run_release(dataset(), job, None)
    assert made.ledger.entries == job.plan.charges()
    assert made.ledger.unspent == ()
    assert made.ledger.is_private
    assert job.plan.budget.covers(made.ledger.spent())
    privacy = made.statement["privacy"]
    assert privacy["private"] is True
    assert privacy["relation"] == relation.value
    assert privacy["accountant"] == ("zcdp" if gaussian else "pure")
    assert [charge["label"] for charge in privacy["charges"]] == [charge.label for charge in job.plan.charges()]


@pytest.mark.parametrize(("algorithm", "text"), [form for form in FORMS if form[0] != NOISE])
def test_records_are_feasible_and_their_weights_sum_to_one(algorithm: str, text: str) -> None:
    made = run_release(dataset(), measured_job(algorithm, text=text), None)
    records = made.records
    assert np.all((records.distinct >= 0) & (records.distinct < SCHEMA.sizes))
    assert len(np.unique(records.distinct, axis=0)) == len(records.distinct)
    assert records.weights.sum() == pytest.approx(1)
    assert np.all(records.multiplicity >= 1)
    assert int(records.multiplicity.sum()) == FIT.records
    stated = made.statement["records"]
    assert stated["distinct"] == len(records.distinct)
    assert stated["records_that_decode"] == len(records.distinct)
    truth = naive_truth(workload(text).clauses, records.distinct)
    assert made.answers() == pytest.approx(truth @ records.weights)
    assert made.played == ()
    assert repr(made).startswith(
        f"SyntheticRelease: {made.verdict}\n({PROJECTION}, {len(records.distinct)} distinct records"
    )


def test_what_a_release_states_of_its_measurements_and_of_its_fit() -> None:
    made = run_release(dataset(), measured_job(SELECTED), None)
    statement = made.statement
    assert statement["algorithm"] == PROJECTION
    assert statement["answers"] is None
    assert statement["chosen"] is None
    assert "certificates" not in statement
    measured = statement["measured"]
    assert (measured["measurements"], measured["selected"]) == (7, 3)
    assert (measured["smallest_scale"], measured["largest_scale"]) == (3.0, 4.0)
    assert measured["lost_to_interruptions"] == 0
    assert measured["noise"] == "discrete Gaussian"
    fit = statement["certificate"]
    assert fit["measured_counts"] == measured["counts"]
    assert fit["objective"] >= 0
    assert fit["lower_bound"] is None
    assert fit["gap"] is None
    assert statement["plan"] == made.job.plan.to_json()


def test_exact_counts_give_answers_that_lie_near_them() -> None:
    """Without noise the fit is to the truth, and sharp selections leave no marginal out: 300 records come within a few."""
    fit, sharp = FitPlan(records=300, sweeps=10), PlannedSelections(6, Decimal(200), 3.0, ("l1",), 1000)
    jobs = (measured_job(COUNTS, fit=fit), measured_job(SELECTED, fit=fit, selections=sharp))
    for job in jobs:
        found = evaluate(run_release(dataset(), job, None, sources=noiseless()), dataset())
        assert found.max_error < 0.02
        assert found.max_error < found.baselines["uniform"]["max_error"] / 10


def test_column_generation_weighs_records_and_bounds_how_much_better_any_fit() -> None:
    fit = FitPlan(records=50, sweeps=2, columns=200, gap=0.0)
    made = run_release(dataset(), measured_job(COUNTS, fit=fit), None, sources=scripted([3, -9, 4, 0, 7]))
    certificate = made.statement["certificate"]
    assert 0 <= certificate["lower_bound"] <= certificate["objective"]
    assert certificate["gap"] == certificate["objective"] - certificate["lower_bound"]
    assert certificate["gap"] < 1e-2 * max(1.0, certificate["objective"])
    assert made.records.weights.sum() == pytest.approx(1)
    plain = run_release(dataset(), measured_job(COUNTS, fit=replace(fit, columns=0)), None)
    assert plain.statement["certificate"]["lower_bound"] is None


def test_smoothed_records_are_kept_several_times() -> None:
    fit = FitPlan(records=20, sweeps=1, snapshots=4, smoothing=5.0)
    made = run_release(dataset(), measured_job(COUNTS, fit=fit), None)
    assert int(made.records.multiplicity.sum()) == 80


def fitted(records: list[list[int]], weights: list[float]) -> Fitted:
    return Fitted(
        records=np.array(records, dtype=np.int32),
        weights=np.array(weights),
        objective=0.0,
        lower_bound=None,
        frank_wolfe_gap=None,
        pricing_gap=None,
        gap=None,
        proof="",
        stopped="done",
        history=(),
    )


def test_snapshots_are_merged_into_distinct_records() -> None:
    one = fitted([[1, 0], [0, 0], [1, 0]], [1 / 3] * 3)
    two = fitted([[0, 0], [0, 1], [0, 1]], [1 / 3] * 3)
    distinct, multiplicity = merged([one, two])
    assert distinct.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert multiplicity.tolist() == [2, 2, 2]
    weighed, shares = merged([fitted([[1, 1], [0, 0], [0, 1]], [0.75, 0.25 - 1e-12, 1e-12])])
    assert weighed.tolist() == [[0, 0], [1, 1]]
    assert shares.tolist() == [UNITS // 4, 3 * UNITS // 4]


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("algorithm", MEASURED)
def test_a_folder_is_rebuilt_byte_for_byte(tmp_path: Path, algorithm: str, file_format: str) -> None:
    job = measured_job(algorithm, output={"format": file_format, "rows": None})
    made = run_release(dataset(), job, tmp_path / "out")
    held = "answers" if algorithm == NOISE else "synthetic"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.txt",
        "plan.json",
        "schema.json",
        "workload.json",
        "transcript.jsonl",
        "release.json",
        f"{held}.{file_format}",
    }
    again = replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []
    assert again.statement == made.statement == json.loads((tmp_path / "out" / "release.json").read_text())
    assert np.array_equal(again.answers(), made.answers())
    assert again.ledger.entries == made.ledger.entries
    assert np.array_equal(load(tmp_path / "out").answers(), made.answers())


@pytest.mark.parametrize("algorithm", FITTED)
def test_rows_are_written_as_asked(tmp_path: Path, algorithm: str) -> None:
    made = run_release(dataset(), measured_job(algorithm, output={"rows": 17}), tmp_path / "out")
    assert (tmp_path / "out" / "synthetic.csv").read_text().count("\n") == 18
    assert made.statement["records"]["rows"] == 17
    assert len(made.to_pandas()) == 17


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("algorithm", FITTED)
def test_records_weighed_by_a_solver_fit_as_well_and_replay(tmp_path: Path, algorithm: str) -> None:
    weighed = replace(FIT, columns=50)
    own = run_release(dataset(), measured_job(algorithm, fit=weighed), None, sources=noiseless())
    job = measured_job(algorithm, fit=weighed, solver="clarabel")
    made = run_release(dataset(), job, tmp_path / "out", sources=noiseless())
    certificate, other = made.statement["certificate"], own.statement["certificate"]
    assert made.statement["plan"]["solver"] == "clarabel"
    assert certificate["gap"] is not None
    assert certificate["objective"] <= other["objective"] + certificate["gap"] + 1e-6
    assert made.statement["privacy"] == own.statement["privacy"]
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []


@pytest.mark.parametrize("text", ["marginals:2", CLAUSES])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_noise_leaves_answers_and_no_records(tmp_path: Path, text: str, file_format: str) -> None:
    job = measured_job(NOISE, text=text, output={"format": file_format, "rows": None})
    made = run_release(dataset(), job, tmp_path / "out", sources=noiseless())
    assert made.answers() == pytest.approx(exact_answers(text))
    path = tmp_path / "out" / f"answers.{file_format}"
    if file_format == "csv":
        with path.open(newline="") as file:
            header, *rows = csv.reader(file)
        assert header == ["query", "answer"]
        numbers, answers = [int(row[0]) for row in rows], [float(row[1]) for row in rows]
    else:
        table = pq.read_table(path)
        numbers, answers = table["query"].to_pylist(), table["answer"].to_pylist()
    assert numbers == list(range(len(workload(text))))
    assert np.array_equal(answers, made.answers())
    assert made.statement["records"] is None
    assert made.statement["answers"]["file"] == path.name
    assert made.statement["answers"]["queries"] == len(answers)
    assert "certificate" not in made.statement
    with pytest.raises(PlanError, match="a release of 'noise' holds answers and no records"):
        made.to_pandas()
    assert "answers only" in repr(made)


@pytest.mark.parametrize("text", ["marginals:2", CLAUSES])
def test_noisy_answers_are_evaluated(tmp_path: Path, text: str) -> None:
    made = run_release(dataset(), measured_job(NOISE, text=text), tmp_path / "out")
    for found in (evaluate(made, dataset()), evaluate(tmp_path / "out", dataset())):
        errors = np.abs(made.answers() - exact_answers(text))
        assert found.max_error == pytest.approx(errors.max())
        assert found.mean_error == pytest.approx(errors.mean())
    exact = run_release(dataset(), measured_job(NOISE, text=text), None, sources=noiseless())
    assert evaluate(exact, dataset()).max_error == pytest.approx(0, abs=1e-12)


def test_noisy_answers_are_shares_of_the_public_size() -> None:
    job = measured_job(NOISE, relation=ADD_REMOVE, size=400)
    made = run_release(dataset(), job, None, sources=scripted([100, -20, 800]))
    assert made.answers()[:3].tolist() == [0.25, -0.05, 2.0]


@pytest.mark.parametrize("algorithm", MEASURED)
@pytest.mark.parametrize(
    "sources",
    [
        Sources(noise=NoNoise(), words=SeededWords(1)),
        Sources(noise=NoNoise()),
        Sources(words=SeededWords(1)),
        Sources(noise=type("Claims", (NoNoise,), {"is_private": True})()),
        Sources(noise=type("Inherits", (OpendpNoise,), {})()),
    ],
)
def test_another_source_marks_ledger_and_folder_not_private(tmp_path: Path, algorithm: str, sources: Sources) -> None:
    made = run_release(dataset(), measured_job(algorithm), tmp_path / "out", sources=sources)
    assert not made.ledger.is_private
    assert made.statement["privacy"]["private"] is False
    assert made.statement["privacy"]["epsilon"] is None
    assert not replay(tmp_path / "out", tmp_path / "again").ledger.is_private
    assert differing_files(tmp_path / "out", tmp_path / "again") == []


@pytest.mark.parametrize("algorithm", FITTED)
def test_the_same_draws_give_the_same_release(algorithm: str) -> None:
    runs = [run_release(dataset(), measured_job(algorithm), None, sources=scripted([3, 9, 40], 5)) for _ in range(2)]
    assert runs[0].statement == runs[1].statement
    assert np.array_equal(runs[0].records.distinct, runs[1].records.distinct)
    assert np.array_equal(runs[0].records.multiplicity, runs[1].records.multiplicity)


def test_weighed_and_smoothed_records_obey_every_rule() -> None:
    for fit in (FitPlan(records=30, sweeps=1, columns=10), FitPlan(records=30, sweeps=1, snapshots=2, smoothing=9.0)):
        made = run_release(dataset(), measured_job(COUNTS, schema=RULED, fit=fit), None)
        assert obeys(RULED, made.records.distinct)


@pytest.mark.parametrize("algorithm", [COUNTS, SELECTED])
def test_rules_that_only_codes_outside_the_occurring_ones_obey_are_refused_before_anything_is_spent(
    tmp_path: Path, algorithm: str
) -> None:
    schema = Schema.from_json(
        {
            "dpopt_schema": 1,
            "draft": False,
            "attributes": [
                {"name": "a", "type": "categorical", "values": ["x", "y", "z"], "occurring": ["x", "y"]},
                {"name": "b", "type": "boolean"},
            ],
            "rules": [
                {"name": "one", "if": ["b", "=", True], "then": ["a", "=", "z"]},
                {"name": "two", "if": ["b", "=", False], "then": ["a", "=", "z"]},
            ],
        }
    )
    table = PrivateDataset.from_codes(schema, [np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64)])
    workload = parse_workload("marginals:1,occurring", schema)
    settings = Terms.of(**named(algorithm), epsilon=1.0, delta=1e-6)
    plan = plan_of(settings.request(50), workload)
    with pytest.raises(PlanError, match="codes that occur"):
        run_release(table, Job(plan, schema, workload, {}, {}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_plan_that_understates_a_sensitivity_is_refused_and_pays_for_nothing() -> None:
    """The curator computes it itself, and would give no values either."""
    job = measured_job(NOISE, text=CLAUSES)
    plan = MeasuredPlan.of(job.plan)
    check_sensitivities(plan, job.workload)
    (planned,) = plan.measurements
    assert planned.sensitivity > 1
    forged = replace(job, plan=exact_budget(replace(plan, measurements=(replace(planned, sensitivity=1),))))
    with pytest.raises(PlanError, match="states the sensitivity 1 of .workload."):
        run_release(dataset(), forged, None)
    ledger = forged.ledger(None)
    curator = MeasuringCurator(dataset(), ledger, MemoryJournal(), size=ROWS)
    with pytest.raises(BudgetError):
        curator.measure(Measurement("workload", workload(CLAUSES).queries, planned.scale, True))
    assert not ledger.entries


@pytest.mark.parametrize("algorithm", MEASURED)
def test_a_table_of_another_size_is_refused_before_anything_is_spent(tmp_path: Path, algorithm: str) -> None:
    with pytest.raises(PrivateDataError, match="has 150 records but the plan was made for n = 200"):
        run_release(dataset(150), measured_job(algorithm), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    made = run_release(dataset(150), measured_job(algorithm, relation=ADD_REMOVE), None)
    assert made.statement["privacy"]["public_size"] == ROWS


def line(entry: dict[str, Any]) -> str:
    """Return the line of an entry that may hold a number that is none, which the journal would not write."""
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","entry":{text}}}\n'


Entries = list[dict[str, Any]]


def of_kind(entries: Entries, kind: str, number: int = 0) -> dict[str, Any]:
    return [entry for entry in entries if entry["kind"] == kind][number]


def first_record(entries: Entries, code: int) -> None:
    of_kind(entries, "records")["records"][0] = [code] * 4


def other_record(entries: Entries) -> None:
    record = of_kind(entries, "records")["records"][0]
    record[0] = (record[0] + 1) % 3


def weight(entries: Entries) -> None:
    of_kind(entries, "records")["multiplicity"][0] += 3


def count(entries: Entries) -> None:
    of_kind(entries, "measurement", -1)["values"][0] += 5


def other_selection(entries: Entries) -> None:
    """Another candidate with as many cells, so that the measurement's length still fits."""
    chosen = of_kind(entries, "selection", 0)
    values = len(of_kind(entries, "measurement", 4)["values"])
    cells = workload().marginals.cells().tolist()  # type: ignore[union-attr]
    same = [number for number, size in enumerate(cells) if size == values and number != chosen["candidate"]]
    chosen["candidate"] = same[0] if same else 99


FORGERIES: dict[str, Callable[[Entries], object]] = {
    "another record": other_record,
    "a code that does not exist": lambda e: first_record(e, 9),
    "a negative code": lambda e: first_record(e, -1),
    "a record too wide": lambda e: of_kind(e, "records")["records"][0].append(0),
    "records that are none": lambda e: of_kind(e, "records").update(records="x"),
    "no records": lambda e: of_kind(e, "records").update(records=[], multiplicity=[]),
    "another weight": weight,
    "a weight of 0": lambda e: of_kind(e, "records")["multiplicity"].__setitem__(0, 0),
    "a negative weight": lambda e: of_kind(e, "records")["multiplicity"].__setitem__(0, -1),
    "half a weight": lambda e: of_kind(e, "records")["multiplicity"].__setitem__(0, "0.5"),
    "too few weights": lambda e: of_kind(e, "records")["multiplicity"].pop(),
    "a better objective": lambda e: of_kind(e, "records").update(objective=0.0),
    "an objective that is none": lambda e: of_kind(e, "records").update(objective=float("nan")),
    "no objective": lambda e: of_kind(e, "records").pop("objective"),
    "a bound in words": lambda e: of_kind(e, "records").update(lower_bound="high"),
    "a bound above the objective": lambda e: of_kind(e, "records").update(lower_bound=1e12),
    "another count": count,
    "a record left out": lambda e: e.remove(of_kind(e, "records")),
}
OF_SELECTIONS: dict[str, Callable[[Entries], object]] = {"another selection": other_selection}


def forged(folder: Path, target: Path, forgery: Callable[[Entries], object]) -> Path:
    """Return a copy of a release whose transcript was edited and has right checksums."""
    copy = shutil.copytree(folder, target)
    path = copy / "transcript.jsonl"
    entries: Entries = read_journal(path).entries
    before = json.dumps(entries)
    forgery(entries)
    assert json.dumps(entries) != before
    path.write_text("".join(map(line, entries)))
    return copy


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    for algorithm in MEASURED:
        folders[algorithm] = tmp_path_factory.mktemp(algorithm) / "release"
        run_release(dataset(), measured_job(algorithm), folders[algorithm])
    return folders


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [(COUNTS, name) for name in FORGERIES] + [(SELECTED, name) for name in (*FORGERIES, *OF_SELECTIONS)],
)
def test_a_forged_transcript_is_refused(finished: dict[str, Path], tmp_path: Path, algorithm: str, name: str) -> None:
    folder = forged(finished[algorithm], tmp_path / "one", {**FORGERIES, **OF_SELECTIONS}[name])
    with pytest.raises(DpoptError):
        replay(folder, tmp_path / "two")
    with pytest.raises(DpoptError):
        load(folder)
    assert not (tmp_path / "two" / "release.json").exists()


def test_a_changed_count_of_a_release_of_answers_shows_in_its_files(finished: dict[str, Path], tmp_path: Path) -> None:
    """Noisy counts are bound to nothing but the answers that are released with them, and the errors of means among these."""
    folder = forged(finished[NOISE], tmp_path / "one", count)
    replay(folder, tmp_path / "two")
    assert differing_files(folder, tmp_path / "two") == ["answers.csv", "release.json"]


@pytest.mark.parametrize("algorithm", MEASURED)
def test_a_changed_plan_is_refused(finished: dict[str, Path], tmp_path: Path, algorithm: str) -> None:
    plan = json.loads((finished[algorithm] / "plan.json").read_text())
    changes: list[dict[str, Any]] = [
        {"size": ROWS + 1},
        {"relation": "add-remove"},
        {"noise": "discrete Laplace"},
        {"measurements": plan["measurements"][:-1]},
        {"algorithm": "dualquery"},
        {"seed": 5},
        {"budget": {**plan["budget"], "epsilon": 0.001}},
    ]
    for number, change in enumerate(changes):
        folder = shutil.copytree(finished[algorithm], tmp_path / f"one{number}")
        (folder / "plan.json").write_text(json.dumps({**plan, **change}))
        with pytest.raises(DpoptError):
            replay(folder, tmp_path / "two")
        assert not (tmp_path / "two" / "release.json").exists()


def test_selections_are_measured_as_the_transcript_says(finished: dict[str, Path]) -> None:
    entries = read_journal(finished[SELECTED] / "transcript.jsonl").entries
    kinds = [entry["kind"] for entry in entries]
    assert kinds == ["reserve", *["charge", "measurement"] * 4, *["charge", "selection", "charge", "measurement"] * 3,
                     "records", "finish"]  # fmt: skip
    rounds = [entry["round"] for entry in entries if "round" in entry]
    assert rounds == [0] * 8 + [number for number in (1, 2, 3) for _ in range(4)]


def test_progress_names_the_marginals_that_were_selected(tmp_path: Path) -> None:
    reported = Heard()
    run_release(dataset(), measured_job(SELECTED), tmp_path / "out", progress=reported)
    entries = read_journal(tmp_path / "out" / "transcript.jsonl").entries
    pairs = [f"{one} x {two}" for one, two in combinations(SCHEMA.names, 2)]
    chosen = [pairs[entry["candidate"]] for entry in entries if entry["kind"] == "selection"]
    assert reported.steps[:3] == [(number, 3, what) for number, what in enumerate(chosen, start=1)]
    assert list(reported.seconds) == ["measuring", "fitting records", "writing records"]


def test_progress_counts_sweeps_and_rounds_of_column_generation(tmp_path: Path) -> None:
    reported = Heard()
    job = measured_job(COUNTS, fit=FitPlan(records=30, sweeps=2, columns=5))
    run_release(dataset(), job, tmp_path / "out", progress=reported)
    numbers = [number for number, _, _ in reported.steps]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 3 <= numbers[-1] <= 7
    assert {(steps, what.split(" ")[0]) for _, steps, what in reported.steps} == {(7, "objective")}


@pytest.mark.parametrize("algorithm", MEASURED)
@pytest.mark.parametrize("accountant", ["zcdp", "pure"])
def test_one_call_with_the_defaults_of_an_algorithm(tmp_path: Path, algorithm: str, accountant: str) -> None:
    fitted_records: dict[str, Any] = {} if algorithm == NOISE else {"records": 100}
    made: SyntheticRelease = release(
        write_table(tmp_path, rows=2000),  # far above the noise of their number
        SCHEMA,
        "marginals:2",
        out=tmp_path / "out",
        **named(algorithm),
        epsilon=2.0,
        delta=1e-9,
        accountant=accountant,
        predict=False,
        **fitted_records,
    )
    assert isinstance(made.job.plan, MeasuredPlan)
    assert made.statement["accuracy"]["predicted"] is None
    assert 1.98 < made.ledger.spent().epsilon <= 2
    assert made.ledger.entries[0].label == "number of records"
    assert made.job.plan.budget.accountant is Accountant(accountant)
    assert made.job.plan.relation is NeighbouringRelation.ADD_REMOVE

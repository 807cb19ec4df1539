"""Whole runs under rules: every record obeys, whatever the solver does; the owner alone hears of the table's own rows."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.fem.algorithm import FemAlgorithm
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.options import COUNTS, SELECTED
from dpopt.algorithms.release import release
from dpopt.algorithms.replay import differing_files, load, replay
from dpopt.algorithms.run_release import run_release
from dpopt.errors import RulesError, SolverUnavailableError, TranscriptError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.programs import Capability, Termination
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Sources, rebuild_so_far, reservation
from dpopt.schema import Rule, at_most, equivalent, implies, literal
from dpopt.schema.schema import Schema
from dpopt.solvers import registry
from dpopt.transcript.journal import read_journal
from dpopt.transcript.past import Past
from tests.algorithms.measured_runs import CLAUSES, FIT, MEASURED, measured_job
from tests.algorithms.small_runs import AMPLE, REPLACE, ROWS, SCHEMA, Heard, codes, dataset, job, seeded, write_table
from tests.algorithms.small_runs import plan as plan_of_dualquery
from tests.algorithms.test_dualquery import Answer, Fake, codes_of, result
from tests.noises import NoNoise

TAKES_RULES = frozenset({Capability.MAX_CSP, Capability.PRESOLVES, Capability.RULES})
RULES = (
    Rule(implies(literal("colour", "=", "red"), literal("town", "=", "north")), "red lives in the north"),
    Rule(equivalent(literal("age", "<", 20), literal("smoker", "=", False)), "nobody below 20 smokes, all others do"),
    Rule(
        at_most(1, [literal("colour", "=", "red"), literal("smoker", "=", True), literal("town", "is", "missing")]),
        "at most one of three",
    ),
)
RULED = Schema(SCHEMA.attributes, rules=RULES)
CONTRADICTING = Schema(
    SCHEMA.attributes,
    rules=(*RULES, Rule(literal("colour", "=", "red"), "all red"), Rule(literal("town", "=", "south"), "all south")),
)


def released(schema: Schema = RULED, **changes: Any) -> Any:
    return run_release(dataset(), job(schema=schema, **changes), None, sources=Sources(sampler=seeded()))


def standing_in(monkeypatch: pytest.MonkeyPatch, answer: Answer, name: str = "cp-sat") -> Fake:
    """Return a solver that takes rules and answers so, in place of the registered one of that name."""
    fake, usual = Fake(answer, capabilities=TAKES_RULES), registry.get_solver
    monkeypatch.setattr(registry, "get_solver", lambda asked: fake if asked == name else usual(asked))
    return fake


def obeys(schema: Schema, records: Any) -> bool:
    return not schema.circuit().broken(np.asarray(records, dtype=np.int32)).any()


LIES: dict[str, Answer] = {
    "breaks a rule": lambda program, number: result(np.array([0, 0, 1, 1], dtype=np.int32)),
    "breaks down": lambda program, number: result(None, termination=Termination.FAILED),
    "gives nothing": lambda program, number: None,
}


def test_a_solver_without_rules_is_refused_before_spending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simple = standing_in(monkeypatch, codes_of(0))
    simple.capabilities -= {Capability.RULES}
    with pytest.raises(SolverUnavailableError, match="takes no rules"):
        run_release(dataset(), job(schema=RULED, solver="cp-sat"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert simple.limits == []


def test_the_owner_hears_which_rows_break_a_rule_and_the_release_does_not(tmp_path: Path) -> None:
    table, out, reported = write_table(tmp_path), tmp_path / "out", Heard()
    asked: dict[str, Any] = {"algorithm": "dualquery", "rho": 0.05, "neighbours": "replace", "predict": False}
    release(table, RULED, "marginals:2", out=out, progress=reported, **asked)
    (note,) = reported.for_the_owner
    broken = RULED.circuit().broken(codes())
    assert f"{int(broken.any(axis=1).sum())} of {ROWS} rows" in note
    assert f"{int(broken[:, 1].sum())} rows break 'nobody below 20 smokes, all others do'" in note
    assert not any("rows break" in note or "rows of the table" in note for note in reported.notes)
    texts = [path.read_text(encoding="utf-8") for path in out.iterdir()]
    assert not any("rows break" in text or "rows of the table" in text for text in texts)


def test_a_table_that_obeys_is_not_worth_a_word(tmp_path: Path) -> None:
    schema = Schema(SCHEMA.attributes, rules=(Rule(literal("age", ">=", 0), "age is not negative"),))
    reported, asked = Heard(), {"epsilon": 1.0, "delta": 1e-6, "n0": 200, "predict": False}
    release(write_table(tmp_path), schema, "marginals:2", progress=reported, **asked)  # type: ignore[arg-type]
    assert reported.for_the_owner == []


def test_a_record_on_file_that_breaks_a_rule_is_noticed(tmp_path: Path) -> None:
    run_release(dataset(), job(schema=SCHEMA), tmp_path / "out")  # without rules
    assert load(tmp_path / "out").played
    file = tmp_path / "out" / "schema.json"
    declared = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**declared, "rules": RULED.to_json()["rules"]}), encoding="utf-8")
    with pytest.raises((TranscriptError, ValueError)):
        load(tmp_path / "out")


def test_the_first_round_starts_from_a_feasible_record(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = standing_in(monkeypatch, lambda program, number: None)
    done = released(solver="cp-sat")
    hints = [hint for hint in watcher.hints if hint is not None]
    assert len(hints) == len(done.played)
    assert obeys(RULED, np.stack(hints))


PLAYED = ("dualquery", "fem")
FITTED = (COUNTS, SELECTED)
ROUNDS, EACH = 8, 6


def job_of(
    algorithm: str,
    *,
    schema: Schema = RULED,
    text: str = "marginals:2",
    solver: str = "local-search",
    free: FreeAttributes = FreeAttributes.FIRST,
) -> Job:
    """Return the public inputs of a small run of an algorithm under rules."""
    if algorithm in MEASURED:
        return measured_job(algorithm, schema=schema, text=text)
    plan: FemPlan | DualQueryPlan
    if algorithm == "dualquery":
        plan = plan_of_dualquery(rounds=ROUNDS, draws=EACH, solver=solver, free_attributes=free)
    else:
        own: dict[str, Any] = {"selection_range": Decimal("0.5"), "scale": 1.0, "kept_from": 1, "work": 20}
        usual: dict[str, Any] = {"size": ROWS, "relation": REPLACE, "budget": AMPLE, "solver": solver}
        plan = FemPlan(algorithm=algorithm, rounds=ROUNDS, records=EACH, **own, **usual)
    return Job(plan, schema, parse_workload(text, schema), {}, {})


@pytest.mark.parametrize("text", ["marginals:2", CLAUSES, "parity:2,count=6,seed=1"])
@pytest.mark.parametrize("algorithm", [*PLAYED, *FITTED])
def test_every_record_of_every_algorithm_obeys_every_rule(algorithm: str, text: str, tmp_path: Path) -> None:
    """Of a table that breaks them; the first batch of FEM as well; and again when the release is replayed."""
    assert not obeys(RULED, codes())  # else the test shows nothing
    if algorithm == SELECTED and "marginals" not in text:
        text = "marginals:3"
    made = run_release(dataset(), job_of(algorithm, text=text), tmp_path / "out")
    assert obeys(RULED, made.records.distinct)
    rounds, number = len(made.played), int(made.records.multiplicity.sum())
    assert (rounds, number) == {
        "dualquery": (ROUNDS, ROUNDS),
        "fem": (0, (ROUNDS + 1) * EACH),
        **dict.fromkeys(FITTED, (0, FIT.records)),
    }[algorithm]
    records = made.statement["records"]
    checked = rounds or len(made.records.distinct)  # DualQuery counts its rounds
    assert records["records_that_obey_the_rules"] == checked
    assert records["rules"] == [rule.name for rule in RULES]
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []


@pytest.mark.parametrize("algorithm", PLAYED)
def test_without_the_rules_the_same_runs_break_them(algorithm: str) -> None:
    drawn = Sources(sampler=seeded(), noise=NoNoise(), words=SeededWords(1))  # other draws could obey by chance
    made = run_release(dataset(), job_of(algorithm, schema=SCHEMA), None, sources=drawn)
    assert not obeys(RULED, made.records.distinct)


@pytest.mark.parametrize("solver", ["local-search", "cp-sat", "highs"])
@pytest.mark.parametrize(
    ("algorithm", "free"), [(name, rule) for name in PLAYED for rule in (FreeAttributes.FIRST, FreeAttributes.RANDOM)]
)
def test_records_of_every_solver_and_rule_for_free_attributes_obey_every_rule(
    algorithm: str, free: FreeAttributes, solver: str
) -> None:
    made = run_release(dataset(), job_of(algorithm, solver=solver, free=free), None)
    assert obeys(RULED, made.records.distinct)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("algorithm", PLAYED)
def test_a_lying_solver_costs_quality_and_no_rule(algorithm: str, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    standing_in(monkeypatch, LIES[lie])
    made = run_release(dataset(), job_of(algorithm, solver="cp-sat"), None)
    assert obeys(RULED, made.records.distinct)
    assert all(one.fallback is not None for one in made.played)
    if algorithm == "fem":
        assert made.statement["batches"]["fallbacks"] == (ROUNDS + 1) * EACH


def test_where_every_search_fails_a_batch_of_fem_still_obeys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its records are the starts of the searches, which are feasible."""
    failing = Fake(LIES["breaks down"], capabilities=TAKES_RULES)
    monkeypatch.setattr(registry, "get_solver", lambda name: failing)
    made = run_release(dataset(), job_of("fem", solver="cp-sat"), None)
    assert made.statement["batches"]["fallbacks"] == (ROUNDS + 1) * EACH
    assert obeys(RULED, made.records.distinct)


@pytest.mark.parametrize("algorithm", [*PLAYED, *MEASURED])
def test_rules_that_contradict_are_refused_by_every_algorithm(algorithm: str, tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="'red lives in the north'; 'all red'; 'all south'"):
        run_release(dataset(), job_of(algorithm, schema=CONTRADICTING), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_batch_on_file_that_breaks_a_rule_is_noticed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_release(dataset(), job_of("fem", schema=SCHEMA), out)  # without rules
    contents = read_journal(out / "transcript.jsonl")
    ruled, plain = job_of("fem"), job_of("fem", schema=SCHEMA)
    assert rebuild_so_far(FemAlgorithm(), plain, Past(contents)).ended
    contents.entries[0] = reservation(ruled)
    with pytest.raises(TranscriptError, match="breaks the rule"):
        rebuild_so_far(FemAlgorithm(), ruled, Past(contents))

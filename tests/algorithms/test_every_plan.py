"""The plan of every algorithm on file: read back as it was, and refused where a field is missing or of another kind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpopt.algorithms.registry import options_named, read_plan
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.replay import replay
from dpopt.errors import DpoptError, PlanError
from tests.algorithms.small_runs import SCHEMA, write_table
from tests.tiny_jobs import JOBS

every_plan = pytest.mark.parametrize("name", JOBS)
Place = tuple[str | int, ...]


def written(name: str) -> dict[str, Any]:
    """Return the JSON of a plan, as it comes back from its text."""
    found: dict[str, Any] = json.loads(json.dumps(JOBS[name]().plan.to_json()))
    return found


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value within a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*place, key)
        yield from places(part, (*place, key))


def at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def refused(name: str, place: Place, wrong: object) -> bool:
    """Tell whether a plan with another value at this place is refused."""
    plan = written(name)
    at(plan, place[:-1])[place[-1]] = wrong
    try:
        read_plan(plan)
    except DpoptError:
        return True
    return False


@every_plan
def test_a_plan_is_read_back_as_it_was(name: str) -> None:
    plan = JOBS[name]().plan
    again = read_plan(written(name))
    assert again == plan
    assert again.to_json() == plan.to_json()


@every_plan
def test_no_field_may_be_missing_or_unknown(name: str) -> None:
    for place in [(), *places(written(name))]:
        whole = written(name)
        inner = at(whole, place)
        if place and isinstance(place[-1], str):
            del at(whole, place[:-1])[place[-1]]
            with pytest.raises(DpoptError):
                read_plan(whole)
        if isinstance(inner, dict):
            whole = written(name)
            at(whole, place)["magic"] = 1
            with pytest.raises(DpoptError):
                read_plan(whole)


@every_plan
def test_no_field_may_be_of_another_kind(name: str) -> None:
    """An object in place of any value, words in place of a number, and so on."""
    for place in places(written(name)):
        value = at(written(name), place)
        assert refused(name, place, {"magic": 1}), place
        if isinstance(value, int | float) or str(value)[:1].isdigit():
            assert refused(name, place, "much"), place
        if isinstance(value, int) and not isinstance(value, bool):
            assert refused(name, place, 1.5), place
        if isinstance(value, list):
            assert refused(name, place, "01"), place


@every_plan
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dpopt_plan": 99}, "dpopt_plan"),
        ({"algorithm": "magic"}, "for algorithm 'magic'; this dpopt reads plans of .*dualquery"),
        ({"algorithm": ["noise"]}, "for algorithm"),
        ({"relation": "cousins"}, "plan.json at"),
        ({"budget": None}, "plan.json at"),
        ({"budget": {"epsilon": 1}}, "plan.json at"),
        ({"size": 0}, "public size"),
        ({"size": -1}, "public size"),
    ],
)
def test_what_every_plan_says_is_checked(name: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        read_plan({**written(name), **change})


@pytest.mark.parametrize(
    ("option", "removed", "instead"),
    [
        ("algorithm", "dqrs", "dualquery"),
        ("algorithm", "sepfem", "fem"),
        ("accountant", "theorem", "zcdp"),
        ("accountant", "per-round", "zcdp"),
    ],
)
def test_a_release_of_a_removed_choice_is_refused_with_what_reads_it(
    tmp_path: Path, option: str, removed: str, instead: str
) -> None:
    """Its plan, whole folder and interrupted run, and its name in a new request; nothing is written."""
    table = write_table(tmp_path)
    algorithm = instead if option == "algorithm" else "dualquery"
    asked: dict[str, Any] = {"algorithm": algorithm, "epsilon": 9.0, "delta": 1e-6}
    release(table, SCHEMA, "marginals:2", rounds=2, predict=False, n0=4, out=tmp_path / "old", **asked)
    plan = json.loads((tmp_path / "old" / "plan.json").read_text())
    (plan if option == "algorithm" else plan["budget"])[option] = removed
    (tmp_path / "old" / "plan.json").write_text(json.dumps(plan))
    shutil.copytree(tmp_path / "old", tmp_path / "torn")
    (tmp_path / "torn" / "release.json").unlink()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    whole: dict[str, Callable[[], object]] = {
        "plan": lambda: read_plan(plan),
        "folder": lambda: read_job(tmp_path / "old"),
        "replay": lambda: replay(tmp_path / "old", tmp_path / "again"),
        "resume": lambda: resume(tmp_path / "torn", table),
        "request": lambda: release(table, SCHEMA, "marginals:2", **{**asked, option: removed}),
    }
    for call in whole.values():
        with pytest.raises(PlanError, match=f"{removed}.* removed.* use {instead}.*stays as it is.*0.1.0"):
            call()
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


REMOVED_VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "hoeffding": ({"update": "hoeffding"}, "update 'hoeffding'.* removed.* use paper"),
    "exact projections": ({"update": "projection"}, "update 'projection'.* removed.* use max-entropy"),
    "a slack of the theorem": ({"slack": 4.25}, "slack 4.25.* removed.* use pmw"),
}


@pytest.mark.parametrize("case", REMOVED_VALUES)
def test_a_plan_with_a_removed_value_is_refused_with_what_reads_it(case: str) -> None:
    change, message = REMOVED_VALUES[case]
    plan = written("mwem, queries")
    with pytest.raises(PlanError, match=f"{message}.*stays as it is.*0.1.0"):
        read_plan({**plan, "learning": {**plan["learning"], **change}})


def test_a_plan_of_records_as_bits_is_refused_with_what_reads_it() -> None:
    plan = written("dualquery")
    assert plan["encoding"] == "records"  # written as before: the digest of older folders holds it
    with pytest.raises(PlanError, match="encoding 'bits'.* removed.* use records .*stays as it is.*0.1.0"):
        read_plan({**plan, "encoding": "bits"})


@pytest.mark.parametrize("update", ["hoeffding", "projection"])
def test_a_request_for_a_removed_update_is_refused_with_what_to_use(update: str) -> None:
    with pytest.raises(PlanError, match=f"update '{update}'.* removed.* use "):
        options_named("pmw", {"update": update})


@every_plan
def test_the_plan_of_one_algorithm_is_not_that_of_another(name: str) -> None:
    plan = written(name)
    other = "fem" if plan["algorithm"] != "fem" else "smalldb"
    with pytest.raises(PlanError):
        read_plan({**plan, "algorithm": other})

"""A release is a function of its plan and transcript: replayed without table and solver it comes out byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import OneWayMeasurement
from dpopt.algorithms.replay import load, replay
from dpopt.algorithms.run_release import run_release
from dpopt.errors import DpoptError, ReleaseFolderError, TranscriptError
from dpopt.files.codec import encode
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.measured_runs import MEASURED, measured_job
from tests.algorithms.small_runs import dataset, plan

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.CATEGORICAL, ("x", "y, \u00e9", "z"), missing="?"),
        Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.5, 30.0), missing=""),
        Attribute("d", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0), integer=True),
    )
)
WORKLOAD = parse_workload("marginals:2,count=3,seed=5", SCHEMA)
FILES = {"README.txt", "plan.json", "schema.json", "workload.json", "transcript.jsonl", "release.json"}


def make_release(
    folder: Path,
    *,
    rule: FreeAttributes = FreeAttributes.FIRST,
    file_format: str = "csv",
    rows: int | None = None,
    relation: NeighbouringRelation = NeighbouringRelation.REPLACE_ONE,
) -> Path:
    generator = np.random.default_rng(8)
    columns = [generator.integers(0, int(size), 30) for size in SCHEMA.sizes]
    estimated = rule is FreeAttributes.ESTIMATED
    free = {"free_attributes": rule, "one_way": OneWayMeasurement(4.5, gaussian=True) if estimated else None}
    made = plan(draws=3, step=Decimal("0.7"), size=30, relation=relation, work=20, seed=3, **free)
    job = Job(made, SCHEMA, WORKLOAD, {"format": file_format, "rows": rows}, {"versions": {"dpopt": "test"}})
    run_release(PrivateDataset.from_codes(SCHEMA, columns), job, folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_release(tmp_path_factory.mktemp("finished") / "release")


@pytest.mark.parametrize("rows", [None, 50])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_release_is_rebuilt_byte_for_byte(tmp_path: Path, file_format: str, rows: int | None) -> None:
    folder = make_release(tmp_path / "one", file_format=file_format, rows=rows)
    before = contents(folder)
    replay(folder, tmp_path / "two")
    assert contents(tmp_path / "two") == before
    assert set(before) == FILES | {f"synthetic.{file_format}"}
    assert contents(folder) == before


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("rule", [FreeAttributes.RANDOM, FreeAttributes.ESTIMATED])
def test_free_attributes_are_rebuilt_byte_for_byte(
    tmp_path: Path, rule: FreeAttributes, relation: NeighbouringRelation
) -> None:
    folder = make_release(tmp_path / "one", rule=rule, relation=relation)
    replay(folder, tmp_path / "two")
    assert contents(tmp_path / "two") == contents(folder)


def test_a_replay_can_be_replayed(finished: Path, tmp_path: Path) -> None:
    replay(finished, tmp_path / "two")
    replay(tmp_path / "two", tmp_path / "three")
    assert contents(tmp_path / "three") == contents(finished)


def test_the_values_of_a_loaded_release_are_those_of_the_run(finished: Path) -> None:
    made = load(finished)
    assert len(made.played) == 6
    assert made.ledger.is_private
    assert [charge.label for charge in made.ledger.entries] == [f"round {t}" for t in range(1, 7)]
    assert made.answers().shape == (len(WORKLOAD),)
    assert np.all((made.answers() >= 0) & (made.answers() <= 1))


REPLAY_ALONE = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"ortools", "pulp", "highspy", "cvxpy", "opendp", "pandas"} or name == "scipy.optimize":
            raise ImportError(f"{name} is absent here")

sys.meta_path.insert(0, Blocked())
from dpopt.algorithms.replay import replay
from dpopt.private.tables.dataset import PrivateDataset

def absent(*_, **__):
    raise AssertionError("a table, a solver or a fit was asked for")

PrivateDataset.from_codes = absent
played, measured = sys.argv[1].split(), sys.argv[2].split()
for name in played:
    replay(Path(name), Path(name + " again"))
assert not [name for name in sys.modules if name.startswith("dpopt.solvers.")]
from dpopt.algorithms.measured import fitting
from dpopt.solvers import registry
registry.get_solver = fitting.fit = absent
for name in measured:
    replay(Path(name), Path(name + " again"))
"""


def test_a_replay_needs_no_solver_no_fit_and_no_table(tmp_path: Path) -> None:
    """In a process of its own, in which the solvers' libraries and OpenDP cannot be imported."""
    for file_format in ("csv", "parquet"):
        make_release(tmp_path / file_format, file_format=file_format)
    for algorithm in MEASURED:
        run_release(dataset(), measured_job(algorithm), tmp_path / algorithm)
    done = subprocess.run(
        [sys.executable, "-c", REPLAY_ALONE, "csv parquet", " ".join(MEASURED)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("csv", "parquet", *MEASURED):
        assert contents(tmp_path / f"{name} again") == contents(tmp_path / name)


def test_a_replay_needs_a_new_folder(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "kept").write_text("x")
    with pytest.raises(ReleaseFolderError, match="is not empty"):
        replay(finished, tmp_path / "two")
    assert (tmp_path / "two" / "kept").read_text() == "x"


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="is not a release folder"):
        replay(tmp_path, tmp_path / "two")


@pytest.mark.parametrize("keep", [0, 1, 5, 18])
def test_a_run_that_has_not_ended_is_refused(finished: Path, tmp_path: Path, keep: int) -> None:
    folder = shutil.copytree(finished, tmp_path / "one")
    lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "transcript.jsonl").write_bytes(b"".join(lines[:keep]))
    with pytest.raises(TranscriptError, match="has not ended"):
        replay(folder, tmp_path / "two")


def test_a_changed_byte_of_the_transcript_is_refused(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "one")
    data = (folder / "transcript.jsonl").read_bytes()
    for position in range(0, len(data), 97):
        changed = bytearray(data)
        changed[position] ^= 2
        (folder / "transcript.jsonl").write_bytes(changed)
        with pytest.raises(TranscriptError):
            load(folder)


Entries = list[dict[str, Any]]
Forgery = Callable[[Entries], object]


def line(entry: dict[str, Any]) -> str:
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","entry":{text}}}\n'


def of_kind(entries: Entries, kind: str, number: int = 2) -> dict[str, Any]:
    return next(entry for entry in entries if entry["kind"] == kind and entry["round"] == number)


def another_value(entries: Entries) -> None:
    """Another value of an attribute that the drawn queries name."""
    for entry in [entry for entry in entries if entry["kind"] == "record"]:
        named = WORKLOAD.clauses.attributes[of_kind(entries, "draw", entry["round"])["queries"]]
        for attribute in np.unique(named[named >= 0]).tolist():
            record = list(entry["record"])
            for code in range(int(SCHEMA.sizes[attribute])):
                record[attribute] = code
                drawn = of_kind(entries, "draw", entry["round"])
                value = sum(
                    count * int(all(record[a] == v for a, v in zip(attributes, values, strict=True)))
                    for count, attributes, values in zip(
                        drawn["counts"],
                        WORKLOAD.clauses.attributes[drawn["queries"]].tolist(),
                        WORKLOAD.clauses.values[drawn["queries"]].tolist(),
                        strict=True,
                    )
                )
                if value != entry["objective"]:
                    entry["record"] = record
                    return
    raise AssertionError("no record could be changed")


FORGERIES: dict[str, Forgery] = {
    "another record": another_value,
    "another objective": lambda e: of_kind(e, "record").update(objective=99),
    "a code that does not exist": lambda e: of_kind(e, "record").update(record=[7, 0, 0, 0]),
    "a negative code": lambda e: of_kind(e, "record").update(record=[-1, 0, 0, 0]),
    "a record with too few codes": lambda e: of_kind(e, "record").update(record=[0, 0, 0]),
    "a record that is none": lambda e: of_kind(e, "record").update(record="x"),
    "a record without a record": lambda e: of_kind(e, "record").pop("record"),
    "a bound that is none": lambda e: of_kind(e, "record").update(bound="high"),
    "a query that does not exist": lambda e: of_kind(e, "draw").update(queries=[10**6], counts=[1]),
    "queries out of order": lambda e: of_kind(e, "draw").update(queries=[2, 1], counts=[1, 1]),
    "a net count of zero": lambda e: of_kind(e, "draw").update(queries=[1], counts=[0]),
    "broken counts": lambda e: of_kind(e, "draw").update(queries=[1], counts=[0.5]),
    "more draws than were paid for": lambda e: of_kind(e, "draw").update(queries=[1], counts=[400]),
    "a cheaper charge": lambda e: of_kind(e, "charge")["charge"].update(parameter=1e-9),
    "a charge for fewer draws": lambda e: of_kind(e, "charge")["charge"].update(count=1),
    "a charge of another relation": lambda e: of_kind(e, "charge")["charge"].update(relation="add-remove"),
    "the charge of another round": lambda e: of_kind(e, "charge").update(charge=of_kind(e, "charge", 3)["charge"]),
    "a cheaper reservation": lambda e: e[0]["charges"].pop(),
    "no reservation": lambda e: e.pop(0),
    "two reservations": lambda e: e.insert(0, e[0]),
    "a draw left out": lambda e: e.remove(of_kind(e, "draw")),
    "a record left out": lambda e: e.remove(of_kind(e, "record")),
    "a charge left out": lambda e: e.remove(of_kind(e, "charge")),
    "a second draw for one charge": lambda e: e.insert(2, of_kind(e, "draw", 1)),
    "a torn draw that is made again without a second charge": lambda e: e.insert(5, {"kind": "torn"}),
    "a repetition without a torn draw": lambda e: e.insert(5, {**of_kind(e, "charge"), "given_up": 6}),
    "a round of another number": lambda e: of_kind(e, "draw").update(round=5),
    "a round that comes twice": lambda e: e.__setitem__(slice(7, 7), e[4:7]),
    "entries after the end": lambda e: e.append(of_kind(e, "charge", 6)),
    "an entry of an unknown kind": lambda e: e.insert(3, {"kind": "surprise"}),
    "an entry without a kind": lambda e: e.insert(3, {}),
    "the last rounds left out": lambda e: e.__delitem__(slice(-4, -1)),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_transcript_is_refused(finished: Path, tmp_path: Path, name: str) -> None:
    """Forged with a right checksum: what contradicts the plan or itself is noticed all the same."""
    folder = shutil.copytree(finished, tmp_path / "one")
    path = folder / "transcript.jsonl"
    entries: Entries = [json.loads(text)["entry"] for text in path.read_text().splitlines()]
    FORGERIES[name](entries)
    path.write_text("".join(line(entry) for entry in entries))
    with pytest.raises(DpoptError):
        replay(folder, tmp_path / "two")
    with pytest.raises(DpoptError):
        load(folder)
    assert not (tmp_path / "two" / "release.json").exists()


ABSENT = object()
CHANGED: dict[str, tuple[object, ...]] = {
    "rounds": (5, 7, "many", ABSENT),
    "step": ("0.6", "x", ABSENT),
    "relation": ("add-remove", "cousins"),
    "budget": (encode(Budget(0.001, 1e-6, None, Accountant.ZCDP)), None, ABSENT),
    "draws": (2,),
    "size": (31,),
    "seed": (ABSENT,),
    "encoding": ("bits", ABSENT),
    "free_attributes": ("estimated",),
}
CHANGES = [{key: value} for key, values in CHANGED.items() for value in values]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_plan_is_refused(finished: Path, tmp_path: Path, change: dict[str, object]) -> None:
    folder = shutil.copytree(finished, tmp_path / "one")
    plan = {**json.loads((folder / "plan.json").read_text()), **change}
    kept = {key: value for key, value in plan.items() if value is not ABSENT}
    (folder / "plan.json").write_text(json.dumps(kept))
    with pytest.raises(DpoptError):
        replay(folder, tmp_path / "two")
    assert not (tmp_path / "two" / "release.json").exists()


def test_another_workload_is_refused(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "one")
    other = parse_workload("marginals:2,count=2,seed=9", SCHEMA)
    (folder / "workload.json").write_text(json.dumps(other.to_json()))
    with pytest.raises(DpoptError):
        replay(folder, tmp_path / "two")


@pytest.mark.parametrize("name", ["plan.json", "schema.json", "workload.json", "transcript.jsonl"])
def test_a_missing_or_broken_file_is_refused(finished: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(finished, tmp_path / "one")
    for text in ("{", "[]", "null\n"):
        (folder / name).write_text(text)
        with pytest.raises(DpoptError):
            load(folder)
    (folder / name).unlink()
    with pytest.raises(DpoptError):
        load(folder)

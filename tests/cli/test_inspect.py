"""`dpopt inspect` reads every file and folder that dpopt writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from tests.cli.command_line import flat, refuse, succeed

ROWS = 400
TABLE = pd.DataFrame({"age": [10, 30, 50, 70] * (ROWS // 4), "smoker": [True, False] * (ROWS // 2)})
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80), integer=True),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
    )
)
SMALL = ("--workload", "marginals:1", "--algorithm", "dualquery", "--rounds", 4, "--draws", 9, "--no-predict")
PAID = ("--epsilon", 5, "--n0", ROWS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one of every kind into a folder."""
    folder = tmp_path_factory.mktemp("made")

    def run(*arguments: object) -> None:
        succeed(*arguments)

    table, schema = folder / "people.csv", folder / "schema.json"
    TABLE.to_csv(table, index=False)
    SCHEMA.write(schema)
    read = (table, "--schema", schema)
    column = ("--column", "age", "--epsilon", 5, "-o")
    run("plan", "--schema", schema, *SMALL, *PAID, "-o", folder / "asked.json")
    run("budget", "create", folder / "all.budget", "--epsilon", 50, "--delta", 1e-6)
    logs = ("--log", folder / "run.log", "--timings", folder / "seconds.json", "--budget", folder / "all.budget")
    run("release", *read, *SMALL, *PAID, *logs, "-o", folder / "release")
    run("release", *read, "--workload", "marginals:1", "--algorithm", "noise", *PAID, "-o", folder / "answers")
    run("certify", folder / "release", "-o", folder / "bounds.json")
    run("reweight", folder / "release", "-o", folder / "weights")
    run("report", folder / "release", "-o", folder / "page.html")
    run("histogram release", *read, *column, folder / "histogram.npz")
    run("grid release", *read, "--columns", "age,smoker", "--epsilon", 5, "-o", folder / "grid.npz")
    run("intervals release", *read, "--columns", "age", *PAID, "-o", folder / "intervals.npz")
    run("summary release", *read, "--k", 1, *PAID, "-o", folder / "summary.npz")
    steps = ("--column", "age", "--steps", 2, "--rho", 1, "-o")
    run("prefixes release", *read, *steps, folder / "steps.jsonl")
    for ending in ("lp", "mps", "pbtxt"):
        played = ("--release", folder / "release", "--round", 1, "--formulation", "aggregated")
        run("model export", "best_response", *played, "-o", folder / f"model.{ending}")
    return folder


KINDS = {
    "schema.json": "schema",
    "asked.json": "what a release was asked for",
    "all.budget": "budget over many releases",
    "run.log": "log of a run",
    "seconds.json": "seconds of the stages",
    "release": "release folder",
    "answers": "release folder",
    "release/plan.json": "plan of a release folder",
    "release/schema.json": "schema",
    "release/workload.json": "workload",
    "release/release.json": "statement of a release folder",
    "release/transcript.jsonl": "transcript of a run",
    "release/synthetic.csv": "synthetic.csv of a release folder",
    "release/README.txt": "README.txt of a release folder",
    "bounds.json": "bounds of the rounds",
    "weights": "folder",
    "weights/reweighting.json": "weights of the records",
    "page.html": "page for people",
    "histogram.npz": "histogram",
    "grid.npz": "histogram of several columns",
    "intervals.npz": "intervals",
    "summary.npz": "summary",
    "steps.jsonl": "prefixes that grow",
    "model.lp": "optimization model (LP file)",
    "model.mps": "optimization model (MPS file)",
    "model.pbtxt": "optimization model (CP-SAT)",
}
PAID_FOR = ("release", "answers", "histogram.npz", "grid.npz", "intervals.npz", "summary.npz", "steps.jsonl")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_told(name: str, made: Path) -> None:
    shown = flat(succeed("inspect", made / name))
    told: dict[str, Any] = json.loads(succeed("inspect", made / name, "--json"))
    assert KINDS[name] in told["holds"]
    assert told["holds"] in shown
    assert told["says"][0]
    assert ("privacy" in told) == ("spent: epsilon" in shown)
    assert "privacy" in told or name not in PAID_FOR


def test_a_folder_of_many_lists_them_all(made: Path) -> None:
    shown = succeed("inspect", made)
    for name in KINDS:
        if "/" not in name:
            assert f"{name}: " in shown
    assert "people.csv" not in shown


def test_a_run_that_has_not_ended_says_how_to_go_on(made: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    for name in ("plan.json", "schema.json", "workload.json"):
        (begun / name).write_bytes((made / "release" / name).read_bytes())
    lines = (made / "release" / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    (begun / "transcript.jsonl").write_bytes(b"".join(lines[:2]))
    shown = flat(succeed("inspect", begun))
    assert "a run that has not ended" in shown
    assert "dpopt resume" in shown
    assert "2 entries" in succeed("inspect", begun / "transcript.jsonl")


@pytest.mark.parametrize("name", ["release/release.json", "asked.json", "all.budget", "histogram.npz", "steps.jsonl"])
def test_a_damaged_one_is_refused_in_one_line(name: str, made: Path, tmp_path: Path) -> None:
    damaged = tmp_path / Path(name).name
    damaged.write_bytes((made / name).read_bytes()[:60])
    assert "damaged" in flat(refuse("inspect", damaged))


def test_what_dpopt_did_not_write_is_refused(made: Path, tmp_path: Path) -> None:
    assert "dpopt cannot say what" in flat(refuse("inspect", made / "people.csv"))
    assert "holds nothing that dpopt wrote" in flat(refuse("inspect", tmp_path))
    assert "cannot read" in flat(refuse("inspect", tmp_path / "none"))

"""The extensions that pages show, a solver, a model, an algorithm and a synopsis, work; what others may do wrong is refused."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpopt
from dpopt.cli.model_source import BEST_RESPONSES
from dpopt.models.catalogue import CATALOGUE, CatalogueEntry
from dpopt.solvers.registry import _named
from tests.cli.command_line import refuse, succeed
from tests.repository.test_documents import blocks
from tests.source_code import ROOT, copy_kernels

HOW_TO = ROOT / "docs" / "how-to"
PAGE = "\n".join((HOW_TO / page).read_text(encoding="utf-8") for page in ("add-a-model.md", "add-a-solver.md"))
INSTANCE = "models/best_response/instances/worked-example.toml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package whose files the page shows, each under a comment with its path."""
    folder = tmp_path_factory.mktemp("dpopt-extension")
    for block in blocks(PAGE):
        first, _, _ = block.text.partition("\n")
        if first.startswith("# ") and "." in first:
            path = folder / first.removeprefix("# ")
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    assert len([*folder.rglob("*.*")]) == 3
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def installed(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the wheel in a folder of this process's path, and go where the page's commands find their files."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    (tmp_path / INSTANCE).parent.mkdir(parents=True)
    (tmp_path / INSTANCE).write_bytes((ROOT / INSTANCE).read_bytes())
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    _named.cache_clear()
    yield site
    _named.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "dpopt_extension"]:
        del sys.modules[name]


def register(site: Path, group: str, **points: str) -> None:
    """Register entry points as an installed package does."""
    folder = site / "other-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")


def test_every_command_of_the_page_runs(installed: Path) -> None:
    shown = PAGE.partition("## Use both by name")[2]
    commands = [line.removeprefix("$ dpopt ").split() for line in shown.splitlines() if line.startswith("$ dpopt ")]
    printed = {" ".join(command[:2]): succeed(*command) for command in commands}
    assert len(commands) == 8
    assert "milp" in printed["compare --model"]
    assert "milp" in printed["solvers"]
    assert "fair_shares" in printed["model list"]
    assert "FS-2.below[1]: x[1] + E >= 30" in printed["model show"]
    assert "milp" in printed[f"compare {INSTANCE}"]
    assert (Path("shares.lp")).stat().st_size > 0


def test_a_solver_from_outside_has_a_process_of_its_own_where_it_asks_for_one(installed: Path) -> None:
    """Only a process of its own has a figure for memory."""
    shown = next(text for text in PAGE.split("```python\n") if text.startswith("from dpopt.solvers.process"))
    names: dict[str, Any] = {}
    exec(shown.partition("```")[0], names)
    solvers = {"apart": names["in_its_process"](), "here": names["Milp"]()}
    rows = {one: dpopt.compare(INSTANCE, [solver], seconds=1).rows[0] for one, solver in solvers.items()}
    solvers["apart"].close()
    assert {row.status for row in rows.values()} == {"optimal"}
    assert [one for one, row in rows.items() if row.peak_memory_mb is not None] == ["apart"]


def test_solver_and_model_from_outside_are_used_by_name(installed: Path) -> None:
    row = next(one for one in json.loads(succeed("solvers", "--json"))["solvers"] if one["name"] == "milp")
    assert (row["status"], row["capabilities"]) == ("available", ["lp", "mip"])
    found = json.loads(succeed("model", "solve", "fair_shares", "--solver", "milp", "--json"))
    assert (found["solver"], found["termination"]) == ("milp", "optimal")
    assert found["values"]["x"] == pytest.approx([32.25, 52.25, 15.5])
    worked = ["model", "solve", "best_response", "--data", INSTANCE, "--json", "--solver"]
    assert json.loads(succeed(*worked, "milp"))["objective"] == json.loads(succeed(*worked, "highs"))["objective"] == 2
    compared = json.loads(succeed("compare", INSTANCE, "--solvers", "milp,highs", "--json"))
    assert json.dumps(compared).count('"milp') >= 1
    assert "no page" in refuse("model", "show", "fair_shares", "--page")


def test_a_model_from_outside_takes_no_name_and_hides_no_other(installed: Path) -> None:
    register(
        installed,
        "dpopt.models",
        projection="dpopt_extension.fair_shares:ENTRY",
        missing="dpopt_extension.fair_shares:NOTHING",
        number="math:pi",
    )
    listed = {one["name"]: one for one in json.loads(succeed("model", "list", "--json"))["models"]}
    assert list(listed) == [*BEST_RESPONSES, *CATALOGUE, "fair_shares", "missing", "number"]
    assert listed["projection"]["decides"] == CATALOGUE["projection"].decides
    assert "broken" in listed["missing"]["decides"]
    assert "does not load" in refuse("model", "solve", "missing")
    assert "is a float; expected a CatalogueEntry" in refuse("model", "show", "number")


def test_a_model_from_outside_that_breaks_down_is_refused(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("dpopt_extension.fair_shares")
    monkeypatch.setattr(module, "ENTRY", CatalogueEntry("", "nothing", str, {}))
    assert "have no names" in refuse("model", "show", "fair_shares")
    monkeypatch.setattr(module, "ENTRY", CatalogueEntry("", "nothing", lambda: "no model", {}))
    assert "builds a str" in refuse("model", "show", "fair_shares")
    monkeypatch.setattr(module, "ENTRY", CatalogueEntry("", "nothing", lambda total: {}[total], {"total": 1}))
    assert "cannot be built" in refuse("model", "show", "fair_shares")


def test_a_page_from_outside_is_shown(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("dpopt_extension.fair_shares")
    Path("shares.md").write_text("# Fair shares\n")
    monkeypatch.setattr(
        module, "ENTRY", CatalogueEntry("shares.md", "shares", module.fair_shares, module.ENTRY.example)
    )
    assert succeed("model", "show", "fair_shares", "--page") == "# Fair shares\n\n"


def _diff_of(room: str) -> str:
    """Return the diff of CONTRIBUTING.md that adds a folder to a room of the package."""
    shown = blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (diff,) = [one.text for one in shown if one.language == "diff" and f"+++ b/dpopt/{room}/" in one.text]
    return diff


USE_OF_THE_ALGORITHM = """
import json, sys
from pathlib import Path
import pandas as pd
import dpopt
import dpopt.cli.main
from dpopt.cli.application import application

assert Path(dpopt.__file__).parent == Path(sys.argv[1])

def shell(words):
    sys.argv = ["dpopt", *words.split()]
    try:
        application()
    except SystemExit as end:
        assert not end.code, (words, end.code)

def interrupt(folder):
    (folder / "release.json").unlink()
    lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "transcript.jsonl").write_bytes(b"".join(lines[:-1]))

schema = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in "abc"))
table = pd.DataFrame({"a": [True, False, False, False] * 300, "b": [True, False] * 600, "c": [False, False, True] * 400})
schema.write("schema.json")
table.to_csv("table.csv", index=False)
public = "--schema schema.json --epsilon 20 --n0 1200 --algorithm columns"
shell(f"plan {public} --workload marginals:1 -o plan.json")
shell("release table.csv --plan plan.json --out first")
shell("replay first -o again")
shell(f"release table.csv {public} --workload marginals:1 --out second --no-predict")
interrupt(Path("second"))
shell("resume second table.csv")
shell("evaluate first table.csv --json")
shell("release --help --algorithm columns")
assert (Path("first") / "synthetic.csv").read_bytes() == (Path("again") / "synthetic.csv").read_bytes()

settings = {"epsilon": 20, "n0": 1200, "algorithm": "columns"}
planned = dpopt.plan(schema, "marginals:1", **settings)
made = dpopt.release(table, schema, plan=planned, out="third")
for charge in made.job.plan.charges():
    assert made.ledger.entries[0] == charge
errors = [dpopt.evaluate(one, table).max_error for one in (made, dpopt.replay("third", "fourth"))]
assert errors[0] == errors[1] < 0.02, errors
interrupt(Path("fourth"))
assert dpopt.evaluate(dpopt.resume("fourth", table), table).max_error == errors[0]
for neighbours, delta in (("replace", None), ("add-remove", 0)):
    dpopt.release(table, schema, "marginals:2", epsilon=20, delta=delta, neighbours=neighbours, algorithm="columns")
"""


def test_the_algorithm_of_the_diff_plans_releases_resumes_replays_and_evaluates(tmp_path: Path) -> None:
    """In a copy of the package, so that the diff must still fit what is there."""
    diff = _diff_of("algorithms")
    shutil.copytree(ROOT / "dpopt", tmp_path / "dpopt", ignore=shutil.ignore_patterns("__pycache__"))
    copy_kernels(tmp_path / "dpopt")
    shutil.copytree(ROOT / "docs" / "concepts", tmp_path / "docs" / "concepts")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=f"{diff}\n".encode(), check=True)
    done = subprocess.run(
        [sys.executable, "-c", USE_OF_THE_ALGORITHM, str(tmp_path / "dpopt")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


USE_OF_THE_SYNOPSIS = """
import json
from pathlib import Path
import dpopt, pandas
from tests.cli.command_line import flat, refuse, succeed

assert Path(dpopt.__file__).is_relative_to(Path.cwd())
values = ["A"] * 60 + ["B"] * 30
pandas.DataFrame({"letter": values}).to_csv("letters.csv", index=False)
letter = dpopt.Attribute("letter", dpopt.AttributeKind.CATEGORICAL, values=("A", "B"))
dpopt.Schema((letter,)).write("schema.json")
asked = ("--schema", "schema.json", "--column", "letter", "--epsilon", 50, "--delta", 0)

planned = json.loads(succeed("tally", "plan", *asked, "--json"))
assert abs(50 * planned["scale"] - 1) < 1e-6
assert "2 counts; written to" in flat(succeed("tally", "release", "letters.csv", *asked, "-o", "tally.npz"))
assert json.loads(succeed("tally", "answer", "tally.npz", "--query", "A", "--query", "B", "--json")) == {"A": 60, "B": 30}
succeed("tally", "export", "tally.npz", "-o", "tally.json")
assert "2 values of 'letter'" in flat(succeed("inspect", "tally.npz"))
succeed("report", "tally.npz", "-o", "report.html")
assert "no histogram, or damaged" in flat(refuse("histogram", "answer", "tally.npz"))

again = dpopt.read_synopsis("tally.npz")
assert again.to_json() == type(again).from_json(json.loads(Path("tally.json").read_text())).to_json()
assert again.privacy["epsilon"] <= 50
made = dpopt.tally("letters.csv", "schema.json", "letter", epsilon=50, delta=0, neighbours="replace")
assert (made.answer("A"), again.answer("A")) == (60, 60)  # other noise than 0 has a probability below 1e-10
assert abs(made.plan.scale - 2 * again.plan.scale) < 1e-6
"""


def test_the_synopsis_of_the_checklist_is_planned_released_and_read_again(tmp_path: Path) -> None:
    diff = _diff_of("synopses")
    shutil.copytree(ROOT / "dpopt", tmp_path / "dpopt", ignore=shutil.ignore_patterns("__pycache__"))
    copy_kernels(tmp_path / "dpopt")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=f"{diff}\n".encode(), check=True)
    (tmp_path / "use.py").write_text(USE_OF_THE_SYNOPSIS)
    done = subprocess.run(
        [sys.executable, "use.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

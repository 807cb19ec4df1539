"""Other programs read written models back with every column, every row and the same optimum, whatever the names are."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.models.model import Model
from dpopt.programs.building import Block, Builder
from dpopt.programs.text import LP_REPLACES, MPS_REPLACES, PULP_REPLACES, unlike
from dpopt.solvers.pulp_cbc import cbc_program

WORDS = [
    "free", "st", "s.t.", "St.", "subject", "such", "inf", "INFINITY", "infant", "nan", "Nancy", "e1", "E5x", "e",
    "1e5", "3", "0x1p3", ".5", "-1", "end", "End", "general", "generals", "gen", "int", "integer", "bin", "binary",
    "bounds", "bound", "min", "max", "minimize", "maximum", "maximise", "semi", "sos", "sos1", "sec", "sin", "pwl",
    "lazy", "user", "rows", "RHS", "columns", "RANGES", "name", "NAME", "ENDATA", "objective", "objsense", "x",
    "x.1", "x_", "r", "r_", "r.1",
]  # fmt: skip
SIGNS = [
    "größe", "gr\xa0öße", "年齢", "🙂", "\ud800", "a b", "a\tb", "a\nb", "a\rb", "a\0b", "a\x7fb", "", " ", "x", "x",
]  # fmt: skip
SIGNS += r"""
    a-b a+b a*b a^b a<b a>b a:b a/b a\b a[b a]b a=b a"b a'b 'MARKER' $a *a !a #a %a &a (a ,a ;a ?a @a _a `a {a |a ~a a,b a.b
""".split()  # noqa: SIM905
LONG = ["l" * 400, "l" * 400, "l" * 399 + "m", "é" * 400]
NAMES = [*WORDS, *SIGNS, *LONG]
SIZE = len(NAMES)


def model(*, whole: bool = False) -> Model:
    """Return a model whose least point gives the i-th column (from 1) the value i; rows have one side or two."""
    build = Builder()
    values, third = np.arange(1.0, SIZE + 1), np.arange(SIZE) % 3
    columns = build.variables("x", SIZE, objective=1.0, whole=whole, upper=10.0 * SIZE)
    upper = np.select([third == 0, third == 1], [np.inf, values], values + 1)
    build.rows("r", SIZE, (np.arange(SIZE), columns, 1.0), lower=values, upper=upper)
    variables, rows = (Block(symbol, 0, (SIZE,), inside=lambda: NAMES, full=True) for symbol in "xr")
    return Model("a model", build.program(), {"x": variables}, {"r": rows}, {}, {})


_HIGHS = """
import highspy, json, sys
found = []
for path in sys.argv[1:]:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(path) == highspy.HighsStatus.kOk, path
    solver.run()
    read = solver.getLp()
    values = dict(zip(read.col_names_, solver.getSolution().col_value))
    found.append([values, list(read.row_names_), solver.getInfo().objective_function_value])
print(json.dumps(found))
"""


TABLES: dict[str, Mapping[int, Any]] = {".lp": LP_REPLACES, ".mps": MPS_REPLACES, "pulp": PULP_REPLACES}


def check(name: str, values: dict[str, float]) -> None:
    """Refuse other columns than those of the model, and another least point."""
    titles = unlike(NAMES, TABLES["pulp" if name.startswith("pulp") else Path(name).suffix])
    assert values.keys() == set(titles), name
    assert [values[title] for title in titles] == pytest.approx(range(1, SIZE + 1)), name


@pytest.fixture(scope="module", params=[False, True], ids=["continuous", "whole"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the model in every format, and as PuLP writes it."""
    folder, made = tmp_path_factory.mktemp("models"), model(whole=request.param)
    for ending in (".lp", ".mps", *([".pbtxt"] if request.param else [])):
        made.write(folder / f"model{ending}")
    problem = made.to_pulp()
    problem.writeLP(str(folder / "pulp.lp"), max_length=100)
    problem.writeMPS(str(folder / "pulp.mps"))
    return folder


PLAIN = ("model.lp", "model.mps", "pulp.lp", "pulp.mps")


def test_highs_reads_every_column_and_row(written: Path) -> None:
    if importlib.util.find_spec("highspy") is None:
        pytest.skip("highspy is not installed")
    command = [sys.executable, "-c", _HIGHS, *(str(written / name) for name in PLAIN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, (values, rows, objective) in zip(PLAIN, json.loads(done.stdout.splitlines()[-1]), strict=True):
        check(name, values)
        second = 0 if name == "model.mps" else sum(np.arange(SIZE) % 3 == 2)
        assert len(rows) == len(set(rows)) == SIZE + second, name
        assert objective == pytest.approx(SIZE * (SIZE + 1) / 2)


@pytest.mark.parametrize("name", PLAIN)
def test_cbc_reads_every_column(written: Path, name: str) -> None:
    out = written / f"{name}.cbc"
    command = [cbc_program(), str(written / name), "-solve", "-printingOptions", "all", "-solution", str(out)]
    subprocess.run(command, capture_output=True, check=False, timeout=60)
    lines = [re.split(r"\s+", line.strip()) for line in out.read_text().splitlines()[1:]]
    second = 0 if name == "model.mps" else sum(np.arange(SIZE) % 3 == 2)
    check(name, {fields[1]: float(fields[2]) for fields in lines[-SIZE:]})
    assert len({fields[1] for fields in lines[:-SIZE]}) == SIZE + second


@pytest.mark.parametrize("name", PLAIN)
def test_glpk_reads_every_column(written: Path, name: str) -> None:
    if shutil.which("glpsol") is None:
        pytest.skip("glpsol is not installed")
    out = written / f"{name}.glpk"
    form = "--lp" if name.endswith(".lp") else "--freemps"
    done = subprocess.run(
        ["glpsol", form, str(written / name), "--write", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    columns = [line.split() for line in out.read_text().splitlines() if line.startswith("j ")]
    values = [float(fields[2] if len(fields) == 3 else fields[3]) for fields in columns]
    assert sorted(values) == pytest.approx(range(1, SIZE + 1))  # GLPK has an order of its own


def test_scip_and_or_tools_read_every_column(written: Path) -> None:
    """The reader of OR-tools, and SCIP with its answer."""
    from ortools.linear_solver.python import model_builder

    read = model_builder.Model()  # type: ignore[no-untyped-call]
    assert read.import_from_mps_file(str(written / "model.mps"))
    solver = model_builder.Solver("scip")
    assert solver.solve(read) == model_builder.SolveStatus.OPTIMAL
    check("model.mps", {one.name: solver.value(one) for one in read.get_variables()})


def test_cp_sat_reads_every_column(written: Path) -> None:
    from ortools.sat.python import cp_model

    path = written / "model.pbtxt"
    if not path.exists():
        pytest.skip("CP-SAT takes whole variables only")
    read = cp_model.CpModel()
    assert read.proto.parse_text_format(path.read_text())
    assert len(read.proto.variables) == SIZE
    solver = cp_model.CpSolver()
    assert solver.solve(read) == cp_model.OPTIMAL
    assert solver.objective_value == SIZE * (SIZE + 1) / 2


def test_lines_and_names_are_as_short_as_the_strictest_reader_wants() -> None:
    lines = model().text(".lp").decode("ascii").splitlines()
    assert max(map(len, lines)) <= 255
    assert max(len(word.rstrip(":")) for line in lines[1:] for word in line.split()) <= 96

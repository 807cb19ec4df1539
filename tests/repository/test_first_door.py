"""Python as a first door: what values show, what is refused and how, and that every public name shows how it is used."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

import dpopt
from dpopt.algorithms.replay import differing_files
from dpopt.releases.progress import NotebookProgress, Silent, shown_progress, stage
from dpopt.synopses.any_synopsis import KINDS as SYNOPSES
from dpopt.synopses.histograms.prefixes import Prefixes

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 101, 10)), integer=True),
    )
)
TABLE = pd.DataFrame({"smoker": [True, False] * 500, "age": [20, 31, 42, 77] * 250})
ASKED: Any = {"epsilon": 1, "delta": 1e-6, "algorithm": "projection"}


@pytest.fixture(scope="module")
def made() -> dpopt.SyntheticRelease:
    return dpopt.release(TABLE, SCHEMA, "marginals:2", **ASKED)


@pytest.fixture(scope="module")
def values(made: dpopt.SyntheticRelease, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("values")
    ledger = dpopt.BudgetLedger.create(folder / "owner.budget", epsilon=3, delta=1e-6)
    histogram = dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1, budget=ledger)
    return {
        "Schema": SCHEMA,
        "wide": dpopt.Schema.binary(10**6),
        "Workload": dpopt.parse_workload("marginals:2", SCHEMA),
        "Budget": made.job.plan.budget,
        "BudgetLedger": ledger,
        "Planned": dpopt.plan(SCHEMA, "marginals:2", n=1000, **ASKED),
        "SyntheticRelease": made,
        "Histogram": histogram,
        "grid": dpopt.grid(TABLE, SCHEMA, ["smoker", "age"], epsilon=1, ordered=True),
        "prefixes": dpopt.prefixes(TABLE, SCHEMA, "age", steps=2, out=folder / "p.jsonl", rho=1),
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Schema", "Schema(2 attributes: 'smoker', 'age')"),
        ("wide", "Schema(1,000,000 columns of zeros and ones)"),
        ("Workload", "Workload(marginals:2, 20 queries, 2 attributes)"),
        ("Budget", "Budget(epsilon = 1.0 at delta = 1e-06 (accountant 'zcdp')"),
        ("BudgetLedger", "BudgetLedger(owner.budget, epsilon = 3.0 at delta = 1e-06"),
        ("Planned", "Planned(projection, 20 queries, n=1000, predicted mean error="),
        ("SyntheticRelease", "SyntheticRelease(projection, "),
        ("Histogram", "Histogram('age', 10 bins, epsilon=1, delta=0, "),
        ("grid", "GridHistogram('smoker' (2) x 'age' (10), epsilon=1, delta=0, "),
        ("prefixes", "Prefixes('age', 2 of 10 steps, epsilon="),
    ],
)
def test_values_show_themselves_in_a_line_and_in_a_small_table(
    values: dict[str, Any], name: str, said: str
) -> None:
    shown, html = repr(values[name]), values[name]._repr_html_()
    assert shown.startswith(said)
    assert len(shown) < 260
    assert html.startswith("<div><b>")
    assert len(html) < 4000
    assert html.count("<table>") == html.count("</table>") <= 1


def test_a_notebook_shows_the_first_rows_of_a_release(made: dpopt.SyntheticRelease) -> None:
    html = made._repr_html_()
    assert html.count("<tr>") == 6
    assert "<th>smoker</th>" in html


def test_a_notebook_shows_a_damaged_budget_as_damaged(tmp_path: Path) -> None:
    ledger = dpopt.BudgetLedger(tmp_path / "none.budget")
    assert "none.budget" in repr(ledger)
    assert "<table>" not in ledger._repr_html_()


@pytest.mark.parametrize(
    "asked", [{}, {"n0": 1000}, {"algorithm": "noise"}, {"algorithm": dpopt.DualQuery(rounds=3)}]
)
def test_a_release_in_memory_can_be_saved_and_replayed(asked: dict[str, Any], tmp_path: Path) -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:2", **{**ASKED, "predict": False, **asked})
    made.save(tmp_path / "saved")
    again = dpopt.replay(tmp_path / "saved", tmp_path / "again")
    assert differing_files(tmp_path / "saved", tmp_path / "again") == []
    again.save(tmp_path / "third")
    assert differing_files(tmp_path / "saved", tmp_path / "third") == []
    with pytest.raises(dpopt.DpoptError, match="not empty"):
        made.save(tmp_path / "saved")


def test_a_release_says_what_was_chosen(made: dpopt.SyntheticRelease) -> None:
    assert made.chosen == {"algorithm": "projection", "because": "it was asked for"}
    auto = dpopt.plan(SCHEMA, "marginals:1", n=1000, epsilon=1)
    assert set(auto.chosen) == {"algorithm", "because", "considered"}


def test_a_plan_is_carried_out_as_it_is(tmp_path: Path) -> None:
    planned = dpopt.plan(SCHEMA, "marginals:2", n=1000, epsilon=1)
    planned.save(tmp_path / "plan.json")
    for plan in (planned, tmp_path / "plan.json"):
        made = dpopt.release(TABLE, plan=plan)
        assert made.chosen["algorithm"] == planned.chosen["algorithm"]
        assert made.statement["workload"]["queries"] == 20


WRONG = (None, 3, [1, 2], pd.Series([1, 2]), 3.5, b"x", {"a": 1}, object(), "not there.json")
"""What no parameter takes; a few parameters take one of them."""
RELEASE = {**ASKED, "predict": False}
REFUSALS = {
    "release(table)": lambda wrong, _: dpopt.release(wrong, SCHEMA, "marginals:1", **RELEASE),
    "release(schema)": lambda wrong, _: dpopt.release(TABLE, wrong, "marginals:1", **RELEASE),
    "release(workload)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, _some(wrong), **RELEASE),
    "release(algorithm)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, epsilon=1, algorithm=wrong),
    "release(budget)": lambda wrong, _: dpopt.release(
        TABLE, SCHEMA, "marginals:1", budget=_some(wrong), **RELEASE
    ),
    "release(plan)": lambda wrong, _: dpopt.release(TABLE, plan=wrong),
    "release(engine)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, "marginals:1", engine=wrong, **RELEASE),
    "release(progress)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, progress=_some(wrong), **RELEASE),
    "release(reading)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, reading=_some(wrong), **RELEASE),
    "release(neighbours)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, neighbours=wrong, **RELEASE),
    "plan(schema)": lambda wrong, _: dpopt.plan(wrong, "marginals:1", n=10, epsilon=1),
    "plan(workload)": lambda wrong, _: dpopt.plan(SCHEMA, _some(wrong), n=10, epsilon=1),
    "resume(folder)": lambda wrong, _: dpopt.resume(wrong, TABLE),
    "replay(folder)": lambda wrong, folder: dpopt.replay(wrong, folder / "again"),
    "evaluate(release)": lambda wrong, _: dpopt.evaluate(wrong, TABLE),
    "evaluate(rows)": lambda wrong, _: dpopt.evaluate(wrong, TABLE, schema=SCHEMA),
    "evaluate(table)": lambda wrong, _: dpopt.evaluate(TABLE, wrong, schema=SCHEMA),
    "evaluate(workload)": lambda wrong, _: dpopt.evaluate(TABLE, TABLE, schema=SCHEMA, workload=wrong),
    "infer_schema(table)": lambda wrong, _: dpopt.infer_schema(wrong),
    "read_table(table)": lambda wrong, _: dpopt.read_table(wrong, SCHEMA),
    "read_table(schema)": lambda wrong, _: dpopt.read_table(TABLE, wrong),
    "histogram(table)": lambda wrong, _: dpopt.histogram(wrong, SCHEMA, "age", epsilon=1),
    "histogram(schema)": lambda wrong, _: dpopt.histogram(TABLE, wrong, "age", epsilon=1),
    "histogram(column)": lambda wrong, _: dpopt.histogram(TABLE, SCHEMA, wrong, epsilon=1),
    "histogram(epsilon)": lambda wrong, _: dpopt.histogram(TABLE, SCHEMA, "age", epsilon=_some(wrong)),
    "grid(table)": lambda wrong, _: dpopt.grid(wrong, SCHEMA, ["smoker", "age"], epsilon=1),
    "grid(columns)": lambda wrong, _: dpopt.grid(TABLE, SCHEMA, wrong, epsilon=1),
    "intervals(table)": lambda wrong, _: dpopt.intervals(wrong, SCHEMA, "age", epsilon=1, delta=1e-6),
    "summary(table)": lambda wrong, _: dpopt.summary(wrong, SCHEMA, k=1, epsilon=1),
    "summary(schema)": lambda wrong, _: dpopt.summary(TABLE, wrong, k=1, epsilon=1),
    "decision_lists(table)": lambda wrong, _: dpopt.decision_lists(wrong, "lists.json", k=2, epsilon=1),
    "degrees(table)": lambda wrong, _: dpopt.degrees(wrong, nodes=10, epsilon=1),
    "sorted_counts(table)": lambda wrong, _: dpopt.sorted_counts(wrong, SCHEMA, "age", epsilon=1),
    "halfspaces(table)": lambda wrong, _: dpopt.halfspaces(wrong, 0.1, columns=["age"], epsilon=1),
    "prefixes(table)": lambda wrong, folder: dpopt.prefixes(
        wrong, SCHEMA, "age", steps=1, out=folder / "p", rho=1
    ),
    "read_synopsis(path)": lambda wrong, _: dpopt.read_synopsis(wrong),
    "parse_workload(text)": lambda wrong, _: dpopt.parse_workload(wrong, SCHEMA),
    "parse_workload(schema)": lambda wrong, _: dpopt.parse_workload("marginals:1", wrong),
    "Schema(attributes)": lambda wrong, _: dpopt.Schema(wrong),
    "Schema.read(path)": lambda wrong, _: dpopt.Schema.read(wrong),
    "Attribute(kind)": lambda wrong, _: dpopt.Attribute("a", wrong),
    "Rule(form)": lambda wrong, _: dpopt.Rule(wrong),
    "BudgetLedger(path)": lambda wrong, _: dpopt.BudgetLedger(wrong).contents(),
    "reweight_release(release)": lambda wrong, _: dpopt.reweight_release(wrong),
    "bit_table(rows)": lambda wrong, _: dpopt.bit_table(_some(wrong, 0), []),
    "read_binary_table(table)": lambda wrong, _: dpopt.read_binary_table(wrong, dpopt.Schema.binary(3)),
}


def _some(wrong: object, instead: object = ()) -> Any:
    """Return what is wrong even where None, or a number, may be given."""
    return instead if wrong is None or isinstance(wrong, int | float) else wrong


@pytest.mark.parametrize("name", REFUSALS)
def test_wrong_types_are_refused_by_errors_of_the_house_that_show_no_value(name: str, tmp_path: Path) -> None:
    for wrong in WRONG:
        with pytest.raises(dpopt.DpoptError) as refused:
            REFUSALS[name](wrong, tmp_path)  # type: ignore[no-untyped-call]
        assert "(table)" not in name or "object at 0x" not in str(refused.value)


def test_a_wrong_type_is_a_type_error_that_says_what_is_expected() -> None:
    with pytest.raises(
        TypeError, match=r"histogram\(schema=...\): found a Series; expected Schema, text, a path or None"
    ):
        dpopt.histogram(TABLE, pd.Series([1]), "age", epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(
        dpopt.errors.ArgumentError, match=r"release\(rows=...\): found a str; expected a whole number"
    ):
        dpopt.release(TABLE, SCHEMA, rows="many", **ASKED)


def _polars(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].tolist() for name in frame})


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": _polars,
    "arrow": pa.Table.from_pandas,
    "stream": lambda frame: pa.Table.from_pandas(frame).to_reader(),
    "objects": lambda frame: frame.astype(object).to_numpy(),
    "numbers": lambda frame: frame.to_numpy(dtype=float),
    "records": lambda frame: frame.to_records(index=False),
    "sparse": lambda frame: scipy.sparse.csr_array(frame.to_numpy(dtype=float)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_are_the_same_table(kind: str) -> None:
    table = KINDS[kind]
    found = dpopt.evaluate(table(TABLE), table(TABLE), schema=SCHEMA)
    assert dpopt.evaluate(table(TABLE), TABLE, schema=SCHEMA) == found
    assert found["max_error"] == 0
    assert len(dpopt.infer_schema(table(TABLE)).schema) == 2
    exact = {"epsilon": 1e5, "neighbours": "replace"}
    with pytest.warns(dpopt.errors.PrivacyWarning):
        counts = dpopt.histogram(table(TABLE), SCHEMA, "age", **exact)  # type: ignore[arg-type]
    assert [counts.answer(part).value for part in ("20:30", "70:80", "80:90")] == [250, 250, 0]
    made = dpopt.release(table(TABLE), SCHEMA, "marginals:1", **{**ASKED, "predict": False})
    assert set(made.values) == {"age"}


WIDE = np.random.default_rng(5).integers(0, 2, (130, 3))
WIDE_KINDS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "whole numbers": lambda cells: cells,
    "truth values": lambda cells: cells.astype(bool),
    "numbers": lambda cells: cells.astype(float),
    "sparse": scipy.sparse.coo_array,
    "pandas": pd.DataFrame,
    "other order": lambda cells: pd.DataFrame(cells[:, ::-1], columns=["item2", "item1", "item0"]),
    "polars": lambda cells: _polars(pd.DataFrame(cells).rename(columns=str)),
}


@pytest.mark.parametrize("kind", WIDE_KINDS)
def test_wide_tables_of_every_kind_are_the_same_table(kind: str) -> None:
    schema = dpopt.Schema.binary(3)
    found = dpopt.evaluate(WIDE_KINDS[kind](WIDE), WIDE, schema=schema, workload="marginals:3")
    assert found["max_error"] == 0
    other = dpopt.evaluate(1 - WIDE, WIDE_KINDS[kind](WIDE), schema=schema, workload="marginals:3")
    assert other["max_error"] > 0
    made = dpopt.release(
        WIDE_KINDS[kind](WIDE), schema, "marginals:1", neighbours="replace", **{**ASKED, "predict": False}
    )
    assert made.job.plan.size == 130


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (WIDE + 1, "something else than zeros and ones"),
        (WIDE[:, :2], "2 columns, and 3 are declared"),
        (pd.DataFrame({"x0": ["a"], "x1": ["b"], "x2": ["c"]}), "'x0' holds something else"),
        (pd.DataFrame({"x0": [0, None], "x1": [0, 1], "x2": [0, 1]}), "'x0' holds something else"),
    ],
)
def test_wide_tables_of_other_values_are_refused(table: Any, said: str) -> None:
    with pytest.raises(dpopt.DpoptError, match=said):
        dpopt.read_binary_table(table, dpopt.Schema.binary(3))


def test_edges_may_be_an_array_of_two_columns() -> None:
    edges = np.array([[1, 2], [2, 3], [3, 4]])
    with pytest.warns(dpopt.errors.PrivacyWarning):
        assert dpopt.degrees(edges, nodes=5, epsilon=1e5).answer(2) == 2


CELL = """
import dpopt, pandas
schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
table = pandas.DataFrame({"smoker": [True, False] * 500})
made = dpopt.release(table, schema, "marginals:1", epsilon=1, delta=0, algorithm="projection"%s)
"""


def test_a_notebook_shows_progress_unless_it_is_told_not_to(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    cells = [nbformat.v4.new_code_cell(CELL % more) for more in ("", ", progress=False")]
    notebook = nbformat.v4.new_notebook(cells=[*cells, nbformat.v4.new_code_cell("made")])
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120, resources=where).execute()
    shown, silent, value = (cell.outputs for cell in notebook.cells)
    (drawn,) = shown
    assert "the number of records, " in drawn.data["text/html"]
    assert "progress" not in drawn.data["text/html"]  # the bar goes when the last stage has ended
    assert silent == []
    assert value[0].data["text/html"].count("<tr>") == 6


def test_progress_in_a_notebook_keeps_nothing_that_depends_on_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[str] = []
    place = SimpleNamespace(update=drawn.append)
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: place)
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert type(shown_progress(False)) is Silent
    progress = shown_progress(None)
    assert isinstance(progress, NotebookProgress)
    progress.APART = 0  # every drawing
    with stage(progress, "<fitting>"):
        progress.share(0.25)
        progress.round(3, 4, 0.5)
        progress.step(4, 4, "a <b> step")
        progress.note("public")
        progress.owner_note("3 rows break a rule")
    assert 'value="0.250"' in drawn[1]
    assert "&lt;fitting&gt;" in drawn[1]
    assert "4 of 4, a &lt;b&gt; step" in drawn[3]
    assert drawn[-1] == "public"
    assert not any("rule" in one for one in drawn)


def test_a_synthesizer_is_an_estimator_in_the_eyes_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    asked = dpopt.Synthesizer(SCHEMA, "marginals:2", **ASKED)
    again = sklearn.clone(asked)
    assert again is not asked
    assert again.get_params() == {"schema": SCHEMA, "workload": "marginals:2", **ASKED}
    assert again.set_params(epsilon=2, workload="marginals:1").get_params()["epsilon"] == 2
    assert asked.get_params()["epsilon"] == 1
    assert not hasattr(again, "release_")


def test_a_synthesizer_gives_as_many_rows_as_are_asked_for() -> None:
    fitted = dpopt.Synthesizer(SCHEMA, "marginals:2", **{**ASKED, "epsilon": 100, "n0": 1000}).fit(TABLE)
    assert len(fitted.sample()) == 1000
    for number in (1, 40, 3000):
        rows = fitted.sample(number)
        assert rows.equals(fitted.sample(number))
        assert list(rows.columns) == ["smoker", "age"]
        assert len(rows) == number
        assert abs(rows["smoker"].mean() - 0.5) <= 0.5 / number + 0.02
    with pytest.raises(dpopt.DpoptError, match="at least 1"):
        fitted.sample(0)
    with pytest.raises(TypeError, match="whole number"):
        fitted.sample("many")  # type: ignore[arg-type]
    with pytest.raises(dpopt.DpoptError, match="no option"):
        dpopt.Synthesizer(SCHEMA, nothing=1).fit(TABLE)


PUBLIC = {name: getattr(dpopt, name) for name in sorted(set(dpopt.__all__) - {"__version__"})}
RETURNED = {kind.__name__: kind for kind in (*SYNOPSES.values(), Prefixes)}
"""What public functions return and is no public name."""


@pytest.mark.parametrize("name", [*PUBLIC, *RETURNED])
def test_every_public_name_and_what_is_returned_shows_how_it_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value = inspect.unwrap({**PUBLIC, **RETURNED}[name])
    module = importlib.import_module(value.__module__)
    # `module=False`: methods that are wrapped are shown too.
    shown = doctest.DocTestFinder().find(value, name, module=False, globs=vars(module).copy())
    examples = [example for one in shown for example in one.examples]
    assert examples, "a public name has an example in its docstring"
    assert not any(doctest.SKIP in example.options for example in examples)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said = io.StringIO()
    failed = sum(runner.run(one, out=said.write).failed for one in shown)
    assert failed == 0, said.getvalue()


SCRIPT = """
from pathlib import Path

import dpopt

schema = dpopt.Schema((dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 50, 100)),))
draft: dpopt.Schema = dpopt.infer_schema("table.csv").schema
workload: dpopt.Workload = dpopt.parse_workload("marginals:1", schema)
planned: dpopt.Planned = dpopt.plan(schema, workload, n=1000, epsilon=1)
made: dpopt.SyntheticRelease = dpopt.release("table.csv", plan=planned, progress=False, out=Path("out"))
algorithm: object = made.chosen["algorithm"]
rows: int = len(made.sample(10)) + len(dpopt.Synthesizer(schema, epsilon=1.5).fit("table.csv").sample())
made.save("folder")
report: str = made.report()
errors: float = dpopt.evaluate(made, "table.csv", schema=None)["mean_error"]
histogram = dpopt.histogram("table.csv", schema, "age", epsilon=1, budget=dpopt.BudgetLedger("owner.budget"))
count: float = histogram.answer("0:50").value
text: str = repr(histogram)
dpopt.histogram("table.csv", schema, "age", epsilon="1")  # wrong: a text
dpopt.release("table.csv", 3, epsilon=1)  # wrong: no schema
dpopt.histogram("table.csv", schema, "age", epsilonn=1)  # wrong: no such option
"""


@pytest.mark.slow
def test_the_script_of_a_user_is_checked_strictly_and_what_is_wrong_is_found(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    wrong = {number for number, line in enumerate(SCRIPT.splitlines(), start=1) if "# wrong" in line}
    assert found == wrong, done.stdout

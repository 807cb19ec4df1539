"""Python as a first door: what values show, what is refused and how, and that every public name shows how it is used."""

from __future__ import annotations

import contextlib
import inspect
import sys
import typing
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
from dpopt.algorithms.registry import OPTIONS
from dpopt.algorithms.replay import differing_files
from dpopt.algorithms.terms import AlgorithmKeywords, Keywords, ReadingKeywords, ReleaseTerms
from dpopt.arguments import types_of
from dpopt.polynomials import Target, best_polynomial
from dpopt.polynomials.minimax import write_solution
from dpopt.releases.progress import Detail, NotebookProgress, Progress, shown_progress, stage

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 101, 10)), integer=True),
    )
)
TABLE = pd.DataFrame({"smoker": [True, False] * 500, "age": [20, 31, 42, 77] * 250})
ANY: Any = dpopt  # calls that type checkers refuse, too
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
        "grid": dpopt.grid(TABLE, SCHEMA, ["smoker", "age"], epsilon=1),
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
        ("SyntheticRelease", "(projection, "),
        ("Histogram", "('age', 10 bins, epsilon=1, delta=1e-09, "),
        ("grid", "('smoker' (2) x 'age' (10), epsilon=1, delta=0 (pure), "),
        ("prefixes", "('age', 2 of 10 steps, epsilon="),
    ],
)
def test_values_show_themselves_in_a_line_and_in_a_small_table(values: dict[str, Any], name: str, said: str) -> None:
    shown, html = repr(values[name]), values[name]._repr_html_()
    verdict, held = shown.split("\n") if "\n" in shown else ("", shown)
    assert held.startswith(said)
    assert len(held) < 260
    assert verdict == (f"{type(values[name]).__name__}: {values[name].verdict}" if values[name].verdict else "")
    assert bool(verdict) == said.startswith("(")
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


@pytest.mark.parametrize("asked", [{}, {"n0": 1000}, {"algorithm": "noise"}, {"algorithm": dpopt.DualQuery(rounds=3)}])
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
    auto = dpopt.plan(SCHEMA, "marginals:2", n=1000, epsilon=1)
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
    "release(budget)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, "marginals:1", budget=_some(wrong), **RELEASE),
    "release(plan)": lambda wrong, _: dpopt.release(TABLE, plan=wrong),
    "release(engine)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, "marginals:1", engine=wrong, **RELEASE),
    "release(progress)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, progress=_some(wrong), **RELEASE),
    "release(reading)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, reading=_some(wrong), **RELEASE),
    "release(neighbours)": lambda wrong, _: dpopt.release(TABLE, SCHEMA, neighbours=_some(wrong), **RELEASE),
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
    "count(table)": lambda wrong, _: dpopt.count(wrong, SCHEMA, "smoker = true", most=3, epsilon=1),
    "count(where)": lambda wrong, _: dpopt.count(TABLE, SCHEMA, wrong, most=3, epsilon=1),
    "degrees(table)": lambda wrong, _: dpopt.degrees(wrong, nodes=10, epsilon=1),
    "sorted_counts(table)": lambda wrong, _: dpopt.sorted_counts(wrong, SCHEMA, "age", epsilon=1),
    "halfspaces(table)": lambda wrong, _: dpopt.halfspaces(wrong, 0.1, columns=["age"], epsilon=1),
    "prefixes(table)": lambda wrong, folder: dpopt.prefixes(wrong, SCHEMA, "age", steps=1, out=folder / "p", rho=1),
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


@pytest.mark.parametrize(
    "name", [name for name in dir(dpopt) if callable(getattr(dpopt, name)) and name != "DpoptError"]
)
def test_no_call_of_a_public_name_ends_in_an_error_of_others(name: str) -> None:
    called = getattr(dpopt, name)
    count = min(2, len(inspect.signature(called).parameters))
    for wrong in (*WRONG, float("nan"), pd.DataFrame(), np.array([[1.5]]), ["a"]):
        with contextlib.suppress(dpopt.DpoptError):
            called(*[wrong] * count)
    with pytest.raises(dpopt.errors.ArgumentError, match="expected|there is no such|unexpected|missing|too many"):
        called(*[object()] * 30, no_such=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ANY.DualQuery(round=3), r"DualQuery\(round=...\): there is no such option; did you mean rounds"),
        (lambda: ANY.Budget(epsilon=1.0), "Budget.*missing a required argument: 'delta'"),
        (
            lambda: ANY.Workload(SCHEMA, TABLE, {}),
            r"Workload\(queries=...\): found a DataFrame; expected Clauses or MarginalSet",
        ),
        (lambda: ANY.Accountant("zcpd"), r"Accountant\(\): found 'zcpd'; .*did you mean zcdp"),
        (lambda: ANY.AttributeKind(3), r"AttributeKind\(\): found an int; expected one of categorical"),
    ],
)
def test_constructors_refuse_what_they_do_not_take(call: Callable[[], object], said: str) -> None:
    with pytest.raises(dpopt.errors.ArgumentError, match=said):
        call()


def test_a_wrong_type_is_a_type_error_that_says_what_is_expected() -> None:
    with pytest.raises(
        TypeError, match=r"histogram\(schema=...\): found a Series; expected Schema, text, a path or None"
    ):
        dpopt.histogram(TABLE, pd.Series([1]), "age", epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(dpopt.errors.ArgumentError, match=r"release\(rows=...\): found a str; expected a whole number"):
        dpopt.release(TABLE, SCHEMA, rows="many", **ASKED)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["a\0b", "a\ud800b"])
def test_a_text_that_no_path_holds_is_refused_in_words(wrong: str) -> None:
    for call in (
        lambda: dpopt.release(wrong, SCHEMA, **ASKED),
        lambda: dpopt.release(TABLE, SCHEMA, out=wrong, **ASKED),
        lambda: dpopt.infer_schema(wrong),
        lambda: dpopt.BudgetLedger.create(wrong, epsilon=1.0),
    ):
        with pytest.raises(dpopt.errors.ArgumentError, match="which no name and no path holds"):
            call()


WRITERS: dict[str, Callable[[Path], object]] = {
    "release(out)": lambda path: dpopt.release(TABLE, SCHEMA, "marginals:1", out=path, **RELEASE),
    "prefixes(out)": lambda path: dpopt.prefixes(TABLE, SCHEMA, "age", steps=1, out=path, rho=1),
    "report(out)": lambda path: dpopt.report(dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1), out=path),
    "BudgetLedger.create": lambda path: dpopt.BudgetLedger.create(path, epsilon=1.0),
    "write_bit_file": lambda path: dpopt.write_bit_file(path, 2, [np.array([False, True])]),
    "Schema.write": SCHEMA.write,
    "SchemaDraft.write": lambda path: dpopt.infer_schema(TABLE).write(path),
    "Planned.save": lambda path: dpopt.plan(SCHEMA, "marginals:1", n=10, epsilon=1, algorithm="noise").save(path),
    "Synopsis.write": lambda path: dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1).write(path),
    "Model.write": lambda path: dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1).model().write(path),
    "write_solution": lambda path: write_solution(best_polynomial(Target.disjunction(3), 1), path),
}
UNWRITABLE = ("device", "name too long", "no folder", "no name", "not Unicode")


@pytest.mark.parametrize("place", UNWRITABLE)
@pytest.mark.parametrize("name", WRITERS)
def test_a_place_where_nothing_is_written_is_refused_by_the_house(name: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    places = Path("/dev/null"), *(tmp_path / one for one in ("x" * 300, "file/a", "a\0b", "a\ud800"))
    wrong = dict(zip(UNWRITABLE, places, strict=True))
    with pytest.raises(dpopt.DpoptError, match="(?i)cannot|choose|name|expected|exists|no folder"):
        WRITERS[name](wrong[place])
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_over_a_table(name: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age\n30\n")
    with pytest.raises(dpopt.DpoptError, match="exists|cannot make"):
        WRITERS[name](tmp_path / "table.csv")
    assert {one.read_text() for one in tmp_path.iterdir()} == {"age\n30\n"}


def test_what_was_meant_is_said(tmp_path: Path) -> None:
    with pytest.raises(dpopt.errors.ArgumentError, match="Write 0.5, without quotes"):
        dpopt.release(TABLE, SCHEMA, epsilon="0,5")  # type: ignore[arg-type]
    with pytest.raises(dpopt.errors.ArgumentError, match=r"use dpopt.Schema.from_json"):
        dpopt.release(TABLE, SCHEMA.to_json(), **ASKED)  # type: ignore[arg-type]
    (tmp_path / "plan.json").touch()
    with pytest.raises(dpopt.errors.PlanError, match="seem to be swapped"):
        dpopt.evaluate(__file__, tmp_path)


def test_type_checkers_see_the_same_keywords_with_the_same_types_as_a_release_takes() -> None:
    said = typing.get_type_hints(ReleaseTerms)
    assert {name: said[name] for name in said} == {
        name: hint for name, hint in types_of(Keywords).items() if name in said
    }
    of_reading, of_algorithms = types_of(ReadingKeywords), types_of(AlgorithmKeywords)
    fields = types_of(dpopt.TableReading)
    assert set(of_reading) == set(fields)
    assert {name: hint for name, hint in of_reading.items() if hint is not Any} == {
        name: fields[name] for name, hint in of_reading.items() if hint is not Any
    }
    kinds = {name: hint for kind in OPTIONS.values() for name, (hint, _) in kind.known.items()}
    assert {name: hint | None for name, hint in kinds.items()} == of_algorithms | {
        name: hint | None for name, hint in kinds.items() if name == "solver"
    }
    assert set(Keywords.__annotations__) == {*said, *of_reading, *of_algorithms, "reading"}


def test_a_misspelt_keyword_is_refused_by_type_checkers_and_with_the_nearest_name() -> None:
    """mypy, which checks the tests too, complains of an ignore that ignores nothing."""
    with pytest.raises(TypeError, match=r"release\(epsilom=...\): .*did you mean epsilon"):
        dpopt.release(TABLE, SCHEMA, epsilom=1)  # type: ignore[call-arg]
    with pytest.raises(dpopt.DpoptError, match=r"plan\(neighbors=...\): .*did you mean neighbours"):
        dpopt.plan(SCHEMA, n=10, neighbors="replace")  # type: ignore[call-arg]
    with pytest.raises(dpopt.DpoptError, match=r"histogram\(epsilom=...\): .*did you mean epsilon"):
        dpopt.histogram(TABLE, SCHEMA, "age", epsilom=1)  # type: ignore[call-arg]
    with pytest.raises(dpopt.DpoptError, match=r"evaluate\(shema=...\): .*did you mean schema"):
        dpopt.evaluate(TABLE, TABLE, shema=SCHEMA)  # type: ignore[call-arg]
    with pytest.raises(dpopt.DpoptError, match="missing a required argument: 'table'"):
        dpopt.release()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("asked", "category", "said"),
    [
        ({"delta": 0.1}, dpopt.errors.PrivacyWarning, "delta = 0.1 is not below 1/n = 0.001"),
        ({"epsilon": 21, "delta": 1e-6}, dpopt.errors.PrivacyWarning, "promises next to nothing"),
        ({"epsilon": 1e-3, "predict": True}, dpopt.errors.AccuracyWarning, "cannot beat it"),
    ],
)
def test_what_the_shell_warns_of_is_a_warning_where_it_called(asked: Any, category: type[Warning], said: str) -> None:
    terms: Any = {"epsilon": 1, "n0": 1000, "predict": False, "algorithm": "projection", **asked}
    for made in (
        lambda: dpopt.plan(SCHEMA, "marginals:2", **terms),
        lambda: dpopt.release(TABLE, SCHEMA, "marginals:2", **terms),
    ):
        with pytest.warns(category) as warned:
            made()
        assert {one.filename for one in warned if said in str(one.message)} == {__file__}


def test_the_package_lists_its_public_names_alone() -> None:
    assert dir(dpopt) == sorted(dpopt.__dict__["__all__"])


@pytest.mark.parametrize("name", ["release", "plan"])
def test_the_help_of_a_release_says_what_each_term_means(name: str) -> None:
    text = getattr(dpopt, name).__doc__
    assert [term for term in typing.get_type_hints(ReleaseTerms) if f"\n{term}: " not in text] == []
    assert max(map(len, text.splitlines())) <= 128


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
    assert found.max_error == 0
    assert len(dpopt.infer_schema(table(TABLE)).schema) == 2
    exact = {"epsilon": 1e5, "neighbours": "replace"}
    with pytest.warns(dpopt.errors.PrivacyWarning):
        counts = dpopt.histogram(table(TABLE), SCHEMA, "age", **exact)  # type: ignore[arg-type]
    values = [counts.answer(part).value for part in ("20:30", "70:80", "80:90")]
    assert values == pytest.approx([250, 250, 0], abs=1e-9)
    made = dpopt.release(table(TABLE), SCHEMA, "marginals:1", **{**ASKED, "predict": False})
    assert set(made.values) == {"age"}


ODD_COLUMNS: dict[str, Callable[[], Any]] = {
    "complex": lambda: [1j] * 9,
    "half": lambda: np.ones(9, np.float16),
    "long": lambda: np.ones(9, np.longdouble),
    "sparse": lambda: pd.arrays.SparseArray(np.arange(9)),
    "period": lambda: pd.period_range("2020", periods=9),
    "interval": lambda: pd.interval_range(0, 9),
    "complex categories": lambda: pd.Categorical(np.full(9, 1j)),
    "interval categories": lambda: pd.Categorical(pd.interval_range(0, 9)),
    "time": lambda: pd.date_range("2020", periods=9, tz="UTC"),
    "missing": lambda: [np.nan] * 9,
    "texts": lambda: ["1"] * 9,
}
ODD_TABLES: dict[str, Callable[[], Any]] = {
    "categories as index": lambda: TABLE.set_index(pd.CategoricalIndex(["a", "b"] * 500)),
    "twice": lambda: pd.concat([TABLE, TABLE], axis=1),
    "no rows": lambda: TABLE.iloc[:0],
    "nothing": pd.DataFrame,
    "levels": lambda: TABLE.set_axis(pd.MultiIndex.from_tuples([("a", "b"), ("c", "d")]), axis=1),
    "lazy": lambda: _polars(TABLE).lazy(),
}


@pytest.mark.parametrize("name", [*ODD_COLUMNS, *ODD_TABLES])
def test_odd_tables_are_read_or_refused_by_errors_of_the_house(name: str) -> None:
    age = dpopt.Schema((SCHEMA.attributes[1],))
    made = ODD_TABLES.get(name, lambda: pd.DataFrame({"age": ODD_COLUMNS[name]()}))
    read = []
    for call in (
        lambda table: dpopt.histogram(table, age, "age", epsilon=1),
        dpopt.infer_schema,
        lambda table: dpopt.evaluate(table, table, schema=age),
        lambda table: dpopt.read_binary_table(table, dpopt.Schema.binary(1)),
        lambda table: dpopt.halfspaces(table, 0.1, columns=["age"], epsilon=1),
        lambda table: dpopt.degrees(table, nodes=10, epsilon=1),
    ):
        with contextlib.suppress(dpopt.DpoptError):
            call(made())
            read.append(call)
    assert bool(read) or name not in {"half", "long", "sparse", "texts", "categories as index"}


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
    assert found.max_error == 0
    other = dpopt.evaluate(1 - WIDE, WIDE_KINDS[kind](WIDE), schema=schema, workload="marginals:3")
    assert other.max_error > 0
    made = dpopt.release(
        WIDE_KINDS[kind](WIDE), schema, "marginals:1", neighbours="replace", **{**ASKED, "predict": False}
    )
    assert made.job.plan.size == 130


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (WIDE + 1, "values other than zeros and ones"),
        (WIDE[:, :2], "2 columns, and 3 are declared"),
        (pd.DataFrame({"x0": ["a"], "x1": ["b"], "x2": ["c"]}), "'x0' holds values other than zeros and ones"),
        (pd.DataFrame({"x0": [0, None], "x1": [0, 1], "x2": [0, 1]}), "'x0' holds values other than zeros and ones"),
    ],
)
def test_wide_tables_of_other_values_are_refused(table: Any, said: str) -> None:
    with pytest.raises(dpopt.DpoptError, match=said):
        dpopt.read_binary_table(table, dpopt.Schema.binary(3))


def test_edges_may_be_an_array_of_two_columns() -> None:
    edges = np.array([[1, 2], [2, 3], [3, 4]])
    with pytest.warns(dpopt.errors.PrivacyWarning):
        assert dpopt.degrees(edges, nodes=5, epsilon=1e5).answer(2) == 2


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook shows: this process is made to look like its kernel."""
    shown: list[str] = []
    place = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: place)
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setattr(NotebookProgress, "APART", 0)  # every drawing
    return shown


def test_progress_in_a_notebook_keeps_nothing_that_depends_on_the_table(drawn: list[str]) -> None:
    assert type(shown_progress(False)) is Progress
    progress = shown_progress(None)
    with stage(progress, "<fitting>"):
        progress.share(0.25)
        progress.round(3, 4, 0.5)
        progress.step(4, 4, "a <b> step")
        progress.note("public")
        progress.note(Detail("why it was chosen"))
        progress.owner_note("3 rows break a rule")
    assert 'value="0.250"' in drawn[1]
    assert "&lt;fitting&gt;" in drawn[1]
    assert "4 of 4, a &lt;b&gt; step" in drawn[3]
    assert drawn[-1] == "public"
    assert not any("rule" in one or "chosen" in one for one in drawn)


PROGRESS: dict[str, Callable[..., object]] = {
    "release": lambda **how: dpopt.release(TABLE, SCHEMA, "marginals:1", **ASKED, **how),
    "fit": lambda **how: dpopt.Synthesizer(SCHEMA, "marginals:1", **ASKED, **how).fit(TABLE),
    "histogram": lambda **how: dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1, **how),
    "summary": lambda **how: dpopt.summary(TABLE, SCHEMA, k=1, epsilon=10, **how),
}


@pytest.mark.parametrize("name", PROGRESS)
def test_notebooks_show_progress_unless_told_not_to(name: str, drawn: list[str]) -> None:
    PROGRESS[name]()
    assert any("<progress" in one for one in drawn)
    assert "<progress" not in drawn[-1]  # the bar goes when the last stage has ended
    drawn.clear()
    PROGRESS[name](progress=False)
    assert drawn == []


def test_scikit_learn_takes_a_synthesizer_as_an_estimator() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    first = dpopt.Synthesizer(SCHEMA, "marginals:2", **ASKED)
    again = sklearn.clone(first)
    assert again is not first
    assert again.get_params() == {"schema": SCHEMA, "workload": "marginals:2", **ASKED}
    assert again.set_params(epsilon=2, workload="marginals:1").get_params()["epsilon"] == 2
    assert first.get_params()["epsilon"] == 1
    assert repr(again).startswith("Synthesizer(schema=Schema(2 attributes")


@pytest.mark.parametrize("more", [{}, {"weights": True}, {"algorithm": "mwem"}])
def test_a_synthesizer_gives_any_number_of_rows(more: dict[str, Any]) -> None:
    terms: dict[str, Any] = {**ASKED, "epsilon": 100, "n0": 1000, **more}
    with pytest.warns(dpopt.errors.PrivacyWarning):  # of so large an epsilon
        fitted = dpopt.Synthesizer(SCHEMA, "marginals:2", **terms).fit(TABLE)
    assert fitted.sample().equals(fitted.release_.to_pandas())
    for number in (1, 40, 3000):
        rows = fitted.sample(number)
        assert rows.equals(fitted.sample(number))
        assert list(rows.columns) == ["smoker", "age"]
        assert len(rows) == number
        assert abs(rows["smoker"].mean() - 0.5) <= 0.5 / number + 0.02
    with pytest.raises(dpopt.DpoptError, match="at least 1"):
        fitted.sample(0)
    with pytest.raises(dpopt.DpoptError, match="whole number"):
        fitted.sample("many")  # type: ignore[arg-type]
    with pytest.raises(dpopt.DpoptError, match="no such option"):
        dpopt.Synthesizer(SCHEMA, nothing=1).fit(TABLE)


def script_of_a_user() -> tuple[object, ...]:
    """Is never called: mypy, which checks the tests too, accepts it, and complains of an ignore that ignores nothing."""
    schema = dpopt.Schema((dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 50, 100)),))
    draft: dpopt.Schema = dpopt.infer_schema("table.csv").schema
    workload: dpopt.Workload = dpopt.parse_workload("marginals:1", draft)
    planned: dpopt.Planned = dpopt.plan(schema, workload, n=1000, epsilon=1)
    made: dpopt.SyntheticRelease = dpopt.release("table.csv", plan=planned, progress=False, out=Path("out"))
    algorithm: object = made.chosen["algorithm"]
    rows: int = len(made.sample(10)) + len(dpopt.Synthesizer(schema, epsilon=1.5).fit("table.csv").sample())
    made.save("folder")
    report: str = made.report()
    judged: dpopt.Evaluation = dpopt.evaluate(made, "table.csv")
    errors: float = judged.mean_error
    histogram = dpopt.histogram("table.csv", schema, "age", epsilon=1, budget=dpopt.BudgetLedger("owner.budget"))
    count: float = histogram.answer("0:50").value
    text: str = repr(histogram)
    dpopt.histogram("table.csv", schema, "age", epsilon="1")  # type: ignore[arg-type]
    dpopt.release("table.csv", 3, epsilon=1)  # type: ignore[arg-type]
    dpopt.histogram("table.csv", schema, "age", epsilonn=1)  # type: ignore[call-arg]
    return algorithm, rows, report, errors, count, text

"""What is assumed of the share of ones in a wide table without a declared one: by layout and width, never by the records."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.release import release
from dpopt.algorithms.request import (
    BIT_TABLE,
    LEAST_SPARSE_COLUMNS,
    ONES_IN_A_RECORD,
    SPARSE_MATRIX,
    Terms,
    assumed_density,
    check_density_known,
)
from dpopt.algorithms.stating import density_note, plan_and_statement
from dpopt.errors import PlanError
from dpopt.files.codec import encode
from dpopt.private.readers.binary.bit_file import bit_table
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import SCHEMA, Heard
from tests.wide_tables import FILES

WIDTH = 2000
BINARY = Schema.binary(WIDTH)
QUERIES = "conjunctions:3,count=500,seed=1"
BUDGET: dict[str, Any] = {"algorithm": "dualquery", "epsilon": 1.0, "delta": 1e-6, "predict": False}
SIZE = 40


def planned(
    form: str | None, schema: Schema = BINARY, **changes: Any
) -> tuple[DualQueryPlan, dict[str, Any], Workload]:
    asked = parse_workload(QUERIES, schema)
    made, statement = plan_and_statement(Terms.of(**{**BUDGET, **changes}), 30_000, asked, Heard(), form=form)
    assert isinstance(made, DualQueryPlan)
    return made, statement, asked


@pytest.mark.parametrize("form", ["npz", "mtx", "baskets", "pairs", SPARSE_MATRIX])
def test_a_layout_that_lists_ones_means_a_sparse_table(form: str) -> None:
    assumed = assumed_density(BINARY, form)
    assert assumed is not None
    assert assumed.density == ONES_IN_A_RECORD / WIDTH
    made, statement, _ = planned(form)
    assert made.step == Decimal("2.5")
    assert made.draws < 100
    assert made == planned(None, density=ONES_IN_A_RECORD / WIDTH)[0]
    assert statement["assumed"] == encode(assumed)
    assert "declared" not in statement
    note = density_note(made, statement)
    assert note is not None
    assert "dpopt assumes 40 ones in a record of 2,000 columns" in note


@pytest.mark.parametrize("form", ["bits", BIT_TABLE, None])
def test_other_tables_are_planned_as_dense_ones(form: str | None) -> None:
    made, statement, _ = planned(form)
    assert made.step == Decimal("0.4")
    assert made == planned(None, density=0.5)[0]
    assert (statement["assumed"]["density"], statement["assumed"]["form"]) == (None, form)
    note = density_note(made, statement)
    assert note is not None
    assert ("--layout" in note) == (form is None)


def test_few_columns_are_dense_whatever_their_layout() -> None:
    """With 399 columns, 40 ones would be more than a tenth."""
    few, enough = Schema.binary(LEAST_SPARSE_COLUMNS - 1), Schema.binary(LEAST_SPARSE_COLUMNS)
    assert planned("npz", few)[0].step == Decimal("0.4")
    assert "fewer than 400" in planned("npz", few)[1]["assumed"]["because"]
    assert planned("npz", enough)[0].step == Decimal("2.5")


def test_what_is_declared_stands_above_what_is_assumed() -> None:
    for density, form in ((0.5, "npz"), (0.001, "bits")):
        made, statement, _ = planned(form, density=density)
        assert made.step == Decimal("0.4" if density == 0.5 else "2.5")
        assert statement["declared"] == {"density": density}
        assert "assumed" not in statement
        assert density_note(made, statement) is None


def test_other_tables_have_no_such_assumption() -> None:
    assert assumed_density(SCHEMA, None) is None
    given, statement, _ = planned("npz", rounds=5, draws=9, step="1.5")
    assert density_note(given, statement) is None
    assert statement["assumed"]["density"] == 0.02  # predictions assume it all the same


def test_predictions_assume_it_too() -> None:
    _, statement, asked = planned("npz", predict=True)
    assert statement["predicted"] == planned(None, density=0.02, predict=True)[1]["predicted"]
    assert statement["predicted"]["baselines"]["zeros"]["mean_error"] < 0.1
    assert len(asked) == 500


def _filled(folder: Path, kind: str, cells: np.ndarray[Any, Any]) -> Any:
    if kind in FILES:
        FILES[kind](folder, cells)
        return folder
    return sp.csr_array(cells) if kind == SPARSE_MATRIX else bit_table(len(cells), iter(cells.T.astype(bool)))


@pytest.mark.parametrize("kind", ["csr", SPARSE_MATRIX])
def test_nothing_that_is_assumed_depends_on_the_records(tmp_path: Path, kind: str) -> None:
    """A table of zeros and one of ones: the same plan, and the release says what was assumed."""
    found = []
    for share in (0, 1):
        cells = np.full((SIZE, WIDTH), share, dtype=np.uint8)
        out = tmp_path / f"out{share}"
        finished = release(
            _filled(tmp_path / f"table{share}", kind, cells), BINARY, QUERIES, out=out, n0=SIZE, **BUDGET
        )
        found.append((out / "plan.json").read_bytes())
        assert json.loads((out / "release.json").read_text())["assumed"] == finished.job.statement["assumed"]
    assert found[0] == found[1]
    assumed = json.loads(found[0])["statement"]["assumed"]
    assert assumed["form"] == {"csr": "npz"}.get(kind, kind)
    assert assumed["density"] == 0.02


@pytest.mark.parametrize("algorithm", ["auto", "dualquery"])
@pytest.mark.parametrize("kind", ["bits", BIT_TABLE])
@pytest.mark.parametrize("n0", [SIZE, None])
def test_a_wide_table_is_not_planned_as_dense_unasked(
    tmp_path: Path, algorithm: str, kind: str, n0: int | None
) -> None:
    """Refused before anything is spent, or left behind, whatever the records hold; the message names the option."""
    said = []
    asked = {**BUDGET, "algorithm": algorithm, "out": tmp_path / "out", "n0": n0}
    for share in (0, 1):
        table = _filled(tmp_path / f"table{share}", kind, np.full((SIZE, WIDTH), share, dtype=np.uint8))
        with pytest.raises(PlanError, match="2,000 columns of zeros and ones, and no share of ones") as refusal:
            release(table, BINARY, QUERIES, **asked)
        said.append(str(refusal.value))
    assert said[0] == said[1]
    assert "Give density=" in said[0]
    assert not (tmp_path / "out").exists()


def test_a_share_of_ones_is_asked_for_only_where_a_plan_depends_on_it() -> None:
    narrow, few = Schema.binary(100), Schema.binary(LEAST_SPARSE_COLUMNS - 1)
    named = {**BUDGET, "algorithm": "projection"}
    given = {**BUDGET, "rounds": 5, "draws": 9, "step": "1.5"}
    for terms, schema, form in (
        (BUDGET, narrow, None),
        (named, BINARY, None),
        (given, BINARY, None),
        (BUDGET, BINARY, "npz"),
        ({**BUDGET, "density": 0.5}, BINARY, "bits"),
    ):
        check_density_known(Terms.of(**terms), schema, form)
    for schema, form in ((few, "npz"), (Schema.binary(101), None)):
        with pytest.raises(PlanError, match="Give density=") as refusal:
            check_density_known(Terms.of(**BUDGET), schema, form)
        assert ("layout=" in str(refusal.value)) == (form is None)

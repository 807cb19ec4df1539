from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpopt.accounting.charges import ChargeKind
from dpopt.algorithms.dualquery.plan import OneWayMeasurement
from dpopt.algorithms.replay import load, replay
from dpopt.algorithms.run_release import run_release
from dpopt.errors import SchemaError
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.job import refuse_unreviewed
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Sources
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA, Heard, codes, dataset, job, seeded, small_release

ESTIMATED: dict[str, Any] = {
    "free_attributes": FreeAttributes.ESTIMATED,
    "one_way": OneWayMeasurement(5.0, gaussian=True),
}


def test_a_run_with_a_seeded_source_repeats_and_is_not_private() -> None:
    one, two = small_release(), small_release()
    assert one.statement == two.statement
    assert np.array_equal(one.records.distinct, two.records.distinct)
    assert not one.ledger.is_private
    assert one.ledger.entries[0].kind is ChargeKind.NOT_PRIVATE


def test_a_run_spends_its_plan_charge_by_charge() -> None:
    finished = run_release(dataset(), job(**ESTIMATED), None)
    assert finished.ledger.entries == finished.job.plan.charges()
    assert finished.ledger.is_private
    spent = finished.ledger.spent()
    assert spent.epsilon == finished.job.plan.budget.spent(finished.job.plan.charges()).epsilon


@pytest.mark.parametrize("output", [{}, {"rows": 9}, {"format": "parquet"}, {"format": "parquet", "rows": 4}])
def test_the_frame_in_memory_is_the_table_on_file(tmp_path: Path, output: dict[str, object]) -> None:
    finished = small_release(tmp_path / "release", output=output)
    frame = finished.to_pandas()
    if output.get("format") == "parquet":
        on_file = pd.read_parquet(tmp_path / "release" / "synthetic.parquet")
    else:
        on_file = pd.read_csv(tmp_path / "release" / "synthetic.csv", keep_default_na=False, na_values=["?"])
    pd.testing.assert_frame_equal(frame, on_file, check_dtype=False)
    assert ("weight" in frame.columns) == ("rows" not in output)
    assert list(frame.columns[:4]) == ["colour", "age", "smoker", "town"]
    assert frame["smoker"].dtype == bool
    assert set(frame["age"]) <= {10, 30, 50}
    assert len(frame) == output.get("rows", len(finished.records.distinct))
    if "rows" not in output:
        assert frame["weight"].sum() == pytest.approx(1)


def test_an_attribute_named_weight_keeps_its_name_in_memory_and_on_file(tmp_path: Path) -> None:
    first, *rest = SCHEMA.attributes
    named = Schema((Attribute("weight", AttributeKind.CATEGORICAL, first.values), *rest))
    table = PrivateDataset.from_codes(named, list(codes().T))
    finished = run_release(table, job(schema=named), tmp_path / "release", sources=Sources(sampler=seeded()))
    frame = finished.to_pandas()
    assert list(frame.columns) == ["weight", "age", "smoker", "town", "dpopt_weight"]
    assert finished.statement["records"]["weight_column"] == "dpopt_weight"
    assert list(pd.read_csv(tmp_path / "release" / "synthetic.csv").columns) == list(frame.columns)


def test_the_records_on_file_are_read_under_their_schema(tmp_path: Path) -> None:
    finished = small_release(tmp_path / "release", output={"rows": 11})
    again = read_table(tmp_path / "release" / "synthetic.csv", finished.record_schema)
    assert np.array_equal(np.array(again._columns).T, finished.written.rows())


def test_a_release_is_read_and_rebuilt_from_its_folder(tmp_path: Path) -> None:
    finished = small_release(tmp_path / "release", **ESTIMATED)
    loaded = load(str(tmp_path / "release"))
    rebuilt = replay(str(tmp_path / "release"), str(tmp_path / "again"))
    for other in (loaded, rebuilt):
        assert np.array_equal(other.records.distinct, finished.records.distinct)
        assert other.statement["privacy"] == finished.statement["privacy"]
        assert other.statement["certificates"] == finished.statement["certificates"]
    for path in (tmp_path / "release").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_draft_is_refused_unless_it_is_accepted() -> None:
    refuse_unreviewed(SCHEMA, accepted=False)
    draft = Schema(SCHEMA.attributes, draft=True)
    refuse_unreviewed(draft, accepted=True)
    with pytest.raises(SchemaError, match="is a draft made from private data and not reviewed"):
        refuse_unreviewed(draft, accepted=False)
    with pytest.raises(SchemaError, match="is a draft"):
        run_release(dataset(), job(schema=draft), None)


def test_stages_and_rounds_are_reported() -> None:
    reported = Heard()
    finished = run_release(dataset(), job(), None, sources=Sources(sampler=seeded()), progress=reported)
    assert reported.stages == ["counting exact answers", "playing rounds", "writing records"]
    assert set(reported.seconds) == set(reported.stages)
    assert all(seconds >= 0 for seconds in reported.seconds.values())
    assert reported.shares[-1] == 1
    objectives = [done.certificate.objective for done in finished.played]
    assert reported.rounds == [
        (number, 6, (objective or 0) / 8) for number, objective in enumerate(objectives, start=1)
    ]

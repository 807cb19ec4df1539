"""What is proposed of a large table, and what is not: mappings, implications, orders, sums; how proposals are accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import ArgumentError, SchemaError
from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.studio.tables import Table
from tests.cli.command_line import flat, succeed

ROWS = 6_000


def stays(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    state, days, age = rng.integers(0, 20, rows), rng.geometric(0.1, rows), rng.integers(0, 95, rows)
    admitted = np.datetime64("2023-01-01") + rng.integers(0, 700, rows)
    food, rent = rng.integers(0, 500, rows), rng.integers(0, 300, rows)
    income = rng.lognormal(10, 1, rows).round()
    income[age < 15] = np.nan
    sex = rng.choice(["f", "m"], rows)
    return pd.DataFrame(
        {
            "state": [f"S{one:02d}" for one in state], "region": np.array(["N", "E", "S", "W"])[state % 4],
            "admitted": admitted, "left": admitted + days, "stay": days,
            "intensive": np.minimum(rng.geometric(0.3, rows) - 1, days), "food": food, "rent": rent, "spent": food + rent,
            "ages": np.where(age < 15, "child", "adult"), "income": income, "sex": sex,
            "pregnant": np.where((sex == "f") & (rng.random(rows) < 0.2), "yes", "no"), "noise": rng.integers(0, 5, rows),
        }
    )  # fmt: skip


SAYS = [
    "'spent' is 'food' + 'rent' in all 6,000 rows",
    "'stay' is 'left' less 'admitted' in days in all 6,000 rows",
    "'state' determines 'region' in all 6,000 rows",
    "'income' determines 'ages' in all 6,000 rows",
    "if 'sex' is m, then 'pregnant' is no",
    "'intensive' is at most 'left' in all 6,000 rows",
]


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_what_every_row_has_so_is_proposed_from_all_kinds_of_tables(form: str, tmp_path: Path) -> None:
    table: Any = stays()
    if form == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
    elif form == "parquet":
        table.to_parquet(tmp_path / "t.parquet")
    draft = infer_schema(table if form == "frame" else tmp_path / f"t.{form}")
    assert len(draft.proposals) == len(SAYS)
    for one, says in zip(draft.proposals, SAYS, strict=True):
        assert one.says.startswith(says)
    assert f"proposal 1: {SAYS[0]}" in repr(draft)
    assert "1 more proposal is on the page and in the file" in repr(draft)
    assert all(says in draft.to_html().replace("&#39;", "'") for says in SAYS)


def test_one_row_that_breaks_it_ends_each_proposal() -> None:
    table: Any = stays()
    table.loc[17, "region"] = "N" if table.loc[17, "region"] != "N" else "S"
    table.loc[18, "stay"] += 1
    table.loc[19, "spent"] += 1
    table.loc[20, "intensive"] = 500
    table.loc[table.index[table["sex"] == "m"][5], "pregnant"] = "yes"
    table.loc[table.index[table["ages"] == "child"][5], "income"] = 1_000.0
    made = [one.says for one in infer_schema(table).proposals]  # what holds still, such as of the other states
    assert not any(one.startswith(tuple(SAYS)) for one in made)


def test_one_row_of_a_table_that_is_thinned_first_ends_a_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpopt.private.drafts.guess_rules._CELLS", 20_000)
    monkeypatch.setattr("dpopt.private.drafts.guess_rules._COLUMNS", 13)
    table: Any = stays()
    assert len(infer_schema(table).proposals) == len(SAYS)
    table.loc[17, "spent"] += 1  # not among every fifth row
    assert not any(one.says.startswith(SAYS[0]) for one in infer_schema(table).proposals)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rows", [2, 50, 1_200])
def test_nothing_is_proposed_of_unrelated_columns(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    some = {f"x{one}": rng.integers(0, rng.integers(2, 40), rows) for one in range(12)}
    dominant = {f"d{one}": np.where(rng.random(rows) < 0.99, "a", "b") for one in range(4)}
    assert infer_schema(pd.DataFrame({**some, **dominant})).proposals == ()


def test_orders_are_proposed_of_one_unit_and_those_of_lengths_and_plain_numbers_stand_last() -> None:
    rng, rows = np.random.default_rng(0), ROWS
    sub, age = rng.integers(0, 35, rows), rng.integers(20, 90, rows)
    few = pd.DataFrame(
        {"sub_grade": sub, "grade": sub // 5, "EDU": np.minimum(rng.integers(0, 20, rows), age), "AGEP": age}
    )
    few["loan_amount"] = rng.integers(100, 9_000, rows)
    few["paid_amount"] = (few["loan_amount"] * rng.random(rows)).astype(int)
    table = pd.concat((few, stays()), axis=1)
    table.loc[:500, ["left", "stay"]] = None, np.nan
    says = [one.says for one in infer_schema(table).proposals]
    assert [one[:36] for one in says if "at most" in one] == [
        "'paid_amount' is at most 'loan_amoun", "'intensive' is at most 'left' in all",
    ]  # fmt: skip
    assert "at most 'left'" in says[-1]
    assert any(one.startswith("'stay' is 'left' less 'admitted' in days in all 5,499 rows") for one in says)


def test_rare_values_of_a_mapping_are_left_open() -> None:
    table = stays()[["state", "region"]]
    table.loc[:2, "state"] = "S99"
    table.loc[:2, "region"] = "N"
    (one,) = infer_schema(table).proposals
    (rule,) = one.rules
    assert [["S99"], ["E", "N", "S", "W"]] in rule["mapping"]
    assert "1 of its values, each in fewer than 5 rows" in one.says


def test_accepted_proposals_are_declared_by_every_door(tmp_path: Path) -> None:
    table: Any = stays()
    table.to_csv(tmp_path / "t.csv", index=False)
    draft = infer_schema(tmp_path / "t.csv")
    every = range(1, len(draft.proposals) + 1)
    reviewed = draft.reviewed(accept=every)
    assert len(reviewed.rules) == 4
    assert not {"stay", "rent"} & {*reviewed.names}
    assert reviewed.attributes[reviewed.index("spent")].after == "food"
    assert draft.reviewed({"noise": None}, accept=[4]).rules == draft.reviewed(accept=[4]).rules

    shell = flat(succeed("schema", "infer", tmp_path / "t.csv", "-o", tmp_path / "d.json"))
    assert f"proposal 1: {SAYS[0]}" in shell
    assert "perhaps by chance" in shell
    written = json.loads((tmp_path / "d.json").read_text())
    assert [one["accept"] for one in written["proposed"]] == [False] * len(SAYS)
    assert dpopt.Schema.from_json({**written, "draft": False}) == draft.reviewed()
    for one in written["proposed"]:
        one["accept"] = True
    assert dpopt.Schema.from_json({**written, "draft": False}) == reviewed
    written["proposed"][0]["accept"] = "yes"
    with pytest.raises(SchemaError, match="proposal number 1: 'accept' is true or false, found \"yes\""):
        dpopt.Schema.from_json(written)

    studio = Table.opened(tmp_path / "t.csv", "t", tmp_path)
    studio.review(studio.columns(), studio.generation)
    studio.rule("", studio.generation, {*every})
    assert studio.schema == reviewed
    studio.rule("", studio.generation, set())
    assert studio.schema == draft.reviewed()


def test_a_release_obeys_what_was_accepted(tmp_path: Path) -> None:
    table = stays()[["admitted", "left", "intensive", "food", "rent", "spent"]]
    draft = infer_schema(table)
    made = dpopt.release(
        table, draft.reviewed(accept=[1, 2]), "marginals:2", epsilon=20, predict=False, out=tmp_path / "out"
    )
    rows = made.to_pandas()
    days = (pd.to_datetime(rows["left"]) - pd.to_datetime(rows["admitted"])).dt.days
    assert (rows["intensive"].astype(int) <= days).all()
    assert (rows["spent"] >= rows["food"]).all()


def test_a_length_whose_start_is_left_out_is_a_date_again(tmp_path: Path) -> None:
    table = stays()[["admitted", "left", "sex"]]
    table.to_csv(tmp_path / "t.csv", index=False)
    draft = infer_schema(tmp_path / "t.csv")
    assert draft.columns[1].type == "length"
    alone = draft.reviewed({"admitted": None})
    assert (alone.names, alone.attributes[0].after) == (("left", "sex"), None)
    assert alone.attributes[0].date_format == "%Y-%m-%d"
    studio = Table.opened(tmp_path / "t.csv", "t", tmp_path)
    columns = studio.columns()
    columns[0] = type(columns[0])(**{**{key: getattr(columns[0], key) for key in columns[0].__slots__}, "kept": False})
    studio.review(columns, studio.generation)
    assert studio.schema == alone


def test_a_draft_in_place_of_a_schema_is_sent_to_its_review() -> None:
    table = pd.DataFrame({"sex": ["f", "m"] * 50})
    for use in (dpopt.release, dpopt.read_table):
        with pytest.raises(ArgumentError, match=r"give draft.reviewed\(\)"):
            use(table, infer_schema(table))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="of whole numbers declare 'integer': true instead"):
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 9), decimals=0)


def test_thousands_of_columns_are_tried_within_bounds() -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 50, (1_200, 1_500)), columns=[f"g{one}" for one in range(1_500)])
    wide["g701"] = wide["g700"] // 10
    assert [one.says[:24] for one in infer_schema(wide).proposals] == ["'g700' determines 'g701'"]

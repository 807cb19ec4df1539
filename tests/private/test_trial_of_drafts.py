"""What a new user's table holds: quoted decimal commas, lengths of time as texts, columns that follow from others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import DpoptError, SchemaError
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.readers.read_table import read_table
from tests.cli.command_line import refuse, succeed


@pytest.mark.parametrize(("sign", "separator"), [(",", None), (";", ";")])
def test_quotes_hold_decimal_commas_together(sign: str, separator: str | None, tmp_path: Path) -> None:
    path, amounts = tmp_path / "bills.csv", np.arange(900) * 13.37
    texts = [f"{one:,.2f}".translate(str.maketrans(",.", ".,")) for one in amounts.tolist()]
    path.write_text(f"row{sign}bill\n" + "".join(f'{i}{sign}"{one}"\n' for i, one in enumerate(texts)))
    draft = dpopt.infer_schema(path)
    (bill,) = (one for one in draft.schema.attributes if one.name == "bill")
    assert (bill.kind, bill.decimals) == (dpopt.AttributeKind.NUMERIC, 2)
    assert dict(draft.schema.reading) == {"decimal": ",", "thousands": "."} | (
        {} if separator is None else {"separator": separator}
    )
    codes = read_table(path, dpopt.Schema((bill,), reading=draft.schema.reading))._columns[0]
    assert codes.tolist() == (np.searchsorted(np.array(bill.edges[1:-1]), np.round(amounts, 2), side="right")).tolist()
    declared = dpopt.Schema((bill,))
    how = dpopt.TableReading(decimal=",", thousands=".", separator=separator)
    assert read_table(path, declared, how)._columns[0].tolist() == codes.tolist()
    if sign == ",":
        path.write_text('row,bill\n1,"1.266,25"\n2,438,50\n')
        with pytest.raises(DpoptError, match="line 3: 3 fields"):
            read_table(path, declared, how)
        with pytest.raises(SchemaError, match="both the separator and the decimal mark in a file without quotes"):
            read_table(path, declared, dpopt.TableReading(decimal=",", quotes=False))


@pytest.mark.parametrize("longest", [4, 30])
def test_hours_above_23_decide_for_lengths_of_time_and_others_say_how_to_declare_them(longest: int) -> None:
    seconds = np.arange(2_000) * 7919 % (longest * 3600)
    texts = [f"{one // 3600}:{one // 60 % 60:02d}:{one % 60:02d}" for one in seconds.tolist()]
    table = pd.DataFrame({"wait": [*texts, "", "n/a"]})
    draft = dpopt.infer_schema(table)
    (wait,), (review,) = draft.schema.attributes, draft.columns
    declared: dict[str, Any] = {}
    if longest < 24:
        assert review.type == "date"
        (said,) = (one for one in review.check if one.startswith("if this is a length of time, declare "))
        declared = {"wait": json.loads(said.partition("declare ")[2])}
        (wait,) = draft.reviewed(declared).attributes
    assert (wait.duration, wait.missing_texts) == ("seconds", ("n/a",))
    codes = read_table(table, draft.reviewed(declared))._columns[0]
    assert codes[:-2].tolist() == np.searchsorted(np.array(wait.edges[1:-1]), seconds, side="right").tolist()
    assert (codes[-2:] == wait.missing_code).all()


def test_a_column_that_follows_from_others_names_the_proposal_that_leaves_it_out() -> None:
    rows = 2_000
    random = np.random.default_rng(2)
    days, stay = random.integers(0, 300, rows), random.integers(0, 15, rows)
    came = np.datetime64("2024-01-01") + days
    draft = dpopt.infer_schema(
        pd.DataFrame({"came": came.astype(str), "left": (came + stay).astype(str), "stay": stay})
    )
    (number,) = (i for i, one in enumerate(draft.proposals, 1) if one.columns.get("stay", 0) is None)
    assert f"it follows from other columns; accept proposal {number}" in draft.columns[2].check[0]
    assert "stay" not in draft.reviewed(accept=[number]).names


@pytest.mark.parametrize("engine", ["memory", "stream", "dask:1"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_release_is_written_as_its_table_at_both_doors(engine: str, ending: str, tmp_path: Path) -> None:
    table, schema = (tmp_path / f"t.{ending}", dpopt.Schema((dpopt.Attribute("s", dpopt.AttributeKind.BOOLEAN),)))
    if (engine, ending) == ("dask:1", "csv"):
        pytest.skip("workers read no single CSV file")
    frame = pd.DataFrame({"s": [True, False] * 200})
    frame.to_parquet(table) if ending == "parquet" else frame.to_csv(table, index=False)
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "n0": 400, "algorithm": "projection", "predict": False}
    dpopt.release(table, schema, "marginals:1", engine=engine, out=tmp_path / "out", **asked)
    assert (tmp_path / "out" / f"synthetic.{ending}").exists()
    if engine == "memory":
        schema.write(tmp_path / "s.json")
        words = "--workload marginals:1 --epsilon 1 --delta 1e-6 --n0 400 --algorithm projection --no-predict"
        succeed("release", table, "--schema", tmp_path / "s.json", "--out", tmp_path / "shell", *words.split())
        assert (tmp_path / "shell" / f"synthetic.{ending}").exists()
        dpopt.release(table, schema, "marginals:1", out=tmp_path / "asked", format="csv", **asked)
        assert (tmp_path / "asked" / "synthetic.csv").exists()


def test_dask_leaves_nothing_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    workers = DaskWorkers.start(1)
    assert all(one.name.startswith("dpopt-dask-") for one in tmp_path.iterdir())
    workers.close()
    assert list(tmp_path.iterdir()) == []


def test_plans_take_the_person_as_every_command_does(tmp_path: Path) -> None:
    dpopt.Schema((dpopt.Attribute("s", dpopt.AttributeKind.BOOLEAN),)).write(tmp_path / "s.json")
    plan = [
        "plan",
        "--schema",
        tmp_path / "s.json",
        "--n",
        900,
        "--epsilon",
        1,
        "--workload",
        "marginals:1",
        "--no-predict",
    ]
    said = [succeed(*plan, "--rows-per-person", 3, *person) for person in ([], ["--person", "customer"])]
    assert said[0] == said[1]
    assert "go together" in refuse(*plan, "--person", "customer")
    bins = ["histogram", "plan", "--bins", 8, "--epsilon", 1, "--rows-per-person", 3]
    assert succeed(*bins) == succeed(*bins, "--person", "customer")
    assert "go together" in refuse(*bins[:-2], "--person", "customer")

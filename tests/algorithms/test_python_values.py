"""What Python hands over: NumPy's numbers wherever numbers are taken, paths of schemas, tables that were read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.arguments import plain
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.tables.dataset import PrivateDataset

NUMERIC = dpopt.AttributeKind.NUMERIC
SCHEMA = dpopt.Schema(
    (dpopt.Attribute("x", dpopt.AttributeKind.CATEGORICAL, ("a", "b")), dpopt.Attribute("n", NUMERIC, edges=(0, 2, 4)))
)
TABLE = pd.DataFrame({"x": ["a", "b"] * 500, "n": [1, 3, 3, 1] * 250})
ASKED: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "n0": 1000, "predict": False, "algorithm": "projection"}


def declared(**attribute: Any) -> dpopt.Schema:
    return dpopt.Schema.from_json({"dpopt_schema": 1, "attributes": [{"name": "n", **attribute}]})


def released(**terms: Any) -> Any:
    return dpopt.release(TABLE, SCHEMA, "marginals:1", **ASKED | terms).job.plan


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "epsilon": lambda k: released(epsilon=k(1)).budget,
    "rho": lambda k: released(epsilon=None, delta=None, rho=k(1)).budget,
    "edges": lambda k: dpopt.Attribute("n", NUMERIC, edges=(k(0), k(5)), representatives=(k(2),), other=k(1)),
    "edges in an array": lambda k: dpopt.Attribute("n", NUMERIC, edges=np.array([0, 5], dtype=k)),  # type: ignore[arg-type]
    "edges in JSON": lambda k: declared(type="numeric", edges=[k(0), k(3)]),
    "an array in JSON": lambda k: declared(type="numeric", edges=np.array([0, 3], dtype=k)),
    "durations": lambda k: declared(type="duration", unit="days", edges=[k(0), k(3)]),
    "plan": lambda k: dpopt.plan(SCHEMA, "marginals:1", **ASKED | {"epsilon": k(1)}).request.terms.budget(),
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "n0": lambda k: released(n0=k(100)),
    "rows": lambda k: released(rows=k(7)),
    "seed": lambda k: released(seed=k(7)).seed,
    "options": lambda k: dpopt.DualQuery(rounds=k(3), draws=k(2), step=0.1),
    "values": lambda k: dpopt.Attribute("x", dpopt.AttributeKind.CATEGORICAL, values=(k(0), k(5)), occurring=(k(0),)),
    "values in JSON": lambda k: declared(type="categorical", values=[k(0), k(5)]),
    "bins": lambda k: declared(type="numeric", bins=k(3), range=[k(0), k(3)]),
    "prefix": lambda k: dpopt.Attribute("x", dpopt.AttributeKind.CATEGORICAL, values=("a",), prefix=k(1)),
    "rows per person": lambda k: dpopt.TableReading(person="x", rows_per_person=k(3)),
    "bins of a draft": lambda k: dpopt.infer_schema(TABLE, bins=k(5)).schema,
    "binary": lambda k: dpopt.Schema.binary(k(5)).to_json(),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint16, np.bool_])
def test_numbers_of_numpy_are_numbers(name: str, kind: Any) -> None:
    if kind is np.bool_:  # a truth value is not a number, of NumPy as of Python
        with pytest.raises(dpopt.DpoptError):
            NUMBERS[name](kind)
    else:
        assert NUMBERS[name](kind) == NUMBERS[name](int)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16])
def test_whole_numbers_of_numpy_are_whole_numbers(name: str, kind: Any) -> None:
    assert repr(WHOLE[name](kind)) == repr(WHOLE[name](int))


def test_what_is_no_number_stays_as_it_is() -> None:
    array, frame = np.arange(3), pd.DataFrame({"x": [1]})
    assert plain(array) is array
    assert plain(frame) is frame
    given = plain({"a": [np.int64(1), (np.float32(2), {"b": np.arange(2)})], "c": np.str_("x"), "d": np.bool_(True)})
    assert repr(given) == "{'a': [1, (2.0, {'b': [0, 1]})], 'c': np.str_('x'), 'd': True}"


def test_a_schema_may_be_named_by_its_file(tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "s.json")
    for file in (tmp_path / "s.json", str(tmp_path / "s.json")):
        held, again = dpopt.read_table(TABLE, file), dpopt.read_table(TABLE, SCHEMA)
        assert all(map(np.array_equal, held._columns, again._columns))


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_table_that_was_read_is_released_as_it_was_read(tmp_path: Path, engine: str) -> None:
    odd = pd.concat([TABLE, pd.DataFrame({"x": ["z"], "n": [1]})], ignore_index=True)
    odd.to_parquet(tmp_path / "t.parquet")
    for table in (odd, tmp_path / "t.parquet")[engine == "stream" :]:
        held = dpopt.read_table(table, SCHEMA, dpopt.TableReading(on_invalid="drop"))
        made = dpopt.release(held, SCHEMA, "marginals:1", engine=engine, **ASKED)
        assert made.job.statement["reading"]["on_invalid"] == "drop"
        with pytest.raises(PlanError, match="not both"):
            dpopt.release(held, SCHEMA, "marginals:1", **ASKED, on_invalid="error")
    by_hand = PrivateDataset.from_codes(SCHEMA, [np.zeros(9, dtype=np.int64)] * 2)
    with pytest.raises(PrivateDataError, match="hand over the table"):
        dpopt.release(by_hand, SCHEMA, "marginals:1", **ASKED)


def test_rows_are_compared_with_a_table_in_which_some_do_not_fit() -> None:
    odd = pd.DataFrame({"x": ["a", "b", "z"], "n": [1, 3, 1]})
    found = dpopt.evaluate(TABLE, odd, schema=SCHEMA, workload="marginals:1", on_invalid="drop")
    assert found.marginals == dpopt.evaluate(TABLE, odd[:2], schema=SCHEMA, workload="marginals:1").marginals
    assert found.changed is not None
    assert found.changed["counted"] == 2
    with pytest.raises(PrivateDataError):
        dpopt.evaluate(TABLE, odd, schema=SCHEMA, workload="marginals:1")
    with pytest.raises(PlanError, match="on_invalid is for rows"):
        dpopt.evaluate(dpopt.release(TABLE, SCHEMA, "marginals:1", **ASKED), odd, on_invalid="drop")

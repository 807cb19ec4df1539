"""Under --person the number of records is that of the rows that are counted: what cannot be is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.errors import AccuracyWarning, PlanError, SchemaError
from tests.cli.command_line import call, flat, refuse, succeed

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("user", dpopt.AttributeKind.CATEGORICAL, ("a", "b", "c", "d")),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40)),
    )
)
TABLE = pd.DataFrame({"user": list("abcd") * 5, "smoker": ["true"] * 20, "age": [10, 30] * 10})
PERSON: dict[str, Any] = {"person": "user", "rows_per_person": 2}
COUNTED: dict[str, Any] = {**PERSON, "n0_counted": True}
WARNED = "was declared as the number of counted rows"
ASKED: dict[str, Any] = {"epsilon": 5, "algorithm": "noise", "predict": False}
DOORS: dict[str, Callable[..., object]] = {
    "release": lambda n0, **how: dpopt.release(TABLE, SCHEMA, "marginals:1", n0=n0, **how, **ASKED),
    "plan, declared": lambda n0, **how: dpopt.plan(SCHEMA, "marginals:1", n0=n0, **how, **ASKED),
    "intervals": lambda n0, **how: dpopt.intervals(
        TABLE, SCHEMA, "age", n0=n0, epsilon=50, reading=dpopt.TableReading(**how)
    ),
    "summary": lambda n0, **how: dpopt.summary(
        TABLE, SCHEMA, 1, columns=("user", "smoker"), n0=n0, epsilon=50, reading=dpopt.TableReading(**how)
    ),
}
"""Each function that takes a declared number of rows where persons are protected."""


@pytest.mark.parametrize("door", DOORS)
def test_more_rows_than_the_persons_can_have_are_refused(door: str) -> None:
    """So is a guess of them for a plan."""
    with pytest.raises(PlanError, match="the schema lists 4 values of 'user': 8 rows at most"):
        DOORS[door](9, **COUNTED)
    with pytest.raises(PlanError, match="8 rows at most"):
        dpopt.plan(SCHEMA, "marginals:1", n=9, **PERSON, **ASKED)


@pytest.mark.parametrize("door", DOORS)
def test_a_number_is_refused_until_it_is_said_to_be_of_counted_rows_and_then_warned_of(door: str) -> None:
    with pytest.raises(PlanError, match="often far fewer than the table has.* n0_counted"):
        DOORS[door](8, **PERSON)
    with pytest.warns(AccuracyWarning, match=WARNED) as warned:
        made = DOORS[door](8, **COUNTED)
    assert len([one for one in warned if re.search(WARNED, str(one.message))]) == 1
    if door != "plan, declared":
        assert "8 counted rows declared, not measured" in repr(made)


def test_a_measured_number_is_not_called_a_declared_one() -> None:
    table = pd.concat([TABLE] * 100, ignore_index=True).assign(user=[f"p{row // 2}" for row in range(2000)])
    made = dpopt.release(table, dpopt.Schema(SCHEMA.attributes[1:]), "marginals:1", **PERSON, **ASKED)
    assert "declared" not in repr(made)
    assert "was declared" not in dpopt.report(made)


SHELL = {
    "release": "people.csv --schema schema.json -o out --workload marginals:1 --algorithm noise --quiet --no-predict",
    "plan": "--schema schema.json --workload marginals:1 --algorithm noise --no-predict",
    "intervals release": "people.csv --schema schema.json --columns age -o out.npz",
    "intervals plan": "--schema schema.json --columns age",
    "summary release": "people.csv --schema schema.json --columns smoker --k 1 -o out.npz",
    "summary plan": "--schema schema.json --columns smoker --k 1",
}


@pytest.mark.parametrize("command", SHELL)
def test_the_shell_refuses_it_and_warns_once(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dpopt.Schema(SCHEMA.attributes[1:]).write("schema.json")
    TABLE.to_csv("people.csv", index=False)
    asked = [*command.split(), *SHELL[command].split(), "--epsilon", "50", "--n0", "3000", "--rows-per-person", "2"]
    if "people.csv" in asked:
        asked += ["--person", "user"]
    assert "is public, add --n0-counted" in flat(refuse(*asked))
    assert not {"out", "out.npz"} & {path.name for path in tmp_path.iterdir()}
    assert flat(call(*asked, "--n0-counted").stderr).count(WARNED) == 1
    if command == "release":
        page = dpopt.report("out")
        for shown in ((tmp_path / "out" / "README.txt").read_text(), page):
            assert "n0 = 3,000 was declared as the number of counted rows" in flat(shown)


def test_only_persons_have_counted_rows() -> None:
    with pytest.raises(SchemaError, match="leave it out, or give person"):
        dpopt.TableReading(n0_counted=True)
    assert "n0_counted" not in dpopt.TableReading(**PERSON).to_json()
    again = dpopt.TableReading.from_json(dpopt.TableReading(**COUNTED).to_json())
    assert again == dpopt.TableReading(**COUNTED)


def test_persons_that_nobody_lists_have_no_bound() -> None:
    without = dpopt.Schema(SCHEMA.attributes[1:])
    assert dpopt.plan(without, "marginals:1", n=10_000, **PERSON, **ASKED).plan.size == 10_000
    dpopt.TableReading(on_invalid="other", **PERSON).check_counted(10_000, SCHEMA)


def test_the_note_and_the_help_say_which_rows_are_meant() -> None:
    made = dpopt.plan(SCHEMA, "marginals:1", n0=8, **COUNTED, **ASKED)
    assert any("counted rows (the first 2 of each person, and no others)" in one for one in made.remarks)
    for command in ("release --help-all", "summary release --help", "intervals release --help"):
        shown = flat(succeed(*command.split()).replace("│", " "))
        assert "With --person leave it out, or add --n0-counted" in shown

"""Under --person the number of records is that of the rows that are counted: what cannot be is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.errors import PlanError
from tests.cli.command_line import flat, succeed

SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("user", dpopt.AttributeKind.CATEGORICAL, ("a", "b", "c", "d")),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40)),
    )
)
TABLE = pd.DataFrame({"user": list("abcd") * 5, "smoker": ["true"] * 20, "age": [10, 30] * 10})
PERSON: dict[str, Any] = {"person": "user", "rows_per_person": 2}
READING = dpopt.TableReading(**PERSON)
ASKED: dict[str, Any] = {"epsilon": 5, "algorithm": "noise", "predict": False}
DOORS: dict[str, Callable[[int], object]] = {
    "release": lambda n0: dpopt.release(TABLE, SCHEMA, "marginals:1", n0=n0, **PERSON, **ASKED),
    "plan, declared": lambda n0: dpopt.plan(SCHEMA, "marginals:1", n0=n0, **PERSON, **ASKED),
    "plan": lambda n0: dpopt.plan(SCHEMA, "marginals:1", n=n0, **PERSON, **ASKED),
    "intervals": lambda n0: dpopt.intervals(TABLE, SCHEMA, "age", n0=n0, epsilon=50, reading=READING),
    "summary": lambda n0: dpopt.summary(
        TABLE, SCHEMA, 1, columns=("user", "smoker"), n0=n0, epsilon=50, reading=READING
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_more_rows_than_the_persons_can_have_are_refused(door: str) -> None:
    with pytest.raises(PlanError, match="the schema lists 4 values of 'user': 8 rows at most"):
        DOORS[door](9)
    DOORS[door](8)


def test_persons_that_nobody_lists_have_no_bound() -> None:
    without = dpopt.Schema(SCHEMA.attributes[1:])
    assert dpopt.plan(without, "marginals:1", n=10_000, **PERSON, **ASKED).plan.size == 10_000
    dpopt.TableReading(on_invalid="other", **PERSON).check_counted(10_000, SCHEMA)


def test_the_note_and_the_help_say_which_rows_are_meant() -> None:
    made = dpopt.plan(SCHEMA, "marginals:1", n0=8, **PERSON, **ASKED)
    assert any("counted rows (the first 2 of each person, and no others)" in one for one in made.remarks)
    for command in ("release --help-all", "summary release --help", "intervals release --help"):
        shown = flat(succeed(*command.split()).replace("│", " "))
        assert "With --person: of rows that are counted" in shown

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.table import Table

import dpopt
from dpopt.cli.reports.reports import print_whole
from tests.algorithms.small_runs import SCHEMA, WITH_BUCKETS, codes
from tests.cli.command_line import inputs, refuse, succeed

RULES = [
    {"name": "reds live in the north", "if": ["colour", "=", "red"], "then": ["town", "=", "north"]},
    {"forbid": {"and": [["smoker", "=", True], ["age", "<", 20]]}},
    {"name": "greens are old", "if": ["colour", "=", "green"], "then": ["age", ">=", 40]},
]

YOUNG_GREENS = (codes()[:, 0] == 1) & (codes()[:, 1] < 2)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return inputs(tmp_path)[0]


def schema_file(folder: Path, rules: Sequence[object], **changes: object) -> Path:
    path = folder / "with-rules.json"
    path.write_text(json.dumps(SCHEMA.to_json() | {"rules": rules} | changes), encoding="utf-8")
    return path


def test_a_table_that_obeys_its_rules_is_said_to(table: Path, tmp_path: Path) -> None:
    said = succeed("schema", "check", table, "--schema", schema_file(tmp_path, RULES[:2]))
    assert "4 columns, 2 rules" in said
    assert "fits the schema" in said
    assert "all 200 rows obey the 2 rules" in said
    assert "NOT private" in said


def test_rows_that_break_a_rule_are_counted_for_the_owner(table: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    schema = schema_file(tmp_path, RULES)
    said = succeed("schema", "check", table, "--schema", schema)
    assert sorted(tmp_path.iterdir()) == sorted([*before, schema])
    (line,) = [line for line in said.splitlines() if "greens are old" in line]
    assert line.split()[-4:-1] == [str(YOUNG_GREENS.sum()), "│", str(YOUNG_GREENS.argmax() + 1)]
    assert "reds" not in said
    assert f"{YOUNG_GREENS.sum()} of 200 rows break 1 of the 3 rules" in said
    assert "rows of data are counted from 1, without the header line" in " ".join(said.split())
    assert "NOT private" in said
    assert "dpopt does not store it" in said


def test_without_a_table_the_rules_are_printed_in_words(tmp_path: Path) -> None:
    said = succeed("schema", "check", "--schema", schema_file(tmp_path, RULES, draft=True))
    assert "4 columns, 3 rules; a draft, not reviewed yet" in said
    assert "1. reds live in the north: if colour = red then town = north" in said
    assert "2. never: smoker = true and age < 20" in said


def test_a_schema_without_rules_is_said_to_have_none(table: Path, tmp_path: Path) -> None:
    said = succeed("schema", "check", table, "--schema", tmp_path / "schema.json")
    assert "the schema declares no rules" in said


def test_a_file_without_a_header_is_read_by_the_order_of_the_schema(table: Path, tmp_path: Path) -> None:
    headless = tmp_path / "headless.csv"
    headless.write_text(table.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    said = succeed("schema", "check", headless, "--schema", schema_file(tmp_path, RULES), "--no-header")
    assert f"{YOUNG_GREENS.sum()} of 200 rows" in said


def test_a_table_that_does_not_fit_is_refused_and_repairs_are_allowed(table: Path, tmp_path: Path) -> None:
    text = table.read_text(encoding="utf-8").replace("south", "elsewhere")
    table.write_text(text, encoding="utf-8")
    schema = schema_file(tmp_path, RULES[:2], attributes=WITH_BUCKETS.to_json()["attributes"])
    assert "'elsewhere' is not a declared value" in refuse("schema", "check", table, "--schema", schema)
    said = succeed("schema", "check", table, "--schema", schema, "--on-invalid", "other")
    assert "'elsewhere' is not a declared value" in said
    assert "200 of 200 rows are counted (NOT private" in said
    kept = codes()[:, 3] != 1
    said = succeed("schema", "check", table, "--schema", schema, "--on-invalid", "drop")
    assert f"{kept.sum()} of 200 rows are counted" in said


def test_the_rows_that_are_counted_of_persons_are_reported(table: Path, tmp_path: Path) -> None:
    person = ["--person", "town", "--rows-per-person", 3]
    said = succeed("schema", "check", table, "--schema", schema_file(tmp_path, RULES), *person)
    assert "12 of 200 rows are counted" in said
    assert "does not fit" not in said


def test_a_rule_that_the_schema_cannot_tell_is_refused_by_its_name(tmp_path: Path) -> None:
    wrong = {"name": "minors", "require": ["age", "<", 15]}
    message = refuse("schema", "check", "--schema", schema_file(tmp_path, [wrong]))
    assert "rule number 1 ('minors'): 'age < 15' is true of some values of the bin [0, 20)" in message


def test_empty_lines_are_rows_of_a_total_reading(tmp_path: Path) -> None:
    table = tmp_path / "few\x1b[31m.csv"
    table.write_text("colour,age,smoker,town\nred,30,true,north\n\n", encoding="utf-8")
    schema = schema_file(tmp_path, [], attributes=WITH_BUCKETS.to_json()["attributes"])
    for on_invalid, counted in (("other", 2), ("drop", 1)):
        said = succeed("schema", "check", table, "--schema", schema, "--on-invalid", on_invalid)
        assert "1 empty lines, each a malformed row" in said
        assert f"{counted} of 2 rows are counted" in said
        assert "\x1b" not in said
        assert "few\\u001b[31m.csv" in said
    table.write_text("colour\x1b[31m,age\nred\x1b[32m,30\nred\x1b[32m,31\n", encoding="utf-8")
    said = succeed("schema", "infer", table, "-o", tmp_path / "draft.json")
    assert "\x1b" not in said
    assert "\\u001b[31m" in said


def test_of_a_wide_draft_500_columns_to_check_are_printed(tmp_path: Path) -> None:
    table, draft = tmp_path / "wide.csv", tmp_path / "draft.json"
    names = [f"v{number}" for number in range(503)]  # one value occurs in each: to be checked
    table.write_text("\n".join([",".join(names), *[",".join(["seen"] * 503)] * 2, ""]), encoding="utf-8")
    said = succeed("schema", "infer", table, "-o", draft)
    assert "v499" in said
    assert "v500" not in said
    assert "3 more columns to check are on the page" in said
    page = draft.with_suffix(".html").read_text(encoding="utf-8")
    assert all(f">{name}<" in page for name in names)


def test_a_person_column_that_is_not_there_is_named(table: Path, tmp_path: Path) -> None:
    message = refuse(
        "schema", "check", table, "--schema", schema_file(tmp_path, []), "--person", "nosuch", "--rows-per-person", 2
    )
    assert "no column 'nosuch'" in message
    assert "--person" in message


def test_rules_that_are_broken_name_rows_that_are_counted(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("colour,age,smoker,town\nred,30,true,nowhere\nred,30,true,south\n", encoding="utf-8")
    schema = schema_file(tmp_path, RULES[:1], attributes=WITH_BUCKETS.to_json()["attributes"])
    said = succeed("schema", "check", table, "--schema", schema, "--on-invalid", "drop")
    assert "1 of 2 rows are counted" in said
    assert (
        "1 of 1 rows break 1 of the 1 rule; rows that are left out have no number; the others are counted from 1"
        in " ".join(said.split())
    )


def test_a_person_column_shows_the_owner_what_each_bound_drops(tmp_path: Path) -> None:
    """Persons with 1, 2 and 7 rows: K = 1 drops 1 + 6 rows, 2 and 3 drop 5 and 4, 5 drops 2, and 10 none."""
    names = ["a", "b", "b", *"c" * 7]
    pd.DataFrame({"name": names, "smoker": [True] * 10}).to_csv(tmp_path / "t.csv", index=False)
    dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),)).write(tmp_path / "s.json")
    asked = ["schema", "check", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json")]
    text = succeed(*asked, "--person", "name", "--rows-per-person", "3")
    rows = [re.findall(r"[\d,]+%?", line) for line in text.splitlines() if re.match(r"\W*\d+ ", line)]
    dropped = [["1", "7", "70%", "2"], ["2", "5", "50%", "1"], ["3", "4", "40%", "1"], ["5", "2", "20%", "1"]]
    assert rows == [*dropped, ["10", "0", "0%", "0"]]
    assert "NOT private" in text
    assert [line for line in succeed(*asked, "--person", "name").splitlines() if "dropped" in line or "10" in line]
    assert "rows dropped" not in succeed(*asked)


def test_cells_of_a_table_wrap_on_a_terminal_and_rows_are_one_line_in_a_file() -> None:
    for terminal in (True, False):
        stream = io.StringIO()
        out = Console(force_terminal=terminal, color_system=None, width=60, file=stream)
        table = Table("column", "check")
        table.add_row("weight", f"{'word ' * 40}{'x' * 90}")
        print_whole(out, table)
        lines = stream.getvalue().splitlines()
        assert (max(map(len, lines)) <= 60) is terminal
        assert stream.getvalue().count("word") == 40  # nothing is cut off
        assert stream.getvalue().count("x") == 90

"""A file that an option names by mistake stays as it is: nothing is written over a table, a schema or a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dpopt.schema import Schema
from tests.algorithms.small_runs import SCHEMA, write_table
from tests.cli.command_line import refuse, succeed

RELEASE = "release {table} --schema {schema} --epsilon 1 --n0 300 --no-predict --workload marginals:1"
PREFIXES = "--schema {schema} --column smoker --steps 1"
WRITES: Sequence[tuple[str, str]] = (
    (RELEASE + " -o {new} --timings", ""),
    (RELEASE + " -o {new} --log", ""),
    (RELEASE + " -o", ""),
    ("plan --schema {schema} --n 300 --epsilon 1 --no-predict -o", ""),
    ("polynomial --k 3 --degree 1 -o", ""),
    ("schema infer {table} -o", ""),
    ("budget create --epsilon 1", ""),
    ("prefixes release {table} --rho 1 " + PREFIXES + " -o", ""),
    ("prefixes grow", "{table} " + PREFIXES),
    ("histogram release {table} --schema {schema} --column smoker --epsilon 1 -o", ""),
)
"""Commands that write, as the words before and after the name of the file."""


@pytest.mark.parametrize("write", WRITES, ids=lambda write: " ".join(write[0].split()[:2] + write[0].split()[-1:]))
@pytest.mark.parametrize("named", ["table", "schema", "one line"])
def test_no_command_writes_over_another_file(tmp_path: Path, write: tuple[str, str], named: str) -> None:
    Schema.write(SCHEMA, tmp_path / "s.json")
    places = {
        "table": write_table(tmp_path),
        "schema": tmp_path / "s.json",
        "one line": tmp_path / "one.json",
        "new": tmp_path / "new",
    }
    places["one line"].write_text('{"dpopt_schema": 1}')
    before = places[named].read_bytes()
    words = [part.format(**places) for part in (write[0], "{" + named + "}", write[1])]
    refuse(" ".join(words))
    assert places[named].read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_what_a_command_wrote_it_replaces(tmp_path: Path) -> None:
    Schema.write(SCHEMA, tmp_path / "s.json")
    for times in range(2):
        succeed(f"plan --schema {tmp_path}/s.json --n0 300 --epsilon 1 --no-predict -o {tmp_path}/plan.json")
        succeed(f"polynomial --k 3 --degree 1 -o {tmp_path}/polynomial.json")
        succeed(
            f"release {write_table(tmp_path)} --plan {tmp_path}/plan.json -o {tmp_path}/{times} --timings "
            f"{tmp_path}/t.json"
        )

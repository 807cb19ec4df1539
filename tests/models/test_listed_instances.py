"""The plain form of an instance: a list of tables, one for each clause."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.comparison.instances import Instance, read_instance
from dpopt.errors import ProgramError
from dpopt.programs import MaxCsp
from tests.strategies import clauses_of

CLAUSES = """
    {weight = 2, literals = [[0, "=", 1], [1, "!=", 2]]},
    {weight = -3, literals = [[1, "=", 0]], negated = true},
    {weight = 1, literals = [[0, "=", 0], [1, "=", 1], [2, "=", 1]], accepted = [0, 2, 2]},
    {weight = 1, literals = []},
"""


def read(
    tmp_path: Path, clauses: str = CLAUSES, *, head: str = "optimum = 2", sizes: str = "[2, 3, 2]"
) -> Instance:
    path = tmp_path / "listed.toml"
    path.write_text(f"{head}\n[problem]\nsizes = {sizes}\nclauses = [{clauses}]\n", encoding="utf-8")
    return read_instance(path)


def test_a_listed_instance_is_the_problem_that_it_states(tmp_path: Path) -> None:
    rows = [
        ([(0, 1, True), (1, 2, False)], 0b100),
        ([(1, 0, True)], 0b01),
        ([(0, 0, True), (1, 1, True), (2, 1, True)], 0b101),
        ([], 0b1),
    ]
    expected = MaxCsp(np.array([2, 3, 2]), clauses_of(rows), np.array([2, -3, 1, 1]))
    found = read(tmp_path, head='optimum = 2\nmade = "by hand"')
    assert found.name == "listed"
    assert found.problem.fingerprint() == expected.fingerprint()
    assert (found.optimum, found.best_known, found.bound, found.record) == (2, 2, 2, None)
    assert dict(found.stated) == {"made": "by hand"}


def test_nothing_needs_to_be_known_of_an_instance(tmp_path: Path) -> None:
    found = read(tmp_path, head="")
    assert (found.optimum, found.best_known, found.bound) == (None, None, None)


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("3", "clause 0 has weight, literals and at most one of"),
        ("{weight = 1}", "clause 0 has weight, literals"),
        ("{weight = 1, literals = [], sign = 1}", "clause 0 has weight, literals"),
        ("{weight = 1.5, literals = []}", "clause 0: weight is a whole number"),
        ("{weight = true, literals = []}", "clause 0: weight is a whole number"),
        ("{weight = 1, literals = 3}", "literals a list"),
        ('{weight = 1, literals = [[0, "<", 1]]}', "clause 0: a literal is"),
        ('{weight = 1, literals = [[0, "="]]}', "clause 0: a literal is"),
        ('{weight = 1, literals = [[0, "=", "1"]]}', "clause 0: a literal is"),
        ('{weight = 1, literals = [[0, "=", 1]], negated = 1}', "negated is true or false"),
        ('{weight = 1, literals = [[0, "=", 1]], negated = false, accepted = [1]}', "in place of negated"),
        ('{weight = 1, literals = [[0, "=", 1]], accepted = 1}', "accepted is a list of whole numbers"),
        ('{weight = 1, literals = [[0, "=", 1]], accepted = [2]}', "lie between 0 and 1"),
        ('{weight = 1, literals = [[0, "=", 2]]}', "asks for code 2 of attribute number 0"),
        ('{weight = 1, literals = [[3, "=", 0]]}', "names attribute number 3"),
        ('{weight = 0, literals = [[0, "=", 1]]}', "clause 0 has weight 0"),
    ],
)
def test_a_clause_of_another_form_is_refused(tmp_path: Path, clauses: str, message: str) -> None:
    with pytest.raises(ProgramError, match=rf"listed\.toml.*{message}"):
        read(tmp_path, clauses)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("optimum = ", "is no TOML file"),
        ("optimum = 3", "states problem.sizes and problem.clauses"),
        ("problem = 3", "states problem.sizes and problem.clauses"),
        ("[problem]\nsizes = [2]", "states problem.sizes and problem.clauses"),
        ("[problem]\nsizes = [2]\nclauses = []\nclause = []", "unknown keys clause"),
        ('[problem]\nsizes = ["2"]\nclauses = []', "problem.sizes is a list of whole numbers"),
        ("[problem]\nsizes = [0]\nclauses = []", "sizes must be"),
        ("optimum = 2.0\n[problem]\nsizes = [2]\nclauses = []", "optimum is a whole number; found 2.0"),
        ("best_known = true\n[problem]\nsizes = [2]\nclauses = []", "best_known is a whole number"),
    ],
)
def test_a_file_that_is_no_instance_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "other.toml"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ProgramError, match=rf"other\.toml.*{message}"):
        read_instance(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ProgramError, match=r"bytes\.toml cannot be read: it is not UTF-8"):
        read_instance(path)

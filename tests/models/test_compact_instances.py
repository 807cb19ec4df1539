"""The compact form of an instance: sizes and clauses as text, rules, and a record that must be what the file says it is."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from dpopt.comparison.instances import Instance, read_instance
from dpopt.errors import ProgramError
from dpopt.programs import MaxCsp
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts
from tests.strategies import clauses_of

RULES = ThresholdCircuit(
    ('at least two of a = 1, b = 2 and "d" = 0', "b less d, or the first half"),
    np.array([2, 1, 1]),
    np.array([True, False, True]),
    np.array([0, 1, 1], dtype=np.int32),
    starts(np.array([3, 1, 1])),
    np.array([0, 1, 3, 1, 3], dtype=np.int32),
    starts(np.array([2, 3, 2, 3, 2])),
    np.array([0, 1, 0, 0, 1, 1, 0, -1, 0, 4, 0, 1]),
    starts(np.array([0, 0, 1])),
    np.array([1], dtype=np.int32),
    np.array([1]),
)


def key_of(name: str) -> str:
    values = getattr(RULES, name)
    return f"{name} = {json.dumps(list(values) if name == 'names' else values.tolist())}"


LINES = {
    "best_known": "best_known = 3",
    "bound": "bound = 5",
    "record": 'record = "0=1 1=2"',
    "family": 'family = "some"',
    "problem": "[problem]",
    "sizes": 'sizes = "2 3 2*2"',
    "accepted": "accepted = [1, 3]",
    "clauses": 'clauses = """\n3 0=1 1=2 2!=1\n-1 0=0 2=1 3=1\n"""',
    "rules": "[problem.rules]",
    **{f"rules {field.name}": key_of(field.name) for field in fields(RULES)},
}
NO_RULES_LINES = {name: None for name in LINES if name.startswith("rules")}


def read(tmp_path: Path, changes: dict[str, str | None]) -> Instance:
    path = tmp_path / "small.toml"
    lines = [line for line in {**LINES, **changes}.values() if line is not None]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_instance(path)


def test_a_compact_instance_is_the_problem_that_it_states(tmp_path: Path) -> None:
    literals = [[(0, 1, True), (1, 2, True), (2, 1, False)], [(0, 0, True), (2, 1, True), (3, 1, True)]]
    clauses = clauses_of([(listed, 0b1010) for listed in literals])
    expected = MaxCsp(np.array([2, 3, 2, 2]), clauses, np.array([3, -1]), RULES)
    found = read(tmp_path, {})
    assert found.problem.fingerprint() == expected.fingerprint()
    assert found.problem.rules.names == RULES.names
    assert (found.optimum, found.best_known, found.bound) == (None, 3, 5)
    assert found.record is not None
    assert found.record.tolist() == [1, 2, 0, 0]
    assert dict(found.stated) == {"family": "some"}


def test_without_rules_and_agreed_numbers_clauses_are_conjunctions(tmp_path: Path) -> None:
    found = read(tmp_path, {**NO_RULES_LINES, "accepted": None, "sizes": "sizes = [2, 3, 2, 2]"})
    assert found.problem.clauses.accepted.tolist() == [0b1000, 0b1000]
    assert found.problem.rules.number_of_rules == 0


def test_an_optimum_is_the_best_known_and_the_bound(tmp_path: Path) -> None:
    found = read(tmp_path, {"best_known": "optimum = 3", "bound": None})
    assert (found.optimum, found.best_known, found.bound) == (3, 3, 3)


def test_an_instance_may_state_no_record(tmp_path: Path) -> None:
    assert read(tmp_path, {"record": None}).record is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": 'sizes = "2 3 2*"'}, "problem.sizes is a list of whole numbers, or text such as"),
        ({"sizes": "sizes = 3"}, "problem.sizes is a list"),
        (
            {"sizes": 'sizes = "999999999*9"'},
            "8,999,999,991 codes in all; an instance has at most 10,000,000",
        ),
        ({"sizes": 'sizes = "999999999*0"'}, "codes in all"),
        ({"sizes": f"sizes = [2, 3, {2**40}]"}, "codes in all"),
        ({"family": f"family = {'[' * 5000}{']' * 5000}"}, "nested too deeply"),
        ({"bound": f"bound = {10**400}"}, "which no objective is"),
        ({"sizes": "sizes = [2, 3.0]"}, "problem.sizes is a list"),
        ({"accepted": "accepted = [1.5]"}, "problem.accepted is a list of whole numbers"),
        ({"accepted": "accepted = 3"}, "problem.accepted is a list of whole numbers"),
        ({"accepted": "accepted = [4]"}, "lie between 0 and 3"),
        ({"clauses": "clauses = []"}, "only with text there is problem.accepted"),
        ({"clauses": "clauses = 3"}, "problem.clauses is a list of tables, or text"),
        ({"clauses": 'clauses = "1 0=1 0!=0 1=1"'}, "names an attribute twice"),
        ({"clauses": 'clauses = "1 0=1 1=3 2=1"'}, "asks for code 3 of attribute number 1"),
        ({"family": 'family = "some"\n[problem.other]\n', "problem": None}, "problem"),
        ({"rules bounds": None}, "problem.rules has the keys names, bounds, required"),
        ({"rules bounds": "bounds = 2"}, "problem.rules has one list for each key"),
        ({"rules bounds": "bounds = [2, 1, 1.5]"}, "problem.rules holds something that is no whole number"),
        ({"rules bounds": 'bounds = [2, 1, "a"]'}, "problem.rules holds something that is no whole number"),
        ({"rules bounds": "bounds = [2, 1]"}, "'required' has shape"),
        ({"rules children": "children = [2]"}, "a child must come before its parent"),
        ({"rules values": "values = [0, 1]"}, "'value_starts' must rise from 0 to 2"),
        ({"record": "record = [1, 2, 0, 0]"}, "record is text such as '3=5 7=1'"),
        ({"record": 'record = "9=1"'}, "names attribute 9; there are 4"),
        ({"record": 'record = "0=1 1=7"'}, "the record has code 7 for attribute 1"),
        ({"record": 'record = "0=1 3=1"'}, "the record breaks the rule 'at least two of"),
        ({"record": 'record = "0=1 1=2 2=1"'}, "the record has objective -1; stated is 3"),
        ({"best_known": "best_known = 4"}, "the record has objective 3; stated is 4"),
        ({"best_known": None}, "the record has objective 3; stated is None"),
        ({"bound": "bound = 2.5"}, "bound is a whole number; found 2.5"),
        ({"bound": "bound = 2"}, "the bound 2 is below the best known objective 3"),
    ],
)
def test_a_compact_instance_of_another_form_is_refused(
    tmp_path: Path, changes: dict[str, str | None], message: str
) -> None:
    with pytest.raises(ProgramError, match=rf"small\.toml.*{message}"):
        read(tmp_path, changes)


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        (f'{{weight = {2**70}, literals = [[0, "=", 1]]}}', "the weight is"),
        (f'{{weight = 1, literals = [[{2**40}, "=", 1]]}}', "numbered from 0"),
        (f'{{weight = 1, literals = [[0, "=", {2**40}]]}}', "numbered from 0"),
        ('{weight = 1, literals = [[-1, "=", 1]]}', "numbered from 0"),
        (f"{{weight = 1, literals = [{', '.join(['[0, 1, 1]'] * 35)}]}}", "has 35 literals"),
    ],
)
def test_a_listed_clause_that_no_array_can_hold_is_refused(tmp_path: Path, clause: str, message: str) -> None:
    changes = {**NO_RULES_LINES, "accepted": None, "record": None, "clauses": f"clauses = [{clause}]"}
    with pytest.raises(ProgramError, match=rf"small\.toml: clause 0.*{message}"):
        read(tmp_path, changes)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "nothing")
    for path in (tmp_path, tmp_path / "link.toml"):
        with pytest.raises(ProgramError, match="is no file that can be read"):
            read_instance(path)

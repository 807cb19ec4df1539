"""The page on rules: each example in JSON is a rule over the schema that the page declares.

Its Python is run by tests/repository/test_documents.py, like that of all documents.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from dpopt import schema as rules
from dpopt.schema import Schema
from dpopt.schema.rules.rule_json import _FORMULA_KEYS, _RULE_KEYS, rule_from_json, rule_to_json
from tests.repository.test_documents import blocks
from tests.source_code import ROOT, SOURCE, parse

BUILDERS = [name for name, one in vars(rules).items() if callable(one) and name.islower()] + ["Bin"]
OWNED = ("insured", "owner", "pension")
PAGE = (ROOT / "docs" / "how-to" / "rules.md").read_text(encoding="utf-8")


def declared() -> Schema:
    """Return the schema of the page's first block of Python."""
    names: dict[str, object] = {}
    first = next(block for block in blocks(PAGE) if block.language == "python")
    exec(compile(first.text.replace("schema.write", "str"), "docs/how-to/rules.md", "exec"), names)
    schema = names["schema"]
    assert isinstance(schema, Schema)
    return schema


def examples() -> list[dict[str, object]]:
    """Return the rules in the page's blocks of JSON; each block holds one or more, one after the other."""
    found = []
    for block in blocks(PAGE):
        rest = block.text.strip() if block.language == "json" else ""
        while rest:
            item, end = json.JSONDecoder().raw_decode(rest)
            found.append(item)
            rest = rest[end:].strip()
    return found


@pytest.mark.parametrize("example", examples(), ids=json.dumps)
def test_each_example_is_a_rule_over_the_schema_of_the_page(example: dict[str, object]) -> None:
    rule = rule_from_json(example, 0)
    schema = Schema(declared().attributes, rules=(rule,))
    assert rule_from_json(rule_to_json(rule), 0) == rule
    assert schema.circuit().number_of_rules == 1


def test_each_builder_stands_in_the_table_with_an_example_that_is_a_rule() -> None:
    schema, names = declared(), {name: getattr(rules, name) for name in [*BUILDERS, "Rule"]}
    names |= {letter: rules.literal(word, "=", True) for letter, word in zip("abc", OWNED, strict=True)}
    table = re.findall(r"^\| `(\w+)` \| `(.+?\))` \|$", PAGE, re.MULTILINE)
    assert sorted(name for name, _ in table) == sorted(BUILDERS)
    for name, example in table:
        assert f"{name}(" in example
        rule = rules.Rule(eval(example, names))
        assert Schema(schema.attributes, rules=(rule,)).circuit().number_of_rules == 1


def test_the_page_shows_each_form_of_rules_and_each_key() -> None:
    keys = {key for forms in (_RULE_KEYS, _FORMULA_KEYS) for form in forms.values() for key in form}
    assert {key for key in keys if f'"{key}"' not in PAGE} == set()
    heads = {key for example in examples() for key in example}
    assert set(_RULE_KEYS) <= heads


# The pages of privacy proofs and the docstrings that name their numbers, each held against the other.

FOLDER = ROOT / "docs" / "privacy"
GROUPS = dict(
    zip(
        "ABCDEF",
        ("relations-and-order", "composition", "counts", "comparisons", "selections", "dualquery"),
        strict=True,
    )
)
"""Letter of a group of entries, and its page."""
RELEASES = {
    "_charged", "_charged_for", "_drawn", "_exchanged", "_noisy", "_paid_once", "_recalled", "_released",
    "_measured", "_select",
}  # fmt: skip
"""Methods of a `Door`: whoever calls one of them spends, draws or hands out."""
_NUMBER = r"[A-Z][1-9]\d*"
_POINTER = re.compile(rf"Privacy: ((?:{_NUMBER})(?:, {_NUMBER})*) in docs/privacy")
_ENTRY = re.compile(rf"^## ({_NUMBER})\. (.+)$", re.MULTILINE)
_FIELDS = ("Relation", "Cost", "File", "Tests")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Entry:
    """What the page says of one number."""

    number: str
    title: str
    relation: str
    cost: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    text: str


class Docstring(NamedTuple):
    """Where a docstring stands, and the numbers that it points to."""

    file: str
    name: str
    numbers: tuple[str, ...]
    must_point: bool


def entries_of(page: str) -> list[Entry]:
    """Return the entries of a page in their order."""
    found = []
    places = list(_ENTRY.finditer(page))
    for place, following in zip(places, [*places[1:], None], strict=True):
        text = page[place.end() : following.start() if following else len(page)].partition("\n# ")[0]
        fields = {name: _field(text, name) for name in _FIELDS}
        found.append(
            Entry(
                place[1],
                place[2],
                fields["Relation"],
                fields["Cost"],
                tuple(re.findall(r"`([^`]+)`", fields["File"])),
                tuple(re.findall(r"`([^`]+)`", fields["Tests"])),
                text,
            )
        )
    return found


def _field(text: str, name: str) -> str:
    found = re.search(rf"^\*\*{name}:\*\* (.+?)(?=^\*\*|\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of the tables of entries of a page, row by row."""
    rows = re.findall(rf"^\| ({_NUMBER} \|.*) \|$", page, re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows]


def docstrings_of(path: Path) -> Iterator[Docstring]:
    """Yield the docstrings of a file that point to the page, and those that have to."""
    tree, file = parse(path), path.relative_to(ROOT).as_posix()
    doors = _classes_with_releases(tree) if path.is_relative_to(SOURCE / "private") else set()
    for owner, node in _definitions(tree):
        name = ".".join(part for part in (owner, getattr(node, "name", "")) if part)
        numbers = _numbers(node)
        must = isinstance(node, _Function) and (
            (owner in doors and bool(_calls(node) & RELEASES)) or _returns_a_charge(path, node)
        )
        if numbers or must:
            yield Docstring(file, name, numbers, must)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.Module | ast.ClassDef | _Function]]:
    yield "", tree
    for node in tree.body:
        if isinstance(node, _Function | ast.ClassDef):
            yield "", node
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, below) for below in node.body if isinstance(below, _Function))


def _numbers(node: ast.Module | ast.ClassDef | _Function) -> tuple[str, ...]:
    text = " ".join((ast.get_docstring(node) or "").split())
    return tuple(number for found in _POINTER.findall(text) for number in found.split(", "))


def _calls(function: _Function) -> set[str]:
    """Return the methods that a function calls on self or super()."""
    called = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on = node.func.value
            if isinstance(on, ast.Call):
                on = on.func
            if isinstance(on, ast.Name) and on.id in {"self", "super"}:
                called.add(node.func.attr)
    return called


def _classes_with_releases(tree: ast.Module) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(_calls(below) & RELEASES for below in node.body if isinstance(below, _Function))
    }


def _returns_a_charge(path: Path, function: _Function) -> bool:
    """Return whether this public function says what a mechanism costs."""
    returned = ast.unparse(function.returns) if function.returns else ""
    if not re.search(r"\bCharge\b", returned) or "charge" not in function.name or function.name[0] == "_":
        return False
    return path.is_relative_to(SOURCE / "accounting") or path.is_relative_to(SOURCE / "private")


def problems(page: str, docstrings: list[Docstring]) -> list[str]:
    """Return where page and docstrings disagree, or the page with the files of the repository."""
    entries = entries_of(page)
    known = {entry.number: entry for entry in entries}
    pointing = {(docstring.file, number) for docstring in docstrings for number in docstring.numbers}
    found = [*_wrong_order([entry.number for entry in entries]), *_wrong_rows(entries, rows_of(page))]
    for entry in entries:
        found += [f"{entry.number}: it says no {what}" for what in _missing(entry)]
        found += [f"{entry.number}: no file {file}" for file in entry.files if not (ROOT / file).is_file()]
        found += [f"{entry.number}: no test {test}" for test in entry.tests if not is_there(test)]
        found += [
            f"{entry.number}: no docstring of {file} points to it"
            for file in entry.files
            if (file, entry.number) not in pointing
        ]
        cited = set(re.findall(rf"(?<![\w.]){_NUMBER}(?!\w)", entry.text.split("**File:**")[0])) - {"L1", "L2"}
        found += [f"{entry.number}: there is no {number}" for number in sorted(cited - known.keys())]
    for docstring in docstrings:
        where = f"{docstring.file}, {docstring.name}"
        if docstring.must_point and not docstring.numbers:
            found.append(f"{where}: its docstring names no entry")
        found += [f"{where}: there is no {number}" for number in docstring.numbers if number not in known]
    return found


def _missing(entry: Entry) -> list[str]:
    said = {
        "relation": entry.relation,
        "cost": entry.cost,
        "file": entry.files,
        "test": entry.tests,
        "statement": "*Statement.*" in entry.text,
        "proof": "*Proof.*" in entry.text,
    }
    return [what for what, value in said.items() if not value]


def _wrong_order(numbers: list[str]) -> list[str]:
    expected: list[str] = []
    for number in numbers:
        last = expected[-1] if expected else ""
        if last and number[0] == last[0]:
            expected.append(f"{last[0]}{int(last[1:]) + 1}")
        else:
            expected.append(f"{chr(ord(last[0]) + 1) if last else 'A'}1")
    return [f"{found}: expected {other} here" for found, other in zip(numbers, expected, strict=True) if found != other]


def _wrong_rows(entries: list[Entry], rows: list[list[str]]) -> list[str]:
    found = []
    if [row[0] for row in rows] != [entry.number for entry in entries]:
        found.append("the table and the entries have other numbers")
    for entry, row in zip(entries, rows, strict=False):
        anchor = re.sub(r"[^a-z0-9 -]", "", f"{entry.number}. {entry.title}".lower()).replace(" ", "-")
        if row[1:] != [f"[{entry.title}]({GROUPS[entry.number[0]]}.md#{anchor})"]:
            found.append(f"{entry.number}: its row has another title")
    return found


def is_there(test: str) -> bool:
    """Return whether a test "path::name" exists: a function or a class of the file."""
    path, _, name = test.partition("::")
    return path.startswith("tests/") and name in _defined_in(path)


@cache
def _defined_in(path: str) -> frozenset[str]:
    """Return the functions and classes of a file; none where there is no file."""
    body = parse(ROOT / path).body if (ROOT / path).is_file() else []
    return frozenset(node.name for node in body if isinstance(node, _Function | ast.ClassDef))


@cache
def _pages() -> str:
    """Return the table of all entries, and the entries of all groups in their order."""
    names = ("index", *GROUPS.values())
    return "\n".join((FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in names)


@cache
def _docstrings() -> list[Docstring]:
    return [found for path in sorted(SOURCE.rglob("*.py")) for found in docstrings_of(path)]


def test_the_page_and_the_docstrings_agree() -> None:
    assert problems(_pages(), _docstrings()) == []


def test_every_curator_and_every_charge_is_looked_at() -> None:
    held = {docstring.name for docstring in _docstrings() if docstring.must_point}
    assert {
        "Curator.draw_queries",
        "CountingCurator.measure",
        "SearchingCurator.cut",
        "Curator.measure_one_way",
    } <= held
    assert {"measurement_charge", "fem_charges", "Measurement.charge", "MedianCut.charge"} <= held


Change = Callable[[str], str]


@pytest.mark.parametrize(
    ("change", "found_wrong"),
    [
        (lambda page: page.replace("## C5.", "## C55."), "C55: expected C5"),
        (lambda page: page.replace("| D1 |", "| D7 |"), "the table and the entries"),
        (lambda page: page.replace("[Prefixes that grow]", "[Prefixes]"), "C16: its row has another"),
        (lambda page: page.replace("::test_they_are_measured_once", "::test_they_are_measured_twice"), "no test"),
        (lambda page: page.replace("tests/private/test_dataset.py", "tests/private/test_faith.py"), "no test"),
        (
            lambda page: page.replace(
                "`dpopt/private/mechanisms/net/net_distribution.py`", "`dpopt/private/net_rule.py`"
            ),
            "E8: no file",
        ),
        (
            lambda page: page.replace(
                "`dpopt/private/mechanisms/net/net_distribution.py`", "`dpopt/private/mechanisms/noise.py`"
            ),
            "no docstring of",
        ),
        (lambda page: page.replace("*Proof.*", "", 1), "A1: it says no proof"),
        (lambda page: page.replace("**Cost:** none.", "", 1), "it says no cost"),
        (lambda page: page.replace("Distribution: E2.", "Distribution: E99."), "there is no E99"),
        (lambda page: page + "\n## F5. A mechanism that nobody has\n\n**Relation:** both.\n", "F5: it says no file"),
    ],
)
def test_a_page_that_is_wrong_is_found(change: Change, found_wrong: str) -> None:
    page = _pages()
    assert change(page) != page
    assert any(found_wrong in problem for problem in problems(change(page), _docstrings()))


@pytest.mark.parametrize(
    ("numbers", "found_wrong"), [((), "its docstring names no entry"), (("Z9",), "there is no Z9")]
)
def test_a_docstring_that_is_wrong_is_found(numbers: tuple[str, ...], found_wrong: str) -> None:
    chosen = next(place for place, one in enumerate(_docstrings()) if one.must_point)
    changed = [*_docstrings()]
    changed[chosen] = changed[chosen]._replace(numbers=numbers)
    assert any(found_wrong in problem for problem in problems(_pages(), changed))


def test_an_entry_that_no_docstring_names_is_found() -> None:
    others = [one._replace(numbers=tuple(n for n in one.numbers if n != "D3")) for one in _docstrings()]
    assert any("D3: no docstring" in problem for problem in problems(_pages(), others))

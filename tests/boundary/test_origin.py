"""Released values come from the private side, or from a saved transcript, and from nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from dpopt.private.curators.door import SELECTIONS
from tests.source_code import source_files

RELEASED = {
    "NoisyAnswers", "NoisySearch", "SampledQueries", "SelectedMarginal", "SelectedQuery", "SelectedDatabase",
    "SelectedCandidate",
}  # fmt: skip
ORIGINS = {"private", "transcript"}  # where they are drawn, and where a saved transcript is read
FILES = source_files()


def constructions(tree: ast.Module) -> list[str]:
    """Return the places where a released type could be constructed.

    That is any mention of the type which is not an import, an annotation, a class pattern or a check of the type.
    """
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in RELEASED
    } | RELEASED
    harmless = {id(part) for node in _harmless(tree) for part in ast.walk(node)}
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in names
        and id(node) not in harmless
    ]


def _harmless(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.MatchClass):
            yield node.cls
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield node.args[1]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "TypeVar":
            yield from node.args
        elif (  # an alias of types: Released = SampledQueries | NoisyAnswers
            isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
        ):
            yield node.value
        elif isinstance(node, ast.Subscript):  # Iterator[SampledQueries]
            yield node.slice


def test_released_values_are_constructed_only_on_the_private_side_or_from_a_transcript() -> None:
    found = [
        f"{file.path}, {place}" for file in FILES if file.room not in ORIGINS for place in constructions(file.tree)
    ]
    assert found == []


def test_every_type_of_the_transcript_that_says_what_it_cost_is_a_released_one() -> None:
    """So a type that a further curator releases is not forgotten here."""
    found = {
        node.name
        for file in FILES
        if file.room == "transcript"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef)
        if any(isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "charge" for line in node.body)
    }
    assert found == RELEASED


def test_each_of_them_is_constructed_on_the_private_side() -> None:
    """Selections by the door alone, which has a row for each and charges all that have a range."""
    found = {
        file.path: {place.split(": ")[1] for place in constructions(file.tree)} & RELEASED
        for file in FILES
        if file.room == "private"
    }
    assert found["dpopt/private/curators/door.py"] == {kind.__name__ for kind in SELECTIONS}
    charging = {file.path for file in FILES if file.room == "private" and "selection_charge(" in ast.unparse(file.tree)}
    assert charging == {"dpopt/private/curators/door.py", "dpopt/private/selections/selection.py"}
    assert set().union(*found.values()) == RELEASED


def test_the_private_side_does_construct_them() -> None:
    assert "private" in {file.room for file in FILES if constructions(file.tree)}


@pytest.mark.parametrize(
    "code",
    [
        "SampledQueries(1, a, b, c)",
        "released.NoisyAnswers(x)",
        "from dpopt.transcript import SampledQueries as S\nS(1, a, b, c)",
        "make = SampledQueries",
        "SampledQueries.from_json(entry, charge)",
        "object.__new__(NoisyAnswers)",
        "list(map(SampledQueries, *rows))",
        "SelectedQuery(1, 5, False, charge)",
        "replace(selected, query=3) if best else SelectedQuery(*values)",
    ],
)
def test_a_construction_is_found_however_it_is_written(code: str) -> None:
    assert constructions(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "from dpopt.transcript import SampledQueries",
        "def f(sampled: SampledQueries) -> Iterator[SampledQueries]: ...",
        "isinstance(value, SampledQueries)",
        "rounds: list[SampledQueries] = []",
        "Released = SampledQueries | NoisyAnswers",
        "Released = TypeVar('Released', NoisyAnswers, SampledQueries)",
    ],
)
def test_a_mention_of_the_type_is_no_construction(code: str) -> None:
    assert not constructions(ast.parse(code))

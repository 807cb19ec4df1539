"""The type that holds records refuses every way out that Python offers, whoever writes it next.

What the refusals do when they are called is tested in tests/private/; here the syntax tree shows that none is missing.
"""

from __future__ import annotations

import ast

import pytest

from tests.source_code import nodes, source_files

HOLDERS = ("Closed",)
REFUSALS = ("__array__", "__getitem__", "__iter__", "__len__", "__reduce__")


def _classes() -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for file in source_files()
        if file.room == "private"
        for node in nodes(file.tree)
        if isinstance(node, ast.ClassDef)
    }


def _methods(holder: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in _classes()[holder].body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_type_that_holds_records_refuses(holder: str, refusal: str) -> None:
    body = _methods(holder)[refusal].body
    only = ast.unparse(body[-1])
    assert len(body) == 1, f"{holder}.{refusal} must do nothing but refuse"
    assert only.startswith(("_refuse(", "raise PrivacyBoundaryError("))


def test_to_refuse_is_to_raise() -> None:
    (refuse,) = (
        node
        for file in source_files()
        if file.room == "private"
        for node in nodes(file.tree)
        if isinstance(node, ast.FunctionDef) and node.name == "_refuse"
    )
    assert ast.unparse(refuse.body[-1]).startswith("raise PrivacyBoundaryError(")
    assert ast.unparse(refuse.returns or refuse) == "NoReturn"


@pytest.mark.parametrize("holder", HOLDERS)
def test_printing_a_type_that_holds_records_shows_none(holder: str) -> None:
    shown = ast.unparse(_methods(holder)["__repr__"])
    assert "self._" not in shown, "a text for people must not depend on the records"


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_type_that_holds_records_is_no_plain_dataclass(holder: str) -> None:
    for decorator in _classes()[holder].decorator_list:
        text = ast.unparse(decorator)
        assert not text.startswith("dataclass") or ("repr=False" in text and "eq=False" in text)


def test_the_private_side_prints_and_logs_nothing() -> None:
    for file in source_files():
        if file.room == "private":
            imported = {alias.name for node in nodes(file.tree) if isinstance(node, ast.Import) for alias in node.names}
            called = {ast.unparse(node.func) for node in nodes(file.tree) if isinstance(node, ast.Call)}
            assert not imported & {"logging", "warnings"}, file.path
            assert "print" not in called, file.path

"""Texts that a spreadsheet computes are named before a release writes them, and numbers are not."""

from __future__ import annotations

from typing import Any

import pytest

import dpopt
from dpopt.algorithms.stating import remarks_on


def notes(**declared: Any) -> list[str]:
    attribute = dpopt.Attribute(**{"name": "a", "kind": dpopt.AttributeKind.CATEGORICAL, **declared})
    planned = dpopt.plan(dpopt.Schema((attribute,)), "marginals:1", n=1000, epsilon=1, algorithm="projection")
    found = remarks_on(planned.plan, planned.statement, planned.request.schema)
    return [str(one) for one in found if "formulas" in str(one)]


@pytest.mark.parametrize("text", ["=1+1", "+49 30 1234", "-x", "@SUM(A1)", " =A1", "-1-2"])
def test_texts_that_spreadsheets_compute_are_named(text: str) -> None:
    (note,) = notes(values=(text, "b"))
    assert repr(text) in note
    assert notes(values=("b", "c"), missing=text)
    assert notes(values=("b", "c"), name=text)


@pytest.mark.parametrize("text", ["-1", "+1.5", "-", "a=b", "1-2", "-3,5"])
def test_numbers_and_other_texts_are_not(text: str) -> None:
    assert notes(values=(text, "b")) == []

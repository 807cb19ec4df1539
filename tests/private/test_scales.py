"""Texts that have an order of their own, and the drafts that declare it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.private.drafts.scales import in_their_order

ORDERED = (
    "Strongly disagree|Disagree|Neither agree nor disagree|Agree|Strongly agree",
    "Never|Rarely|Sometimes|Often|Always|Prefer not to say",
    "1 - never|2 - rarely|10 - always",
    "<18|18-24|25-34|65+",
    "less than $25,000|$25,000 to $49,999|$50,000 to $99,999|over $100,000",
    "Jan|Feb|Mar|Apr|May",
    "not_at_all|somewhat|extremely",
    "nie|selten|oft|immer",
    "Very poor|Fair|Very Good|Excellent",
)
UNORDERED = ("red|green|blue", "agree|disagree", "never|often|blue", "2nd|1st|3rd", "1 x|1 y|2 z", "a1|a2|a3")


@pytest.mark.parametrize("words", ORDERED)
def test_answers_of_a_scale_and_numbered_texts_have_an_order(words: str) -> None:
    values = words.split("|")
    found = in_their_order(sorted(values, reverse=True))
    assert found == tuple(values)


@pytest.mark.parametrize("words", UNORDERED)
def test_other_texts_have_none(words: str) -> None:
    assert in_their_order(words.split("|")) is None


def test_drafts_declare_the_order_and_conditions_ask_by_it(tmp_path: Path) -> None:
    answers = ["Never", "Rarely", "Often", "Always"]
    table = pd.DataFrame({"a": answers * 250, "b": ["x", "y", "z", "x"] * 250})
    draft = dpopt.infer_schema(table)
    draft.write(tmp_path / "draft.json")
    a, b = json.loads((tmp_path / "draft.json").read_text(encoding="utf-8"))["attributes"]
    assert a == {"name": "a", "type": "categorical", "values": answers, "ordered": True}
    assert "ordered" not in b
    made = dpopt.release(table, draft.reviewed(), "marginals:1", epsilon=100, predict=False)
    found = dpopt.answer(made, ["share of a >= Often", "share of a < Rarely"])
    assert found.estimate.tolist() == pytest.approx([0.5, 0.25], abs=0.02)
    counted = dpopt.histogram(table, draft.reviewed(), "a", epsilon=100)
    assert counted.answer("Rarely:Often").value == pytest.approx(500, abs=5)


def test_an_ordered_category_keeps_the_order_of_its_type(tmp_path: Path) -> None:
    words: Any = ["small", "large", "huge"]
    table = pd.DataFrame({"a": pd.Categorical(words * 90, categories=words, ordered=True), "b": [1, 2, 3] * 90})
    table.to_parquet(tmp_path / "t.parquet")
    for given in (table, tmp_path / "t.parquet"):
        attribute = dpopt.infer_schema(given).schema.attributes[0]
        assert (list(attribute.values), attribute.ordered, attribute.arrow) == (words, True, "ordered category")

"""Questions in text: what is read, and what is said of texts that are none."""

from __future__ import annotations

from typing import Any

import pytest

import dpopt
from dpopt.answers.questions import Question, parse_question
from dpopt.errors import QuestionError

CATEGORICAL, NUMERIC = dpopt.AttributeKind.CATEGORICAL, dpopt.AttributeKind.NUMERIC
DATES: dict[str, Any] = {"edges": ("1950-01-01", "1980-01-01", "2000-01-01"), "date_format": "%Y-%m-%d"}
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("sex", CATEGORICAL, ("female", "male")),
        dpopt.Attribute("work status", CATEGORICAL, ("retired", "self employed", "other", "n - a"), missing="?"),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("income", NUMERIC, edges=(0, 10, 20, 40, 100)),
        dpopt.Attribute("age", NUMERIC, edges=(0, 20, 40, 60, 80), integer=True),
        dpopt.Attribute("born", NUMERIC, **DATES),
        dpopt.Attribute("by", CATEGORICAL, ("female", "post (1 - 2)")),
    )
)


def asked(text: str) -> Question:
    return parse_question(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("count where sex = female and work status = retired", "sex = female and work status = retired"),
        ("count where 20 <= age < 40", "age >= 20 and age < 40"),
        ("count where 40 > age", "age < 40"),
        ("count where age in ([0, 20), [20, 40))", "age in {[0, 20), [20, 40)}"),
        ("COUNT WHERE not sex = male or smoker = TRUE", "not (sex = male) or smoker = true"),
        ("count where (sex = male or smoker = false) and age >= 60", "(sex = male or smoker = false) and age >= 60"),
        ("count where work status not in (retired, 'self employed')", "work status not in {retired, self employed}"),
        ("count where work status is not missing", "work status is given"),
        ("count where work status = ?", "work status = missing"),
        ("count where work status = n - a", "work status = n - a"),
        ("count where born >= 1980-01-01", "born >= 1980-01-01"),
        ("count where `by` = post (1 - 2)", "by = post (1 - 2)"),
        ("count of self employed", "work status = self employed"),
        ("count of retired where age >= 60", "work status = retired and age >= 60"),
    ],
)
def test_conditions_are_formulas_of_rules(text: str, condition: str) -> None:
    found = asked(text)
    assert found.measure == "count"
    assert found.condition is not None
    assert found.condition.describe() == condition


def test_measures_groups_and_differences_are_read() -> None:
    share, event = asked("share of smoker by sex, age"), asked("share of income >= 20 and sex = male by by")
    assert (share.measure, share.column, share.by) == ("share", "smoker", ("sex", "age"))
    assert (event.column, event.by) == (None, ("by",))
    assert event.event is not None
    assert event.event.describe() == "income >= 20 and sex = male"
    assert (asked("median(income) by sex").level, asked("quantile(income, .9)").level) == (0.5, 0.9)
    apart = asked("mean(income) of retired - mean(income) of self employed")
    assert apart.text == "mean(income) of retired - mean(income) of self employed"
    assert apart.minus is not None
    assert apart.minus.text == "mean(income) of self employed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            "at the end: expected count, share of ..., mean(column), median(column), quantile(column, 0.9) or outcome ~ column",
        ),
        ("meen(income)", "at 'meen(income)': expected count"),
        ("mean(incom)", "did you mean 'income'?"),
        ("mean income", "expected '('"),
        ("count where agee > 3", "at 'agee > 3': expected a column; did you mean 'age'?"),
        ("count where age >", "at the end: expected a value of 'age'"),
        ("count where age", "after 'age'"),
        ("count by sex bye", "at 'bye': expected 'where', 'by', 'of'"),
        ("mean(income) of retire", "did you mean 'retired'?"),
        ("count of female", "is a value of 'sex' and 'by'; write where sex = female"),
        ("quantile(income, 1)", "a number above 0 and below 1"),
        ("mean(income) by sex - mean(income)", "found by sex and by nothing"),
        ("count - count - count", "one difference"),
        ("count where work status is red", "'missing' or 'given'"),
        ("share smoker", "expected 'of' and a column or a condition"),
        ("count where (sex = male", "expected ')'"),
        ("count by sex, sex", "twice"),
    ],
)
def test_whatever_is_no_question_is_refused_with_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(QuestionError) as refusal:
        asked(text)
    assert said in str(refusal.value)

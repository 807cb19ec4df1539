"""Answers of releases: from a release or its folder and texts of questions to a table of estimates with intervals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpopt.algorithms.replay import finished_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.answers.answer import Answer, answers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.intervals import Interval
from dpopt.answers.questions import parse_question
from dpopt.answers.regression import regress
from dpopt.constraints import Number
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals, pooled
from dpopt.private.evaluation import TableAnswers
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

AnyRelease = SyntheticRelease | str | os.PathLike[str]
Row = dict[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """What answers questions: what one release measured of a table, or several, and the rows of the first."""

    schema: Schema
    measured: MeasuredResiduals
    rows: RowTables
    persons: bool
    """Whether privacy is that of persons, whose records are not independent."""

    @classmethod
    def of(cls, releases: Sequence[AnyRelease]) -> Answering:
        """Read releases of one table.

        Raises QuestionError if they have not the same schema and number of records, or hold no records.
        """
        finished = [finished_release(one) for one in releases]
        if not finished:
            raise QuestionError("found no release; expected one, or several of one table")
        first = finished[0]
        schema, size = first.job.schema, float(first.job.plan.size)
        if any(one.job.schema.to_json() != schema.to_json() or one.job.plan.size != size for one in finished):
            raise QuestionError(
                "found releases with other columns or another number of records; expected releases of one table: ask each "
                "by itself"
            )
        found = [measured for one in finished if (measured := one.measured()) is not None]
        measured = pooled(found) if found else _nothing(Domains.of(schema, occurring=False), size)
        written = first.written
        answers = RecordAnswers(written.held, written.multiplicity.astype(np.float64))
        persons = first.statement["privacy"]["budget"].get("rows_per_person") is not None
        return cls(schema, measured, RowTables(answers, measured.domains, schema.sizes, size), persons)

    def answers(
        self,
        questions: Sequence[str],
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        population: bool = False,
    ) -> list[Row]:
        """Return the answers to questions, one after the other; see `answer`."""
        Number("the confidence", above=0, below=1)(confidence, QuestionError)
        if population and self.persons:
            raise QuestionError(
                "this release protects persons, whose records are not independent, so that the error of sampling does not "
                "follow from them; leave --population out"
            )
        asked = [parse_question(text, self.schema) for text in questions]
        together = 1
        if simultaneous:
            together = sum(len(answers_of(one, self.schema, self.measured, self.rows)) for one in asked)
        how: dict[str, Any] = {"confidence": confidence, "together": together, "population": population}
        found = [answers_of(one, self.schema, self.measured, self.rows, **how) for one in asked]
        return [row_of(one) for answers in found for one in answers]

    def coefficients(self, formula: str, *, confidence: float = 0.95, simultaneous: bool = False) -> list[Row]:
        """Return the coefficients of a linear regression; see `regression`."""
        Number("the confidence", above=0, below=1)(confidence, QuestionError)
        found = regress(formula, self.schema, self.measured, self.rows, confidence=confidence)
        if simultaneous:
            each = 1 - (1 - confidence) / len(found)
            found = regress(formula, self.schema, self.measured, self.rows, confidence=each)
        return [{"regression": formula, "term": one.term, **_ends(one.interval), "how": one.how} for one in found]


def answer(
    release: AnyRelease | Sequence[AnyRelease],
    questions: str | Sequence[str],
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    population: bool = False,
) -> pd.DataFrame:
    """Answer questions from what a release measured, each with an interval that holds the figure of the table.

    Parameters
    ----------
    release
        A release or its folder; or several of one table, whose measurements are taken together by their precision.
    questions
        As "count where sex = female", "share of smoker by education", "mean(income) by sector where age >= 40",
        "median(income) by sex", "mean(income) of retired - mean(income) of employed" (docs: answers).
    confidence
        Probability with which each interval holds the figure of the table as counted, over the noise.
    simultaneous
        Whether all intervals of this call hold together with this probability.
    population
        Whether intervals hold the figure of the population that the table was drawn from, record by record.

    Returns
    -------
    DataFrame
        A row for each figure: "question", the values of the columns that make groups, "value" (of a share of values),
        "estimate", "low", "high", "standard_error", for a mean "least" and "greatest" (ends for the mean of the numbers
        themselves, wherever in their bins they are), and "how" it was found.

    Raises
    ------
    QuestionError
        If a question cannot be read, or not be answered from this release.

    Examples
    --------
    >>> import dpopt, pandas
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> made = dpopt.release(pandas.DataFrame({"smoker": [True, False] * 500}), schema, n0=1000, epsilon=5)
    >>> found = dpopt.answer(made, "count where smoker = true", confidence=0.9999)
    >>> bool(found.low[0] <= 500 <= found.high[0])
    True
    """
    texts = [questions] if isinstance(questions, str) else list(questions)
    found = _answering(release).answers(texts, confidence=confidence, simultaneous=simultaneous, population=population)
    return frame(found)


def regression(
    release: AnyRelease | Sequence[AnyRelease], formula: str, *, confidence: float = 0.95, simultaneous: bool = False
) -> pd.DataFrame:
    """Return the coefficients of a linear regression, each with an interval that holds that of the table.

    Parameters
    ----------
    release, confidence, simultaneous
        As of `answer`.
    formula
        As "income ~ age + sex": numbers count as they are (a bin as its representative), of other columns each value but
        the first has a coefficient of its own. The outcome has numbers, or two values, which count 0 and 1.

    Returns
    -------
    DataFrame
        A row for each coefficient: "regression", "term", "estimate", "low", "high", "standard_error" and "how". An end is
        infinite where noise may hide how the terms depend on each other: the coefficient is not identified.

    Raises
    ------
    QuestionError
        If the formula cannot be read, or not be answered from this release.

    Examples
    --------
    >>> import dpopt, pandas
    >>> schema = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in ("smoker", "ill")))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500, "ill": [True, False, False, False] * 250})
    >>> made = dpopt.release(table, schema, n0=1000, epsilon=5)
    >>> found = dpopt.regression(made, "ill ~ smoker", confidence=0.9999)
    >>> list(found.term), bool(found.low[1] <= 0.5 <= found.high[1])
    (['constant', 'smoker = true'], True)
    """
    return frame(_answering(release).coefficients(formula, confidence=confidence, simultaneous=simultaneous))


def _answering(release: AnyRelease | Sequence[AnyRelease]) -> Answering:
    return Answering.of([release] if isinstance(release, SyntheticRelease | str | os.PathLike) else list(release))


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows as a table, what names a figure first."""
    import pandas as pd

    names = list(dict.fromkeys(name for row in rows for name in row if name not in _FIGURES))
    names += [name for name in _FIGURES if any(name in row for row in rows)]
    return pd.DataFrame(rows, columns=names)


def exact_figures(release: SyntheticRelease, table: TableAnswers) -> list[Row]:
    """Return `release.figures()`, each with that of its table as counted, "real", and whether it is "held". NOT private."""
    shown = release.figures()
    if not shown:
        return []
    answering = Answering.of([release])
    nothing, sizes = _nothing(answering.measured.domains, float(table.records)), answering.schema.sizes
    exact = replace(answering, measured=nothing, rows=RowTables(table, nothing.domains, sizes, nothing.size))
    real = [one["estimate"] for one in exact.answers(list(dict.fromkeys(str(one["question"]) for one in shown)))]
    return [
        {**one, "real": true, "held": bool(one["low"] <= true <= one["high"])}
        for one, true in zip(shown, real, strict=True)
    ]


_FIGURES = ("value", "estimate", "low", "high", "standard_error", "least", "greatest", "how")
"""Columns that stand behind those that name a figure, in this order."""


def row_of(one: Answer) -> Row:
    """Return an answer as a row of a table."""
    row: Row = {"question": one.question, **dict(one.group)}
    if one.value is not None:
        row["value"] = one.value
    row |= _ends(one.interval)
    if one.within is not None:
        row |= {"least": one.within[0], "greatest": one.within[1]}
    return {**row, "how": one.how}


def _ends(found: Interval) -> Row:
    return {"estimate": found.estimate, "low": found.low, "high": found.high, "standard_error": found.deviation}


def _nothing(domains: Domains, size: float) -> MeasuredResiduals:
    """Return that no marginal was measured."""
    none = MarginalSet(domains, np.zeros((0, 1), dtype=np.int32))
    return MeasuredResiduals(none, np.zeros(0), np.zeros(0), size, float("inf"))

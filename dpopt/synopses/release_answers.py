"""Answers of releases: from a release or its folder and texts of questions to a table of estimates with intervals."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpopt.algorithms.replay import finished_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.answers.answer import FIGURES, MEASURED, SHRUNKEN, Estimated, Row, answers_of
from dpopt.answers.estimates import CountedCells, Measured, RowTables
from dpopt.answers.questions import parse_question
from dpopt.answers.regression import Regression, regress
from dpopt.constraints import Number
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals, pooled, shrunken_residuals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.releases.measured_size import size_deviation
from dpopt.schema.domains import Domains
from dpopt.schema.rules.condition_text import QUOTED
from dpopt.schema.schema import Schema
from dpopt.synopses.any_synopsis import read_synopsis
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.synopsis import Synopsis

if TYPE_CHECKING:
    import pandas as pd

AnyRelease = SyntheticRelease | Synopsis | str | os.PathLike[str]

MOST_BINS = 2_000
"""Bins of a histogram that is asked, at most: the covariances of all are computed."""


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """Sources of answers: the measurements of one or several releases of a table, and rows; or a histogram."""

    schema: Schema
    measured: Measured
    rows: RowTables | None
    """None of a histogram, which has none and lacks nothing."""
    persons: bool
    """Whether privacy is that of persons, whose records are not independent."""

    @classmethod
    def of(cls, releases: Sequence[AnyRelease]) -> Answering:
        """Read releases of one table, or one histogram.

        Raises QuestionError if they have not the same schema and number of records, or are a synopsis that has no counts of
        cells.
        """
        opened = list(map(_opened, releases))
        finished = [one for one in opened if isinstance(one, SyntheticRelease)]
        if len(opened) == 1 and isinstance(opened[0], Synopsis):
            return cls._of_histogram(opened[0])
        if len(finished) < len(opened):
            raise QuestionError("found a synopsis among other releases; ask each one alone")
        if not finished:
            raise QuestionError("found no release; expected one, or several of one table")
        first, written = finished[0], finished[0].written
        schema, size = first.job.schema, float(first.job.plan.size)
        found = [measured for one in finished if (measured := one.measured()) is not None]
        numbers = {one.records for one in found if one.records_variance == 0}
        units = {_rows_per_person(one.statement["privacy"]) for one in finished}
        if any(one.job.schema.to_json() != schema.to_json() for one in finished) or max(len(numbers), len(units)) > 1:
            raise QuestionError(
                "found releases with other columns, another number of records or of rows per person; expected releases of "
                "one table: ask each by itself"
            )
        if any(np.array_equal(one.estimates, two.estimates) for one, two in combinations(found, 2)):
            raise QuestionError("found the same noisy values twice, of a copy or a replay; name each release once")
        variance = size_deviation(first.job.plan.budget) ** 2
        nothing = MeasuredResiduals.nothing(Domains.of(schema, occurring=False), size, variance)
        measured = pooled(found or [nothing])
        answers = RecordAnswers(written.held, written.multiplicity.astype(np.float64))
        rows = RowTables(answers, measured.domains, schema.sizes, size)
        return cls(schema, measured, rows, units != {None})

    @classmethod
    def _of_histogram(cls, made: Synopsis) -> Answering:
        """Return a source of answers that uses the least-squares counts of a histogram."""
        if not isinstance(made, Histogram) or made.plan.round_levels or made.bins.number > MOST_BINS:
            raise QuestionError(
                f"found a {made.WHAT}, released by {made.MADE_BY}; questions are answered by releases of records and by "
                f"histograms of one column of at most {MOST_BINS:,} bins that were not measured in rounds. Ask it by the "
                f"'answer' of its own commands"
            )
        schema = Schema((made.bins.attribute(),))
        starts, stops = np.triu_indices(made.bins.number + 1, 1)
        ranges = np.zeros((made.bins.number + 1,) * 2)  # variances of the counts from one edge to another
        ranges[starts, stops] = ranges[stops, starts] = made.plan.range_variances(starts, stops)
        below = (ranges[0] + ranges[0][:, None] - ranges) / 2  # covariances of the counts below edges
        covariance = np.diff(np.diff(below, axis=0), axis=1)
        cells = CountedCells(Domains.of(schema, occurring=False), made.least_squares, covariance, made.plan.gaussian)
        return cls(schema, cells, None, _rows_per_person(made.privacy) is not None)

    def answers(
        self,
        questions: Sequence[str],
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        population: bool = False,
        shrunken: bool = False,
    ) -> list[Row]:
        """Return the answers to questions, each once, one after the other; see `answer`."""
        Number("the confidence", above=0, below=1)(confidence, QuestionError)
        if population and self.persons:
            raise QuestionError(
                "this release protects persons, whose records are not independent, so that the error of sampling does not "
                "follow from them; leave --population out"
            )
        if shrunken and (population or not isinstance(self.measured, MeasuredResiduals)):
            raise QuestionError(
                "shrunken answers are of the table, from releases of records; leave --shrunken or --population out, and ask "
                "histograms without it"
            )
        asked = [self._asked(text, population=population) for text in dict.fromkeys(map(str.strip, questions))]
        together = sum(map(len, asked)) if simultaneous else 1
        rows = [found for one in asked for found in one.answers(confidence, together)]
        if shrunken and isinstance(self.measured, MeasuredResiduals):
            posterior = replace(self, measured=shrunken_residuals(self.measured))
            beside = posterior.answers(questions, confidence=confidence, simultaneous=simultaneous)
            rows = [_beside(one, two) for one, two in zip(rows, beside, strict=True)]
        return rows

    def _asked(self, text: str, *, population: bool) -> Estimated | Regression:
        if "~" not in re.sub(QUOTED, "", text):
            question = parse_question(text, self.schema)
            return answers_of(question, self.schema, self.measured, self.rows, population=population)
        if population:
            raise QuestionError(f"{text!r}: intervals of coefficients are those of the table; leave --population out")
        if self.rows is None or isinstance(self.measured, CountedCells):
            raise QuestionError(f"{text!r}: a histogram has one column, and no regression; ask a release of records")
        return regress(text, self.schema, self.measured, self.rows)


def answer(
    release: AnyRelease | Sequence[AnyRelease],
    questions: str | Sequence[str],
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    population: bool = False,
    shrunken: bool = False,
) -> pd.DataFrame:
    """Answer questions from the measurements of a release, each with an interval that holds the figure of the table.

    Parameters
    ----------
    release
        A release or its folder; or several of one table, whose measurements are taken together by their precision; or a
        histogram of one column, or its file.
    questions
        As "count where sex = female", "share of smoker by education", "mean(income) by sector where age >= 40",
        "median(income) by sex", "mean(income) of retired - mean(income) of employed"; or a linear regression, as
        "income ~ age + sex" (docs: answers).
    confidence
        Probability with which each interval holds the figure of the table as counted, over the noise.
    simultaneous
        Whether all intervals of this call hold together with this probability.
    population
        Whether intervals hold the figure of the population that the table was drawn from, record by record.
    shrunken
        Whether posterior means and intervals stand beside: biased towards columns that are unrelated, with less error.

    Returns
    -------
    DataFrame
        A row for each figure: "question", the values of the columns that make groups, "value" (of a share of values) or
        "term" (of a regression); "estimate", "low", "high", "standard_error", for a mean "least" and "greatest" (ends for
        the mean of the numbers themselves, wherever in their bins they are), where they are asked for "shrunken",
        "shrunken_low", "shrunken_high" (not of regressions), and "how" it was found. An end is infinite
        where noise may hide a denominator, or how the terms of a regression depend on each other.

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
    releases = [release] if isinstance(release, SyntheticRelease | Synopsis | str | os.PathLike) else list(release)
    texts = [questions] if isinstance(questions, str) else list(questions)
    how = {"simultaneous": simultaneous, "population": population, "shrunken": shrunken}
    return frame(Answering.of(releases).answers(texts, confidence=confidence, **how))


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows as a table, the columns that name a figure first."""
    import pandas as pd

    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(rows, columns=sorted(names, key=lambda name: name in FIGURES and 1 + FIGURES.index(name)))


def _beside(row: Row, shrunken: Row) -> Row:
    """Return an answer with its shrunken one; coefficients and unmeasured figures have none."""
    if "term" in row or row["how"] != MEASURED:
        return row
    return row | {name: shrunken[of] for name, of in zip(SHRUNKEN, ("estimate", "low", "high"), strict=True)}


def _opened(one: AnyRelease) -> SyntheticRelease | Synopsis:
    """Return a release or a synopsis as it is, or that of a folder or file."""
    if isinstance(one, Synopsis):
        return one
    return (
        read_synopsis(one) if not isinstance(one, SyntheticRelease) and Path(one).is_file() else finished_release(one)
    )


def _rows_per_person(privacy: Mapping[str, Any]) -> int | None:
    return cast("int | None", privacy["budget"].get("rows_per_person"))

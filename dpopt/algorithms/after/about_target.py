"""Released figures about one column for its owner: means or shares within groups, and a regression. NOT private."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpopt.algorithms.evaluate import answers_of_records
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.answers.answer import MEASURED, answers_of, numbers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.intervals import deviations_of
from dpopt.answers.questions import FEW_VALUES, parse_question, questions_about
from dpopt.answers.regression import Regression, regress
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.private.evaluation import TableAnswers
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema

MOST_IN_GROUPS, MOST_TERMS = 24, 5
"""Figures within groups, and columns that explain the outcome of a regression."""


def figures_within_groups(finished: SyntheticRelease, target: str) -> list[dict[Any, Any]]:
    """Return released figures of a column within the groups of others that were measured with it, and have few values."""
    measured, schema = finished.measured(), finished.job.schema
    found: list[dict[Any, Any]] = []
    if measured is None:
        return found
    for text in questions_about(target, schema):
        question = parse_question(text, schema)
        few = schema.attributes[schema.index(question.by[0])].size <= FEW_VALUES
        answered = answers_of(question, schema, measured, None) if few else None
        if answered is not None and answered.how == MEASURED and len(found) + len(answered) <= MOST_IN_GROUPS:
            found += answered.answers()
    return found


def compare_regression(finished: SyntheticRelease, table: TableAnswers, target: str) -> list[dict[str, Any]]:
    """Return the coefficients of a linear regression: as released, as of synthetic rows, and as of the table, "real".

    The interval "low" to "high" is that of `release.regression`, for the table as counted; "real_low" to "real_high"
    is the usual one, for the population of which the rows are independent samples. "overlap" is the mean share that the
    two have in common. Source of it: Karr, Kohnen, Oganian, Reiter and Sanil 2006. Empty where no outcome fits.
    """
    schema, measured, rows = finished.job.schema, finished.measured(), answers_of_records(finished)
    formula = _formula(schema, measured, target)
    if formula is None or rows is None:
        return []
    nothing = MeasuredResiduals.nothing(Domains.of(schema, occurring=False), float(table.records))
    try:
        real, own, released = (
            regress(formula, schema, known, RowTables(answers, known.domains, schema.sizes, known.size))
            for known, answers in ((nothing, table), (nothing, rows), (measured or nothing, rows))
        )
    except QuestionError:  # a term that no record has, or that depends on the others
        return []
    return [] if {*real.terms} != {*released.terms} else _beside(formula, real, own, released)


def _beside(formula: str, real: Regression, own: Regression, released: Regression) -> list[dict[str, Any]]:
    z = deviations_of(0.95, gaussian=True, together=1)
    reach, found = z * real.sampling_errors(), []
    for at, answer in enumerate(released.answers()):
        place = real.terms.index(released.terms[at])
        true, rows = float(real.beta[place]), float(own.beta[own.terms.index(released.terms[at])])
        row = {**answer, "question": formula, "rows": rows, "real": true}
        row |= {"real_low": true - float(reach[place]), "real_high": true + float(reach[place])}
        found.append({**row, "overlap": _overlap(row)})
    return found


def _overlap(row: dict[str, Any]) -> float | None:
    """Return the mean of the shares of two intervals that they have in common; None where one has no ends."""
    ends = np.array([[row["low"], row["high"]], [row["real_low"], row["real_high"]]])
    wide = ends[:, 1] - ends[:, 0]
    if not np.isfinite(ends).all() or not wide.all():
        return None
    return float(np.mean(max(0.0, ends[:, 1].min() - ends[:, 0].max()) / wide))


def _formula(schema: Schema, measured: MeasuredResiduals | None, target: str) -> str | None:
    """Return OUTCOME ~ COLUMNS: the target if it is a number or has two values, else the first such column of numbers."""
    numbers = [one.name for one in schema.attributes if one.kind is AttributeKind.NUMERIC]
    outcomes = [name for name in (target, *numbers) if _is_outcome(schema.attributes[schema.index(name)])]
    if not outcomes:
        return None
    columns = _explaining(schema, measured, schema.index(outcomes[0]))
    if len(columns) < 3:  # too few were measured together: by the rows, without intervals
        columns = _explaining(schema, None, columns[0])
    outcome, *terms = (f'"{schema.names[place]}"' for place in columns)
    return f"{outcome} ~ {' + '.join(terms)}" if terms else None


def _explaining(schema: Schema, measured: MeasuredResiduals | None, outcome: int) -> list[int]:
    """Return the outcome and the first columns with few terms; all pairs of them were measured, if that counts."""
    numbers, chosen = [numbers_of(one) for one in schema.attributes], [outcome]
    for place, one in enumerate(schema.attributes):
        explains = _can_be_named(one) and (one.size <= FEW_VALUES or numbers[place] is not None)
        pairs = [(other, place) for other in chosen]
        if place in chosen or not explains or len(chosen) > MOST_TERMS:
            continue
        if measured is None or all(measured.missing(pair) is None for pair in pairs):
            chosen.append(place)
    return chosen


def _is_outcome(one: Attribute) -> bool:
    return _can_be_named(one) and one.missing is None and (numbers_of(one) is not None or one.size == 2)


def _can_be_named(one: Attribute) -> bool:
    """Return whether a formula can name a column; dates have no numbers that it could take."""
    return one.date_format is None and not {"~", "+", '"'} & {*one.name}

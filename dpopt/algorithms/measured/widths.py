"""How wide the intervals of figures will be, before anything is spent: from a plan, and no record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpopt.algorithms.measured.figures import asked_figures, even_answers, expected_measurements
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.answers.answer import numbers_of
from dpopt.answers.questions import COUNT, MEAN, SHARE, Question
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.workloads.workload import Workload
from dpopt.schema.schema import Schema

UNITS = {COUNT: "records", SHARE: "points"}
"""What half widths are in, by measure; of means and quantiles in the unit of the column."""


def predict_widths(plan: MeasuredPlan, workload: Workload) -> list[dict[str, Any]]:
    """Return how wide the 95 % intervals of a plan's figures will be. Reads no record.

    How many records each group has is private: groups are taken to be even, and of means and shares the width is said of
    a group of 10 % and of 1 % of the records, too. Widths follow from the noise; what other sets turn out to say moves it
    by some per cent.

    Returns
    -------
    list of dict
        For each question, and of a target for that by each other column: "question"; "groups", how many; "group_share",
        of the records, where they are even; "half_width", "of_10_percent" and "of_1_percent", None where the noise may
        hide a group; "unit", "records", "points" (per cent of a group) or None (that of the column); "range", of a column
        of numbers its least and its greatest number.

    Examples
    --------
    >>> import dpopt
    >>> asked = ["share of item1 by item2", "count where item3 = 1"]
    >>> made = dpopt.plan(dpopt.Schema.binary(3), "marginals:2", n=10_000, epsilon=1, figures=asked)
    >>> [(one["groups"], one["unit"], one["half_width"] < 300) for one in made.widths]
    [(2, 'points', True), (1, 'records', True)]
    """
    if plan.figures is None:
        return []
    measured = expected_measurements(plan, workload)
    return [_width(question, workload.schema, measured) for question in asked_figures(workload.schema, plan.figures)]


def _width(question: Question, schema: Schema, measured: MeasuredResiduals) -> dict[str, Any]:
    """Return the prediction of one question; a number of records scales all groups."""
    among = replace(question, measure=COUNT, column=None, event=None, minus=None)
    sizes = [one.estimate for one in even_answers(among, schema, measured)]
    share, scale = max(sizes) / measured.size, 100.0 if question.measure == SHARE else 1.0

    def half(records: float) -> float | None:
        found = even_answers(question, schema, replace(measured, records=records))
        width = scale * max((one.high - one.low) / 2 for one in found)
        return width if np.isfinite(width) else None

    sized = question.measure in (MEAN, SHARE) and question.minus is None and share < 1
    parts = {"of_10_percent": 0.1, "of_1_percent": 0.01}
    numbers = None if question.column is None else numbers_of(schema.attributes[schema.index(question.column)])
    return {
        "question": question.text if question.minus is None else f"{question.text} - {question.minus.text}",
        "groups": len(sizes),
        "group_share": share,
        "half_width": half(measured.records),
        **{name: half(measured.size * part / share) if sized else None for name, part in parts.items()},
        "unit": UNITS.get(question.measure),
        "range": None if numbers is None or scale > 1 else [float(numbers[1].min()), float(numbers[2].max())],
    }


def width_in_words(one: Mapping[str, Any]) -> str:
    """Return a prediction in one line.

    Examples
    --------
    >>> known = {"groups": 4, "group_share": 0.25, "half_width": 1.234, "of_10_percent": 3.1, "of_1_percent": None}
    >>> width_in_words({"question": "share of ill by sex", "unit": "points", "range": None, **known})
    'share of ill by sex: within 1.2 points in 4 even groups of 25 % of the records; of 10 %: 3.1, of 1 %: unbounded'
    """
    unit = f" {one['unit']}" if one["unit"] else ""
    if one["range"] and one["half_width"] is not None:
        unit = f" ({100 * one['half_width'] / (one['range'][1] - one['range'][0]):.2g} % of the column's range)"
    even = f"{one['groups']:,} even groups of" if one["groups"] > 1 else "a group of"
    groups = "" if one["group_share"] == 1 else f" in {even} {100 * one['group_share']:.2g} % of the records"
    sized = f"; of 10 %: {_shown(one['of_10_percent'])}, of 1 %: {_shown(one['of_1_percent'])}"
    if one["unit"] == UNITS[COUNT]:
        groups = sized = ""
    return f"{one['question']}: within {_shown(one['half_width'])}{unit}{groups}{sized if groups else ''}"


def _shown(width: float | None) -> str:
    return "unbounded" if width is None else f"{width:,.0f}" if width >= 100 else f"{width:.2g}"

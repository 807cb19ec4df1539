"""Figures that matter: the measurements that they need, and the widths of their intervals.

A third of the budget buys what they need, the rest is spent as if there were none, knowing what they told. All of it follows
from questions, schema and budget; no record is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from dpopt.algorithms.measured.known import Known
from dpopt.algorithms.measured.plan import MeasuredPlan, PlannedFigures
from dpopt.algorithms.measured.stages import measurable, sets_of
from dpopt.algorithms.options import Projection
from dpopt.answers.answer import answers_of
from dpopt.answers.questions import COUNT, SHARE, Question, parse_question, questions_about
from dpopt.errors import PlanError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.schema.rules.condition_text import QUOTED
from dpopt.schema.schema import Schema

FIGURES_SHARE = 1 / 3


def planned_figures(workload: Workload, rho: float, asked: Projection) -> PlannedFigures | None:
    """Return the part of a workload and of rho that the figures need; None without figures.

    Raises PlanError for what is no question about these columns, or needs more of them than are measured together.
    """
    if (asked.figures, asked.target) == (None, None):
        return None
    texts, (_, sets) = tuple(cast("Sequence[str]", asked.figures or ())), sets_of(workload)
    found: set[tuple[int, ...]] = set()
    known, schema = sets.take(np.flatnonzero(measurable(sets, len(workload.schema)))), workload.schema
    even = MeasuredResiduals(known, np.zeros(known.number_of_cells), np.ones(len(known)), 1.0)
    for question in _asked(schema, texts, asked.target):
        for one in [question, question.minus] if question.minus else [question]:
            columns = sorted({schema.index(name) for name in (*one.by, *one.columns)})
            if even.missing(columns) is not None:
                names = ", ".join(schema.names[column] for column in columns)
                raise PlanError(
                    f"{one.text!r} needs {len(columns)} columns together ({names}), which are not measured together: take "
                    f"the workload marginals:{len(columns)}, ask about fewer columns, or declare wider bins"
                )
            found.add(tuple(column for column in columns if sets.domains.counts[column] > 1))
        _half_width(question, schema, even)  # refuses what its columns cannot answer
    if not (kept := tuple(sorted(found - {()}))):
        raise PlanError("--figures: found no question that needs a column; ask one on each line")
    return PlannedFigures(texts, asked.target, kept, FIGURES_SHARE * rho)


def _asked(schema: Schema, texts: Sequence[str], target: str | None) -> list[Question]:
    """Return the questions, and for a target its mean, or the shares of its values, by each other column."""
    for text in texts:
        if "~" in re.sub(QUOTED, "", text):
            raise PlanError(
                f"{text!r} is a regression, which --figures does not take; ask for its pairs, such as 'mean(income) by age'"
            )
    asked = [parse_question(text, schema) for text in texts]
    if target not in (None, *schema.names):
        raise PlanError(f"--target is a column of the schema, found {target!r}; there are {', '.join(schema.names)}")
    if target is not None and (schema.attributes[schema.index(target)].size < 2 or len(schema) < 2):
        raise PlanError(
            f"--target: {target!r} has one value, or is the only column; name a column that others depend on"
        )
    return asked + [parse_question(text, schema) for text in questions_about(target, schema)]


def _half_width(question: Question, schema: Schema, even: MeasuredResiduals, part: float = 1.0) -> tuple[float, float]:
    """Return the half width of the widest interval, and the largest estimate, with this multiple of the records."""
    found = answers_of(question, schema, replace(even, records=part * even.size), None).answers()
    return max((one["high"] - one["low"]) / 2 for one in found), max(one["estimate"] for one in found)


def predict_widths(plan: MeasuredPlan, workload: Workload) -> list[dict[str, Any]]:
    """Return how wide the 95 % intervals of a plan's figures will be, before anything is spent; no record is read.

    How many records a group has is private: of means, shares and quantiles the half width is said of a group of 10 % and
    of 1 % of the records, whose values are spread evenly. For each question, and of a target for that by each other
    column: "question"; "unit", "records", "points" (per cent of a group) or None (that of the column); and "half_width" by
    group, "all", "10 %" and "1 %", None where noise may hide the group.
    """
    if plan.figures is None:
        return []
    schema, result = workload.schema, list[dict[str, Any]]()
    known = Known(Job(plan, schema, workload, {}, {}), plan)
    for stage in plan.stages:
        if not stage.distances and stage is not plan.coarse_stage:
            factors = known.choose(stage.order, stage.bound, stage.scale)
            known.add(factors, np.zeros(len(known.residuals(factors)), dtype=np.int64), stage.scale)
    even = known.measured()
    for one in _asked(schema, plan.figures.questions, plan.figures.target):
        among = replace(one, measure=COUNT, column=None, event=None, minus=None)
        share, scale = _half_width(among, schema, even)[1] / even.size, 100 if one.measure == SHARE else 1
        parts = {"all": share} if one.measure == COUNT or share > 1 - 1e-9 else {"10 %": 0.1, "1 %": 0.01}
        widths = {name: scale * _half_width(one, schema, even, part / share)[0] for name, part in parts.items()}
        result.append(
            {
                "question": one.text,
                "unit": {COUNT: "records", SHARE: "points"}.get(one.measure),
                "half_width": {name: width if np.isfinite(width) else None for name, width in widths.items()},
            }
        )
    return result


def width_in_words(one: Mapping[str, Any]) -> str:
    """Return a prediction in one line."""
    groups = [
        ("any distance" if width is None else f"{width:,.0f}" if width >= 100 else f"{width:.2g}")
        + ("" if name == "all" else f" for a group of {name}")
        for name, width in one["half_width"].items()
    ]
    return f"{one['question']}: within {', '.join(groups)}" + (f" ({one['unit']})" if one["unit"] else "")

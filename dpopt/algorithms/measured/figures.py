"""Figures that matter: the marginals that they need, what these cost, and how wide their intervals will be.

A third of the budget buys figures alone, the rest is spent as if there were none, knowing what they told. Answers have no
bias, so that the variance 1 / x_A of the noise in each residual A within a marginal F counts, whatever is expected of A:
x_A minimizes the sum over F of the mean squared error of its cells, sum_A s_AF / (x_A N(F)) with g = 1 (RA-3). It follows
from questions, schema and budget; no record is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.plan import MeasuredPlan, PlannedFigures
from dpopt.algorithms.measured.stages import best_precisions, factors_of, measurable, sets_of
from dpopt.algorithms.options import Projection
from dpopt.answers.answer import answers_of
from dpopt.answers.questions import COUNT, MEAN, SHARE, Question, parse_question
from dpopt.errors import PlanError, QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, prices, residual_program, solve_residuals
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import Residuals
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.measured_size import size_deviation
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.schema import Schema

FIGURES_SHARE = 1 / 3


def planned_figures(workload: Workload, rho: float, asked: Projection) -> PlannedFigures | None:
    """Return what figures need of a workload and of rho; None where none are asked for.

    Raises PlanError for what is no question about these columns, or needs more of them than are measured together.
    """
    if (asked.figures, asked.target) == (None, None):
        return None
    texts, (_, sets), found = (
        tuple(cast("Sequence[str]", asked.figures or ())),
        sets_of(workload),
        set[tuple[int, ...]](),
    )
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
    try:
        asked = [parse_question(text, schema) for text in texts]
    except QuestionError as problem:
        raise PlanError(f"--figures: {problem}") from problem
    if target not in (None, *schema.names):
        raise PlanError(f"--target is a column of the schema, found {target!r}; there are {', '.join(schema.names)}")
    for other in schema.names if target is not None else ():
        numbers = schema.attributes[schema.index(str(target))].kind is AttributeKind.NUMERIC
        measure, text = (MEAN, f"mean({target})") if numbers else (SHARE, f"share of {target}")
        asked += [Question(f"{text} by {other}", measure, target, by=(other,))] if other != target else []
    return asked


def figure_precisions(
    sets: MarginalSet, figures: PlannedFigures | None, order: int | None = None
) -> NDArray[np.float64]:
    """Return the precisions that figures get of the workload's sets of so many attributes, or all, (S,); 0 for others."""
    result = np.zeros(len(sets))
    if figures is not None:
        rows = np.full((len(figures.sets), max(map(len, figures.sets))), -1, dtype=np.int32)
        for row, one in zip(rows, figures.sets, strict=True):
            row[: len(one)] = one
        behind, known = (
            MarginalSet(sets.domains, rows),
            {sets.attributes_of(place): place for place in range(len(sets))},
        )
        program = residual_program(behind, rho=figures.rho, weights=1 / behind.cells())
        if not known.keys() >= set(figures.sets):
            raise PlanError("the plan has figures of columns that are not measured together; the plan was changed")
        places = [known[program.sets.attributes_of(place)] for place in range(len(program.sets))]
        result[places] = solve_residuals(program)[0] * ((program.sets.widths() == order) | (order is None))
    return result


def figure_costs(sets: MarginalSet, figures: PlannedFigures | None) -> list[float]:
    """Return what figures cost of rho by order, up to that of the largest marginal that they need."""
    orders = 0 if figures is None else max(map(len, figures.sets))
    return [float(prices(sets) @ figure_precisions(sets, figures, order + 1)) / 2 for order in range(orders)]


def _expected(plan: MeasuredPlan, workload: Workload) -> MeasuredResiduals:
    """Return what is expected to be measured first of each set, as if all records were spread evenly."""
    marginals, sets = sets_of(workload)
    known, first = np.zeros((2, len(sets)))
    for stage in plan.stages:
        if not stage.distances and stage is not plan.coarse_stage:
            prior = ResidualPrior.nothing(sets) if stage.order == 1 else ResidualPrior.public(sets, plan.size)
            figures, allowed = figure_precisions(sets, plan.figures, stage.order), measurable(sets, stage.order)
            bought = best_precisions(marginals, prior, known, allowed, stage.rho, figures=figures)
            factors = factors_of(sets, bought, stage.scale, stage.bound, replaced=plan.replaced)
            some, new = np.flatnonzero(factors), np.zeros(len(sets))
            new[some] = 1 / Residuals(sets.take(some), factors[some]).variances(stage.scale**2)
            first, known = np.where(first > 0, first, new), known + new
    with np.errstate(divide="ignore"):
        variances, noise = 1 / first, size_deviation(plan.budget) ** 2
    return MeasuredResiduals(sets, np.zeros(sets.number_of_cells), variances, float(plan.size), noise)


def _half_width(question: Question, schema: Schema, even: MeasuredResiduals, part: float = 1.0) -> tuple[float, float]:
    """Return the half width of the widest interval, and the largest estimate, with so many times as many records."""
    try:
        found = answers_of(question, schema, replace(even, records=part * even.size), None).answers()
    except QuestionError as problem:
        raise PlanError(f"--figures: {problem}") from problem
    ends = [one.interval for one in found]
    return max((one.high - one.low) / 2 for one in ends), max(one.estimate for one in ends)


def predict_widths(plan: MeasuredPlan, workload: Workload) -> list[dict[str, Any]]:
    """Return how wide the 95 % intervals of a plan's figures will be, before anything is spent; no record is read.

    How many records a group has is private: of means, shares and quantiles the half width is said of a group of 10 % and
    of 1 % of the records, whose values are spread evenly. Widths follow from the noise alone.

    Returns
    -------
    list of dict
        For each question, and of a target for that by each other column: "question"; "unit", "records", "points" (per
        cent of a group) or None (that of the column); "half_width" by group, "all", "10 %" and "1 %", None where noise
        may hide the group.

    Examples
    --------
    >>> import dpopt
    >>> asked = ["mean(item1) by item2", "count where item3 = 1"]
    >>> made = dpopt.plan(dpopt.Schema.binary(3), "marginals:2", n=10_000, epsilon=1, figures=asked)
    >>> [(list(one["half_width"]), width_in_words(one).partition(" within ")[0]) for one in made.widths]
    [(['10 %', '1 %'], 'mean(item1) by item2:'), (['all'], 'count where item3 = 1:')]
    """
    if plan.figures is None:
        return []
    even, schema, result = _expected(plan, workload), workload.schema, list[dict[str, Any]]()
    for one in _asked(schema, plan.figures.questions, plan.figures.target):
        among = replace(one, measure=COUNT, column=None, event=None, minus=None)
        share, scale = _half_width(among, schema, even)[1] / even.size, 100 if one.measure == SHARE else 1
        parts = {"all": share} if one.measure == COUNT or share > 1 - 1e-9 else {"10 %": 0.1, "1 %": 0.01}
        widths = {name: scale * _half_width(one, schema, even, part / share)[0] for name, part in parts.items()}
        named = {"question": one.text if one.minus is None else f"{one.text} - {one.minus.text}"}
        unit = {COUNT: "records", SHARE: "points"}.get(one.measure)
        known = {name: width if np.isfinite(width) else None for name, width in widths.items()}
        result.append({**named, "unit": unit, "half_width": known})
    return result


def width_in_words(one: Mapping[str, Any]) -> str:
    """Return a prediction in one line."""
    shown = {
        name: "any distance" if width is None else f"{width:,.0f}" if width >= 100 else f"{width:.2g}"
        for name, width in one["half_width"].items()
    }
    groups = [width if name == "all" else f"{width} for a group of {name}" for name, width in shown.items()]
    return f"{one['question']}: within {', '.join(groups)}" + (f" ({one['unit']})" if one["unit"] else "")

"""What figures need: the sets of attributes behind questions, their public weight, and how precisely they are measured.

Figures are answered without bias, so that the variance 1 / x_A of the noise in each residual A within a set F behind them
counts, whatever is expected of A. The mean squared error of the cells of F is sum_A s_AF / (x_A N(F)) with g = 1 (RA-3);
each F counts the same. The weight is the least power of two with which these errors, under the public prior, are those of
the sum of two measurements: a third of the budget for figures alone, and the rest as if there were none. All of it follows
from questions, schema, workload and budget; no record is read.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.plan import MeasuredPlan, PlannedFigures
from dpopt.algorithms.measured.stages import MOST_OF_ONE, best_precisions, factors_of, measurable, sets_of
from dpopt.algorithms.options import Options, Projection
from dpopt.answers.answer import answers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.intervals import Interval
from dpopt.answers.questions import MEAN, SHARE, Question, columns_of, parse_question
from dpopt.errors import PlanError, QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, prices, residual_program
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import Residuals
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.measured_size import size_deviation
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.schema import Schema

Numbers = NDArray[np.float64]

FIGURES_SHARE = 1 / 3
"""Part of the budget that figures get as if it were for them alone."""
_EXPONENTS = range(-60, 100)


def planned_figures(workload: Workload, size: int, rho: float, asked: Projection) -> PlannedFigures | None:
    """Return the sets behind the figures that were asked for, with their weight; None where there are none.

    Raises PlanError for what is no question about these columns, or needs columns that the workload does not hold together.
    """
    if not asked.names_figures:
        return None
    marginals, sets = sets_of(workload)
    schema, known = workload.schema, {sets.attributes_of(place): place for place in range(len(sets))}
    figures = asked_figures(schema, asked)
    behind = {columns: question.text for question in figures for columns in columns_of(question, schema)}
    even = MeasuredResiduals(sets, np.zeros(sets.number_of_cells), np.ones(len(sets)), float(size))
    found: list[tuple[int, ...]] = []
    for columns, what in behind.items():
        several = tuple(one for one in columns if marginals.domains.counts[one] > 1)
        if several in found or not several:
            continue
        names = ", ".join(schema.names[one] for one in several)
        if several not in known:
            raise PlanError(
                f"{what!r} needs {len(several)} columns together ({names}), which the workload does not count together; plan "
                f"with the workload marginals:{len(several)}, or ask about fewer columns"
            )
        if not measurable(sets.take([known[several]]), len(several))[0]:
            raise PlanError(
                f"{what!r} needs {names} together, which have more than {MOST_OF_ONE:,} cells, where noise would exceed the "
                f"counts; ask about fewer columns, or declare wider bins"
            )
        found.append(several)
    if not found:
        raise PlanError("figures were asked for, and no question needs any column; leave --figures out")
    try:
        for question in figures:
            even_answers(question, schema, even)  # refuses what these columns cannot answer
    except QuestionError as problem:
        raise PlanError(f"--figures: {problem}") from problem
    costs = figure_costs(sets, PlannedFigures((), None, tuple(found), 1.0))
    weight = 2.0 ** _EXPONENTS[_exponent(marginals, sets, size, rho, costs)]
    return PlannedFigures(asked.questions, asked.target, tuple(found), weight)


def even_answers(question: Question, schema: Schema, even: MeasuredResiduals) -> list[Interval]:
    """Return the intervals of a question where all records are spread evenly; raises QuestionError as `dpopt.answer`."""
    none = RecordAnswers(np.zeros((0, len(schema)), dtype=np.int32), np.zeros(0))
    rows = RowTables(none, even.domains, schema.sizes, 0.0)  # answers what is not measured, and all is
    return [one.interval for one in answers_of(question, schema, even, rows)]


def asked_figures(schema: Schema, named: Options | PlannedFigures) -> list[Question]:
    """Return the questions that matter, and those for a target by each other column: its mean, or the shares of its values.

    Raises PlanError where a text is no question about these columns, or the target is none of them.
    """
    target: str | None = getattr(named, "target", None)
    try:
        asked = [parse_question(text, schema) for text in named.questions]
    except QuestionError as problem:
        raise PlanError(f"--figures: {problem}") from problem
    if target is None:
        return asked
    if target not in schema.names:
        raise PlanError(f"--target is a column of the schema, found {target!r}; there are {', '.join(schema.names)}")
    numbers = schema.attributes[schema.index(target)].kind is AttributeKind.NUMERIC
    measure, text = (MEAN, f"mean({target})") if numbers else (SHARE, f"share of {target}")
    others = (name for name in schema.names if name != target)
    return asked + [Question(f"{text} by {other}", measure, target, by=(other,)) for other in others]


def figure_costs(sets: MarginalSet, figures: PlannedFigures | None) -> Numbers:
    """Return f_A (RA-7) of each of the workload's sets, (S,): the weight times sum_F s_AF / N(F); 0 without figures."""
    if figures is None:
        return np.zeros(len(sets))
    known = {sets.attributes_of(place): place for place in range(len(sets))}
    if not known.keys() >= set(figures.sets):
        raise PlanError(
            "the plan has figures of columns that the workload does not count together; the plan was changed"
        )
    width = max(map(len, figures.sets))
    rows = np.array([[*one, *[-1] * (width - len(one))] for one in figures.sets], dtype=np.int32)
    behind = MarginalSet(sets.domains, rows)
    program = residual_program(behind, rho=1.0, weights=figures.weight / behind.cells())
    costs = np.zeros(len(sets))
    costs[[known[program.sets.attributes_of(place)] for place in range(len(program.sets))]] = program.costs
    return costs


def _exponent(marginals: MarginalSet, sets: MarginalSet, size: int, rho: float, costs: Numbers) -> int:
    """Return the place of the least exponent with which figures are as precise as they are to be."""
    prior, allowed = ResidualPrior.public(sets, size), measurable(sets, sets.attributes.shape[1])
    behind, none = costs > 0, np.zeros(len(sets))

    def error(figures: Numbers) -> float:
        bought = best_precisions(marginals, prior, none, allowed, rho, figures=figures)[behind]
        with np.errstate(divide="ignore"):
            return float((costs[behind] / bought).sum())

    least = float(np.sqrt(costs * prices(sets)).sum() ** 2 / (2 * rho))
    wanted = 1 / (FIGURES_SHARE / least + (1 - FIGURES_SHARE) / error(none))
    return bisect_left(_EXPONENTS, -wanted, key=lambda exponent: -error(2.0**exponent * costs))


def expected_measurements(plan: MeasuredPlan, workload: Workload) -> MeasuredResiduals:
    """Return what a plan is expected to measure first of each set, as if all records were spread evenly.

    Sets behind figures have about the variances that they will have: what others get instead depends on distances.
    """
    marginals, sets = sets_of(workload)
    figures, public = figure_costs(sets, plan.figures), ResidualPrior.public(sets, plan.size)
    known, first = np.zeros((2, len(sets)))
    for stage in plan.stages:
        if stage.distances or stage is plan.coarse_stage:
            continue
        prior = ResidualPrior.nothing(sets) if stage.order == 1 else public
        wanted = best_precisions(marginals, prior, known, measurable(sets, stage.order), stage.rho, figures=figures)
        factors = factors_of(sets, wanted, stage.scale, stage.bound, replaced=plan.replaced)
        some, new = np.flatnonzero(factors), np.zeros(len(sets))
        new[some] = 1 / Residuals(sets.take(some), factors[some]).variances(stage.scale**2)
        first, known = np.where(first > 0, first, new), known + new
    with np.errstate(divide="ignore"):
        variances = 1 / first
    noise = size_deviation(plan.budget) ** 2
    return MeasuredResiduals(sets, np.zeros(sets.number_of_cells), variances, float(plan.size), noise)

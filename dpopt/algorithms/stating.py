"""Plan a release and predict its errors from public values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.simulation import named_part, simulated_clauses
from dpopt.algorithms.options import Auto, DualQuery, Options, PlanRequest, Projection
from dpopt.algorithms.prediction import BASELINES, ROWS, PredictedError
from dpopt.algorithms.registry import ALGORITHMS, OPTIONS, algorithm_of, candidates_for, plan_of, predict, values_plan
from dpopt.algorithms.request import (
    AssumedDensity,
    ReleaseRequest,
    Terms,
    assumed_density,
    delta_in_words,
    usual_workload,
)
from dpopt.errors import DpoptError, DpoptWarning, PlanError
from dpopt.files.codec import encode
from dpopt.private.evaluation import non_private_errors
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.solver import Capability
from dpopt.queries.counting.answers import trivial_answers
from dpopt.queries.marginal_set import some_of
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.descriptions.description import notes_of
from dpopt.releases.job import VALUES, WEIGHTS_BECAUSE, check_format, check_workload, refuse_unreviewed
from dpopt.releases.measured_size import measured_note
from dpopt.releases.plan import Plan
from dpopt.releases.progress import Detail, Progress, stage
from dpopt.releases.public_population.population import MOST_ATTRIBUTES, has_binary_population, public_population
from dpopt.releases.rule_conflicts import feasible_record
from dpopt.releases.solver_choice import require_solver
from dpopt.schema.finer import rough_differences
from dpopt.schema.schema import Schema

TIE = 1.25
"""The difference of two methods' predictions from measured errors in one of five settings (experiments/one_estimator).
"""
MOST_CELLS = 5_000_000
"""Cells of marginals on which the baselines are compared; of more, a public random part of the marginals."""


def public_baselines(workload: Workload, *, runs: int = 1, density: float | None = None) -> dict[str, dict[str, float]]:
    """Return the mean errors of trivial baselines on the populations on which plans are simulated, by name.

    Nobody's data enter one record of zeros (of the first declared values) and the uniform distribution over all
    records. A plan that does not beat them is worth nothing, whatever its budget; which plans these are follows from
    public values alone.
    """
    found = [_on_population(workload, seed, density) for seed in range(1, max(1, runs) + 1)]
    means = np.mean(np.array(found), axis=0).tolist()
    return {
        name: {"max_error": largest, "mean_error": mean}
        for name, (largest, mean) in zip(BASELINES, means, strict=False)
    }


def _on_population(workload: Workload, seed: int, density: float | None) -> list[tuple[float, float]]:
    if has_binary_population(workload, density):
        return _on_binary(workload, seed, density)
    table = PrivateDataset.from_codes(workload.schema, public_population(workload.schema, ROWS, seed=seed))
    some = workload.marginals
    queries = simulated_clauses(workload) if some is None else some_of(some, MOST_CELLS)
    errors = non_private_errors(table, queries, trivial_answers(queries, workload.schema.sizes))
    return [(one.max_error, one.mean_error) for one in errors.values()]


def _on_binary(workload: Workload, seed: int, density: float | None) -> list[tuple[float, float]]:
    part = named_part(workload, simulated_clauses(workload), seed, density)
    answers = trivial_answers(part.clauses, part.schema.sizes).values()
    differences = [np.abs(own - part.answers) for own in answers if isinstance(own, np.ndarray)]
    return [(float(one.max()), float(one.mean())) for one in differences]


def verdict(
    predicted: Mapping[str, Any], baselines: Mapping[str, Mapping[str, float]], workload: Workload
) -> str | None:
    """Return, in words, the baselines that the predicted errors do not beat, with advice; None if they beat all.

    A mean error that is less than `TIE` times that of independent columns, which cost budget too, is a tie; where
    nothing but single columns is asked for, they are what is released.
    """
    single = workload.marginals is not None and workload.marginals.attributes.shape[1] == 1
    binary = workload.schema.is_binary
    names = {
        "zeros": f"one record of {'zeros' if binary else 'first values'} has",
        "uniform": "the uniform distribution has",
        "independence": "noisy columns, treated as unrelated, have",
    }
    own, reasons = (predicted["max_error"], predicted["mean_error"]), []
    for name, errors in baselines.items():
        if name == "independence" and single:
            continue
        other = errors["max_error"], errors["mean_error"]
        shown = f"on the public population, {names[name]} largest error {other[0]:.2g} and mean error {other[1]:.2g}"
        if name == "independence" and own[1] < TIE * other[1] and other[1] < TIE * own[1]:
            mine = f"this plan's are {own[0]:.2g} and {own[1]:.2g}, on average about as large"
            reasons.append(f"{shown}: {mine}; {_advice(workload)}")
        elif other[0] <= own[0] and other[1] <= own[1]:
            reasons.append(f"{shown}: this plan's {own[0]:.2g} and {own[1]:.2g} cannot beat it; {_advice(workload)}")
        elif other[0] <= own[0] or other[1] <= own[1]:
            least = "largest" if other[0] <= own[0] else "mean"
            reasons.append(f"{shown}: its {least} error is smaller than this plan's ({own[0]:.2g} and {own[1]:.2g})")
    return "; ".join(reasons) or None


def _advice(workload: Workload) -> str:
    """Return advice: queries that a trivial data set gets wrong, or less noise."""
    if workload.marginals is not None:
        return "ask for fewer or smaller marginals, or use a larger budget"
    if (workload.schema.sizes == 2).all():
        clauses = workload.clauses
        positive = (clauses.signs & (clauses.values == 1)) | (clauses.attributes < 0)
    else:
        positive = np.zeros(1, dtype=np.bool_)
    if positive.all():
        return "ask signed queries, more popular items, or use a larger budget"
    return "ask fewer or other queries, or use a larger budget"


_WIDE = (
    f"on more than {MOST_ATTRIBUTES} binary attributes, predicting its errors would take as long as a run; name it "
    f"with --algorithm and give --no-predict to use it all the same"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of `auto` and its reason."""

    plan: Plan
    predicted: PredictedError
    because: str
    considered: Mapping[str, Any]
    """For each algorithm its predicted errors as a JSON object, or why it is not applicable."""


def choose(
    request: PlanRequest[Options],
    workload: Workload,
    *,
    on_algorithm: Callable[[str], None] = lambda name: None,
    compare: bool = False,
) -> Choice:
    """Return a plan of the algorithm with the least predicted mean error, or the first of a tie; only public values are read.

    Every candidate gets the options that it shares with the request's. With `compare` the errors of the algorithms that
    are never chosen are predicted too. Tables of more than 100 binary attributes leave those whose simulation stays
    short, whatever the width.
    """
    plans: dict[str, Plan] = {}
    predicted: dict[str, PredictedError] = {}
    considered: dict[str, Any] = {}
    wide = _is_wide(workload, request.density)
    candidates = candidates_for(request.options)
    others = [OPTIONS[name] for name in ALGORITHMS if compare and not wide and not OPTIONS[name].candidate]
    compared = [kind(**request.options.shared_with(kind)) for kind in others]
    for options in (*candidates, *compared):
        algorithm = options.algorithm
        if wide and not algorithm_of(options).predicts_wide:
            considered[algorithm] = {"not_applicable": _WIDE}
            continue
        try:
            plans[algorithm] = plan_of(replace(request, options=options), workload)
            on_algorithm(algorithm)
            predicted[algorithm] = predict(plans[algorithm], workload, density=request.density)
            considered[algorithm] = encode(predicted[algorithm])
            if plans[algorithm].leads and not compare:
                break
        except DpoptError as error:
            considered[algorithm] = {"not_applicable": str(error)}
    possible = {one.algorithm: predicted.get(one.algorithm) for one in candidates if one.algorithm in plans}
    if not possible:
        reasons = "; ".join(f"{one.algorithm}: {considered[one.algorithm]['not_applicable']}" for one in candidates)
        raise PlanError(f"no algorithm can serve this request. {reasons}")
    known = {name: errors for name, errors in possible.items() if errors is not None}
    if not known:
        raise PlanError("no algorithm's errors could be predicted; name one with --algorithm")
    leaders = [name for name in known if plans[name].leads]
    best = leaders[0] if leaders else next(name for name in known if name in _ties(known))
    because = f"{best} measures {plans[best].chosen_by}" if leaders else _because(best, known)
    return Choice(plans[best], known[best], because, considered)


def _is_wide(workload: Workload, density: float | None) -> bool:
    """Return whether the table is wide, all of zeros and ones, so that hardly any algorithm has predictions."""
    return len(workload.schema) > MOST_ATTRIBUTES and has_binary_population(workload, density)


def _ties(predicted: Mapping[str, PredictedError]) -> list[str]:
    """Return whose predicted mean error is less than `TIE` times the least, or is the least."""
    least = min(found.mean_error for found in predicted.values())
    return [name for name, found in predicted.items() if found.mean_error < max(TIE * least, least + 1e-300)]


def _because(best: str, predicted: Mapping[str, PredictedError]) -> str:
    others = {name: f"{name} {found.mean_error:.2g}" for name, found in predicted.items() if name != best}
    ties = [others.pop(name) for name in _ties(predicted) if name != best]
    compared = f", against {' and '.join(others.values())}" if others else ""
    own = f"{predicted[best].mean_error:.2g}"
    if ties:
        return f"{best}, the first of a tie in predicted mean error: {own}, with {' and '.join(ties)}{compared}"
    return f"{best} has the least predicted mean error, {own}{compared}"


def prepare(
    terms: Terms,
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str | None,
    progress: Progress,
    size: int | None = None,
) -> ReleaseRequest:
    """Return the request of a run, or refuse it by public values alone: before a table is read, or a plan made.

    Where no delta or no workload is given, the defaults of `dpopt.algorithms.request` are taken and noted; `size` is
    the number of records, or a guess of it, that they are taken for.
    """
    terms = terms.with_cost_as_budget(terms.n0 if size is None else size, progress)
    terms.check()
    terms.budget().warned()
    options = terms.algorithm
    bounds = isinstance(options, DualQuery) and options.gap is not None
    require_solver(options.own_solver or options.solver_name, Capability[options.solver_takes], bounds=bounds)
    if isinstance(options, Projection):
        require_solver(options.pricing_name)
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=terms.accept_draft)
    if (note := delta_in_words(terms)) is not None:
        progress.note(Detail(note))
    if workload is None:
        with stage(progress, "choosing what to count"):
            queries, note = usual_workload(declared, terms, terms.n0 if size is None else size)
        progress.note(Detail(note))
    else:
        queries = parse_workload(workload, declared) if isinstance(workload, str) else workload
    check_workload(queries, declared)
    check_format(terms.output(declared)["format"], declared, answers_only=options.answers_only)
    terms.reading.check_against(declared)
    terms.reading.check_declared(terms.n0)
    terms.reading.check_counted(terms.n0 if size is None else size, declared)
    if declared.rules:
        with stage(progress, "checking the rules"):
            feasible_record(declared.circuit(), declared.sizes)  # refuses rules that contradict each other
    return ReleaseRequest(terms.complete(), declared, queries)


def plan_and_statement(
    terms: Terms,
    size: int,
    workload: Workload,
    progress: Progress,
    *,
    runs: int = 1,
    compare: bool = False,
    form: str | None = None,
    budget: Budget | None = None,
) -> tuple[Plan, dict[str, Any]]:
    """Return the plan for the terms, with its predictions; with `auto`, also the reason for the choice.

    With `compare`, `auto` also predicts the errors of algorithms that it never chooses. `form` is how a wide table is
    handed over, where that is known: without a declared share of ones it says what is assumed (see `assumed_density`),
    and the statement has that under "assumed". `budget` is that of the terms, with what was spent of it earlier.
    """
    assumed = assumed_density(workload.schema, form) if terms.density is None else None
    density = terms.density if assumed is None else assumed.density
    request = replace(terms.request(size, budget), density=density)
    has_binary_population(workload, terms.density)  # refuses a density for other tables
    stated = partial(plan_statement, accept_draft=terms.accept_draft, density=density, assumed=assumed)
    if not isinstance(terms.algorithm, Auto):
        plan = plan_of(request, workload)
        statement = stated(plan, workload, predict_errors=terms.predict, runs=runs)
        return plan, {**statement, **_values(request, workload)}
    choice = choose(
        request,
        workload,
        on_algorithm=lambda name: progress.note(Detail(f"predicting the errors of {name}")),
        compare=compare,
    )
    algorithm, because = choice.plan.algorithm, choice.because
    progress.note(Detail(f"algorithm: {algorithm}; {because}"))
    statement = stated(choice.plan, workload, predict_errors=True, predicted=choice.predicted)
    chosen = {"algorithm": algorithm, "because": because, "considered": dict(choice.considered)}
    return choice.plan, {**statement, "chosen": chosen, **_values(request, workload, algorithm)}


def _values(request: PlanRequest[Options], workload: Workload, algorithm: str | None = None) -> dict[str, Any]:
    """Describe the measurements within bins for the release statement; empty if there are none."""
    if algorithm is not None:
        options = next(one for one in candidates_for(request.options) if one.algorithm == algorithm)
        request = replace(request, options=options)
    values = values_plan(request, workload)
    return {} if values is None else {VALUES: encode(values)}


def plan_statement(
    plan: Plan,
    workload: Workload,
    *,
    predict_errors: bool,
    accept_draft: bool,
    runs: int = 1,
    predicted: PredictedError | None = None,
    density: float | None = None,
    assumed: AssumedDensity | None = None,
) -> dict[str, Any]:
    """Return the facts about a plan before any record is touched: proven bound, predicted errors, versions.

    `density` is the public share of ones in a table of zeros and ones; `assumed` says why, where it was not declared.
    Errors that were `predicted` already are not predicted again; they are compared with those of trivial data sets on
    the same populations, in numbers and in words.
    """
    from dpopt.version import __version__

    errors: dict[str, Any] | None = None
    if predict_errors:
        found = predict(plan, workload, runs=runs, density=density) if predicted is None else predicted
        baselines = found.baselines or public_baselines(workload, runs=found.runs, density=density)
        errors = {**encode(found), "baselines": baselines, "verdict": verdict(encode(found), baselines, workload)}
    declared: dict[str, Any] = {} if density is None else {"declared": {"density": density}}
    if assumed is not None:
        declared = {"assumed": encode(assumed)}
    return {
        **declared,
        "draft_accepted": bool(workload.schema.draft and accept_draft),
        "proven": algorithm_of(plan).prove(plan, workload),
        "predicted": errors,
        "versions": {"dpopt": __version__},
    }


def density_note(plan: Plan, statement: Mapping[str, Any]) -> str | None:
    """Return a warning for a wide table whose share of ones was not declared; None for others."""
    planned = algorithm_of(plan).knows_density and not plan.chosen_by.startswith("given")
    assumed = statement.get("assumed")
    if assumed is None or not planned:
        return None
    if assumed["density"] is not None:
        return (
            f"note: {assumed['because']}: rounds, draws and predictions are those for such sparse tables. Declare the "
            f"public share of ones by --density if you know it; if it is large, --density 0.5 makes errors several "
            f"times smaller"
        )
    layout = " (or, for a plan, the form of the table by --layout)" if statement["assumed"]["form"] is None else ""
    return (
        f"note: {assumed['because']}: rounds, draws and predictions are those for dense tables. If most values are 0, "
        f"declare the public share of ones{layout}: with --density 0.01, for example, errors are often several times smaller"
    )


def size_note(plan: Plan) -> str | None:
    """Return a note on a public size; None if it is exact, or if a warning says it."""
    if plan.relation is NeighbouringRelation.REPLACE_ONE:
        return None
    if plan.budget.earlier:
        text, advice = measured_note(plan.size, plan.budget)
        return Detail(f"note: {text}") if advice is None else None
    if plan.budget.rows_per_person is not None:
        return None
    return (
        f"note: under add-remove every answer is a count divided by n0 = {plan.size:,}. If the table has x % more or "
        f"fewer records, answers are off by up to x %, which predicted errors leave out. After this plan's run a wrong "
        f"n0 {plan.finds_wrong_size}"
    )


_COMPUTED = re.compile(r"\s*[=@+-](?!(\d+([.,]\d+)?)?\s*$)")


def _formula_note(schema: Schema) -> str | None:
    """Return the note on texts that a spreadsheet takes for formulas, None where there are none."""
    if schema.is_binary:
        return None
    for attribute in schema.attributes:
        for text in (attribute.name, attribute.missing, *attribute.values):
            if isinstance(text, str) and _COMPUTED.match(text):
                return (
                    f"note: spreadsheets take texts such as {text!r} of column {attribute.name!r} for formulas; import "
                    f"such columns as text, or rename the values in the table and in the schema"
                )
    return None


def remarks_on(plan: Plan, statement: Mapping[str, Any], schema: Schema) -> list[str | DpoptWarning]:
    """Return the notes and warnings on a plan before it is run."""
    weights, rough = statement.get(WEIGHTS_BECAUSE), rough_differences(schema)
    privacy = {"public_size": plan.size, "budget": encode(plan.budget)}
    notes = (
        size_note(plan),
        density_note(plan, statement),
        None if weights is None else f"note: distinct records with weights are written: {weights}",
        None if rough is None else f"note: {rough}",
        _formula_note(schema),
    )
    warned = notes_of({"privacy": privacy, "accuracy": {"predicted": statement.get("predicted")}}, schema)
    return [*(note for note in notes if note is not None), *(note.warning() for note in warned)]


def tell(remarks: Iterable[str | DpoptWarning], progress: Progress) -> None:
    """Show remarks, each by its kind."""
    for remark in remarks:
        if isinstance(remark, DpoptWarning):
            progress.warning(remark)
        else:
            progress.note(remark)

"""From terms to a plan and what is known of it before any record is touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.asked import Asked, Terms
from dpopt.algorithms.assumed_density import AssumedDensity, assumed_density
from dpopt.algorithms.choosing import choose
from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.options import Auto
from dpopt.algorithms.public_baselines import public_baselines, verdict
from dpopt.algorithms.registry import algorithm_of, plan_of, predict
from dpopt.files.codec import encode
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import check_bits, check_rules, check_workload, refuse_unreviewed
from dpopt.releases.measured_size import measured_note
from dpopt.releases.output_format import check_format
from dpopt.releases.plan import Encoding, Plan
from dpopt.releases.progress import Progress, stage
from dpopt.releases.public_population.public_table import has_binary_population
from dpopt.releases.rule_conflicts import feasible_record
from dpopt.releases.solver_choice import require_solver
from dpopt.schema.schema import Schema


def prepare(
    terms: Terms, schema: Schema | str | os.PathLike[str], workload: Workload | str, progress: Progress
) -> Asked:
    """Return what is asked of a run, or refuse what public values alone rule out: before a table is read, or a plan made.

    Raises
    ------
    DpoptError
        With what was found, what is expected and what to do.
    """
    terms.check()
    options = terms.algorithm
    require_solver(options.own_solver or options.solver_name)
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=terms.accept_draft)
    queries = parse_workload(workload, declared) if isinstance(workload, str) else workload
    check_workload(queries, declared)
    encoding = Encoding(getattr(options, "record_encoding", Encoding.RECORDS.value))
    check_rules(declared, encoding)
    check_bits(declared, encoding)
    check_format(terms.output(declared)["format"], declared, answers_only=options.answers_only)
    terms.reading.check_against(declared)
    if declared.rules:
        with stage(progress, "checking the rules"):
            feasible_record(declared.circuit(), declared.sizes)  # refuses rules that contradict each other
    return Asked(terms, declared, queries)


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
    """Return the plan that the terms ask for, and what is known of it; with `auto`, also why it was chosen.

    With `compare`, `auto` also predicts the errors of algorithms that it never chooses. `form` is how a wide table is handed
    over, where that is known: without a declared share of ones it says what is assumed (see `assumed_density`), and the
    statement has that under "assumed". `budget` is that of the terms, with what was spent of it earlier.

    Raises
    ------
    DpoptError
        If there is no such plan.
    """
    assumed = assumed_density(workload.schema, form) if terms.density is None else None
    density = terms.density if assumed is None else assumed.density
    request = replace(
        terms.request(size, budget),
        density=density,
        on_candidate=lambda number, of: progress.note(f"simulating candidate {number} of {of}"),
    )
    has_binary_population(workload, terms.density)  # refuses a density for other tables
    if not isinstance(terms.algorithm, Auto):
        plan = plan_of(request, workload)
        return plan, plan_statement(
            plan,
            workload,
            predict_errors=terms.predict,
            accept_draft=terms.accept_draft,
            runs=runs,
            density=density,
            assumed=assumed,
        )
    choice = choose(
        request,
        workload,
        on_algorithm=lambda name: progress.note(f"predicting the errors of {name}"),
        compare=compare,
    )
    progress.note(f"algorithm: {choice.plan.algorithm}; {choice.because}")
    statement = plan_statement(
        choice.plan,
        workload,
        predict_errors=False,
        accept_draft=terms.accept_draft,
        density=density,
        assumed=assumed,
    )
    predicted = _predicted(choice.predicted, workload, density)
    considered = dict(choice.considered)
    chosen = {"algorithm": choice.plan.algorithm, "because": choice.because, "considered": considered}
    return choice.plan, {**statement, "predicted": predicted, "chosen": chosen}


def _predicted(predicted: PredictedError, workload: Workload, density: float | None) -> dict[str, Any]:
    """Return predicted errors beside those of trivial data sets on the same populations, and the comparison in words."""
    stated, baselines = encode(predicted), public_baselines(workload, runs=predicted.runs, density=density)
    return {**stated, "baselines": baselines, "verdict": verdict(stated, baselines, workload)}


def plan_statement(
    plan: Plan,
    workload: Workload,
    *,
    predict_errors: bool,
    accept_draft: bool,
    runs: int = 1,
    density: float | None = None,
    assumed: AssumedDensity | None = None,
) -> dict[str, Any]:
    """Return what is known about a plan before any record is touched: proven bound, predicted errors, versions.

    `density` is the public share of ones in a table of zeros and ones; `assumed` says why, where it was not declared.
    """
    from dpopt.version import __version__

    predicted: dict[str, Any] | None = None
    if predict_errors:
        predicted = _predicted(predict(plan, workload, runs=runs, density=density), workload, density)
    declared: dict[str, Any] = {} if density is None else {"declared": {"density": density}}
    if assumed is not None:
        declared = {"assumed": encode(assumed)}
    return {
        **declared,
        "draft_accepted": bool(workload.schema.draft and accept_draft),
        "proven": algorithm_of(plan).prove(plan, workload),
        "predicted": predicted,
        "versions": {"dpopt": __version__},
    }


def delta_warning(plan: Plan) -> str | None:
    """Return what to say where delta is not below 1 / n, and so allows to publish whole records; None elsewhere."""
    delta = plan.budget.delta
    if plan.budget.accountant is Accountant.PURE or delta * plan.size < 1:
        return None
    return (
        f"warning: delta = {delta:g} is not below 1/n = {1 / plan.size:.2g}. A mechanism that publishes a random record "
        "outright meets such a delta: take one well below 1/n unless you compare with published settings"
    )


def density_note(plan: Plan, statement: Mapping[str, Any]) -> str | None:
    """Return what to know about a wide table whose share of ones was not declared; None elsewhere."""
    planned = algorithm_of(plan).knows_density and not plan.chosen_by.startswith("given")
    assumed = statement.get("assumed")
    if assumed is None or not planned:
        return None
    if assumed["density"] is not None:
        return (
            f"note: {assumed['because']}: rounds, draws and predictions are those for such sparse tables. Declare the public "
            "share of ones by --density if you know it; where it is large, --density 0.5 makes errors several times smaller"
        )
    layout = (
        " (or, for a plan, by --layout how the table is handed over)"
        if statement["assumed"]["form"] is None
        else ""
    )
    return (
        f"note: {assumed['because']}: rounds, draws and predictions are those for dense tables. If most values are 0, declare "
        f"the public share of ones{layout}: with --density 0.01, say, errors are often several times smaller"
    )


def size_note(plan: Plan) -> str | None:
    """Return what to know about a public size; None under replace-one, where the size is exact."""
    if plan.relation is NeighbouringRelation.REPLACE_ONE:
        return None
    if plan.budget.earlier:
        return measured_note(plan.size, plan.budget)
    return (
        f"note: under add-remove every answer is a count divided by n0 = {plan.size:,}. If the table has x % more or fewer "
        "records, answers are off by up to x %, which predicted errors leave out"
    )


def remarks_on(plan: Plan, statement: Mapping[str, Any]) -> list[str]:
    """Return what there is to know of a plan before it is run."""
    found = (delta_warning(plan), size_note(plan), density_note(plan, statement))
    return [remark for remark in found if remark is not None]

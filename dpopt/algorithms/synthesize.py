"""From a table to a finished release in one call: what the command line and the Python API share."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.accuracy import proven_error
from dpopt.algorithms.folder_files import check_empty
from dpopt.algorithms.job import Job, check_output, check_rules, check_workload
from dpopt.algorithms.plan import DualQueryPlan, Encoding, FreeAttributes, whole_number
from dpopt.algorithms.plan_request import DEFAULT_DELTA, PlanBy, PlanRequest
from dpopt.algorithms.planning import log_universe, make_plan
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release import refuse_ended, refuse_unreviewed, release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.rule_conflicts import legal_record
from dpopt.algorithms.simulation import predict_error
from dpopt.algorithms.solver_choice import clause_solver, require_available
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, ReleaseFolderError
from dpopt.private.dataset import PrivateDataset
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.open_table import AnyTable
from dpopt.private.public_facts import public_size
from dpopt.private.read_table import read_table
from dpopt.private.rule_report import broken_rows
from dpopt.queries.schema import Schema
from dpopt.queries.workload import Workload, parse_workload

EXACT_SECONDS = 2.0
"""Time limit per round of solvers that could otherwise take hours to prove that a record is best."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may say about a run, beside table, schema, workload and folder; the defaults are those of the command line.

    Attributes
    ----------
    epsilon, delta, rho :
        The budget: epsilon and delta, or rho of zCDP (then epsilon is reported at delta, 1e-9 if left out).
    accountant : str
        zcdp, gdp, per-round, theorem or pure.
    neighbours : str
        replace (public n) or add-remove (fixed public n0).
    n0 : int or None
        The public size under add-remove.
    rounds, draws, step :
        T, s and eta where the user fixes them.
    plan_by : str
        rule, simulation or bound: how the open ones are chosen.
    solver, work, seconds, seed :
        The best-response solver, its limits per round, and its seed. "auto" is the local search.
    free_attributes : str
        first, random or estimated.
    encoding : str
        records (one value per attribute) or bits (the paper's free indicator bits).
    on_unknown : str
        error, clip, other, or clip,other.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used; recorded in the release.
    rows : int or None
        Number of rows to write; None writes the distinct records with weights.
    format : str
        csv or parquet.
    predict : bool
        Whether to simulate the errors on public synthetic data first.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    accountant: str = "zcdp"
    neighbours: str = "replace"
    n0: int | None = None
    rounds: int | None = None
    draws: int | None = None
    step: str | float | Decimal | None = None
    plan_by: str = "rule"
    solver: str = "auto"
    work: int | None = None
    seconds: float | None = None
    seed: int = 0
    free_attributes: str = "first"
    encoding: str = "records"
    on_unknown: str = "error"
    accept_draft: bool = False
    rows: int | None = None
    format: str = "csv"
    predict: bool = True

    def budget(self) -> Budget:
        """Return the budget.

        Raises
        ------
        PlanError
            If epsilon or delta is missing, or both epsilon and rho are given.
        AccountingError
            If a number is out of range.
        """
        accountant = choice(Accountant, self.accountant, "accountant")
        if (self.epsilon is None) == (self.rho is None):
            found = "no budget" if self.epsilon is None else "two budgets"
            raise PlanError(
                f"found {found}: give the budget as --epsilon and --delta, or as --rho, and not both"
            )
        delta = self.delta
        if self.rho is not None or accountant is Accountant.PURE:
            delta = DEFAULT_DELTA if delta is None and accountant is not Accountant.PURE else delta or 0.0
        if delta is None:
            raise PlanError("epsilon needs a delta: give --delta (well below 1/n; for example 1e-9)")
        return Budget(self.epsilon, delta, self.rho, accountant)

    def request(self, size: int) -> PlanRequest:
        """Return the planning request for a public size."""
        return PlanRequest(
            size=size,
            relation=choice(NeighbouringRelation, self.neighbours, "neighbours"),
            budget=self.budget(),
            rounds=self.rounds,
            draws=self.draws,
            step=_step(self.step),
            plan_by=choice(PlanBy, self.plan_by, "plan-by"),
            free_attributes=choice(FreeAttributes, self.free_attributes, "free-attributes"),
            encoding=choice(Encoding, self.encoding, "encoding"),
            solver="local-search" if self.solver == "auto" else self.solver,
            work=self.work,
            seconds=self._seconds(),
            seed=self.seed,
        )

    def _seconds(self) -> float | None:
        """Return the time limit per round; exact solvers get one unless the user limits them otherwise."""
        exact = self.solver not in {"auto", "local-search"}
        return EXACT_SECONDS if exact and self.seconds is None and self.work is None else self.seconds

    def output(self) -> dict[str, Any]:
        """Return how the records are to be written."""
        rows = None if self.rows is None else whole_number("the number of rows", self.rows, least=1)
        return {"format": self.format, "rows": rows}

    def check(self) -> None:
        """Refuse, before any table is read, what the settings alone rule out.

        Raises
        ------
        DpoptError
            With the setting and what is expected.
        """
        self.request(1 if self.n0 is None else self.n0)
        parse_on_unknown(self.on_unknown)
        check_output(self.output())
        require_solver(self.solver)


def synthesize(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str,
    *,
    out: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    column_names: list[str] | None = None,
    **options: Any,
) -> SyntheticRelease:
    """Release differentially private synthetic records of a table.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declared attributes. Public.
    workload : Workload or str
        The queries whose answers the synthetic records should keep. Public.
    out : path, optional
        New or empty folder for the release; without it everything stays in memory.
    settings : Settings, optional
        Everything else; or give its fields as keywords, for example ``epsilon=1, delta=1e-9``.
    progress : Progress, optional
        Told about stages and rounds.
    column_names : list of str, optional
        Names of the columns of a CSV file without a header line.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    if settings is not None and options:
        raise PlanError(f"give settings, or {', '.join(options)} as keywords, and not both")
    unknown = sorted(set(options) - {field.name for field in fields(Settings)})
    if unknown:
        names = ", ".join(field.name for field in fields(Settings))
        raise PlanError(f"there is no option {', '.join(unknown)}; the options are {names}")
    chosen = Settings(**options) if settings is None else settings
    told = progress or Silent()
    chosen.check()
    schema = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(schema, accepted=chosen.accept_draft)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_empty(folder)
        if (
            isinstance(table, str | os.PathLike)
            and Path(table).is_dir()
            and folder.resolve().is_relative_to(Path(table).resolve())
        ):
            raise ReleaseFolderError(
                f"{folder} lies inside the table's folder {table}, where it would be read as records later. Name another folder"
            )
    queries = parse_workload(workload, schema) if isinstance(workload, str) else workload
    check_workload(queries, schema)
    check_rules(schema, choice(Encoding, chosen.encoding, "encoding"))
    if schema.rules:
        with stage(told, "checking the rules"):
            legal_record(schema.circuit(), schema.sizes)  # refuses rules that contradict each other
    with stage(told, "reading the table"):
        dataset = read_table(
            table, schema, on_unknown=parse_on_unknown(chosen.on_unknown), column_names=column_names
        )
    _tell_owner_of_broken_rules(dataset, schema, told)
    size = public_size(dataset, choice(NeighbouringRelation, chosen.neighbours, "neighbours"), chosen.n0)
    with stage(told, "planning"):
        plan = make_plan(chosen.request(size), queries)
        statement = plan_statement(plan, queries, predict=chosen.predict, accept_draft=chosen.accept_draft)
    statement["reading"] = {
        "on_unknown": chosen.on_unknown,
        "column_names": _used_names(column_names, schema),
    }
    warning = delta_warning(plan)
    for remark in (warning, size_note(plan)):
        if remark is not None:
            told.note(remark)
    job = Job(plan, schema, queries, chosen.output(), statement)
    return release(dataset, job, folder, progress=told)


def _tell_owner_of_broken_rules(dataset: PrivateDataset, schema: Schema, told: Progress) -> None:
    """Tell the owner, and nobody else, which rules the table's own rows break; they are used as they are."""
    if not schema.rules:
        return
    with stage(told, "holding rows against rules"):
        report = broken_rows(dataset, schema.circuit())
    if report.rows_breaking_any == 0:
        return
    broken = [
        f"{count:,} {'rows break' if count > 1 else 'row breaks'} '{name}', the first is row {first:,}"
        for name, count, first in zip(report.names, report.broken, report.first_rows, strict=True)
        if first is not None
    ]
    told.owner_note(
        f"{report.rows_breaking_any:,} of {report.rows:,} rows of the table break a rule: {'; '.join(broken)}. "
        "They are used as they are; no synthetic record breaks a rule"
    )


def continue_run(
    folder: str | os.PathLike[str],
    table: AnyTable,
    *,
    progress: Progress | None = None,
) -> SyntheticRelease:
    """Continue an interrupted run; the table must be the one that it began with, and is read in the same way."""
    told = progress or Silent()
    refuse_ended(Path(folder))
    job = read_job(Path(folder))
    require_solver(job.plan.solver)
    with stage(told, "reading the table"):
        dataset = read_again(job, table)
    return resume(Path(folder), dataset, job, progress=told)


def _used_names(column_names: list[str] | None, schema: Schema) -> list[str] | None:
    """Return names of columns for publication: those that the schema does not use are numbered."""
    if column_names is None:
        return None
    used = set(schema.names)
    return [name if name in used else f"unused {number}" for number, name in enumerate(column_names, start=1)]


def read_again(job: Job, table: AnyTable) -> PrivateDataset:
    """Read a table as the run of a job reads it: by its schema, with its rule for unknown values and its column names."""
    reading = job.statement.get("reading", {})
    return read_table(
        table,
        job.schema,
        on_unknown=parse_on_unknown(reading.get("on_unknown", "error")),
        column_names=reading.get("column_names"),
    )


def delta_warning(plan: DualQueryPlan) -> str | None:
    """Return what to say where delta is not below 1 / n, and so allows to publish whole records; None elsewhere."""
    delta = plan.budget.delta
    if plan.budget.accountant is Accountant.PURE or delta * plan.size < 1:
        return None
    return (
        f"warning: delta = {delta:g} is not below 1/n = {1 / plan.size:.2g}. A mechanism that publishes a random record "
        "outright meets such a delta: take one well below 1/n unless you compare with published settings"
    )


def size_note(plan: DualQueryPlan) -> str | None:
    """Return what to know about a fixed public size; None under replace-one, where the size is exact."""
    if plan.relation is NeighbouringRelation.REPLACE_ONE:
        return None
    return (
        f"note: under add-remove every answer is a count divided by n0 = {plan.size:,}. If the table has x % more or fewer "
        "records, answers are off by up to x %, which predicted errors do not know"
    )


def plan_statement(
    plan: DualQueryPlan, workload: Workload, *, predict: bool, accept_draft: bool, runs: int = 1
) -> dict[str, Any]:
    """Return what is known about a plan before any record is touched: proven bound, predicted errors, versions."""
    from dpopt import __version__

    proven = proven_error(
        rounds=plan.rounds,
        draws=plan.draws,
        step=float(plan.step),
        queries=len(workload.clauses),
        log_universe=log_universe(workload.schema, plan.encoding),
    )
    predicted = predict_error(plan, workload, runs=runs).to_json() if predict else None
    return {
        "draft_accepted": bool(workload.schema.draft and accept_draft),
        "proven": proven.to_json(),
        "predicted": predicted,
        "versions": {"dpopt": __version__},
    }


def require_solver(name: str) -> None:
    """Refuse a solver that is unknown or cannot run here.

    Raises
    ------
    SolverUnavailableError
        With the reason and what to do.
    """
    require_available(clause_solver(name))


def choice(kind: Any, text: str, option: str) -> Any:
    """Return the member of an enumeration that a text names.

    Raises
    ------
    PlanError
        If it names none; the message lists them.
    """
    try:
        return kind(text)
    except ValueError:
        names = ", ".join(member.value for member in kind)
        raise PlanError(f"--{option} is one of {names}; found {text!r}") from None


def _step(step: str | float | Decimal | None) -> Decimal | None:
    if step is None:
        return None
    try:
        value = Decimal(str(step))
    except InvalidOperation:
        raise PlanError(f"the step eta must be a decimal number such as 1.4, found {step!r}") from None
    if not value.is_finite() or not 0 < value <= 1_000_000:
        raise PlanError(f"the step eta must be a positive number of at most 1,000,000, found {step!r}")
    return value

"""What a user may say about a run, beside table, schema, workload and folder."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.measured.plan import FitPlan
from dpopt.algorithms.option_takers import ALGORITHMS, AUTO, TAKERS
from dpopt.errors import PlanError
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.releases.job import check_output
from dpopt.releases.output_format import usual_format
from dpopt.releases.plan import Encoding, FreeAttributes, whole_number
from dpopt.releases.plan_request import (
    DEFAULT_DELTA,
    FitRequest,
    MultiplicativeRequest,
    PlanBy,
    PlanRequest,
)
from dpopt.schema.schema import Schema

EXACT_SECONDS = 2.0
"""Time limit per round of solvers that could otherwise take hours to prove that a record is best."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may say about a run, beside table, schema, workload and folder; the defaults are those of the command line.

    Attributes
    ----------
    algorithm : str
        dualquery, projection, adaptive, fem, sepfem, dqrs, pmw, mwem, smalldb, noise, or auto: the one with the least
        predicted mean error.
    epsilon, delta, rho :
        The budget: epsilon and delta, or rho of zCDP (then epsilon is reported at delta, 1e-9 if left out).
    accountant : str
        zcdp, gdp, per-round, theorem or pure.
    neighbours : str
        add-remove (one record more or less) or replace (one record changed, n public).
    n0 : int or None
        Under add-remove a fixed public number of records; None measures the number with 1 % of the budget.
    rounds, draws, step :
        T, s and eta where the user fixes them.
    plan_by : str
        rule, simulation or bound: how the open ones are chosen.
    selections : int or None
        How many marginals an adaptive run selects and measures.
    records, smoothing, columns, fit_seconds :
        How records are fitted to noisy counts: how many; how strongly they are pulled towards independent attributes; rounds
        of column generation that weigh them; a time limit.
    alpha, select, update, selection_share, replays, average :
        Multiplicative weights: when pmw ends; what is selected; how the distribution learns; see
        `dpopt.algorithms.multiplicative_weights.plan.MultiplicativePlan`.
    solver, work, seconds, seed :
        The best-response solver, its limits per round, and its seed. "auto" is the local search.
    free_attributes : str
        first, random or estimated.
    record_encoding : str
        records (one value per attribute) or bits (the paper's free indicator bits).
    reading : TableReading
        How the table is read: layout, names of columns, what happens to values that the schema does not declare.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used; recorded in the release.
    rows : int or None
        Number of rows to write; None writes the distinct records with weights.
    format : str or None
        csv or parquet; npz or baskets for wide tables of zeros and ones. None stands for npz there, and for csv elsewhere.
    predict : bool
        Whether to simulate the errors on public synthetic data first.
    fill : float or None
        Public share of ones in a table of zeros and ones, such as the average basket divided by the number of items: what
        predictions assume, and how rounds and draws are chosen for sparse tables. Without it wide tables are taken to be as
        sparse as their layout suggests (`dpopt.algorithms.assumed_fill`). Recorded in the release, like what is assumed.
    """

    algorithm: str = "auto"
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    accountant: str = "zcdp"
    neighbours: str = "add-remove"
    n0: int | None = None
    rounds: int | None = None
    draws: int | None = None
    step: str | float | Decimal | None = None
    plan_by: str = "rule"
    selections: int | None = None
    records: int | None = None
    smoothing: float | None = None
    columns: int | None = None
    fit_seconds: float | None = None
    alpha: float | None = None
    select: str | None = None
    update: str | None = None
    selection_share: float | None = None
    replays: int | None = None
    average: bool = False
    solver: str = "auto"
    work: int | None = None
    seconds: float | None = None
    seed: int = 0
    free_attributes: str = "first"
    record_encoding: str = "records"
    reading: TableReading = AS_USUAL
    accept_draft: bool = False
    rows: int | None = None
    format: str | None = None
    predict: bool = True
    fill: float | None = None

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
        return Budget(self.epsilon, delta, self.rho, accountant, self.reading.rows_per_person).warned()

    def request(self, size: int, budget: Budget | None = None) -> PlanRequest:
        """Return the planning request for a public size; `budget` is the settings' own, with what was spent of it earlier."""
        relation = choice(NeighbouringRelation, self.neighbours, "neighbours")
        self.reading.check_relation(relation)
        return PlanRequest(
            size=size,
            relation=relation,
            budget=self.budget() if budget is None else budget,
            rounds=self.rounds,
            draws=self.draws,
            step=_step(self.step),
            plan_by=choice(PlanBy, self.plan_by, "plan-by"),
            free_attributes=choice(FreeAttributes, self.free_attributes, "free-attributes"),
            encoding=choice(Encoding, self.record_encoding, "record-encoding"),
            solver="local-search" if self.solver == "auto" else self.solver,
            work=self.work,
            seconds=self._seconds(),
            seed=self.seed,
            selections=self.selections,
            fit=self._fit(),
            multiplicative=MultiplicativeRequest(
                self.alpha, self.select, self.update, self.selection_share, self.replays, self.average
            ),
            fill=self.fill,
        )

    def _fit(self) -> FitRequest:
        """Return what the user says of how records are fitted.

        Raises
        ------
        PlanError
            If a number is out of range, or smoothing and column generation are both asked for.
        """
        FitPlan(
            records=1 if self.records is None else self.records,
            smoothing=self.smoothing or 0.0,
            columns=self.columns or 0,
            seconds=self.fit_seconds,
        )
        return FitRequest(self.records, self.smoothing, self.columns or 0, self.fit_seconds)

    def _seconds(self) -> float | None:
        """Return the time limit per round; exact solvers get one unless the user limits them otherwise."""
        exact = self.solver not in {"auto", "local-search"}
        return EXACT_SECONDS if exact and self.seconds is None and self.work is None else self.seconds

    def output(self, schema: Schema | None = None, *, answers_only: bool = False) -> dict[str, Any]:
        """Return how the records (or answers) over a schema are to be written; without one, what is known before it is."""
        rows = None if self.rows is None else whole_number("the number of rows", self.rows, least=1)
        usual = "csv" if schema is None else usual_format(schema, answers_only=answers_only)
        return {"format": usual if self.format is None else self.format, "rows": rows}

    def check(self) -> None:
        """Refuse, before any table is read, what the settings alone rule out.

        Raises
        ------
        DpoptError
            With the setting and what is expected.
        """
        self.request(1 if self.n0 is None else self.n0)
        if self.algorithm not in ALGORITHMS:
            near = difflib.get_close_matches(self.algorithm, ALGORITHMS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise PlanError(f"--algorithm is one of {', '.join(ALGORITHMS)}; found {self.algorithm!r}{hint}")
        self._refuse_options_of_others()
        check_output(self.output())

    def _refuse_options_of_others(self) -> None:
        """Refuse options that the named algorithm does not take, rather than leave them out silently."""
        usual = Settings()
        for name, takers in TAKERS.items():
            if (
                self.algorithm not in (AUTO, *takers)
                and getattr(self, name) is not None
                and getattr(self, name) != getattr(usual, name)
            ):
                raise PlanError(
                    f"--{name.replace('_', '-')} is an option of {', '.join(takers)}, found --algorithm {self.algorithm}; "
                    "leave the option out, or name another algorithm"
                )


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

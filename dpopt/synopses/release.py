"""The one path of every synopsis: refuse, plan, read, count the records, plan, reserve, measure, wrap.

A kind says how it plans, reads and measures (`Request.release`); what all kinds share is here: what a user may say of
any of them (`RequestKeywords`), the path (`Request`), and how a plan is reserved in its ledger before it is measured
(`Reserved`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Account, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import Spending, privacy_statement
from dpopt.errors import AccuracyWarning, DpoptError, PlanError, SchemaError, warn
from dpopt.models.model_size import refuse_solver
from dpopt.private.curators.counting_curator import Counted, CountingCurator
from dpopt.private.curators.door import Door, Use
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.readers.open_table import named_by
from dpopt.private.readers.read_numbers import read_counts
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import AS_USUAL, OnInvalid, TableReading
from dpopt.private.tables.bin_counts import BinCounts, public_number_of_bins
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import PrivateDataset, public_size
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.descriptions.description import delta_notes
from dpopt.releases.job import refuse_unreviewed
from dpopt.releases.ledgers import open_account, reserved_ledger
from dpopt.releases.measured_size import MARGIN, declared_rows, is_measured, size_of, tell_smallest, with_size_measured
from dpopt.releases.plan import choice, usual_delta
from dpopt.releases.progress import Progress, shown_progress, stage, warn_of_paid
from dpopt.releases.remembered_tables import remembered
from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import Schema
from dpopt.synopses.solved import WithModels
from dpopt.synopses.synopsis import Synopsis
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

GUESSED_SIZE = 10_000
"""Records for which the noise is chosen where their number is not public: a choice by a measured one would follow a draw."""
_Planner = Callable[[Budget, int | None], Any]
_Plan = TypeVar("_Plan", bound="Comparable")
_Released = TypeVar("_Released", bound=Synopsis)
_Curator = TypeVar("_Curator", bound=Door[Any])


class RequestKeywords(TypedDict, total=False):
    """Keywords of every synopsis; the options of the same names of its command."""

    epsilon: float | None
    delta: float | None
    rho: float | None
    """The budget: epsilon with delta (left out: 1/n0^2 rounded down, or 1e-9), for the noise, Laplace or Gaussian, with
    the less predicted error (`Request.noise`); with Laplace noise the result is pure, and says so. delta=0 asks for
    pure. rho asks for Gaussian noise, and delta is then that at which epsilon is reported: 1e-9 if left out."""
    neighbours: str
    """"add-remove" (one record more or less), the default; or "replace" (one record changed, their number public)."""
    reading: TableReading
    """How the table is read."""
    accept_draft: bool
    """Whether a drafted, unreviewed schema may be used."""
    progress: Progress | bool | None
    """Receives the progress of stages. If left out, notebooks show it; False shows nothing."""
    budget: BudgetLedger | None
    """The owner's budget over many releases, from which this one is paid."""


class ModelKeywords(RequestKeywords, total=False):
    """Keywords of a synopsis that has estimates that are optimization models."""

    solver: str | Solver | None
    """Solver of the models after the draws, in addition to dpopt's own methods; "closed-form" is one. See
    `Synopsis.solved`."""
    seconds: float | None
    """Its time limit for each model."""


class Running(TypedDict, total=False):
    """How a plan is measured: each charge before its draw; nothing leaves the private side if a run ends early."""

    noise: Noise | None
    """Anything but the default marks the release as not private."""
    progress: Progress | None
    account: Account | None
    """From where it is paid besides (`dpopt.releases.ledgers.open_account`)."""


class Comparable(Protocol):
    """A plan with a predicted error."""

    @property
    def expected_error(self) -> float:
        """A function of public values, by which plans with Laplace and with Gaussian noise are compared."""
        ...


class Costed(Spending, Protocol):
    """A plan with charges."""

    def charges(self) -> list[Charge]:
        """Return the whole cost, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Reserved:
    """A plan that is reserved in its ledger, before anything is drawn."""

    plan: Costed
    ledger: Ledger
    noise: Noise | None
    progress: Progress

    @classmethod
    def of(cls, plan: Costed, how: Running) -> Reserved:
        """Reserve the whole cost of a plan."""
        ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), how.get("account"))
        return cls(plan, ledger, how.get("noise"), how.get("progress") or Progress())

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return a stage of the run, by name."""
        return stage(self.progress, name)

    def curator(self, kind: Callable[..., _Curator], records: Closed, **own: object) -> _Curator:
        """Return the curator of a kind of these records; raises under replace-one if their number is not the plan's."""
        use: Use = {"size": self.plan.size or 0, "noise": self.noise, "progress": self.progress.share}
        return kind(records, self.ledger, MemoryJournal(keep=False), **use, **own)

    def measured(
        self, records: Closed, measurements: Iterable[Counted], *, counting: Callable[[], None] | None = None
    ) -> tuple[NDArray[np.int64], ...]:
        """Return the values of each measurement, with noise; `counting` makes all exact counts first."""
        curator = self.curator(CountingCurator, records)
        if counting is not None:
            with self.stage("counting conjunctions"):
                counting()
        with self.stage("measuring"):
            return tuple(curator.measure(one).values for one in measurements)

    def privacy(self) -> dict[str, Any]:
        """Return the spending, charge by charge."""
        return privacy_statement(self.plan, self.ledger)


Measure: TypeAlias = Callable[..., _Released]
"""A function `release_...` of a kind: given private counts, or a table, and a plan, it charges, measures and releases.
`Running` has its keywords."""


@dataclass(frozen=True, slots=True)
class Request:
    """A user's request of any synopsis; the fields are those of `ModelKeywords`."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    neighbours: str = "add-remove"
    reading: TableReading = AS_USUAL
    accept_draft: bool = False
    progress: Progress | bool | None = None
    budget: BudgetLedger | None = None
    solver: str | Solver | None = None
    seconds: float | None = None

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.neighbours, "neighbours")
        return relation

    @property
    def replaced(self) -> bool:
        """Whether the number of records is public, and read off the table."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    @property
    def stages(self) -> Progress:
        """Where the stages of the release are reported."""
        return shown_progress(self.progress)

    def spending(self, n0: int | None = None) -> Budget:
        """Return the budget that is asked for (`Budget.of`); `n0` is the declared number of records, if there is one.

        From a budget over many releases that adds up epsilons pure differential privacy is asked for.
        """
        self.warn_of_delta(n0)
        return self._asked(n0).warned()

    def _asked(self, n0: int | None) -> Budget:
        self.reading.check_relation(self.relation)
        of_pure = self.budget is not None and self.budget.contents().budget.accountant is Accountant.PURE
        return Budget.of(
            self.epsilon,
            0.0 if of_pure and self.rho is None else self.delta,
            self.rho,
            usual_delta=usual_delta(n0),
            rows_per_person=self.reading.rows_per_person,
        )

    def warn_of_delta(self, n0: int | None = None) -> None:
        """Warn of a delta that is asked for and too large, before anything is spent."""
        for note in delta_notes(self.delta, n0):
            warn(note.warning())

    def noise(
        self, plan: Callable[[Budget, int | None], Comparable], number: int | None, n0: int | None = None
    ) -> Budget:
        """Return the budget of Laplace noise, (epsilon, 0), or of Gaussian noise: that of the plan with less error.

        From a budget over many releases that counts rho Gaussian noise is paid: a pure epsilon would use up much of it.

        Both plans keep (epsilon, delta), and the choice is a function of public values, made before any charge, so it
        is free: the guarantee is that of the plan taken. The plans are compared for a `number` of records; where it is
        measured, for `GUESSED_SIZE` of them, not by the draw. Privacy: C14 in docs/privacy. Checked by
        `tests/synopses/test_budgets.py`.
        """
        asked = self.spending(n0)
        if asked.epsilon is None or asked.accountant is Accountant.PURE or self.budget is not None:
            return asked
        pure = replace(asked, delta=0.0, accountant=Accountant.PURE)
        measured = number is not None and is_measured(self.relation, n0)

        def expected(budget: Budget) -> float:
            try:
                return plan(with_size_measured(budget) if measured else budget, number).expected_error
            except DpoptError:  # the plan that is taken raises it again
                return inf

        return pure if expected(pure) < expected(asked) else asked

    def declared(self, schema: Schema | str | os.PathLike[str], size: int | None = None) -> Schema:
        """Return a schema that may be used, with a declared number of records where there is one."""
        found = schema if isinstance(schema, Schema) else Schema.read(schema)
        refuse_unreviewed(found, accepted=self.accept_draft)
        self.reading.check_counted(size, found)
        return found

    def declared_bins(
        self, schema: Schema | str | os.PathLike[str], columns: tuple[str, ...], *, in_order: bool = True
    ) -> tuple[Bins, ...]:
        """Return the bins that a schema declares for each of these columns, as of `Bins.of_attribute`."""
        return tuple(Bins.of_attribute(one, in_order=in_order) for one in self._attributes(schema, columns))

    def _attributes(self, schema: Schema | str | os.PathLike[str], columns: tuple[str, ...]) -> tuple[Attribute, ...]:
        declared = self.declared(schema)
        for place, column in enumerate(columns):
            if column in columns[:place]:
                raise SchemaError(f"found the column {column!r} twice; name different ones")
            if column not in declared.names:
                raise SchemaError(f"found no attribute {column!r}; the schema has {', '.join(declared.names)}")
        return tuple(declared.attributes[declared.names.index(column)] for column in columns)

    def bin_counts(
        self, table: AnyTable, schema: Schema | str | os.PathLike[str], columns: tuple[str, ...]
    ) -> BinCounts:
        """Read the columns of a table that are counted. Private."""
        declared = self.declared(schema)
        read = list(self._attributes(declared, columns))
        for one in read:  # a length needs the column that it counts from, and that one perhaps another
            if one.after is not None and one.after not in {other.name for other in read}:
                read.append(declared.attributes[declared.index(one.after)])
        only = Schema(tuple(read), reading=declared.reading)
        reading = named_by(table, self.reading, declared.names)
        return BinCounts.of_columns(replace(self, reading=reading).table(table, only), columns)

    def table(self, table: AnyTable, schema: Schema) -> PrivateDataset:
        """Read a table. Private."""
        self.reading.check_relation(self.relation)
        return read_table(table, schema, self.reading)

    def refuse_reading(self, why: str) -> None:
        """Refuse options about the rows of records, where there are none."""
        if self.reading.repairs is not OnInvalid.ERROR or self.reading.person is not None:
            raise PlanError(f"--on-invalid and --person are about rows of records, and {why}")

    def _account(self, command: str, budget: Budget) -> Account | None:
        """Return from where the release is paid besides, before its table is read."""
        return open_account(self.budget, command, budget, self.relation, self.reading)

    def plan(
        self,
        plan: Callable[[Budget, int | None], _Plan],
        n: int | None,
        n0: int | None = None,
        *,
        compared: Callable[[Budget, int | None], Comparable] | None = None,
        budget: Budget | None = None,
    ) -> _Plan:
        """Return the plan for a number of records, without a table.

        Parameters
        ----------
        plan, compared
            As for `release`.
        n
            The number of records: public under replace-one; under add-remove a guess, as a release measures it.
        n0
            Under add-remove the number that a release would declare.
        budget
            What `noise` gave, if it was asked already.
        """
        if n0 is not None and self.replaced:
            raise PlanError("under replace the public number of records is --n; leave --n0 out")
        if (n is None) == (n0 is None):
            found = "neither" if n is None else "both"
            raise PlanError(
                f"give --n, the number of records (a guess under add-remove, where it is measured), or --n0, one that "
                f"is declared; found {found}"
            )
        self.reading.check_declared(n0)
        if budget is None:
            number = n if self.replaced else GUESSED_SIZE if n0 is None else n0
            budget = self.noise(compared or plan, number, n0)
        if n0 is not None and (most := self.reading.rows_per_person) is not None:
            self.stages.warning(AccuracyWarning(declared_rows(n0, most)))
        measured = is_measured(self.relation, n0)
        if measured:
            tell_smallest(budget, self.stages)
        return plan(with_size_measured(budget) if measured else budget, n if n0 is None else n0)

    def _tried(self, plan: _Planner, budget: Budget, size: int | None, tried: int | None) -> Any:
        """Return the plan for a declared number of records, or else for `tried`, to refuse impossible plans."""
        if tried is None:
            return plan(budget, 0 if self.replaced else None)
        if size is not None and self.replaced:
            raise PlanError(
                "n0 belongs to add-remove; under replace the number of records is read off the table. Leave n0 out"
            )
        return self.plan(plan, tried if size is None else None, size, budget=budget)

    def _planned(self, compared: _Planner, plan: _Planner, size: int | None, tried: int | None) -> tuple[Budget, Any]:
        """Return the budget, of the noise with less error, and the plan that is tried before a table is measured."""
        number = GUESSED_SIZE if size is None else size
        with stage(self.stages, "planning"):
            budget = self.noise(compared, (0 if self.replaced else None) if tried is None else number, size)
            made = self._tried(plan, budget, size, tried)
        self._check_solver(made)
        return budget, made

    def release(
        self,
        command: str,
        table: object,
        plan: Callable[[Budget, int | None], _Plan],
        read: Callable[[], Closed],
        measure: Measure[_Released],
        *,
        size: int | None = None,
        tried: int | None = 1,
        check: Callable[[Budget, int | None], Any] | None = None,
        compared: Callable[[Budget, int | None], Comparable] | None = None,
        margin: float = MARGIN,
        counted: tuple[Closed, Account | None] | None = None,
    ) -> _Released:
        """Release a table; a request that cannot be planned or paid is refused before the table is read.

        `command` is the kind, as the owner's budget names it. The path of a `table` is remembered for its owner, where
        no budget file keeps count. `plan` makes the plan for a budget and a number of records; `read` reads the table,
        which is private, or `counted` has what was read already, as the plan depends on it, and from where it is paid.

        Under add-remove `size` is the public number of records; left out, it is measured with 1 % of the budget, and
        raised by `margin` standard deviations. Before the table is read a plan is tried for `tried` records, or for
        `size`. None: the kind needs no number of records under add-remove, and under replace-one nothing but the size
        of its plan depends on it. `check` is tried in place of a `plan` that is slow, and `compared` is compared for
        the noise in place of one that refuses plans by their errors.
        """
        plan = cache(plan)
        by, again = compared or plan, size is None or check is not None
        budget, found = self._planned(by, check or plan, size, tried)
        account = self._account(command, budget) if counted is None else counted[1]
        with remembered(table, self.budget, self.stages):
            if counted is None:
                with stage(self.stages, "reading the table"):
                    records = read()
            else:
                records = counted[0]
            number = public_size(records, self.relation, None) if self.replaced else None
            if tried is not None:
                budget = budget if number is None else self.noise(by, number)
                public = size_of(records, self.relation, size, budget, margin=margin, account=account)
                with stage(self.stages, "planning"):
                    found = plan(public.budget, public.number) if again else found
            elif number is not None:
                found = replace(found, size=number)
            released = measure(records, found, progress=self.stages, account=account)
            for note in released.notes():
                if note.of_run:
                    warn_of_paid(note.warning(), self.stages)
            if self.solver is None:
                return released
            with stage(self.stages, "solving the models"):
                return released.solved_by(self.solver, self.seconds)

    def release_bins(
        self,
        command: str,
        table: AnyTable,
        schema: Schema | str | os.PathLike[str] | None,
        columns: tuple[str, ...],
        *,
        plan: Callable[[tuple[Bins, ...], Budget, int | None], _Plan],
        measure: Callable[[tuple[Bins, ...]], Measure[_Released]],
        in_order: bool = True,
        counts: str | None = None,
        size: int | None = None,
        tried: int | None = None,
        compared: Callable[[tuple[Bins, ...], Budget, int | None], Comparable] | None = None,
    ) -> _Released:
        """Release the bins of columns, or counts that were made already: one row for each bin, their number public.

        Either columns and their schema are named, or the column of counts. `plan`, `measure` and `compared` are as for
        `release`, given the bins of each column, as of `Bins.of_attribute`.
        """
        if (not columns) == (counts is None) or (not columns) != (schema is None):
            raise PlanError("name what is counted: --column and --schema, or --counts")
        counted = None
        if schema is None:
            account, name = self._account(command, self._asked(size)), str(counts)
            with stage(self.stages, "reading the table"):
                self.refuse_reading(
                    "counts that were made already have a row for each bin; leave them out, or give the table of "
                    "records with --column and --schema"
                )
                counted = read_counts(table, name, self.reading), account
            axes: tuple[Bins, ...] = (Bins(name, public_number_of_bins(counted[0])),)
        else:
            axes = self.declared_bins(self.declared(schema, size), columns, in_order=in_order)
        return self.release(
            command,
            table,
            partial(plan, axes),
            partial(self.bin_counts, table, schema, columns),  # type: ignore[arg-type]  # not called without a schema
            measure(axes),
            size=size,
            tried=tried,
            compared=None if compared is None else partial(compared, axes),
            counted=counted,
        )

    def _check_solver(self, plan: object) -> None:
        """Refuse a solver that takes none of the models of the planned release, and a time limit without one."""
        if self.solver is None:
            if self.seconds is not None:
                raise PlanError("--seconds is the time limit of --solver; give a solver, or leave the limit out")
            return
        SolveLimits(seconds=self.seconds)
        refuse_solver(self.solver, plan.model_sizes() if isinstance(plan, WithModels) else {})


def named_axes(shape: tuple[int, ...], axes: tuple[Bins, ...] | None) -> tuple[Bins, ...]:
    """Return the columns of a plan: those that are given, or positions."""
    named = tuple(Bins(f"column {place}", bins) for place, bins in enumerate(shape)) if axes is None else axes
    found = tuple(bins.number for bins in named)
    if found != shape:
        sides = (" x ".join(f"{number:,}" for number in one) for one in (found, shape))
        raise PlanError("found {} bins for a plan of {}; plan for the bins that are there".format(*sides))
    return named

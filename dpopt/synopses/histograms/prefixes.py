"""Prefixes that grow: how many records there are up to each step, answered as the steps pass.

The file is a journal: the plan, the charge for all steps, and the noisy rows of the steps so far, each in one line. Who
goes on with it reads the charge there, pays nothing more, and draws what was not drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Account, Ledger
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import BudgetError, PlanError, ReleaseFolderError, TranscriptError
from dpopt.files.codec import decode, encode
from dpopt.files.written_files import check_new
from dpopt.inference.histograms.prefix_factors import prefix_deviations, prefixes_of_rows, whole_coefficients
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.curators.prefix_curator import MOST_STEPS, PrefixCurator, PrefixRows
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins, as_today
from dpopt.releases.ledgers import open_account, reserved_ledger
from dpopt.releases.remembered_tables import remembered
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counts_plan import is_gaussian, whole_amount
from dpopt.synopses.histograms.released_counts import CONFIDENCE, RangeAnswer, range_answers
from dpopt.synopses.release import Request, RequestKeywords
from dpopt.synopses.synopsis import PlannedSynopsis, SynopsisPlan, write_rows
from dpopt.transcript.journal import FileJournal, JournalContents, begins_as_journal, line_of, read_journal
from dpopt.transcript.past import SEEDED, Grown, read_grown

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

ROWS = "prefixes that grow"
PREFIXES = "prefixes"


@dataclass(frozen=True, slots=True)
class PrefixPlan(SynopsisPlan):
    """The measurements of each step."""

    relation: NeighbouringRelation
    """Add-remove."""
    budget: Budget
    steps: int
    """T, the whole horizon: all bins of the column."""
    scale: float
    """Of the noise of each row, in units of the weights."""

    @property
    def size(self) -> None:
        """No public number of records."""
        return

    @property
    def rows(self) -> PrefixRows:
        """The measurements."""
        return PrefixRows(ROWS, self.scale, whole_coefficients(self.steps))

    def charges(self) -> list[Charge]:
        """Return the charge of all steps."""
        return [self.rows.charge(1, self.relation)]

    def deviations(self) -> NDArray[np.float64]:
        """Return the standard error of each step of the horizon, (T,)."""
        return prefix_deviations(self.rows.weights, self.scale)


def planned_prefixes(bins: Bins, request: Request) -> PrefixPlan:
    """Return the plan for these steps from public values."""
    _refuse_person(request)
    return plan_prefixes(bins.number, request.spending(), relation=request.relation)


def plan_prefixes(
    steps: int, budget: Budget, *, relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE
) -> PrefixPlan:
    """Return the plan that spends a budget on the prefixes of this number of steps."""
    if not 1 <= steps <= MOST_STEPS:
        raise PlanError(f"prefixes that grow have 1 to {MOST_STEPS:,} steps, found {steps:,}")
    if not is_gaussian(budget):
        raise PlanError(
            "prefixes that grow have Gaussian noise, and cannot be pure; leave --delta 0 out (a histogram takes it)"
        )
    if relation is not NeighbouringRelation.ADD_REMOVE:
        raise PlanError(
            "prefixes that grow are for add-remove: the number of records of a table that grows is not public"
        )
    squared = sum(one * one for one in whole_coefficients(steps).tolist())
    scale = measurement_scale(squared, amount=whole_amount(budget), gaussian=True)
    return PrefixPlan(relation, budget, steps, scale)


@dataclass(frozen=True, eq=False, repr=False)
class Prefixes(PlannedSynopsis):
    """Counts of prefixes so far, and the spending on all future ones. Its whole content can be published."""

    KEY = "dpopt_prefixes"
    WHAT = "release of prefixes that grow"
    MADE_BY = "'dpopt prefixes release'"
    DECLARED, PLAN = {"bins": Bins}, PrefixPlan
    plan: PrefixPlan
    bins: Bins
    """The steps."""
    noisy: tuple[NDArray[np.int64], ...]
    """One array, (t,): the noisy rows of the steps so far."""
    privacy: Mapping[str, Any]
    """The spending, charge by charge."""

    def __post_init__(self) -> None:
        shapes = [one.shape for one in self.noisy]
        if [*map(len, shapes)] != [1] or not self.rows.size <= self.plan.steps == self.bins.number:
            raise TranscriptError(
                f"found {self.bins.number:,} bins and noisy rows of shapes {shapes}; expected {self.plan.steps:,} "
                f"bins, and a row for each of the first ones"
            )

    @property
    def rows(self) -> NDArray[np.int64]:
        """The noisy rows of the steps so far, (t,)."""
        return self.noisy[0]

    def _contents(self) -> list[str]:
        return [repr(self.bins.name), f"{self.rows.size:,} of {self.plan.steps:,} steps"]

    def _error(self) -> tuple[str, float, bool]:
        return f"counts up to each step of {self.bins.name}", float(self.deviations.max()), False

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The number of records up to each step so far, (t,). Those on file never change."""
        return prefixes_of_rows(self.rows, self.plan.rows.weights)

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The standard error of each step of the horizon, (T,)."""
        return self.plan.deviations()

    def answer(self, step: int, *, confidence: float = CONFIDENCE) -> RangeAnswer:
        """Return how many records there were in the first steps, as many as `step` says; unbiased."""
        if not 1 <= step <= self.rows.size:
            raise PlanError(f"found step {step:,}; expected one of the {self.rows.size:,} that were measured")
        values, errors = self.values[step - 1 : step], self.deviations[step - 1 : step]
        return range_answers(values, values, errors, confidence)[0]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Prefixes:
        """Return the state of a file that grows, or of one that `write` wrote, which does not."""
        return _State.of(read_journal(Path(path))).released() if begins_as_journal(path) else super().read(path)


def prefixes(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    *,
    steps: int,
    out: str | os.PathLike[str],
    noise: Noise | None = None,
    **keywords: Unpack[RequestKeywords],
) -> Prefixes:
    """Charge for all steps of a column, and release the prefixes of the first ones into a new file.

    Parameters
    ----------
    table : path or DataFrame
        The records so far. Private.
    schema : Schema or path
        Declares the column's bins, the whole horizon, in the order of time. Public.
    column : str
        The column that says when.
    steps : int
        How many steps are over, and are measured now.
    out : path
        The new file, which `grow` goes on with.
    noise : Noise, optional
        Anything but the default marks the release as not private.
    **keywords
        epsilon (with delta, not 0), or rho; reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> days = dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, edges=tuple(range(31)))
    >>> schema, visits = dpopt.Schema((days,)), pandas.DataFrame({"day": [0, 1, 1, 2] * 500})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/visits.jsonl"
    ...     first = dpopt.prefixes(visits, schema, "day", steps=2, out=file, rho=1)
    ...     later = dpopt.grow(file, visits, schema, "day", steps=3)
    >>> later.answer(2) == first.answer(2), abs(later.answer(3).value - 2000) < 50
    (True, True)
    """
    request, target = Request(**keywords), Path(out)
    (bins,) = request.declared_bins(schema, (column,))
    plan = planned_prefixes(bins, request)
    _check_steps(steps, 0, plan)
    check_new(target)
    account = open_account(request.budget, "prefixes", plan.budget, plan.relation, request.reading, reservation=None)
    counts = request.bin_counts(table, schema, (column,))
    state = _State(plan, bins)
    with remembered(table, request.budget, request.stages):
        journal = FileJournal(target)
        try:
            with closing(journal):
                journal.append(state.head())
                return state.measured(counts, journal, steps, account=account, noise=noise)
        except (BudgetError, ReleaseFolderError) as problem:
            # Before the first charge: another release took the owner's budget, or the disk was full.
            if isinstance(problem, BudgetError) or target.stat().st_size < len(line_of(state.head())):
                target.unlink()
            raise


def grow(
    file: str | os.PathLike[str],
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    *,
    steps: int,
    noise: Noise | None = None,
    **keywords: Unpack[RequestKeywords],
) -> Prefixes:
    """Measure the steps that are over and were not measured, into the same file. They are paid for.

    Parameters
    ----------
    file : path
        What `prefixes` made. A copy of it that is gone on with as well would draw again: keep one.
    table, schema, column, steps, noise
        As for `prefixes`; the table with the records of all steps so far.
    **keywords
        reading, accept_draft, progress: as for `prefixes`.
    Raises DpoptError for whatever is wrong with the input. Nothing is drawn where it is, nor where an interrupted draw
    may have been seen.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65, 120))
    >>> table, file = pandas.DataFrame({"age": [8, 30, 40, 70]}), tempfile.mkdtemp() + "/steps.jsonl"
    >>> first = dpopt.prefixes(table[:1], dpopt.Schema((age,)), "age", steps=1, out=file, rho=1)
    >>> dpopt.grow(file, table, dpopt.Schema((age,)), "age", steps=2)  # doctest: +ELLIPSIS
    Prefixes: Counts up to each step of age: off by about 0.98 records. Do not use: counts below 9.8, ...
    ('age', 2 of 3 steps, ...
    """
    request = Request(**keywords)
    _refuse_person(request)
    if named := [name for name in ("epsilon", "delta", "rho", "budget") if keywords.get(name) is not None]:
        raise PlanError(f"all steps are paid for, as the file says; leave {named[0]} out")
    journal, contents = FileJournal.reopen(Path(file))
    with closing(journal):
        state = _State.of(contents)
        if state.charge is None and not state.torn:
            raise PlanError(f"{file} was begun, and nothing was drawn; remove it, and release again")
        if state.torn:
            raise PlanError(
                "the last draw was interrupted, and may have been seen: what was released stays, and nothing more is "
                "drawn. Begin another release, with a budget of its own"
            )
        _check_steps(steps, state.noisy.size, state.plan)
        (bins,) = request.declared_bins(schema, (column,))
        if (bins.name, bins.labels, bins.edges) != (state.bins.name, state.bins.labels, state.bins.edges):
            raise PlanError(f"the bins of {column!r} are not those of the file; give the schema that it was made with")
        return state.measured(request.bin_counts(table, schema, (column,)), journal, steps, noise=noise)


def write_prefixes(made: Prefixes, path: str | os.PathLike[str]) -> None:
    """Write the count up to each step that was measured, its error and interval of 95 %; whole or not at all."""
    found = [(step, made.bins.label(step - 1), made.answer(step)) for step in range(1, made.rows.size + 1)]
    rows = (
        [step, label, *(f"{number:.6g}" for number in (one.value, one.standard_error, one.low, one.high))]
        for step, label, one in found
    )
    write_rows(path, ["step", "label", "count", "standard_error", "low", "high"], rows)


def _refuse_person(request: Request) -> None:
    if request.reading.person is not None:
        raise PlanError("--person: which rows of a person come first changes as a table grows; leave it out")


def _check_steps(steps: int, measured: int, plan: PrefixPlan) -> None:
    if not measured < steps <= plan.steps:
        raise PlanError(
            f"found --steps {steps:,}; {measured:,} of {plan.steps:,} steps were measured: expected {measured + 1:,} "
            f"to {plan.steps:,}"
            if measured < plan.steps
            else f"all {plan.steps:,} steps were measured"
        )


@dataclass(slots=True)
class _State:
    """The content of a journal: the measured steps, and their charge."""

    plan: PrefixPlan
    bins: Bins
    noisy: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    charge: Charge | None = None
    seeded: bool = False
    torn: bool = False

    def head(self) -> dict[str, Any]:
        """Return the first line."""
        bins = {name: part for name, part in encode(self.bins).items() if name != "number"}
        return {"kind": PREFIXES, "version": 1, "plan": self.plan.to_json(), "bins": bins}

    @classmethod
    def of(cls, contents: JournalContents) -> _State:
        """Return the state of a journal; TranscriptError if it is none of prefixes."""
        try:
            first = contents.entries[0] if contents.entries else {}
            if first.get("kind") != PREFIXES or first["version"] != 1:
                raise TranscriptError(
                    "found another file, or one without a whole first line; expected one of 'dpopt prefixes release'"
                )
            plan = PrefixPlan.from_json(first["plan"])
            bins = decode(Bins, {**as_today(first["bins"]), "number": plan.steps}, "the steps", TranscriptError)
            state = cls(plan, bins)
            state._take(read_grown(contents.entries[1:], torn=contents.torn))
        except (KeyError, TypeError, ValueError) as error:
            raise TranscriptError(f"damaged, or not made by 'dpopt prefixes release': {error}") from error
        return state

    def _take(self, found: Grown) -> None:
        plan = self.plan
        if found.paid is not None and [found.paid] != plan.charges():
            raise TranscriptError("the charge on file is not that of the plan")
        if found.noisy.size and (found.noise, found.scale) != (DISCRETE_GAUSSIAN, plan.scale):
            raise TranscriptError("the noise on file is not that of the plan")
        if found.noisy.size > plan.steps:
            raise TranscriptError("found more steps than the plan has")
        self.charge, self.noisy, self.seeded, self.torn = found.paid, found.noisy, found.seeded, found.torn

    def measured(
        self,
        counts: BinCounts,
        journal: FileJournal,
        steps: int,
        *,
        account: Account | None = None,
        noise: Noise | None = None,
    ) -> Prefixes:
        """Draw the steps that were not drawn, and return all."""
        ledger = reserved_ledger(self.plan.budget, self.plan.relation, self.plan.charges(), account)
        curator = PrefixCurator(counts, ledger, journal, size=0, noise=noise)
        if self.charge is not None:
            curator.recall_rows(self.charge, self.noisy.size)
        if not ledger.is_private and not self.seeded:
            journal.append({"kind": SEEDED})
            self.seeded = True
        answers = curator.measure_to(self.plan.rows, steps)
        self.charge, self.noisy = answers.charge, np.concatenate([self.noisy, answers.values])
        return self._released_with(ledger)

    def released(self, *, account: Account | None = None) -> Prefixes:
        """Return the state on file."""
        ledger = reserved_ledger(self.plan.budget, self.plan.relation, self.plan.charges(), account)
        if self.charge is not None:
            ledger.spend(self.charge)
        return self._released_with(ledger)

    def _released_with(self, ledger: Ledger) -> Prefixes:
        if self.seeded and ledger.is_private:
            ledger.mark_not_private(NOT_PRIVATE_DRAWS)
        return Prefixes(self.plan, self.bins, (self.noisy,), privacy_statement(self.plan, ledger))

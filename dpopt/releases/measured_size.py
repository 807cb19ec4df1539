"""The number of records where no public one is given: measured with a share of the budget, before the plan is made.

Order on file: charge, value, and only then the plan, which is a function of what was asked and of the value. What was
measured costs a part of the budget (`dpopt.accounting.budget.Budget.earlier`), and the plan is made for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Account
from dpopt.accounting.measurements import SizeMeasurement, amount_for
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccuracyWarning, PlanError, TranscriptError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import public_size
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.plan import LARGEST_SIZE
from dpopt.releases.progress import Detail, Progress
from dpopt.transcript.journal import Journal, MemoryJournal
from dpopt.transcript.past import MEASUREMENT, Past
from dpopt.transcript.released import NoisyAnswers

LEAST_DEVIATIONS = 2.0
"""A number of records below this number of standard deviations of its noise is not informative: answers could be
entirely wrong."""
MARGIN = 3.0
"""Standard deviations above the measured number of records, for a promise about tables of at most that size: the table
is larger with probability 0.2 % under Gaussian noise and 0.8 % under Laplace noise."""
WARNED_LEAST = 500
"""Least measured number of records without a warning before the measurement."""
WARNED_FROM = 0.02
"""From this share of the number of records on, its noise is worth a warning."""


@dataclass(frozen=True, slots=True)
class PublicSize:
    """The number of records that a plan may use, and the budget that it is made for."""

    number: int
    """n under replace-one; under add-remove n0, declared or measured."""
    budget: Budget
    """The budget with the cost of the measurement as earlier spending."""


@dataclass(slots=True)
class PastSize:
    """A measured number of records, as it stands in a transcript."""

    charges: list[Charge] = field(default_factory=list)
    """One for each draw."""
    torn: bool = False
    """Whether the last draw may have been seen and is lost."""
    value: NoisyAnswers | None = None
    """The measurement."""


def is_measured(relation: NeighbouringRelation, declared: int | None) -> bool:
    """Return whether a number of records has to be measured: it is private, and none was declared."""
    return relation is NeighbouringRelation.ADD_REMOVE and declared is None


def with_size_measured(budget: Budget) -> Budget:
    """Return the budget of a plan whose number of records is to be measured, by one draw."""
    return replace(budget, earlier=(*budget.earlier, SizeMeasurement.of(budget).charge()))


def size_of(
    records: Closed,
    relation: NeighbouringRelation,
    declared: int | None,
    budget: Budget,
    *,
    margin: float = 0.0,
    account: Account | None = None,
) -> PublicSize:
    """Return the public number of records: read off under replace-one, as declared, or measured under add-remove.

    For releases that leave one file at their end: if the run ends before, nothing has left the private side. A measured
    number is raised by `margin` standard deviations: what is promised for tables of at most n0 records then holds
    nearly always.
    """
    if not is_measured(relation, declared):
        return PublicSize(public_size(records, relation, declared), budget)
    found = measure_size(records, budget, MemoryJournal(keep=False), PastSize(), account=account)
    return replace(found, number=found.number + ceil(margin * SizeMeasurement.of(budget).deviation))


def measure_size(
    records: Closed,
    budget: Budget,
    journal: Journal,
    past: PastSize,
    *,
    noise: Noise | None = None,
    account: Account | None = None,
) -> PublicSize:
    """Measure the number of records, or take it from file; a torn draw stays charged, and another one is charged too.

    The whole budget is reserved before the draw, in `account` too: what is left is for the plan that is made with it.
    """
    value = past.value
    if value is None:
        lost = tuple(past.charges if past.torn else past.charges[:-1])
        measurement = NumberOfRecords.of(budget, len(lost) + 1)
        charges = _whole_plan(replace(budget, earlier=lost), measurement.charge(), account)
        relation = NeighbouringRelation.ADD_REMOVE
        ledger = reserved_ledger(replace(budget, earlier=lost), relation, charges, account)
        curator = CountingCurator(records, ledger, journal, size=0, noise=noise)
        if len(past.charges) > len(lost):
            curator.recall(past.charges[-1], drawn=False)
            value = curator.measure(measurement, again=True)
        else:
            value = curator.measure(measurement)
        past = PastSize([*lost, measurement.charge()], torn=False, value=value)
    return _public(value, replace(budget, earlier=tuple(past.charges)))


def _whole_plan(budget: Budget, charge: Charge, account: Account | None) -> tuple[Charge, ...]:
    """Return the reservation before the number is drawn: its charge, and if an account pays, all the rest."""
    if account is None:
        return (charge,)
    if budget.accountant not in {Accountant.ZCDP, Accountant.PURE}:
        raise PlanError(
            f"a plan under --accountant {budget.accountant.value} cannot be reserved in the owner's budget before the "
            f"number of records is known; declare it with --n0, or use zcdp or pure"
        )
    gaussian = budget.accountant is Accountant.ZCDP
    left = amount_for(replace(budget, earlier=(*budget.earlier, charge)), gaussian=gaussian)
    kind = ChargeKind.CONCENTRATED if gaussian else ChargeKind.PURE
    theorem = "the budget of the plan; its own charges take its place"
    return charge, Charge("the plan for this number of records", kind, left, 1, charge.relation, theorem)


def _public(value: NoisyAnswers, budget: Budget) -> PublicSize:
    """Return the number of records that was measured, if it says something."""
    number, deviation = int(value.values[0]), SizeMeasurement.of(budget).deviation
    if number < LEAST_DEVIATIONS * deviation:
        raise PlanError(
            f"the number of records was measured as {number:,}, with a standard deviation of {deviation:,.0f}: the noise "
            f"hides it. The 1 % of the budget already spent is not refunded; a budget file (--budget) keeps the whole "
            f"reservation. For the next run, {_instead(budget)}"
        )
    return PublicSize(min(max(number, 1), LARGEST_SIZE), budget)


def tell_smallest(budget: Budget, progress: Progress) -> None:
    """Say, before anything is spent, from which number of records on a release goes on that measures it first.

    A detail, unless small tables would be refused.
    """
    deviation = SizeMeasurement.of(budget).deviation
    least, safe = ceil(LEAST_DEVIATIONS * deviation), ceil((LEAST_DEVIATIONS + MARGIN) * deviation)
    text = (
        f"the number of records is measured first. A table of {safe:,} records or more is nearly certain to be "
        f"released. If fewer than {least:,} are measured, the run ends, and the 1 % of the budget already spent is not "
        f"refunded. For a smaller table, {_instead(budget)}"
    )
    if least >= WARNED_LEAST:
        progress.warning(AccuracyWarning(text))
    else:
        progress.note(Detail(f"note: {text}"))


def _instead(budget: Budget) -> str:
    number, options = "a fixed number near it", "--n0"
    if budget.rows_per_person is not None:
        number, options = "the number of counted rows", "--n0 and --n0-counted"
    return f"if {number} is public, declare it with {options}, which costs nothing; otherwise take a larger budget"


def measured_note(size: int, budget: Budget) -> tuple[str, str | None]:
    """Return a note on a number of records that was, or is to be, measured; and advice to the owner if its noise is large.

    None: it is not large. The advice is empty where the warning of `tell_smallest` has given it.
    """
    deviation = SizeMeasurement.of(budget).deviation
    share = deviation / size
    text = (
        f"the number of records, {size:,}, is private too: 1 % of the budget measures it, with a standard deviation of "
        f"{float(f'{deviation:.3g}'):,.9g} records ({100 * share:.2g} %), and every count is off by the same percentage"
    )
    if share <= WARNED_FROM:
        return text, None
    return text, "" if LEAST_DEVIATIONS * deviation >= WARNED_LEAST else _instead(budget)


def size_deviation(budget: Budget) -> float:
    """Return the deviation of the noise in the number of records of a plan; 0 where that is public."""
    return SizeMeasurement.of(budget).deviation if budget.earlier else 0.0


def declared_rows(size: int, most: int) -> str:
    """Return a note on a declared number of rows if at most K rows of each person are counted."""
    return (
        f"n0 = {size:,} was declared as the number of counted rows (the first {most:,} of each person, and no others), "
        f"and was not measured. If x % more or fewer rows were counted, every share and count is off by up to x %; "
        f"predicted and stated errors do not include this"
    )


def size_on_file(past: Past, budget: Budget) -> PastSize:
    """Return the measured number of records of a transcript, which comes before all else; `budget` is the whole one."""

    def check(value: NoisyAnswers) -> None:
        if value.values.shape != (1,):
            raise TranscriptError("the number of records is one number")

    found = PastSize()
    while found.value is None:
        charge = SizeMeasurement.of(budget, len(found.charges) + 1).charge()
        known = past.draw(MEASUREMENT, charge, on_file=check)
        if not known.charged:
            break
        found = PastSize([*found.charges, charge], known.torn, known.value)
        if not known.torn:
            break
    return found


def check_size_on_file(past: Past, size: int, budget: Budget) -> None:
    """Pass over the number of records in a transcript, if the plan of this size and budget had a measured one."""
    if not budget.earlier:
        return
    found = size_on_file(past, replace(budget, earlier=()))
    if found.value is None or tuple(found.charges) != budget.earlier or _public(found.value, budget).number != size:
        raise TranscriptError(
            "the plan was made for another number of records than the one that the transcript begins with; restore the "
            "files"
        )

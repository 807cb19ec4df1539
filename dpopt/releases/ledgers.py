"""The one place where the ledger of a release is made: reserved within its own budget, and paid from the owner's.

No other file of this room makes a `Ledger`, so no release can leave the owner's budget out. Held by
`tests/releases/test_ledgers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import current_process
from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Account, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError

if TYPE_CHECKING:
    from dpopt.private.readers.table_reading import TableReading
    from dpopt.transcript.budget_ledger import BudgetLedger

_MADE: ContextVar[list[Ledger] | None] = ContextVar("ledgers of a release", default=None)


def open_account(
    budget: BudgetLedger | None,
    command: str,
    asked: Budget,
    relation: NeighbouringRelation,
    reading: TableReading | None = None,
    reservation: str | None = None,
) -> Account | None:
    """Return from where a release is paid, before its table is read; None without an owner's budget over many releases.

    `reading` says whether rows of a person are bounded, so what the unit of privacy is. `reservation` is that of an
    earlier run which is continued.
    """
    _check_unit(asked, None if reading is None else reading.rows_per_person)
    asked.check_relation(relation)
    if budget is None:
        return None
    person = None if reading is None else reading.person
    return budget.open_account(command, asked, relation, person=person, reservation=reservation)


def _check_unit(budget: Budget, rows: int | None) -> None:
    if budget.rows_per_person != rows:
        read = "without a bound on the rows of a person" if rows is None else f"with {rows:,} rows of a person"
        raise BudgetError(
            f"the budget is for {budget.unit}, and the table is read {read}; give the rows of a person once, where the "
            f"table is read (--person and --rows-per-person)"
        )


def reserved_ledger(
    budget: Budget, relation: NeighbouringRelation, charges: Sequence[Charge], account: Account | None
) -> Ledger:
    """Return a ledger in which a whole plan is reserved, within its own budget.

    `account` is from where it is paid besides (`open_account`): reserved there when the first charge is spent. Raises
    BudgetError if the plan costs more than its budget, and where a new process reads the script again that started it.
    """
    if getattr(current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise BudgetError(
            "a started process reads this script again: put the calls of dpopt below `if __name__ == '__main__':`"
        )
    ledger = Ledger(budget, relation, account)
    ledger.reserve(charges)
    if (made := _MADE.get()) is not None:
        made.append(ledger)
    return ledger


@contextmanager
def ledgers_made() -> Iterator[list[Ledger]]:
    """Give the ledgers that are made in the body: their entries say whether it drew, however it ends."""
    made: list[Ledger] = []
    before = _MADE.set(made)
    try:
        yield made
    finally:
        _MADE.reset(before)

"""The owner's budget over many releases, in a file that no release contains.

Each line is ``{"crc":"xxxxxxxx","entry":{...}}``, as in the journal: the first states the total budget, for which
neighbours and for whom it holds; each further one is a reservation of a release. Lines are added and never changed.
Nothing of a table is in it: costs, dates and names of commands. The file can be read by its owner alone.

A reservation is made under a lock, after everything on file has been read and added up, and is on the disk before
`Ledger.spend` returns for the first time, so before the first draw. Whatever ends a run later leaves its reservation. A
last line without its end was never followed by a draw, since whoever wrote it did not learn that it is on the disk: the
next reservation replaces it. Any other line that does not read back as it was written stops everything, since what it
held was perhaps drawn. Privacy: A8 in docs/privacy.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.many_releases import Cost
from dpopt.accounting.measurements import BELOW
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arguments import checked
from dpopt.errors import AccountingError, BudgetError, PlanError
from dpopt.files.codec import encode
from dpopt.files.reading import read_bytes
from dpopt.files.written_files import PRIVATE
from dpopt.html_pages.shown import Shown
from dpopt.transcript.budget_contents import (
    HEADER,
    Beginning,
    BudgetContents,
    ReservedRelease,
    read_contents,
    refuse_overspending,
    steps_between,
)
from dpopt.transcript.continued_file import ContinuedFile
from dpopt.transcript.journal import entry_of, line_of

SECONDS_TO_WAIT = 60.0


@dataclass(frozen=True, slots=True, repr=False)
class BudgetLedger(Shown):
    """A budget over many releases: a file holds the reservation of each, and no more than the total in all.

    Parameters
    ----------
    path : path
        A file that `BudgetLedger.create` or `dpopt budget create` made.

    Examples
    --------
    >>> import dpopt, tempfile
    >>> from dpopt.accounting.charges import Charge, ChargeKind
    >>> asked = dpopt.Budget(1.0, 0.0, None, dpopt.Accountant.PURE)
    >>> charge = Charge("counts", ChargeKind.PURE, 1.0, 1, dpopt.NeighbouringRelation.ADD_REMOVE, "Laplace")
    >>> with tempfile.TemporaryDirectory() as folder:  # a release given `budget=budget` reserves so by itself
    ...     budget = dpopt.BudgetLedger.create(f"{folder}/owner.budget", epsilon=3, delta=0)
    ...     account = budget.open_account("histogram", asked, charge.relation)
    ...     budget.reserve(account, [charge], 1)
    ...     print(budget.contents().left_text())
    pure epsilon = 2
    """

    path: Path

    @checked
    def __init__(self, path: str | os.PathLike[str]) -> None:
        # whole: the file stays the same one where the working directory changes
        object.__setattr__(self, "path", Path(path).absolute())

    @classmethod
    @checked
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        neighbours: str = "add-remove",
        person: str | None = None,
    ) -> BudgetLedger:
        """Make a new file that holds a total budget.

        Parameters
        ----------
        path : path
            A new file.
        epsilon, delta, rho :
            The total: epsilon with delta (1e-9 if left out; 0 pays for releases with Laplace noise only), or rho of
            zCDP.
        neighbours : str
            add-remove (one more or one fewer) or replace (one changed).
        person : str, optional
            The column that names a person: the budget is for all rows of one person, not for one record.
        Raises BudgetError if it is no budget, or the file is there or cannot be written.
        """
        budget = _total_budget(epsilon, delta, rho)
        try:
            relation = NeighbouringRelation(neighbours)
        except ValueError:
            known = ", ".join(member.value for member in NeighbouringRelation)
            raise BudgetError(f"neighbours of a budget: found {neighbours!r}, expected one of {known}") from None
        _check_person(person, relation)
        made = cls(path)
        entry = encode(Beginning(budget, relation, person, _now()), HEADER)
        with _opened(made.path, new=True) as file:
            try:
                _write(file, line_of(entry), made.path)
            except BudgetError:
                made.path.unlink()
                raise
        return made

    def _said(self) -> list[str]:
        try:
            found = self.contents()
        except BudgetError as problem:
            return [str(problem)]
        return [
            self.path.name,
            found.budget.describe(),
            f"{len(found.releases):,} releases",
            f"left: {found.left_text()}",
        ]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]] | None:
        try:
            found = self.contents()
        except BudgetError:
            return None
        rows = ((one.date, one.command, f"{one.epsilon(found.delta):.4g}") for one in found.releases)
        return ("date", "release", f"epsilon at delta = {found.delta:g}"), rows

    def contents(self) -> BudgetContents:
        """Return the content of the file.

        Raises BudgetError if it cannot be read, is no budget file, or a line is damaged.
        """
        data = self._bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if entry_of(data[len(whole) :] + b"\n") is not None:
            whole = data  # a line that lacks its end only: what it reserves counts
        return read_contents(self.path.name, whole)

    def open_account(
        self,
        command: str,
        asked: Budget,
        relation: NeighbouringRelation,
        *,
        person: str | None = None,
        reservation: str | None = None,
    ) -> Account:
        """Return an account for one release, if the budget has room for its request; nothing is reserved yet.

        Called before the table is read. Two releases may find room for one at the same time: the second is refused when
        it reserves, before its first draw.

        Parameters
        ----------
        command : str
            What is released, for the list of releases.
        asked : Budget
            The most that the release may spend.
        relation : NeighbouringRelation
            The one under which it is charged.
        person : str, optional
            The column that names a person, where the unit of the release is a person.
        reservation : str, optional
            That of an earlier run which is continued.
        Raises BudgetError if the release would cost more than is left, or has other neighbours or another unit than the
        budget.
        """
        contents = self.contents()
        steps, _ = steps_between(contents, relation, person)
        known = {release.reservation for release in contents.releases}
        cost = Cost.of_budget(asked)
        if cost is not None and reservation not in known:
            # What is asked holds for the unit of the release already; only a replacement is two steps.
            pure = None if cost.epsilon is None else cost.epsilon * steps * BELOW
            cost = Cost(cost.rho * steps**2 * BELOW, pure)
            refuse_overspending(self.path.name, contents, cost, asked.describe())
        return Account(self, command, person, reservation or uuid.uuid4().hex)

    def reserve(self, account: Account, charges: Sequence[Charge], group: int) -> None:
        """Write the cost of a release for a group of records to the file, once per reservation; on the disk on return.

        A release that is on file already is not reserved again. If it costs more than what is on file (a draw that has
        to be repeated), the difference is added. Privacy: A8 in docs/privacy.

        Raises BudgetError if the total would be exceeded, or the file cannot be read or written; nothing is reserved
        then.
        """
        with _opened(self.path) as file:
            contents = self.contents()
            relation = charges[0].relation if charges else contents.relation
            steps, note = steps_between(contents, relation, account.person)
            if group > 1:
                note = f"one person, at most {group:,} rows: group privacy"
            cost = Cost.of_charges(charges, group=steps * group)
            held = next((one for one in contents.releases if one.reservation == account.reservation), None)
            others = [one for one in contents.releases if one is not held]
            if held is not None:
                if cost.within(held.cost):
                    return
                cost = cost.larger(held.cost)
            refuse_overspending(self.path.name, replace(contents, releases=tuple(others)), cost, "its plan")
            entry = encode(ReservedRelease(account.reservation, _now(), account.command, cost, note))
            whole = self._bytes()[: contents.length].endswith(b"\n")
            _write(file, line_of(entry) if whole else b"\n" + line_of(entry), self.path, contents.length)

    def _bytes(self) -> bytes:
        return read_bytes(self.path, f"the budget file {self.path} (made with 'dpopt budget create')", BudgetError)


@dataclass(frozen=True, slots=True)
class Account:
    """The account that pays for one release: a `Ledger` asks it before its first charge."""

    budget: BudgetLedger
    command: str
    person: str | None
    reservation: str
    """The mark under which the release is on file."""

    def reserve(self, charges: Sequence[Charge], group: int) -> None:
        """Reserve charges on file; see `BudgetLedger.reserve`."""
        self.budget.reserve(self, charges, group)


def _total_budget(epsilon: float | None, delta: float | None, rho: float | None) -> Budget:
    try:
        return Budget.of(epsilon, delta, rho)
    except (AccountingError, PlanError) as error:
        raise BudgetError(str(error)) from error


def _check_person(person: object, relation: NeighbouringRelation) -> None:
    if person is not None and not (isinstance(person, str) and person):
        raise BudgetError(f"the column that names a person: found {person!r}, expected a name")
    if person is not None and relation is NeighbouringRelation.REPLACE_ONE:
        raise BudgetError(
            "a budget for persons holds for add-remove neighbours: a person who is replaced by another may have "
            "another number of rows, so that the number of records is not public. Leave --neighbours replace out"
        )


@contextmanager
def _opened(path: Path, *, new: bool = False) -> Iterator[ContinuedFile]:
    """Open and lock a budget file, or refuse it."""
    try:
        file = ContinuedFile(path, mode=PRIVATE if new else None, seconds=SECONDS_TO_WAIT)
    except BlockingIOError:
        raise BudgetError(
            f"another process has been writing {path.name} for {SECONDS_TO_WAIT:.0f} seconds; wait until it ends"
        ) from None
    except FileExistsError:
        raise BudgetError(f"{path} exists already, and may hold what was spent; name another file") from None
    except OSError as error:
        done = "made: {}; name another file" if new else "written: {}; nothing was drawn"
        raise BudgetError(f"{path} cannot be {done.format(error.strerror)}") from error
    with closing(file):
        yield file


def _write(file: ContinuedFile, data: bytes, path: Path, at: int | None = None) -> None:
    try:
        file.write(data, at)
    except OSError as error:
        hint = "make room" if error.errno == errno.ENOSPC else "name another file"
        raise BudgetError(f"{path} cannot be written: {error.strerror}; {hint}. Nothing was drawn") from error


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="seconds")

"""The number of records measured on tiny tables: what was drawn and charged, and the exact loss between neighbours."""

from __future__ import annotations

from unittest import mock

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.files.codec import decode
from dpopt.releases.measured_size import PastSize, measure_size
from dpopt.transcript.journal import Entry
from tests.exact_counts_loss import CountingGame, Watching
from tests.exact_counts_loss import check_game as check_counts
from tests.tiny_runs import EventJournal, Table, bits_schema, dataset_of, trusted

SCHEMA = bits_schema(1)
BUDGETS = {
    "rho": Budget(None, 1e-6, 50.0, Accountant.ZCDP),
    "zcdp": Budget(40.0, 1e-6, None, Accountant.ZCDP),
    "pure": Budget(90.0, 0.0, None, Accountant.PURE),
    "gdp": Budget(100.0, 1e-6, None, Accountant.GDP),
}


def table(rows: int) -> Table:
    """Return a table of so many records."""
    return tuple((place % 2,) for place in range(rows))


def check_size(budget: Budget) -> float:
    """Check all neighbours of one to five records; return the largest share of the charge that a pair uses up."""
    pairs = [(rows, rows + 1) for rows in range(1, 5)]
    return check_counts(CountingGame(pairs, lambda rows, noise: [measured(budget, rows, noise)[0]]))


def measured(budget: Budget, rows: int, noise: Watching, past: PastSize | None = None) -> tuple[Charge, list[Entry]]:
    """Measure; return what was charged and what went on file; charge, draw and file in this order."""
    journal, dataset = EventJournal(noise.events), dataset_of(SCHEMA, table(rows))
    with (
        mock.patch("dpopt.private.curators.door.is_trusted", trusted),
        mock.patch("dpopt.releases.measured_size.LEAST_DEVIATIONS", -1e9),
    ):
        size = measure_size(dataset, budget, journal, PastSize() if past is None else past, noise=noise)
    assert len(noise.drawn) == 1, f"drawn {len(noise.drawn)} times"
    expected = ["journal charge", noise.drawn[0].distribution, "journal measurement"]
    assert noise.events == (expected if past is None or past.torn else expected[1:]), noise.events
    entries: list[Entry] = journal.memory.entries
    charge = size.budget.earlier[-1]
    filed = [decode(Charge, entry["charge"], "a charge") for entry in entries if entry["kind"] == "charge"]
    assert filed in ([charge], []), f"on file {filed}, charged {charge}"
    assert size.number == max(1, int(entries[-1]["values"][0]))
    return charge, entries

"""The number of records measured on tiny tables: what was drawn and charged, and the exact loss between neighbours."""

from __future__ import annotations

from decimal import localcontext
from fractions import Fraction
from unittest import mock

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.files.codec import decode
from dpopt.releases.measured_size import PastSize, measure_size
from dpopt.transcript.journal import Entry
from tests.exact_counts_loss import Drawn, Watching, laplace_cells
from tests.exact_loss import DIGITS, ORDERS, as_decimal, check_losses
from tests.exact_measuring_loss import log_moment
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
    return max(_share(budget, rows) for rows in range(1, 5))


def _share(budget: Budget, rows: int) -> float:
    (one, charge, _), (two, other, _) = played(budget, rows), played(budget, rows + 1)
    assert charge == other
    assert {one.distribution, two.distribution} == {"Gaussian" if charge.kind is ChargeKind.CONCENTRATED else "Laplace"}
    assert one.scale == two.scale
    (low,), (high,) = one.counts, two.counts
    if charge.kind is ChargeKind.CONCENTRATED:
        rho = max(log_moment(one.scale, [high - low], order) / (order * (order - 1)) for order in ORDERS)
        assert rho <= charge.parameter * (1 + 1e-9), f"rho {rho}, charged {charge.parameter}"
        return rho / charge.parameter
    distributions: list[list[Fraction]] = [laplace_cells(n, one.scale, low, high) for n in (low, high)]
    with localcontext(DIGITS):
        return float(
            check_losses((charge,), *([as_decimal(share) for share in distribution] for distribution in distributions))
        )


def played(budget: Budget, rows: int, past: PastSize | None = None) -> tuple[Drawn, Charge, list[Entry]]:
    """Return what was drawn, what it was charged, and what went on file; charge, draw and file in this order."""
    events: list[str] = []
    noise, journal = Watching(events=events), EventJournal(events)
    dataset = dataset_of(SCHEMA, table(rows))
    with (
        mock.patch("dpopt.private.curators.door.is_trusted", trusted),
        mock.patch("dpopt.releases.measured_size.LEAST_DEVIATIONS", -1e9),
    ):
        size = measure_size(dataset, budget, journal, PastSize() if past is None else past, noise=noise)
    assert len(noise.drawn) == 1, f"drawn {len(noise.drawn)} times"
    expected = ["journal charge", noise.drawn[0].distribution, "journal measurement"]
    assert events == (expected if past is None or past.torn else expected[1:]), events
    entries: list[Entry] = journal.memory.entries
    charge = size.budget.earlier[-1]
    filed = [decode(Charge, entry["charge"], "a charge") for entry in entries if entry["kind"] == "charge"]
    assert filed in ([charge], []), f"on file {filed}, charged {charge}"
    assert size.number == max(1, int(entries[-1]["values"][0]))
    return noise.drawn[0], charge, entries

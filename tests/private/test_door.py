from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.errors import BudgetError, PrivateDataError
from dpopt.files.codec import encode
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS, Door
from dpopt.private.tables.dataset import PrivateDataset
from tests.scripted import ScriptedNoise
from tests.tiny_measuring import RHO, SCHEMA
from tests.tiny_runs import REPLACE, EventJournal, Table, dataset_of

TABLE: Table = ((0, 2), (1, 2))
ONE, TWO = (measurement_charge(f"draw {i}", 2, 1.0, gaussian=True, relation=REPLACE) for i in (1, 2))


@dataclass
class Opened:
    """A door with two reserved charges."""

    table: Table = TABLE
    trusted: bool = True
    journal: EventJournal = field(default_factory=lambda: EventJournal([]))

    def __post_init__(self) -> None:
        self.ledger = Ledger(RHO, REPLACE)
        self.ledger.reserve([ONE, TWO])

    def door(self) -> Door[PrivateDataset]:
        data = dataset_of(SCHEMA, self.table)
        return Door(data, self.ledger, self.journal, size=2, noise=None if self.trusted else ScriptedNoise([]))


def test_a_charge_is_spent_and_then_on_file() -> None:
    opened = Opened()
    assert opened.door()._charged(ONE, round=4) == ONE
    assert opened.ledger.entries == (ONE,)
    assert opened.journal.memory.entries == [{"kind": "charge", "charge": encode(ONE), "round": 4}]
    with pytest.raises(BudgetError, match="is spent already"):
        opened.door()._charged(ONE, round=5)
    assert len(opened.journal.memory.entries) == 1


def test_a_value_is_on_file_before_it_is_handed_out() -> None:
    opened = Opened()
    assert opened.door()._released("value", {"kind": "x", "value": 3}) == "value"
    assert opened.journal.memory.entries == [{"kind": "x", "value": 3}]


def test_a_recalled_charge_pays_once_and_for_its_own_draw_only() -> None:
    opened = Opened()
    door = opened.door()
    door.recall(ONE, drawn=False)
    with pytest.raises(BudgetError, match=r"not that of the second draw; transcript and plan do not fit"):
        door._recalled(TWO, "the second draw")
    with pytest.raises(BudgetError, match="do not fit together"):
        door._recalled(ONE, "the first draw")
    door.recall(TWO, drawn=False)
    assert door._recalled(TWO, "the second draw") == TWO
    assert opened.ledger.unspent == ()


def test_what_was_drawn_is_not_drawn_again() -> None:
    door = Opened().door()
    door.recall(ONE, drawn=True)
    with pytest.raises(BudgetError, match="do not fit together"):
        door._recalled(ONE, "the first draw")


def test_an_exchange_gives_up_a_reserved_charge() -> None:
    opened = Opened()
    door = opened.door()
    door.recall(ONE, drawn=True)
    door._exchanged(ONE, TWO, round=1, given_up=2)
    assert opened.ledger.entries == (ONE, ONE)
    assert opened.ledger.unspent == ()
    assert opened.journal.memory.entries[0]["given_up"] == 2


def test_under_replace_one_a_table_of_another_size_is_refused() -> None:
    with pytest.raises(PrivateDataError, match="the table has 1 records but the plan was made for n = 2"):
        Opened(TABLE[:1]).door()


def test_a_source_that_is_not_trusted_marks_the_ledger_once() -> None:
    opened = Opened(trusted=False)
    opened.door()
    opened.door()
    marks: list[Charge] = list(opened.ledger.entries)
    assert [mark.mechanism for mark in marks] == [NOT_PRIVATE_DRAWS]
    assert not opened.ledger.is_private

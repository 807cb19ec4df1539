"""The owner's budget on file: reserved before a draw, once, never beyond the total, whatever is torn or at the same time."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.transcript.budget_ledger import Account, BudgetLedger

ADD, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
TENTH = Budget(None, 1e-9, 0.1, Accountant.ZCDP)


def charge(
    rho: float, relation: NeighbouringRelation = ADD, kind: ChargeKind = ChargeKind.CONCENTRATED, label: str = ""
) -> Charge:
    return Charge("a mechanism", kind, rho, 1, relation, "a theorem", label)


def spend(account: Account, charges: list[Charge], budget: Budget = TENTH) -> Ledger:
    """Reserve a plan and spend the first charge of it, as a release does."""
    ledger = Ledger(budget, charges[0].relation, account)
    ledger.reserve(charges)
    ledger.spend(charges[0])
    return ledger


@pytest.fixture
def budget(tmp_path: Path) -> BudgetLedger:
    return BudgetLedger.create(tmp_path / "owner.budget", rho=0.35)


def test_the_file_is_for_its_owner_alone(budget: BudgetLedger) -> None:
    assert budget.path.stat().st_mode & 0o777 == 0o600
    spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    assert all(path.stat().st_mode & 0o077 == 0 for path in budget.path.parent.iterdir())


def test_a_budget_that_a_full_disk_refuses_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dpopt.transcript.continued_file.ContinuedFile.write", full)
    with pytest.raises(BudgetError, match="No space left on device; make room"):
        BudgetLedger.create(tmp_path / "budget.json", epsilon=1.0)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_reserved_before_the_first_charge_and_everything_with_it(budget: BudgetLedger) -> None:
    account = budget.open_account("histogram", TENTH, ADD)
    before = budget.path.read_bytes()
    ledger = Ledger(TENTH, ADD, account)
    charges = [charge(0.02, label=str(number)) for number in range(5)]
    ledger.reserve(charges)
    assert budget.path.read_bytes() == before
    ledger.spend(charges[0])
    reserved = budget.path.read_bytes()
    assert reserved.startswith(before)
    assert budget.contents().total().used == pytest.approx(0.1)
    for one in charges[1:]:
        ledger.spend(one)
    assert budget.path.read_bytes() == reserved


def test_what_would_exceed_the_total_is_refused_and_leaves_no_trace(budget: BudgetLedger) -> None:
    for _ in range(3):
        spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    before = budget.path.read_bytes()
    with pytest.raises(BudgetError, match="left"):
        budget.open_account("histogram", TENTH, ADD)
    late = Account(budget, "histogram", None, "f" * 32)  # it found room, and another release took it since
    with pytest.raises(BudgetError, match="left"):
        spend(late, [charge(0.1)])
    assert budget.path.read_bytes() == before
    assert len(budget.contents().releases) == 3


def test_decimal_shares_of_a_decimal_budget_fit(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=0.5)
    planned = [charge(0.1 * (1 - 1e-11))]  # as plans of noise are: a little below what was asked
    for _ in range(5):
        spend(budget.open_account("histogram", TENTH, ADD), planned)
    with pytest.raises(BudgetError, match="left"):
        budget.open_account("histogram", TENTH, ADD)


def test_a_run_that_goes_on_finds_its_reservation(budget: BudgetLedger) -> None:
    charges = [charge(0.1, label="1"), charge(0.2, label="2")]
    whole = Budget(None, 1e-9, 0.32, Accountant.ZCDP)
    first = budget.open_account("release", whole, ADD)
    spend(first, charges, whole)
    before = budget.path.read_bytes()
    again = BudgetLedger(budget.path).open_account("release", whole, ADD, reservation=first.reservation)
    spend(again, charges, whole).spend(charges[1])
    assert budget.path.read_bytes() == before


def test_a_draw_that_is_repeated_adds_what_it_costs_more(budget: BudgetLedger) -> None:
    whole = Budget(None, 1e-9, 0.32, Accountant.ZCDP)
    cheap, dear = charge(0.05, label="cheap"), charge(0.15, label="dear")
    ledger = spend(budget.open_account("release", whole, ADD), [dear, cheap], whole)
    ledger.substitute(dear, cheap)
    contents = budget.contents()
    assert [one.cost.rho for one in contents.releases] == [pytest.approx(0.3)]
    assert len(budget.path.read_bytes().splitlines()) == 3


def test_draws_that_are_not_private_find_no_room(budget: BudgetLedger) -> None:
    ledger = Ledger(TENTH, ADD, budget.open_account("histogram", TENTH, ADD))
    ledger.reserve([charge(0.1)])
    ledger.mark_not_private("scripted")
    with pytest.raises(BudgetError, match="inf"):
        ledger.spend(charge(0.1))


@pytest.mark.parametrize(
    ("tear", "releases"),
    [
        (lambda data: data[:-1], 2),  # only the end of the line is missing: it counts
        (lambda data: data[:-2], 1),
        (lambda data: data[: data.rstrip(b"\n").rfind(b"\n") + 1] + b"\0" * 200, 1),
        (lambda data: data[: data.rstrip(b"\n").rfind(b"\n") + 5], 1),
    ],
)
def test_a_torn_last_line_had_no_draw(budget: BudgetLedger, tear: Callable[[bytes], bytes], releases: int) -> None:
    for _ in range(2):
        spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    budget.path.write_bytes(tear(budget.path.read_bytes()))
    assert len(budget.contents().releases) == releases
    spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    lines = budget.path.read_bytes().splitlines()
    assert len(lines) == releases + 2
    assert all(json.loads(line)["crc"] for line in lines)
    assert len(budget.contents().releases) == releases + 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_any_other_damage_stops_everything(budget: BudgetLedger, place: int) -> None:
    for _ in range(2):
        spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    lines = budget.path.read_bytes().splitlines(keepends=True)
    lines[place] = lines[place].replace(b"1", b"2", 1)
    budget.path.write_bytes(b"".join(lines))
    for refused in (budget.contents, lambda: budget.open_account("histogram", TENTH, ADD)):
        with pytest.raises(BudgetError, match=r"damaged|not a budget file"):
            refused()


def test_replacements_are_two_steps_and_the_file_says_so(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=0.51, neighbours="replace")
    spend(budget.open_account("histogram", TENTH, ADD), [charge(0.1)])
    (release,) = budget.contents().releases
    assert release.cost.rho == pytest.approx(0.4)
    assert "group of two" in release.note
    with pytest.raises(BudgetError, match="left"):
        budget.open_account("histogram", TENTH, ADD)
    spend(budget.open_account("histogram", TENTH, REPLACE), [charge(0.1, REPLACE)])
    assert budget.contents().releases[1].note == ""


def test_pure_epsilon_doubles_under_replacement(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=1, neighbours="replace")
    half = Budget(0.5, 0.0, None, Accountant.PURE)
    spend(budget.open_account("histogram", half, ADD), [charge(0.5, kind=ChargeKind.PURE)], half)
    assert budget.contents().releases[0].cost.epsilon == 1.0


def test_replace_one_is_never_counted_as_add_remove(budget: BudgetLedger) -> None:
    with pytest.raises(BudgetError, match="neighbours="):
        budget.open_account("release", TENTH, REPLACE)
    late = Account(budget, "release", None, "f" * 32)
    with pytest.raises(BudgetError, match="neighbours="):
        spend(late, [charge(0.1, REPLACE)])


def test_rows_of_a_person_are_counted_with_their_square(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=1.0, person="user")
    asked = Budget(None, 1e-9, 0.95, Accountant.ZCDP, 3)
    spend(budget.open_account("histogram", asked, ADD, person="user"), [charge(0.1)], asked)
    (release,) = budget.contents().releases
    assert release.cost.rho == pytest.approx(0.9)
    assert "3 rows" in release.note


@pytest.mark.parametrize(("kept", "released"), [(None, "user"), ("user", None), ("user", "household")])
def test_units_are_never_mixed(tmp_path: Path, kept: str | None, released: str | None) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=1.0, person=kept)
    with pytest.raises(BudgetError, match="person="):
        budget.open_account("histogram", TENTH, ADD, person=released)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": -1},
        {"epsilon": 1, "delta": 2.0},
        {"rho": 1, "neighbours": "other"},
        {"rho": 1, "neighbours": "replace", "person": "user"},
        {"rho": 1, "person": ""},
    ],
)
def test_budgets_that_are_none_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(BudgetError):
        BudgetLedger.create(tmp_path / "owner.budget", **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_never_replaced(budget: BudgetLedger, tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="exists"):
        BudgetLedger.create(budget.path, rho=9)
    with pytest.raises(BudgetError, match="cannot be read"):
        BudgetLedger(tmp_path / "none").contents()
    (tmp_path / "other").write_text('{"rho": 1}\n')
    with pytest.raises(BudgetError, match="not a budget file"):
        BudgetLedger(tmp_path / "other").contents()


_SPENDERS = """
import sys
from multiprocessing import get_context
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.transcript.budget_ledger import BudgetLedger

relation = NeighbouringRelation.ADD_REMOVE
asked = Budget(None, 1e-9, 1 / 128, Accountant.ZCDP)
charge = Charge("a mechanism", ChargeKind.CONCENTRATED, 1 / 128, 1, relation, "a theorem")
processes = get_context("fork")
everybody, said = processes.Barrier(50), processes.SimpleQueue()

def release():
    account = BudgetLedger(sys.argv[1]).open_account("test", asked, relation)
    everybody.wait()  # all of them found room before any of them spends
    ledger = Ledger(asked, relation, account)
    ledger.reserve([charge])
    try:
        ledger.spend(charge)
    except BudgetError:
        said.put("refused")
    else:
        said.put("drew")

started = [processes.Process(target=release) for _ in range(50)]
for process in started:
    process.start()
print(*sorted(said.get() for _ in started))
for process in started:
    process.join()
"""


def test_fifty_processes_at_once_cannot_overspend(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", rho=20 / 128)
    command = [sys.executable, "-c", _SPENDERS, str(budget.path)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout.split()
    assert said == ["drew"] * 20 + ["refused"] * 30
    contents = budget.contents()
    assert len({release.reservation for release in contents.releases}) == 20
    assert contents.total().share == 1.0

"""Prefixes that grow: true without noise, unchanged by what comes, paid once, and never drawn again after an interruption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PlanError, ReleaseFolderError, TranscriptError
from dpopt.inference.histograms.prefix_factors import (
    prefix_deviations,
    prefixes_of_rows,
    root_coefficients,
    whole_coefficients,
)
from dpopt.private.readers.table_reading import TableReading
from dpopt.synopses.histograms.prefixes import Prefixes, plan_prefixes
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import FileJournal, line_of, read_journal
from tests.noises import NoNoise

STEPS = 12
DAYS = dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, edges=tuple(range(STEPS + 1)))
SCHEMA = dpopt.Schema((DAYS,))
DAY = np.array([0, 0, 1, 3, 3, 3, 4, 7, 7, 8, 11, 11])
TABLE = pd.DataFrame({"day": DAY})
TRUE = [int((day >= DAY).sum()) for day in range(STEPS)]
RHO = Budget(None, 1e-9, 0.5, Accountant.ZCDP)


def begun(out: Path, steps: int = 4, noise: Any = None, **how: Any) -> Prefixes:
    budget = how if {"rho", "epsilon"} & set(how) else {"rho": 0.5, **how}
    return dpopt.prefixes(TABLE, SCHEMA, "day", steps=steps, out=out, noise=noise, **budget)


def grown(out: Path, steps: int, noise: Any = None) -> Prefixes:
    return dpopt.grow(out, TABLE, SCHEMA, "day", steps=steps, noise=noise)


def test_without_noise_all_prefixes_are_true(tmp_path: Path) -> None:
    first = begun(tmp_path / "v", 4, NoNoise())
    assert first.values.round(6).tolist() == TRUE[:4]
    for steps in (5, 11, 12):
        found = grown(tmp_path / "v", steps, NoNoise())
        assert found.values == pytest.approx(TRUE[:steps], abs=1e-6)
    assert not found.privacy["private"]
    assert not Prefixes.read(tmp_path / "v").privacy["private"]
    with pytest.raises(PlanError, match="all 12 steps were measured"):
        grown(tmp_path / "v", 12)


def test_what_was_answered_never_changes_and_nothing_more_is_paid(tmp_path: Path) -> None:
    first = begun(tmp_path / "v", 4)
    before = [first.answer(step) for step in range(1, 5)]
    later = grown(tmp_path / "v", 9)
    again = Prefixes.read(tmp_path / "v")
    assert [later.answer(step) for step in range(1, 5)] == before
    assert again.rows.tolist() == later.rows.tolist()
    assert later.rows[:4].tolist() == first.rows.tolist()
    assert first.privacy == later.privacy == again.privacy
    assert first.privacy["private"]
    assert first.privacy["rho"] == pytest.approx(0.5, rel=1e-6)
    assert first.privacy["rho"] <= 0.5
    kinds = [entry["kind"] for entry in read_journal(tmp_path / "v").entries]
    assert kinds == ["prefixes", "charge", "measurement", "measurement"]
    with pytest.raises(PlanError, match="found step 10; expected one of the 9"):
        later.answer(10)


def test_errors_are_those_of_the_noise() -> None:
    """2,000 tables without records, 30 steps: the sums of squared standardized errors have mean 1; beyond 6 sigma: 1e-8.

    Noise of 1.1 times the scale is seen: it moves the mean by 9 standard deviations.
    """
    weights, draws = whole_coefficients(30), np.random.default_rng(4)
    errors = np.array(
        [
            prefixes_of_rows(np.rint(draws.normal(0, 1e5, 30)).astype(np.int64), weights)
            / prefix_deviations(weights, 1e5)
            for _ in range(2000)
        ]
    )
    spread = np.sqrt(2 / 2000)
    assert np.abs((errors**2).mean(axis=0) - 1).max() < 6 * spread


@pytest.mark.parametrize("steps", [1, 2, 64, 4096])
def test_whole_weights_lose_nothing_against_the_root(steps: int) -> None:
    """The variance of the last prefix is (sum f_k^2)^2 / (2 rho), CC-6, and a thousandth more at most."""
    f = root_coefficients(steps)
    plan = plan_prefixes(steps, RHO)
    found = prefix_deviations(plan.rows.weights, plan.scale) ** 2
    assert found == pytest.approx((f**2).sum() * np.cumsum(f**2), rel=1e-3)
    squares = np.convolve(f, f)[:steps]
    assert squares == pytest.approx(np.ones(steps), rel=1e-9)


def test_a_killed_release_goes_on_and_pays_nothing_more(tmp_path: Path) -> None:
    """After each line of the file: with the charge on file and no values, nothing had left, and they are drawn."""
    begun(tmp_path / "whole", 4)
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    (tmp_path / "charged").write_bytes(b"".join(lines[:2]))
    found = grown(tmp_path / "charged", 4)
    assert found.rows.size == 4
    assert len(found.privacy["charges"]) == 1
    (tmp_path / "planned").write_bytes(lines[0])
    with pytest.raises(PlanError, match="nothing was drawn; remove it, and release again"):
        grown(tmp_path / "planned", 4)
    for cut in range(1, len(lines[2]), 37):
        torn = tmp_path / f"torn{cut}"
        torn.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
        for _ in range(2):
            with pytest.raises(PlanError, match="may have been seen"):
                grown(torn, 4)


@pytest.mark.parametrize(("failing", "left"), [("prefixes", []), ("measurement", ["v"])])
def test_a_disk_that_is_full_before_the_charge_leaves_no_file(failing: str, left: list[str], tmp_path: Path) -> None:
    """And leaves one in which a charge stands: values may have been drawn."""
    usual = FileJournal.append

    def full(self: FileJournal, entry: dict[str, Any], *, wait: bool = True) -> None:
        if entry["kind"] == failing:
            raise ReleaseFolderError("the disk is full")
        usual(self, entry, wait=wait)

    with mock.patch.object(FileJournal, "append", full), pytest.raises(ReleaseFolderError, match="full"):
        begun(tmp_path / "v")
    assert [one.name for one in tmp_path.iterdir()] == left


def test_another_release_into_the_same_file_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find no file; the slower one is refused, and removes nothing."""
    begun(tmp_path / "v")
    before = (tmp_path / "v").read_bytes()
    monkeypatch.setattr("dpopt.synopses.histograms.prefixes.check_new", lambda _: None)
    for content in (before, b""):
        (tmp_path / "v").write_bytes(content)
        with pytest.raises(ReleaseFolderError, match="exists already"):
            begun(tmp_path / "v")
        assert (tmp_path / "v").read_bytes() == content


def test_values_that_could_not_be_written_are_not_handed_out_and_not_drawn_again(tmp_path: Path) -> None:
    begun(tmp_path / "v", 2)
    usual = FileJournal.append

    def half(self: FileJournal, entry: dict[str, Any], *, wait: bool = True) -> None:
        if entry["kind"] != "measurement":
            return usual(self, entry, wait=wait)
        with self.path.open("ab") as file:
            file.write(line_of(entry)[:40])
        raise ReleaseFolderError("the disk is full")

    with mock.patch.object(FileJournal, "append", half), pytest.raises(ReleaseFolderError):
        grown(tmp_path / "v", 3)
    with pytest.raises(PlanError, match="may have been seen"):
        grown(tmp_path / "v", 3)
    assert Prefixes.read(tmp_path / "v").rows.size == 2


@pytest.mark.parametrize("paid", [{"rho": 1.0}, {"epsilon": 1.0}, {"delta": 1e-6}], ids=str)
def test_who_goes_on_pays_nothing_and_is_told_so(tmp_path: Path, paid: dict[str, float]) -> None:
    begun(tmp_path / "v")
    with pytest.raises(PlanError, match=f"paid for, as the file says; leave {next(iter(paid))} out"):
        dpopt.grow(tmp_path / "v", TABLE, SCHEMA, "day", steps=5, **paid)  # type: ignore[arg-type]  # some keywords


def test_two_cannot_go_on_at_once(tmp_path: Path) -> None:
    begun(tmp_path / "v", 2)
    holder, _ = FileJournal.reopen(tmp_path / "v")
    try:
        with pytest.raises(ReleaseFolderError, match="another process"):
            grown(tmp_path / "v", 3)
    finally:
        holder.close()
    assert grown(tmp_path / "v", 3).rows.size == 3


def test_the_owners_budget_is_paid_from_once(tmp_path: Path) -> None:
    owner = BudgetLedger.create(tmp_path / "budget", rho=0.5)
    begun(tmp_path / "v", 2, budget=owner)
    grown(tmp_path / "v", 5)
    with pytest.raises(DpoptError):
        begun(tmp_path / "w", 2, budget=BudgetLedger(tmp_path / "budget"))
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"epsilon": 1.0, "delta": 0}, "have Gaussian noise"),
        ({"rho": 0.5, "neighbours": "replace"}, "are for add-remove"),
        ({"rho": 0.5, "steps": 0}, "expected 1 to 12"),
        ({"rho": 0.5, "steps": 13}, "expected 1 to 12"),
        ({"rho": 0.5, "reading": TableReading(person="day", rows_per_person=2)}, "person="),
    ],
)
def test_what_cannot_be_released_is_refused_without_a_file(how: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=message):
        begun(tmp_path / "v", **how)
    assert list(tmp_path.iterdir()) == []


def test_other_bins_and_other_files_are_refused(tmp_path: Path) -> None:
    begun(tmp_path / "v", 2)
    other = dpopt.Schema((dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, edges=tuple(range(14))),))
    with pytest.raises(PlanError, match="not those of the file"):
        dpopt.grow(tmp_path / "v", TABLE, other, "day", steps=3)
    with pytest.raises(PlanError, match="expected 3 to 12"):
        grown(tmp_path / "v", 2)
    (tmp_path / "w").write_text("{}\n{}\n")
    for call in (Prefixes.read, lambda file: grown(file, 3)):
        with pytest.raises(TranscriptError):
            call(tmp_path / "w")
        with pytest.raises((TranscriptError, ReleaseFolderError), match="there is no"):
            call(tmp_path / "none")
    with pytest.raises(ReleaseFolderError, match="exists already"):
        begun(tmp_path / "v", 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[1]],
        lambda lines: [*lines, lines[2]],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [{**lines[0], "version": 2}, *lines[1:]],
        lambda lines: [{**lines[0], "plan": {**lines[0]["plan"], "scale": 1.0}}, *lines[1:]],
        lambda lines: [lines[0], lines[1], {**lines[2], "scale": 3.0}],
        lambda lines: [lines[0], lines[1], {**lines[2], "values": [0] * 13}],
        lambda lines: [{**lines[0], "bins": {}}, *lines[1:]],
    ],
)
def test_damaged_files_are_refused(change: Any, tmp_path: Path) -> None:
    begun(tmp_path / "v", 2)
    entries = json.loads(json.dumps(read_journal(tmp_path / "v").entries))
    (tmp_path / "v").write_bytes(b"".join(map(line_of, change(entries))))
    with pytest.raises(DpoptError):
        Prefixes.read(tmp_path / "v")


def test_plans_are_refused_for_other_neighbours_and_too_many_steps() -> None:
    with pytest.raises(PlanError, match="1 to 16,384 steps, found 16,385"):
        plan_prefixes(16_385, RHO)
    with pytest.raises(PlanError, match="add-remove"):
        plan_prefixes(4, RHO, relation=NeighbouringRelation.REPLACE_ONE)

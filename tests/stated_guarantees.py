"""What a release states as its guarantee, at every door, with the noise scripted: it must not depend on the script."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt import read_synopsis, report
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.replay import load
from dpopt.synopses.histograms import histogram_plan
from dpopt.synopses.histograms.grids import grid_plan
from dpopt.transcript.budget_ledger import BudgetLedger
from tests.cli.command_line import succeed
from tests.kept_releases.make import RELEASES, SYNOPSES, WITHOUT_SCHEMA, write_tables
from tests.tiny_runs import ADD_REMOVE, even_budgets, trusted

QUIET, LOUD = (0,), (80, -80)
"""Noise in records. The loud one empties every second half of a bin, and lets other intervals, queries and rounds follow."""
VALUES = ("--values-share", 0.5)
ROUNDS: dict[str, tuple[object, ...]] = {
    "histogram in rounds": ("histogram", "people.csv", "--column", "age", "--measure", "rounds"),
    "grid in rounds": ("grid", "people.csv", "--columns", "colour,age", "--shapes", "rounds"),
    "degrees of unknown nodes": ("degrees", "edges.txt", "--nodes", "noisy"),
}
ANSWERS = {**{name: words for name, (words, _) in SYNOPSES.items()}, **ROUNDS}
FIGURE = re.compile(r"epsilon(?:</?[a-z]+>|&[a-z]+;|[ =;])*([0-9][0-9.e+-]*)")


class Amounts:
    """Adds the same amounts to whatever it is given, whichever the distribution."""

    is_private = True

    def __init__(self, amounts: Sequence[int]) -> None:
        self.amounts = np.array(amounts, dtype=np.int64)

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts + np.resize(self.amounts, counts.shape)

    discrete_laplace = discrete_gaussian


@contextmanager
def scripted(amounts: Sequence[int]) -> Iterator[None]:
    """Let all noise be these amounts, of releases that say that they are private, with many small rounds."""
    with (
        mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=Amounts(amounts)),
        mock.patch("dpopt.private.curators.door.is_trusted", trusted),
        mock.patch.object(histogram_plan, "best_level_budgets", even_budgets),
        mock.patch.object(grid_plan, "ROUND_DEPTH", 1),
    ):
        yield


@cache
def tables() -> Path:
    folder = Path(tempfile.mkdtemp())
    write_tables(folder)
    return folder


def _said(text: str) -> list[str]:
    """Return the first epsilon that a text states."""
    found = FIGURE.findall(text.replace("&epsilon;", "epsilon"))
    assert found, f"no epsilon is stated in {text[:200]!r}"
    return found[:1]


def _options(options: Sequence[object], relation: NeighbouringRelation, *, measured: bool = False) -> list[object]:
    """Return options under a relation; where the number of records is measured or public, without --n0."""
    found = [*options, "--neighbours", relation.value]
    if (measured or relation is not ADD_REMOVE) and "--n0" in found:
        place = found.index("--n0")
        del found[place : place + 2]
    return found


def _paid(budget: BudgetLedger, privacy: dict[str, Any]) -> list[float | None]:
    """Return what a budget file was charged, which is what is stated."""
    (release,) = budget.contents().releases
    assert release.cost.rho == pytest.approx(_rho(privacy), rel=1e-9), "the budget file is not charged the stated total"
    return [float(f"{release.cost.rho:.9g}"), release.cost.epsilon and float(f"{release.cost.epsilon:.9g}")]


def _rho(privacy: dict[str, Any]) -> float:
    """Return the rho of a stated total, by the best theorem for a pure one, also where it is paid from a budget of rho."""
    charges = privacy["charges"]
    one_pure = len(charges) == 1 and (charges[0]["kind"], charges[0]["count"]) == ("pure", 1)
    if privacy["delta"] and not one_pure:
        return float(privacy["rho"])
    epsilon = charges[0]["parameter"] if one_pure else privacy["epsilon"]
    return min(float(privacy["rho"]), float(epsilon * np.tanh(epsilon / 2)))


def of_release(
    name: str,
    relation: NeighbouringRelation,
    amounts: Sequence[int],
    *more: object,
    delta: float = 1e-6,
    measured: bool = False,
) -> tuple[Any, int]:
    """Release records; return what is stated where, and how many charges are listed."""
    with tempfile.TemporaryDirectory() as temporary, scripted(amounts):
        folder, kind = (Path(temporary) / "release", () if "--algorithm" in RELEASES[name] else ("--algorithm", name))
        budget = BudgetLedger.create(Path(temporary) / "owner", epsilon=20, delta=1e-6, neighbours=relation.value)
        printed = succeed(
            "release", tables() / "people.csv", "--schema", tables() / "schema.json", "--workload", "marginals:2",
            "--epsilon", 20, "--delta", delta, "--no-predict", *kind, *more,
            *_options(RELEASES[name], relation, measured=measured),
            "--budget", budget.path, "-o", folder,
        )  # fmt: skip
        made, privacy = load(folder), json.loads((folder / "release.json").read_text())["privacy"]
        total = made.job.plan.budget.guaranteed(read_job(folder).charges())
        assert (privacy["epsilon"], privacy["rho"]) == (total.epsilon, total.rho), "not the reserved total"
        stated = {
            "release.json": [privacy[key] for key in ("epsilon", "delta", "rho", "epsilon_by_accountant")],
            "README.txt": _said((folder / "README.txt").read_text()),
            "terminal": _said(printed),
            "repr": _said(repr(made)),
            "ledger": _said(repr(made.ledger)),
            "report": _said(report(folder)),
            "budget file": _paid(budget, privacy),
        }
        return stated, len(privacy["charges"])


def of_synopsis(name: str, relation: NeighbouringRelation, amounts: Sequence[int], *spent: object) -> tuple[Any, int]:
    """Release answers; return what is stated where, and how many charges are listed."""
    kind, table, *options = ANSWERS[name]
    declared = [] if kind in WITHOUT_SCHEMA else ["--schema", tables() / "schema.json"]
    pure = "--delta" not in spent
    spent = () if kind == "count" else spent  # a delta of its draw has no sum; it takes its part of the budget's rho
    with tempfile.TemporaryDirectory() as temporary, scripted(amounts):
        file = Path(temporary) / "answers.npz"
        budget = BudgetLedger.create(
            Path(temporary) / "owner", epsilon=20, delta=0.0 if pure else 1e-6, neighbours=relation.value
        )
        printed = succeed(
            kind, "release", tables() / str(table), *declared, *_options(options, relation), "--epsilon", 20, *spent,
            "--budget", budget.path, "-o", file,
        )  # fmt: skip
        made: Any = read_synopsis(file)
        privacy = made.privacy
        stated = {
            "file": [privacy[key] for key in ("epsilon", "delta", "rho", "epsilon_by_accountant")],
            "terminal": _said(printed),
            "repr": _said(repr(made)),
            "report": _said(report(file)),
            "inspect": _said(succeed("inspect", file)),
            "budget file": _paid(budget, privacy),
        }
        return stated, len(privacy["charges"])

"""Releases of public tables: every solver draws by the same uniform numbers, and nothing of them is called private."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.public_release import PUBLIC_TABLE
from dpopt.algorithms.replay import replay
from dpopt.errors import BudgetError, PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import CommonSampler, QueryWeights
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Program
from dpopt.releases.remembered_tables import STATE
from tests.algorithms.small_runs import ROWS, SCHEMA, write_table
from tests.own_solvers import OwnSolver

PLANNED: Any = {"n0": ROWS, "epsilon": 20, "delta": 1e-3, "predict": False}
ASKED: Any = {"rounds": 5, "draws": 40, "step": 2.0}


def released(folder: Path, *, solver: Any = "local-search", seed: int = 1, **more: Any) -> dpopt.SyntheticRelease:
    """Release a small table as a public one."""
    asked = dpopt.DualQuery(**ASKED, solver=solver, seed=seed)
    more = {"public_table": True, **more}
    return dpopt.release(write_table(folder), SCHEMA, "marginals:2", algorithm=asked, **PLANNED, **more)


def sampled(made: dpopt.SyntheticRelease) -> list[list[list[int]]]:
    """Return the drawn queries of each round, and how often."""
    return [[one.sampled.queries.tolist(), one.sampled.counts.tolist()] for one in made.played]


class Poor(OwnSolver):
    """Answers with a record next to the good one."""

    name = "poor"

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        found = super().solve(program, limits, hint=hint)
        assert found.solution is not None
        assert isinstance(program, MaxCsp)
        other = (found.solution.astype(np.int32) + 1) % np.array(SCHEMA.sizes, dtype=np.int32)
        stopped: Any = {"termination": Termination.LIMIT, "limit": Limit.WORK, "bound": None}
        return replace(found, **stopped, solution=other, objective=float(program.objective(other)))


def test_solvers_that_return_the_same_records_give_the_same_release(tmp_path: Path) -> None:
    one, mine = released(tmp_path), released(tmp_path, solver=OwnSolver())
    assert mine.job.plan.solver == "mine" != one.job.plan.solver
    assert sampled(one) == sampled(mine)
    assert one.to_pandas().equals(mine.to_pandas())
    assert sampled(one) != sampled(released(tmp_path, seed=2))


def test_all_solvers_get_the_same_numbers_by_round_and_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[NDArray[np.uint64]] = []
    original = QueryWeights.draw_at

    def draw_at(self: QueryWeights, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        given.append(words)
        return original(self, words)

    monkeypatch.setattr(QueryWeights, "draw_at", draw_at)
    one = released(tmp_path)
    good, given = np.array(given), []
    other = released(tmp_path, solver=Poor())
    assert good.shape == (ASKED["rounds"], ASKED["draws"])
    assert (good == np.array(given)).all()
    assert len(np.unique(good)) == good.size  # no number serves two draws
    assert all(round_.fallback is None for made in (one, other) for round_ in made.played)
    first, *later = zip(sampled(one), sampled(other), strict=True)
    assert first[0] == first[1]  # all weights are equal yet
    assert all(ours != theirs for ours, theirs in later)  # records differ, and with them the weights


def test_fewer_draws_are_the_first_of_more() -> None:
    weights = QueryWeights(np.array([3, 5, 1]), rows=9, size=9, step=Decimal("0.5"))
    sampler = CommonSampler(SeededWords)
    few, many = sampler.draw(weights, 5).tolist(), sampler.draw(weights, 50).tolist()
    assert all(few.count(query) <= many.count(query) for query in range(6))


def test_ledger_statement_and_readme_say_that_it_is_not_private(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    made = released(tmp_path, out=folder)
    assert not made.ledger.is_private
    assert made.ledger.entries[0].mechanism == PUBLIC_TABLE
    assert made.ledger.guaranteed().epsilon == float("inf")
    stated = json.loads((folder / "release.json").read_text())
    assert stated["privacy"]["private"] is False
    assert stated["privacy"]["epsilon"] is None
    assert stated["privacy"]["charges"][0]["kind"] == "not private"
    readme = (folder / "README.txt").read_text()
    assert readme.startswith("SYNTHETIC RECORDS, NOT PRIVATE\n")
    assert "WHAT MAY BE PUBLISHED\n\nNothing." in readme
    replay(folder, tmp_path / "again")
    assert (tmp_path / "again" / "release.json").read_bytes() == (folder / "release.json").read_bytes()


def test_nothing_else_is_written_than_of_a_private_release(tmp_path: Path) -> None:
    """No file and no entry that a release of a private table does not have, but the mark; no path of the table."""
    names, keys = [], []
    for public in (True, False):
        folder = tmp_path / str(public)
        released(tmp_path, out=folder, public_table=public)
        names.append(sorted(path.name for path in folder.iterdir()))
        keys.append(set(json.loads((folder / "release.json").read_text())) - {"not_private"})
        assert "people.csv" not in "".join(path.read_text() for path in folder.iterdir())
    assert names[0] == names[1]
    assert keys[0] == keys[1]


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_seed_alone_seeds_no_private_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Without `public_table` a seed is the solver's: seeded sources are never asked, and draws do not repeat."""

    def refuse(*_: object) -> Any:
        raise AssertionError("a seeded source was asked")

    for seeded in (SeededWords, CommonSampler):
        monkeypatch.setattr(seeded, "__init__", refuse)
    one, again = (released(tmp_path, seed=seed, public_table=False) for _ in range(2))
    assert one.ledger.is_private
    assert one.statement["privacy"]["private"] is True
    assert "not_private" not in one.job.statement
    assert sampled(one) != sampled(again)


def test_no_budget_pays_for_it(tmp_path: Path) -> None:
    budget = dpopt.BudgetLedger.create(tmp_path / "budget.json", epsilon=50, delta=1e-2)
    before = (tmp_path / "budget.json").read_bytes()
    with pytest.raises(BudgetError, match="has no guarantee, and no budget pays for it"):
        released(tmp_path, budget=budget, out=tmp_path / "out")
    assert (tmp_path / "budget.json").read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_an_algorithm_without_a_seed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a function of a seed, which noise has not"):
        dpopt.release(write_table(tmp_path), SCHEMA, "marginals:1", algorithm="noise", public_table=True, **PLANNED)


def test_a_public_table_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    released(tmp_path)
    assert not (tmp_path / "state").exists()
    released(tmp_path, public_table=False)
    assert (tmp_path / "state").exists()


def test_an_interrupted_run_is_not_resumed_with_other_draws(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        released(tmp_path, solver=Interrupted(), out=tmp_path / "out")
    with pytest.raises(PlanError, match="is of a public table; release it again"):
        dpopt.resume(tmp_path / "out", tmp_path / "people.csv")


class Interrupted(OwnSolver):
    """Is interrupted in its third round."""

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        if self.solved == 2:
            raise KeyboardInterrupt
        return super().solve(program, limits, hint=hint)

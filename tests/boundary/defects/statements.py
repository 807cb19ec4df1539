"""Planted defects of what is stated: sums of what happened to be drawn, which follow the noise."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms import statement
from dpopt.algorithms.options import SELECTED
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.private.curators.searching_curator import SearchingCurator
from dpopt.transcript.budget_ledger import Account
from tests.boundary.planted import ADD, BOTH, REP, Mechanism, defect, several, wrap
from tests.stated_guarantees import LOUD, QUIET, VALUES, of_release, of_synopsis
from tests.tiny_jobs import SCHEMA, TABLE, measured_job
from tests.tiny_runs import dataset_of

EMPTY = (-1000,)
"""Noise under which the first search finds no end."""


def state_what_was_drawn(usual: object, self: Ledger) -> Any:
    return self.spent()


def spend_nothing_more(usual: object, self: Any) -> None:
    """Leave out the charges of searches and rounds that were not made."""


def by_what_was_drawn(usual: Any, plan: Any, ledger: Ledger) -> Any:
    drawn = SimpleNamespace(
        guaranteed=ledger.guaranteed,
        is_private=ledger.is_private,
        reserved=ledger.entries,
        entries=ledger.entries,
        reservation=ledger.reservation,
    )
    return usual(plan, drawn)


drawn_alone = wrap(Ledger, "guaranteed", state_what_was_drawn)


def leave_the_rest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "unspent", ())


def of_values(relation: NeighbouringRelation) -> None:
    """Counts within bins: rounds end where no half holds enough by noisy values."""
    found = [of_release("mwem", relation, one, *VALUES)[0] for one in (QUIET, LOUD)]
    assert found[0] == found[1], "the statement follows the noise"


def of_early_stops(relation: NeighbouringRelation) -> None:
    """A run of pmw that ends where a noisy answer is near enough."""
    found = [of_release("pmw", relation, one, "--alpha", 0.05, "--values-share", 0)[0] for one in (QUIET, LOUD)]
    assert found[0] == found[1], "the statement follows the noise"


def of_searches(relation: NeighbouringRelation) -> None:
    """Intervals, whose searches end where noisy comparisons say so."""
    for name in ("intervals.npz", "boxes.npz"):
        found = [of_synopsis(name, relation, one)[0] for one in (QUIET, LOUD, EMPTY)]
        assert found[0] == found[1] == found[2], "the statement follows the noise"


def of_a_measured_size(relation: NeighbouringRelation) -> None:
    """A plan that is made with a noisy number of records."""
    found = [of_release("dualquery", relation, one, measured=True)[0] for one in (QUIET, LOUD)]
    assert found[0] == found[1], "the statement follows the noise"


def of_a_torn_run(relation: NeighbouringRelation) -> None:
    """A selection that is lost: what it would have selected is never measured."""
    job, dataset = measured_job(SELECTED), dataset_of(SCHEMA, TABLE)
    assert job.plan.relation is relation
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "release"
        run_release(dataset, job, folder)
        lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
        (*_, last) = (at for at, line in enumerate(lines) if json.loads(line)["entry"]["kind"] == "selection")
        (folder / "transcript.jsonl").write_bytes(b"".join(lines[:last]) + lines[last][:20])
        (folder / "release.json").unlink()
        made = resume_run(folder, dataset, read_job(folder))
    assert len(made.ledger.unspent) == 1
    total, stated = job.plan.budget.guaranteed(job.charges()), made.statement["privacy"]
    assert (stated["epsilon"], stated["rho"]) == (total.epsilon, total.rho), "not the reserved total"


STATEMENTS = Mechanism(
    (of_values, of_early_stops, of_searches, of_a_measured_size),
    {
        "state the sum of what was drawn": defect(
            drawn_alone, (of_values, BOTH, "not the reserved total"), (of_a_torn_run, REP, "not the reserved total")
        ),
        "add up what was drawn by every accountant": defect(
            wrap(statement, "privacy_statement", by_what_was_drawn), (of_values, BOTH, "follows the noise")
        ),
        "end a run early and state what was drawn": defect(
            several(drawn_alone, leave_the_rest), (of_early_stops, BOTH, "not the reserved total")
        ),
        "leave out the searches that were not made": defect(
            several(drawn_alone, wrap(SearchingCurator, "spend_the_rest", spend_nothing_more)),
            (of_searches, BOTH, "not what its plan costs"),
        ),
        "state the plan of a noisy number of records": defect(
            wrap(Budget, "guaranteed", lambda usual, self, charges: self.spent(charges)),
            (of_a_measured_size, ADD, "budget file is not charged"),
        ),
        "charge the file of the owner with the first draw": defect(
            wrap(Account, "reserve", lambda usual, self, charges, group: usual(self, charges[:1], group)),
            (of_values, BOTH, "budget file is not charged"),
        ),
    },
)

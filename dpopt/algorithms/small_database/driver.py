"""SmallDB: the driver.

One draw: of all databases of m records, one is selected with probability proportional to exp(-epsilon n e / 2), e its
largest error over the workload, by the net mechanism. Everything else is public.

Source: Blum, Ligett and Roth 2013, "A Learning Theory Approach to Noninteractive Database Privacy", section 3 (2008:
the exponential mechanism over small databases).
"""

from __future__ import annotations

from typing import Any

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.small_database.plan import SmallDatabasePlan
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net.net_distribution import Multisets
from dpopt.private.mechanisms.net.net_draw import MOST_LISTED
from dpopt.releases.job import Job
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Outcome, Run, Walk
from dpopt.transcript.past import DATABASE
from dpopt.transcript.released import SelectedDatabase

LOST = (
    "the selection was torn by an interruption: part of it may have been seen, so it stays charged, and there is "
    "nothing to release. Begin another run, with a budget of its own"
)


def prepare(run: Run) -> tuple[Universe, Multisets]:
    """Return the universe and the databases of its elements; refuses too many of them."""
    return _databases(run.job)


def _databases(job: Job) -> tuple[Universe, Multisets]:
    universe = Universe.of(job.workload)
    return universe, Multisets(universe.answers, SmallDatabasePlan.of(job.plan).records)


def open_door(run: Run, ledger: Ledger) -> NetCurator:
    """Return the private side, with the exact answers of the workload."""
    plan = SmallDatabasePlan.of(run.job.plan)
    with stage(run.progress, "counting exact answers"):
        return NetCurator(
            run.dataset,
            run.job.workload.queries,
            ledger,
            run.journal,
            size=plan.size,
            range_=plan.selection_range,
            words=run.sources.words,
            progress=run.progress.share,
        )


def play(job: Job, walk: Walk[NetCurator], prepared: tuple[Universe, Multisets] | None) -> Outcome:
    """Select a database."""
    plan = SmallDatabasePlan.of(job.plan)
    universe, multisets = prepared or _databases(job)

    def select(again: bool) -> SelectedDatabase:  # noqa: FBT001
        return walk.curator.select_database(multisets, reach=plan.reach, again=again)

    def check(selected: SelectedDatabase) -> None:
        found, last = int(selected.counts.sum()), int(selected.elements[-1])
        if found != plan.records:
            raise TranscriptError(f"the database has {found:,} records, the plan says {plan.records:,}")
        if last >= universe.elements:
            raise TranscriptError(
                f"the database has element {last:,}; the universe has {universe.elements:,}, numbered from 0"
            )

    with stage(walk.progress, f"selecting one of {float(multisets.number):.2g} databases"):
        selected = walk.draw(DATABASE, plan.charges()[0], select, on_file=check)
    if selected is None:
        raise PlanError(LOST)
    records = universe.spread(selected.elements, selected.counts, seed=plan.seed)
    sections: dict[str, Any] = {
        "small_database": {
            "records": plan.records,
            "elements": universe.elements,
            "databases": multisets.number,
            "drawn": "from a list" if multisets.number <= MOST_LISTED else "by branch and bound",
        }
    }
    return Outcome(walk.ledger, SyntheticRecords.of(list(records)), sections=sections)

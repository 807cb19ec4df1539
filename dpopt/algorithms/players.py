"""Which driver plays a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpopt.algorithms.any_plan import Plan
from dpopt.algorithms.fem_plan import FemPlan
from dpopt.algorithms.job import Job
from dpopt.algorithms.measured_plan import MeasuredPlan
from dpopt.algorithms.multiplicative_plan import MultiplicativePlan
from dpopt.algorithms.outcome import Outcome, Run
from dpopt.algorithms.small_database_plan import SmallDatabasePlan
from dpopt.transcript.journal import JournalContents


@dataclass(frozen=True, slots=True)
class Player:
    """A driver, from a table to an outcome, and from a transcript back to the same outcome.

    Attributes
    ----------
    play : callable
        Plays a run, continuing after what is on file.
    rebuild : callable
        Returns the outcome that a transcript gives, or None if the run has not ended. Needs no table and no solver.
    """

    play: Callable[[Run], Outcome]
    rebuild: Callable[[Job, JournalContents], Outcome | None]


def player_of(plan: Plan) -> Player:
    """Return the driver of a plan; the drivers of other algorithms, and what they need, are not loaded."""
    if isinstance(plan, FemPlan):
        from dpopt.algorithms import play_fem

        return Player(play_fem.play, play_fem.rebuild)
    if isinstance(plan, MeasuredPlan):
        from dpopt.algorithms import play_measured

        return Player(play_measured.play, play_measured.rebuild)
    if isinstance(plan, MultiplicativePlan):
        from dpopt.algorithms import play_multiplicative

        return Player(play_multiplicative.play, play_multiplicative.rebuild)
    if isinstance(plan, SmallDatabasePlan):
        from dpopt.algorithms import play_small_database

        return Player(play_small_database.play, play_small_database.rebuild)
    from dpopt.algorithms import play_dualquery

    return Player(play_dualquery.play, play_dualquery.rebuild)

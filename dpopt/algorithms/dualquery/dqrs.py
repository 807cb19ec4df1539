"""DQRS: the driver. DualQuery, round by round, with a curator that keeps drawn queries where it can.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, "New Oracle-Efficient Algorithms for Private Synthetic Data Release",
section 4 (DQRS); the rejection step with the sign of `dpopt.algorithms.dualquery.driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpopt.algorithms.dualquery.dqrs_plan import DqrsPlan
from dpopt.algorithms.dualquery.driver import BestResponder, PastRound
from dpopt.algorithms.dualquery.driver import run as play_rounds
from dpopt.private.curators.dqrs_curator import DqrsCurator
from dpopt.releases.rounds import Round
from dpopt.transcript.journal import Journal


def run(
    plan: DqrsPlan,
    curator: DqrsCurator,
    responder: BestResponder,
    journal: Journal,
    *,
    past: Sequence[PastRound] = (),
    on_round: Callable[[int, int, Round], None] = lambda number, rounds, done: None,
) -> list[Round]:
    """Play the rounds of a plan, continuing after those on file; parameters and result as in `dualquery.run`.

    The draws on file are public; the curator needs them because the next round may keep what was drawn.
    """
    curator.remember([known.sampled for known in past if known.sampled is not None])
    return play_rounds(plan, curator, responder, journal, past=past, on_round=on_round)

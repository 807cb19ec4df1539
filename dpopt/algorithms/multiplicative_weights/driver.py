"""Private multiplicative weights, offline: the driver.

    p = the uniform distribution
    for t = 1 .. L:
        select a query that p answers badly, by the exponential mechanism
        measure it with noise: y
        pmw: if |y - <q, p>| <= 2 alpha: return p
        change p so that it answers q more nearly like y

Source: Hardt and Rothblum 2010; Nikolov 2017, lecture 6, Algorithms 1 and 2, with the scales corrected (weights of the
exponential mechanism exp((eps0 n / 2) error), noise of scale 1 / (eps0 n)). MWEM: Hardt, Ligett and McSherry 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.multiplicative_weights.past import PastCharge
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.options import MARGINALS
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery


@dataclass(frozen=True, slots=True)
class Played:
    """What the rounds came to.

    Attributes
    ----------
    rounds : int
        Rounds that were played.
    learnt : tuple of (chosen, NoisyAnswers)
        What was measured, in order, with the query's or the marginal's number.
    stopped_early : bool
        Whether a measured answer was so near that the run ended.
    """

    rounds: int
    learnt: tuple[tuple[int, NoisyAnswers], ...]
    stopped_early: bool = False


def play_rounds(
    plan: MultiplicativePlan,
    workload: Workload,
    curator: MultiplicativeCurator,
    learner: Learner,
    *,
    past: Sequence[PastCharge] = (),
    on_round: Callable[[int, int, str], None] = lambda number, rounds, what: None,
) -> Played:
    """Play the rounds of a plan, continuing after those on file.

    Parameters
    ----------
    plan : MultiplicativePlan
        Its charges are reserved in the curator's ledger.
    workload : Workload
    curator : MultiplicativeCurator
        The private side; it gives released values only.
    learner : Learner
        The public side.
    past : sequence of PastCharge
        What is on file, when a run is resumed. A draw that was torn may have been seen in part: it stays charged and is left
        out.
    on_round : callable
        Called after each round with what it measured.
    """
    draws, learnt = list(past), []
    for number in range(1, plan.rounds + 1):
        answers = learner.answers()
        public = learner.public_answers(answers)
        chosen = _chosen(plan, workload, curator, public, number, draws)
        if chosen is None:
            learner.keep()
            continue
        values = _measured(curator, chosen, number, draws)
        if values is None:
            learner.keep()
            continue
        learnt.append((chosen, values))
        if (
            plan.alpha is not None and not draws
        ):  # what is on file was drawn, whatever this machine's last digits say
            share = min(1.0, max(0.0, float(values.values[0]) / plan.size))
            if abs(share - float(answers[chosen])) <= 2 * plan.alpha:
                on_round(number, plan.rounds, "near enough")
                return Played(number, tuple(learnt), stopped_early=True)
        learner.learn(chosen, values)
        on_round(number, plan.rounds, _named(plan, workload, chosen))
    return Played(plan.rounds, tuple(learnt))


def expected_noise(plan: MultiplicativePlan, marginals: MarginalSet, score: str) -> NDArray[np.int64]:
    """Return the error of each marginal, in records, that measuring it would leave, (M,): it is taken off the score.

    "l1": sum of the absolute noise of its cells, sigma sqrt(2 / pi) each for Gaussian noise and b for Laplace noise. "max":
    about the largest of them, sigma sqrt(2 ln(cells)) or b ln(cells). Public, so it may be rounded at will.

    Source: McKenna, Mullins, Sheldon and Miklau 2022, AIM, equation 1.
    """
    cells, gaussian = marginals.cells().astype(np.float64), plan.gaussian
    several = np.maximum(cells, 2)
    if score == "l1":
        noise = plan.scale * (sqrt(2 / pi) if gaussian else 1.0) * cells
    else:
        noise = plan.scale * (np.sqrt(2 * np.log(several)) if gaussian else np.log(several))
    return np.ceil(noise).astype(np.int64)


def _chosen(
    plan: MultiplicativePlan,
    workload: Workload,
    curator: MultiplicativeCurator,
    public: NDArray[np.int64],
    number: int,
    draws: list[PastCharge],
) -> int | None:
    """Return the query or marginal that a round selects, from file where it is there; None where it is lost."""
    again = False
    if draws:
        known = draws.pop(0)
        curator.recall(known.charge, drawn=known.torn or known.value is not None)
        if known.torn:
            return None
        if isinstance(known.value, SelectedQuery):
            return known.value.query
        if isinstance(known.value, SelectedMarginal):
            return known.value.candidate
        again = True
    if plan.select == MARGINALS and workload.marginals is not None:
        score = plan.score(number)
        penalties = expected_noise(plan, workload.marginals, score)
        return curator.select_marginal(
            public, score=score, penalties=penalties, round=number, again=again
        ).candidate
    return curator.select_query(public, round=number, again=again).query


def _measured(
    curator: MultiplicativeCurator, chosen: int, number: int, draws: list[PastCharge]
) -> NoisyAnswers | None:
    """Return what a round measures, from file where it is there; None where it is lost."""
    if not draws:
        return curator.measure(chosen, round=number)
    known = draws.pop(0)
    curator.recall(known.charge, drawn=known.torn or known.value is not None)
    if known.torn:
        return None
    if isinstance(known.value, NoisyAnswers):
        return known.value
    return curator.measure(chosen, round=number, again=True)


def _named(plan: MultiplicativePlan, workload: Workload, chosen: int) -> str:
    if plan.select == MARGINALS and workload.marginals is not None:
        return " x ".join(
            workload.schema.attributes[a].name for a in workload.marginals.attributes_of(chosen)
        )
    return f"query {chosen:,}"

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

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.measured.candidates import domains_of
from dpopt.algorithms.multiplicative_weights.accuracy import proven_of_records
from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.multiplicative_weights.universe import kept_as_bits
from dpopt.algorithms.options import MARGINALS
from dpopt.arrays import frozen
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.records.problem import FitProblem
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.kept_records import bit_records_from_json, records_to_json
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Outcome, Run, Walk
from dpopt.transcript.journal import Entry
from dpopt.transcript.past import MEASUREMENT, QUERY_SELECTION, SELECTION
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
    walk: Walk[MultiplicativeCurator],
    plan: MultiplicativePlan,
    workload: Workload,
    learner: Learner | None,
) -> Played:
    """Play the rounds of a plan, continuing after those on file.

    Parameters
    ----------
    walk : Walk
        The private side gives released values only.
    plan : MultiplicativePlan
    workload : Workload
    learner : Learner or None
        The public side; None where a transcript is read.
    """
    learnt: list[tuple[int, NoisyAnswers]] = []
    for number in range(1, plan.rounds + 1):
        answers = None if learner is None else learner.answers()
        chosen = _chosen(walk, plan, workload, number, learner, answers)
        values = None if chosen is None else _measured(walk, plan, workload, number, chosen)
        if chosen is None or values is None:  # torn: part of it may have been seen, so it is lost
            if learner is not None:
                learner.keep()
            continue
        learnt.append((chosen, values))
        if plan.alpha is not None and _ends(walk, plan, number, values, answers, chosen):
            walk.step(number, plan.rounds, "near enough")
            return Played(number, tuple(learnt), stopped_early=True)
        if learner is not None:
            learner.learn(chosen, values)
        walk.step(number, plan.rounds, _named(plan, workload, chosen))
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


def _ends(
    walk: Walk[MultiplicativeCurator],
    plan: MultiplicativePlan,
    number: int,
    values: NoisyAnswers,
    answers: NDArray[np.float64] | None,
    chosen: int,
) -> bool:
    """Return whether the measured answer is so near that the run ends here.

    What is on file was decided, whatever this machine's last digits say.
    """
    following = walk.following()
    if following is not None:
        ends = following.get("kind") == "records"
        return ends and (number < plan.rounds or following.get("stopped_early") is True)
    if answers is None or plan.alpha is None:
        return False
    share = min(1.0, max(0.0, float(values.values[0]) / plan.size))
    return abs(share - float(answers[chosen])) <= 2 * plan.alpha


def _chosen(
    walk: Walk[MultiplicativeCurator],
    plan: MultiplicativePlan,
    workload: Workload,
    number: int,
    learner: Learner | None,
    answers: NDArray[np.float64] | None,
) -> int | None:
    """Return the query or marginal that a round selects; None where it is lost."""
    charge, marginals = plan.charges_of(number)[0], _marginals(plan, workload)

    def public(curator: MultiplicativeCurator) -> tuple[MultiplicativeCurator, NDArray[np.int64]]:
        if learner is None or answers is None:
            raise PlanError("nothing is selected without a distribution to answer the queries")
        return curator, learner.public_answers(answers)

    if marginals is not None:

        def select_marginal(again: bool) -> SelectedMarginal:  # noqa: FBT001
            curator, found = public(walk.curator)
            score = plan.score(number)
            penalties = expected_noise(plan, marginals, score)
            return curator.select_marginal(found, score=score, penalties=penalties, round=number, again=again)

        marginal = walk.draw(
            SELECTION,
            charge,
            select_marginal,
            round=number,
            on_file=lambda value: _check_number(number, value.candidate, len(marginals)),
        )
        return None if marginal is None else marginal.candidate

    def select_query(again: bool) -> SelectedQuery:  # noqa: FBT001
        curator, found = public(walk.curator)
        return curator.select_query(found, round=number, again=again)

    query = walk.draw(
        QUERY_SELECTION,
        charge,
        select_query,
        round=number,
        on_file=lambda value: _check_number(number, value.query, len(workload)),
    )
    return None if query is None else query.query


def _measured(
    walk: Walk[MultiplicativeCurator], plan: MultiplicativePlan, workload: Workload, number: int, chosen: int
) -> NoisyAnswers | None:
    """Return what a round measures; None where it is lost."""
    marginals = _marginals(plan, workload)
    cells = 1 if marginals is None else int(marginals.cells()[chosen])

    def check(values: NoisyAnswers) -> None:
        if (values.noise, values.scale) != (plan.noise, plan.scale):
            raise TranscriptError(f"{values.name!r} is not measured as the plan says")
        if len(values.values) != cells:
            raise TranscriptError(
                f"{values.name!r} has {len(values.values):,} values on file, expected {cells:,}"
            )

    return walk.draw(
        MEASUREMENT,
        plan.charges_of(number)[1],
        lambda again: walk.curator.measure(chosen, round=number, again=again),
        round=number,
        on_file=check,
    )


def _check_number(number: int, chosen: int, most: int) -> None:
    if chosen >= most:
        raise TranscriptError(
            f"round {number} selects number {chosen:,}; the workload has {most:,}, numbered from 0"
        )


def _marginals(plan: MultiplicativePlan, workload: Workload) -> MarginalSet | None:
    """Return the marginals that are selected among, None where queries are."""
    return workload.marginals if plan.select == MARGINALS else None


def _named(plan: MultiplicativePlan, workload: Workload, chosen: int) -> str:
    marginals = _marginals(plan, workload)
    if marginals is None:
        return f"query {chosen:,}"
    return " x ".join(workload.schema.attributes[a].name for a in marginals.attributes_of(chosen))


def prepare(run: Run) -> Learner:
    """Return the public side; refuses a universe that is too large."""
    with stage(run.progress, "preparing the universe"):
        return Learner(MultiplicativePlan.of(run.job.plan), run.job.workload)


def open_door(run: Run, ledger: Ledger) -> MultiplicativeCurator:
    """Return the private side, with the exact answers of the workload."""
    plan = MultiplicativePlan.of(run.job.plan)
    with stage(run.progress, "counting exact answers"):
        return MultiplicativeCurator(
            run.dataset,
            run.job.workload.queries,
            ledger,
            run.journal,
            size=plan.size,
            range_=plan.step,
            scale=plan.scale,
            gaussian=plan.gaussian,
            whole_marginals=plan.select == MARGINALS,
            noise=run.sources.noise,
            words=run.sources.words,
        )


def play(job: Job, walk: Walk[MultiplicativeCurator], prepared: Learner | None) -> Outcome:
    """Play the rounds of a plan, and choose records that stand for the distribution."""
    plan = MultiplicativePlan.of(job.plan)
    with stage(walk.progress, "playing rounds"):
        played = play_rounds(walk, plan, job.workload, prepared)
    with stage(walk.progress, "choosing records"):
        entry: Entry = walk.public(
            "records",
            read=lambda found: _checked(found, played),
            make=lambda: _records_entry(job, prepared, played),
            write=lambda made: made,
        )
    if played.stopped_early:
        # When to stop depends on what was drawn, so the guarantee is that of all rounds that could have been played.
        for charge in walk.ledger.unspent:
            walk.ledger.spend(charge)
    records = _read_records(job, entry)
    differences = _differences(job, played, records)
    proven = proven_of_records(
        job.statement.get("proven"), stopped_early=played.stopped_early, distance=_distance(entry)
    )
    section: dict[str, Any] = {
        "universe_cells": entry["cells"],
        "rounds_planned": plan.rounds,
        "rounds_played": entry["rounds"],
        "stopped_early": played.stopped_early,
        "selected": plan.select,
        "noise": plan.noise,
        "scale": plan.scale,
        "objective": entry["objective"],
        "dual_bound": entry["dual_bound"],
        "lost_to_interruptions": walk.lost,
        "measured_counts": int(differences.size),
        "largest_difference_to_measured": float(differences.max(initial=0.0)),
        "mean_difference_to_measured": float(differences.mean()) if differences.size else 0.0,
    }
    return Outcome(
        walk.ledger, records, sections={"multiplicative_weights": section, "accuracy": {"proven": proven}}
    )


def _checked(entry: Entry, played: Played) -> Entry:
    if (entry["rounds"], entry["stopped_early"]) != (played.rounds, played.stopped_early):
        raise TranscriptError("the run ends before its plan does, and does not say that it stopped early")
    return entry


def _records_entry(job: Job, learner: Learner | None, played: Played) -> Entry:
    from dpopt.queries.counting.kernels import shares_on_records

    if learner is None:
        raise PlanError("records stand for a distribution, and there is none")
    bounded = learner.proven_answers()  # before the last replays, which the bound knows nothing of
    p = learner.finish()
    records, weights = learner.records(p)
    bracket = learner.bracket()
    answers = shares_on_records(job.workload.queries, records, job.schema.sizes, weights / weights.sum())
    return {
        "kind": "records",
        "rounds": played.rounds,
        "stopped_early": played.stopped_early,
        "records": records_to_json(records),
        "multiplicity": weights.tolist(),
        "cells": learner.universe.cells,
        "distance": float(np.abs(answers - bounded).max()),
        "objective": None if bracket is None else bracket[0],
        "dual_bound": None if bracket is None else bracket[1],
    }


def _distance(entry: Entry) -> float:
    """Return how far the records of a transcript are from the distribution that error bounds are of.

    Raises
    ------
    TranscriptError
        If it is no share.
    """
    found = entry.get("distance")
    if not isinstance(found, float | int) or not 0 <= found <= 1:
        raise TranscriptError(
            f"the records on file lie {found!r} from the distribution; expected a number from 0 to 1"
        )
    return float(found)


def _read_records(job: Job, entry: Entry) -> SyntheticRecords:
    """Return the weighted records of a transcript, validated by schema and rules.

    Raises
    ------
    TranscriptError
        If they are damaged.
    """
    try:
        if kept_as_bits(job.schema):
            return _read_bits(job, entry["records"], frozen(entry["multiplicity"], np.int64))
        records = frozen(entry["records"], np.int32)
        weights = frozen(entry["multiplicity"], np.int64)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TranscriptError(f"the records on file are damaged: {error!r}") from error
    shape = (len(weights), len(job.schema))
    if weights.ndim != 1 or not len(weights) or records.shape != shape or np.any(weights < 1):
        raise TranscriptError(f"the records on file have shape {records.shape}, expected {shape}")
    problem = FitProblem(job.schema.sizes, (), job.record_rules(), domains_of(job.workload))
    if problem.infeasible(records).any():
        raise TranscriptError(
            "a record on file does not fit the schema or breaks a rule; the transcript is damaged or belongs to another schema"
        )
    return SyntheticRecords(records, weights)


def _read_bits(job: Job, written: object, weights: NDArray[np.int64]) -> SyntheticRecords:
    """Return weighted records that are kept as bits.

    Raises
    ------
    TranscriptError
        If they are damaged.
    """
    records = bit_records_from_json(written, job.schema.sizes)
    if weights.shape != (len(records),) or (weights < 1).any():
        raise TranscriptError(
            "the records on file are damaged: expected one multiplicity, at least 1, for each"
        )
    return SyntheticRecords(records, weights)


def _differences(job: Job, played: Played, records: SyntheticRecords) -> NDArray[np.float64]:
    """Return how far the records' answers lie from the measured ones, as shares, one after the other."""
    from dpopt.queries.counting.kernels import shares_on_records

    plan = MultiplicativePlan.of(job.plan)
    if not played.learnt:
        return np.empty(0)
    chosen = [number for number, _ in played.learnt]
    marginals = _marginals(plan, job.workload)
    queries = job.workload.clauses.take(chosen) if marginals is None else marginals.take(chosen)
    found = shares_on_records(queries, records.held, job.schema.sizes, records.weights)
    measured = np.concatenate([values.values for _, values in played.learnt]) / plan.size
    return np.abs(found - measured)

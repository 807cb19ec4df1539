"""Private multiplicative weights, offline: MWEM and PMW.

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

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_scale
from dpopt.algorithms.algorithm import Algorithm
from dpopt.algorithms.measured.fitting import Answered, counted_residuals, counted_totals, record_problem
from dpopt.algorithms.measured.plan import expected_errors
from dpopt.algorithms.measured.planning import refuse_costs_beyond
from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan, kept_as_bits, universe_of
from dpopt.algorithms.multiplicative_weights.planning import (
    LEAST_ROUNDS,
    MOST,
    PER_ROOT,
    Maker,
    proven_multiplicative,
    proven_of_records,
    refuse_large_model,
    sensitivity_of,
)
from dpopt.algorithms.options import LOCAL_SEARCH, MARGINALS, MWEM, PMW, PlanRequest
from dpopt.algorithms.prediction import LEAST_SCALE, ROWS, PredictedError, predict_played
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.kept_records import records_to_json
from dpopt.releases.plan import PlanBy
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords, weighted_records
from dpopt.releases.run import Outcome, Run, Walk
from dpopt.transcript.journal import Entry
from dpopt.transcript.past import MEASUREMENT, QUERY_SELECTION, SELECTION
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery, check_selected

MOST_SIMULATED = 10**9
"""Cells times rounds; beyond them a simulation would take as long as a run of a minute."""
_LARGEST_RANGE = 900.0


class MultiplicativeAlgorithm(Algorithm[MWEM, MultiplicativePlan]):
    """MWEM and PMW: a distribution over records, updated where its answers are wrong."""

    plans = MultiplicativePlan

    def plan(self, request: PlanRequest[MWEM], workload: Workload) -> MultiplicativePlan:
        maker = Maker(request, workload)
        asked, select, gaussian = request.options, maker.select, maker.gaussian
        if isinstance(asked, PMW) and asked.plan_by == PlanBy.BOUND.value:
            plan = maker.by_bound()
        else:
            sensitivity = sensitivity_of(select, request.relation)
            # the noise of one measurement of a whole run
            alone = measurement_scale(sensitivity, amount=maker.amount, gaussian=gaussian)
            most = MOST[select]
            if select == MARGINALS and workload.marginals is not None:
                most = min(most, 2 * len(workload.marginals))
            by_size = round(PER_ROOT[select, gaussian] * sqrt(request.size / alone))
            rule = min(most, max(LEAST_ROUNDS, by_size))
            plan = maker.of(asked.rounds or rule, alpha=asked.alpha if isinstance(asked, PMW) else None)
        refuse_costs_beyond(request.budget, plan.charges(), "rounds")
        if asked.solver_name != LOCAL_SEARCH:
            refuse_large_model(universe_of(workload, asked.algorithm).cells, plan.rounds)
        return plan

    def prepare(self, job: Job, run: Run) -> Learner:
        """Return the public side; refuses a universe that is too large."""
        with stage(run.progress, "preparing the universe"):
            return Learner(MultiplicativePlan.of(job.plan), job.workload, run.solver)

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> MultiplicativeCurator:
        plan = MultiplicativePlan.of(job.plan)
        with stage(run.progress, "counting exact answers"):
            return MultiplicativeCurator(
                run.dataset,
                job.workload.queries,
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

    def play(self, job: Job, walk: Walk[MultiplicativeCurator], prepared: Learner | None) -> Outcome:
        """Play the rounds of a plan, and choose records that stand for the distribution."""
        plan = MultiplicativePlan.of(job.plan)
        with stage(walk.progress, "playing rounds"):
            played = play_rounds(walk, plan, job.workload, prepared)
        with stage(walk.progress, "choosing records"):
            entry = walk.entry("records", lambda: _records_entry(job, prepared, played), partial(_checked, played))
        if played.stopped_early:
            # When to stop depends on what was drawn, so the guarantee is that of all rounds that could have been played.
            own = {charge.label for charge in plan.charges()}
            for charge in walk.ledger.unspent:
                if charge.label in own:  # numbers within bins are measured later, and always
                    walk.ledger.spend(charge)
        records = weighted_records(entry, record_problem(job), as_bits=kept_as_bits(job.schema))
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
            **_solved(entry.get("solved_by")),
            "lost_to_interruptions": walk.lost,
            "measured_counts": int(differences.size),
            "largest_difference_to_measured": float(differences.max(initial=0.0)),
            "mean_difference_to_measured": float(differences.mean()) if differences.size else 0.0,
        }
        sections = {"multiplicative_weights": section, "accuracy": {"proven": proven}}
        answered = _answered(plan, job.workload, played)
        totals, measured = (
            counted_totals(answered, job.schema.sizes),
            partial(counted_residuals, answered, job, adaptive=True),
        )
        return Outcome(walk.ledger, records, sections=sections, totals=totals, measured=measured)

    def predict(
        self, plan: MultiplicativePlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Play the plan on public populations.

        Selections and noise depend on the data through shares of the size alone, so a population of 20,000 records stands
        for any n under a range eps0 n / 20,000 and noise scaled in proportion.
        """
        cells = universe_of(workload, plan.algorithm).cells
        if cells * plan.rounds > MOST_SIMULATED:
            raise PlanError(
                f"not predicted: simulating {plan.rounds:,} rounds of {plan.algorithm} on a universe of {cells:,} cells "
                f"takes as long as a run; give --no-predict"
            )
        factor = ROWS / plan.size
        stand_in = replace(
            plan,
            step=Decimal(f"{min(_LARGEST_RANGE, float(plan.step) / factor):.6g}"),
            scale=max(LEAST_SCALE, plan.scale * factor),
        )
        return predict_played(self, stand_in, workload, runs=runs, density=density)

    def prove(self, plan: MultiplicativePlan, workload: Workload) -> dict[str, Any] | None:
        cells = log(universe_of(workload, plan.algorithm).cells)
        return proven_multiplicative(plan, len(workload), cells, rules=bool(workload.schema.rules))


@dataclass(frozen=True, slots=True)
class Played:
    """The results of the rounds."""

    rounds: int
    """Rounds that were played."""
    learnt: tuple[tuple[int, NoisyAnswers], ...]
    """The number of each query or marginal that was measured, in order, with its noisy answers."""
    stopped_early: bool = False
    """Whether a measured answer was so near that the run ended."""


def play_rounds(
    walk: Walk[MultiplicativeCurator], plan: MultiplicativePlan, workload: Workload, learner: Learner | None
) -> Played:
    """Play the rounds of a plan, continuing after those on file.

    The private side (`walk`) gives released values only; the public one (`learner`) is None where a transcript is read.
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
    marginals = _marginals(plan, workload)
    kind, most = (QUERY_SELECTION, len(workload)) if marginals is None else (SELECTION, len(marginals))

    def select(again: bool) -> SelectedMarginal | SelectedQuery:  # noqa: FBT001
        curator = walk.curator
        if learner is None or answers is None:
            raise PlanError("nothing is selected without a distribution to answer the queries")
        found = learner.public_answers(answers)
        if marginals is None:
            return curator.select_query(found, round=number, again=again)
        score = plan.score(number)
        penalties = expected_errors(marginals, plan.scale, gaussian=plan.gaussian)[score]
        return curator.select_marginal(found, score=score, penalties=penalties, round=number, again=again)

    selected = walk.draw(
        kind, plan.charges_of(number)[0], select, round=number, on_file=lambda value: check_selected(value, most)
    )
    return None if selected is None else selected.chosen


def _measured(
    walk: Walk[MultiplicativeCurator], plan: MultiplicativePlan, workload: Workload, number: int, chosen: int
) -> NoisyAnswers | None:
    """Return the measurement of a round; None if it is lost."""
    marginals = _marginals(plan, workload)
    cells = 1 if marginals is None else int(marginals.cells()[chosen])
    return walk.draw(
        MEASUREMENT,
        plan.charges_of(number)[1],
        lambda again: walk.curator.measure(chosen, round=number, again=again),
        round=number,
        on_file=lambda values: values.check_planned(plan.noise, plan.scale, cells),
    )


def _marginals(plan: MultiplicativePlan, workload: Workload) -> MarginalSet | None:
    """Return the marginals that are selected among, None where queries are."""
    return workload.marginals if plan.select == MARGINALS else None


def _named(plan: MultiplicativePlan, workload: Workload, chosen: int) -> str:
    marginals = _marginals(plan, workload)
    if marginals is None:
        return f"query {chosen:,}"
    return " x ".join(workload.schema.attributes[a].name for a in marginals.attributes_of(chosen))


def _answered(plan: MultiplicativePlan, workload: Workload, played: Played) -> list[Answered]:
    """Return the measurements, in order."""
    queries = _marginals(plan, workload) or workload.clauses
    return [Answered(queries.take([number]), values) for number, values in played.learnt]


def _checked(played: Played, entry: Entry) -> Entry:
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
        **_solved(learner.solved_by),
    }


def _solved(who: object) -> dict[str, str]:
    """Return who found the distribution, where a solver was named."""
    return {} if who is None else {"solved_by": str(who)}


def _distance(entry: Entry) -> float:
    """Return how far the records of a transcript are from the distribution that error bounds are of."""
    found = entry.get("distance")
    if not isinstance(found, float | int) or not 0 <= found <= 1:
        raise TranscriptError(f"the records on file lie {found!r} from the distribution; expected a number from 0 to 1")
    return float(found)


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

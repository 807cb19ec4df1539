"""From noisy counts to records: the problem that a fit solves, its start, and the entry that the transcript keeps of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.plan import FitPlan, MeasuredPlan, domains_of
from dpopt.algorithms.options import LOCAL_SEARCH
from dpopt.errors import PlanError, ProgramError, TranscriptError
from dpopt.inference.measured_residuals import MeasuredResiduals, residuals_of_counts
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import TIME_IS_UP, FitProblem, FitProgress, FitSettings, Fitted, FitTerm
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import WIDE, BitRecords, are_kept_as_bits
from dpopt.queries.marginal_set import MarginalSet
from dpopt.releases.declared_size import Total
from dpopt.releases.job import Job
from dpopt.releases.kept_records import records_to_json
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords, weighted_records
from dpopt.releases.run import Walk
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import NoisyAnswers

PROVER = "cp-sat"
"""Bounds are proven by an exact solver."""
PLAIN_RECORDS = 20_000
"""Records of a fit that is not drawn to independence."""
_MOST_CODES, _FEWEST_RECORDS = 20_000_000, 200
UNITS = 10**9
"""Weights of records are kept as whole numbers of billionths."""
_QUICK_SWEEPS = 3
_IMPROVEMENT = 1e-2
"""A fit without smoothing ends once a sweep lowers the objective by less than this share of it."""
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Queries and their noisy counts."""

    queries: MarginalSet | Clauses
    answers: NoisyAnswers


def most_records(attributes: int) -> int:
    """Return how many records are fitted at most: the memory and a sweep's time are in proportion to all their codes."""
    return max(_FEWEST_RECORDS, _MOST_CODES // attributes)


def fit_problem(job: Job, answered: Sequence[Answered]) -> FitProblem:
    """Return the problem: minimize half the sum of squared differences to the noisy shares, each over its variance."""
    if not answered:
        raise PlanError(
            "interruptions lost every measurement: their cost is not refunded, and there is nothing to fit records to"
        )
    plan, terms = job.plan, []
    for one in answered:
        variance = one.answers.scale**2 * (1 if "Gaussian" in one.answers.noise else 2)
        values = one.answers.values / plan.size
        terms.append(FitTerm(one.queries, values, plan.size**2 / variance))
    return FitProblem(job.schema.sizes, tuple(terms), job.schema.circuit(), domains_of(job.workload))


def record_problem(job: Job) -> FitProblem:
    """Return the problem that only defines the records a run can release: their codes and rules."""
    return FitProblem(job.schema.sizes, (), job.schema.circuit(), domains_of(job.workload))


def objective_of(problem: FitProblem, records: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """Return half the weighted sum of squared differences of weighted records' answers to the problem's values."""
    from dpopt.queries.counting.kernels import shares_on_records

    total = 0.0
    for _, group in groupby(problem.terms, lambda one: id(getattr(one.queries, "domains", one))):
        terms = list(group)
        sets = [one.queries for one in terms if isinstance(one.queries, MarginalSet)]
        queries = MarginalSet.joined(sets) if sets else terms[0].queries
        shares = shares_on_records(queries, records, problem.sizes, weights)
        ends = np.cumsum([one.values.size for one in terms])
        for term, own in zip(terms, np.split(shares, ends[:-1]), strict=True):
            total += 0.5 * term.weight * float(np.sum((own - term.values) ** 2))
    return total


@dataclass(slots=True)
class RecordFitter:
    """Keeps records that answer like the noisy counts; the public side of `measured.measure`."""

    job: Job
    plan: MeasuredPlan
    feasible: NDArray[np.int32] | None = None
    """Shape (d,). A record that obeys the rules, where there are some."""
    solver: Solver | None = None
    """Who weighs records in column generation, where that was given as such and not by name."""
    fitted: Fitted | None = None
    """Where the records stand."""
    fits: int = 0
    """How many fits were made; each has public random choices of its own."""

    def improve(self, problem: FitProblem) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Fit the records in a few sweeps, from where they stand."""
        chosen = self._chosen()
        self.fitted = self._fit(problem, sweeps=min(_QUICK_SWEEPS, chosen.sweeps), columns=0)
        return merged([self.fitted])

    def finish(
        self, problem: FitProblem, *, on_step: Callable[[int, int, str], None] = lambda number, steps, what: None
    ) -> list[Fitted]:
        """Fit the records as the plan says; return its snapshots.

        With a limit of seconds no snapshot is begun after it, so that there may be fewer. `on_step` gets how many
        sweeps and rounds of column generation are done, how many there are, and the objective.
        """
        chosen, done, began = self._chosen(), 0, time.perf_counter()
        steps = chosen.sweeps + chosen.columns + chosen.snapshots - 1

        def show(progress: FitProgress) -> None:
            nonlocal done
            if progress.stage in {"sweep", "round"}:
                done = min(done + 1, steps)
                on_step(done, steps, f"objective {progress.objective:,.1f}")

        self.fitted = self._fit(problem, sweeps=chosen.sweeps, columns=chosen.columns, progress=show)
        snapshots = [self.fitted]
        while len(snapshots) < chosen.snapshots and time.perf_counter() - began < (chosen.seconds or inf):
            self.fitted = self._fit(problem, sweeps=1, columns=0, progress=show)
            snapshots.append(self.fitted)
        if len(snapshots) < chosen.snapshots:
            snapshots[-1] = replace(snapshots[-1], stopped=TIME_IS_UP)
        return snapshots

    def _chosen(self) -> FitPlan:
        if self.plan.fit is None:
            raise PlanError(f"a plan of {self.plan.algorithm} fits no records")
        return self.plan.fit

    def _fit(
        self, problem: FitProblem, *, sweeps: int, columns: int, progress: Callable[[FitProgress], None] | None = None
    ) -> Fitted:
        chosen = self._chosen()
        counts = sum(term.number_of_queries for term in problem.terms)
        settings = FitSettings(
            records=chosen.records,
            sweeps=sweeps,
            smoothing=(chosen.smoothing or 0.0) / chosen.records,
            improvement=_IMPROVEMENT,
            seconds=chosen.seconds,
            rounds=columns,
            gap=chosen.gap * counts / 2,
            seed=(self.plan.seed + self.fits) % 2**31,
            solver=(self.solver or self.plan.solver) if columns and self.plan.solver != LOCAL_SEARCH else None,
            pricing=self.plan.pricing_solver if columns and self.plan.pricing_solver != LOCAL_SEARCH else None,
            proof=PROVER if columns else None,
        )
        self.fits += 1
        start = None if self.fitted is None else self.fitted.records
        return fit_from(problem, settings, start, feasible=self.feasible, progress=progress)


def fit_from(
    problem: FitProblem,
    settings: FitSettings,
    start: NDArray[np.int32] | None,
    *,
    feasible: NDArray[np.int32] | None,
    **how: Any,
) -> Fitted:
    """Fit records from a start, or from a draw; where none could be made feasible, from a record that is.

    The budget is spent by then: a release must come of it.
    """
    try:
        return fit(problem, settings, start=start, **how)
    except ProgramError:
        if feasible is None or start is not None:
            raise
        return fit(problem, settings, start=feasible[None, :], **how)


def merged(snapshots: Sequence[Fitted]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return distinct records and whole multiplicities: numbers of records where weights are equal, else billionths."""
    weights = np.concatenate([one.weights for one in snapshots]) / len(snapshots)
    distinct, inverse = _distinct([one.records for one in snapshots])
    if np.all(weights == weights[0]):
        multiplicity = np.bincount(inverse.reshape(-1), minlength=len(distinct))
    else:
        shares = np.bincount(inverse.reshape(-1), weights=weights, minlength=len(distinct))
        multiplicity = np.rint(shares * UNITS).astype(np.int64)
    kept = multiplicity > 0
    return np.ascontiguousarray(distinct[kept], dtype=np.int32), multiplicity[kept].astype(np.int64)


def _distinct(parts: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct records (r, d) of several arrays in lexicographic order, and the place of each record there."""
    width = parts[0].shape[1]
    if width < WIDE or max(int(part.max(initial=0)) for part in parts) > 1:
        distinct, inverse = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    found, _, inverse = BitRecords.joined([BitRecords.of(part) for part in parts]).distinct()  # a 32nd of the memory
    return found.codes(), inverse


def release_records(
    job: Job, walk: Walk[Any], problem: FitProblem, make: Callable[[], list[Fitted]]
) -> tuple[SyntheticRecords, dict[str, Any]]:
    """Fit records, or read them back, and put them on file; return them and their certificate, as of `read_records`."""

    def fitted() -> Entry:
        with stage(walk.progress, "fitting records"):
            return records_entry(job, problem, make())

    return read_records(job, problem, walk.entry("records", fitted))


def records_entry(job: Job, problem: FitProblem, snapshots: Sequence[Fitted]) -> Entry:
    """Return the transcript's entry of fitted records: distinct records, multiplicities, and how well they fit."""
    distinct, multiplicity = merged(snapshots)
    last = snapshots[-1]
    kept = {} if problem.kept is None else {"kept_marginals": len(problem.kept.queries)}
    return {
        "kind": "records",
        "records": records_to_json(BitRecords.of(distinct) if are_kept_as_bits(job.schema.sizes) else distinct),
        "multiplicity": multiplicity.tolist(),
        "objective": objective_of(problem, distinct, multiplicity / multiplicity.sum()),
        "lower_bound": last.lower_bound,
        "frank_wolfe_gap": last.frank_wolfe_gap,
        "pricing_gap": last.pricing_gap,
        "proof": last.proof,
        "stopped": last.stopped,
        **kept,
    }


def read_records(job: Job, problem: FitProblem, entry: Entry) -> tuple[SyntheticRecords, dict[str, Any]]:
    """Read fitted records back, computing again how well they fit; return them and the certificate for release.json."""
    records = weighted_records(entry, record_problem(job), as_bits=are_kept_as_bits(job.schema.sizes))
    try:
        recorded = float(entry["objective"])
        bound = None if entry["lower_bound"] is None else float(entry["lower_bound"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TranscriptError(f"the fitted records on file are damaged: {error!r}") from error
    exact = objective_of(problem, records.distinct, records.weights)
    if not abs(exact - recorded) <= _TOLERANCE * max(1.0, abs(exact)):
        raise TranscriptError(
            f"the fitted records on file have objective {exact!r}, not {recorded!r} as recorded; the transcript is "
            f"damaged, belongs to another plan, or was written by an earlier version of dpopt: replay it with that one"
        )
    if bound is not None and not bound <= recorded + _TOLERANCE * max(1.0, abs(exact)):
        raise TranscriptError(
            f"the fitted records on file have objective {recorded!r}, below the proven bound {bound!r}; the transcript "
            f"is damaged"
        )
    certificate = {
        "objective": recorded,
        "objective_is": "half the sum of squared differences to the noisy answers, each divided by its variance",
        "lower_bound": bound,
        "lower_bound_is": "as the run recorded it: a replay computes the objective again, and proves no bound",
        "gap": None if bound is None else recorded - bound,
        "frank_wolfe_gap": entry.get("frank_wolfe_gap"),
        "pricing_gap": entry.get("pricing_gap"),
        "bound_proven_by": entry.get("proof") or None,
        "measured_counts": sum(term.number_of_queries for term in problem.terms),
        "stopped": str(entry.get("stopped")),
    }
    return records, certificate | {name: entry[name] for name in ("kept_marginals",) if name in entry}


def counted_residuals(answered: Sequence[Answered], job: Job, *, adaptive: bool) -> MeasuredResiduals | None:
    """Return the measured counts of marginals; `adaptive`: earlier counts decided which came next."""
    counted = (
        (one.queries, one.answers.values, one.answers.scale**2 * (1 if "Gaussian" in one.answers.noise else 2))
        for one in answered
        if isinstance(one.queries, MarginalSet)
    )
    gaussian = all("Gaussian" in one.answers.noise for one in answered)
    return residuals_of_counts(counted, job.plan.size, gaussian=gaussian, adaptive=adaptive)


def counted_totals(answered: Sequence[Answered], sizes: NDArray[np.integer]) -> list[Total]:
    """Return the number of records by the counts: the cells of a marginal hold all of them, no query more than all."""
    found = []
    for one in answered:
        values, gaussian = one.answers.values.astype(np.float64), "Gaussian" in one.answers.noise
        deviation = one.answers.scale * (1 if gaussian else sqrt(2))
        queries = one.queries
        if isinstance(queries, MarginalSet) and (queries.domains.counts == sizes).all():
            # Each marginal's total has a variance in proportion to its cells.
            precisions = 1 / queries.cells()
            value = float(precisions @ np.add.reduceat(values, queries.starts[:-1]) / precisions.sum())
            found.append(Total(value, deviation / sqrt(precisions.sum()), gaussian=gaussian))
        else:
            found.append(Total(float(values.max()), deviation, "at least", values.size, gaussian))
    return found

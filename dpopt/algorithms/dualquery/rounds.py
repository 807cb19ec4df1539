"""A round of DualQuery: the best response to the drawn queries, its free attributes, and its certificate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.accuracy import DEFAULT_FAILURE, log_universe, proven_error
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.errors import DpoptError, TranscriptError
from dpopt.files.codec import decode
from dpopt.models.best_responses.best_response import read_record, round_program
from dpopt.models.best_responses.own_formulation import OwnFormulation
from dpopt.models.best_responses.presolved import SETTLED
from dpopt.programs.certificate import certify
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Solver
from dpopt.public_random import public_stream, uniforms
from dpopt.queries.clauses import Clauses
from dpopt.releases.job import Job
from dpopt.releases.kept_records import Round, codes_of, kept, record_from_json
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import NoisyAnswers, SampledQueries

BY_PROVEN = (
    "proven: every bound was computed without any solver's word, by weak duality in exact arithmetic or as the sum of "
    "the positive weights"
)
BY_REPORTED = (
    "reported: bounds as solvers state them, which hold within their tolerances and are no proofs; where none was "
    "stated, the proven one"
)


@dataclass(frozen=True, slots=True)
class BestResponder:
    """Answers drawn queries with a record, from public values only."""

    clauses: Clauses
    """The workload's base queries over the coding of the records."""
    sizes: NDArray[np.int32]
    """Shape (d,). Number of values of each attribute of that coding."""
    solver: Solver
    """Finds the record; its answer is re-evaluated exactly and replaced by a public rule if it is none."""
    fallback: Solver
    """Gives the record when `solver` fails."""
    limits: SolveLimits
    """Limits per round."""
    free_attributes: FreeAttributeRule
    """Fills the attributes that no drawn query mentions."""
    rules: ThresholdCircuit = NO_RULES
    """Hard rules on records; every record obeys them."""
    feasible: NDArray[np.int32] | None = None
    """Shape (d,). A record that obeys the rules: the first round's hint, and the last resort. None, where there are no
    rules, stands for the first value of every attribute."""

    def respond(self, sampled: SampledQueries, *, hint: NDArray[np.int32] | None) -> Round:
        """Return the round that answers the drawn queries: maximize sum_i q_i(x) over records x that obey the rules."""
        from dpopt.solvers.outside import name_of, solver_result  # a replay asks no solver, and loads none

        problem = round_program(self.clauses, self.sizes, sampled, self.rules)
        hint = self.feasible if hint is None else hint
        limits = replace(self.limits, seed=(self.limits.seed + sampled.round) % 2**31)
        begun = time.perf_counter()
        try:
            result = solver_result(self.solver, problem, limits, hint=hint)
        except DpoptError as error:  # the draw is spent, so no error of a solver may end the run
            reason = f"{type(error).__name__}: {error}"
            result = SolveResult(Termination.FAILED, solver=name_of(self.solver), native_status=reason)
        solve_seconds = time.perf_counter() - begun  # by our own clock, not by the solver's word
        record, fallback = read_record(problem, result)
        by = SETTLED if result.native_status == SETTLED else f"{result.solver} {result.version}"
        if record is None:
            found = self.fallback.solve(problem, SolveLimits(work=1), hint=hint)
            record, by = read_record(problem, found)[0], f"{found.solver} {found.version}"
            if record is None:
                record, by = (np.zeros(len(self.sizes), dtype=np.int32) if hint is None else hint, "a known record")
        if fallback is not None or not isinstance(self.solver, OwnFormulation):  # whose rows may be about all of them
            record = self.free_attributes.fill(problem, record, sampled.round)
        answered = result if fallback is None else None
        return Round(
            sampled,
            kept(record, self.sizes),
            certify(problem, record, bound=None if answered is None else answered.bound),
            result.termination.value if result.limit is None else f"{result.limit.value} limit",
            None if fallback is None else _plain(fallback),
            _plain(by),
            solve_seconds,
        )


def _plain(text: str) -> str:
    """Return the valid text in a solver's own message."""
    return " ".join(text.encode("ascii", "replace").decode()[:200].split())


@dataclass(frozen=True, slots=True)
class _RoundOnFile:
    """The output of `Round.to_json`."""

    round: int
    record: Any
    objective: int
    bound: int | None
    stopped: str
    fallback: str | None
    solver: str


def recertify(
    clauses: Clauses,
    sizes: NDArray[np.int32],
    sampled: SampledQueries,
    entry: Entry,
    rules: ThresholdCircuit = NO_RULES,
) -> Round:
    """Read a recorded round back and recompute its certificate from draw and record alone."""
    damage = f"round {sampled.round}: the record on file is damaged"
    written = decode(_RoundOnFile, entry, damage, TranscriptError, header={"kind": "record"})
    try:
        found = record_from_json(written.record, sizes)
    except TranscriptError as error:
        raise TranscriptError(f"round {sampled.round}: {error}") from error
    if written.round != sampled.round:
        raise TranscriptError(f"the record of round {written.round} follows the draw of round {sampled.round}")
    objective, bound = written.objective, written.bound
    problem = round_program(clauses, sizes, sampled, rules)
    certificate = certify(problem, codes_of(found))
    if certificate.broken_rules:
        raise TranscriptError(
            f"round {sampled.round}: the record on file breaks the rule {certificate.broken_rules[0]!r}; the "
            f"transcript is damaged or belongs to another schema"
        )
    if certificate.objective != objective:
        raise TranscriptError(
            f"round {sampled.round}: the record on file has objective {certificate.objective}, "
            f"not {objective} as recorded; the transcript is damaged or belongs to another plan"
        )
    if bound is not None:
        if bound < objective:
            raise TranscriptError(
                f"round {sampled.round}: the bound on file, {bound!r}, does not fit objective {objective}"
            )
        # The bound was made whole when it was recorded; read again as a float it could be rounded once more.
        certificate = replace(certificate, bound=bound, gap=bound - objective)
    return Round(sampled, found, certificate, written.stopped, written.fallback, written.solver)


@dataclass(frozen=True, slots=True)
class RoundGaps:
    """How far a round's record may be from the best one, in units of weight."""

    proven: int
    """Proven bound minus exact objective, >= 0."""
    reported: int | None
    """Reported bound minus exact objective, >= 0; None where no solver stated a bound."""

    @property
    def by_any_word(self) -> int:
        """The smaller of the two gaps."""
        return self.proven if self.reported is None else min(self.proven, self.reported)


def certified_accuracy(job: Job, gaps: Sequence[RoundGaps]) -> dict[str, Any] | None:
    """Return the sharpened accuracy theorem with the mean gap of the rounds, as JSON: once proven, once reported.

    With probability at least 1 - beta the largest error of the T records together is at most ``learning + sampling +
    g``, where g is the mean over rounds of the gap divided by the s draws
    (`dpopt.algorithms.dualquery.accuracy.proven_error`). The gaps, one for each round played, depend on released values
    only. None if no round was played.
    """
    if not gaps:
        return None
    proven = [gap.proven for gap in gaps]
    reported = [gap.by_any_word for gap in gaps]
    stated = sum(gap.reported is not None for gap in gaps)
    return {
        "by_proven_bounds": _error(job, proven, BY_PROVEN),
        "by_reported_bounds": {**_error(job, reported, BY_REPORTED), "rounds_with_a_reported_bound": stated},
    }


def _error(job: Job, gaps: list[int], kind: str) -> dict[str, Any]:
    """Return the theorem's figure for gaps of one kind."""
    plan, stated = DualQueryPlan.of(job.plan), job.statement.get("proven") or {}
    mean = sum(gaps) / (len(gaps) * plan.draws)  # whole numbers: the same float on every machine
    error = proven_error(
        rounds=len(gaps),
        draws=plan.draws,
        step=float(plan.step),
        queries=len(job.workload),
        log_universe=log_universe(job.schema),
        failure=float(stated.get("failure_probability", DEFAULT_FAILURE)),
        solver_gap=mean,
    )
    found = {key: value for key, value in error.to_json().items() if key != "mean_solver_gap_assumed"}
    found |= {
        "kind": f"bound on the largest error; its gaps are {kind}",
        "mean_gap_over_draws": mean,
        "largest_gap_over_draws": max(gaps) / plan.draws,
        "rounds": len(gaps),
    }
    if job.schema.circuit().number_of_rules:
        found["assumes"] = "that the records of the table obey the rules of the schema"
    return found


def dualquery_sections(job: Job, rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the sections of release.json that belong to the rounds."""
    return {
        "accuracy": {"certified": certified_accuracy(job, [gaps_of(done) for done in rounds])},
        "records": {"rounds": len(rounds)},
        "certificates": certificates(rounds),
        "solvers": sorted({done.solver for done in rounds}),
    }


def gaps_of(done: Round) -> RoundGaps:
    """Return the gaps that a round's own certificate gives; two records never differ by more than the draws."""
    proven = done.certificate.proven_gap
    reported = None if done.solver == SETTLED else done.certificate.reported_gap  # then none was asked
    return RoundGaps(done.sampled.charge.count if proven is None else proven, reported)


def certificates(rounds: Sequence[Round]) -> dict[str, Any]:
    """Summarise the rounds' certificates: objectives recomputed exactly, and gaps to bounds divided by the draws."""
    known = [(gaps_of(done), max(1, done.sampled.charge.count)) for done in rounds]
    gaps = [gap.reported / draws for gap, draws in known if gap.reported is not None]
    proven = [gap.proven / draws for gap, draws in known]
    return {
        "rounds": len(rounds),
        "stopped": dict(Counter(done.stopped for done in rounds)),
        "fallbacks": sum(done.fallback is not None for done in rounds),
        "fallback_reasons": sorted({done.fallback for done in rounds if done.fallback is not None}),
        "rounds_with_a_bound_reported_by_the_solver": len(gaps),
        "mean_gap_over_draws_by_reported_bounds": float(np.mean(gaps)) if gaps else None,
        "mean_gap_over_draws_by_proven_bounds": float(np.mean(proven)) if proven else None,
    }


class FreeAttributeRule:
    """Fills free attributes from public values alone: the rule, a public seed, and noisy one-way marginals if released.

    The estimated rule needs `marginals`. Each round uses a stream of its own.
    """

    def __init__(
        self, rule: FreeAttributes, schema: Schema, *, seed: int, marginals: NoisyAnswers | None = None
    ) -> None:
        self._rule = rule
        self._seed = seed
        self._distributions = None if rule is FreeAttributes.FIRST else _Distributions.of(rule, schema, marginals)

    def fill(self, problem: MaxCsp, record: NDArray[np.int32], round_number: int) -> NDArray[np.int32]:
        """Return the record with every attribute that no clause of `problem` mentions set by the rule.

        Attributes that hard rules mention are set one after the other, each by the rule among the codes that leave
        every hard rule obeyed, so a record that obeys them still does. All others are set at once; what is held
        meanwhile is some numbers for each attribute (and, where an attribute has more than two codes, for each code).
        """
        free = np.ones(len(record), dtype=np.bool_)
        mentioned = problem.clauses.attributes
        free[mentioned[mentioned >= 0]] = False
        if not free.any():
            return record
        ruled = problem.rules.attributes()
        bound = ruled[free[ruled]]
        free[bound] = False
        if self._distributions is None:
            filled = np.where(free, np.int32(0), record)
            for attribute in bound.tolist():
                filled[attribute] = _feasible_codes(problem, filled, attribute)[0]
            return filled
        points = uniforms(public_stream(self._seed, f"free attributes of round {round_number}"), len(record))
        filled = np.where(free, self._distributions.codes_at(points), record)
        for attribute in bound.tolist():
            feasible = _feasible_codes(problem, filled, attribute)
            filled[attribute] = self._distributions.feasible_code_at(attribute, points[attribute], feasible)
        return filled


@dataclass(frozen=True, slots=True, eq=False)
class _Distributions:
    """The distribution of each of d attributes, c codes in all."""

    offsets: NDArray[np.int64]
    """Shape (d + 1,). Attribute a has the shares from offsets[a] to offsets[a + 1] - 1."""
    cumulative: NDArray[np.float64]
    """Shape (c,). Shares of the codes of each attribute, added up from its first code on."""

    @classmethod
    def of(cls, rule: FreeAttributes, schema: Schema, marginals: NoisyAnswers | None) -> _Distributions:
        """Return the distributions of the random rule, or of the estimated one where there are marginals."""
        estimated = rule is FreeAttributes.ESTIMATED
        shares = _shares(schema, marginals if estimated else None)
        cumulative = np.empty_like(shares)
        for size in np.unique(schema.sizes).tolist():
            places = _places(schema, size)
            cumulative[places] = np.cumsum(shares[places], axis=1)
        return cls(schema.offsets, cumulative)

    def codes_at(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return each attribute's code at its point in [0, 1), (d,): how many cumulative shares do not exceed the point."""
        sizes = np.diff(self.offsets)
        if (sizes == 2).all():
            return np.asarray(points >= self.cumulative[::2], dtype=np.int32)
        passed = self.cumulative <= np.repeat(points, sizes)
        number = np.add.reduceat(passed, self.offsets[:-1], dtype=np.int64)
        return np.asarray(np.minimum(number, sizes - 1), dtype=np.int32)

    def feasible_code_at(self, attribute: int, point: float, feasible: NDArray[np.int64]) -> int:
        """Return the code of an attribute's distribution at a point in [0, 1), given that it is one of the feasible codes."""
        cumulative = self.cumulative[self.offsets[attribute] : self.offsets[attribute + 1]]
        shares = np.diff(cumulative, prepend=0.0)[feasible]
        if shares.sum() <= 0:
            shares = np.ones(feasible.size)
        sums = np.cumsum(shares)
        place = min(int(np.searchsorted(sums, point * sums[-1], side="right")), feasible.size - 1)
        return int(feasible[place])


def _feasible_codes(problem: MaxCsp, record: NDArray[np.int32], attribute: int) -> NDArray[np.int64]:
    """Return the codes, increasing, that the attribute can take so that the record obeys every hard rule."""
    candidates = np.tile(record, (int(problem.sizes[attribute]), 1))
    candidates[:, attribute] = np.arange(len(candidates))
    return np.flatnonzero(~problem.rules.broken(candidates).any(axis=1))


def _shares(schema: Schema, marginals: NoisyAnswers | None) -> NDArray[np.float64]:
    """Return the share of each code of each attribute, (c,): estimated, or equal where nothing is estimated above 0."""
    equal = np.repeat(1.0 / schema.sizes, schema.sizes)
    if marginals is None:
        return equal
    shares = np.maximum(marginals.values, 0).astype(np.float64)
    for size in np.unique(schema.sizes).tolist():
        places = _places(schema, size)
        totals = shares[places].sum(axis=1, keepdims=True)
        shares[places] = np.where(totals > 0, shares[places] / np.where(totals > 0, totals, 1.0), equal[places])
    return shares


def _places(schema: Schema, size: int) -> NDArray[np.int64]:
    """Return the flat columns of the attributes with this number of codes, (attributes, size)."""
    return schema.offsets[:-1][schema.sizes == size, None] + np.arange(size)

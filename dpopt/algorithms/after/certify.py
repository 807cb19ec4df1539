"""Bounds for the rounds of a finished run, computed afterwards from its transcript alone.

For each round's best response (maximize the weight of the drawn queries over records) and the record on file:

- the proven bound: the duals of the linear relaxation of a formulation, turned into a bound by exact weak duality
  (`dpopt.programs.duality`), or the sum of the positive weights where that is smaller;
- the reported bound: what a solver states after some seconds; asked only where the proven bound leaves a gap. Several
  solvers try one after the other, and the one that states the least bound gets the rest of the time;
- a better record, if a solver finds one. It is reported and changes nothing: the release is what was drawn for.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.rounds import RoundGaps, certified_accuracy, gaps_of
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import DpoptError, PlanError, ProgramError, ReleaseFolderError, TranscriptError
from dpopt.files.codec import decode, encode
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.presolved import SETTLED
from dpopt.models.best_responses.relaxation_bound import RelaxationBound, relaxation_bound
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.certificate import certify
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver, why_refused
from dpopt.releases.folder_files import TRANSCRIPT, read_json, write_json
from dpopt.releases.kept_records import codes_of, kept, record_from_json, record_to_json
from dpopt.solvers.outside import solver_result

NOT_ASKED = "not asked: the proven bound shows that the record is optimal"

NO_SOLVER = "not asked: no solver was named"

LEAST_LP_SECONDS = 60.0
"""Seconds that linear programs may take at least. At 1,750 draws the relaxation of a round takes a fraction of one, its
pairwise lifting some ten, and each time that triangles are added some twenty."""

TRIAL = 0.125
"""Share of the seconds that each of several solvers gets first. A solver with a poor bound shows it early: in a first
round over KDD99, CP-SAT had proved 143 and SCIP 139 after 15 s; SCIP needed 87 s more for 126."""


@dataclass(frozen=True, slots=True)
class Certifier:
    """How the rounds are bounded."""

    lp_solver: Solver
    """Solves linear relaxations and gives duals; not trusted."""
    solvers: tuple[Solver, ...]
    """Search for bounds and better records; none: proven bounds only. Of several each gets a trial (`TRIAL`), and the
    one whose bound is least then gets the rest of the seconds."""
    formulation: Formulation
    """Rows of the linear relaxation, and of the mixed-integer programs."""
    limits: SolveLimits
    """Limits of the search per round, of all solvers together."""
    lift: bool = True
    """Whether the pairwise lifting is solved too, where the relaxation of the rows leaves a gap."""

    def left(self, wanted: Collection[int], known: Collection[CertifiedRound]) -> list[int]:
        """Return the wanted rounds that are not known; one that was never searched, and could be, is done again."""
        return sorted(set(wanted) - {one.round for one in known if not self.solvers or one.stopped != NO_SOLVER})

    def bound(self, problem: MaxCsp, record: NDArray[np.int32], number: int) -> CertifiedRound:
        """Return the proven and the reported bound on one round's record."""
        started = time.perf_counter()
        relaxed = self._relaxed(problem, self.formulation)
        proven = certify(problem, record, proven=relaxed.bound)
        if self.lift and proven.proven_gap:
            lifted = self._relaxed(problem, None, proven.objective)
            if lifted.bound is not None and (relaxed.bound is None or lifted.bound < relaxed.bound):
                relaxed, proven = lifted, certify(problem, record, proven=lifted.bound)
        objective, bound = proven.objective, proven.proven_bound
        if objective is None or bound is None:
            raise TranscriptError(f"round {number}: the record on file is not feasible")
        found = _Found(None, None, NOT_ASKED, None)
        if bound > objective:
            found = self._searched(problem, record)
        better = None if found.better is None else problem.objective(found.better)
        if better is not None and better > bound:
            raise ProgramError(
                f"round {number}: the proven bound {bound} is below a value that was reached, {better}: please report "
                f"this"
            )
        return CertifiedRound(
            round=number,
            objective=objective,
            proven_bound=bound,
            proven_by=proven_by(relaxed, bound, problem),
            reported_bound=found.bound,
            reported_by=found.solver,
            stopped=found.stopped,
            better_objective=better,
            better_record=None if found.better is None else _written(found.better, problem.sizes),
            seconds=round(time.perf_counter() - started, 3),
        )

    def _relaxed(self, problem: MaxCsp, formulation: Formulation | None, enough: int | None = None) -> RelaxationBound:
        seconds = max(LEAST_LP_SECONDS, self.limits.seconds or 0.0)
        limits = SolveLimits(seconds=seconds, threads=self.limits.threads)
        return relaxation_bound(problem, self.lp_solver, formulation, limits, enough=enough)

    def _searched(self, problem: MaxCsp, record: NDArray[np.int32]) -> _Found:
        """Ask the solvers, each from the best record so far, until a bound is reached; the least bound is kept."""
        if not self.solvers:
            return _Found(None, None, NO_SOLVER, None)
        started, seconds = time.perf_counter(), self.limits.seconds
        several = seconds is not None and len(self.solvers) > 1
        found: list[_Found] = []
        best = record
        for turn in range(len(self.solvers) + several):
            trial, share = turn < len(self.solvers), seconds
            if seconds is not None and several:
                share = TRIAL * seconds if trial else seconds - (time.perf_counter() - started)
                if share <= 0:
                    break
            solver = self.solvers[turn if trial else found.index(min(found, key=_Found.order))]
            found.append(self._search(solver, problem, best, share))
            best = best if found[-1].better is None else found[-1].better
            if found[-1].bound == problem.objective(best):
                break
        least = min(reversed(found), key=_Found.order)  # of equal bounds that of the longest search
        reported = certify(problem, best, bound=least.bound).reported_bound
        return replace(least, bound=reported, better=None if best is record else best)

    def _search(self, solver: Solver, problem: MaxCsp, record: NDArray[np.int32], seconds: float | None) -> _Found:
        """Ask one solver; whatever it does costs its reported bound at most."""
        objective, name = problem.objective(record), solver.name
        try:
            accepting = accepting_max_csp(solver, self.formulation)
            refusal = why_refused(accepting, problem)
            if refusal is not None:
                return _Found(None, name, f"refused: {refusal}", None)
            result = solver_result(accepting, problem, replace(self.limits, seconds=seconds), hint=record)
        except DpoptError as error:  # whatever a solver does costs its own bound only
            how = f"refused: {error}" if error.__cause__ is None else f"raised {type(error.__cause__).__name__}"
            return _Found(None, name, how, None)
        stopped = result.termination.value if result.limit is None else f"{result.limit.value} limit"
        better, best = None, record
        if result.solution is not None:
            answer = certify(problem, result)
            if answer.objective is not None and answer.objective > objective:
                better = best = result.require_record()
        if result.native_status == SETTLED:  # no solver was asked, and none states a bound
            return _Found(None, None, SETTLED, better)
        reported = certify(problem, best, bound=result.bound).reported_bound  # one that the best disproves is dropped
        return _Found(reported, f"{name} {result.version}".strip(), stopped, better)


@dataclass(frozen=True, slots=True)
class _Found:
    bound: int | None
    solver: str | None
    stopped: str
    better: NDArray[np.int32] | None

    def order(self) -> float:
        return math.inf if self.bound is None else self.bound


@dataclass(frozen=True, slots=True)
class CertifiedRound:
    """The findings about one round's record."""

    round: int
    objective: int
    """Exact objective of the record on file."""
    proven_bound: int
    """Upper bound on every record's objective, without any solver's word."""
    proven_by: str
    """The argument."""
    reported_bound: int | None
    """Upper bound that a solver states."""
    reported_by: str | None
    """That solver and its version."""
    stopped: str
    """Why that solver stopped, or why none was asked."""
    better_objective: int | None
    better_record: tuple[int, ...] | dict[str, Any] | None
    """Exact objective and codes, as transcripts write them, of a better record that the solver found; None without one."""
    seconds: float
    """Wall-clock seconds for this round."""

    def __post_init__(self) -> None:
        if not 0 <= self.seconds < math.inf or (self.better_record is None) != (self.better_objective is None):
            raise PlanError(
                f"a certified round takes some seconds, and a better record has its objective; found {self!r:.100}"
            )


def _written(record: NDArray[np.int32], sizes: NDArray[np.int32]) -> tuple[int, ...] | dict[str, Any]:
    """Return a record of existing codes (d,) as it is written."""
    found: Any = record_to_json(kept(record, sizes))
    return found if isinstance(found, dict) else tuple(found)


def proven_by(relaxed: RelaxationBound, bound: int, problem: MaxCsp) -> str:
    """Return the argument that proves a bound."""
    if relaxed.bound is not None and bound < problem.upper_bound():
        return f"weak duality, {relaxed.relaxation}, multipliers of {relaxed.solver}"
    return "sum of the positive weights" + (f" ({relaxed.why_none})" if relaxed.why_none else "")


def check_known(finished: SyntheticRelease, known: Collection[CertifiedRound]) -> None:
    """Validate rounds from a file by the run: all but the proofs is computed again.

    The multipliers of a proof are not stored: a proven bound between the best value on file and the sum of the positive
    weights is taken as it stands.
    """
    job = finished.job
    clauses, sizes, rules = job.workload.clauses, job.schema.sizes, job.schema.circuit()
    by_number = {played.sampled.round: played for played in finished.played}
    for one in known:
        played = by_number.pop(one.round, None)
        if played is None and any(done.sampled.round == one.round for done in finished.played):
            raise PlanError(f"round {one.round} is on file twice")
        if played is None or played.certificate.objective != one.objective:
            raise PlanError(
                f"round {one.round} on file is worth {one.objective}, which is not what the transcript gives; it "
                f"belongs to another run"
            )
        wrong = _wrong_in(one, round_program(clauses, sizes, played.sampled, rules))
        if wrong is not None:
            raise PlanError(f"round {one.round} on file {wrong}")


def _wrong_in(one: CertifiedRound, problem: MaxCsp) -> str | None:
    """Return how a round on file contradicts its problem; None if it does not."""
    best = one.objective
    if one.better_record is not None and one.better_objective is not None:
        written = one.better_record
        try:
            codes = record_from_json(written if isinstance(written, dict) else list(written), problem.sizes)
        except TranscriptError:
            return "has a better record with codes that do not exist"
        record = codes_of(codes)
        broken = problem.broken_rules(record)
        if broken:
            return f"has a better record that breaks the rule {broken[0]!r}"
        best = problem.objective(record)
        if best != one.better_objective or best <= one.objective:
            return (
                f"has a better record of the stated value {one.better_objective}; it is worth {best}, and the released "
                f"one {one.objective}"
            )
    highest = problem.upper_bound()
    if not best <= one.proven_bound <= highest:
        return f"states the proven bound {one.proven_bound}; it lies between {best} and {highest}"
    if one.reported_bound is not None and not best <= one.reported_bound <= highest:
        return f"states the reported bound {one.reported_bound}; it lies between {best} and {highest}"
    return None


def certify_rounds(
    finished: SyntheticRelease,
    certifier: Certifier,
    wanted: Collection[int],
    *,
    known: Collection[CertifiedRound] = (),
    on_round: Callable[[list[CertifiedRound]], None] = lambda rounds: None,
) -> list[CertifiedRound]:
    """Bound the wanted rounds of a run, in order, leaving out those that are known.

    `wanted` are numbers from 1; `known` are rounds done before, of which those that are not wanted are kept as they
    are. `on_round` is called with all rounds done so far, by number, after each one. Raises PlanError if a known round
    does not belong to this run, or states what cannot be.
    """
    check_known(finished, known)
    done = {one.round: one for one in known}
    by_number = {played.sampled.round: played for played in finished.played}
    job = finished.job
    clauses, sizes, rules = job.workload.clauses, job.schema.sizes, job.schema.circuit()
    for number in certifier.left(wanted, done.values()):
        played = by_number[number]
        problem = round_program(clauses, sizes, played.sampled, rules)
        done[number] = certifier.bound(problem, played.record, number)
        on_round(sorted(done.values(), key=lambda one: one.round))
    return sorted(done.values(), key=lambda one: one.round)


FORMAT = 1


def parse_rounds(text: str, there: Collection[int]) -> list[int]:
    """Return the rounds, of those that are there, that a text names: "all", or numbers and ranges such as "1,5-9"."""
    if text.strip() == "all":
        return sorted(there)
    wanted: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 40:
            raise PlanError(f"rounds are 'all', or numbers and ranges such as 1,5-9; found {text!r:.80}")
        low, high = int(first), int(last or first)
        missing = [number for number in (low, high) if number not in there]
        if missing or low > high:
            raise PlanError(
                f"{part.strip()!r} names no rounds of this run; it has the rounds {min(there, default=0)} to "
                f"{max(there, default=0)}"
            )
        wanted.update(range(low, high + 1))
    return sorted(wanted & set(there))


def check_target(target: Path, folder: Path) -> None:
    """Refuse, before any work, a file that cannot be written or that lies in the release folder, which replay compares."""
    place = target.resolve()
    if place.is_relative_to(folder.resolve()):
        raise ReleaseFolderError(
            f"{target} lies in the release folder, which replay compares byte for byte. Name a file elsewhere"
        )
    if place.is_dir() or not place.parent.is_dir():
        raise ReleaseFolderError(f"{target} cannot be written: name a file in a folder that exists")


def transcript_hash(folder: Path) -> str:
    """Return the SHA-256 of a release's transcript: it is public, and identifies the run that a file of bounds belongs to."""
    with (folder / TRANSCRIPT).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rounds(target: Path, folder: Path) -> list[CertifiedRound]:
    """Return the rounds that an earlier call left in the file; none if there is no file."""
    if not target.exists():
        return []
    stated = read_json(target)
    if stated.get("dpopt_certify") != FORMAT or not isinstance(stated.get("rounds"), list):
        raise PlanError(f"{target} exists and is not a file of certified rounds. Name another file")
    if stated.get("transcript") != transcript_hash(folder):
        raise PlanError(f"{target} belongs to another run than {folder}. Name another file")
    return [decode(CertifiedRound, row, "a certified round", PlanError) for row in stated["rounds"]]


def write_rounds(target: Path, folder: Path, finished: SyntheticRelease, rounds: Sequence[CertifiedRound]) -> None:
    """Write the file of certified rounds whole or not at all."""
    write_json(target, report(folder, finished, rounds))


def report(folder: Path, finished: SyntheticRelease, rounds: Sequence[CertifiedRound]) -> dict[str, Any]:
    """Return everything that is known: the rounds and the summary."""
    return {
        "dpopt_certify": FORMAT,
        "transcript": transcript_hash(folder),
        "rounds": [encode(one) for one in rounds],
        "summary": summary(finished, rounds),
    }


def summary(finished: SyntheticRelease, rounds: Sequence[CertifiedRound]) -> dict[str, Any]:
    """Return gaps, proven and reported, in all and by third of the run, and the theorem's error with them.

    Gaps are divided by the draws, and by the value of the record on file where that is above 0. Rounds that were not
    certified enter the theorem with the bounds of the release itself.
    """
    draws, played = DualQueryPlan.of(finished.job.plan).draws, len(finished.played)
    certified = {one.round: _gaps(one) for one in rounds}
    ends = [played * third // 3 for third in range(4)]
    thirds = [
        {"rounds": f"{low + 1}-{high}", **_figures([one for one in rounds if low < one.round <= high], draws)}
        for low, high in pairwise(ends)
        if high > low
    ]
    gaps = [certified.get(done.sampled.round, gaps_of(done)) for done in finished.played]
    return {
        "rounds_played": played,
        **_figures(rounds, draws),
        "rounds_proven_optimal": sum(one.proven_bound == one.objective for one in rounds),
        "rounds_with_a_better_record": sum(one.better_record is not None for one in rounds),
        "by_third": thirds,
        "accuracy": certified_accuracy(finished.job, gaps),
    }


def _gaps(one: CertifiedRound) -> RoundGaps:
    reported = None if one.reported_bound is None else max(0, one.reported_bound - one.objective)
    return RoundGaps(one.proven_bound - one.objective, reported)


def _figures(rounds: Sequence[CertifiedRound], draws: int) -> dict[str, Any]:
    """Return the number of rounds, and mean and largest gap over the draws and over the values of the records."""
    gaps = [_gaps(one) for one in rounds]
    found: dict[str, Any] = {"rounds_certified": len(rounds)}
    for word, by_word in (("proven", [gap.proven for gap in gaps]), ("reported", [gap.by_any_word for gap in gaps])):
        shares = [gap / one.objective for gap, one in zip(by_word, rounds, strict=True) if one.objective > 0]
        found[f"{word}_gap_over_draws"] = _mean_and_largest(by_word, draws)
        found[f"{word}_gap_over_value"] = _mean_and_largest(shares, 1)
    return found


def _mean_and_largest(gaps: Sequence[float], by: int) -> dict[str, float] | None:
    if not gaps:
        return None
    return {"mean": sum(gaps) / (len(gaps) * by), "largest": max(gaps) / by}

"""Column generation: weighted records with the nearest answers of all distributions on feasible records, proven.

Problem (models/projection, PJ-1 to PJ-3, over all feasible records): minimize f(p). Every round solves the master
problem over the records so far (`master`), looks for records along which f still falls (`pricing`), and adds them. With
the gradient s of f in the answers at the weights p, for every distribution p'

    f(p') >= f(p) + <s, A p'> - <s, A p>  >=  f(p) - (<s, A p> - min_x <s, q(x)>),                                        PJ-6

so a proven least slope proves a lower bound of f; what pricing merely found gives the Frank-Wolfe gap. Both are
computed here from the weights alone, whoever found these: a solver that solves the master badly leaves a larger gap,
and no wrong one.

Source: Nikolov, Talwar and Zhang (2013), "The geometry of differential privacy: the sparse and approximate cases"
(projection); Frank and Wolfe (1956), "An algorithm for quadratic programming"; von Hohenbalken (1977), "Simplicial
decomposition in nonlinear programming algorithms" (fully corrective).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import DpoptError
from dpopt.inference.records.columns.columns import (
    LEAST_WEIGHT,
    MATRIX_UP_TO,
    Answers,
    Columns,
    Matrix,
    best_weights,
    improved_weights,
)
from dpopt.inference.records.columns.pricing import Enumeration, Priced, Search, SolverPricing
from dpopt.inference.records.problem import TIME_IS_UP, FitProblem, FitProgress, FitSettings, Fitted
from dpopt.inference.records.start import check_one_way, estimated_one_way
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver

COLUMNS_PER_ROUND = 20
"""New records of a round, at most: these or a twentieth of those so far, the best ones. Twice as many of the records so
far are descended from, those of least slope, and `DRAWS` that the one-way marginals draw."""

DRAWS = 40

PROOF_EVERY = 10
"""Rounds between two proofs by a solver; one is asked for, too, where no record is found and at the end."""

SOLVERS_LEAST_WEIGHT = 1e-7
"""Columns of less weight are dropped after a general solver, which leaves about so much on those that should have none."""

FARTHEST_SCALE = 1e-9
"""f is handed to a solver as a share of f so far, and that taken to be at least so much of f without any records: solvers
end at errors in absolute terms."""

EXACT = 1e-9
"""A round ends the generation if no record's slope is below <s, A p> by more than this share of f."""


@dataclass(slots=True, eq=False)
class _State:
    """Where the generation stands: columns, weights, slopes, f; the best bound so far."""

    columns: Columns
    weights: NDArray[np.float64]
    slopes: NDArray[np.float64]
    objective: float
    rounds: int = 0
    lower_bound: float | None = None
    proof: str = ""
    frank_wolfe_gap: float | None = None
    pricing_gap: float | None = None


def generate_columns(
    problem: FitProblem,
    settings: FitSettings,
    start: NDArray[np.int32],
    *,
    one_way: NDArray[np.float64] | None = None,
    progress: Callable[[FitProgress], None] | None = None,
    history: tuple[FitProgress, ...] = (),
    began: float | None = None,
) -> Fitted:
    """Return weighted records of least f, starting from feasible ones (r, d) of equal weight; equal ones are merged.

    The settings `rounds`, `gap`, `seconds`, `solver`, `pricing` and `proof` say how. Beside the records so far, pricing
    starts from records of the one-way marginals (c,). `history` is the progress so far, and `began` when the fit began.
    """
    problem.require_feasible(start)
    if one_way is None:
        one_way = estimated_one_way(problem)
    check_one_way(problem, one_way)
    generation = _Generation(problem, settings, one_way, time.perf_counter() if began is None else began)
    return generation.run(start, progress, list(history))


class _Generation:
    """The parts of one generation."""

    def __init__(self, problem: FitProblem, settings: FitSettings, one_way: NDArray[np.float64], began: float) -> None:
        self.problem, self.settings, self.began = problem, settings, began
        self.answers = Answers(problem)
        self.matrix = Matrix(self.answers)
        self.enumeration = Enumeration(problem, self.answers) if Enumeration.possible(problem) else None
        self.search = None if self.enumeration else Search(problem, one_way, settings.seed, settings.threads)
        self.until = None if settings.seconds is None else began + settings.seconds
        self.pricer, self.prover = self._by_solver(settings.pricing), self._by_solver(settings.proof)
        none = self.answers.columns(np.zeros((0, problem.sizes.size), dtype=np.int32))
        self.without = self.answers.slopes(none, np.zeros(0))  # the slopes if no record counted

    def run(
        self, start: NDArray[np.int32], progress: Callable[[FitProgress], None] | None, history: list[FitProgress]
    ) -> Fitted:
        """Merge the start, and do the rounds."""
        state = self._merged(start)

        def note(stage: str, step: int, new: int) -> None:
            seconds = time.perf_counter() - self.began
            history.append(
                FitProgress(stage, step, seconds, state.objective, len(state.columns), new, state.lower_bound)
            )
            if progress is not None:
                progress(history[-1])

        stopped = self._rounds(state, note)
        note("end", state.rounds, 0)
        return self._fitted(state, stopped, history)

    def _rounds(self, state: _State, note: Callable[[str, int, int], None]) -> str:
        """Do the rounds; return why they ended."""
        failed = self._solve_master(state)
        note("merge", 0, 0)
        while failed is None and state.rounds < self.settings.rounds:
            state.rounds += 1
            if self._time_is_up():
                return TIME_IS_UP
            new = self._price(state, prove=state.rounds % PROOF_EVERY == 0)
            if not len(new) and state.pricing_gap is None and self.prover is not None:
                new = self._price(state, prove=True)
            if self._near_enough(state):
                return "the gap is small enough"
            if not len(new) and not self._master_open(state):
                return "no record was found along which the objective falls"
            state.columns = state.columns.joined(new)
            state.weights = np.concatenate((state.weights, np.zeros(len(new))))
            failed = self._solve_master(state)
            note("round", state.rounds, len(new))
        self._price(state, prove=True)  # what is known of the last weights
        return failed or "all rounds done"

    def _merged(self, start: NDArray[np.int32]) -> _State:
        given = np.full(len(start), 1.0 / len(start))
        distinct, inverse = np.unique(start, axis=0, return_inverse=True)
        columns = self.answers.columns(distinct.astype(np.int32))
        sums = np.bincount(inverse.reshape(-1), weights=given, minlength=len(columns))
        merged = np.asarray(sums, dtype=np.float64)
        slopes = self.answers.slopes(columns, merged)
        return _State(columns, merged, slopes, self.answers.objective(slopes))

    def _solve_master(self, state: _State) -> str | None:
        """Give the columns their best weights, and drop those without; return why that was not possible."""
        if self.settings.solver is not None:
            return self._solve_master_by(self.settings.solver, state)
        if len(state.columns) > MATRIX_UP_TO:
            state.weights, state.slopes = improved_weights(self.answers, state.columns, state.weights, state.slopes)
            self._drop(state, np.flatnonzero(state.weights > LEAST_WEIGHT), known=False)
            self.matrix = Matrix(self.answers)
        else:
            gram = self.matrix.of(state.columns)
            pull = -self.answers.along(state.columns, self.without)
            state.weights = best_weights(gram, pull, state.weights)
            self._drop(state, np.flatnonzero(state.weights > LEAST_WEIGHT), known=True)
        state.slopes = self.answers.slopes(state.columns, state.weights)
        self._weighed(state)
        return None

    def _solve_master_by(self, solver: str | Solver, state: _State) -> str | None:
        """Hand the master problem to a solver, and take its weights where f of them is no larger; return why not."""
        if self._time_is_up():
            return TIME_IS_UP
        settings = self.settings
        limits = SolveLimits(
            seconds=None if self.until is None else self.until - time.perf_counter(),
            threads=settings.threads,
            seed=settings.seed,
        )
        scale = max(state.objective, FARTHEST_SCALE * self.answers.objective(self.without)) or 1.0
        try:
            found = self.answers.master(state.columns, scale).solve_for_release(solver, limits=limits)
        except DpoptError as error:  # of any kind: the budget is spent
            return str(error)
        kept = np.flatnonzero(found.value["w"] > SOLVERS_LEAST_WEIGHT)
        columns, weights = state.columns.take(kept), found.value["w"][kept]
        weights = weights / max(float(weights.sum()), SOLVERS_LEAST_WEIGHT)
        slopes = self.answers.slopes(columns, weights)
        if not (kept.size and self.answers.objective(slopes) <= state.objective):
            return f"{found.result.solver} found no better weights: {found.termination.value}"
        state.columns, state.weights, state.slopes = columns, weights, slopes
        self._weighed(state)
        return None

    def _weighed(self, state: _State) -> None:
        state.objective = self.answers.objective(state.slopes)
        state.frank_wolfe_gap = state.pricing_gap = None  # nothing is known of these weights yet

    def _drop(self, state: _State, kept: NDArray[np.int64], *, known: bool) -> None:
        state.columns = state.columns.take(kept)
        state.weights = state.weights[kept] / state.weights[kept].sum()
        if known:
            self.matrix.keep(kept)

    def _price(self, state: _State, *, prove: bool) -> Columns:
        """Return columns along which f falls, the steepest ones; note the bound on all others."""
        along = self.answers.along(state.columns, state.slopes)
        level = float(along @ state.weights)
        found = self._found(state, along, prove=prove)
        columns = self.answers.columns(found.records)
        slopes = self.answers.along(columns, state.slopes)
        self._note_gaps(state, level, float(min(slopes.min(initial=np.inf), along.min())), found)
        good = np.flatnonzero(slopes < level - EXACT * state.objective)
        steepest = columns.take(good[np.argsort(slopes[good], kind="stable")])
        unknown = _first_rows_outside(steepest.records, state.columns.records)
        return steepest.take(unknown[: self._per_round(state)])

    def _per_round(self, state: _State) -> int:
        """Return how many records a round may add."""
        return max(COLUMNS_PER_ROUND, len(state.columns) // 20)

    def _found(self, state: _State, along: NDArray[np.float64], *, prove: bool) -> Priced:
        if self.enumeration is not None:
            return self.enumeration.price(state.slopes, self._per_round(state))
        slopes = self.answers.by_term(state.slopes)
        starts = state.columns.records[np.argsort(along, kind="stable")[: 2 * self._per_round(state)]]
        found = Priced(starts) if self.search is None else self.search.price(slopes, starts, DRAWS)
        for solver in (self.pricer, self.prover if prove else None):
            if solver is not None:
                found = found.with_others(solver.price(slopes, starts[0]))
        return found

    def _by_solver(self, solver: str | Solver | None) -> SolverPricing | None:
        """Return pricing by a solver where one is named, is of use, and the problem is small enough."""
        if solver is None or self.enumeration is not None or not SolverPricing.possible(self.problem):
            return None
        return SolverPricing(self.problem, self.settings, solver, self.until)

    def _note_gaps(self, state: _State, level: float, least: float, found: Priced) -> None:
        state.frank_wolfe_gap = max(level - least, 0.0)
        if found.least is None:
            return
        state.pricing_gap = max(least - found.least, 0.0)
        bound = state.objective - (level - found.least)
        if state.lower_bound is None or bound > state.lower_bound:
            state.lower_bound, state.proof = max(bound, 0.0), found.proof

    def _master_open(self, state: _State) -> bool:
        """Return whether the weights of the records so far can still be improved: many are not weighed to the end."""
        gap = state.frank_wolfe_gap
        if self.settings.solver is not None:
            return False
        return len(state.columns) > MATRIX_UP_TO and gap is not None and gap > EXACT * state.objective

    def _near_enough(self, state: _State) -> bool:
        gap, bound = self.settings.gap, state.lower_bound
        return gap is not None and bound is not None and state.objective - bound <= gap

    def _time_is_up(self) -> bool:
        return self.until is not None and time.perf_counter() >= self.until

    def _fitted(self, state: _State, stopped: str, history: list[FitProgress]) -> Fitted:
        bound = state.lower_bound
        kept = state.weights > 0  # where a solver ends the rounds, the newest columns have no weight yet
        return Fitted(
            records=freeze(state.columns.records[kept]),
            weights=freeze(state.weights[kept] / state.weights.sum()),
            objective=state.objective,
            lower_bound=bound,
            pricing_gap=state.pricing_gap,
            gap=None if bound is None else max(state.objective - bound, 0.0),
            stopped=stopped,
            history=tuple(history),
            frank_wolfe_gap=state.frank_wolfe_gap,
            proof=state.proof,
        )


def _first_rows_outside(records: NDArray[np.int32], known: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first row of each different record that is not among the known ones, in order."""
    both = np.concatenate((known, records))
    _, first = np.unique(both, axis=0, return_index=True)
    return np.sort(first[first >= len(known)]) - len(known)

"""Pricing: which record would lower f most.

Problem (models/projection, PJ-4): minimize <slopes, q(x)> over feasible records x, where slopes_j = weight_j ((A p)_j -
value_j). It is the best response of DualQuery with real weights of both signs, -slopes.

Three ways: the record search, which keeps the marginals implicit; a named solver on the problem written out as a
`MaxCsp` with one clause for every cell, where that is small; and all feasible records one by one, where those are few,
which proves that none is better.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError, ProgramError
from dpopt.inference.records.bookkeeping import Bookkeeping
from dpopt.inference.records.columns.columns import Answers
from dpopt.inference.records.feasible_layout import rules_with_domains
from dpopt.inference.records.problem import FitProblem, FitSettings
from dpopt.inference.records.start import draw_records, made_feasible
from dpopt.inference.records.team import Team
from dpopt.models.best_responses.best_response import read_record
from dpopt.models.best_responses.column_pricing import PricingProgram, pricing_program
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.programs.certificate import credible_bound
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Capability, Solver, why_refused
from dpopt.public_random import PublicRandom
from dpopt.queries.marginal_set import MarginalSet
from dpopt.solvers.outside import solver_result
from dpopt.solvers.registry import get_solver

ENUMERATED_UP_TO = 2**20
"""Records; and as columns they take at most `ENUMERATED_BYTES`, their clauses at most `ENUMERATED_LITERALS`."""
ENUMERATED_BYTES, ENUMERATED_LITERALS = 2**28, 2**31

LARGEST_PRICE = 2.0**29
ROUNDING = 1e-12
"""A code is better if its price is lower by more than this share."""
FIRST_CALL = 16  # number of a public random stream; two for each call


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Records that pricing found, and the proven bound on all others."""

    records: NDArray[np.int32]
    """Shape (n, d). Feasible records, not evaluated."""
    least: float | None = None
    """No feasible record has a smaller <slopes, q(x)>; None where nothing is proven."""
    proof: str = ""
    """Who says so."""

    def with_others(self, others: Priced) -> Priced:
        """Return the records of both, and the larger of the two proven numbers."""
        records = np.concatenate((self.records, others.records))
        better = others.least is not None and (self.least is None or others.least > self.least)
        chosen = others if better else self
        return Priced(records, chosen.least, chosen.proof)


class Enumeration:
    """All feasible records of a small universe as columns."""

    def __init__(self, problem: FitProblem, answers: Answers) -> None:
        grids = np.meshgrid(*np.split(problem.domains.codes, problem.domains.starts[1:]), indexing="ij")
        records = np.stack([grid.reshape(-1) for grid in grids], axis=1).astype(np.int32)
        if problem.rules.number_of_rules:
            records = np.ascontiguousarray(records[~problem.rules.broken(records).any(axis=1)])
        self._answers = answers
        self.columns = answers.columns(records)

    @staticmethod
    def possible(problem: FitProblem) -> bool:
        """Return whether the universe is small enough."""
        records = float(np.prod(problem.domains.counts.astype(np.float64)))
        octets, literals = 0.0, 0
        for term in problem.terms:
            if isinstance(term.queries, MarginalSet):
                octets += 4 * len(term.queries)
            else:
                octets += 8 * (1 + len(term.queries) // 64)
                literals += term.queries.attributes.size
        return (
            records <= ENUMERATED_UP_TO
            and records * octets <= ENUMERATED_BYTES
            and records * literals <= ENUMERATED_LITERALS
        )

    def price(self, slopes: NDArray[np.float64], number: int) -> Priced:
        """Return the best `number` records, and the least slope of all."""
        along = self._answers.along(self.columns, slopes)
        best = np.argsort(along, kind="stable")[:number]
        return Priced(self.columns.records[best], float(along[best[0]]), "enumeration of all feasible records")


class Search:
    """The record search: descent by single codes, and by compound moves under rules, from many starts."""

    def __init__(self, problem: FitProblem, one_way: NDArray[np.float64], seed: int, threads: int = 1) -> None:
        self._problem, self._distributions, self._seed = problem, one_way, seed
        self._keeping, self._team = Bookkeeping(problem, 1), Team(problem, one_way, threads)
        self._random = PublicRandom((seed << 32) + 5)
        self._calls = 0

    def price(self, slopes: list[NDArray[np.float64]], starts: NDArray[np.int32], draws: int) -> Priced:
        """Return local optima from these records (n, d), and from `draws` records drawn by the one_way."""
        from dpopt.inference.records.sweep_kernels import GAIN, LONGEST

        self._calls += 1
        stream = (self._seed << 32) + FIRST_CALL + 2 * self._calls
        drawn = draw_records(self._problem, self._distributions, draws, stream)
        if self._problem.rules.number_of_rules and draws:
            drawn = made_feasible(self._problem, drawn, self._distributions, stream)
        records = np.concatenate((starts, drawn)).astype(np.int32)
        largest = max((float(np.abs(one).max(initial=0.0)) for one in slopes), default=0.0) or 1.0
        counters = self._keeping.priced(slopes, largest / LARGEST_PRICE)
        number = len(records)
        found = self._team.sweep(
            self._keeping,
            counters,
            records,
            np.arange(number),
            self._random.words(number),
            passes=LONGEST,
            least=ROUNDING,
            gain=GAIN / largest,
        )
        return Priced(np.unique(found, axis=0))


WRITTEN_UP_TO = 50_000
"""Queries of a problem that is written out."""

LONGEST = 5.0
"""Seconds of one solve where the fit itself has no limit."""


class SolverPricing:
    """Records of least slope, and bounds, by one solver.

    Its upper bound is repeated as reported, except where the solver gives duals of linear programs: then the bound is
    that of the pairwise lifting, proven by weak duality in exact arithmetic, which may leave a gap. `until` is the
    reading of `time.perf_counter` when the fit is to end, or None.
    """

    def __init__(self, problem: FitProblem, settings: FitSettings, solver: str | Solver, until: float | None) -> None:
        self._problem, self._settings, self._until = problem, settings, until
        self._given = get_solver(solver) if isinstance(solver, str) else solver
        self._solver = accepting_max_csp(self._given)
        self._rules = rules_with_domains(problem)
        refusal = why_refused(
            self._solver, self._program([np.zeros(t.number_of_queries) for t in problem.terms]).program
        )
        if refusal is not None:
            raise ProgramError(refusal)

    @staticmethod
    def possible(problem: FitProblem) -> bool:
        """Return whether the problem is small enough to be written out."""
        return sum(term.number_of_queries for term in problem.terms) <= WRITTEN_UP_TO

    def price(self, slopes: list[NDArray[np.float64]], hint: NDArray[np.int32]) -> Priced:
        """Return the solver's record, starting from `hint` (d,), and its bound; either can be missing."""
        written = self._program(slopes)
        none = np.zeros((0, hint.size), dtype=np.int32)
        seconds = LONGEST if self._until is None else self._until - time.perf_counter()
        if seconds <= 0:
            return Priced(none)
        settings = self._settings
        limits = SolveLimits(seconds=seconds, threads=settings.threads, seed=settings.seed)
        try:
            result = solver_result(self._solver, written.program, limits, hint=hint)
        except DpoptError:  # the budget is spent; the search of our own goes on
            return Priced(none)
        record, _ = read_record(written.program, result)
        found = none if record is None else record[None, :]
        if Capability.DUALS in self._given.capabilities:
            return self._proven(written, found, limits)
        value = 0 if record is None else written.program.objective(record)
        bound = credible_bound(result.bound, value)
        if bound is None or record is None:
            return Priced(found)
        return Priced(
            found, written.least(bound), f"{result.solver} {result.version}, reported and not checked".strip()
        )

    def _proven(self, written: PricingProgram, found: NDArray[np.int32], limits: SolveLimits) -> Priced:
        relaxed = relaxation_bound(written.program, self._given, None, limits)
        if relaxed.bound is None:
            return Priced(found)
        how = f"weak duality in exact arithmetic ({relaxed.relaxation}, duals of {relaxed.solver})"
        return Priced(found, written.least(relaxed.bound), how)

    def _program(self, slopes: list[NDArray[np.float64]]) -> PricingProgram:
        queries = [term.queries for term in self._problem.terms]
        return pricing_program(queries, slopes, self._problem.sizes, self._rules)

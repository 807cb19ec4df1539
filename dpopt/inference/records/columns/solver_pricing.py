"""Pricing by a named solver, on the problem written out with one clause for every cell; small problems only."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.columns.pricing import Priced
from dpopt.inference.records.legal_layout import rules_with_domains
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.settings import FitSettings
from dpopt.models.best_responses.as_mip import accepting_max_csp
from dpopt.models.best_responses.column_pricing import PricingProgram, pricing_program
from dpopt.models.best_responses.reading import read_record
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.programs.certificate import credible_bound
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Capability, Solver, why_refused
from dpopt.solvers.registry import get_solver

WRITTEN_UP_TO = 50_000
"""Queries of a problem that is written out."""

LONGEST = 5.0
"""Seconds of one solve where the fit itself has no limit."""


class SolverPricing:
    """Records of least slope, and bounds, by one solver.

    Its upper bound is repeated at its word, except where the solver gives duals of linear programs: then the bound is that
    of the pairwise lifting, proven by weak duality in exact arithmetic, which may leave a gap.

    Parameters
    ----------
    problem, settings
        What is fitted, and how long.
    solver
        Or the name of one in the registry.
    until
        Reading of `time.perf_counter` when the fit is to end, or None.

    Raises
    ------
    ProgramError
        The solver cannot take the rules of the problem.
    SolverUnavailableError
        There is no such solver.
    """

    def __init__(
        self, problem: FitProblem, settings: FitSettings, solver: str | Solver, until: float | None
    ) -> None:
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
        """Return the record that the solver finds, starting from `hint` (d,), and what it proves; neither is sure to come."""
        written = self._program(slopes)
        none = np.zeros((0, hint.size), dtype=np.int32)
        seconds = LONGEST if self._until is None else self._until - time.perf_counter()
        if seconds <= 0:
            return Priced(none)
        settings = self._settings
        limits = SolveLimits(seconds=seconds, threads=settings.threads, seed=settings.seed)
        result = self._solver.solve(written.program, limits, hint=hint)
        record, _ = read_record(written.program, result)
        found = none if record is None else record[None, :]
        if Capability.DUALS in self._given.capabilities:
            return self._proven(written, found, limits)
        value = 0 if record is None else written.program.objective(record)
        bound = credible_bound(result.bound, value)
        if bound is None or record is None:
            return Priced(found)
        return Priced(found, written.least(bound), f"{result.solver} {result.version}, at its word".strip())

    def _proven(self, written: PricingProgram, found: NDArray[np.int32], limits: SolveLimits) -> Priced:
        relaxed = relaxation_bound(written.program, self._given, None, limits)
        if relaxed.bound is None:
            return Priced(found)
        how = f"weak duality in exact arithmetic ({relaxed.relaxation}, duals of {relaxed.solver})"
        return Priced(found, written.least(relaxed.bound), how)

    def _program(self, slopes: list[NDArray[np.float64]]) -> PricingProgram:
        queries = [term.queries for term in self._problem.terms]
        return pricing_program(queries, slopes, self._problem.sizes, self._rules)

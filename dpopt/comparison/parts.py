"""What a comparison of solvers is made of: cases, contestants, rows, and what is known of each case."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.row_blocks import Formulation
from dpopt.programs.limits import SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.solver import Solver


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A problem to compare on.

    Attributes
    ----------
    name : str
    problem : MaxCsp
    best_known : int or None
        The largest objective known beforehand.
    bound : int or None
        A bound on every objective that is stated beforehand: the optimum, where that is known.
    """

    name: str
    problem: MaxCsp
    best_known: int | None = None
    bound: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """A solver as it is compared.

    Attributes
    ----------
    label : str
        What the user typed: solver, or solver:formulation.
    inner : Solver
        The solver in its child process.
    formulation : Formulation or None
        How it gets the problem; None: as it is.
    work : int or None
        Deterministic effort beside the time limit.
    """

    label: str
    inner: Solver
    formulation: Formulation | None = None
    work: int | None = None

    def solver(self) -> Solver:
        """Return the solver of a `MaxCsp`.

        Raises
        ------
        ProgramError
            It takes neither clauses nor mixed-integer programs.
        """
        if self.formulation is None:
            return accepting_max_csp(self.inner)
        return accepting_max_csp(self.inner, self.formulation)


@dataclass(frozen=True, slots=True)
class Row:
    """What one solver did on one problem.

    Attributes
    ----------
    case, solver : str
        Names.
    status : str
        Why the solver stopped, or "refused", "unavailable", "failed".
    detail : str
        The solver's own words, or the reason.
    value : int or None
        Exact objective of the final answer; None without one.
    reported_bound : int or None
        The bound that the solver states.
    seconds : float
        Wall-clock seconds of the run with the full limit.
    peak_memory_mb : float or None
        Largest memory of the child process, as it states.
    at_mark : tuple of (seconds, value)
        Value at each mark.
    values_from : str or None
        "history" (incumbents as the solver states them, none better than the final value, which is exact) or "separate
        runs" with these limits (all values exact).
    trajectory : tuple of (seconds, value)
        Improving values over time, from the same source.
    remarks : tuple of str
        What was found out about the row; see `dpopt.comparison.judge`.
    contradicted : tuple of str
        Claims that the solver's own answer contradicts.
    version : str
    """

    case: str
    solver: str
    status: str
    detail: str
    value: int | None = None
    reported_bound: int | None = None
    seconds: float = 0.0
    peak_memory_mb: float | None = None
    at_mark: tuple[tuple[float, int | None], ...] = ()
    values_from: str | None = None
    trajectory: tuple[tuple[float, int], ...] = ()
    remarks: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """What is known of a case after its rows.

    Attributes
    ----------
    name : str
    attributes, clauses : int
        Size of the problem.
    proven_bound : int
        Upper bound proven here, without any solver's word.
    proven_by : str
        The argument.
    best_value : int or None
        The largest exact objective, known beforehand or found.
    stated_bound : int or None
        As stated beforehand.
    """

    name: str
    attributes: int
    clauses: int
    proven_bound: int
    proven_by: str
    best_value: int | None
    stated_bound: int | None


@dataclass(slots=True)
class Comparison:
    """Rows and facts, growing while a comparison runs."""

    limits: SolveLimits
    labels: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    facts: list[CaseFacts] = field(default_factory=list)

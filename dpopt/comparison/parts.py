"""What a comparison of solvers is made of: cases, contestants, rows; and what all rows together show of each one's claims."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
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
        What was found out about the row; see `dpopt.comparison.parts`.
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


FALSE = "FALSE: "
"""Begins a remark on a claim that is not so."""
DEFECT = "DEFECT OF DPOPT: "
"""Begins a remark on a proof that a record disproves: no solver's fault."""


def judged(row: Row, best: int | None, proven_bound: int, stated_bound: int | None) -> Row:
    """Return the row with its remarks: claims that are not so, and what else a reader must know.

    Parameters
    ----------
    row
        What a solver did.
    best
        The largest exact objective that any solver reached, or that was known beforehand.
    proven_bound
        Upper bound that needs no solver's word.
    stated_bound
        The bound that the instance's file states, if any.
    """
    remarks = [f"{FALSE}{claim}; its answer is worth {_shown(row.value)}" for claim in row.contradicted]
    if best is not None:
        if row.reported_bound is not None and row.reported_bound < best:
            remarks.append(f"{FALSE}states the bound {row.reported_bound:,}, and {best:,} is reached")
        if row.status == "optimal" and row.value is not None and row.value < best:
            remarks.append(f"{FALSE}claims that {row.value:,} is optimal, and {best:,} is reached")
        if row.status in {"infeasible", "infeasible or unbounded", "unbounded"}:
            remarks.append(f"{FALSE}claims that the problem is {row.status}, and {best:,} is reached")
    if row.value is not None and stated_bound is not None and row.value > stated_bound:
        remarks.append(
            f"{FALSE}the file states that no record exceeds {stated_bound:,}, and {row.value:,} is reached"
        )
    if row.value is not None and row.value > proven_bound:
        remarks.insert(
            0,
            f"{DEFECT}the proven bound {proven_bound:,} is below a value that was reached, {row.value:,}: please report "
            "this, with the problem",
        )
    elif best is not None and best > proven_bound:
        remarks.append(
            f"the proven bound {proven_bound:,} is below {best:,}, which another solver reached or the file states: it "
            "proves nothing about this row"
        )
    elif row.value is not None and row.value == proven_bound:
        remarks.append("proven optimal")
    return replace(row, remarks=tuple(dict.fromkeys(remarks)))


def claims_what_is_not_so(row: Row) -> bool:
    """Return whether a row has a remark on a false claim."""
    return any(remark.startswith(FALSE) for remark in row.remarks)


def _shown(value: int | None) -> str:
    return "nothing" if value is None else f"{value:,}"

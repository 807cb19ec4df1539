"""Parts of a comparison of solvers: cases, contestants, rows; and how all rows together test each one's claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from dpopt.html_pages.shown import Shown
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.model import Model
from dpopt.programs.certificate import TOLERANCE
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.releases.table_output import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A problem to compare on."""

    name: str
    problem: MaxCsp | Model
    """Weighted clauses, or a model."""
    best_known: int | None = None
    """The largest objective known beforehand."""
    bound: int | None = None
    """A bound on every objective that is stated beforehand: the optimum, where that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """A solver as it is compared."""

    label: str
    """The text that names it: solver, or solver:formulation."""
    inner: Solver
    """The solver in its child process."""
    formulation: Formulation | None = None
    """How it gets the problem; None: as it is."""
    work: int | None = None
    """Deterministic effort, as well as the time limit."""

    def solver(self) -> Solver:
        """Return the solver of a `MaxCsp`."""
        if self.formulation is None:
            return accepting_max_csp(self.inner)
        return accepting_max_csp(self.inner, self.formulation)


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one solver on one problem."""

    case: str
    solver: str
    """Names."""
    status: str
    """Why the solver stopped, or "refused", "unavailable", "failed"."""
    detail: str
    """The solver's own words, or the reason."""
    value: float | None = None
    """Exact objective of the final answer, whole for a record; None without one."""
    reported_bound: float | None = None
    """The bound that the solver states."""
    seconds: float = 0.0
    """Wall-clock seconds of the run with the full limit."""
    peak_memory_mb: float | None = None
    """Largest memory of the child process, as it states."""
    at_mark: tuple[tuple[float, float | None], ...] = ()
    """Seconds and value at each mark."""
    values_from: str | None = None
    """"history" (incumbents as the solver states them, none better than the final value, which is exact) or "separate
    runs" with these limits (all values exact)."""
    trajectory: tuple[tuple[float, float], ...] = ()
    """Seconds and improving values over time, from the same source."""
    remarks: tuple[str, ...] = ()
    """Findings about the row; see `dpopt.comparison.parts`."""
    contradicted: tuple[str, ...] = ()
    """Claims that the solver's own answer contradicts."""
    version: str = ""
    proven_bound: float | None = None
    """The bound that the duals of the answer to a model prove."""
    violation: float | None = None
    """By how much the answer to a model breaks a row, a bound or integrality."""
    bounds: tuple[tuple[float, float], ...] = ()
    """Seconds and tightest bound so far, as the solver states it."""

    @property
    def sound(self) -> bool:
        """Whether the answer breaks no row by more than rounding, so that its value is one of the problem."""
        return self.violation is None or self.violation <= TOLERANCE


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """The facts about a case after its rows."""

    name: str
    size: Mapping[str, int]
    """How large the problem is: attributes and clauses, or variables and rows."""
    proven_bound: float | None
    """Bound on every objective, proven here, without any solver's word; None where nothing proves one."""
    proven_by: str
    """The argument."""
    best_value: float | None
    """The best exact objective, known beforehand or found."""
    stated_bound: float | None
    """As stated beforehand."""
    maximize: bool = True
    """Whether larger objectives are better."""
    whole: bool = True
    """Whether every objective is a whole number, and computed without rounding."""

    def behind(self, value: float, goal: float) -> float:
        """Return by how much a value falls short of a goal, negative beyond it; 0 where they count as the same."""
        short = goal - value if self.maximize else value - goal
        return 0 if abs(short) <= slack(goal, whole=self.whole) else short

    def allows(self, bound: float) -> bool:
        """Return whether no known value disproves a bound."""
        return self.best_value is None or self.behind(bound, self.best_value) <= 0

    def gap(self, value: float | None, bound: float | None) -> float | None:
        """Return by how much a value falls short of a bound; None where there is none."""
        if value is None or bound is None:
            return None
        return bound - value if self.maximize else value - bound

    def distance(self, value: float) -> float:
        """Return the shortfall in per cent of the best value, or of 1 (of 1e-6 for a model) if that is more."""
        best = self.best_value or 0
        return 100.0 * max(0, self.behind(value, best)) / max(1 if self.whole else 1e-6, abs(best))

    def after(self, row: Row) -> CaseFacts:
        """Return the facts with a row added: a better value, or a tighter bound."""
        better, tighter = (max, min) if self.maximize else (min, max)
        values = [one for one in (row.value if row.sound else None, self.best_value) if one is not None]
        proven, by = self.proven_bound, self.proven_by
        if row.proven_bound is not None and (proven is None or tighter(row.proven_bound, proven) != proven):
            proven, by = row.proven_bound, f"weak duality, multipliers of {row.solver}"
        return replace(self, best_value=better(values, default=None), proven_bound=proven, proven_by=by)


def slack(value: float, *, whole: bool) -> float:
    """Return by how much values near this one may differ and count as the same."""
    return 0.0 if whole else TOLERANCE * max(1.0, abs(value))


@dataclass(slots=True, repr=False)
class Comparison(Shown):
    """Rows (one solver on one problem each) and facts about problems, growing while it runs; see `dpopt.compare`.

    Examples
    --------
    >>> import dpopt
    >>> dpopt.compare(dpopt.models.isotonic_regression([2, 1]), "clarabel").to_pandas().status.tolist()
    ['optimal']
    """

    limits: SolveLimits
    labels: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    facts: list[CaseFacts] = field(default_factory=list)

    def _said(self) -> list[str]:
        return [f"problems={len(self.facts)}", ", ".join(self.labels)]

    def to_pandas(self) -> pd.DataFrame:
        """Return a line for each row, with the bound that is proven for its problem."""
        proven = {one.name: one.proven_bound for one in self.facts}
        return frame_of({**asdict(row), "proven_bound": proven[row.case]} for row in self.rows)


FALSE = "FALSE: "
"""Begins a remark on a claim that is not so."""
DEFECT = "DEFECT OF DPOPT: "
"""Begins a remark on a proof that a record disproves: no solver's fault."""


def judged(row: Row, facts: CaseFacts) -> Row:
    """Return the row with its remarks: false claims, and other facts that a reader must know.

    `facts` has the best value of the case that any solver reached or that was known beforehand.
    """
    remarks = [f"{FALSE}{claim}; its answer is worth {shown(row.value)}" for claim in row.contradicted]
    best, value, proven, behind = facts.best_value, row.value, facts.proven_bound, facts.behind
    beyond = "below" if facts.maximize else "above"
    if best is not None:
        reached = f"and {shown(best)} is reached"
        if row.reported_bound is not None and behind(row.reported_bound, best) > 0:
            remarks.append(f"{FALSE}states the bound {shown(row.reported_bound)}, {reached}")
        if row.status == "optimal" and value is not None and behind(value, best) > 0:
            remarks.append(f"{FALSE}claims that {shown(value)} is optimal, {reached}")
        if row.status in {"infeasible", "infeasible or unbounded", "unbounded"}:
            remarks.append(f"{FALSE}claims that the problem is {row.status}, {reached}")
    if value is not None and facts.stated_bound is not None and behind(value, facts.stated_bound) < 0:
        remarks.append(
            f"{FALSE}the file states that no record exceeds {shown(facts.stated_bound)}, and {shown(value)} is reached"
        )
    if not row.sound:
        remarks.append(f"breaks a row by {row.violation:.3g}: its value does not count as reached")
    elif value is not None and proven is not None and behind(value, proven) < 0 and not row.violation:
        remarks.insert(
            0,
            f"{DEFECT}the proven bound {shown(proven)} is {beyond} a value that was reached, {shown(value)}: please "
            f"report this, with the problem",
        )
    elif best is not None and proven is not None and behind(best, proven) < 0:
        remarks.append(
            f"the proven bound {shown(proven)} is {beyond} {shown(best)}, which another solver reached or the file "
            f"states: it proves nothing about this row"
        )
    elif value is not None and proven is not None and behind(value, proven) == 0:
        remarks.append("proven optimal")
    return replace(row, remarks=tuple(dict.fromkeys(remarks)))


def claims_what_is_not_so(row: Row) -> bool:
    """Return whether a row has a remark on a false claim."""
    return any(remark.startswith(FALSE) for remark in row.remarks)


def shown(value: float | None) -> str:
    """Return a value for people: whole, or with ten digits."""
    return "nothing" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"

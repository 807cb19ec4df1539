"""One solver on one problem: a new child process, warmed up; whatever happens becomes a row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from dpopt.algorithms.comparison.parts import Case, Contestant, Row
from dpopt.errors import DpoptError
from dpopt.formulations.max_csp_as_mip import max_csp_as_mip
from dpopt.programs.certificate import TOLERANCE, certify
from dpopt.programs.limits import SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult
from dpopt.programs.solver import Solver, why_refused
from dpopt.queries.clauses import Clauses

MARKS = (0.1, 1.0, 5.0, 20.0, 60.0, 300.0)
"""Seconds at which values are compared, as far as the limit allows."""

WARM_UP_SECONDS = 30.0


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


def run(case: Case, contestant: Contestant, limits: SolveLimits) -> Row:
    """Run one contestant on one case; whatever happens is a row."""
    nothing = Row(case.name, contestant.label, "refused", "")
    availability = contestant.inner.availability()
    if not availability.available:
        return replace(nothing, status="unavailable", detail=availability.explanation)
    limits = replace(limits, work=contestant.work)
    try:
        solver = contestant.solver()
        refusal = why_refused(solver, case.problem)
        if refusal is not None:
            return replace(nothing, detail=refusal)
        _renew(contestant, limits)
        result = solver.solve(case.problem, limits)
        row = _row_of(nothing, case.problem, result)
    except DpoptError as error:
        return replace(nothing, detail=str(error))
    except Exception as error:  # noqa: BLE001  # a solver from outside may raise anything; the others go on
        return replace(nothing, status="failed", detail=f"raised {type(error).__name__}: {error}"[:300])
    else:
        return _over_time(row, case.problem, solver, result, limits)
    finally:
        _close(contestant)


def _renew(contestant: Contestant, limits: SolveLimits) -> None:
    """Start a new child process and let it load its library, before any clock runs.

    The tiny problem goes to the solver itself: presolve would settle it, and nothing would be loaded.
    """
    _close(contestant)
    two = Clauses.conjunctions([[0, 1], [0, 1]], [[0, 1], [1, 0]], [[True, False], [True, True]])
    tiny = MaxCsp(np.array([2, 3], dtype=np.int32), two, np.array([2, -1], dtype=np.int64))
    program = tiny if contestant.formulation is None else max_csp_as_mip(tiny, contestant.formulation)
    contestant.inner.solve(program, replace(limits, seconds=WARM_UP_SECONDS, work=None))


def _close(contestant: Contestant) -> None:
    if isinstance(contestant.inner, _Closable):
        contestant.inner.close()


def _row_of(nothing: Row, problem: MaxCsp, result: SolveResult) -> Row:
    """Return the row of a run, its figures computed from problem and record."""
    value, bound = None, _whole(result.bound)
    refused = "the answer was refused" in result.native_status
    contradicted = [
        f"{text} {float(result.report[key]):g}"
        for key, text in (("claimed_objective", "claimed the value"), ("claimed_bound", "claimed the bound"))
        if key in result.report
    ] + ([result.native_status] if refused else [])
    if result.solution is not None:
        certificate = certify(problem, result)
        value, bound = certificate.objective, certificate.reported_bound
    memory = result.report.get("peak_memory_mb")
    return replace(
        nothing,
        status=_status(result),
        detail=" ".join(result.native_status.split())[:300],
        value=value,
        reported_bound=bound,
        seconds=round(result.seconds, 3),
        peak_memory_mb=None if memory is None else float(memory),
        contradicted=tuple(contradicted),
        version=result.version,
    )


def _status(result: SolveResult) -> str:
    return result.termination.value if result.limit is None else f"{result.limit.value} limit"


def _whole(bound: float | None) -> int | None:
    return None if bound is None else math.floor(bound + TOLERANCE * max(1.0, abs(bound)))


def _over_time(row: Row, problem: MaxCsp, solver: Solver, result: SolveResult, limits: SolveLimits) -> Row:
    """Add the values over time: from the solver's history, or from runs with shorter limits."""
    limit = limits.seconds or math.inf
    marks = [mark for mark in MARKS if mark <= limit]
    if row.value is None:
        return replace(row, at_mark=tuple((mark, None) for mark in marks))
    final = row.value
    stated = [(entry.seconds, entry.objective) for entry in result.history if entry.objective is not None]
    # Objectives are whole; a claim beyond the final value, which is exact, counts as the final value.
    steps = [(seconds, min(final, math.floor(value + 0.5))) for seconds, value in stated]
    if not stated:
        for mark in marks:
            if mark < min(row.seconds, limit):
                steps += _early(problem, solver, replace(limits, seconds=mark), mark)
    steps.append((_nominal(row.seconds, limit), final))
    highest = max((value for _, value in stated), default=-math.inf)
    if highest > final + 0.5:
        row = replace(row, contradicted=(*row.contradicted, f"stated the value {highest:g} on its way"))
    trajectory: list[tuple[float, int]] = []
    for seconds, value in sorted(steps):
        if not trajectory or value > trajectory[-1][1]:
            trajectory.append((round(seconds, 4), value))
    return replace(
        row,
        at_mark=tuple(
            (mark, max((value for seconds, value in steps if seconds <= mark), default=None))
            for mark in marks
        ),
        values_from="history" if stated else "separate runs",
        trajectory=tuple(trajectory),
    )


def _early(problem: MaxCsp, solver: Solver, limits: SolveLimits, mark: float) -> list[tuple[float, int]]:
    """Return time and exact value of a run with a shorter limit; nothing if it finds nothing."""
    try:
        result = solver.solve(problem, limits)
    except Exception:  # noqa: BLE001  # a run that breaks down has found nothing by then; the full run counts
        return []
    if result.solution is None:
        return []
    value = certify(problem, result).objective
    return [] if value is None else [(_nominal(result.seconds, mark), value)]


def _nominal(seconds: float, limit: float) -> float:
    """Return the limit for a run that kept it but for what starting and answering take; else the time it took."""
    return min(seconds, limit) if seconds <= 1.05 * limit + 0.1 else seconds

"""Solvers and formulations run on the same best-response problems with equal limits, one row for each pair.

Every solver runs in a child process that is new for each problem, and that has solved a tiny problem before the clock
starts: loading a library and compiling a kernel count for nobody. Whatever one solver does (crash, hang, claim what is not
so) costs its row. Third-party solvers (entry points) may run in this process; they get copies of the problems.
Values are re-evaluated here; bounds are proven here, once for each problem.
"""

from __future__ import annotations

import contextlib
import copy
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from dpopt.algorithms.after.certify import parse_rounds
from dpopt.algorithms.replay import load
from dpopt.comparison.instances import read_instance
from dpopt.comparison.parts import Case, CaseFacts, Comparison, Contestant, Row, judged
from dpopt.errors import DpoptError, PlanError, ProgramError, SolverUnavailableError
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.programs.certificate import certify, rounded_down
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits, SolveResult
from dpopt.programs.solver import Solver, why_refused
from dpopt.queries.clauses import Clauses
from dpopt.releases.solver_choice import formulation_named, solver_and_formulation, solver_with_duals
from dpopt.solvers.registry import BREAKDOWNS


def cases_from_instances(
    places: Sequence[Path], *, note: Callable[[str], None] = lambda text: None
) -> list[Case]:
    """Return the instances in files and folders (with all below them), by path.

    Parameters
    ----------
    places
        Files *.toml, or folders.
    note
        Called with a note on each file below a folder that is no instance of a best response; a file that is named must be
        one.

    Raises
    ------
    PlanError
        If a place does not exist, a file is named twice, or nothing is found.
    ProgramError
        If a named file is no instance.
    """
    cases: dict[str, Case] = {}
    seen: set[Path] = set()
    for place in places:
        if not place.exists():
            raise PlanError(f"{place} does not exist; name files *.toml or folders of instances")
        for path in [place] if place.is_file() else sorted(place.rglob("*.toml")):
            try:
                if path.resolve() in seen:
                    raise PlanError(f"{path} is named twice")
                seen.add(path.resolve())
                instance = read_instance(path)
            except (OSError, RuntimeError) as error:  # a link that leads to itself
                note(f"left out: {path}: {error}")
                continue
            except ProgramError as error:
                if place.is_file():
                    raise
                note(f"left out: {error}")
                continue
            stem = instance.name.encode(
                "utf-8", "backslashreplace"
            ).decode()  # a file's name need not be text
            name = _unused(stem, path, cases)
            cases[name] = Case(name, instance.problem, instance.best_known, instance.bound)
    if not cases:
        raise PlanError("no instances were found; name files *.toml or folders that hold some")
    return list(cases.values())


def cases_from_transcript(folder: Path, rounds: str) -> list[Case]:
    """Return the best responses of a finished run's rounds; the record on file is what is known beforehand.

    Raises
    ------
    PlanError
        If the text names no rounds of the run.
    TranscriptError
        If the run has not ended, or the transcript is damaged.
    """
    finished = load(folder)
    job = finished.job
    clauses, sizes, rules = job.record_clauses(), job.record_sizes(), job.record_rules()
    wanted = set(parse_rounds(rounds, [played.sampled.round for played in finished.rounds]))
    return [
        Case(
            f"round {played.sampled.round}",
            round_program(clauses, sizes, played.sampled, rules),
            played.certificate.objective,
        )
        for played in finished.rounds
        if played.sampled.round in wanted
    ]


def _unused(name: str, path: Path, taken: dict[str, Case]) -> str:
    """Return a name that no other case has: that of the file, with as many of its folders as are needed."""
    parts = [*path.resolve().parent.parts]
    while name in taken:
        name = f"{parts.pop()}/{name}"
    return name


MARKS = (0.1, 1.0, 5.0, 20.0, 60.0, 300.0)
"""Seconds at which values are compared, as far as the limit allows."""

WARM_UP_SECONDS = 30.0


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


def run(case: Case, contestant: Contestant, limits: SolveLimits) -> Row:
    """Run one contestant on one case; whatever happens is a row.

    The solver gets a copy of the problem; values are computed from the problem itself, which no solver sees.
    """
    nothing = Row(case.name, contestant.label, "refused", "")
    limits = replace(limits, work=contestant.work)
    # What a solver in this process prints would end up between the lines of --json.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return _run(nothing, case.problem, contestant, limits)
        except DpoptError as error:
            return replace(nothing, detail=_words(error))
        except BREAKDOWNS as error:  # a solver from outside may raise anything; the others go on
            detail = f"raised {type(error).__name__}: {_words(error)}"[:300]
            return replace(nothing, status="failed", detail=detail)
        finally:
            with contextlib.suppress(*BREAKDOWNS):
                _close(contestant)


def _run(nothing: Row, problem: MaxCsp, contestant: Contestant, limits: SolveLimits) -> Row:
    availability = contestant.inner.availability()
    if not availability.available:
        return replace(nothing, status="unavailable", detail=str(availability.explanation))
    solver, handed = contestant.solver(), copy.deepcopy(problem)
    refusal = why_refused(solver, handed)
    if refusal is not None:
        return replace(nothing, detail=refusal)
    _renew(contestant, limits)
    result = solver.solve(handed, limits)
    row = _over_time(_row_of(nothing, problem, result), problem, handed, solver, result, limits)
    if handed.fingerprint() != problem.fingerprint():
        return replace(nothing, status="failed", detail="wrote to the arrays of the problem it was handed")
    return row


def _words(error: BaseException) -> str:
    """Return the words of an error; those of a class from outside may raise themselves."""
    try:
        return str(error)
    except BREAKDOWNS:
        return "no words"


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
    value, bound = None, None if result.bound is None else rounded_down(result.bound)
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
        status=str(_status(result)),
        detail=" ".join(result.native_status.split())[:300],
        value=value,
        reported_bound=bound,
        seconds=round(_finite(result.seconds), 3),
        peak_memory_mb=None if memory is None else _finite(memory),
        contradicted=tuple(contradicted),
        version=str(result.version),
    )


def _status(result: SolveResult) -> str:
    return result.termination.value if result.limit is None else f"{result.limit.value} limit"


def _finite(figure: float | str) -> float:
    """Return a figure of a solver; raise ValueError for nan, an infinity and text that is no number."""
    if not math.isfinite(float(figure)):
        raise ValueError(f"stated {figure} where a number is expected")
    return float(figure)


def _over_time(
    row: Row, problem: MaxCsp, handed: MaxCsp, solver: Solver, result: SolveResult, limits: SolveLimits
) -> Row:
    """Add the values over time: from the solver's history, or from runs with shorter limits on the problem it was handed."""
    limit = limits.seconds or math.inf
    marks = [mark for mark in MARKS if mark <= limit]
    if row.value is None:
        return replace(row, at_mark=tuple((mark, None) for mark in marks))
    final = row.value
    stated = [
        (_finite(entry.seconds), _finite(entry.objective))
        for entry in result.history
        if entry.objective is not None
    ]
    # Objectives are whole; a claim beyond the final value, which is exact, counts as the final value.
    steps = [(seconds, min(final, math.floor(value + 0.5))) for seconds, value in stated]
    if not stated:
        for mark in marks:
            if mark < min(row.seconds, limit):
                steps += _early(problem, handed, solver, replace(limits, seconds=mark), mark)
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


def _early(
    problem: MaxCsp, handed: MaxCsp, solver: Solver, limits: SolveLimits, mark: float
) -> list[tuple[float, int]]:
    """Return time and exact value of a run with a shorter limit; nothing if it finds nothing."""
    try:
        result = solver.solve(handed, limits)
    except BREAKDOWNS:  # a run that breaks down has found nothing by then; the full run counts
        return []
    if result.solution is None:
        return []
    value = certify(problem, result).objective
    return [] if value is None else [(_nominal(_finite(result.seconds), mark), value)]


def _nominal(seconds: float, limit: float) -> float:
    """Return the limit for a run that kept it but for what starting and answering take; else the time it took."""
    return min(seconds, limit) if seconds <= 1.05 * limit + 0.1 else seconds


LP_SECONDS = 60.0
ALL_TIME = 10**9
"""Sweeps of the local search, which would otherwise stop after a few thousand: here it uses all of its time."""


def contestant_named(text: str, solver: Solver | None = None) -> Contestant:
    """Return the contestant that a user types: "cp-sat", or "highs:clique".

    Parameters
    ----------
    text
        Solver, or solver:formulation.
    solver
        In place of the registered one, for tests.

    Raises
    ------
    SolverUnavailableError
        No solver has this name.
    PlanError
        No formulation has this name, or the solver needs none.
    """
    inner, formulation = solver_and_formulation(text, in_child if solver is None else lambda name: solver)
    name = text.strip().partition(":")[0]
    if formulation is None:
        return Contestant(name, inner, None, ALL_TIME if name == "local-search" else None)
    return Contestant(f"{name}:{formulation.value}", inner, formulation)


def in_child(name: str) -> Solver:
    """Return a registered solver in a child process: the local search too, which usually runs in the driver's."""
    from dpopt.solvers.process.child_process import InChildProcess
    from dpopt.solvers.registry import AUTO, DEFAULT, SOLVERS, get_solver

    name = DEFAULT if name == AUTO else name
    solver = get_solver(name)
    if isinstance(solver, InChildProcess) or name not in SOLVERS:
        return solver
    return InChildProcess(
        SOLVERS[name].path, name=name, capabilities=solver.capabilities, availability=solver.availability
    )


def compare(
    cases: Sequence[Case],
    contestants: Sequence[Contestant],
    limits: SolveLimits,
    *,
    on_row: Callable[[Comparison], None] = lambda comparison: None,
) -> Comparison:
    """Run every contestant on every case.

    Parameters
    ----------
    cases, contestants
        What to run.
    limits
        The same for all; `seconds` is set.
    on_row
        Called after each row with everything so far; whoever interrupts the run has what was passed last.
    """
    found = Comparison(limits, tuple(contestant.label for contestant in contestants))
    for case in cases:
        facts = _facts(case, limits)
        rows: list[Row] = []
        before = list(found.rows)
        for contestant in contestants:
            rows.append(run(case, contestant, limits))
            values = [row.value for row in rows if row.value is not None]
            best = max([*values, *([] if case.best_known is None else [case.best_known])], default=None)
            now = replace(facts, best_value=best)
            found.rows = before + [judged(row, best, now.proven_bound, case.bound) for row in rows]
            found.facts = [known for known in found.facts if known.name != case.name] + [now]
            on_row(found)
    return found


def _facts(case: Case, limits: SolveLimits) -> CaseFacts:
    """Return size and proven bound of a case."""
    bound, by = case.problem.upper_bound(), "sum of the positive weights"
    try:
        duals = solver_with_duals(None)
        seconds = SolveLimits(seconds=LP_SECONDS, threads=limits.threads)
        relaxed = relaxation_bound(case.problem, duals, formulation_named(None), seconds)
    except SolverUnavailableError as error:
        by += f" ({error})"
    except BREAKDOWNS as error:  # linear programs may go to a solver from outside
        by += f" (the linear relaxation raised {type(error).__name__})"
    else:
        if relaxed.bound is not None and math.floor(relaxed.bound) < bound:
            bound = math.floor(relaxed.bound)
            by = f"weak duality, {relaxed.relaxation}, multipliers of {relaxed.solver}"
    size, clauses = case.problem.number_of_attributes, len(case.problem.clauses)
    return CaseFacts(case.name, size, clauses, bound, by, case.best_known, case.bound)

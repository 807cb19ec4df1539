"""Solvers and formulations run on the same problems with equal limits, one row for each pair.

Every solver runs in a child process that is new for each problem, and that has solved a tiny problem before the clock
starts: loading a library and compiling a kernel count for nobody. Whatever one solver does (crash, hang, claim what is
not so) costs its row. Closed forms run in this process, and third-party solvers unless they are an `InChildProcess`,
timed from here. All get copies of the problems. Values are re-evaluated here; bounds are proven here, once for each problem.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from dpopt.algorithms.after.certify import parse_rounds
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.comparison.instances import read_instance
from dpopt.comparison.parts import Case, CaseFacts, Comparison, Contestant, Row, judged, slack
from dpopt.comparison.problems import Assessed, ClosedForm, Problem, posed
from dpopt.errors import DpoptError, PlanError, ProgramError
from dpopt.models.best_responses.best_response import round_program
from dpopt.models.catalogue import instances
from dpopt.models.model import CLOSED_FORM
from dpopt.programs.certificate import rounded_down
from dpopt.programs.results import SolveLimits, SolveResult
from dpopt.programs.solver import Solver
from dpopt.releases.solver_choice import solver_and_formulation
from dpopt.solvers.outside import words_of
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.solvers.registry import AUTO, BREAKDOWNS, DEFAULT, SOLVERS, get_solver


def cases_from_instances(places: Sequence[Path], *, note: Callable[[str], None] = lambda text: None) -> list[Case]:
    """Return the instances in files and folders (with all below them), by path; or by their names in the catalogue.

    `note` is called on each file below a folder that is no instance of a best response; a file that is named must be
    one.
    """
    cases: dict[str, Case] = {}
    seen, known = set[Path](), instances()
    for named in places:
        place = named if named.exists() else known.get(str(named), named)
        if not place.exists():
            raise PlanError(f"{place} does not exist; name instances of the catalogue, files *.toml or their folders")
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
            stem = instance.name.encode("utf-8", "backslashreplace").decode()  # a file's name need not be text
            name = _unused(stem, path, cases)
            cases[name] = Case(name, instance.problem, instance.best_known, instance.bound)
    if not cases:
        raise PlanError("no instances were found; name files *.toml or folders that hold some")
    return list(cases.values())


def cases_of_rounds(finished: SyntheticRelease, rounds: str) -> list[Case]:
    """Return the best responses of a run's rounds; the record of the run is the best known value."""
    if not finished.played:
        raise PlanError(f"the run of {finished.job.plan.algorithm} has no rounds of dualquery to compare on")
    job = finished.job
    clauses, sizes, rules = job.workload.clauses, job.schema.sizes, job.schema.circuit()
    wanted = set(parse_rounds(rounds, [played.sampled.round for played in finished.played]))
    return [
        Case(
            f"round {played.sampled.round}",
            round_program(clauses, sizes, played.sampled, rules),
            played.certificate.objective,
        )
        for played in finished.played
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


def run(case: Case, contestant: Contestant, limits: SolveLimits) -> Row:
    """Run one contestant on one case; whatever happens is a row.

    The solver gets a copy of the problem; values are computed from the problem itself, which no solver sees.
    """
    nothing = Row(case.name, contestant.label, "refused", "")
    limits = replace(limits, work=contestant.work)
    # What a solver in this process prints would end up between the lines of --json.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return _run(nothing, posed(case.problem), contestant, limits)
        except DpoptError as error:
            return replace(nothing, detail=words_of(error))
        except BREAKDOWNS as error:  # a solver from outside may raise anything; the others go on
            detail = f"raised {type(error).__name__}: {words_of(error)}"[:300]
            return replace(nothing, status="failed", detail=detail)
        finally:
            with contextlib.suppress(*BREAKDOWNS):
                _close(contestant)


def _run(nothing: Row, problem: Problem, contestant: Contestant, limits: SolveLimits) -> Row:
    availability = contestant.inner.availability()
    if not availability.available:
        return replace(nothing, status="unavailable", detail=str(availability.explanation))
    handed = problem.handed()
    refusal = handed.why_refused(contestant)
    if refusal is not None:
        return replace(nothing, detail=refusal)
    _close(contestant)
    problem.warm_up(contestant, limits)  # in a new child process, which loads its library before any clock runs
    result = handed.solve(contestant, limits)
    row = _over_time(_row_of(nothing, problem, result), problem, handed, contestant, result, limits)
    if handed.fingerprint() != problem.fingerprint():
        return replace(nothing, status="failed", detail="wrote to the arrays of the problem it was handed")
    return row


def _close(contestant: Contestant) -> None:
    close = getattr(contestant.inner, "close", None)
    if callable(close):
        close()


def _row_of(nothing: Row, problem: Problem, result: SolveResult) -> Row:
    """Return the row of a run, its figures computed from problem and record."""
    found = Assessed(None, _bound(result.bound, problem))
    refused = "the answer was refused" in result.native_status
    contradicted = [
        f"{text} {float(result.report[key]):g}"
        for key, text in (("claimed_objective", "claimed the value"), ("claimed_bound", "claimed the bound"))
        if key in result.report
    ] + ([result.native_status] if refused else [])
    if result.solution is not None:
        found = problem.assess(result)
    memory = result.report.get("peak_memory_mb")
    return replace(
        nothing,
        status=str(_status(result)),
        detail=" ".join(result.native_status.split())[:300],
        value=found.value,
        reported_bound=found.reported_bound,
        proven_bound=found.proven_bound,
        violation=found.violation,
        seconds=round(_finite(result.seconds), 3),
        peak_memory_mb=None if memory is None else _finite(memory),
        contradicted=tuple(contradicted),
        version=str(result.version),
        bounds=_bounds(result, problem),
    )


def _bounds(result: SolveResult, problem: Problem) -> tuple[tuple[float, float], ...]:
    """Return the tightest bound so far over time, as the solver states it."""
    stated = [*((one.seconds, one.bound) for one in result.history), (result.seconds, result.bound)]
    known = [(_finite(at), bound) for at, bound in stated if bound is not None and math.isfinite(bound)]
    finite = [(at, rounded_down(bound) if problem.whole else bound) for at, bound in known]
    tightest = accumulate((bound for _, bound in finite), min if problem.maximize else max)
    return tuple(zip((round(at, 4) for at, _ in finite), tightest, strict=True))


def _status(result: SolveResult) -> str:
    return result.termination.value if result.limit is None else f"{result.limit.value} limit"


def _bound(bound: float | None, problem: Problem) -> float | None:
    return rounded_down(bound) if bound is not None and problem.whole else bound


def _finite(figure: float | str) -> float:
    """Return a figure of a solver; raise ValueError for nan, an infinity and text that is not a number."""
    if not math.isfinite(float(figure)):
        raise ValueError(f"stated {figure} where a number is expected")
    return float(figure)


def _over_time(
    row: Row, problem: Problem, handed: Problem, contestant: Contestant, result: SolveResult, limits: SolveLimits
) -> Row:
    """Add the values over time: from the solver's history, or from runs with shorter limits on the same problem."""
    limit = limits.seconds or math.inf
    marks = [mark for mark in MARKS if mark <= limit]
    if row.value is None:
        return replace(row, at_mark=tuple((mark, None) for mark in marks))
    final, better = row.value, max if problem.maximize else min
    stated = [
        (_finite(entry.seconds), _finite(entry.objective)) for entry in result.history if entry.objective is not None
    ]
    # A claim beyond the final value, which is exact, counts as the final value.
    credible = [math.floor(value + 0.5) if problem.whole else value for _, value in stated]
    steps = [
        (seconds, value if better(value, final) == final else final)
        for (seconds, _), value in zip(stated, credible, strict=True)
    ]
    if not stated:
        for mark in marks:
            if mark < min(row.seconds, limit):
                steps += _early(problem, handed, contestant, replace(limits, seconds=mark), mark)
    steps.append((_nominal(row.seconds, limit), final))
    furthest = better(credible, default=final)
    if better(furthest, final) != final and abs(furthest - final) > slack(final, whole=problem.whole):
        row = replace(row, contradicted=(*row.contradicted, f"stated the value {furthest:g} on its way"))
    trajectory: list[tuple[float, float]] = []
    for seconds, value in sorted(steps):
        if not trajectory or better(value, trajectory[-1][1]) != trajectory[-1][1]:
            trajectory.append((round(seconds, 4), value))
    return replace(
        row,
        at_mark=tuple(
            (mark, better((value for seconds, value in steps if seconds <= mark), default=None)) for mark in marks
        ),
        values_from="history" if stated else "separate runs",
        trajectory=tuple(trajectory),
    )


def _early(
    problem: Problem, handed: Problem, contestant: Contestant, limits: SolveLimits, mark: float
) -> list[tuple[float, float]]:
    """Return time and exact value of a run with a shorter limit; nothing if it finds nothing."""
    try:
        result = handed.solve(contestant, limits)
    except BREAKDOWNS:  # a run that breaks down has found nothing by then; the full run counts
        return []
    if result.solution is None:
        return []
    value = problem.assess(result).value
    return [] if value is None else [(_nominal(_finite(result.seconds), mark), value)]


def _nominal(seconds: float, limit: float) -> float:
    """Return the limit of a run that kept it, apart from starting and answering; else the time that it took."""
    return min(seconds, limit) if seconds <= 1.05 * limit + 0.1 else seconds


ALL_TIME = 10**9
"""Sweeps of the local search, which would otherwise stop after a few thousand: here it uses all of its time."""


def contestant_named(given: str | Solver, *, models: bool = False) -> Contestant:
    """Return the contestant that a user types, "cp-sat" or "highs:clique", for models "closed-form"; or gives as it is."""
    text = given.strip() if isinstance(given, str) else get_solver(given).name
    name, colon, _ = text.partition(":") if isinstance(given, str) else (text, "", "")
    if models:
        if colon:
            raise PlanError(f"a model has one formulation; found {text!r}, give {name!r}")
        if isinstance(given, str):
            given = ClosedForm() if name == CLOSED_FORM else in_child(name)
        return Contestant(name, given)
    inner, formulation = solver_and_formulation(given, in_child)
    if formulation is None:
        return Contestant(name, inner, None, ALL_TIME if name == "local-search" else None)
    return Contestant(f"{name}:{formulation.value}", inner, formulation)


def in_child(name: str) -> Solver:
    """Return a registered solver in a child process: the local search too, which usually runs in the driver's."""
    name = DEFAULT if name == AUTO else name
    solver = get_solver(name)
    if isinstance(solver, InChildProcess) or name not in SOLVERS:
        return solver
    return InChildProcess(
        SOLVERS[name].path, name=name, capabilities=solver.capabilities, availability=solver.availability
    )


def run_comparison(
    cases: Sequence[Case],
    contestants: Sequence[Contestant],
    limits: SolveLimits,
    *,
    on_row: Callable[[Comparison], None] = lambda comparison: None,
) -> Comparison:
    """Run every contestant on every case.

    Limits are the same for all; `seconds` is set. `on_row` is called after each row with everything so far; whoever
    interrupts the run has what was passed last.
    """
    found = Comparison(limits, tuple(contestant.label for contestant in contestants))
    for case in cases:
        facts, before, rows = _facts(case, limits), list(found.rows), list[Row]()
        for contestant in contestants:
            rows.append(run(case, contestant, limits))
            facts = facts.after(rows[-1])
            found.rows = before + [judged(row, facts) for row in rows]
            found.facts = [known for known in found.facts if known.name != case.name] + [facts]
            on_row(found)
    return found


def _facts(case: Case, limits: SolveLimits) -> CaseFacts:
    """Return the facts about a case before its rows: size, proven bound, best known value."""
    problem = posed(case.problem)
    bound, by = problem.bound(limits)
    return CaseFacts(
        case.name,
        problem.size(),
        bound,
        by,
        case.best_known,
        case.bound,
        maximize=problem.maximize,
        whole=problem.whole,
    )

"""Solvers that are no part of dpopt: asked with an end to the waiting, and tried before anything depends on them.

A call from Python cannot be ended. So such a solver works in a thread, which is left to itself where it does not
answer. Native code that holds the interpreter's lock holds dpopt too: wrap an adapter in `InChildProcess`, whose
process is killed.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dpopt.errors import AccuracyWarning, DpoptError, PlanError, ProgramError, SolverUnavailableError, warn
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program, Solver
from dpopt.programs.verification import verified
from dpopt.queries.clauses import Clauses
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.solvers.registry import BREAKDOWNS, require_available

TRIAL_SECONDS, TRIAL_OF_OTHERS = 30.0, 2.0
"""Time limits on a tiny problem: of parts of dpopt, which end early; of solvers from outside, which may use all."""
PATIENCE, OVERRUN = 60.0, 2.0
"""Seconds, or multiples of the time limit, that a foreign solver is waited for: the longer of the two."""

_Reply = queue.SimpleQueue[tuple[object, BaseException | None]]
_Tasks = queue.SimpleQueue[tuple[Callable[[], object], _Reply]]
_idle: list[_Tasks] = []
_overdue: list[tuple[Solver, _Reply]] = []
_passed: deque[tuple[Solver, Capability, bool]] = deque(maxlen=16)  # and whether it states a bound
_warm: deque[tuple[Solver, str]] = deque(maxlen=16)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads stay behind


def answer(solver: Solver, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> object:
    """Return or raise the outcome of `solve`, timed here; without a time limit it is waited for."""
    inner, solve = outsider(solver), partial(solver.solve, program, limits, hint=hint)
    if inner is None:
        return solve()
    begun = time.perf_counter()
    if isinstance(inner, InChildProcess):
        return _timed(solve(), begun)
    _overdue[:] = [one for one in _overdue if one[1].empty()]
    reason = f"the solver {name_of(inner)!r} did not answer"
    if any(late is inner for late, _ in _overdue):
        raise SolverUnavailableError(f"{reason}, and is still at it")
    wait = None if limits.seconds is None else max(PATIENCE, OVERRUN * limits.seconds)
    try:
        tasks, reply = _idle.pop(), _Reply()
    except IndexError:
        tasks, reply = _Tasks(), _Reply()
        threading.Thread(target=_work, args=(tasks,), daemon=True).start()
    tasks.put((partial(contextvars.copy_context().run, solve), reply))
    try:
        result, error = reply.get(timeout=wait)
    except queue.Empty:
        _overdue.append((inner, reply))
        reason += f" within {wait:g} s, at a limit of {limits.seconds:g} s"
        raise SolverUnavailableError(reason) from None
    _idle.append(tasks)
    if error is not None:
        error.add_note("raised by the solver")
        raise error
    return _timed(result, begun)


def _timed(result: object, begun: float) -> object:
    """Return a result with the seconds of its call, within which its history lies: a solver's word on time is none."""
    taken = time.perf_counter() - begun
    if not isinstance(result, SolveResult):
        return result
    known = tuple(replace(one, seconds=min(one.seconds, taken)) for one in result.history if not one.seconds < 0)
    return replace(result, seconds=taken, history=known)


def solver_result(
    solver: Solver, program: Program, limits: SolveLimits, *, hint: Point | None = None, of: str = "a problem"
) -> SolveResult:
    """Return a solver's result, its fields checked again; raises ProgramError for whatever else it does, or as `answer`."""
    try:
        found = answer(solver, program, limits, hint=hint)
        if isinstance(found, SolveResult) and isinstance(found.termination, Termination):
            return replace(found)
        reason = f"the solver {name_of(solver)} answered with {type(found).__name__}; expected SolveResult"
    except (KeyboardInterrupt, DpoptError):
        raise
    except BaseException as error:  # exits and panics too: a run goes on without the solver
        reason = f"the solver broke down: {type(error).__name__}: {words_of(error):.200}"
        raise ProgramError(f"{name_of(solver)} found no answer to {of}: {reason}") from error
    raise ProgramError(f"{of}: {reason}")


def warm_up(solver: Solver, program: Program, limits: SolveLimits) -> None:
    """Let a solver solve a tiny problem before a clock runs, one from outside in this process only once."""
    inner, known = outsider(solver), program.fingerprint()
    if any(one is inner and warm == known for one, warm in _warm):
        return
    most = TRIAL_SECONDS if inner is None else min(TRIAL_OF_OTHERS, limits.seconds or TRIAL_OF_OTHERS)
    answer(solver, program, replace(limits, seconds=most, work=None))
    if inner is not None and not hasattr(inner, "close"):  # who closes a process begins another
        _warm.append((inner, known))


def tried(solver: Solver, takes: Capability, *, bounds: bool = False) -> Solver:
    """Return the solver, tried once if it is from outside; raises where it cannot run, is silent, or lacks `bounds`."""
    inner = outsider(require_available(solver))
    known = [stated for one, kind, stated in _passed if one is inner and kind is takes]
    if inner is not None and not known:
        known = _trial(solver, inner, takes)
    if bounds and not all(known):
        raise PlanError(
            f"--gap needs a bound, and {name_of(solver)!r} states none; name an exact solver, such as cp-sat"
        )
    return solver


def _trial(solver: Solver, inner: Solver, takes: Capability) -> list[bool]:
    """Try a solver, and return whether it states a bound; nothing, after a warning, where it fails."""
    (program, best), where = (tiny_problem(takes), f"it was tried on a problem of two variables ({takes.value})")
    try:
        result = solver_result(solver, program, SolveLimits(seconds=TRIAL_OF_OTHERS))
        why = _wrong(program, verified(program, result), best)
    except SolverUnavailableError as error:
        raise SolverUnavailableError(f"{error}; {where}. Correct it, or use another solver") from error
    except (DpoptError, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and not hasattr(error, "__notes__"):
            raise  # the user's word, which no thread of a solver hears
        why = str(error) or "it was interrupted"
    if why is None:
        _passed.append((inner, takes, result.bound is not None or result.termination is Termination.OPTIMAL))
        return [_passed[-1][2]]
    failure = f"the solver {name_of(solver)!r} failed: {where}: {why}. Mend it, or take another one"
    answers = "where it fails, a method of dpopt's own answers, in rounds a short local search, or none does"
    warn(AccuracyWarning(f"{failure}: {answers}"))
    return []


def tiny_clauses() -> MaxCsp:
    """Return the tiny problem of weighted clauses."""
    two = Clauses.conjunctions([[0, 1], [0, 1]], [[1, 2], [0, 0]], [[True, True], [True, True]])
    return MaxCsp(np.array([2, 3], dtype=np.int32), two, np.array([2, -1], dtype=np.int64))


def tiny_problem(takes: Capability) -> tuple[Program, float]:
    """Return a public problem of two variables for a solver to be tried on, and its optimum."""
    if takes is Capability.MAX_CSP:
        return tiny_clauses(), 2.0
    build, whole = Builder(), takes in {Capability.MIP, Capability.WHOLE}
    x = build.variables("x", 2, upper=4.0, objective=1.0, whole=whole)
    build.rows("sum", 1, (0, x, 1.0), lower=3.0)
    if takes is Capability.CONVEX_QP:
        build.squares("near", 2, (np.arange(2), x, 1.0), targets=2.0)
        return build.program(), 3.25
    if takes is Capability.CONES:
        build.cones("length", Cone.SECOND_ORDER, 1, 2, (np.arange(2), x, 1.0))
    return build.program(), 3.0


def _wrong(program: Program, result: SolveResult, best: float) -> str | None:
    """Return the fault of a verified answer to a tiny problem; empty if there is none."""
    if result.objective is None:
        return f"it ended {result.termination.value!r} without a solution: {result.native_status:.200}"
    sense, optimal = 1.0 if isinstance(program, MaxCsp) else -1.0, result.termination is Termination.OPTIMAL
    stated = {"bound": result.bound, "optimum": result.objective if optimal else None}
    wrong = [
        f"{what} {value:g}" for what, value in stated.items() if value is not None and sense * (best - value) > 1e-2
    ]
    wrong += [f"{what} {claim}" for what, claim in result.report.items() if what.startswith("claimed_")]
    return f"it states the {', '.join(wrong)}; the optimum is {best:g}" if wrong else None


def words_of(error: BaseException) -> str:
    """Return the text of an error; a foreign class can raise another one while it makes its text."""
    try:
        return str(error)
    except BREAKDOWNS:
        return "no words"


def name_of(solver: Solver) -> str:
    """Return a solver's name, whatever its code does."""
    try:
        return str.__str__(solver.name)
    except BREAKDOWNS:
        return "a solver without a name"


def outsider(solver: Solver) -> Solver | None:
    """Return the solver from outside that gets a problem in the end; None where that is a part of dpopt."""
    if getattr(solver, "outside", False):
        return solver
    while type(solver).__module__.startswith("dpopt.") and hasattr(solver, "inner"):
        solver = solver.inner
    path = solver.adapter if isinstance(solver, InChildProcess) else type(solver).__module__
    return None if path.startswith("dpopt.") else solver


def _work(tasks: _Tasks) -> None:
    """Run tasks one after the other: the threads of a solver can end with the thread that started them."""
    while True:
        call, reply = tasks.get()
        try:
            reply.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # raised again where the answer is read
            reply.put((None, error))

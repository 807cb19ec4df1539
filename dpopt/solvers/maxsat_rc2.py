"""MaxSAT by RC2 of python-sat: a MaxCsp, with rules that count, as a weighted CNF (`dpopt.programs.weighted_cnf`).

RC2 raises a lower bound on the lost weight, core by core, until a record loses no more. So there is no record before
the optimum; the bound it has reached when it is stopped is an upper bound on the objective.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpopt.programs.max_csp import require_max_csp
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.programs.weighted_cnf import WeightedCnf, record_of, weighted_cnf
from dpopt.solvers.process.adapter import History, Means, Verdict

if TYPE_CHECKING:
    from pysat.formula import WCNF

_T = TypeVar("_T")


STATUS: dict[str, Verdict] = {
    "optimum found": Means.OPTIMAL,
    "hard clauses contradict": Means.INFEASIBLE,
    "interrupted": Means.TIME,
    "no model": Means.FAILED,
}
"""How RC2 ends: with a model; or without one, told apart by a SAT solver on the hard clauses alone and by our clock."""

_AGAIN_SECONDS = 0.05  # RC2 clears an interruption when it meets one, and goes on to improve its last core


@dataclass(frozen=True, slots=True)
class Rc2:
    """The adapter. Not honoured: work, gap and threads (RC2 has one), seed (it draws nothing), hints."""

    name: str = "rc2"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.CARDINALITY_RULES})

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MaxCsp."""
        import pysat

        program = require_max_csp(program, self.name)
        history = History()
        reduction = reduce_max_csp(program, hint)
        problem = reduction.problem
        cnf = weighted_cnf(problem)
        best = problem.upper_bound() - cnf.lost
        outcome = _optimum(cnf, limits.seconds, history, best)
        native, model = outcome.native, outcome.model
        termination, limit = STATUS[native]
        record = None if model is None else reduction.expand(record_of(cnf, problem, model))
        objective = None if record is None else float(program.objective(record))
        bound = None if termination is Termination.INFEASIBLE else float(best - outcome.lost)
        history.note(objective=objective, bound=bound)
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=record,
            objective=objective,
            bound=bound,
            solver=self.name,
            version=f"python-sat {pysat.__version__}",
            native_status=native,
            report={"cores": outcome.cores, "variables": cnf.variables, "hard_clauses": len(cnf.hard)},
            history=history.entries(),
        )


@dataclass(slots=True)
class _Outcome:
    """How RC2 ended: in which words, its model, the weight that every record loses at least, the number of cores."""

    native: str = "no model"
    model: list[int] | None = None
    lost: int = 0
    cores: int = 0


class _Clock:
    """Interrupts a solver when the time is over, again and again until it has ended."""

    def __init__(self, seconds: float | None) -> None:
        self.over = threading.Event()
        self._ended = threading.Event()
        self._end = None if seconds is None else time.perf_counter() + seconds

    def run(self, solve: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
        """Return the result of `solve`."""
        self._ended = ended = threading.Event()
        if self._end is not None:
            threading.Thread(target=self._watch, args=(ended, interrupt), daemon=True).start()
        try:
            return solve()
        finally:
            ended.set()

    def _watch(self, ended: threading.Event, interrupt: Callable[[], None]) -> None:
        remaining = 0.0 if self._end is None else self._end - time.perf_counter()
        while not ended.wait(max(0.0, remaining)):
            self.over.set()  # before the interruption: what comes after it is not counted
            interrupt()
            remaining = _AGAIN_SECONDS


def _optimum(cnf: WeightedCnf, seconds: float | None, history: History, best: int) -> _Outcome:
    """Let a SAT solver look at the hard clauses, then RC2 at all of them."""
    from pysat.examples.rc2 import RC2Stratified
    from pysat.solvers import Glucose3

    outcome, clock = _Outcome(), _Clock(seconds)
    with Glucose3(bootstrap_with=cnf.hard) as hard:
        found = clock.run(lambda: hard.solve_limited(expect_interrupt=True), hard.interrupt)
        if found is None or clock.over.is_set():
            outcome.native = "interrupted"
            return outcome
        if not found:
            outcome.native = "hard clauses contradict"
            return outcome
        if not cnf.soft:
            outcome.native, outcome.model = "optimum found", hard.get_model()
            return outcome

    class Noting(RC2Stratified):  # type: ignore[misc]  # no types
        """RC2 that notes the bound of each core, unless an interruption could have cut it short."""

        def process_core(self) -> None:
            super().process_core()
            if not clock.over.is_set():
                outcome.lost, outcome.cores = int(self.cost), outcome.cores + 1
                history.note(bound=float(best - outcome.lost))

    with Noting(_formula(cnf), solver="g3", adapt=True, exhaust=True, minz=True) as solver:
        model = clock.run(lambda: solver.compute(expect_interrupt=True), solver.interrupt)
        outcome.model = model
        if clock.over.is_set():
            outcome.native = "interrupted"  # a model all the same is one, but its optimality is not RC2's word
        elif model is not None:
            outcome.native, outcome.lost = "optimum found", int(solver.cost)
    return outcome


def _formula(cnf: WeightedCnf) -> WCNF:
    from pysat.formula import WCNF

    formula = WCNF()
    formula.nv = cnf.variables
    for clause in cnf.hard:
        formula.append(clause)
    for clause, weight in zip(cnf.soft, cnf.weights, strict=True):
        formula.append(clause, weight=weight)
    return formula

"""MaxSAT by RC2 of python-sat: a MaxCsp, with rules that count, as a weighted CNF.

The weighted CNF (`weighted_cnf`) is in plain numbers, without the library. Hard clauses: each attribute has exactly one
code; every required gate is true. Soft clauses: for each clause of the program one, whose weight is lost where the
clause of positive weight is false or the one of negative weight true. So

    objective of a record = sum of the positive weights - weight of the soft clauses that it breaks.

A literal "attribute has code v" is a variable; an attribute with two codes has one variable.

RC2 raises a lower bound on the lost weight, core by core, until a record loses no more. So there is no record before
the optimum; the bound it has reached when it is stopped is an upper bound on the objective.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.solvers.process.adapter import History, Means, Verdict

if TYPE_CHECKING:
    from pysat.formula import WCNF

AtLeast = Callable[[list[int], int, int], tuple[list[list[int]], int]]
"""Literals, how many of them at least, largest variable so far: the clauses, and the largest variable then."""


@dataclass
class WeightedCnf:
    """Clauses over variables 1, 2, ...; a negative number is the negation."""

    codes: list[int] = field(default_factory=list)
    """Literal of each flat column of the program."""
    hard: list[list[int]] = field(default_factory=list)
    """Clauses that must hold."""
    soft: list[list[int]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    """Clauses that should, and what each is worth (> 0)."""
    lost: int = 0
    """Weight that is lost whatever the record is, beyond that of broken soft clauses."""
    variables: int = 0

    def new(self) -> int:
        """Return a new variable."""
        self.variables += 1
        return self.variables


def weighted_cnf(problem: MaxCsp, at_least: AtLeast) -> WeightedCnf:
    """Return the weighted CNF of a problem whose rules count conditions once each.

    Loops over the clauses, as their lists of literals are what a SAT library takes.

    Parameters
    ----------
    problem
        The problem; `problem.rules.number_of_weighted_rule()` is None.
    at_least
        Encodes "at least so many of these literals".
    """
    cnf = WeightedCnf()
    _add_attributes(cnf, problem.sizes)
    _add_clauses(cnf, problem)
    _add_rules(cnf, problem.rules, problem.offsets(), at_least)
    return cnf


def record_of(cnf: WeightedCnf, problem: MaxCsp, model: Sequence[int]) -> NDArray[np.int32]:
    """Return the record (d,) int32 of a model: for each variable, itself or its negation."""
    values = np.zeros(cnf.variables + 1, dtype=np.bool_)
    numbers = np.array([number for number in model if abs(number) <= cnf.variables], dtype=np.int64)
    values[np.abs(numbers)] = numbers > 0
    literals = np.array(cnf.codes, dtype=np.int64)
    chosen = np.flatnonzero(values[np.abs(literals)] == (literals > 0))
    return (chosen - problem.offsets()[:-1]).astype(np.int32)


def _add_attributes(cnf: WeightedCnf, sizes: NDArray[np.int32]) -> None:
    for size in sizes.tolist():
        if size == 2:
            first = cnf.new()
            cnf.codes += [first, -first]
            continue
        group = [cnf.new() for _ in range(size)]
        cnf.codes += group
        _exactly_one(cnf, group)


def _exactly_one(cnf: WeightedCnf, group: list[int]) -> None:
    """Add that one literal is true: pairs where they are few, else a chain of "one of the first i is true"."""
    cnf.hard.append(list(group))
    if len(group) <= 5:
        cnf.hard += [[-a, -b] for place, a in enumerate(group) for b in group[place + 1 :]]
        return
    reached = group[0]
    for literal in group[1:-1]:
        cnf.hard.append([-reached, -literal])
        after = cnf.new()
        cnf.hard += [[-reached, after], [-literal, after]]
        reached = after
    cnf.hard.append([-reached, -group[-1]])


def _add_clauses(cnf: WeightedCnf, problem: MaxCsp) -> None:
    clauses = problem.clauses
    used = clauses.attributes >= 0
    columns = np.where(used, problem.offsets()[np.where(used, clauses.attributes, 0)] + clauses.values, 0)
    rows = zip(
        columns.tolist(),
        clauses.signs.tolist(),
        clauses.accepted.tolist(),
        clauses.widths().tolist(),
        problem.weights.tolist(),
        strict=True,
    )
    for places, signs, accepted, width, weight in rows:
        pairs = zip(places[:width], signs[:width], strict=True)
        literals = [cnf.codes[place] if sign else -cnf.codes[place] for place, sign in pairs]
        every = (1 << (width + 1)) - 1
        _add_soft(cnf, literals, accepted if weight > 0 else every & ~accepted, abs(weight))


def _add_soft(cnf: WeightedCnf, literals: list[int], wanted: int, weight: int) -> None:
    """Add a soft clause: the number of true literals is one of the bits of `wanted`."""
    width = len(literals)
    every = (1 << (width + 1)) - 1
    if wanted == every:
        return
    if wanted == 0:
        cnf.lost += weight
        return
    if wanted == every - 1:  # one at least
        soft = list(literals)
    elif wanted == every >> 1:  # not all
        soft = [-literal for literal in literals]
    else:
        truth = cnf.new()
        soft = [truth]
        if wanted == 1 << width:
            cnf.hard += [[-truth, literal] for literal in literals]
        elif wanted == 1:
            cnf.hard += [[-truth, -literal] for literal in literals]
        else:
            _count_implied(cnf, truth, literals, wanted)
    cnf.soft.append(soft)
    cnf.weights.append(weight)


def _count_implied(cnf: WeightedCnf, truth: int, literals: list[int], wanted: int) -> None:
    """Add that `truth` lets the number of true literals be one of the bits of `wanted`.

    counts[j] = "j of the literals so far are true" is implied by what came before, one literal after the other.
    """
    counts = {0: 0}  # 0 stands for "true"
    for literal in literals:
        after: dict[int, int] = {}
        for j, reached in counts.items():
            known = [] if reached == 0 else [-reached]
            for number, condition in ((j, literal), (j + 1, -literal)):
                variable = after.setdefault(number, 0) or cnf.new()
                after[number] = variable
                cnf.hard.append([*known, condition, variable])
        counts = after
    cnf.hard += [[-truth, -variable] for j, variable in counts.items() if not wanted >> j & 1]


def _add_rules(cnf: WeightedCnf, rules: ThresholdCircuit, offsets: NDArray[np.int64], at_least: AtLeast) -> None:
    """Add the gates, children first: a required one holds, another one is implied by a variable of its own."""
    attributes, bounds = rules.term_attributes.tolist(), rules.bounds.tolist()
    low, high = rules.term_ranges()
    truths: list[int] = []
    for gate, required in enumerate(rules.required.tolist()):
        terms = range(int(rules.term_starts[gate]), int(rules.term_starts[gate + 1]))
        needed = bounds[gate] - sum(int(low[term]) for term in terms)
        inputs = []
        for term in terms:
            if high[term] > low[term]:
                values = rules.values[rules.value_starts[term] : rules.value_starts[term + 1]]
                first = int(offsets[attributes[term]])
                inputs.append([cnf.codes[first + code] for code in np.flatnonzero(values == high[term]).tolist()])
        entries = slice(int(rules.child_starts[gate]), int(rules.child_starts[gate + 1]))
        children = rules.children[entries].tolist()
        inputs += [[truths[child]] for child in children if truths[child]]
        needed -= sum(not truths[child] for child in children)  # a required gate is true anyway
        truth = 0 if required else cnf.new()
        truths.append(truth)
        _add_gate(cnf, [] if required else [-truth], inputs, needed, at_least)


def _add_gate(cnf: WeightedCnf, unless: list[int], inputs: list[list[int]], needed: int, at_least: AtLeast) -> None:
    """Add that at least so many inputs hold, each a list of literals where one suffices, unless a literal is true."""
    if needed <= 0:
        return
    if needed > len(inputs):
        cnf.hard.append(unless)
    elif needed == 1:
        cnf.hard.append([*unless, *(literal for one in inputs for literal in one)])
    elif needed == len(inputs):
        cnf.hard += [[*unless, *one] for one in inputs]
    else:
        clauses, cnf.variables = at_least([_single(cnf, one) for one in inputs], needed, cnf.variables)
        cnf.hard += [[*unless, *clause] for clause in clauses]


def _single(cnf: WeightedCnf, literals: list[int]) -> int:
    """Return a literal that implies that one of these is true."""
    if len(literals) == 1:
        return literals[0]
    any_of = cnf.new()
    cnf.hard.append([-any_of, *literals])
    return any_of


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

        if not isinstance(program, MaxCsp):
            raise ProgramError("rc2 takes a MaxCsp")
        history = History()
        reduction = reduce_max_csp(program, hint)
        problem = reduction.problem
        cnf = weighted_cnf(problem, _at_least)
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
        """Return what `solve` returns."""
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
        """RC2 that notes what each core proves, unless an interruption may have cut it short."""

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


def _at_least(literals: list[int], needed: int, largest: int) -> tuple[list[list[int]], int]:
    from pysat.card import CardEnc, EncType

    encoded = CardEnc.atleast(lits=literals, bound=needed, top_id=largest, encoding=EncType.seqcounter)
    return [list(clause) for clause in encoded.clauses], max(largest, int(encoded.nv))

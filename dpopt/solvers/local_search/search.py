"""The default solver: simulated annealing with heat-bath moves on weighted clauses.

Problem: maximize sum_j w_j [clause j is true of x] over records x (a `MaxCsp`). It gives records of high weight in
milliseconds and no bound.

Method. A move takes one attribute a and draws its code from the distribution proportional to exp(gain(code) /
temperature) given all other attributes (heat bath, Gibbs sampling); a sweep moves every attribute once. The temperature
falls geometrically from 2 times the root mean square of the weights to 0.1 times the median absolute weight, so that a
problem and its multiple are searched alike. Then exact descent: single attributes, and pairs of attributes. This is
repeated from independent random numbers, `SWEEPS_PER_ANNEAL` sweeps each, and the best record is kept; so are the
results of plain descent from the hint and from the background record, so the answer is never worse than the hint.

Under hard rules (`FeasibleSearch`) a feasible record is found first: the hint or the background record, walked towards
the rules if it breaks some. From there the annealing stays feasible: heat-bath moves among codes that break nothing, and
compound moves that change several attributes at once where rules tie them together (`rules_kernels`). At the end every
code of every attribute is tried as a compound move followed by exact descent, until none improves. Measured before this
was chosen (24 attributes with the rules of a census table, and tic-tac-toe): penalties for broken rules that rise during
the annealing miss the best known value in every second to sixth run where compound moves reach it always.

Source: Geman and Geman (1984), "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images";
Kirkpatrick, Gelatt and Vecchi (1983), "Optimization by simulated annealing".
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp, require_max_csp
from dpopt.programs.presolve import Presolve, presolve_reduced
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import NO_LIMITS, Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.clauses import Clauses
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.rules.builders import literal
from dpopt.schema.rules.rule import Rule
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.schema.schema import Schema
from dpopt.solvers.local_search.layout import (
    Found,
    Schedule,
    anneal_repeatedly,
    boltzmann_table,
    build_index,
    lay_out_rules,
    new_state,
    new_status,
)

if TYPE_CHECKING:
    from dpopt.solvers.local_search import rules_kernels


NAME = "local-search"
VERSION = "4"
"""Changes when the same seed no longer gives the same answer."""

MANY_ATTRIBUTES = 200
"""Problems over more attributes are presolved; with tens of attributes that gains nothing."""

DEFAULT_SWEEPS = 4000
"""About 15 ms at 41 attributes with 390 named codes and 1,750 clauses of three literals, on one core."""

SWEEPS_PER_COLUMN, FEWEST_ON_SMALL = 10, 1000
"""Sweeps per flat column for problems of fewer than 400 flat columns, but not fewer than 1,000, which takes a third of
the time. Of 170 problems of 40 to 230 columns from releases, 1,000 sweeps missed the best known value in one, 4,000 in
none."""

MOVES, FEWEST_SWEEPS = 4_000_000, 500
"""By default, problems over more than 1,000 attributes after presolve get fewer sweeps, about this number of moves, but
not fewer than 500. At 4,250 attributes and 6,270 clauses of three literals, 941 sweeps in place of 4,000 take a quarter
of the time and lose 0.07 % of the value."""

NOTHING_FOUND = "found no record that obeys the rules; a hint that obeys them, or cp-sat, may help"
PAIRS_UP_TO = (
    2048  # flat columns; the work of a pair descent grows with their square, and above them it finds nothing more
)


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """The local search as a `Solver`. `limits.work` counts sweeps (default 4,000; under rules 2,000).

    Below 400 flat columns and over more than 1,000 attributes the default is smaller (`SWEEPS_PER_COLUMN`, `MOVES`).
    Same seed, same answer. `limits.threads` anneals run at once; the answer does not depend on their number.
    `limits.seconds` is looked at between batches of sweeps.

    Optimality is claimed only when all positive weights and no negative one come true. If no record that obeys the
    rules was found, it ends LIMIT without a solution (INFEASIBLE where presolve shows that there is none).
    """

    name: str = NAME
    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.MAX_CSP,
            Capability.RULES,
            Capability.CARDINALITY_RULES,
            Capability.PRESOLVES,
            Capability.WARM_START,
            Capability.DETERMINISTIC_LIMIT,
        }
    )

    def availability(self) -> Availability:
        """Say that the local search is always there: it is part of dpopt."""
        return Availability(AvailabilityStatus.AVAILABLE, "part of dpopt")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Search for a record of high weight; see `dpopt.programs.solver.Solver`."""
        program = require_max_csp(program, NAME)
        ruled = program.rules.number_of_rules > 0
        warm_up()
        if ruled:
            warm_up(with_rules=True)
        started = time.perf_counter()
        smaller = _smaller(program, hint)
        if smaller.impossible is not None:
            return _without_record(
                Termination.INFEASIBLE,
                None,
                f"no record obeys the rule {smaller.impossible!r} together with the others",
                started,
            )
        problem = smaller.reduction.problem
        deadline = None if limits.seconds is None else started + limits.seconds
        if problem.sizes.size:
            found = _search(smaller.reduction, limits, deadline, hinted=hint is not None)
        else:
            found = Found(problem.objective(problem.sizes), np.empty(0, dtype=np.int64), 0)
        if found is None:
            late = deadline is not None and time.perf_counter() >= deadline
            return _without_record(Termination.LIMIT, Limit.TIME if late else Limit.WORK, NOTHING_FOUND, started)
        wanted = limits.work or (SWEEPS_UNDER_RULES if problem.rules.number_of_rules else _sweeps(problem))
        return _result(program, smaller, found, wanted, started)


def _smaller(program: MaxCsp, hint: Point | None) -> Presolve:
    """Return the problem presolved where that pays: under rules, and over many attributes, most of them named once or twice."""
    reduction = reduce_max_csp(program, hint)
    many = reduction.problem.sizes.size > MANY_ATTRIBUTES
    return presolve_reduced(reduction) if many or program.rules.number_of_rules else Presolve.of(reduction)


@functools.cache
def warm_up(*, with_rules: bool = False) -> None:
    """Compile the kernels, so that no time limit is spent on that: seconds the first time, then read from disk."""
    clauses = Clauses.conjunctions([[0, 1], [0, 1]], [[0, 1], [0, 1]], [[True, False], [False, True]])
    rules = code_1_of_attribute_0(3) if with_rules else NO_RULES
    tiny = MaxCsp(np.array([3, 2], dtype=np.int32), clauses, np.array([1, 1], dtype=np.int64), rules)
    _search(reduce_max_csp(tiny), SolveLimits(work=1), None, hinted=False)


def code_1_of_attribute_0(size: int) -> ThresholdCircuit:
    """Return a rule for tiny problems, whose first attribute has so many codes."""
    column = Attribute("code", AttributeKind.CATEGORICAL, values=tuple(range(size)))
    return Schema((column,), rules=(Rule(literal("code", "=", 1)),)).circuit()


def _search(reduction: Reduction, limits: SolveLimits, deadline: float | None, *, hinted: bool) -> Found | None:
    problem = reduction.problem
    if problem.rules.number_of_rules:
        return search_under_rules(reduction, limits, deadline)
    search = _Search(problem, limits, deadline)
    first = problem.offsets()[:-1]
    starts = [first + reduction.shrink()] + ([first] if hinted else [])
    best = Found(problem.objective(reduction.shrink()), starts[0], 0).noted()
    for start in starts:
        best = best.or_better(search.descend(start, 0))
    if best.objective == problem.upper_bound():
        return best
    return anneal_repeatedly(search.anneal, search.schedule, limits.threads, best)


def _sweeps(problem: MaxCsp) -> int:
    """Return the sweeps that a problem gets where no work is given."""
    enough = max(FEWEST_ON_SMALL, SWEEPS_PER_COLUMN * int(problem.sizes.sum()))
    return min(DEFAULT_SWEEPS, enough, max(FEWEST_SWEEPS, MOVES // max(problem.sizes.size, 1)))


class _Search:
    """One problem without rules laid out for the kernels. Anneals share nothing that changes."""

    def __init__(self, problem: MaxCsp, limits: SolveLimits, deadline: float | None) -> None:
        self.index = build_index(problem)
        self.first = problem.offsets()[:-1]
        self.pairs = self.index.column_start.size - 1 <= PAIRS_UP_TO
        self.table = boltzmann_table()
        self.schedule = Schedule(problem, limits, limits.work or _sweeps(problem), deadline)

    def descend(self, start: NDArray[np.int64], sweeps: int) -> Found:
        """Descend from flat columns (d,), by single attributes and by pairs; `sweeps` is only noted."""
        from dpopt.solvers.local_search import kernels

        state = new_state(self.index, start)
        objective = kernels.descend(self.index, state, kernels.restart(self.index, state))
        if self.pairs:
            objective = kernels.descend_by_pairs(self.index, state, objective)
        return Found(int(objective), state.chosen, sweeps)

    def anneal(self, number: int) -> Found:
        """Anneal from hot to cold and descend; the result depends on problem, seed and number alone."""
        from dpopt.solvers.local_search import kernels

        scales = kernels.RESOLUTION / self.schedule.temperatures(number)
        state, random = new_state(self.index, self.first), self.schedule.random(number)
        objective, best = kernels.restart(self.index, state), self.first.copy()
        best_objective, done = objective, 0
        while done < scales.size and not self.schedule.time_is_up():
            batch = scales[done : done + self.schedule.batch]
            objective, best_objective = kernels.anneal(
                self.index, state, objective, batch, self.table, random, best, best_objective
            )
            done += batch.size
        return self.descend(best, done) if done else Found(int(objective), self.first, 0)


def _result(program: MaxCsp, smaller: Presolve, found: Found, wanted: int, started: float) -> SolveResult:
    """Report the outcome; a record that contradicts the search's own account is never passed on."""
    problem, objective = smaller.reduction.problem, found.objective + smaller.constant
    record = smaller.reduction.expand((found.chosen - problem.offsets()[:-1]).astype(np.int32))
    wrong = _what_is_wrong(program, record, objective)
    optimal = problem.sizes.size == 0 or found.objective == problem.upper_bound()
    if wrong is not None:
        return _without_record(Termination.FAILED, None, f"{wrong}: please report this", started)
    if optimal:
        termination, limit, status = Termination.OPTIMAL, None, "no record can be better"
    elif found.sweeps < wanted:
        termination, limit, status = Termination.LIMIT, Limit.TIME, "time is up"
    else:
        termination, limit, status = Termination.LIMIT, Limit.WORK, "all sweeps done"
    return SolveResult(
        termination=termination,
        limit=limit,
        solution=record,
        objective=float(objective),
        bound=float(objective) if optimal else None,
        solver=NAME,
        version=VERSION,
        native_status=status,
        seconds=time.perf_counter() - started,
        report={"sweeps": found.sweeps},
        history=tuple(
            Progress(moment - started, float(value + smaller.constant), None) for moment, value in found.history
        ),
    )


def _what_is_wrong(program: MaxCsp, record: NDArray[np.int32], objective: int) -> str | None:
    exact = program.objective(record)
    if exact != objective:
        return f"the objective kept step by step is {objective}, the exact one {exact}"
    broken = program.broken_rules(record)
    return f"the record breaks the rule {broken[0]!r}" if broken else None


def _without_record(termination: Termination, limit: Limit | None, status: str, started: float) -> SolveResult:
    seconds = time.perf_counter() - started
    return SolveResult(termination, limit, solver=NAME, version=VERSION, native_status=status, seconds=seconds)


SWEEPS_UNDER_RULES = 2000
"""The default."""

CHARGE = 4.0
"""The cost to a repair of breaking another rule, in units of the root mean square of the weights."""

COMPOUNDS_UP_TO = 4096  # flat columns; the work of the last descent grows with their square
WALK_AT_ONCE = 5000  # steps between two looks at the clock
WALK_AT_LEAST = 20_000  # steps of all walks together
FIRST_WALK, LAST = 2**31, 2**31 + 1  # numbers of random generators; anneals have 0, 1, ...


def search_under_rules(reduction: Reduction, limits: SolveLimits, deadline: float | None) -> Found | None:
    """Return the best record found that obeys the rules; None if none was found.

    The search starts from the background record of the reduced problem; if that one obeys the rules, the answer is at
    least as good. The deadline, if any, is a reading of `time.perf_counter`.
    """
    problem = reduction.problem
    schedule = Schedule(problem, limits, limits.work or SWEEPS_UNDER_RULES, deadline)
    search = FeasibleSearch(problem, schedule)
    start = search.feasible_record(search.first + reduction.shrink())
    if start is None:
        return None
    best = search.descend(start, 0).noted()
    if best.objective < problem.upper_bound():
        best = anneal_repeatedly(lambda number: search.anneal(start, number), schedule, limits.threads, best)
    if best.objective < problem.upper_bound() and not schedule.time_is_up():
        best = search.finish(best)
    return best


class FeasibleSearch:
    """One problem with rules laid out for the kernels. Anneals share nothing that changes."""

    def __init__(self, problem: MaxCsp, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        self.first = problem.offsets()[:-1]
        self.index = build_index(problem)
        self.rules = lay_out_rules(problem.rules, problem.sizes.size)
        self.table = boltzmann_table()
        self.charge = CHARGE * schedule.typical

    def place(self, chosen: NDArray[np.int64]) -> tuple[rules_kernels.Ruled, int]:
        """Return where the search stands at these flat columns (d,), and the objective there."""
        from dpopt.solvers.local_search.kernels import restart
        from dpopt.solvers.local_search.rules_kernels import Ruled, restart_rules

        ruled = Ruled(self.index, new_state(self.index, chosen), self.rules, new_status(self.rules))
        restart_rules(ruled)
        return ruled, int(restart(self.index, ruled.state))

    def feasible_record(self, chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return flat columns (d,) that obey the rules: these, or the result of walks from them and from random ones.

        All walks together take as many steps as all sweeps visit attributes, the first one a tenth of that.
        """
        from dpopt.solvers.local_search.kernels import next_unit
        from dpopt.solvers.local_search.rules_kernels import WINDOW, Repairs, walk

        left = max(WALK_AT_LEAST, self.schedule.sweeps * chosen.size)
        length, random = left // 10, self.schedule.random(FIRST_WALK)
        repairs = Repairs(self.schedule.typical, self.charge, WINDOW, random)
        while True:
            ruled, _ = self.place(chosen)
            taken, broken = 0, ruled.status.number
            while broken[0] and taken < length and not self.schedule.time_is_up():
                taken += walk(ruled, min(WALK_AT_ONCE, length - taken), repairs)
            left -= taken
            if not broken[0]:
                return ruled.state.chosen
            if left <= 0 or self.schedule.time_is_up():
                return None
            units = np.array([next_unit(random) for _ in range(chosen.size)])
            chosen = self.first + (units * self.problem.sizes).astype(np.int64)

    def descend(self, start: NDArray[np.int64], sweeps: int) -> Found:
        """Descend from feasible flat columns (d,) by single attributes; `sweeps` is only noted."""
        from dpopt.solvers.local_search.rules_kernels import descend_feasibly

        ruled, objective = self.place(start)
        objective = descend_feasibly(ruled, objective, 0)
        return Found(int(objective), ruled.state.chosen, sweeps)

    def anneal(self, start: NDArray[np.int64], number: int) -> Found:
        """Anneal from hot to cold and descend; the result depends on problem, start, seed and number alone."""
        from dpopt.solvers.local_search.kernels import RESOLUTION
        from dpopt.solvers.local_search.rules_kernels import anneal_feasibly

        scales = RESOLUTION / self.schedule.temperatures(number)
        (ruled, objective), random = self.place(start), self.schedule.random(number)
        best, best_objective, done = start.copy(), objective, 0
        while done < scales.size and not self.schedule.time_is_up():
            batch = scales[done : done + self.schedule.batch]
            objective, best_objective = anneal_feasibly(
                ruled, objective, batch, self.table, self.charge, random, best, best_objective
            )
            done += batch.size
        return self.descend(best, done)

    def finish(self, found: Found) -> Found:
        """Return the result of descent by compound moves; problems with very many columns are left as they are."""
        from dpopt.solvers.local_search.rules_kernels import descend_by_compound_moves

        if self.index.first_column[-1] > COMPOUNDS_UP_TO:
            return found
        ruled, objective = self.place(found.chosen)
        objective = descend_by_compound_moves(ruled, objective, self.charge, self.schedule.random(LAST))
        return found.or_better(Found(int(objective), ruled.state.chosen, 0))

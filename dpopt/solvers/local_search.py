"""The default solver: simulated annealing with heat-bath moves on weighted clauses.

Problem: maximize sum_j w_j [clause j is true of x] over records x (a `MaxCsp`). It gives records of high weight in
milliseconds and no bound.

Method. A move takes one attribute a and draws its code from the law proportional to exp(gain(code) / temperature)
given all other attributes (heat bath, Gibbs sampling); a sweep moves every attribute once. The temperature falls
geometrically from 2 times the root mean square of the weights to 0.1 times the median absolute weight, so that a
problem and its multiple are searched alike. Then exact descent: single attributes, and pairs of attributes. This is
repeated from independent random numbers, `SWEEPS_PER_ANNEAL` sweeps each, and the best record is kept; so are the
results of plain descent from the hint and from the background record, so the answer is never worse than the hint.

Source: Geman and Geman (1984), "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images";
Kirkpatrick, Gelatt and Vecchi (1983), "Optimization by simulated annealing".
"""

from __future__ import annotations

import functools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.limits import NO_LIMITS, SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import Limit, Point, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.clauses import Clauses

if TYPE_CHECKING:
    from dpopt.solvers import local_search_kernels as kernels

NAME = "local-search"
VERSION = "1"
"""Changes when the same seed no longer gives the same answer."""

DEFAULT_SWEEPS = 4000
"""About 15 ms at 41 attributes with 390 named codes and 1,750 clauses of three literals, on one core."""

SWEEPS_PER_ANNEAL = 1000
BATCH = 100  # sweeps between two looks at the clock
HOT, COLD = 2.0, 0.1
PAIRS_UP_TO = 4096  # flat columns; the work of a pair descent grows with their square


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """The local search as a `Solver`. `limits.work` counts sweeps (default 4,000); same seed, same answer.

    `limits.threads` anneals run at once; the answer does not depend on their number. `limits.seconds` is looked at
    between batches of sweeps. Optimality is claimed only when all positive weights and no negative one come true.
    """

    name: str = NAME
    capabilities: frozenset[Capability] = frozenset(
        {Capability.MAX_CSP, Capability.WARM_START, Capability.DETERMINISTIC_LIMIT}
    )

    def availability(self) -> Availability:
        """Say that the local search is always there: it is part of dpopt."""
        return Availability(AvailabilityStatus.AVAILABLE, "part of dpopt")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        """Search for a record of high weight; see `dpopt.programs.solver.Solver`.

        Raises
        ------
        ProgramError
            The program is no MaxCsp, or the hint is no record of it.
        """
        if not isinstance(program, MaxCsp):
            raise ProgramError(
                f"{NAME} takes a MaxCsp, not a {type(program).__name__}; use highs or cbc for those"
            )
        warm_up()
        started = time.perf_counter()
        reduction = reduce_max_csp(program, hint)
        deadline = None if limits.seconds is None else started + limits.seconds
        if reduction.problem.sizes.size:
            found = _search(reduction, limits, deadline, hinted=hint is not None)
        else:
            found = _Found(program.objective(reduction.background), np.empty(0, dtype=np.int64), 0)
        record = reduction.expand(_codes(reduction, found.chosen))
        bound = program.upper_bound() if reduction.problem.sizes.size else found.objective
        return _result(program, record, found, bound, limits, time.perf_counter() - started)


@functools.cache
def warm_up() -> None:
    """Compile the kernels, so that no time limit is spent on that: seconds the first time, then read from disk."""
    clauses = Clauses.conjunctions([[0, 1], [0, 1]], [[0, 1], [0, 1]], [[True, False], [False, True]])
    tiny = MaxCsp(np.array([3, 2], dtype=np.int32), clauses, np.array([1, 1], dtype=np.int64))
    _search(reduce_max_csp(tiny), SolveLimits(work=1), None, hinted=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The best record of one or more descents: its objective, its flat columns (d',), and the sweeps it took."""

    objective: int
    chosen: NDArray[np.int64]
    sweeps: int

    def or_better(self, other: _Found) -> _Found:
        """Return the better of the two (this one if they are equal), with the sweeps of both."""
        best = other if other.objective > self.objective else self
        return _Found(best.objective, best.chosen, self.sweeps + other.sweeps)


def _search(reduction: Reduction, limits: SolveLimits, deadline: float | None, *, hinted: bool) -> _Found:
    problem = reduction.problem
    search = _Search(problem, limits, deadline)
    first = problem.offsets()[:-1]
    starts = [first + reduction.shrink()] + ([first] if hinted else [])
    best = _Found(problem.objective(reduction.shrink()), starts[0], 0)
    for start in starts:
        best = best.or_better(search.descend(start, 0))
    if best.objective == problem.upper_bound():
        return best
    with ThreadPoolExecutor(limits.threads) as pool:
        for begin in range(0, search.anneals, limits.threads):
            batch = range(begin, min(begin + limits.threads, search.anneals))
            for one in pool.map(search.anneal, batch) if limits.threads > 1 else map(search.anneal, batch):
                best = best.or_better(one)
            if search.time_is_up():
                break
    return best


class _Search:
    """One problem laid out for the kernels, with its limits. Anneals share nothing that changes."""

    def __init__(self, problem: MaxCsp, limits: SolveLimits, deadline: float | None) -> None:
        sizes = np.abs(problem.weights).astype(np.float64)
        self.index = build_index(problem)
        self.first = problem.offsets()[:-1]
        self.pairs = self.index.column_start.size - 1 <= PAIRS_UP_TO
        self.hot, self.cold = HOT * float(np.sqrt(np.mean(sizes**2))), COLD * float(np.median(sizes))
        self.table = boltzmann_table()
        self.seed = limits.seed
        self.sweeps = limits.work or DEFAULT_SWEEPS
        self.anneals = max(1, round(self.sweeps / SWEEPS_PER_ANNEAL))
        self.deadline = deadline

    def time_is_up(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def descend(self, start: NDArray[np.int64], sweeps: int) -> _Found:
        """Descend from flat columns (d',), by single attributes and by pairs; `sweeps` is only noted."""
        from dpopt.solvers import local_search_kernels as kernels

        state = new_state(self.index, start)
        objective = kernels.descend(self.index, state, kernels.restart(self.index, state))
        if self.pairs:
            objective = kernels.descend_by_pairs(self.index, state, objective)
        return _Found(int(objective), state.chosen, sweeps)

    def anneal(self, number: int) -> _Found:
        """Anneal from hot to cold and descend; the result depends on problem, seed and number alone."""
        from dpopt.solvers import local_search_kernels as kernels

        scales = kernels.RESOLUTION / np.geomspace(
            self.hot, self.cold, (self.sweeps + number) // self.anneals
        )
        state = new_state(self.index, self.first)
        random = np.array([(self.seed << 32) + number], dtype=np.uint64)
        objective, best = kernels.restart(self.index, state), self.first.copy()
        best_objective, done = objective, 0
        while done < scales.size and not self.time_is_up():
            batch = scales[done : done + BATCH]
            objective, best_objective = kernels.anneal(
                self.index, state, objective, batch, self.table, random, best, best_objective
            )
            done += batch.size
        return self.descend(best, done) if done else _Found(int(objective), self.first, 0)


def boltzmann_table() -> NDArray[np.int64]:
    """Return 2**32 exp(-i / RESOLUTION), rounded, down to where it is about 1; the last entry is 0."""
    from dpopt.solvers.local_search_kernels import RESOLUTION

    table = np.round(2.0**32 * np.exp(-np.arange(22 * RESOLUTION) / RESOLUTION)).astype(np.int64)
    table[-1] = 0
    return table


def build_index(problem: MaxCsp) -> kernels.Index:
    """Lay a reduced problem out for the kernels, without a loop over clauses."""
    from dpopt.solvers.local_search_kernels import Index

    clauses, offsets = problem.clauses, problem.offsets()
    used = clauses.attributes >= 0
    columns = np.where(used, offsets[clauses.attributes] + clauses.values, offsets[-1]).astype(np.int32)
    place = np.broadcast_to(np.arange(len(clauses), dtype=np.int32)[:, None], columns.shape)
    entries = np.where(clauses.signs, place, ~place)[used]
    counts = np.bincount(columns[used], minlength=int(offsets[-1]))
    accepted = clauses.accepted.astype(np.int64)
    steps = (np.int64(1) << clauses.widths()) - 1  # bits 0 .. width - 1
    return Index(
        first_column=offsets,
        column_start=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64))),
        entries=entries[np.argsort(columns[used], kind="stable")],
        literals=np.where(clauses.signs | ~used, columns, ~columns),
        weights=problem.weights.copy(),
        accepted=accepted,
        rise=(accepted >> 1) & ~accepted & steps,
        fall=accepted & ~(accepted >> 1) & steps,
    )


def new_state(index: kernels.Index, chosen: NDArray[np.int64]) -> kernels.State:
    """Return a state at these flat columns (d,); `kernels.restart` fills in the rest."""
    from dpopt.solvers.local_search_kernels import State

    columns = index.column_start.size
    return State(
        chosen=chosen.copy(),
        is_chosen=np.zeros(columns, dtype=np.int64),
        true_literals=np.zeros(index.weights.size, dtype=np.int64),
        gain=np.zeros(columns, dtype=np.int64),
    )


def _codes(reduction: Reduction, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
    return (chosen - reduction.problem.offsets()[:-1]).astype(np.int32)


def _result(
    program: MaxCsp, record: NDArray[np.int32], found: _Found, bound: int, limits: SolveLimits, seconds: float
) -> SolveResult:
    """State the outcome; a record whose exact objective is not the one kept step by step is never passed on."""
    exact = program.objective(record)
    wrong = exact != found.objective
    optimal = exact == bound
    cut = found.sweeps < (limits.work or DEFAULT_SWEEPS)
    if wrong:
        termination, limit = Termination.FAILED, None
        status = (
            f"the objective kept step by step is {found.objective}, the exact one {exact}: please report this"
        )
    elif optimal:
        termination, limit, status = (
            Termination.OPTIMAL,
            None,
            "no record can be better",
        )
    elif cut:
        termination, limit, status = Termination.LIMIT, Limit.TIME, "time is up"
    else:
        termination, limit, status = Termination.LIMIT, Limit.WORK, "all sweeps done"
    return SolveResult(
        termination=termination,
        limit=limit,
        solution=None if wrong else record,
        objective=None if wrong else float(exact),
        bound=float(bound) if optimal and not wrong else None,
        solver=NAME,
        version=VERSION,
        native_status=status,
        seconds=seconds,
        report={"sweeps": found.sweeps},
    )

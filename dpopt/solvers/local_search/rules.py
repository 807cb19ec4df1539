"""The local search under hard rules: every record that it keeps obeys them.

Problem: maximize sum_j w_j [clause j is true of x] over records x of which every required gate is true (a `MaxCsp` with
rules).

Method. A feasible record is found first: the hint or the background record, walked towards the rules if it breaks some.
From there the annealing stays feasible: heat-bath moves among codes that break nothing, and compound moves that change
several attributes at once where rules tie them together (`rules_kernels`). At the end every code of every attribute is
tried as a compound move followed by exact descent, until none improves.

Measured before this was chosen (24 attributes with the rules of a census table, and tic-tac-toe): penalties for broken
rules that rise during the annealing miss the best known value in every second to sixth run where compound moves reach
it always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import Reduction
from dpopt.programs.results import SolveLimits
from dpopt.solvers.local_search.layout import (
    BATCH,
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

SWEEPS_UNDER_RULES = 2000
"""The default."""

CHARGE = 4.0
"""What a repair pays for breaking another rule, in units of the root mean square of the weights."""

COMPOUNDS_UP_TO = 4096  # flat columns; the work of the last descent grows with their square
WALK_AT_ONCE = 5000  # steps between two looks at the clock
WALK_AT_LEAST = 20_000  # steps of all walks together
FIRST_WALK, LAST = 2**31, 2**31 + 1  # numbers of random generators; anneals have 0, 1, ...


def search_under_rules(reduction: Reduction, limits: SolveLimits, deadline: float | None) -> Found | None:
    """Return the best record found that obeys the rules; None if none was found.

    Parameters
    ----------
    reduction
        The reduced problem; the search starts from its background record. If that one obeys the rules, the answer is at
        least as good.
    limits
        Work (sweeps), threads and seed.
    deadline
        Reading of `time.perf_counter` at which to stop, or None.
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
        """Return flat columns (d,) that obey the rules: these, or what walks from them and from random ones find.

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
            batch = scales[done : done + BATCH]
            objective, best_objective = anneal_feasibly(
                ruled, objective, batch, self.table, self.charge, random, best, best_objective
            )
            done += batch.size
        return self.descend(best, done)

    def finish(self, found: Found) -> Found:
        """Return what descent by compound moves makes of this; problems with very many columns are left as they are."""
        from dpopt.solvers.local_search.rules_kernels import descend_by_compound_moves

        if self.index.first_column[-1] > COMPOUNDS_UP_TO:
            return found
        ruled, objective = self.place(found.chosen)
        objective = descend_by_compound_moves(ruled, objective, self.charge, self.schedule.random(LAST))
        return found.or_better(Found(int(objective), ruled.state.chosen, 0))

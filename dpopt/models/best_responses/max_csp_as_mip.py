"""A MaxCsp as a mixed-integer program, its solutions as records and back, and any solver of such programs for MaxCsp.

It takes clauses of every kind, weights of both signs, hard rules. Page: models/best_response. Labels (BR-1 ...) are
those of the page.

Variables: x[a, v] = 1 if attribute a has code v (binary), and c_j = truth of clause j. Write lit = x[a, v] for the
literal "a = v" and lit = 1 - x[a, v] for "a != v".

    maximize  sum_j w_j c_j                                                       BR-1
    subject to  sum_v x[a, v] = 1                      for every attribute a      BR-2
        w_j > 0, conjunction:  c_j <= lit              for every literal of j     BR-3
        w_j < 0, conjunction:  c_j >= 1 - sum (1 - lit)                           BR-4
        w_j < 0, negation:     c_j >= 1 - lit          for every literal of j     BR-5
        w_j > 0, negation:     c_j <= sum (1 - lit)                               BR-6
        0 <= c_j <= 1, x[a, v] binary                                             BR-7

The aggregated form has one row for each clause, as printed in the paper, and needs binary c_j: with k literals

        w_j > 0, conjunction:  k c_j <= sum lit                                   BR-8
        w_j < 0, negation:     k (1 - c_j) <= sum lit                             BR-9

in place of BR-3 and BR-5. Its linear relaxation is weaker. The third form strengthens BR-3 to BR-6 by rows that follow
from BR-2 (`clique_rows`, BR-10 to BR-12). Thresholds, parities, other masks and rules: `threshold_rows`, `parity_rows`,
`counted_rows`, `rule_rows`, each with its page.

Source: Gaboardi et al. (2014), section 5 (k = 3, aggregated); per-literal rows: the standard linearization of products.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import ProgramError
from dpopt.models.best_responses.presolved import Handing, Presolved
from dpopt.models.best_responses.rewarded_clauses import Formulation, RewardedClauses, rewarded_clauses
from dpopt.models.best_responses.rows.clause_rows import (
    counted_columns,
    counted_rows,
    counted_values,
    parity_columns,
    parity_rows,
    parity_values,
    threshold_rows,
)
from dpopt.models.best_responses.rows.clique_rows import clique_rows
from dpopt.models.best_responses.rows.rule_rows import gate_variables, rule_rows
from dpopt.programs.building import RowBlock, Variables, assembled
from dpopt.programs.max_csp import MaxCsp, require_max_csp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program, Solver
from dpopt.programs.verification import verified


def record_from_point(program: MaxCsp, point: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the record (d,) int32 that a solution of the mixed-integer program stands for, whatever the formulation.

    Every attribute takes the code whose x is largest, so that rounding errors of the solver do no harm.
    """
    offsets = program.offsets()
    x = point[: int(offsets[-1])]
    owner = np.repeat(np.arange(program.sizes.size), program.sizes)
    order = np.lexsort((-x, owner))  # by attribute, largest first, lowest code first among equals
    return freeze((order[offsets[:-1]] - offsets[:-1]).astype(np.int32))


def point_from_record(
    program: MaxCsp, record: NDArray[np.int32], formulation: Formulation = Formulation.PER_LITERAL
) -> NDArray[np.float64]:
    """Return the solution of the mixed-integer program that a record (d,) int32 stands for, with all its variables.

    It is feasible, exactly, if the record obeys the rules; else only the rows of the rules that it breaks are broken.
    """
    from dpopt.queries.counting.kernels import satisfied  # imports numba

    program.require_record(record)
    x = np.zeros(int(program.offsets()[-1]))
    x[program.offsets()[:-1] + record] = 1.0
    rewarded = rewarded_clauses(program)
    parts = [
        x,
        satisfied(program.clauses, record).astype(np.float64),
        parity_values(rewarded, formulation, x),
        counted_values(rewarded, x),
    ]
    if program.rules.number_of_rules:
        true = program.rules.gates(frozen(record, np.int32)[None, :])[0]
        parts.append(true[~program.rules.required].astype(np.float64))
    return freeze(np.concatenate(parts))


LARGEST_TOTAL = 2.0**53
"""Whole numbers up to here are exact in double precision."""


@dataclass(frozen=True, slots=True, eq=False)
class MipParts:
    """Variables and rows of the mixed-integer program of a MaxCsp, for programs that add to them."""

    rewarded: RewardedClauses
    variables: Variables
    groups: Mapping[str, Sequence[RowBlock]]
    """Kinds of rows: attributes, thresholds, cliques, parities, counted, rules; in this order."""

    @property
    def blocks(self) -> list[RowBlock]:
        """All rows."""
        return [block for group in self.groups.values() for block in group]


def max_csp_as_mip(program: MaxCsp, formulation: Formulation = Formulation.PER_LITERAL) -> MixedIntegerProgram:
    """Write the program as a mixed-integer program.

    Columns: x[a, v] at `program.offsets()[a] + v`, then c_j, then what parities, clauses of other masks and inner gates
    of rules need besides, in this order. Rows: BR-2 for each attribute, then those of conjunctions, thresholds and
    their negations in the order of the clauses, then the others. Nothing is looped over in Python clause by clause.
    """
    parts = mip_parts(program, formulation)
    return assembled(parts.variables, parts.blocks)


def mip_parts(program: MaxCsp, formulation: Formulation) -> MipParts:
    """Return variables and rows of the mixed-integer program."""
    if float(np.abs(program.weights.astype(np.float64)).sum()) >= LARGEST_TOTAL:
        raise ProgramError(
            "the weights sum to 2**53 or more, which programs in double precision would round; scale them down, or "
            "take the local search or cp-sat"
        )
    rewarded = rewarded_clauses(program)
    codes, m, d = int(program.offsets()[-1]), len(program.clauses), program.sizes.size
    strengthened, without = (
        clique_rows(program, rewarded, codes)
        if formulation is Formulation.CLIQUE
        else ([], np.zeros(m, dtype=np.bool_))
    )
    thresholds, whole = threshold_rows(rewarded, formulation, codes, without)
    if formulation is Formulation.AGGREGATED:
        whole = np.ones(m, dtype=np.bool_)
    owners, most, whole_halves = parity_columns(rewarded, formulation)
    number_of_counts = counted_columns(rewarded).size
    gates = gate_variables(program.rules, formulation)
    further = (owners.size, number_of_counts, gates.size)
    first_count, first_gate = codes + m + further[0], codes + m + further[0] + further[1]

    ones = np.ones(codes + m + sum(further))
    variables = Variables(
        objective=np.concatenate((np.zeros(codes), program.weights.astype(np.float64), np.zeros(sum(further)))),
        lower=np.zeros_like(ones),
        upper=np.concatenate((ones[: codes + m], most, ones[: further[1] + further[2]])),
        integrality=np.concatenate(
            (np.ones(codes, dtype=np.bool_), whole, whole_halves, np.ones(number_of_counts, dtype=np.bool_), gates)
        ),
    )
    attribute = np.repeat(np.arange(d, dtype=np.int64), program.sizes)
    one_code = RowBlock(attribute, np.arange(codes, dtype=np.int64), np.ones(codes), np.ones(d), np.ones(d))
    groups = {
        "attributes": [one_code],  # BR-2
        "thresholds": [thresholds],
        "cliques": strengthened,
        "parities": parity_rows(rewarded, formulation, codes, codes + m),
        "counted": counted_rows(rewarded, codes, first_count),
        "rules": rule_rows(program.rules, program.offsets(), first_gate, formulation),
    }
    return MipParts(rewarded, variables, groups)


WHOLE_GAP = 1.0 - 1e-4
"""Objectives are integers: a solver that is closer than 1 has proven optimality."""

_KEPT = frozenset({Capability.WARM_START, Capability.DETERMINISTIC_LIMIT})


def accepting_max_csp(solver: Solver, formulation: Formulation = Formulation.PER_LITERAL) -> Solver:
    """Return a solver of MaxCsp: behind presolve unless it has its own, and behind `AsMip` if it takes no MaxCsp.

    Drivers treat them alike.
    """
    if Capability.PRESOLVES in solver.capabilities or isinstance(solver, Presolved):
        return solver
    return Presolved(solver if Capability.MAX_CSP in solver.capabilities else AsMip(solver, formulation))


@dataclass(frozen=True, slots=True)
class AsMip(Handing):
    """A `Solver` for MaxCsp that hands a mixed-integer program to another solver and reads its answer back.

    The problem is reduced first (`reduce_max_csp`), the objective is evaluated exactly on the record.
    """

    formulation: Formulation = Formulation.PER_LITERAL

    def __post_init__(self) -> None:
        if Capability.MIP not in self.inner.capabilities:
            raise ProgramError(f"{self.inner.name} does not take mixed-integer programs; take highs or cbc")

    @property
    def capabilities(self) -> frozenset[Capability]:
        """MAX_CSP with rules of every kind, and the inner solver's use of hints and limits."""
        return (self.inner.capabilities & _KEPT) | {Capability.MAX_CSP, Capability.RULES}

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve a MaxCsp as a mixed-integer program; see `dpopt.programs.solver.Solver`."""
        started = time.perf_counter()
        program = require_max_csp(program, "AsMip")
        reduction = reduce_max_csp(program, hint)
        problem = reduction.problem
        if problem.sizes.size == 0:
            return self._solved_by_presolve(program, reduction, started)
        start = None
        if hint is not None and not problem.broken_rules(reduction.shrink()):  # an infeasible start helps no solver
            start = point_from_record(problem, reduction.shrink(), self.formulation)
        limits = replace(limits, gap=max(limits.gap or 0.0, WHOLE_GAP))
        answer = self.handed(max_csp_as_mip(problem, self.formulation), limits, start)
        seconds = time.perf_counter() - started
        if answer.solution is None:
            return replace(answer, seconds=seconds)
        record = reduction.expand(record_from_point(problem, answer.solution.astype(np.float64)))
        return verified(program, replace(answer, solution=record, seconds=seconds))

    def _solved_by_presolve(self, program: MaxCsp, reduction: Reduction, started: float) -> SolveResult:
        """Answer a problem in which no clause and no rule names an attribute: every record is as good as any other."""
        broken = program.broken_rules(reduction.background)
        objective = None if broken else float(program.objective(reduction.background))
        return SolveResult(
            termination=Termination.INFEASIBLE if broken else Termination.OPTIMAL,
            solution=None if broken else reduction.background,
            objective=objective,
            bound=objective,
            solver=self.name,
            native_status="no clause and no rule names an attribute; nothing was solved",
            seconds=time.perf_counter() - started,
        )

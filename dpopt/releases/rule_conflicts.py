"""Whether the rules on records can be obeyed at all: a feasible record, or a smallest set of rules that contradict.

All of it is public: rules and schema alone decide, and it is decided before any budget is spent.
"""

from __future__ import annotations

import functools
import time

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import RulesError, SolverUnavailableError
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.programs.building import Builder
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits, Termination
from dpopt.programs.solver import Solver, why_refused
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

SECONDS = 60.0
"""How long one question "can these rules be obeyed together?" may take."""
SEARCH_SWEEPS = 1000
NO_CLAUSES = Clauses(
    np.zeros((0, 1), dtype=np.int32),
    np.zeros((0, 1), dtype=np.int32),
    np.zeros((0, 1), dtype=np.bool_),
    np.zeros(0, dtype=np.uint32),
)
"""A problem without clauses asks for any feasible record."""


def feasible_record(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a record (d,) int32 that obeys every rule; the same one each time.

    Problem: find x with x[a] in {0, ..., sizes[a] - 1} such that every required gate of `rules` is true of x.
    """
    if not rules.number_of_rules:
        return freeze(np.zeros(sizes.size, dtype=np.int32))
    return _feasible_record(rules, tuple(sizes.tolist()))


@functools.lru_cache(maxsize=2)
def _feasible_record(rules: ThresholdCircuit, numbers_of_codes: tuple[int, ...]) -> NDArray[np.int32]:
    """Answer once for each circuit: a release asks before it reads the table, and again when it begins to play."""
    sizes = np.array(numbers_of_codes, dtype=np.int32)
    record = _searched(rules, sizes)
    if record is not None:
        return record
    record, decided = _decided(rules, sizes)
    if record is not None:
        return record
    if not decided:
        raise RulesError(
            f"no record that obeys the {rules.number_of_rules} rules was found within {SECONDS:g} s, and it is not "
            f"proven that there is none; simplify the rules (fewer, or over fewer attributes at a time)"
        )
    names, smallest = conflicting_rules(rules, sizes)
    raise RulesError(_message(names, smallest=smallest))


def conflicting_rules(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> tuple[tuple[str, ...], bool]:
    """Return the names of rules that no record obeys together, as few as possible, and whether fewer is impossible.

    Problem: minimize |S| over sets S of rules that no record obeys together.

    Method: implicit hitting sets. Every set of rules that contradict meets the complement of every set that can be
    obeyed; so a smallest set that meets all complements found so far is the answer as soon as it contradicts itself,
    and otherwise grows to a largest set that can be obeyed, whose complement joins them. When the time is up, rules are
    left out one by one instead: the result then is irreducible (without any one of its rules the others can be obeyed),
    not surely smallest.

    Source: Ignatiev, Previti, Liffiton and Marques-Silva (2015), "Smallest MUS extraction with minimal hitting set
    dualization".
    """
    deadline = time.monotonic() + SECONDS
    everything = range(rules.number_of_rules)
    corrections: list[list[int]] = []
    while time.monotonic() < deadline:
        candidate = _smallest_hitting_set(corrections, rules.number_of_rules)
        record, decided = _obeying(rules, sizes, candidate)
        if not decided:
            break
        if record is None:
            return tuple(rules.names[rule] for rule in candidate), True
        obeyed = _grown(rules, sizes, record)
        corrections.append([rule for rule in everything if rule not in obeyed])
        if not corrections[-1]:
            raise RulesError("the rules do not contradict each other; a record obeys all of them")
    return tuple(rules.names[rule] for rule in _irreducible(rules, sizes)), False


def require_rules_taken(solver: Solver, rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> None:
    """Refuse a solver that cannot take the rules."""
    reason = why_refused(solver, _question(rules, sizes))
    if reason is not None:
        raise SolverUnavailableError(
            f"{reason}. Nothing was spent. Take the local search, cp-sat, or a solver of mixed-integer programs, such "
            f"as highs or cbc"
        )


def _message(names: tuple[str, ...], *, smallest: bool) -> str:
    listed = "; ".join(f"'{name}'" for name in names)
    if len(names) == 1:
        return f"no record can obey the rule {listed}. Nothing was spent. Correct it in the schema"
    how = "no smaller set of the rules contradicts itself" if smallest else "each of them is needed for that"
    return (
        f"the rules contradict each other: no record can obey these {len(names)} together: {listed} ({how}). "
        "Nothing was spent. Correct one of them in the schema"
    )


def _searched(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return a feasible record that the local search finds, which takes milliseconds; None proves nothing."""
    from dpopt.solvers.registry import get_solver

    result = get_solver("local-search").solve(_question(rules, sizes), SolveLimits(work=SEARCH_SWEEPS))
    return None if result.solution is None else result.require_record()


def _decided(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> tuple[NDArray[np.int32] | None, bool]:
    """Return a feasible record or None, and whether None means that there is none."""
    from dpopt.solvers.registry import get_solver

    solver = accepting_max_csp(get_solver("cp-sat"))
    result = solver.solve(_question(rules, sizes), SolveLimits(seconds=SECONDS))
    if result.solution is not None:
        return result.require_record(), True
    return None, result.termination is Termination.INFEASIBLE


def _obeying(
    rules: ThresholdCircuit, sizes: NDArray[np.int32], chosen: list[int]
) -> tuple[NDArray[np.int32] | None, bool]:
    if not chosen:
        return freeze(np.zeros(sizes.size, dtype=np.int32)), True
    part = rules.only(chosen)
    record = _searched(part, sizes)
    return (record, True) if record is not None else _decided(part, sizes)


def _grown(rules: ThresholdCircuit, sizes: NDArray[np.int32], record: NDArray[np.int32]) -> set[int]:
    """Return a set of rules that can be obeyed together and holds all that the record obeys; no rule can be added."""
    obeyed = set(np.flatnonzero(~rules.broken(record[None, :])[0]).tolist())
    for rule in range(rules.number_of_rules):
        if rule in obeyed:
            continue
        more, _ = _obeying(rules, sizes, sorted({*obeyed, rule}))
        if more is not None:
            obeyed |= set(np.flatnonzero(~rules.broken(more[None, :])[0]).tolist())
    return obeyed


def _irreducible(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> list[int]:
    """Return a set of rules that contradict each other, none of which can be left out."""
    kept = list(range(rules.number_of_rules))
    for rule in range(rules.number_of_rules):
        without = [other for other in kept if other != rule]
        record, decided = _obeying(rules, sizes, without)
        if record is None and decided:
            kept = without
    return kept


def _smallest_hitting_set(sets: list[list[int]], size: int) -> list[int]:
    """Return a smallest set of numbers below `size` that meets each of the sets.

    minimize sum_i x_i  subject to  sum of x_i over each set >= 1,  x_i 0 or 1
    """
    from dpopt.solvers.registry import get_solver

    if not sets:
        return []
    build, owners = Builder(), np.repeat(np.arange(len(sets)), list(map(len, sets)))
    x = build.variables("x", size, upper=1.0, objective=1.0, whole=True)
    build.rows("meets", len(sets), (owners, x[np.concatenate(sets)], 1.0), lower=1.0)
    return np.flatnonzero(get_solver("cp-sat").solve(build.program()).require_solution()).tolist()


def _question(rules: ThresholdCircuit, sizes: NDArray[np.int32]) -> MaxCsp:
    return MaxCsp(sizes, NO_CLAUSES, np.zeros(0, dtype=np.int64), rules)

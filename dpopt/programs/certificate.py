"""What is true of an answer to a MaxCsp, computed outside the solver from the problem and the record alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult

TOLERANCE = 1e-6
"""Relative slack with which a solver's bound is read: HiGHS reports 555.9999999 where 556 is meant."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """An answer to a MaxCsp, checked.

    Two bounds that must not be confused: `proven_bound` is a theorem whose every number was computed here, and
    `bound` repeats what a solver says.

    Attributes
    ----------
    feasible : bool
        The record has one existing code for every attribute and breaks no rule.
    objective : int or None
        Exact objective; None if and only if the record is not feasible.
    bound : int or None
        The reported bound: the solver's upper bound, made whole. This alone is the solver's word: it holds within
        the solver's tolerance and is not proven again here. A claim that the objective itself disproves is dropped.
    gap : int or None
        bound - objective, >= 0; None where either is None.
    violation : int
        By how much the worst code lies outside its range; 0 for a feasible record.
    broken_rules : tuple of str
        The rules that the record breaks; empty for a feasible record.
    proven_bound : int or None
        An upper bound on every record's objective that needs no solver's word: weak duality evaluated in exact
        arithmetic where that was done, else the sum of the positive weights. None if and only if the record is not
        feasible.
    """

    feasible: bool
    objective: int | None
    bound: int | None
    gap: int | None
    violation: int
    broken_rules: tuple[str, ...] = ()
    proven_bound: int | None = None

    @property
    def reported_bound(self) -> int | None:
        """The solver's word: `bound`."""
        return self.bound

    @property
    def reported_gap(self) -> int | None:
        """The gap to the solver's word: `gap`."""
        return self.gap

    @property
    def proven_gap(self) -> int | None:
        """proven_bound - objective, >= 0; None if and only if the record is not feasible."""
        if self.proven_bound is None or self.objective is None:
            return None
        return self.proven_bound - self.objective


def certify(
    program: MaxCsp,
    answer: SolveResult | NDArray[np.int32],
    *,
    bound: float | None = None,
    proven: Fraction | None = None,
) -> Certificate:
    """Check an answer to a MaxCsp.

    Parameters
    ----------
    program
        The problem.
    answer
        A record (d,) int32, or a result, of which only `solution` and `bound` are read.
    bound
        Upper bound that a solver claims, where `answer` is a record (say, the fallback of a solver that found a
        bound and no solution).
    proven
        Upper bound proven outside the solver, by `dual_bound` of a relaxation of the problem. It is rounded down,
        since objectives are whole.

    Raises
    ------
    NoSolutionError
        The result holds no solution.
    ProgramError
        The record has the wrong number of attributes; or its objective exceeds the bound that is said to be proven,
        which then is none.
    """
    if isinstance(answer, SolveResult):
        record = answer.require_record()
        claimed = answer.bound if bound is None else bound
    else:
        record, claimed = answer, bound
    violation = program.domain_violation(record)
    if violation:
        return Certificate(feasible=False, objective=None, bound=None, gap=None, violation=violation)
    broken = program.broken_rules(record)
    if broken:
        return Certificate(
            feasible=False, objective=None, bound=None, gap=None, violation=0, broken_rules=broken
        )
    objective = program.objective(record)
    whole = _whole_bound(program, claimed, objective)
    return Certificate(
        feasible=True,
        objective=objective,
        bound=whole,
        gap=None if whole is None else whole - objective,
        violation=0,
        proven_bound=_proven_bound(program, proven, objective),
    )


def credible_bound(claimed: float | None, objective: float) -> float | None:
    """Return a claimed upper bound, raised to the objective where it falls short by rounding errors only.

    A claim that falls short by more is disproved by the objective, and dropped (None).
    """
    if claimed is None or claimed < objective - TOLERANCE * max(1.0, abs(objective)):
        return None
    return max(claimed, objective)


def _whole_bound(program: MaxCsp, claimed: float | None, objective: int) -> int | None:
    """Return the bound as an integer, as the objective is one; never above the sum of the positive weights."""
    bound = credible_bound(claimed, objective)
    if bound is None:
        return None
    if (
        bound >= program.upper_bound()
    ):  # first: a claim near the largest float plus its slack would be infinite
        return program.upper_bound()
    return min(math.floor(bound + TOLERANCE * max(1.0, abs(bound))), program.upper_bound())


def _proven_bound(program: MaxCsp, proven: Fraction | None, objective: int) -> int:
    """Return the better of the given bound and the sum of the positive weights; refuse what the objective disproves."""
    bound = program.upper_bound() if proven is None else min(math.floor(proven), program.upper_bound())
    if bound < objective:
        raise ProgramError(
            f"the record is worth {objective}, more than the bound {bound} that is said to be proven; the bound belongs to "
            "another problem"
        )
    return bound

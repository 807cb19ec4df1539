"""What is true of an answer, computed outside the solver from the problem and the record alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult

TOLERANCE = 1e-6
"""Relative slack with which a solver's bound is read: HiGHS reports 555.9999999 where 556 is meant."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """An answer to a MaxCsp, checked.

    Attributes
    ----------
    feasible : bool
        The record has one existing code for every attribute and breaks no rule.
    objective : int or None
        Exact objective; None if and only if the record is not feasible.
    bound : int or None
        The solver's upper bound, made whole. This alone is the solver's word: it holds within the solver's
        tolerance and is not proven again here. A claim that the objective itself disproves is dropped.
    gap : int or None
        bound - objective, >= 0; None where either is None.
    violation : int
        By how much the worst code lies outside its range; 0 for a feasible record.
    broken_rules : tuple of str
        The rules that the record breaks; empty for a feasible record.
    """

    feasible: bool
    objective: int | None
    bound: int | None
    gap: int | None
    violation: int
    broken_rules: tuple[str, ...] = ()


def certify(
    program: MaxCsp, answer: SolveResult | NDArray[np.int32], *, bound: float | None = None
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

    Raises
    ------
    NoSolutionError
        The result holds no solution.
    ProgramError
        The record has the wrong number of attributes.
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
    gap = None if whole is None else whole - objective
    return Certificate(feasible=True, objective=objective, bound=whole, gap=gap, violation=0)


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
    return min(math.floor(bound + TOLERANCE * max(1.0, abs(bound))), program.upper_bound())

"""A MaxCsp made smaller before any solver sees it, with the same optimum.

To `reduce_max_csp` this adds, until nothing changes any more:

- codes that another code of the attribute dominates are dropped (`dominance`), and so are codes that the rules forbid
  whatever the other attributes are (`circuit_propagation`);
- literals at dropped codes and at attributes with one code left are known: clauses become shorter, or constant;
- rules that hold anyway are dropped.

In a round of DualQuery over some tens of attributes each code is pulled both ways and nothing is gained; over thousands of
attributes most are named once or twice, and most of the problem is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.circuit_propagation import impossible_columns, simplified
from dpopt.programs.circuit_reduction import with_codes
from dpopt.programs.clause_simplification import constant_clauses, without_literals
from dpopt.programs.dominance import dominators
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import Point
from dpopt.queries.clauses import Clauses


@dataclass(frozen=True, slots=True, eq=False)
class Presolve:
    """A smaller problem, and the way back.

    Attributes
    ----------
    reduction : Reduction
        The smaller problem, over some attributes and codes. Its background record decides the other attributes; it is
        the hint with dominated codes replaced, so it is at least as good as the hint, and legal if the hint is.
    constant : int
        Weight of the clauses that are true of every record that is left: what the smaller problem's objective lacks.
    impossible : str or None
        Name of a rule that no record obeys together with the others; then nothing is to be solved. None: no such rule
        was noticed.
    gained : bool
        More was found than `reduce_max_csp` finds.
    """

    reduction: Reduction
    constant: int
    impossible: str | None
    gained: bool

    @classmethod
    def of(cls, reduction: Reduction) -> Presolve:
        """Return a reduction as it is, with nothing gained."""
        return cls(reduction, 0, None, gained=False)


def presolve(program: MaxCsp, hint: Point | None = None) -> Presolve:
    """Return a smaller problem with the same optimum.

    Parameters
    ----------
    program
        The problem.
    hint : (d,) int32, optional
        A record to start from (default: code 0 everywhere); it decides attributes that cannot matter.

    Raises
    ------
    ProgramError
        The hint is no record of this problem.
    """
    return presolve_reduced(reduce_max_csp(program, hint))


def presolve_reduced(reduction: Reduction) -> Presolve:
    """Return what presolve makes of a problem that has been reduced already."""
    constant, gained = 0, False
    while True:
        problem = reduction.problem
        rules, impossible = simplified(problem.rules)
        if impossible is not None:
            return Presolve(reduction, constant, impossible, gained)
        if problem.sizes.size == 0:
            constant += problem.objective(problem.sizes)  # the one record there is
            return Presolve(_without_clauses(reduction), constant, None, gained=True)
        if rules is not problem.rules:
            problem = MaxCsp(problem.sizes, problem.clauses, problem.weights, rules)
        kept, record = _kept_columns(problem, reduction.shrink())
        if record is None:
            return Presolve(reduction, constant, rules.names[0], gained)
        smaller, settled = _restricted(problem, kept)
        if smaller is reduction.problem:
            return Presolve(reduction, constant, None, gained)
        gained, constant = True, constant + settled
        reduction = _followed_by(reduction, smaller, kept, record)


def _kept_columns(
    problem: MaxCsp, record: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.int32] | None]:
    """Return which columns stay, and the record over these; None in its place if an attribute has no code left."""
    offsets = problem.offsets()
    places = dominators(problem, record)
    kept = ~impossible_columns(problem.rules, offsets) & (places == np.arange(places.size))
    if not np.logical_or.reduceat(kept, offsets[:-1]).all():
        return kept, None
    number = np.cumsum(kept) - 1  # of a column that is dropped: that of the last one kept before it
    first = number[offsets[:-1]] + ~kept[offsets[:-1]]
    own = places[offsets[:-1] + record]
    return kept, freeze(np.where(kept[own], number[own] - first, 0).astype(np.int32))


def _restricted(problem: MaxCsp, kept: NDArray[np.bool_]) -> tuple[MaxCsp, int]:
    """Return the problem over the kept columns, and the weight of the clauses that are now true of every record.

    Known literals and constant clauses are gone. The problem itself is returned if nothing changes.
    """
    clauses, offsets = problem.clauses, problem.offsets()
    sizes = np.add.reduceat(kept, offsets[:-1], dtype=np.int32)
    used = clauses.attributes >= 0
    column = np.where(used, offsets[clauses.attributes] + clauses.values, 0)
    never = used & ~kept[column]  # the attribute no longer has the code that the literal names
    ever = used & ~never & (sizes[clauses.attributes] == 1)
    true = np.where(clauses.signs, ever, never)
    code = (np.cumsum(kept) - 1)[column] - (np.cumsum(sizes) - sizes)[clauses.attributes]
    renumbered = Clauses(
        clauses.attributes,
        freeze(np.where(used & ~never, code, 0).astype(np.int32)),
        clauses.signs,
        clauses.accepted,
    )
    shorter = without_literals(renumbered, true, (ever | never) & ~true)
    always, nowhere = constant_clauses(shorter)
    stays = np.flatnonzero(~always & ~nowhere)
    if kept.all() and shorter is renumbered and stays.size == len(clauses):
        return problem, 0
    codes = (np.arange(kept.size) - np.repeat(offsets[:-1], problem.sizes))[kept].astype(np.int32)
    rules = with_codes(problem.rules, np.arange(sizes.size, dtype=np.int32), sizes, codes)
    smaller = MaxCsp(freeze(sizes), shorter.take(stays), freeze(problem.weights[stays]), rules)
    return smaller, int(problem.weights[always].sum())


def _without_clauses(reduction: Reduction) -> Reduction:
    """Return a reduction to no attribute without its clauses, none of which has a literal, and without its rules."""
    problem = reduction.problem
    bare = MaxCsp(problem.sizes, problem.clauses.take([]), freeze(problem.weights[:0]))
    return Reduction(bare, reduction.background, reduction.attributes, reduction.codes)


def _followed_by(
    reduction: Reduction, smaller: MaxCsp, kept: NDArray[np.bool_], record: NDArray[np.int32]
) -> Reduction:
    """Return a reduction to the kept columns of the reduced problem, reduced again, from a record of that."""
    codes = reduction.codes[kept]
    background = reduction.background.copy()
    background[reduction.attributes] = codes[smaller.offsets()[:-1] + record]
    again = reduce_max_csp(smaller, record)
    owner = np.repeat(again.attributes, again.problem.sizes)
    return Reduction(
        again.problem,
        freeze(background),
        freeze(reduction.attributes[again.attributes]),
        freeze(codes[smaller.offsets()[owner] + again.codes]),
    )

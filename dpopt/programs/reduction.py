"""A MaxCsp without what cannot matter: attributes in no clause and no rule, and codes that nothing tells apart.

Codes of an attribute that no clause names, and to which every rule gives the same values, are interchangeable: one of
them stands for all. A round of DualQuery names a few codes of each attribute, so solvers see domains of tens of codes
where the schema has thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.circuit_reduction import codes_told_apart, with_codes
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import Point, as_record
from dpopt.queries.arrays import freeze
from dpopt.queries.clauses import Clauses


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller problem with the same optimum, and the way back.

    Attributes
    ----------
    problem : MaxCsp
        The reduced problem over d' attributes.
    background : (d,) int32
        The record that the original problem starts from: the hint where one was given, else 0 everywhere. It
        decides every attribute that occurs in no clause and no rule.
    attributes : (d',) int32
        Original attribute of each reduced attribute.
    codes : (columns,) int32
        Original code of each reduced flat column.
    """

    problem: MaxCsp
    background: NDArray[np.int32]
    attributes: NDArray[np.int32]
    codes: NDArray[np.int32]

    def expand(self, reduced: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the record (d,) of the original problem for a record (d',) of the reduced one."""
        self.problem.require_record(reduced)
        record = self.background.copy()
        record[self.attributes] = self.codes[self.problem.offsets()[:-1] + reduced]
        return freeze(record)

    def shrink(self) -> NDArray[np.int32]:
        """Return the background as a record (d',) of the reduced problem."""
        offsets = self.problem.offsets()
        attribute = np.repeat(np.arange(self.attributes.size), self.problem.sizes)
        hit = self.codes == self.background[self.attributes[attribute]]
        start = np.zeros(self.attributes.size, dtype=np.int32)
        start[attribute[hit]] = (np.arange(self.codes.size) - offsets[attribute])[hit]
        return freeze(start)


def reduce_max_csp(program: MaxCsp, hint: Point | None = None) -> Reduction:
    """Drop the attributes that no clause and no rule names and merge the codes that nothing tells apart.

    Codes are merged if no clause names them and each term of the rules has the same value for all of them. Merged
    codes are written back as the hint's code if that is one of them, else as the smallest. The rules stay, over the
    new attributes and codes.

    Parameters
    ----------
    program
        The problem.
    hint : (d,) int32, optional
        A record; it also decides the attributes that occur in no clause and no rule (default: code 0).

    Raises
    ------
    ProgramError
        The hint is no record of this problem.
    """
    background = _background(program, hint)
    clauses, offsets, rules = program.clauses, program.offsets(), program.rules
    used = clauses.attributes >= 0
    flat = offsets[clauses.attributes[used]] + clauses.values[used]
    named, place = np.unique(flat, return_inverse=True)  # columns that clauses name, by attribute and code
    owner = np.asarray(np.searchsorted(offsets, named, side="right"), dtype=np.int64) - 1
    code = (named - offsets[owner]).astype(np.int32)
    count = np.bincount(owner, minlength=program.sizes.size)
    rank = (np.arange(named.size) - (np.cumsum(count) - count)[owner]).astype(np.int32)

    ruled = np.zeros(program.sizes.size, dtype=np.bool_)
    ruled[rules.term_attributes] = True
    merged = np.flatnonzero(
        (count > 0) & (count < program.sizes) & ~ruled
    )  # some codes are named, some are not
    stand_ins = _stand_ins(background, owner, code, rank)[merged]
    if rules.number_of_rules:
        told_apart, representatives = codes_told_apart(rules, offsets, background, named)
        merged = np.concatenate((merged, told_apart))
        stand_ins = np.concatenate((stand_ins, representatives))
        order = np.argsort(merged, kind="stable")
        merged, stand_ins = merged[order], stand_ins[order]

    counts = count + np.bincount(merged, minlength=program.sizes.size)
    attributes = np.flatnonzero(counts).astype(np.int32)
    sizes = counts[attributes].astype(np.int32)
    number = np.full(program.sizes.size, -1, dtype=np.int32)
    number[attributes] = np.arange(attributes.size, dtype=np.int32)
    owners = np.concatenate((owner, merged))
    codes = np.concatenate((code, stand_ins))[
        np.argsort(owners, kind="stable")
    ]  # named codes first, then merged

    new_attributes = np.full_like(clauses.attributes, -1)
    new_attributes[used] = number[clauses.attributes[used]]
    new_values = np.zeros_like(clauses.values)
    new_values[used] = rank[place]
    reduced = Clauses(freeze(new_attributes), freeze(new_values), clauses.signs, clauses.accepted)
    circuit = with_codes(rules, number, sizes, codes)
    problem = MaxCsp(freeze(sizes), reduced, program.weights, circuit)
    return Reduction(problem, background, freeze(attributes), freeze(codes))


def _stand_ins(
    background: NDArray[np.int32], owner: NDArray[np.int64], code: NDArray[np.int32], rank: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return, per attribute, the code that stands for all its codes that no clause names (if there is one)."""
    # Named codes rise within an attribute: those equal to their rank are 0, 1, ... up to the first code left out.
    smallest = np.bincount(owner[code == rank], minlength=background.size).astype(np.int32)
    unnamed = np.ones(background.size, dtype=np.bool_)
    unnamed[owner[code == background[owner]]] = False
    return np.where(unnamed, background, smallest)


def _background(program: MaxCsp, hint: Point | None) -> NDArray[np.int32]:
    if hint is None:
        return freeze(np.zeros(program.sizes.size, dtype=np.int32))
    record = as_record(hint)
    program.require_record(record)
    return record

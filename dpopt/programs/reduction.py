"""A MaxCsp without what cannot matter: attributes in no clause and no rule, and codes that nothing distinguishes.

Codes of an attribute that no clause names, and to which every rule gives the same values, are interchangeable: one of
them stands for all. A round of DualQuery names a few codes of each attribute, so solvers see domains of tens of codes
where the schema has thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.circuit_reduction import codes_told_apart, ranges, with_codes
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import Point, as_record
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import starts


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
    """Drop the attributes that no clause and no rule names and merge the codes that nothing distinguishes.

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
    attributes, number = _mentioned(program)
    # From here on everything is over the mentioned attributes: a draw names a few of very many.
    clauses, before, own = program.clauses, program.sizes[attributes], background[attributes]
    offsets = starts(before)
    rules = with_codes(program.rules, number, before, ranges(before).astype(np.int32))
    used = clauses.attributes >= 0
    literals = number[clauses.attributes[used]]
    flat = offsets[literals] + clauses.values[used]
    owner_of = np.full(int(offsets[-1]), -1, dtype=np.int64)
    owner_of[flat] = literals
    named = np.flatnonzero(owner_of >= 0)  # columns that clauses name, by attribute and code
    owner = owner_of[named]
    code = (named - offsets[owner]).astype(np.int32)
    count = np.bincount(owner, minlength=before.size)
    rank = (np.arange(named.size) - (np.cumsum(count) - count)[owner]).astype(np.int32)
    rank_of = np.zeros(int(offsets[-1]), dtype=np.int32)
    rank_of[named] = rank

    ruled = np.zeros(before.size, dtype=np.bool_)
    ruled[rules.term_attributes] = True
    merged = np.flatnonzero((count > 0) & (count < before) & ~ruled)  # some codes are named, some are not
    stand_ins = _stand_ins(own, owner, code, rank)[merged]
    if rules.number_of_rules:
        told_apart, representatives = codes_told_apart(rules, offsets, own, named)
        merged = np.concatenate((merged, told_apart))
        stand_ins = np.concatenate((stand_ins, representatives))
        order = np.argsort(merged, kind="stable")
        merged, stand_ins = merged[order], stand_ins[order]

    sizes = (count + np.bincount(merged, minlength=before.size)).astype(np.int32)
    order = np.argsort(np.concatenate((owner, merged)), kind="stable")  # named codes first, then merged
    codes = np.concatenate((code, stand_ins))[order]

    new_attributes = np.full_like(clauses.attributes, -1)
    new_attributes[used] = literals
    new_values = np.zeros_like(clauses.values)
    new_values[used] = rank_of[flat]
    reduced = Clauses(freeze(new_attributes), freeze(new_values), clauses.signs, clauses.accepted)
    circuit = with_codes(rules, np.arange(before.size, dtype=np.int32), sizes, codes)
    problem = MaxCsp(freeze(sizes), reduced, program.weights, circuit)
    return Reduction(problem, background, attributes, freeze(codes))


def _mentioned(program: MaxCsp) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the attributes that clauses or rules name, (d',) increasing, and the number of each one among them, (d,)."""
    seen = np.zeros(program.sizes.size, dtype=np.bool_)
    named = program.clauses.attributes
    seen[named[named >= 0]] = True
    seen[program.rules.term_attributes] = True
    number = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return freeze(np.flatnonzero(seen).astype(np.int32)), freeze(number)


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

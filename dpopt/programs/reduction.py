"""A MaxCsp and its rules without unnamed attributes, codes that no clause distinguishes, and decided gates.

Codes of an attribute that no clause names, and to which every rule gives the same values, are interchangeable: one of
them stands for all. A round of DualQuery names a few codes of each attribute, so solvers see domains of tens of codes
where the schema has thousands. The rules become a circuit over the attributes and codes that are kept (`with_codes`).

Ranges of sums decide gates (`simplified`), and find codes that no feasible record has (`impossible_columns`). A gate
whose smallest sum reaches its bound is always true, one whose largest sum does not is never true. A required gate that
needs a child makes the child required. Decided gates, and terms that are the same for every code, become part of the
bounds of their parents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import Point, as_record
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(31)


def ranges(lengths: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    """Return 0 .. length - 1 for each of these lengths, one after the other; int64."""
    ends = starts(lengths)
    places: NDArray[np.int64] = np.arange(int(ends[-1]), dtype=np.int64)
    places -= np.repeat(ends[:-1], lengths)
    return places


def distinguished_codes(
    rules: ThresholdCircuit, offsets: NDArray[np.int64], record: NDArray[np.int32], named: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the classes of codes to which every term gives the same value, among the codes that no clause names.

    Only attributes that the circuit looks at are considered. `offsets` (d + 1,) are the first flat columns of
    attributes, `named` (n,) the flat columns that are not to be merged, increasing. Returned are the attribute of each
    class, not decreasing, classes of one attribute in the order of their smallest codes; and the code that stands for
    the class, int32: that of `record` (d,) if it is in the class, else the smallest.
    """
    lengths = np.diff(rules.value_starts)
    term, code = np.repeat(np.arange(lengths.size), lengths), ranges(lengths)
    column = offsets[rules.term_attributes][term] + code
    marks = _marks(term, rules.values, column, int(offsets[-1]))
    attributes = rules.attributes().astype(np.int64)
    sizes = offsets[attributes + 1] - offsets[attributes]
    columns = np.repeat(offsets[attributes], sizes) + ranges(sizes)
    columns = columns[~np.isin(columns, named, assume_unique=True)]
    owners = np.asarray(np.searchsorted(offsets, columns, side="right"), dtype=np.int64) - 1

    order = np.lexsort((columns, marks[columns], owners))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (np.diff(owners[order]) != 0) | (np.diff(marks[columns][order]) != 0)
    smallest = np.empty(order.size, dtype=np.int64)
    smallest[order] = columns[order][new][np.cumsum(new) - 1]
    stand_in = np.arange(offsets[-1])
    stand_in[columns] = smallest
    # Should the marks of two classes agree by chance, it is found out here, and their codes are kept apart.
    wrong = rules.values[rules.value_starts[:-1][term] + stand_in[column] - (column - code)] != rules.values
    stand_in[column[wrong]] = column[wrong]
    kept = columns[stand_in[columns] == columns]
    owners = np.asarray(np.searchsorted(offsets, kept, side="right"), dtype=np.int64) - 1
    own = offsets[:-1][owners] + record[owners]
    chosen = np.where(stand_in[own] == kept, own, kept)
    return owners, (chosen - offsets[owners]).astype(np.int32)


def _marks(
    term: NDArray[np.int64], values: NDArray[np.int64], column: NDArray[np.int64], columns: int
) -> NDArray[np.uint64]:
    """Return a number for each column that is the same for columns with the same values in the same terms."""
    word = (term.astype(np.uint64) + np.uint64(1)) * _FIRST + values.astype(np.uint64) * _SECOND
    word = (word ^ (word >> _SHIFT)) * _SECOND
    word = (word ^ (word >> _SHIFT)) * _FIRST
    marks = np.zeros(columns, dtype=np.uint64)
    np.add.at(marks, column, word ^ (word >> _SHIFT))
    return marks


def with_codes(
    rules: ThresholdCircuit, number: NDArray[np.int32], sizes: NDArray[np.int32], codes: NDArray[np.int32]
) -> ThresholdCircuit:
    """Return the rules over some of the attributes, and over some of the codes of each.

    `number` (d,) is the new number of each attribute that the rules look at, increasing, `sizes` (d',) the new numbers
    of codes, `codes` (sum of sizes,) the old code of each new flat column.
    """
    if not rules.number_of_rules:
        return rules
    attributes = number[rules.term_attributes]
    lengths = sizes[attributes]
    first = np.cumsum(sizes, dtype=np.int64) - sizes
    columns = np.repeat(first[attributes], lengths) + ranges(lengths)
    values = rules.values[np.repeat(rules.value_starts[:-1], lengths) + codes[columns]]
    return replace(rules, term_attributes=freeze(attributes), value_starts=starts(lengths), values=freeze(values))


def simplified(rules: ThresholdCircuit) -> tuple[ThresholdCircuit, str | None]:
    """Return rules that the same records obey, and None; or the name of a rule that no record obeys.

    Rules that every record obeys are gone, and so are gates that nothing needs.
    """
    while rules.number_of_rules:
        low, high = rules.term_ranges()
        least, most = rules.sum_ranges()
        term_gate, parent, children = rules.gate_of_term(), rules.gate_of_child(), rules.children
        always, never = least >= rules.bounds, most < rules.bounds
        needed = (most[parent] - rules.coefficients < rules.bounds[parent]) & rules.required[parent]
        required = rules.required.copy()
        required[children[needed]] = True
        if (never & required).any():
            return rules, rules.names[int(rules.rule_of[np.argmax(never & required)])]

        true = always | required
        open_entry = ~true[children] & ~never[children]
        used = np.zeros(len(rules), dtype=np.bool_)
        used[children[open_entry]] = True
        gates = (required & ~always) | (used & ~required)
        terms = low != high
        if gates.all() and terms.all() and open_entry.all() and (required == rules.required).all():
            return rules, None
        bounds = rules.bounds.copy()
        np.subtract.at(bounds, term_gate[~terms], low[~terms])
        np.subtract.at(bounds, parent[true[children]], rules.coefficients[true[children]])
        rules = rules.part(bounds, required, gates, terms, open_entry)
    return rules, None


def impossible_columns(rules: ThresholdCircuit, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which flat columns (attribute, code) would make some required gate false whatever the others are."""
    result = np.zeros(int(offsets[-1]), dtype=np.bool_)
    if not rules.number_of_rules:
        return result
    lengths = np.diff(rules.value_starts)
    term = np.repeat(np.arange(lengths.size), lengths)
    gate = rules.gate_of_term()[term]
    slack = np.where(rules.required, rules.sum_ranges()[1] - rules.bounds, np.iinfo(np.int64).max)
    lost = rules.term_ranges()[1][term] - rules.values
    entry = np.flatnonzero(lost > slack[gate])
    code = entry - rules.value_starts[:-1][term[entry]]
    result[offsets[rules.term_attributes[term[entry]]] + code] = True
    return freeze(result)


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller problem with the same optimum, and the way back."""

    problem: MaxCsp
    """The reduced problem over d' attributes."""
    background: NDArray[np.int32]
    """Shape (d,). The record that the original problem starts from: the hint where one was given, else 0 everywhere. It
    decides every attribute that occurs in no clause and no rule."""
    attributes: NDArray[np.int32]
    """Shape (d',). Original attribute of each reduced attribute."""
    codes: NDArray[np.int32]
    """Shape (columns,). Original code of each reduced flat column."""

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

    Codes are merged if no clause names them and each term of the rules has the same value for all of them. Merged codes
    are written back as the hint's code if that is one of them, else as the smallest. The rules stay, over the new
    attributes and codes.

    Parameters
    ----------
    hint : (d,) int32, optional
        A record; it also decides the attributes that occur in no clause and no rule (default: code 0).
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
        distinguished, representatives = distinguished_codes(rules, offsets, own, named)
        merged = np.concatenate((merged, distinguished))
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

"""A MaxCsp made smaller before any solver sees it, with the same optimum; its independent parts, small ones enumerated.

To `reduce_max_csp` this adds, until nothing changes any more:

- codes that another code of the attribute dominates are dropped (`dominators`), and so are codes that the rules forbid
  whatever the other attributes are (`impossible_columns`);
- literals at dropped codes and at attributes with one code left are known: clauses become shorter and stay true of the same
  records (`without_literals`), or constant;
- rules that hold anyway are dropped.

Dominance: code v dominates code w if giving the attribute v in place of w never turns a rewarded clause false or a
penalized one true, and never breaks a rule. Then v can replace w in every record without loss. It is enough that

- every literal at v can only help where the attribute is v, and every literal at w can only hurt where it is w;
- each term of the rules is at least as large at v as at w (a gate never turns false because a sum rises).

A literal helps where it is true if its clause turns true, and never false, with more true literals (a conjunction, a
threshold) and is rewarded, or turns false, and never true (their negations), and is penalized. Parities have no such
direction: their literals count on both sides.

What it gains: in a round of DualQuery over some tens of attributes nothing, as each code is pulled both ways; over
thousands of attributes most are named once or twice, and most of the problem is decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import Reduction, impossible_columns, ranges, reduce_max_csp, simplified, with_codes
from dpopt.programs.results import Point
from dpopt.queries.clauses import Clauses, full_masks
from dpopt.schema.rules.threshold_circuit import NO_RULES


def without_literals(clauses: Clauses, true: NDArray[np.bool_], false: NDArray[np.bool_]) -> Clauses:
    """Return the same clauses without the literals that are known.

    With t known true literals, j further ones must be true where t + j had to be: the mask is shifted by t. Of m
    clauses of up to k literals, `true` and `false` (m, k) say which literals are known to be so; none in padding.
    """
    gone = true | false
    if not gone.any():
        return clauses
    order = np.argsort(gone | (clauses.attributes < 0), axis=1, kind="stable")  # literals first, then padding
    widths = clauses.widths() - np.count_nonzero(gone, axis=1)
    accepted = clauses.accepted.astype(np.int64) >> np.count_nonzero(true, axis=1)
    width = max(1, int(widths.max(initial=1)))

    def packed(array: NDArray[np.int32], padding: int) -> NDArray[np.int32]:
        return freeze(np.take_along_axis(np.where(gone, padding, array), order, axis=1)[:, :width])

    return Clauses(
        packed(clauses.attributes, -1),
        packed(clauses.values, 0),
        freeze(np.take_along_axis(clauses.signs & ~gone, order, axis=1)[:, :width]),
        freeze((accepted & full_masks(widths)).astype(np.uint32)),
    )


def constant_clauses(clauses: Clauses) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which clauses are true of every record and which of none; two arrays (m,)."""
    accepted = clauses.accepted.astype(np.int64)
    return accepted == full_masks(clauses.widths()), accepted == 0


LARGEST_COMPARISON = 300_000
"""Values of rules that are compared at most; where there are more, codes under rules are left as they are."""


def pulls(program: MaxCsp) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each flat column whether some literal there may help by it, and whether one may hurt; (columns,) each."""
    clauses, offsets = program.clauses, program.offsets()
    accepted, widths = clauses.accepted.astype(np.int64), clauses.widths()
    steps = full_masks(widths) >> 1
    rises, falls = ((accepted >> 1) & ~accepted & steps) != 0, ((accepted & ~(accepted >> 1)) & steps) != 0
    rewarded = program.weights > 0
    used = clauses.attributes >= 0
    columns = offsets[clauses.attributes[used]] + clauses.values[used]
    true_helps = np.where(rewarded, rises, falls)[:, None]
    true_hurts = np.where(rewarded, falls, rises)[:, None]
    for_it, against = np.zeros((2, int(offsets[-1])), dtype=np.bool_)
    for_it[columns[np.where(clauses.signs, true_helps, true_hurts)[used]]] = True
    against[columns[np.where(clauses.signs, true_hurts, true_helps)[used]]] = True
    return for_it, against


def dominators(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each flat column one that may take its place: itself, or one that dominates it.

    Among columns that may take each other's place, that of the record (d,) comes first. A column that takes another
    one's place keeps its own.
    """
    offsets, columns = program.offsets(), int(program.offsets()[-1])
    for_it, against = pulls(program)
    owner = np.repeat(np.arange(program.sizes.size), program.sizes)
    ruled = np.zeros(program.sizes.size, dtype=np.bool_)
    ruled[program.rules.term_attributes] = True
    # The order in which columns take each other's place: those that something speaks for, then the record's.
    own = np.zeros(columns, dtype=np.bool_)
    own[offsets[:-1] + record] = True
    rank = np.arange(columns) + columns * (2 * ~for_it + 1 * ~own)  # compared within an attribute only
    places = np.arange(columns)
    good, bad = ~against, ~for_it
    firsts = offsets[:-1]
    open_to_it = program.sizes > 1
    if columns:
        open_to_it &= np.logical_or.reduceat(good, firsts) & np.logical_or.reduceat(bad, firsts)

    free = open_to_it & ~ruled
    if free.any():
        winner = np.minimum.reduceat(np.where(good, rank, 4 * columns), firsts) % columns
        loses = bad & free[owner]
        places[loses] = winner[owner[loses]]
    held = open_to_it & ruled
    if held.any():
        _replace_under_rules(program, held, (good, bad, rank), places)
    return places


def _replace_under_rules(
    program: MaxCsp,
    held: NDArray[np.bool_],
    standing: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]],
    places: NDArray[np.int64],
) -> None:
    """Write replacements for columns of these attributes, all of which occur in rules, to `places`."""
    good, bad, rank = standing
    rules, offsets = program.rules, program.offsets()
    winner, loser = _pairs(offsets, held, good, bad)
    terms_of = np.argsort(rules.term_attributes, kind="stable")
    counts = np.bincount(rules.term_attributes, minlength=program.sizes.size)
    owner = np.asarray(np.searchsorted(offsets, winner, side="right"), dtype=np.int64) - 1
    lengths = counts[owner]
    if int(lengths.sum()) > LARGEST_COMPARISON:
        return
    pair = np.repeat(np.arange(winner.size), lengths)
    first = (np.cumsum(counts) - counts)[owner]
    base = rules.value_starts[:-1][terms_of[np.repeat(first, lengths) + ranges(lengths)]] - offsets[owner][pair]
    above, below = rules.values[base + winner[pair]], rules.values[base + loser[pair]]
    not_below = np.ones(winner.size, dtype=np.bool_)
    not_below[pair[above < below]] = False
    same = np.ones(winner.size, dtype=np.bool_)
    same[pair[above != below]] = False
    # Two columns that may each take the other's place: the one of lower rank does.
    mutual = same & bad[winner] & good[loser]
    wins = not_below & (~mutual | (rank[winner] < rank[loser]))
    order = np.lexsort((rank[winner], loser))
    order = order[wins[order]]
    _, first_of = np.unique(loser[order], return_index=True)
    places[loser[order[first_of]]] = winner[order[first_of]]
    for _ in range(places.size):  # a winner may itself be dominated, by a third one that dominates both
        following = places[places]
        if (following == places).all():
            break
        places[:] = following


def _pairs(
    offsets: NDArray[np.int64], held: NDArray[np.bool_], good: NDArray[np.bool_], bad: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of different columns (good, bad) of the same attribute, among these attributes."""
    owner = np.repeat(np.arange(held.size), np.diff(offsets))
    winners, losers = np.flatnonzero(good & held[owner]), np.flatnonzero(bad & held[owner])
    counts = np.bincount(owner[losers], minlength=held.size)
    lengths = counts[owner[winners]]
    first = (np.cumsum(counts) - counts)[owner[winners]]
    winner, loser = np.repeat(winners, lengths), losers[np.repeat(first, lengths) + ranges(lengths)]
    different = winner != loser
    return winner[different], loser[different]


@dataclass(frozen=True, slots=True, eq=False)
class Presolve:
    """A smaller problem, and the way back."""

    reduction: Reduction
    """The smaller problem, over some attributes and codes. Its background record decides the other attributes; it is
    the hint with dominated codes replaced, so it is at least as good as the hint, and feasible if the hint is."""
    constant: int
    """Weight of the clauses that are true of every remaining record: the smaller problem's objective lacks it."""
    impossible: str | None
    """Name of a rule that no record obeys together with the others; then nothing is to be solved. None: no such rule
    was noticed."""
    gained: bool
    """More was found than `reduce_max_csp` finds."""

    @classmethod
    def of(cls, reduction: Reduction) -> Presolve:
        """Return a reduction as it is, with nothing gained."""
        return cls(reduction, 0, None, gained=False)


def presolve(program: MaxCsp, hint: Point | None = None) -> Presolve:
    """Return a smaller problem with the same optimum.

    Parameters
    ----------
    hint : (d,) int32, optional
        A record to start from (default: code 0 everywhere); it decides attributes that cannot matter.
    """
    return presolve_reduced(reduce_max_csp(program, hint))


def presolve_reduced(reduction: Reduction) -> Presolve:
    """Return presolve's result for a problem that has been reduced already."""
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
        smaller, added = _restricted(problem, kept)
        if smaller is reduction.problem:
            return Presolve(reduction, constant, None, gained)
        gained, constant = True, constant + added
        reduction = _followed_by(reduction, smaller, kept, record)


def _kept_columns(problem: MaxCsp, record: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int32] | None]:
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
        clauses.attributes, freeze(np.where(used & ~never, code, 0).astype(np.int32)), clauses.signs, clauses.accepted
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
    """Return a reduction to no attribute, without clauses (none of which has a literal) and rules."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """A part of a problem."""

    problem: MaxCsp
    """The part as a problem of its own."""
    attributes: NDArray[np.int32]
    """Shape (d',). Its attributes in the whole problem, increasing."""


def components(program: MaxCsp) -> tuple[Component, ...]:
    """Return the parts of a problem, those with the fewest clauses first.

    Two attributes are in the same part if a chain of clauses and gates connects them. An objective is the sum over the
    parts plus the weight of the clauses without a literal that are true; a record obeys the rules if its parts do.
    Clauses without literals, and gates without terms below them, are in no part: presolve removes both.
    """
    labels = attribute_labels(program)
    parts, part_of_attribute = np.unique(labels, return_inverse=True)
    used = program.clauses.attributes[:, 0] >= 0
    part_of_clause = np.where(used, part_of_attribute[program.clauses.attributes[:, 0]], -1)
    if parts.size == 1 and used.all():
        return (Component(program, freeze(np.arange(program.sizes.size, dtype=np.int32))),)
    gate_part = _part_of_gate(program, part_of_attribute)
    sizes = np.bincount(part_of_clause[used], minlength=parts.size)
    return tuple(
        _component(program, part, part_of_attribute, part_of_clause, gate_part)
        for part in np.argsort(sizes, kind="stable").tolist()
    )


def attribute_labels(program: MaxCsp) -> NDArray[np.int64]:
    """Return a number for each attribute, (d,), that is the same for connected ones: the smallest attribute's."""
    attributes, rules, d = program.clauses.attributes, program.rules, program.sizes.size
    both = attributes[:, 1:] >= 0
    left = np.concatenate((attributes[:, :-1][both], rules.term_attributes, d + rules.gate_of_child())).astype(np.int64)
    right = np.concatenate((attributes[:, 1:][both], d + rules.gate_of_term(), d + rules.children)).astype(np.int64)
    labels = np.arange(d + len(rules))
    while True:
        least = np.minimum(labels[left], labels[right])
        following = labels.copy()
        for end in (labels[left], labels[right], left, right):
            np.minimum.at(following, end, least)
        following = following[following]
        if (following == labels).all():
            return freeze(labels[:d])
        labels = following


def _part_of_gate(program: MaxCsp, part_of_attribute: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the part of each gate, (g,); -1 where no term is connected with it."""
    rules = program.rules
    part = np.full(len(rules), -1, dtype=np.int64)
    part[rules.gate_of_term()] = part_of_attribute[rules.term_attributes]
    while True:  # a gate without terms of its own is where its children are, and the other way round
        before = part.copy()
        np.maximum.at(part, rules.gate_of_child(), part[rules.children])
        np.maximum.at(part, rules.children, part[rules.gate_of_child()])
        if (part == before).all():
            return part


def _component(
    program: MaxCsp,
    part: int,
    part_of_attribute: NDArray[np.int64],
    part_of_clause: NDArray[np.int64],
    gate_part: NDArray[np.int64],
) -> Component:
    attributes = np.flatnonzero(part_of_attribute == part).astype(np.int32)
    number = np.full(program.sizes.size, -1, dtype=np.int32)
    number[attributes] = np.arange(attributes.size, dtype=np.int32)
    chosen = np.flatnonzero(part_of_clause == part)
    clauses = program.clauses.take(chosen)
    renumbered = np.where(clauses.attributes >= 0, number[clauses.attributes], -1).astype(np.int32)
    sizes = program.sizes[attributes]
    rules, gates = NO_RULES, gate_part == part
    if gates.any():
        whole = program.rules
        terms, entries = gates[whole.gate_of_term()], gates[whole.gate_of_child()]
        rules = whole.part(whole.bounds, whole.required, gates, terms, entries)
        codes = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rules = with_codes(rules, number, sizes, codes.astype(np.int32))
    return Component(
        MaxCsp(
            freeze(sizes),
            Clauses(freeze(renumbered), clauses.values, clauses.signs, clauses.accepted),
            freeze(program.weights[chosen]),
            rules,
        ),
        freeze(attributes),
    )


MOST_RECORDS = 2048
MOST_LITERALS = 500_000  # of all records together


def is_small(program: MaxCsp) -> bool:
    """Return whether every record of the problem can be looked at in about a millisecond."""
    if program.sizes.size > 60:
        return False
    records = math.prod(program.sizes.tolist())
    literals = program.clauses.attributes.size + program.rules.term_attributes.size
    return bool(records <= MOST_RECORDS and records * literals <= MOST_LITERALS)


def best_record(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return an optimal record (d,): the given one if it is optimal, else the first; None if no record is feasible.

    The records of a small problem are written down one by one.
    """
    grid = np.indices(program.sizes.tolist(), dtype=np.int32)
    records = np.ascontiguousarray(grid.reshape(program.sizes.size, -1).T)
    values = _objectives(program, records)
    feasible = ~program.rules.broken(records).any(axis=1)
    if not feasible.any():
        return None
    best = feasible & (values == values[feasible].max())
    own = int(np.ravel_multi_index(tuple(record.tolist()), tuple(program.sizes.tolist())))
    return freeze(records[own if best[own] else int(np.argmax(best))].copy())


def _objectives(program: MaxCsp, records: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the objective of each record (r, d); (r,) int64."""
    clauses = program.clauses
    used = clauses.attributes >= 0
    true = (records[:, clauses.attributes] == clauses.values) == clauses.signs
    count = np.count_nonzero(true & used, axis=2)
    result: NDArray[np.int64] = ((clauses.accepted >> count) & 1).astype(np.int64) @ program.weights
    return result

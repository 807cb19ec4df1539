"""Codes of a MaxCsp that another code of the same attribute can replace in every record without loss.

Code v dominates code w if giving the attribute v in place of w never turns a rewarded clause false or a penalized one true,
and never breaks a rule. It is enough that

- every literal at v can only help where the attribute is v, and every literal at w can only hurt where it is w;
- each term of the rules is at least as large at v as at w (a gate never turns false because a sum rises).

A literal helps where it is true if its clause turns true, and never false, with more true literals (a conjunction, a
threshold) and is rewarded, or turns false, and never true (their negations), and is penalized. Parities have no such
direction: their literals count on both sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.circuit_reduction import ranges
from dpopt.programs.clause_simplification import full_masks
from dpopt.programs.max_csp import MaxCsp

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

    Parameters
    ----------
    program
        The problem.
    record : (d,) int32
        Among columns that may take each other's place, its own comes first.

    Returns
    -------
    places : (columns,) int64
        A column that takes another one's place keeps its own.
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
    """Write to `places` what takes the place of columns of these attributes, all of which occur in rules."""
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
    base = (
        rules.value_starts[:-1][terms_of[np.repeat(first, lengths) + ranges(lengths)]] - offsets[owner][pair]
    )
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

"""Which queries have the largest noise: steepest ascent over sets of k bits, with the noise of a release known.

An experiment knows the exact counts, hence the noise e_A of each counted conjunction A. The noise of a query of the bits S is
the sum over A in S of a_|A| e_A. From each start, the bit is exchanged that raises it most until none does; and once more, the
bit that lowers it most. Starts are the conjunctions of each size with the largest noise, filled up with random bits, and
random sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.conjunctions.literals import LiteralGroups

Sets = NDArray[np.int64]
Noise = NDArray[np.float64]


def sets_of_largest_noise(
    noise: Sequence[Noise],
    groups: LiteralGroups,
    width: int,
    *,
    built: int,
    drawn: int,
    generator: np.random.Generator,
    threads: int = 2,
) -> tuple[Sets, Noise]:
    """Return different sets at which no exchange of one bit raises the noise, or lowers it, and the noise of each.

    Parameters
    ----------
    noise : t arrays
        a_j e_A of the conjunctions of 1, ..., t bits, in the order of `LiteralGroups.numbers`.
    groups : LiteralGroups
        Of one literal each.
    width : int
        k.
    built, drawn : int
        Starts around conjunctions of each size, and random ones.
    generator : numpy.random.Generator
    threads : int

    Returns
    -------
    sets : (q, k) int64
        Increasing in each row.
    values : (q,) float64
    """
    starts = np.concatenate(
        [
            *(
                _filled(_largest(one, groups.literals, size, built), groups.literals, width, generator)
                for size, one in enumerate(noise, start=1)
            ),
            random_sets(groups.literals, width, drawn, generator),
        ]
    )
    befores = np.array([groups.before(rest) for rest in range(len(noise))])
    offsets = np.cumsum([0, *(one.size for one in noise)])[:-1].astype(np.int64)
    flat = np.concatenate(noise)
    ends = np.concatenate((starts, starts))
    values = np.empty(len(ends))
    signs = np.repeat([1.0, -1.0], len(starts))

    def climb(place: int) -> None:
        values[place] = _climb(ends[place], signs[place], flat, befores, offsets)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(climb, range(len(ends))))
    sets, first = np.unique(ends, axis=0, return_index=True)
    return sets, values[first]


def random_sets(literals: int, width: int, number: int, generator: np.random.Generator) -> Sets:
    """Return random sets of bits, increasing in each row, (number, width)."""
    return np.sort(np.argsort(generator.random((number, literals)), axis=1)[:, :width], axis=1)


def neighbours(sets: Sets, literals: int) -> Sets:
    """Return all sets that differ from one of these in one bit."""
    found = [
        np.column_stack((np.tile(np.delete(one, place), (literals - one.size, 1)), others))
        for one, others in ((one, np.setdiff1d(np.arange(literals), one)) for one in sets)
        for place in range(one.size)
    ]
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)


def _largest(noise: Noise, literals: int, size: int, number: int) -> Sets:
    """Return the conjunctions with the largest noise."""
    most = np.argsort(-np.abs(noise), kind="stable")[:number]
    groups = LiteralGroups((1,) * literals)
    found = np.empty((most.size, size), dtype=np.int64)
    number_left, begin = most.astype(np.int64), np.zeros(most.size, dtype=np.int64)
    for place in range(size):
        before = groups.before(size - place - 1)
        number_left = number_left + before[begin]
        found[:, place] = np.searchsorted(before, number_left, side="right") - 1
        number_left -= before[found[:, place]]
        begin = found[:, place] + 1
    return found


def _filled(sets: Sets, literals: int, width: int, generator: np.random.Generator) -> Sets:
    """Return the sets with random bits more, up to `width`."""
    order = generator.random((len(sets), literals))
    np.put_along_axis(order, sets, -1.0, axis=1)
    return np.sort(np.argsort(order, axis=1)[:, :width], axis=1)


@kernel
def _climb(
    at: NDArray[np.int64],
    sign: float,
    noise: NDArray[np.float64],
    befores: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> float:
    """Exchange bits of the set while that raises sign times its noise; return its noise."""
    width, literals = at.size, befores.shape[1] - 1
    masks = _masks(width, offsets.size)
    rest, tried, best = np.empty(width - 1, np.int64), np.empty(width, np.int64), at.copy()
    value = sign * _noise(at, -1, masks, noise, befores, offsets)
    while True:
        highest = value
        for out in range(width):
            rest[:out] = at[:out]
            rest[out:] = at[out + 1 :]
            without = value - sign * _noise(at, out, masks, noise, befores, offsets)
            place = 0
            for literal in range(literals):
                if place < width - 1 and rest[place] == literal:
                    place += 1
                    continue
                if literal == at[out]:
                    continue
                tried[:place] = rest[:place]
                tried[place] = literal
                tried[place + 1 :] = rest[place:]
                reached = without + sign * _noise(tried, place, masks, noise, befores, offsets)
                if reached > highest + 1e-15:
                    highest = reached
                    best[:] = tried
        if highest <= value + 1e-15:
            return _noise(at, -1, masks, noise, befores, offsets)
        value = highest
        at[:] = best


@kernel
def _masks(width: int, most: int) -> NDArray[np.int64]:
    """Return the sets of 1 to `most` of `width` places as bits of numbers."""
    found, number = np.empty(2**width, np.int64), 0
    for mask in range(1, 2**width):
        bits = 0
        for place in range(width):
            bits += (mask >> place) & 1
        if bits <= most:
            found[number] = mask
            number += 1
    return found[:number]


@kernel
def _noise(
    chosen: NDArray[np.int64],
    must: int,
    masks: NDArray[np.int64],
    noise: NDArray[np.float64],
    befores: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> float:
    """Return the noise of all conjunctions within the set, of those alone that hold the bit at place `must` if it is not -1."""
    total = 0.0
    for mask in masks:
        if must >= 0 and not (mask >> must) & 1:
            continue
        size = 0
        for place in range(chosen.size):
            size += (mask >> place) & 1
        number, begin, left = offsets[size - 1], 0, size
        for place in range(chosen.size):
            if (mask >> place) & 1:
                left -= 1
                literal = chosen[place]
                number += befores[left, literal] - befores[left, begin]
                begin = literal + 1
        total += noise[number]
    return total

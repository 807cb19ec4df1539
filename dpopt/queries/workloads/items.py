"""Workloads over items of known popularity: random conjunctions of binary attributes, popular ones more often."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from math import factorial, isqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import WorkloadError
from dpopt.files.reading import read_text
from dpopt.public_random import PublicRandom
from dpopt.queries.clauses import Clauses
from dpopt.queries.workloads.families import BATCH, check_drawn, check_width
from dpopt.schema.schema import Schema

EXPONENTS = {"0": 0, "0.5": 1, "1": 2, "1.5": 3, "2": 4}
"""How an exponent is written, and twice its value."""

MOST_ITEMS = 1 << 22  # so that all weights together stay below 2^63
_UNIT = 80  # weights are whole parts of 2^40 / rank^exponent; part of the definition, never to be changed
_LEAST_DISTINCT = 1e-3  # of so many draws at least this share must have distinct items


def popular_conjunctions(
    width: int,
    count: int,
    seed: int,
    ranks: NDArray[np.int64],
    schema: Schema,
    *,
    twice_exponent: int = 2,
    positive: bool = False,
) -> Clauses:
    """Return `count` independent random conjunctions of `width` literals "attribute = 1" or "attribute != 1".

    **Distribution.** The items of a clause are `width` independent draws, the item of rank r with probability w_r / sum
    of w, given that they are distinct: a draw with an item twice is made again as a whole. So a set {i, j, k} has a
    probability proportional to w_i w_j w_k, and its items are sorted by attribute. The weights are whole numbers, w_r =
    isqrt(2^80 // r^(2a)), the integer part of 2^40 / r^a, and draws are exact, so the same seed gives the same clauses
    on every machine and for ever. Each sign is "=" or "!=" with probability 1/2, independent of everything else; "="
    always, if `positive`. The same clause can occur more than once.

    `ranks` (items,) int64 holds the positions of binary attributes, the most popular first, all different: public
    knowledge, as counts of the table would reveal something about records. Attributes left out are never asked about.
    `seed` is public, below 2^64, and `twice_exponent` is 2 a: 0 for items that are all alike, 2 for weights 1 / rank.
    Attributes increase within a clause.
    """
    check_width(width, schema)
    check_drawn(count, "conjunctions")
    items = _checked_items(ranks, width, schema)
    weights = popularity_weights(items.size, twice_exponent)
    _refuse_repetition(weights, width, twice_exponent)
    random, bounds = PublicRandom(seed), np.cumsum(weights)
    attributes = np.empty((count, width), dtype=np.int32)
    signs = np.ones((count, width), dtype=np.bool_)
    for begin in range(0, count, BATCH):
        part = slice(begin, min(begin + BATCH, count))
        size = part.stop - part.start
        places = _distinct_places(random, size, width, bounds)
        attributes[part] = np.sort(items[places], axis=1)
        if not positive:
            signs[part] = random.bits(size * width).reshape(size, width)
    values = np.ones((count, width), dtype=np.int32)
    masks = np.full(count, 1 << width, dtype=np.uint32)
    return Clauses(freeze(attributes), freeze(values), freeze(signs), freeze(masks))


def popularity_weights(items: int, twice_exponent: int) -> NDArray[np.uint64]:
    """Return the weights of the ranks 1 .. items: isqrt(2^80 // rank^twice_exponent), (items,) uint64."""
    if items > MOST_ITEMS or items**twice_exponent > 1 << _UNIT:
        raise WorkloadError(
            f"{items:,} ranked items are too many for the exponent {twice_exponent / 2:g} (at most {MOST_ITEMS:,}, and "
            f"the last one must have a weight); rank fewer, or give another 'exponent='"
        )
    if twice_exponent % 2 == 0:  # then the root is exact: the integer part of 2^40 / rank^exponent
        ranks = np.arange(1, items + 1, dtype=np.uint64)
        powers = ranks ** np.uint64(twice_exponent // 2)
        weights = np.asarray(np.uint64(1 << _UNIT // 2) // powers)
    else:
        exact = (isqrt((1 << _UNIT) // rank**twice_exponent) for rank in range(1, items + 1))
        weights = np.fromiter(exact, dtype=np.uint64, count=items)
    return weights


def read_ranks(path: str | os.PathLike[str], schema: Schema) -> NDArray[np.int64]:
    """Return the positions of the attributes that a file ranks, one on each line, the most popular first.

    The lines are names of attributes if all of them are; numbers of columns, counted from 0, if none of them is a name.
    Empty lines are left out.
    """
    text = read_text(path, f"the file of ranks {os.fspath(path)!r}", WorkloadError)
    lines = [line.strip() for line in text.split("\n")]
    named = [(number, line) for number, line in enumerate(lines, start=1) if line]
    if not named:
        raise WorkloadError(
            f"the ranks {os.fspath(path)!r} are empty; expected one item per line, the most popular first"
        )
    positions = {name: position for position, name in enumerate(schema.names)}
    found = [positions.get(line, -1) for _, line in named]
    if min(found) >= 0:
        return np.array(found, dtype=np.int64)
    numbers = [int(line) if line.isascii() and line.isdigit() and len(line) <= 10 else -1 for _, line in named]
    last = len(schema) - 1
    # What is neither name nor number of a column is the mistake; where there is none, names stand beside numbers.
    strange = next((at for at, number in enumerate(numbers) if found[at] < 0 and not 0 <= number <= last), None)
    mixed = next((at for at, position in enumerate(found) if position >= 0), None)
    wrong = mixed if strange is None else strange
    if wrong is not None:
        line, text = named[wrong]
        problem = f"is neither an attribute of the schema nor a column number from 0 to {last:,}"
        if strange is None:
            other = next(at for at, position in enumerate(found) if position < 0)
            also = " (and a number)" if 0 <= numbers[wrong] <= last else ""
            problem = (
                f"is a name{also}, and other lines are not, such as line {named[other][0]}; give names or column "
                f"numbers, one or the other"
            )
        raise WorkloadError(f"the ranks {os.fspath(path)!r}, line {line}: {text!r} {problem}")
    return np.array(numbers, dtype=np.int64)


def ranks_to_text(ranks: NDArray[np.int64]) -> str:
    """Return ranks as one text of column numbers, as workloads keep them."""
    return " ".join(map(str, ranks.tolist()))


def ranks_from_text(text: object) -> NDArray[np.int64]:
    """Return the ranks that a workload keeps."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,10}( [0-9]{1,10})*", text):
        raise WorkloadError(
            "workload: 'ranks' is one text of column numbers with a blank between them, the most popular first, such "
            "as "
            f'"12 5 88"; found {repr(text)[:60]}'
        )
    return np.array([int(number) for number in text.split(" ")], dtype=np.int64)


def _checked_items(ranks: Sequence[int] | NDArray[np.int64], width: int, schema: Schema) -> NDArray[np.int64]:
    """Return the items, read-only, if they are different binary attributes and enough of them."""
    items = frozen(np.asarray(ranks), np.int64)
    if items.ndim != 1 or items.size < width:
        raise WorkloadError(
            f"conjunctions of {width} items need at least {width} ranked items, found {items.size}; rank more, or ask "
            f"smaller ones"
        )
    beyond = (items < 0) | (items >= len(schema))
    if beyond.any():
        raise WorkloadError(
            f"the ranks name column number {int(items[np.argmax(beyond)])}; the schema has {len(schema):,} attributes, "
            "numbered from 0"
        )
    order = np.argsort(items, kind="stable")
    twice = np.flatnonzero(items[order][1:] == items[order][:-1])
    if twice.size:
        first, second = order[twice[0]], order[twice[0] + 1]
        raise WorkloadError(
            f"the ranks name {schema.attributes[int(items[first])].name!r} twice, at the places {first + 1} and "
            f"{second + 1}; every item has one rank"
        )
    wide = schema.sizes[items] != 2
    if wide.any():
        item = int(items[np.argmax(wide)])
        raise WorkloadError(
            f"the ranks name {schema.attributes[item].name!r}, which has {int(schema.sizes[item])} values; items are "
            "attributes of two values, absent and present"
        )
    return items


def _refuse_repetition(weights: NDArray[np.uint64], width: int, twice_exponent: int) -> None:
    shares = weights.astype(np.float64) / float(weights.sum())
    distinct = factorial(width) * _elementary_symmetric(shares, width)
    if distinct < _LEAST_DISTINCT:
        raise WorkloadError(
            f"{width} items drawn by popularity are distinct once in {1 / max(distinct, 1e-300):.2g} draws: "
            f"{weights.size:,} items with the exponent {twice_exponent / 2:g} are too few or too uneven. Ask smaller "
            "conjunctions, rank more items, or give a smaller 'exponent='"
        )


def _elementary_symmetric(shares: NDArray[np.float64], width: int) -> float:
    """Return the sum over all sets of `width` items of the product of their shares, to a few units of rounding.

    The coefficient of x^width in the product of all (1 + share x), multiplied in pairs; everything is positive.
    """
    padded = np.zeros((1 << (max(1, shares.size) - 1).bit_length(), width + 1))
    padded[:, 0] = 1.0
    padded[: shares.size, 1] = shares
    while len(padded) > 1:
        left, right = padded[0::2], padded[1::2]
        product = np.zeros_like(left)
        for degree in range(width + 1):
            product[:, degree:] += left[:, degree, None] * right[:, : width + 1 - degree]
        padded = product
    return float(padded[0, width])


def _distinct_places(random: PublicRandom, size: int, width: int, bounds: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return `size` draws of `width` places, (size, width), each in proportion to its weight, given that they differ.

    `bounds` are the cumulative weights. Rows with a place twice are drawn again, all together, until none is left.
    """
    places = np.empty((size, width), dtype=np.int64)
    open_rows = np.arange(size)
    while open_rows.size:
        points = random.below(np.full((open_rows.size, width), bounds[-1], dtype=np.uint64))
        places[open_rows] = np.searchsorted(bounds, points, side="right")
        ordered = np.sort(places[open_rows], axis=1)
        open_rows = open_rows[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    return places

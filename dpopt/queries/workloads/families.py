"""Whole families of queries: marginals, random conjunctions and thresholds, parities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb, prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError
from dpopt.public_random import PublicRandom
from dpopt.queries.clauses import LARGEST_WIDTH, ODD, Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

LARGEST_COUNT = 50_000_000
# random clauses are drawn in batches of this size: part of their definition, never to be changed
BATCH = 1 << 20
LARGEST_CELLS = 2_000_000_000  # of marginals, which are held as shapes


def check_width(width: int, schema: Schema) -> None:
    """Raise WorkloadError unless queries over `width` distinct attributes of the schema exist."""
    largest = min(len(schema), LARGEST_WIDTH)
    if not 1 <= width <= largest:
        raise WorkloadError(
            f"{width}-way queries were asked for; between 1 and {largest} attributes are possible "
            f"(the schema has {len(schema)}, a query at most {LARGEST_WIDTH})"
        )


def check_count(count: int, what: str, advice: str, largest: int = LARGEST_COUNT) -> None:
    """Raise WorkloadError if there are more queries than can be held."""
    if count > largest:
        raise WorkloadError(f"{count:,} {what}, more than the {largest:,} that are possible; {advice}")


def all_marginals(width: int, schema: Schema, domains: Domains) -> MarginalSet:
    """Return every marginal over `width` attributes, in lexicographic order."""
    check_width(width, schema)
    available = comb(len(schema), width)
    advice = "use fewer attributes per marginal, coarser bins, or 'count=' to choose some marginals at random"
    check_count(
        _cells_of_all(width, domains.counts.tolist()),
        f"cells in the {available:,} marginals over {width} attributes",
        advice,
        LARGEST_CELLS,
    )
    check_count(available, f"marginals over {width} attributes", advice)
    return MarginalSet(domains, freeze(_all_sets(width, len(schema))))


def chosen_marginals(width: int, count: int, seed: int, schema: Schema, domains: Domains) -> MarginalSet:
    """Return `count` distinct marginals over `width` attributes, every choice equally likely."""
    check_width(width, schema)
    available = comb(len(schema), width)
    if not 1 <= count <= available:
        raise WorkloadError(
            f"{count:,} marginals were asked for; there are {available:,} over {width} of {len(schema)} attributes"
        )
    advice = "choose fewer marginals, fewer attributes per marginal, or coarser bins"
    check_count(count, "marginals", advice)
    ranks = PublicRandom(seed).distinct_below(available, count)
    return _marginal_set(_combinations(ranks, len(schema), width), domains)


def listed_marginals(marginals: Sequence[Sequence[int]], domains: Domains) -> MarginalSet:
    """Return these marginals (attribute positions, distinct within each), in this order."""
    width = max(len(marginal) for marginal in marginals)
    padded = [[*marginal, *[-1] * (width - len(marginal))] for marginal in marginals]
    return _marginal_set(np.array(padded, dtype=np.int32), domains)


def random_conjunctions(
    width: int, count: int, seed: int, schema: Schema, domains: Domains, *, positive: bool = False
) -> Clauses:
    """Return `count` independent random conjunctions of `width` literals over distinct attributes.

    The set of attributes is uniform; then the value of each is uniform among its codes and "=" or "!=" has probability
    1/2 each. Attributes increase within a clause. The same clause can occur more than once. With `positive` every
    literal is "=", and names the second code of an attribute with two: what is there, not what is missing.
    """
    check_width(width, schema)
    check_drawn(count, "conjunctions")
    return _random_clauses(1 << width, width, count, seed, domains, signed=not positive, second=positive)


def random_thresholds(width: int, least: int, count: int, seed: int, schema: Schema, domains: Domains) -> Clauses:
    """Return `count` independent random thresholds: at least `least` of `width` literals are true.

    The literals are drawn as those of conjunctions are, and are the same for the same seed. As for every query with
    answers 0 and 1, the answer on n records lies in [0, 1], and its sensitivity is 1/n: replacing one record moves the
    count by at most 1, and so does adding or removing one, where n is a public number.
    """
    check_width(width, schema)
    if not 1 <= least <= width:
        raise WorkloadError(
            f"thresholds of at least {least} of {width} literals were asked for; between 1 and {width} are possible"
        )
    check_drawn(count, "thresholds")
    return _random_clauses((2 << width) - (1 << least), width, count, seed, domains)


def random_parities(width: int, count: int, seed: int, schema: Schema, domains: Domains) -> Clauses:
    """Return `count` independent random parities: an odd number of `width` conditions "attribute = value" is true.

    Attributes and values are drawn as for conjunctions. There are no signs: "!=" in place of "=" would turn a parity
    into its negation, and workloads are closed under negation. Range and sensitivity are those of `random_thresholds`.

    Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), "Dual Query", section 6. The parity q of the paper is +1
    for an even number of true conditions and -1 for an odd one; the query here is (1 - q) / 2, and its negation (1 + q)
    / 2.
    """
    check_width(width, schema)
    check_drawn(count, "parities")
    return _random_clauses(ODD & ((2 << width) - 1), width, count, seed, domains, signed=False)


def all_parities(width: int, schema: Schema, domains: Domains) -> Clauses:
    """Return the parity of every set of `width` attributes with two codes each, sets in lexicographic order.

    The condition of an attribute is "attribute = its second code"; the first one would give the negation at most.
    """
    check_width(width, schema)
    other = np.flatnonzero(domains.counts != 2)
    if other.size:
        attribute = schema.attributes[int(other[0])]
        raise WorkloadError(
            f"all parities over {width} attributes need attributes of two values each; {attribute.name!r} has "
            f"{int(domains.counts[other[0]])}. Choose random ones with 'count=', such as 'parity:{width},count=100000'"
        )
    sets = comb(len(schema), width)
    check_count(sets, f"parities over {width} of {len(schema)} attributes", "choose some at random with 'count='")
    attributes = _all_sets(width, len(schema))
    return Clauses(
        freeze(attributes),
        freeze(domains.codes[domains.starts[attributes] + 1]),
        freeze(np.ones((sets, width), dtype=np.bool_)),
        freeze(np.full(sets, ODD & ((2 << width) - 1), dtype=np.uint32)),
    )


def check_drawn(count: int, what: str) -> None:
    """Raise WorkloadError unless so many queries can be drawn at random."""
    if count < 1:
        raise WorkloadError(f"{count} {what} were asked for; 'count' is at least 1")
    check_count(count, f"{what} were asked for", "ask for fewer")


def _random_clauses(
    accepted: int, width: int, count: int, seed: int, domains: Domains, *, signed: bool = True, second: bool = False
) -> Clauses:
    """Return random clauses that all accept the same numbers of true literals.

    Without signs all are "="; with `second` an attribute with two codes is asked for its second one.
    """
    random = PublicRandom(seed)
    attributes = np.empty((count, width), dtype=np.int32)
    values = np.empty((count, width), dtype=np.int32)
    signs = np.ones((count, width), dtype=np.bool_)
    skipped = (domains.counts == 2) & second  # codes in front of those that are drawn from
    bounds = (domains.counts - skipped).astype(np.uint64)
    for begin in range(0, count, BATCH):
        part = slice(begin, min(begin + BATCH, count))
        size = part.stop - part.start
        attributes[part] = _distinct_sorted(random, size, width, domains.counts.size)
        digits = random.below(bounds[attributes[part]]).astype(np.int64) + skipped[attributes[part]]
        values[part] = domains.codes[domains.starts[attributes[part]] + digits]
        if signed:
            signs[part] = random.bits(size * width).reshape(size, width)
    masks = np.full(count, accepted, dtype=np.uint32)
    return Clauses(freeze(attributes), freeze(values), freeze(signs), freeze(masks))


def _all_sets(width: int, available: int) -> NDArray[np.int32]:
    """Return every set of `width` integers below `available`, in lexicographic order, one per row."""
    flat = chain.from_iterable(combinations(range(available), width))
    return np.fromiter(flat, dtype=np.int32, count=comb(available, width) * width).reshape(-1, width)


def _distinct_sorted(random: PublicRandom, size: int, width: int, available: int) -> NDArray[np.int64]:
    """Return `size` uniform sets of `width` distinct integers below `available`, each in increasing order."""
    chosen = np.empty((size, width), dtype=np.int64)
    for position in range(width):
        # The draw counts the integers that are not yet chosen; stepping over the chosen ones in increasing order
        # turns it into an integer.
        draw = random.below(np.full(size, available - position, dtype=np.uint64)).astype(np.int64)
        for earlier in range(position):
            draw += draw >= chosen[:, earlier]
        chosen[:, position] = draw
        chosen[:, : position + 1].sort(axis=1)
    return chosen


def _cells_of_all(width: int, counts: list[int]) -> int:
    """Return the sum over all sets of `width` attributes of the product of their counts, exactly."""
    sums = [1] + [0] * width
    for count in counts:
        for degree in range(width, 0, -1):
            sums[degree] += sums[degree - 1] * count
    return sums[width]


def _marginal_set(marginals: NDArray[np.int32], domains: Domains) -> MarginalSet:
    """Return the marginals, refused before anything is built if they have too many cells."""
    counts = [*domains.counts.tolist(), 1]  # the last one for padding
    cells = sum(prod(counts[attribute] for attribute in marginal) for marginal in marginals.tolist())
    check_count(
        cells,
        f"cells in {len(marginals):,} marginal{'s' * (len(marginals) > 1)}",
        "use fewer marginals, smaller ones, or coarser bins",
        LARGEST_CELLS,
    )
    return MarginalSet(domains, freeze(marginals))


def _combinations(ranks: list[int], available: int, width: int) -> NDArray[np.int32]:
    """Return the sets with these numbers (from 0) in lexicographic order of the sets of `width` out of `available`.

    In the combinatorial number system: the number counted from the end is comb(c_1, width) + comb(c_2, width - 1) +
    ... with the largest c_1, then the largest c_2, ...; the set holds available - 1 - c_1, available - 1 - c_2, ...
    """
    total = comb(available, width)
    # Python's own integers where 64 bits are not enough; everything below works on both.
    exact = cast("type[np.int64]", np.int64 if total < 1 << 62 else np.object_)
    rest = np.array([total - 1 - rank for rank in ranks], dtype=exact)
    sets = np.empty((len(ranks), width), dtype=np.int32)
    for position in range(width):
        table = np.array([comb(c, width - position) for c in range(available)], dtype=exact)
        largest = np.searchsorted(table, rest, side="right") - 1
        rest = rest - table[largest]
        sets[:, position] = available - 1 - largest
    return sets

"""Public populations over any schema, as columns or as a table, to play plans on before any record is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.public_random import PublicRandom, permutation, public_stream, uniforms
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords, octets_for
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import DENSITY
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

_CODES_AT_ONCE, _ROWS_AT_ONCE = 1 << 20, 64  # they bound the temporary arrays


def mentioned_attributes(workload: Workload) -> NDArray[np.int64]:
    """Return the attributes that a query or a rule mentions, increasing."""
    named = workload.queries.attributes
    found = np.zeros(len(workload.schema), dtype=np.bool_)
    found[named[named >= 0]] = True
    found[workload.schema.circuit().attributes()] = True
    return np.flatnonzero(found)


def random_codes(
    records: NDArray[np.int32], domains: Domains, left_out: NDArray[np.int64], seed: int
) -> NDArray[np.int32]:
    """Return records (r, d) with public random codes of the attributes that nobody asks about."""
    found = records.copy()
    for attributes, codes in _random_columns(len(records), domains, left_out, seed):
        found[:, attributes] = codes.T
    return found


def random_bits(named: NDArray[np.int64], codes: NDArray[np.int32], domains: Domains, seed: int) -> BitRecords:
    """Return records as bits: codes (r, a) of attributes (a,), increasing, are given, all others are public random.

    Every attribute has the codes 0 and 1. The records are those of `random_codes`; of records times attributes nothing
    is held but bits.
    """
    rows, width = len(codes), domains.counts.size
    columns = np.empty((width, octets_for(rows)), dtype=np.uint8)  # bit 7 - i % 8 of columns[a, i // 8]: record i
    columns[named] = np.packbits(codes.T.astype(np.bool_), axis=1)
    left_out = np.setdiff1d(np.arange(width), named)
    for attributes, drawn in _random_columns(rows, domains, left_out, seed):
        columns[attributes] = np.packbits(drawn.astype(np.bool_), axis=1)
    octets = np.empty((rows, octets_for(width)), dtype=np.uint8)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, rows)
        part = columns[:, begin // 8 : octets_for(end)]
        turned = np.unpackbits(part, axis=1, count=end - begin).T
        octets[begin:end] = np.packbits(turned, axis=1)
    return BitRecords(width, freeze(octets))


def _random_columns(
    rows: int, domains: Domains, left_out: NDArray[np.int64], seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield some attributes (a,) and random codes of each, (a, rows), until all that were left out had their turn."""
    stream = public_stream(seed, "attributes that no query mentions")
    step = max(1, _CODES_AT_ONCE // max(1, rows))
    for begin in range(0, left_out.size, step):
        attributes = left_out[begin : begin + step]
        drawn = stream.below_each(domains.counts[attributes].astype(np.uint64), rows).astype(np.int64)
        yield attributes, domains.codes[domains.starts[attributes][:, None] + drawn]


MOST_ATTRIBUTES = 100
"""Binary attributes of a written table; with more, populations are distributions (see `BinaryPopulation`)."""


def has_binary_population(workload: Workload, density: float | None) -> bool:
    """Return whether errors are predicted on zeros and ones: for `Schema.binary`, or with a declared density."""
    if density is None:
        return workload.schema.is_binary
    others = np.flatnonzero(workload.schema.sizes != 2)
    if others.size:
        attribute = workload.schema.attributes[int(others[0])]
        raise PlanError(
            f"--density is the share of ones in a table of zeros and ones; {attribute.name!r} has {attribute.size} "
            f"values. Leave the option out"
        )
    return True


def public_table(workload: Workload, rows: int, *, seed: int, density: float | None = None) -> PrivateDataset:
    """Return a number of records of a public population over the schema of a workload."""
    schema = workload.schema
    if not has_binary_population(workload, density):
        return PrivateDataset.from_codes(schema, public_population(schema, rows, seed=seed))
    if len(schema) > MOST_ATTRIBUTES:
        raise PlanError(
            f"not predicted: on a table of {len(schema):,} binary attributes (more than {MOST_ATTRIBUTES}) a "
            f"simulation of this algorithm takes as long as a run; give --no-predict, or use dualquery"
        )
    distribution = binary_population(len(schema), seed=seed, density=density, ranks=workload.ranks)
    return PrivateDataset.from_codes(schema, list(distribution.records(rows, seed=seed).T))


CLASSES = 6
CLASS_DECAY = 0.6
_NARROW, _MIDDLE, _WIDE = 13, 24, 41
_FEW_CODES = 20


def public_population(schema: Schema, rows: int, *, seed: int) -> list[NDArray[np.int64]]:
    """Return the columns of codes of a public population, one (rows,) array per attribute; for a seed always the same.

    Each attribute has a Zipf distribution over its codes in random order, rank r with mass proportional to r**-tau; the
    exponents are spread evenly over the attributes, from nearly flat to one value almost always. Attributes depend on
    each other in two ways. A hidden class, with geometric shares, draws with probability lambda from its own order of
    the same masses: weak dependences among all attributes. And each attribute, in a random order, takes with
    probability mu the place in its distribution that an earlier attribute has in its own: strong dependences of some
    pairs. lambda and mu are powers of numbers spread evenly over (0, 1). Codes that the schema declares as not
    occurring have no mass. Under rules, records that break them are changed in few codes until they obey.

    What the width of a table says: from 13 to 24 attributes the exponents move from [0.5, 5.8] to [0.3, 3.8] and the
    power of mu from 1.5 to 0.3; from 13 to 41 attributes, with the square of the place between the two, the power of
    lambda moves from 1.5 to 5, and with its fourth power the exponents of attributes with at most 20 codes become up to
    ten times as large: wide tables have more columns that hardly vary. These numbers were set on the entropies and the
    mutual informations of public tables of 7 to 48 attributes; experiments/one_estimator compares prediction and
    measurement.
    """
    stream = public_stream(seed, "population")
    count = len(schema)
    shares = CLASS_DECAY ** np.arange(CLASSES)
    classes = np.searchsorted(np.cumsum(shares / shares.sum()), uniforms(stream, rows)).clip(max=CLASSES - 1)
    steepness, spread, tied = ((permutation(stream, count) + 0.5) / count for _ in range(3))
    order, earlier = permutation(stream, count), uniforms(stream, count)
    width = min(1.0, max(0.0, (count - _NARROW) / (_WIDE - _NARROW)))
    middle = min(1.0, max(0.0, (count - _NARROW) / (_MIDDLE - _NARROW)))
    flattest, steepest = 0.5 - 0.2 * middle, 5.8 - 2.0 * middle
    dependence, ties = spread ** (1.5 + 3.5 * width**2), tied ** (1.5 - 1.2 * middle)
    columns = [np.empty(0, dtype=np.int64)] * count
    places = [np.empty(0)] * count
    for turn, position in enumerate(order.tolist()):
        attribute = schema.attributes[position]
        codes = np.arange(attribute.size) if attribute.occurring is None else np.array(attribute.occurring)
        exponent = flattest + (steepest - flattest) * steepness[position]
        if attribute.size <= _FEW_CODES:
            exponent *= 1 + 9 * width**4
        masses = (np.arange(len(codes)) + 1.0) ** -exponent
        masses /= masses.sum()
        common = masses[permutation(stream, len(codes))]
        points, taken = uniforms(stream, rows), uniforms(stream, rows) < ties[position]
        if turn > 0:
            points = np.where(taken, places[int(order[int(earlier[position] * turn)])], points)
        column = np.empty(rows, dtype=np.int64)
        for hidden in range(CLASSES):
            own = masses[permutation(stream, len(codes))]
            distribution = (1 - dependence[position]) * common + dependence[position] * own
            members = classes == hidden
            ranks = np.searchsorted(np.cumsum(distribution), points[members], side="right").clip(max=len(codes) - 1)
            column[members] = codes[ranks]
        columns[position], places[position] = column, points
    return _obeying(schema, columns, seed) if schema.rules else columns


def _obeying(schema: Schema, columns: list[NDArray[np.int64]], seed: int) -> list[NDArray[np.int64]]:
    """Return the columns with records that obey the rules, each changed in as few codes as a walk finds."""
    from dpopt.inference.records.problem import FitProblem
    from dpopt.inference.records.start import made_feasible

    records = np.stack(columns, axis=1).astype(np.int32)
    problem = FitProblem(schema.sizes, (), schema.circuit(), Domains.of(schema, occurring=False))
    sizes = schema.sizes.tolist()
    counts = [np.bincount(column, minlength=size) for column, size in zip(columns, sizes, strict=True)]
    found = made_feasible(problem, records, np.concatenate(counts) / len(records), seed)
    return list(np.ascontiguousarray(found.T, dtype=np.int64))


SHIFT, EXPONENT = 10, 0.65
ACTIVITY = ((0.25, 0.4), (0.7, 0.3), (1.4, 0.2), (3.0, 0.08), (8.0, 0.02))
"""How active records are, and their shares: mean 1, squared coefficient of variation 1.6."""
GROUPS, INTEREST = 16, 0.5
_CHUNK, _DRAWN = 1 << 12, 1 << 17
_GRID = 4096


@dataclass(frozen=True, slots=True, eq=False)
class BinaryPopulation:
    """An infinite population of zeros and ones: a mixture of classes, in each of which the attributes are independent."""

    shares: NDArray[np.float64] = field(repr=False)
    """Shape (C,). Share of each class; they add up to 1."""
    ones: NDArray[np.float32] = field(repr=False)
    """Shape (d, C). Share of ones of each attribute in each class."""

    def __len__(self) -> int:
        """Return the number of attributes d."""
        return int(self.ones.shape[0])

    def density(self) -> float:
        """Return the share of ones among all cells."""
        return float(self.ones.mean(axis=0, dtype=np.float64) @ self.shares)

    def answers(self, clauses: Clauses) -> NDArray[np.float64]:
        """Return the share of the records for which each clause over codes 0 and 1 is true, (m,), without drawing any.

        In a class the number of true literals is a sum of independent indicators; its distribution is built up literal
        by literal and summed over the accepted numbers. Conjunctions need its last entry alone.
        """
        found = np.empty(len(clauses))
        for begin in range(0, len(clauses), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            found[part] = self._on(
                clauses.attributes[part], clauses.values[part], clauses.signs[part], clauses.accepted[part]
            )
        return np.clip(found, 0.0, 1.0)

    def _on(
        self,
        attributes: NDArray[np.int32],
        values: NDArray[np.int32],
        signs: NDArray[np.bool_],
        accepted: NDArray[np.uint32],
    ) -> NDArray[np.float64]:
        width = attributes.shape[1]
        present = attributes >= 0
        if (accepted == np.left_shift(1, present.sum(axis=1))).all():
            product = np.ones((len(attributes), self.shares.size))
            for position in range(width):
                true = self._true(attributes[:, position], values[:, position], signs[:, position])
                product *= np.where(present[:, position, None], true, 1.0)
            return np.asarray(product @ self.shares)
        distribution = np.zeros((width + 1, len(attributes), self.shares.size))
        distribution[0] = 1.0
        for position in range(width):
            true = self._true(attributes[:, position], values[:, position], signs[:, position])
            true = np.where(present[:, position, None], true, 0.0)
            distribution[1:] = distribution[1:] * (1.0 - true) + distribution[:-1] * true
            distribution[0] *= 1.0 - true
        numbers = (accepted >> np.arange(width + 1, dtype=np.uint32)[:, None]) & np.uint32(1)
        return np.asarray(((distribution @ self.shares) * numbers).sum(axis=0))

    def _true(
        self, attributes: NDArray[np.int32], values: NDArray[np.int32], signs: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the probability that each literal is true in each class, (m, C); padding names attribute -1, the last one."""
        ones = self.ones[attributes].astype(np.float64)
        return np.where(((values == 1) == signs)[:, None], ones, 1.0 - ones)

    def records(self, rows: int, *, seed: int) -> NDArray[np.int32]:
        """Return independent records of the population, (rows, d)."""
        stream = public_stream(seed, "records of a population")
        classes = np.searchsorted(np.cumsum(self.shares), uniforms(stream, rows), side="right")
        made = np.empty((rows, len(self)), dtype=np.int32)
        for row, its_class in enumerate(classes.clip(max=self.shares.size - 1).tolist()):
            made[row] = uniforms(stream, len(self)) < self.ones[:, its_class]
        return made


def binary_population(
    count: int,
    *,
    seed: int,
    density: float | None = None,
    ranks: NDArray[np.int64] | None = None,
    named: NDArray[np.int64] | None = None,
) -> BinaryPopulation:
    """Return a public population of `count` binary attributes, or its distribution on some of them.

    **Without a declared density** tables are dense: the share of ones p of an attribute is uniform on [0, 1]. In each
    of six hidden classes, with geometric shares, it is moved by lambda min(p, 1 - p) (u - mean of u over the classes),
    with u uniform on [0, 1] and lambda the square of a uniform number: most attributes are nearly independent of all
    others.

    **With a declared density**, the share of ones in the whole table, tables are sparse as purchases and visits are:
    the item of rank r has a share of ones in proportion to (r + 10)^-0.65, up to half of (1 + density); their mean is
    `density`. Records differ in two ways. A record is active in one of five degrees, from a quarter to eight times the
    mean, and it has one of 16 interests: every item belongs to one interest, whose records hold half of its ones. Given
    both, items are independent and the item is there with probability 1 - exp(-t a b), t fitted to its share of ones, a
    the activity, b what interest adds. The numbers were set on the popularities, the sizes of records and the triples
    of five public tables of purchases, visits and ratings (2,900 to 31,000 records of 9,700 to 41,000 items).

    The same seed gives the same population for ever. `ranks`, (r,), are attributes by popularity, where a density is
    declared; the others follow in random order. `named`, (a,), are the attributes whose distribution is wanted, in this
    order; it does not depend on the others.
    """
    wanted = np.arange(count) if named is None else named
    if density is None:
        return _dense(count, wanted, seed)
    DENSITY(density, PlanError)
    stream = public_stream(seed, "sparse population")
    order = permutation(stream, count)
    groups = (uniforms(stream, count) * GROUPS).astype(np.int64)
    if ranks is not None:
        ranked = np.zeros(count, dtype=np.bool_)
        ranked[ranks] = True
        order = np.concatenate((ranks, order[~ranked[order]]))
    shares = np.empty(count)
    shares[order] = zipf_shares(count, density)
    return _sparse(shares[wanted], groups[wanted])


def zipf_shares(count: int, density: float) -> NDArray[np.float64]:
    """Return the shares of ones of ranks 1 .. count, (count,), decreasing, with the mean `density`.

    They are in proportion to (rank + 10)^-0.65 up to (1 + density) / 2; the factor is found by halving.
    """
    profile, most = (np.arange(count) + 1.0 + SHIFT) ** -EXPONENT, (1.0 + density) / 2
    low, high = 0.0, most / float(profile[-1])
    for _ in range(80):
        middle = (low + high) / 2
        if float(np.minimum(middle * profile, most).mean()) < density:
            low = middle
        else:
            high = middle
    return np.asarray(np.minimum(high * profile, most))


def _dense(count: int, wanted: NDArray[np.int64], seed: int) -> BinaryPopulation:
    stream = public_stream(seed, "dense population")
    shares = CLASS_DECAY ** np.arange(CLASSES)
    shares = shares / shares.sum()
    common, spread = _uniforms_at(stream, count, wanted), _uniforms_at(stream, count, wanted)
    dependence = spread * spread * np.minimum(common, 1 - common)
    own = np.stack([_uniforms_at(stream, count, wanted) for _ in range(CLASSES)], axis=1)
    ones = common[:, None] + dependence[:, None] * (own - (own @ shares)[:, None])
    return BinaryPopulation(shares, ones.astype(np.float32))


def _uniforms_at(stream: PublicRandom, count: int, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``uniforms(stream, count)[wanted]``; attributes in order are drawn some at a time."""
    if (np.diff(wanted) <= 0).any():
        return uniforms(stream, count)[wanted]
    found = np.empty(wanted.size)
    for begin in range(0, count, _DRAWN):
        end = min(begin + _DRAWN, count)
        first, last = np.searchsorted(wanted, (begin, end))
        found[first:last] = uniforms(stream, end - begin)[wanted[first:last] - begin]
    return found


def _sparse(shares: NDArray[np.float64], groups: NDArray[np.int64]) -> BinaryPopulation:
    """Return the distribution of items with these shares of ones and interests; classes are activities times interests."""
    activity, weight = np.array(ACTIVITY).T
    activity = activity / float(activity @ weight)
    inside, outside = INTEREST * GROUPS, (1 - INTEREST) * GROUPS / (GROUPS - 1)
    # t depends on the share of ones alone: every item has the same activities, and one interest of its own among equals.
    grid = np.concatenate(([0.0], np.geomspace(1e-12, 1e4, _GRID)))
    reached = np.zeros(grid.size)
    for degree, share in zip(activity.tolist(), weight.tolist(), strict=True):
        reached += share / GROUPS * -np.expm1(-grid * degree * inside)
        reached += share * (GROUPS - 1) / GROUPS * -np.expm1(-grid * degree * outside)
    rates = np.interp(shares, reached, grid)
    interest = np.where(groups[:, None] == np.arange(GROUPS), inside, outside)
    ones = np.empty((shares.size, activity.size * GROUPS), dtype=np.float32)
    for place, degree in enumerate(activity.tolist()):
        ones[:, place * GROUPS : (place + 1) * GROUPS] = -np.expm1(-rates[:, None] * degree * interest)
    return BinaryPopulation(np.repeat(weight, GROUPS) / GROUPS, ones)

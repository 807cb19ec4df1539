"""Marginals of a table and of synthetic records: distances, associations, scores from 0 to 100 %. NOT private."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.engines.exact_counts import exact_counts, runs_of
from dpopt.private.evaluation import CELLS, TableAnswers
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.associations import chi_square, correlation, cramers_v
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

Numbers = NDArray[np.float64]
Correlations = tuple[Mapping[tuple[int, ...], float | None] | None, Mapping[tuple[int, ...], float | None] | None]
MOST_UNSEEN = 10
"""Values, or pairs of values, that synthetic records have and the table has not: how many are listed."""
LEAST_GROUP = 100, 0.01
"""Records, and part of all, that a group has at least whose shares are compared."""


@dataclass(frozen=True, slots=True)
class NonPrivateShare:
    """The share of a value within a group that has another one; publishing it would reveal something about records."""

    group: int
    """Which of the two columns has the group's value: 0 or 1."""
    codes: tuple[int, int]
    """Shape (int, int). Of the two columns."""
    rows: int
    """Records of the table in the group."""
    real: float
    own: float
    """The share in the group, of the table's and of the synthetic records; 0 where the group has none."""


@dataclass(frozen=True, slots=True, eq=False)
class NonPrivateMarginal:
    """A marginal over one or two columns, real and synthetic; publishing it would reveal something about records."""

    attributes: tuple[int, ...]
    """Positions of its columns."""
    distance: float
    """Half the sum of absolute differences of shares (total variation), 0 to 1."""
    sampling: float
    """The expected distance between the table and the population it samples: no synthesis need be closer."""
    score: float
    """0 to 1, as users of SDMetrics expect. One column: 1 minus the distance, and of numbers 1 minus the largest
    difference of cumulative shares over the declared bins. Two: 1 minus the distance, and of two columns of numbers 1
    minus half the difference of the correlations. Missing numbers are left aside."""
    association: float | None = None
    own_association: float | None = None
    """Cramer's V of two columns, 0 to 1: of the table, and of the synthetic records."""
    correlation: float | None = None
    own_correlation: float | None = None
    """Pearson's, of two columns of numbers that are not constant; where numbers are not known, bins are taken at their
    representatives."""
    real: Numbers | None = None
    """Shares of the table, (n,), of one column."""
    unseen: tuple[tuple[tuple[int, ...], float], ...] = ()
    """The most frequent values of synthetic records that no record of the table has: their codes, and their share."""
    shuffled: float | None = None
    """Of two columns: the distance of the table from the synthetic records with each column shuffled on its own, in the
    mean over all shuffles: from the product of their one-way shares."""
    dependence: tuple[float, float, float] | None = None
    """Of two columns of the table: shape (float, float, float), as of `dpopt.queries.associations.chi_square`."""
    share: NonPrivateShare | None = None
    """Of two columns: the one furthest off, within groups of at least `LEAST_GROUP`."""


def compare_marginals(
    dataset: PrivateDataset,
    schema: Schema,
    sets: Iterable[tuple[int, ...]],
    synthetic: RecordAnswers | TableAnswers,
    *,
    correlations: Correlations = (None, None),
) -> list[NonPrivateMarginal]:
    """Return marginals over one or two columns each, real and synthetic, in the order given.

    The `sets` of attributes are all of one or all of two, with at most four million cells each. The `correlations` are
    those of the numbers of pairs of columns by their positions, of the table and of the records; None: those of bins.
    """
    rows, asked = dataset._rows, np.array(list(sets), dtype=np.int32)
    if rows == 0:
        raise PrivateDataError("the table has no records to compare with: no row of it is counted")
    if not asked.size:
        return []
    marginals = MarginalSet(Domains.of(schema, occurring=False), asked)
    found: list[NonPrivateMarginal] = []
    for first, last in runs_of(marginals.starts, CELLS):
        group = marginals.take(np.arange(first, last))
        real = exact_counts(dataset, group) / rows
        own = synthetic.on(group, schema.sizes)
        for place in range(len(group)):
            attributes, cells = group.attributes_of(place), slice(*group.starts[place : place + 2].tolist())
            columns = [schema.attributes[attribute] for attribute in attributes]
            shape = [column.size for column in columns]
            both = real[cells].reshape(shape), own[cells].reshape(shape)
            known = [one.get(attributes) if one else None for one in correlations]
            found.append(_compared(attributes, columns, both, rows, known))
    return found


def _compared(
    attributes: tuple[int, ...],
    columns: Sequence[Attribute],
    both: tuple[Numbers, Numbers],
    rows: int,
    correlations: Sequence[float | None],
) -> NonPrivateMarginal:
    real, own = both
    distance = float(np.abs(real - own).sum()) / 2
    spread = real * (1 - real)
    sampling = float(np.minimum(np.sqrt(2 * spread / (pi * rows)), 2 * spread).sum()) / 2
    if len(columns) == 1:
        score = 1 - (_cumulative(columns[0], real, own) if _is_numeric(columns[0]) else distance)
        return NonPrivateMarginal(attributes, distance, sampling, score, real=real, unseen=_unseen(real, own))
    if None in correlations:
        correlations = [correlation(columns[0], columns[1], shares) for shares in both]
    score = 1 - distance
    if correlations[0] is not None and correlations[1] is not None:
        score = 1 - abs(correlations[0] - correlations[1]) / 2
    return NonPrivateMarginal(
        attributes,
        distance,
        sampling,
        score,
        cramers_v(real),
        cramers_v(own),
        correlations[0],
        correlations[1],
        unseen=_unseen(real, own),
        shuffled=float(np.abs(real - np.outer(own.sum(axis=1), own.sum(axis=0))).sum()) / 2,
        dependence=chi_square(real, rows),
        share=_furthest_share(real, own, rows),
    )


def _furthest_share(real: Numbers, own: Numbers, rows: int) -> NonPrivateShare | None:
    """Return the share of a code within those of a code of the other column furthest off; None if no group is large."""
    found = []
    for group in (0, 1):
        whole, own_whole = real.sum(axis=1 - group, keepdims=True), own.sum(axis=1 - group, keepdims=True)
        large = whole * rows >= max(LEAST_GROUP[0], LEAST_GROUP[1] * rows) - 0.5
        shares = [
            np.divide(part, total, out=np.zeros_like(part), where=large & (total > 0))
            for part, total in ((real, whole), (own, own_whole))
        ]
        if large.any():
            place = np.unravel_index(int(np.abs(shares[0] - shares[1]).argmax()), real.shape)
            codes = int(place[0]), int(place[1])
            size = round(float(whole.ravel()[codes[group]]) * rows)
            found.append(NonPrivateShare(group, codes, size, *(float(share[codes]) for share in shares)))
    return max(found, key=lambda one: abs(one.real - one.own)) if found else None


def _unseen(real: Numbers, own: Numbers) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Return the codes of the largest cells of the synthetic records that hold no record of the table, with their shares."""
    shares = np.where(real > 0, 0.0, own).ravel()
    places = np.argsort(-shares, kind="stable")[:MOST_UNSEEN]
    codes = np.stack(np.unravel_index(places, real.shape), axis=1).tolist()
    return tuple(
        (tuple(map(int, some)), float(share))
        for some, share in zip(codes, shares[places].tolist(), strict=True)
        if share > 0
    )


def _is_numeric(column: Attribute) -> bool:
    return column.kind is AttributeKind.NUMERIC


def _cumulative(column: Attribute, real: Numbers, own: Numbers) -> float:
    """Return the largest difference of cumulative shares of two columns, missing numbers left aside; 1 if one has no others."""
    bins = len(column.representatives)
    known = [shares[:bins] / total for shares in (real, own) if (total := shares[:bins].sum()) > 0]
    return float(np.abs(np.cumsum(known[0] - known[1])).max()) if len(known) == 2 else float(real[-1] != own[-1])

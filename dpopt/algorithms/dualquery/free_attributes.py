"""The public rule that fills attributes which no drawn query of a round mentions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp
from dpopt.public_random import public_stream, uniforms
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.schema import Schema
from dpopt.transcript.released import NoisyAnswers


class FreeAttributeRule:
    """Fills free attributes from public values alone: the rule, a public seed, and noisy one-way marginals if released.

    Parameters
    ----------
    rule : FreeAttributes
        First declared value, uniformly random value, or a value from the noisy one-way marginals.
    schema : Schema
        Schema of the table.
    seed : int
        Public seed; round t uses its own stream.
    marginals : NoisyAnswers or None
        Needed by the estimated rule.
    """

    def __init__(
        self, rule: FreeAttributes, schema: Schema, *, seed: int, marginals: NoisyAnswers | None = None
    ) -> None:
        self._rule = rule
        self._seed = seed
        self._distributions = None if rule is FreeAttributes.FIRST else _Distributions.of(rule, schema, marginals)

    def fill(self, problem: MaxCsp, record: NDArray[np.int32], round_number: int) -> NDArray[np.int32]:
        """Return the record with every attribute that no clause of `problem` mentions set by the rule.

        Attributes that hard rules mention are set one after the other, each by the rule among the codes that leave
        every hard rule obeyed, so a record that obeys them still does. All others are set at once; what is held
        meanwhile is some numbers for each attribute (and, where an attribute has more than two codes, for each code).
        """
        free = np.ones(len(record), dtype=np.bool_)
        mentioned = problem.clauses.attributes
        free[mentioned[mentioned >= 0]] = False
        if not free.any():
            return record
        ruled = problem.rules.attributes()
        bound = ruled[free[ruled]]
        free[bound] = False
        if self._distributions is None:
            filled = np.where(free, np.int32(0), record)
            for attribute in bound.tolist():
                filled[attribute] = _feasible_codes(problem, filled, attribute)[0]
            return filled
        points = uniforms(public_stream(self._seed, f"free attributes of round {round_number}"), len(record))
        filled = np.where(free, self._distributions.codes_at(points), record)
        for attribute in bound.tolist():
            feasible = _feasible_codes(problem, filled, attribute)
            filled[attribute] = self._distributions.feasible_code_at(attribute, points[attribute], feasible)
        return filled


@dataclass(frozen=True, slots=True, eq=False)
class _Distributions:
    """The distribution of each of d attributes, c codes in all."""

    offsets: NDArray[np.int64]
    """Shape (d + 1,). Attribute a has the shares from offsets[a] to offsets[a + 1] - 1."""
    cumulative: NDArray[np.float64]
    """Shape (c,). Shares of the codes of each attribute, added up from its first code on."""

    @classmethod
    def of(cls, rule: FreeAttributes, schema: Schema, marginals: NoisyAnswers | None) -> _Distributions:
        """Return the distributions of the random rule, or of the estimated one where there are marginals."""
        estimated = rule is FreeAttributes.ESTIMATED
        shares = _shares(schema, marginals if estimated else None)
        cumulative = np.empty_like(shares)
        for size in np.unique(schema.sizes).tolist():
            places = _places(schema, size)
            cumulative[places] = np.cumsum(shares[places], axis=1)
        return cls(schema.offsets, cumulative)

    def codes_at(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return each attribute's code at its point in [0, 1), (d,): how many cumulative shares do not exceed the point."""
        sizes = np.diff(self.offsets)
        if (sizes == 2).all():
            return np.asarray(points >= self.cumulative[::2], dtype=np.int32)
        passed = self.cumulative <= np.repeat(points, sizes)
        number = np.add.reduceat(passed, self.offsets[:-1], dtype=np.int64)
        return np.asarray(np.minimum(number, sizes - 1), dtype=np.int32)

    def feasible_code_at(self, attribute: int, point: float, feasible: NDArray[np.int64]) -> int:
        """Return the code of an attribute's distribution at a point in [0, 1), given that it is one of the feasible codes."""
        cumulative = self.cumulative[self.offsets[attribute] : self.offsets[attribute + 1]]
        shares = np.diff(cumulative, prepend=0.0)[feasible]
        if shares.sum() <= 0:
            shares = np.ones(feasible.size)
        sums = np.cumsum(shares)
        place = min(int(np.searchsorted(sums, point * sums[-1], side="right")), feasible.size - 1)
        return int(feasible[place])


def _feasible_codes(problem: MaxCsp, record: NDArray[np.int32], attribute: int) -> NDArray[np.int64]:
    """Return the codes, increasing, that the attribute can take so that the record obeys every hard rule."""
    candidates = np.tile(record, (int(problem.sizes[attribute]), 1))
    candidates[:, attribute] = np.arange(len(candidates))
    return np.flatnonzero(~problem.rules.broken(candidates).any(axis=1))


def _shares(schema: Schema, marginals: NoisyAnswers | None) -> NDArray[np.float64]:
    """Return the share of each code of each attribute, (c,): estimated, or equal where nothing is estimated above 0."""
    equal = np.repeat(1.0 / schema.sizes, schema.sizes)
    if marginals is None:
        return equal
    shares = np.maximum(marginals.values, 0).astype(np.float64)
    for size in np.unique(schema.sizes).tolist():
        places = _places(schema, size)
        totals = shares[places].sum(axis=1, keepdims=True)
        shares[places] = np.where(totals > 0, shares[places] / np.where(totals > 0, totals, 1.0), equal[places])
    return shares


def _places(schema: Schema, size: int) -> NDArray[np.int64]:
    """Return the flat columns of the attributes with this number of codes, (attributes, size)."""
    return schema.offsets[:-1][schema.sizes == size, None] + np.arange(size)

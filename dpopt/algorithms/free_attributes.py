"""The public rule that fills attributes which no drawn query of a round mentions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.plan import Encoding, FreeAttributes
from dpopt.algorithms.public_choice import public_stream, uniforms
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.schema import Schema
from dpopt.transcript.released import NoisyAnswers


class FreeAttributeRule:
    """Fills free attributes from public values alone: the rule, a public seed, and noisy one-way marginals if released.

    Parameters
    ----------
    rule : FreeAttributes
        First declared value, uniformly random value, or a value from the noisy one-way marginals.
    schema : Schema
        Schema of the table.
    encoding : Encoding
        With indicator bits, a free bit is 0 by the first rule, 0 or 1 with probability 1/2 by the random one, and 1 with the
        estimated frequency of its value by the estimated one.
    seed : int
        Public seed; round t uses its own stream.
    marginals : NoisyAnswers or None
        Needed by the estimated rule.
    """

    def __init__(
        self,
        rule: FreeAttributes,
        schema: Schema,
        encoding: Encoding,
        *,
        seed: int,
        marginals: NoisyAnswers | None = None,
    ) -> None:
        self._rule = rule
        self._seed = seed
        self._laws = _laws(rule, schema, encoding, marginals)

    def fill(self, problem: MaxCsp, record: NDArray[np.int32], round_number: int) -> NDArray[np.int32]:
        """Return the record with every attribute that no clause of `problem` mentions set by the rule.

        Attributes that hard rules mention are set one after the other, each by the rule among the codes that leave every
        hard rule obeyed, so a record that obeys them still does.
        """
        used = np.unique(problem.clauses.attributes)
        free = np.setdiff1d(np.arange(len(record)), used, assume_unique=False)
        if len(free) == 0:
            return record
        filled = record.copy()
        bound = np.isin(free, problem.rules.attributes())
        if self._rule is FreeAttributes.FIRST:
            filled[free[~bound]] = 0
            for attribute in free[bound].tolist():
                filled[attribute] = _legal_codes(problem, filled, attribute)[0]
            return filled
        points = uniforms(public_stream(self._seed, f"free attributes of round {round_number}"), len(record))
        for attribute in free[~bound].tolist():
            filled[attribute] = self._drawn(attribute, points[attribute], None)
        for attribute in free[bound].tolist():
            legal = _legal_codes(problem, filled, attribute)
            filled[attribute] = self._drawn(attribute, points[attribute], legal)
        return filled

    def _drawn(self, attribute: int, point: float, legal: NDArray[np.int64] | None) -> int:
        """Return the code of the attribute's law at a point in [0, 1); one of the legal codes, if they are given."""
        cumulative = self._laws[attribute]
        if legal is None:
            return min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)
        shares = np.diff(cumulative, prepend=0.0)[legal]
        if shares.sum() <= 0:
            shares = np.ones(legal.size)
        sums = np.cumsum(shares)
        place = min(int(np.searchsorted(sums, point * sums[-1], side="right")), legal.size - 1)
        return int(legal[place])


def _legal_codes(problem: MaxCsp, record: NDArray[np.int32], attribute: int) -> NDArray[np.int64]:
    """Return the codes, increasing, that the attribute can take so that the record obeys every hard rule."""
    candidates = np.tile(record, (int(problem.sizes[attribute]), 1))
    candidates[:, attribute] = np.arange(len(candidates))
    return np.flatnonzero(~problem.rules.broken(candidates).any(axis=1))


def _laws(
    rule: FreeAttributes, schema: Schema, encoding: Encoding, marginals: NoisyAnswers | None
) -> list[NDArray[np.float64]]:
    """Return the cumulative law of each attribute of the coded record."""
    if rule is FreeAttributes.ESTIMATED and marginals is not None:
        histograms = np.split(np.maximum(marginals.values, 0).astype(np.float64), schema.offsets[1:-1])
        shares = [h / h.sum() if h.sum() > 0 else np.full(len(h), 1 / len(h)) for h in histograms]
    else:
        shares = [np.full(size, 1 / size) for size in schema.sizes.tolist()]
    if encoding is Encoding.BITS:
        if rule is not FreeAttributes.ESTIMATED:
            return [np.array([0.5, 1.0])] * schema.number_of_columns
        return [np.array([1.0 - share, 1.0]) for share in np.concatenate(shares).tolist()]
    return [np.cumsum(share) for share in shares]

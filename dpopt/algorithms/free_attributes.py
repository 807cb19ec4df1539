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
        """Return the record with every attribute that `problem` does not mention set by the rule."""
        used = np.unique(problem.clauses.attributes)
        free = np.setdiff1d(np.arange(len(record)), used, assume_unique=False)
        if len(free) == 0:
            return record
        filled = record.copy()
        if self._rule is FreeAttributes.FIRST:
            filled[free] = 0
            return filled
        points = uniforms(public_stream(self._seed, f"free attributes of round {round_number}"), len(record))
        for attribute in free.tolist():
            cumulative = self._laws[attribute]
            filled[attribute] = min(
                int(np.searchsorted(cumulative, points[attribute], side="right")), len(cumulative) - 1
            )
        return filled


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

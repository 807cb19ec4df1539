"""Weights for the records of DualQuery under which the drawn queries are most likely: a concave program over the simplex.

Problem (models/reweighting, RW-1): maximize L(w) over w >= 0 with sum w = 1, where L is the log-likelihood of all rounds'
draws if the table answered like the weighted records, q(D) = q(w) = sum_r w_r q(x_r). In round t the query player drew s
queries with probability proportional to exp(eta sum_{i<t} (q(D) - q(x_i))), so with the base queries' logits (RW-2)

    v_tj(w) = eta ((t - 1) a_j(w) - sum_{i<t} q_j(x_i)),   a(w) = A w,   A_jr = q_j(x_r),

those of the negations being -v_tj, and net counts N_tj of the draws (RW-3)

    L(w) = sum_t [ sum_j N_tj v_tj(w) - s ln sum_j (exp v_tj(w) + exp -v_tj(w)) ].

A query drawn together with its negation adds v - v = 0, so net counts are enough. L is concave: v is affine in w and the
logarithm of a sum of exponentials is convex. Gradient and Hessian are A' times those in a; with k_t = eta (t - 1),
P_tj = (exp v - exp -v) / Z_t and Q_tj = (exp v + exp -v) / Z_t (RW-4):

    gradient = A' sum_t k_t (N_t - s P_t),    Hessian = -s sum_t k_t^2 (A' diag(Q_t) A - A' P_t P_t' A).

Certificate (RW-5): for any w, max L - L(w) <= max_r gradient_r - gradient' w, since L lies below its tangents.

Everything in it was released: the draws, the records, the plan. So the weights cost no privacy.

Source: post-processing of Gaboardi et al. 2014; maximum likelihood from a transcript as in the example of private-pgm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.transcript.released import SampledQueries

_BLOCK = 1 << 20  # entries of a block of logits


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptLikelihood:
    """The log-likelihood of a transcript as a function of the records' weights.

    Attributes
    ----------
    answers : (m, T) bool
        Which base query is true of the record of which round.
    queries, rounds, counts : (e,) int64
        The net counts N: base query, round (from 0) and count of each that is not 0.
    before : (e,) int64
        Of how many records of earlier rounds that base query is true.
    draws : int
        s.
    step : float
        eta.
    """

    answers: NDArray[np.bool_]
    queries: NDArray[np.int64]
    rounds: NDArray[np.int64]
    counts: NDArray[np.int64]
    before: NDArray[np.int64]
    draws: int
    step: float

    @classmethod
    def of(
        cls,
        clauses: Clauses,
        records: NDArray[np.int32] | Sequence[NDArray[np.int32] | BitRecords],
        sampled: Sequence[SampledQueries],
        *,
        draws: int,
        step: float,
    ) -> TranscriptLikelihood:
        """Return the likelihood of the draws of rounds 1 to T, whose records are `records`: codes (d,) or a row of bits each.

        Raises
        ------
        ProgramError
            If the rounds are not 1 to T in order, or draws name queries that the workload does not hold.
        """
        from dpopt.queries.counting.kernels import satisfied

        if [one.round for one in sampled] != list(range(1, len(records) + 1)):
            raise ProgramError(
                f"expected the draws of rounds 1 to {len(records)} in order, one for each record"
            )
        largest = max((int(one.queries[-1]) for one in sampled if one.queries.size), default=-1)
        if largest >= len(clauses):
            raise ProgramError(f"query {largest} was drawn; the workload has {len(clauses)}, numbered from 0")
        answers = np.empty((len(clauses), len(records)), dtype=np.bool_)
        earlier, before = np.zeros(len(clauses), dtype=np.int64), []
        for column, (record, one) in enumerate(zip(records, sampled, strict=True)):
            before.append(earlier[one.queries])
            codes = record.codes()[0] if isinstance(record, BitRecords) else record
            answers[:, column] = satisfied(clauses, codes)
            earlier += answers[:, column]
        number = np.repeat(np.arange(len(sampled)), [one.queries.size for one in sampled])
        return cls(
            freeze(answers),
            np.concatenate([one.queries for one in sampled]),
            number.astype(np.int64),
            np.concatenate([one.counts for one in sampled]),
            np.concatenate(before),
            draws,
            step,
        )

    def value(self, weights: NDArray[np.float64]) -> float:
        """Return L(w)."""
        return self._sums(weights)[0]

    def derivatives(
        self, weights: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return L(w), its gradient (T,) and minus its Hessian (T, T), which is positive semidefinite."""
        value, tops, totals = self._sums(weights)
        rate = self._rates()
        drawn = np.bincount(
            self.queries, weights=self.counts * rate[self.rounds], minlength=len(self.answers)
        )
        gradient = np.zeros(len(weights))
        curvature = np.zeros((len(weights), len(weights)))
        means = np.zeros_like(curvature)  # A' P_t, one column per round
        for part, block, logits in self._blocks(weights):
            above, below = np.exp(logits - tops), np.exp(-logits - tops)
            tilt, spread = (above - below) / totals, (above + below) / totals
            gradient += block.T @ (drawn[part] - self.draws * (tilt @ rate))
            curvature += block.T @ (block * (self.draws * (spread @ rate**2))[:, None])
            means += block.T @ tilt
        scaled = means * rate
        return value, gradient, curvature - self.draws * (scaled @ scaled.T)

    def _sums(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return L(w), and for each round the largest |v| and the sum of exponentials over exp of it."""
        tops, totals = np.zeros(len(weights)), np.zeros(len(weights))
        answered = np.empty(len(self.answers))
        for part, block, logits in self._blocks(weights):
            answered[part] = block @ weights
            higher = np.maximum(tops, np.abs(logits).max(axis=0))
            totals *= np.exp(tops - higher)
            tops = higher
            totals += (np.exp(logits - tops) + np.exp(-logits - tops)).sum(axis=0)
        chosen = self.step * (self.rounds * answered[self.queries] - self.before)
        value = float(self.counts @ chosen) - self.draws * float((np.log(totals) + tops).sum())
        return value, tops, totals

    def _rates(self) -> NDArray[np.float64]:
        rates: NDArray[np.float64] = self.step * np.arange(self.answers.shape[1], dtype=np.float64)
        return rates

    def _blocks(
        self, weights: NDArray[np.float64]
    ) -> Iterator[tuple[slice[int, int, int], NDArray[np.float64], NDArray[np.float64]]]:
        """Yield blocks of base queries: which, A (b, T), and their logits v (b, T)."""
        length = max(1, _BLOCK // max(1, self.answers.shape[1]))
        rate = self._rates()
        for start in range(0, len(self.answers), length):
            part = slice(start, min(start + length, len(self.answers)))
            block = self.answers[part].astype(np.float64)
            before = np.cumsum(block, axis=1) - block
            yield part, block, (block @ weights)[:, None] * rate - self.step * before

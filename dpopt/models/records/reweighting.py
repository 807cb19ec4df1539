"""Weights of DualQuery's records under which the drawn queries are most likely: a concave program on the simplex.

Problem (models/reweighting, RW-1): maximize L(w) over w >= 0 with sum w = 1, where L is the log-likelihood of all
rounds' draws if the table answered like the weighted records, q(D) = q(w) = sum_r w_r q(x_r). In round t the query
player drew s queries with probability proportional to exp(eta sum_{i<t} (q(D) - q(x_i))), so with the base queries'
logits (RW-2)

    v_tj(w) = eta ((t - 1) a_j(w) - sum_{i<t} q_j(x_i)),   a(w) = A w,   A_jr = q_j(x_r),

those of the negations being -v_tj, and net counts N_tj of the draws (RW-3)

    L(w) = sum_t [ sum_j N_tj v_tj(w) - s ln sum_j (exp v_tj(w) + exp -v_tj(w)) ].

A query drawn together with its negation adds v - v = 0, so net counts are enough. L is concave: v is affine in w and
the logarithm of a sum of exponentials is convex. Gradient and Hessian are A' times those in a; with k_t = eta (t - 1),
P_tj = (exp v - exp -v) / Z_t and Q_tj = (exp v + exp -v) / Z_t (RW-4):

    gradient = A' sum_t k_t (N_t - s P_t),    Hessian = -s sum_t k_t^2 (A' diag(Q_t) A - A' P_t P_t' A).

Certificate (RW-5): for any w, max L - L(w) <= max_r gradient_r - gradient' w, since L lies below its tangents.

Everything in it was released: the draws, the records, the plan. So the weights cost no privacy.

Source: post-processing of Gaboardi et al. 2014; maximum likelihood from a transcript as in the example of private-pgm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze, whole
from dpopt.errors import ProgramError
from dpopt.models.model import Answer, Model
from dpopt.programs.building import Builder, dense
from dpopt.programs.conic import Cone
from dpopt.programs.results import NO_LIMITS, SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.transcript.released import SampledQueries

LARGEST_LOGIT = 1e6
"""Range of eta times the number of rounds in a model: the logits of queries."""
_BLOCK = 1 << 20  # entries of a block of logits
CLOSE = 1e-3
"""Gap in units of log-likelihood at which Newton's method ends."""
MOST_STEPS, _INNER = 40, 3_000  # Newton steps, and steps within each, at most


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptLikelihood:
    """The log-likelihood of a transcript as a function of the records' weights."""

    answers: NDArray[np.bool_]
    """Shape (m, T). Whether each base query is true of the record of each round."""
    queries: NDArray[np.int64]
    rounds: NDArray[np.int64]
    counts: NDArray[np.int64]
    """Shape (e,). The net counts N: base query, round (from 0) and count of each that is not 0."""
    before: NDArray[np.int64]
    """Shape (e,). Of how many records of earlier rounds that base query is true."""
    draws: int
    """s."""
    step: float
    """eta."""

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
        """Return the likelihood of the draws of rounds 1 to T, given their records: codes (d,) or bits each."""
        from dpopt.queries.counting.kernels import satisfied

        if [one.round for one in sampled] != list(range(1, len(records) + 1)):
            raise ProgramError(f"expected the draws of rounds 1 to {len(records)} in order, one for each record")
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

    def model(self) -> Model:
        """Return the model of the same program (`reweighting`), for general solvers; errors as there."""
        net = np.zeros(self.answers.shape[::-1], dtype=np.int64)
        net[self.rounds, self.queries] = self.counts
        return reweighting(net, self.answers, self.step, self.draws)

    def value(self, weights: NDArray[np.float64]) -> float:
        """Return L(w)."""
        return self._sums(weights)[0]

    def derivatives(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return L(w), its gradient (T,) and minus its Hessian (T, T), which is positive semidefinite."""
        value, tops, totals = self._sums(weights)
        rate = self._rates()
        drawn = np.bincount(self.queries, weights=self.counts * rate[self.rounds], minlength=len(self.answers))
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


@dataclass(frozen=True, slots=True, eq=False)
class Reweighted:
    """Weights of a release's records."""

    weights: NDArray[np.float64]
    """Shape (T,). One for each round's record, at least 0, summing to 1."""
    before: float
    after: float
    """Log-likelihood of the transcript with equal weights and with these."""
    gap: float
    """By how much the best weights could be more likely at most, in the same units: proven, since the log-likelihood is
    concave (RW-5: largest entry of the gradient less its mean under the weights)."""
    steps: int
    """Newton steps that were taken."""
    solver: str = ""
    """Who found the weights, and how it ended, where that was not Newton's method."""


def maximize_likelihood(
    likelihood: TranscriptLikelihood,
    *,
    gap: float = CLOSE,
    on_step: Callable[[int, float], None] = lambda step, gap: None,
) -> Reweighted:
    """Return the weights of largest likelihood, from equal ones on; `on_step` hears of each step and its gap."""
    number = likelihood.answers.shape[1]
    weights = np.full(number, 1.0 / number)
    value, gradient, curvature = likelihood.derivatives(weights)
    before, steps = value, 0
    while (left := _gap_of(gradient, weights)) > gap and steps < MOST_STEPS:
        on_step(steps, left)
        target = _best_on_simplex(gradient + curvature @ weights, curvature, weights)
        direction = target - weights
        slope, length = float(gradient @ direction), 1.0
        if slope <= 0.0:
            break
        while likelihood.value(weights + length * direction) < value + 0.1 * length * slope:
            length /= 2.0
            if length < 1e-9:
                return Reweighted(weights, before, value, _gap_of(gradient, weights), steps)
        weights = np.maximum(weights + length * direction, 0.0)
        weights /= weights.sum()
        value, gradient, curvature = likelihood.derivatives(weights)
        steps += 1
    return Reweighted(weights, before, value, _gap_of(gradient, weights), steps)


def likelihood_maximized_by(
    solver: str | Solver, likelihood: TranscriptLikelihood, limits: SolveLimits = NO_LIMITS
) -> Reweighted:
    """Return the weights that a solver finds; likelihood and gap are computed from the weights alone."""
    number = likelihood.answers.shape[1]
    found = likelihood.model().solve_for_release(solver, limits=limits)
    weights = np.maximum(np.nan_to_num(found.value["w"]), 0.0)
    weights = weights / weights.sum() if weights.any() else np.full(number, 1.0 / number)
    before = likelihood.value(np.full(number, 1.0 / number))
    value, gradient, _ = likelihood.derivatives(weights)
    who = found.ended
    return Reweighted(weights, before, value, _gap_of(gradient, weights), 0, who)


def _gap_of(gradient: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(gradient.max() - gradient @ weights)


def _best_on_simplex(
    linear: NDArray[np.float64], curvature: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a near maximizer of linear' w - w' curvature w / 2 on the simplex, by accelerated projected gradients."""
    smooth = max(float(np.abs(curvature).sum(axis=1).max()), 1e-12)  # at least the largest eigenvalue
    point = previous = start
    momentum = 1.0
    for _ in range(_INNER):
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        ahead = point + (momentum - 1.0) / following * (point - previous)
        slope = linear - curvature @ ahead
        previous, point = point, _onto_simplex(ahead + slope / smooth)
        momentum = following if slope @ (point - previous) >= 0.0 else 1.0
        if np.abs(point - previous).max() < 1e-13:
            break
    return point


def _onto_simplex(point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest point of the simplex (Held, Wolfe and Crowder 1974)."""
    if (
        np.abs(point).max() > 2.0**40
    ):  # beside such numbers 1 is lost; all less by one number have the same nearest point
        point = point - point.max()
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    nearest: NDArray[np.float64] = np.maximum(point - level, 0.0)
    return nearest


MOST_EXPONENTIALS = 100_000
"""Exponentials of a model at most: two for each round and query."""


def reweighting(net: ArrayLike, answers: ArrayLike, eta: float, draws: int) -> Model:
    """Return the model of RW-1 to RW-3, as a minimization of minus the log-likelihood; its own method is Newton's.

    Variables: w; a = A w; z_t, at least the logarithm of the mean exponential of round t; l_t, minus the log-likelihood
    of the draws of round t; e, at least each exponential over that mean. Record t is the answer to round t.

    Parameters
    ----------
    net : (T, m) int
        N_tj, how often query j was drawn in round t less how often its negation was.
    answers : (m, T) 0 or 1
        A_jr, whether query j is true of record r.
    eta
        The step, above 0.
    draws
        s, draws of a round.

    Examples
    --------
    >>> found = reweighting([[1], [-1], [1]], [[1, 0, 0]], 1.0, 1).solve("clarabel")
    >>> round(float(found.value["w"][0]), 3)
    0.833
    """
    drawn, given = whole(net), whole(answers)
    true = given.astype(np.bool_)
    if drawn.ndim != 2 or true.shape != drawn.shape[::-1] or not drawn.size or (given != true).any():
        raise ProgramError(
            f"reweighting: found net counts of shape {drawn.shape} and answers of shape {true.shape}; expected (T, m) "
            f"and (m, T), the answers 0 or 1"
        )
    if not 0 < eta * len(drawn) <= LARGEST_LOGIT or not (np.abs(drawn).sum(axis=1) <= draws).all():
        raise ProgramError(
            f"reweighting: found eta {eta!r} and up to {np.abs(drawn).sum(axis=1).max()} draws in a round of {draws}; "
            f"expected eta above 0, at most {LARGEST_LOGIT:,.0f} over all rounds, and no more draws than there were"
        )
    rounds, queries = drawn.shape
    if 2 * drawn.size > MOST_EXPONENTIALS:
        raise ProgramError(
            f"reweighting: found {rounds:,} rounds of {queries:,} queries, {2 * drawn.size:,} exponentials; a model "
            f"holds {MOST_EXPONENTIALS:,} at most. Leave the solver out, for the method of dpopt's own"
        )
    rate = eta * np.arange(rounds)
    before: NDArray[np.int64] = (np.cumsum(true, axis=1) - true).T  # (T, m)
    lowest = np.log(2.0 * queries)
    build, each, at = Builder(), np.arange(rounds), np.arange(queries)
    w = build.variables("w", rounds, upper=1.0)
    a = build.variables("a", queries, upper=1.0)
    z = build.variables("z", rounds, upper=rate)  # mean exponentials, as solvers like numbers near 1
    loss = build.variables("l", rounds, objective=1.0, upper=draws * (lowest + 2.0 * rate))
    e = build.variables("e", rounds, queries, 2, upper=2.0 * queries)
    build.rows("RW-1", 1, (0, w, 1.0), lower=1.0, upper=1.0, single=True)
    build.rows("RW-2", queries, (at, a, 1.0), dense(-true.astype(np.float64), w), lower=0.0, upper=0.0)
    # l_t = s (z_t + ln 2m) - sum_j N_tj v_tj
    constant = eta * (drawn * before).sum(axis=1) + draws * lowest
    total = ((each, loss, 1.0), (each, z, -draws), dense(drawn * rate[:, None], a))
    sums = (rounds + each[:, None, None], e, 1.0)
    free = np.full(rounds, -np.inf)
    build.rows(
        "RW-3",
        2 * rounds,
        *total,
        sums,
        lower=np.concatenate((constant, free)),
        upper=np.concatenate((constant, np.full(rounds, 2.0 * queries))),
        inside=lambda: [f"{one + 1},{side}" for side in ("likelihood", "sum") for one in range(rounds)],
    )
    # exp(v - z) <= e and exp(-v - z) <= e, v_tj = rate_t a_j - eta before_tj
    sign = np.array([1.0, -1.0])
    first = 3 * np.arange(2 * drawn.size).reshape(rounds, queries, 2)
    constants = np.zeros((rounds, queries, 2, 3))
    constants[..., 0], constants[..., 1] = -eta * before[..., None] * sign, 1.0
    build.cones(
        "RW-3 exp",
        Cone.EXPONENTIAL,
        2 * drawn.size,
        3,
        (first, a[None, :, None], rate[:, None, None] * sign),
        (first, z[:, None, None], -1.0),
        (first + 2, e, 1.0),
        constants=constants.ravel(),
        inside=lambda: [f"{one + 1},{query + 1},{side}" for one in each for query in at for side in "+-"],
    )
    t, j = np.nonzero(drawn)
    likelihood = TranscriptLikelihood(freeze(true), j, t, drawn[t, j], before[t, j], draws, eta)

    def by_newton() -> Answer:
        weights = maximize_likelihood(likelihood, gap=1e-9 * draws * rounds).weights
        answered = true @ weights
        logits = rate[:, None] * answered - eta * before
        both = np.stack((logits, -logits), axis=-1)
        high = np.logaddexp.reduce(both.reshape(rounds, -1), axis=1) - lowest
        losses = draws * (high + lowest) - (drawn * logits).sum(axis=1)
        shares = np.exp(both - high[:, None, None])
        return np.concatenate((weights, answered, high, losses, shares.ravel())), None

    return Model.of("reweighting", build, closed_form=by_newton, method="newton")

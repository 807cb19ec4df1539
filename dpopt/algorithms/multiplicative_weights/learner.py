"""The public side of multiplicative weights: a distribution that learns from measured answers, and its release."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan, feasible_start, kept_as_bits, universe_of
from dpopt.algorithms.options import DATA_STEP, LOCAL_SEARCH, MARGINALS, MAX_ENTROPY
from dpopt.arrays import freeze
from dpopt.errors import PlanError, ProgramError
from dpopt.inference.distribution.answers import AnswerSheet
from dpopt.inference.distribution.fit import Distribution, Measured, partition_of, pulled_moves, weighted_cells
from dpopt.private.curators.multiplicative_curator import UNITS
from dpopt.programs.solver import Solver
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.population import random_bits, random_codes
from dpopt.transcript.released import NoisyAnswers

_FARTHEST = 8
_SETTLED = 1e-3  # of the noise: replays end when no share moves by more


class Learner:
    """Holds the distribution of a run, answers the workload with it, and updates it by measurements."""

    def __init__(self, plan: MultiplicativePlan, workload: Workload, solver: Solver | None = None) -> None:
        self._plan, self._workload = plan, workload
        self._solver = solver or (None if plan.solver == LOCAL_SEARCH else plan.solver)
        self._solved: tuple[float, float, str] | None = None
        self.universe = universe_of(workload, plan.algorithm)
        try:
            self._sheet = AnswerSheet(self.universe, workload.queries)
        except ProgramError as error:
            raise PlanError(f"--algorithm {plan.algorithm}: {error}; or use --algorithm projection") from error
        self._distribution = Distribution(self.universe, feasible_start(self.universe, workload))
        self._measured: list[Measured] = []
        self._chosen: list[int] = []
        self._sum = np.zeros(self.universe.cells) if plan.learning.average else None
        self._rounds = 0

    def answers(self) -> NDArray[np.float64]:
        """Return the distribution's answers to all queries, (m,)."""
        return self._sheet.of(self._distribution.p)

    def proven_answers(self) -> NDArray[np.float64]:
        """Return the answers (m,) of the distribution that error bounds are of: the last round's, or the average of all."""
        if self._sum is not None and self._rounds:
            return self._sheet.of(np.asarray(self._sum / self._rounds))
        return self.answers()

    def public_answers(self, answers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return answers in whole units of 1/1,024 record of the public size, between 0 and the size."""
        most = UNITS * self._plan.size
        return np.clip(np.rint(answers * most), 0, most).astype(np.int64)

    def learn(self, chosen: int, values: NoisyAnswers) -> None:
        """Update the distribution by the measurement of a round, and by all earlier ones."""
        measured = self._of(chosen, values)
        self._measured.append(measured)
        self._chosen.append(chosen)
        self._step(measured)
        self._replay(self._plan.learning.replays)
        self.keep()

    def keep(self) -> None:
        """Count the distribution as that of a further round, for the average."""
        self._rounds += 1
        if self._sum is not None:
            self._sum += self._distribution.p

    def finish(self) -> NDArray[np.float64]:
        """Return the distribution that is released, (cells,), after the last replays."""
        if self._sum is not None and self._rounds:
            return np.asarray(self._sum / self._rounds)
        self._replay(self._plan.learning.last_replays)
        if self._solver is not None and self._measured:
            self._solved = self._distribution.solve(self._measured, self._solver)
        return self._distribution.p

    @property
    def solved_by(self) -> str | None:
        """Who found the released distribution, and how that ended, where a solver was named."""
        return None if self._solved is None else self._solved[2]

    def bracket(self) -> tuple[float, float] | None:
        """Return the objective of the last distribution and its dual bound (models/max_entropy); None for other updates."""
        if self._plan.learning.update != MAX_ENTROPY:
            return None
        return self._distribution.bracket(self._measured) if self._solved is None else self._solved[:2]

    def records(self, p: NDArray[np.float64]) -> tuple[NDArray[np.int32] | BitRecords, NDArray[np.int64]]:
        """Return distinct weighted records (r, d) in lexicographic order that stand for a distribution, and their weights (r,).

        Attributes that no query and no rule mentions get public random codes. Records of wide tables of zeros and ones
        are bits.
        """
        cells, weights = weighted_cells(p, self._plan.learning.records)
        domains = self.universe.domains
        if kept_as_bits(self._workload.schema):
            named, codes = self.universe.codes(cells)
            bits = random_bits(named, codes, domains, self._plan.seed)
            order = bits.order()
            return bits.take(order), freeze(weights[order])
        records = self.universe.records(cells, np.zeros(domains.counts.size, dtype=np.int32))
        left_out = np.setdiff1d(np.arange(domains.counts.size), self.universe.axes)
        records = random_codes(records, domains, left_out, self._plan.seed)
        order = np.lexsort(records.T[::-1])
        return freeze(np.ascontiguousarray(records[order])), freeze(weights[order])

    def _of(self, chosen: int, values: NoisyAnswers) -> Measured:
        plan = self._plan
        noise = plan.scale * (1.0 if plan.gaussian else 2.0**0.5) / plan.size
        shares = values.values / plan.size
        if plan.select != MARGINALS:
            yes = float(np.clip(shares[0], 0.0, 1.0))
            shares = np.array([1.0 - yes, yes])
        marginals = self._workload.marginals
        queries = (
            marginals.take([chosen])
            if plan.select == MARGINALS and marginals is not None
            else marginals.clause_of(chosen)
            if marginals is not None
            else self._workload.clauses.take([chosen])
        )
        slack, weight = plan.learning.slack * noise, plan.learning.pull / noise
        return Measured(*partition_of(self.universe, queries), shares, slack, weight)

    def _replay(self, times: int) -> None:
        """Go through the measurements so often, or until no share moves by a thousandth of the noise."""
        noise = self._plan.scale / self._plan.size
        for _ in range(times):
            if self._plan.learning.update != MAX_ENTROPY:
                for measured in self._measured:
                    self._step(measured)
            elif self._distribution.ascend(self._farthest()) <= _SETTLED * noise:
                return

    def _farthest(self) -> list[Measured]:
        """Return all measured marginals; of measured queries the eight that would move most."""
        if self._plan.select == MARGINALS or len(self._measured) <= _FARTHEST:
            return self._measured
        shares = self.answers()[np.array(self._chosen)]
        moves = pulled_moves(self._measured, shares)
        return [self._measured[place] for place in np.argsort(-moves, kind="stable")[:_FARTHEST].tolist()]

    def _step(self, measured: Measured) -> None:
        """Take the plan's step towards one measurement."""
        update, shares = self._plan.learning.update, self._distribution.parts(measured)
        if update == MAX_ENTROPY:
            self._distribution.ascend([measured])
            return
        gaps = measured.values - shares
        if update == DATA_STEP:
            factors = np.exp(np.clip(gaps, -1.0, 1.0) / (2.0 if len(gaps) > 2 else 4.0))
        elif self._plan.alpha is not None:
            factors = np.where(gaps < 0, exp(-self._plan.alpha / 2), 1.0)
        else:
            raise PlanError(f"the update {update!r} needs an alpha")
        self._distribution.multiply(measured, factors / float(factors @ shares))

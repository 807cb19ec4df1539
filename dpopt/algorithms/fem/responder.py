"""The public side of FEM: a batch of records, each the perturbed best response to the queries selected so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import DpoptError, TranscriptError
from dpopt.models.best_responses.best_response import read_record
from dpopt.models.best_responses.perturbed_response import (
    Perturbations,
    SelectedSoFar,
    perturbations,
    perturbed_problem,
    selected_so_far,
)
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.public_random import public_stream, uniforms
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.threads import map_in_threads
from dpopt.transcript.released import SelectedQuery

WORTH_A_THREAD = 0.02
"""Seconds of one search. Shorter ones are mostly Python, for which threads wait in turn: two took twice as long as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The records (s, d) that a round, from 1, made; and how many of them a public fallback gave, since the solver failed."""

    round: int
    records: NDArray[np.int32]
    fallbacks: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedResponder:
    """Answers selected queries with records, from public values only."""

    queries: MarginalSet | Clauses
    """The workload's base queries."""
    sizes: NDArray[np.int32]
    """Shape (d,). Number of codes of each attribute."""
    possible: NDArray[np.bool_]
    """Shape (columns,). Which codes a record may take where no selected query names them, flat."""
    solver: Solver
    fallback: Solver
    """The best-response solver, and the one that answers when it fails."""
    limits: SolveLimits
    """Limits per record; `threads` records are searched at once."""
    records: int
    """s."""
    scale: float
    """lambda."""
    rules: ThresholdCircuit = NO_RULES
    feasible: NDArray[np.int32] | None = None
    """Hard rules on records, and a record that obeys them; None where there are none."""
    _clauses: dict[int, Clauses] = field(default_factory=dict, repr=False)

    @property
    def number_of_queries(self) -> int:
        """The number of base queries."""
        return self.queries.number_of_cells if isinstance(self.queries, MarginalSet) else len(self.queries)

    def respond(self, number: int, selected: Sequence[SelectedQuery]) -> Batch:
        """Return batch `number`: s records that answer these selections, each with perturbations of its own."""
        shared = self._shared(selected)
        shaken = self._perturbations(number, shared)

        def one(place: int) -> tuple[NDArray[np.int32], bool]:
            return self._one(shared, shaken, number, place)

        begun = time.perf_counter()
        found = [one(0)]
        threads = self.limits.threads if time.perf_counter() - begun >= WORTH_A_THREAD else 1
        found += map_in_threads(one, range(1, self.records), threads)
        records = np.stack([record for record, _ in found]).astype(np.int32)
        return Batch(number, freeze(records), sum(failed for _, failed in found))

    def check(self, batch: Batch) -> Batch:
        """Return a batch on file if its records are some."""
        records = batch.records
        fits = records.shape == (self.records, self.sizes.size)
        if not fits or (records.size and (records.min() < 0 or np.any(records >= self.sizes))):
            raise TranscriptError(f"round {batch.round}: the records on file do not fit plan and schema")
        broken = self.rules.broken(records)
        if broken.any():
            name = self.rules.names[int(np.argmax(broken.any(axis=0)))]
            raise TranscriptError(
                f"round {batch.round}: a record on file breaks the rule {name!r}; the transcript is damaged or belongs "
                f"to another schema"
            )
        return batch

    def _shared(self, selected: Sequence[SelectedQuery]) -> SelectedSoFar:
        net: dict[int, int] = {}
        for one in selected:
            net[one.query] = net.get(one.query, 0) + (-1 if one.negated else 1)
        return selected_so_far(
            self.sizes,
            self._clauses_of(list(net)),
            np.array(list(net.values()), dtype=np.int64),
            self.possible,
            self.rules,
        )

    def _clauses_of(self, queries: list[int]) -> Clauses:
        if isinstance(self.queries, Clauses):
            if queries and max(queries) >= len(self.queries):
                raise TranscriptError(
                    f"query {max(queries)} was selected; the workload has {len(self.queries)}, numbered from 0"
                )
            return self.queries.take(queries)
        parts = [self._cell(query, self.queries) for query in queries]
        if not parts:
            nothing = np.empty((0, self.queries.attributes.shape[1]), dtype=np.int32)
            return Clauses.conjunctions(nothing, nothing, nothing > 0)
        return Clauses(
            freeze(np.concatenate([part.attributes for part in parts])),
            freeze(np.concatenate([part.values for part in parts])),
            freeze(np.concatenate([part.signs for part in parts])),
            freeze(np.concatenate([part.accepted for part in parts])),
        )

    def _cell(self, query: int, marginals: MarginalSet) -> Clauses:
        if query not in self._clauses:
            if query >= marginals.number_of_cells:
                raise TranscriptError(
                    f"cell {query} was selected; the workload has {marginals.number_of_cells:,}, numbered from 0"
                )
            self._clauses[query] = marginals.clause_of(query)
        return self._clauses[query]

    def _perturbations(self, number: int, shared: SelectedSoFar) -> Perturbations:
        width = shared.codes.size + 2 * self.sizes.size
        stream = public_stream(self.limits.seed, f"perturbations of round {number}")
        drawn = uniforms(stream, self.records * width).reshape(self.records, width)
        shaken = perturbations(shared, drawn, self.scale)
        if self.feasible is None:
            return shaken
        ruled = np.zeros(self.sizes.size, dtype=np.bool_)
        ruled[self.rules.term_attributes] = True
        return replace(shaken, hints=freeze(np.where(ruled, self.feasible, shaken.hints)))

    def _one(
        self, shared: SelectedSoFar, shaken: Perturbations, number: int, place: int
    ) -> tuple[NDArray[np.int32], bool]:
        """Return one record, and whether a fallback gave it."""
        from dpopt.solvers.outside import solver_result  # a replay asks no solver, and loads none

        problem, hint = perturbed_problem(shared, shaken, place), freeze(shaken.hints[place].copy())
        seed = (self.limits.seed + number * self.records + place) % 2**31
        limits = replace(self.limits, seed=seed, threads=1)
        with suppress(DpoptError):  # what was selected is spent, so no error of a solver may end the run
            record = read_record(problem, solver_result(self.solver, problem, limits, hint=hint))[0]
            if record is not None:
                return record, False
        record = read_record(problem, self.fallback.solve(problem, SolveLimits(work=1), hint=hint))[0]
        return (hint if record is None else record), True

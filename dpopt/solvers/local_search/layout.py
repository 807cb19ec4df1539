"""A reduced MaxCsp laid out for the kernels of the local search, without a loop over clauses or gates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.threads import map_in_threads

if TYPE_CHECKING:
    from dpopt.solvers.local_search import kernels, rules_kernels

SWEEPS_PER_ANNEAL = 1000
BATCH = 100  # sweeps between two looks at the clock, where there is a deadline
HOT, COLD = 2.0, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best record of one or more descents: its objective, its flat columns (d',), and the sweeps it took.

    `history` holds when (readings of `time.perf_counter`) which objective was first reached.
    """

    objective: int
    chosen: NDArray[np.int64]
    sweeps: int
    history: tuple[tuple[float, int], ...] = ()

    def noted(self) -> Found:
        """Return the same with a history that begins now."""
        return replace(self, history=((time.perf_counter(), self.objective),))

    def or_better(self, other: Found) -> Found:
        """Return the better of the two (this one if they are equal), with the sweeps of both."""
        sweeps = self.sweeps + other.sweeps
        if other.objective <= self.objective:
            return replace(self, sweeps=sweeps)
        entry = (time.perf_counter(), other.objective)
        return Found(other.objective, other.chosen, sweeps, (*self.history, entry))


class Schedule:
    """How a problem is annealed: `anneals` times, `sweeps` sweeps in all, from hot to cold, until the deadline.

    Anneals share nothing that changes; the random numbers of each depend on the seed and on its number alone.
    """

    def __init__(self, problem: MaxCsp, limits: SolveLimits, sweeps: int, deadline: float | None) -> None:
        sizes = np.abs(problem.weights).astype(np.float64)
        self.typical = float(np.sqrt(np.mean(sizes**2))) if sizes.size else 1.0
        self.hot = HOT * self.typical
        self.cold = COLD * float(np.median(sizes)) if sizes.size else COLD
        self.seed = limits.seed
        self.sweeps = sweeps
        self.anneals = max(1, round(self.sweeps / SWEEPS_PER_ANNEAL))
        self.deadline = deadline
        self.batch = sweeps if deadline is None else BATCH

    def time_is_up(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def temperatures(self, number: int) -> NDArray[np.float64]:
        """Return the temperature of each sweep of an anneal."""
        return np.geomspace(self.hot, self.cold, (self.sweeps + number) // self.anneals)

    def random(self, number: int) -> NDArray[np.uint64]:
        """Return the generator's state (1,) at the start of an anneal."""
        return np.array([(self.seed << 32) + number], dtype=np.uint64)


def anneal_repeatedly(anneal: Callable[[int], Found], schedule: Schedule, threads: int, best: Found) -> Found:
    """Return the best of this record and of all anneals, `threads` of them at once, until the time is up."""
    for begin in range(0, schedule.anneals, threads):
        for one in map_in_threads(anneal, range(begin, min(begin + threads, schedule.anneals)), threads):
            best = best.or_better(one)
        if schedule.time_is_up():
            break
    return best


@cache
def boltzmann_table() -> NDArray[np.int64]:
    """Return 2**32 exp(-i / RESOLUTION), rounded, down to where it is about 1; the last entry is 0."""
    from dpopt.solvers.local_search.kernels import RESOLUTION

    table = np.round(2.0**32 * np.exp(-np.arange(22 * RESOLUTION) / RESOLUTION)).astype(np.int64)
    table[-1] = 0
    return table


def build_index(problem: MaxCsp) -> kernels.Index:
    """Lay a reduced problem out for the kernels, without a loop over clauses."""
    from dpopt.solvers.local_search.kernels import Index

    clauses, offsets = problem.clauses, problem.offsets()
    used = clauses.attributes >= 0
    columns = np.where(used, offsets[clauses.attributes] + clauses.values, offsets[-1]).astype(np.int32)
    place = np.broadcast_to(np.arange(len(clauses), dtype=np.int32)[:, None], columns.shape)
    entries = np.where(clauses.signs, place, ~place)[used]
    named = columns[used].astype(np.min_scalar_type(offsets[-1]))  # small numbers are sorted faster
    counts = np.bincount(named, minlength=int(offsets[-1]))
    accepted = clauses.accepted.astype(np.int64)
    steps = (np.int64(1) << clauses.widths()) - 1  # bits 0 .. width - 1
    return Index(
        first_column=offsets,
        column_start=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64))),
        entries=entries[np.argsort(named, kind="stable")],
        literals=np.where(clauses.signs | ~used, columns, ~columns),
        weights=problem.weights.copy(),
        accepted=accepted,
        rise=(accepted >> 1) & ~accepted & steps,
        fall=accepted & ~(accepted >> 1) & steps,
    )


def new_state(index: kernels.Index, chosen: NDArray[np.int64]) -> kernels.State:
    """Return a state at these flat columns (d,); `kernels.restart` fills in the rest."""
    from dpopt.solvers.local_search.kernels import State

    columns = index.column_start.size
    return State(
        chosen=chosen.copy(),
        is_chosen=np.zeros(columns, dtype=np.int64),
        true_literals=np.zeros(index.weights.size, dtype=np.int64),
        gain=np.zeros(columns, dtype=np.int64),
    )


def lay_out_rules(circuit: ThresholdCircuit, attributes: int) -> rules_kernels.Rules:
    """Lay the circuit of a problem of this many attributes out for the kernels."""
    from dpopt.solvers.local_search.rules_kernels import Rules

    gates, parent = len(circuit), circuit.gate_of_child().astype(np.int64)
    order = np.argsort(circuit.children, kind="stable")
    parents = parent[order]
    parent_start = _starts(np.bincount(circuit.children, minlength=gates))
    key = circuit.term_attributes.astype(np.int64) * gates + circuit.gate_of_term()
    reached = np.unique(key)
    latest = reached
    while latest.size:  # one turn for each level of the circuit
        gate = latest % gates
        lengths = parent_start[gate + 1] - parent_start[gate]
        entry = np.repeat(parent_start[gate + 1] - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        above = np.repeat(latest - gate, lengths) + parents[entry]
        latest = np.setdiff1d(above, reached)
        reached = np.union1d(reached, latest)
    term = np.full(reached.size, -1, dtype=np.int64)
    term[np.searchsorted(reached, key)] = np.arange(key.size)
    return Rules(
        bounds=circuit.bounds.copy(),
        required=circuit.required.copy(),
        term_start=circuit.term_starts.copy(),
        term_attribute=circuit.term_attributes.astype(np.int64),
        value_start=circuit.value_starts.copy(),
        values=circuit.values.copy(),
        most=circuit.term_ranges()[1].copy(),
        child_start=circuit.child_starts.copy(),
        children=circuit.children.astype(np.int64),
        coefficients=circuit.coefficients.copy(),
        parent_start=parent_start,
        parents=parents,
        parent_coefficients=circuit.coefficients[order],
        reach_start=_starts(np.bincount(reached // gates, minlength=attributes)),
        reach_gate=reached % gates,
        reach_term=term,
    )


def new_status(rules: rules_kernels.Rules) -> rules_kernels.Status:
    """Return a status for these rules; `restart_rules` fills in the rest."""
    from dpopt.solvers.local_search.rules_kernels import Status

    gates, attributes = rules.bounds.size, rules.reach_start.size - 1
    return Status(
        total=np.zeros(gates, dtype=np.int64),
        weight=np.ones(gates, dtype=np.int64),
        step=np.zeros(gates, dtype=np.int64),
        broken=np.zeros(gates, dtype=np.int64),
        place=np.zeros(gates, dtype=np.int64),
        number=np.zeros(1, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        locked=np.full(attributes, -1, dtype=np.int64),
        trail=np.zeros(attributes, dtype=np.int64),
        before=np.zeros(attributes, dtype=np.int64),
    )


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)))

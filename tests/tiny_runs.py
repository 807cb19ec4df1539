"""Tiny tables, workloads and runs that the tests of the privacy boundary share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.algorithm import run
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.rounds import BestResponder, FreeAttributeRule
from dpopt.models.noise_budgets.budget_program import LevelBudgets
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.private.curators.door import is_trusted
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.selections.query_weights import QuerySampler, QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import Workload, workload_from_json
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Walk
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.transcript.journal import Entry, MemoryJournal

Record = tuple[int, ...]
Table = tuple[Record, ...]
REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
AMPLE = Budget(1e9, 0.0, None, Accountant.PURE)


def bits_schema(attributes: int) -> Schema:
    """Return a schema of boolean attributes a, b, c, ..."""
    return Schema(tuple(Attribute("abcdefgh"[i], AttributeKind.BOOLEAN) for i in range(attributes)))


def sized_schema(**sizes: int) -> Schema:
    """Return a schema of categorical attributes: of a the values a0, a1, ..."""
    return Schema(
        tuple(
            Attribute(name, AttributeKind.CATEGORICAL, tuple(f"{name}{i}" for i in range(size)))
            for name, size in sizes.items()
        )
    )


def coded_schema(*sizes: int) -> Schema:
    """Return a schema of categorical attributes a0, a1, ... whose values are their codes."""
    return Schema(
        tuple(Attribute(f"a{i}", AttributeKind.CATEGORICAL, tuple(range(size))) for i, size in enumerate(sizes))
    )


def conjunctions(schema: Schema, *queries: str) -> Workload:
    """Return a workload of conjunctions such as "a", "!b" or "a !b"."""
    listed = [
        [[name.lstrip("!"), "!=" if name.startswith("!") else "=", True] for name in query.split()] for query in queries
    ]
    return workload_from_json({"dpopt_workload": 1, "queries": listed}, schema)


def dataset_of(schema: Schema, table: Table) -> PrivateDataset:
    """Return records as a private data set."""
    columns = np.array(table, dtype=np.int32).reshape(len(table), len(schema)).T
    return PrivateDataset.from_codes(schema, list(columns))


def universe(schema: Schema) -> list[Record]:
    """Return every record."""
    return list(product(*(range(size) for size in schema.sizes.tolist())))


_BEST: dict[str, tuple[NDArray[np.int32], float]] = {}
"""What enumeration found, by the fingerprint of the program."""


def _best(program: MaxCsp) -> tuple[NDArray[np.int32], float]:
    """Return the first best record in lexicographic order, and its value."""
    records = np.array(list(product(*(range(s) for s in program.sizes.tolist()))), dtype=np.int32)
    values = [int(program.weights[satisfied(program.clauses, record)].sum()) for record in records]
    best = int(np.argmax(values))
    return records[best], float(values[best])


def even_budgets(program: LevelProgram, *_: object, **__: object) -> LevelBudgets:
    """Give each level of blocks the same part of a budget, so that few bins are measured in several rounds, too."""
    amounts = np.full(program.blocks.size, program.amount / program.blocks.size)
    return LevelBudgets(amounts, program.variances(amounts), None)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The exact best response by enumeration; of several, the first in lexicographic order. Deterministic."""

    name: str = "enumeration"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.PRESOLVES})
    seen: list[str] = field(default_factory=list)

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "for tests")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        self.seen.append(program.fingerprint())
        # Runs of all tables ask the same few questions again and again.
        record, value = _BEST.get(self.seen[-1]) or _BEST.setdefault(self.seen[-1], _best(program))
        return SolveResult(Termination.OPTIMAL, None, record, value, value, self.name, "1", "done", 0.0)


@dataclass(slots=True)
class EventJournal:
    """A journal in memory that also notes each entry in a list of events shared with others."""

    events: list[str]
    memory: MemoryJournal = field(default_factory=MemoryJournal)

    def append(self, entry: Entry, *, wait: bool = True) -> None:
        self.events.append(f"journal {entry['kind']}" + ("" if wait else " (not waited for)"))
        self.memory.append(entry, wait=wait)


@dataclass(slots=True)
class CallbackSampler:
    """Draws by a function of the weights and the number of draws. It calls itself private, so that the ledger's totals
    stay finite and can be compared with what the draws really cost."""

    choose: Callable[[QueryWeights, int], Sequence[int]]
    is_private: bool = True

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        return np.sort(np.array(self.choose(weights, draws), dtype=np.int64))


def trusted(*_sources: object) -> bool:
    """Stand for `is_trusted` where all scripted noise follows the real distribution; a mock object would take milliseconds."""
    return True


def at_their_word(sampler: Any, noise: Any, words: Any = None) -> bool:
    """Trust what `is_trusted` does, and scripted samplers and noise that call themselves private."""
    claiming = [getattr(source, "is_private", False) for source in (sampler, noise)]
    return is_trusted(*(None if claims else source for claims, source in zip(claiming, (sampler, noise), strict=True)))


def tiny_plan(
    workload: Workload,
    *,
    rounds: int,
    draws: int,
    step: str,
    size: int,
    relation: NeighbouringRelation,
    budget: Budget = AMPLE,
) -> DualQueryPlan:
    """Return a plan within an ample budget."""
    return DualQueryPlan(
        rounds=rounds,
        draws=draws,
        step=Decimal(step),
        size=size,
        relation=relation,
        budget=budget,
        attributes=len(workload.schema),
    )


def play(table: Table, workload: Workload, plan: DualQueryPlan, sampler: QuerySampler) -> tuple[list[Round], Ledger]:
    """Play a plan with the real driver, curator and ledger."""
    schema = workload.schema
    ledger = Ledger(plan.budget, plan.relation)
    ledger.reserve(plan.charges())
    journal = MemoryJournal()
    # The scripted samplers of these tests follow the real distribution, so their claim to be private is taken.
    with mock.patch("dpopt.private.curators.door.is_trusted", at_their_word):
        curator = Curator(
            dataset_of(schema, table),
            workload.clauses,
            ledger,
            journal,
            size=plan.size,
            step=plan.step,
            sampler=sampler,
        )
    responder = BestResponder(
        clauses=workload.clauses,
        sizes=schema.sizes,
        solver=Enumeration(),
        fallback=Enumeration(),
        limits=SolveLimits(),
        free_attributes=FreeAttributeRule(FreeAttributes.FIRST, schema, seed=0),
    )
    # Enumeration answers at once: nobody has to wait for it, as for solvers from outside, in a thread of its own.
    with mock.patch("dpopt.solvers.outside.outsider", lambda solver: None):  # noqa: PT008  a mock is slow to make
        return run(Walk(ledger, curator, journal), plan, responder), ledger


def paid(ledger: Ledger) -> list[Charge]:
    """Return the entries of a ledger without marks that something was not private."""
    return [charge for charge in ledger.entries if charge.kind is not ChargeKind.NOT_PRIVATE]

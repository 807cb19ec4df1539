"""Rounds of DualQuery on public populations: where the instances of the benchmark come from, as benchmark.toml states.

Nobody's data are behind them: a population is drawn by `frozen_population` in the shape of a table (numbers of
codes), queries are drawn from it by the real driver and sampler with public seeds, and each round is answered by steepest
ascent. All of it is integer arithmetic or a function of the seed, so the same rounds come out on every machine, and no
solver of dpopt can change them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from frozen_population import public_population
from numpy.typing import NDArray
from public_rules import public_rules

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.algorithm import run
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.rounds import BestResponder, FreeAttributeRule
from dpopt.models.best_responses.best_response import round_program
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Walk
from dpopt.schema.rules.threshold_circuit import NO_RULES
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.transcript.journal import MemoryJournal

POOL = 1_000  # records of the population from which the ascent starts
MANIFEST = tomllib.loads((Path(__file__).parent / "benchmark.toml").read_text(encoding="utf-8"))
ROWS, SEED, STEP = MANIFEST["rows"], MANIFEST["seed"], Decimal(MANIFEST["step"])
ROUNDS = tuple(MANIFEST["rounds"])


@dataclass(frozen=True, slots=True)
class Shape:
    """A table's shape: what it is like, number of codes of each attribute, draws per round, number of rules.

    `sparse`: code 1 is the rarer one of each attribute. `programs`: small enough that the first round's .mps.gz is stored.
    """

    like: str
    sizes: tuple[int, ...]
    draws: int
    rules: int
    sparse: bool = False
    programs: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A shape and a class of queries; three rounds of it are instances."""

    name: str
    shape: Shape
    workload: str
    what: str
    folder: str
    ruled: bool = False


def _shape(stated: dict[str, Any]) -> Shape:
    sizes = tuple(stated.pop("sizes", None) or (2,) * stated.pop("binary"))
    return Shape(sizes=sizes, **stated)


SHAPES = {name: _shape(dict(stated)) for name, stated in MANIFEST["shapes"].items()}
FAMILIES = {
    f"{shape_name}-{class_name}": Family(f"{shape_name}-{class_name}", shape, **stated)
    for shape_name, shape in SHAPES.items()
    for class_name, stated in MANIFEST["classes"].items()
}


def rounds(family: Family, numbers: tuple[int, ...] = ROUNDS) -> dict[int, tuple[MaxCsp, NDArray[np.int32]]]:
    """Return the best-response problems of these rounds, and the record that answered each."""
    shape = family.shape
    schema = Schema(
        tuple(
            Attribute(f"a{place}", AttributeKind.CATEGORICAL, tuple(range(size)))
            for place, size in enumerate(shape.sizes)
        )
    )
    columns = public_population(schema, ROWS, seed=SEED)
    if shape.sparse:  # code 1 is the rarer one
        columns = [np.where(column.sum() * 2 > ROWS, 1 - column, column) for column in columns]
    rules, obeying = NO_RULES, np.ones(ROWS, dtype=np.bool_)
    if family.ruled:
        rules, obeying = public_rules(schema.sizes, np.stack(columns, axis=1), shape.rules)
    table = np.stack(columns, axis=1)[obeying].astype(np.int32)
    clauses = parse_workload(family.workload, schema).clauses
    plan = DualQueryPlan(
        rounds=max(numbers),
        draws=shape.draws,
        step=STEP,
        size=len(table),
        relation=NeighbouringRelation.REPLACE_ONE,
        budget=Budget(epsilon=1e300, delta=0.0, rho=None, accountant=Accountant.PURE),
        attributes=len(schema),
    )
    ledger, journal = Ledger(plan.budget, plan.relation), MemoryJournal(keep=False)
    ledger.reserve(plan.charges())
    curator = Curator(
        PrivateDataset.from_codes(schema, list(table.T)),
        clauses,
        ledger,
        journal,
        size=plan.size,
        step=plan.step,
        sampler=ExactSampler(SeededWords(SEED)),
    )
    ascent = SteepestAscent(table[:POOL])
    responder = BestResponder(
        clauses=clauses,
        sizes=schema.sizes,
        solver=ascent,
        fallback=ascent,
        limits=NO_LIMITS,
        free_attributes=FreeAttributeRule(FreeAttributes.FIRST, schema, seed=0),
        rules=rules,
        feasible=table[0],
    )
    played = run(Walk(ledger, curator, journal), plan, responder)
    return {
        number: (round_program(clauses, schema.sizes, played[number - 1].sampled, rules), played[number - 1].record)
        for number in numbers
    }


@dataclass(frozen=True, slots=True, eq=False)
class SteepestAscent:
    """Maximize sum_j w_j [clause j is true of x] over records x that obey the rules, up to a local optimum.

    From the best record of a pool, the change of one code that gains most and leaves every rule obeyed is made until none
    gains anything. Ties go to the first record of the pool, and to the smallest attribute and code.
    """

    pool: NDArray[np.int32]
    name: str = "steepest-ascent"
    capabilities: frozenset[Capability] = field(
        default=frozenset({Capability.MAX_CSP, Capability.RULES, Capability.DETERMINISTIC_LIMIT})
    )

    def availability(self) -> Availability:
        """Say that it is always there."""
        return Availability(AvailabilityStatus.AVAILABLE, "part of the catalogue")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Return a record that no change of one code makes better; limits and hint are not looked at."""
        assert isinstance(program, MaxCsp)
        record = self.pool[int(np.argmax(_objectives(program, self.pool)))].copy()
        while (change := _best_change(program, record)) is not None:
            attribute, code = change
            record[attribute] = code
        return SolveResult(
            Termination.LIMIT,
            Limit.WORK,
            record,
            float(program.objective(record)),
            None,
            self.name,
            "1",
            "a local optimum",
            0.0,
        )


def _objectives(program: MaxCsp, records: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the objective of each record (r, d), as (r,)."""
    numbers = np.zeros((len(records), len(program.clauses)), dtype=np.uint32)
    for place in range(program.clauses.width):
        attributes = program.clauses.attributes[:, place]
        equal = records[:, attributes] == program.clauses.values[:, place]
        numbers += (equal == program.clauses.signs[:, place]) & (attributes >= 0)
    true = program.clauses.accepted >> numbers & 1
    return true.astype(np.int64) @ program.weights


def _best_change(program: MaxCsp, record: NDArray[np.int32]) -> tuple[int, int] | None:
    """Return attribute and code of the change that gains most and leaves every rule obeyed, or None if none gains."""
    clauses, offsets = program.clauses, program.offsets()
    used = clauses.attributes >= 0
    true = used & ((record[clauses.attributes] == clauses.values) == clauses.signs)
    others = true.sum(axis=1)[:, None] - true  # number of true literals besides each one
    accepted = clauses.accepted.astype(np.int64)[:, None]
    if_named = (accepted >> (others + clauses.signs)) & 1  # truth of the clause if the attribute has the literal's code
    if_other = (accepted >> (others + ~clauses.signs)) & 1  # and if it has any other code
    now = (accepted >> (others + true)) & 1
    weights = program.weights[:, None]
    gains = np.zeros(int(offsets[-1]), dtype=np.int64)
    base = np.zeros(program.sizes.size, dtype=np.int64)
    np.add.at(base, clauses.attributes[used], (weights * (if_other - now))[used])
    gains += np.repeat(base, program.sizes)
    np.add.at(gains, (offsets[clauses.attributes] + clauses.values)[used], (weights * (if_named - if_other))[used])
    better = np.flatnonzero(gains > 0)
    better = better[np.argsort(-gains[better], kind="stable")]
    attributes = np.searchsorted(offsets, better, side="right") - 1
    codes = (better - offsets[attributes]).astype(np.int32)
    if program.rules.number_of_rules:
        changed = np.tile(record, (better.size, 1))
        changed[np.arange(better.size), attributes] = codes
        obeying = ~program.rules.broken(changed).any(axis=1)
        attributes, codes = attributes[obeying], codes[obeying]
    return (int(attributes[0]), int(codes[0])) if attributes.size else None

"""SmallDB: one small database, drawn from all of m records.

Of all databases of m records, one is selected with probability proportional to exp(-epsilon n e / 2), e its largest
error over the workload, by the net mechanism. Everything else is public.

Source: Blum, Ligett and Roth 2013, "A Learning Theory Approach to Noninteractive Database Privacy", section 3 (2008:
the exponential mechanism over small databases).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from math import log
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.algorithm import Algorithm
from dpopt.algorithms.fem.plan import largest_range
from dpopt.algorithms.options import PlanRequest, SmallDatabase
from dpopt.algorithms.prediction import ROWS, PredictedError, mean_of_runs
from dpopt.algorithms.small_database.accuracy import (
    FAILURE,
    NetBound,
    distinct_queries,
    impossible,
    log_multisets,
    net_bound,
    vc_dimension,
)
from dpopt.algorithms.small_database.universe import Universe
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.mechanisms.net.net_boxes import MOST_LISTED
from dpopt.private.mechanisms.net.net_distribution import (
    LARGEST_TARGET,
    MOST_DEPTH,
    MOST_ELEMENTS,
    MOST_MULTISETS,
    MOST_RECORDS,
    Multisets,
)
from dpopt.public_random import public_stream, uniforms
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.plan import SEED, Plan
from dpopt.releases.progress import stage
from dpopt.releases.public_population.population import public_table
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Outcome, Run, Walk
from dpopt.transcript.past import DATABASE
from dpopt.transcript.released import SelectedDatabase

SMALLDB = SmallDatabase.algorithm
LARGEST_RANGE = Decimal(1_000)
LARGEST_REACH = Decimal(2)


@dataclass(frozen=True, slots=True)
class SmallDatabasePlan(Plan):
    """Parameters of a run; they depend on public values only. Fields without a word below are as in `Plan`."""

    algorithm, solver = SMALLDB, "local-search"  # no solver is needed, the usual one is named
    records: Annotated[int, Whole("the number of records", most=MOST_RECORDS)]
    """Number m of records of the small database."""
    selection_range: Annotated[Decimal, Number("the range of the selection", above=0, most=LARGEST_RANGE, decimal=True)]
    """epsilon of the one selection, an exact decimal."""
    reach: Annotated[Decimal, Number("the reach of the errors", above=0, most=LARGEST_REACH, decimal=True)]
    """Larger errors are treated as equal to it; in (0, 2]."""
    size: Annotated[int, Whole("the public size", most=2**40)]
    relation: NeighbouringRelation
    budget: Budget
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.records * self.size > LARGEST_TARGET:
            raise PlanError(
                f"{self.records:,} records at a public size of {self.size:,} are beyond 64-bit distances; ask for fewer"
            )

    def charges(self) -> tuple[Charge, ...]:
        return (selection_charge(1, self.selection_range, self.relation),)

    def describe(self) -> str:
        return f"smalldb: a database of m = {self.records:,} records ({self.chosen_by})"

    def transcript_bytes(self, queries: int, width: int) -> int:
        return 4_000 + 30 * self.records


LOST = (
    "an interruption lost the selection: its cost is not refunded, and there is nothing to release. Begin another run, "
    "with its own budget"
)
_NEGLIGIBLE = 35.0  # ln of the odds, about 2^50, against a database whose error is beyond the reach
_SLACK_OF_SIZE = 0.25  # under add-remove the table may have more or fewer records than n0, and errors grow by as much
SEARCHED = ((16, MOST_MULTISETS), (20, 10**14), (24, 10**12), (32, 2 * 10**10), (64, 10**9))
"""Limits on elements and on multisets for draws of about a minute, by experiments/small_databases and its like."""


class SmallDatabaseAlgorithm(Algorithm[SmallDatabase, SmallDatabasePlan]):
    """The small database: one draw among all databases of m records."""

    plans = SmallDatabasePlan

    def plan(self, request: PlanRequest[SmallDatabase], workload: Workload) -> SmallDatabasePlan:
        """Return a plan that the budget covers; only public values are read.

        Rule: epsilon of the selection as large as the budget covers; m with the least proven bound on the largest error at
        probability 0.95 (`NetBound`), among those for which a draw ends within about a minute (`SEARCHED`).
        """
        range_ = largest_range(request.budget, request.relation, 1)
        if range_ is None:
            raise PlanError(f"{request.budget.describe()} is too small for one selection; raise the budget")
        shape = Shape.of(Universe.of(workload))
        if shape.elements > MOST_ELEMENTS:
            raise PlanError(
                f"the workload distinguishes {shape.elements:,} classes of records, and smalldb draws over at most "
                f"{MOST_ELEMENTS:,}. {_instead(shape, float(range_))}"
            )
        _refuse_the_impossible(request, shape, float(range_))
        given = request.options.records
        if given is None:
            records = _best_records(request, shape, float(range_))
            chosen_by = "least proven bound on the largest error"
        else:
            records = _given_records(given, shape)
            chosen_by = "records given"
        return SmallDatabasePlan(
            records=records,
            selection_range=range_,
            reach=_reach(request, shape.bound(records, range_=float(range_), size=request.size), float(range_)),
            size=request.size,
            relation=request.relation,
            budget=request.budget,
            seed=request.options.seed,
            chosen_by=chosen_by,
        )

    def prepare(self, job: Job, run: Run) -> tuple[Universe, Multisets]:
        """Return the universe and the databases of its elements; refuses too many of them."""
        return _databases(job)

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> NetCurator:
        plan = SmallDatabasePlan.of(job.plan)
        with stage(run.progress, "counting exact answers"):
            return NetCurator(
                run.dataset,
                job.workload.queries,
                ledger,
                run.journal,
                size=plan.size,
                range_=plan.selection_range,
                words=run.sources.words,
                progress=run.progress.share,
            )

    def play(self, job: Job, walk: Walk[NetCurator], prepared: tuple[Universe, Multisets] | None) -> Outcome:
        plan = SmallDatabasePlan.of(job.plan)
        universe, multisets = prepared or _databases(job)

        def select(again: bool) -> SelectedDatabase:  # noqa: FBT001
            return walk.curator.select_database(multisets, reach=plan.reach, again=again)

        def check(selected: SelectedDatabase) -> None:
            found, last = int(selected.counts.sum()), int(selected.elements[-1])
            if found != plan.records:
                raise TranscriptError(f"the database has {found:,} records, the plan says {plan.records:,}")
            if last >= universe.elements:
                raise TranscriptError(
                    f"the database has element {last:,}; the universe has {universe.elements:,}, numbered from 0"
                )

        with stage(walk.progress, f"selecting one of {float(multisets.number):.2g} databases"):
            selected = walk.draw(DATABASE, plan.charges()[0], select, on_file=check)
        if selected is None:
            raise PlanError(LOST)
        records = universe.spread(selected.elements, selected.counts, seed=plan.seed)
        sections: dict[str, Any] = {
            "small_database": {
                "records": plan.records,
                "elements": universe.elements,
                "databases": multisets.number,
                "drawn": "from a list" if multisets.number <= MOST_LISTED else "by branch and bound",
            }
        }
        return Outcome(walk.ledger, SyntheticRecords.of(list(records)), sections=sections)

    def predict(
        self, plan: SmallDatabasePlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Return the errors of databases drawn for public populations; no private record is touched.

        The distribution depends on the data through the shares that they answer with alone, so a population of 20,000
        records stands for any n.
        """
        universe = Universe.of(workload)

        def simulate(seed: int) -> tuple[float, float]:
            population = public_table(workload, ROWS, seed=seed, density=density)
            exact = exact_counts(population, workload.queries) / ROWS
            strength = float(plan.selection_range) * plan.size
            drawn = drawn_databases(universe.answers, exact, plan.records, strength, seed=seed)
            errors = np.abs(drawn @ universe.answers.T.astype(np.float64) / plan.records - exact)
            return float(errors.max(axis=1).mean()), float(errors.mean())

        return mean_of_runs(simulate, runs, len(workload))

    def prove(self, plan: SmallDatabasePlan, workload: Workload) -> dict[str, Any]:
        """Return the proven bound of a plan as a JSON object, with a lower bound for any mechanism."""
        shape = Shape.of(Universe.of(workload))
        bound = shape.bound(plan.records, range_=float(plan.selection_range), size=plan.size)
        ruled_out = impossible(
            shape.dimension[0], size=plan.size, range_=float(plan.selection_range), relation=plan.relation
        )
        conditions = []
        if plan.relation is NeighbouringRelation.ADD_REMOVE:
            conditions.append("the table has n0 records")
        if workload.schema.rules:
            conditions.append("all of them obey the rules")
        return {
            **bound.to_json(),
            "if": f", if {' and '.join(conditions)}" if conditions else "",
            "vc_dimension": {"at_least": shape.dimension[0], "at_most": shape.dimension[1]},
            "impossible": ruled_out,
        }


def _databases(job: Job) -> tuple[Universe, Multisets]:
    universe = Universe.of(job.workload)
    return universe, Multisets(universe.answers, SmallDatabasePlan.of(job.plan).records)


@dataclass(frozen=True, slots=True)
class Shape:
    """The facts about a workload that decide about a net: numbers of elements and of distinct queries, VC bounds."""

    elements: int
    queries: int
    dimension: tuple[int, int]

    @classmethod
    def of(cls, universe: Universe) -> Shape:
        """Return the shape of a universe."""
        answers = universe.answers
        return cls(universe.elements, distinct_queries(answers), vc_dimension(answers))

    def bound(self, records: int, *, range_: float, size: int) -> NetBound:
        """Return the bound for databases of this number of records."""
        return net_bound(self.elements, records, self.queries, self.dimension[1], range_=range_, size=size)

    def possible(self) -> Iterator[int]:
        """Yield the numbers of records that a draw is planned for."""
        limit = log(next((most for elements, most in SEARCHED if self.elements <= elements), MOST_LISTED))
        for records in range(1, MOST_RECORDS + 1):
            if log_multisets(self.elements, records) >= limit:
                return
            yield records


def _best_records(request: PlanRequest[SmallDatabase], shape: Shape, range_: float) -> int:
    bounds = [
        shape.bound(records, range_=range_, size=request.size)
        for records in shape.possible()
        if records * request.size <= LARGEST_TARGET
    ]
    if not bounds:
        raise PlanError(
            f"the workload distinguishes {shape.elements:,} classes of records, too many for smalldb. "
            f"{_instead(shape, range_)}"
        )
    best = min(bounds, key=lambda bound: bound.total)
    if best.total >= 1:
        raise PlanError(
            f"no informative bound is possible (below 1): with m = {best.records} records over {shape.elements:,} "
            f"classes, the nearest small database errs by up to {best.nearest:.2g} ({best.because}), and the drawn one "
            f"by {best.selection:.2g} more, 2 / (epsilon n) (ln C({shape.elements + best.records - 1}, {best.records}) "
            f"+ ln 20). {_instead(shape, range_)} To draw all the same, give --records"
        )
    return best.records


def _given_records(given: int, shape: Shape) -> int:
    if given > MOST_RECORDS:
        raise PlanError(f"a small database has at most {MOST_RECORDS:,} records, found {given:,}")
    if log_multisets(shape.elements, given) >= log(MOST_MULTISETS):
        most = max(m for m in range(1, given) if log_multisets(shape.elements, m) < log(MOST_MULTISETS))
        raise PlanError(
            f"{given} records over {shape.elements:,} classes make e^{log_multisets(shape.elements, given):.0f} "
            f"databases, and a draw is possible among fewer than 2^62; at most {most} records are possible here"
        )
    return given


def _instead(shape: Shape, range_: float) -> str:
    """Return the alternatives: the size at which the bound falls below 1 / 4, and other algorithms."""
    sizes = []
    for records in shape.possible():
        bound = shape.bound(records, range_=range_, size=1)
        if bound.nearest < 0.25:
            sizes.append((bound.selection / (0.25 - bound.nearest), records))
    others = "Use --algorithm projection or dualquery"
    if not sizes:
        return f"{others}, or fewer attributes or queries."
    needed, records = min(sizes)
    return (
        f"An error of 1/4 needs n = {int(needed) + 1:,} records at this budget (m = {records}), or fewer attributes. "
        f"{others}."
    )


def _refuse_the_impossible(request: PlanRequest[SmallDatabase], shape: Shape, range_: float) -> None:
    ruled_out = impossible(shape.dimension[0], size=request.size, range_=range_, relation=request.relation)
    if ruled_out is not None:
        raise PlanError(
            f"errors of at least {ruled_out['error_at_least']:.3g} cannot be avoided: {ruled_out['because']} "
            f"({ruled_out['theorem']}). Bring more records, or ask for fewer queries"
        )


def _reach(request: PlanRequest[SmallDatabase], bound: NetBound, range_: float) -> Decimal:
    """Return the error above which errors are treated as equal: it is met with probability 2^-50 at most.

    The drawn database errs by more than alpha + (2 / (epsilon n)) (ln N + 35) with probability e^-35, N the number of
    databases.
    """
    beyond = bound.nearest + bound.selection + 2 / (range_ * request.size) * (_NEGLIGIBLE - log(1 / FAILURE))
    if request.relation is NeighbouringRelation.ADD_REMOVE:
        beyond += _SLACK_OF_SIZE
    reach = min(float(LARGEST_REACH), beyond)
    depth = range_ * request.size / 2 * reach / log(2)
    if depth >= 0.99 * MOST_DEPTH:
        raise PlanError(
            f"at epsilon n = {range_ * request.size:,.0f} the odds of databases with errors from 0 to {reach:.2g} span "
            f"a factor of 2^{int(depth):,}, and 2^{MOST_DEPTH:,} is the most. At such a size every algorithm is "
            f"accurate: use --algorithm noise or projection, or give a smaller epsilon"
        )
    return Decimal(reach).quantize(Decimal("1e-6"), rounding=ROUND_UP)


CHAINS, STEPS = 64, 4_000
_MOST_ANSWERS = 2**20
"""Of all chains together; fewer chains are run for more queries than it holds for all."""


def drawn_databases(
    answers: NDArray[np.int8], exact: NDArray[np.float64], records: int, strength: float, *, seed: int
) -> NDArray[np.int64]:
    """Return multisets of m classes, (c, A), from independent chains towards P proportional to exp(-strength error / 2).

    A step moves 2^s records from one class to another, all three at random, and is taken with Metropolis' probability;
    it is as likely as the step back, so that without a strength all multisets are equally likely. All chains begin with
    the classes of the population, rounded. `answers` (k, A) are the values 0 or 1 of each query on each class, `exact`
    (k,) the answers that errors, the largest difference, are from; the strength is epsilon n.
    """
    queries, elements = answers.shape
    chains = max(1, min(CHAINS, _MOST_ANSWERS // queries))
    stream, each = public_stream(seed, "chains of small databases"), np.arange(chains)
    counts = np.tile(_rounded(answers, exact, records), (chains, 1))
    columns = np.ascontiguousarray(answers.T, dtype=np.float64)
    values = counts @ columns
    error = np.abs(values / records - exact).max(axis=1)
    sizes = int(records).bit_length()
    for _ in range(STEPS):
        left, right, power, chance = (uniforms(stream, chains) for _ in range(4))
        source, target = (left * elements).astype(np.int64), (right * elements).astype(np.int64)
        moved = 1 << (power * sizes).astype(np.int64)
        changed = values + moved[:, None] * (columns[target] - columns[source])
        worse = np.abs(changed / records - exact).max(axis=1)
        held = counts[each, source] >= moved
        taken = held & (np.log1p(-chance) <= strength / 2 * (error - worse))
        values[taken], error[taken] = changed[taken], worse[taken]
        np.subtract.at(counts, (each[taken], source[taken]), moved[taken])
        np.add.at(counts, (each[taken], target[taken]), moved[taken])
    return counts


def _rounded(answers: NDArray[np.int8], exact: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    """Return counts (A,) of m records, by largest remainders, of a distribution whose answers are near the exact ones."""
    ones = np.ones((1, answers.shape[1]))
    equations = np.concatenate([answers.astype(np.float64), ones])
    shares = np.maximum(np.linalg.lstsq(equations, np.append(exact, 1.0))[0], 1e-9)
    wanted = shares / shares.sum() * records
    counts: NDArray[np.int64] = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: records - int(counts.sum())]] += 1
    return counts

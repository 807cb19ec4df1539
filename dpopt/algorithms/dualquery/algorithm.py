"""DualQuery: queries are drawn by how badly the records so far answer them, and the next record answers them best.

Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, Algorithm 1, with the sign that makes the game converge (the
data player maximizes sum_i q_i(x) over the drawn queries, a query's weight grows by exp(eta (q(D) - q(x)))).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import columns_of, costs
from dpopt.accounting.budget import DEFAULT_DELTA
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.algorithm import Algorithm
from dpopt.algorithms.dualquery import simulation
from dpopt.algorithms.dualquery.accuracy import log_universe, proven_error
from dpopt.algorithms.dualquery.plan import (
    BudgetFit,
    DualQueryPlan,
    base_fields,
    dense_draws,
    least_bound,
    rule_in_words,
)
from dpopt.algorithms.dualquery.rounds import BestResponder, FreeAttributeRule, dualquery_sections, recertify
from dpopt.algorithms.memory import ExpectedMemory, expected_memory
from dpopt.algorithms.options import DualQuery, Options, PlanRequest
from dpopt.algorithms.prediction import ROWS, PredictedError, errors_of_run, mean_of_runs
from dpopt.models.best_responses.own_formulation import OwnFormulation, require_answer
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.readers.table_sources import BATCH_ROWS
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import PlanBy
from dpopt.releases.progress import Figures, Progress, stage
from dpopt.releases.public_population.population import MOST_ATTRIBUTES, has_binary_population, public_table
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rule_conflicts import feasible_record, require_rules_taken
from dpopt.releases.run import Outcome, Run, Sources, Walk, play_run, spent_so_far
from dpopt.transcript.past import DRAW, MEASUREMENT
from dpopt.transcript.released import NoisyAnswers, SampledQueries

TIMED_ROUNDS = 12
"""Timed rounds; the first, which compiles and loads, does not count."""
THREADS = 2
"""Threads of a best response; the local search gives the same record with any number of them."""
Prepared = tuple[Solver, Solver, NDArray[np.int32] | None]
"""The solver, the one that answers where it fails, and a record that obeys the rules, None where there are none."""
NO_SOLVERS: Prepared = (cast("Solver", None), cast("Solver", None), None)
"""For a transcript that is only read: no solver is asked, and none is loaded."""


class DualQueryAlgorithm(Algorithm[DualQuery, DualQueryPlan]):
    """Each round, the record that satisfies most of the drawn queries: `dpopt.models.best_response`."""

    plans = DualQueryPlan
    predicts_wide: ClassVar[bool] = True
    knows_density: ClassVar[bool] = True

    def plan(self, request: PlanRequest[DualQuery], workload: Workload) -> DualQueryPlan:
        base, asked = DualQueryPlan(**base_fields(request, len(workload.schema))), request.options
        extra = base.charges()[: 1 if base.one_way is not None else 0]
        fit = BudgetFit(request, extra, attributes=len(workload.schema), dense_draws=dense_draws(request, workload))
        rounds, draws, step = asked.numbers
        if rounds is not None and draws is not None and step is not None:
            return fit.checked(base, rounds, draws, step, "given")
        open_numbers = [name for name in ("rounds", "draws", "step") if getattr(asked, name) is None]
        if len(open_numbers) == 1:
            chosen = fit.complete(rounds, draws, step)
            return fit.checked(base, *chosen, f"{open_numbers[0]} as large as the budget allows, the rest given")
        if asked.plan_by == PlanBy.BOUND.value:
            return fit.checked(base, *least_bound(fit, request, workload), "least proven bound")
        return fit.checked(base, *fit.by_rule(rounds, draws, step), rule_in_words(request, workload))

    def play(self, job: Job, walk: Walk[Curator], prepared: Prepared | None) -> Outcome:
        """Play the rounds of a plan; the one-way marginals first, where it measures them."""
        plan = DualQueryPlan.of(job.plan)
        solver, search, feasible = prepared or NO_SOLVERS
        responder = BestResponder(
            clauses=job.workload.clauses,
            sizes=job.schema.sizes,
            solver=solver,
            fallback=search,
            limits=SolveLimits(
                seconds=plan.seconds,
                work=plan.work,
                gap=None if plan.gap is None else plan.gap * plan.draws,
                seed=plan.seed,
                threads=THREADS,
            ),
            free_attributes=FreeAttributeRule(
                plan.free_attributes, job.schema, seed=plan.seed, marginals=_one_way(walk, plan)
            ),
            rules=job.schema.circuit(),
            feasible=feasible,
        )

        def show(number: int, total: int, done: Round) -> None:
            walk.progress.figures(lambda: figures_of_round(plan, walk.ledger, done))
            walk.progress.round(number, total, (done.certificate.objective or 0) / plan.draws)

        with stage(walk.progress, "playing rounds"):
            rounds = run(walk, plan, responder, on_round=show)
        records = SyntheticRecords.of([done.kept for done in rounds])
        return Outcome(walk.ledger, records, rounds, sections=dualquery_sections(job, rounds))

    def prepare(self, job: Job, run: Run) -> Prepared:
        return solvers_of(job, run)

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> Curator:
        sources, plan = run.sources, DualQueryPlan.of(job.plan)
        given: dict[str, Any] = {
            "size": plan.size,
            "step": plan.step,
            "marginals": job.workload.marginals,
            "sampler": sources.sampler,
            "noise": sources.noise,
            "progress": run.progress.share,
        }
        with stage(run.progress, "counting exact answers"):
            return Curator(run.dataset, job.workload.clauses, ledger, run.journal, **given)

    def prove(self, plan: DualQueryPlan, workload: Workload) -> dict[str, Any]:
        return proven_error(
            rounds=plan.rounds,
            draws=plan.draws,
            step=float(plan.step),
            queries=len(workload),
            log_universe=log_universe(workload.schema),
        ).to_json()

    def predict(
        self, plan: DualQueryPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        if has_binary_population(workload, density):
            return simulation.predict_on_binary(plan, workload, runs, density)
        if workload.marginals is not None and len(workload) > simulation.MOST_CELLS:
            return mean_of_runs(
                lambda seed: simulation.random_records(plan.rounds, workload, seed), runs, len(workload)
            )
        part = simulation.simulated_part(workload)
        rounds = simulation.simulated_rounds(plan)
        played = simulation.on_population(
            plan, rounds=rounds, solver="local-search", work=simulation.SWEEPS, seconds=None, gap=None
        )
        return mean_of_runs(
            lambda seed: errors_of_run(self, replace(played, seed=seed), part, seed, None),
            runs,
            len(part),
            simulated_rounds=simulation.fewer_rounds(plan),
        )

    def seconds_of_rounds(
        self, plan: DualQueryPlan, workload: Workload, options: Options, density: float | None
    ) -> float | None:
        """Return the seconds of all rounds, as the first ones take here on a public population, by the plan's solver.

        None for wide tables, of which no population is written, and for a single round.
        """
        if plan.rounds < 2 or (workload.schema.is_binary and len(workload.schema) > MOST_ATTRIBUTES):
            return None
        played, clock = simulation.on_population(plan, rounds=min(plan.rounds, TIMED_ROUNDS)), _Clock()
        table = public_table(workload, ROWS, seed=1, density=density)
        run = Run(table, sources=Sources(ExactSampler(SeededWords(1))), progress=clock, solver=options.own_solver)
        play_run(self, Job(played, workload.schema, workload, {}, {}), run)
        return float(np.median(np.diff(clock.ends))) * plan.rounds

    def expected_memory(
        self, plan: DualQueryPlan, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory:
        return expected_memory(
            workload.queries,
            workload.schema.sizes,
            rows=plan.size,
            rounds=plan.rounds,
            draws=plan.draws,
            rows_at_once=BATCH_ROWS if streamed else None,
            binary=workload.schema.is_binary,
            resumed=resumed,
        )

    def prices(self, plan: DualQueryPlan, charges: Sequence[Charge]) -> dict[str, Any]:
        budget = plan.budget
        columns = columns_of(charges).for_groups(budget.group)
        rows = costs(columns.epsilon, budget.delta or DEFAULT_DELTA, used=budget.accountant)
        if budget.earlier:
            # The size is part of this plan's total; each of the other accountants would measure it at a cost of its own.
            stated = budget.guaranteed(charges)
            rows = [{**row, "epsilon": stated.epsilon} if row["used"] else row for row in rows]
        return {"accountants": rows}


class _Clock(Progress):
    """Notes when rounds end."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []

    def round(self, number: int, rounds: int, value: float) -> None:
        self.ends.append(time.perf_counter())


def run(
    walk: Walk[Curator],
    plan: DualQueryPlan,
    responder: BestResponder,
    *,
    on_round: Callable[[int, int, Round], None] = lambda number, rounds, done: None,
) -> list[Round]:
    """Play the rounds of a plan, continuing after those on file; ``on_round(number, rounds, done)`` is called after each.

    The private side (`walk`) gets each record and gives released values only. There is one round less than planned for
    each torn draw on file: part of it may have been seen, so its round was charged again, and the last round given up
    to pay for it.
    """
    rounds = walk.rounds
    charges = list(plan.charges()[-plan.rounds :])
    while len(rounds) < len(charges):
        sampled = _drawn(walk, plan, len(rounds) + 1, charges)  # charged, then drawn, then on file
        if sampled is None:
            break
        done = _answered(walk, responder, sampled, rounds[-1].record if rounds else None)  # public
        if walk.plays:
            walk.curator.observe(done.record)  # nothing comes back
        rounds.append(done)
        on_round(len(rounds), len(charges), done)
    return rounds


def _drawn(walk: Walk[Curator], plan: DualQueryPlan, number: int, charges: list[Charge]) -> SampledQueries | None:
    """Return the draws of a round. A torn draw is repeated at the cost of a later round; None if no later one is left.

    `charges` holds the rounds still to be played; rounds given up are taken off its end.
    """
    charge = charges[number - 1]

    def draw(again: bool) -> SampledQueries:  # noqa: FBT001
        return walk.curator.complete_draw() if again else walk.curator.draw_queries(plan.draws)

    sampled = walk.draw(DRAW, charge, draw, round=number)
    while sampled is None and number < len(charges):
        last = len(charges)
        given_up = charges.pop()

        def repeat(again: bool, last: int = last, given_up: Charge = given_up) -> SampledQueries:  # noqa: FBT001
            if again:
                return walk.curator.complete_draw()
            return walk.curator.repeat_draw(plan.draws, given_up_round=last, given_up=given_up)

        sampled = walk.draw(DRAW, charge, repeat, round=number, given_up=(last, given_up))
    return sampled


def _answered(
    walk: Walk[Curator], responder: BestResponder, sampled: SampledQueries, hint: NDArray[np.int32] | None
) -> Round:
    """Return the record of a round, certified again where it is on file; the next charge's write makes it safe."""
    clauses, sizes, rules = responder.clauses, responder.sizes, responder.rules
    return walk.public(
        "record",
        read=lambda entry: recertify(clauses, sizes, sampled, entry, rules),
        make=lambda: responder.respond(sampled, hint=hint),
        write=Round.to_json,
        wait=False,
    )


def solvers_of(job: Job, run: Run) -> Prepared:
    """Return the solvers, and a record that obeys the rules where there are any; refuses rules that they cannot take."""
    from dpopt.solvers.outside import TRIAL_SECONDS
    from dpopt.solvers.registry import get_solver

    solver, search, rules = run.clause_solver(job.plan), get_solver("local-search"), job.schema.circuit()
    if isinstance(solver, OwnFormulation):
        solver = solver.for_schema(job.schema)
        first = MaxCsp(
            job.schema.sizes, job.workload.clauses.take(np.zeros(1, dtype=np.int64)), np.ones(1, np.int64), rules
        )
        require_answer(solver, first, SolveLimits(seconds=TRIAL_SECONDS))
    if not rules.number_of_rules:
        return solver, search, None
    require_rules_taken(solver, rules, job.schema.sizes)
    return solver, search, feasible_record(rules, job.schema.sizes)


def _one_way(walk: Walk[Curator], plan: DualQueryPlan) -> NoisyAnswers | None:
    """Measure the one-way marginals where the plan says so; a torn measurement is lost, for it may have been seen."""
    if plan.one_way is None:
        return None
    scale, gaussian = plan.one_way.scale, plan.one_way.gaussian

    def measure(again: bool) -> NoisyAnswers:  # noqa: FBT001
        return walk.curator.measure_one_way(scale=scale, gaussian=gaussian, again=again)

    return walk.draw(MEASUREMENT, plan.charges()[0], measure, round=0)


def figures_of_round(plan: DualQueryPlan, ledger: Ledger, done: Round) -> Figures:
    """Return the result of a round for the owner's log: its best response, and the spending so far."""
    return {
        "algorithm": plan.algorithm,
        "draws": plan.draws,
        "objective": done.certificate.objective,
        "bound": done.certificate.bound,
        "solver": done.solver,
        "stopped": done.stopped,
        "fallback": done.fallback,
        "from_file": done.solve_seconds is None,
        "solve_seconds": None if done.solve_seconds is None else round(done.solve_seconds, 6),
        **spent_so_far(ledger),
    }

"""A DualQuery plan: its parameters, and how rounds, draws and step are fitted into a budget; public values alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from math import log, sqrt
from typing import Annotated, Any, ClassVar, Literal

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import plan_charges, run_columns
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import measurement_scale, one_way_charge
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.algorithms.dualquery.accuracy import log_universe, proven_error
from dpopt.algorithms.options import DualQuery, PlanRequest
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import LARGEST_SIZE, SECONDS, SEED, SIZE, WORK, FreeAttributes, Plan

ALGORITHM = "dualquery"


@dataclass(frozen=True, slots=True)
class OneWayMeasurement:
    """Noise of the one-way marginals that free attributes are drawn from."""

    scale: Annotated[float, Number("the scale of one-way marginals", above=0)]
    gaussian: bool

    def __post_init__(self) -> None:
        constrain(self, PlanError)


_LARGEST_RATE = 31


@dataclass(frozen=True, slots=True)
class DualQueryPlan(Plan):
    """Parameters of a run; they depend on public values only. Fields without a word below are as in `Plan`."""

    algorithm = ALGORITHM
    left_out: ClassVar[Mapping[str, Any]] = {"gap": None}
    rounds: Annotated[int, Whole("the number of rounds", most=LARGEST_SIZE)]
    draws: Annotated[int, Whole("the number of draws", most=LARGEST_SIZE)]
    """T rounds of s draws each."""
    step: Annotated[Decimal, Number("the step eta", above=0, decimal=True)]
    """Step eta, an exact decimal."""
    size: Annotated[int, SIZE]
    relation: NeighbouringRelation
    budget: Budget
    attributes: Annotated[int, Whole("the number of attributes", most=LARGEST_SIZE)]
    """Number of attributes of the table, for the charge of one-way marginals."""
    free_attributes: FreeAttributes = FreeAttributes.FIRST
    encoding: Literal["records"] = field(default="records", init=False)
    """Records have one value for each attribute; earlier versions had others."""
    one_way: OneWayMeasurement | None = None
    """Set if and only if free attributes are estimated."""
    solver: str = "local-search"
    work: Annotated[int | None, WORK] = None
    """Its limit per round in its own deterministic units."""
    seconds: Annotated[float | None, SECONDS] = None
    """Its limit per round in seconds."""
    gap: Annotated[float | None, Number("the gap", least=0, most=1)] = None
    """The share of the draws by which a round's record may be proven to fall short of the best one."""
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.step > _LARGEST_RATE * self.size:
            raise PlanError(
                f"the step eta = {self.step} is too large for a public size of {self.size:,}: "
                f"eta / n is at most {_LARGEST_RATE}, beyond which the sampler cannot distinguish scores"
            )
        if self.rounds * (self.size + MOST_ROWS) > LARGEST_SCORE:
            raise PlanError(
                f"{self.rounds:,} rounds with a public size of {self.size:,} are beyond 64-bit scores; take fewer "
                f"rounds"
            )
        if (self.one_way is None) == (self.free_attributes is FreeAttributes.ESTIMATED):
            raise PlanError("one-way marginals are measured if and only if free attributes are estimated")

    def describe(self) -> str:
        return (
            f"DualQuery: T = {self.rounds:,} rounds, s = {self.draws:,} draws each, step eta = {self.step} "
            f"({self.chosen_by})"
        )

    def bits_of_records(self, width: int, *, wide: bool) -> int:
        """Return the attributes that take as much as `width` bits: a sixth of a byte is written for a bit, and 8 for a code."""
        return width // 40

    def most_ones(self, columns: int, literals: int) -> int:
        """Return the most ones of a record: if columns that no query mentions are 0, those of the drawn queries."""
        return min(columns, self.draws * literals) if self.free_attributes is FreeAttributes.FIRST else columns

    def transcript_bytes(self, queries: int, width: int) -> int:
        return self.rounds * (20 * min(self.draws, queries) + 8 * width + 1_000)

    def charges(self) -> tuple[Charge, ...]:
        drawn = plan_charges(self.rounds, self.draws, float(self.step), self.size, self.relation)
        if self.one_way is None:
            return drawn
        scale, gaussian = self.one_way.scale, self.one_way.gaussian
        return (one_way_charge(self.attributes, scale=scale, gaussian=gaussian, relation=self.relation), *drawn)


ONE_WAY_SHARE = 0.05
"""Share of the budget that noisy one-way marginals get when free attributes are estimated."""
DEFAULT_STEP = Decimal("1.4")
SPARSE_STEP = Decimal("2.5")
DENSE_STEP = Decimal("0.4")
_ROUNDS_PER_DRAW = 3.63
_USUAL_WIDTH, _LEAST_WIDTH_FACTOR = 24, 0.15
_SPARSE_ROUNDS_PER_DRAW, _LEAST_SPARSE_DRAWS = 30, 10
_SPARSE_DRAWS_PER_DENSITY, _ENOUGH_SPARSE_ROUNDS = 35, 30
LARGEST_SPARSE_DENSITY = 0.1
"""Up to this share of ones a table is planned as a sparse one."""
_LEAST_DENSE_ROUNDS = 30
MOST_DRAWS = 1_000_000
_ENOUGH_ROUNDS = 20_000
RULE_ROUNDS, RULE_DRAWS_IN_ALL = 5_000, 25_000_000
"""The most rounds, and draws in all of them, that are planned unasked, however large the budget is. More take hours and
gain little: on public populations of 4 and 14 attributes the largest error is .0006 and .0025 after 2,000 rounds. Who
wants more names them."""


class BudgetFit:
    """Fits rounds, draws and step into a budget.

    `dense_draws` is how many draws a round has by rule on a dense table of zeros and ones, None for other tables.
    """

    def __init__(
        self,
        request: PlanRequest[DualQuery],
        extra: Sequence[Charge],
        *,
        attributes: int,
        dense_draws: int | None = None,
    ) -> None:
        self._request = request
        # Wider records need more draws per round: each draw says something about a few attributes only.
        self._ratio = _ROUNDS_PER_DRAW * max(_LEAST_WIDTH_FACTOR, min(1.0, _USUAL_WIDTH / attributes))
        self._step, self._least_draws, self._wanted_draws = DEFAULT_STEP, 1, 1
        if is_sparse(request):
            # A record of zeros is nearly right already, and each draw can spoil it: few draws, and many rounds to average over.
            self._ratio, self._step = _SPARSE_ROUNDS_PER_DRAW, SPARSE_STEP
            self._least_draws = _LEAST_SPARSE_DRAWS
            # With more ones a record of zeros is wrong more often, and a round must hear of more columns to put them right.
            self._wanted_draws = int(_SPARSE_DRAWS_PER_DENSITY * (request.density or 0.0) * sqrt(attributes))
        self._dense_draws = dense_draws
        if dense_draws is not None:
            self._step = DENSE_STEP
        self._extra = (*request.budget.beside, *extra)
        self._budget = request.budget

    def allowed(self, rounds: int, draws: int, step: float) -> bool:
        """Return whether the budget covers a run."""
        budget, extra, group = self._budget, self._extra, self._budget.group
        size, relation = self._request.size, self._request.relation
        run = run_columns(rounds, draws, step, size, relation, extra, group=group)
        if budget.rho is not None:
            return run.rho() <= budget.rho
        return run.epsilon(budget.accountant, budget.delta) <= (budget.left or 0.0)

    def rounds(self, draws: int, step: float, most: int = _ENOUGH_ROUNDS) -> int:
        """Return the largest number of rounds that the budget covers, up to `most`."""
        return largest_number(lambda rounds: self.allowed(rounds, draws, step), most)

    def draws(self, rounds: int, step: float) -> int:
        """Return the largest number of draws per round that the budget covers, up to `RULE_DRAWS_IN_ALL`; at least 1."""
        most = max(1, min(MOST_DRAWS, RULE_DRAWS_IN_ALL // rounds))
        return max(1, largest_number(lambda draws: self.allowed(rounds, draws, step), most))

    def step(self, rounds: int, draws: int) -> Decimal:
        """Return the largest step in thousandths that the budget covers, at most 10."""
        return Decimal(largest_number(lambda part: self.allowed(rounds, draws, part / 1000), 10_000)) / 1000

    def complete(self, rounds: int | None, draws: int | None, step: Decimal | None) -> tuple[int, int, Decimal]:
        """Return the numbers with the single open one as large as the budget allows."""
        if rounds is None and draws is not None and step is not None:
            return max(1, self.rounds(draws, float(step))), draws, step
        if draws is None and rounds is not None and step is not None:
            return rounds, self.draws(rounds, float(step)), step
        if step is None and rounds is not None and draws is not None:
            return rounds, draws, max(self.step(rounds, draws), Decimal("0.001"))
        raise PlanError("exactly one of rounds, draws and step must be open")

    def by_rule(self, rounds: int | None, draws: int | None, step: Decimal | None) -> tuple[int, int, Decimal]:
        """Return numbers on the curve of the rule; at least two are open.

        They use up the budget, or as much of it as `RULE_ROUNDS` and `RULE_DRAWS_IN_ALL` allow.
        """
        eta = self._step if step is None else step
        if rounds is not None:
            return rounds, self.draws(rounds, float(eta)), eta
        if draws is not None:
            return self._with_rounds(draws, eta)
        few = largest_number(partial(self._leaves_what_is_wanted, float(eta)), MOST_DRAWS)
        if self._dense_draws is not None:
            few = min(few, self._dense_draws)
        if self._wanted_draws > max(self._least_draws, few):
            few = largest_number(lambda s: self.rounds(s, float(eta)) >= _ENOUGH_SPARSE_ROUNDS, self._wanted_draws)
        fitted = self._with_rounds(max(self._least_draws, few), eta)
        # Rounds are whole, so a part of the budget is left; it pays for a few more draws in each of them.
        return (fitted[0], self.draws(fitted[0], float(eta)), eta) if fitted[0] < RULE_ROUNDS else fitted

    def _with_rounds(self, draws: int, step: Decimal) -> tuple[int, int, Decimal]:
        most = max(1, min(RULE_ROUNDS, RULE_DRAWS_IN_ALL // draws))
        return max(1, self.rounds(draws, float(step), most)), draws, step

    def _leaves_what_is_wanted(self, step: float, draws: int) -> bool:
        """Return whether this number of draws leaves budget for the rounds that the rule combines with them."""
        wanted = _LEAST_DENSE_ROUNDS if self._dense_draws is not None else self._ratio * draws ** (2 / 3)
        within = wanted <= RULE_ROUNDS and wanted * draws <= RULE_DRAWS_IN_ALL
        return within and self.rounds(draws, step, RULE_ROUNDS) >= wanted

    def checked(self, base: DualQueryPlan, rounds: int, draws: int, step: Decimal, chosen_by: str) -> DualQueryPlan:
        """Return the plan if the budget covers it."""
        if not self.allowed(rounds, draws, float(step)):
            spent = self._budget.spent(replace(base, rounds=rounds, draws=draws, step=step).charges())
            raise PlanError(
                f"T = {rounds}, s = {draws}, eta = {step} cost epsilon = {spent.epsilon:.6g} at delta = {spent.delta:g} "
                f"(rho = {spent.rho:.6g}) under {base.relation.describe()}, more than {self._budget.describe()}. Leave one "
                "of --rounds, --draws, --step out and it is fitted to the budget"
            )
        if rounds < 2 and self._request.options.rounds is None:
            raise PlanError(
                f"{self._budget.describe()} is too small for two rounds on n = {self._request.size:,} records. "
                "Raise the budget, or give --rounds 1 for a release that does not depend on the records"
            )
        if chosen_by != "given" and self.allowed(rounds + 1, draws + 1, float(step)):
            chosen_by += "; the budget has room for more, which take long: name --rounds and --draws to have them"
        return replace(base, rounds=rounds, draws=draws, step=step, chosen_by=chosen_by)


def is_sparse(request: PlanRequest[DualQuery]) -> bool:
    """Return whether a request is about a table declared, or assumed, to be sparse: at most a tenth of its cells are ones."""
    return request.density is not None and request.density <= LARGEST_SPARSE_DENSITY


def largest_number(allowed: Callable[[int], bool], most: int) -> int:
    """Return the largest number from 1 to `most` that is allowed, 0 if none; `allowed` turns false once and for all."""
    if not allowed(1):
        return 0
    low, high = 1, 2
    while high <= most and allowed(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def base_fields(request: PlanRequest[DualQuery], attributes: int) -> dict[str, Any]:
    """Return the fields of a plan of one round and one draw that a request gives."""
    asked = request.options
    estimated = asked.free_attributes == FreeAttributes.ESTIMATED.value
    return {
        "rounds": 1,
        "draws": 1,
        "step": DEFAULT_STEP,
        "size": request.size,
        "relation": request.relation,
        "budget": request.budget,
        "attributes": attributes,
        "free_attributes": FreeAttributes(asked.free_attributes),
        "one_way": one_way_measurement(request, attributes) if estimated else None,
        "solver": asked.solver_name,
        "work": asked.work,
        "seconds": asked.time_limit,
        "gap": asked.gap,
        "seed": asked.seed,
    }


def one_way_measurement(request: PlanRequest[DualQuery], attributes: int) -> OneWayMeasurement:
    """Give one-way marginals a twentieth of the budget: of rho under zCDP, of epsilon elsewhere."""
    budget, gaussian = request.budget, request.budget.accountant is Accountant.ZCDP
    amount = budget.amount / (budget.group**2 if gaussian else budget.group)
    if amount <= 0:
        raise PlanError("estimated free attributes need a positive budget; use --free-attributes first or random")
    moved = once_or_twice(attributes, request.relation)
    return OneWayMeasurement(measurement_scale(moved, amount=ONE_WAY_SHARE * amount, gaussian=gaussian), gaussian)


_LEAST_DENSE_DRAWS = 50


def dense_draws(request: PlanRequest[DualQuery], workload: Workload) -> int | None:
    """Return how many draws a round has by rule on a dense table of zeros and ones: one for each attribute or query."""
    if not workload.schema.is_binary or is_sparse(request):
        return None
    return max(_LEAST_DENSE_DRAWS, min(len(workload.schema), len(workload)))


def rule_in_words(request: PlanRequest[DualQuery], workload: Workload) -> str:
    """Return the rule by which rounds, draws and step are chosen."""
    if is_sparse(request):
        return (
            "rule for sparse tables: eta = 2.5, T = 30 s^(2/3) rounds of s draws; s is at least 10, and at least 35 "
            "times the density times the square root of the number of columns"
        )
    if dense_draws(request, workload) is not None:
        return "rule for dense tables of zeros and ones: eta = 0.4, s = d, at most the number of queries"
    return "rule eta = 1.4, T = 3.63 s^(2/3) min(1, 24/d)"


def least_bound(fit: BudgetFit, request: PlanRequest[DualQuery], workload: Workload) -> tuple[int, int, Decimal]:
    """Return the numbers with the least proven error on a grid of rounds and steps that uses up the budget."""
    given_rounds, given_draws, given_step = request.options.numbers
    queries = len(workload)
    universe = log_universe(workload.schema)
    best: tuple[float, int, int, Decimal] | None = None
    grid = [given_rounds] if given_rounds else sorted({int(1.25**k) for k in range(4, 45)})
    for rounds in grid:
        usual = sqrt(2 * log(2 * queries) / rounds)
        for factor in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0):
            step = given_step or Decimal(f"{usual * factor:.3g}")
            bound = partial(_bound, rounds, step, queries, universe)
            least = given_draws or (1 if best is None else _draws_below(bound, best[0]))
            if least > MOST_DRAWS or not fit.allowed(rounds, least, float(step)):
                continue
            draws = given_draws or fit.draws(rounds, float(step))
            if best is None or bound(draws) < best[0]:
                best = (bound(draws), rounds, draws, step)
    if best is None:
        raise PlanError(
            f"{request.budget.describe()} is too small for any plan on n = {request.size:,} records. Raise the budget"
        )
    return best[1:]


def _bound(rounds: int, step: Decimal, queries: int, log_universe: float, draws: int) -> float:
    proven = proven_error(rounds=rounds, draws=draws, step=float(step), queries=queries, log_universe=log_universe)
    return proven.bound


def _draws_below(bound: Callable[[int], float], error: float) -> int:
    """Return the least number of draws with a bound below `error`, one more than `MOST_DRAWS` if there is none."""
    return 1 + largest_number(lambda draws: bound(draws) >= error, MOST_DRAWS)

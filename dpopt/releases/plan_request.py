"""What a user asks of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.releases.plan import Encoding, FreeAttributes, check_limits, whole_number

LARGEST_SIZE = 2**53
MOST_SELECTIONS = 10_000
QUERIES, MARGINALS = "queries", "marginals"
PAPER, HOEFFDING, DATA_STEP, EXACT, MAX_ENTROPY = "paper", "hoeffding", "mwem", "projection", "max-entropy"
UPDATES: dict[str, str] = {
    PAPER: "exp(-alpha/2) on the side that is too heavy: the lecture's step",
    HOEFFDING: "exp(-4 alpha) on the side that is too heavy",
    DATA_STEP: "exp(gap / 2): the step of MWEM",
    EXACT: "the nearest distribution, by relative entropy, with the measured answer",
    MAX_ENTROPY: "the nearest distribution to the first one that agrees with all measured answers up to their noise",
}
DEFAULT_DELTA = 1e-9
"""The delta at which epsilon is reported where the budget names none: budgets in rho, and pure ones beside others."""


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What a user says of how records are fitted to noisy counts; see `FitPlan`. None and 0 leave it open."""

    records: int | None = None
    smoothing: float | None = None
    columns: int = 0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MultiplicativeRequest:
    """What a user says of a run of multiplicative weights; see `MultiplicativePlan` and `Learning`. None leaves it open.

    Attributes
    ----------
    alpha, select, update, replays, average, records :
        As in the plan.
    share : float or None
        Share of a round's budget for its selection.
    """

    alpha: float | None = None
    select: str | None = None
    update: str | None = None
    share: float | None = None
    replays: int | None = None
    average: bool = False

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise PlanError(f"--alpha must be above 0 and at most 1, found {self.alpha!r}")
        if self.select not in (None, QUERIES, MARGINALS):
            raise PlanError(f"--select is {QUERIES} or {MARGINALS}; found {self.select!r}")
        if self.update is not None and self.update not in UPDATES:
            raise PlanError(f"--update is one of {', '.join(UPDATES)}; found {self.update!r}")
        if self.share is not None and not 0 < self.share < 1:
            raise PlanError(f"--selection-share must lie between 0 and 1, found {self.share!r}")
        if self.replays is not None:
            whole_number("the number of replays", self.replays, least=0)


class PlanBy(Enum):
    """How rounds, draws and step are chosen where the user leaves them open."""

    RULE = "rule"
    """eta = 1.4 and T = 3.63 s^(2/3) min(1, 24/d) for d attributes (the factor at least 0.15), as large as the budget
    allows: near the best of a grid on seven public tables of 15 to 110 attributes. For tables that are declared, or assumed by
    their layout, to be sparse (`fill` at most 0.1) eta = 2.5, T = 30 s^(2/3) and s at least 10, and at least
    35 fill d^(1/2) as long as 30 rounds are left: near the best on public populations of 400 and 2,000 columns like five tables
    of purchases, visits and ratings. For other tables of zeros and ones (`Schema.binary`) eta = 0.4 and one draw for each
    attribute, but at most as many as queries and at least 50, with 30 rounds at least: near the best on random bits."""
    SIMULATION = "simulation"
    """The best of a few plans around the rule, each simulated on public synthetic data."""
    BOUND = "bound"
    """The smallest proven bound: cautious steps, many rounds; usually larger errors in practice."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a user asks for.

    Attributes
    ----------
    size : int
        Public n (replace-one) or n0 (add-remove).
    relation : NeighbouringRelation
    budget : Budget
    rounds, draws, step :
        Fixed by the user, or None.
    plan_by : PlanBy
        How the open ones are chosen.
    free_attributes, encoding, solver, work, seconds, seed :
        Passed on to the plan.
    selections : int or None
        How many marginals an adaptive run selects, where the user fixes it.
    fit : FitRequest
        How records are fitted to noisy counts, where the user says it.
    multiplicative : MultiplicativeRequest
        What the user says of multiplicative weights.
    fill : float or None
        Public share of ones in a table of zeros and ones, where the user declares it.
    """

    size: int
    relation: NeighbouringRelation
    budget: Budget
    rounds: int | None = None
    draws: int | None = None
    step: Decimal | None = None
    plan_by: PlanBy = PlanBy.RULE
    free_attributes: FreeAttributes = FreeAttributes.FIRST
    encoding: Encoding = Encoding.RECORDS
    solver: str = "local-search"
    work: int | None = None
    seconds: float | None = None
    seed: int = 0
    selections: int | None = None
    fit: FitRequest = FitRequest()
    multiplicative: MultiplicativeRequest = field(default_factory=MultiplicativeRequest)
    fill: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "draws", "selections"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole_number(f"the number of {name}", value, least=1))
        object.__setattr__(self, "size", whole_number("the public size", self.size, least=1))
        if self.size > LARGEST_SIZE:
            raise PlanError(f"the public size must be at most 2^53, found {self.size:,}; no table is larger")
        if self.selections is not None and self.selections > MOST_SELECTIONS:
            raise PlanError(
                f"at most {MOST_SELECTIONS:,} marginals are selected in a run, found {self.selections:,}; select fewer"
            )
        self.budget.check_relation(self.relation)
        check_limits(self.work, self.seconds, self.seed)
        if self.fill is not None:
            check_fill(self.fill)


def check_fill(fill: float) -> None:
    """Raise PlanError unless a declared share of ones lies between 0 and 1."""
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill < 1:
        raise PlanError(
            f"--fill is the public share of ones in the table, above 0 and below 1, found {fill!r}; for baskets it is the "
            "average number of items divided by the number of all items"
        )

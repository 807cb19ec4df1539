"""The plan of a run that measures counts with noise and fits records to them: noise, projection, adaptive."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.options import MOST_SELECTIONS, Adaptive, Noise, Projection, refuse_two_aims
from dpopt.errors import PlanError
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.private.selections.selection import SCORES
from dpopt.releases.plan import PlainPlan, check_seed, whole_number

NOISE, PROJECTION, ADAPTIVE = Noise.algorithm, Projection.algorithm, Adaptive.algorithm
MEASURED = (NOISE, PROJECTION, ADAPTIVE)
WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class PlannedMeasurement:
    """Counts that are measured once, with integer noise.

    Attributes
    ----------
    name : str
        Label of the charge, which identifies the measurement.
    attributes : tuple of int or None
        Attributes of the marginal that is measured; none at all (an empty tuple) stands for the one-way marginals of all
        attributes, and None for all queries of the workload, one by one.
    sensitivity : int
        L1 sensitivity of the counts and square of their L2 sensitivity, under the plan's relation. The curator computes it
        again from the queries and spends only what was reserved.
    scale : float
        Scale of the noise, in records.
    """

    name: str
    attributes: tuple[int, ...] | None
    sensitivity: int
    scale: float

    def __post_init__(self) -> None:
        for attribute in self.attributes or ():
            whole_number("an attribute", attribute, least=0)
        whole_number("the sensitivity", self.sensitivity, least=1)


@dataclass(frozen=True, slots=True)
class PlannedSelections:
    """Rounds that each select a marginal by the exponential mechanism and measure it.

    Attributes
    ----------
    rounds : int
        How many.
    step : Decimal
        Range of the mechanism (its epsilon), an exact decimal.
    scale : float
        Scale of the noise of the marginal that was selected.
    scores : tuple of str
        What a marginal is scored by, in turns: "l1" (the sum of its cells' errors) or "max" (its largest cell's error).
    largest : int
        Marginals with more cells are no candidates.
    """

    rounds: int
    step: Decimal
    scale: float
    scores: tuple[str, ...]
    largest: int

    def __post_init__(self) -> None:
        if whole_number("the number of selections", self.rounds, least=1) > MOST_SELECTIONS:
            raise PlanError(
                f"at most {MOST_SELECTIONS:,} marginals are selected in a run, found {self.rounds:,}; select fewer"
            )
        if not self.step.is_finite() or self.step <= 0:
            raise PlanError(f"the range of a selection must be a positive number, found {self.step}")
        if not self.scores or not set(self.scores) <= set(SCORES):
            raise PlanError(f"marginals are scored by {' or '.join(SCORES)}; found {self.scores!r}")
        whole_number("the cells of a candidate", self.largest, least=1)

    def score(self, number: int) -> str:
        """Return what round `number`, from 1, scores marginals by."""
        return self.scores[(number - 1) % len(self.scores)]


@dataclass(frozen=True, slots=True)
class FitPlan:
    """How records are fitted to the measured counts; all of it post-processing.

    Attributes
    ----------
    records : int
        How many equally weighted records are searched at once.
    sweeps : int
        How often each of them is replaced by its best response before they are kept.
    snapshots : int
        How many times the records are kept, one sweep apart; the release holds all of them. More than one needs smoothing.
    smoothing : float
        How strongly records are pulled towards independent attributes, as if so many records had been seen of them: 0 fits the
        noisy counts as well as records can; more lowers mean errors, and in the end raises the largest.
    columns : int
        Rounds of column generation after the search, which weigh the records and bound how much better any could fit; 0 leaves
        equal weights. Not together with smoothing, which pulls away from the best fit.
    gap : float
        Column generation stops when the gap is at most this share of the expected squared noise.
    seconds : float or None
        Time limit of a fit; the result then depends on the machine.
    """

    records: int = 5_000
    sweeps: int = 5
    snapshots: int = 1
    smoothing: float = 0.0
    columns: int = 0
    gap: float = 1e-3
    seconds: float | None = None

    def __post_init__(self) -> None:
        whole_number("the number of records", self.records, least=1)
        whole_number("the number of sweeps", self.sweeps, least=0)
        whole_number("the number of snapshots", self.snapshots, least=1)
        whole_number("the rounds of column generation", self.columns, least=0)
        for name, value in (("smoothing", self.smoothing), ("the gap", self.gap)):
            if not _is_number(value) or value < 0:
                raise PlanError(f"{name} must be a finite number of at least 0, found {value!r}")
        refuse_two_aims(self.smoothing, self.columns)
        if self.smoothing == 0 and self.snapshots > 1:
            raise PlanError("without smoothing the fit converges; keep one snapshot of the records")
        if self.seconds is not None and not (_is_number(self.seconds) and self.seconds > 0):
            raise PlanError(f"the seconds of a fit must be a finite number above 0, found {self.seconds!r}")


@dataclass(frozen=True, slots=True)
class MeasuredPlan(PlainPlan):
    """Parameters of a run; they depend on public values only.

    Attributes
    ----------
    algorithm : str
        One of `MEASURED`.
    size : int
        Public n (replace-one) or n0 (add-remove).
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
        Discrete Gaussian noise; discrete Laplace noise otherwise.
    measurements : tuple of PlannedMeasurement
        Made first, in this order.
    selections : PlannedSelections or None
        Made then, if and only if the algorithm is adaptive.
    fit : FitPlan or None
        None if and only if the algorithm releases noisy answers alone.
    solver : str
        Name of the best-response solver that prices records in column generation.
    seed : int
        Seed of public random choices; no private draw depends on it.
    chosen_by : str
        How the measurements were chosen.
    """

    algorithm: str
    size: int
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    measurements: tuple[PlannedMeasurement, ...]
    selections: PlannedSelections | None = None
    fit: FitPlan | None = None
    solver: str = "local-search"
    seed: int = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        if self.algorithm not in MEASURED:
            raise PlanError(f"the algorithm is one of {', '.join(MEASURED)}; found {self.algorithm!r}")
        object.__setattr__(self, "size", whole_number("the public size", self.size, least=1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        labels = [charge.label for charge in self.charges()]  # refuses scales and ranges that cannot be
        if len(set(labels)) < len(labels) or not self.measurements:
            raise PlanError("a plan measures at least one set of counts, and each under a name of its own")
        if (self.selections is None) == (self.algorithm == ADAPTIVE):
            raise PlanError("marginals are selected if and only if the algorithm is adaptive")
        if (self.fit is None) != (self.algorithm == NOISE):
            raise PlanError("records are fitted unless the algorithm releases noisy answers alone")
        most = LARGEST_SCORE // (self.size + MOST_ROWS)
        if self.selections is not None and self.fit is not None and self.fit.records > most:
            raise PlanError(
                f"{self.fit.records:,} records are too many to score marginals against in 64 bits; fit at most {most:,}"
            )

    @property
    def answers_only(self) -> bool:
        """Whether answers are released, and no records."""
        return self.algorithm == NOISE

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about how many bytes the transcript takes, for so many queries and attributes of a record."""
        planned = len(self.measurements) + 2 * (0 if self.selections is None else self.selections.rounds)
        fitted = 0 if self.fit is None else self.fit.records * self.fit.snapshots * (4 * width + 12)
        return 1_000 * planned + 10 * queries * (self.algorithm != ADAPTIVE) + fitted

    @property
    def noise(self) -> str:
        """What the distribution of the noise is called in transcripts."""
        return DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE

    def scale_of(self, name: str) -> float:
        """Return the scale of the noise of the measurement of that name: a planned one, or one of a selected marginal."""
        for planned in self.measurements:
            if planned.name == name:
                return planned.scale
        if self.selections is None:
            raise PlanError(f"this plan measures nothing of the name {name!r}")
        return self.selections.scale

    def selected_name(self, number: int) -> str:
        """Return the name of the measurement that round `number`, from 1, makes of the marginal that it selects."""
        return f"round {number}"

    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order: what the ledger reserves before the first draw."""
        charges = [self.charge_of(planned) for planned in self.measurements]
        if self.selections is not None:
            for number in range(1, self.selections.rounds + 1):
                charges.append(self.charge_of_selection(number))
                charges.append(self.charge_of_selected(number))
        return tuple(charges)

    def charge_of(self, planned: PlannedMeasurement) -> Charge:
        """Return the charge of one planned measurement."""
        return measurement_charge(
            planned.name, planned.sensitivity, planned.scale, gaussian=self.gaussian, relation=self.relation
        )

    def charge_of_selection(self, number: int) -> Charge:
        """Return the charge of the selection of round `number`."""
        if self.selections is None:
            raise PlanError("this plan selects nothing")
        return selection_charge(number, self.selections.step, self.relation)

    def charge_of_selected(self, number: int) -> Charge:
        """Return the charge of the marginal that round `number` measures, whichever it selects."""
        if self.selections is None:
            raise PlanError("this plan selects nothing")
        sensitivity = 1 if self.relation is NeighbouringRelation.ADD_REMOVE else 2
        return measurement_charge(
            self.selected_name(number),
            sensitivity,
            self.selections.scale,
            gaussian=self.gaussian,
            relation=self.relation,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)

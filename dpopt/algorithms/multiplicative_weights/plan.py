"""The plan of a run of private multiplicative weights: pmw, which may stop early, and mwem, which plays its rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from math import log10, prod
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.measured.plan import domains_of
from dpopt.algorithms.options import MARGINALS, MAX_ENTROPY, MWEM, PAPER, PMW, QUERIES, UPDATES
from dpopt.constraints import Number, OneOf, Whole, constrain
from dpopt.errors import PlanError
from dpopt.inference.distribution.universe import MOST_CELLS, ProductUniverse
from dpopt.private.curators.multiplicative_curator import LARGEST_SIZE
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.queries.counting.binary_columns import are_kept_as_bits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import NOT_FOUND, SEED, Plan
from dpopt.releases.public_population.population import mentioned_attributes
from dpopt.schema.schema import Schema

_BLOCK = 1 << 18


def universe_of(workload: Workload, algorithm: str) -> ProductUniverse:
    """Return the universe of a workload: attributes that neither a query nor a rule mentions are left out."""
    domains = domains_of(workload)
    mentioned = mentioned_attributes(workload)
    counts = domains.counts[mentioned].tolist()
    cells = prod(counts)
    if cells > MOST_CELLS:
        size = f"{cells:,}" if cells < 10**15 else f"about 10^{log10(cells):.0f}"
        raise PlanError(
            f"--algorithm {algorithm} keeps a probability for every possible record, and the {len(counts)} attributes "
            f"that the workload names have {size} combinations (at most {MOST_CELLS:,} = 2^26 are possible). Use "
            f"--algorithm projection or dualquery, or queries over fewer attributes"
        )
    return ProductUniverse(domains, mentioned)


def feasible_start(universe: ProductUniverse, workload: Workload) -> NDArray[np.float64] | None:
    """Return the uniform distribution over the cells that obey the rules; None where there are no rules."""
    if not workload.schema.rules:
        return None
    circuit = workload.schema.circuit()
    start = np.zeros(universe.cells)
    others = np.zeros(len(workload.schema), dtype=np.int32)  # no rule mentions these
    for first in range(0, universe.cells, _BLOCK):
        cells = np.arange(first, min(first + _BLOCK, universe.cells))
        start[cells] = ~circuit.broken(universe.records(cells, others)).any(axis=1)
    feasible = float(start.sum())
    if feasible == 0:
        raise PlanError(
            "no combination of codes that may occur obeys the rules: 'occurring' and the rules may contradict each "
            "other. Leave ',occurring' out of the workload, or use --algorithm dualquery"
        )
    return start / feasible


def kept_as_bits(schema: Schema) -> bool:
    """Return whether records of these algorithms are kept, and written, as bits: those of wide tables, which have no rules."""
    return schema.is_binary and are_kept_as_bits(schema.sizes)


MULTIPLICATIVE = (PMW.algorithm, MWEM.algorithm)
MOST_ROUNDS, MOST_RECORDS = 20_000, 2_000_000


@dataclass(frozen=True, slots=True)
class Learning:
    """How the distribution learns from the measurements; all of it post-processing."""

    update: Annotated[str, OneOf("the update", tuple(UPDATES))] = MAX_ENTROPY
    """One of `UPDATES`."""
    slack: float = field(default=0.5, init=False)
    """max-entropy: answers within half a scale of the noise of the measured one are not pulled."""
    pull: Annotated[float, Number("the pull", above=0)] = 1.5
    """max-entropy: how strongly others are: a multiplier of `pull` for each scale of the noise beyond."""
    replays: Annotated[int, Whole("the number of replays", least=0)] = 1
    """How often each round goes through all measurements so far."""
    last_replays: Annotated[int, Whole("the number of last replays", least=0)] = 20
    """The same after the last round."""
    average: bool = False
    """Whether the average of the rounds' distributions is released, and not the last one."""
    records: Annotated[int, Whole("the number of records", most=MOST_RECORDS)] = 100_000
    """Most weighted records of a release."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)


@dataclass(frozen=True, slots=True)
class MultiplicativePlan(Plan):
    """Parameters of a run; they depend on public values only. Fields without a word below are as in `Plan`."""

    algorithm: Annotated[str, OneOf("the algorithm", MULTIPLICATIVE)]
    """"pmw" or "mwem"."""
    size: Annotated[int, Whole("the public size", most=LARGEST_SIZE)]
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    """Discrete Gaussian noise; discrete Laplace noise otherwise."""
    select: Annotated[str, OneOf("what is selected", (QUERIES, MARGINALS))]
    """"queries", one in each round, or whole "marginals"."""
    rounds: Annotated[int, Whole("the number of rounds", most=MOST_ROUNDS)]
    """Number L of rounds, each with one selection and one measurement."""
    step: Annotated[Decimal, Number("the range of a selection", above=0, decimal=True)]
    """eps0, the range of a selection, an exact decimal."""
    scale: float
    """Scale of the noise of a measurement, in records."""
    alpha: Annotated[float | None, Number("alpha", above=0, most=1)] = None
    """The run ends when a measured answer lies within 2 alpha of the distribution's; also the length of the lecture's
    steps. None: all rounds are played."""
    learning: Learning = Learning()
    solver: str = "local-search"
    """Finds the distribution that is released."""
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        alpha = self.alpha
        if self.learning.update == PAPER and (alpha is None or self.select == MARGINALS):
            raise PlanError(f"the update {self.learning.update!r} is for single queries and a given alpha")
        if alpha is not None and self.select == MARGINALS:
            raise PlanError("a run that selects marginals plays all its rounds; leave alpha out")
        self.charges_of(1)  # refuses scales and ranges that cannot be

    @property
    def noise(self) -> str:
        """Name of the noise distribution in transcripts."""
        return DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE

    @property
    def finds_wrong_size(self) -> str:
        """Whether a wrong number of records is found after a run: marginals are measured whole."""
        return "is found, and warned of" if self.select == MARGINALS else NOT_FOUND

    def charges(self) -> tuple[Charge, ...]:
        return tuple(charge for number in range(1, self.rounds + 1) for charge in self.charges_of(number))

    def charges_of(self, number: int) -> tuple[Charge, Charge]:
        """Return the charges of a round: its selection and its measurement."""
        both_sides = self.select == MARGINALS and self.relation is NeighbouringRelation.REPLACE_ONE
        return (
            selection_charge(number, self.step, self.relation),
            measurement_charge(
                f"round {number}", 2 if both_sides else 1, self.scale, gaussian=self.gaussian, relation=self.relation
            ),
        )

    def score(self, number: int) -> str:
        """Return the score of marginals in round `number`, from 1: in turns their largest error and the sum of all."""
        return "max" if number % 2 else "l1"

    def bits_of_records(self, width: int, *, wide: bool) -> int:
        """Return how many attributes of `transcript_bytes` have the size of `width` columns; bits of wide tables are packed."""
        return width // 20 if wide else width

    def describe(self) -> str:
        return f"{self.algorithm}: T = {self.rounds:,} rounds ({self.chosen_by})"

    def transcript_bytes(self, queries: int, width: int) -> int:
        measured = 12 * queries if self.select == MARGINALS else 0
        return self.rounds * 1_600 + measured + self.learning.records * (16 + 4 * width)

"""The problem of fitting records to noisy answers, the settings of a fit, and its result.

Problem: minimize  f(p) = 1/2 sum_g weight_g ||A_g p - values_g||^2  over the probability distributions p on feasible records,
where row j of A_g holds the answers 0 or 1 of query j of term g to every record: A_g p are the shares of the records of
which the queries are true. Feasible are the records with allowed codes that obey the rules. Page: models/projection.

Settings are public numbers only, so that a fit can be repeated from a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import Array, Number, Whole, constrain
from dpopt.errors import ProgramError
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.threads import USUAL


@dataclass(frozen=True, slots=True, eq=False)
class FitTerm:
    """Queries and the answers that records should give to them."""

    queries: MarginalSet | Clauses
    """The cells of marginals, never written out one by one, or clauses of any kind."""
    values: Annotated[NDArray[np.float64], Array(finite=True)]
    """Shape (r,). Noisy answers in shares of the records, for every cell or clause in its order; any finite numbers."""
    weight: Annotated[float, Number("the weight of a term", above=0)] = 1.0
    """Weight of a squared error; one over the variance of a value makes terms comparable."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        if self.values.shape != (self.number_of_queries,):
            raise ProgramError(
                f"a term has {self.number_of_queries:,} queries and values of shape {self.values.shape}; give one for "
                f"each"
            )

    @property
    def number_of_queries(self) -> int:
        """Number of cells or clauses."""
        return self.queries.number_of_cells if isinstance(self.queries, MarginalSet) else len(self.queries)


@dataclass(frozen=True, slots=True, eq=False)
class KeptMarginals:
    """Marginals that equally weighted records keep: no count of theirs leaves its bounds (PJ-9)."""

    queries: MarginalSet
    values: NDArray[np.float64]
    """Shape (cells,). Shares at the middle of the bounds, of sum 1 for each marginal."""
    reach: NDArray[np.float64]
    """Shape (cells,). How far shares may be from these; one record, where that is more."""

    def cells_of(self, records: NDArray[np.int32]) -> Iterator[NDArray[np.int64]]:
        """Yield for each marginal the cells of records (r, d), (r,); records have codes of its domains."""
        positions = self.queries.position_tables()
        for marginal, start in enumerate(self.queries.starts[:-1].tolist()):
            cells = np.zeros(len(records), dtype=np.int64)
            for attribute in self.queries.attributes_of(marginal):
                cells = cells * self.queries.domains.counts[attribute] + positions[attribute][records[:, attribute]]
            yield start + cells

    def counts(self, records: NDArray[np.int32], copies: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return how many records (r, d), each once or so often as `copies` (r,) say, are in every cell, (cells,)."""
        counts = np.zeros(self.values.size)
        for cells in self.cells_of(records):
            counts += np.bincount(cells, copies, counts.size)
        return counts.astype(np.int64)

    def outside(self, counts: NDArray[np.int64], number: int) -> int:
        """Return by how many records the counts (cells,) of `number` records are outside the bounds."""
        apart = np.abs(counts - number * self.values) - np.maximum(number * self.reach, 1.0)
        return int(np.ceil(np.maximum(apart - _ROUNDING, 0.0)).sum())

    def nearest(self, shares: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """Return the nearest shares (cells,) of sum 1 for each marginal that are a record within the bounds.

        Counts of `number` records that are less than one from these are within the bounds.
        """
        reach = np.maximum(self.reach - 1.0 / number, 0.0)
        low, high = np.maximum(self.values - reach, 0.0), self.values + reach
        least, most = np.full(len(self.queries), -2.0), np.full(len(self.queries), 2.0)
        for _ in range(_HALVINGS):
            shift = (least + most) / 2
            found = np.clip(shares + np.repeat(shift, self.queries.cells()), low, high)
            above = np.add.reduceat(found, self.queries.starts[:-1]) > 1.0
            least, most = np.where(above, least, shift), np.where(above, shift, most)
        return np.asarray(found)

    def beside(self, counts: NDArray[np.int64], number: int, left: int) -> KeptMarginals:
        """Return the marginals that the last `left` of `number` records keep, given the counts (cells,) of the others."""
        return replace(self, values=(number * self.values - counts) / left, reach=number * self.reach / left)


_ROUNDING, _HALVINGS = 1e-6, 50


@dataclass(frozen=True, slots=True, eq=False)
class FitProblem:
    """The answers to fit, and the possible records; see the top of this file."""

    sizes: NDArray[np.int32]
    """Shape (d,). Number of codes of each attribute, >= 1."""
    terms: tuple[FitTerm, ...]
    """Queries with their values and weights. Their sets of codes may differ from `domains`: a record with a code that a
    marginal leaves out lies in none of its cells."""
    rules: ThresholdCircuit
    """Hard rules on records, public."""
    domains: Domains
    """The codes that records may have, at least one for each attribute."""
    kept: KeptMarginals | None = None
    """Marginals that equally weighted records keep; column generation does not look at them."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        object.__setattr__(self, "terms", tuple(self.terms))
        if self.sizes.ndim != 1 or self.sizes.size == 0 or int(self.sizes.min()) < 1:
            raise ProgramError(
                "sizes must be a flat array of numbers of codes, each at least 1, for one attribute or more"
            )
        _check_codes(self.domains, self.sizes, "the domains of the records")
        if int(self.domains.counts.min()) < 1:
            raise ProgramError(
                f"records may have no code of attribute {int(np.argmin(self.domains.counts))}; allow at least one"
            )
        for number, term in enumerate(self.terms):
            if isinstance(term.queries, MarginalSet):
                _check_codes(term.queries.domains, self.sizes, f"the marginals of term {number}")
            else:
                term.queries.check_against(self.sizes)
        self.rules.check_against(self.sizes)

    @property
    def number_of_attributes(self) -> int:
        """Number of attributes d."""
        return self.sizes.size

    def offsets(self) -> NDArray[np.int64]:
        """Return the flat column of code 0 of each attribute and, last, the number of columns, (d + 1,)."""
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.sizes, dtype=np.int64)))

    def allowed_columns(self) -> NDArray[np.bool_]:
        """Return which flat columns (attribute, code) records may have."""
        allowed = np.zeros(int(self.sizes.sum()), dtype=np.bool_)
        allowed[np.repeat(self.offsets()[:-1], self.domains.counts) + self.domains.codes] = True
        return allowed

    def infeasible(self, records: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the records (r, d) have a code that is not allowed, or break a rule."""
        if records.ndim != 2 or records.shape[1] != self.sizes.size:
            raise ProgramError(f"the records have shape {records.shape}; this problem has {self.sizes.size} attributes")
        outside = (records < 0) | (records >= self.sizes)
        columns = np.where(outside, 0, records) + self.offsets()[:-1]
        wrong = np.asarray((outside | ~self.allowed_columns()[columns]).any(axis=1), dtype=np.bool_)
        if self.rules.number_of_rules:
            inside = np.ascontiguousarray(records[~wrong], dtype=np.int32)
            wrong[~wrong] = self.rules.broken(inside).any(axis=1)
        return wrong

    def require_feasible(self, records: NDArray[np.int32]) -> None:
        """Raise ProgramError unless every record (r, d) has allowed codes and obeys the rules."""
        wrong = self.infeasible(records)
        if wrong.any():
            raise ProgramError(
                f"record {int(np.argmax(wrong))} of {len(wrong):,} has a code that is not allowed or breaks a rule; a "
                f"fit starts from feasible records only"
            )


def _check_codes(domains: Domains, sizes: NDArray[np.int32], what: str) -> None:
    if domains.counts.size != sizes.size:
        raise ProgramError(f"{what} are over {domains.counts.size} attributes; the problem has {sizes.size}")
    limit = np.repeat(sizes, domains.counts)
    if ((domains.codes < 0) | (domains.codes >= limit)).any():
        raise ProgramError(f"{what} name a code that does not exist; codes go from 0 to the size less 1")


MOST_RECORDS, _LARGEST = 100_000_000, 2**31 - 1


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a fit is made, and when it ends."""

    records: Annotated[int, Whole(most=MOST_RECORDS)] = 20_000
    """Number N of equally weighted records that the record search keeps, 1 .. 10^8."""
    sweeps: Annotated[int, Whole(least=0, most=_LARGEST)] = 10
    """Sweeps of the record search, >= 0; each gives every record its best response to all others once."""
    smoothing: Annotated[float, Number(least=0)] = 0.0
    """Temperature tau >= 0. 0: plain best responses. Above 0, records are drawn from the distribution proportional to
    prod_r prior(x_r) exp(-f / tau), one attribute of one record at a time; with weights 1 and values of variance s^2,
    tau = s^2 is the posterior distribution of the records."""
    improvement: Annotated[float, Number(least=0)] = 0.0
    """Stop before the last sweep once one lowers f by less than this share of f, >= 0; plain best responses only."""
    seconds: Annotated[float | None, Number(above=0)] = None
    """Wall-clock seconds after which no further sweep or round begins, or None. A repeated fit may then end
    elsewhere."""
    rounds: Annotated[int, Whole(least=0, most=_LARGEST)] = 0
    """Rounds of column generation after the search, >= 0; 0 keeps the equally weighted records."""
    gap: Annotated[float | None, Number(least=0)] = None
    """Absolute gap of f at which column generation ends, or None."""
    seed: Annotated[int, Whole(least=0, most=_LARGEST)] = 0
    """0 .. 2^31 - 1, public."""
    threads: Annotated[int, Whole(most=2**10)] = USUAL
    """Threads of work that can be divided without changing the result, and of solvers, >= 1."""
    solver: str | Solver | None = None
    """The solver, or its name, that finds the best weights of given records in column generation; None leaves them to
    steps of our own."""
    pricing: str | Solver | None = None
    proof: str | None = None
    """The solvers, or their names, that look for new records and that prove bounds, where the problem is small enough
    to write it out. None leaves pricing to the record search, and bounds to enumeration (where that is possible)."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)


TIME_IS_UP = "time is up"
"""Why a fit stopped: its limit of seconds."""


@dataclass(frozen=True, slots=True)
class FitProgress:
    """Where a fit stood at one moment."""

    stage: str
    """"start" or "sweep" of the record search; "merge" (equal records as one, best weights), "round" or "end" of column
    generation."""
    step: int
    """Number of the sweep or round, from 1; 0 for a start."""
    seconds: float
    """Since the fit began; the clock of the public side, no part of a result that is compared."""
    objective: float
    """f of the records at that moment."""
    records: int
    """Number of records (search) or of records with a weight (column generation)."""
    moved: int = 0
    """Changes of codes in the sweep; new records in a round."""
    lower_bound: float | None = None
    """The largest proven lower bound of f so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Weighted records, and the findings about them."""

    records: NDArray[np.int32]
    """Shape (r, d). Feasible records; after column generation distinct ones."""
    weights: NDArray[np.float64]
    """Shape (r,). Their shares, positive, sum 1."""
    objective: float
    """f of these weights."""
    lower_bound: float | None
    """No distribution on feasible records has a smaller f; None where nothing was proven."""
    pricing_gap: float | None
    """By how much a better record than the one found could lower <gradient, q(x)>, proven; None where nothing was."""
    gap: float | None
    """objective - lower_bound, at most the sum of the two gaps above; None without a bound."""
    stopped: str
    """Why the fit ended."""
    history: tuple[FitProgress, ...]
    frank_wolfe_gap: float | None = None
    """<gradient, A p> less <gradient, q(x)> for the best record x that pricing found at p: with exact pricing f(p) is
    within this of the optimum. None without column generation, and where it ended before these weights were priced."""
    proof: str = ""
    """Who proved the lower bound, in words; empty without one."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        object.__setattr__(self, "history", tuple(self.history))
        if self.records.ndim != 2 or self.weights.shape != (self.records.shape[0],) or not self.weights.size:
            raise ProgramError(
                f"records of shape {self.records.shape} with weights of shape {self.weights.shape}; each record has one"
            )
        if (self.weights <= 0).any() or abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise ProgramError("the weights of fitted records must be positive and sum to 1")
        if (self.lower_bound is None) != (self.gap is None):
            raise ProgramError("a gap comes with a lower bound, and a lower bound with a gap")

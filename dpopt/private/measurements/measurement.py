"""Measurements with integer noise of a planned scale: counts, residuals, distances, the number of records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import SizeMeasurement
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.constraints import constrain
from dpopt.errors import PlanError, PrivateDataError, WorkloadError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.noisy_counts import Scale, noise_charge
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.distances import Distances
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import Residuals
from dpopt.threads import USUAL

MOST_RECORDS = 2**40
"""Largest number of records whose residuals and distances fit into 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A vector of counts, or of sums and differences of counts, to be measured once."""

    name: str
    """Name of the counts; it identifies the measurement within a run, in the ledger and in the transcript."""
    queries: AnyQueries | Residuals | Distances
    """One count per cell, or per clause; or the residuals of marginals, one whole number per cell; or how far marginals
    are from predictions, one for each."""
    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in units of the numbers that are
    measured: records, but for residuals."""
    gaussian: bool
    """Which of the two."""
    bound: int | None = None
    """An upper bound on the sensitivity, which is charged: the queries can then depend on released values while the
    charge was fixed beforehand. None: the sensitivity itself is charged."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PlanError(f"a measurement needs a name, found {self.name!r}; say in words what is counted")
        if not isinstance(self.queries, AnyQueries | Residuals | Distances) or not len(self.queries):
            raise PlanError(f"{self.name}: there is nothing to count; give at least one marginal or clause")
        constrain(self, PlanError)

    def charge(self, sizes: NDArray[np.integer], relation: NeighbouringRelation) -> Charge:
        """Return the charge, a function of the queries and the scale alone.

        **Sensitivity.** `sensitivity`: so many counts differ between neighbours at most, each by 1 (L1; its root in
        L2). Of M marginals M under add-remove, 2 M under replace-one; of clauses
        `dpopt.queries.sensitivity.clauses.count_sensitivity`. Of residuals and distances the L1 distance of neighbours,
        or the square of their L2 distance: `dpopt.queries.residuals`, `dpopt.queries.distances`. With a `bound` that is
        charged, and a larger sensitivity refused.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C2, C3, C15, C18 in docs/privacy.
        Tests: `tests/private/test_measuring_curator.py`, `tests/queries/test_residuals.py`.

        `sizes` (d,) are the numbers of codes of each attribute of the schema.
        """
        self.check_against(sizes)
        sensitivity = self.sensitivity(relation, sizes)
        if self.bound is not None:
            if sensitivity > self.bound:
                raise PlanError(
                    f"{self.name}: the sensitivity is {sensitivity:,}, above the bound {self.bound:,} that is charged; "
                    f"measure less"
                )
            sensitivity = self.bound
        return noise_charge(self, sensitivity, relation)

    def sensitivity(self, relation: NeighbouringRelation, sizes: NDArray[np.integer]) -> int:
        """Return how far neighbours' numbers are apart at most, in L1 for Laplace noise, in L2, squared, for Gaussian noise."""
        if isinstance(self.queries, Residuals | Distances):
            return self.queries.sensitivity(
                replaced=relation is NeighbouringRelation.REPLACE_ONE, squared=self.gaussian
            )
        if isinstance(self.queries, MarginalSet):
            return once_or_twice(len(self.queries), relation)
        from dpopt.queries.sensitivity.clauses import count_sensitivity

        replaced = relation is NeighbouringRelation.REPLACE_ONE
        found = count_sensitivity(self.queries, sizes, replaced=replaced)
        return found.replace if replaced else found.add_remove

    def exact(self, dataset: PrivateDataset, relation: NeighbouringRelation, threads: int = USUAL) -> NDArray[np.int64]:
        """Return the counts, residuals or distances. Private."""
        if not isinstance(self.queries, Residuals | Distances):
            return exact_counts(dataset, self.queries, threads=threads)
        if dataset._rows >= MOST_RECORDS:
            raise PrivateDataError(
                f"{self.name}: residuals and distances are measured of fewer than 2^40 records; take fewer"
            )
        return self.queries.of(exact_counts(dataset, self.queries.marginals, threads=threads))

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Refuse, by WorkloadError, queries that name an attribute or a code that does not exist."""
        if isinstance(self.queries, Clauses):
            self.queries.check_against(sizes)
            return
        marginals = self.queries.marginals if isinstance(self.queries, Residuals | Distances) else self.queries
        check_marginals(marginals, sizes, self.name)


def check_marginals(marginals: MarginalSet, sizes: NDArray[np.integer], what: str) -> None:
    """Refuse, by WorkloadError, marginals over other attributes than a schema's, or over other codes."""
    domains = marginals.domains
    fits = domains.counts.size == len(sizes) and bool(
        np.all(domains.codes < np.repeat(sizes, domains.counts)) and np.all(domains.codes >= 0)
    )
    if not fits:
        raise WorkloadError(
            f"{what}: the marginals belong to another schema (its attributes have {domains.counts.tolist()} values "
            f"that cells may name, the table's have {list(map(int, sizes))}); make them from the schema of the table"
        )


@dataclass(frozen=True, slots=True)
class NumberOfRecords(SizeMeasurement):
    """How many records there are, of whatever kind; under replace-one it is public and not measured."""

    scale: Scale

    def __post_init__(self) -> None:
        constrain(self, PlanError)

    def charge(self, public: object = None, relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE) -> Charge:
        """Return the charge.

        **Sensitivity.** Add-remove: 1 in L1 and in L2. **Theorem.** `dpopt.accounting.measurements.measurement_charge`.
        Privacy: C1, C12, C14 in docs/privacy. Test: `tests/boundary/test_exact_loss_of_sizes.py`.

        Raises PlanError under replace-one, where it is public and costs nothing.
        """
        if relation is NeighbouringRelation.REPLACE_ONE:
            raise PlanError(
                "under replace-one the number of records is public; take it from the table, and measure nothing"
            )
        return SizeMeasurement.charge(self)

    def exact(self, records: Closed, *_: object) -> NDArray[np.int64]:
        """Return the number, (1,). Private."""
        return np.array([records._rows], dtype=np.int64)

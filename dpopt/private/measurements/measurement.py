"""What is to be measured: counts of some queries, with integer noise of a planned scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A vector of counts to be measured once.

    Parameters
    ----------
    name : str
        What is counted; it tells this measurement from all others of a run, in the ledger as in the transcript.
    queries : MarginalSet or Clauses
        One count per cell, or per clause.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace law, in records; from 1e-9 to below 1e15. Counts stay below
        2^40, so a draw that leaves 64 bits would be 9,000 scales away: probability below exp(-9000).
    gaussian : bool
        Which of the two.

    Raises
    ------
    PlanError
        If the name is empty, there is nothing to count, or the scale is out of range.
    """

    name: str
    queries: MarginalSet | Clauses
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PlanError(f"a measurement needs a name, found {self.name!r}; say in words what is counted")
        if not isinstance(self.queries, MarginalSet | Clauses) or not len(self.queries):
            raise PlanError(f"{self.name}: there is nothing to count; give at least one marginal or clause")
        if not SMALLEST_SCALE <= self.scale < LARGEST_SCALE:
            raise PlanError(
                f"{self.name}: the scale of the noise must be from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g} records, "
                f"found {self.scale!r}"
            )

    def charge(self, relation: NeighbouringRelation, sizes: NDArray[np.integer]) -> Charge:
        """Return what the measurement costs, from its queries and its scale alone.

        Parameters
        ----------
        relation : NeighbouringRelation
            The neighbouring relation of the charge.
        sizes : (d,) integers
            Number of codes of each attribute of the schema.

        Notes
        -----
        **Sensitivity.** `moved`: so many counts differ between neighbours at most, each by 1 (L1; its root in L2). Of M
        marginals M under add-remove, 2 M under replace-one; of clauses `dpopt.queries.sensitivity.clauses.count_sensitivity`.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C2, C3 in docs/privacy.md. Test:
        `tests/private/test_measuring_curator.py`.
        """
        moved = self.moved(relation, sizes)
        return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)

    def moved(self, relation: NeighbouringRelation, sizes: NDArray[np.integer]) -> int:
        """Return an upper bound of how many counts differ, each by 1, between two neighbours."""
        if isinstance(self.queries, MarginalSet):
            marginals = len(self.queries)
            return marginals if relation is NeighbouringRelation.ADD_REMOVE else 2 * marginals
        from dpopt.queries.sensitivity.clauses import count_sensitivity

        found = count_sensitivity(self.queries, sizes)
        return found.add_remove if relation is NeighbouringRelation.ADD_REMOVE else found.replace

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Refuse queries that belong to another schema: counting them would fail after their charge was spent.

        Raises
        ------
        WorkloadError
            If they name an attribute or a code that does not exist.
        """
        if isinstance(self.queries, Clauses):
            self.queries.check_against(sizes)
            return
        check_marginals(self.queries, sizes, self.name)


def check_marginals(marginals: MarginalSet, sizes: NDArray[np.integer], what: str) -> None:
    """Refuse marginals over other attributes than a schema's, or over codes that it does not have.

    Raises
    ------
    WorkloadError
        If they do not fit.
    """
    domains = marginals.domains
    fits = domains.counts.size == len(sizes) and bool(
        np.all(domains.codes < np.repeat(sizes, domains.counts)) and np.all(domains.codes >= 0)
    )
    if not fits:
        raise WorkloadError(
            f"{what}: the marginals belong to another schema (its attributes have {domains.counts.tolist()} values that "
            f"cells may name, the table's have {list(map(int, sizes))}); make them from the schema of the table"
        )

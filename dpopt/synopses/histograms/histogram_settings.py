"""What a user may say of a histogram or of sorted counts, beside the table."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.releases.plan import DEFAULT_DELTA, choice


@dataclass(frozen=True, slots=True)
class HistogramSettings:
    """What a user may say of a histogram.

    Attributes
    ----------
    epsilon, delta, rho :
        The budget: epsilon alone (Laplace noise), epsilon and delta, or rho of zCDP (Gaussian noise).
    ranges : str or None
        all, worst, sizes:1,64,1024, or file:PATH; with a hierarchy nodes, all, sizes or file. None: all, or nodes.
    hierarchy : path or None
        A file with a hierarchy of the bins (`dpopt.queries.ranges.hierarchy`).
    neighbours : str
        add-remove or replace.
    ordered : bool
        Whether the declared values of a categorical column stand in their order.
    reading : TableReading
        How the table is read.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    ranges: str | None = None
    hierarchy: str | os.PathLike[str] | None = None
    neighbours: str = "add-remove"
    ordered: bool = False
    reading: TableReading = AS_USUAL
    accept_draft: bool = False

    def budget(self) -> Budget:
        """Return the budget.

        Raises
        ------
        PlanError
            If there is none, or more than one.
        """
        if (self.epsilon is None) == (self.rho is None):
            found = "no budget" if self.epsilon is None else "two budgets"
            raise PlanError(f"found {found}: give --epsilon, --epsilon and --delta, or --rho")
        delta, accountant = self.delta, Accountant.ZCDP
        if self.rho is not None:
            delta = DEFAULT_DELTA if delta is None else delta
        elif delta is None:
            delta, accountant = 0.0, Accountant.PURE
        self.reading.check_relation(self.relation)
        return Budget(self.epsilon, delta, self.rho, accountant, self.reading.rows_per_person).warned()

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.neighbours, "neighbours")
        return relation

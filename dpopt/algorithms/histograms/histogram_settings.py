"""What a user may say of a histogram or of sorted counts, beside the table."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.plan_request import DEFAULT_DELTA
from dpopt.algorithms.settings import choice
from dpopt.errors import PlanError


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
        A file with a hierarchy of the bins (`dpopt.queries.hierarchy`).
    neighbours : str
        add-remove or replace.
    ordered : bool
        Whether the declared values of a categorical column stand in their order.
    on_unknown : str
        error, clip, other, or clip,other.
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
    on_unknown: str = "error"
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
        if self.rho is not None:
            return Budget(
                None, DEFAULT_DELTA if self.delta is None else self.delta, self.rho, Accountant.ZCDP
            )
        if self.delta is None:
            return Budget(self.epsilon, 0.0, None, Accountant.PURE)
        return Budget(self.epsilon, self.delta, None, Accountant.ZCDP)

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.neighbours, "neighbours")
        return relation

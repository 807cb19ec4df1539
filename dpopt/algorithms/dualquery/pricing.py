"""What chosen rounds, draws and step cost: the budget of a request that names T, s and eta, and no budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpopt.accounting.dualquery import dualquery_epsilon
from dpopt.algorithms.options import DualQuery
from dpopt.errors import PlanError
from dpopt.releases.plan import FreeAttributes

if TYPE_CHECKING:
    from dpopt.algorithms.request import Terms
    from dpopt.releases.progress import Progress


def with_cost_as_budget(terms: Terms, size: int | None, progress: Progress) -> Terms:
    """Return the terms with what their rounds cost as the budget, where T, s and eta are given and no budget is.

    Nothing else is paid from it: numbers within bins, one-way marginals and a measured number of records take shares of
    a budget that is given. `size` is the public number of records, None where the table has yet to tell it.
    """
    asked = terms.algorithm
    if terms.epsilon is not None or terms.rho is not None or not isinstance(asked, DualQuery):
        return terms
    rounds, draws, step = asked.numbers
    if (rounds, draws, step) == (None, None, None):
        return terms
    if rounds is None or draws is None or step is None:
        raise PlanError(
            "found no budget: give the budget as --epsilon (with --delta, or without), or as --rho, and what is left out "
            "of --rounds, --draws and --step is fitted to it; or give all three, and the plan states what they cost"
        )
    if terms.values_share or asked.free_attributes == FreeAttributes.ESTIMATED.value:
        what = "--values-share" if terms.values_share else "--free-attributes estimated"
        raise PlanError(f"{what} takes a share of a budget: give one by --epsilon or --rho, or leave the option out")
    if size is None or terms.measures_size:
        raise PlanError(
            "what T, s and eta cost depends on the number of records: declare a public one by --n0 (with --neighbours "
            "replace by --n, in a plan that the release takes), or give --epsilon, of which a part measures it"
        )
    budget = replace(terms, epsilon=1.0).budget()  # its accountant, delta and unit; its epsilon is found here
    run = rounds, draws, float(step), size, terms.relation
    cost = dualquery_epsilon(*run, budget.accountant, budget.delta, group=budget.group)
    what = f"T = {rounds:,}, s = {draws:,} and eta = {step}"
    if cost == 0:
        raise PlanError(f"{what} cost nothing, and do not depend on the records: take 2 rounds or more")
    priced = replace(terms, epsilon=cost, values_share=0.0)
    progress.note(f"no budget is given: {what} cost {priced.budget().describe()}, which is the budget")
    return priced

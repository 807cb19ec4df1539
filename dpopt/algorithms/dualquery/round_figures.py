"""What a round came to, for the owner's log of a run (`dpopt.algorithms.run_log`)."""

from __future__ import annotations

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.releases.progress import Figures
from dpopt.releases.rounds import Round


def figures_of_round(plan: DualQueryPlan, ledger: Ledger, done: Round) -> Figures:
    """Return the figures of a round of DualQuery or DQRS: its best response, and what has been spent so far."""
    return {
        "algorithm": plan.algorithm,
        "draws": plan.draws,
        "objective": done.certificate.objective,
        "bound": done.certificate.bound,
        "solver": done.solver,
        "stopped": done.stopped,
        "fallback": done.fallback,
        "from_file": done.solve_seconds is None,
        "solve_seconds": None if done.solve_seconds is None else round(done.solve_seconds, 6),
        **spent_so_far(ledger),
    }


def spent_so_far(ledger: Ledger) -> Figures:
    """Return what a ledger has spent so far, in the terms of its accountant."""
    spent = ledger.spent()
    return {"epsilon": spent.epsilon, "delta": spent.delta, "rho": spent.rho}

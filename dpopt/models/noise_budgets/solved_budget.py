"""A budget that a named solver spread, beside the one that our own method spread: checked, compared, refused if it is worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.solver import Solver

WORSE = 1e-4
"""A solver's budget may have an objective above that of our own by this part."""


@dataclass(frozen=True, slots=True)
class SolvedBudget:
    """How a solver's budget compares."""

    who: str
    """Who solved the model, and how that ended."""
    ahead: float
    """By which part its objective is below that of our own method; below 0 if it is above."""

    def __str__(self) -> str:
        side = "below" if self.ahead >= 0 else "above"
        return f"{self.who}, an objective {abs(self.ahead):.2g} {side} that of our own method"


def budget_solved_by(
    solver: str | Solver,
    model: Model,
    symbol: str,
    own: NDArray[np.float64],
    objective: Callable[[NDArray[np.float64]], float],
) -> tuple[NDArray[np.float64], SolvedBudget]:
    """Return the parts of a budget that a solver finds, and how they compare with our own.

    Parameters
    ----------
    solver, model, symbol
        Who solves which model, and the variables that are the parts.
    own : (k,) float64
        The parts that our own method found; the solver's are scaled to the same sum.
    objective
        Evaluates parts, whatever the solver says of them.
    """
    found = model.solve_for_release(solver)
    parts = np.maximum(np.nan_to_num(found.value[symbol]), 0.0)
    parts *= own.sum() / max(float(parts.sum()), np.finfo(np.float64).tiny)
    ahead = 1.0 - objective(parts) / objective(own)
    if not ahead >= -WORSE:
        raise ProgramError(
            f"{model.name}: what {found.ended} found has an objective {-ahead:.2g} above that of our own method; name "
            f"another solver, or none"
        )
    return parts, SolvedBudget(found.ended, ahead)

"""Estimates that are optimization models, solved by a solver that the user of a release names.

A plan says of which kind and size its models will be (`ModelSize`), so that what no solver takes is refused before the
budget is spent. A release says which model each such estimate is (`Inference`), and keeps what the solver made of it
(`Solved`): with point and duals on file, the certificate is computed anew wherever the file is read. What was drawn is
never lost: where a solver fails, dpopt's own method stands in, and the record says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TranscriptError
from dpopt.models.model import LARGEST_FOR_SOLVERS, Model, Solution
from dpopt.models.model_size import ModelSize
from dpopt.programs.results import Limit, SolveResult, Termination
from dpopt.programs.solver import Solver
from dpopt.programs.verification import verified

Numbers = NDArray[np.float64]
_NOTHING = freeze(np.zeros(0))


@runtime_checkable
class WithModels(Protocol):
    """A plan whose release has estimates that are models."""

    def model_sizes(self) -> Mapping[str, ModelSize]:
        """Return kind and size of the model of each such estimate; the first one is answered by where a solver is named."""
        ...


@dataclass(frozen=True, slots=True)
class Inference:
    """An estimate that is a model."""

    size: ModelSize
    model: Callable[[], Model]
    """Makes the model of the noisy values."""
    read: Callable[[Mapping[str, Numbers]], Numbers]
    """Makes the estimate of the values of its variables."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A solver's answer to the model of an estimate; stored unchanged."""

    estimate: str
    solver: str
    version: str
    termination: Termination
    limit: Limit | None
    """Why the solver stopped; FAILED where it gave nothing at all."""
    note: str
    """Why dpopt's own method stands in; empty if it does not."""
    bound: float | None
    """The solver's word for a bound on the optimum."""
    point: Numbers
    """Shape (n,). The values of all variables; empty where the own method stands in."""
    duals: Numbers
    """Shape (r,). Those of the rows; empty if the solver gave none."""

    def values(self, model: Model) -> Mapping[str, Numbers]:
        """Return the values of each block of variables."""
        return model.values(np.asarray(self._result(model).solution))

    def solution(self, model: Model) -> Solution:
        """Return the solution with its certificate, computed anew; of the closed form where that stands in."""
        if not self.note:
            return model.judged(self._result(model))
        found = model.solve()
        return replace(found, result=replace(found.result, seconds=0.0))  # what is said of a file is always the same

    def _result(self, model: Model) -> SolveResult:
        shape = model.program.objective.shape
        if self.point.shape != shape or not np.isfinite(self.point).all():
            raise TranscriptError(f"found {self.point.size:,} values of {self.estimate}; expected {shape[0]:,}")
        kept = SolveResult(
            termination=self.termination,
            limit=self.limit,
            solution=self.point,
            objective=model.program.evaluate(self.point),
            bound=self.bound,
            solver=self.solver,
            version=self.version,
            duals=self.duals if self.duals.size or not model.linear.number_of_rows else None,
        )
        found = verified(model.program, kept)
        if found.solution is None:
            raise TranscriptError(f"the solution on file for {self.estimate} is not feasible{found.native_status}")
        return found


def solved_by(inferences: Mapping[str, Inference], solver: str | Solver, seconds: float | None) -> tuple[Solved, ...]:
    """Return a solver's answer to each model that it takes."""
    taken = {name: one for name, one in inferences.items() if one.size.taken_by(solver)}
    return tuple(_solved(name, one, solver, seconds) for name, one in taken.items())


def _solved(estimate: str, inference: Inference, solver: str | Solver, seconds: float | None) -> Solved:
    named = solver if isinstance(solver, str) else solver.name
    found: Solution | None = None
    if inference.size.too_large_for(solver):
        why = (
            f"its model has some {inference.size.coefficients:,} coefficients, and solvers are handed "
            f"{LARGEST_FOR_SOLVERS:,} at most"
        )
    else:
        try:
            found = inference.model().solve_for_release(solver, seconds=seconds)
            inference.read(found.value)
            why = _distrusted(found, inference.size)
        except KeyboardInterrupt:
            why = f"{named} was interrupted"
        except BaseException as problem:  # noqa: BLE001  # the budget is spent: exit or panic of a solver, the draws are kept
            why = str(problem) or type(problem).__name__
    own = "the closed form" if inference.size.closed_form else "dpopt's own method"
    note = f"{why}; {own} stands in" if why else ""
    if found is None:
        return Solved(estimate, named, "", Termination.FAILED, None, note, None, _NOTHING, _NOTHING)
    result = found.result
    keep = not note and result.solution is not None
    return Solved(
        estimate,
        result.solver or named,
        result.version,
        found.termination,
        found.limit,
        note,
        result.bound if keep else None,
        np.asarray(result.solution, dtype=np.float64) if keep else _NOTHING,
        result.duals if keep and result.duals is not None else _NOTHING,
    )


def _distrusted(found: Solution, size: ModelSize) -> str:
    """Return why a solver's point is not taken, or nothing: short of the optimum, where a closed form is there."""
    if found.termination is Termination.OPTIMAL or (found.termination is Termination.LIMIT and not size.closed_form):
        return ""
    limit = "" if found.limit is None else f" ({found.limit.value})"
    return f"{found.result.solver} stopped short of the optimum: {found.termination.value}{limit}"

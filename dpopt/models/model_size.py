"""The size of a release's models, stated before the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpopt.errors import ProgramError
from dpopt.models.model import CLOSED_FORM, LARGEST_FOR_SOLVERS
from dpopt.programs.solver import Capability, Solver


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The kind and the size of a model that is not there yet."""

    needs: Capability
    """`LP`, `MIP` or `CONVEX_QP`."""
    coefficients: int
    """Of rows and squares, at most."""
    closed_form: bool = True
    """Whether the model has a closed form."""

    def taken_by(self, solver: str | Solver) -> bool:
        """Return whether a solver takes models of this kind, of whatever size; errors as of `get_solver`."""
        if solver == CLOSED_FORM:
            return self.closed_form
        from dpopt.solvers.registry import get_solver

        return self.needs in get_solver(solver).capabilities

    def too_large_for(self, solver: str | Solver) -> bool:
        """Return whether no general solver is handed a model of this size."""
        return solver != CLOSED_FORM and self.coefficients > LARGEST_FOR_SOLVERS


def refuse_solver(solver: str | Solver, sizes: Mapping[str, ModelSize]) -> None:
    """Refuse a solver that takes none of the models of a release, before the budget is spent.

    Examples
    --------
    >>> refuse_solver("clarabel", {"isotonic": ModelSize(Capability.CONVEX_QP, 3_000_000)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dpopt.errors.ProgramError: the model of 'isotonic' would have 3,000,000 coefficients; ...
    """
    from dpopt.solvers.outside import tried
    from dpopt.solvers.registry import get_solver

    taken = {estimate: size for estimate, size in sizes.items() if size.taken_by(solver)}
    name = solver if isinstance(solver, str) else solver.name
    if not taken:
        kinds = ", ".join(f"{estimate} ({size.needs.value})" for estimate, size in sizes.items())
        raise ProgramError(
            f"{name} takes none of the models of this release: {kinds or 'it has none'}. Leave the solver out, or give "
            f"one that `dpopt solvers` lists for them"
        )
    if all(size.too_large_for(solver) for size in taken.values()):
        estimate, least = min(taken.items(), key=lambda item: item[1].coefficients)
        raise ProgramError(
            f"the model of {estimate!r} would have {least.coefficients:,} coefficients; solvers are handed "
            f"{LARGEST_FOR_SOLVERS:,} at most. Leave the solver out, or ask for fewer bins"
        )
    if solver != CLOSED_FORM:
        for kind in dict.fromkeys(size.needs for size in taken.values()):
            tried(get_solver(solver), kind)

"""A model in the hand: the mathematics of one page as a program whose variables and rows have the page's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.files.written_files import check_new, whole_file
from dpopt.programs.building import Block, Builder
from dpopt.programs.certificate import PointCertificate, certify_point
from dpopt.programs.conic import ConicProgram, PointProgram
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import mps_text
from dpopt.programs.opb import opb_text
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import Limit, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Solver, why_refused
from dpopt.programs.text import MPS_REPLACES, formula, lp_text, unlike
from dpopt.programs.verification import verified
from dpopt.programs.weighted_cnf import wcnf_text

if TYPE_CHECKING:
    from dpopt.solvers.cp_sat import CpModel
    from dpopt.solvers.cvxpy_convex import CvxpyNative
    from dpopt.solvers.math_opt import MathOptModel
    from dpopt.solvers.pulp_other import PulpProblem

CLOSED_FORM = "closed-form"
"""The name by which `Model.solve` knows the closed form of a model, where it has one and no other name is given."""

_SHOWN_ROWS = 2
_UNPROVEN = 1e-5
_SMALL_VALUE = 0.01
"""A point that is "optimal" with a larger proven gap, as a share of its value or of 0.01, is called imprecise."""
_DEFAULTS = {MixedIntegerProgram: "highs", QuadraticProgram: "clarabel", ConicProgram: "clarabel"}
LARGEST_FOR_SOLVERS = 2_000_000
"""Most coefficients of a model for a solver in a release; beyond, general solvers take hours or all memory."""


Answer = tuple[NDArray[np.float64], NDArray[np.float64] | None]
"""The values of all variables of a model, and the duals of its rows if they are known."""


class _Computation(Protocol):
    def __call__(self, *arguments: object, **options: object) -> Answer: ...


def computed_by(path: str, *arguments: object, **options: object) -> Callable[[], Answer]:
    """Return a call of "module:function" with the arguments; the module is imported when a model is solved."""

    def compute() -> Answer:
        from dpopt.solvers.registry import load

        return cast("_Computation", load(path))(*arguments, **options)

    return compute


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A solver's answer to a model, checked outside the solver."""

    value: Mapping[str, NDArray[np.float64]]
    """The values of each block of variables, in its shape; empty where there is no solution."""
    objective: float | None
    """Objective of the values, evaluated anew."""
    termination: Termination
    limit: Limit | None
    """Why the solver stopped. "Optimal" becomes imprecise where the duals of a program without whole variables leave a
    gap."""
    certificate: PointCertificate | None
    """Exact objective, violations, and the bound that the duals prove; None where there is no solution."""
    result: SolveResult
    """The solver's whole output."""

    @property
    def ended(self) -> str:
        """Who solved the model, and how that ended."""
        return f"{self.result.version or self.result.solver}: {self.termination.value}"

    def __str__(self) -> str:
        parts = [f"{self.result.solver}: {self.termination.value}"]
        if self.certificate is not None:
            proven = self.certificate.proven_gap
            parts.append(f"objective {float(self.certificate.objective):.10g}")
            parts.append("no proven bound" if proven is None else f"proven gap {float(proven):.3g}")
            if proven is None and self.certificate.reported_bound is not None:
                parts.append(f"reported bound {self.certificate.reported_bound:.10g}")
            parts.append(f"violation {self.certificate.primal_violation:.3g}")
        elif self.result.native_status:
            parts.append(f"no answer ({self.result.native_status:.200})")
        if self.result.seconds:  # what is read from a file took none
            parts.append(f"{self.result.seconds:.3g} s")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class ClauseForm:
    """A model as weighted clauses: the problem, and the values of all variables for a record."""

    problem: MaxCsp
    point_of: Callable[[NDArray[np.int32]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A linear, mixed-integer or convex program with the names of its page.

    Attributes
    ----------
    variables, rows, squares, cones : mapping of str to Block
        Blocks by symbol or label: `variables["s"].numbers`, `rows["IR-3"].names()`.

    Examples
    --------
    >>> from dpopt import models
    >>> model = models.isotonic_regression([14, 9, 10, 15], total=52)
    >>> print(model)
    isotonic_regression: minimize, quadratic, own method closed-form
      variables  s[1] ... s[4]         4
      rows       IR-3[1] ... IR-3[3]   3
                 IR-5                  1
      squares    IR-1[1] ... IR-1[4]   4
      IR-1[1]: 1/2 (s[1] - 14)^2
      IR-1[2]: 1/2 (s[2] - 9)^2
      IR-3[1]: - s[1] + s[2] >= 0
      IR-3[2]: - s[2] + s[3] >= 0
      IR-5: s[1] + s[2] + s[3] + s[4] = 52
    >>> model.solve().value["s"].tolist()
    [12.0, 12.0, 12.0, 16.0]
    """

    name: str
    """The page in the catalogue: `models/<name>`."""
    program: PointProgram
    """The arrays."""
    variables: Mapping[str, Block]
    rows: Mapping[str, Block]
    squares: Mapping[str, Block]
    cones: Mapping[str, Block]
    closed_form: Callable[[], Answer] | None = None
    """Solves the model by mathematics of its own, where there is such; see `computed_by`."""
    method: str = CLOSED_FORM
    """By which name `solve` knows that: "closed-form", or that of a method of dpopt's own ("newton")."""
    clauses: ClauseForm | None = None
    """The same problem as weighted clauses, for solvers that take these and not the program."""

    @classmethod
    def of(
        cls, name: str, build: Builder, *, closed_form: Callable[[], Answer] | None = None, method: str = CLOSED_FORM
    ) -> Model:
        """Return the model that a builder holds; errors as of `Builder.program`."""
        return cls(
            name,
            build.program(),
            build.variable_blocks,
            build.row_blocks,
            build.square_blocks,
            build.cone_blocks,
            closed_form,
            method,
        )

    @property
    def linear(self) -> MixedIntegerProgram:
        """Rows, bounds and the linear part of the objective."""
        return self.program.linear

    @property
    def own_method(self) -> str | None:
        """By which name `solve` knows the closed form or a method of dpopt's own; None if the model has none."""
        return None if self.closed_form is None else self.method

    def solve(
        self, solver: str | Solver | None = None, *, seconds: float | None = None, limits: SolveLimits | None = None
    ) -> Solution:
        """Solve the model.

        Parameters
        ----------
        solver
            Name of a solver, or a solver; "closed-form" or the name of the model's own method where it has one. Left
            out: that method, else highs for a linear or mixed-integer and clarabel for a quadratic or conic program.
            One that takes weighted clauses and not the program gets the clauses, where the model has them.
        limits
            All limits at once, in place of `seconds`.
        """
        if seconds is not None and limits is not None:
            raise ProgramError("found seconds and limits; give one of them")
        within = limits or SolveLimits(seconds=seconds)
        if self._own(solver) or (solver is None and self.closed_form is not None):
            return self._checked(self._in_closed_form())
        from dpopt.solvers.outside import solver_result
        from dpopt.solvers.registry import get_solver

        chosen = get_solver(_DEFAULTS[type(self.program)] if solver is None else solver)
        reason = why_refused(chosen, self.program)
        if reason is None:
            return self.judged(solver_result(chosen, self.program, within, of=self.name))
        if self.clauses is None or why_refused(chosen, self.clauses.problem) is not None:
            raise ProgramError(f"{self.name}: {reason}; `dpopt solvers` lists what each takes")
        found = verified(self.clauses.problem, solver_result(chosen, self.clauses.problem, within, of=self.name))
        if found.solution is not None:
            point = self.clauses.point_of(found.require_record())
            found = replace(found, solution=point, objective=self.program.evaluate(point))
        return self.judged(found)

    def relaxation(self) -> Model:
        """Return the model without whole variables: the duals of its solution prove a bound for this one."""
        linear = replace(self.linear, integrality=np.zeros_like(self.linear.integrality))
        program = linear if isinstance(self.program, MixedIntegerProgram) else self.program
        return replace(self, program=program, clauses=None)

    def judged(self, result: SolveResult) -> Solution:
        """Return a solver's answer to the program, checked outside the solver; a point that breaks a row is dropped."""
        return self._checked(verified(self.program, result))

    def solve_for_release(
        self, solver: str | Solver, *, seconds: float | None = None, limits: SolveLimits | None = None
    ) -> Solution:
        """Solve the model by a solver that the user of a release named, and insist on a point.

        Parameters as of `solve`.
        """
        quadratic = self._quadratic()
        entries = self.linear.coefficients.size + (0 if quadratic is None else quadratic.square_coefficients.size)
        if isinstance(self.program, ConicProgram):
            entries += self.program.member_coefficients.size
        if not self._own(solver) and entries > LARGEST_FOR_SOLVERS:
            raise ProgramError(
                f"{self.name} has {entries:,} coefficients here; solvers are handed {LARGEST_FOR_SOLVERS:,} at most. "
                "Leave the solver out"
            )
        found = self.solve(solver, seconds=seconds, limits=limits)
        if not found.value:
            raise ProgramError(
                f"{found.result.solver} found no answer to {self.name}: {found.termination.value} "
                f"({found.result.native_status:.200}); give another solver, or more time"
            )
        return found

    def values(self, point: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the values of each block of variables, in its shape, at a point (n,)."""
        return {symbol: point[block.numbers] for symbol, block in self.variables.items()}

    def to_pulp(self) -> PulpProblem:
        """Return the model as a `pulp.LpProblem`, signs such as `[` in names replaced by `_`."""
        from dpopt.solvers.pulp_other import pulp_problem

        return pulp_problem(self._without_cones("PuLP"), *self._blocks(), name=self.name)[0]

    def to_cvxpy(self) -> CvxpyNative:
        """Return the model as a `cvxpy.Problem`: a vector for each block of variables, labels on the constraints."""
        from dpopt.solvers.cvxpy_convex import cvxpy_problem

        return cvxpy_problem(self.program, *self._blocks(), tuple(self.cones.values())).problem

    def to_mathopt(self) -> MathOptModel:
        """Return the model as a `Model` of `ortools.math_opt.python.mathopt`."""
        from dpopt.solvers.math_opt import mathopt_model

        return mathopt_model(self._without_cones("MathOpt"), *self._blocks(), name=self.name)

    def to_cp_sat(self) -> CpModel:
        """Return the model as a `CpModel` of `ortools.sat.python.cp_model`."""
        from dpopt.solvers.cp_sat import cp_sat_model

        return cp_sat_model(self._whole(self._without_cones("CP-SAT")), *self._blocks(), name=self.name)

    def write(self, path: str | Path) -> None:
        """Write the model to a file: .lp or .mps, linear or quadratic; .pbtxt for CP-SAT; .opb, in whole numbers.

        A best response can also be a .wcnf, for MaxSAT solvers. A file that is there is not replaced.

        Numbers are written so that they read back as the same doubles. Files have `(`, `)`, `~` and `_` in names where
        names here have signs that a reader does not take; long names are cut, and those that would be alike get a
        number.
        """
        check_new(Path(path), "a model that somebody changed")
        text = self.text(Path(path).suffix)
        with whole_file(path) as stream:
            stream.write(text)

    def text(self, ending: str) -> bytes:
        """Return the content that `write` gives a file of this ending, such as ".lp"; errors as of `write`."""
        program = self._without_cones(f"{ending} files")
        names = [name for block in self.variables.values() for name in block.names()]
        labels = [name for block in self.rows.values() for name in block.names()]
        if ending == ".mps":
            (name,), titles, labels = (unlike(part, MPS_REPLACES) for part in ([self.name], names, labels))
            return mps_text(program, name=name, columns=titles, rows=labels)
        if ending == ".lp":
            return lp_text(program, name=self.name, columns=names, rows=labels)
        if ending == ".pbtxt":
            return str(self.to_cp_sat().proto).encode()
        if ending == ".opb":
            if isinstance(program, QuadraticProgram):
                raise ProgramError(f"{self.name} has squares, which .opb files cannot hold; write .lp or .mps")
            whole = self._whole(program).linear
            return opb_text(whole, names)
        if ending == ".wcnf":
            if self.clauses is None:
                raise ProgramError(
                    f"{self.name} is no model of weighted clauses, which .wcnf files hold; write .lp or .mps"
                )
            return wcnf_text(self.clauses.problem, names[: int(self.clauses.problem.offsets()[-1])])
        raise ProgramError(f"found the ending {ending!r}; expected .lp, .mps, .pbtxt, .opb or .wcnf")

    def _whole(self, program: MixedIntegerProgram | QuadraticProgram) -> MixedIntegerProgram | QuadraticProgram:
        """Return the program, whole where that changes nothing: a record is a point of whole numbers (`ClauseForm`)."""
        if self.clauses is None or isinstance(program, QuadraticProgram):
            return program
        return replace(program, integrality=np.ones_like(program.integrality))

    def __str__(self) -> str:
        quadratic = self._quadratic()
        kind = "quadratic" if quadratic is not None and quadratic.targets.size else "linear"
        if self.linear.integrality.any():
            kind = "mixed-integer"
        own = "" if self.own_method is None else f", own method {self.own_method}"
        kind += " with cones" if self.cones else ""
        lines = [f"{self.name}: {'maximize' if self.linear.maximize else 'minimize'}, {kind}{own}"]
        listed = {"variables": self.variables, "rows": self.rows, "squares": self.squares, "cones": self.cones}
        shown = {
            kind: [(_span(block), f"{block.size:,}") for block in blocks.values()] for kind, blocks in listed.items()
        }
        width = max([len(span) for part in shown.values() for span, _ in part], default=0)
        right = max([len(size) for part in shown.values() for _, size in part], default=0)
        for kind, part in shown.items():
            for place, (span, size) in enumerate(part):
                lines.append(f"  {kind if not place else '':<9}  {span:<{width}}   {size:>{right}}")
        return "\n".join([*lines, *(f"  {line}" for line in self.formulas(_SHOWN_ROWS))])

    def formulas(self, rows: int | None = None) -> list[str]:
        """Return the objective and the rows as formulas; at most this number of rows of each block."""
        return formula(self.program, self.variables, self.rows, self.squares, self.cones, rows)

    def _blocks(self) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        return tuple(self.variables.values()), tuple(self.rows.values())

    def _quadratic(self) -> QuadraticProgram | None:
        """Return the part with the squares, if there is one."""
        program = self.program.quadratic if isinstance(self.program, ConicProgram) else self.program
        return program if isinstance(program, QuadraticProgram) else None

    def _without_cones(self, form: str) -> MixedIntegerProgram | QuadraticProgram:
        """Return the program; refuse one with cones, which this form cannot hold."""
        if isinstance(self.program, ConicProgram):
            raise ProgramError(f"{self.name} has cones, which {form} cannot hold here; use to_cvxpy()")
        return self.program

    def _own(self, solver: str | Solver | None) -> bool:
        """Return whether this names the model's own method; a solver that is given as it is may have no hash."""
        return isinstance(solver, str) and solver in {CLOSED_FORM, self.method}

    def _in_closed_form(self) -> SolveResult:
        if self.closed_form is None:
            raise ProgramError(
                f"{self.name} has no closed form and no method of its own; give a solver (`dpopt solvers` lists them)"
            )
        started = perf_counter()
        point, duals = self.closed_form()
        return SolveResult(
            termination=Termination.OPTIMAL,
            limit=None,
            solution=point,
            objective=self.program.evaluate(point),
            bound=None,
            solver=self.method,
            version="",
            native_status="computed",
            seconds=perf_counter() - started,
            duals=duals,
        )

    def _checked(self, result: SolveResult) -> Solution:
        if result.solution is None:
            return Solution({}, None, result.termination, result.limit, None, result)
        point = np.asarray(result.solution, dtype=np.float64)
        certificate = certify_point(self.program, result)
        termination = result.termination
        if termination is Termination.OPTIMAL and self._leaves_gap(certificate):
            termination = Termination.IMPRECISE
        return Solution(self.values(point), result.objective, termination, result.limit, certificate, result)

    def _leaves_gap(self, certificate: PointCertificate) -> bool:
        """Return whether the duals of a continuous program leave more than rounding between point and bound."""
        gap = certificate.proven_gap
        if gap is None or self.linear.integrality.any():
            return False
        # A point that breaks a row by rounding may lie a little beyond the bound; more than that is as wrong as a gap.
        return abs(gap) > _UNPROVEN * max(_SMALL_VALUE, abs(float(certificate.objective)))


def _span(block: Block) -> str:
    names = block.names()
    return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}" if names else block.symbol

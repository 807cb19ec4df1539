"""Programs as objects of other libraries, to read, change and solve there: PuLP, CVXPY, and OR-Tools' MathOpt and CP-SAT.

Each function takes a program and the blocks of its variables and rows, so that the objects carry the names of the page;
without blocks the names are x0, x1, ... and r0, r1, ... The adapters of this folder build their problems here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpopt.errors import ProgramError
from dpopt.programs.building import Block
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import MultipliedOut, QuadraticProgram
from dpopt.programs.text import PULP_REPLACES, unlike

if TYPE_CHECKING:
    import cvxpy
    import pulp
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt
    from ortools.sat.python import cp_model

    CpModel = cp_model.CpModel
    CvxpyNative = cvxpy.Problem
    MathOptModel = mathopt.Model
    PulpProblem = pulp.LpProblem

Blocks = Sequence[Block]
LARGEST_WHOLE = 2**53
"""CP-SAT holds whole numbers only: those that double precision holds exactly."""


def pulp_problem(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Blocks = (),
    rows: Blocks = (),
    *,
    name: str = "dpopt",
) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    """Return the program in PuLP's objects, and its variables in order.

    PuLP replaces signs such as `[` and `-` in names by `_`: `IR-3[2]` becomes `IR_3_2_`. Names that are then alike get a
    number at their end. One call for each variable and row: seconds for 100,000 clauses. A row with two different sides
    becomes two, the lower one with `_` at the end of its name.

    Raises
    ------
    ProgramError
        A quadratic program: PuLP holds linear ones only.
    """
    import pulp

    if isinstance(program, QuadraticProgram):
        raise ProgramError("PuLP holds linear programs only; take to_cvxpy or to_mathopt for squares")
    problem = pulp.LpProblem(name, pulp.LpMaximize if program.maximize else pulp.LpMinimize)
    kinds = np.where(program.integrality, pulp.LpInteger, pulp.LpContinuous).tolist()
    titles = unlike(named(variables, "x", program.number_of_variables), PULP_REPLACES)
    bounds = zip(titles, _ends(program.lower), _ends(program.upper), kinds, strict=True)
    found = [pulp.LpVariable(*one) for one in bounds]
    problem += pulp.LpAffineExpression(zip(found, program.objective.tolist(), strict=True))
    starts, columns = program.row_starts.tolist(), program.columns.tolist()
    coefficients = program.coefficients.tolist()
    sides = zip(_ends(program.row_lower), _ends(program.row_upper), strict=True)
    labels = unlike(named(rows, "r", program.number_of_rows), PULP_REPLACES)
    for i, (label, (low, high)) in enumerate(zip(labels, sides, strict=True)):
        entries = range(starts[i], starts[i + 1])
        row = pulp.LpAffineExpression([(found[columns[e]], coefficients[e]) for e in entries])
        if low is not None and low == high:
            problem += row == low, label
            continue
        if high is not None:
            problem += row <= high, label
        if low is not None:
            problem += row >= low, label if high is None else f"{label}_"
    return problem, found


@dataclass(frozen=True, slots=True, eq=False)
class CvxpyProblem:
    """A program in CVXPY's objects.

    Attributes
    ----------
    problem
        The problem. A maximization maximizes.
    variables
        One flat variable for each block.
    constraints
        Each constraint with the rows that it stands for, and the sign of its duals.
    number_of_rows
        Rows of the program.
    """

    problem: cvxpy.Problem
    variables: list[cvxpy.Variable]
    constraints: list[tuple[cvxpy.Constraint, NDArray[np.int64], float]]
    number_of_rows: int

    def point(self) -> NDArray[np.float64] | None:
        """Return the values of all variables, (n,); None if there are none."""
        values = [variable.value for variable in self.variables]
        if any(value is None for value in values):
            return None
        return np.concatenate([np.zeros(0), *(np.atleast_1d(np.asarray(one, np.float64)) for one in values)])

    def duals(self) -> NDArray[np.float64] | None:
        """Return the dual of each row; a row with two sides has two constraints, of which one at most is active."""
        total = np.zeros(self.number_of_rows)
        for constraint, row, sign in self.constraints:
            if constraint.dual_value is None:
                return None
            total[row] += sign * np.atleast_1d(np.asarray(constraint.dual_value, dtype=np.float64))
        return total


def cvxpy_problem(
    program: MixedIntegerProgram | QuadraticProgram, variables: Blocks = (), rows: Blocks = ()
) -> CvxpyProblem:
    """Return the program in CVXPY's objects: a vector for each block of variables, a constraint for each side of a block."""
    import cvxpy

    linear = program.linear if isinstance(program, QuadraticProgram) else program
    parts = variables or [Block("x", 0, (linear.number_of_variables,))]
    found = [_cvxpy_variable(linear, part) for part in parts]

    def product(matrix: csr_array[np.float64]) -> cvxpy.Expression:
        terms: list[cvxpy.Expression] = []
        for part, variable in zip(parts, found, strict=True):
            own = matrix[:, part.first : part.first + part.size]
            if own.nnz or not (terms or part is not parts[-1]):
                terms.append(own @ variable)  # rows without entries are rows, too
        return sum(terms[1:], terms[0])

    objective = cvxpy.sum(product(csr_array(linear.objective[None, :])))
    if isinstance(program, QuadraticProgram) and program.targets.size:
        roots = np.sqrt(program.weights)
        scaled = program.square_coefficients * np.repeat(roots, np.diff(program.square_starts))
        squares = _matrix(program.square_starts, program.square_columns, scaled, linear.number_of_variables)
        objective += cvxpy.sum_squares(product(squares) - roots * program.targets) / 2
    matrix = _matrix(linear.row_starts, linear.columns, linear.coefficients, linear.number_of_variables)
    sense = 1.0 if linear.maximize else -1.0
    constraints = []
    for block in rows or [Block("r", 0, (linear.number_of_rows,))]:
        numbers = np.arange(block.first, block.first + block.size)
        lower, upper = linear.row_lower[numbers], linear.row_upper[numbers]
        equal = numbers[lower == upper]
        above = numbers[np.isfinite(upper) & (lower != upper)]
        below = numbers[np.isfinite(lower) & (lower != upper)]
        for chosen, side in ((equal, 0), (above, 1), (below, -1)):
            if not chosen.size:
                continue
            sums = product(matrix[chosen])
            if side < 0:
                constraint = sums >= linear.row_lower[chosen]
            else:
                bound = linear.row_upper[chosen]
                constraint = sums <= bound if side else sums == bound
            constraint.set_label(block.symbol)
            constraints.append((constraint, chosen, sense if side >= 0 else -sense))
    goal = cvxpy.Maximize(objective) if linear.maximize else cvxpy.Minimize(objective)
    problem = cvxpy.Problem(goal, [one for one, _, _ in constraints])
    return CvxpyProblem(problem, found, constraints, linear.number_of_rows)


def _cvxpy_variable(program: MixedIntegerProgram, block: Block) -> cvxpy.Variable:
    import cvxpy

    part = slice(block.first, block.first + block.size)
    whole = program.integrality[part]
    kind: dict[str, object] = {}
    if whole.all() and whole.size:
        kind["integer"] = True
    elif whole.any():
        kind["integer"] = (np.flatnonzero(whole),)
    return cvxpy.Variable(
        block.size, name=block.symbol, bounds=[program.lower[part], program.upper[part]], **kind
    )


def mathopt_model(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Blocks = (),
    rows: Blocks = (),
    *,
    name: str = "dpopt",
) -> mathopt.Model:
    """Return the program as a model of OR-Tools' MathOpt; squares become its quadratic objective."""
    from ortools.math_opt.python import mathopt

    return mathopt.Model.from_model_proto(mathopt_proto(program, variables, rows, name=name))


def mathopt_proto(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Blocks = (),
    rows: Blocks = (),
    *,
    name: str = "",
) -> model_pb2.ModelProto:
    """Return the program as MathOpt's protocol buffer, filled from the arrays; without blocks it holds no names."""
    from ortools.math_opt import model_pb2

    linear = program.linear if isinstance(program, QuadraticProgram) else program
    proto = model_pb2.ModelProto(name=name)
    columns, sums, objective = proto.variables, proto.linear_constraints, proto.objective
    columns.ids.extend(range(linear.number_of_variables))
    columns.lower_bounds.extend(linear.lower.tolist())
    columns.upper_bounds.extend(linear.upper.tolist())
    columns.integers.extend(linear.integrality.tolist())
    if variables:
        columns.names.extend(named(variables, "x", linear.number_of_variables))
    objective.maximize = linear.maximize
    costs = linear.objective
    if isinstance(program, QuadraticProgram):
        goal = MultipliedOut.of(program)
        objective.quadratic_coefficients.row_ids.extend(goal.rows.tolist())
        objective.quadratic_coefficients.column_ids.extend(goal.columns.tolist())
        objective.quadratic_coefficients.coefficients.extend(goal.coefficients.tolist())
        objective.offset, costs = goal.constant, goal.costs
    used = np.flatnonzero(costs)
    objective.linear_coefficients.ids.extend(used.tolist())
    objective.linear_coefficients.values.extend(costs[used].tolist())
    sums.ids.extend(range(linear.number_of_rows))
    sums.lower_bounds.extend(linear.row_lower.tolist())
    sums.upper_bounds.extend(linear.row_upper.tolist())
    if rows:
        sums.names.extend(named(rows, "r", linear.number_of_rows))
    owner = linear.row_of_entry()
    order = np.lexsort((linear.columns, owner))  # by row, then by column, as MathOpt demands
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(owner[order].tolist())
    matrix.column_ids.extend(linear.columns[order].tolist())
    matrix.coefficients.extend(linear.coefficients[order].tolist())
    return proto


def cp_sat_model(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Blocks = (),
    rows: Blocks = (),
    *,
    name: str = "dpopt",
) -> cp_model.CpModel:
    """Return a program in whole numbers as a model of OR-Tools' CP-SAT.

    Raises
    ------
    ProgramError
        A square, a variable that need not be whole or has no bounds, or a coefficient that is no whole number.
    """
    from ortools.sat.python import cp_model

    instead = "; take to_mathopt or to_cvxpy"
    if isinstance(program, QuadraticProgram):
        raise ProgramError("CP-SAT holds linear programs in whole numbers, and no squares" + instead)
    names = named(variables, "x", program.number_of_variables)
    if not program.integrality.all():
        first = names[int(np.argmin(program.integrality))]
        raise ProgramError(
            f"CP-SAT holds whole numbers only; the variable {first} need not be whole" + instead
        )
    if not (np.isfinite(program.lower).all() and np.isfinite(program.upper).all()):
        first = names[int(np.argmin(np.isfinite(program.lower) & np.isfinite(program.upper)))]
        raise ProgramError(f"CP-SAT needs bounds; the variable {first} has none on a side" + instead)
    for part in (program.objective, program.coefficients):
        if not ((part == np.round(part)) & (np.abs(part) <= LARGEST_WHOLE)).all():
            wrong = part[np.argmax((part != np.round(part)) | (np.abs(part) > LARGEST_WHOLE))]
            raise ProgramError(f"CP-SAT holds whole coefficients only; found {float(wrong)!r}" + instead)
    model = cp_model.CpModel()
    model.name = name
    lower, upper = np.ceil(program.lower).astype(int).tolist(), np.floor(program.upper).astype(int).tolist()
    found = [model.new_int_var(*one) for one in zip(lower, upper, names, strict=True)]
    starts, columns = program.row_starts.tolist(), program.columns.tolist()
    coefficients = program.coefficients.astype(np.int64).tolist()
    labels = named(rows, "r", program.number_of_rows)
    for i, label in enumerate(labels):
        entries = range(starts[i], starts[i + 1])
        total = cp_model.LinearExpr.weighted_sum(
            [found[columns[e]] for e in entries], [coefficients[e] for e in entries]
        )
        low, high = program.row_lower[i], program.row_upper[i]
        model.add_linear_constraint(
            total,
            int(np.ceil(low)) if np.isfinite(low) else cp_model.INT_MIN,
            int(np.floor(high)) if np.isfinite(high) else cp_model.INT_MAX,
        ).with_name(label)
    goal = cp_model.LinearExpr.weighted_sum(found, program.objective.astype(np.int64).tolist())
    (model.maximize if program.maximize else model.minimize)(goal)
    return model


def named(blocks: Blocks, prefix: str, size: int) -> list[str]:
    """Return the names of all variables or rows; without blocks, the prefix and their numbers."""
    if not blocks:
        return [f"{prefix}{number}" for number in range(size)]
    return [name for block in blocks for name in block.names()]


def cp_sat_text(
    program: MixedIntegerProgram | QuadraticProgram, variables: Blocks = (), rows: Blocks = (), *, name: str
) -> bytes:
    """Return the program as the text of CP-SAT's protocol buffer; errors as of `cp_sat_model`."""
    return str(cp_sat_model(program, variables, rows, name=name).proto).encode()


def _matrix(
    starts: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float64], width: int
) -> csr_array[np.float64]:
    return csr_array((values, columns, starts), shape=(starts.size - 1, width))


def _ends(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]

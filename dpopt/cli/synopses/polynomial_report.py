"""The output of `dpopt polynomial`: degree, error, proof, coefficients, sensitivities.

A table of least degrees goes to a CSV file, each row with both of its proofs (`write_degree_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from dpopt.cli.reports.reports import console
from dpopt.cli.synopses.shared import table_of
from dpopt.files.codec import encode
from dpopt.polynomials import Basis, LeastDegree, Polynomial, Solution, SolverAnswer, Target, constructions_beside_best
from dpopt.polynomials.certificates import Witness, about, lower_bound, verify
from dpopt.polynomials.comparison import (
    binomial_sensitivity,
    crude_sensitivity,
    inclusion_exclusion_sensitivity,
    monomial_sensitivity,
)
from dpopt.polynomials.minimax import HEADER, degree_table, minimax_problem, verify_least_degree
from dpopt.polynomials.targets import OR, nearest_float
from dpopt.synopses.synopsis import write_rows

COLUMNS = (
    "predicate",
    "k",
    "error_limit",
    "degree",
    "least_error",
    "chebyshev_degree",
    "points",
    "weights",
    "points_below",
    "weights_below",
)


def write_degree_table(
    path: Path,
    predicate: str,
    widths: Sequence[int],
    errors: Sequence[Fraction],
    *,
    free_constant: bool | None,
    solver: str | None,
) -> int:
    """Write the table and return its number of rows.

    Points and weights are separated by blanks: those of the least error at the degree, and those that show that one
    degree less does not suffice.
    """
    rows = [
        [
            entry.predicate,
            entry.width,
            entry.found.error_limit,
            entry.found.degree,
            entry.found.best.objective,
            "" if entry.chebyshev is None else entry.chebyshev,
            *_texts(entry.found.best.witness),
            *_texts(entry.found.below),
        ]
        for entry in degree_table(predicate, widths, errors, free_constant=free_constant, solver=solver)
    ]
    write_rows(path, COLUMNS, rows)
    return len(rows)


def _texts(witness: Witness | None) -> tuple[str, str]:
    if witness is None:
        return "", ""
    return " ".join(map(str, witness.points)), " ".join(map(str, witness.weights))


_LONGEST_FRACTION = 40
_MOST_POINTS = 20


def report_polynomial(
    found: Solution | LeastDegree,
    attributes: int | None,
    written: Sequence[Path],
    *,
    direct: float | None = None,
    answer: SolverAnswer | None = None,
    own: Polynomial | None = None,
) -> None:
    """Print a solution, or a given polynomial next to it; the solution is verified before it is called proved.

    `attributes` is d, where sensitivities are wanted, and `direct` the predicted error with noise on each query alone,
    where noise was minimized.
    """
    out, solution = console(), _verified(found)
    problem, polynomial = solution.problem, own or solution.polynomial
    error = polynomial.error(problem.target)
    out.print(_title(found))
    out.print(f"degree:      {polynomial.degree}")
    out.print(f"error:       {number_text(error.value)}, at s = {_points_text(error.points)}")
    for line in [*_proof_lines(found), *_answer_lines(solution, answer)]:
        out.print(line)
    if own is not None:
        out.print(f"your polynomial: {number_text(error.value - solution.objective)} above the least")
    if any(problem.weights) and problem.error_limit is None:
        out.print(f"noise:       {number_text(solution.objective - error.value)} of the objective")
    if direct is not None:
        out.print(f"             noise on each query of {polynomial.width} attributes alone: {direct:.6g}")
    out.print(_witness_table(solution.witness))
    out.print(_coefficient_table(polynomial))
    if attributes is not None:
        out.print(f"n times the L1 sensitivity over {attributes} attributes, when one record is replaced:")
        for name, value in sensitivities(polynomial, problem.target, attributes).items():
            out.print(f"  {name:<34}{number_text(value)}")
    for path in written:
        out.print(f"written to {path}")


def report_to_json(
    found: Solution | LeastDegree,
    attributes: int | None,
    answer: SolverAnswer | None = None,
    own: Polynomial | None = None,
) -> dict[str, object]:
    """Return the output as a JSON object."""
    solution = _verified(found)
    target = solution.problem.target
    measured = _measured(own or solution.polynomial, target, attributes)
    if own is not None:
        measured["above_least"] = str(own.error(target).value - solution.objective)
    if answer is not None:
        above = None if answer.objective is None else str(answer.objective - solution.objective)
        measured["solver"] = {**encode(answer), "above_least": above}
    return {**measured, "proved_in_exact_arithmetic": True, "solution": encode(found, HEADER)}


def _measured(polynomial: Polynomial, target: Target, attributes: int | None) -> dict[str, Any]:
    error = polynomial.error(target)
    measured: dict[str, Any] = {
        "degree": polynomial.degree,
        "error": str(error.value),
        "error_as_float": nearest_float(error.value),
        "error_points": list(error.points),
        "coefficients": {basis.value: [str(one) for one in polynomial.in_basis(basis)] for basis in Basis},
    }
    if attributes is not None:
        found = sensitivities(polynomial, target, attributes)
        measured["sensitivities"] = {name: str(value) for name, value in found.items()}
        measured["sensitivity"] = nearest_float(found["binomial"])
    return measured


def comparison_rows(
    target: Target, most: int | None, attributes: int | None, free_constant: bool | None, solver: str | None
) -> list[dict[str, Any]]:
    """Return constructions and least errors for degrees 1 to `most`, or k: a row of exact figures for each."""
    return [
        {
            "degree_limit": degree,
            "construction": name,
            **_measured(polynomial, target, attributes),
            **{f"largest_{one.value}": nearest_float(max(map(abs, polynomial.in_basis(one)))) for one in Basis},
        }
        for degree in range(1, (target.width if most is None else most) + 1)
        for made in [constructions_beside_best(target, degree, free_constant=free_constant, solver=solver)]
        for name, polynomial in made.items()
    ]


def report_comparison(rows: Sequence[dict[str, Any]], picture: Path | None) -> None:
    """Print a line for each degree and construction."""
    columns = {
        "degree": "degree_limit",
        "construction": "construction",
        "error": "error_as_float",
        "largest |a_j| of C(s, j)": "largest_binomial",
        "largest |c_j| of s^j": "largest_monomial",
        "n times the L1 sensitivity": "sensitivity",
    }
    shown = [(heading, name) for heading, name in columns.items() if name in rows[0]]
    lines = [
        [f"{row[name]:.4g}" if isinstance(row[name], float) else str(row[name]) for _, name in shown] for row in rows
    ]
    console().print(table_of([heading for heading, _ in shown], lines))
    console().print("errors are evaluated exactly at every point; the least ones are proved in exact arithmetic")
    if picture is not None:
        console().print(f"written to {picture}")


def sensitivities(polynomial: Polynomial, target: Target, attributes: int) -> dict[str, Fraction]:
    """Return n times the L1 sensitivity in each expansion, by name."""
    found = {
        "binomial": binomial_sensitivity(polynomial, attributes),
        "monomial": monomial_sensitivity(polynomial, attributes),
        "bound of the paper's theorem": crude_sensitivity(polynomial, attributes),
    }
    if target.name == OR:
        found["inclusion and exclusion, no error"] = Fraction(
            inclusion_exclusion_sensitivity(polynomial.width, attributes)
        )
    return found


def number_text(value: Fraction) -> str:
    """Return a number in decimals, and as a fraction where that is short."""
    shown = f"{nearest_float(value):.6g}"
    fraction = str(value)
    if fraction == shown or len(fraction) > _LONGEST_FRACTION:
        return shown
    return f"{shown} = {fraction}"


def solution_of(found: Solution | LeastDegree) -> Solution:
    """Return the solution; of a least degree that of this degree."""
    return found.best if isinstance(found, LeastDegree) else found


def _verified(found: Solution | LeastDegree) -> Solution:
    if isinstance(found, LeastDegree):
        verify_least_degree(found)
    else:
        verify(found)
    return solution_of(found)


def _answer_lines(solution: Solution, answer: SolverAnswer | None) -> list[str]:
    """Say how far a solver's polynomial is from the least that is proved; its numbers are taken as exact fractions."""
    if answer is None:
        return []
    if answer.objective is None:
        return [f"{answer.solver} gave no polynomial ({answer.ended}) in {answer.seconds:.3g} s"]
    above = answer.objective - solution.objective
    parts = [f"{about(abs(above))} {'above' if above >= 0 else 'below'} the least"]
    if answer.breach:
        parts.append(f"and breaks a limit by {about(answer.breach)}")
    return [
        f"{answer.solver} found a polynomial in {answer.seconds:.3g} s ({answer.ended}): evaluated exactly,",
        f"  its value is {about(answer.objective)}, {' '.join(parts)}",
    ]


def _title(found: Solution | LeastDegree) -> str:
    problem = solution_of(found).problem
    target = problem.target
    kept = f", with p(0) = {target.values[0]}" if problem.keeps_zero else ""
    kept += ", errors weighted" if set(target.weights) != {1} else ""
    return f"{target.name} of k = {target.width}, on s = 0..{target.width}{kept}"


def _proof_lines(found: Solution | LeastDegree) -> list[str]:
    if isinstance(found, LeastDegree):
        lines = [f"proved in exact arithmetic: no polynomial of degree {found.degree} has a smaller error,"]
        if found.below is None:
            return [*lines, "  and there is no smaller degree"]
        problem = found.best.problem
        lower = minimax_problem(problem.target, found.degree - 1, free_constant=not problem.keeps_zero)
        least = number_text(lower_bound(lower, found.below))
        return [*lines, f"  and all of degree {found.degree - 1} have an error of at least {least}"]
    problem = found.problem
    what = (
        "objective (error and noise)"
        if any(problem.weights) and problem.error_limit is None
        else "weighted sum of coefficients"
        if any(problem.weights)
        else "error"
    )
    limits = [f"degree at most {problem.degree}"]
    if problem.error_limit is not None:
        limits.append(f"error at most {number_text(problem.error_limit)}")
    if problem.coefficient_limit is not None:
        limits.append(f"{problem.basis.value} coefficients at most {number_text(problem.coefficient_limit)}")
    return [
        f"proved in exact arithmetic: no polynomial of {', '.join(limits)}",
        f"  has a smaller {what} than {number_text(found.objective)}",
    ]


def _witness_table(witness: Witness) -> Table:
    rows = zip(map(str, witness.points), map(number_text, witness.weights), strict=True)
    return table_of(("s", "weight"), list(rows), title="the proof: points and weights")


def _coefficient_table(polynomial: Polynomial) -> Table:
    bases = [polynomial.in_basis(basis) for basis in (Basis.BINOMIAL, Basis.MONOMIAL, Basis.CHEBYSHEV)]
    rows = [(str(j), *(f"{nearest_float(one):.8g}" for one in row)) for j, row in enumerate(zip(*bases, strict=True))]
    headings = ("j", "binomial C(s, j)", "monomial s^j", "Chebyshev T_j(2s/k-1)")
    return table_of(headings, rows, title="coefficients")


def _points_text(points: Sequence[int]) -> str:
    if len(points) <= _MOST_POINTS:
        return ", ".join(map(str, points))
    return f"{', '.join(map(str, points[:_MOST_POINTS]))} and {len(points) - _MOST_POINTS} more"

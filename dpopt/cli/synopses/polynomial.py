"""`dpopt polynomial`: the polynomial nearest to a predicate, or with the least coefficients or noise, with its proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.errors import PolynomialError

if TYPE_CHECKING:
    from fractions import Fraction

    from dpopt.polynomials import LeastDegree, Solution, Target

ERROR, COEFFICIENTS, NOISE = "error", "coefficients", "noise"
SENSITIVITY, DEVIATION = "sensitivity", "deviation"
TABLE = "table:"


@command("polynomial")
def polynomial(
    predicate: Annotated[
        str,
        typer.Option(
            "--predicate",
            help="What is approximated on s = 0..k, the number of true literals: or, and, atleast:R (at least R of k), or "
            "table:FILE (a text file of the k + 1 values, such as 0 1/2 1).",
        ),
    ] = "or",
    k: Annotated[
        int | None,
        typer.Option("--k", help="Number of literals of a query; not with table:FILE, which determines it."),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            "--error", help="The largest error allowed, such as 0.05 or 1/20: the least degree is found."
        ),
    ] = None,
    degree: Annotated[
        int | None, typer.Option("--degree", help="The largest degree allowed: the least error is found.")
    ] = None,
    free_constant: Annotated[
        bool,
        typer.Option(
            "--free-constant", help="For or: allow an error at s = 0 too, as for all other predicates."
        ),
    ] = False,
    minimise: Annotated[
        str,
        typer.Option(
            "--minimise",
            help="What is minimized: error; coefficients (the least weighted sum of coefficients with --error, or the "
            "least error with --coefficient-limit); or noise (the least predicted error of a noisy answer).",
        ),
    ] = ERROR,
    attributes: Annotated[
        int | None,
        typer.Option(
            "--attributes", help="Number of binary attributes d of the table; also prints sensitivities."
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            "--coefficient-weights",
            help="For --minimise coefficients: their weights, by sensitivity (the L1 sensitivity, for Laplace noise) or "
            "deviation (the standard deviation of an answer with the best Gaussian noise).",
        ),
    ] = SENSITIVITY,
    coefficient_limit: Annotated[
        str | None,
        typer.Option(
            "--coefficient-limit",
            help="For --minimise coefficients: the largest size allowed of any coefficient in --basis.",
        ),
    ] = None,
    basis: Annotated[
        str,
        typer.Option("--basis", help="Basis that --coefficient-limit is for: monomial or chebyshev."),
    ] = "monomial",
    n: Annotated[
        int | None, typer.Option("--n", help="For --minimise noise: the public number of records.")
    ] = None,
    rho: Annotated[
        float | None, typer.Option("--rho", help="For --minimise noise: the privacy budget rho in zCDP.")
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries",
            help="For --minimise noise: number of queries for which the error holds simultaneously; all queries on 1 to k "
            "attributes if left out.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            help="For --minimise noise: probability with which all these answers are within the error.",
        ),
    ] = 0.95,
    solver: Annotated[
        str | None,
        typer.Option(
            "--solver",
            help="Solver of linear programs to begin with; the proof does not depend on it. Without one: "
            "an exchange of points for the least error, highs for the rest; 'none' for exact arithmetic alone.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the polynomial with the points of the proof, as PNG.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--least-degrees",
            help="Write the least degrees for 1..k literals as CSV instead, each with its proofs; for --error, or for "
            ".5, .1, .05 and .01.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Save polynomial and proof as JSON.")
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Find the polynomial nearest to a predicate, proved best in exact arithmetic. Reads no private data."""
    from dpopt.cli.synopses.polynomial_report import report_polynomial, report_to_json
    from dpopt.polynomials.solution_files import write_solution

    _check_folders(plot, table, out)
    if table is not None:
        _write_table(predicate, k, error, table, free_constant=free_constant, solver=_asked(solver, None))
        return
    target = _target(predicate, k)
    if attributes is not None and attributes < target.width:
        raise PolynomialError(f"found --attributes {attributes}; expected at least k = {target.width}")
    _refuse_others(minimise, {COEFFICIENTS: (coefficient_limit,), NOISE: (n, rho, queries)})
    found: Solution | LeastDegree
    direct = None
    if minimise == ERROR:
        found = _least_error(
            target, _number(error, "--error"), degree, free=free_constant, solver=_asked(solver, None)
        )
    elif minimise == COEFFICIENTS:
        found = _small_coefficients(
            target,
            _number(error, "--error"),
            degree,
            attributes=attributes,
            weights=weights,
            limit=_number(coefficient_limit, "--coefficient-limit"),
            basis=basis,
            free=free_constant,
            solver=_asked(solver, "highs"),
        )
    elif minimise == NOISE:
        if error is not None or degree is not None:
            raise PolynomialError(
                "--minimise noise chooses error and degree itself; leave --error and --degree out"
            )
        found, direct = _least_noise(
            target, attributes, n, rho, queries, 1.0 - confidence, _asked(solver, "highs")
        )
    else:
        raise PolynomialError(f"found --minimise {minimise}; expected {ERROR}, {COEFFICIENTS} or {NOISE}")
    if out is not None:
        write_solution(found, out)
    if plot is not None:
        from dpopt.cli.pictures.polynomial_picture import draw_polynomial

        draw_polynomial(found, plot)
    if as_json:
        print_json(report_to_json(found, attributes))
    else:
        written = [path for path in (out, plot) if path is not None]
        report_polynomial(found, attributes, written, direct=direct)


def _check_folders(*paths: Path | None) -> None:
    for path in paths:
        if path is not None and not path.resolve().parent.is_dir():
            raise PolynomialError(f"there is no folder {str(path.parent)!r}; make it first")


def _refuse_others(minimise: str, own: dict[str, tuple[object, ...]]) -> None:
    """Refuse options that say nothing to what is minimized."""
    for name, values in own.items():
        if name != minimise and any(value is not None for value in values):
            what = "--coefficient-limit is" if name == COEFFICIENTS else "--n, --rho and --queries are"
            raise PolynomialError(f"{what} for --minimise {name}; found --minimise {minimise}")


def _least_error(
    target: Target, error: Fraction | None, degree: int | None, *, free: bool, solver: str | None
) -> Solution | LeastDegree:
    from dpopt.polynomials import best_polynomial, least_degree

    constant = True if free else None
    if (error is None) == (degree is None):
        raise PolynomialError(
            "give --error (the least degree is found) or --degree (the least error is found)"
        )
    if degree is not None:
        return best_polynomial(target, degree, free_constant=constant, solver=solver)
    assert error is not None  # noqa: S101  one of the two is given
    return least_degree(target, error, free_constant=constant, solver=solver)


def _small_coefficients(
    target: Target,
    error: Fraction | None,
    degree: int | None,
    *,
    attributes: int | None,
    weights: str,
    limit: Fraction | None,
    basis: str,
    free: bool,
    solver: str | None,
) -> Solution:
    from dpopt.polynomials import Basis, least_coefficients, least_error_within
    from dpopt.polynomials.coefficient_budgets import deviation_weights, sensitivity_weights

    constant, most = True if free else None, target.width if degree is None else degree
    if (error is None) == (limit is None):
        raise PolynomialError(
            "--minimise coefficients needs --error (the least weighted sum) or --coefficient-limit (the least error)"
        )
    if limit is not None:
        if basis not in {Basis.MONOMIAL.value, Basis.CHEBYSHEV.value}:
            raise PolynomialError(f"found --basis {basis}; expected monomial or chebyshev")
        return least_error_within(target, most, limit, Basis(basis), free_constant=constant, solver=solver)
    assert error is not None  # noqa: S101  one of the two is given
    if attributes is None:
        raise PolynomialError("--minimise coefficients with --error needs --attributes")
    if weights not in {SENSITIVITY, DEVIATION}:
        raise PolynomialError(f"found --coefficient-weights {weights}; expected {SENSITIVITY} or {DEVIATION}")
    given = (
        sensitivity_weights(attributes, most)
        if weights == SENSITIVITY
        else deviation_weights(attributes, target.width, most)
    )
    return least_coefficients(target, most, error, given, free_constant=constant, solver=solver)


def _least_noise(
    target: Target,
    attributes: int | None,
    records: int | None,
    rho: float | None,
    queries: int | None,
    beta: float,
    solver: str | None,
) -> tuple[Solution, float]:
    """Return the solution, and the predicted error with noise on each query alone."""
    from math import comb

    from dpopt.polynomials import least_predicted_error
    from dpopt.polynomials.joint import direct_error, rounded_noise_weights

    if attributes is None or records is None or rho is None:
        raise PolynomialError("--minimise noise needs --attributes, --n and --rho")
    answers = sum(comb(attributes, j) for j in range(1, target.width + 1)) if queries is None else queries
    weights = rounded_noise_weights(
        target.width, attributes=attributes, records=records, rho=rho, queries=answers, beta=beta
    )
    direct = direct_error(
        target.width, attributes=attributes, records=records, rho=rho, queries=answers, beta=beta
    )
    return least_predicted_error(target, weights, solver=solver), direct


def _write_table(
    predicate: str, k: int | None, error: str | None, path: Path, *, free_constant: bool, solver: str | None
) -> None:
    from dpopt.cli.reports.reports import console
    from dpopt.cli.synopses.polynomial_report import write_degree_table
    from dpopt.polynomials.degree_tables import ERRORS

    if k is None or predicate.startswith(TABLE):
        raise PolynomialError(
            "--least-degrees needs --k, the largest number of literals, and one of or, and, atleast:R"
        )
    allowed = _number(error, "--error")
    entries = write_degree_table(
        path,
        predicate,
        range(1, k + 1),
        ERRORS if allowed is None else (allowed,),
        free_constant=True if free_constant else None,
        solver=solver,
    )
    console().print(f"{entries:,} least degrees, each proved in exact arithmetic, written to {path}")


def _target(predicate: str, k: int | None) -> Target:
    from dpopt.files.reading import read_text
    from dpopt.polynomials import Target

    if not predicate.startswith(TABLE):
        if k is None:
            raise PolynomialError("give --k, the number of literals")
        return Target.named(predicate, k)
    path = Path(predicate.removeprefix(TABLE))
    target = Target.table(
        read_text(path, f"the table {str(path)!r}", PolynomialError).replace(",", " ").split()
    )
    if k is not None and k != target.width:
        raise PolynomialError(f"found --k {k} and a table of {target.width + 1} values; leave --k out")
    return target


def _number(text: str | None, option: str) -> Fraction | None:
    from dpopt.polynomials.targets import exact_number

    if text is None:
        return None
    number = exact_number(text, option)
    if number < 0:
        raise PolynomialError(f"found {option} {text}; expected 0 or more")
    return number


def _asked(solver: str | None, default: str | None) -> str | None:
    return default if solver is None else None if solver == "none" else solver

"""`dpopt polynomial`: the polynomial nearest to a predicate, or with the least coefficients or noise, with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.constraints import OneOf
from dpopt.errors import PolynomialError

if TYPE_CHECKING:
    from fractions import Fraction

    from dpopt.polynomials import LeastDegree, Polynomial, Solution, Target

ERROR, COEFFICIENTS, NOISE = "error", "coefficients", "noise"
SENSITIVITY, DEVIATION = "sensitivity", "deviation"
TABLE = "table:"


@dataclass(frozen=True)
class PolynomialOptions:
    """Which polynomial is sought."""

    predicate: Annotated[
        str,
        "What is approximated on s = 0..k, the number of true literals: or, and, atleast:R (at least R of k), or "
        "table:FILE (a text file of the k + 1 values, such as 0 1/2 1).",
    ] = "or"
    k: Annotated[int | None, "Number of literals of a query; not with table:FILE, which determines it."] = None
    error: Annotated[str | None, "The largest error allowed, such as 0.05 or 1/20: the least degree is found."] = None
    degree: Annotated[int | None, "The largest degree allowed: the least error is found."] = None
    point_weights: Annotated[
        Path | None, "Text file of k + 1 weights: an error at s counts so often, and not at all where the weight is 0."
    ] = None
    given: Annotated[
        Path | None, "Text file of your own polynomial, coefficients in --basis: its error beside the least one."
    ] = None
    free_constant: Annotated[bool, "For or: allow an error at s = 0 too, as for all other predicates."] = False
    minimise: Annotated[
        str,
        "What is minimized: error; coefficients (the least weighted sum of coefficients with --error, or the least "
        "error with --coefficient-limit); or noise (the least predicted error of a noisy answer).",
    ] = ERROR
    attributes: Annotated[int | None, "Number of binary attributes d of the table; also prints sensitivities."] = None
    coefficient_weights: Annotated[
        str,
        "For --minimise coefficients: their weights, by sensitivity (the L1 sensitivity, for Laplace noise) or "
        "deviation (the standard deviation of an answer with the best Gaussian noise).",
    ] = SENSITIVITY
    coefficient_limit: Annotated[
        str | None, "For --minimise coefficients: the largest size allowed of any coefficient in --basis."
    ] = None
    basis: Annotated[str, "Basis of --coefficient-limit (monomial or chebyshev), and of --given (binomial, too)."] = (
        "monomial"
    )
    n: Annotated[int | None, "For --minimise noise: the public number of records."] = None
    rho: Annotated[float | None, "For --minimise noise: the privacy budget rho in zCDP."] = None
    queries: Annotated[
        int | None,
        "For --minimise noise: number of queries for which the error holds simultaneously; all queries on 1 to k "
        "attributes by default.",
    ] = None
    confidence: Annotated[
        float, "For --minimise noise: probability with which all these answers are within the error."
    ] = 0.95
    solver: Annotated[
        str | None,
        "Solver of linear programs: solves the model, and says how far its polynomial is from the proven least; the "
        "exact method begins with it. Without one: an exchange of points for the least error, highs for the rest; "
        "'none' for exact arithmetic alone.",
    ] = None

    @property
    def constant(self) -> bool | None:
        """Whether the constant is free; None leaves it to the predicate."""
        return True if self.free_constant else None

    def solved_by(self, default: str | None) -> str | None:
        """Return the solver."""
        return default if self.solver is None else None if self.solver == "none" else self.solver

    def target(self) -> Target:
        """Return the approximated predicate."""
        target = _target(self.predicate, self.k)
        if self.point_weights is None:
            return target
        try:
            return target.weighted(_numbers(self.point_weights, "weights"))
        except PolynomialError as error:
            raise PolynomialError(f"--point-weights: {error}") from None

    def own(self) -> Polynomial | None:
        """Return the given polynomial."""
        from dpopt.polynomials import Basis, Polynomial

        if self.given is None:
            return None
        names = [basis.value for basis in Basis]
        if self.basis not in names or (self.error, self.degree, self.minimise) != (None, None, ERROR):
            raise PolynomialError(
                f"--given has its own degree, and --basis {', '.join(names)}; leave --error, --degree and --minimise out"
            )
        return Polynomial.from_basis(self.target().width, _numbers(self.given, "coefficients"), Basis(self.basis))

    def found(self) -> tuple[Solution | LeastDegree, float | None]:
        """Return the solution, and where noise is minimized the predicted error with noise on each query alone."""
        target = self.target()
        if self.attributes is not None and self.attributes < target.width:
            raise PolynomialError(f"found --attributes {self.attributes}; expected at least k = {target.width}")
        OneOf("--minimise", (ERROR, COEFFICIENTS, NOISE))(self.minimise, PolynomialError)
        kinds = {ERROR: self._least_error, COEFFICIENTS: self._small_coefficients, NOISE: self._least_noise}
        own = {
            COEFFICIENTS: ("--coefficient-limit is", (self.coefficient_limit,)),
            NOISE: ("--n, --rho and --queries are", (self.n, self.rho, self.queries)),
        }
        for name, (what, values) in own.items():
            if name != self.minimise and any(value is not None for value in values):
                raise PolynomialError(f"{what} for --minimise {name}; found --minimise {self.minimise}")
        return kinds[self.minimise](target)

    def _least_error(self, target: Target) -> tuple[Solution | LeastDegree, None]:
        from dpopt.polynomials import best_polynomial, certify, least_degree

        error, solver, own = _number(self.error, "--error"), self.solved_by(None), self.own()
        if own is not None:
            return certify(own, target, free_constant=self.constant, solver=solver).best, None
        if self.degree is not None and error is None:
            return best_polynomial(target, self.degree, free_constant=self.constant, solver=solver), None
        if self.degree is not None or error is None:
            raise PolynomialError("give --error (the least degree is found) or --degree (the least error is found)")
        return least_degree(target, error, free_constant=self.constant, solver=solver), None

    def _small_coefficients(self, target: Target) -> tuple[Solution, None]:
        from dpopt.polynomials import Basis, least_coefficients, least_error_within
        from dpopt.polynomials.coefficient_budgets import deviation_weights, sensitivity_weights

        error, limit = (_number(self.error, "--error"), _number(self.coefficient_limit, "--coefficient-limit"))
        most, solver = target.width if self.degree is None else self.degree, self.solved_by("highs")
        if limit is not None and error is None:
            basis = Basis(OneOf("--basis", ("monomial", "chebyshev"))(self.basis, PolynomialError))
            found = least_error_within(target, most, limit, basis, free_constant=self.constant, solver=solver)
            return found, None
        if limit is not None or error is None:
            raise PolynomialError(
                "--minimise coefficients needs --error (the least weighted sum) or --coefficient-limit (the least "
                "error)"
            )
        if self.attributes is None:
            raise PolynomialError("--minimise coefficients with --error needs --attributes")
        OneOf("--coefficient-weights", (SENSITIVITY, DEVIATION))(self.coefficient_weights, PolynomialError)
        given = (
            sensitivity_weights(self.attributes, most)
            if self.coefficient_weights == SENSITIVITY
            else deviation_weights(self.attributes, target.width, most)
        )
        found = least_coefficients(target, most, error, given, free_constant=self.constant, solver=solver)
        return found, None

    def _least_noise(self, target: Target) -> tuple[Solution, float]:
        from dpopt.polynomials import least_predicted_error
        from dpopt.polynomials.coefficient_budgets import direct_error, rounded_noise_weights

        if self.error is not None or self.degree is not None:
            raise PolynomialError("--minimise noise chooses error and degree itself; leave --error and --degree out")
        if self.attributes is None or self.n is None or self.rho is None:
            raise PolynomialError("--minimise noise needs --attributes, --n and --rho")
        every = sum(comb(self.attributes, j) for j in range(1, target.width + 1))
        asked: dict[str, Any] = {
            "attributes": self.attributes,
            "records": self.n,
            "rho": self.rho,
            "queries": every if self.queries is None else self.queries,
            "beta": 1.0 - self.confidence,
        }
        weights = rounded_noise_weights(target.width, **asked)
        found = least_predicted_error(target, weights, solver=self.solved_by("highs"))
        return found, direct_error(target.width, **asked)


@command("polynomial")
def polynomial(
    *,
    sought: PolynomialOptions,
    plot: Annotated[Path | None, "Draw the polynomial with the points of the proof, as PNG."] = None,
    table: Annotated[
        Path | None,
        "--least-degrees",
        "Write the least degrees for 1..k literals as CSV instead, each with its proofs; for --error, or for "
        ".5, .1, .05 and .01.",
    ] = None,
    compare: Annotated[
        bool,
        "Print error and coefficients of Chebyshev's, Sherstov's and the best polynomials instead, up to --degree.",
    ] = False,
    out: Annotated[Path | None, "-o", "--out", "Save polynomial and proof as JSON."] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Find the polynomial nearest to a predicate, proved best in exact arithmetic. Reads no private data."""
    from dpopt.cli.synopses.polynomial_report import report_polynomial, report_to_json, solution_of
    from dpopt.polynomials import solver_answer
    from dpopt.polynomials.minimax import write_solution

    for path in (plot, table, out):
        if path is not None and not path.resolve().parent.is_dir():
            raise PolynomialError(f"there is no folder {str(path.parent)!r}; make it first")
    if table is not None:
        _write_table(sought, table)
        return
    if compare:
        _compare(sought, plot, out, as_json=as_json)
        return
    found, direct = sought.found()
    named = sought.solved_by(None)
    answer = None if named is None else solver_answer(solution_of(found).problem, named)
    if out is not None:
        write_solution(found, out)
    if plot is not None:
        from dpopt.cli.pictures import draw_polynomial

        draw_polynomial(sought.own() or solution_of(found).polynomial, solution_of(found).problem.target, plot)
    if as_json:
        print_json(report_to_json(found, sought.attributes, answer, sought.own()))
    else:
        written = [path for path in (out, plot) if path is not None]
        report_polynomial(found, sought.attributes, written, direct=direct, answer=answer, own=sought.own())


def _compare(sought: PolynomialOptions, plot: Path | None, out: Path | None, *, as_json: bool) -> None:
    from dpopt.cli.pictures import draw_comparison
    from dpopt.cli.synopses.polynomial_report import comparison_rows, report_comparison

    if sought.error is not None or sought.given is not None or out is not None or sought.minimise != ERROR:
        raise PolynomialError("--compare takes --degree, the largest; leave out --error, --minimise, --given and --out")
    target = sought.target()
    rows = comparison_rows(target, sought.degree, sought.attributes, sought.constant, sought.solved_by(None))
    if plot is not None:
        draw_comparison(rows, target.name, plot)
    if as_json:
        print_json({"target": target.name, "k": target.width, "rows": rows})
    else:
        report_comparison(rows, plot)


def _write_table(sought: PolynomialOptions, path: Path) -> None:
    from dpopt.cli.reports.reports import console
    from dpopt.cli.synopses.polynomial_report import write_degree_table
    from dpopt.polynomials.minimax import ERRORS

    others = (sought.point_weights, sought.given, sought.degree)
    if sought.k is None or sought.predicate.startswith(TABLE) or any(one is not None for one in others):
        raise PolynomialError(
            "--least-degrees needs --k, the largest number of literals, and one of or, and, atleast:R; leave "
            "--point-weights, --given and --degree out"
        )
    allowed = _number(sought.error, "--error")
    entries = write_degree_table(
        path,
        sought.predicate,
        range(1, sought.k + 1),
        ERRORS if allowed is None else (allowed,),
        free_constant=sought.constant,
        solver=sought.solved_by(None),
    )
    console().print(f"{entries:,} least degrees, each proved in exact arithmetic, written to {path}")


def _target(predicate: str, k: int | None) -> Target:
    from dpopt.polynomials import Target

    if not predicate.startswith(TABLE):
        if k is None:
            raise PolynomialError("give --k, the number of literals")
        return Target.named(predicate, k)
    target = Target.table(_numbers(Path(predicate.removeprefix(TABLE)), "table"))
    if k is not None and k != target.width:
        raise PolynomialError(f"found --k {k} and a table of {target.width + 1} values; leave --k out")
    return target


def _numbers(path: Path, what: str) -> list[str]:
    from dpopt.files.reading import read_text

    return read_text(path, f"the {what} {str(path)!r}", PolynomialError).replace(",", " ").split()


def _number(text: str | None, option: str) -> Fraction | None:
    from dpopt.polynomials.targets import exact_number

    if text is None:
        return None
    number = exact_number(text, option)
    if number < 0:
        raise PolynomialError(f"found {option} {text}; expected 0 or more")
    return number

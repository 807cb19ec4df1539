"""Tables of least degrees, each entry with its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpopt.errors import PolynomialError
from dpopt.polynomials.constructions import chebyshev_degree
from dpopt.polynomials.minimax import LeastDegree, least_degree, verify_least_degree
from dpopt.polynomials.targets import AT_LEAST, OR, Target
from dpopt.programs.solver import Solver

ERRORS = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100))


@dataclass(frozen=True, slots=True)
class DegreeEntry:
    """One entry: the least degree with its proof, and the degree of the closed form, for OR only."""

    predicate: str
    width: int
    found: LeastDegree
    chebyshev: int | None


def degree_table(
    predicate: str,
    widths: Sequence[int],
    errors: Sequence[Fraction] = ERRORS,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
) -> Iterator[DegreeEntry]:
    """Yield the least degree for each error and each k, in this order; every proof has been checked by `verify_least_degree`.

    Parameters
    ----------
    predicate
        "or", "and" or "atleast:R"; values of k below R are left out.
    widths
        Values of k. The degree at one k is where the search begins at the next, so that increasing values are fast.
    errors
        Largest errors allowed, >= 0.
    free_constant, solver
        As of `best_polynomial`.

    Raises
    ------
    PolynomialError
        An unknown predicate, or a number out of range.
    """
    least = int(predicate.removeprefix(AT_LEAST)) if predicate[len(AT_LEAST) :].isdecimal() else 1
    if not any(width >= least for width in widths):
        raise PolynomialError(f"found no k of at least {least}, which {predicate!r} needs")
    for error in errors:
        degree = 0
        for width in widths:
            if width < least:
                continue
            target = Target.named(predicate, width)
            found = least_degree(target, error, free_constant=free_constant, solver=solver, start=degree)
            verify_least_degree(found)
            degree = found.degree
            closed = chebyshev_degree(width, error) if target.name == OR else None
            yield DegreeEntry(predicate, width, found, closed)

"""Solutions with their certificates as JSON files; what is read is verified again."""

from __future__ import annotations

import os
from pathlib import Path

from dpopt.errors import PolynomialError
from dpopt.files.codec import decode, encode
from dpopt.files.json_files import read_json_object, write_json_object
from dpopt.polynomials.certificates import Solution, verify
from dpopt.polynomials.minimax import LeastDegree, verify_least_degree

HEADER = {"dpopt_polynomial": 1}


def write_solution(found: Solution | LeastDegree, path: str | os.PathLike[str]) -> None:
    """Write a solution, or a least degree, as JSON; every number that matters is a fraction as text.

    Raises
    ------
    PolynomialError
        The folder does not exist.
    """
    if not Path(path).resolve().parent.is_dir():
        raise PolynomialError(f"there is no folder {os.fspath(Path(path).parent)!r}; make it first")
    write_json_object(path, encode(found, HEADER))


def read_solution(path: str | os.PathLike[str]) -> Solution | LeastDegree:
    """Read what `write_solution` wrote, and verify it in exact arithmetic.

    Raises
    ------
    PolynomialError
        No such file, another form, or a certificate that does not hold.
    """
    given, place = (
        read_json_object(path, "polynomial", PolynomialError),
        f"polynomial file {os.fspath(path)!r}",
    )
    if "best" not in given:
        solution = decode(Solution, given, place, PolynomialError, header=HEADER)
        verify(solution)
        return solution
    degree = decode(LeastDegree, given, place, PolynomialError, header=HEADER)
    verify_least_degree(degree)
    return degree

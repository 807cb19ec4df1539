"""The files of released polynomials: the statement and the noisy coefficients."""

from __future__ import annotations

import os
from typing import Any

from dpopt.errors import TranscriptError
from dpopt.releases.archives import Numbers, read_archive, write_archive
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerFigures

_NOISY = "noisy"


def write_sanitized(released: SanitizedPolynomial, path: str | os.PathLike[str]) -> None:
    """Write a released polynomial, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    write_archive(path, "released polynomial", released.statement(), {_NOISY: released.noisy})


def read_sanitized(path: str | os.PathLike[str]) -> SanitizedPolynomial:
    """Read what `write_sanitized` wrote.

    What it states of its privacy is taken as it is: the family of polynomials, which decides what it cost, is not on file.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no released polynomial, or damaged.
    """
    return read_archive(path, "released polynomial", "dpopt_sanitizer", "write_sanitized", _released)


def _released(statement: dict[str, Any], numbers: Numbers) -> SanitizedPolynomial:
    privacy = dict(statement["privacy"])
    if missing := {"epsilon", "delta", "neighbours"} - set(privacy):
        raise TranscriptError(f"it does not say what it cost: {', '.join(sorted(missing))} missing")
    figures = SanitizerFigures.from_json(statement["figures"])
    return SanitizedPolynomial(figures, numbers(_NOISY, figures.monomials.count), privacy)

"""Declarations of decision lists, and points, from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.files.array_files import read_array
from dpopt.files.codec import decode
from dpopt.files.json_files import json_object
from dpopt.files.reading import read_text
from dpopt.files.strict_json import parse_json
from dpopt.queries.decision_lists.families import DeclaredRows, ListFamily

_LOOKS_LIKE_A_FILE = (".txt", ".json", ".csv", "/", "\\")


def read_declaration(
    given: str | os.PathLike[str],
    length: int | None = None,
    kind: str | None = None,
    changes: int | None = None,
) -> ListFamily:
    """Return the declared family: names in a text, or a file that has them, and numbers that the file may have.

    Parameters
    ----------
    given : str or path
        Names with commas between them ("x1..x30" for a range); or the path of a file: JSON with the keys variables, k, kind and
        changes, or text with one name on each line.
    length, kind, changes :
        As for `ListFamily.of`; where the file says something else, it is an error.

    Raises
    ------
    WorkloadError
        If k is given nowhere, two values contradict each other, or the file cannot be read.
    """
    said = {"k": length, "kind": kind, "changes": changes}
    stated: dict[str, Any] = {"variables": os.fspath(given)}
    if Path(given).is_file():
        place = f"the declaration of variables {os.fspath(given)!r}"
        text = read_text(given, place, WorkloadError)
        stated = {"variables": text.split()}
        if text.lstrip().startswith("{"):
            stated = json_object(parse_json(text, place, WorkloadError), place, WorkloadError)
    elif any(part in os.fspath(given) for part in _LOOKS_LIKE_A_FILE):
        raise WorkloadError(
            f"there is no file {given}; expected names with commas between them, or a file of them"
        )
    for key, value in said.items():
        if value is not None and stated.setdefault(key, value) != value:
            raise WorkloadError(
                f"{given} says {key} = {stated[key]!r}, and {value!r} was asked for; leave one out"
            )
    if stated.get("k") is None:
        raise WorkloadError(
            "the largest number of literals of a row is public and has to be declared: give --k"
        )
    declared = decode(DeclaredRows, stated, "the declaration of rows", WorkloadError, partial=True)
    return ListFamily.of(declared.variables, declared.k, declared.kind, declared.changes)


def read_points(path: str | os.PathLike[str], family: ListFamily) -> NDArray[np.uint8]:
    """Read points, (q, m): a CSV file whose first line names every variable, in any order, or an .npy array of bits.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or does not hold such points.
    """
    source = Path(path)
    try:
        if source.suffix == ".npy":
            return family.checked(read_array(source, "no array of points", WorkloadError))
        first, *others = read_text(source, "the file", WorkloadError).split("\n")
        names = [name.strip() for name in first.split(",")]
        if sorted(names) != sorted(family.variables):
            raise WorkloadError("its first line does not name every variable once")
        lines = [line for line in others if line.strip()]
        if not lines:
            raise WorkloadError("no line after the names")
        values = np.loadtxt(lines, delimiter=",", comments=None, dtype=np.uint8, ndmin=2)
        if values.shape[1] != len(names):
            raise WorkloadError(f"found {values.shape[1]} values in a line of {len(names)} names")
    except (ValueError, OverflowError) as problem:
        raise WorkloadError(f"{source} holds no points: {problem}") from problem
    order = [names.index(name) for name in family.variables]
    return family.checked(values[:, order])

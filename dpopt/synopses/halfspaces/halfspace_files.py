"""The files of halfspace releases: the statement and the noisy numbers of each measurement."""

from __future__ import annotations

import os
from typing import Any

from dpopt.algorithms.stated_privacy import stated_privacy
from dpopt.releases.archives import Numbers, read_archive, write_archive
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.synopses.halfspaces.halfspaces import Halfspaces


def write_halfspaces(halfspaces: Halfspaces, path: str | os.PathLike[str]) -> None:
    """Write a release, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    numbers = {_name(place): values for place, values in enumerate(halfspaces.noisy)}
    write_archive(path, "release", halfspaces.statement(), numbers)


def read_halfspaces(path: str | os.PathLike[str]) -> Halfspaces:
    """Read what `write_halfspaces` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no such release, or damaged.
    """
    return read_archive(
        path, "release of halfspaces", "dpopt_halfspaces", "'dpopt halfspaces release'", _halfspaces
    )


def _halfspaces(statement: dict[str, Any], numbers: Numbers) -> Halfspaces:
    plan = HalfspacePlan.from_json(statement["plan"])
    privacy = stated_privacy(statement["privacy"], plan)
    return Halfspaces(
        plan, tuple(numbers(_name(place), size) for place, size in enumerate(plan.numbers)), privacy
    )


def _name(place: int) -> str:
    return f"measured_{place}"

"""Replay: a finished release, rebuilt from its plan and transcript alone."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path

from dpopt.algorithms.registry import algorithm_of
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthetic_release import NOT_ENDED, SyntheticRelease, finish_release
from dpopt.errors import PlanError, ReleaseFolderError, TranscriptError
from dpopt.files.reading import damage_as
from dpopt.files.written_files import whole_file
from dpopt.releases.folder_files import PLAN, RELEASE, REQUEST, SCHEMA, TRANSCRIPT, WORKLOAD, new_folder, read_json
from dpopt.releases.job import Job
from dpopt.releases.measured_size import check_size_on_file
from dpopt.releases.run import Outcome, rebuild_so_far
from dpopt.transcript.journal import read_journal
from dpopt.transcript.past import Past

_STATED = ("private", "epsilon", "delta", "rho", "charges")
INPUTS = (PLAN, SCHEMA, WORKLOAD, TRANSCRIPT)
"""The files from which a release is rebuilt. A replay copies them unchanged; it refuses contents without the
fingerprint in the transcript."""


def replay(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> SyntheticRelease:
    """Rebuild a finished release from its plan and transcript, with no table and no solver; every certificate is recomputed.

    Raises
    ------
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    ReleaseFolderError
        If `target` is not empty or cannot be written.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> asked = {"epsilon": 1, "delta": 1e-6, "algorithm": "projection", "predict": False}
    >>> folder = tempfile.mkdtemp()
    >>> made = dpopt.release(table, schema, "marginals:1", n0=1000, **asked)
    >>> made.save(folder + "/release")
    >>> again = dpopt.replay(folder + "/release", folder + "/again")
    >>> again.to_pandas().equals(made.to_pandas())
    True
    """
    place, copy = Path(folder), Path(target)
    job, outcome = _rebuilt(place)
    if not outcome.ended:
        raise _not_ended(place)
    with new_folder(copy), damage_as(TranscriptError, _contradiction(place)):
        for name in INPUTS:
            with (place / name).open("rb") as source, whole_file(copy / name) as file:
                shutil.copyfileobj(source, file)
        return finish_release(job, copy, outcome, copy.absolute() / TRANSCRIPT)


def differing_files(folder: Path, rebuilt: Path) -> list[str]:
    """Return the names of files of a release that are missing or not byte for byte those of its replay; `INPUTS` never are."""
    return sorted(
        path.name
        for path in rebuilt.iterdir()
        if not (folder / path.name).exists() or not filecmp.cmp(folder / path.name, path, shallow=False)
    )


def absent_files(folder: Path, rebuilt: Path) -> list[str]:
    """Return the names of files of a replay that the release has not."""
    return sorted(path.name for path in rebuilt.iterdir() if not (folder / path.name).exists())


def load(folder: str | os.PathLike[str]) -> SyntheticRelease:
    """Read a finished release from its plan and transcript; nothing is written."""
    found = read_release(folder)
    if not found.ended:
        raise _not_ended(Path(folder))
    return found


def read_release(folder: str | os.PathLike[str]) -> SyntheticRelease:
    """Look into the folder of a run, which may have been interrupted or go on: everything is computed again from it.

    Nothing is written, and neither table nor solver is needed. Of a run that has not ended there are the rounds on file,
    and no records. Raises ReleaseFolderError if there is no run with a plan, TranscriptError if it contradicts itself.

    Examples
    --------
    >>> import dpopt, numpy, tempfile
    >>> schema, table = dpopt.Schema.binary(3), numpy.eye(3, dtype=int).repeat(300, axis=0)
    >>> asked = dpopt.DualQuery(rounds=4, draws=50, step=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dpopt.release(table, schema, "marginals:2", n0=900, algorithm=asked, predict=False, out=folder)
    ...     found = dpopt.read_release(folder)
    >>> found.ended, found.rounds["round"].tolist(), found.best_response(2).name
    (True, [1, 2, 3, 4], 'best_response')
    """
    place = Path(folder)
    job, outcome = _rebuilt(place)
    with damage_as(TranscriptError, _contradiction(place)):
        made = finish_release(job, None, outcome, place.absolute() / TRANSCRIPT)
        if (place / RELEASE).exists():
            stated = read_json(place / RELEASE).get("privacy", {})
            if any(stated.get(name) != made.statement["privacy"][name] for name in _STATED):
                raise TranscriptError(
                    f"the privacy that {place / RELEASE} states is not what the transcript gives: the file was changed "
                    f"after the release, or written by another version. Make it again with 'dpopt replay {place} -o NEW'"
                )
    return made


def finished_release(release: object) -> SyntheticRelease:
    """Return a release as it is, or the one of a folder."""
    if isinstance(release, SyntheticRelease):
        if not release.ended:
            raise PlanError(NOT_ENDED)
        return release
    if isinstance(release, str | os.PathLike):
        return load(release)
    raise PlanError(
        f"found a {type(release).__name__}; expected a release or its folder. Synthetic rows need their schema: "
        "dpopt.evaluate(rows, table, schema=...)"
    )


def _rebuilt(folder: Path) -> tuple[Job, Outcome]:
    if (folder / REQUEST).exists() and not (folder / PLAN).exists():
        raise ReleaseFolderError(
            f"the run in {folder} has no plan yet: it ended before its number of records was measured; continue it with "
            f"'dpopt resume {folder} TABLE'"
        )
    job = read_job(folder)
    with damage_as(TranscriptError, _contradiction(folder)):
        past = Past(read_journal(folder / TRANSCRIPT))
        check_size_on_file(past, job.plan.size, job.plan.budget)
        return job, rebuild_so_far(algorithm_of(job.plan), job, past)


def _not_ended(folder: Path) -> TranscriptError:
    return TranscriptError(f"the run in {folder} has not ended; continue it with 'dpopt resume {folder} TABLE'")


def _contradiction(folder: Path) -> str:
    return f"what {folder} holds contradicts itself"

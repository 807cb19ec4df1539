"""Replay: a finished release, rebuilt from its plan and transcript alone."""

from __future__ import annotations

import os
from pathlib import Path

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery import Round, recertify
from dpopt.algorithms.folder_files import PLAN, SCHEMA, TRANSCRIPT, WORKLOAD, make_empty
from dpopt.algorithms.job import Job
from dpopt.algorithms.past import Past, read_past
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthetic_release import SyntheticRelease, finish_release
from dpopt.errors import TranscriptError
from dpopt.transcript.journal import read_journal


def replay(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> SyntheticRelease:
    """Rebuild a finished release from its plan and transcript, with no table and no solver; every certificate is recomputed.

    Raises
    ------
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    ReleaseFolderError
        If `target` is not empty or cannot be written.
    """
    place, copy = Path(folder), Path(target)
    job, past, rounds = _recertified(place)
    make_empty(copy)
    for name in (PLAN, SCHEMA, WORKLOAD, TRANSCRIPT):
        (copy / name).write_bytes((place / name).read_bytes())
    return finish_release(job, copy, spent_again(job, past), rounds)


def differing_files(folder: Path, rebuilt: Path) -> list[str]:
    """Return the names of files of a release that are missing or not byte for byte those of its replay."""
    return sorted(
        path.name
        for path in rebuilt.iterdir()
        if not (folder / path.name).exists() or (folder / path.name).read_bytes() != path.read_bytes()
    )


def load(folder: str | os.PathLike[str]) -> SyntheticRelease:
    """Read a finished release from its plan and transcript; nothing is written.

    Raises
    ------
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    """
    job, past, rounds = _recertified(Path(folder))
    return finish_release(job, None, spent_again(job, past), rounds)


def _recertified(folder: Path) -> tuple[Job, Past, list[Round]]:
    job = read_job(folder)
    past = read_past(read_journal(folder / TRANSCRIPT), job)
    if not past.finished:
        raise TranscriptError(
            f"the run in {folder} has not ended; continue it with 'dpopt resume {folder} TABLE'"
        )
    clauses, sizes, rules = job.record_clauses(), job.record_sizes(), job.record_rules()
    rounds = [
        recertify(clauses, sizes, known.sampled, known.record, rules)
        for known in past.rounds
        if known.sampled is not None and known.record is not None
    ]
    return job, past, rounds


def spent_again(job: Job, past: Past) -> Ledger:
    """Rebuild the ledger from the charges on file."""
    plan = job.plan
    ledger, charges = job.ledger(), list(plan.charges())
    if past.one_way_charge is not None:
        ledger.spend(past.one_way_charge)
    for known in past.rounds:
        ledger.spend(known.charges[0])
        for repeated in known.charges[1:]:
            ledger.substitute(repeated, charges.pop())
    return ledger

"""Problems to compare solvers on: instances of the catalogue, or rounds of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dpopt.algorithms.after.certify_report import parse_rounds
from dpopt.algorithms.replay import load
from dpopt.comparison.instances import read_instance
from dpopt.comparison.parts import Case
from dpopt.errors import PlanError, ProgramError
from dpopt.models.best_responses.best_response import round_program


def cases_from_instances(
    places: Sequence[Path], *, note: Callable[[str], None] = lambda text: None
) -> list[Case]:
    """Return the instances in files and folders (with all below them), by path.

    Parameters
    ----------
    places
        Files *.toml, or folders.
    note
        Called with a note on each file below a folder that is no instance of a best response; a file that is named must be
        one.

    Raises
    ------
    PlanError
        If a place does not exist, a file is named twice, or nothing is found.
    ProgramError
        If a named file is no instance.
    """
    cases: dict[str, Case] = {}
    seen: set[Path] = set()
    for place in places:
        if not place.exists():
            raise PlanError(f"{place} does not exist; name files *.toml or folders of instances")
        for path in [place] if place.is_file() else sorted(place.rglob("*.toml")):
            try:
                if path.resolve() in seen:
                    raise PlanError(f"{path} is named twice")
                seen.add(path.resolve())
                instance = read_instance(path)
            except (OSError, RuntimeError) as error:  # a link that leads to itself
                note(f"left out: {path}: {error}")
                continue
            except ProgramError as error:
                if place.is_file():
                    raise
                note(f"left out: {error}")
                continue
            stem = instance.name.encode(
                "utf-8", "backslashreplace"
            ).decode()  # a file's name need not be text
            name = _unused(stem, path, cases)
            cases[name] = Case(name, instance.problem, instance.best_known, instance.bound)
    if not cases:
        raise PlanError("no instances were found; name files *.toml or folders that hold some")
    return list(cases.values())


def cases_from_transcript(folder: Path, rounds: str) -> list[Case]:
    """Return the best responses of a finished run's rounds; the record on file is what is known beforehand.

    Raises
    ------
    PlanError
        If the text names no rounds of the run.
    TranscriptError
        If the run has not ended, or the transcript is damaged.
    """
    finished = load(folder)
    job = finished.job
    clauses, sizes, rules = job.record_clauses(), job.record_sizes(), job.record_rules()
    wanted = set(parse_rounds(rounds, [played.sampled.round for played in finished.rounds]))
    return [
        Case(
            f"round {played.sampled.round}",
            round_program(clauses, sizes, played.sampled, rules),
            played.certificate.objective,
        )
        for played in finished.rounds
        if played.sampled.round in wanted
    ]


def _unused(name: str, path: Path, taken: dict[str, Case]) -> str:
    """Return a name that no other case has: that of the file, with as many of its folders as are needed."""
    parts = [*path.resolve().parent.parts]
    while name in taken:
        name = f"{parts.pop()}/{name}"
    return name

"""What `dpopt certify` writes and prints: the file of certified rounds, and the summary over them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpopt.algorithms.after.certify import CertifiedRound
from dpopt.algorithms.dualquery.certified_accuracy import RoundGaps, certified_accuracy
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.statement import gaps_of
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, ReleaseFolderError
from dpopt.releases.folder_files import TRANSCRIPT, read_json, write_json

FORMAT = 1


def parse_rounds(text: str, there: Collection[int]) -> list[int]:
    """Return the rounds that a text names: "all", or numbers and ranges such as "1,5-9".

    Parameters
    ----------
    text
        What the user asks for.
    there
        Numbers of the rounds that were played.

    Raises
    ------
    PlanError
        If it is neither, or names a round that was not played.
    """
    if text.strip() == "all":
        return sorted(there)
    wanted: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 40:
            raise PlanError(f"rounds are 'all', or numbers and ranges such as 1,5-9; found {text!r:.80}")
        low, high = int(first), int(last or first)
        missing = [number for number in (low, high) if number not in there]
        if missing or low > high:
            raise PlanError(
                f"{part.strip()!r} names no rounds of this run; it has the rounds {min(there, default=0)} to "
                f"{max(there, default=0)}"
            )
        wanted.update(range(low, high + 1))
    return sorted(wanted & set(there))


def check_target(target: Path, folder: Path) -> None:
    """Refuse, before any work, a file that cannot be written or that lies in the release folder, which replay compares.

    Raises
    ------
    ReleaseFolderError
        With what to do.
    """
    place = target.resolve()
    if place.is_relative_to(folder.resolve()):
        raise ReleaseFolderError(
            f"{target} lies in the release folder, which replay compares byte for byte. Name a file elsewhere"
        )
    if place.is_dir() or not place.parent.is_dir():
        raise ReleaseFolderError(f"{target} cannot be written: name a file in a folder that exists")


def transcript_hash(folder: Path) -> str:
    """Return the SHA-256 of a release's transcript: it is public, and identifies the run that a file of bounds belongs to."""
    with (folder / TRANSCRIPT).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rounds(target: Path, folder: Path) -> list[CertifiedRound]:
    """Return the rounds that an earlier call left in the file; none if there is no file.

    Raises
    ------
    PlanError
        If the file is of another kind or belongs to another run.
    """
    if not target.exists():
        return []
    stated = read_json(target)
    if stated.get("dpopt_certify") != FORMAT or not isinstance(stated.get("rounds"), list):
        raise PlanError(f"{target} exists and is no file of certified rounds. Name another file")
    if stated.get("transcript") != transcript_hash(folder):
        raise PlanError(f"{target} belongs to another run than {folder}. Name another file")
    return [CertifiedRound.from_json(row) for row in stated["rounds"]]


def write_rounds(
    target: Path, folder: Path, finished: SyntheticRelease, rounds: Sequence[CertifiedRound]
) -> None:
    """Write the file of certified rounds whole or not at all."""
    write_json(target, report(folder, finished, rounds))


def report(folder: Path, finished: SyntheticRelease, rounds: Sequence[CertifiedRound]) -> dict[str, Any]:
    """Return everything that is known: the rounds and the summary."""
    return {
        "dpopt_certify": FORMAT,
        "transcript": transcript_hash(folder),
        "rounds": [one.to_json() for one in rounds],
        "summary": summary(finished, rounds),
    }


def summary(finished: SyntheticRelease, rounds: Sequence[CertifiedRound]) -> dict[str, Any]:
    """Return gaps over draws, proven and reported, in all and by third of the run, and what the theorem makes of them.

    Rounds that were not certified enter the theorem with the bounds of the release itself.
    """
    draws, played = DualQueryPlan.of(finished.job.plan).draws, len(finished.rounds)
    certified = {one.round: _gaps(one) for one in rounds}
    ends = [played * third // 3 for third in range(4)]
    thirds = [
        {"rounds": f"{low + 1}-{high}", **_figures([one for one in rounds if low < one.round <= high], draws)}
        for low, high in pairwise(ends)
        if high > low
    ]
    gaps = [certified.get(done.sampled.round, gaps_of(done)) for done in finished.rounds]
    return {
        "rounds_played": played,
        **_figures(rounds, draws),
        "rounds_proven_optimal": sum(one.proven_bound == one.objective for one in rounds),
        "rounds_with_a_better_record": sum(one.better_record is not None for one in rounds),
        "by_third": thirds,
        "accuracy": certified_accuracy(finished.job, gaps),
    }


def _gaps(one: CertifiedRound) -> RoundGaps:
    reported = None if one.reported_bound is None else max(0, one.reported_bound - one.objective)
    return RoundGaps(one.proven_bound - one.objective, reported)


def _figures(rounds: Sequence[CertifiedRound], draws: int) -> dict[str, Any]:
    """Return the number of rounds and their mean and largest gap divided by the draws."""
    gaps = [_gaps(one) for one in rounds]
    return {
        "rounds_certified": len(rounds),
        "proven_gap_over_draws": _mean_and_largest([gap.proven for gap in gaps], draws),
        "reported_gap_over_draws": _mean_and_largest([gap.by_any_word for gap in gaps], draws),
    }


def _mean_and_largest(gaps: list[int], draws: int) -> dict[str, float] | None:
    if not gaps:
        return None
    return {"mean": sum(gaps) / (len(gaps) * draws), "largest": max(gaps) / draws}

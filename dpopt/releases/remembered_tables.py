"""What this computer remembers for the owner of tables, in files for the owner alone, and never in a release.

Paths of tables that were released without a budget file; and of each run that has begun, until it ends, keyed digests
of its table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from dpopt.errors import BudgetError, PrivateDataError
from dpopt.files.json_files import read_json_object, write_json_object
from dpopt.private.engines.table_digest import table_digests
from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.ledgers import ledgers_made
from dpopt.releases.progress import Detail, Progress

_LIST = "list of released tables"
STATE = "DPOPT_STATE"
"""Environment variable that names the folder in place of the user's."""


def remembered_file() -> Path:
    """Return the file: in the folder that `DPOPT_STATE` names, else where the operating system keeps a user's state."""
    if named := os.environ.get(STATE):
        return Path(named) / "released-tables.json"
    home = Path.home()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or home / ".local" / "state"
    return Path(base) / "dpopt" / "released-tables.json"


@contextmanager
def remembered(table: object, budget: object, progress: Progress) -> Iterator[None]:
    """Tell the owner if a table of this path was released before without a budget file; remember it if the body draws."""
    if budget is not None or not isinstance(table, str | os.PathLike):
        yield
        return
    place, path = remembered_file(), _key(table)
    if dates := _known(place, progress).get(path):
        times = "once" if len(dates) == 1 else f"{len(dates):,} times"
        progress.owner_note(
            f"note: this table was released {times} before without a budget file, last on {dates[-1]}. Costs add up: "
            f"anyone who sees all of these releases learns more than each of them states. 'dpopt budget "
            f"create' keeps count; 'dpopt budget forget' empties {place}"
        )
    with ledgers_made() as ledgers:
        try:
            yield
        finally:
            if any(ledger.entries for ledger in ledgers):
                _add(place, path, progress)


def _key(table: str | os.PathLike[str]) -> str:
    """Return the path of a table as text; bytes that are no UTF-8 by their numbers, since the list is JSON."""
    return os.fsencode(os.path.realpath(table)).decode("utf-8", "backslashreplace")


def _known(place: Path, progress: Progress) -> dict[str, list[str]]:
    try:
        found = read_json_object(place, _LIST, BudgetError) if place.exists() else {}
        return {path: [str(date) for date in dates] for path, dates in found.items() if isinstance(dates, list)}
    except (OSError, BudgetError) as problem:
        progress.owner_note(f"note: earlier releases are not known: {problem}")
        return {}


def _add(place: Path, path: str, progress: Progress) -> None:
    known = _known(place, progress)
    known[path] = [*known.get(path, ()), datetime.now(UTC).date().isoformat()]
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json_object(place, known, private=True)
    except OSError as problem:
        progress.owner_note(Detail(f"note: this release cannot be remembered: {problem}"))


def forget(table: Path | None = None) -> int:
    """Forget all tables, those of runs that have begun too, or one; returns how many released ones there were of these."""
    place = remembered_file()
    known = _known(place, Progress())
    if table is None:
        for kept in (place, *_runs().glob("*.json")):
            kept.unlink(missing_ok=True)
        return len(known)
    if dates := known.pop(_key(table), None):
        write_json_object(place, known, private=True)
    return int(dates is not None)


def remember_run(folder: Path, dataset: PrivateDataset, progress: Progress) -> None:
    """Keep keyed digests of the table with which the run in a folder begins, until `forget_run`."""
    place, key = _run_file(folder), SystemWords().words(4).tobytes()
    about = {"folder": _key(folder), "key": key.hex(), "digests": table_digests(dataset, key)}
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json_object(place, about, private=True)
    except OSError as problem:
        progress.owner_note(Detail(f"note: the table of this run cannot be remembered: {problem}"))


def check_run(folder: Path, dataset: PrivateDataset, progress: Progress) -> None:
    """Refuse, by PrivateDataError, another table than the one that the run in a folder began with, as far as is known."""
    try:
        found: dict[str, Any] = read_json_object(_run_file(folder), "digest", BudgetError)
        key, digests = bytes.fromhex(found["key"]), list(found["digests"])
    except (BudgetError, LookupError, TypeError, ValueError):
        progress.owner_note(
            f"note: dpopt does not know here which table the run in {folder} began with, since it began on another "
            f"computer, for another user, or in another place. Make sure that it was this table"
        )
        return
    if any(one != other for one, other in zip(digests, table_digests(dataset, key), strict=False)):
        raise PrivateDataError(
            f"this is not the table that the run in {folder} began with: it has another number of records, or other "
            f"values. A release is of one table. Give the table as it was, or begin a new release in another folder"
        )


def forget_run(folder: Path) -> None:
    """Forget the table of a run that has ended, or never began."""
    with suppress(OSError):
        _run_file(folder).unlink(missing_ok=True)


def _runs() -> Path:
    return remembered_file().parent / "begun-runs"


def _run_file(folder: Path) -> Path:
    name = sha256(_key(folder).encode()).hexdigest()[:32]
    return _runs() / f"{name}.json"

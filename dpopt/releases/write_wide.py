"""Wide synthetic records as files of a release: an npz file, or baskets with a file of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpopt.releases.folder_files import write_whole
from dpopt.releases.job import Job
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.wide_output import ones_of, write_baskets, write_npz, write_weights

BASKETS, WEIGHTS = "synthetic.txt", "weights.txt"


def write_wide(folder: Path, job: Job, records: SyntheticRecords) -> dict[str, Any]:
    """Write wide records into a folder as a job's output asks for; return the entry of the files in release.json.

    Each file appears whole or not at all; the same records give the same bytes.

    Raises
    ------
    ReleaseFolderError
        If a file cannot be written.
    """
    places = None if job.rows is None else records.places(job.rows)
    weights = records.weights if places is None else None
    ones, width = ones_of(records.held), len(job.schema)
    said: dict[str, Any] = {"rows": len(records) if places is None else len(places)}
    if job.output["format"] == "npz":
        name = "synthetic.npz"
        write_whole(folder / name, lambda stream: write_npz(stream, width, ones, places, weights), "records")
        return {"file": name, **said, "weight_column": None if weights is None else "weights"}
    items = job.items()
    write_whole(folder / BASKETS, lambda stream: write_baskets(stream, ones, places, items), "records")
    by = f"number, from {items.first}" if items.names is None else "name"
    said = {"file": BASKETS, **said, "items_by": by, "weight_column": None}
    if weights is not None:
        write_whole(folder / WEIGHTS, lambda stream: write_weights(stream, weights), "weights")
        said["weight_file"] = WEIGHTS
    return said

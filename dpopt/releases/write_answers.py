"""Noisy answers as a file: one line for every query of the workload, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.releases.folder_files import write_whole
from dpopt.releases.job import Job
from dpopt.releases.table_output import write_answers_csv, write_answers_parquet


def write_answers(folder: Path, job: Job, answers: NDArray[np.float64]) -> dict[str, Any]:
    """Write the answers (m,) as shares of the public size; return the entry of the file in release.json.

    The file appears whole or not at all, and the same answers give the same bytes (Parquet: with the same version of pyarrow).

    Raises
    ------
    ReleaseFolderError
        If it cannot be written.
    """
    file_format = str(job.output.get("format", "csv"))
    name = f"answers.{file_format}"
    write = write_answers_csv if file_format == "csv" else write_answers_parquet
    write_whole(folder / name, lambda stream: write(stream, answers), "answers")
    return {
        "file": name,
        "queries": len(answers),
        "meaning": "column 'answer' is the noisy count of query number 'query' of workload.json, divided by the public size",
    }

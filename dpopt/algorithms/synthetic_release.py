"""A finished run as values, and what of it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery import Round
from dpopt.algorithms.folder_files import RELEASE, give_one_time, write_json
from dpopt.algorithms.job import Job
from dpopt.algorithms.statement import release_statement
from dpopt.algorithms.synthetic import SyntheticRecords
from dpopt.algorithms.write_records import write_records
from dpopt.queries.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticRelease:
    """A finished run as values.

    Attributes
    ----------
    job : Job
        The public inputs.
    rounds : list of Round
        Draw, record and certificate of each round.
    records : SyntheticRecords
        The distinct records and how many rounds gave each.
    ledger : Ledger
        Everything that was charged.
    statement : Mapping
        The contents of release.json.
    """

    job: Job
    rounds: Sequence[Round]
    records: SyntheticRecords
    ledger: Ledger
    statement: Mapping[str, Any]

    def __repr__(self) -> str:
        spent, records = self.ledger.spent(), self.records
        return (
            f"SyntheticRelease({len(self.rounds)} rounds, {len(records.distinct)} distinct records, "
            f"epsilon={spent.epsilon:.4f}, delta={spent.delta:g}, {self.ledger.relation.describe()})"
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the synthetic records, decoded: the rows asked for, or distinct records and a column of weights."""
        from dpopt.algorithms.table_output import records_table
        from dpopt.algorithms.write_records import weight_name

        written, weights = written_records(self.job, self.records)
        schema = self.record_schema
        frame: pd.DataFrame = records_table(schema, written, weights, weight_name(schema)).to_pandas()
        return frame

    def answers(self) -> NDArray[np.float64]:
        """Return the release's answer to every base query of the workload, (m,): the share of synthetic records."""
        from dpopt.queries.kernels import count_on_records

        rows = self.job.rows
        written = self.records.per_round() if rows is None else self.records.rows(rows)
        return count_on_records(self.job.record_clauses(), written, self.job.record_sizes()) / len(written)

    @property
    def record_schema(self) -> Schema:
        """The schema that the coded records follow."""
        return self.job.record_schema()


def finish_release(
    job: Job, folder: Path | None, ledger: Ledger, rounds: Sequence[Round]
) -> SyntheticRelease:
    """Merge the rounds' records and, where a folder is given, write them and release.json."""
    records = SyntheticRecords.of([done.record for done in rounds])
    output = {} if folder is None else _write(job, folder, records)
    statement = release_statement(job, ledger, rounds, records, output)
    if folder is not None:
        write_json(folder / RELEASE, statement)
        give_one_time(folder)
    return SyntheticRelease(job, rounds, records, ledger, statement)


def _write(job: Job, folder: Path, records: SyntheticRecords) -> dict[str, Any]:
    file_format = str(job.output.get("format", "csv"))
    name = f"synthetic.{file_format}"
    written, weights = written_records(job, records)
    weight_column = write_records(
        folder / name,
        job.record_schema(),
        written,
        weights=weights,
        format=file_format,
    )
    return {"file": name, "rows": len(written), "weight_column": weight_column}


def written_records(
    job: Job, records: SyntheticRecords
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Return what a release writes: the rows asked for, or the distinct records and their weights."""
    if job.rows is None:
        return records.distinct, records.weights
    return records.rows(job.rows), None

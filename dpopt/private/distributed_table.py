"""A table whose parts are counted by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.batch_counts import NamedQueries
from dpopt.private.dask_workers import DaskWorkers
from dpopt.private.on_unknown import OnUnknown
from dpopt.private.open_table import AnyTable, open_table
from dpopt.private.parquet_source import ParquetSource, RowGroups
from dpopt.private.part_counts import PartFailed, PartRead, PartReport, Reading, check_part, count_part
from dpopt.private.read_table import refuse_what_does_not_fit
from dpopt.private.streamed_table import TableInFiles
from dpopt.private.table_problems import ColumnProblems
from dpopt.private.table_sources import Progress, column_positions
from dpopt.private.watched_files import WatchedFiles
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.schema import Schema

PARTS_PER_SLOT = 8  # so that a slow worker, or one that is lost, costs a small part of the whole
FEWEST_ROWS = 2**17  # of a part, on average: below, giving out tasks costs more than counting


class DistributedTable(TableInFiles):
    """A Parquet file, or a folder of them, whose row groups are counted by workers; the counts are added up here.

    The answers are those of the table in memory, to the last bit, whatever the number of workers and the order in which they
    are done, and also if some are lost on the way: a part is then counted again.

    What the workers see: the records of their parts, which they read themselves (the files must lie where they can read them,
    under the same path), the schema, and the queries. What travels back: exact counts, one set for each part. They are
    private, so the network must be encrypted (tls://) or trusted; where values do not fit the schema, the examples that the
    owner's message quotes travel too. Logs and dashboards show when tasks run, on which worker, how long they take, how much
    memory they need and the paths of files, but no counts: names of tasks say nothing, and errors are returned, not logged.
    Workers write nothing, but a cluster that is set up to move data to disk when memory is short may do so with queries and
    counts; workers started here do not.
    """

    __slots__ = ("_reading", "_shares", "_source", "_workers")
    _source: ParquetSource
    _shares: tuple[tuple[RowGroups, ...], ...]
    _reading: Reading
    _workers: DaskWorkers

    @classmethod
    def open(
        cls,
        table: AnyTable,
        schema: Schema,
        workers: Callable[[], DaskWorkers],
        *,
        on_unknown: OnUnknown = OnUnknown.ERROR,
        column_names: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> DistributedTable:
        """Let workers hold their parts against the schema. Parameters as for `read_table`, and a function that gives workers.

        Raises
        ------
        PrivateDataError
            If the table is not in Parquet files, cannot be read, lacks a column, has no rows, or holds values that do not fit.
        DpoptError
            If there are no workers, or they are lost.
        """
        source = open_table(table, column_names)
        if not isinstance(source, ParquetSource):
            raise PrivateDataError(
                f"{source.title}: workers of Dask read Parquet files, whose rows can be found without reading all before "
                "them; save the table as Parquet, or use --engine stream"
            )
        files = WatchedFiles.of(source.files)
        positions = tuple(column_positions(source, schema.names))
        made = object.__new__(cls)
        own = workers()
        rows = sum(group.rows for part in source.parts(1) for group in part)
        number = min(PARTS_PER_SLOT * own.slots(), -(-rows // FEWEST_ROWS))
        for name, value in (
            ("_schema", schema),
            ("_table", table),
            ("_column_names", None if column_names is None else tuple(column_names)),
            ("_policy", on_unknown),
            ("_source", source),
            ("_shares", tuple(source.parts(max(number, 1)))),
            ("_reading", Reading(schema, on_unknown, source.title, source.file_names, positions)),
            ("_files", files),
            ("_workers", own),
            ("_rows", rows),
        ):
            object.__setattr__(made, name, value)
        if rows == 0:
            raise PrivateDataError(f"{source.title} has no rows; expected at least one record")
        problems: dict[int, dict[int, ColumnProblems]] = {}
        done = 0
        for number, report in own.run(check_part, made._shares, made._reading):
            read = made._checked(number, report)
            problems[number] = read.problems
            done += read.rows
            if progress is not None:
                progress(done / rows)
        made._refuse_what_does_not_fit(problems)
        return made

    def _count(
        self,
        queries: MarginalSet | Clauses,
        *,
        threads: int,
        progress: Callable[[float], None] | None,
    ) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`. Workers read their parts."""
        self._opened()
        named = NamedQueries.of(self._schema, queries)
        counts = np.zeros(len(named), dtype=np.int64)
        problems: dict[int, dict[int, ColumnProblems]] = {}
        done = 0
        for number, report in self._workers.run(count_part, self._shares, self._reading, named):
            read = self._checked(number, report)
            problems[number] = read.problems
            if read.counts is not None:
                counts += read.counts
            done += read.rows
            if progress is not None:
                progress(done / self._rows)
        self._refuse_what_does_not_fit(problems)
        return counts

    def _checked(self, number: int, report: PartReport) -> PartRead:
        """Return what a worker read, if it is the part that was planned."""
        if isinstance(report, PartFailed):
            raise PrivateDataError(report.message)
        if report.rows != sum(group.rows for group in self._shares[number]):
            raise PrivateDataError(
                f"a worker read other rows of {self._source.title} than there are here; all workers need the same files, "
                "which nothing writes to"
            )
        return report

    def _refuse_what_does_not_fit(self, found: dict[int, dict[int, ColumnProblems]]) -> None:
        """Refuse what does not fit, as if one process had read all parts in order; or files that were changed."""
        self._opened()
        joined: dict[int, ColumnProblems] = {}
        before = 0
        for number, part in enumerate(self._shares):
            for attribute, later in found[number].items():
                column = joined.setdefault(attribute, ColumnProblems(self._schema.attributes[attribute]))
                column.join(later, before)
            before += sum(group.rows for group in part)
        refuse_what_does_not_fit(self._source, [joined[attribute] for attribute in sorted(joined)])

"""Reading Parquet files, one or a folder of them, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.errors import PrivateDataError
from dpopt.private.table_problems import shown
from dpopt.private.table_sources import BATCH_ROWS, Progress, checked_names, given_names

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class ParquetSource:
    """Parquet files with the same columns, read one after the other."""

    def __init__(self, paths: Sequence[Path], title: str, column_names: Sequence[str] | None) -> None:
        self._paths = list(paths)
        self.title = title
        with _opened(self._paths[0]) as file:
            found = checked_names(file.schema_arrow.names, self._paths[0].name)
        self._file_names = found
        self.names = given_names(column_names, len(found), title) or found
        self._rows: list[int] = []  # per file that has been read

    def pieces(self, positions: Sequence[int], progress: Progress | None) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one batch after the other."""
        import pyarrow as pa

        wanted = [self._file_names[position] for position in positions]
        for number, path in enumerate(self._paths):
            rows = 0
            try:
                with _opened(path) as file:
                    self._check(path, file, wanted)
                    total = max(file.metadata.num_rows, 1)
                    for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                        rows += batch.num_rows
                        for index, name in enumerate(wanted):
                            yield index, batch.column(name)
                        if progress is not None:
                            progress((number + rows / total) / len(self._paths))
            except (pa.ArrowException, OSError) as problem:
                raise PrivateDataError(
                    f"{path.name} is damaged and cannot be read to its end: {problem}"
                ) from problem
            self._rows.append(rows)
        if progress is not None:
            progress(1.0)

    def faults(self) -> list[str]:
        """Return nothing: rows of Parquet files are whole."""
        return []

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the file and the row in it (from 1) where there are several files."""
        if len(self._paths) == 1:
            return {}
        places = {}
        for row in rows:
            rest, number = row, 0
            while rest >= self._rows[number]:
                rest -= self._rows[number]
                number += 1
            places[row] = f"{self._paths[number].name}, row {rest + 1}"
        return places

    def _check(self, path: Path, file: pq.ParquetFile, wanted: Sequence[str]) -> None:
        names = checked_names(file.schema_arrow.names, path.name)
        absent = [name for name in wanted if name not in names]
        if absent:
            raise PrivateDataError(
                f"{path.name} lacks the column {shown(absent[0])}, which {self._paths[0].name} has; all files in "
                "the folder need the same columns"
            )


def _opened(path: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        plain = pq.ParquetFile(path)
        texts = [field.name for field in plain.schema_arrow if pa.types.is_string(field.type)]
        if not texts:
            return plain
        plain.close()
        # Repeated texts then arrive as a dictionary and are looked up once.
        return pq.ParquetFile(path, read_dictionary=texts)
    except (pa.ArrowException, OSError) as problem:
        raise PrivateDataError(f"{path.name} is not a readable Parquet file: {problem}") from problem

"""A wide table in a bit file, which is read where it lies whenever something is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.binary.bit_file import read_bit_file
from dpopt.private.readers.watched_files import WatchedFiles
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.schema import Schema


class BitFileTable(PrivateDataset):
    """Records of zeros and ones in a bit file; counts are refused once the file is not what it was.

    All counts of a run must be those of one table, and a file that was written to may hold bits beyond the last record.
    """

    __slots__ = ("_files",)
    _files: WatchedFiles

    @classmethod
    def open(cls, path: Path, schema: Schema) -> BitFileTable:
        """Hold a bit file against the number of columns that a schema declares.

        Raises
        ------
        PrivateDataError
            As for `read_bit_file`, or if the file is changed meanwhile.
        """
        files = WatchedFiles.of((path,))
        made = cls.from_binary(schema, read_bit_file(path, len(schema)))
        files.check((path,))
        object.__setattr__(made, "_files", files)
        return made

    def _count(
        self,
        queries: MarginalSet | Clauses,
        *,
        threads: int,
        progress: Callable[[float], None] | None,
    ) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`."""
        self._files.check(self._files.paths)
        counts = super()._count(queries, threads=threads, progress=progress)
        self._files.check(self._files.paths)
        return counts

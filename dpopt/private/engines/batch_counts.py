"""Counting on a table that is read batch by batch: what is held in memory is one batch, the queries and their counts.

A thread reads the next batch while the current one is counted (`one_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers import batch_reader
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.tables.dataset import Codes, least_dtype
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.named_attributes import over_named
from dpopt.schema.schema import Schema

_Item = TypeVar("_Item")


class _End:
    """Stands for the end of the items."""


_END: Final = _End()


def one_ahead(items: Generator[_Item, None, None]) -> Generator[_Item, None, None]:
    """Yield the same items in the same order; each is made in a thread while the one before it is in use.

    So at most two of them are there at a time: the one in use, and the next one. What making an item raises is raised where it
    would be yielded. When this generator is closed, or fails, the thread first ends the item that it is at, and `items` is
    closed; no thread is left behind.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-ahead") as thread:
        try:
            coming = thread.submit(next, items, _END)
            while not isinstance(item := coming.result(), _End):
                coming = thread.submit(next, items, _END)
                yield item
                del item
        finally:
            thread.shutdown(wait=True)
            items.close()


_CODES_HELD = (
    3  # times: of the batch that is counted, and of the next one twice, piece by piece and put together
)
_FEWEST_ROWS, _MOST_ROWS = 2**12, 2**23


@dataclass(frozen=True, slots=True)
class NamedQueries:
    """Queries over the attributes that they name alone: what batches consist of, and how large they should be.

    Attributes
    ----------
    attributes : (k,) int64
        The attributes that the queries name, in the order of the schema; batches consist of their codes. At least one.
    sizes : (k,) int32
        Number of codes of each.
    queries
        m clauses, or marginals with m cells, over these attributes, numbered from 0.
    rows_at_a_time : int
        How many rows a batch should have, by its size in bytes.
    """

    attributes: NDArray[np.int64]
    sizes: NDArray[np.int32]
    queries: MarginalSet | Clauses
    rows_at_a_time: int

    @classmethod
    def of(cls, schema: Schema, queries: MarginalSet | Clauses) -> NamedQueries:
        """Renumber queries over a schema.

        Raises
        ------
        WorkloadError
            If they name an attribute or a code that does not exist.
        """
        attributes, own = over_named(queries, schema.sizes)
        sizes = schema.sizes[attributes]
        bits = 0 if isinstance(queries, MarginalSet) else int(sizes.sum())
        code_bytes = sum(least_dtype(int(size)).itemsize for size in sizes)
        rows = batch_reader.BATCH_BYTES // (_CODES_HELD * code_bytes + bits // 8 + 1)
        return cls(attributes, sizes, own, min(max(rows, _FEWEST_ROWS), _MOST_ROWS) // 512 * 512)

    def __len__(self) -> int:
        """Return the number m of clauses or cells."""
        return self.queries.number_of_cells if isinstance(self.queries, MarginalSet) else len(self.queries)


class BatchCounter:
    """Adds up how many records of batches lie in each cell, or satisfy each clause.

    Attributes
    ----------
    counts : (m,) int64
        The sums so far. Private.
    """

    def __init__(self, named: NamedQueries, *, threads: int) -> None:
        self.named = named
        self.counts = np.zeros(len(named), dtype=np.int64)
        self._threads = threads

    def add(self, codes: list[Codes]) -> None:
        """Count on the next batch."""
        queries = self.named.queries
        if isinstance(queries, MarginalSet):
            from dpopt.queries.counting.marginal_kernels import count_cells

            counts = count_cells(queries, codes, threads=self._threads)
            self.counts += np.asarray(counts, dtype=np.int64)
            return
        from dpopt.queries.counting.counting import count_on_columns

        self.counts += count_on_columns(codes, self.named.sizes, queries, threads=self._threads)


def count_in_batches(
    reader: BatchReader,
    counter: BatchCounter,
    progress: Callable[[int], None] | None = None,
    *,
    ahead: bool,
) -> None:
    """Read a table once and count on every batch; with `ahead`, a thread reads the next one meanwhile.

    `progress` is told how many rows have been counted.
    """
    counted, read = 0, reader.batches(counter.named.rows_at_a_time)
    with closing(one_ahead(read) if ahead else read) as batches:
        for codes in batches:
            counter.add(codes)
            counted += codes[0].size
            del codes  # before the batch after the next one is begun
            if progress is not None:
                progress(counted)

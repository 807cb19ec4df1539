"""The records of a table, encoded; they never leave this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.errors import PlanError, PrivateDataError, SchemaError
from dpopt.private.tables.closed import Closed
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BinaryColumns
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.schema import Schema
from dpopt.threads import STEPS

Codes = NDArray[np.unsignedinteger]

Distinct = tuple[Sequence[Codes], NDArray[np.float64] | None]
"""Columns of rows, and how many records each row stands for; None: for one."""

AnyQueries = MarginalSet | Clauses

Progress = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""

CELLS_AT_ONCE = 1 << 20  # cells of marginals over columns of zeros and ones that are counted together


class PrivateDataset(Closed):
    """Encoded records behind a closed door: nothing about them can be read off the object.

    Made by `read_table` or by `PrivateDataset.from_codes`; used by the curator, which is in the same room.
    """

    __slots__ = ("_columns", "_distinct", "_schema", "_source")
    _schema: Schema
    # One (n,) array per attribute, in the least dtype that holds its codes, read-only; lists or bits for binary attributes.
    _columns: Sequence[Codes]
    _distinct: Distinct  # made by the first count of marginals
    _source: (
        object  # what they were read from and can be read from once more (`dpopt.private.readers.read_table.ReadFrom`)
    )

    @property
    def _public(self) -> NDArray[np.integer]:
        """The number of codes of each attribute: charges depend on it."""
        return self._schema.sizes

    @classmethod
    def from_codes(cls, schema: Schema, columns: Sequence[NDArray[np.integer]]) -> PrivateDataset:
        """Take records that are encoded already: one (n,) array of codes per attribute, in the schema's order, n >= 0.

        Arrays are copied unless they are read-only and of the least unsigned type already.
        """
        if len(columns) != len(schema):
            raise PrivateDataError(f"{len(columns)} columns of codes for the {len(schema)} attributes of the schema")
        names = schema.names
        encoded = tuple(
            _encoded(np.asarray(column), int(size), name)
            for column, size, name in zip(columns, schema.sizes, names, strict=True)
        )
        rows = encoded[0].size
        for column, name in zip(encoded, names, strict=True):
            if column.size != rows:
                raise PrivateDataError(f"column {name!r} has {column.size} codes, column {names[0]!r} has {rows}")
        return cls._holding(_schema=schema, _columns=encoded, _rows=rows, _source=None)

    def _with_source(self, source: object) -> PrivateDataset:
        """Return the same records with their source."""
        return self._holding(_schema=self._schema, _columns=self._columns, _rows=self._rows, _source=source)

    @classmethod
    def from_binary(cls, schema: Schema, columns: BinaryColumns) -> Self:
        """Take the records of a wide table of zeros and ones, n >= 0, by a schema of `Schema.binary`; kept as they are."""
        if not schema.is_binary or len(columns) != len(schema):
            raise PrivateDataError(
                f"{len(columns):,} columns of zeros and ones need a schema of as many binary attributes "
                f"(Schema.binary); found {len(schema):,} attributes"
            )
        return cls._holding(_schema=schema, _columns=columns, _rows=columns.rows, _source=None)

    def _parts(self, attributes: Sequence[int]) -> Iterator[list[Codes]]:
        """Yield the codes of some attributes, one array each, for the first rows, then for the next ones, to the end."""
        yield [self._columns[attribute] for attribute in attributes]

    def _count(self, queries: AnyQueries, *, threads: int, progress: Progress | None) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`."""
        if isinstance(queries, MarginalSet):
            if isinstance(self._columns, BinaryColumns):
                return self._count_cells_of_bits(queries, self._columns, threads, progress)
            from dpopt.queries.counting.marginal_kernels import count_cells

            columns, weights = self._distinct_rows()
            # Progress is reported by marginals: within one, the number of steps grows with the number of records.
            groups = 1 if progress is None else max(1, min(STEPS, len(queries)))
            counts = []
            for number, group in enumerate(np.array_split(np.arange(len(queries)), groups), start=1):
                counts.append(count_cells(queries.take(group), columns, weights=weights, threads=threads))
                if progress is not None:
                    progress(number / groups)
            return np.concatenate(counts).astype(np.int64)  # sums of fewer than 2^53 records are exact
        from dpopt.queries.counting.counting import count_on_columns

        return count_on_columns(self._columns, self._schema.sizes, queries, threads=threads, progress=progress)

    def _distinct_rows(self) -> Distinct:
        """Return the distinct records, if they are few compared with all, else all; cached."""
        from dpopt.queries.counting.marginal_kernels import distinct_rows

        if not hasattr(self, "_distinct"):
            found = distinct_rows(self._columns, self._schema.sizes) or (self._columns, None)
            object.__setattr__(self, "_distinct", found)
        return self._distinct

    def _count_cells_of_bits(
        self, marginals: MarginalSet, columns: BinaryColumns, threads: int, progress: Progress | None
    ) -> NDArray[np.int64]:
        """Return how many records lie in each cell, cell by cell as conjunctions: no array of records times columns is made."""
        from dpopt.queries.counting.counting import count_on_columns
        from dpopt.queries.marginal_set import cell_clauses

        marginals.check_against(self._schema.sizes)
        counts = np.zeros(marginals.number_of_cells, dtype=np.int64)
        for begin in range(0, counts.size, CELLS_AT_ONCE):
            end = min(begin + CELLS_AT_ONCE, counts.size)
            cells = cell_clauses(marginals, begin, end)
            counts[begin:end] = count_on_columns(columns, self._schema.sizes, cells, threads=threads)
            if progress is not None:
                progress(end / counts.size)
        return counts


def number_of(queries: AnyQueries) -> int:
    """Return how many queries these are: m clauses, or marginals with m cells."""
    return queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)


def least_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the least unsigned type for the codes 0 .. size - 1."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def _encoded(column: NDArray[np.integer], size: int, name: str) -> Codes:
    if column.ndim != 1 or column.dtype.kind not in "iu":
        raise PrivateDataError(
            f"column {name!r}: expected one whole number per record, found an array of {column.dtype} with "
            f"{column.ndim} dimensions"
        )
    if column.size and not (column.min() >= 0 and column.max() < size):
        row = int(np.flatnonzero((column < 0) | (column >= size))[0])
        raise PrivateDataError(f"column {name!r}, row {row + 1}: code {column[row]} is none of 0 .. {size - 1}")
    dtype = least_dtype(size)
    kept = column.dtype == dtype and column.flags.c_contiguous and not column.flags.writeable
    encoded: Codes = column.astype(dtype, order="C", copy=not kept)
    return freeze(encoded)


def public_size(dataset: Closed, relation: NeighbouringRelation, n0: int | None) -> int:
    """Return the public size that a plan may use.

    Under replace-one all neighbours have the same number of records, so n is public and read off the table. Under
    add-remove the number of records is private, and the fixed public n0 that the user declares is returned.
    """
    if relation is NeighbouringRelation.REPLACE_ONE:
        if n0 is not None:
            raise PlanError("n0 belongs to add-remove; under replace-one the table's size n is used. Leave n0 out")
        if dataset._rows == 0:
            raise PrivateDataError("the table has no rows; under replace-one at least one record is needed")
        return dataset._rows
    if n0 is None:
        raise PlanError(
            "add-remove needs a fixed public n0, a number near the size of the table that does not depend on it: give "
            "--n0"
        )
    return n0


def check_size(dataset: Closed, relation: NeighbouringRelation, size: int) -> None:
    """Refuse, by PrivateDataError, under replace-one a table of another number of records than the plan's."""
    if relation is NeighbouringRelation.REPLACE_ONE and dataset._rows != size:
        raise PrivateDataError(
            f"the table has {dataset._rows:,} records but the plan was made for n = {size:,}. "
            "Under replace-one n is public and must be the table's exact size; plan with that n, "
            "or use add-remove with a fixed public n0"
        )


def check_schema(dataset: PrivateDataset, schema: Schema) -> None:
    """Refuse, by SchemaError, a data set that was read by another schema: its codes would mean other values."""
    if dataset._schema.attributes != schema.attributes:
        raise SchemaError("the table was read by another schema than the workload's; read it again with this schema")

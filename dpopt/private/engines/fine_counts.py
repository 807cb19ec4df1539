"""Counts of finer bins of numeric columns: the table is read once more, by a schema with these bins, by its own engine.

Privacy: C19 in docs/privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import TableInFiles, readable_again
from dpopt.private.tables.bin_counts import ColumnCounts
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.attribute import Attribute
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

_CHANGED = (
    "is not what it was when the table was first read: its bins hold other numbers of records. A table in use is read "
    "several times and must stay as it is. Nothing was spent but on the number of records, where that was to be "
    "measured. Give a copy that nothing writes to, such as table.copy(), and begin again"
)


def count_columns(dataset: PrivateDataset, finer: Sequence[Attribute]) -> ColumnCounts:
    """Return how many records lie in each bin of attributes with finer bins than the schema's. Private.

    Each record is read by itself, as for its codes: what is clipped, replaced or dropped is the same.
    """
    table = readable_again(dataset)
    if table is None:
        raise PrivateDataError(
            "numbers within bins are to be measured, and the table gives codes alone; give a file or a DataFrame, or "
            "--values-share 0 for the representatives of bins"
        )
    by_name = {attribute.name: attribute for attribute in finer}
    schema = Schema(tuple(by_name.get(attribute.name, attribute) for attribute in dataset._schema.attributes))
    columns = np.array([schema.names.index(attribute.name) for attribute in finer], dtype=np.int32)
    marginals = MarginalSet(Domains.of(schema, occurring=False), columns[:, None])
    counts = exact_counts(table._by(schema), marginals)
    parts = np.split(counts, np.cumsum([attribute.size for attribute in finer])[:-1])
    for attribute, place, part in zip(finer, columns, parts, strict=True):
        _check_unchanged(dataset, int(place), attribute, part)
    kept = [part[: len(attribute.edges) - 1] for part, attribute in zip(parts, finer, strict=True)]
    return ColumnCounts.of(kept, dataset._rows)


def _check_unchanged(dataset: PrivateDataset, place: int, finer: Attribute, counts: NDArray[np.int64]) -> None:
    """Raise PrivateDataError for a column whose finer bins do not add up to the counts of its codes in memory."""
    if isinstance(dataset, TableInFiles):  # each of its passes compares the state of the files
        return
    own = dataset._schema.attributes[place]
    upto = np.append(0, np.cumsum(counts))
    ends = np.append(np.searchsorted(finer.edges, own.edges), counts.size)[: own.size + 1]
    before = np.bincount(dataset._columns[place], minlength=own.size)
    if not np.array_equal(np.diff(upto[ends]), before):
        raise PrivateDataError(f"column {own.name!r} {_CHANGED}")

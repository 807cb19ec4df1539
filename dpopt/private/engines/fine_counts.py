"""Counts of finer bins of numeric columns: the table is read once more, by a schema with these bins, by its own engine.

Privacy: C19 in docs/privacy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpopt.errors import PrivateDataError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import readable_again
from dpopt.private.tables.column_counts import ColumnCounts
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.attribute import Attribute
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from dpopt.threads import USUAL


def count_columns(
    dataset: PrivateDataset, finer: Sequence[Attribute], *, threads: int = USUAL
) -> ColumnCounts:
    """Return how many records lie in each bin of attributes with finer bins than the schema's. Private.

    Each record is read by itself, as for its codes: what is clipped, replaced or dropped is the same.

    Raises
    ------
    PrivateDataError
        If there are codes alone, or a pipe that was read; or files were changed.
    """
    table = readable_again(dataset)
    if table is None:
        raise PrivateDataError(
            "numbers within bins are to be measured, and the table gives codes alone, or is a pipe that cannot be read twice; "
            "give a file or a DataFrame, or --values-share 0 for the representatives of bins"
        )
    by_name = {attribute.name: attribute for attribute in finer}
    schema = Schema(tuple(by_name.get(attribute.name, attribute) for attribute in dataset._schema.attributes))
    columns = np.array([schema.names.index(attribute.name) for attribute in finer], dtype=np.int32)
    marginals = MarginalSet(Domains.of(schema, occurring=False), columns[:, None])
    counts = exact_counts(table._by(schema), marginals, threads=threads)
    parts = np.split(counts, np.cumsum([attribute.size for attribute in finer])[:-1])
    kept = [part[: len(attribute.edges) - 1] for part, attribute in zip(parts, finer, strict=True)]
    return ColumnCounts.of(kept, dataset._rows)

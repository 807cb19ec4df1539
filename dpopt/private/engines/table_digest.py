"""Keyed digests of a table, by which a run that goes on knows its table again. NOT private: for its owner alone."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import TableInFiles
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.binary_columns import BitColumns, SparseColumns
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains


def table_digests(dataset: PrivateDataset, key: bytes) -> list[str]:
    """Return digests of the number of records and, of columns in memory, of how often each of their values occurs.

    They are the same for every order of the records, and whatever counts them: a table that is left in its files, or
    held as bits, has the first one only, which takes no time. Whoever has the key can try out numbers, so that key and
    digests stay in files that the owner alone can read.
    """
    facts = [np.array([dataset._rows])]
    if not isinstance(dataset, TableInFiles):
        columns = dataset._columns
        if isinstance(columns, SparseColumns):
            facts.append(np.diff(columns.starts))
        elif not isinstance(columns, BitColumns):
            attributes = np.arange(len(dataset._schema), dtype=np.int32)[:, None]
            facts.append(exact_counts(dataset, MarginalSet(Domains.of(dataset._schema, occurring=False), attributes)))
    return [blake2b(fact.astype("<i8").tobytes(), key=key).hexdigest() for fact in facts]

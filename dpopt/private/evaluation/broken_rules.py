"""How many rows of the table break each declared rule. NOT private: for the owner's terminal only, never stored.

Rules are public and synthetic records obey all of them, whatever the table holds. Rows that break a rule are protected
like all others; but the release cannot show what they have in common, and the owner should know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

_BLOCK_BYTES = 2**24  # of codes and truth values at a time


@dataclass(frozen=True, slots=True)
class NonPrivateRuleReport:
    """Exact counts of rows that break rules, for the owner only; publishing them would reveal something about records.

    Attributes
    ----------
    names : tuple of str
        The rules.
    broken : tuple of int
        Rows that break each of them.
    first_rows : tuple of (int or None)
        The first row, from 1, that breaks each of them; None where none does.
    rows : int
        Rows of the table.
    rows_breaking_any : int
        Rows that break at least one rule.
    """

    names: tuple[str, ...]
    broken: tuple[int, ...]
    first_rows: tuple[int | None, ...]
    rows: int
    rows_breaking_any: int


def broken_rows(dataset: PrivateDataset, circuit: ThresholdCircuit) -> NonPrivateRuleReport:
    """Return how many rows break each rule: exact, not private, for the owner only.

    Parameters
    ----------
    dataset
        The records.
    circuit
        The rules, over the attributes of the schema by which the records were read. Each block of records is evaluated
        in about 16 MB.

    Raises
    ------
    SchemaError
        If the rules belong to another schema.
    """
    circuit.check_against(dataset._schema.sizes)
    rules, used = circuit.number_of_rules, circuit.attributes().tolist()
    block = max(1, _BLOCK_BYTES // (4 * len(dataset._schema) + len(circuit) + rules))
    counts = np.zeros(rules, dtype=np.int64)
    first = np.full(rules, -1, dtype=np.int64)
    breaking_any = start = 0
    for records in _records(dataset, used, block):
        broken = circuit.broken(records)
        counts += broken.sum(axis=0)
        breaking_any += int(broken.any(axis=1).sum())
        new = (first < 0) & broken.any(axis=0)
        first[new] = start + broken.argmax(axis=0)[new]
        start += len(records)
    return NonPrivateRuleReport(
        circuit.names,
        tuple(counts.tolist()),
        tuple(None if row < 0 else row + 1 for row in first.tolist()),
        dataset._rows,
        breaking_any,
    )


def _records(dataset: PrivateDataset, used: list[int], block: int) -> Iterator[NDArray[np.int32]]:
    """Yield the rows as records (block, d), in order; attributes that no rule looks at stay 0."""
    looked_at = used or [0]
    for columns in dataset._parts(looked_at):
        for start in range(0, columns[0].size, block):
            part = [column[start : start + block] for column in columns]
            records = np.zeros((part[0].size, len(dataset._schema)), dtype=np.int32)
            for position, codes in zip(looked_at, part, strict=True):
                records[:, position] = codes
            yield records

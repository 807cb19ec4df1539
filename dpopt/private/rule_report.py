"""How many rows of the table break each declared rule. NOT private: for the owner's terminal only, never stored.

Rules are public and synthetic records obey all of them, whatever the table holds. Rows that break a rule are protected
like all others; but the release cannot show what they have in common, and the owner should know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.private.dataset import PrivateDataset
from dpopt.queries.threshold_circuit import ThresholdCircuit

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
    block = max(1, _BLOCK_BYTES // (4 * len(dataset._columns) + len(circuit) + rules))
    counts = np.zeros(rules, dtype=np.int64)
    first = np.full(rules, -1, dtype=np.int64)
    breaking_any = 0
    for start in range(0, dataset._rows, block):
        broken = circuit.broken(_records(dataset, used, start, min(start + block, dataset._rows)))
        counts += broken.sum(axis=0)
        breaking_any += int(broken.any(axis=1).sum())
        new = (first < 0) & broken.any(axis=0)
        first[new] = start + broken.argmax(axis=0)[new]
    return NonPrivateRuleReport(
        circuit.names,
        tuple(counts.tolist()),
        tuple(None if row < 0 else row + 1 for row in first.tolist()),
        dataset._rows,
        breaking_any,
    )


def _records(dataset: PrivateDataset, used: list[int], start: int, stop: int) -> NDArray[np.int32]:
    """Return rows start to stop - 1 as records (rows, d); attributes that no rule looks at stay 0."""
    records = np.zeros((stop - start, len(dataset._columns)), dtype=np.int32)
    for position in used:
        records[:, position] = dataset._columns[position][start:stop]
    return records

"""The gates of a `ThresholdCircuit` on many records, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def true_gates(
    records: NDArray[np.int32],
    bounds: NDArray[np.int64],
    term_starts: NDArray[np.int64],
    term_attributes: NDArray[np.int32],
    value_starts: NDArray[np.int64],
    values: NDArray[np.int64],
    child_starts: NDArray[np.int64],
    children: NDArray[np.int32],
    coefficients: NDArray[np.int64],
    result: NDArray[np.bool_],
) -> None:
    """Write to `result` (r, G) which gates are true of each record (r, d)."""
    for row in range(records.shape[0]):
        for gate in range(bounds.size):
            total = np.int64(0)
            for term in range(term_starts[gate], term_starts[gate + 1]):
                total += values[value_starts[term] + records[row, term_attributes[term]]]
            for entry in range(child_starts[gate], child_starts[gate + 1]):
                if result[row, children[entry]]:
                    total += coefficients[entry]
            result[row, gate] = total >= bounds[gate]

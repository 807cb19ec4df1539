"""Decision lists of persons, as arrays; they never leave this room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PrivateDataError
from dpopt.private.tables.closed import Closed
from dpopt.queries.decision_lists.families import ListFamily

MOST_ROWS = 2**31


class PrivateLists(Closed):
    """Rows that are decision lists, behind a closed door; made by `read_lists` or by the method below."""

    __slots__ = ("_bits", "_family", "_positive", "_variables")
    _family: ListFamily
    _variables: NDArray[np.int32]  # (n, k): of each literal
    _positive: NDArray[np.bool_]  # (n, k): the variable itself, or its negation
    _bits: NDArray[np.uint8]  # (n, k + 1); from the end of a row on all the same

    @classmethod
    def from_arrays(
        cls,
        family: ListFamily,
        variables: NDArray[np.integer],
        positive: NDArray[np.bool_],
        bits: NDArray[np.integer],
        lengths: NDArray[np.integer],
        *,
        lines: NDArray[np.integer] | None = None,
    ) -> PrivateLists:
        """Take rows of `lengths` (n,) literals, and bring them into a form in which no variable stands twice in a row.

        Of each literal `variables` (n, k), and whether it is the variable itself, `positive` (n, k); what stands after a
        row's last one is not read. `bits` (n, k + 1) are the output at each literal, and after the last one that of the
        end. `lines` (n,) are those on which the rows stand, for messages.
        """
        from dpopt.queries.decision_lists.kernels import normalised

        rows, k = len(lengths), family.length
        if not 1 <= rows < MOST_ROWS:
            raise PrivateDataError(f"found {rows:,} rows; expected at least one, and fewer than 2^31")
        if variables.shape != (rows, k) or positive.shape != (rows, k) or bits.shape != (rows, k + 1):
            raise PrivateDataError(
                f"found arrays of shapes {variables.shape}, {positive.shape} and {bits.shape} for {rows:,} rows of up "
                f"to {k} literals"
            )
        if lengths.min() < 0 or lengths.max() > k:
            raise PrivateDataError(f"found rows of {lengths.min()} to {lengths.max()} literals; 0 to {k} are declared")
        used = np.arange(k) < lengths[:, None]
        numbers, outputs = variables[used], bits[np.arange(k + 1) <= lengths[:, None]]
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(family.variables):
            raise PrivateDataError(f"found a variable that is none of the {len(family.variables)} declared")
        if not np.isin(outputs, (0, 1)).all():
            raise PrivateDataError("found an output that is neither 0 nor 1")
        own_variables = np.array(variables, dtype=np.int32)
        own_positive = np.array(positive, dtype=np.bool_)
        own_bits = np.array(bits, dtype=np.uint8)
        normalised(own_variables, own_positive, own_bits, np.ascontiguousarray(lengths, dtype=np.int64))
        _check_kind(family, own_bits, lines)
        return cls._holding(
            _family=family,
            _rows=rows,
            _variables=freeze(own_variables),
            _positive=freeze(own_positive),
            _bits=freeze(own_bits),
        )


def _check_kind(family: ListFamily, bits: NDArray[np.uint8], lines: NDArray[np.integer] | None) -> None:
    changes = np.count_nonzero(np.diff(bits, axis=1), axis=1)
    bad = changes > family.changes
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        where = f"row {first}" if lines is None else f"line {lines[first]}"
        raise PrivateDataError(
            f"{where}: the output changes {changes[first]} times; at most {family.changes} are declared (in all "
            f"{int(bad.sum()):,} rows change more often)"
        )
    known = set(family.patterns[:, 0].tolist())
    first_bits = np.unique(bits[:, 0]).tolist()
    if not set(first_bits) <= known:
        raise PrivateDataError(f"found a row that begins with {first_bits}, which is no part of {family.kind.value}")

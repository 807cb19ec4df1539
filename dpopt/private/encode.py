"""Encoding of one column, batch by batch: Arrow arrays of any usual type in, codes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.dataset import Codes, least_dtype
from dpopt.private.domain_codes import CategoryCodes, Coded, NumericCodes
from dpopt.private.on_unknown import OnUnknown
from dpopt.private.table_problems import REMEMBERED, ColumnProblems, Found, Problem
from dpopt.queries.schema import Attribute, AttributeKind

if TYPE_CHECKING:
    import pyarrow as pa

_WIDEST_TABLE = 2**16  # whole numbers within a range of this length are coded through a table of codes


class ColumnEncoder:
    """Collects the codes of one attribute, and what has none.

    Different values are coded once per batch wherever their number is small: dictionaries (every text column is
    turned into one) and whole numbers of a short range go through a table of codes.
    """

    def __init__(self, attribute: Attribute, policy: OnUnknown) -> None:
        numeric = attribute.kind is AttributeKind.NUMERIC
        self._domain = NumericCodes(attribute, policy) if numeric else CategoryCodes(attribute, policy)
        self._name = attribute.name
        self._dtype = least_dtype(attribute.size)
        self._batches: list[Codes] = []
        self.rows = 0
        self.problems = ColumnProblems(attribute)

    def add(self, array: pa.Array) -> None:
        """Encode the next batch.

        Raises
        ------
        PrivateDataError
            If values of this Arrow type cannot be read at all. Values that do not fit are collected in `problems`.
        """
        import pyarrow as pa

        try:
            codes = self._codes(array)
            if codes.size and codes.min() < 0:
                self._collect(array, codes)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise PrivateDataError(
                f"column {self._name!r} has the type {array.type}, which cannot be read ({problem}); "
                "convert it to text, numbers or truth values"
            ) from problem
        self._batches.append(codes.astype(self._dtype))
        self.rows += len(array)

    def codes(self) -> Codes:
        """Return the codes of all batches and forget them."""
        if not self._batches:
            return np.zeros(0, dtype=self._dtype)
        whole: Codes = np.concatenate(self._batches)
        self._batches.clear()
        whole.flags.writeable = False
        return whole

    def _codes(self, array: pa.Array) -> Coded:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = array.type
        if pa.types.is_dictionary(kind):
            values = array.dictionary
            plain = pa.types.is_string(values.type) and not values.null_count
            return self._through_table(
                self._domain.texts(values) if plain else self._codes(values), array.indices
            )
        if pa.types.is_boolean(kind):
            return self._through_table(self._domain.truth_values(), pc.cast(array, pa.uint8()))
        if pa.types.is_integer(kind):
            return self._whole_numbers(array)
        fractional = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if fractional and isinstance(self._domain, NumericCodes):
            return self._domain.numbers(as_floats(array))
        if pa.types.is_floating(kind):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
        return self._codes(as_text(array.dictionary_encode()))

    def _whole_numbers(self, array: pa.Array) -> Coded:
        import pyarrow as pa
        import pyarrow.compute as pc

        bounds = pc.min_max(array)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if low is None:
            return np.full(len(array), self._domain.null_code, dtype=np.int32)
        if high - low >= min(_WIDEST_TABLE, 4 * len(array) + 256) or high >= 2**63:
            if isinstance(self._domain, NumericCodes):
                return self._domain.numbers(as_floats(array))
            return self._codes(as_text(array.dictionary_encode()))
        values = np.arange(low, high + 1, dtype=np.int64)
        if isinstance(self._domain, NumericCodes):
            table = self._domain.numbers(values.astype(np.float64))
        else:
            table = self._domain.texts(pc.cast(pa.array(values), pa.string()))
        return self._through_table(table, array, first=low)

    def _through_table(self, table: Coded, positions: pa.Array, first: int = 0) -> Coded:
        """Return table[positions - first], and the code of a missing value where the position is null."""
        import pyarrow.compute as pc

        if not positions.null_count:
            indices = positions.to_numpy(zero_copy_only=False)
            if table.size and np.array_equal(table, table[0] + np.arange(table.size)):
                # Codes in the order of the values: sums are twice as fast as looking each of them up.
                wide = indices.astype(np.int32) if indices.itemsize < 4 else indices
                moved: Coded = (wide - first).astype(np.int32, copy=False)
                moved += table[0]
                return moved
            codes: Coded = table[indices.astype(np.int64) - first if first else indices]
            return codes
        absent = pc.is_null(positions).to_numpy(zero_copy_only=False)
        indices = pc.fill_null(positions, first).to_numpy(zero_copy_only=False).astype(np.int64) - first
        extended = np.append(table, np.int32(self._domain.null_code))
        return extended[np.where(absent, table.size, indices)]

    def _collect(self, array: pa.Array, codes: Coded) -> None:
        """Note the different values among those without a code."""
        import pyarrow as pa

        bad = np.flatnonzero(codes < 0)
        text = as_text(array.take(pa.array(bad)))
        if pa.types.is_dictionary(text.type):
            text = text.dictionary_decode()
        encoded = text.dictionary_encode(null_encoding="encode")
        values, first, rows = np.unique(encoded.indices.to_numpy(), return_index=True, return_counts=True)
        texts = encoded.dictionary.to_pylist()
        order = np.argsort(first)[:REMEMBERED]
        self.problems.add(
            (
                (
                    texts[values[position]],
                    Found(
                        Problem(int(codes[bad[first[position]]])),
                        texts[values[position]] or "",
                        self.rows + int(bad[first[position]]),
                        int(rows[position]),
                    ),
                )
                for position in order
            ),
            bad.size,
        )


def as_floats(array: pa.Array) -> NDArray[np.float64]:
    """Return an array of numbers as float64, NaN where it is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def as_text(array: pa.Array) -> pa.Array:
    """Return an array of texts (or a dictionary of them): numbers in their shortest form, truth values as true, false.

    Raises pyarrow.ArrowInvalid or ArrowNotImplementedError if the type has no text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, as_text(array.dictionary))
    if pa.types.is_string(array.type):
        return array
    texts = pc.cast(array, pa.string())
    if not pa.types.is_floating(array.type):
        return texts
    # Whole numbers as such: 1e15 as 1000000000000000, and a float32 with all its digits.
    whole = pc.and_(
        pc.equal(pc.floor(array), array), pc.less_equal(pc.abs(array), pa.scalar(2.0**53, array.type))
    )
    return pc.if_else(whole, pc.cast(pc.cast(array, pa.int64(), safe=False), pa.string()), texts)

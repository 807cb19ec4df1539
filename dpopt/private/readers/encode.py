"""Encoding of one column, batch by batch: Arrow arrays of any usual type in, codes out.

Numbers of a numeric column as the file has them, and which values go to a bucket: for the owner's figures.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import AccuracyWarning, PrivateDataError, warn
from dpopt.private.readers.arrow_types import durations_of, plain, seconds_of
from dpopt.private.readers.domain_codes import CategoryCodes, Coded, NumericCodes
from dpopt.private.readers.table_problems import NO_TEXT, REMEMBERED, ColumnProblems, Found, Problem
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.private.tables.dataset import Codes, least_dtype
from dpopt.schema.schema import Attribute, AttributeKind

if TYPE_CHECKING:
    import pyarrow as pa


ZONED = "its moments have the time zone {} and are read in UTC"
LONGEST_TEXT = 2**14
"""Bytes of a value in an array of large texts; a longer one is taken for a text that nobody declares."""
_WIDEST_TABLE = 2**16  # whole numbers within a range of this length are coded through a table of codes


class ColumnEncoder:
    """Collects the codes of one attribute and its values without a code; the policy OTHER adds an `other_code`.

    Different values are coded once per batch wherever their number is small: dictionaries (every text column is turned
    into one) and whole numbers of a short range go through a table of codes. A null is a missing value, or if
    `nulls_are_malformed` a row that cannot be read; `decimal` stands before the fraction of a number in texts.
    """

    def __init__(
        self, attribute: Attribute, policy: OnInvalid, *, nulls_are_malformed: bool = False, decimal: str = "."
    ) -> None:
        numeric = attribute.kind is AttributeKind.NUMERIC
        self._domain = NumericCodes(attribute, policy, decimal) if numeric else CategoryCodes(attribute, decimal)
        self._name, self._unit, self._type = attribute.name, attribute.duration, attribute.arrow or ""
        self._bucket = attribute.other_code if OnInvalid.OTHER in policy else None
        self._total = OnInvalid.DROP in policy or self._bucket is not None
        self._nulls_are_malformed = nulls_are_malformed
        self._dtype = least_dtype(attribute.size)
        self._batches: list[Codes] = []
        self.rows = 0
        self.problems = ColumnProblems(attribute)

    def add(self, array: pa.Array) -> NDArray[np.bool_] | None:
        """Encode the next batch and collect values that do not fit; return which rows have no code, None if none."""
        import pyarrow as pa

        zone = getattr(array.type, "tz", None)
        if zone is not None and "tz=" not in self._type:
            self._type = "tz="  # said once
            warn(AccuracyWarning(
                f"column {self._name!r}: {ZONED.format(zone)}, and come back without it; for it, declare in the schema "
                f'"arrow": "{array.type}"'
            ))  # fmt: skip
        if pa.types.is_duration(array.type) and self._unit is not None:
            array = pa.array(durations_of(array, self._unit), from_pandas=True)
        if (why := no_reading(array.type)) is not None:
            raise PrivateDataError(f"column {self._name!r}: {why}")
        codes = self._codes(array)
        if self._nulls_are_malformed and array.null_count:
            codes[np.asarray(array.is_null())] = Problem.MALFORMED
        invalid = codes < 0 if codes.size and codes.min() < 0 else None
        if invalid is not None and not self._total:
            self._collect(array, codes)
        if invalid is not None:
            codes[invalid] = 0 if self._bucket is None else self._bucket
        self._batches.append(codes.astype(self._dtype))
        self.rows += len(array)
        return invalid if self._bucket is None else None

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the codes of the other rows of the last batch."""
        self._batches[-1] = self._batches[-1][kept]

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
                self._domain.texts(clean(values)) if plain else self._codes(values), array.indices
            )
        if pa.types.is_boolean(kind):
            return self._through_table(self._domain.truth_values(), pc.cast(array, pa.uint8()))
        if isinstance(self._domain, NumericCodes) and self._domain.date_format is not None:
            return self._dates(array, self._domain)
        if pa.types.is_integer(kind):
            return self._whole_numbers(array)
        fractional = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if fractional and isinstance(self._domain, NumericCodes):
            return self._domain.numbers(as_floats(array))
        return self._codes(as_text(array.dictionary_encode()))

    def _dates(self, array: pa.Array, domain: NumericCodes) -> Coded:
        """Return codes of dates, whatever type the column has; of a moment with a zone, those of its time in UTC."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
            return domain.numbers(seconds_of(array))
        texts = as_text(array)
        return domain.texts(clean(pc.fill_null(texts, "")))

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

        bad = np.flatnonzero((codes < 0) & (codes != Problem.MALFORMED))
        if not bad.size:
            return
        text = as_text(array.take(pa.array(bad)))
        text = clean(text.dictionary_decode() if pa.types.is_dictionary(text.type) else text)
        encoded = text.dictionary_encode(null_encoding="encode")
        values, first, rows = np.unique(encoded.indices.to_numpy(), return_index=True, return_counts=True)
        texts = encoded.dictionary.to_pylist()
        order = np.argsort(first)[:REMEMBERED]
        different = zip(values[order].tolist(), bad[first[order]].tolist(), rows[order].tolist(), strict=True)
        found = (
            (texts[value], Found(Problem(int(codes[row])), texts[value] or "", self.rows + row, number))
            for value, row, number in different
        )
        self.problems.add(found, bad.size)


def as_floats(array: pa.Array) -> NDArray[np.float64]:
    """Return an array of numbers as float64, NaN where it is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


@cache
def no_reading(kind: pa.DataType) -> str | None:
    """Return why values of a type cannot be read; None where they can. No value is looked at."""
    import pyarrow as pa

    if pa.types.is_duration(kind):
        return (
            'it holds durations; declare "type": "duration" with a "unit" such as "minutes", of which edges are numbers'
        )
    if pa.types.is_dictionary(kind):
        return no_reading(kind.value_type)
    try:
        as_text(plain(pa.nulls(0, kind)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, KeyError):
        return f"it has the type {kind}, which cannot be read; convert it to text, numbers or truth values"
    return None


def as_text(array: pa.Array) -> pa.Array:
    """Return an array of texts (or a dictionary of them): numbers in their shortest form, truth values as true, false.

    NaN is null. Bytes are texts, which may not be UTF-8: see `clean`.

    Raises pyarrow.ArrowInvalid or ArrowNotImplementedError if the type has no text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, as_text(array.dictionary))
    if pa.types.is_string(kind):
        return array
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        # Together they might not fit into an array of usual texts; no declared text is as long.
        long = pc.greater(pc.binary_length(array), LONGEST_TEXT)
        array = pc.if_else(long, pa.scalar(f"{NO_TEXT}a value of more than {LONGEST_TEXT:,} bytes", kind), array)
    if "binary" in str(kind):  # not checked here: `clean` finds what is not UTF-8, value by value
        return pc.cast(array, options=pc.CastOptions.unsafe(pa.string()))
    if pa.types.is_floating(kind):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
    texts = pc.cast(array, pa.string())
    if not pa.types.is_floating(kind):
        return texts
    # Whole numbers as such: 1e15 as 1000000000000000, and a float32 with all its digits.
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less_equal(pc.abs(array), pa.scalar(2.0**53, array.type)))
    return pc.if_else(whole, pc.cast(pc.cast(array, pa.int64(), safe=False), pa.string()), texts)


def clean(texts: pa.Array) -> pa.Array:
    """Return texts with a mark (`NO_TEXT`) in place of each that is not UTF-8; most libraries do not look."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_text_of_bytes(value) for value in texts.cast(pa.binary()).to_pylist()], pa.string())
    return texts


def _text_of_bytes(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return f"{NO_TEXT}a value that is not UTF-8"


_ABSENT, _OTHER = 0, 1


class DistinctNumbers(NumericCodes):
    """Codes that stand for numbers: positions in a list that grows, which may name one number several times.

    With OTHER, numbers that go to the bucket have positions of their own: what the file says is not lost.
    """

    def __init__(self, attribute: Attribute, policy: OnInvalid, decimal: str = ".") -> None:
        super().__init__(attribute, policy, decimal)
        self._replaces = OnInvalid.OTHER in policy
        self._other = np.nan if attribute.other is None else float(attribute.other)
        self._known = [np.array([[np.nan, np.inf], [np.nan, self._other]])]
        self._length = 2
        if attribute.missing is not None:
            self.null_code = _ABSENT

    def numbers(self, numbers: NDArray[np.float64]) -> Coded:
        """Return the position of each number."""
        codes = super().numbers(numbers)
        absent = np.isnan(numbers)
        for number in self._missing_numbers:
            absent |= numbers == number
        fits = ~absent if self._replaces else (codes >= 0) & ~absent
        found, first, places = np.unique(numbers[fits], return_index=True, return_inverse=True)
        counted = np.where(codes[fits][first] < 0, self._other, np.clip(found, self._low, self._high))
        codes[fits] = self._length + places.astype(np.int32)
        self._known.append(np.array([found, counted]))
        self._length += found.size
        return codes

    def known(self) -> NDArray[np.float64]:
        """Return the value of each position, (2, n): see `FileEncoder.known`."""
        return np.concatenate(self._known, axis=1)


class FileEncoder(ColumnEncoder):
    """A `ColumnEncoder` whose codes represent the values of the file: for a numeric attribute, positions in `known`.

    Of others, values that go to the bucket have a code after all others.
    """

    def __init__(self, attribute: Attribute, policy: OnInvalid, **how: Any) -> None:
        super().__init__(attribute, policy, **how)
        numeric = attribute.kind is AttributeKind.NUMERIC
        if numeric:
            self._domain = DistinctNumbers(attribute, policy, how.get("decimal", "."))
        self._dtype = np.dtype(np.uint32)
        if self._bucket is not None:
            self._bucket = _OTHER if numeric else attribute.size

    def known(self) -> NDArray[np.float64]:
        """Return the number that each code of a numeric attribute stands for, (2, n): in the file, and as it is counted.

        NaN is a missing value; in the file, an infinity is not a number at all.
        """
        return cast("DistinctNumbers", self._domain).known()

"""Arrays of any Arrow type as the types that are read: by the type of a column alone, whatever its values are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.dates import NANOSECONDS, TICKS

if TYPE_CHECKING:
    import pyarrow as pa

_FARTHEST = 2**53  # seconds from 1970: beyond all dates that have a text, and exact as a float
_CLOCK = (
    r"^(?:(?P<d>-?[0-9]{1,5}) days?,? )?(?P<h>[0-9]{1,5}):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9])(?:\.(?P<f>[0-9]{1,9}))?$"
)


def plain(array: pa.Array) -> pa.Array:
    """Return the same values as texts, bytes, truth values, numbers, dates, timestamps, durations, or dictionaries of them.

    Times of day become texts. A type without a reading, such as lists, stays, and is refused by `encode.no_reading`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType) and not kind.extension_name.startswith("pandas."):
        return plain(array.storage)
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_dictionary(kind):
        if pa.types.is_duration(kind.value_type):
            return array.dictionary_decode()
        return pa.DictionaryArray.from_arrays(array.indices, plain(array.dictionary), ordered=kind.ordered)
    if pa.types.is_time(kind):
        return pc.replace_substring_regex(pc.cast(array, pa.string()), r"\.0+$", "")
    read_as = {pa.null(): pa.string(), pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    read_as[pa.float16()] = pa.float32()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        read_as[kind] = pa.decimal128(kind.precision, kind.scale)
    return array.cast(read_as[kind]) if kind in read_as else array


def _ticks(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return dates, timestamps or durations as whole numbers of the type's unit; and where they are missing."""
    ticks = array.view(f"int{array.type.bit_width}").fill_null(0).to_numpy()
    return ticks.astype(np.int64), array.is_null().to_numpy(zero_copy_only=False)


def seconds_of(array: pa.Array) -> NDArray[np.float64]:
    """Return dates or timestamps of any unit as seconds since 1970-01-01 00:00, without fractions; NaN without one."""
    import pyarrow as pa

    ticks, absent = _ticks(array)
    unit = "ms" if pa.types.is_date64(array.type) else getattr(array.type, "unit", "s")
    whole = ticks * 86400 if pa.types.is_date32(array.type) else ticks // (TICKS["s"] // TICKS[unit])
    return np.where(absent, np.nan, np.clip(whole, -_FARTHEST, _FARTHEST))


def durations_of(array: pa.Array, unit: str) -> NDArray[np.float64]:
    """Return durations as numbers of a unit out of `dpopt.schema.dates.NANOSECONDS`; NaN where there is none."""
    ticks, absent = _ticks(array)
    return np.where(absent, np.nan, _in_unit(ticks, TICKS[array.type.unit], unit))


def parse_durations(texts: pa.Array, unit: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read texts such as "0 days 01:30:00", "1 day, 2:03:04" or "26:03:04.5" as numbers of a unit; and which have this form."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = pc.extract_regex(texts, _CLOCK)
    total = np.zeros(len(texts), dtype=np.int64)
    for part, size in zip("dhmsf", ("days", "hours", "minutes", "seconds", "nanoseconds"), strict=True):
        digits = pc.utf8_rpad(pc.struct_field(fields, part), 9 if part == "f" else 1, "0")
        total += pc.fill_null(digits, "0").cast(pa.int64()).to_numpy() * NANOSECONDS[size]
    return _in_unit(total, 1, unit), ~fields.is_null().to_numpy(zero_copy_only=False)


def _in_unit(ticks: NDArray[np.int64], tick: int, unit: str) -> NDArray[np.float64]:
    """Return whole numbers of ticks (nanoseconds each) as numbers of a unit, correctly rounded."""
    size = NANOSECONDS[unit]
    return np.asarray(ticks / (size // tick) if size >= tick else ticks * (tick / size), dtype=np.float64)

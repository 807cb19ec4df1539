"""The type of a column, as a draft declares it: it belongs to the table and to none of its records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpopt.errors import SchemaError
from dpopt.schema.dates import has_time
from dpopt.schema.schema import Attribute, AttributeKind

if TYPE_CHECKING:
    import pyarrow as pa


def with_type(attribute: Attribute, kind: pa.DataType) -> Attribute:
    """Return an attribute with the Arrow type of its column, if it would come back in another and this holds its bins.

    Texts have no type to keep: what they say, such as a date, comes back as what it is.
    """
    import pyarrow as pa

    name, usual = str(kind), "double"
    if pa.types.is_dictionary(kind):
        name = "ordered category" if kind.ordered else "category"
    if attribute.kind is AttributeKind.BOOLEAN:
        usual = "bool"
    elif attribute.date_format is not None:
        usual = "timestamp[s]" if has_time(attribute.date_format) else "date32[day]"
    elif attribute.duration is not None:
        usual = "duration[ns]" if attribute.duration == "nanoseconds" else "duration[us]"
    elif attribute.integer or all(isinstance(value, int) for value in attribute.values or (0.5,)):
        usual = "int64"
    # pandas has types of its own for whole numbers and truth values of which some are missing
    nullable = attribute.missing is not None and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))
    try:
        same = name == usual and not nullable
        return attribute if same else replace(attribute, arrow=name, ordered=attribute.ordered or "ordered" in name)
    except SchemaError:  # it is read as something else, or its bins reach farther
        return attribute

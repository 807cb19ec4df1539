"""What to do with values of the table that the schema does not declare."""

from __future__ import annotations

import enum

from dpopt.errors import SchemaError


class OnUnknown(enum.Flag):
    """Repairs that are allowed while a table is read; what no repair covers is an error.

    Each acts on one record at a time, so it changes neither the neighbouring relation nor any charge.
    """

    ERROR = 0
    CLIP = enum.auto()  # a number outside the range goes to the nearest bin
    OTHER = enum.auto()  # a categorical value that is not declared goes to the attribute's declared `other`


def parse_on_unknown(text: str) -> OnUnknown:
    """Return the policy that a text names: "error", "clip", "other" or "clip,other".

    Raises
    ------
    SchemaError
        If the text names something else, or "error" together with a repair.
    """
    words = [word.strip().lower() for word in text.split(",")]
    known = {"error": OnUnknown.ERROR, "clip": OnUnknown.CLIP, "other": OnUnknown.OTHER}
    policy = OnUnknown.ERROR
    for word in words:
        if word not in known:
            raise SchemaError(
                f"on-unknown {text!r}: {word!r} is not known; expected error, clip, other, or clip,other"
            )
        policy |= known[word]
    if "error" in words and policy is not OnUnknown.ERROR:
        raise SchemaError(f"on-unknown {text!r}: 'error' allows no repair; leave it out, or the others")
    return policy

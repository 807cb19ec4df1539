"""What to do with what does not fit the schema: values that it does not declare, missing ones, rows that cannot be read.

Privacy: A9 in docs/privacy.md.
"""

from __future__ import annotations

import enum

from dpopt.errors import SchemaError


class OnInvalid(enum.Flag):
    """Repairs that are allowed while a table is read; what no repair covers is an error.

    Each acts on one record at a time, by that record alone. With OTHER or DROP the reading is *total*: no row ends a run.
    """

    ERROR = 0
    CLIP = enum.auto()  # a number outside the range goes to the nearest bin
    OTHER = enum.auto()  # what does not fit an attribute goes to its bucket (`Attribute.other_code`)
    DROP = enum.auto()  # a record with a value that does not fit is not counted

    @property
    def is_total(self) -> bool:
        """Whether every row of a table can be read, whatever it holds."""
        return bool(self & (OnInvalid.OTHER | OnInvalid.DROP))

    @property
    def text(self) -> str:
        """What `parse_on_invalid` reads as this policy."""
        return ",".join(str(repair.name).lower() for repair in self) or "error"


_WORDS = {
    policy.text: policy for policy in (OnInvalid.ERROR, OnInvalid.CLIP, OnInvalid.OTHER, OnInvalid.DROP)
}


def parse_on_invalid(text: OnInvalid | str) -> OnInvalid:
    """Return the policy that a text names: "error", "clip", "other", "drop", "clip,other" or "clip,drop".

    Raises
    ------
    SchemaError
        If the text names something else, "error" together with a repair, or both "other" and "drop".
    """
    if isinstance(text, OnInvalid):
        return _checked(text)
    words = [word.strip().lower() for word in str(text).split(",")]
    policy = OnInvalid.ERROR
    for word in words:
        if word not in _WORDS:
            raise SchemaError(
                f"on-invalid {text!r}: {word!r} is not known; expected error, clip, other, drop, clip,other or clip,drop"
            )
        policy |= _WORDS[word]
    if "error" in words and policy is not OnInvalid.ERROR:
        raise SchemaError(f"on-invalid {text!r}: 'error' allows no repair; leave it out, or the others")
    return _checked(policy)


def _checked(policy: OnInvalid) -> OnInvalid:
    if OnInvalid.OTHER in policy and OnInvalid.DROP in policy:
        raise SchemaError(
            f"on-invalid {policy.text!r}: a record that does not fit is counted in a bucket ('other') or not at all ('drop'); "
            "choose one"
        )
    return policy

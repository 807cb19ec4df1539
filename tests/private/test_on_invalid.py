from __future__ import annotations

import pytest

from dpopt.errors import SchemaError
from dpopt.private.readers.table_reading import OnInvalid, parse_on_invalid


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("error", OnInvalid.ERROR),
        ("clip", OnInvalid.CLIP),
        ("other", OnInvalid.OTHER),
        ("drop", OnInvalid.DROP),
        ("clip,other", OnInvalid.CLIP | OnInvalid.OTHER),
        ("clip,drop", OnInvalid.CLIP | OnInvalid.DROP),
        (" Other , clip ", OnInvalid.CLIP | OnInvalid.OTHER),
    ],
)
def test_a_policy_is_read_from_its_words(text: str, policy: OnInvalid) -> None:
    assert parse_on_invalid(text) == policy
    assert parse_on_invalid(policy.text) == policy
    assert policy.is_total == ("other" in text.lower() or "drop" in text)


@pytest.mark.parametrize(
    "text", ["", "keep", "clip,", "clip other", "error,clip", "other,drop", "error,drop"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="on-invalid"):
        parse_on_invalid(text)

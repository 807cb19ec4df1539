from __future__ import annotations

import pytest

from dpopt.errors import SchemaError
from dpopt.private.on_unknown import OnUnknown, parse_on_unknown


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("error", OnUnknown.ERROR),
        ("clip", OnUnknown.CLIP),
        ("other", OnUnknown.OTHER),
        ("clip,other", OnUnknown.CLIP | OnUnknown.OTHER),
        (" Other , clip ", OnUnknown.CLIP | OnUnknown.OTHER),
    ],
)
def test_a_policy_is_read_from_its_words(text: str, policy: OnUnknown) -> None:
    assert parse_on_unknown(text) == policy


@pytest.mark.parametrize("text", ["", "drop", "clip,", "clip other", "error,clip"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="on-unknown"):
        parse_on_unknown(text)

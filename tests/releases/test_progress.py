from __future__ import annotations

import pytest

from dpopt.releases.progress import Progress, stage


def test_a_stage_ends_also_when_its_body_fails() -> None:
    silent = Progress()
    with pytest.raises(ValueError, match="no"), stage(silent, "counting"):
        raise ValueError("no")
    assert set(silent.seconds) == {"counting"}


def test_the_seconds_of_a_stage_that_comes_twice_add_up() -> None:
    silent = Progress()
    with stage(silent, "counting"):
        silent.share(0.5)
    first = silent.seconds["counting"]
    with stage(silent, "counting"):
        silent.round(1, 2, 0.0)
    assert silent.seconds["counting"] >= first

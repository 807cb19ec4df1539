"""Whatever stands in a file, dpopt reads it or refuses it with an error of its own; `experiments/fuzz` tries many more."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.source_code import ROOT

if TYPE_CHECKING:
    from experiments.fuzz.__main__ import Cases

pytestmark = pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the experiments are not part of this copy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with whole files of every kind."""
    from experiments.fuzz.__main__ import make_samples

    folder = tmp_path_factory.mktemp("whole")
    make_samples(folder, ["dualquery", "projection"])
    return folder


@pytest.fixture(scope="module")
def cases(folder: Path) -> Cases:
    """Return the cases, of which the whole ones have been read."""
    from experiments.fuzz.__main__ import Cases

    made = Cases(folder)
    made.read_whole()
    return made


def test_a_damaged_file_is_read_or_refused(cases: Cases, tmp_path: Path) -> None:
    @settings(max_examples=2000, deadline=None)
    @given(st.sampled_from(cases.kinds), st.randoms(use_true_random=True))
    def try_one(kind: str, rng: random.Random) -> None:
        assert cases.outcome(kind, rng, tmp_path) in {"read", "refused"}, kind

    try_one()


def test_the_experiment_still_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from experiments.fuzz.__main__ import main

    assert main(["--quick", "--folder", str(folder)]) == 0
    assert "| table: npz | 4 |" in capsys.readouterr().out

"""What was released once stays what it is: the kept transcripts give the same records, the kept synopses the same answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpopt.algorithms.replay import replay
from dpopt.releases.descriptions.readme import README
from dpopt.releases.folder_files import write_json
from tests.kept_releases import convert
from tests.kept_releases.make import RELEASES, SYNOPSES, answer

MADE = Path(__file__).parent / "made"
ANSWERS: dict[str, Any] = json.loads((MADE / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("algorithm", RELEASES)
def test_a_transcript_gives_the_records_that_it_gave(algorithm: str, tmp_path: Path) -> None:
    kept, again = convert.converted(MADE / algorithm, tmp_path), tmp_path / "again"
    replay(kept, again)
    (again / README).unlink()  # most of these releases are older than it, and than the errors of columns and pairs
    for folder in (kept, again):
        stated = convert.read(folder / "release.json")
        for older in ("one_way", "two_way"):
            stated["accuracy"].pop(older, None)
        write_json(folder / "release.json", stated)
    assert _files(kept) == _files(again)


@pytest.mark.parametrize("name", SYNOPSES)
def test_a_synopsis_answers_as_it_did(name: str, tmp_path: Path) -> None:
    (kept,) = (path for path in MADE.glob(f"{Path(name).stem}.*") if path.name in ANSWERS)
    found = answer(convert.converted_synopsis(kept, tmp_path), SYNOPSES[name][1], tmp_path)
    assert found == _about(convert.answer(ANSWERS[kept.name]))


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _about(value: object) -> object:
    """Return a value that equals one whose numbers differ in their last digits, as they do between processors."""
    if isinstance(value, dict):
        return {key: _about(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_about(inner) for inner in value]
    return pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value

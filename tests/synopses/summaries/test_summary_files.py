"""The files of summaries: read back as they were, never written over, and refused where they are damaged."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import plan_summary
from tests.synopses.summaries.tiny_summaries import PURE, RHO, SCHEMA
from tests.tiny_runs import dataset_of


def made(which: str = "all", budget: Any = RHO) -> Summary:
    literals = ChosenLiterals.of(SCHEMA, None, which)
    plan = plan_summary(literals, 3, budget, size=20)
    return release_summary(dataset_of(SCHEMA, ((0, 1, 1), (1, 2, 0)) * 10), plan)


@pytest.fixture
def written(tmp_path: Path) -> tuple[Summary, Path]:
    summary, path = made(), tmp_path / "summary.npz"
    summary.write(path)
    return summary, path


@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("which", ["all", "positive"])
@pytest.mark.parametrize("name", ["summary.npz", "summary"])
def test_a_summary_is_read_back_as_it_was(which: str, budget: Any, name: str, tmp_path: Path) -> None:
    summary, path = made(which, budget), tmp_path / name
    summary.write(path)
    again = Summary.read(path)
    assert again.statement() == summary.statement()
    assert [noisy.tolist() for noisy in again.noisy] == [noisy.tolist() for noisy in summary.noisy]
    assert again.answer("a=true,b>=10") == summary.answer("a=true,b>=10")
    assert repr(again) == repr(summary)
    assert not any(noisy.flags.writeable for noisy in again.noisy)


def test_the_same_summary_has_the_same_bytes(tmp_path: Path) -> None:
    summary = made()
    for name in ("one.npz", "two.npz"):
        summary.write(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]


def test_a_file_that_is_there_is_not_written_over(written: tuple[Summary, Path]) -> None:
    summary, path = written
    before = path.read_bytes()
    with pytest.raises(ReleaseFolderError, match="exists already"):
        summary.write(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_named(written: tuple[Summary, Path]) -> None:
    with pytest.raises(ReleaseFolderError, match="there is no folder"):
        written[0].write(written[1].parent / "none" / "summary.npz")
    with pytest.raises(ReleaseFolderError, match="there is no such file"):
        Summary.read(written[1].parent / "none.npz")
    with pytest.raises(ReleaseFolderError, match="it is a folder"):
        Summary.read(written[1].parent)


def test_no_damage_of_a_byte_goes_unexplained(written: tuple[Summary, Path]) -> None:
    """Each byte changed in three ways, each beginning of the file: read as it was, or refused with a message that names it."""
    summary, path = written
    raw, damaged = path.read_bytes(), path.parent / "damaged.npz"
    broken = [
        bytes([*raw[:at], raw[at] ^ flip, *raw[at + 1 :]])
        for at in range(len(raw))
        for flip in (1, 0x80, 0xFF)
    ]
    outcomes: Counter[str] = Counter()
    for content in [*broken, *(raw[:end] for end in range(0, len(raw), 5))]:
        damaged.write_bytes(content)
        try:
            found = Summary.read(damaged)
        except TranscriptError as error:
            outcomes["refused" if "damaged.npz is no summary, or damaged" in str(error) else "unclear"] += 1
        else:
            # What is not covered by a checksum, such as the time of a file, changes nothing.
            assert found.statement() == summary.statement()
            assert [one.tolist() for one in found.noisy] == [one.tolist() for one in summary.noisy]
            outcomes["read"] += 1
    assert outcomes["refused"] > outcomes["read"] > outcomes["unclear"] == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"dpopt_summary": 1}', b"PK\x03\x04"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(TranscriptError, match="is no summary, or damaged"):
        Summary.read(tmp_path / "other")


def test_other_archives_and_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "archive.npz", counts=np.arange(3))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("statement", b"{}")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(TranscriptError, match="is no summary"):
            Summary.read(path)


def rewritten(path: Path, change: Any) -> Path:
    """Write the file again with its arrays changed."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    statement = json.loads(bytes(arrays.pop("statement")))
    change(statement, arrays)
    target = path.with_name("changed.npz")
    np.savez(target, statement=np.frombuffer(json.dumps(statement).encode(), dtype=np.uint8), **arrays)
    return target


def lose_a_size(statement: Any, arrays: Any) -> None:
    del arrays["noisy_1"]


def lose_a_count(statement: Any, arrays: Any) -> None:
    arrays["noisy_0"] = arrays["noisy_0"][1:]


def take_fractions(statement: Any, arrays: Any) -> None:
    arrays["noisy_0"] = arrays["noisy_0"] + 0.5


def be_of_another_version(statement: Any, arrays: Any) -> None:
    statement["dpopt_summary"] = 2


def lose_what_it_cost(statement: Any, arrays: Any) -> None:
    del statement["privacy"]["epsilon"]


def lose_the_plan(statement: Any, arrays: Any) -> None:
    del statement["plan"]


def change_the_noise(statement: Any, arrays: Any) -> None:
    statement["plan"]["gaussian"] = "none"


def count_without_noise(statement: Any, arrays: Any) -> None:
    statement["plan"]["scales"][0] = 0


def have_infinitely_many_records(statement: Any, arrays: Any) -> None:
    statement["plan"]["size"] = float("inf")


def be_a_list(statement: Any, arrays: Any) -> None:
    statement["plan"] = [1, 2]


def have_less_noise(statement: Any, arrays: Any) -> None:
    statement["plan"]["scales"][0] /= 2


def have_cost_less(statement: Any, arrays: Any) -> None:
    statement["privacy"]["epsilon"] /= 2


def lose_a_charge(statement: Any, arrays: Any) -> None:
    del statement["privacy"]["charges"][0]


def be_called_not_private(statement: Any, arrays: Any) -> None:
    statement["privacy"]["private"] = not statement["privacy"]["private"]


def have_a_charge_that_is_none(statement: Any, arrays: Any) -> None:
    statement["privacy"]["charges"][0]["parameter"] = -1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lose_a_size, "shorter"),
        (lose_a_count, "expected 7"),
        (take_fractions, "of the type float64"),
        (be_of_another_version, "is no summary, or damaged: found no summary of this version"),
        (lose_what_it_cost, "it does not say what it cost: epsilon missing"),
        (lose_the_plan, "plan"),
        (change_the_noise, "true or false, found"),
        (count_without_noise, "noise of scales"),
        (have_infinitely_many_records, "damaged"),
        (be_a_list, "damaged"),
        (have_less_noise, "not what its plan costs"),
        (have_cost_less, "not what its plan costs"),
        (lose_a_charge, "not what its plan costs"),
        (be_called_not_private, "not what its plan costs"),
        (have_a_charge_that_is_none, "a charge that is none"),
    ],
)
def test_files_that_contradict_themselves_are_refused(
    change: Any, message: str, written: tuple[Summary, Path]
) -> None:
    with pytest.raises(TranscriptError, match=message):
        Summary.read(rewritten(written[1], change))


def test_a_file_that_is_written_again_unchanged_is_read(written: tuple[Summary, Path]) -> None:
    assert Summary.read(rewritten(written[1], lambda *_: None)).statement() == written[0].statement()

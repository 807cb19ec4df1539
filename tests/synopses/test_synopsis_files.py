"""The file of every kind of synopsis: read back as it was, never written over, and refused where it is damaged."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt import read_synopsis
from dpopt.errors import DpoptError, ReleaseFolderError, TranscriptError
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.synopses.any_synopsis import KINDS
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import plan_sanitizer
from dpopt.synopses.synopsis import Synopsis
from tests.algorithms.test_every_plan import at, places
from tests.exact_sanitizer_loss import FAMILIES
from tests.kept_releases.convert import converted_synopsis
from tests.kept_releases.test_kept_releases import ANSWERS, MADE
from tests.synopses.sanitizers.test_sanitizer_plan import RHO
from tests.tiny_runs import REPLACE, dataset_of

POLYNOMIALS = {f"polynomial, {kind}": FAMILIES[kind] for kind in ("mixed, sets", "table")}
PREFIXES = "prefixes"
EVERY = [*ANSWERS, *POLYNOMIALS, PREFIXES]
every_kind = pytest.mark.parametrize("kind", EVERY)


@cache
def made(kind: str) -> Synopsis:
    """Return a kept synopsis, or a released polynomial."""
    if kind in POLYNOMIALS:
        return polynomial(POLYNOMIALS[kind])
    with TemporaryDirectory() as folder:
        if kind == PREFIXES:
            return prefixes(Path(folder))
        return read_synopsis(converted_synopsis(MADE / kind, Path(folder)))


def prefixes(folder: Path) -> Synopsis:
    """Return what is read from the file of prefixes, which is no archive."""
    days = dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2, 3, 4))
    table, file = pd.DataFrame({"day": [0, 1, 1, 2] * 5}), folder / "p.jsonl"
    dpopt.prefixes(table, dpopt.Schema((days,)), "day", steps=3, out=file, rho=1)
    return read_synopsis(file)


def polynomial(family: PolynomialFamily) -> Synopsis:
    plan = plan_sanitizer(family, RHO, size=4, relation=REPLACE)
    return release_sanitizer(dataset_of(family.schema, ((0, 2), (1, 1), (1, 1), (0, 0))), plan)


def same(one: Synopsis, other: Synopsis) -> bool:
    return json.dumps(one.to_json()) == json.dumps(other.to_json())


@every_kind
@pytest.mark.parametrize("name", ["synopsis.npz", "synopsis"])
def test_a_synopsis_is_read_back_as_it_was(kind: str, name: str, tmp_path: Path) -> None:
    synopsis, path = made(kind), tmp_path / name
    synopsis.write(path)
    for again in (type(synopsis).read(path), read_synopsis(path), type(synopsis).from_json(synopsis.to_json())):
        assert same(again, synopsis)
        assert repr(again) == repr(synopsis)
        assert not any(noisy.flags.writeable for noisy in again.noisy_arrays())
    made(kind).write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.npz", name]


@every_kind
def test_a_file_is_not_written_over_and_a_missing_one_is_named(kind: str, tmp_path: Path) -> None:
    synopsis, path = made(kind), tmp_path / "synopsis.npz"
    synopsis.write(path)
    before = path.read_bytes()
    with pytest.raises(ReleaseFolderError, match="exists already"):
        synopsis.write(path)
    assert path.read_bytes() == before
    with pytest.raises(ReleaseFolderError, match="there is no folder"):
        synopsis.write(tmp_path / "none" / "synopsis.npz")
    with pytest.raises(ReleaseFolderError, match="there is no such file"):
        synopsis.read(tmp_path / "none.npz")
    with pytest.raises(ReleaseFolderError, match="it is a folder"):
        synopsis.read(tmp_path)


@every_kind
def test_no_damage_of_a_byte_goes_unexplained(kind: str, tmp_path: Path) -> None:
    """Bytes changed in three ways, beginnings of the file: read as it was, or refused with a message that names the file.

    Every byte of one kind, every seventh of the others, whose files are read by the same function.
    """
    synopsis, path = made(kind), tmp_path / "damaged.npz"
    synopsis.write(path)
    raw, step = path.read_bytes(), 1 if kind == "summary.npz" else 7
    broken = [
        raw[:place] + bytes([raw[place] ^ flip]) + raw[place + 1 :]
        for place in range(0, len(raw), step)
        for flip in (1, 0x80, 0xFF)
    ]
    outcomes: Counter[str] = Counter()
    for content in [*broken, *(raw[:end] for end in range(0, len(raw), 7))]:
        path.write_bytes(content)
        try:
            found = synopsis.read(path)
        except TranscriptError as error:
            explained = f"damaged.npz is no {synopsis.WHAT}, or damaged" in str(error)
            outcomes["refused" if explained else "unclear"] += 1
        else:
            assert same(found, synopsis)  # what no checksum covers, such as the time of a file, changes nothing
            outcomes["read"] += 1
    assert outcomes["refused"] > outcomes["read"] > outcomes["unclear"] == 0


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_other_files_are_refused(kind: Callable[[], type[Synopsis]], tmp_path: Path) -> None:
    expected = kind()
    assert KINDS[expected.KEY] is kind
    for number, content in enumerate((b"", b"nonsense", b"\0" * 100, b'{"dpopt_summary": 1}', b"PK\x03\x04")):
        (tmp_path / f"other{number}").write_bytes(content)
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "archive.npz", counts=np.arange(3))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("statement", b"{}")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(TranscriptError, match=f"is no {expected.WHAT}, or damaged"):
            expected.read(path)


Change = Callable[[Any, Any], object]
ANY_KIND: dict[str, tuple[Change, str]] = {
    "another version": (lambda stated, arrays: stated.update({_key(stated): 2}), "of this version"),
    "no array": (lambda stated, arrays: arrays.pop("noisy_0"), "damaged"),
    "a count less": (lambda stated, arrays: arrays.update(noisy_0=arrays["noisy_0"][1:]), "damaged"),
    "fractions": (lambda stated, arrays: arrays.update(noisy_0=arrays["noisy_0"] + 0.5), "of the type float64"),
}
PLANNED = [kind for kind in (*ANSWERS, PREFIXES) if not kind.startswith(("sorted", "degrees"))]
"""Sorted counts keep no plan on file."""
OF_A_PLAN: dict[str, Change] = {
    "no cost": lambda stated, arrays: stated["privacy"].pop("epsilon"),
    "a charge that is none": lambda stated, arrays: stated["privacy"]["charges"][0].update(parameter=-1),
    "cheaper": lambda stated, arrays: stated["privacy"].update(epsilon=stated["privacy"]["epsilon"] / 2),
    "a charge less": lambda stated, arrays: stated["privacy"]["charges"].pop(0),
    "not private": lambda stated, arrays: stated["privacy"].update(private=not stated["privacy"]["private"]),
}


def _key(stated: dict[str, Any]) -> str:
    (key,) = KINDS.keys() & stated.keys()
    return key


def rewritten(synopsis: Synopsis, target: Path, change: Change) -> Path:
    """Write the file with another statement or other arrays."""
    arrays: dict[str, Any] = {f"noisy_{k}": noisy for k, noisy in enumerate(synopsis.noisy_arrays())}
    stated = json.loads(json.dumps(synopsis.statement()))
    change(stated, arrays)
    np.savez(target, statement=np.frombuffer(json.dumps(stated).encode(), dtype=np.uint8), **arrays)
    return target


@every_kind
@pytest.mark.parametrize("what", ANY_KIND)
def test_files_that_contradict_themselves_are_refused(kind: str, what: str, tmp_path: Path) -> None:
    change, message = ANY_KIND[what]
    if what == "a count less" and (kind == PREFIXES or (kind in ANSWERS and kind not in PLANNED)):
        return  # sorted counts of fewer bins, and fewer steps
    with pytest.raises(TranscriptError, match=message):
        made(kind).read(rewritten(made(kind), tmp_path / "changed.npz", change))


@every_kind
def test_a_file_that_is_rewritten_unchanged_is_read(kind: str, tmp_path: Path) -> None:
    assert same(made(kind).read(rewritten(made(kind), tmp_path / "same.npz", lambda *_: None)), made(kind))


@pytest.mark.parametrize("kind", PLANNED)
@pytest.mark.parametrize("what", OF_A_PLAN)
def test_files_that_state_another_cost_than_their_plan_are_refused(kind: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(
        TranscriptError, match="not what its plan costs|cost is incomplete: epsilon|a charge that is none"
    ):
        made(kind).read(rewritten(made(kind), tmp_path / "changed.npz", OF_A_PLAN[what]))


@every_kind
def test_a_part_of_another_kind_is_refused_or_changes_no_count(kind: str) -> None:
    """Nothing, an object or a text in place of any value, with no other error than those of damaged files."""
    synopsis = made(kind)
    whole = json.loads(json.dumps(synopsis.to_json()))
    for place in places(synopsis.statement()):
        for wrong in (None, {"magic": 1}, "much"):
            given = json.loads(json.dumps(whole))
            at(given, place[:-1])[place[-1]] = wrong
            try:
                found = synopsis.from_json(given)
            except DpoptError:
                continue
            assert place != ("plan",)
            assert found.to_json()["noisy"] == whole["noisy"]

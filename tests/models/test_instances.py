"""Every instance of the catalogue: its files say the same, what is known of it is true, and it can be made again."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dpopt.comparison.instances import read_instance
from dpopt.models import best_response
from tests.algorithms.small_runs import small_release
from tests.models.catalogue import (
    MODELS,
    instance_files,
    load_script,
    obeying_records,
    program_of,
    small_instances,
)

FILES = instance_files()
WRITE = load_script(MODELS / "write_instances.py")
PUBLIC = load_script(MODELS / "public_rounds.py")
EACH_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_no_two_instances_share_a_name() -> None:
    assert len({path.stem for path in FILES}) == len(FILES) > 0


def test_the_catalogue_stays_small() -> None:
    sizes = [path.stat().st_size for path in MODELS.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(sizes) < 1_000_000
    assert max(sizes) < 50_000


@EACH_FILE
def test_an_instance_states_its_fingerprint_and_what_is_known(path: Path) -> None:
    instance = read_instance(path)  # which compares the record with the rules and with its objective
    assert instance.problem.fingerprint() == instance.stated["fingerprint"]
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert instance.stated["tolerance"] == 0.0
    assert instance.stated["how_known"]
    assert instance.stated["made"]
    assert instance.record is not None
    assert instance.best_known is not None
    assert instance.bound is not None
    assert instance.best_known <= instance.bound <= instance.problem.upper_bound()
    assert set(instance.stated) <= {
        "how_known",
        "tolerance",
        "formulation",
        "made",
        "family",
        "round",
        "proven_bound",
        "fingerprint",
        "mip_fingerprint",
    }
    proven = instance.stated.get("proven_bound", instance.bound)
    assert isinstance(proven, int)
    assert instance.best_known <= proven <= instance.problem.upper_bound()


@EACH_FILE
def test_the_program_beside_an_instance_is_that_of_the_formulation(path: Path) -> None:
    instance, plain, packed = read_instance(path), path.with_suffix(".mps"), path.with_suffix(".mps.gz")
    if "mip_fingerprint" not in instance.stated:
        assert (plain.exists(), packed.exists()) == (False, False)
        return
    assert program_of(instance).fingerprint() == instance.stated["mip_fingerprint"]
    assert packed.exists() == (len(WRITE.mps(instance)) > WRITE.PLAIN_BYTES)
    assert plain.exists() != packed.exists()
    if plain.exists():
        assert plain.read_bytes() == WRITE.mps(instance)
    else:
        assert gzip.decompress(packed.read_bytes()) == WRITE.mps(instance)


def test_the_page_lists_every_instance_with_what_is_known_of_it() -> None:
    table = load_script(MODELS / "instance_table.py")
    page = table.PAGE.read_text(encoding="utf-8")
    assert f"{table.BEGIN}{table.table()}{table.END}" in page
    assert table.table().count("\n") == len(FILES) + 2


def test_the_example_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MODELS.parent)
    page = (MODELS / "INSTANCES.md").read_text(encoding="utf-8")
    exec(page.partition("```python\n")[2].partition("```")[0], {})


def test_a_compressed_program_holds_no_time_and_no_name() -> None:
    packed = WRITE.compressed(b"text")
    assert (packed[:4], packed[4:8]) == (b"\x1f\x8b\x08\x00", bytes(4))
    assert gzip.decompress(packed) == b"text"
    for path in FILES:
        if path.with_suffix(".mps.gz").exists():
            assert path.with_suffix(".mps.gz").read_bytes()[3:8] == bytes(5)


def test_every_file_of_a_program_belongs_to_an_instance() -> None:
    programs = [*MODELS.rglob("*.mps"), *MODELS.rglob("*.mps.gz")]
    assert {path.parent / path.name.partition(".")[0] for path in programs} <= {
        path.with_suffix("") for path in FILES
    }


def test_the_larger_instances_are_three_rounds_of_each_family() -> None:
    larger = {path for path in FILES if "family" in read_instance(path).stated}
    assert larger == {
        WRITE.family_file(family, number) for family in PUBLIC.FAMILIES.values() for number in PUBLIC.ROUNDS
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith("wide") else [])
        for name in PUBLIC.FAMILIES
    ],
)
def test_the_rounds_of_a_family_are_those_on_file(name: str) -> None:
    family = PUBLIC.FAMILIES[name]
    for number, (problem, record) in PUBLIC.rounds(family).items():
        path = WRITE.family_file(family, number)
        instance = read_instance(path)
        assert problem.fingerprint() == instance.problem.fingerprint() == instance.stated["fingerprint"]
        assert problem.rules.names == instance.problem.rules.names
        assert problem.broken_rules(record) == ()
        assert problem.objective(record) <= instance.best_known
        known = WRITE.known_of(path, problem)
        assert known is not None
        written = WRITE.statement(family, number, problem, known)
        stored = str(instance.stated.get("mip_fingerprint", ""))
        assert written.replace('mip_fingerprint = ""', f'mip_fingerprint = "{stored}"') == path.read_text(
            "utf-8"
        )


@pytest.mark.parametrize("name", ["adult-rules", "kdd99-rules", "wide-rules"])
def test_public_rules_bind_and_the_population_obeys_them(name: str) -> None:
    instance = read_instance(WRITE.family_file(PUBLIC.FAMILIES[name], 1))
    rules, sizes = instance.problem.rules, instance.problem.sizes
    records = (np.random.default_rng(0).random((500, sizes.size)) * sizes).astype(np.int32)
    assert rules.broken(records).any(axis=1).mean() > 0.2
    assert rules.number_of_rules == PUBLIC.SHAPES[name.partition("-")[0]].rules
    assert instance.problem.broken_rules(instance.record) == ()  # type: ignore[arg-type]


def test_the_ascent_ends_where_no_change_of_one_code_gains() -> None:
    """Against brute force, on small instances of all kinds of clauses and rules."""
    for instance in small_instances():
        problem = instance.problem
        pool = obeying_records(problem)[::7][:5]
        record = PUBLIC.SteepestAscent(pool).solve(problem).require_record()
        assert problem.broken_rules(record) == ()
        best = problem.objective(record)
        assert best >= max(problem.objective(one) for one in pool)
        for attribute in range(problem.sizes.size):
            for code in range(int(problem.sizes[attribute])):
                changed = record.copy()
                changed[attribute] = code
                assert problem.objective(changed) <= best or problem.broken_rules(changed)


def test_what_is_known_is_written_and_read_again(tmp_path: Path) -> None:
    text = load_script(MODELS / "instance_text.py")
    path = WRITE.family_file(PUBLIC.FAMILIES["adult-rules"], 40)
    instance, written = read_instance(path), path.read_text(encoding="utf-8")
    assert text.with_known(written, text.Known.of(instance)) == written
    first = text.Known.first(instance.problem, instance.record, "hand")
    copy = tmp_path / "copy.toml"
    copy.write_text(text.with_known(written, first), encoding="utf-8")
    again = read_instance(copy)
    assert again.problem.fingerprint() == instance.problem.fingerprint()
    assert (again.optimum, again.best_known) == (None, instance.best_known)
    assert again.bound == again.stated["proven_bound"] == instance.problem.upper_bound()
    known = text.Known.of(again)
    assert (known.found_by, known.bound_by, known.proven_by) == (
        "hand",
        "the sum of the positive weights",
        "the sum of the positive weights",
    )


def test_rounds_of_a_release_become_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = small_release(tmp_path / "run")
    out, job = tmp_path / "instances", release.job
    options = ["--transcript", str(tmp_path / "run"), "--rounds", "1,3", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["write_instances.py", *options])
    WRITE.main()
    assert capsys.readouterr().out.split() == [str(out / "run-1.toml"), str(out / "run-3.toml")]
    for number in (1, 3):
        done = release.rounds[number - 1]
        instance = read_instance(out / f"run-{number}.toml")
        problem = best_response(job.record_clauses(), job.record_sizes(), done.sampled, job.record_rules())
        assert instance.problem.fingerprint() == problem.fingerprint() == instance.stated["fingerprint"]
        assert instance.record is not None
        assert instance.record.tolist() == done.record.tolist()
        assert instance.best_known == done.certificate.objective
        assert str(tmp_path) not in (out / f"run-{number}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rounds", "99"], "round 99: the release has rounds 1 to"),
        (["--rounds", "0"], "round 0: the release"),
    ],
)
def test_rounds_that_a_release_does_not_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    small_release(tmp_path / "run")
    monkeypatch.setattr(
        "sys.argv", ["x", "--transcript", str(tmp_path / "run"), "--out", str(tmp_path), *options]
    )
    with pytest.raises(SystemExit, match=message):
        WRITE.main()


def test_a_transcript_needs_a_folder_for_its_instances(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["x", "--transcript", "somewhere"])
    with pytest.raises(SystemExit):
        WRITE.main()
    assert "--transcript needs --out" in capsys.readouterr().err

"""Instances of the catalogue: files that say the same, what is known is true and made again, wrong ones are refused."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.comparison.instances import Instance, clauses_from_text, read_instance, record_from_text
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models import AsMip, Formulation, point_from_record, record_from_point, round_program
from dpopt.programs import Capability, MaxCsp, SolveLimits, Termination, certify
from dpopt.programs.solver import Solver, why_refused
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts
from dpopt.solvers import get_solver, solver_names
from tests.algorithms.small_runs import small_release
from tests.cli.command_line import succeed
from tests.models.catalogue import (
    MODELS,
    enumerated_optimum,
    formulation_of,
    instance_files,
    load_script,
    obeying_records,
    program_of,
    small_instances,
)
from tests.strategies import clause_lists, clauses_of

FILES = instance_files()
WRITE = load_script(MODELS / "write_instances.py")
PUBLIC = load_script(MODELS / "public_rounds.py")
TEXT = load_script(MODELS / "instance_text.py")
EACH_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_no_two_instances_share_a_name() -> None:
    assert len({path.stem for path in FILES}) == len(FILES) > 0


def test_the_catalogue_stays_small() -> None:
    sizes: dict[bool, list[int]] = {False: [], True: []}  # of notebooks, which keep their pictures, apart
    for path in MODELS.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            sizes[path.suffix == ".ipynb"].append(path.stat().st_size)
    assert sum(sizes[False]) < 1_000_000
    assert max(sizes[False]) < 50_000
    assert max(sizes[True]) < 150_000


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
        "how_known", "tolerance", "formulation", "made", "family", "round", "proven_bound", "fingerprint",
        "mip_fingerprint",
    }  # fmt: skip
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
    assert {path.parent / path.name.partition(".")[0] for path in programs} <= {path.with_suffix("") for path in FILES}


def test_the_benchmark_says_who_found_what_and_when() -> None:
    for path in (WRITE.family_file(family, number) for family in PUBLIC.FAMILIES.values() for number in PUBLIC.ROUNDS):
        known = TEXT.Known.of(read_instance(path))
        for words in (known.found_by, known.bound_by, known.proven_by):
            who, _, day = words.rpartition(", ")
            assert who
            assert dt.date.fromisoformat(day) >= dt.date(2026, 11, 1)


def test_the_problems_of_a_version_of_the_benchmark_are_fixed() -> None:
    """Whoever changes a problem raises the version, and adds its fingerprint here."""
    versions = {1: "c8108b476518d1d5107fa90409a3a589b0f7dcd32a7716563d11527004ffd624"}
    assert WRITE.fingerprint() == PUBLIC.MANIFEST["fingerprint"] == versions[PUBLIC.MANIFEST["version"]]


def test_levels_follow_from_what_is_known() -> None:
    level = load_script(MODELS / "instance_table.py").level
    found = {path.stem: level(read_instance(path)) for path in FILES}
    assert (found["adult-conjunctions-1"], found["adult-thresholds-1"], found["kdd99-parities-1"]) == (
        "easy",
        "hard",
        "open",
    )
    assert all(found[instance.name] == "easy" for instance in small_instances())


def test_instances_are_exported_in_every_form_that_can_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules that add up numbers are in no weighted CNF; the forms agree with those of `dpopt model export`."""
    names = "adult-conjunctions-1,adult-rules-1"
    monkeypatch.setattr("sys.argv", ["write_instances.py", "--export", str(tmp_path), "--names", names])
    WRITE.main()
    assert capsys.readouterr().out.startswith("adult-rules-1.wcnf: the rule")
    forms = [f"adult-conjunctions-1{end}" for end in (".mps", ".opb", ".toml", ".wcnf")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *forms,
        *(f"adult-rules-1{end}" for end in (".mps", ".opb", ".toml")),
    ]
    for ending in (".mps", ".opb", ".wcnf"):
        succeed(
            "model", "export", "best_response", "--instance", "adult-conjunctions-1", "-o", tmp_path / f"other{ending}"
        )
        assert (tmp_path / f"other{ending}").read_bytes() == (tmp_path / f"adult-conjunctions-1{ending}").read_bytes()
    own = WRITE.family_file(PUBLIC.FAMILIES["adult-conjunctions"], 1)
    assert (tmp_path / own.name).read_bytes() == own.read_bytes()


def test_a_name_that_is_not_in_the_benchmark_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["write_instances.py", "--export", str(tmp_path / "out"), "--names", "adult-1"])
    with pytest.raises(SystemExit, match="adult-1"):
        WRITE.main()
    assert not (tmp_path / "out").exists()


def test_the_larger_instances_are_three_rounds_of_each_family() -> None:
    larger = {path for path in FILES if "family" in read_instance(path).stated}
    assert larger == {
        WRITE.family_file(family, number) for family in PUBLIC.FAMILIES.values() for number in PUBLIC.ROUNDS
    }


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name.startswith("wide") else []) for name in PUBLIC.FAMILIES],
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
        assert written.replace('mip_fingerprint = ""', f'mip_fingerprint = "{stored}"') == path.read_text("utf-8")


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
    path = WRITE.family_file(PUBLIC.FAMILIES["adult-rules"], 40)
    instance, written = read_instance(path), path.read_text(encoding="utf-8")
    assert TEXT.with_known(written, TEXT.Known.of(instance)) == written
    first = TEXT.Known.first(instance.problem, instance.record, "hand")
    copy = tmp_path / "copy.toml"
    copy.write_text(TEXT.with_known(written, first), encoding="utf-8")
    again = read_instance(copy)
    assert again.problem.fingerprint() == instance.problem.fingerprint()
    assert (again.optimum, again.best_known) == (None, instance.best_known)
    assert again.bound == again.stated["proven_bound"] == instance.problem.upper_bound()
    known, by = TEXT.Known.of(again), TEXT.dated("the sum of the positive weights")
    assert (known.found_by, known.bound_by, known.proven_by) == ("hand", by, by)


def test_rounds_of_a_release_become_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = small_release(tmp_path / "run")
    out, job = tmp_path / "instances", release.job
    options = ["--release", str(tmp_path / "run"), "--round-numbers", "1,3", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["write_instances.py", *options])
    WRITE.main()
    assert capsys.readouterr().out.split() == [str(out / "run-1.toml"), str(out / "run-3.toml")]
    for number in (1, 3):
        done = release.played[number - 1]
        instance = read_instance(out / f"run-{number}.toml")
        problem = round_program(job.workload.clauses, job.schema.sizes, done.sampled, job.schema.circuit())
        assert instance.problem.fingerprint() == problem.fingerprint() == instance.stated["fingerprint"]
        assert instance.record is not None
        assert instance.record.tolist() == done.record.tolist()
        assert instance.best_known == done.certificate.objective
        assert str(tmp_path) not in (out / f"run-{number}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--round-numbers", "99"], "round 99: the release has rounds 1 to"),
        (["--round-numbers", "0"], "round 0: the release"),
    ],
)
def test_rounds_that_a_release_does_not_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    small_release(tmp_path / "run")
    monkeypatch.setattr("sys.argv", ["x", "--release", str(tmp_path / "run"), "--out", str(tmp_path), *options])
    with pytest.raises(SystemExit, match=message):
        WRITE.main()


def test_a_transcript_needs_a_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["x", "--release", "somewhere"])
    with pytest.raises(SystemExit):
        WRITE.main()
    assert "--release needs --out" in capsys.readouterr().err


EACH = pytest.mark.parametrize("instance", small_instances(), ids=lambda instance: instance.name)


def solvers(*capabilities: Capability) -> pytest.MarkDecorator:
    """Parametrize by the names of the solvers that have one of the capabilities."""
    names = [name for name in solver_names() if not get_solver(name).capabilities.isdisjoint(capabilities)]
    return pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in names])


LIMITS = SolveLimits(seconds=60.0)


@EACH
def test_the_optimum_is_that_of_enumeration(instance: Instance) -> None:
    assert instance.optimum is not None
    assert enumerated_optimum(instance.problem) == instance.optimum
    if instance.problem.rules.number_of_rules:  # the rules matter
        free = MaxCsp(instance.problem.sizes, instance.problem.clauses, instance.problem.weights)
        assert enumerated_optimum(free) > instance.optimum


@EACH
def test_the_formulation_has_the_same_optimum_record_by_record(instance: Instance) -> None:
    problem, mip, formulation = instance.problem, program_of(instance), formulation_of(instance)
    points = [point_from_record(problem, record, formulation) for record in obeying_records(problem)]
    assert all(mip.violation(point) == 0 for point in points[::37])
    best = max(points, key=mip.evaluate)
    assert mip.evaluate(best) == instance.optimum
    assert problem.objective(record_from_point(problem, best)) == instance.optimum


@EACH
@solvers(Capability.MIP, Capability.MAX_CSP)
def test_every_solver_finds_the_optimum(instance: Instance, name: str) -> None:
    solver, problem = get_solver(name), instance.problem
    if Capability.MIP in solver.capabilities:
        takers: list[Solver] = [AsMip(solver, formulation) for formulation in Formulation]
    elif why_refused(solver, problem) is None:
        takers = [solver]
    else:
        with pytest.raises(ProgramError):
            solver.solve(problem, LIMITS)
        return
    for taker in takers:
        result = taker.solve(problem, LIMITS)
        certificate = certify(problem, result)
        assert (certificate.feasible, certificate.objective) == (True, instance.optimum)
        if name != "local-search":
            assert result.termination is Termination.OPTIMAL
            assert certificate.gap == 0 or (name.startswith("pulp-") and result.bound is None)


@EACH
@solvers(Capability.MIP)
def test_every_solver_of_programs_solves_the_program_itself(instance: Instance, name: str) -> None:
    result = get_solver(name).solve(program_of(instance), LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(instance.optimum, abs=1e-6)


CLAUSES = """
    {weight = 2, literals = [[0, "=", 1], [1, "!=", 2]]},
    {weight = -3, literals = [[1, "=", 0]], negated = true},
    {weight = 1, literals = [[0, "=", 0], [1, "=", 1], [2, "=", 1]], accepted = [0, 2, 2]},
    {weight = 1, literals = []},
"""


def listed(clauses: str, head: str = "optimum = 2") -> str:
    return f"{head}\n[problem]\nsizes = [2, 3, 2]\nclauses = [{clauses}]"


def read(tmp_path: Path, head: str) -> Instance:
    path = tmp_path / "listed.toml"
    path.write_text(listed(CLAUSES, head), encoding="utf-8")
    return read_instance(path)


def test_a_listed_instance_is_the_problem_that_it_states(tmp_path: Path) -> None:
    rows = [
        ([(0, 1, True), (1, 2, False)], 0b100),
        ([(1, 0, True)], 0b01),
        ([(0, 0, True), (1, 1, True), (2, 1, True)], 0b101),
        ([], 0b1),
    ]
    expected = MaxCsp(np.array([2, 3, 2]), clauses_of(rows), np.array([2, -3, 1, 1]))
    found = read(tmp_path, head='optimum = 2\nmade = "by hand"')
    assert found.name == "listed"
    assert found.problem.fingerprint() == expected.fingerprint()
    assert (found.optimum, found.best_known, found.bound, found.record) == (2, 2, 2, None)
    assert dict(found.stated) == {"made": "by hand"}


def test_nothing_needs_to_be_known_of_an_instance(tmp_path: Path) -> None:
    found = read(tmp_path, head="")
    assert (found.optimum, found.best_known, found.bound) == (None, None, None)


WRONG_CLAUSES = [
    ("3", "clauses.*expected an object"),
    ("{weight = 1}", "clauses.*missing the key literals"),
    ("{weight = 1, literals = [], sign = 1}", "clauses.*sign"),
    ("{weight = 1.5, literals = []}", "clauses.*weight.*whole number"),
    ("{weight = true, literals = []}", "clauses.*weight.*whole number"),
    ("{weight = 1, literals = 3}", "clauses.*literals.*expected a list"),
    ('{weight = 1, literals = [[0, "<", 1]]}', "clauses.*literals.*<"),
    ('{weight = 1, literals = [[0, "="]]}', "clauses.*literals.*length 3"),
    ('{weight = 1, literals = [[0, "=", "1"]]}', "clauses.*literals.*whole number"),
    ('{weight = 1, literals = [[0, "=", 1]], negated = 1}', "clauses.*negated.*true or false"),
    ('{weight = 1, literals = [[0, "=", 1]], negated = false, accepted = [1]}', "in place of negated"),
    ('{weight = 1, literals = [[0, "=", 1]], accepted = 1}', "clauses.*accepted.*a list"),
    ('{weight = 1, literals = [[0, "=", 1]], accepted = [2]}', "lie between 0 and 1"),
    ('{weight = 1, literals = [[0, "=", 2]]}', "asks for code 2 of attribute number 0"),
    ('{weight = 1, literals = [[3, "=", 0]]}', "names attribute number 3"),
    ('{weight = 0, literals = [[0, "=", 1]]}', "clause 0 has weight 0"),
    (f'{{weight = {2**70}, literals = [[0, "=", 1]]}}', "the weight is"),
    (f'{{weight = 1, literals = [[{2**40}, "=", 1]]}}', "clause 0.*numbered from 0"),
    (f'{{weight = 1, literals = [[0, "=", {2**40}]]}}', "clause 0.*numbered from 0"),
    ('{weight = 1, literals = [[-1, "=", 1]]}', "clause 0.*numbered from 0"),
    ("{weight = 1, literals = [" + ", ".join(['[0, "=", 1]'] * 35) + "]}", "clause 0.*more than 31 literals"),
]
WRONG_FILES = [
    ("optimum = ", "is no TOML file"),
    ("optimum = 3", "problem"),
    ("problem = 3", "problem"),
    ("[problem]\nsizes = [2]", "problem.*missing the key clauses"),
    ("[problem]\nsizes = [2]\nclauses = []\nclause = []", "problem.*clause"),
    ('[problem]\nsizes = ["2"]\nclauses = []', "problem.*sizes.*whole number"),
    ("[problem]\nsizes = [0]\nclauses = []", "sizes must be"),
    ("optimum = 2.0\n[problem]\nsizes = [2]\nclauses = []", "optimum is a whole number; found 2.0"),
    ("best_known = true\n[problem]\nsizes = [2]\nclauses = []", "best_known is a whole number"),
    (b"\xff\xfe", "UTF-8"),
]


@pytest.mark.parametrize(
    ("text", "message"), [*((listed(clauses), message) for clauses, message in WRONG_CLAUSES), *WRONG_FILES]
)
def test_a_file_that_is_no_instance_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "other.toml"
    path.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())
    with pytest.raises(ProgramError, match=rf"other\.toml.*{message}"):
        read_instance(path)


RULES = ThresholdCircuit(
    ('at least two of a = 1, b = 2 and "d" = 0', "b less d, or the first half"),
    np.array([2, 1, 1]),
    np.array([True, False, True]),
    np.array([0, 1, 1], dtype=np.int32),
    starts(np.array([3, 1, 1])),
    np.array([0, 1, 3, 1, 3], dtype=np.int32),
    starts(np.array([2, 3, 2, 3, 2])),
    np.array([0, 1, 0, 0, 1, 1, 0, -1, 0, 4, 0, 1]),
    starts(np.array([0, 0, 1])),
    np.array([1], dtype=np.int32),
    np.array([1]),
)


def key_of(name: str) -> str:
    values = getattr(RULES, name)
    return f"{name} = {json.dumps(list(values) if name == 'names' else values.tolist())}"


LINES = {
    "best_known": "best_known = 3",
    "bound": "bound = 5",
    "record": 'record = "0=1 1=2"',
    "family": 'family = "some"',
    "problem": "[problem]",
    "sizes": 'sizes = "2 3 2*2"',
    "accepted": "accepted = [1, 3]",
    "clauses": 'clauses = """\n3 0=1 1=2 2!=1\n-1 0=0 2=1 3=1\n"""',
    "rules": "[problem.rules]",
    **{f"rules {field.name}": key_of(field.name) for field in fields(RULES)},
}
NO_RULES_LINES = {name: None for name in LINES if name.startswith("rules")}


def read_compact(tmp_path: Path, changes: dict[str, str | None]) -> Instance:
    path = tmp_path / "small.toml"
    lines = [line for line in {**LINES, **changes}.values() if line is not None]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_instance(path)


def test_a_compact_instance_is_the_problem_that_it_states(tmp_path: Path) -> None:
    literals = [[(0, 1, True), (1, 2, True), (2, 1, False)], [(0, 0, True), (2, 1, True), (3, 1, True)]]
    clauses = clauses_of([(listed, 0b1010) for listed in literals])
    expected = MaxCsp(np.array([2, 3, 2, 2]), clauses, np.array([3, -1]), RULES)
    found = read_compact(tmp_path, {})
    assert found.problem.fingerprint() == expected.fingerprint()
    assert found.problem.rules.names == RULES.names
    assert (found.optimum, found.best_known, found.bound) == (None, 3, 5)
    assert found.record is not None
    assert found.record.tolist() == [1, 2, 0, 0]
    assert dict(found.stated) == {"family": "some"}


def test_without_rules_and_agreed_numbers_clauses_are_conjunctions(tmp_path: Path) -> None:
    found = read_compact(tmp_path, {**NO_RULES_LINES, "accepted": None, "sizes": "sizes = [2, 3, 2, 2]"})
    assert found.problem.clauses.accepted.tolist() == [0b1000, 0b1000]
    assert found.problem.rules.number_of_rules == 0


def test_an_optimum_is_the_best_known_and_the_bound(tmp_path: Path) -> None:
    found = read_compact(tmp_path, {"best_known": "optimum = 3", "bound": None})
    assert (found.optimum, found.best_known, found.bound) == (3, 3, 3)


def test_an_instance_may_state_no_record(tmp_path: Path) -> None:
    assert read_compact(tmp_path, {"record": None}).record is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": 'sizes = "2 3 2*"'}, "problem.sizes is a list of whole numbers, or text such as"),
        ({"sizes": "sizes = 3"}, "problem at .*sizes: expected a text or a list"),
        ({"sizes": 'sizes = "999999999*9"'}, "8,999,999,991 codes in all; an instance has at most"),
        ({"sizes": 'sizes = "999999999*0"'}, "codes in all"),
        ({"sizes": f"sizes = [2, 3, {2**40}]"}, "codes in all"),
        ({"family": f"family = {'[' * 5000}{']' * 5000}"}, "nested too deeply"),
        ({"bound": f"bound = {10**400}"}, "which no objective is"),
        ({"sizes": "sizes = [2, 3.0]"}, "problem at .*sizes"),
        ({"accepted": "accepted = [1.5]"}, "problem at .*accepted.*whole number"),
        ({"accepted": "accepted = 3"}, "problem at .*accepted: expected a list"),
        ({"accepted": "accepted = [4]"}, "lie between 0 and 3"),
        ({"clauses": "clauses = []"}, "problem.accepted goes with clauses as text only"),
        ({"clauses": "clauses = 3"}, "problem at .*clauses: expected a text or a list"),
        ({"clauses": 'clauses = "1 0=1 0!=0 1=1"'}, "names an attribute twice"),
        ({"clauses": 'clauses = "1 0=1 1=3 2=1"'}, "asks for code 3 of attribute number 1"),
        ({"family": 'family = "some"\n[problem.other]\n', "problem": None}, "problem"),
        ({"rules bounds": None}, "problem at .*rules: missing the key bounds"),
        ({"rules bounds": "bounds = 2"}, r"problem at \$.rules.bounds: found 2, expected lists of numbers"),
        (
            {"rules bounds": "bounds = [2, 1, 1.5]"},
            r"problem at \$.rules.bounds: found .*expected lists of numbers that fit int64",
        ),
        (
            {"rules bounds": 'bounds = [2, 1, "a"]'},
            r"problem at \$.rules.bounds: found .*expected lists of numbers that fit int64",
        ),
        ({"rules bounds": "bounds = [2, 1]"}, "'required' has shape"),
        ({"rules children": "children = [2]"}, "a child must come before its parent"),
        ({"rules values": "values = [0, 1]"}, "'value_starts' must rise from 0 to 2"),
        ({"record": "record = [1, 2, 0, 0]"}, "record is text such as '3=5 7=1'"),
        ({"record": 'record = "9=1"'}, "names attribute 9; there are 4"),
        ({"record": 'record = "0=1 1=7"'}, "the record has code 7 for attribute 1"),
        ({"record": 'record = "0=1 3=1"'}, "the record breaks the rule 'at least two of"),
        ({"record": 'record = "0=1 1=2 2=1"'}, "the record has objective -1; stated is 3"),
        ({"best_known": "best_known = 4"}, "the record has objective 3; stated is 4"),
        ({"best_known": None}, "the record has objective 3; stated is None"),
        ({"bound": "bound = 2.5"}, "bound is a whole number; found 2.5"),
        ({"bound": "bound = 2"}, "the bound 2 is below the best known objective 3"),
    ],
)
def test_a_compact_instance_of_no_form_is_refused(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(ProgramError, match=rf"small\.toml.*{message}"):
        read_compact(tmp_path, changes)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "nothing")
    for path in (tmp_path, tmp_path / "link.toml"):
        with pytest.raises(ProgramError, match="no file"):
            read_instance(path)


SIZES = [3, 12, 2, 5, 2, 2, 40]
WEIGHTS = st.integers(-(10**17), 10**17).filter(bool)


@given(clause_lists(SIZES, min_size=0, widest=7), st.none() | st.lists(st.integers(0, 4), max_size=4), st.data())
def test_clauses_written_are_the_clauses_read(clauses: Clauses, agreed: list[int] | None, data: st.DataObject) -> None:
    weights = np.array([data.draw(WEIGHTS) for _ in range(len(clauses))], dtype=np.int64)
    text = TEXT.text_from_clauses(clauses, weights, agreed)
    found, weighed = clauses_from_text(text, agreed)
    assert weighed.tolist() == weights.tolist()
    assert found.accepted.tolist() == clauses.accepted.tolist()
    width = found.width
    assert found.attributes.tolist() == clauses.attributes[:, :width].tolist()
    assert found.values.tolist() == clauses.values[:, :width].tolist()
    assert found.signs.tolist() == clauses.signs[:, :width].tolist()
    assert (clauses.attributes[:, width:] == -1).all()


def test_a_text_says_which_numbers_are_accepted() -> None:
    text = "2 17=3 20!=5 35=0\n-1 4 17!=3 :0,1\n7 :\n1 0=0 1 2=2 :1,3\n"
    literals = [(17, 3, True), (20, 5, False), (35, 0, True)]
    expected = clauses_of(
        [
            (literals, 0b1000),
            ([(4, 1, True), (17, 3, False)], 0b011),
            ([], 0),
            ([(0, 0, True), (1, 1, True), (2, 2, True)], 0b1010),
        ]
    )
    found, weights = clauses_from_text(text, None)
    assert found.fingerprint() == expected.fingerprint()
    assert weights.tolist() == [2, -1, 7, 1]
    assert TEXT.text_from_clauses(found, weights) == text
    parity, _ = clauses_from_text("2 17=3 20!=5 35=0\n", [1, 3])
    assert parity.fingerprint() == clauses_of([(literals, 0b1010)]).fingerprint()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0=1\n1 0-1", "clause 1 is '1 0-1'; expected a weight and literals"),
        ("1 0=1 ", "clause 0 is"),
        ("0=1", "clause 0 is"),
        ("1.5 0=1", "clause 0 is"),
        ("1 0=1\n\n1 1=1", "clause 1 is ''"),
        ("1 0=1 :a", "clause 0 is"),
        ("1 0=9999999999", "clause 0 is"),
        ("1 0=1 :2", "clause 0: accepted numbers of true literals lie between 0 and 1"),
        ("1 " + " ".join(f"{a}=0" for a in range(32)), "clause 0 has more than 31 literals"),
        ("1 0=1 0!=2", "twice"),
        ("1 0=1 1=1 2=1\n1 0=1", "accepted"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises((ProgramError, WorkloadError), match=message):
        clauses_from_text(text, [2] if message == "accepted" else None)


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_records_written_are_the_records_read(codes: list[int]) -> None:
    record = np.array(codes, dtype=np.int32)
    assert record_from_text(TEXT.text_from_record(record), record.size).tolist() == codes


def test_a_record_names_the_codes_that_are_not_zero() -> None:
    assert TEXT.text_from_record(np.array([0, 5, 0, 2], dtype=np.int32)) == "1=5 3=2"
    assert record_from_text(" 1=5\n3=2 ", 4).tolist() == [0, 5, 0, 2]


@pytest.mark.parametrize(
    ("text", "message"), [("1:5", "a record is text such as"), ("4=1", "names attribute 4; there are 4")]
)
def test_a_record_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        record_from_text(text, 4)

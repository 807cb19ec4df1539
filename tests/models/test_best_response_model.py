"""The page models/best_response: labels, code, textbook and instances are in step, and agree on every optimum."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from dpopt.formulations import (
    AsMip,
    Formulation,
    accepting_max_csp,
    max_csp_as_mip,
    point_from_record,
    record_from_point,
)
from dpopt.programs import SolveLimits, Termination, certify
from dpopt.solvers import get_solver, solver_names
from tests.models.catalogue import MODELS, Instance, all_records, enumerated_optimum, load_script
from tests.source_code import ROOT

FOLDER = MODELS / "best_response"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
SCRIPT = load_script(FOLDER / "write_instances.py")
INSTANCES = SCRIPT.read_instances()
EACH = pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
LIMITS = SolveLimits(seconds=60.0)


def labels(text: str) -> set[str]:
    """Return the labels that a text names; "BR-1 to BR-4" names four."""
    found = set(re.findall(r"\bBR-\d+", text))
    for low, high in re.findall(r"\bBR-(\d+) to BR-(\d+)", text):
        found |= {f"BR-{number}" for number in range(int(low), int(high) + 1)}
    return found


ALL = {f"BR-{number}" for number in range(1, 10)}


def test_the_page_has_every_part() -> None:
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert PAGE.startswith("# Best response\n\n**Decides**")
    assert "**Source.**" in PAGE
    assert headings == [
        "Given",
        "Choose",
        "Maximize, subject to",
        "Why right",
        "Size",
        "Strength",
        "Reading",
        "Worked example",
        "Code",
        "Instances",
    ]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("models/best_response/README.md", ALL),
        ("dpopt/formulations/max_csp_as_mip.py", ALL),
        ("tests/formulations/test_max_csp_as_mip.py", ALL),
        ("models/best_response/best_response_textbook.py", ALL - {"BR-8", "BR-9"}),
    ],
)
def test_page_code_tests_and_textbook_share_their_labels(file: str, expected: set[str]) -> None:
    assert labels((ROOT / file).read_text(encoding="utf-8")) == expected


def test_the_formulas_of_the_code_are_those_of_the_page() -> None:
    """In the page's table and in the docstring: the label, and the formula without blanks."""
    rows = re.findall(r"^\| (BR-\d) +\|.*\| (.+?) +\|$", PAGE, re.MULTILINE)
    source = (ROOT / "dpopt/formulations/max_csp_as_mip.py").read_text(encoding="utf-8")
    stated = {}
    for line in source.partition('"""')[2].partition('"""')[0].splitlines():
        match = re.match(r"^ +(?:maximize  |subject to  )?(?:w_j [<>] 0, \w+: +)?(.+?)\s+(BR-\d)$", line)
        if match:
            formula = re.sub(r"\s+for (every attribute a|every literal of j)$", "", match.group(1))
            stated[match.group(2)] = formula.replace(" ", "")
    expected = {label: formula.replace("maximize ", "").replace(" ", "") for label, formula in rows}
    expected["BR-7"] = "0<=c_j<=1,x[a,v]binary"  # the same two, in the other order
    assert stated == expected


def test_the_links_of_the_page_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", PAGE)
    assert len(links) >= 8
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_textbook_knows_nothing_of_dpopt_and_fits_on_a_screen() -> None:
    text = (FOLDER / "best_response_textbook.py").read_text(encoding="utf-8")
    assert re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE) == ["__future__", "pulp"]
    assert len(text.splitlines()) <= 60


def test_the_page_lists_every_instance_with_its_optimum() -> None:
    rows = re.findall(
        r"^\| \[([\w-]+)\]\(instances/([\w-]+)\.toml\) \| (\d+) \| (\d+) \| (-?\d+) \|", PAGE, re.MULTILINE
    )
    assert {(name, file, int(d), int(m), int(best)) for name, file, d, m, best in rows} == {
        (one.name, one.name, len(one.sizes), len(one.clauses), one.optimum) for one in INSTANCES
    }


@EACH
def test_the_files_are_what_the_statement_says(instance: Instance) -> None:
    assert instance.problem().fingerprint() == instance.fingerprint
    assert instance.mip().fingerprint() == instance.mip_fingerprint
    assert instance.mps_path().read_bytes() == instance.mps()
    assert instance.mps_path().stat().st_size < 50_000
    assert instance.tolerance == 0


@EACH
def test_the_optimum_is_that_of_enumeration(instance: Instance) -> None:
    assert enumerated_optimum(instance.problem()) == instance.optimum


@EACH
def test_the_formulation_has_the_same_optimum_record_by_record(instance: Instance) -> None:
    problem = instance.problem()
    mip = max_csp_as_mip(problem, instance.formulation)
    points = [point_from_record(problem, record) for record in all_records(problem.sizes)]
    assert all(mip.violation(point) == 0 for point in points[::37])
    best = max(points, key=mip.evaluate)
    assert mip.evaluate(best) == instance.optimum
    assert problem.objective(record_from_point(problem, best)) == instance.optimum


@pytest.mark.solver("cbc")
def test_the_textbook_has_the_same_optimum() -> None:
    """In a process of its own, as PuLP looks for solver libraries when it is imported."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from best_response_textbook import solve\n"
        "for problem in eval(sys.argv[2]): print(*solve(*problem))"
    )
    problems = repr([(one.sizes, one.clauses) for one in INSTANCES])
    done = subprocess.run(
        [sys.executable, "-c", code, str(FOLDER), problems], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = [
        line.replace("[", "").replace("]", "").replace(",", "").split() for line in done.stdout.splitlines()
    ]
    assert [int(answer[0]) for answer in answers] == [one.optimum for one in INSTANCES]
    for one, (_, *codes) in zip(INSTANCES, answers, strict=True):
        record = [int(code) for code in codes]
        assert certify(one.problem(), np.array(record, dtype=np.int32)).objective == one.optimum


@pytest.mark.solver("cbc")
def test_the_textbook_solves_the_worked_example_of_the_page() -> None:
    textbook = FOLDER / "best_response_textbook.py"
    done = subprocess.run([sys.executable, str(textbook)], capture_output=True, text=True, check=True)
    assert done.stdout == "2 [1, 2, 1]\n"
    assert "That leaves 2, at the record (1, 2, 1)" in PAGE


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in solver_names()]
)
@EACH
def test_every_solver_finds_the_optimum(instance: Instance, name: str) -> None:
    solver = get_solver(name)
    solvers = [accepting_max_csp(solver)]
    if isinstance(solvers[0], AsMip):
        solvers.append(AsMip(solver, Formulation.AGGREGATED))
    for one in solvers:
        result = one.solve(instance.problem(), LIMITS)
        certificate = certify(instance.problem(), result)
        assert certificate.objective == instance.optimum
        if name != "local-search":
            assert (result.termination, certificate.gap) == (Termination.OPTIMAL, 0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("highs", "cbc")]
)
@EACH
def test_every_solver_of_programs_solves_the_program_itself(instance: Instance, name: str) -> None:
    result = get_solver(name).solve(instance.mip(), LIMITS)
    assert (result.termination, result.objective) == (Termination.OPTIMAL, instance.optimum)

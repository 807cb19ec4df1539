"""Each page of the catalogue: its parts, its links, and labels that text, code, tests and textbook share."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.models.catalogue import MODELS, small_instances
from tests.source_code import ROOT

PAGES = sorted(MODELS.glob("*/README.md"))
EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
CODE = sorted((ROOT / "dpopt").rglob("*.py"))
TESTS = sorted({*(ROOT / "tests" / "models").glob("*.py")} - {Path(__file__)})
LABEL = re.compile(r"\b([A-Z]{2})-(\d+)(?: to \1-(\d+))?")


def labels(*files: Path) -> dict[str, set[int]]:
    """Return the numbers of the labels that files name, by prefix; "BR-1 to BR-4" names four."""
    found: dict[str, set[int]] = {}
    for file in files:
        for prefix, low, high in LABEL.findall(file.read_text(encoding="utf-8")):
            found.setdefault(prefix, set()).update(range(int(low), int(high or low) + 1))
    return found


def own_prefix(page: Path) -> str:
    """Return the prefix of the page's own labels: that of the first row of its table of formulas."""
    match = re.search(r"^\| ([A-Z]{2})-1 ", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None
    return match.group(1)


def parts_of(page: Path) -> dict[str, str]:
    """Return the text under each heading of the page."""
    pieces = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def test_every_folder_has_a_page() -> None:
    folders = {path for path in MODELS.iterdir() if path.is_dir() and path.name not in {"__pycache__", "notebooks"}}
    assert {page.parent for page in PAGES} == folders
    assert {path.parent for path in MODELS.glob("*/*_textbook.py")} == folders


def test_pages_have_labels_of_their_own() -> None:
    assert len({own_prefix(page) for page in PAGES}) == len(PAGES)


@EACH
def test_a_page_has_every_part_in_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# .+\n\n\*\*Decides\*\*", text)
    assert "**Used by.**" in text  # which command, and what beats it
    assert "**Source.**" in text
    order = re.compile(
        "Given, Choose, (Max|Min)imize, subject to, Why right, Size, Strength, Reading, (What to expect, )?"
        "Worked example, Exercise, (Known optima, )?Code(, Instances)?"
    )
    assert order.fullmatch(", ".join(parts_of(page)))


@EACH
def test_page_and_code_and_tests_share_their_labels(page: Path) -> None:
    prefix = own_prefix(page)
    numbers = labels(page)[prefix]
    assert numbers == set(range(1, max(numbers) + 1))
    assert labels(*CODE)[prefix] == numbers
    assert labels(*TESTS)[prefix] == numbers


@EACH
def test_the_code_that_a_page_links_names_its_labels(page: Path) -> None:
    linked = [page.parent / link for link in re.findall(r"\]\(([^)#]+\.py)\)", parts_of(page)["Code"])]
    models = [file for file in linked if file.resolve().is_relative_to(ROOT / "dpopt" / "models")]
    prefix = own_prefix(page)
    assert labels(*models)[prefix] == labels(page)[prefix]


@EACH
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("textbook", sorted(MODELS.glob("*/*_textbook.py")), ids=lambda path: path.stem)
def test_a_textbook_knows_nothing_of_dpopt_and_fits_on_a_screen(textbook: Path) -> None:
    text, page = textbook.read_text(encoding="utf-8"), textbook.parent / "README.md"
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", text, re.MULTILINE))
    assert imported & {"pulp", "cvxpy", "ortools"}
    assert "dpopt" not in imported
    functions = [one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]
    assert [one.name for one in functions if len(ast.unparse(one).splitlines()) > 50] == []
    assert len(text.splitlines()) <= 100  # with up to three libraries
    prefix = own_prefix(page)
    assert set() < labels(textbook)[prefix] <= labels(page)[prefix]


@EACH
def test_a_page_that_lists_instances_lists_all_that_are_stated_by_hand(page: Path) -> None:
    listed = parts_of(page).get("Instances")
    if listed is None:
        assert not (page.parent / "instances").exists()
        return
    rows = re.findall(r"^\| \[([\w-]+)\]\(instances/([\w-]+)\.toml\) \|(.+)\|$", listed, re.MULTILINE)
    stated = small_instances(page.parent.name)
    assert {name for name, _, _ in rows} >= {one.name for one in stated}
    for one in stated:
        cells = next(rest.split("|") for name, file, rest in rows if name == file == one.name)
        numbers = [int(cell) for cell in cells if re.fullmatch(r" *-?\d+ *", cell)]
        assert numbers[:2] == [one.problem.sizes.size, len(one.problem.clauses)]
        assert one.optimum in numbers[2:]


BEST_RESPONSE_FOLDER = MODELS / "best_response"
BEST_RESPONSE = (BEST_RESPONSE_FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_formulas_of_the_code_are_those_of_the_page() -> None:
    """In the page's table and in the docstring: the label, and the formula without blanks."""
    rows = re.findall(r"^\| (BR-\d) +\|.*\| (.+?) +\|$", BEST_RESPONSE, re.MULTILINE)
    source = (ROOT / "dpopt/models/best_responses/max_csp_as_mip.py").read_text(encoding="utf-8")
    stated = {}
    for line in source.partition('"""')[2].partition('"""')[0].splitlines():
        match = re.match(r"^ +(?:maximize  |subject to  )?(?:w_j [<>] 0, \w+: +)?(.+?)\s+(BR-\d)$", line)
        if match:
            formula = re.sub(r"\s+for (every attribute a|every literal of j)$", "", match.group(1))
            stated[match.group(2)] = formula.replace(" ", "")
    expected = {label: formula.replace("maximize ", "").replace(" ", "") for label, formula in rows}
    expected["BR-7"] = "0<=c_j<=1,x[a,v]binary"  # the same two, in the other order
    assert stated == expected

"""The documents say what is there: every room, every command, links that lead somewhere, code that runs.

In README.md and docs/, blocks marked ``python`` are executed, and so is each line of a ``console`` block that begins with
``$ dpopt``, document by document, in order and in one folder of its own. A block is left out by a comment on the line above
it: ``<!-- not run: reason -->``. The examples in docstrings run too.
"""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

import dpopt
from docs.formulas import mathml
from docs.generated import command_line, meaning, public_names
from docs.plain_formulas import with_formulas, with_scripts
from dpopt.releases.public_population.demo_population import PEOPLE
from experiments.accuracy_leader.picture import draw as draw_leader
from experiments.narrow import LETTERS
from tests.cli.command_line import FEW, call, demonstration, once
from tests.source_code import ROOT, source_files

DOCS = ROOT / "docs"
DOCUMENTS = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ALL_DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for folder in ("docs", "experiments", "models", "tests") for path in (ROOT / folder).rglob("*.md")),
    ]
)
OTHER_LIBRARIES = {"models-in-hand.md", "write-a-formulation.md"}
"""Documents whose code loads CVXPY, PuLP and OR-Tools: run in a process of their own, as these crash others in one process."""
DEMONSTRATION = ["demo", "--keep", "demo"]
"""Many documents begin so. It is run once for the README, and once with few people for all others."""
_RELEASE = "release demo/people.csv --schema demo/schema.json"
_ROUNDS = "--workload marginals:3 --epsilon 1 --delta 1e-9 --algorithm dualquery --no-predict"
SHARED = [f"{_RELEASE} --epsilon 1 --out first".split(), f"{_RELEASE} {_ROUNDS} --out rounds".split()]
"""Releases that two documents make: each is made once."""
MADE_ONCE = {"demo", *(arguments[-1] for arguments in SHARED)}
"""Folders with the same in all documents."""
EXAMPLES = [
    file.path.removesuffix(".py").replace("/", ".")
    for file in source_files()
    if "\n    >>> " in (ROOT / file.path).read_text(encoding="utf-8")
]
TEST_COMMAND = "python -m pip install '.[test]' && python -m pytest"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a document."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document that are to be run, in order."""
    found = []
    lines = text.splitlines()
    opening: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opening is None:
            opening = number
            continue
        above = lines[opening - 1] if opening else ""
        if not above.startswith("<!-- not run:"):
            body = "\n".join(lines[opening + 1 : number])
            found.append(Block(lines[opening].removeprefix("```").strip(), body, opening + 1))
        opening = None
    assert opening is None, f"the block that begins in line {opening} does not end"
    return found


def run_command(line: str, people: int) -> None:
    """Run ``dpopt ...`` in this process and this folder, and say what it printed if it fails.

    Starting `dpopt` as a process is tested in tests/cli; the many lines of the documents need not wait for it each time.
    """
    command, *arguments = shlex.split(line, comments=True)
    assert command == "dpopt"
    if arguments == DEMONSTRATION or arguments in SHARED:
        made = demonstration(people)[1]
        if arguments != DEMONSTRATION:
            made = made.with_name(f"{arguments[-1]}-{people}")
            once(made, *arguments[:-1], made)
        shutil.copytree(made, arguments[-1])
    elif says_the_same_everywhere(arguments):
        once(Path(os.environ["DPOPT_TESTS_FOLDER"]) / sha256(line.encode()).hexdigest(), *arguments)
    else:
        result = call(*arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def says_the_same_everywhere(arguments: list[str]) -> bool:
    """Whether several documents show a command that makes no file, and reads none but of what they have in common."""
    read = {Path(word).parts[0] for word in arguments if Path(word).exists()}
    return SHOWN[tuple(arguments)] > 1 and not {"-o", "--out"} & {*arguments} and read <= MADE_ONCE


def commands(text: str) -> list[str]:
    """Return the lines of a console block that call dpopt; a backslash at the end continues a line."""
    joined = text.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ dpopt ")]


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_code_of_a_document_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if document.name not in OTHER_LIBRARIES:
        run_document(document)
        return
    code = "import sys; sys.path.append(sys.argv[1]); from pathlib import Path; "
    code += "from tests.repository.test_documents import run_document; run_document(Path(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(document)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


SHOWN = Counter(
    tuple(shlex.split(line, comments=True)[1:])
    for document in DOCUMENTS
    for block in blocks(document.read_text(encoding="utf-8"))
    for line in commands(block.text)
    if block.language == "console"
)
"""How often each command stands in the documents."""


def run_document(document: Path) -> None:
    """Run the code of a document in this process and this folder."""
    people = PEOPLE if document.name == "README.md" else FEW
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(document.read_text(encoding="utf-8")):
        if block.language == "python":
            exec(compile(block.text, f"{document.name}, line {block.line}", "exec"), names)
        elif block.language == "console":
            for line in commands(block.text):
                run_command(line, people)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, report=False).failed == 0


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_link_of_a_document_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", text)
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_no_formula_loses_its_underscores() -> None:
    """Markdown takes those between two signs, as in "c^{(i)}_{a}", for emphasis, and the site shows none of them."""
    code = re.compile(r"^```.*?^```|`[^`]*`|\$\$?[^$]*\$\$?|^    .*?$|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
    lost = {path: re.findall(r"\S*[)}\]]_[\w{]\S*", code.sub("", path.read_text("utf-8"))) for path in ALL_DOCUMENTS}
    assert {path: formulas for path, formulas in lost.items() if formulas} == {}


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_file_that_a_document_names_is_there(document: Path) -> None:
    named = re.findall(r"`((?:dpopt|tests|docs(?!/_build))/[\w./-]+)`", document.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_has_the_test_command_and_the_continuous_check_runs_it() -> None:
    assert TEST_COMMAND in (ROOT / "README.md").read_text(encoding="utf-8")
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_site_shows_each_command_with_its_options() -> None:
    text = command_line()
    for words in ("dpopt release", "dpopt schema infer", "dpopt histogram answer"):
        assert f"| [`{words}`](#{words.replace(' ', '-')}) | " in text
        assert f"\n### {words}\n" in text
    assert "| `--epsilon " in text
    assert text.index("\n### dpopt release\n") < text.index(
        "\n### dpopt bench run\n"
    )  # what most people need comes first


def test_the_site_shows_each_public_name_once() -> None:
    shown = re.findall(r"auto(?:class|function):: dpopt\.(\w+)", public_names())
    assert sorted(shown) == sorted(name for name in dir(dpopt) if callable(getattr(dpopt, name)))


def test_options_in_a_meaning_are_code() -> None:
    assert meaning("with --n0, see 'dpopt plan -o' | a_b") == r"with `--n0`, see `dpopt plan -o` \| a\_b"


def test_a_formula_becomes_mathematics_that_a_line_may_break() -> None:
    drawn = mathml(r"c_j \ge 1 - \sum_l (1 - l)")
    assert [re.findall("<mo[^>]*>([^<]*)</mo></mrow></math>", part) for part in drawn] == [["≥"], ["−"], [")"]]
    assert len(mathml(r"1 - x", display="block")) == 1


def test_the_site_keeps_the_two_dashes_of_an_option() -> None:
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["smartquotes"] is False


def test_formulas_of_the_catalogue_are_marked_between_their_words() -> None:
    table = "| | for | formula |\n|---|---|---|\n| AB-1 | each a, if | minimize abs(x[a, v]) <= sum_{i <= r} d_i^(1/2), whole |"
    found = with_formulas(table).splitlines()[-1]
    shown = r"minimize $\vert x_{a , v} \vert \le \sum_{i \le r} d_{i}^{1 / 2}$, whole |"
    assert found == "| AB-1 | each $a$, if | " + shown


def test_formulas_in_the_prose_of_models_and_experiments_are_marked_and_words_are_not() -> None:
    prose = (
        "1. x_v >= 0 = the sum_i l_i^2 <= k^(1/2), delta 1/n^2.\nA best_response of `x_v`, a (x_i - y_i)^2 and\n<= q."
    )
    drawn = (
        r"1. $x_{v} \ge 0$ = the $\sum_{i} l_{i}^{2} \le k^{1 / 2}$, delta $1 / n^{2}$."
        "\n"
        r"A best_response of `x_v`, a ($x_{i} - y_{i}$)${}^{2}$ and"
        "\n≤ q."
    )
    assert with_scripts(prose) == drawn
    same = "| x_v | <= |\n# Of n^2\n```\nx_v <= 1\n```\n[a](b_c.md) $x_v$"
    assert with_scripts(same) == same


def test_figures_that_are_kept_are_drawn_in_a_picture_that_telephones_show(tmp_path: Path) -> None:
    file = ROOT / "experiments" / "accuracy_leader" / "results.json"
    draw_leader(json.loads(file.read_text(encoding="utf-8"))["results"], tmp_path / "errors.svg")
    size = re.search(r'<svg [^>]*width="([\d.]+)pt"', (tmp_path / "errors.svg").read_text(encoding="utf-8"))
    assert size is not None
    assert LETTERS * 368 / float(size[1]) >= 11  # pixels of its letters on a page of 400


def test_the_architecture_names_each_test_of_the_boundary() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "boundary").glob("test_*.py")]
    assert len(tests) > 1
    assert [name for name in sorted(tests) if f"`{name}`" not in text] == []


def test_the_documents_name_each_solver() -> None:
    from dpopt.solvers.registry import solver_names

    text = (DOCS / "reference" / "solvers.md").read_text(encoding="utf-8")
    # What PuLP finds differs from machine to machine; the page names the family.
    assert [name for name in solver_names() if name not in text and not name.startswith("pulp-")] == []
    assert "`pulp-gurobi`, `pulp-highs`, ..." in text


def test_changelog_and_citation_name_the_version() -> None:
    assert f"\nversion: {dpopt.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {dpopt.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_blocks_are_found_and_left_out_as_written() -> None:
    left_out = "<!-- not run: needs a table -->\n```python\nb\n```\n"
    text = f"```python\na = 1\n```\n{left_out}```console\n$ dpopt plan \\\n  x\nout\n```"
    found = blocks(text)
    assert [(block.language, block.line) for block in found] == [("python", 1), ("console", 8)]
    assert [shlex.split(line) for line in commands(found[1].text)] == [["dpopt", "plan", "x"]]


def test_the_first_release_declares_attributes_and_rules_on_them() -> None:
    from dpopt.schema.rules.rule_json import rule_from_json
    from dpopt.schema.schema import Schema, attribute_from_json

    text = (DOCS / "start" / "first-release.md").read_text(encoding="utf-8")
    attributes, rules = [block.text.splitlines() for block in blocks(text) if block.language == "json"]
    schema = Schema(
        tuple(attribute_from_json(json.loads(line), number) for number, line in enumerate(attributes)),
        rules=tuple(rule_from_json(json.loads(line), number) for number, line in enumerate(rules)),
    )
    assert (len(schema), schema.circuit().number_of_rules) == (4, 1)

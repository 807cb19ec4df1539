"""The textbooks of the catalogue know nothing of dpopt, and find what dpopt finds: in every library, the same optima.

Each library has a process of its own, as OR-Tools and the HiGHS that comes with PuLP and CVXPY share none.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.models.catalogue import MODELS
from tests.models.textbook_problems import POINTS, PROBLEMS, problems_of, stated_optima
from tests.models.textbooks import SOLVE

TEXTBOOKS = {path.parent.name: path for path in sorted(MODELS.glob("*/*_textbook.py"))}
WORDS = {page: " ".join((MODELS / page / "README.md").read_text(encoding="utf-8").split()) for page in TEXTBOOKS}


def libraries(page: str) -> set[str]:
    """Return the libraries that a textbook has models for."""
    text = TEXTBOOKS[page].read_text(encoding="utf-8")
    return set(re.findall(rf"^def (?:\w+_)?({'|'.join(SOLVE)})_model\(", text, re.MULTILINE))


def solved(library: str) -> dict[str, list[tuple[float, dict[str, float]] | None]]:
    """Return what a library finds for the examples of each page and the problems behind them."""
    pages = [page for page in TEXTBOOKS if library in libraries(page)]
    stated = {page: [one.arguments for one in problems_of(page)] for page in pages}
    command = [sys.executable, str(MODELS.parent / "tests" / "models" / "textbooks.py"), str(MODELS), library]
    done = subprocess.run(command, input=repr(stated), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    found: dict[str, list[tuple[float, dict[str, float]] | None]] = ast.literal_eval(done.stdout)
    return found


def test_every_page_has_a_textbook_with_problems_and_solutions() -> None:
    assert set(TEXTBOOKS) == set(PROBLEMS)
    assert {page for page in TEXTBOOKS if not libraries(page)} == set()
    assert [one for one in POINTS if one[3] not in WORDS[one[0]]] == []


def test_a_program_in_whole_numbers_has_a_model_in_ortools_too() -> None:
    whole = {page for page, path in TEXTBOOKS.items() if "cat=" in path.read_text(encoding="utf-8")}
    assert len(whole) >= 7
    assert [page for page in sorted(whole) if not libraries(page) & {"cp_sat", "mathopt"}] == []


@pytest.mark.solver("cbc")
@pytest.mark.parametrize("library", SOLVE)
def test_every_model_of_a_library_has_the_optima_of_pages_and_of_dpopt(library: str) -> None:
    points = {(page, number): values for page, number, values, _ in POINTS}
    for page, answers in solved(library).items():
        stated, problems = stated_optima(page), problems_of(page)
        assert len(answers) == len(stated) + len(problems), page
        assert [one for one in answers if one is not None], page
        for number, ((optimum, exact), answer) in enumerate(zip(stated, answers, strict=False)):
            if answer is not None:
                assert answer[0] == pytest.approx(optimum, abs=exact), (page, number)
                expected = points.get((page, number), {})
                found = {name: answer[1].get(name, value) for name, value in expected.items()}
                assert found == pytest.approx(expected, abs=1e-3), (page, number)
        for problem, answer in zip(problems, answers[len(stated) :], strict=True):
            if answer is not None:
                assert problem.low <= answer[0] <= problem.high, (page, problem)
                if problem.check is not None:
                    problem.check(*answer)

"""Results of benchmarks on file: cases that are named are added to those that are there, with what they were measured on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.source_code import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="the experiments are not part of this copy"
)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Put two cases in place of all, whose figures the test sets."""
    from experiments.benchmarks import __main__ as program
    from experiments.benchmarks.registry import Bar, Case, Result, Setting

    figures = {"one": 1.0, "two": 2.0}

    def case(name: str) -> Case:
        def measure(setting: Setting) -> Result:
            return Result(
                [{"figure": figures[name], "runs": setting.runs}], [Bar("figure", figures[name], 5)]
            )

        return Case(name, f"How large is {name}?", measure)

    monkeypatch.setattr(program, "load_cases", lambda: {name: case(name) for name in figures})
    return figures


def run(file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    from experiments.benchmarks.__main__ import main

    code = main([*arguments, "--json", str(file)])
    return code, json.loads(file.read_text(encoding="utf-8"))


def test_named_cases_are_added_and_say_what_they_were_measured_on(
    figures: dict[str, float], tmp_path: Path
) -> None:
    from experiments.benchmarks.markdown import tables
    from experiments.documents import circumstances

    file = tmp_path / "results.json"
    run(file, "--runs", "4")
    figures |= {"one": 10.0, "two": 20.0}
    code, report = run(file, "two", "--runs", "3")
    assert code == 1  # 20 is above the limit
    assert report["runs"] == 4
    assert report["cases"]["one"]["rows"] == [{"figure": 1.0, "runs": 4}]
    assert report["cases"]["two"]["rows"] == [{"figure": 20.0, "runs": 3}]
    assert "circumstances" not in report["cases"]["one"]
    own = report["cases"]["two"]["circumstances"]
    assert own["runs"] == 3
    lines = list(tables(report))
    place = lines.index("\n**`two`** How large is two?\n")
    assert lines[place + 1] == circumstances(own) + "\n"
    assert "Missed: figure, 20." in lines


def test_a_run_of_all_cases_begins_anew(figures: dict[str, float], tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    run(file, "one", "--runs", "2")
    figures["one"] = 3.0
    _, report = run(file, "--runs", "2")
    assert report["cases"]["one"]["rows"] == [{"figure": 3.0, "runs": 2}]
    assert all("circumstances" not in case for case in report["cases"].values())


def test_quick_results_are_never_mixed_with_others(figures: dict[str, float], tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    run(file, "--quick")
    _, report = run(file, "one", "--runs", "2")
    assert set(report["cases"]) == {"one"}
    _, report = run(file, "two", "--quick")
    assert set(report["cases"]) == {"two"}
    assert report["quick"]

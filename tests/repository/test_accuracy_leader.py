"""The experiment on the most accurate algorithm: it runs, goes on where it stopped, and its tables say what they should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.source_code import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="the experiments are not part of this copy"
)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the experiment in the checkout, with the tested dpopt in front of it."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    command = [sys.executable, "-m", "experiments.accuracy_leader", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_runs_without_data_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    options = ["--quick", "--parts", "adult7", "--no-predict", "--json", str(file), "--algorithms"]
    done = _run(*options, "noise")
    assert done.returncode == 0, done.stdout + done.stderr
    first = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [result["algorithm"] for result in first] == ["noise"]
    done = _run(*options, "noise", "projection")
    assert done.returncode == 0, done.stdout + done.stderr
    second = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert second[0] == first[0]
    assert [result["algorithm"] for result in second] == ["noise", "projection"]
    assert "| adult7 | 20 | add-remove | projection | 1 |" in done.stdout


def _result(algorithm: str, error: float, **more: Any) -> dict[str, Any]:
    figures = {"max_error": 10 * error, "mean_error": error, "seconds": 1.0, "peak_mb": 100, "failed": None}
    labels = {"part": "adult7", "run": 0, "epsilon": 1.0, "algorithm": algorithm, "neighbours": "add-remove"}
    return {**labels, **figures, **more}


def test_the_tables_name_the_leader_and_hold_it_against_the_best_peer() -> None:
    from experiments.accuracy_leader.summary import markdown

    plan = _result(
        "plan", 1.0, chosen={"algorithm": "adaptive", "considered": {"adaptive": {"mean_error": 0.015}}}
    )
    runs = [
        _result("projection", 0.01),
        _result("adaptive", 0.02),
        _result("dpmm aim", 0.012, peer="dpmm"),
        plan,
    ]
    text = "\n".join(markdown(runs))
    assert (
        "| adult7 | 1 | projection 0.1; then dpmm aim 0.12 | projection 0.01; then dpmm aim 0.012 | adaptive | 2.00 (!) |"
        in text
    )
    assert "| adult7 | 1 | mean error | 0.012 | the best peer | projection 0.01 | yes |" in text
    failed = [_result("projection", 0.013), _result("dpmm aim", 0.012, peer="dpmm")]
    assert "| projection 0.013 | **no** |" in "\n".join(markdown(failed))

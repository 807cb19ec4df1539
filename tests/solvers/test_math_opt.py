"""MathOpt's adapter: limits that Glop does not name, lines of progress, errors in the solver's own words."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from dpopt.programs import Limit, SolveLimits, Termination
from dpopt.solvers import math_opt
from dpopt.solvers.process.history import History


def answer(reason: str, limit: str | None, *, iterations: int = 0, seconds: float = 0.0) -> Any:
    """Return what `verdict` looks at of MathOpt's answer."""
    named = None if limit is None else SimpleNamespace(name=limit)
    return SimpleNamespace(
        termination=SimpleNamespace(reason=SimpleNamespace(name=reason), limit=named),
        solve_stats=SimpleNamespace(simplex_iterations=iterations, solve_time=dt.timedelta(seconds=seconds)),
    )


FAILED = (Termination.FAILED, None)
_SCIP = "{}|  1 |  0 | 0 |  - |  27M |  0 |2071 |3486 |3475 |  0 |  0 |  11 |  0 |{}|{}|  Inf  | unknown"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("TIME", (Termination.LIMIT, Limit.TIME)),
        ("NODE", (Termination.LIMIT, Limit.WORK)),
        ("MEMORY", (Termination.LIMIT, Limit.MEMORY)),
        ("SLOW_PROGRESS", (Termination.IMPRECISE, None)),
        ("OTHER", FAILED),
        ("NEVER_SEEN", FAILED),
        (None, FAILED),
    ],
)
def test_the_limit_says_what_a_stop_means(limit: str | None, expected: object) -> None:
    for reason in ("FEASIBLE", "NO_SOLUTION_FOUND"):
        assert math_opt.verdict(answer(reason, limit), SolveLimits(seconds=1.0, work=1)) == expected


def test_a_limit_that_is_not_named_is_the_one_that_was_used_up() -> None:
    def limit_of(limits: SolveLimits, iterations: int, seconds: float) -> object:
        stopped = answer("NO_SOLUTION_FOUND", "UNDETERMINED", iterations=iterations, seconds=seconds)
        return math_opt.verdict(stopped, limits)

    assert limit_of(SolveLimits(work=3), 3, 0.1) == (Termination.LIMIT, Limit.WORK)
    assert limit_of(SolveLimits(seconds=1.0), 9, 1.01) == (Termination.LIMIT, Limit.TIME)
    assert limit_of(SolveLimits(seconds=10.0, work=30), 3, 0.1) == FAILED
    assert limit_of(SolveLimits(), 3, 0.1) == FAILED


def test_a_reason_never_seen_is_a_failure() -> None:
    assert math_opt.verdict(answer("SPLENDID", None), SolveLimits()) == FAILED


def test_lines_of_scip_and_of_highs_are_noted_and_others_are_not() -> None:
    history = History(beyond=1e19)
    math_opt._listen(
        history,
        [
            _SCIP.format("  0.1s", "  dualbound   ", " primalbound  "),
            _SCIP.format("  0.1s", " 1.000000e+20 ", "      --      "),
            _SCIP.format("d 1.9s", " 1.418414e+02 ", " 4.200000e+01 "),
            " T       5       2         1   12.50%   140.5           86                 63.37%        0      0      0",
            "presolving:",
        ],
    )
    assert [(one.objective, one.bound) for one in history.entries()] == [(42.0, 141.8414), (86.0, 140.5)]


@pytest.mark.solver("glop")
def test_an_error_is_told_in_the_words_of_the_solver() -> None:
    """OR-Tools 9.15 hides it behind an error of its own."""
    import json
    import subprocess
    import sys

    code = (
        "import json\n"
        "from ortools.math_opt.python import mathopt\n"
        "from dpopt.solvers import math_opt\n"
        "parameters = mathopt.SolveParameters(node_limit=3)\n"
        "try:\n"
        "    math_opt._solved(mathopt.Model(), mathopt.SolverType.GLOP, params=parameters, "
        "model_params=mathopt.ModelSolveParameters(), msg_cb=None)\n"
        "except Exception as problem:\n"
        "    print(json.dumps(f'{type(problem).__name__}: {problem}'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "node_limit" in json.loads(done.stdout)

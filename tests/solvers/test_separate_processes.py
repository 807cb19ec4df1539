"""Libraries that cannot live in one process are used one after the other, in every order, by one driver."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

from dpopt.solvers import solver_names

CODE = """
import json, sys
import numpy as np
from dpopt.formulations import accepting_max_csp
from dpopt.programs import MaxCsp
from dpopt.queries import Clauses
from dpopt.solvers import get_solver
problem = MaxCsp(np.array([2, 2]), Clauses.conjunctions([[0, 1], [0, -1]], [[1, 1], [1, 0]], [[True, True], [True, False]]),
    np.array([3, -1]))
objectives = [accepting_max_csp(get_solver(name)).solve(problem).objective for name in sys.argv[1:]]
foreign = [name for name in ("ortools", "pulp", "highspy", "scipy.optimize") if name in sys.modules]
print(json.dumps([objectives, foreign]))
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(*pair, marks=[pytest.mark.solver(name) for name in pair])
        for pair in itertools.permutations(solver_names(), 2)
    ],
)
def test_two_solvers_work_one_after_the_other_and_the_driver_loads_neither(first: str, second: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, first, second], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [[2.0, 2.0], []]

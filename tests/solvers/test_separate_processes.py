"""Libraries that cannot live in one process are used one after the other, in every order, by one driver."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dpopt.solvers import available_solvers
from dpopt.solvers.registry import SOLVERS

CODE = """
import json, sys
import numpy as np
from dpopt.models import accepting_max_csp
from dpopt.programs import Capability, MaxCsp, MixedIntegerProgram
from dpopt.queries import Clauses
from dpopt.solvers import get_solver
problem = MaxCsp(np.array([2, 2]), Clauses.conjunctions([[0, 1], [0, -1]], [[1, 1], [1, 0]], [[True, True], [True, False]]),
    np.array([3, -1]))
linear = MixedIntegerProgram(True, np.array([1.0]), np.array([0, 1]), np.array([0]), np.array([2.0]), np.array([0.0]),
    np.array([4.0]), np.array([0.0]), np.array([9.0]), np.array([False]))
def objective(name):
    solver = get_solver(name)
    if not solver.capabilities & {Capability.MAX_CSP, Capability.MIP}:
        return round(solver.solve(linear).objective, 5)
    return accepting_max_csp(solver).solve(problem).objective
objectives = [objective(name) for name in sys.argv[1:]]
libraries = ("cvxpy", "gurobipy", "highspy", "ortools", "pulp", "pysat", "scipy.optimize")
print(json.dumps([objectives, [name for name in libraries if name in sys.modules]]))
"""

LOADED = """
import json, sys
import numpy as np
from dpopt.programs import Capability, MaxCsp, MixedIntegerProgram, NO_LIMITS
from dpopt.queries import Clauses
from dpopt.solvers.registry import load
adapter = load(sys.argv[1])()
linear = MixedIntegerProgram(True, np.array([1.0]), np.array([0, 1]), np.array([0]), np.array([2.0]), np.array([0.0]),
    np.array([4.0]), np.array([0.0]), np.array([9.0]), np.array([False]))
problem = MaxCsp(np.array([2]), Clauses.conjunctions([[0]], [[1]], [[True]]), np.array([3]))
result = adapter.solve(problem if Capability.MAX_CSP in adapter.capabilities else linear, NO_LIMITS, hint=None)
print(file=sys.stderr)
sys.stdout.write("\\n" + json.dumps([round(result.objective, 5), [n for n in ("highspy", "ortools") if sys.modules.get(n)]]))
"""


@pytest.mark.parametrize("backwards", [False, True])
def test_solvers_work_one_after_the_other_in_every_order_and_the_driver_loads_none(backwards: bool) -> None:
    """Every ordered pair comes in one of the two orders: children are kept, so both of a pair live at once."""
    names = available_solvers()
    assert len(names) > 4
    ordered = names[::-1] if backwards else names
    done = subprocess.run([sys.executable, "-c", CODE, *ordered], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [[2.0] * len(names), []]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(entry.path, marks=pytest.mark.solver(name), id=name)
        for name, entry in SOLVERS.items()
        if entry.requirements
    ],
)
def test_ortools_and_highspy_never_share_a_process(path: str) -> None:
    """Each brings a HiGHS; from highspy 1.15 on, whichever is loaded second fails."""
    done = subprocess.run([sys.executable, "-c", LOADED, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objective, loaded = json.loads(done.stdout.splitlines()[-1])
    assert objective in {2.0, 3.0}
    assert len(loaded) <= 1

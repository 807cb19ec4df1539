"""A formulation of one's own within a release: a changed model of each library, whose row every record obeys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.algorithms.replay import load
from dpopt.errors import AccuracyWarning, PlanError
from dpopt.models import Model, OwnFormulation, round_program
from dpopt.releases import solver_choice
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.solvers import registry

SCHEMA = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, ("no", "yes", "maybe")) for name in "abcd"))
ROOT = Path(__file__).parents[2]
TABLE = pd.DataFrame(
    np.array(["no", "yes", "maybe"])[np.random.default_rng(3).integers(0, 3, (1_000, 4))], columns=[*"abcd"]
)
FEW = {"epsilon": 1e3, "delta": 1e-6, "n0": 1_000, "predict": False}


def in_pulp(model: Model) -> Any:
    """At most one "yes", which no rule of the schema asks for; nothing else is changed."""
    problem = model.to_pulp()
    x = problem.variablesDict()
    problem += x["x_a~yes_"] + x["x_b~yes_"] + x["x_c~yes_"] + x["x_d~yes_"] <= 1, "MINE"
    return problem


def in_cp_sat(model: Model) -> Any:
    native = model.to_cp_sat()
    place = {variable.name: number for number, variable in enumerate(native.proto.variables)}
    native.add_at_most_one(native.get_bool_var_from_proto_index(place[f"x[{one}=yes]"]) for one in "abcd")
    return native


def in_mathopt(model: Model) -> Any:
    native = model.to_mathopt()
    x = {variable.name: variable for variable in native.variables()}
    native.add_linear_constraint(sum(x[f"x[{one}=yes]"] for one in "abcd") <= 1, name="MINE")
    return native


def in_cvxpy(model: Model) -> Any:
    import cvxpy

    problem = model.to_cvxpy()
    x = problem.var_dict["x"]
    return cvxpy.Problem(problem.objective, [*problem.constraints, x[1] + x[4] + x[7] + x[10] <= 1])


def released(build: Any, folder: Path) -> dpopt.SyntheticRelease:
    asked = dpopt.DualQuery(formulation=build, rounds=5, draws=20, seconds=60)
    return dpopt.release(TABLE, SCHEMA, "marginals:2", out=folder, algorithm=asked, **FEW)  # type: ignore[arg-type]


def check(folder: Path, label: str) -> None:
    """Every record obeys the row and is worth what its certificate says; no bound is claimed; the replay agrees."""
    made = load(folder)
    assert made.job.plan.solver == f"formulation:{label}"
    assert len(made.played) == 5
    for done in made.played:
        assert (done.record == 1).sum() <= 1
        assert done.fallback is None
        problem = round_program(made.job.workload.clauses, made.job.schema.sizes, done.sampled)
        assert problem.objective(done.record) == done.certificate.objective
        assert done.certificate.bound is None


@pytest.mark.parametrize("build", [in_pulp, in_cp_sat, in_mathopt])
def test_a_changed_model_is_solved_inside_a_release(build: Any, tmp_path: Path) -> None:
    released(build, tmp_path / "r")
    check(tmp_path / "r", build.__name__)


def test_a_changed_model_of_cvxpy_too(tmp_path: Path) -> None:
    """In a process of its own: OR-Tools and CVXPY's HiGHS do not share one."""
    code = f"from tests.algorithms.test_own_formulation import *; released(in_cvxpy, Path({str(tmp_path / 'r')!r}))"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "r", "in_cvxpy")


def nothing(model: Model) -> Any:
    return model


def broken(model: Model) -> Any:
    raise ValueError("my bug")


def nameless(model: Model) -> Any:
    from dpopt.programs import Builder

    return Model.of("other", Builder()).to_pulp()


def impossible(model: Model) -> Any:
    problem = in_pulp(model)
    problem += problem.variablesDict()["x_a~yes_"] >= 2
    return problem


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (nothing, "returned a Model; expected a model of PuLP"),
        (broken, "my bug"),
        (nameless, "no variable 'x_a~no_'"),
        (impossible, "gave no record: it ended 'infeasible"),
    ],
)
def test_one_that_gives_no_record_is_refused_before_anything_is_spent(build: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=f"(?s){words}.*Nothing was spent"):
        released(build, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_one_that_fails_later_costs_accuracy_only(tmp_path: Path) -> None:
    calls = []

    def tired(model: Model) -> Any:
        calls.append(model.name)
        if len(calls) > 3:  # a trial, and two rounds
            raise ValueError("tired")
        return in_pulp(model)

    with pytest.warns(AccuracyWarning):
        made = released(tired, tmp_path / "r")
    assert [done.fallback is None for done in made.played] == [True, True, False, False, False]


@pytest.mark.parametrize("options", [{"solver": "cp-sat"}, {"gap": 0.1}, {"free_attributes": "random"}])
def test_what_a_formulation_brings_itself_is_refused_beside_it(options: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="brings its own solver"):
        dpopt.DualQuery(formulation=in_pulp, **options)
    with pytest.raises(PlanError, match="a formulation is a function of a model, or the name of one; found int"):
        dpopt.DualQuery(formulation=3)  # type: ignore[arg-type]


class _Point:
    """An entry point."""

    def __init__(self, found: Any) -> None:
        self.found, self.value = found, "elsewhere:it"

    def load(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_a_registered_one_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = {"mine": _Point(in_pulp), "wrong": _Point(3), "gone": _Point(ImportError("no such library"))}
    monkeypatch.setattr(registry, "outside", lambda group: known if group == "dpopt.formulations" else {})
    released("mine", tmp_path / "r")
    check(tmp_path / "r", "mine")
    assert isinstance(solver_choice.clause_solver("formulation:mine"), OwnFormulation)
    solver_choice.require_solver_again("formulation:mine", None)
    for name, words in (("wrong", "is a int"), ("gone", "no such library"), ("other", "no package registers")):
        with pytest.raises(PlanError, match=words):
            solver_choice.registered_formulation(name)

"""Models by name: formulas, names, closed forms, and round trips through the objects and files of other libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt import models
from dpopt.comparison.instances import Instance
from dpopt.errors import ProgramError, ReleaseFolderError
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.catalogue import CATALOGUE, build_model
from dpopt.programs.conic import ConicProgram, PointProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import SolveResult, Termination
from dpopt.queries.ranges.tree import Tree
from tests.lying_solvers import Lying
from tests.models.catalogue import instance_files, small_instances

NAMES = sorted(CATALOGUE)
PATHS = {path.stem: path for path in instance_files()}
RESPONSES = [one for one in small_instances() if len(one.problem.clauses) <= 40 and one.optimum is not None]
_START = """
import json, sys
from pathlib import Path
from dpopt import models
from dpopt.comparison.instances import read_instance
found = {}
def names(blocks):
    return [name for block in blocks.values() for name in block.names()]
def agree(model, variables, whole, rows):
    # Names, and which variables are whole, are those of the model.
    assert list(variables) == names(model.variables), model.name
    assert [bool(one) for one in whole] == model.linear.integrality.tolist(), model.name
    assert list(rows) == names(model.rows), model.name
built = {name: models.build_model(name) for name in models.CATALOGUE}
for path in sys.argv[2:]:
    for formulation in ("aggregated", "per-literal"):
        built[f"{Path(path).stem} {formulation}"] = models.best_response(read_instance(Path(path)).problem, formulation)
"""
_PULP = """
import pulp
from dpopt.programs.text import PULP_REPLACES, unlike
for name, model in built.items():
    try:
        problem = model.to_pulp()
    except models.ProgramError:
        continue
    whole = {unlike([name], PULP_REPLACES)[0]: one for name, one in zip(names(model.variables), model.linear.integrality)}
    assert {one.name: one.cat == "Integer" for one in problem.variables()} == whole, name
    labels = set(unlike(names(model.rows), PULP_REPLACES))
    assert {one.rstrip("_") for one in problem.constraints} == {one.rstrip("_") for one in labels}, name
    problem.solve(pulp.PULP_CBC_CMD(msg=False))
    found[name] = pulp.value(problem.objective)
"""
_CVXPY = """
import cvxpy
for name, model in built.items():
    problem = model.to_cvxpy()
    whole = problem.is_mixed_integer()
    for symbol, block in model.variables.items():
        kept = model.linear.integrality[block.numbers].any()
        assert problem.var_dict[symbol].size == block.size, name
        assert bool(problem.var_dict[symbol].attributes["integer"]) == kept, name
    blocks = {**model.rows, **model.cones}
    assert {one.label for one in problem.constraints} == {s for s, block in blocks.items() if block.size}, name
    problem.solve(solver=cvxpy.HIGHS if whole else cvxpy.CLARABEL)
    found[name] = float(problem.value)
"""
_MATHOPT = """
from ortools.math_opt.python import mathopt
for name, model in built.items():
    try:
        native = model.to_mathopt()
    except models.ProgramError:
        continue
    columns = sorted(native.variables(), key=lambda one: one.id)
    sums = sorted(native.linear_constraints(), key=lambda one: one.id)
    agree(model, [one.name for one in columns], [one.integer for one in columns], [one.name for one in sums])
    if name == "projection":  # no solver of MathOpt without a licence takes squares of sums
        point = dict(zip(native.variables(), model.solve().result.solution.tolist()))
        found[name] = mathopt.evaluate_expression(native.objective.as_quadratic_expression(), point)
        continue
    kind = mathopt.SolverType.PDLP if model.squares else mathopt.SolverType.GSCIP
    found[name] = mathopt.solve(native, kind).objective_value()
"""
_CP_SAT = """
from ortools.sat.python import cp_model
for name, model in built.items():
    try:
        native = model.to_cp_sat()
    except models.ProgramError:
        continue
    path = Path(sys.argv[1]) / f"{name}.pbtxt"
    model.write(path)
    read = cp_model.CpModel()
    assert read.proto.parse_text_format(path.read_text())
    whole = model.linear.integrality if model.clauses is None else [True] * model.linear.number_of_variables
    for form, one in (("", native), (".pbtxt", read)):
        columns, sums = one.proto.variables, one.proto.constraints
        assert [True] * len(columns) == list(whole), name  # of a best response, where every record is whole
        agree(model, [v.name for v in columns], model.linear.integrality, [c.name for c in sums])
        solver = cp_model.CpSolver()
        solver.solve(one)
        found[name + form] = solver.objective_value
"""
_FILES = """
import highspy
from dpopt.programs.text import LP_REPLACES, MPS_REPLACES, unlike
for name, model in built.items():
    for ending in () if model.cones else (".lp", ".mps"):
        path = Path(sys.argv[1]) / f"{name}{ending}"
        model.write(path)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
        read = solver.getLp()
        titles = names(model.variables)
        titles = unlike(titles, LP_REPLACES if ending == ".lp" else MPS_REPLACES)
        integral = highspy.HighsVarType.kInteger
        whole = [one == integral for one in read.integrality_] or [False] * len(titles)
        assert dict(zip(read.col_names_, whole)) == dict(zip(titles, model.linear.integrality.tolist())), name
        labels = names(model.rows)
        labels = unlike(labels, LP_REPLACES if ending == ".lp" else MPS_REPLACES)
        assert {one.rstrip("_") for one in read.row_names_} == {one.rstrip("_") for one in labels}, name
        solver.run()
        sign = -1.0 if ending == ".mps" and model.linear.maximize else 1.0
        found[name + ending] = sign * solver.getInfo().objective_function_value
"""


def native(code: str, folder: Path) -> dict[str, float]:
    """Return the optimum that a library finds for each model; in a process of its own, as these libraries share none."""
    script = _START.replace("import models\n", "import models\nfrom dpopt.errors import ProgramError\n")
    code = (script + code).replace("models.ProgramError", "ProgramError") + "\nprint(json.dumps(found))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), *(str(PATHS[one.name]) for one in RESPONSES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("name", NAMES)
def test_default_and_other_solvers_find_one_certified_optimum(name: str) -> None:
    model = build_model(name)
    default = model.solve()
    assert default.termination is Termination.OPTIMAL
    assert default.certificate is not None
    assert default.certificate.primal_violation <= 1e-6
    if model.closed_form is None:
        return
    assert default.result.solver == model.own_method
    other = model.solve("clarabel" if model.squares or model.cones else "highs")
    assert other.objective == pytest.approx(default.objective, rel=1e-6, abs=1e-6)
    assert default.objective is not None
    assert other.objective is not None
    assert default.objective <= other.objective + 1e-6 * max(1.0, abs(other.objective))


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("name", [name for name in NAMES if build_model(name).cones])
def test_duals_prove_the_optimum_of_a_model_with_cones(name: str, solver: str) -> None:
    found = build_model(name).solve(solver)
    assert found.termination is Termination.OPTIMAL
    assert found.certificate is not None
    assert found.certificate.proven_gap is not None
    assert abs(float(found.certificate.proven_gap)) <= 1e-6
    assert found.certificate.primal_violation <= 1e-7


@pytest.mark.parametrize("name", ["isotonic_regression", "tree_consistency"])
@pytest.mark.parametrize("solver", ["closed-form", "clarabel", "osqp", "scs", "cvxpy-highs"])
def test_duals_prove_the_optimum_of_a_quadratic_model(name: str, solver: str) -> None:
    solution = build_model(name).solve(solver)
    assert solution.certificate is not None
    assert solution.certificate.proven_gap is not None
    # a point that breaks a row by rounding may lie beyond the bound by as little
    assert -1e-9 <= float(solution.certificate.proven_gap) <= 1e-5


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "scs", "cvxpy-highs"])
@pytest.mark.parametrize("variance", [0.01, 242.0, 1e4])
def test_a_tree_of_any_variance_has_one_optimum(variance: float, solver: str) -> None:
    tree = Tree.balanced(64, 2)
    generator = np.random.default_rng(1)
    size = len(tree)
    noisy = 20 * generator.random(size) + generator.normal(0, variance**0.5, size)
    model = models.tree_consistency(tree, noisy, np.full(size, variance))
    best, found = model.solve(), model.solve(solver)
    assert found.termination is Termination.OPTIMAL
    assert best.result.solution is not None
    assert found.result.solution is not None
    error = np.abs(found.result.solution - best.result.solution).max()
    assert error <= 1e-5 * np.abs(best.result.solution).max()


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "scs", "cvxpy-highs"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("variances", [(0.01,), (1.0,), (1e4,), (0.01, 1.0, 1e4)])
def test_what_is_optimal_on_a_tree_is_so(variances: tuple[float, ...], solver: str, *, nonnegative: bool) -> None:
    """A subset of the programs in `experiments/quadratic_programs`: equal variances, and three in turn from the root down."""
    tree, generator = Tree.balanced(512, 2), np.random.default_rng(7)
    spreads = np.empty(len(tree))
    for depth, level in enumerate(tree.levels):
        spreads[level] = variances[depth % len(variances)]
    counts = generator.poisson(10, tree.bins) * (generator.random(tree.bins) < 0.3)
    noisy = tree.totals(counts.astype(np.float64)) + generator.normal(size=len(tree)) * np.sqrt(spreads)
    model = models.tree_consistency(tree, noisy, spreads, nonnegative=nonnegative)
    found = model.solve(solver, seconds=60)
    assert found.termination is Termination.OPTIMAL
    if not nonnegative:
        assert found.objective == pytest.approx(model.solve().objective, rel=1e-6)
    assert found.certificate is not None
    assert abs(float(found.certificate.proven_gap or 0)) <= 1e-5 * (1 + abs(found.objective or 0))


def test_an_optimum_that_the_duals_contradict_is_called_imprecise(monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.isotonic_regression([14, 9, 10, 15], total=52)
    right = model.solve().result
    wrong = replace(right, solution=np.array([11.0, 12.0, 13.0, 16.0]))
    monkeypatch.setattr(models.Model, "_in_closed_form", lambda self: wrong)
    assert right.termination is wrong.termination is Termination.OPTIMAL
    assert model.solve().termination is Termination.IMPRECISE


@pytest.mark.parametrize(
    ("library", "least"),
    [(_PULP, 30), (_CVXPY, 30), (_MATHOPT, 30), (_CP_SAT, 20), (_FILES, 60)],
    ids=["pulp", "cvxpy", "mathopt", "cp-sat", "files"],
)
def test_a_round_trip_finds_the_certified_optimum(library: str, least: int, tmp_path: Path) -> None:
    found = native(library, tmp_path)
    assert len(found) >= least
    known = {one.name: one.optimum for one in RESPONSES}
    for name, value in found.items():
        plain = name.removesuffix(".lp").removesuffix(".mps").removesuffix(".pbtxt")
        best = build_model(plain).solve().objective if plain in CATALOGUE else None
        expected = known[plain.rpartition(" ")[0]] if best is None else best
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-5), name


def test_variables_and_rows_carry_the_names_of_the_page() -> None:
    model = models.isotonic_regression([14, 9, 10, 15], total=52)
    assert model.variables["s"].names() == ["s[1]", "s[2]", "s[3]", "s[4]"]
    assert model.rows["IR-3"].names()[1] == "IR-3[2]"
    assert model.rows["IR-5"].names() == ["IR-5"]
    assert "IR-5: s[1] + s[2] + s[3] + s[4] = 52" in str(model)
    assert model.formulas()[:1] == ["IR-1[1]: 1/2 (s[1] - 14)^2"]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_used_once(name: str) -> None:
    model = build_model(name)
    for blocks, number in (
        (model.variables, model.linear.number_of_variables),
        (model.rows, model.linear.number_of_rows),
    ):
        names = [one for block in blocks.values() for one in block.names()]
        assert len(names) == len(set(names)) == number
    if isinstance(model.program, QuadraticProgram):
        assert sum(block.size for block in model.squares.values()) == model.program.targets.size
    if isinstance(model.program, ConicProgram):
        assert [block.size for block in model.cones.values()] == [one.number for one in model.program.blocks]


@pytest.mark.parametrize("instance", RESPONSES, ids=lambda one: one.name)
@pytest.mark.parametrize("formulation", Formulation)
def test_a_best_response_names_its_rows_by_clause(instance: Instance, formulation: Formulation) -> None:
    problem = instance.problem
    model = models.best_response(problem, formulation)
    names = [one for block in model.rows.values() for one in block.names()]
    assert len(names) == len(set(names)) == model.linear.number_of_rows
    assert model.solve("highs").objective == pytest.approx(instance.optimum)


@pytest.mark.parametrize(
    ("name", "numbers", "keyword"),
    [
        ("isotonic", None, "no model"),
        ("isotonic_regression", {}, "must be given"),
        ("isotonic_regression", {"values": [1], "valves": 2}, "valves"),
        ("isotonic_regression", {"values": ["a"]}, "array"),
        ("isotonic_regression", {"values": [[1], [1, 2]]}, "array"),
        ("isotonic_regression", {"values": [1, 2], "weights": [0, 1]}, "positive"),
        ("isotonic_regression", {"values": {"a": 1}}, "numbers"),
        ("minimax_polynomial", {"target": "nor", "k": 3, "degree": 1}, "predicate"),
        ("minimax_polynomial", {"target": "or", "degree": 1}, "number of conditions"),
        ("minimax_polynomial", {"target": "or", "k": 8.5, "degree": 1}, "a whole number"),
        ("minimax_polynomial", {"target": "or", "k": 8, "degree": 1.5}, "a whole degree"),
        ("tree_consistency", {"bins": 4, "branching": 2, "values": [1], "variances": [1]}, "7 nodes"),
        ("answer_polynomial", {"target": [None, None], "deviations": [0.1], "zeta": 1}, "expected some"),
        ("answer_polynomial", {"target": [0, 1], "deviations": [-0.1], "zeta": 1}, "above 0"),
        ("strategy", {"workload": [1, 0]}, "rows of finite"),
        ("strategy", {"workload": [[1, 0]], "weights": [-1]}, "weight from 0"),
        ("strategy", {"workload": [[1, 0]], "weights": [0]}, "weight above 0"),
        ("strategy", {"workload": [[1] * 300]}, "at most"),
        ("noise_allocation", {"sizes": [3], "marginals": [[1]], "rho": 1, "size": 9}, "attribute"),
        ("noise_allocation", {"sizes": [3], "marginals": [], "rho": 1, "size": 9}, "no marginal"),
        ("noise_allocation", {"sizes": [3], "marginals": [[0]], "rho": 0, "size": 9}, "rho above 0"),
        ("residual_allocation", {"sizes": [3], "marginals": [[1]], "rho": 1}, "attribute"),
        ("residual_allocation", {"sizes": [3], "marginals": [[0]], "rho": 0}, "rho above 0"),
        ("residual_allocation", {"sizes": [3], "marginals": [[0]], "rho": 1, "variances": [0]}, "above 0"),
        ("level_budgets", {"bins": 4, "ranges": [[[2, 9]]], "amount": 1}, "stop <= 4"),
        ("level_budgets", {"bins": 4, "ranges": [[[2, 2]]], "amount": 1}, "later"),
        ("level_budgets", {"bins": 4, "ranges": [], "amount": 1}, "groups"),
        ("hierarchy_budgets", {"levels": [[3], [1, 1]], "amount": 1}, "same number"),
        ("hierarchy_budgets", {"levels": [[2], [1, 1]], "amount": 1, "least": 0}, "least share"),
        ("max_entropy", {"start": [0.5, 0.6], "parts": [[0, 1]], "values": [[0, 1]]}, "add up to 1"),
        ("max_entropy", {"start": [0.5, 0.5], "parts": [[0, 2]], "values": [[0, 1]]}, "each of its parts"),
        ("reweighting", {"net": [[1]], "answers": [[1, 0]], "eta": 1, "draws": 1}, "shape"),
        ("reweighting", {"net": [[2]], "answers": [[1]], "eta": 1, "draws": 1}, "no more draws"),
        ("perturbed_response", {"sizes": [2], "queries": [], "weights": [], "rewards": [[1]]}, "rewards"),
        ("answer_polynomial", {"target": [0, np.inf], "deviations": [1], "zeta": 1}, "infinite target"),
        ("answer_polynomial", {"target": [0, 1], "deviations": [None], "zeta": 1}, "no size that was counted"),
        ("noise_allocation", {"sizes": [2.5], "marginals": [[0]], "rho": 1, "size": 9}, "whole numbers"),
        ("noise_allocation", {"sizes": [2, -3], "marginals": [[0, 1]], "rho": 1, "size": 9}, "sizes from 1"),
        ("noise_allocation", {"sizes": [2, 3], "marginals": [[0, -1]], "rho": 1, "size": 9}, "from 0"),
        ("noise_allocation", {"sizes": [2], "marginals": [[0]], "rho": 1, "size": 10**200}, "built from these"),
        ("level_budgets", {"bins": 4, "ranges": [[[0, 1.5]]], "amount": 1}, "whole numbers"),
        ("level_budgets", {"bins": 4, "ranges": [[[0, 1, 2]]], "amount": 1}, "ranges from a bin"),
        ("level_budgets", {"bins": 4, "ranges": [[[0, 1, 2], [1, 2, 3]]], "amount": 1}, "ranges from a bin"),
        ("hierarchy_budgets", {"levels": [[2.9], [1, 1]], "amount": 1}, "whole numbers"),
        ("max_entropy", {"start": [0.5, 0.5], "parts": [[0, 0.9]], "values": [[0, 1]]}, "whole numbers"),
        ("reweighting", {"net": [[0.9]], "answers": [[1]], "eta": 1, "draws": 1}, "whole numbers"),
        ("reweighting", {"net": [[1]], "answers": [[7]], "eta": 1, "draws": 1}, "whole numbers"),
        ("reweighting", {"net": [[1]], "answers": [[1]], "eta": 1e300, "draws": 1}, "over all rounds"),
        (
            "perturbed_response",
            {"sizes": [2], "queries": [[[0, 1]]], "weights": [2**54], "rewards": [[1, 1]]},
            "beyond",
        ),
        ("perturbed_response", {"sizes": [2], "queries": [], "weights": [], "rewards": [[1, np.nan]]}, "not a number"),
        ("perturbed_response", {"sizes": [2], "queries": [[[0, 5]]], "weights": [1], "rewards": [[0, 0]]}, "code"),
    ],
)
def test_what_makes_no_model_is_refused(name: str, numbers: dict[str, object] | None, keyword: str) -> None:
    with pytest.raises(ProgramError, match=keyword):
        build_model(name, numbers)


def test_a_form_that_cannot_hold_a_model_says_which_can(tmp_path: Path) -> None:
    quadratic = models.isotonic_regression([2, 1])
    with pytest.raises(ProgramError, match="to_cvxpy"):
        quadratic.to_pulp()
    with pytest.raises(ProgramError, match="no squares"):
        quadratic.to_cp_sat()
    with pytest.raises(ProgramError, match=r"s\[1\]"):
        models.isotonic_median_regression([2, 1]).to_cp_sat()
    with pytest.raises(ProgramError, match=r"\.lp, \.mps, \.pbtxt, \.opb or \.wcnf"):
        quadratic.write(tmp_path / "model.txt")
    assert not (tmp_path / "model.txt").exists()
    with pytest.raises(ProgramError, match="does not take quadratic"):
        quadratic.solve("highs")
    cones = build_model("level_budgets")
    for form in (cones.to_pulp, cones.to_mathopt, cones.to_cp_sat, lambda: cones.text(".lp")):
        with pytest.raises(ProgramError, match="to_cvxpy"):
            form()
    with pytest.raises(ProgramError, match="does not take programs with cones"):
        cones.solve("osqp")
    with pytest.raises(ProgramError, match="no closed form"):
        models.minimax_polynomial("or", 3, degree=1).solve("closed-form")


def test_a_model_on_file_is_not_replaced(tmp_path: Path) -> None:
    """Somebody may have changed it, as how-to/models-in-hand shows."""
    model, file = models.isotonic_regression([2, 1]), tmp_path / "model.lp"
    model.write(file)
    file.write_text(file.read_text() + "\\ mine")
    with pytest.raises(ReleaseFolderError, match="exists already, and may hold a model that somebody changed"):
        model.write(file)
    assert file.read_text().endswith("mine")
    assert [path.name for path in tmp_path.iterdir()] == ["model.lp"]


class _Silent(Lying):
    def solve(self, *_: object, **__: object) -> SolveResult:
        return cast("SolveResult", None)


def test_what_a_solver_does_wrong_is_said_with_its_name() -> None:
    def broken(_: PointProgram) -> NDArray[np.float64]:
        raise ValueError("boom")

    model = models.isotonic_regression([2, 1])
    with pytest.raises(
        ProgramError, match="lying found no answer to isotonic_regression: the solver broke down: ValueError: boom"
    ):
        model.solve(Lying(broken))
    with pytest.raises(ProgramError, match="the solver lying answered with NoneType"):
        model.solve(_Silent(broken))
    refused = model.solve(Lying(lambda program: np.array([2.0, 1.0])))
    said, _, seconds = str(refused).rpartition(", ")
    assert said == "lying: imprecise, no answer (sure; the answer was refused: a point that breaks a constraint by 1)"
    assert seconds.endswith(" s")


def test_a_reported_bound_is_printed_where_none_is_proven() -> None:
    assert "no proven bound, reported bound 0.4, violation" in str(build_model("small_database").solve("highs"))


def test_names_that_a_file_cannot_hold_are_replaced_and_stay_different() -> None:
    from dpopt.programs.mps import mps_text
    from dpopt.programs.text import lp_text

    model = models.isotonic_regression([2, 1])
    assert isinstance(model.program, QuadraticProgram)
    text = lp_text(model.program, columns=["a-b", "a+b"], rows=["größer"]).decode()
    assert "a_b" in text
    assert "a_b.1" in text
    assert "gr" in text
    with pytest.raises(ProgramError, match="name"):
        mps_text(model.program, columns=["a b", "c"])


def test_numbers_in_files_read_back_as_the_same_doubles(tmp_path: Path) -> None:
    values = np.array([1 / 3, 0.1])
    text = models.isotonic_regression(values).text(".lp").decode()
    assert repr(1 / 3) in text
    assert repr(float(1 / 3)) in models.isotonic_regression(values).text(".mps").decode()


def test_long_transcripts_have_likely_weights_whose_logits_no_exponential_takes() -> None:
    found = build_model(
        "reweighting", {"net": [[1], [-1], [1]], "answers": [[1, 0, 0]], "eta": 1e4, "draws": 1}
    ).solve()
    assert found.objective == pytest.approx(np.log(2.0))

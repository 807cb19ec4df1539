"""Best responses as .wcnf and .opb files: what other solvers find in the files is the optimum of the problem."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.comparison.instances import Instance
from dpopt.errors import ProgramError
from dpopt.models import best_response, minimax_polynomial
from dpopt.models.best_responses.row_names import page_of
from dpopt.models.model import Model
from dpopt.programs import Builder, MaxCsp
from dpopt.queries.clauses import EVEN, ODD
from tests.circuits import every_record
from tests.models.catalogue import small_instances
from tests.strategies import clauses_of

SMALL = [one for one in small_instances() if one.optimum is not None]
_TERM = re.compile(r"([+-]\d+) x(\d+)")
_LABELS = {"best_response": "BR", "best_response_parities": "PA", "best_response_thresholds": "TH"}


def read_opb(text: str) -> tuple[dict[int, int], list[tuple[dict[int, int], str, int]]]:
    """Return objective and rows of an OPB file, by the grammar of the competitions."""
    lines = [line for line in text.splitlines() if not line.startswith("*")]
    assert lines[0].startswith("min: ")
    assert all(line.endswith(" ;") for line in lines)
    rows = []
    for line in lines[1:]:
        relation, side = re.search(r"(>=|=) (-?\d+) ;$", line).groups()  # type: ignore[union-attr]
        terms = _TERM.findall(line)
        assert len({number for _, number in terms}) == len(terms), "a variable stands twice in a row"
        rows.append(({int(number): int(value) for value, number in terms}, relation, int(side)))
    return {int(number): int(value) for value, number in _TERM.findall(lines[0])}, rows


def solved_opb(text: str) -> int:
    """Return the optimum of the problem that the file's comment makes of the file's own, by CP-SAT on what was read."""
    cp_model: Any = pytest.importorskip("ortools.sat.python.cp_model")
    goal, rows = read_opb(text)
    variables, constraints = map(int, re.match(r"\* #variable= (\d+) #constraint= (\d+)", text).groups())  # type: ignore[union-attr]
    assert constraints == len(rows)
    model: Any = cp_model.CpModel()
    bits = [None, *(model.new_bool_var(f"x{number}") for number in range(1, variables + 1))]
    for terms, relation, side in rows:
        total = sum(value * bits[number] for number, value in terms.items())
        model.add(total >= side if relation == ">=" else total == side)
    model.minimize(sum(value * bits[number] for number, value in goal.items()))
    solver = cp_model.CpSolver()
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    constant, sign = re.search(r"\* objective = (-?\d+) ([+-]) value", text).groups()  # type: ignore[union-attr]
    value = (-1 if sign == "-" else 1) * round(float(solver.objective_value))
    return int(constant) + value


@pytest.mark.parametrize("instance", SMALL, ids=lambda one: one.name)
@pytest.mark.parametrize("formulation", ["aggregated", "per-literal"])
def test_an_opb_file_has_the_optimum(instance: Instance, formulation: str) -> None:
    assert solved_opb(best_response(instance.problem, formulation).text(".opb").decode()) == instance.optimum


@pytest.mark.solver("rc2")
@pytest.mark.parametrize("instance", SMALL, ids=lambda one: one.name)
def test_a_wcnf_file_has_the_optimum(instance: Instance, tmp_path: Path) -> None:
    """RC2 reads the file; the comment turns what it finds into the optimum, and the literals into a record of it."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    model, file = best_response(instance.problem), tmp_path / "round.wcnf"
    if instance.problem.rules.number_of_weighted_rule() is not None:
        with pytest.raises(ProgramError, match=r"adds up numbers.*\.opb"):
            model.write(file)
        return
    model.write(file)
    text = file.read_text(encoding="ascii")
    best = int(re.search(r"c objective of a record = (-?\d+) - weight", text).group(1))  # type: ignore[union-attr]
    with RC2(WCNF(from_file=str(file))) as solver:
        true = set(solver.compute())
        assert best - solver.cost == instance.optimum
    chosen = re.findall(r"c x\[(\d+)=(\d+)\] is (-?\d+)", text)
    record = np.zeros(instance.problem.sizes.size, dtype=np.int32)
    for attribute, code, literal in chosen:
        if int(literal) in true:
            record[int(attribute)] = int(code)
    assert instance.problem.objective(record) == instance.optimum
    assert not instance.problem.broken_rules(record)


def test_whole_variables_that_are_not_binary_are_written_in_bits() -> None:
    """Maximize 3 y + z, 2 <= y <= 7, -1 <= z <= 1, 2 y + z <= 13 and y - z = 5: y = 6, z = 1."""
    build = Builder(maximize=True)
    y = build.variables("y", 1, lower=2.0, upper=7.0, objective=3.0, whole=True)
    z = build.variables("z", 1, lower=-1.0, upper=1.0, objective=1.0, whole=True)
    build.rows("least", 1, (0, y, 2.0), (0, z, 1.0), upper=13.0)
    build.rows("same", 1, (0, y, 1.0), (0, z, -1.0), lower=5.0, upper=5.0)
    text = Model.of("bits", build).text(".opb").decode()
    assert solved_opb(text) == 19
    assert "* z[1] is -1 + x4 + 2 x5" in text


@pytest.mark.parametrize(("formulation", "labels"), [("aggregated", "PA-1 PA-2"), ("clique", "PA-3 PA-4 PA-5 PA-6")])
def test_parities_have_their_page_and_labels(formulation: str, labels: str) -> None:
    literals = [(a, 0, True) for a in range(5)]
    clauses = clauses_of([(literals, ODD & 63), (literals[:3], EVEN & 15), (literals[:2], ODD & 7)])
    problem = MaxCsp(np.full(5, 2), clauses, np.array([3, -2, 1]))
    model = best_response(problem, formulation)
    assert (model.name, page_of(problem)) == ("best_response_parities",) * 2
    names = model.rows["clauses"].names()
    assert len(set(names)) == len(names)
    assert {name.partition("[")[0] for name in names} == set(labels.split())
    assert solved_opb(model.text(".opb").decode()) == max(problem.objective(one) for one in every_record([2] * 5))


@pytest.mark.parametrize("instance", SMALL, ids=lambda one: one.name)
def test_no_row_has_a_label_of_another_page(instance: Instance) -> None:
    for formulation in ("aggregated", "per-literal", "clique"):
        model = best_response(instance.problem, formulation)
        labels = {name.partition("-")[0] for block in model.rows.values() for name in block.names()}
        own = {"BR", "TH", "PA", "RU"} if model.name == "best_response_with_rules" else {"BR", _LABELS[model.name]}
        assert labels <= own | ({"PA"} if model.name == "best_response_thresholds" else set())
        if model.name in _LABELS:
            assert _LABELS[model.name] in labels


def test_what_a_file_cannot_hold_is_refused() -> None:
    model = minimax_polynomial("or", k=3, degree=1)
    with pytest.raises(ProgramError, match="no model of weighted clauses"):
        model.text(".wcnf")
    with pytest.raises(ProgramError, match="bounded whole numbers only"):
        model.text(".opb")

"""The textbooks, which know nothing of dpopt, find the optimum of every instance that is stated by hand."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from dpopt.comparison.instances import Instance
from dpopt.programs import certify
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.models.catalogue import MODELS, small_instances

Literals = list[tuple[int, str, int]]


def literals_of(instance: Instance) -> list[Literals]:
    clauses = instance.problem.clauses
    return [
        [
            (int(a), "=" if sign else "!=", int(v))
            for a, v, sign in zip(clauses.attributes[j], clauses.values[j], clauses.signs[j], strict=True)
            if a >= 0
        ]
        for j in range(len(clauses))
    ]


def numbers_of(instance: Instance) -> list[list[int]]:
    masks = instance.problem.clauses.accepted.tolist()
    return [[number for number in range(32) if mask >> number & 1] for mask in masks]


def with_negations(instance: Instance) -> tuple[object, ...]:
    literals = literals_of(instance)
    negated = [numbers != [len(row)] for numbers, row in zip(numbers_of(instance), literals, strict=True)]
    assert numbers_of(instance) == [
        list(range(len(row))) if negation else [len(row)]
        for negation, row in zip(negated, literals, strict=True)
    ]
    return (list(zip(instance.problem.weights.tolist(), literals, negated, strict=True)),)


def with_parities(instance: Instance) -> tuple[object, ...]:
    literals = literals_of(instance)
    odd = [numbers[0] == 1 for numbers in numbers_of(instance)]
    assert numbers_of(instance) == [
        list(range(int(one), len(row) + 1, 2)) for one, row in zip(odd, literals, strict=True)
    ]
    return (list(zip(instance.problem.weights.tolist(), literals, odd, strict=True)),)


def with_numbers(instance: Instance) -> tuple[object, ...]:
    weights = instance.problem.weights.tolist()
    return (list(zip(weights, literals_of(instance), numbers_of(instance), strict=True)),)


def with_gates(instance: Instance) -> tuple[object, ...]:
    assert numbers_of(instance) == [[len(row)] for row in literals_of(instance)]
    clauses = list(zip(instance.problem.weights.tolist(), literals_of(instance), strict=True))
    rules = instance.problem.rules
    return clauses, [gate_of(rules, number) for number in range(len(rules))]


def gate_of(rules: ThresholdCircuit, gate: int) -> tuple[int, bool, dict[int, list[int]], dict[int, int]]:
    terms = range(int(rules.term_starts[gate]), int(rules.term_starts[gate + 1]))
    values = {
        int(rules.term_attributes[term]): rules.values[
            int(rules.value_starts[term]) : int(rules.value_starts[term + 1])
        ].tolist()
        for term in terms
    }
    entries = slice(int(rules.child_starts[gate]), int(rules.child_starts[gate + 1]))
    children = dict(zip(rules.children[entries].tolist(), rules.coefficients[entries].tolist(), strict=True))
    return int(rules.bounds[gate]), bool(rules.required[gate]), values, children


FORMS: dict[str, tuple[Callable[[Instance], tuple[object, ...]], str]] = {
    "best_response": (with_negations, "worked-example"),
    "best_response_parities": (with_parities, "worked-parities"),
    "best_response_thresholds": (with_numbers, "worked-thresholds"),
    "best_response_with_rules": (with_gates, "worked-rules"),
}
EACH = pytest.mark.parametrize("page", FORMS)


def run(page: str, code: str, *arguments: str) -> str:
    """Run code that has imported the textbook, in a process of its own: PuLP looks for solvers when it is imported."""
    start = f"import sys; sys.path.insert(0, sys.argv[1]); from {page}_textbook import *\n"
    command = [sys.executable, "-c", start + code, str(MODELS / page), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def problem_of(page: str, instance: Instance) -> tuple[object, ...]:
    return instance.problem.sizes.tolist(), *FORMS[page][0](instance)


def test_every_page_with_instances_has_a_textbook_that_is_tested() -> None:
    assert {folder.parent.name for folder in MODELS.glob("*/instances")} == set(FORMS)


@EACH
@pytest.mark.solver("cbc")
def test_the_textbook_has_the_same_optimum(page: str) -> None:
    instances = small_instances(page)
    problems = repr([problem_of(page, one) for one in instances])
    code = "for problem in eval(sys.argv[2]): print(repr(solve(*problem)))"
    answers = [ast.literal_eval(line) for line in run(page, code, problems).splitlines()]
    assert [value for value, _ in answers] == [one.optimum for one in instances]
    for one, (_, record) in zip(instances, answers, strict=True):
        certificate = certify(one.problem, np.array(record, dtype=np.int32))
        assert (certificate.feasible, certificate.objective) == (True, one.optimum)


@EACH
@pytest.mark.solver("cbc")
def test_the_worked_example_of_the_textbook_is_that_of_the_page(page: str) -> None:
    name = FORMS[page][1]
    instance = next(one for one in small_instances(page) if one.name == name)
    stated = ast.literal_eval(run(page, "print(repr(WORKED_EXAMPLE))"))
    assert stated == problem_of(page, instance)
    script = [sys.executable, str(MODELS / page / f"{page}_textbook.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    value, _, record = done.stdout.partition(" ")
    assert int(value) == instance.optimum
    codes = np.array(ast.literal_eval(record), dtype=np.int32)
    assert instance.problem.objective(codes) == instance.optimum
    text = (MODELS / page / "README.md").read_text(encoding="utf-8")
    worked = text.partition("## Worked example")[2].partition("## Code")[0]
    assert f"({', '.join(map(str, instance.record.tolist()))})" in worked  # type: ignore[union-attr]

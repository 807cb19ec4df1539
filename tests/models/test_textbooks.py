"""The textbooks of the catalogue know nothing of dpopt, and find what dpopt finds."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
import pytest

from dpopt.comparison.instances import Instance
from dpopt.inference.histograms.integer_tree import best_integer_tree
from dpopt.inference.histograms.sorted.degree_sequences import is_graphical, nearest_graphical
from dpopt.inference.histograms.sorted.isotonic import isotonic, isotonic_median
from dpopt.inference.histograms.tree_least_squares import least_squares, nonnegative_least_squares
from dpopt.models.noise_budgets.level_budgets import best_level_budgets
from dpopt.programs import certify
from dpopt.queries.ranges.tree import Tree
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.synopses.histograms.range_workload import RangeWorkload
from tests.inference.histograms.small_trees import random_measurements, random_tree
from tests.models.catalogue import MODELS, numbers, printed, run_textbook, small_instances, textbook, worked

pytestmark = pytest.mark.solver("cbc")

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


def problem_of(page: str, instance: Instance) -> tuple[object, ...]:
    return instance.problem.sizes.tolist(), *FORMS[page][0](instance)


def test_every_page_with_instances_has_a_textbook_that_is_tested() -> None:
    assert {folder.parent.name for folder in MODELS.glob("*/instances")} == set(FORMS)


@EACH
def test_the_textbook_has_the_same_optimum(page: str) -> None:
    instances = small_instances(page)
    answers = textbook(page, *[problem_of(page, one) for one in instances])
    assert [value for value, _ in answers] == [one.optimum for one in instances]
    for one, (_, record) in zip(instances, answers, strict=True):
        certificate = certify(one.problem, np.array(record, dtype=np.int32))
        assert (certificate.feasible, certificate.objective) == (True, one.optimum)


@EACH
def test_the_worked_example_of_the_textbook_is_that_of_the_page(page: str) -> None:
    name = FORMS[page][1]
    instance = next(one for one in small_instances(page) if one.name == name)
    stated = ast.literal_eval(run_textbook(page, "print(repr(WORKED_EXAMPLE))"))
    assert stated == problem_of(page, instance)
    value, _, record = "\n".join(printed(page)).partition(" ")
    assert int(value) == instance.optimum
    codes = np.array(ast.literal_eval(record), dtype=np.int32)
    assert instance.problem.objective(codes) == instance.optimum
    assert f"({', '.join(map(str, instance.record.tolist()))})" in worked(page)  # type: ignore[union-attr]


def children_of(tree: Tree) -> list[list[int]]:
    first, children = tree.first_child.tolist(), tree.children.tolist()
    return [list(range(start, start + number)) for start, number in zip(first, children, strict=True)]


def test_the_textbook_finds_the_same_trees() -> None:
    """TC-1 to TC-6: any sign, not negative, and in whole numbers; with nodes that are not measured, and known ones."""
    generator = np.random.default_rng(11)
    problems, expected = [], []
    for exact in (0.0, 0.0, 0.3):
        tree = next(
            tree for tree in iter(lambda: random_tree(generator, most=8, deepest=3), None) if tree.bins >= 4
        )
        values, variances = random_measurements(generator, tree, unmeasured=0.2, exact=exact)
        lost = np.isinf(variances) & (tree.children == 0)
        values[lost], variances[lost] = generator.normal(size=int(lost.sum())), 1.5
        given = (children_of(tree), np.nan_to_num(values).tolist(), variances.tolist())
        whole = best_integer_tree(tree, values, variances)
        assert whole.certified
        answers = [least_squares(tree, values, variances), nonnegative_least_squares(tree, values, variances)]
        measured = np.flatnonzero((variances > 0) & np.isfinite(variances))
        for options, answer in zip([(), (0.0,), (0.0, 60)], [*answers, whole.values], strict=True):
            problems.append((*given, *options))
            gaps = (answer[measured] - values[measured]) ** 2 / variances[measured]
            expected.append((float(gaps.sum()), answer))
    for (distance, counts), (least, answer), problem in zip(
        textbook("tree_consistency", *problems), expected, problems, strict=True
    ):
        assert distance == pytest.approx(least, rel=1e-5, abs=1e-5)
        if len(problem) < 5:  # in whole numbers several trees may be nearest
            np.testing.assert_allclose(counts, answer, atol=0.01)
        else:
            np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)


def test_the_worked_trees_are_those_of_the_page() -> None:
    (free, first), (positive, second), (whole, third) = map(numbers, printed("tree_consistency"))
    assert "(103; 20, 83; 31, -11, 80, 3) / 7" in worked("tree_consistency")
    assert np.array(first) * 7 == pytest.approx([103, 20, 83, 31, -11, 80, 3], abs=0.05)
    assert "(196; 45, 151; 45, 0, 147, 4) / 13" in worked("tree_consistency")
    assert np.array(second) * 13 == pytest.approx([196, 45, 151, 45, 0, 147, 4], abs=0.1)
    noisy = [15, 3, 11, 4, -2, 12, 1]
    assert whole == pytest.approx(7)
    assert sum((x - y) ** 2 for x, y in zip(third, noisy, strict=True)) == 7
    assert third == [
        third[1] + third[2],
        third[3] + third[4],
        third[5] + third[6],
        *np.abs(np.rint(third[3:])),
    ]
    assert free < positive < whole
    (hay,) = textbook(
        "tree_consistency", (children_of(Tree.balanced(4, 2)), [13, 3, 11, 4, 1, 12, 1], [1.0] * 7)
    )
    assert "(14; 3, 11; 3, 0, 11, 0)" in worked("tree_consistency")
    assert hay[1] == pytest.approx([14, 3, 11, 3, 0, 11, 0], abs=0.01)


def test_the_textbook_finds_the_same_sequences() -> None:
    """IR-1 to IR-5."""
    generator = np.random.default_rng(5)
    values = generator.normal(4, 5, 8).round(3).tolist()
    weights = generator.uniform(0.5, 3, 8).round(3).tolist()
    cases: list[tuple[tuple[float | None, float | None], float | None]] = [
        ((None, None), None),
        ((0.0, 7.0), None),
        ((None, None), 20.0),
        ((0.0, 7.0), 20.0),
    ]
    found = textbook("isotonic_regression", *[(values, weights, *case) for case in cases])
    for ((lower, upper), total), (objective, sequence) in zip(cases, found, strict=True):
        own = isotonic(values, weights=weights, lower=lower, upper=upper, total=total)
        least = 0.5 * float((np.array(weights) * (own - values) ** 2).sum())
        assert objective == pytest.approx(least, rel=1e-5)
        np.testing.assert_allclose(sequence, own, atol=0.01)
    absolute = [(values, weights, bounds) for bounds in ((None, None), (0.0, 7.0))]
    for (_, _, bounds), sequence in zip(
        absolute, textbook("isotonic_regression", *absolute, function="solve_absolute"), strict=True
    ):
        own = isotonic_median(values, weights=weights, lower=bounds[0], upper=bounds[1])
        costs = [float((np.array(weights) * np.abs(np.array(one) - values)).sum()) for one in (sequence, own)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_the_worked_sequences_are_those_of_the_page() -> None:
    plain, summed, absolute = printed("isotonic_regression")
    assert "11, 11, 11, 15 does not fall" in worked("isotonic_regression")
    assert numbers(plain)[0] == pytest.approx(7, rel=1e-6)
    assert numbers(plain)[1] == pytest.approx([11, 11, 11, 15], abs=0.01)
    assert "12, 12, 12, 16" in worked("isotonic_regression")
    assert numbers(summed)[1] == pytest.approx([12, 12, 12, 16], abs=0.01)
    assert "the median of the three is 10" in worked("isotonic_regression")
    assert ast.literal_eval(absolute) == [10, 10, 10, 15]


def test_the_textbook_finds_the_same_degrees() -> None:
    """GS-1 to GS-5: where dpopt's bound meets its distance, and never below that bound."""
    generator = np.random.default_rng(2)
    problems = [(np.sort(np.rint(generator.normal(2.5, 2.5, 6)))[::-1].tolist(),) for _ in range(4)]
    proven = 0
    for (values,), (distance, degrees) in zip(
        problems, textbook("graphical_sequences", *problems), strict=True
    ):
        own = nearest_graphical(values[::-1])
        assert is_graphical(degrees[::-1])
        assert own.squared_distance - own.gap <= distance + 1e-9 <= own.squared_distance + 2e-9
        proven += own.gap < 1e-6
    assert proven >= 2


def test_the_worked_degrees_are_those_of_the_page() -> None:
    (line,) = printed("graphical_sequences")
    assert "has squared distance 4: it is nearest" in worked("graphical_sequences")
    assert numbers(line)[0] == 4
    assert is_graphical(numbers(line)[1][::-1])


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_textbook_finds_the_same_budgets(sensitivity: int) -> None:
    """LB-1 to LB-5 with Gaussian noise: one group of all ranges, and groups of sizes beside their references."""
    bins, amount = 16, 0.3
    every = [(start, start + size) for size in range(1, bins + 1) for start in range(bins - size + 1)]
    problems, expected = [], []
    for text, groups in {
        "all": [every],
        "sizes:1,4,16": [[one for one in every if one[1] - one[0] == size] for size in (1, 4, 16)],
    }.items():
        program = RangeWorkload.parse(text, bins).program(
            amount=amount, sensitivity=sensitivity, gaussian=True, known_total=False
        )
        problems.append((bins, groups, program.references.tolist(), amount, sensitivity))
        expected.append(program.objective(best_level_budgets(program).amounts))
    for least, (objective, budgets) in zip(expected, textbook("level_budgets", *problems), strict=True):
        assert objective == pytest.approx(least, rel=2e-3)  # small levels are left out of the plan
        assert objective <= least * (1 + 1e-6)
        assert sum(budgets) == pytest.approx(amount)


def test_the_worked_budgets_are_those_of_the_page() -> None:
    (line,) = printed("level_budgets")
    objective, budgets = numbers(line)
    assert "b_0 = 0.366, b_1 = 0.134" in worked("level_budgets")
    assert "0.455 + 0.789 = 1.244" in worked("level_budgets")
    assert objective == pytest.approx(1.244, abs=1e-3)
    assert budgets == pytest.approx([1 / (1 + 3**0.5), 0.5 - 1 / (1 + 3**0.5)], abs=1e-3)

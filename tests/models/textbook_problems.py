"""Problems for the textbooks: arguments of a page's functions, and the optimum that dpopt finds or a file states."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, inf, pi
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.comparison.instances import Instance
from dpopt.inference.distribution.fit import Distribution
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.inference.histograms.prefix_factors import root_coefficients
from dpopt.inference.histograms.sorted.degree_sequences import is_graphical, nearest_graphical
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.tree_least_squares import least_squares
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, FitTerm
from dpopt.inference.shrinkage import fit_weights
from dpopt.models.best_linear_answer import best_linear_answer
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.models.best_responses.perturbed_response import (
    UNITS,
    constant,
    perturbations,
    perturbed_problem,
    selected_so_far,
)
from dpopt.models.noise_budgets.hierarchy_budgets import HierarchyProgram
from dpopt.models.noise_budgets.level_budgets import best_level_budgets
from dpopt.models.noise_budgets.level_descent import best_budgets
from dpopt.models.noise_budgets.noise_allocation import allocation_program, solve_allocation
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, residual_program, solve_residuals
from dpopt.models.noise_budgets.strategy import best_strategy
from dpopt.models.optimal_mechanism import optimal_mechanism
from dpopt.models.polynomials.answer_polynomial import best_answer, best_mixed_answer
from dpopt.models.records.reweighting import maximize_likelihood
from dpopt.models.shrinkage import log_likelihoods
from dpopt.polynomials import Target, best_polynomial, least_coefficients, least_predicted_error
from dpopt.programs import certify
from dpopt.queries.clauses import Clauses
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.residuals import subsets_of
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.solvers.registry import get_solver
from dpopt.synopses.histograms.range_workload import RangeWorkload, ranges_of_nodes
from tests.inference.fits import all_codes
from tests.inference.histograms.small_trees import (
    cost,
    least_whole_cost,
    nearest_nonnegative,
    random_measurements,
    random_tree,
)
from tests.models.catalogue import MODELS, enumerated_optimum, load_script, small_instances
from tests.models.mechanisms import away
from tests.models.polynomial_vertices import known_optima, numbers
from tests.models.test_answer_polynomial import Table, deviations_of, table_of
from tests.models.test_best_linear_answer import MARGINALS as ANSWERED
from tests.models.test_best_linear_answer import SIZES as ANSWERED_SIZES
from tests.models.test_best_linear_answer import VARIANCES as ANSWERED_VARIANCES
from tests.models.test_best_linear_answer import numbers as answered_numbers
from tests.models.test_consistent_records import INSTANCES as CONSISTENT
from tests.models.test_histogram_programs import INSTANCES as PARTITIONS
from tests.models.test_histogram_programs import least_absolute_cost
from tests.models.test_max_entropy import UNIVERSE, noisy_problem, parts_of
from tests.models.test_noise_budgets import marginal_set, sets_of
from tests.models.test_perturbed_response import EVERYTHING, OFFSETS, SIZES, TWO, drawn, whole_rewards
from tests.models.test_reweighting import CLAUSES, likelihood_of, transcript, truth
from tests.models.test_shrinkage import EXPONENTS, SCALES, noisy
from tests.models.test_small_database import OPTIMA as DATABASES
from tests.models.test_small_database import instance as database

Values = dict[str, float]
Check = Callable[[float, Values], None]


@dataclass(frozen=True, slots=True)
class Problem:
    """Arguments of a textbook's function, between which numbers its optimum lies, and what its values must be."""

    arguments: dict[str, Any]
    low: float
    high: float
    check: Check | None = None


def near(optimum: float, arguments: dict[str, Any], check: Check | None = None, *, within: float = 1e-6) -> Problem:
    """Return a problem with this optimum, within a share of it or, below 1, within as much."""
    off = within * max(1.0, abs(optimum))
    return Problem(arguments, optimum - off, optimum + off, check)


def block(values: Values, symbol: str) -> NDArray[np.float64]:
    """Return the values of `symbol`_0, `symbol`_1, ..."""
    names = itertools.takewhile(values.__contains__, (f"{symbol}_{i}" for i in itertools.count()))
    return np.array([values[name] for name in names])


# --- best responses ---------------------------------------------------------------------------------------------------


def literals_of(instance: Instance) -> list[list[tuple[int, str, int]]]:
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


def weighted(instance: Instance, *columns: list[Any]) -> list[tuple[Any, ...]]:
    return list(zip(instance.problem.weights.tolist(), literals_of(instance), *columns, strict=True))


def with_negations(instance: Instance) -> dict[str, Any]:
    literals = literals_of(instance)
    negated = [accepted != [len(row)] for accepted, row in zip(numbers_of(instance), literals, strict=True)]
    assert numbers_of(instance) == [
        list(range(len(row))) if negation else [len(row)] for negation, row in zip(negated, literals, strict=True)
    ]
    return {"clauses": weighted(instance, negated)}


def with_parities(instance: Instance) -> dict[str, Any]:
    odd = [accepted[0] == 1 for accepted in numbers_of(instance)]
    assert numbers_of(instance) == [
        list(range(int(one), len(row) + 1, 2)) for one, row in zip(odd, literals_of(instance), strict=True)
    ]
    return {"parities": weighted(instance, odd)}


def with_numbers(instance: Instance) -> dict[str, Any]:
    return {"clauses": weighted(instance, numbers_of(instance))}


def with_gates(instance: Instance) -> dict[str, Any]:
    assert numbers_of(instance) == [[len(row)] for row in literals_of(instance)]
    rules = instance.problem.rules
    return {"clauses": weighted(instance), "gates": [gate_of(rules, number) for number in range(len(rules))]}


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


RESPONSES: dict[str, Callable[[Instance], dict[str, Any]]] = {
    "best_response": with_negations,
    "best_response_parities": with_parities,
    "best_response_thresholds": with_numbers,
    "best_response_with_rules": with_gates,
}


def record_of(values: Values, sizes: list[int]) -> NDArray[np.int32]:
    """Return the record of x_a_v."""
    codes = [max(range(size), key=lambda v, a=a: values[f"x_{a}_{v}"]) for a, size in enumerate(sizes)]  # type: ignore[misc]
    return np.array(codes, dtype=np.int32)


def response(page: str, instance: Instance) -> Problem:
    sizes = instance.problem.sizes.tolist()

    def check(optimum: float, values: Values) -> None:
        certificate = certify(instance.problem, record_of(values, sizes))
        assert (certificate.feasible, certificate.objective) == (True, instance.optimum)

    assert instance.optimum is not None
    return near(instance.optimum, {"sizes": sizes, **RESPONSES[page](instance)}, check)


def pairwise_bounds() -> list[Problem]:
    """PB-1 to PB-9: instances of conjunctions of two or three literals; above every record, and at most dpopt's bound."""
    found = []
    for instance in small_instances("best_response"):
        literals = literals_of(instance)
        if {len(row) for row in literals} <= {2, 3} and numbers_of(instance) == [[len(row)] for row in literals]:
            lifted = pairwise_lifting(instance.problem)
            bound = lifted.evaluate(np.asarray(get_solver("highs").solve(lifted).require_solution(), dtype=np.float64))
            assert bound >= enumerated_optimum(instance.problem) - 1e-6
            found.append(near(bound, {"sizes": instance.problem.sizes.tolist(), "clauses": weighted(instance)}))
    return found


def perturbed_responses() -> list[Problem]:
    """PR-1 and PR-2."""
    found = []
    for seed, weights in enumerate(([2, -1], [3, 3], [-2, 1])):
        selected = selected_so_far(SIZES, TWO, np.array(weights), EVERYTHING)
        shaken = perturbations(selected, drawn(selected, seed), 1.0)
        rewards = np.maximum(whole_rewards(selected, shaken, 0) / UNITS, -1e3)
        problem = perturbed_problem(selected, shaken, 0)
        record = get_solver("cp-sat").solve(problem, hint=shaken.hints[0].copy()).require_solution()
        objective = (problem.objective(record.astype(np.int32)) + constant(shaken, 0)) / UNITS
        arguments = {
            "sizes": SIZES.tolist(),
            "queries": [(weights[0], [(0, 1), (2, 3)]), (weights[1], [(1, 0)])],
            "rewards": [part.tolist() for part in np.split(rewards, OFFSETS[1:3])],
        }
        found.append(near(objective, arguments, within=1e-9))
    return found


# --- histograms -------------------------------------------------------------------------------------------------------


def children_of(tree: Tree) -> list[list[int]]:
    first, children = tree.first_child.tolist(), tree.children.tolist()
    return [list(range(start, start + number)) for start, number in zip(first, children, strict=True)]


def trees() -> list[Problem]:
    """TC-1 to TC-6: any sign, not negative, and in whole numbers; with nodes that are not measured, and known ones."""
    generator = np.random.default_rng(11)
    found = []
    for exact in (0.0, 0.0, 0.3):
        tree = next(tree for tree in iter(lambda: random_tree(generator, most=5, deepest=3), None) if tree.bins >= 4)
        values, variances = random_measurements(generator, tree, unmeasured=0.2, exact=exact)
        lost = np.isinf(variances) & (tree.children == 0)
        values[lost], variances[lost] = generator.normal(size=int(lost.sum())), 1.5
        given = {"tree": children_of(tree), "values": np.nan_to_num(values).tolist(), "variances": variances.tolist()}
        answers = [least_squares(tree, values, variances), nearest_nonnegative(tree, values, variances)]
        for options, answer in zip(({}, {"least": 0.0}), answers, strict=True):

            def check(optimum: float, found: Values, answer: Any = answer) -> None:
                np.testing.assert_allclose(block(found, "x"), answer, atol=0.01)

            found.append(near(cost(values, variances, answer), {**given, **options}, check, within=1e-5))

        def whole(optimum: float, found: Values) -> None:  # several trees may be nearest
            np.testing.assert_allclose(block(found, "x"), np.rint(block(found, "x")), atol=1e-6)

        least = least_whole_cost(tree, values, variances, 12)
        found.append(near(least, {**given, "largest": 60}, whole, within=1e-5))
    return found


def sequences() -> list[Problem]:
    """IR-1 to IR-5."""
    generator = np.random.default_rng(5)
    values = generator.normal(4, 5, 8).round(3).tolist()
    weights = generator.uniform(0.5, 3, 8).round(3).tolist()
    found = []
    for bounds, total in itertools.product([(None, None), (0.0, 7.0)], [None, 20.0]):
        own = isotonic(values, weights=weights, lower=bounds[0], upper=bounds[1], total=total)

        def check(optimum: float, found: Values, own: Any = own) -> None:
            np.testing.assert_allclose(block(found, "s"), own, atol=0.01)

        least = 0.5 * float((np.array(weights) * (own - values) ** 2).sum())
        arguments = {"values": values, "weights": weights, "bounds": bounds, "total": total}
        found.append(near(least, arguments, check, within=1e-5))
    for bounds in ((None, None), (0.0, 7.0)):
        least = least_absolute_cost(np.array(values), np.array(weights), bounds)
        found.append(near(least, {"values": values, "weights": weights, "bounds": bounds, "absolute": True}))
    return found


def degrees() -> list[Problem]:
    """GS-1 to GS-5: where dpopt's bound meets its distance, and never below that bound."""
    generator = np.random.default_rng(2)
    found, proven = [], 0
    for _ in range(4):
        values = np.sort(np.rint(generator.normal(2.5, 2.5, 6)))[::-1].tolist()
        own = nearest_graphical(values[::-1])
        proven += own.gap < 1e-6
        low, high = own.squared_distance - own.gap - 1e-9, own.squared_distance + 1e-9

        def check(optimum: float, values: Values) -> None:
            assert is_graphical(degrees_of(values)[::-1])

        found.append(Problem({"values": values}, low / 2, high / 2, check))
    assert proven >= 2
    return found


def degrees_of(values: Values) -> list[int]:
    """Return the degrees: d_i, or how many of x_i_v are 1."""
    if "d_0" in values:
        return [round(one) for one in block(values, "d").tolist()]
    rows = sorted({int(name.split("_")[1]) for name in values if name.startswith("x_")})
    return [round(sum(one for name, one in values.items() if name.startswith(f"x_{i}_"))) for i in rows]


def partitions() -> list[Problem]:
    """IV-1 to IV-4 as programs, IV-5 and IV-6 as the recursion."""
    recursion = load_script(MODELS / "interval_partition" / "interval_partition_textbook.py").recursion
    found = []
    for one, by in itertools.product(PARTITIONS[:4], ("error", "depth")):
        arguments = {"x": one["values"], "intervals": one["intervals"], "by": by}
        cost, ends = recursion(**arguments)
        assert abs(cost - one[by]["optimum"]) <= 1e-6
        assert ends == sorted(ends)
        found.append(near(one[by]["optimum"], arguments))
    return found


# --- noise budgets ----------------------------------------------------------------------------------------------------


def level_budgets() -> list[Problem]:
    """LB-1 to LB-5 with Gaussian noise: one group of all ranges, and groups of sizes beside their references."""
    bins, amount = 16, 0.3
    every = [(start, start + size) for size in range(1, bins + 1) for start in range(bins - size + 1)]
    groups_of = {
        "all": [every],
        "sizes:1,4,16": [[one for one in every if one[1] - one[0] == size] for size in (1, 4, 16)],
    }
    found = []
    for sensitivity, (text, groups) in itertools.product((1, 2), groups_of.items()):
        program = RangeWorkload.parse(text, bins).program(
            amount=amount, sensitivity=sensitivity, gaussian=True, known_total=False
        )
        least = program.objective(best_level_budgets(program).amounts)
        arguments = {
            "bins": bins,
            "groups": groups,
            "references": program.references.tolist(),
            "amount": amount,
            "sensitivity": sensitivity,
        }

        def check(optimum: float, values: Values) -> None:
            assert abs(block(values, "b").sum() - amount) <= 1e-6

        found.append(Problem(arguments, least * (1 - 2e-3), least * (1 + 1e-6), check))  # small levels are left out
    return found


def hierarchy_budgets() -> list[Problem]:
    """HB-1 to HB-5: no worse than the search, whose small levels are left out."""
    found = []
    for sensitivity, bins in itertools.product((1, 2), (2, 4, 8)):
        sizes = [2**h for h in range(bins.bit_length() - 1, -1, -1)]
        levels = [[list(range(start, start + size)) for start in range(0, bins, size)] for size in sizes]
        tree = Tree.balanced(bins, 2)
        variance = MeanVariance(tree, ranges_of_nodes(tree), False)
        program = HierarchyProgram(variance, len(levels), 0, 0.3, sensitivity, True, 0.02)
        own = best_budgets(program)

        def check(optimum: float, values: Values, program: HierarchyProgram = program) -> None:
            assert abs(program.evaluate(block(values, "b"))[0] - optimum) <= 1e-6 * optimum

        low, high = program.lower_bound(own.amounts) * (1 - 1e-6), own.variances[0] * (1 + 1e-6)
        found.append(Problem({"levels": levels, "amount": 0.3, "sensitivity": sensitivity}, low, high, check))
    return found


def strategies() -> list[Problem]:
    """ST-1 to ST-3: between the bound and the strategy that the steps ST-5 find."""
    draw = np.random.default_rng(5)
    found = []
    for queries, bins in ((3, 4), (9, 6), (4, 8)):
        workload, weights = draw.integers(-1, 3, (queries, bins)).astype(np.float64), draw.random(queries)
        best = best_strategy(workload.T @ (weights[:, None] * workload))
        arguments = {"workload": workload.tolist(), "weights": weights.tolist()}
        found.append(Problem(arguments, best.bound * (1 - 1e-5), best.variance * (1 + 1e-5)))
    return found


def least_of_growing(steps: int) -> float:
    """Return the bound CC-5 of `continual_counting` for so many steps."""
    angles = (2 * np.arange(1, steps + 1) - 1) * pi / (4 * steps + 2)
    return (float((0.5 / np.sin(angles)).sum()) / steps) ** 2


def growing() -> list[Problem]:
    """CC-1 to CC-4: between the bound CC-5 and the root CC-6."""
    found = []
    for steps in (1, 4, 7):
        root = float((root_coefficients(steps) ** 2).sum() ** 2)
        found.append(Problem({"steps": steps}, least_of_growing(steps) * (1 - 1e-5), root * (1 + 1e-5)))
    return found


def allocations() -> list[Problem]:
    """NA-1 to NA-5."""
    measured = load_script(MODELS / "noise_allocation" / "noise_allocation_textbook.py").measured
    examples: list[tuple[list[int], list[tuple[int, ...]], float, int, int, float]] = [
        ([3, 3], [(0, 1)], 0.5, 1, 4, 0.25),
        ([2, 3, 4], [(0, 1), (1, 2)], 0.05, 2, 20, 0.3),
        ([2, 5, 3], [(0, 1, 2)], 0.01, 1, 100, 0.2),
    ]
    found = []
    for sizes, workload, rho, sensitivity, n, theta in examples:
        program = allocation_program(
            marginal_set(sizes, workload), rho=rho, size=n, sensitivity=sensitivity, signal=theta
        )
        assert measured(workload) == sets_of(program.candidates.attributes)
        arguments = {"sizes": sizes, "workload": workload, "rho": rho, "sensitivity": sensitivity, "n": n}
        least = program.objective(solve_allocation(program))
        found.append(Problem({**arguments, "theta": theta}, least * (1 - 1e-5), least * (1 + 1e-5)))
    return found


def residual_allocations() -> list[Problem]:
    """RA-1 to RA-4, with and without a prior."""
    textbook = load_script(MODELS / "residual_allocation" / "residual_allocation_textbook.py")
    examples: list[tuple[list[int], list[tuple[int, ...]], float, list[float] | None]] = [
        ([2, 3, 4], [(0, 1), (1, 2)], 0.05, None),
        ([2, 3, 4], [(0, 1), (1, 2), (2,)], 0.3, [0.4, 6.0]),
        ([2, 5, 3], [(0, 1, 2)], 0.2, [20.0]),
    ]
    found = []
    for sizes, workload, rho, variances in examples:
        marginals = marginal_set(sizes, workload)
        sets = subsets_of(marginals)[0]
        assert textbook.residuals(workload) == sets_of(sets.attributes)
        each = [np.inf] if variances is None else variances
        prior = ResidualPrior(np.tile(each, (len(sets), 1)), np.full((len(sets), len(each)), 1 / len(each)))
        program = residual_program(marginals, rho=rho, prior=prior)
        for largest in (False, True):
            best, low, _ = solve_residuals(program, largest=largest)
            high = float(program.errors(best).max()) if largest else program.objective(best)
            arguments = {"sizes": sizes, "workload": workload, "rho": rho, "variances": variances}
            found.append(Problem({**arguments, "largest": largest}, low * (1 - 1e-5), high * (1 + 1e-5)))
    return found


# --- polynomials ------------------------------------------------------------------------------------------------------


def floats(text: str) -> list[float]:
    return [float(one) for one in numbers(text)]


def polynomials(page: str) -> list[Problem]:
    """MP-1 to MP-4, CB-1 to CB-3, BL-1 and BL-2: the known optima of a page."""
    found = []
    for row in known_optima(MODELS / page / "known_optima.csv"):
        arguments: dict[str, Any] = {"values": floats(row["values"])}
        if "weights" in row:
            arguments["weights"] = floats(row["weights"])
        if "degree" in row:
            arguments["degree"] = int(row["degree"])
        if "keeps_zero" in row:
            arguments["keeps_zero"] = row["keeps_zero"] == "1"
        if page == "coefficient_budget":
            arguments["error"] = float(Fraction(row["error"]))
        optimum = row["error"] if page == "minimax_polynomial" else row["objective"]
        found.append(near(float(Fraction(optimum)), arguments))
    return [*found, weighted_errors(page)]


def weighted_errors(page: str) -> Problem:
    """A problem whose errors count by weights v, with its exact optimum."""
    values, v = [0, 1, 1, 1, 1], [1, 2, 0, 1, 3]
    target, costs = Target.disjunction(4).weighted(v), [Fraction(one, 20) for one in range(5)]
    if page == "minimax_polynomial":
        optimum = best_polynomial(target, 1).objective
        return near(float(optimum), {"values": values, "degree": 1, "keeps_zero": True, "v": v})
    arguments: dict[str, Any] = {"values": values, "weights": [float(one) for one in costs], "v": v}
    if page == "coefficient_budget":
        optimum = least_coefficients(target, 4, Fraction(1, 4), costs).objective
        return near(float(optimum), {**arguments, "error": 0.25, "keeps_zero": True})
    return near(float(least_predicted_error(target, costs).objective), arguments)


def budgets() -> list[Problem]:
    """CB-1 to CB-4."""
    limited = {"values": [0] + [1] * 8, "degree": 4, "limit": 1.0, "keeps_zero": True}
    return [*polynomials("coefficient_budget"), near(105 / 463, limited)]


def answer_polynomials() -> list[Problem]:
    """AQ-1 to AQ-4; in two numbers with pairs that do not occur and sizes that are not counted."""
    values = [
        (Target.conjunction(5).values, [0.01, 0.03, 0.1], 3.0),
        (Target.disjunction(6).values, [0.001, 0.002, 0.01, 0.02], 2.5),
        (Target.at_least(3, 5).values, [0.02, inf, 0.03, 0.05], 2.0),
        ((None, None, Fraction(0), Fraction(1, 3), Fraction(1)), [0.3, 0.2, 0.5], 1.0),
    ]
    found = []
    for target, one_size, zeta in values:
        own = best_answer(target, np.array(one_size), zeta)
        column: Table = tuple((value,) for value in target)
        found.append(answer_polynomial(column, [[inf], *([u] for u in one_size)], zeta, own))
    with_none: Table = ((None, None), *table_of(Target.conjunction(2), 1))
    for table, level, growth, sizes in (
        (table_of(Target.conjunction(4), 2), 0.01, 2.0, 3),
        (table_of(Target.disjunction(5), 1), 0.002, 1.5, 2),
        (with_none, 0.02, 1.3, 3),
    ):
        deviations = deviations_of(table, level, growth, sizes)
        mixed = best_mixed_answer(table, deviations, 2.5)
        found.append(answer_polynomial(table, deviations.tolist(), 2.5, mixed))
    return found


def answer_polynomial(table: Table, deviations: list[list[float]], zeta: float, own: Any) -> Problem:
    def check(optimum: float, values: Values) -> None:
        gamma = values["gamma"]
        assert abs(own.approximation - gamma) <= max(1e-2 * gamma, 1e-6)
        a = {tuple(map(int, name.split("_")[1:])): one for name, one in values.items() if name[0] == "a"}
        worst = max(
            abs(sum(one * comb(s, i) * comb(u, j) for (i, j), one in a.items()) - float(value))
            for s, row in enumerate(table)
            for u, value in enumerate(row)
            if value is not None
        )
        assert abs(worst - gamma) <= 1e-6

    target = [[None if one is None else float(one) for one in row] for row in table]
    arguments = {"target": target, "deviations": deviations, "zeta": zeta}
    bound = own.bound(zeta)
    return Problem(arguments, bound * (1 - 1e-5), bound * (1 + 1e-5), check)


def lists() -> list[Problem]:
    """DL-2 to DL-4 as all ways through the graphs, written out one by one."""
    rows = known_optima(MODELS / "decision_lists" / "known_optima.csv")
    return [
        near(
            float(Fraction(row["objective"])),
            {"k": int(row["k"]), "r": int(row["r"]), "weights": floats(row["weights"])},
        )
        for row in rows
    ]


def halfspaces() -> list[Problem]:
    """HD-1 to HD-3."""
    found = []
    for row in known_optima(MODELS / "halfspace_debiasing" / "known_optima.csv"):
        responses, noise = [floats(one) for one in row["responses"].split(";")], floats(row["noise"])

        def check(optimum: float, values: Values, responses: Any = responses, noise: Any = noise) -> None:
            factors = block(values, "a") if "a_0" in values else block(values, "up") - block(values, "down")
            worst = np.abs(np.array(responses) @ factors - 1.0).max()
            assert abs(worst + np.abs(factors) @ np.array(noise) - optimum) <= 1e-6

        found.append(near(float(Fraction(row["objective"])), {"responses": responses, "noise": noise}, check))
    return found


# --- records ----------------------------------------------------------------------------------------------------------


def consistent() -> list[Problem]:
    """CR-1 to CR-4, both senses."""
    found = []
    for one in CONSISTENT.values():
        arguments = {
            "kinds": one["kinds"],
            "answers": one["answers"],
            "sets": {tuple(part["set"]): tuple(part["band"]) for part in one["sets"]},
            "sums": {tuple(part["pair"]): tuple(part["band"]) for part in one["sums"]},
            "records": one["records"],
        }
        found += [near(float(Fraction(one[end])), {**arguments, "largest": end == "most"}) for end in ("least", "most")]
    return found


def entropies() -> list[Problem]:
    """ME-1 to ME-3: the same distribution as dual ascent's."""
    found = []
    for seed in range(4):
        start, members = noisy_problem(seed)
        distribution = Distribution(UNIVERSE, start)
        for _ in range(5_000):
            if distribution.ascend(members) < 1e-12:
                break
        kept = np.flatnonzero(start)  # the textbook knows no cells of mass 0
        place = {int(cell): number for number, cell in enumerate(kept)}
        parts = [[[place[cell] for cell in part if cell in place] for part in parts_of(one)] for one in members]
        measurements = [
            (cells, one.values.tolist(), one.slack, one.weight) for cells, one in zip(parts, members, strict=True)
        ]

        def check(optimum: float, values: Values, masses: Any = distribution.p[kept]) -> None:
            np.testing.assert_allclose(block(values, "p"), masses, atol=2e-4)

        arguments = {"start": start[kept].tolist(), "measurements": measurements}
        found.append(near(distribution.bracket(members)[0], arguments, check))
    return found


def projections() -> list[Problem]:
    """PJ-1 to PJ-3."""
    generator = np.random.default_rng(4)
    sizes = [2, 3, 2]
    literals = [
        [(a, str(generator.choice(["=", "!="])), int(generator.integers(sizes[a]))) for a in chosen]
        for chosen in ([0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2], [2, 1])
    ]
    attributes = np.full((len(literals), 3), -1, dtype=np.int32)
    values, signs = np.zeros_like(attributes), np.zeros(attributes.shape, dtype=np.bool_)
    for row, query in enumerate(literals):
        for at, (a, sign, v) in enumerate(query):
            attributes[row, at], values[row, at], signs[row, at] = a, v, sign == "="
    noisy = [round(float(y), 3) for y in generator.uniform(-0.1, 1, len(literals))]
    clauses = Clauses.conjunctions(attributes, values, signs)
    problem = FitProblem(
        np.array(sizes, dtype=np.int32), (FitTerm(clauses, np.array(noisy)),), NO_RULES, all_codes(sizes)
    )
    least = fit(problem, FitSettings(records=5, rounds=50)).objective

    def check(optimum: float, values: Values) -> None:
        assert abs(block(values, "w").sum() - 1) <= 1e-6

    arguments = {"sizes": sizes, "queries": literals, "values": noisy}
    return [Problem(arguments, least * (1 - 1e-6), least * (1 + 1e-6), check)]


def reweightings() -> list[Problem]:
    """RW-1 to RW-3."""
    found = []
    for seed, rounds in ((1, 3), (2, 5), (3, 6)):
        records, released, _ = transcript(seed, rounds)
        net = np.zeros((rounds, len(CLAUSES)), dtype=np.int64)
        for row, draws in zip(net, released, strict=True):
            row[draws.queries] = draws.counts
        answers = np.array([truth(record)[::2] for record in records], dtype=np.int64).T
        likelihood = likelihood_of(seed, rounds)
        largest = likelihood.value(maximize_likelihood(likelihood, gap=1e-9).weights)
        arguments = {"net": net.tolist(), "answers": answers.tolist(), "eta": 0.7, "draws": 6}
        found.append(near(largest, arguments, within=1e-7))
    return found


def shrinkages() -> list[Problem]:
    """SH-1 to SH-4."""
    found = []
    for seed, counts in ((3, 0.0), (4, 0.5)):
        values, noise, predicted = noisy(seed)
        likelihoods = np.exp(log_likelihoods(values, noise, predicted, SCALES, EXPONENTS))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpopt.inference.shrinkage.CLOSE", 1e-8)
            patch.setattr("dpopt.inference.shrinkage.MOST_STEPS", 20_000)
            least = -float(fit_weights(likelihoods, counts).objectives[-1])
        arguments = {
            "values": values.tolist(),
            "noise": noise.tolist(),
            "predicted": predicted.tolist(),
            "components": list(zip(SCALES.tolist(), EXPONENTS.tolist(), strict=True)),
            "counts": [counts] * SCALES.size,
        }
        found.append(near(least, arguments, within=1e-4))
    return found


def linear_answers() -> list[Problem]:
    """BL-1 and BL-2."""
    found = []
    for seed in range(3):
        answer = best_linear_answer(ANSWERED_SIZES, ANSWERED, ANSWERED_VARIANCES, answered_numbers(seed)).solve()
        arguments = {
            "sizes": ANSWERED_SIZES,
            "marginals": ANSWERED,
            "variances": ANSWERED_VARIANCES,
            "numbers": answered_numbers(seed).tolist(),
        }
        found.append(near(float(answer.objective or 0.0), arguments, within=1e-5))
    return found


def mechanisms() -> list[Problem]:
    """OM-1 to OM-5."""
    found = []
    for n, given in ((3, {}), (4, {"delta": 0.01}), (5, {"prior": [0.3, 0.2, 0.2, 0.1, 0.1, 0.1]})):
        stated = {"losses": away(n).tolist(), "ratio": 2.5, **given}
        arrays: dict[str, Any] = {
            name: np.array(part) if isinstance(part, list) else part for name, part in stated.items()
        }
        found.append(near(float(optimal_mechanism(**arrays).solve().objective or 0.0), stated, within=1e-5))
    return found


def databases() -> list[Problem]:
    """SD-1 to SD-4."""
    difference = load_script(MODELS / "small_database" / "small_database_textbook.py").largest_difference
    found = []
    for row in DATABASES[::3]:
        answers, targets, records, objective = database(row)
        arguments = {"answers": answers.tolist(), "targets": targets, "m": records}

        def check(optimum: float, values: Values, arguments: Any = arguments, objective: Fraction = objective) -> None:
            counts = np.rint(block(values, "n")).astype(int).tolist()
            assert sum(counts) == arguments["m"]
            assert difference(arguments["answers"], arguments["targets"], counts) == objective

        found.append(near(float(objective), arguments, check))
    return found


PROBLEMS: dict[str, Callable[[], list[Problem]]] = {
    **{
        page: lambda page=page: [response(page, one) for one in small_instances(page)]  # type: ignore[misc]
        for page in RESPONSES
    },
    "answer_polynomial": answer_polynomials,
    "approximation_plus_noise": lambda: polynomials("approximation_plus_noise"),
    "best_linear_answer": linear_answers,
    "best_response_pairwise_bound": pairwise_bounds,
    "coefficient_budget": budgets,
    "continual_counting": growing,
    "consistent_records": consistent,
    "decision_lists": lists,
    "graphical_sequences": degrees,
    "halfspace_debiasing": halfspaces,
    "hierarchy_budgets": hierarchy_budgets,
    "interval_partition": partitions,
    "isotonic_regression": sequences,
    "level_budgets": level_budgets,
    "max_entropy": entropies,
    "minimax_polynomial": lambda: polynomials("minimax_polynomial"),
    "noise_allocation": allocations,
    "optimal_mechanism": mechanisms,
    "perturbed_response": perturbed_responses,
    "projection": projections,
    "residual_allocation": residual_allocations,
    "reweighting": reweightings,
    "shrinkage": shrinkages,
    "small_database": databases,
    "strategy": strategies,
    "tree_consistency": trees,
}


@cache
def problems_of(page: str) -> list[Problem]:
    """Return the problems of a page beside its examples."""
    return PROBLEMS[page]()


def stated_optima(page: str) -> list[tuple[float, float]]:
    """Return the optima that a page states in its worked example and its exercise, in order, and how exact each is."""
    text = (MODELS / page / "README.md").read_text(encoding="utf-8")
    found = []
    for part in ("Worked example", "Exercise"):
        section = text.partition(f"## {part}\n")[2].partition("\n## ")[0]
        (sentence,) = re.findall(r"^.*?(?:Optimum|Optima)\b[^:]*:\s+(.+)\Z", section.strip(), re.DOTALL)
        without = re.sub(r"\([^)]*\)|[A-Z]{2}-\d+|v = [\d/]+|at 0", "", sentence)
        for number in re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", without):
            digits = len(number.partition(".")[2]) if "." in number else None
            found.append((float(Fraction(number)), 1e-6 if digits is None else 0.51 * 10.0**-digits))
    return found


POINTS: list[tuple[str, int, Values, str]] = [
    ("answer_polynomial", 0, {"a_0_0": -0.2333, "a_1_0": 0.4667, "a_2_0": 0.0667}, "a = 0.4667, b = 0.0667"),
    ("approximation_plus_noise", 0, {"a_0": 0, "a_1": 1}, "a = 0, 1 and 1/4"),
    ("best_linear_answer", 0, {"l_0": 0, "l_1": 0.75, "l_2": 0, "l_3": 0.25}, "l = (0, 3/4; 0, 1/4)"),
    ("best_linear_answer", 1, {"l_0": 0, "l_1": 1, "l_2": 0, "l_3": 1}, "l = (0, 1; 0, 1)"),
    ("best_response", 0, {"x_0_1": 1, "x_1_2": 1, "x_2_1": 1}, "(1, 2, 1) is the only optimal record"),
    ("best_response_thresholds", 0, {"x_0_1": 1, "x_1_0": 1, "x_2_1": 1, "x_3_2": 1}, "So (1, 0, 1, 2) has"),
    ("best_response_with_rules", 0, {"x_0_2": 1, "x_1_1": 1, "x_2_0": 1}, "at the record (2, 1, 0) alone"),
    ("coefficient_budget", 0, {"a_0": 0, "a_1": 0.75, "a_2": -0.25}, "a_2 = -1/4"),
    ("hierarchy_budgets", 0, {"b_0": 0.191, "b_1": 0.309}, "b_1 = p_1 / 2 = 0.309, b_0 = 0.191"),
    (
        "isotonic_regression",
        0,
        dict(zip(("s_0", "s_1", "s_2", "s_3"), (11, 11, 11, 15), strict=True)),
        "11, 11, 11, 15",
    ),
    (
        "isotonic_regression",
        1,
        dict(zip(("s_0", "s_1", "s_2", "s_3"), (12, 12, 12, 16), strict=True)),
        "12, 12, 12, 16",
    ),
    ("isotonic_regression", 2, {"s_2": 10}, "the median of the three is 10"),
    ("level_budgets", 0, {"b_0": 0.366, "b_1": 0.134}, "b_0 = 0.366, b_1 = 0.134"),
    ("level_budgets", 1, {"b_0": 0.25, "b_1": 0.25}, "b = 1/4"),
    ("max_entropy", 0, {"p_0": 0.25, "p_1": 0.75}, "s_1 = 3/4"),
    ("max_entropy", 1, {"p_0": 0.2, "p_1": 0.8}, "s_1 = 0.8"),
    ("minimax_polynomial", 0, {"p_0": 0, "p_1": 6 / 7, "p_2": 8 / 7, "p_3": 6 / 7}, "p = 0, 6/7, 8/7, 6/7"),
    ("noise_allocation", 0, {"s_0": 0.429, "s_1": 0.429, "s_2": 0.142}, "= .429, leaving .142"),
    ("noise_allocation", 1, {"s_0": 0.0162, "s_2": 0.968}, "x = 0.0162"),
    ("perturbed_response", 0, {"x_0_1": 1, "x_1_0": 1}, "so the record is (1, 0)"),
    ("perturbed_response", 1, {"x_0_2": 1, "x_1_1": 1}, "the record is (2, 1)"),
    ("projection", 0, {"w_0": 0, "w_1": 4 / 15, "w_2": 7 / 15, "w_3": 4 / 15}, "4/15 for (1, 1), 7/15 for (1, 0)"),
    ("residual_allocation", 0, {"b_0": 0.25, "b_1": 0.25, "b_2": 0.5}, "b = 1/4, 1/4, 1/2"),
    ("residual_allocation", 1, {"b_0": 0, "b_1": 0, "b_2": 1}, "b = 0, 0, 1"),
    ("reweighting", 0, {"w_0": 0.8332}, "the maximum is at a = 0.833"),
    ("reweighting", 1, {"w_0": 0}, "so a = 0"),
    ("shrinkage", 0, {"w_0": 0.5, "w_1": 0.5}, "w = (1/2, 1/2)"),
    ("shrinkage", 1, {"w_0": 1, "w_1": 0}, "so t = 0"),
    ("small_database", 0, {"n_0": 0, "n_1": 1, "n_2": 1, "n_3": 0}, "(n = 0, 1, 1, 0)"),
    ("tree_consistency", 0, {f"x_{v}": x for v, x in enumerate((14, 3, 11, 3, 0, 11, 0))}, "(14; 3, 11; 3, 0, 11, 0)"),
    (
        "tree_consistency",
        1,
        {f"x_{v}": x / 7 for v, x in enumerate((103, 20, 83, 31, -11, 80, 3))},
        "(103; 20, 83; 31, -11, 80, 3) / 7",
    ),
    (
        "tree_consistency",
        2,
        {f"x_{v}": x / 13 for v, x in enumerate((196, 45, 151, 45, 0, 147, 4))},
        "(196; 45, 151; 45, 0, 147, 4) / 13",
    ),
    (
        "tree_consistency",
        4,
        {f"x_{v}": x for v, x in enumerate((105, 96, 9, 20, 33, 29, 14))},
        "(105; 96, 9; 20, 33, 29, 14)",
    ),
    ("tree_consistency", 5, {"x_3": 2.75, "x_4": -0.25, "x_5": 10.75, "x_6": -0.25}, "11/4, -1/4, 43/4, -1/4"),
]
"""Page, number of the example, values that its solution has, and the words by which the page says so."""

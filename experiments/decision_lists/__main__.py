"""`python -m experiments.decision_lists`: errors of releases of decision lists, beside their predictions and other ways."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import log, sqrt
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.readers.read_lists import read_lists
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.decision_lists.list_plan import BETA, plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from experiments.decision_lists.rows import Rows, exact_shares, random_rows, texts
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of

SEED = 20_120
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Case:
    """A table: kind of rows, number of rows and variables, shortest and longest row, points that are asked for (0: all)."""

    kind: str
    rows: int
    variables: int
    shortest: int
    longest: int
    points: int

    @property
    def lengths(self) -> str:
        """The lengths of rows, in words."""
        return f"{self.shortest} to {self.longest}"

    def is_that_of(self, result: dict[str, Any]) -> bool:
        """Return whether a result on file is of this case."""
        return (self.kind, self.rows, self.lengths) == (result["rows"], result["number"], result["lengths"])

    def asked(self, generator: np.random.Generator) -> NDArray[np.uint8]:
        """Return the points, half of them with unequal shares of ones."""
        if not self.points:
            return np.array(list(product((0, 1), repeat=self.variables)), dtype=np.uint8)
        shares = generator.random((self.points, 1))
        shares[: self.points // 2] = 0.5
        return (generator.random((self.points, self.variables)) < shares).astype(np.uint8)


@dataclass(frozen=True)
class Table:
    """Rows and their declaration."""

    rows: Rows
    family: ListFamily


CASES = (
    Case("lists", 2_000, 10, 2, 4, 0),
    Case("disjunctions", 2_000, 10, 2, 4, 0),
    Case("lists", 100_000, 30, 4, 8, 100_000),
    Case("disjunctions", 100_000, 30, 4, 4, 100_000),
)
QUICK = (Case("lists", 200, 6, 2, 3, 0), Case("disjunctions", 200, 6, 2, 3, 0))
BUDGETS = {
    "rho = 0.1": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
    "epsilon = 1": Budget(1.0, 0.0, None, Accountant.PURE),
}


class NoNoise(OpendpNoise):
    """The exact counts, for the error of the approximation alone; such a release is marked as not private."""

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return the counts."""
        return counts

    discrete_laplace = discrete_gaussian


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the table."""
    return carry_out(parser_of("decision_lists", runs=2), arguments, {"results": _results}, markdown, continues=True)


def _results(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    for case in QUICK if options.quick else CASES:
        yield from _measured(case, options.runs, {one["budget"] for one in known if case.is_that_of(one)})


def _measured(case: Case, runs: int, done: set[str]) -> Iterator[dict[str, Any]]:
    left = {name: budget for name, budget in BUDGETS.items() if name not in done}
    if not left:
        return
    generator = np.random.default_rng(SEED)
    rows = random_rows(case.kind, case.rows, case.variables, case.shortest, case.longest, generator)
    points = case.asked(generator)
    exact = exact_shares(rows, points)
    family = ListFamily.of(f"x1..x{case.variables}", case.longest, case.kind)
    made = Table(rows, family)
    for name, budget in left.items():
        yield {"rows": case.kind, "number": case.rows, "variables": case.variables, "k": case.longest,
               "lengths": case.lengths, "points": len(points), "budget": name,
               "smallest_answer": _short(exact.min()), "largest_answer": _short(exact.max()),
               **_release(case, made, points, exact, budget, runs)}  # fmt: skip


def _release(
    case: Case, made: Table, points: NDArray[np.uint8], exact: NDArray[np.float64], budget: Budget, runs: int
) -> dict[str, Any]:
    asked, family, number = len(points), made.family, case.rows
    planning, plan = _timed(lambda: plan_lists(family, budget, size=number, points=asked))
    paper = plan_lists(family, budget, size=number, points=asked, negations=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.txt"
        file.write_text("\n".join(texts(case.kind, made.rows)) + "\n", encoding="utf-8")
        reading, lists = _timed(lambda: read_lists(file, family))
    counting, silent = _timed(lambda: release_lists(lists, plan, noise=NoNoise()))
    approximated = np.abs(silent.answers(points) - exact)
    worst, mean, measuring, answering = [], [], 0.0, 0.0
    for _ in range(runs):
        seconds, released = _timed(lambda: release_lists(lists, plan))
        measuring += seconds / runs
        seconds, answers = _timed(partial(released.answers, points))
        answering += seconds / runs
        errors = np.abs(answers - exact)
        worst.append(float(errors.max()))
        mean.append(float(errors.mean()))
    return {
        "sizes": list(plan.sizes),
        "counts": sum(plan.coefficients.conjunctions(size) for size in plan.sizes),
        "predicted": _short(plan.predicted),
        "predicted_all_points": _short(replace(plan, points=2**case.variables).predicted),
        "approximation": _short(plan.approximation),
        "measured_approximation": _short(approximated.max()),
        "worst": _short(max(worst)),
        "mean": _short(float(np.mean(mean))),
        "paper_basis": _short(paper.predicted),
        "direct": _short(_direct(asked, number, budget)),
        "seconds_planning": _short(planning),
        "seconds_reading": _short(reading),
        "seconds_counting": _short(counting),
        "seconds_releasing": _short(measuring),
        "seconds_answering": _short(answering),
        "peak_gb": _short(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6),
    }


def _direct(points: int, number: int, budget: Budget) -> float:
    """Return what is predicted if each point gets noise of its own: a row moves the counts of up to Q points by 1."""
    if budget.accountant is Accountant.ZCDP:
        assert budget.rho is not None
        return sqrt(2 * log(2 * points / BETA)) * sqrt(points / (2 * budget.rho)) / number
    assert budget.epsilon is not None
    return points / budget.epsilon * log(points / BETA) / number


def _timed(action: Callable[[], Answer]) -> tuple[float, Answer]:
    begun = time.perf_counter()
    found = action()
    return time.perf_counter() - begun, found


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables of errors and of seconds."""
    errors = [
        "rows | number | m | literals | points | budget | sizes counted | answers from, to",
        "within (predicted) | of it approximation | worst measured | mean measured",
        "approximation measured | without negations, predicted | each point alone, predicted",
    ]
    yield from table(errors, map(_errors, report["results"]))
    yield ""
    cost = [
        "rows | number | literals | budget | noisy counts | plan, s | read, s | count, s",
        "release, s | all points answered, s | peak so far, GB",
    ]
    yield from table(cost, map(_cost, report["results"]))


def _errors(one: dict[str, Any]) -> list[str]:
    figures = ("predicted", "approximation", "worst", "mean", "measured_approximation", "paper_basis")
    return [
        *(one["rows"], f"{one['number']:,}", str(one["variables"]), one["lengths"], f"{one['points']:,}"),
        *(one["budget"], f"0 to {one['sizes'][-1]}"),
        f"{one['smallest_answer']:.2f}, {one['largest_answer']:.2f}",
        *(f"{one[name]:.4f}" for name in figures),
        f"{one['direct']:.4f}" if one["direct"] < 1 else "above 1",
    ]


def _cost(one: dict[str, Any]) -> list[str]:
    figures = ("planning", "reading", "counting", "releasing", "answering")
    return [
        *(one["rows"], f"{one['number']:,}", one["lengths"], one["budget"], f"{one['counts']:,}"),
        *(f"{one[f'seconds_{name}']:.3g}" for name in figures),
        f"{one['peak_gb']:.2g}",
    ]


if __name__ == "__main__":
    sys.exit(main())

"""One meaning of a budget for every command and function, and the noise that a synopsis takes for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.polynomials import Target, best_polynomial
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.synopses.release import Request
from dpopt.synopses.sanitizers.symmetric_families import symmetric_family
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from tests.cli.command_line import call, flat, refuse
from tests.kept_releases.make import SYNOPSES, WITHOUT_SCHEMA, write_tables

Asked = dict[str, Any]
AGES = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 85, 5)))
SMOKER, MEMBER = (dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in ("smoker", "member"))
ONE, TWO, BITS = dpopt.Schema((AGES,)), dpopt.Schema((AGES, SMOKER)), dpopt.Schema((SMOKER, MEMBER))
POINTS = np.array([[0.6, 0.8], [-0.6, -0.8]] * 500)
SHAPE: Asked = {"projected_to": 2, "projections": 8, "directions": 8}
RING = pd.DataFrame({"from": range(100), "to": [(node + 1) % 100 for node in range(100)]})


def table(rows: int = 1200) -> pd.DataFrame:
    """Return a table of so many records."""
    number = np.arange(rows)
    return pd.DataFrame({"age": number % 80, "smoker": number % 2 == 0, "member": number % 3 == 0})


def sanitized(rows: pd.DataFrame, **asked: Any) -> Any:
    """Release the polynomial of two bits."""
    either = Target.disjunction(2)
    return dpopt.sanitize(rows, symmetric_family(BITS, either, best_polynomial(either, 2).polynomial), **asked)


LISTS = ["x1:1, else:0", "x2:1, else:0"] * 300
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "histogram": lambda rows, **asked: dpopt.histogram(rows, ONE, "age", **asked),
    "rounds": lambda rows, **asked: dpopt.histogram(rows, ONE, "age", measure="rounds", **asked),
    "grid": lambda rows, **asked: dpopt.grid(rows, TWO, ("age", "smoker"), **asked),
    "sorted": lambda rows, **asked: dpopt.sorted_counts(rows, ONE, "age", **asked),
    "counts": lambda rows, **asked: dpopt.histogram(
        rows.groupby("age").size().reset_index(name="found"), counts="found", **asked
    ),
    "degrees": lambda _, **asked: dpopt.degrees(RING, 100, columns=("from", "to"), **asked),
    "summary": lambda rows, **asked: dpopt.summary(rows, BITS, 2, **asked),
    "intervals": lambda rows, **asked: dpopt.intervals(rows, ONE, "age", **asked),
    "boxes": lambda rows, **asked: dpopt.intervals(rows, TWO, ("age", "smoker"), cuts=2, **asked),
    "lists": lambda _, **asked: dpopt.decision_lists(LISTS, "x1,x2", 1, **asked),
    "halfspaces": lambda _, **asked: dpopt.halfspaces(POINTS, 0.5, **SHAPE, **asked),
    "sanitize": sanitized,
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
HUGE = 30  # epsilon at which every number of records can be measured


def noise_of(privacy: Any) -> set[str]:
    """Return of which kinds the charges are."""
    return {str(charge["kind"]) for charge in privacy["charges"]}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.filterwarnings("ignore::dpopt.errors.PrivacyWarning", "ignore::dpopt.errors.AccuracyWarning")
@every_function
def test_every_function_means_the_same_budget(name: str, neighbours: str) -> None:
    """epsilon alone is (epsilon, 1e-9) for either noise; delta 0 is pure; rho is Gaussian; none and both are refused."""
    rows = table()

    def made(**asked: Any) -> Any:
        return FUNCTIONS[name](rows, neighbours=neighbours, **asked).privacy

    pure, gaussian = made(epsilon=HUGE, delta=0), made(rho=4, delta=1e-7)
    assert (noise_of(pure), pure["delta"], pure["budget"]["accountant"]) == ({"pure"}, 0, "pure")
    assert pure["epsilon"] <= HUGE
    assert (noise_of(gaussian), gaussian["delta"], gaussian["budget"]["rho"]) == ({"concentrated"}, 1e-7, 4)
    for delta in (None, 1e-6):
        chosen = made(epsilon=HUGE, delta=delta)
        taken = noise_of(chosen)
        assert taken in ({"pure"}, {"concentrated"}), "all charges have the noise that was chosen, the size among them"
        assert chosen["delta"] == (0 if taken == {"pure"} else delta or 1e-9)
        assert chosen["epsilon"] <= HUGE
    for none, message in (({}, "found no budget"), ({"epsilon": 1, "rho": 1}, "found two budgets")):
        with pytest.raises(PlanError, match=message):
            made(**none)
    with pytest.raises(AccountingError, match="delta of a budget"):
        made(rho=1, delta=0)


def test_laplace_or_gaussian_noise_is_taken_by_the_predicted_error() -> None:
    small = dpopt.plan_histogram(ONE, "age", epsilon=1)
    assert (small.gaussian, small.budget.delta) == (False, 0)
    wide = dpopt.Schema((dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(2**16))),))
    large = dpopt.plan_histogram(wide, "age", epsilon=0.01, delta=1e-2)
    assert (large.gaussian, large.budget.delta, large.budget.epsilon) == (True, 1e-2, 0.01)
    both: list[tuple[dpopt.Schema, Asked]] = [(ONE, {"epsilon": 1}), (wide, {"epsilon": 0.01, "delta": 1e-2})]
    for schema, asked in both:
        chosen = dpopt.plan_histogram(schema, "age", **asked)
        pure = dpopt.plan_histogram(schema, "age", **{**asked, "delta": 0})
        assert chosen.predicted["all ranges"] <= pure.predicted["all ranges"]


def test_the_usual_delta_is_that_of_a_declared_number() -> None:
    """As for `dpopt.release`: 1 / n0^2, rounded down to one digit."""
    many = dpopt.Schema(tuple(dpopt.Attribute(f"b{place}", dpopt.AttributeKind.BOOLEAN) for place in range(12)))
    rows = pd.DataFrame({name: [True, False] * 50_000 for name in many.names})
    found = dpopt.summary(rows, many, 5, n0=100_000, epsilon=0.5).privacy
    records = dpopt.plan(many, "marginals:1", epsilon=0.5, n0=100_000, algorithm="noise", predict=False)
    assert noise_of(found) == {"concentrated"}
    assert found["delta"] == 1e-10 == records.plan.budget.delta


@pytest.mark.filterwarnings("ignore::dpopt.errors.PrivacyWarning", "ignore::dpopt.errors.AccuracyWarning")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in {"degrees", "lists", "halfspaces"}])
def test_the_noise_does_not_depend_on_the_table(name: str) -> None:
    """Under add-remove: whatever number of records is measured, or whatever they are, one noise and one guarantee is stated."""
    found = [FUNCTIONS[name](table(rows), epsilon=20).privacy for rows in (400, 3000, 60_000)]
    assert len({frozenset(noise_of(one)) for one in found}) == 1
    assert len({(one["budget"]["epsilon"], one["delta"], one["budget"]["accountant"]) for one in found}) == 1
    if any("number of records" in charge["label"] for charge in found[0]["charges"]):
        assert len({(one["epsilon"], one["rho"]) for one in found}) == 1, "the whole budget, whatever was drawn"


def test_the_noise_follows_public_numbers_and_no_measured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Laplace noise is better below 50,000 records: a declared or public number decides, a measured one does not.

    A plan for a guess has the noise of the release, which measures the number.
    """
    monkeypatch.setattr(SummaryPlan, "expected_error", property(lambda plan: 50_000 if plan.gaussian else plan.size))

    def noise(rows: int, **asked: Any) -> set[str]:
        return noise_of(dpopt.summary(table(rows), BITS, 2, epsilon=10, **asked).privacy)

    chosen = ChosenLiterals.of(BITS, None, "all")
    for rows, kind in ((3000, "pure"), (60_000, "concentrated")):
        assert noise(rows) == {"pure"}, "a measured number"
        assert noise(rows, n0=rows) == noise(rows, neighbours="replace") == {kind}
        for asked, expected in (({"n": rows}, "pure"), ({"n": None, "n0": rows}, kind)):
            plan = Request(epsilon=10).plan(
                lambda budget, size: plan_summary(chosen, 2, budget, size=size or 0), **asked
            )
            assert plan.gaussian is (expected == "concentrated")


@pytest.mark.parametrize(
    ("total", "kind"),
    [({"epsilon": 3, "delta": 0}, "pure"), ({"epsilon": 3}, "concentrated"), ({"rho": 1}, "concentrated")],
)
def test_a_budget_over_many_releases_decides_the_noise(total: Asked, kind: str, tmp_path: Path) -> None:
    """A pure epsilon would use up much of a total in rho, and a total without a delta pays for no other."""
    owner = dpopt.BudgetLedger.create(tmp_path / "owner", **total)
    made = [dpopt.histogram(table(), ONE, "age", epsilon=1, budget=owner) for _ in range(3)]
    assert {frozenset(noise_of(one.privacy)) for one in made} == {frozenset({kind})}


def test_prefixes_are_never_pure(tmp_path: Path) -> None:
    made = dpopt.prefixes(table(), ONE, "age", steps=2, out=tmp_path / "p.jsonl", epsilon=1)
    assert (made.privacy["delta"], noise_of(made.privacy)) == (1e-9, {"concentrated"})
    with pytest.raises(PlanError, match="cannot be pure; leave delta=0 out"):
        dpopt.prefixes(table(), ONE, "age", steps=2, out=tmp_path / "q.jsonl", epsilon=1, delta=0)
    waves = dpopt.histogram(table(), ONE, "age", measure="waves", epsilon=1)
    assert (waves.privacy["delta"], noise_of(waves.privacy)) == (1e-9, {"concentrated"})
    with pytest.raises(DpoptError, match="Gaussian noise"):
        dpopt.histogram(table(), ONE, "age", measure="waves", epsilon=1, delta=0)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table for each command."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    return folder


@pytest.mark.parametrize("name", SYNOPSES)
def test_every_command_says_its_noise(name: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is pure, the terminal and `repr` say so."""
    monkeypatch.setenv("DPOPT_STATE", str(tmp_path / "state"))
    kind, given, *options = SYNOPSES[name][0]
    declared = [] if kind in WITHOUT_SCHEMA else ["--schema", tables / "schema.json"]
    words = [kind, "release", tables / str(given), *declared, *options]
    for number, (asked, pure) in enumerate(
        [(("--epsilon", 1), None), (("--epsilon", 1, "--delta", 0), True), (("--rho", 0.1), False)]
    ):
        file = tmp_path / f"{number}.npz"
        result = call(*words, *asked, "-o", file)
        text = flat(result.stdout)
        assert ("this table was released" in flat(result.stderr)) is bool(number), "its owner is told that costs add up"
        made: Any = dpopt.read_synopsis(file)
        found = noise_of(made.privacy) == {"pure"}
        if kind == "count" and pure is False:  # drawn by a pure epsilon of that rho, and stated as what was asked for
            assert found
            assert made.privacy["delta"] == 1e-9
            assert made.privacy["rho"] <= 0.1
            continue
        assert found is (made.privacy["delta"] == 0) is (", pure (rho" in text) is ("(pure)" in repr(made))
        assert pure is None or found is pure
    assert "found no budget" in flat(refuse(*words, "-o", tmp_path / "none.npz"))
    assert "found two budgets" in flat(refuse(*words, "--epsilon", 1, "--rho", 1, "-o", tmp_path / "two.npz"))


@pytest.mark.parametrize(
    ("asked", "stated"),
    [
        ({"epsilon": 1}, (1, 1e-9, None, "zcdp")),
        ({"epsilon": 1, "delta": 1e-6}, (1, 1e-6, None, "zcdp")),
        ({"epsilon": 1, "delta": 0}, (1, 0, None, "pure")),
        ({"rho": 0.1}, (None, 1e-9, 0.1, "zcdp")),
        ({"rho": 0.1, "delta": 1e-6}, (None, 1e-6, 0.1, "zcdp")),
    ],
)
def test_records_synopses_and_totals_read_a_budget_alike(asked: Asked, stated: object, tmp_path: Path) -> None:
    records = dpopt.plan(TWO, "marginals:1", n=1000, algorithm="noise", predict=False, **asked).plan.budget
    total = dpopt.BudgetLedger.create(tmp_path / "owner", **asked).contents().budget
    for budget in (Request(**asked).spending(), total, records):
        assert (budget.epsilon, budget.delta, budget.rho, budget.accountant.value) == stated

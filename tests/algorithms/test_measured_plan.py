"""Plans that measure counts, and the marginals that their rounds may select."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.measured import plan as module
from dpopt.algorithms.measured.plan import (
    NOISE,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
    PlannedStage,
    candidate_marginals,
    domains_of,
    expected_errors,
    parts_of,
)
from dpopt.algorithms.options import COUNTS, SELECTED
from dpopt.algorithms.registry import read_plan
from dpopt.errors import AccountingError, BudgetError, DpoptError, PlanError
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections.selection import Selection
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.algorithms.measured_runs import CLAUSES, MEASURED, SELECTIONS, measured_job, measured_plan
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, SCHEMA, plan, workload
from tests.tiny_measuring import marginals

RELATIONS = list(NeighbouringRelation)


@pytest.mark.parametrize("algorithm", MEASURED)
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_plan_reads_back_exactly(algorithm: str, gaussian: bool, relation: NeighbouringRelation) -> None:
    made = measured_plan(algorithm, gaussian=gaussian, relation=relation, seed=7, solver="cp-sat")
    text = json.dumps(made.to_json())
    assert MeasuredPlan.from_json(json.loads(text)) == made
    assert read_plan(json.loads(text)) == made
    assert made.transcript_bytes(100, 4) > 0


def test_a_plan_with_every_option_reads_back_exactly() -> None:
    smooth = FitPlan(records=7, sweeps=1, snapshots=3, smoothing=2.5, gap=0.01, seconds=1.5)
    weighed = FitPlan(records=9, sweeps=0, columns=4)
    for fit in (smooth, weighed):
        made = measured_plan(
            SELECTED, fit=fit, selections=PlannedSelections(2, Decimal("0.1250"), 1.75, ("l1",), 64), chosen_by="a test"
        )
        again = MeasuredPlan.from_json(json.loads(json.dumps(made.to_json())))
        assert again == made
        assert again.to_json() == made.to_json()


def charges_of_the_curator(made: MeasuredPlan, text: str) -> list[float]:
    """Return the parameters of the charges that the private side computes from queries, scales and ranges alone."""
    queries = workload(text)
    found = []
    for planned in made.measurements:
        counted = queries.queries
        if planned.attributes is not None:
            counted = marginals(planned.attributes, schema=SCHEMA)
        what = Measurement(planned.name, counted, planned.scale, made.gaussian)
        found.append(what.charge(SCHEMA.sizes, made.relation).parameter)
    if made.selections is not None:
        candidates = marginals([0, 1], [2, 3], schema=SCHEMA)
        for number in range(1, made.selections.rounds + 1):
            what_for = Selection(
                number, candidates, made.selections.score(number), np.zeros(2, dtype=np.int64), made.selections.step
            )
            found.append(what_for.charge(made.relation).parameter)
            one = Measurement("x", marginals([0, 1], schema=SCHEMA), made.selections.scale, made.gaussian)
            found.append(one.charge(SCHEMA.sizes, made.relation).parameter)
    return found


@pytest.mark.parametrize("algorithm", MEASURED)
@pytest.mark.parametrize("text", ["marginals:2", CLAUSES])
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("relation", RELATIONS)
def test_what_is_reserved_is_what_the_private_side_computes(
    algorithm: str, text: str, gaussian: bool, relation: NeighbouringRelation
) -> None:
    made = measured_plan(algorithm, text=text, gaussian=gaussian, relation=relation)
    charges = made.charges()
    assert [charge.parameter for charge in charges] == charges_of_the_curator(made, text)
    assert {charge.relation for charge in charges} == {relation}
    labels = [charge.label for charge in charges]
    assert len(set(labels)) == len(labels)


def test_replacing_a_record_costs_twice_the_rho_of_adding_one() -> None:
    for algorithm in (NOISE, COUNTS):
        one, two = (measured_plan(algorithm, relation=relation).budget.rho for relation in (ADD_REMOVE, REPLACE))
        assert one is not None
        assert two == pytest.approx(2 * one)


def test_rounds_take_turns_with_their_scores_and_have_names_of_their_own() -> None:
    made = measured_plan(SELECTED)
    assert [SELECTIONS.score(number) for number in (1, 2, 3)] == ["max", "l1", "max"]
    assert [charge.label for charge in made.charges()[-6:]] == [
        "selection of round 1", "round 1", "selection of round 2", "round 2", "selection of round 3", "round 3",
    ]  # fmt: skip


def test_a_budget_below_the_charges_is_refused_before_a_ledger_exists() -> None:
    for gaussian in (True, False):
        made = measured_job(COUNTS, gaussian=gaussian)
        made.ledger(None)
        assert isinstance(made.plan, MeasuredPlan)
        budget = made.plan.budget
        short = (
            Budget(None, 1e-9, (budget.rho or 0) * (1 - 1e-9), Accountant.ZCDP)
            if gaussian
            else Budget((budget.epsilon or 0) * (1 - 1e-9), 0.0, None, Accountant.PURE)
        )
        with pytest.raises(BudgetError):
            replace(made, plan=replace(made.plan, budget=short)).ledger(None)


STAGES = (PlannedStage("residuals up to order 1", 1, False, 2**40, 2.0**21),)
OF_RESIDUALS = {"measurements": (), "stages": STAGES}
FIELDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "another algorithm": (COUNTS, {"algorithm": "magic"}, "the algorithm is one of noise, projection"),
    "no records": (COUNTS, {"size": 0}, "the public size must be a whole number of at least 1"),
    "half a record": (COUNTS, {"size": 1.5}, "the public size must be a whole number"),
    "a negative seed": (COUNTS, {"seed": -1}, "the seed must be a whole number of at least 0"),
    "a large seed": (COUNTS, {"seed": 2**31}, "the seed must be at most 2,147,483,647"),
    "nothing measured": (COUNTS, {"measurements": ()}, "measures counts or residuals at least once"),
    "one name twice": (
        COUNTS,
        {"measurements": (PlannedMeasurement("a", (0,), 2, 1.0), PlannedMeasurement("a", (1,), 2, 1.0))},
        "each under a name of its own",
    ),
    "counts and residuals": (COUNTS, {"stages": STAGES}, "measures counts or residuals at least once"),
    "noise that selects": (NOISE, {"selections": SELECTIONS}, "for records that are fitted to them"),
    "residuals and selections": (COUNTS, {**OF_RESIDUALS, "selections": SELECTIONS}, "no marginal is selected"),
    "residuals with Laplace noise": (COUNTS, {**OF_RESIDUALS, "gaussian": False}, "with Gaussian noise"),
    "counts smoothed by residuals": (COUNTS, {"fit": FitPlan(smoothing=None)}, "give a number for counts"),
    "noise that fits": (NOISE, {"fit": FitPlan()}, "unless the algorithm releases noisy answers alone"),
    "a projection that fits nothing": (COUNTS, {"fit": None}, "unless the algorithm releases noisy"),
    "a name that a round has": (
        SELECTED,
        {"measurements": (PlannedMeasurement("round 2", (0,), 2, 1.0),)},
        "each under a name of its own",
    ),
    "more records than can be scored": (SELECTED, {"fit": FitPlan(records=2_000_000)}, "at most 1,048,575"),
    "no scale": (NOISE, {"measurements": (PlannedMeasurement("a", None, 2, 0.0),)}, "found noise scale 0.0"),
    "a scale that is none": (
        NOISE,
        {"measurements": (PlannedMeasurement("a", None, 2, float("nan")),)},
        "found noise scale nan",
    ),
}


SELECTIONS_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no rounds": ({"rounds": 0}, "the number of selections must be a whole number of at least 1"),
    "no range": ({"step": Decimal(0)}, "the range of a selection must be a finite number above 0"),
    "a negative range": ({"step": Decimal(-1)}, "the range of a selection must be a finite number above 0"),
    "a range that is none": ({"step": Decimal("NaN")}, "the range of a selection must be a finite number above 0"),
    "an endless range": ({"step": Decimal("Infinity")}, "the range of a selection must be a finite number above 0"),
    "no scores": ({"scores": ()}, "marginals are scored by l1 or max"),
    "another score": ({"scores": ("l1", "l2")}, "marginals are scored by l1 or max"),
}
FITS_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no records": ({"records": 0}, "the number of records must be a whole number of at least 1"),
    "negative sweeps": ({"sweeps": -1}, "the number of sweeps must be a whole number of at least 0"),
    "no snapshots": ({"snapshots": 0}, "the number of snapshots must be a whole number of at least 1"),
    "negative columns": ({"columns": -1}, "the rounds of column generation must be a whole number"),
    "negative smoothing": ({"smoothing": -0.5}, "smoothing must be a finite number of at least 0"),
    "endless smoothing": ({"smoothing": float("inf")}, "smoothing must be a finite number of at least 0"),
    "smoothing that is none": ({"smoothing": float("nan")}, "smoothing must be a finite number"),
    "smoothing in words": ({"smoothing": "much"}, "smoothing must be a finite number"),
    "a negative gap": ({"gap": -1.0}, "the gap must be a finite number of at least 0"),
    "smoothing and columns": ({"smoothing": 2.0, "columns": 3}, "set one of the two to 0"),
    "snapshots without smoothing": ({"snapshots": 2}, "keep one snapshot"),
    "no time": ({"seconds": 0.0}, "the seconds of a fit must be a finite number above 0"),
    "endless time": ({"seconds": float("inf")}, "the seconds of a fit must be a finite number above 0"),
}


def charged(what: str, changes: dict[str, Any]) -> object:
    return replace(measured_plan(what), **changes).charges()


IMPOSSIBLE: dict[str, tuple[Callable[[], object], str]] = {
    **{name: (partial(charged, what, changes), message) for name, (what, changes, message) in FIELDS.items()},
    **{
        f"selections, {name}": (partial(replace, SELECTIONS, **changes), message)
        for name, (changes, message) in SELECTIONS_REFUSED.items()
    },
    **{f"fit, {name}": (partial(FitPlan, **changes), message) for name, (changes, message) in FITS_REFUSED.items()},
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_plan_that_cannot_be_is_refused(name: str) -> None:
    make, message = IMPOSSIBLE[name]
    with pytest.raises(DpoptError, match=message):
        make()


Change = Callable[[dict[str, Any]], object]
DAMAGED: dict[str, Change] = {
    "a negative budget": lambda o: o["budget"].update(rho=-1.0),
    "an attribute below 0": lambda o: o["measurements"][0].update(attributes=[-1]),
    "a sensitivity of 0": lambda o: o["measurements"][0].update(sensitivity=0),
    "no largest candidate": lambda o: o["selections"].update(largest=0),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_plan_is_refused(name: str) -> None:
    obj = measured_plan(SELECTED).to_json()
    DAMAGED[name](obj)
    with pytest.raises((PlanError, AccountingError)):
        read_plan(json.loads(json.dumps(obj)))


def test_a_plan_of_another_algorithm_is_named() -> None:
    with pytest.raises(PlanError, match="expected a release of dualquery, found one of projection"):
        DualQueryPlan.of(measured_plan(COUNTS))
    assert DualQueryPlan.of(plan()) == plan()


def sets_of(found: MarginalSet) -> list[tuple[int, ...]]:
    return [tuple(found.attributes_of(number)) for number in range(len(found))]


def shapes(*attributes: list[int]) -> MarginalSet:
    return marginals(*attributes, schema=SCHEMA)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_the_parts_of_marginals_are_all_their_subsets_once_and_in_order(least: int) -> None:
    whole = [(0, 1, 2), (1, 2, 3)]
    expected = {part for attributes in whole for width in range(least, 4) for part in combinations(attributes, width)}
    found = sets_of(parts_of(shapes([2, 1, 0], [1, 2, 3]), least_width=least, most_cells=10**6))
    assert found == sorted(expected, key=lambda part: (len(part), part))


def test_large_marginals_are_left_out_and_their_parts_are_not() -> None:
    sizes = SCHEMA.sizes.tolist()
    limit = max(sizes) ** 2
    found = parts_of(shapes([0, 1, 2, 3]), least_width=2, most_cells=limit)
    assert found.cells().max() <= limit
    everything = [part for width in (2, 3, 4) for part in combinations(range(4), width)]
    small = [part for part in everything if int(np.prod([sizes[a] for a in part])) <= limit]
    assert sets_of(found) == small
    assert 0 < len(small) < len(everything)


def test_nothing_to_select_from_is_refused() -> None:
    with pytest.raises(PlanError, match="have 0 parts of at most 1 cells to select from, expected 1"):
        parts_of(shapes([0, 1]), least_width=2, most_cells=1)


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CANDIDATES", 6)
    assert len(parts_of(workload("marginals:2").marginals, least_width=2, most_cells=10**6)) == 6  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="have 10 parts of .* expected 1 to 6; name fewer or smaller"):
        parts_of(workload("marginals:3").marginals, least_width=2, most_cells=10**6)  # type: ignore[arg-type]


def test_very_many_marginals_are_refused_without_listing_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CANDIDATES", 1)
    seen: list[int] = []
    usual = MarginalSet.attributes_of

    def counting(self: MarginalSet, number: int) -> tuple[int, ...]:
        seen.append(number)
        return usual(self, number)

    monkeypatch.setattr(MarginalSet, "attributes_of", counting)
    with pytest.raises(PlanError, match="parts of at most"):
        parts_of(shapes(*[[0, 1, 2]] * 40, [1, 2, 3]), least_width=1, most_cells=10**6)
    assert len(seen) < 40


def test_a_workload_of_single_attributes_selects_single_attributes() -> None:
    made = measured_plan(SELECTED, text="marginals:1")
    found = candidate_marginals(made, workload("marginals:1"))
    assert found is not None
    assert sets_of(found) == [(0,), (1,), (2,), (3,)]


def test_wider_workloads_select_pairs_and_more() -> None:
    made = measured_plan(SELECTED, text="marginals:3")
    found = candidate_marginals(made, workload("marginals:3"))
    assert found is not None
    assert {len(part) for part in sets_of(found)} == {2, 3}


def test_plans_without_selections_and_workloads_without_marginals_have_no_candidates() -> None:
    assert candidate_marginals(measured_plan(COUNTS), workload()) is None
    assert candidate_marginals(measured_plan(SELECTED), workload(CLAUSES)) is None


def test_the_domains_are_those_of_the_workload_or_of_the_schema() -> None:
    assert domains_of(workload(CLAUSES)).counts.tolist() == SCHEMA.sizes.tolist()
    colour, *others = SCHEMA.attributes
    schema = Schema((replace(colour, occurring=(0, 2)), *others))
    queries = parse_workload("marginals:2,occurring", schema)
    assert domains_of(queries).counts.tolist() == [2, *schema.sizes.tolist()[1:]]


def distribution_of(scale: float, *, gaussian: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the noise and their probabilities, exactly but for the far tails."""
    values = np.arange(-400, 401)
    exponents = -(values**2) / (2 * scale**2) if gaussian else -np.abs(values) / scale
    weights = np.exp(exponents)
    return values, weights / weights.sum()


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_expected_error_is_that_of_the_noise(gaussian: bool) -> None:
    """Sum of the absolute noise of all cells, against the exact distribution; the largest of them, against its distribution."""
    scale = 8.0
    found = shapes([0, 1], [2, 3], [1, 3])
    errors = expected_errors(found, scale, gaussian=gaussian)
    values, distribution = distribution_of(scale, gaussian=gaussian)
    mean = float(np.abs(values) @ distribution)
    assert errors["l1"] == pytest.approx(mean * found.cells(), rel=0.02)
    ordered = np.argsort(np.abs(values), kind="stable")
    below = np.cumsum(distribution[ordered])
    for number, cells in enumerate(found.cells().tolist()):
        typical = np.abs(values)[ordered][np.searchsorted(below**cells, 0.5)]
        assert 0.6 * typical < errors["max"][number] < 1.6 * typical
    assert all(error.dtype == np.int64 for error in errors.values())
    louder = expected_errors(found, 2 * scale, gaussian=gaussian)
    assert all(np.all(louder[score] > errors[score]) for score in ("l1", "max"))

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from dpopt.algorithms import stating as module
from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.measured.algorithm import RECORDS, SWEEPS, MeasuredAlgorithm, scaled_plan
from dpopt.algorithms.measured.plan import NOISE, PROJECTION, FitPlan, MeasuredPlan
from dpopt.algorithms.options import COUNTS, SELECTED, Auto, DualQuery, Projection
from dpopt.algorithms.prediction import ROWS as SIMULATED_ROWS
from dpopt.algorithms.prediction import PredictedError
from dpopt.algorithms.registry import ALGORITHMS, algorithm_of, candidates_for, plan_of, predict
from dpopt.algorithms.request import Terms
from dpopt.algorithms.stating import choose, plan_and_statement, public_baselines
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.plan import Plan
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.measured_runs import CLAUSES, measured_plan, named
from tests.algorithms.small_runs import Heard, plan, workload

predict_measured = MeasuredAlgorithm().predict

SIZE = 5000
CANDIDATES = [options.algorithm for options in candidates_for(Auto())]
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}


def errors_of(**means: float) -> Any:
    """Return a stand-in for the prediction: these mean errors by algorithm, and no others."""

    def predicted(made: Plan, queries: Workload, *, runs: int = 1, density: float | None = None) -> PredictedError:
        if made.algorithm not in means:
            raise PlanError(f"no figure for {made.algorithm}")
        return PredictedError(3 * means[made.algorithm], means[made.algorithm], runs, len(queries))

    return predicted


@pytest.mark.parametrize("best", CANDIDATES)
def test_the_least_predicted_mean_error_is_chosen(best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    means = dict.fromkeys(CANDIDATES, 0.25) | {best: 0.125}
    monkeypatch.setattr(module, "predict", errors_of(**means))
    asked: list[str] = []
    choice = choose(Terms.of(**BUDGET).request(SIZE), workload(CLAUSES), on_algorithm=asked.append)
    assert asked == list(CANDIDATES)
    assert choice.plan.algorithm == best
    assert choice.predicted == PredictedError(0.375, 0.125, 1, len(workload(CLAUSES)))
    others = " and ".join(f"{name} 0.25" for name in CANDIDATES if name != best)
    assert choice.because == f"{best} has the least predicted mean error, 0.12, against {others}"
    assert {name: found["mean_error"] for name, found in choice.considered.items()} == means
    assert json.loads(json.dumps(choice.considered)) == choice.considered
    assert choice.plan.budget.allows(choice.plan.charges())


@pytest.mark.parametrize("compare", [False, True])
def test_residuals_are_measured_wherever_they_can_be(compare: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On public tables they had the least mean error; others are predicted where somebody wants to see them."""
    monkeypatch.setattr(module, "predict", errors_of(projection=0.25, dualquery=0.125))
    choice = choose(Terms.of(**BUDGET).request(SIZE), workload(), compare=compare)
    assert isinstance(choice.plan, MeasuredPlan)
    assert choice.plan.stages
    assert choice.because == f"projection measures {choice.plan.chosen_by}"
    assert choice.plan.chosen_by.startswith("residuals of ")
    assert ("dualquery" in choice.considered) is compare


def test_an_algorithm_without_a_prediction_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "predict", errors_of(projection=0.5))
    choice = choose(Terms.of(**BUDGET).request(SIZE), workload(CLAUSES))
    assert choice.plan.algorithm == PROJECTION
    assert choice.because == "projection has the least predicted mean error, 0.5"
    assert choice.considered["dualquery"] == {"not_applicable": "no figure for dualquery"}
    monkeypatch.setattr(module, "predict", errors_of())
    with pytest.raises(PlanError, match="no algorithm's errors could be predicted; name one with algorithm="):
        choose(Terms.of(**BUDGET).request(SIZE), workload())


def test_an_accountant_of_dualquery_alone_leaves_dualquery() -> None:
    request = Terms.of(epsilon=1.0, delta=1e-9, accountant="gdp").request(SIZE)
    choice = choose(request, workload("marginals:1"))
    assert isinstance(choice.plan, DualQueryPlan)
    for name in (PROJECTION,):
        assert "found gdp" in choice.considered[name]["not_applicable"]
    assert choice.because.startswith("dualquery has the least predicted mean error, ")
    assert "against" not in choice.because


def test_a_request_that_nothing_serves_is_refused_with_every_reason() -> None:
    with pytest.raises(PlanError, match="no algorithm can serve this request") as refusal:
        choose(Terms.of(rho=1e-36).request(SIZE), workload())
    for name in CANDIDATES:
        assert f"{name}: " in str(refusal.value)


@pytest.mark.parametrize("option", [name for name in DualQuery.known if name not in Auto.known])
def test_an_option_that_not_all_candidates_have_needs_a_name(option: str) -> None:
    given: Any = {option: {"gap": 0.05, "formulation": "own"}.get(option, 5)}
    with pytest.raises(PlanError, match=f"{option}= is an option of .*dualquery.*auto"):
        Terms.of("auto", **BUDGET, **given)


def test_the_candidates_get_the_options_that_they_share() -> None:
    given = candidates_for(Auto(solver="cp-sat", seed=5))
    assert given == (
        Projection(seed=5),  # its --solver weighs records: another meaning
        DualQuery(solver="cp-sat", seed=5),
    )
    assert candidates_for(DualQuery(rounds=3)) == (DualQuery(rounds=3),)


def test_the_choice_is_reported_and_stated() -> None:
    reported = Heard()
    made, statement = plan_and_statement(Terms.of(**BUDGET), SIZE, workload(CLAUSES), reported)
    chosen = statement["chosen"]
    assert chosen["algorithm"] == made.algorithm
    assert reported.notes == [
        *(f"predicting the errors of {name}" for name in CANDIDATES),
        f"algorithm: {made.algorithm}; {chosen['because']}",
    ]
    assert statement["predicted"]["mean_error"] == chosen["considered"][made.algorithm]["mean_error"]
    least = min(found["mean_error"] for found in chosen["considered"].values())
    assert least <= statement["predicted"]["mean_error"] < module.TIE * least


def test_of_a_tie_the_first_is_taken_and_the_tie_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *rest = CANDIDATES
    means = {first: 0.24, second: 0.2, **dict.fromkeys(rest, 0.26)}
    monkeypatch.setattr(module, "predict", errors_of(**means))
    choice = choose(Terms.of(**BUDGET).request(SIZE), workload(CLAUSES))
    assert choice.plan.algorithm == first
    others = f", against {' and '.join(f'{name} 0.26' for name in rest)}" if rest else ""
    assert choice.because == (f"{first}, the first of a tie in predicted mean error: 0.24, with {second} 0.2{others}")
    monkeypatch.setattr(module, "predict", errors_of(**{**means, first: 0.2501}))
    assert choose(Terms.of(**BUDGET).request(SIZE), workload(CLAUSES)).plan.algorithm == second


def test_a_named_algorithm_is_not_chosen() -> None:
    for algorithm in (NOISE, PROJECTION, "dualquery"):
        settings = Terms.of(algorithm=algorithm, predict=False, **BUDGET)
        made, statement = plan_and_statement(settings, SIZE, workload(), Heard())
        assert made.algorithm == algorithm
        assert statement.get("chosen") is None
        assert statement["predicted"] is None


def test_the_same_request_gives_the_same_choice() -> None:
    request = Terms.of(**BUDGET).request(SIZE)
    one, two = (choose(request, workload(CLAUSES)) for _ in range(2))
    assert one == two


def test_every_kind_of_plan_is_predicted_by_its_own_simulation() -> None:
    queries = workload("marginals:1")
    assert predict(plan(), queries) == DualQueryAlgorithm().predict(plan(), queries, runs=1)
    made = measured_plan(COUNTS, text="marginals:1")
    assert predict(made, queries) == predict_measured(made, queries, runs=1)


@pytest.mark.parametrize(
    ("what", "text"),
    [(NOISE, "marginals:2"), (NOISE, CLAUSES), (COUNTS, "marginals:2"), (COUNTS, CLAUSES), (SELECTED, "marginals:2")],
)
@pytest.mark.parametrize("gaussian", [True, False])
def test_less_noise_is_predicted_to_give_smaller_errors(what: str, text: str, gaussian: bool) -> None:
    def predicted(rho: float) -> PredictedError:
        budget: dict[str, Any] = {"rho": rho} if gaussian else {"epsilon": rho * 10, "accountant": "pure"}
        records = None if what == NOISE else 500
        settings = Terms.of(**named(what), predict=False, records=records, **budget)
        made, _ = plan_and_statement(settings, SIZE, workload(text), Heard())
        assert isinstance(made, MeasuredPlan)
        return predict_measured(made, workload(text))

    quiet, loud = predicted(10.0), predicted(0.0001)
    assert quiet.simulated_queries == len(workload(text))
    assert 0 < quiet.mean_error < loud.mean_error
    assert quiet.max_error < loud.max_error


@pytest.mark.parametrize(
    ("fit", "played"),
    [
        (
            FitPlan(records=9000, sweeps=9, smoothing=1.0, seconds=3.0),
            FitPlan(records=RECORDS, sweeps=SWEEPS, smoothing=1.0),
        ),
        (FitPlan(records=9000, sweeps=9, smoothing=0.0, seconds=3.0), FitPlan(records=9000, sweeps=9, smoothing=0.0)),
    ],
    ids=["a smoothed fit is cut short", "a fit without smoothing goes on as long as the real one"],
)
def test_a_prediction_plays_the_plan_with_its_noise_scaled_to_the_population(fit: FitPlan, played: FitPlan) -> None:
    made = measured_plan(SELECTED, size=100, fit=fit)
    stand_in = scaled_plan(made, SIMULATED_ROWS)
    assert stand_in.size == SIMULATED_ROWS
    factor = SIMULATED_ROWS / 100
    assert [one.scale for one in stand_in.measurements] == [one.scale * factor for one in made.measurements]
    assert stand_in.selections is not None
    assert made.selections is not None
    assert stand_in.selections.scale == made.selections.scale * factor
    assert stand_in.selections.step == made.selections.step / Decimal(factor)
    assert stand_in.fit == played
    assert stand_in.budget.allows(stand_in.charges())


WIDE = parse_workload("conjunctions:3,count=200", Schema.binary(101))


def test_wide_tables_leave_dualquery_and_nothing_else_is_simulated() -> None:
    asked: list[str] = []
    for density in (None, 0.02):
        request = Terms.of(**BUDGET, density=density).request(SIZE)
        choice = choose(request, WIDE, on_algorithm=asked.append, compare=True)
        assert choice.plan.algorithm == "dualquery"
        assert set(choice.considered) == set(CANDIDATES)
        for name in (PROJECTION,):
            assert choice.considered[name]["not_applicable"].startswith("on more than 100 binary attributes")
    assert asked == ["dualquery"] * 2


def test_tables_of_few_binary_attributes_are_compared_as_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "predict", errors_of(**dict.fromkeys(CANDIDATES, 0.25)))
    few = parse_workload("conjunctions:3,count=200", Schema.binary(100))
    assert set(choose(Terms.of(**BUDGET).request(SIZE), few).considered) == set(CANDIDATES)
    schema = Schema(tuple(Attribute(f"a{i}", AttributeKind.BOOLEAN) for i in range(101)))
    usual = parse_workload("conjunctions:3,count=200", schema)
    choice = choose(Terms.of(**BUDGET).request(SIZE), usual)
    assert "mean_error" in choice.considered[PROJECTION]


def test_baselines_know_the_declared_density() -> None:
    asked = parse_workload("marginals:1", Schema.binary(6))
    means = []
    for density in (0.05, 0.5):
        settings = Terms.of(algorithm="noise", density=density, **BUDGET)
        _, statement = plan_and_statement(settings, SIZE, asked, Heard())
        means.append(statement["predicted"]["baselines"]["zeros"]["mean_error"])
        assert statement["declared"] == {"density": density}
    assert means[0] < 0.1 < means[1]


@pytest.mark.parametrize("algorithm", ["projection", "fem", "mwem", "smalldb"])
def test_a_declared_density_reaches_every_simulation(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def table(asked: Workload, rows: int, *, seed: int, density: float | None) -> None:
        raise PlanError(f"{rows} rows of seed {seed} with density {density}")

    monkeypatch.setattr("dpopt.algorithms.prediction.public_table", table)
    monkeypatch.setattr("dpopt.algorithms.small_database.algorithm.public_table", table)
    asked = parse_workload("marginals:1", Schema.binary(6))
    counts: Any = {"measure": COUNTS} if algorithm == PROJECTION else {}
    made = plan_of(Terms.of(algorithm=algorithm, **counts, **BUDGET).request(SIZE), asked)
    with pytest.raises(PlanError, match="20000 rows of seed 1 with density 0.05"):
        predict(made, asked, density=0.05)


def test_a_density_is_refused_for_other_tables_and_recorded_without_a_prediction() -> None:
    for wanted in (True, False):
        settings = Terms.of(algorithm="dualquery", density=0.1, predict=wanted, **BUDGET)
        with pytest.raises(PlanError, match="'colour' has 3 values. Leave the option out"):
            plan_and_statement(settings, SIZE, workload(), Heard())
    settings = Terms.of(algorithm="dualquery", density=0.1, predict=False, **BUDGET)
    _, statement = plan_and_statement(settings, SIZE, WIDE, Heard())
    assert statement["declared"] == {"density": 0.1}
    assert statement["predicted"] is None


def test_predictions_stand_beside_trivial_data_sets() -> None:
    settings = Terms.of(algorithm="dualquery", **BUDGET)
    _, statement = plan_and_statement(settings, SIZE, workload(), Heard(), runs=2)
    predicted = statement["predicted"]
    assert predicted["baselines"] == public_baselines(workload(), runs=2)
    assert list(predicted["baselines"]) == ["zeros", "uniform"]
    assert predicted["verdict"] is None  # both are beaten
    assert "declared" not in statement
    poor = Terms.of(algorithm="dualquery", rounds=1, draws=1, step="0.1", **BUDGET)
    _, statement = plan_and_statement(poor, SIZE, workload(), Heard())
    assert "cannot beat it" in statement["predicted"]["verdict"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_loads_plans_reads_and_proves(name: str) -> None:
    made = plan_of(Terms.of(algorithm=name, **BUDGET).request(SIZE), workload())
    algorithm = algorithm_of(made)
    assert algorithm.plans.from_json(made.to_json()) == made
    assert (algorithm.prove(made, workload()) is None) == (name in {"fem", "mwem", "projection"})

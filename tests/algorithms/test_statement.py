from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpopt
from dpopt.accounting.accountants import COMPARED, Accountant, columns_of
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.algorithms.dualquery.plan import OneWayMeasurement
from dpopt.algorithms.dualquery.rounds import certificates
from dpopt.algorithms.statement import privacy_statement
from dpopt.algorithms.stating import remarks_on
from dpopt.releases.plan import FreeAttributes
from tests.algorithms.small_runs import REPLACE, SCHEMA, plan, small_release


def spent_ledger(**changes: object) -> Ledger:
    made = plan(**changes)
    ledger = Ledger(made.budget, REPLACE)
    ledger.reserve(made.charges())
    for charge in made.charges():
        ledger.spend(charge)
    return ledger


def test_the_privacy_statement_gives_the_ledger_s_figures_under_every_accountant() -> None:
    made, ledger = plan(), spent_ledger()
    found = privacy_statement(made, ledger)
    spent = ledger.spent()
    assert (found["private"], found["epsilon"], found["delta"], found["rho"]) == (True, spent.epsilon, 1e-6, spent.rho)
    for accountant in COMPARED:
        delta = 0.0 if accountant is Accountant.PURE else 1e-6
        figure = columns_of(ledger.entries).epsilon(accountant, delta)
        assert found["epsilon_by_accountant"][accountant.value] == figure
    assert len(found["charges"]) == made.rounds
    assert found["relation"] == "replace"
    assert found["public_size"] == 200


def test_an_accountant_without_a_figure_says_why() -> None:
    changes = {"free_attributes": FreeAttributes.ESTIMATED, "one_way": OneWayMeasurement(50.0, gaussian=True)}
    found = privacy_statement(plan(**changes), spent_ledger(**changes))
    assert "no theorem for a concentrated charge" in found["epsilon_by_accountant"]["gdp"]
    assert math.isfinite(found["epsilon_by_accountant"]["zcdp"])


def test_a_run_that_is_not_private_has_no_figures_and_its_json_has_no_infinity() -> None:
    statement = small_release().statement
    privacy = statement["privacy"]
    assert privacy["private"] is False
    assert (privacy["epsilon"], privacy["rho"]) == (None, None)
    assert {privacy["epsilon_by_accountant"][accountant.value] for accountant in COMPARED} == {None}
    json.dumps(statement, allow_nan=False)


def test_a_budget_without_delta_is_reported_at_the_usual_one_for_the_others() -> None:
    budget = Budget(1e6, 0.0, None, Accountant.PURE)
    found = privacy_statement(plan(budget=budget), spent_ledger(budget=budget))
    assert all(math.isfinite(found["epsilon_by_accountant"][accountant.value]) for accountant in COMPARED)


def test_certificates_are_summed_up() -> None:
    finished = small_release(solver="local-search")
    found = certificates(finished.played)
    assert found["rounds"] == sum(found["stopped"].values()) == 6
    assert (found["fallbacks"], found["fallback_reasons"]) == (0, [])
    gaps = [done.certificate.gap for done in finished.played if done.certificate.gap is not None]
    assert found["rounds_with_a_bound_reported_by_the_solver"] == len(gaps)
    expected = float(np.mean(gaps)) / 8 if gaps else None
    assert found["mean_gap_over_draws_by_reported_bounds"] == (None if expected is None else pytest.approx(expected))


def test_a_statement_names_queries_schema_plan_and_decoding(tmp_path: Path) -> None:
    finished = small_release(tmp_path / "release")
    statement = finished.statement
    assert statement == json.loads((tmp_path / "release" / "release.json").read_text())
    assert statement["workload"] == {
        "queries": len(finished.job.workload),
        "fingerprint": finished.job.workload.fingerprint,
    }
    assert statement["schema"]["fingerprint"] == SCHEMA.fingerprint()
    assert statement["plan"] == finished.job.plan.to_json()
    records = statement["records"]
    assert (records["rounds"], records["records_that_decode"]) == (6, 6)
    assert records["rows"] == records["distinct"] == len(finished.records.distinct)
    assert (records["file"], records["weight_column"]) == ("synthetic.csv", "weight")
    assert "categorical and boolean values as declared" in records["decoding"]


# Texts that a spreadsheet computes are named before a release writes them, and numbers are not.


def notes(**declared: Any) -> list[str]:
    attribute = dpopt.Attribute(**{"name": "a", "kind": dpopt.AttributeKind.CATEGORICAL, **declared})
    planned = dpopt.plan(dpopt.Schema((attribute,)), "marginals:1", n=1000, epsilon=1, algorithm="projection")
    found = remarks_on(planned.plan, planned.statement, planned.request.schema)
    return [str(one) for one in found if "formulas" in str(one)]


@pytest.mark.parametrize("text", ["=1+1", "+49 30 1234", "-x", "@SUM(A1)", " =A1", "-1-2"])
def test_texts_that_spreadsheets_compute_are_named(text: str) -> None:
    (note,) = notes(values=(text, "b"))
    assert repr(text) in note
    assert notes(values=("b", "c"), missing=text)
    assert notes(values=("b", "c"), name=text)


@pytest.mark.parametrize("text", ["-1", "+1.5", "-", "a=b", "1-2", "-3,5"])
def test_numbers_and_other_texts_are_not(text: str) -> None:
    assert notes(values=(text, "b")) == []

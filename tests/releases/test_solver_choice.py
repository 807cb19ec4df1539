from __future__ import annotations

import pytest

from dpopt.errors import PlanError, SolverUnavailableError
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs import Availability, AvailabilityStatus, Capability
from dpopt.releases.solver_choice import (
    clause_solver,
    formulation_named,
    gives_duals,
    solver_and_formulation,
    solver_with_duals,
)
from dpopt.solvers import registry
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.solvers.registry import get_solver


def missing(name: str, *capabilities: Capability) -> InChildProcess:
    there = Availability(AvailabilityStatus.NOT_INSTALLED, "run: pip install example")
    return InChildProcess("m:C", name=name, capabilities=frozenset(capabilities), availability=lambda: there)


def test_a_formulation_is_found_by_its_name_and_the_tightest_without_one() -> None:
    assert formulation_named("aggregated") is Formulation.AGGREGATED
    assert formulation_named(None) is Formulation.CLIQUE
    with pytest.raises(PlanError, match="one of aggregated, per-literal, clique; found 'round'"):
        formulation_named("round")
    with pytest.raises(PlanError, match="found 'cliqe'; did you mean 'clique'"):
        solver_and_formulation("highs:cliqe")


@pytest.mark.solver("highs")
def test_a_solver_with_duals_is_found_by_name_or_without_one() -> None:
    assert solver_with_duals("highs") is get_solver("highs")
    assert gives_duals(solver_with_duals(None))
    with pytest.raises(PlanError, match="local-search gives no dual values of linear programs; one"):
        solver_with_duals("local-search")


def test_what_cannot_run_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SolverUnavailableError, match="'example' cannot run here: run: pip install example"):
        registry.require_available(missing("example"))
    monkeypatch.setattr(registry, "solver_names", lambda: ("one", "two"))
    monkeypatch.setattr(
        registry,
        "get_solver",
        lambda name: missing(name, *([Capability.LP, Capability.DUALS] if name == "one" else [])),
    )
    with pytest.raises(SolverUnavailableError, match="no solver that gives dual values"):
        solver_with_duals(None)
    with pytest.raises(SolverUnavailableError, match="'one' cannot run here"):
        solver_with_duals("one")


def test_a_solver_is_named_with_its_formulation() -> None:
    assert solver_and_formulation("cp-sat")[1] is None
    assert solver_and_formulation("highs")[1] is Formulation.PER_LITERAL
    assert solver_and_formulation(" highs:clique ")[1] is Formulation.CLIQUE
    with pytest.raises(PlanError, match="cp-sat takes weighted clauses as they are; leave ':clique' out"):
        solver_and_formulation("cp-sat:clique")
    with pytest.raises(PlanError, match="a formulation is one of"):
        solver_and_formulation("highs:tight")
    assert Capability.MAX_CSP in clause_solver("highs:aggregated").capabilities

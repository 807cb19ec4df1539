"""The optimum of every instance that is stated by hand: by enumeration, record by record, and by every solver."""

from __future__ import annotations

import pytest

from dpopt.comparison.instances import Instance
from dpopt.errors import ProgramError
from dpopt.models import AsMip, Formulation, point_from_record, record_from_point
from dpopt.programs import Capability, MaxCsp, SolveLimits, Termination, certify
from dpopt.programs.solver import Solver, why_refused
from dpopt.solvers import get_solver, solver_names
from tests.models.catalogue import (
    enumerated_optimum,
    formulation_of,
    obeying_records,
    program_of,
    small_instances,
)

EACH = pytest.mark.parametrize("instance", small_instances(), ids=lambda instance: instance.name)


def solvers(*capabilities: Capability) -> pytest.MarkDecorator:
    """Parametrize by the names of the solvers that have one of the capabilities."""
    names = [name for name in solver_names() if not get_solver(name).capabilities.isdisjoint(capabilities)]
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in names]
    )


LIMITS = SolveLimits(seconds=60.0)


@EACH
def test_the_optimum_is_that_of_enumeration(instance: Instance) -> None:
    assert instance.optimum is not None
    assert enumerated_optimum(instance.problem) == instance.optimum
    if instance.problem.rules.number_of_rules:  # the rules matter
        free = MaxCsp(instance.problem.sizes, instance.problem.clauses, instance.problem.weights)
        assert enumerated_optimum(free) > instance.optimum


@EACH
def test_the_formulation_has_the_same_optimum_record_by_record(instance: Instance) -> None:
    problem, mip, formulation = instance.problem, program_of(instance), formulation_of(instance)
    points = [point_from_record(problem, record, formulation) for record in obeying_records(problem)]
    assert all(mip.violation(point) == 0 for point in points[::37])
    best = max(points, key=mip.evaluate)
    assert mip.evaluate(best) == instance.optimum
    assert problem.objective(record_from_point(problem, best)) == instance.optimum


@EACH
@solvers(Capability.MIP, Capability.MAX_CSP)
def test_every_solver_finds_the_optimum(instance: Instance, name: str) -> None:
    solver, problem = get_solver(name), instance.problem
    if Capability.MIP in solver.capabilities:
        takers: list[Solver] = [AsMip(solver, formulation) for formulation in Formulation]
    elif why_refused(solver, problem) is None:
        takers = [solver]
    else:
        with pytest.raises(ProgramError):
            solver.solve(problem, LIMITS)
        return
    for taker in takers:
        result = taker.solve(problem, LIMITS)
        certificate = certify(problem, result)
        assert (certificate.feasible, certificate.objective) == (True, instance.optimum)
        if name != "local-search":
            assert result.termination is Termination.OPTIMAL
            assert certificate.gap == 0 or (name.startswith("pulp-") and result.bound is None)


@EACH
@solvers(Capability.MIP)
def test_every_solver_of_programs_solves_the_program_itself(instance: Instance, name: str) -> None:
    result = get_solver(name).solve(program_of(instance), LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(instance.optimum, abs=1e-6)

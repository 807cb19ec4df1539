"""Clauses of every kind and rules, in every formulation: the same optimum as enumeration, and the relaxations in order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.models import Formulation, max_csp_as_mip, point_from_record, record_from_point
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.programs import MaxCsp
from dpopt.queries import Clauses
from tests.circuits import best_legal_value, every_record
from tests.models.draws import conjunctive_problems, problems
from tests.models.linear_programs import one_hot, optimum, relaxed, with_x
from tests.strategies import clauses_of

EACH = st.sampled_from(Formulation)
ANY = st.one_of(problems(), conjunctive_problems(max_clauses=16))


@given(ANY, EACH)
def test_every_legal_record_is_a_feasible_point_of_the_same_objective(
    program: MaxCsp, formulation: Formulation
) -> None:
    mip = max_csp_as_mip(program, formulation)
    for record in every_record(program.sizes.tolist()):
        point = point_from_record(program, record, formulation)
        assert (mip.violation(point) > 0) == bool(program.broken_rules(record))
        assert mip.evaluate(point) == program.objective(record)
        assert record_from_point(program, point).tolist() == record.tolist()


@given(ANY, EACH)
def test_the_optimum_is_that_of_enumeration(program: MaxCsp, formulation: Formulation) -> None:
    best = best_legal_value(program)
    found = optimum(max_csp_as_mip(program, formulation))
    assert (found is None) == (best is None)
    if best is not None:
        assert found == pytest.approx(best, abs=1e-6)


@given(ANY, EACH, st.data())
def test_once_x_is_whole_the_continuous_variables_have_no_better_choice(
    program: MaxCsp, formulation: Formulation, data: st.DataObject
) -> None:
    """Only what is declared whole is; a clause variable or a gate that wrongly is not would gain by a fraction."""
    record = data.draw(st.sampled_from(list(every_record(program.sizes.tolist()))))
    found = optimum(with_x(max_csp_as_mip(program, formulation), one_hot(program, record)))
    if program.broken_rules(record):
        assert found is None
    else:
        assert found == pytest.approx(program.objective(record), abs=1e-6)


@settings(max_examples=60)
@given(ANY)
def test_each_formulation_has_a_tighter_relaxation_than_the_one_before(program: MaxCsp) -> None:
    bounds = [
        optimum(relaxed(max_csp_as_mip(program, formulation)))
        for formulation in (Formulation.AGGREGATED, Formulation.PER_LITERAL, Formulation.CLIQUE)
    ]
    bounds.append(optimum(pairwise_lifting(program)))
    best = best_legal_value(program)
    for loose, tight in itertools.pairwise(bounds):
        # Once a relaxation has no feasible point, those after it have none.
        assert loose is not None or tight is None
        assert tight is None or (loose is not None and tight <= loose + 1e-6)
    assert best is None or (bounds[-1] is not None and bounds[-1] >= best - 1e-6)


@given(ANY, EACH)
def test_what_a_formulation_declares_whole(program: MaxCsp, formulation: Formulation) -> None:
    mip = max_csp_as_mip(program, formulation)
    codes, m = int(program.sizes.sum()), len(program.clauses)
    assert mip.integrality[:codes].all()
    if formulation is Formulation.AGGREGATED:
        assert mip.integrality.all()
    assert (mip.lower == 0).all()
    assert (mip.upper[: codes + m] == 1).all()


def test_the_kinds_share_rows_and_variables_as_the_pages_say() -> None:
    """Over five attributes of two codes: a conjunction, 2 of 4, parities of 3 and 5, "exactly 1 or 2 of 4"."""
    literals = [(a, 1, True) for a in range(5)]
    rows = [
        (literals[:3], 0b1000),
        (literals[:4], 0b11100),
        (literals[:3], 0b1010),
        (literals, 0b101010),
        (literals[:4], 0b00110),
    ]
    program = MaxCsp(np.full(5, 2), clauses_of(rows), np.ones(5, dtype=np.int64))
    sizes = {
        formulation: (mip.number_of_rows, mip.number_of_variables, int(mip.integrality.sum()))
        for formulation in Formulation
        for mip in [max_csp_as_mip(program, formulation)]
    }
    # Rows: attributes + conjunction + threshold + parities + counted. Variables: x + c + z or links + y.
    assert sizes == {
        Formulation.AGGREGATED: (5 + 1 + 1 + 2 + 3, 10 + 5 + 2 + 5, 10 + 5 + 2 + 5),
        Formulation.PER_LITERAL: (5 + 3 + 5 + (4 + 3 * 4 + 2) + 3, 10 + 5 + 3 + 5, 10 + 5),
        Formulation.CLIQUE: (5 + 3 + 5 + (4 + 3 * 4 + 2) + 3, 10 + 5 + 3 + 5, 10 + 5),
    }


@pytest.mark.parametrize("formulation", Formulation)
def test_a_hundred_thousand_clauses_of_every_kind_become_rows_without_a_loop(
    formulation: Formulation,
) -> None:
    generator = np.random.default_rng(5)
    m, sizes = 100_000, np.full(40, 10)
    attributes = np.argsort(generator.random((m, 40)), axis=1)[:, :4].astype(np.int32)
    values = generator.integers(0, 10, size=(m, 4)).astype(np.int32)
    signs = generator.random((m, 4)) < 0.5
    accepted = generator.choice([0b10000, 0b01111, 0b01010, 0b11100, 0b00110], size=m)
    weights = np.where(generator.random(m) < 0.5, -1, 1)
    program = MaxCsp(sizes, Clauses(attributes, values, signs, accepted.astype(np.uint32)), weights)
    mip = max_csp_as_mip(program, formulation)
    record = generator.integers(0, sizes).astype(np.int32)
    point = point_from_record(program, record, formulation)
    assert mip.violation(point) == 0
    assert mip.evaluate(point) == program.objective(record)
    kinds = {mask: int((accepted == mask).sum()) for mask in np.unique(accepted).tolist()}
    parities, counted = kinds[0b01010], kinds[0b00110]
    halves = parities if formulation is Formulation.AGGREGATED else 0
    assert mip.number_of_variables == 400 + m + halves + 5 * counted
    if formulation is Formulation.AGGREGATED:
        assert mip.number_of_rows == 40 + (m - parities - counted) + parities + 3 * counted

"""Released polynomials: values at points with their bounds, of one point and of many; refusals; files; whole releases."""

from __future__ import annotations

from itertools import combinations
from math import comb
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.budget import Budget
from dpopt.errors import PrivateDataError, SchemaError, TranscriptError, WorkloadError
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer, sanitize
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import plan_sanitizer
from tests.exact_sanitizer_loss import FAMILIES, function_family, listed, modest, sums_of, symmetric
from tests.exact_summary_loss import MIXED, UNIVERSES
from tests.noises import NoNoise
from tests.synopses.sanitizers.test_sanitizer_plan import BITS, PURE, RHO
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, dataset_of, universe

TABLE: Table = ((0, 2), (1, 1), (1, 1), (0, 0)) * 5


def released(
    family: PolynomialFamily, table: Table = TABLE, budget: Budget = PURE, *, exact: bool = True
) -> SanitizedPolynomial:
    plan = plan_sanitizer(family, budget, size=len(table), relation=REPLACE)
    return release_sanitizer(dataset_of(family.schema, table), plan, noise=NoNoise() if exact else None)


@pytest.mark.parametrize("kind", ["mixed, sets", "mixed, powers", "mixed, positive, powers", "table"])
def test_values_are_those_of_the_sum_of_the_polynomials_of_all_records(kind: str) -> None:
    """At every point, but for the noise; by multiplying out."""
    family = FAMILIES[kind]
    made = released(family)
    unit = made.figures.unit
    coefficients = sums_of(family if kind != "table" else made_table(), TABLE, unit) * unit / len(TABLE)
    for size in range((family.width or 2) + 1):
        for ones in combinations(range(family.monomials.variables), size):
            true = [place for place, one in enumerate(listed(family.monomials)) if set(one) <= set(ones)]
            answer = made.answer(ones)
            assert answer.value == pytest.approx(family.constant + coefficients[true].sum(), abs=1e-9)
            assert answer.monomials == len(true)
            assert answer.bound >= answer.approximation == family.approximation
            assert answer.bound == pytest.approx(made.figures.error_bound(len(true), 0.05))


def made_table() -> PolynomialFamily:
    return FAMILIES["table"]


@pytest.mark.parametrize("kind", ["bits, positive, sets", "bits, powers"])
def test_many_points_at_once_are_those_one_by_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES[kind]
    table = tuple(map(tuple, np.random.default_rng(1).integers(0, 2, (30, 3)).tolist()))
    made = released(family, table, RHO, exact=False)
    monkeypatch.setattr("dpopt.synopses.sanitizers.sanitized.CHUNK", 10)
    for size in (0, 1, 2):
        points = np.array(list(combinations(range(family.monomials.variables), size)), dtype=np.int64).reshape(
            comb(family.monomials.variables, size), size
        )
        values, bound = made.answers_of(points)
        each = [made.answer(tuple(one)) for one in points.tolist()]
        assert values.tolist() == pytest.approx([one.value for one in each])
        assert {one.bound for one in each} == {bound}


def test_points_are_named_by_their_labels() -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)))
    assert made.answer(["a=true", "c=true"]) == made.answer([0, 2]) == made.answer([2, "a=true"])


def test_bounds_grow_with_confidence_and_monomials() -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)))
    assert made.answer([0, 1], confidence=0.99).bound > made.answer([0, 1]).bound > made.answer([0]).bound
    assert made.answer([]).bound == made.answer([]).approximation
    assert made.answer([]).value == 0.75


@pytest.mark.parametrize(
    ("ones", "message"),
    [
        ([0, 1, 2], "found a point with 3 ones; this family has at most 2"),
        (["d=true"], "found no variable 'd=true'; expected a=true, b=true"),
        ([3], "expected 0 to 2"),
        ([1, 1], "a variable twice"),
    ],
)
def test_points_that_are_none_are_refused(ones: list[int | str], message: str) -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)))
    with pytest.raises(WorkloadError, match=message):
        made.answer(ones)


def test_other_refusals() -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)))
    for confidence in (0.0, 1.0, float("nan")):
        with pytest.raises(WorkloadError, match="between 0 and 1"):
            made.answer([0], confidence=confidence)
    with pytest.raises(WorkloadError, match="has at most 2"):
        made.answers_of(np.array([[0, 1, 2]]))
    with pytest.raises(WorkloadError, match=r"\(q, k\) array"):
        made.answers_of(np.array([0, 1]))
    with pytest.raises(WorkloadError, match="a family of all monomials"):
        released(FAMILIES["table"]).answers_of(np.array([[0]]))
    with pytest.raises(TranscriptError, match="found 5 coefficients"):
        SanitizedPolynomial(made.figures, made.noisy[:5], made.privacy)


def test_it_says_what_it_is() -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)), exact=False)
    assert repr(made).startswith(f"SanitizedPolynomial: {made.verdict}\n('a family in sets', 6 coefficients, epsilon=")
    assert made.privacy["private"]
    assert made.privacy["epsilon"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "message"), [({"privacy": {}}, "cost is incomplete"), ({"figures": {}}, "missing the key name")]
)
def test_damaged_statements_are_refused(change: dict[str, object], message: str) -> None:
    made = released(BITS, ((0, 1, 1), (1, 1, 0), (1, 0, 0)))
    with pytest.raises(TranscriptError, match=message):
        SanitizedPolynomial.from_json({**made.to_json(), **change})


@pytest.mark.parametrize(
    ("kind", "noise", "kept"),
    [
        ("bits, positive, sets", "exact", True),
        ("bits, positive, sets", "crude", False),
        ("bits, positive, powers", "exact", False),
        ("bits, positive, powers", "crude", True),
        ("table", "exact", True),
        ("table", "crude", False),
    ],
)
def test_files_of_earlier_versions_are_read_unless_their_choice_was_removed(kind: str, noise: str, kept: bool) -> None:
    table = ((0, 1, 1), (1, 1, 0)) if kind != "table" else TABLE
    stated = released(FAMILIES[kind], table).to_json()
    old = {**stated, "figures": {**stated["figures"], "sensitivity": noise}}
    if kept:
        assert SanitizedPolynomial.from_json(old).to_json() == stated
    else:
        with pytest.raises(TranscriptError, match=f"{noise} noise.*removed.*use basis='sets'.*0.1.0"):
            SanitizedPolynomial.from_json(old)


@pytest.mark.parametrize("budget", [PURE, RHO])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_file_is_sanitized_from_reading_to_the_release(relation: object, budget: Budget, tmp_path: Path) -> None:
    from dpopt.accounting.relations import NeighbouringRelation

    assert isinstance(relation, NeighbouringRelation)
    family = symmetric(UNIVERSES["mixed"])
    (tmp_path / "table.csv").write_text("a,b\n" + "true,x\nfalse,y\ntrue,z\n" * 4, encoding="utf-8")
    size = 12 if relation is ADD_REMOVE else None
    made = sanitize(
        tmp_path / "table.csv", family, epsilon=budget.epsilon, rho=budget.rho, neighbours=relation.value, n0=size
    )
    assert made.figures.size == 12
    assert made.privacy["private"]
    assert np.isfinite(made.answer(["a=true", "b=x"]).value)


def test_what_is_wrong_with_a_table_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    family = symmetric(UNIVERSES["mixed"])
    path = tmp_path / "table.csv"
    path.write_text("a,b\ntrue,x\nfalse,w\n", encoding="utf-8")
    with pytest.raises(PrivateDataError, match="'w'|w"):
        sanitize(path, family, epsilon=1, n0=2)


def test_a_draft_of_a_schema_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    draft = replace(MIXED, draft=True)
    family = replace(function_family(modest), schema=draft)
    with pytest.raises(SchemaError, match="draft"):
        sanitize(tmp_path / "table.csv", family, epsilon=1, n0=2)


def test_a_function_of_many_attributes_is_asked_record_by_record() -> None:
    """And gives what the table of all records gives, but for less than a unit of each."""
    family = function_family(modest)
    with mock.patch("dpopt.queries.polynomial_families.MOST_RECORDS", 1):
        asked = released(family)
    tabulated = released(family)
    assert asked.figures.exact_sensitivity >= tabulated.figures.exact_sensitivity
    for ones in ((), (0,), (1,), (0, 1)):
        assert asked.answer(ones).value == pytest.approx(tabulated.answer(ones).value, abs=1e-9)
    assert universe(MIXED)

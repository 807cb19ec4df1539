from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpopt.algorithms.measured import plan as module
from dpopt.algorithms.measured.plan import (
    ADAPTIVE,
    PROJECTION,
    candidate_marginals,
    domains_of,
    expected_errors,
    parts_of,
)
from dpopt.errors import PlanError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.algorithms.measured_runs import CLAUSES, measured_plan
from tests.algorithms.small_runs import SCHEMA, workload
from tests.tiny_measuring import marginals


def sets_of(found: MarginalSet) -> list[tuple[int, ...]]:
    return [tuple(found.attributes_of(number)) for number in range(len(found))]


def shapes(*attributes: list[int]) -> MarginalSet:
    return marginals(*attributes, schema=SCHEMA)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_the_parts_of_marginals_are_all_their_subsets_once_and_in_order(least: int) -> None:
    whole = [(0, 1, 2), (1, 2, 3)]
    expected = {
        part for attributes in whole for width in range(least, 4) for part in combinations(attributes, width)
    }
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
    made = measured_plan(ADAPTIVE, text="marginals:1")
    found = candidate_marginals(made, workload("marginals:1"))
    assert found is not None
    assert sets_of(found) == [(0,), (1,), (2,), (3,)]


def test_wider_workloads_select_pairs_and_more() -> None:
    made = measured_plan(ADAPTIVE, text="marginals:3")
    found = candidate_marginals(made, workload("marginals:3"))
    assert found is not None
    assert {len(part) for part in sets_of(found)} == {2, 3}


def test_plans_without_selections_and_workloads_without_marginals_have_no_candidates() -> None:
    assert candidate_marginals(measured_plan(PROJECTION), workload()) is None
    assert candidate_marginals(measured_plan(ADAPTIVE), workload(CLAUSES)) is None


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

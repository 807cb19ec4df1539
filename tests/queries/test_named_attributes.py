"""Queries over the attributes that they name: the same answers on these columns alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.marginal_set import MarginalSet, over_named
from tests.marginals import marginal_sets
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

SIZES = np.array([3, 1, 2, 4, 2, 5])
TABLES = tables(tuple(SIZES.tolist()))


@given(clause_lists(tuple(SIZES.tolist())), TABLES)
def test_clauses_are_true_of_the_same_records(clauses: Clauses, records: NDArray[np.int32]) -> None:
    attributes, own = over_named(clauses, SIZES)
    named = np.unique(clauses.attributes[clauses.attributes >= 0])
    assert attributes.tolist() == (named.tolist() or [0])
    assert np.array_equal(naive_truth(own, records[:, attributes]), naive_truth(clauses, records))


@given(marginal_sets(tuple(SIZES.tolist())), TABLES)
def test_marginals_have_the_same_cells(marginals: MarginalSet, records: NDArray[np.int32]) -> None:
    attributes, own = over_named(marginals, SIZES)
    records = np.concatenate([records, np.zeros((1, SIZES.size), dtype=np.int32)])
    expected = shares_on_records(marginals, records, SIZES)
    assert np.array_equal(shares_on_records(own, records[:, attributes], SIZES[attributes]), expected)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(WorkloadError, match="names attribute number 6"):
        over_named(clauses_of([([(6, 0, True)], 2)]), SIZES)

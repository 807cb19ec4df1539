from __future__ import annotations

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, SchemaError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import check_schema, public_size
from dpopt.schema.schema import Attribute, AttributeKind, Schema

SCHEMA = Schema((Attribute("a", AttributeKind.CATEGORICAL, ("x", "y")),))
OTHER = Schema((Attribute("a", AttributeKind.CATEGORICAL, ("y", "x")),))
DATASET = PrivateDataset.from_codes(SCHEMA, [np.array([0, 1, 1])])
REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE


def test_the_size_is_read_off_the_table_under_replace_one_only() -> None:
    assert public_size(DATASET, REPLACE, None) == 3
    assert public_size(DATASET, ADD_REMOVE, 10) == 10


def test_a_declared_size_belongs_to_add_remove() -> None:
    with pytest.raises(PlanError, match="n0 belongs to add-remove"):
        public_size(DATASET, REPLACE, 10)
    with pytest.raises(PlanError, match="needs a fixed public n0"):
        public_size(DATASET, ADD_REMOVE, None)


def test_a_table_read_by_another_schema_is_refused() -> None:
    check_schema(DATASET, SCHEMA)
    check_schema(DATASET, Schema(SCHEMA.attributes, draft=True))
    with pytest.raises(SchemaError, match="read by another schema"):
        check_schema(DATASET, OTHER)

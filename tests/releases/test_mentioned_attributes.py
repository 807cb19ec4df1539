"""Random codes of attributes that nobody asks about: the same as attribute by attribute, and as bits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.public_population import mentioned_attributes
from dpopt.releases.public_population.mentioned_attributes import random_bits, random_codes
from dpopt.releases.public_population.public_choice import public_stream
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from tests.tiny_runs import coded_schema


def one_by_one(
    records: NDArray[np.int32], domains: Domains, left_out: NDArray[np.int64], seed: int
) -> NDArray[np.int32]:
    """Draw attribute after attribute, as the definition says."""
    found, stream = records.copy(), public_stream(seed, "attributes that no query mentions")
    for attribute in left_out.tolist():
        drawn = stream.below(np.full(len(found), domains.counts[attribute], dtype=np.uint64)).astype(np.int64)
        found[:, attribute] = domains.codes[domains.starts[attribute] + drawn]
    return found


@pytest.mark.parametrize("at_once", [1, 50, 1 << 20])
def test_codes_are_those_drawn_attribute_by_attribute(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentioned_attributes, "_CODES_AT_ONCE", at_once)
    sizes = [2, 5, 3, 1, 7, 2, 11]
    schema = coded_schema(*sizes)
    domains = Domains.of(schema, occurring=False)
    records = np.zeros((13, len(sizes)), dtype=np.int32)
    for left_out in ([], [4], [0, 1, 3, 4, 6]):
        places = np.array(left_out, dtype=np.int64)
        expected = one_by_one(records, domains, places, seed=3)
        assert np.array_equal(random_codes(records, domains, places, seed=3), expected)
    assert not np.array_equal(expected, records)


@pytest.mark.parametrize("rows", [1, 8, 63, 64, 130])
@pytest.mark.parametrize("named", [[0], [2, 3, 90], [5, 6, 7, 8, 100]])
def test_bits_are_the_same_codes(rows: int, named: list[int]) -> None:
    domains, asked = Domains.of(Schema.binary(101), occurring=False), np.array(named)
    records = np.zeros((rows, 101), dtype=np.int32)
    records[:, asked] = np.arange(rows)[:, None] >> np.arange(len(named)) & 1
    expected = one_by_one(records, domains, np.setdiff1d(np.arange(101), asked), seed=rows)
    found = random_bits(asked, records[:, asked], domains, rows)
    assert np.array_equal(found.codes(), expected)
    assert np.array_equal(found.octets, BitRecords.of(expected).octets)

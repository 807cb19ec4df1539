from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from dpopt.private.readers.read_table import read_table
from dpopt.releases.public_population.demo_population import PEOPLE, demo_codes, demo_schema
from dpopt.releases.table_output import write_records
from tests.releases.test_population import mutual_information

CODES, SCHEMA = demo_codes(), demo_schema()


def test_the_demonstration_s_people_are_the_same_for_ever() -> None:
    assert CODES.shape == (PEOPLE, len(SCHEMA)) == (50_000, 15)
    assert hashlib.sha256(CODES.astype("<i4").tobytes()).hexdigest() == (
        "c8bc7f22ac5361fe0d966e68fb5732eaa6a7a9115270a132c10b687fdfa0c288"
    )


def test_each_value_of_the_demonstration_occurs() -> None:
    for attribute, column in zip(SCHEMA.attributes, CODES.T, strict=True):
        assert set(column.tolist()) == set(range(attribute.size)), attribute.name


def test_the_demonstration_s_attributes_really_depend_on_each_other() -> None:
    """Nats of mutual information; 50,000 independent pairs of such columns would show less than 0.001."""

    def shared(one: str, other: str) -> float:
        return mutual_information(CODES[:, SCHEMA.index(one)], CODES[:, SCHEMA.index(other)])

    assert shared("work", "sector") > 0.5
    assert shared("age", "marital status") > 0.3
    assert shared("work", "income") > 0.3
    assert shared("marital status", "children") > 0.2
    assert shared("age", "education") > 0.2
    assert shared("area", "cars") > 0.03
    assert shared("age", "health") > 0.02
    assert shared("sex", "region") < 0.001


def test_the_demonstration_s_children_do_not_work() -> None:
    age, work = CODES[:, SCHEMA.index("age")], CODES[:, SCHEMA.index("work")]
    assert np.all(work[age < 2] == 0)
    assert np.mean(work[(age >= 2) & (age < 6)] > 0) > 0.5


def test_the_demonstration_s_table_reads_back_under_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write_records(path, SCHEMA, CODES[:500])
    assert np.array_equal(np.array(read_table(path, SCHEMA)._columns).T, CODES[:500])

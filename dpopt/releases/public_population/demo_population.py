"""The demonstration's public population: 50,000 made-up people with 15 attributes that really depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import public_stream, uniforms
from dpopt.schema.schema import Attribute, AttributeKind, Schema

PEOPLE = 50_000
SEED = 2014


def demo_schema() -> Schema:
    """Return the declared schema of the demonstration."""
    return Schema(
        (
            _numeric("age", (0, 10, 20, 30, 40, 50, 60, 70, 80, 110)),
            _named("sex", "female", "male"),
            _named("region", "north", "east", "south", "west", "centre"),
            _named("area", "city", "town", "country"),
            _named("education", "none", "school", "college", "university"),
            _named("work", "none", "part time", "full time", "retired"),
            _named("sector", "none", "industry", "services", "public", "farming"),
            _numeric("income", (0, 10_000, 20_000, 30_000, 45_000, 60_000, 90_000, 200_000)),
            _named("marital status", "single", "married", "divorced", "widowed"),
            _numeric("children", (0, 1, 2, 3, 4, 10)),
            _named("home", "rents", "owns", "shares"),
            _numeric("cars", (0, 1, 2, 3, 6)),
            Attribute("smoker", AttributeKind.BOOLEAN),
            Attribute("insured", AttributeKind.BOOLEAN),
            _named("health", "good", "fair", "poor"),
        )
    )


def demo_codes() -> NDArray[np.int32]:
    """Return the population, (PEOPLE, 15) codes; the same for ever.

    Each attribute is drawn from a distribution that depends on those before it: education on age, work on age and
    education, income on work, education and sex, and so on.
    """
    draw = _Drawer(PEOPLE)
    age = draw.choose([11, 12, 13, 14, 14, 13, 11, 8, 4])
    adult, old = age >= 2, age >= 6
    sex = draw.choose([51, 49])
    region = draw.choose([18, 22, 20, 25, 15])
    area = draw.choose_by(region, [[40, 40, 20], [60, 30, 10], [35, 35, 30], [55, 30, 15], [70, 20, 10]])
    education = draw.choose_by(
        np.where(adult, 1 + (age >= 7), age == 1), [[100, 0, 0, 0], [20, 75, 5, 0], [5, 40, 30, 25], [12, 60, 18, 10]]
    )
    working_distribution = [[100, 0, 0, 0], [25, 20, 55, 0], [10, 20, 70, 0], [6, 12, 82, 0], [5, 6, 9, 80]]
    work = draw.choose_by(np.where(old, 4, np.where(adult, 1 + np.minimum(education, 2), 0)), working_distribution)
    employed = (work == 1) | (work == 2)
    sector = draw.choose_by(
        np.where(employed, 1 + area, 0),
        [[100, 0, 0, 0, 0], [0, 15, 60, 25, 0], [0, 30, 45, 23, 2], [0, 25, 30, 15, 30]],
    )
    level = np.where(employed, 1 + education + (work == 2) + (sex == 1), (work == 3) * 2)
    income = draw.choose_by(
        level,
        [
            [92, 6, 2, 0, 0, 0, 0],
            [45, 35, 15, 4, 1, 0, 0],
            [20, 40, 25, 10, 4, 1, 0],
            [8, 25, 32, 22, 9, 4, 0],
            [4, 12, 25, 30, 18, 9, 2],
            [2, 6, 15, 27, 25, 20, 5],
            [1, 3, 8, 20, 26, 30, 12],
        ],
    )
    marital = draw.choose_by(
        np.where(adult, np.minimum(age - 1, 6), 0),
        [
            [100, 0, 0, 0],
            [80, 19, 1, 0],
            [40, 52, 8, 0],
            [20, 62, 17, 1],
            [14, 63, 20, 3],
            [9, 64, 19, 8],
            [6, 52, 12, 30],
        ],
    )
    children = draw.choose_by(
        np.where(adult, 1 + marital + 4 * (age >= 4), 0),
        [
            [100, 0, 0, 0, 0],
            [92, 6, 2, 0, 0],
            [35, 28, 25, 9, 3],
            [50, 28, 16, 5, 1],
            [70, 15, 10, 4, 1],
            [85, 8, 5, 2, 0],
            [12, 22, 41, 18, 7],
            [25, 27, 32, 12, 4],
            [12, 20, 40, 19, 9],
        ],
    )
    home = draw.choose_by(
        np.where(adult, 1 + (income >= 3) + 2 * (marital == 1), 0),
        [[45, 55, 0], [60, 18, 22], [45, 48, 7], [42, 55, 3], [18, 81, 1]],
    )
    cars = draw.choose_by(
        area * 2 + (income >= 3),
        [[62, 32, 5, 1], [35, 50, 13, 2], [35, 50, 13, 2], [12, 52, 30, 6], [18, 50, 26, 6], [5, 35, 45, 15]],
    )
    smoker = draw.choose_by(np.where(adult, 1 + education, 0), [[99, 1], [64, 36], [70, 30], [78, 22], [87, 13]])
    insured = draw.choose_by(np.where(employed, 2, old * 1), [[25, 75], [4, 96], [8, 92]])
    health = draw.choose_by(
        np.clip(age // 2 + smoker, 0, 5),
        [[95, 4, 1], [88, 10, 2], [78, 17, 5], [64, 26, 10], [46, 36, 18], [34, 40, 26]],
    )
    columns = (
        age, sex, region, area, education, work, sector, income, marital, children, home, cars, smoker, insured, health
    )  # fmt: skip
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32)


class _Drawer:
    """Draws codes from distributions in per cent, one stream for the whole population."""

    def __init__(self, people: int) -> None:
        self._people = people
        self._stream = public_stream(SEED, "demonstration")

    def choose(self, distribution: list[int]) -> NDArray[np.int64]:
        """Draw a code for everybody from one distribution."""
        return self.choose_by(np.zeros(self._people, dtype=np.int64), [distribution])

    def choose_by(self, case: NDArray[np.integer], distributions: list[list[int]]) -> NDArray[np.int64]:
        """Draw a code for everybody from the distribution of their case."""
        shares = np.array(distributions, dtype=np.float64)
        cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        points = uniforms(self._stream, self._people)
        codes = (points[:, None] >= cumulative[case.astype(np.int64)]).sum(axis=1)
        return np.asarray(np.minimum(codes, shares.shape[1] - 1), dtype=np.int64)


def _named(name: str, *values: str) -> Attribute:
    return Attribute(name, AttributeKind.CATEGORICAL, values=values)


def _numeric(name: str, edges: tuple[int, ...]) -> Attribute:
    return Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=True)

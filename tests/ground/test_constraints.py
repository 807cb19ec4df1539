"""Constraints in annotations: what is refused, in which words, and in which form the rest is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.constraints import Array, Number, OneOf, Whole, constrain
from dpopt.errors import DpoptError, PlanError
from dpopt.files.codec import decode, encode


@dataclass(frozen=True, slots=True, eq=False)
class Brew:
    cups: Annotated[int, Whole("the number of cups", most=9, advice="take a larger pot")]
    minutes: Annotated[float | None, Number(above=0, most=60)] = None
    share: Annotated[float, Number(least=0, below=1)] = 0.5
    size: Annotated[float, Number()] = 1.0
    kind: Annotated[str, OneOf("the kind", ("green", "black"))] = "green"
    leaves: Annotated[NDArray[np.float64], Array(dimensions=1, finite=True)] = ()  # type: ignore[assignment]
    pots: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        constrain(self, PlanError)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cups": 0}, "the number of cups must be a whole number of at least 1, found 0"),
    ({"cups": 1.0}, "the number of cups must be a whole number of at least 1, found 1.0"),
    ({"cups": True}, "the number of cups must be a whole number of at least 1, found True"),
    ({"cups": None}, "the number of cups must be a whole number of at least 1, found None"),
    ({"cups": np.True_}, "the number of cups must be a whole number of at least 1, found"),
    ({"cups": np.array([1])}, r"the number of cups must be a whole number of at least 1, found array\(\[1\]\)"),
    ({"cups": 10}, "the number of cups must be at most 9, found 10; take a larger pot"),
    ({"minutes": 0}, "minutes must be a finite number above 0 and at most 60, found 0"),
    ({"minutes": 61}, "minutes must be a finite number above 0 and at most 60, found 61"),
    ({"minutes": float("nan")}, "minutes must be a finite number above 0 and at most 60, found nan"),
    ({"minutes": float("inf")}, "minutes must be a finite number above 0 and at most 60, found inf"),
    ({"minutes": 10**400}, "minutes must be a finite number above 0 and at most 60, found 1000"),
    ({"minutes": "3"}, "minutes must be a finite number above 0 and at most 60, found '3'"),
    ({"share": -0.1}, "share must be a finite number of at least 0 and below 1, found -0.1"),
    ({"share": 1}, "share must be a finite number of at least 0 and below 1, found 1"),
    ({"share": True}, "share must be a finite number of at least 0 and below 1, found True"),
    ({"share": None}, "share must be a finite number of at least 0 and below 1, found None"),
    ({"size": "large"}, "size must be a finite number, found 'large'"),
    ({"kind": "red"}, "the kind is green or black; found 'red'"),
    ({"leaves": [np.inf]}, "leaves must be finite"),
    ({"leaves": [[1.0]]}, "'leaves' has 2 dimensions; expected a flat array"),
    ({"leaves": ["a"]}, "'leaves' must be an array of float64"),
    ({"pots": [0.5]}, r"'pots' must be an array of int64 \(whole numbers\)"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_what_an_annotation_rules_out_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Brew(**{"cups": 1, **wrong})


def test_the_rest_is_kept_in_one_form() -> None:
    made = Brew(np.int64(3), np.int64(3), leaves=[1, 2], pots=[1.0])  # type: ignore[arg-type]
    assert (type(made.cups), type(made.minutes), made.share) == (int, float, 0.5)
    assert made.leaves.dtype == np.float64
    assert not made.leaves.flags.writeable
    assert made.pots is not None
    assert made.pots.dtype == np.int64
    assert Brew(1).pots is None


def test_files_obey_them_too() -> None:
    on_file = encode(Brew(2, 4.0))
    assert decode(Brew, on_file, "a brew").cups == 2
    for name, value, message in (("cups", 0, "of at least 1, found 0"), ("minutes", 99, "at most 60, found 99")):
        with pytest.raises(DpoptError, match=message):
            decode(Brew, {**on_file, name: value}, "a brew")

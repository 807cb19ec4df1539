"""Values are written and read back as they are; whatever else a document says is refused in one line that names the place."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.files.codec import Unbounded, chosen, decode, encode
from dpopt.files.json_files import parse_json

HEADER = {"dpopt_sample": 1}


class Colour(enum.Enum):
    RED, BLUE = "red", "blue"


class Shape:
    """Either of the two below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Circle(Shape):
    radius: float
    kind: Literal["circle"] = "circle"


@dataclass(frozen=True, slots=True)
class Square(Shape):
    corners: tuple[tuple[int, int], ...]
    inner: Circle | None = None
    kind: Literal["square"] = "square"


class Word:
    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def to_json(self) -> str:
        return self.text

    @classmethod
    def from_json(cls, obj: object) -> Word:
        if not isinstance(obj, str):
            raise PlanError("a word is a text")
        return cls(obj)


@dataclass(frozen=True, slots=True)
class Sample:
    rounds: int
    share: float
    step: Decimal
    exact: Fraction
    colour: Colour
    shape: Shape
    shapes: tuple[Shape, ...]
    word: Word
    told: bool
    name: str | None
    limit: Unbounded
    extra: Mapping[str, int | float | str | bool | None]
    once: tuple[int, str] = (1, "a")

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise AccountingError(f"rounds are numbered from 1, found {self.rounds}")


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    whole: NDArray[np.int64]
    small: NDArray[np.uint8]
    real: NDArray[np.float64]
    truth: NDArray[np.bool_]
    rows: tuple[NDArray[np.int32], ...]
    perhaps: NDArray[np.int64] | None = None


circles = st.builds(Circle, radius=st.floats(0, 9))
pairs = st.lists(st.tuples(st.integers(-9, 2**70), st.integers(-9, 9)), max_size=3).map(tuple)
shapes = st.one_of(circles, st.builds(Square, corners=pairs, inner=st.none() | circles))
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-9, 2**65) | numbers | st.text(max_size=5)
samples = st.builds(
    Sample,
    rounds=st.integers(1, 2**70),
    share=numbers,
    step=st.decimals(allow_nan=False, allow_infinity=False, places=3),
    exact=st.fractions(),
    colour=st.sampled_from(Colour),
    shape=shapes,
    shapes=st.lists(shapes, max_size=3).map(tuple),
    word=st.builds(Word, st.text(max_size=5)),
    told=st.booleans(),
    name=st.none() | st.text(max_size=5),
    limit=st.just(float("inf")) | numbers,
    extra=st.dictionaries(st.text(max_size=3), scalars, max_size=3),
    once=st.tuples(st.integers(), st.text(max_size=3)),
)
SAMPLE = Sample(
    3,
    0.5,
    Decimal("0.10"),
    Fraction(-3, 7),
    Colour.RED,
    Square(((1, 2),), Circle(2.0)),
    (Circle(1.0),),
    Word("x"),
    True,
    None,
    1.5,
    MappingProxyType({"a": 1}),
)
ARRAYS = Arrays(
    freeze(np.array([[1, -2], [3, 2**62]])),
    freeze(np.array([0, 255], dtype=np.uint8)),
    freeze(np.array([0.5, 2.0])),
    freeze(np.array([True, False])),
    (freeze(np.array([1], dtype=np.int32)), freeze(np.array([], dtype=np.int32))),
)


def through_text(value: object) -> Any:
    return parse_json(json.dumps(value), "sample", PlanError)


def read(document: object, **options: Any) -> Sample:
    return decode(Sample, document, "plan.json", PlanError, header=HEADER, **options)


@given(samples)
def test_what_is_written_is_read_back(value: Sample) -> None:
    written = encode(value, HEADER)
    assert list(written) == ["dpopt_sample", *Sample.__slots__]
    assert read(through_text(written)) == value


def test_arrays_come_back_read_only_and_of_their_dtype() -> None:
    found = decode(Arrays, through_text(encode(ARRAYS)), "arrays", PlanError)
    for name in ("whole", "small", "real", "truth"):
        mine, its = getattr(found, name), getattr(ARRAYS, name)
        assert mine.dtype == its.dtype
        assert np.array_equal(mine, its)
        assert not mine.flags.writeable
    assert [row.tolist() for row in found.rows] == [[1], []]
    assert found.perhaps is None


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every list or object with each of its keys or positions."""
    for key in list(document) if isinstance(document, dict) else range(len(document)):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])


def same(first: Any, second: Any) -> bool:
    """Whether two documents mean the same: 1 is 1.0, and nothing is true but true."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return (type(first) is bool) is (type(second) is bool) and bool(first == second)


@pytest.mark.parametrize(("value", "kind"), [(SAMPLE, Sample), (ARRAYS, Arrays)])
@given(data=st.data())
def test_a_changed_document_is_refused_or_means_the_same(data: st.DataObject, value: Any, kind: Any) -> None:
    document = through_text(encode(value))
    holder, key = data.draw(st.sampled_from(list(places(document))))
    how = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "replace":
        holder[key] = data.draw(scalars | st.lists(scalars, max_size=2) | st.just({}))
    elif how == "remove":
        del holder[key]
    elif isinstance(holder, dict):
        holder["new"] = data.draw(scalars)
    else:
        holder.insert(key, data.draw(scalars))
    refusal = ""
    try:
        found = decode(kind, document, "sample", PlanError)
    except DpoptError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
    else:
        assert same(through_text(encode(found)), document)


MISSING = object()


@pytest.mark.parametrize(
    ("keys", "found", "message"),
    [
        (["rounds"], True, r"plan.json at \$.rounds: expected a whole number, found true or false"),
        (["rounds"], 2.0, r"\$.rounds: expected a whole number, found a number"),
        (["share"], "1", r"\$.share: expected a number, found a text"),
        (["share"], float("inf"), "Out of range|not JSON compliant"),
        (["step"], 0.1, r"\$.step: found 0.1, expected it as \"0.1\""),
        (["step"], "NaN", "expected a finite one"),
        (["step"], "1e99999999999999999999", "decimal"),
        (["exact"], "6/4", r'found "6/4", expected it as "3/2"'),
        (["exact"], "1/0", "expected a fraction as text"),
        (["exact"], 1, r"\$.exact: found 1, expected a fraction as text"),
        (["colour"], "green", r"\$.colour: .*'green'"),
        (["shape", "kind"], "line", "expected one of circle, square"),
        (["shape", "inner", "radius"], "2", r"\$.shape.inner.radius: expected a number, found a text"),
        (["shapes", 0, "radius"], None, r"\$.shapes\[0\].radius: expected a number, found null"),
        (["shapes", 0, "radios"], 1, r"\$.shapes\[0\]: unknown key 'radios'; did you mean 'radius'\?"),
        (["shape", "corners", 0], [1], r"\$.shape.corners\[0\]: expected a list"),
        (["limit"], MISSING, "plan.json: missing the key limit"),
        (["once"], MISSING, "plan.json: the key 'once' is missing"),
        (["dpopt_sample"], 2, "found 2 as 'dpopt_sample', expected 1"),
        (["dpopt_sample"], True, "found true as 'dpopt_sample', expected 1"),
        (["dpopt_sample"], MISSING, "found no such key as 'dpopt_sample'"),
    ],
)
def test_a_refusal_names_the_place(keys: list[Any], found: object, message: str) -> None:
    document = through_text(encode(SAMPLE, HEADER))
    holder = document
    for key in keys[:-1]:
        holder = holder[key]
    if found is MISSING:
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = found
    with pytest.raises(PlanError, match=message):
        read(document)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("whole", [1, True]),
        ("whole", [1.0]),
        ("whole", ["1"]),
        ("whole", [[1], [2, 3]]),
        ("whole", 3),
        ("whole", [2**63]),
        ("whole", [None]),
        ("small", [256]),
        ("small", [-1]),
        ("real", [2**53 + 1]),
        ("real", [True, 1.5]),
        ("truth", [0, 1]),
        ("rows", [[2**31]]),
    ],
)
def test_arrays_are_not_converted(name: str, found: object) -> None:
    document = {**encode(ARRAYS), name: found}
    with pytest.raises(PlanError, match=name):
        decode(Arrays, document, "arrays", PlanError)


def test_the_checks_of_a_class_speak_for_themselves() -> None:
    with pytest.raises(AccountingError, match="^rounds are numbered from 1, found 0$"):
        read({**encode(SAMPLE, HEADER), "rounds": 0})
    with pytest.raises(PlanError, match="^a word is a text$"):
        read({**encode(SAMPLE, HEADER), "word": 1})


def test_what_has_a_default_may_be_left_out_where_people_write() -> None:
    document = through_text(encode(SAMPLE, HEADER))
    del document["once"], document["shape"]["inner"]
    assert read(document, partial=True).once == (1, "a")
    with pytest.raises(PlanError, match="unknown key"):
        read({**document, "more": 1}, partial=True)


@pytest.mark.parametrize("document", [None, 3, [], "x"])
def test_what_is_no_object_is_refused(document: object) -> None:
    with pytest.raises(PlanError, match="expected a JSON object"):
        read(document)


def test_a_text_chooses_a_class() -> None:
    kinds: dict[str, type[Shape]] = {"circle": Circle, "square": Square}
    assert chosen(kinds, {"kind": "square"}, "kind", "shape", PlanError) is Square
    with pytest.raises(PlanError, match="expected one of circle, square"):
        chosen(kinds, {"kind": ["square"]}, "kind", "shape", PlanError)


def test_what_is_not_finite_is_not_written() -> None:
    with pytest.raises(ValueError, match="finite"):
        encode(Sample(**{name: getattr(SAMPLE, name) for name in Sample.__slots__} | {"step": Decimal("inf")}))


@dataclass(frozen=True)
class _Refused:
    number: int

    def __post_init__(self) -> None:
        raise PlanError("found a number, expected none")


def test_what_a_class_refuses_is_not_its_own_cause() -> None:
    with pytest.raises(PlanError, match="expected none") as caught:
        decode(_Refused, {"number": 1}, "a file")
    causes: set[int] = set()
    error: BaseException | None = caught.value
    while error is not None:
        assert id(error) not in causes
        causes.add(id(error))
        error = error.__cause__ or error.__context__

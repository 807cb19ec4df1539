from __future__ import annotations

import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.queries import Clauses, Workload, marginal_set, parse_workload, workload_from_json
from dpopt.queries.marginal_set import MarginalSet, cell_clauses
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.marginals import marginals_of
from tests.strategies import clauses_of, naive_truth

SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 30, 40), integer=True, missing="?"),
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M"), occurring=(1,)),
        Attribute("smoker", AttributeKind.BOOLEAN, missing=""),
        Attribute("race", AttributeKind.CATEGORICAL, ("a", "b", "c", 4, 4.5), missing="n/a"),
    )
)

PINNED = {
    "marginals:3": "dd488f00ddbe0e0a539420ab05329ce5ada1f015c6b36053bb98ac6fbddfbfa6",
    "marginals:2,count=4,seed=9": "73bdd8dfd6c7aad2ecdf3afeb6b77c4f5999535e344a257809e9b15ec70edd92",
    "conjunctions:3,count=1000,seed=7": "9d77045f0985c24891bc6c0b0f449c06e8cd00de391d34e29ab025c06e2e1237",
    "conjunctions:1,count=1100000,seed=0": "0c5832012acf650c74393d0700745dc63e884dc95698079527a7fff45969ce83",
    "conjunctions:2,count=99,seed=99,occurring": "198180cac4667f85a1b72e324e4135d2de825fe8dbb82e85d3116c959cba1ddb",
    "threshold:2of4,count=1000,seed=7": "91392612f1333878aa9fb15df5dc386bee704c558faad95d84ee81afb42e2712",
    "threshold:1of2,count=1100000,seed=0": "18925f2df28f37b26a626678d31bfd207093b6b122670dcb9ddaf62d60260757",
    "threshold:2of3,count=99,seed=99,occurring": "74b83410d0d10dcf02323a13ded7eb1d57ed5a608df518b870b46ac89f5ba2d1",
    "parity:3,count=1000,seed=7": "cd3b2a63f906037921228be616786a1406f56de5d41e2a34471f8e7e05f79031",
    "parity:1,count=1100000,seed=0": "c45bc11857d940efa38efb589e629bf67f4e21b212893b755b31b664bc1e92f0",
    "parity:2,count=99,seed=99,occurring": "4de783a8033981c3a347374502dc82c91bf7de125b7f81bb5177372e57971bec",
}


@pytest.mark.parametrize(("text", "fingerprint"), PINNED.items())
def test_fingerprints_never_change(text: str, fingerprint: str) -> None:
    assert parse_workload(text, SCHEMA).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("marginals:2", "marginals:2"),
        (" marginals : 2 ", "marginals:2"),
        ("marginals:2,occurring", "marginals:2,occurring"),
        ("marginals:2, seed=3, count=2", "marginals:2,count=2,seed=3"),
        ("marginals:2,count=2", "marginals:2,count=2,seed=0"),
        ("conjunctions:2,occurring,count=5", "conjunctions:2,count=5,seed=0,occurring"),
        ("conjunctions:02,count=05,seed=1", "conjunctions:2,count=5,seed=1"),
        (" threshold : 2 of 4 , seed=3,count=5", "threshold:2of4,count=5,seed=3"),
        ("threshold:02of04,count=05,occurring", "threshold:2of4,count=5,seed=0,occurring"),
        ("parity:3,occurring,seed=2,count=5", "parity:3,count=5,seed=2,occurring"),
        (" parity : 02 ,count=5", "parity:2,count=5,seed=0"),
    ],
)
def test_a_short_form_has_one_canonical_spelling(text: str, canonical: str) -> None:
    workload = parse_workload(text, SCHEMA)
    assert dict(workload.specification) == {"dpopt_workload": 1, "workload": canonical}
    assert parse_workload(canonical, SCHEMA).fingerprint == workload.fingerprint


def test_a_workload_has_its_base_queries_once() -> None:
    workload = parse_workload("marginals:1", SCHEMA)
    assert len(workload) == len(workload.clauses) == 4 + 2 + 3 + 6


def test_other_seeds_give_other_queries() -> None:
    texts = [f"conjunctions:2,count=50,seed={seed}" for seed in range(5)]
    assert len({parse_workload(text, SCHEMA).fingerprint for text in texts}) == 5


def test_thresholds_of_all_literals_are_the_conjunctions_of_the_same_seed() -> None:
    thresholds = parse_workload("threshold:3of3,count=200,seed=4", SCHEMA)
    assert thresholds.fingerprint == parse_workload("conjunctions:3,count=200,seed=4", SCHEMA).fingerprint


def test_thresholds_and_parities_accept_the_numbers_that_they_name() -> None:
    thresholds = parse_workload("threshold:2of4,count=20", SCHEMA).clauses
    assert set(thresholds.accepted.tolist()) == {0b11100}
    assert set(parse_workload("threshold:1of2,count=20", SCHEMA).clauses.accepted.tolist()) == {0b110}
    parities = parse_workload("parity:3,count=20", SCHEMA).clauses
    assert set(parities.accepted.tolist()) == {0b1010}
    assert parities.signs.all()
    assert not thresholds.signs.all()


def test_a_workload_over_two_values_has_one_parity_for_each_set_of_attributes() -> None:
    schema = Schema((*(Attribute(name, AttributeKind.BOOLEAN) for name in "abcd"), SCHEMA.attributes[1]))
    workload = parse_workload("parity:2", schema)
    assert dict(workload.specification) == {"dpopt_workload": 1, "workload": "parity:2"}
    assert [workload.clauses.describe(i, schema) for i in (0, 3, 9)] == [
        "an odd number of: a = true; b = true",
        "an odd number of: a = true; sex = M",
        "an odd number of: d = true; sex = M",
    ]
    assert len(workload) == 10
    pinned = "c9f363898ba048eb43d1ab00bd3518999f6a81777e1f7f3bf4dd3bd52a5d311d"
    assert workload.fingerprint == pinned


def test_occurring_restricts_the_values_that_queries_name() -> None:
    workload = parse_workload("marginals:1,occurring", SCHEMA)
    assert len(workload) == 4 + 1 + 3 + 6
    assert workload.clauses.values[workload.clauses.attributes == 1].tolist() == [1]


SPECIFICATIONS: list[dict[str, object]] = [
    {"dpopt_workload": 1, "workload": "marginals:2,count=3,seed=5"},
    {"dpopt_workload": 1, "marginals": [["sex", "age"], ["race"]]},
    {"dpopt_workload": 1, "marginals": [["sex"], ["race", "smoker"]], "occurring": True},
    {"dpopt_workload": 1, "queries": [[["age", "=", "[20, 30)"], ["sex", "!=", "F"]], [["smoker", "=", True]]]},
    {"dpopt_workload": 1, "queries": [{"literals": [["sex", "=", "F"], ["race", "=", 4]], "accepted": [1, 0]}]},
]


@pytest.mark.parametrize("specification", SPECIFICATIONS)
def test_json_builds_the_same_workload_again(specification: dict[str, object]) -> None:
    workload = workload_from_json(specification, SCHEMA)
    written = json.loads(json.dumps(workload.to_json()))
    assert {key: written[key] for key in specification} == specification
    again = workload_from_json(written, SCHEMA)
    assert again.fingerprint == workload.fingerprint
    assert again.to_json() == written


def test_a_workload_survives_pickle() -> None:
    workload = parse_workload("marginals:2", SCHEMA)
    again = pickle.loads(pickle.dumps(workload))
    assert again.to_json() == workload.to_json()
    assert again.schema == workload.schema


@pytest.mark.parametrize(
    "text", ["marginals:3", "marginals:2,count=4,seed=9", "marginals:1,occurring", *PINNED, "nested"]
)
def test_only_marginals_are_held_as_shapes_with_the_fingerprint_of_their_clauses(text: str) -> None:
    workload = workload_from_json(SPECIFICATIONS[2], SCHEMA) if text == "nested" else parse_workload(text, SCHEMA)
    explicit = Workload(SCHEMA, workload.clauses, workload.specification, workload.fingerprint)
    assert explicit.marginals is None
    assert (workload.marginals is not None) == (text == "nested" or text.startswith("marginals"))
    assert len(explicit) == len(workload) == len(workload.clauses)
    assert [explicit.describe(i) for i in range(0, len(explicit), 97)] == [
        workload.describe(i) for i in range(0, len(explicit), 97)
    ]


def test_marginals_are_written_out_when_asked_for_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def counted(marginals: MarginalSet, begin: int, end: int) -> Clauses:
        written.append(end - begin)
        return cell_clauses(marginals, begin, end)

    monkeypatch.setattr(marginal_set, "cell_clauses", counted)
    workload = parse_workload("marginals:3", SCHEMA)
    assert workload.marginals is not None
    records = np.zeros((3, 4), dtype=np.int32)
    answers = workload.answers_on(records)
    assert len(workload) == workload.marginals.number_of_cells == answers.size
    assert workload.to_json()["fingerprint"] == PINNED["marginals:3"]
    pickle.loads(pickle.dumps(workload))
    assert written == []
    assert workload.describe(len(workload) - 1) == "sex = M and smoker = missing and race = missing"
    assert written == [1]
    assert workload.clauses is workload.clauses
    assert written == [1, len(workload)]


def test_clauses_that_were_written_out_are_not_pickled() -> None:
    schema = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, tuple(range(50))) for name in "abc"))
    workload = parse_workload("marginals:3", schema)
    before = pickle.dumps(workload)
    assert len(workload.clauses) == 125_000
    assert pickle.dumps(workload) == before
    assert len(before) < 20_000
    again = pickle.loads(before)
    assert again.marginals is not None
    assert again.fingerprint == workload.fingerprint == again.clauses.fingerprint()


def test_the_fingerprint_of_many_cells_takes_little_memory() -> None:
    """The clauses of 15,625,000 cells take 484 MB."""
    schema = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, tuple(range(250))) for name in "abc"))
    tracemalloc.start()
    try:
        workload = parse_workload("marginals:3", schema)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(workload) == 15_625_000
    assert peak < 150e6


def test_a_workload_of_very_many_cells_is_held_but_not_written_out() -> None:
    schema = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, tuple(range(600))) for name in "abc"))
    workload = parse_workload("marginals:3", schema)
    assert len(workload) == 216_000_000
    with pytest.raises(WorkloadError, match="216,000,000 cells of marginals .* choose an algorithm"):
        _ = workload.clauses
    assert workload.describe(600**2 + 2 * 600 + 3) == "a = 1 and b = 2 and c = 3"
    assert workload_from_json(workload.to_json(), schema).fingerprint == workload.fingerprint
    other = parse_workload("marginals:3,count=1,seed=0", schema)
    assert other.fingerprint == workload.fingerprint  # the same marginal
    with pytest.raises(WorkloadError, match="has changed since it was written"):
        workload_from_json({**workload.to_json(), "fingerprint": "0" * 64}, schema)


@pytest.mark.parametrize("text", ["marginals:2", "conjunctions:3,count=500", "threshold:2of4,count=300"])
def test_answers_are_the_shares_of_records_and_of_weights(text: str) -> None:
    workload = parse_workload(text, SCHEMA)
    generator = np.random.default_rng(4)
    records = generator.integers(0, SCHEMA.sizes, size=(150, 4)).astype(np.int32)
    weights = generator.random(150)
    truth = naive_truth(workload.clauses, records)
    assert np.array_equal(workload.answers_on(records), truth.sum(axis=1) / 150)
    assert workload.answers_on(records, weights) == pytest.approx(truth @ weights / weights.sum(), abs=1e-12)


def test_a_workload_cannot_be_changed_through_what_it_was_made_of() -> None:
    specification: dict[str, object] = {"dpopt_workload": 1, "marginals": [["sex"]]}
    workload = workload_from_json(specification, SCHEMA)
    marginals = specification["marginals"]
    assert isinstance(marginals, list)
    marginals[0].append("age")
    assert workload.to_json()["marginals"] == [["sex"]]
    with pytest.raises(TypeError):
        workload.specification["marginals"] = []  # type: ignore[index]


def test_a_workload_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    path.write_text(json.dumps(SPECIFICATIONS[1]), encoding="utf-8")
    assert parse_workload(str(path), SCHEMA).to_json()["marginals"] == SPECIFICATIONS[1]["marginals"]
    other = path.rename(tmp_path / "queries")
    assert len(parse_workload(str(other), SCHEMA)) == 14


def test_listed_marginals_keep_their_order() -> None:
    clauses = workload_from_json(SPECIFICATIONS[1], SCHEMA).clauses
    assert clauses.attributes.tolist() == [[1, 0]] * 8 + [[3, -1]] * 6


def test_listed_queries_are_the_clauses_that_they_say() -> None:
    queries = [
        [["age", "=", "[20, 30)"], ["sex", "!=", "F"], ["race", "=", 4.5]],
        [["age", "=", {"bin": 2}]],
        [["age", "!=", "?"], ["smoker", "=", None], ["race", "=", "n/a"]],
        [["age", "=", None], ["smoker", "=", ""], ["race", "=", None]],
        [["smoker", "!=", False]],
        {"literals": [["sex", "=", "M"], ["race", "!=", 4]], "accepted": [0, 2]},
    ]
    clauses = workload_from_json({"dpopt_workload": 1, "queries": queries}, SCHEMA).clauses
    assert [clauses.describe(i, SCHEMA) for i in range(6)] == [
        "age = [20, 30) and sex != F and race = 4.5",
        "age = [30, 40]",
        "age != missing and smoker = missing and race = missing",
        "age = missing and smoker = missing and race = missing",
        "smoker != false",
        "an even number of: sex = M; race != 4",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no known form; expected 'marginals:K'"),
        ("marginal:3", "has no known form"),
        ("marginals", "has no known form"),
        ("nothing.json", r"workload file 'nothing\.json' cannot be read"),
        ("marginals:", "number of attributes is a whole number, found ''"),
        ("marginals:-3", "number of attributes is a whole number, found '-3'"),
        ("marginals:3.5", "found '3.5'"),
        ("marginals:٣", "number of attributes is a whole number"),
        ("marginals:0", "0-way queries were asked for; between 1 and 4"),
        ("marginals:5", "5-way queries were asked for; between 1 and 4"),
        ("marginals:2,seed=1", "so a seed has no effect; leave it out"),
        ("marginals:2,cuont=1", "the option 'cuont=1'; expected count=N, seed=S or occurring"),
        ("marginals:2,count", "the option 'count'"),
        ("marginals:2,occurring=1", "the option 'occurring=1'"),
        ("marginals:2,", "the option ''"),
        ("marginals:2,count=3,count=3", "gives 'count' twice"),
        ("marginals:2,count=1e3", "count is a whole number, found '1e3'"),
        ("marginals:2,count=7", "7 marginals were asked for; there are 6"),
        ("conjunctions:3", "needs the number of queries, such as 'conjunctions:3,count=100000'"),
        ("conjunctions:3,count=1,seed=18446744073709551616", "seeds are below 2\\^64"),
        ("conjunctions:3,count=99999999", "99,999,999 conjunctions were asked for, more than the 50,000,000"),
        ("parities:3", "has no known form"),
        ("parity", "has no known form"),
        ("parity:", "number of attributes is a whole number, found ''"),
        ("parity:3", "need attributes of two values each; 'age' has 4. Choose random ones with 'count='"),
        ("parity:2,occurring", "'age' has 4"),
        ("parity:3,seed=1", "takes all parities, so a seed has no effect"),
        ("parity:5,count=1", "5-way queries were asked for; between 1 and 4"),
        ("parity:2of3,count=1", "number of attributes is a whole number, found '2of3'"),
        ("parity:3,count=0", "0 parities were asked for; 'count' is at least 1"),
        ("parity:3,count=99999999", "99,999,999 parities were asked for, more than the 50,000,000"),
        ("threshold:2of4", "needs the number of queries, such as 'threshold:2of4,count=100000'"),
        ("threshold:2of4,seed=1", "needs the number of queries"),
        ("threshold:4,count=1", "the shape '4'; expected RofK, such as 'threshold:2of4,count=100000'"),
        ("threshold:of4,count=1", "number of true literals is a whole number, found ''"),
        ("threshold:2of,count=1", "number of attributes is a whole number, found ''"),
        ("threshold:-1of4,count=1", "number of true literals is a whole number, found '-1'"),
        ("threshold:0of4,count=1", "at least 0 of 4 literals were asked for; between 1 and 4 are possible"),
        ("threshold:5of4,count=1", "at least 5 of 4 literals were asked for; between 1 and 4 are possible"),
        ("threshold:2of5,count=1", "5-way queries were asked for; between 1 and 4"),
        ("threshold:2of4,count=0", "0 thresholds were asked for; 'count' is at least 1"),
        ("threshold:2of4,count=99999999", "99,999,999 thresholds were asked for, more than the 50,000,000"),
    ],
)
def test_a_short_form_that_names_no_workload_is_refused(text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        parse_workload(text, SCHEMA)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dpopt_workload": None}, 'expected "dpopt_workload": 1, found no such key'),
        ({"dpopt_workload": 2}, 'expected "dpopt_workload": 1, found 2'),
        ({"dpopt_workload": True}, 'expected "dpopt_workload": 1, found true'),
        ({"marginals": None}, "exactly one of the keys workload, marginals, queries; found 0"),
        ({"workload": "marginals:2"}, "exactly one of the keys workload, marginals, queries; found 2"),
        ({"marginal": []}, "unknown key 'marginal'; did you mean 'marginals'"),
        ({"marginals": None, "workload": 3}, "'workload' is a short form such as \"marginals:3\", found 3"),
        ({"marginals": None, "workload": "queries.json"}, "has no known form"),
        ({"marginals": None, "workload": "marginals:2", "occurring": True}, "goes with 'marginals' only"),
        ({"occurring": 1}, "'occurring' is true or false"),
        ({"fingerprint": 3}, "'fingerprint' is text"),
        ({"fingerprint": "0" * 64}, "expected 0{64}: the schema or the specification has changed"),
        ({"marginals": []}, "'marginals' is empty"),
        ({"marginals": "age"}, "'marginals': expected a list"),
        ({"marginals": ["age"]}, "marginal number 1: expected a list"),
        ({"marginals": [[]]}, "marginal number 1 names 0 attributes"),
        ({"marginals": [["age"], ["aeg"]]}, "marginal number 2: .*no attribute 'aeg'; did you mean 'age'"),
        ({"marginals": [[3]]}, "marginal number 1: expected the name of an attribute, found 3"),
        ({"marginals": [["age", "age"]]}, "marginal number 1 names an attribute twice"),
        ({"marginals": [["age", "sex"], ["sex", "age"]]}, "marginal number 2 has the same attributes"),
    ],
)
def test_an_object_that_names_no_workload_is_refused(changes: dict[str, object], message: str) -> None:
    obj: dict[str, object] = {"dpopt_workload": 1, "marginals": [["age"]], **changes}
    with pytest.raises(WorkloadError, match=message):
        workload_from_json({key: value for key, value in obj.items() if value is not None}, SCHEMA)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], "'queries' is empty"),
        ([3], "query number 1: expected a list"),
        ([[]], "query number 1 has 0 literals"),
        ([[["sex", "=", "F"], ["sex", "!=", "M"]]], "query number 1 names an attribute twice"),
        ([[["sex", "=", "F"]], [["sex", "<", "F"]]], r'query number 2: a literal is \[name, "=" or "!=", value\]'),
        ([[["sex", "="]]], "a literal is"),
        ([[["sxe", "=", "F"]]], "query number 1: .*did you mean 'sex'"),
        ([[["sex", "=", "X"]]], "attribute 'sex' has no value \"X\"; expected a declared value .*: F, M$"),
        ([[["sex", "=", None]]], "attribute 'sex' has no value null"),
        ([[["race", "=", "4"]]], 'has no value "4"'),
        ([[["race", "=", 4.0]]], "has no value 4.0"),
        ([[["smoker", "=", 1]]], "has no value 1"),
        ([[["age", "=", 25]]], r'attribute \'age\' has no value 25; expected the label of a bin or \{"bin": index\}'),
        ([[["age", "=", {"bin": 3}]]], "has no value"),
        ([[["age", "=", {"bin": True}]]], "has no value"),
        ([{"literals": [["sex", "=", "F"]]}], "needs both 'literals' and 'accepted'"),
        ([{"literals": [["sex", "=", "F"]], "accept": [0]}], "unknown key 'accept'; did you mean 'accepted'"),
        ([{"literals": [["sex", "=", "F"]], "accepted": [2]}], r"numbers of true literals, 0 \.\. 1; found"),
        ([{"literals": [["sex", "=", "F"]], "accepted": 1}], "'accepted': expected a list"),
    ],
)
def test_listed_queries_that_say_nothing_are_refused(queries: list[object], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        workload_from_json({"dpopt_workload": 1, "queries": queries}, SCHEMA)


def test_a_long_domain_is_shortened_in_a_message() -> None:
    schema = Schema((Attribute("x", AttributeKind.CATEGORICAL, tuple(range(100))),))
    with pytest.raises(WorkloadError, match=r"0, 1, 2, 3, 4, 5, \.\.\. \(100 in all\)"):
        workload_from_json({"dpopt_workload": 1, "queries": [[["x", "=", 100]]]}, schema)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (clauses_of([]), "at least one query"),
        (clauses_of([([(4, 0, True)], 2)]), "attribute number 4"),
        (marginals_of([[0], [0, 2], [0], [0]], [[0]]), r"code 2 of attribute number 1, which has the codes 0 \.\. 1"),
    ],
)
def test_queries_that_do_not_fit_the_schema_are_refused(queries: Clauses | MarginalSet, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Workload(SCHEMA, queries, {})


def test_a_schema_of_other_sizes_is_noticed_by_the_fingerprint() -> None:
    written = parse_workload("conjunctions:2,count=100", SCHEMA).to_json()
    other = Schema((*SCHEMA.attributes[:3], Attribute("race", AttributeKind.CATEGORICAL, ("a", "b"))))
    with pytest.raises(WorkloadError, match="the schema or the specification has changed"):
        workload_from_json(written, other)

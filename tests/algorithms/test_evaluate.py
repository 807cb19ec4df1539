from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.evaluation import Evaluation, Scores, Weakest
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.private.evaluation import broken_rows
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import uniform_answers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.schema.dates import date_number
from dpopt.schema.rules.builders import ordered
from dpopt.schema.rules.rule import Rule
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA, codes, dataset, small_release, write_table
from tests.strategies import clause_lists, naive_truth

SIZES = (3, 1, 2, 4, 2)


@given(clauses=clause_lists(SIZES, widest=5))
def test_uniform_answers_are_those_of_the_whole_universe(clauses: Clauses) -> None:
    """Mixed widths, both signs, all masks: against the enumeration of all 48 records."""
    universe = np.array(list(product(*map(range, SIZES))), dtype=np.int32)
    exact = naive_truth(clauses, universe).mean(axis=1)
    assert uniform_answers(clauses, np.array(SIZES, dtype=np.int32)) == pytest.approx(exact, abs=1e-12)


def errors_by_hand(finished: SyntheticRelease) -> dict[str, Any]:
    """Evaluate again, record by record, in plain Python."""
    clauses = finished.job.workload.clauses
    exact = naive_truth(clauses, codes()).mean(axis=1)
    universe = np.array(list(product(*map(range, SCHEMA.sizes.tolist()))), dtype=np.int32)
    answers = {
        "release": naive_truth(clauses, np.stack([done.record for done in finished.played])).mean(axis=1),
        "zeros": naive_truth(clauses, np.zeros((1, 4), dtype=np.int32)).mean(axis=1),
        "uniform": naive_truth(clauses, universe).mean(axis=1),
    }
    differences = {name: np.abs(given - exact) for name, given in answers.items()}
    return {name: (float(d.max()), float(d.mean())) for name, d in differences.items()} | {
        "worst": float(differences["release"].max())
    }


def test_errors_and_baselines_are_those_of_a_count_by_hand() -> None:
    finished = small_release()
    found, expected = evaluate(finished, dataset()), errors_by_hand(finished)
    assert (found.max_error, found.mean_error) == pytest.approx(expected["release"])
    for name in ("zeros", "uniform"):
        baseline = found.baselines[name]
        assert (baseline["max_error"], baseline["mean_error"]) == pytest.approx(expected[name])
    assert found.to_json()["private"] is False
    assert found.queries == len(finished.job.workload)


def test_the_worst_query_is_named_in_words() -> None:
    finished = small_release()
    words = evaluate(finished, dataset()).worst_query
    clauses = finished.job.workload.clauses
    place = [clauses.describe(i, SCHEMA) for i in range(len(clauses))].index(words)
    released = naive_truth(clauses, np.stack([done.record for done in finished.played])).mean(axis=1)
    exact = naive_truth(clauses, codes()).mean(axis=1)
    assert abs(released - exact)[place] == pytest.approx(errors_by_hand(finished)["worst"])


def test_rows_are_evaluated_as_they_are_written() -> None:
    finished = small_release(output={"rows": 7})
    clauses = finished.job.workload.clauses
    by_hand = naive_truth(clauses, finished.written.rows()).mean(axis=1)
    assert finished.answers() == pytest.approx(by_hand)


@pytest.mark.parametrize("output", [{}, {"rows": 7}])
def test_marginals_are_evaluated_like_their_clauses(monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]) -> None:
    finished = small_release(output=output)
    shapes = finished.job.workload
    written = Workload(SCHEMA, shapes.clauses, shapes.specification, shapes.fingerprint)
    assert written.marginals is None
    expected = evaluate(replace(finished, job=replace(finished.job, workload=written)), dataset())

    def refuse(self: MarginalSet) -> Clauses:
        raise AssertionError("the cells were written out")

    monkeypatch.setattr(MarginalSet, "clauses", refuse)
    anew = Workload(SCHEMA, shapes.queries, shapes.specification, shapes.fingerprint)
    found = evaluate(replace(finished, job=replace(finished.job, workload=anew)), dataset())
    assert expected.marginals is None
    assert found.marginals is not None
    assert found.marginals["marginals"] == 6
    assert replace(found, marginals=None) == expected


def test_a_folder_is_evaluated_like_the_release_that_wrote_it(tmp_path: Path) -> None:
    finished = small_release(tmp_path / "release")
    from_values = evaluate(finished, dataset())
    assert evaluate(tmp_path / "release", dataset()) == from_values
    assert evaluate(str(tmp_path / "release"), dataset()) == from_values


def test_the_progress_of_counting_is_reported() -> None:
    shares: list[float] = []
    evaluate(small_release(), dataset(), progress=shares.append)
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)


def test_distances_of_marginals_are_half_the_sums_over_their_cells() -> None:
    finished = small_release()
    clauses, marginals = finished.job.workload.clauses, finished.job.workload.marginals
    assert marginals is not None
    exact = naive_truth(clauses, codes()).mean(axis=1)
    released = naive_truth(clauses, np.stack([done.record for done in finished.played])).mean(axis=1)
    distances = np.add.reduceat(np.abs(released - exact), marginals.starts[:-1]) / 2
    found = evaluate(finished, dataset()).marginals
    assert found is not None
    assert found["mean_distance"] == pytest.approx(distances.mean())
    assert found["largest_distance"] == pytest.approx(distances.max())
    worst = marginals.attributes_of(int(distances.argmax()))
    assert found["largest_of"] == [SCHEMA.attributes[place].name for place in worst]


def test_scores_lie_between_0_and_100_and_are_means_of_each_other() -> None:
    scores = evaluate(small_release(), dataset()).scores
    assert scores is not None
    assert scores.pairs is not None
    assert list(scores.by_column) == list(SCHEMA.names)
    assert scores.columns == pytest.approx(np.mean(list(scores.by_column.values())))
    assert scores.pairs == pytest.approx(np.mean([one["score"] for one in scores.by_pair]))
    assert scores.overall == pytest.approx((scores.columns + scores.pairs) / 2)
    assert 0 < min(scores.by_column.values()) < 100
    assert (len(scores.by_pair), scores.left_out) == (6, 0)


def test_a_table_is_given_as_a_path_a_frame_or_a_data_set(tmp_path: Path) -> None:
    finished, path = small_release(), write_table(tmp_path)
    from_path = evaluate(finished, path)
    assert evaluate(finished, pd.read_csv(path, keep_default_na=False)) == from_path
    from_codes = evaluate(finished, dataset())
    assert from_codes.weakest is not None
    assert from_codes.weakest.means == ()
    assert replace(from_path, columns={}, weakest=None) == replace(from_codes, weakest=None)


def test_the_weakest_pair_and_mean_are_those_that_a_score_hides() -> None:
    """x and y go together in the table alone. Of the means a is 3.5 sampling errors off, and b, by more per cent, 1.5."""
    x, y, a, b = (
        Attribute(name, AttributeKind.NUMERIC, edges=(0, 1, 2, 9), integer=True) for name in ("x", "y", "a", "b")
    )
    c = Attribute("c", AttributeKind.CATEGORICAL, ("no", "yes"))
    table = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "c": ["no", "no", "yes", "yes"]})
    rows = table.assign(y=[0, 1, 0, 1], c=["no", "yes", "no", "yes"])
    found = weakest(rows, table, c, x, y)
    assert found.words[:2] == (
        "weakest correlation: x x y, 1.00 in the table, 0.00 in the release",
        "weakest dependence (0: none, 1: complete): c x x, 1.00 in the table, 0.00 in the release",
    )
    assert [one["measure"] for one in (*found.correlations, *found.dependences)] == ["correlation", "Cramer's V"]
    table = pd.DataFrame({"a": [1, 1, 1, 5], "b": [0, 0, 0, 8]})
    off, mean = pytest.approx(3 / (3 / 4) ** 0.5), {"column": "a", "real": 2, "synthetic": 5, "percent": 150}
    found = weakest(table.assign(a=5, b=[8, 8, 4, 0]), table, a, b)
    assert found.means == ({**mean, "sampling_errors": off},)
    assert found.words[1] == (
        "weakest mean: a, 2.00 in the table, 5.00 in the release (+150.0 %, 3.5 times its standard error)"
    )
    (found_mean,) = weakest(table.assign(b=[8, 8, 4, 0]), table, a, b).means
    assert (found_mean["column"], found_mean["percent"]) == ("b", 150)


def test_correlations_are_those_of_the_numbers_where_there_are_numbers() -> None:
    """Within the bin from 1 to 9 x and y fall together, and their bins rise together."""
    x, y = (Attribute(name, AttributeKind.NUMERIC, edges=(0, 1, 9), missing="") for name in "xy")
    table = pd.DataFrame({"x": [0.0, 1, 9, None], "y": [0.5, 9, 1, 4]})
    (pair,) = weakest(table.assign(y=[0.5, 1, 9, 4]), table, x, y).correlations
    expected = [np.corrcoef([0, 1, 9], second)[0, 1] for second in ([0.5, 9, 1], [0.5, 1, 9])]
    assert [pair["real"], pair["synthetic"]] == pytest.approx(expected)
    codes = read_table(table, Schema((x, y)))._columns
    coded = PrivateDataset.from_codes(Schema((x, y)), codes)
    (pair,) = weakest(table.assign(y=[0.5, 1, 9, 4]), coded, x, y).correlations
    assert (pair["measure"], pair["real"], pair["synthetic"]) == (
        "correlation of bins",
        pytest.approx(1),
        pytest.approx(1),
    )


def scores_of(found: Evaluation) -> Scores:
    assert found.scores is not None
    return found.scores


def weakest(rows: pd.DataFrame, table: pd.DataFrame | PrivateDataset, *columns: Attribute) -> Weakest:
    found = evaluate(rows, table, schema=Schema(columns)).weakest
    assert found is not None
    return found


def test_real_figures_are_those_of_the_file_whatever_the_reading_makes_of_its_values(tmp_path: Path) -> None:
    """Incomes of 10, 20, 90 and 1,000, and a text, within 0 to 100: clipped, replaced by 50, or not counted at all."""
    income = Attribute("income", AttributeKind.NUMERIC, edges=(0, 50, 100), other=50.0)
    form = "%Y-%m-%d"
    edges = tuple(date_number(text, form) for text in ("2024-01-01", "2025-01-01"))
    day = Attribute("day", AttributeKind.NUMERIC, edges=edges, missing="none", date_format=form)
    schema = Schema((income, day))
    numbers = pd.DataFrame({"income": ["10", "20", "90", "1000"], "day": ["2024-03-01"] * 3 + ["2026-01-01"]})
    rows = pd.DataFrame({"income": [30, 40], "day": ["2024-05-01", "2024-06-01"]})

    def found(table: pd.DataFrame, on_invalid: str) -> Evaluation:
        (tmp_path / "t.csv").write_text(table.to_csv(index=False))
        reading = TableReading(on_invalid=on_invalid)
        return evaluate(rows, tmp_path / "t.csv", schema=schema, reading=reading)

    clipped = found(numbers, "clip")
    assert clipped.columns["income"]["real"]["mean"] == 280
    assert clipped.weakest is not None
    assert clipped.weakest.means[0]["real"] == 280
    assert clipped.changed is not None
    assert clipped.changed["columns"][0] == {
        "column": "income", "values": 1, "real": 280, "counted": 55, "synthetic": 35,
    }  # fmt: skip
    in_words = "1 of 4 values of {} lay outside its range and were counted in its end bins"
    assert clipped.changed["words"] == [
        f"{in_words.format('income')}: mean 280 in the file, 55 as counted, 35 in the release",
        in_words.format("day"),
    ]
    text = pd.concat([numbers, pd.DataFrame({"income": ["much"], "day": ["none"]})])
    replaced = found(text, "other")
    assert replaced.columns["income"]["real"]["mean"] == 280
    assert replaced.changed is not None
    assert replaced.changed["columns"] == [
        {"column": "income", "values": 2, "real": 280, "counted": 44, "synthetic": 35},
        {"column": "day", "values": 1, "real": None, "counted": None, "synthetic": None},
    ]
    both = (found(text, "clip,other").changed or {})["columns"]
    assert [(one["values"], one["real"], one["counted"]) for one in both] == [(2, 280, 54), (1, None, None)]
    dropped = found(text, "drop")
    assert dropped.columns["income"]["real"]["mean"] == 40
    assert (dropped.changed or {})["words"] == ["2 of 5 rows were dropped; these figures exclude them"]
    assert found(numbers[:3], "clip").changed is None


def test_categories_that_were_replaced_are_counted() -> None:
    job = Attribute("job", AttributeKind.CATEGORICAL, ("cook", "rest"), other="rest")
    table = pd.DataFrame({"job": ["cook", "rest", "pilot", "judge", "pilot"]})
    reading = TableReading(on_invalid="other")
    changed = evaluate(
        pd.DataFrame({"job": ["cook"]}), table, schema=Schema((job,)), workload="marginals:1", reading=reading
    ).changed
    assert changed is not None
    assert changed["words"] == ["3 of 5 values of job did not fit and were counted as rest"]
    named = {"column": "job", "values": 3, "real": None, "counted": None, "synthetic": None}
    assert changed["columns"] == [named]


def test_differences_of_ordered_columns_and_shares_within_groups_are_named() -> None:
    """Stays of 5 days become 40, and one without an end is left aside; of 200 yes among b, 50 are left. c has too few rows."""
    form = "%Y-%m-%d"
    edges = tuple(date_number(text, form) for text in ("2024-01-01", "2025-01-01"))
    came, left = (
        Attribute(name, AttributeKind.NUMERIC, edges=edges, missing="", date_format=form) for name in ("came", "left")
    )
    group = Attribute("group", AttributeKind.CATEGORICAL, ("a", "b", "c"))
    answer = Attribute("answer", AttributeKind.CATEGORICAL, ("no", "yes"))
    rule = Rule(ordered(["came", "left"], by="representative"))
    groups = ["a"] * 600 + ["b"] * 200 + ["c"] * 99
    answers = ["no"] * 600 + ["yes"] * 200 + ["yes"] * 99
    table = pd.DataFrame(
        {"came": "2024-03-01", "left": ["2024-03-06"] * 898 + [""], "group": groups, "answer": answers}
    )
    rows = table.assign(left="2024-04-10", answer=["no"] * 600 + ["yes"] * 50 + ["no"] * 150 + ["no"] * 99)
    found = evaluate(rows, table, schema=Schema((came, left, group, answer), rules=(rule,)))
    apart = {"columns": ["came", "left"], "unit": "days", "real": 5, "synthetic": 40}
    assert found.differences == (apart,)
    assert found.weakest is not None
    assert found.weakest.differences == (apart,)
    share = found.weakest.shares[0]
    assert (share["value"], share["group"]) in (
        ({"column": "answer", "value": value}, {"column": "group", "value": "b"}) for value in ("no", "yes")
    )
    assert (share["rows"], abs(share["real"] - share["synthetic"])) == (200, pytest.approx(0.75))
    shares = f"{share['real']:.1%} in the table, {share['synthetic']:.1%} in the release"
    assert [line.partition(";")[0] for line in found.weakest.words[-2:]] == [
        "weakest difference: came to left, 5 days in the table, 40 in the release",
        f"weakest share: answer = {share['value']['value']} among group = b (200 rows), {shares}",
    ]


def test_means_within_groups_are_those_of_the_files_numbers_and_of_large_groups_alone() -> None:
    """Ages of 200 a are 61 and become 21, of 99 c they are 1 and become 9; a group that did not fit counts as b."""
    age = Attribute("age", AttributeKind.NUMERIC, edges=(0, 50, 100), missing="")
    group = Attribute("group", AttributeKind.CATEGORICAL, ("a", "b", "c"), other="b")
    groups = ["a"] * 200 + ["b"] * 500 + ["pilot"] * 100 + ["c"] * 99 + ["a"]
    ages = [61.0] * 200 + [31] * 500 + [40] * 100 + [1] * 99 + [None]
    table = pd.DataFrame({"age": ages, "group": groups})
    rows = table.assign(age=[21.0] * 200 + [31] * 600 + [9] * 100, group=["a"] * 200 + ["b"] * 600 + ["c"] * 100)
    reading = TableReading(on_invalid="other")
    found = evaluate(rows, table, schema=Schema((age, group)), reading=reading).weakest
    assert found is not None
    (worst,) = found.group_means
    spread = np.nanstd(table["age"])
    assert worst == {
        "column": "age",
        "group": {"column": "group", "value": "a"},
        "rows": 200,
        "real": 61,
        "synthetic": 21,
        "spreads": pytest.approx(40 / spread),
    }
    line = "weakest mean within a group: age among group = a (200 rows), 61.0 in the table, 21.0 in the release"
    assert line in found.words
    others = table[table["group"] != "a"]
    (worst,) = weakest(rows[rows["group"] != "a"], others.replace("pilot", "b"), age, group).group_means
    assert (worst["group"]["value"], worst["rows"], worst["real"]) == ("b", 600, 32.5)


@pytest.mark.parametrize("asked", ["marginals:2", "conjunctions:2,count=40,seed=1"])
def test_rows_of_any_origin_are_judged_like_the_records_of_a_release(tmp_path: Path, asked: str) -> None:
    finished, table = small_release(output={"rows": 50}), write_table(tmp_path)
    found = evaluate(finished.to_pandas(), table, schema=SCHEMA, workload=asked)
    as_release = evaluate(finished, table)
    assert scores_of(found).by_column == pytest.approx(scores_of(as_release).by_column)
    assert scores_of(found).overall == pytest.approx(scores_of(as_release).overall)
    if asked == "marginals:2":
        assert found.max_error == pytest.approx(as_release.max_error)
        assert found.marginals is not None
        assert as_release.marginals is not None
        assert found.marginals["mean_distance"] == pytest.approx(as_release.marginals["mean_distance"])
    else:
        assert found.marginals is None
        assert found.queries == 40
    identical = evaluate(table, table, schema=SCHEMA, workload=asked)
    assert (identical.max_error, scores_of(identical).overall) == (0, 100)


def test_what_no_record_of_the_table_has_is_listed_with_a_rule_that_forbids_it() -> None:
    ages = Attribute("age", AttributeKind.NUMERIC, edges=(0, 15, 40), integer=True, missing="")
    jobs = Attribute("job", AttributeKind.CATEGORICAL, ("none", "clerk", "doctor"))
    schema = Schema((ages, jobs, Attribute("ill", AttributeKind.BOOLEAN)))
    table = pd.DataFrame({"age": ["7", "30", "30", ""], "job": ["none", "clerk", "none", "none"], "ill": [0, 1, 1, 1]})
    rows = pd.DataFrame(
        {
            "age": ["7", "7", "", "30", "30"],
            "job": ["clerk", "clerk", "clerk", "doctor", "none"],
            "ill": [0, 0, 1, 1, 1],
        }
    )
    table, rows = (one.astype({"ill": bool}) for one in (table, rows))
    found = evaluate(rows, table, schema=schema).unseen or ()
    said = [(one["columns"], one["values"], round(one["share"], 3)) for one in found]
    assert said == [
        (["age", "job"], ["[0, 15)", "clerk"], 0.4),
        (["job", "ill"], ["clerk", "false"], 0.4),
        (["job"], ["doctor"], 0.2),
        (["age", "job"], ["missing", "clerk"], 0.2),
    ]
    rules = [json.loads(one["rule"]) for one in found]
    declared = Schema.from_json({**schema.to_json(), "rules": rules})
    assert len(declared.rules) == 4
    assert declared.rules[3].describe() == "(age, job) is none of: missing, clerk"
    broken = [broken_rows(read_table(one, declared), declared.circuit()).broken for one in (table, rows)]
    assert broken == [(0, 0, 0, 0), (2, 2, 1, 1)]


def test_rows_without_a_schema_are_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    with pytest.raises(PlanError, match="schema="):
        evaluate(pd.read_csv(table), table)

"""What released values say of the rows beside unrelated columns; with public noise, never by chance."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.prediction import PublicNoise
from dpopt.inference.measured_residuals import MeasuredResiduals, residuals_of_counts
from dpopt.public_random import permutation, public_stream, uniforms
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import residuals_of, subsets_of
from dpopt.releases.descriptions.pair_errors import column_error, compared_errors, mean_errors, rows_for_means
from dpopt.releases.descriptions.readme import README
from dpopt.releases.descriptions.verdict import Note, verdict_of
from dpopt.schema.domains import Domains

Codes = NDArray[np.int32]
ROWS = 5_000


def drawn(name: str, values: int) -> NDArray[np.int64]:
    return (uniforms(public_stream(7, name), ROWS) ** 1.5 * values).astype(np.int64)


def tables() -> dict[str, Codes]:
    """Return made-up tables with dependence between pairs of columns, (rows, d)."""
    a, b, c = drawn("a", 5), drawn("b", 4), drawn("c", 6)
    part = uniforms(public_stream(7, "part"), ROWS)
    found = {
        "functions": [a, b, (a + b) % 4, a // 2],
        "half of the rows copy": [a, np.where(part < 0.5, a, drawn("d", 5)), b, np.where(part > 0.7, b, drawn("e", 4))],
        "a trend": [c, np.clip(c + drawn("f", 4) - 2, 0, 5), a],
        "a rare code": [np.where(part < 0.03, 4, a % 4), np.where(part < 0.03, 3, b % 3), c],
    }
    return {name: np.stack(columns, axis=1).astype(np.int32) for name, columns in found.items()}


def measured(table: Codes, scale: float, most: int | None = None, seed: int = 1) -> MeasuredResiduals:
    """Return counts of all pairs of the table, or of the first of these, with public noise."""
    width, sizes = table.shape[1], table.max(axis=0) + 1
    columns = MarginalSet(domains_of(sizes), np.arange(width, dtype=np.int32)[:, None])
    sets = MarginalSet(columns.domains, np.array(list(combinations(range(width), 2))[:most], dtype=np.int32))
    counts = [np.rint(RecordAnswers(table).on(one, sizes) * ROWS).astype(np.int64) for one in (columns, sets)]
    noisy = PublicNoise(seed).discrete_gaussian(np.concatenate(counts), scale)[columns.number_of_cells :]
    found = residuals_of_counts([(sets, noisy, scale**2)], ROWS, gaussian=True, adaptive=False)
    assert found is not None
    return found


def domains_of(sizes: NDArray[np.integer]) -> Domains:
    attributes = tuple(
        dpopt.Attribute(f"c{place}", dpopt.AttributeKind.CATEGORICAL, tuple(map(str, range(size))))
        for place, size in enumerate(sizes.tolist())
    )
    return Domains.of(dpopt.Schema(attributes), occurring=False)


def shuffled(rows: Codes, seed: int = 1) -> Codes:
    orders = [permutation(public_stream(seed, f"order of {place}"), len(rows)) for place in range(rows.shape[1])]
    return np.stack([column[order] for column, order in zip(rows.T, orders, strict=True)], axis=1)


def compared(found: MeasuredResiduals, rows: Codes, table: Codes) -> dict[str, Any]:
    return compared_errors(found, RecordAnswers(rows), table.max(axis=0) + 1)


def release_of(table: Codes, part: float = 0.8) -> Codes:
    """Return rows of which a part are the table's, and the others are those of unrelated columns."""
    own, others = permutation(public_stream(2, "rows"), ROWS)[: int(part * ROWS)], shuffled(table, 3)
    return np.concatenate([table[own], others[int(part * ROWS) :]])


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("scale", [5.0, 20.0])
def test_shuffling_the_columns_of_a_release_makes_its_verdict_worse(name: str, scale: float) -> None:
    """Better than unrelated columns becomes not better, and the stated error grows to theirs."""
    table = tables()[name]
    found, rows = measured(table, scale), release_of(table)
    before, after = (compared(found, one, table) for one in (rows, shuffled(rows, 5)))
    assert (before["dependence"], before["better"]) == (True, True)
    assert (after["dependence"], after["better"]) == (True, False)
    assert after["release"] > 1.5 * before["release"]
    assert after["release"] == pytest.approx(after["unrelated"], rel=0.1)
    little = (name, scale) == ("a rare code", 20.0)
    assert ("because many are lost and others" in verdict(before).text) == verdict(before).of_run == little
    assert "because they are no better than those of unrelated columns" in verdict(after).text
    assert verdict(after).of_run


def verdict(figures: dict[str, Any], pairs: int = 3, all_pairs: int = 3) -> Note:
    two_way = {"pairs": pairs, "all_pairs": all_pairs, "count_error": 1.0, **figures}
    return verdict_of({"privacy": {"public_size": ROWS}, "records": {}, "accuracy": {"two_way": two_way}})


@pytest.mark.parametrize("scale", [5.0, 20.0, 80.0])
def test_stated_errors_are_those_of_the_table(scale: float) -> None:
    """Of one pair at a time, so that no weights matter. Those of the rows are too large by up to the noise that they follow."""
    for table in tables().values():
        rows = release_of(table)
        for pair in combinations(range(table.shape[1]), 2):
            both, own = table[:, pair], rows[:, pair]
            found, sizes = measured(both, scale), both.max(axis=0) + 1
            stated = compared(found, own, both)
            margins = [np.bincount(column, minlength=size) / ROWS for column, size in zip(own.T, sizes, strict=True)]
            shares = np.outer(*margins).ravel(), *(RecordAnswers(one).on(found.known(2), sizes) for one in (own, both))
            product, released, true = (residuals_of(found.known(2), one) for one in shares)
            unrelated, release = (ROWS * np.sqrt(np.mean((true - one) ** 2)) for one in (product, released))
            assert stated["unrelated"] == pytest.approx(unrelated, rel=0.05, abs=0.6 * scale)
            assert stated["single_counts"] == pytest.approx(scale)
            if unrelated > 3 * scale:
                assert release - 0.3 * scale <= stated["release"] <= release + 0.8 * scale


def test_estimates_of_squared_errors_are_unbiased_over_the_noise() -> None:
    """Exact: noise of +s or -s on each cell of a pair, all 64 signs alike; the rows do not follow it."""
    table = np.repeat(np.array([[0, 0], [1, 1], [1, 2], [0, 2]], dtype=np.int32), [50, 30, 10, 10], axis=0)
    sizes, pairs = (
        np.array([2, 3], dtype=np.int32),
        MarginalSet(domains_of(np.array([2, 3])), np.array([[0, 1]], np.int32)),
    )
    true, scale, squares = RecordAnswers(table).on(pairs, sizes), 0.05, []
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    for sign in signs:
        noisy = residuals_of(pairs, true + scale * sign)
        every, values = subsets_of(pairs)[0], np.concatenate([np.zeros(5), noisy])
        found = MeasuredResiduals(every, values, np.array([1.0, 1.0, scale**2]), 1.0)
        rows = shuffled(table)
        stated = compared_errors(found, RecordAnswers(rows), sizes)
        product = np.outer(np.bincount(rows[:, 0]), np.bincount(rows[:, 1])).ravel() / 1e4
        squares.append(np.sum((noisy - residuals_of(pairs, product)) ** 2) - 2 * scale**2)
        assert stated["unrelated"] == pytest.approx(np.sqrt(max(0.0, squares[-1]) / 6))
    assert np.mean(squares) == pytest.approx(np.sum(residuals_of(pairs, true - product) ** 2))


def test_dependence_of_independent_columns_is_rarely_seen() -> None:
    """100 orders of a skewed table, under little and much noise: the mean is that of PE-2, and 2 deviations are rare.

    Public orders and noise, so that it never fails by chance. About 2.3 % are expected to be beyond, 2 of 100 for each noise;
    more than 8 have a probability of 1e-3 at that rate.
    """
    table, wrong = tables()["a rare code"], dict.fromkeys((2.0, 20.0), 0)
    for number in range(100):
        independent = shuffled(table, 10 + number)
        for scale in wrong:
            stated = compared(measured(independent, scale, seed=number), independent, table)
            wrong[scale] += stated["dependence"]
    assert max(wrong.values()) <= 8
    assert sum(wrong.values()) > 0


def test_a_table_without_dependence_has_its_note() -> None:
    independent = shuffled(tables()["a trend"], 11)
    note = verdict(compared(measured(independent, 50.0, seed=2), independent, independent))
    assert "relationships between columns, because none stands out from noise and sampling" in note.text
    assert note.of_run
    assert note.advice.endswith("fewer columns, a workload of the pairs that matter, or a larger epsilon.")


def test_rows_that_keep_little_say_so() -> None:
    table = tables()["functions"]
    found = measured(table, 20.0)
    none, little, much = (verdict(compared(found, release_of(table, part), table)) for part in (0.0, 0.3, 0.8))
    assert "because they are no better than those of unrelated columns" in none.text
    assert "because many are lost and others are weaker than in the table" in little.text
    assert (none.of_run, little.of_run, much.of_run) == (True, True, False)
    assert "relationships" not in much.text


def test_few_measured_pairs_are_pointed_out() -> None:
    """They are not to be used, and warned of where at most a third was measured."""
    table = tables()["a trend"]
    figures = compared(measured(table, 10.0, most=1), release_of(table), table)
    for pairs, warned in ((1, True), (2, False)):
        found = verdict(figures, pairs)
        assert f"Shares of pairs of values (in {pairs} of 3 pairs of columns): most within" in found.text
        assert found.text.endswith("; pairs of columns that were not measured.")
        assert found.of_run == warned


TWO = pd.DataFrame({"a": ["x", "y"] * 1000, "b": ["x", "y"] * 1000, "c": ["x", "x", "y", "y"] * 500})
SCHEMA = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.CATEGORICAL, ("x", "y")) for name in "abc"))
_PAIRS = "Shares of pairs of values: most within "
_BY_THEOREM = " percentage points with probability 95 %, if the table has n0 records, by its theorem."
_UNKNOWN = "Nothing in this release shows how accurate it is."
_ROUNDS = dpopt.DualQuery(rounds=20, draws=20, step=0.5)
FAMILIES: dict[str, tuple[dict[str, Any], str]] = {
    "residuals": ({"algorithm": "projection", "measure": "residuals"}, _PAIRS),
    "counts": ({"algorithm": "projection", "measure": "counts"}, _PAIRS),
    "selected": ({"algorithm": dpopt.Projection(measure="selected", selections=1)}, "(in 1 of 3 pairs of columns)"),
    "mwem": ({"algorithm": dpopt.MWEM(rounds=30)}, "Shares of pairs of values"),
    "noise": ({"algorithm": "noise"}, _PAIRS),
    "dualquery": ({"algorithm": _ROUNDS}, _UNKNOWN),
    "predicted": ({"algorithm": _ROUNDS, "predict": True}, " points on average, predicted from public data."),
    "fem": ({"algorithm": dpopt.FEM(rounds=4)}, _UNKNOWN),
    "smalldb": ({"algorithm": dpopt.SmallDatabase(records=3), "epsilon": 1}, _BY_THEOREM),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_verdict_of_every_family_is_the_same_everywhere(family: str, tmp_path: Path) -> None:
    """a and b are equal. At epsilon 100 noise has a deviation below 10 of 2,000 rows, so that none of it fails by chance."""
    terms, known = FAMILIES[family]
    asked: dict[str, Any] = {
        "epsilon": 100,
        "delta": 1e-6,
        "n0": 2000,
        "predict": False,
        "out": tmp_path / "out",
        **terms,
    }
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        made = dpopt.release(TWO, SCHEMA, "marginals:2", **asked)
    assert known in made.verdict
    readme = " ".join((tmp_path / "out" / README).read_text(encoding="utf-8").split())
    page = dpopt.report(made)
    assert readme.index(made.verdict) < readme.index("FILES")
    assert page.index(made.verdict) < page.index('<section id="spent">')
    assert repr(made).startswith(f"SyntheticRelease: {made.verdict}\n(")
    assert made.verdict in made._repr_html_()
    assert sum(str(one.message).startswith(made.verdict) for one in raised) == (family == "selected")


BANK = {"columns": 17, "all_columns": 17, "share_error": 0.0057}
PAIRS = {"pairs": 117, "all_pairs": 136, "count_error": 49.0, "release": 54.0, "unrelated": 330.0, "better": True}


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [
        (
            {"two_way": {**PAIRS, "rows_for_means": {"age": 5400.0, "previous": 17000.0, "day": 1900.0}}},
            (
                "Shares of single columns: within 0.57 percentage points. Shares of pairs of values (in 117 of 136 pairs of "
                "columns): most within 0.12 percentage points. Do not use: figures for groups below 2,400 rows; means of "
                "'previous' within groups; other means within groups below 5,400 rows; pairs of columns that were not measured."
            ),
        ),
        (
            {"two_way": {**PAIRS, "pairs": 136, "count_error": 950.0, "release": 100.0}},
            (
                "Shares of single columns: within 0.57 percentage points. Shares of pairs of values: most within 0.23 "
                "percentage points. Do not use: percentages within groups."
            ),
        ),
        (
            {"one_way": {**BANK, "share_error": 0.31}, "two_way": {"pairs": 0, "all_pairs": 136}},
            (
                "Do not use: shares of single columns, which can be off by 31 percentage points; relationships between "
                "columns, because none were measured."
            ),
        ),
        (
            {"one_way": {**BANK, "mean_errors": {"age": 0.1, "day": 0.101, "a": 0.2, "b": 0.3, "c": 0.25}}},
            (
                "Shares of single columns: within 0.57 percentage points. Do not use: means over all rows of 'b', 'c', 'a' and "
                "1 other."
            ),
        ),
        (
            {"one_way": {**BANK, "share_error": 1.31}},
            "Do not use: shares of single columns, which can be off by 100 percentage points.",
        ),
        (
            {"size": {"declared": 45000, "says": "about", "records": 400}},
            "Do not use anything: the declared number of records is wrong, and so are all shares.",
        ),
        (
            {"one_way": None, "predicted": {"mean_error": 0.1, "verdict": "the uniform distribution has ..."}},
            (
                "Trivial answers are predicted to be as accurate. Compare the rows with the table (dpopt evaluate) before "
                "anyone relies on them."
            ),
        ),
    ],
)
def test_the_verdict_follows_from_stated_figures(accuracy: dict[str, Any], said: str) -> None:
    stated = {"privacy": {"public_size": 45000}, "records": {}, "workload": {"queries": 9}}
    assert verdict_of({**stated, "accuracy": {"one_way": BANK, **accuracy}}).text == said


@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_shares_are_within_what_is_stated_of_single_columns(scale: float) -> None:
    """Of rows that follow the table, with public noise; stated errors grow with the noise and with wrong rows."""
    for table in tables().values():
        found, sizes = measured(table, scale), table.max(axis=0) + 1
        columns = found.known(1)
        true, stated = RecordAnswers(table).on(columns, sizes), {}
        for name, rows in (("right", table), ("copies", np.repeat(table[:1], 10, axis=0))):
            stated[name] = column_error(found, RecordAnswers(rows), sizes)
            off = float(np.abs(RecordAnswers(rows).on(columns, sizes) - true).max())
            assert off <= stated[name] + (0 if name == "right" else 3 * scale / ROWS)
        assert column_error(found, None, sizes) <= stated["right"] < stated["copies"]
        assert column_error(found, None, sizes, deviation=ROWS / 10) > column_error(found, None, sizes)


def test_means_need_as_many_rows_as_their_noise_asks_for() -> None:
    """Two bins at 0.5 and 1.5 in equal shares: |v - m| / sd is sqrt(2), so that rows are 10 sqrt(2) s."""
    table = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32), ROWS // 4, axis=0)
    found = measured(table, 30.0)
    number = dpopt.Attribute("number", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2))
    group = dpopt.Attribute("group", dpopt.AttributeKind.CATEGORICAL, ("x", "y"))
    needed = rows_for_means(found, RecordAnswers(table), dpopt.Schema((number, group)))
    assert needed == {"number": pytest.approx(10 * 2**0.5 * found.variances[found.places[0, 1]] ** 0.5, rel=1e-5)}


def test_means_over_all_rows_are_within_what_is_stated_of_them() -> None:
    """Of the measured mean, by its normal law: in 95 % of 400 draws of public noise; a false alarm has probability 1e-4.

    Of 400 independent draws at least 363 are within then, and fewer than that by chance with probability 1e-4; of an error
    stated a tenth too small 92.3 % are within, and fewer than 363 with probability .06; half of it is caught always.
    """
    schema = dpopt.Schema(
        (
            dpopt.Attribute("number", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2, 10, 100), missing=""),
            dpopt.Attribute("group", dpopt.AttributeKind.CATEGORICAL, ("x", "y")),
        )
    )
    shares = np.array([0.4, 0.3, 0.1, 0.02, 0.18])
    codes = np.repeat(np.arange(5, dtype=np.int32), (shares * ROWS).astype(int))
    table = np.stack([codes, codes % 2], axis=1)
    numbers = np.array([0.5, 1.5, 6.0, 55.0])
    off, stated = [], []
    for seed in range(400):
        found = measured(table, 30.0, seed=seed)
        rows = RecordAnswers(table)
        errors = mean_errors(found, rows, schema)
        assert list(errors) == ["number"]
        seen = found.estimates[found.sets.starts[found.places[(0,)]] :][:5] / ROWS + 1 / 5
        own = shares[:4] / shares[:4].sum()
        deviation = float(np.sqrt(own @ (numbers - own @ numbers) ** 2))
        slopes = np.append((numbers - own @ numbers) / shares[:4].sum(), 0.0)
        off.append(float(abs(slopes @ (seen - shares))) / deviation)
        noise = 1.959964 * float(np.sqrt(found.variances[found.places[(0,)]])) / ROWS
        normal = noise * float(np.linalg.norm(slopes - slopes.mean())) / deviation
        stated.append(normal)
        assert errors["number"] == pytest.approx(max(normal, off[-1]), rel=1e-4)
    within = int(np.count_nonzero(np.array(off) <= np.array(stated)))
    assert 363 <= within < 396


MEANS = dpopt.Schema(
    (
        dpopt.Attribute("a", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2, 10)),
        dpopt.Attribute("b", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2, 3, 4, 5), after="a"),
    )
)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("deviation", [0.0, 400.0])
@pytest.mark.parametrize("known", [False, True])
def test_errors_of_means_follow_from_what_was_measured(gaussian: bool, deviation: float, known: bool) -> None:
    """Of columns with noise of their own, of a measured number of records, and of Laplace noise; without rows, too."""
    table = np.stack([drawn("a", 3), drawn("b", 5)], axis=1).astype(np.int32)
    found = replace(measured(table, 60.0), gaussian=gaussian)
    found.variances[found.places[1,]] *= 4
    numbers = {"a": np.array([0.5, 1.5, 6.0]), "b (above a)": np.arange(5) + 0.5}
    stated = mean_errors(found, RecordAnswers(table) if known else None, MEANS, deviation)
    assert list(stated) == list(numbers)
    for place, (name, own) in enumerate(numbers.items()):
        at, size = found.places[place,], own.size
        seen = found.estimates[found.sets.starts[at] :][:size] / ROWS
        share = np.bincount(table[:, place], minlength=size) / ROWS if known else seen + 1 / size
        mean = share @ own
        spread, slopes = np.sqrt(share @ (own - mean) ** 2), own - mean
        noise = np.sqrt(found.variances[at]) * np.linalg.norm(slopes - slopes.mean())
        beyond = 1.959964 if gaussian else -np.log(0.05) / np.sqrt(2)
        off = beyond * np.hypot(noise, deviation * (slopes @ seen)) / ROWS
        moved = abs(slopes @ (share - 1 / size - seen))
        assert stated[name] == pytest.approx(max(off, moved) / spread, rel=1e-4)


@pytest.mark.parametrize("largest", [1e-320, 1e-200, 1.0, 1e160, 1.7e308])
def test_errors_of_means_have_no_unit(largest: float) -> None:
    """Numbers of any size have the same ones; of rows with one number the unit is half of the range."""
    column = dpopt.Attribute("a", dpopt.AttributeKind.NUMERIC, edges=(-largest, 0, largest))
    schema = dpopt.Schema((column, dpopt.Attribute("b", dpopt.AttributeKind.CATEGORICAL, ("x", "y"))))
    table = np.stack([np.arange(ROWS) % 2, np.arange(ROWS) // 2 % 2], axis=1).astype(np.int32)
    found = measured(table, 60.0)
    deviation = 1.959964 * np.sqrt(found.variances[found.places[0,]]) * np.sqrt(2) / ROWS
    noise = float(abs(found.estimates[found.sets.starts[found.places[0,]]])) * 2 / ROWS
    expected = pytest.approx(max(deviation, noise), rel=1e-3)
    assert mean_errors(found, RecordAnswers(table), schema) == {"a": expected}
    one = np.zeros((10, 2), dtype=np.int32)
    assert mean_errors(measured(table, 1.0), RecordAnswers(one), schema)["a"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("table", ["constant", "two rows", "one column"])
def test_small_and_constant_tables_have_their_notes(table: str) -> None:
    columns = (
        TWO[["a"]] if table == "one column" else TWO[:2] if table == "two rows" else TWO.assign(a="x", b="x", c="x")
    )
    schema = dpopt.Schema(SCHEMA.attributes[: columns.shape[1]])
    asked: dict[str, Any] = {
        "epsilon": 1,
        "delta": 1e-6,
        "n0": len(columns),
        "algorithm": "projection",
        "predict": False,
    }
    made = dpopt.release(columns, schema, f"marginals:{min(2, columns.shape[1])}", **asked)
    two_way = made.statement["accuracy"].get("two_way")
    assert (two_way is None) == (table == "one column")
    if two_way is not None:
        assert np.isfinite([one for one in two_way.values() if isinstance(one, float)]).all()


def test_numbers_whose_squares_are_infinite_have_unbounded_intervals(tmp_path: Path) -> None:
    """The release is complete, and nothing warns of an overflow."""
    column = dpopt.Attribute("x", dpopt.AttributeKind.NUMERIC, edges=(-1e160, -1e159, 1e159, 1e160))
    schema = dpopt.Schema((column, dpopt.Attribute("y", dpopt.AttributeKind.CATEGORICAL, ("a", "b"))))
    frame = pd.DataFrame({"x": np.tile([-9e159, 0.0, 9e159, 9e159], 200), "y": np.tile(["a", "b"], 400)})
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "n0": len(frame), "predict": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        made = dpopt.release(frame, schema, out=tmp_path / "out", **asked)
    assert 0 < made.statement["accuracy"]["one_way"]["mean_errors"]["x"] < 0.2
    assert (tmp_path / "out" / README).exists()


def test_a_column_of_one_value_has_no_relationships_to_measure() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 150, "b": ["p", "q"] * 150, "c": ["only"] * 300})
    kinds = [("a", ("x", "y")), ("b", ("p", "q")), ("c", ("only",))]
    attributes = tuple(dpopt.Attribute(name, dpopt.AttributeKind.CATEGORICAL, values=values) for name, values in kinds)
    made = dpopt.release(frame, dpopt.Schema(attributes), epsilon=50, delta=1e-6, n0=300, predict=False)
    found = made.statement["accuracy"]["two_way"]
    assert (found["pairs"], found["all_pairs"]) == (1, 1)

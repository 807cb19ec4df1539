"""What released values say of the rows beside unrelated columns; with public noise, never by chance."""

from __future__ import annotations

import warnings
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
from dpopt.releases.description import described, notes_of
from dpopt.releases.pair_errors import compared_errors
from dpopt.releases.readme import README
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
    texts = [[note.brief for note in notes(one)] for one in (before, after)]
    assert texts[0] == (["little gained over unrelated columns"] if (name, scale) == ("a rare code", 20.0) else [])
    assert texts[1] == ["nothing gained over unrelated columns"]


def notes(figures: dict[str, Any], pairs: int = 3, all_pairs: int = 3) -> list[Any]:
    two_way = {"pairs": pairs, "all_pairs": all_pairs, "count_error": 1.0, **figures}
    return notes_of({"privacy": {}, "records": {}, "accuracy": {"two_way": two_way}})


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
    (note,) = notes(compared(measured(independent, 50.0, seed=2), independent, independent))
    assert note.text.startswith(
        "What was measured of 3 of 3 pairs of columns shows no dependence beyond noise and sampling."
    )
    assert note.text.endswith("fewer columns, a workload of the pairs that matter, or a larger epsilon.")


def test_rows_that_keep_little_say_so() -> None:
    table = tables()["functions"]
    found = measured(table, 20.0)
    kept = {
        part: [note.brief for note in notes(compared(found, release_of(table, part), table))]
        for part in (0.0, 0.3, 0.8)
    }
    assert kept == {
        0.0: ["nothing gained over unrelated columns"],
        0.3: ["little gained over unrelated columns"],
        0.8: [],
    }


def test_few_measured_pairs_are_pointed_out() -> None:
    """Most where the release is worst: rows that gain nothing, from few pairs, have both notes."""
    table = tables()["a trend"]
    figures = compared(measured(table, 10.0, most=1), shuffled(table), table)
    found = [note.brief for note in notes(figures, pairs=1)]
    assert found == ["nothing gained over unrelated columns", "1 of 3 pairs of columns measured"]


TWO = pd.DataFrame({"a": ["x", "y"] * 1000, "b": ["x", "y"] * 1000, "c": ["x", "x", "y", "y"] * 500})
SCHEMA = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.CATEGORICAL, ("x", "y")) for name in "abc"))
FAMILIES: dict[str, tuple[dict[str, Any], str | None]] = {
    "residuals": ({"algorithm": "projection", "measure": "residuals"}, None),
    "counts": ({"algorithm": "projection", "measure": "counts"}, None),
    "selected": ({"algorithm": dpopt.Projection(measure="selected", selections=1)}, "1 of 3 pairs of columns measured"),
    "mwem": ({"algorithm": dpopt.MWEM(rounds=6)}, None),
    "dualquery": ({"algorithm": dpopt.DualQuery(rounds=20, draws=20, step=0.5)}, "no pairs of columns measured"),
    "fem": ({"algorithm": dpopt.FEM(rounds=4)}, "no pairs of columns measured"),
    "smalldb": ({"algorithm": dpopt.SmallDatabase(records=3), "epsilon": 1}, "no pairs of columns measured"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_says_what_its_pairs_are_worth_everywhere(family: str, tmp_path: Path) -> None:
    """a and b are equal. At epsilon 100 noise has a deviation below 10 of 2,000 rows, so that none of it fails by chance."""
    terms, brief = FAMILIES[family]
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
    said = [*(note.text for note in notes_of(made.statement)), *described(made.statement).two_way]
    assert said
    readme = " ".join((tmp_path / "out" / README).read_text(encoding="utf-8").split())
    page = dpopt.report(made)
    assert all(sentence in readme and sentence in page for sentence in said)
    if brief is None:
        assert any(sentence.startswith("These rows are better than unrelated columns") for sentence in said)
    else:
        assert brief in repr(made)
        assert sum(str(one.message) in said for one in raised) == (brief != "no pairs of columns measured")


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


def test_a_column_of_one_value_has_no_relationships_to_measure() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 150, "b": ["p", "q"] * 150, "c": ["only"] * 300})
    kinds = [("a", ("x", "y")), ("b", ("p", "q")), ("c", ("only",))]
    attributes = tuple(dpopt.Attribute(name, dpopt.AttributeKind.CATEGORICAL, values=values) for name, values in kinds)
    made = dpopt.release(frame, dpopt.Schema(attributes), epsilon=50, delta=1e-6, n0=300, predict=False)
    found = made.statement["accuracy"]["two_way"]
    assert (found["pairs"], found["all_pairs"]) == (1, 1)

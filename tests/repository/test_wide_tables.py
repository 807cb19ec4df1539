"""The made-up wide tables of the experiments: the same for ever, filled as they say, dependent where they say."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tests.source_code import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="the experiments are not part of this copy"
)


def test_the_sparse_table_is_the_same_for_ever_and_for_all_threads() -> None:
    from experiments.wide_tables import netflix_shaped

    table = netflix_shaped(1_000, 130, 0.02, seed=3, threads=1)
    other = netflix_shaped(1_000, 130, 0.02, seed=3, threads=3)
    assert np.array_equal(table.starts, other.starts)
    assert np.array_equal(table.listed, other.listed)
    digest = hashlib.sha256(table.starts.astype("<i8").tobytes() + table.listed.astype("<u4").tobytes())
    assert digest.hexdigest()[:16] == "0803e319fb425871"


def test_the_sparse_table_is_filled_as_it_says() -> None:
    """The number of ones is within five standard deviations of what is expected, popularity that of Zipf and Mandelbrot."""
    from experiments.wide_tables import netflix_shaped

    rows, columns, fill = 30_000, 400, 0.012
    table = netflix_shaped(rows, columns, fill)
    lengths = np.diff(table.starts)
    # Activities of records, with a standard deviation of about 2, make up most of what differs from one table to the next.
    assert abs(lengths.sum() / (rows * columns * fill) - 1) < 5 * 2 / np.sqrt(rows)
    middle = lengths[190:210].mean()
    assert 0.5 < lengths[20:40].mean() / middle / ((200 + 10) / (30 + 10)) ** 2 < 1.5
    per_record = np.bincount(table.listed, minlength=rows)
    assert per_record.std() > 1.2 * per_record.mean()


def test_columns_of_one_class_occur_together() -> None:
    """Over all pairs of the 60 most popular columns, the excess over independence has two clearly different sizes."""
    from experiments.wide_tables import netflix_shaped

    table = netflix_shaped(20_000, 60, 0.05)
    dense = np.stack([table.dense(column) for column in range(60)]).astype(np.float64)
    together = dense @ dense.T / 20_000
    alone = dense.mean(axis=1)
    excess = (together / np.outer(alone, alone))[np.triu_indices(60, 1)]
    assert (excess > 1).mean() > 0.9
    assert np.quantile(excess, 0.97) > 1.5 * np.median(excess)


def test_biased_bits_are_the_same_for_ever_and_made_column_by_column() -> None:
    from experiments.wide_tables import biased_bits

    table = biased_bits(1_000, 500_000, seed=5)
    wanted = np.array([0, 499_999, 7, 123_456])
    words = np.zeros((4, 16), dtype=np.uint64)
    table.pack_into(wanted, words)
    assert hashlib.sha256(words.astype("<u8").tobytes()).hexdigest()[:16] == "71de19b8244f7c3b"
    for row, column in zip(words, wanted.tolist(), strict=True):
        assert np.array_equal(
            np.unpackbits(row.view(np.uint8), count=1_000, bitorder="little"), table[column]
        )
        assert not np.unpackbits(row.view(np.uint8), bitorder="little")[1_000:].any()
    assert np.array_equal(table.ones(wanted), [int(table[column].sum()) for column in wanted.tolist()])


def test_biased_bits_have_their_probabilities_which_are_uniform() -> None:
    """Chi-squared over 400 columns, and Kolmogorov's distance of their probabilities, both at a false-alarm rate below 1e-6."""
    from experiments.wide_tables import biased_bits

    table = biased_bits(2_000, 400)
    chosen = np.arange(400)
    chances = table.probabilities(chosen)
    expected = 2_000 * chances
    inside = (expected > 20) & (expected < 1_980)
    squares = (table.ones(chosen) - expected)[inside] ** 2 / (expected * (1 - chances))[inside]
    assert abs(squares.sum() - inside.sum()) < 5.5 * np.sqrt(2 * inside.sum())
    distance = np.abs(np.sort(chances) - np.arange(1, 401) / 400).max()
    assert distance < 2.7 / np.sqrt(400)

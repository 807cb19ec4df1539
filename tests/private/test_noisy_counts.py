from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpopt
from dpopt.private.drafts.scales import in_their_order
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements import noisy_counts as module
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms import noise as drawing
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.domains import Domains
from tests.noises import NoNoise
from tests.scripted import ScriptedNoise
from tests.tiny_measuring import SCHEMA, marginals
from tests.tiny_runs import ADD_REMOVE, Table, dataset_of

TABLE: Table = ((0, 2), (1, 2), (1, 0), (1, 2), (0, 0))
ALL = marginals([1], [0, 1], [1, 0])


def test_cells_are_counted_exactly() -> None:
    counts = exact_counts(dataset_of(SCHEMA, TABLE), ALL)
    assert counts.dtype == np.int64
    assert counts.tolist() == [2, 0, 3, 1, 0, 1, 1, 0, 2, 1, 1, 0, 0, 1, 2]


def test_records_with_codes_that_a_marginal_leaves_out_count_nowhere() -> None:
    """Codes 2 and 0 of b, in this order."""
    counts = np.array([2, 2], dtype=np.int64)
    few = Domains(counts, np.cumsum(counts) - counts, np.array([0, 1, 2, 0], dtype=np.int32))
    data = dataset_of(SCHEMA, (*TABLE, (0, 1)))
    assert exact_counts(data, marginals([0, 1], [0], domains=few)).tolist() == [1, 1, 2, 1, 3, 3]


def test_clauses_count_what_their_cells_count() -> None:
    data = dataset_of(SCHEMA, TABLE)
    workload = parse_workload("marginals:2", SCHEMA)
    assert exact_counts(data, workload.clauses).tolist() == exact_counts(data, marginals([0, 1])).tolist()


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_noise_is_asked_for_once_per_count_with_the_scale_of_the_plan(gaussian: bool) -> None:
    what, noise = Measurement("all", ALL, 4.5, gaussian), NoNoise()
    charge = what.charge(SCHEMA.sizes, ADD_REMOVE)
    answers = with_noise(exact_counts(dataset_of(SCHEMA, TABLE), ALL), what, charge, noise)
    assert noise.events == ["gaussian" if gaussian else "laplace"]
    assert noise.scales == [answers.scale] == [4.5]
    assert answers.values.tolist() == noise.counts[0].tolist()
    assert (answers.name, answers.charge) == ("all", charge)
    assert answers.noise == ("discrete Gaussian" if gaussian else "discrete Laplace")


class Shifted(NoNoise):
    """Adds the scale to every count."""

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return super().discrete_gaussian(counts, scale) + int(scale)


@pytest.mark.parametrize("chunk", [1, 4, 14, 15, 16])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    what, noise = Measurement("all", ALL, 100.0, gaussian=True), Shifted()
    shares: list[float] = []
    data = dataset_of(SCHEMA, TABLE)
    answers = with_noise(
        exact_counts(data, ALL), what, what.charge(SCHEMA.sizes, ADD_REMOVE), noise, progress=shares.append
    )
    assert answers.values.tolist() == (exact_counts(data, ALL) + 100).tolist()
    assert np.concatenate(noise.counts).tolist() == exact_counts(data, ALL).tolist()
    assert len(shares) == len(noise.counts) == -(-15 // chunk)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("gaussian", [False, True])
def test_pieces_in_two_threads_get_noise_of_their_own(gaussian: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,600 counts with scale 1e6 in 8 pieces: two of 8 pieces agree in two places with probability below 1e-6."""
    monkeypatch.setattr(drawing, "PIECE", 200)
    monkeypatch.setattr(drawing, "USUAL", 2)
    data = PrivateDataset.from_codes(SCHEMA, [np.zeros(3, dtype=np.int64)] * 2)
    what = Measurement("many", marginals(*[[0]] * 800), 1e6, gaussian)
    exact, charge = what.exact(data, ADD_REMOVE), what.charge(SCHEMA.sizes, ADD_REMOVE)
    added = (with_noise(exact, what, charge, OpendpNoise()).values - exact).reshape(8, 200)
    for one in range(8):
        for two in range(one):
            assert np.count_nonzero(added[one] == added[two]) < 2
    assert int(np.abs(added).max()) < 10**8  # 100 scales
    assert int(np.abs(added).max()) > 10**6


# Noise.


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_noise_is_whole_and_independent_for_every_count(distribution: str) -> None:
    """64 counts with scale 1000: two runs agree in every count with probability below 1e-60."""
    counts = np.arange(64, dtype=np.int64) * 1_000_000
    add_noise: Callable[[np.ndarray, float], np.ndarray] = getattr(OpendpNoise(), distribution)
    one, two = add_noise(counts, 1000.0), add_noise(counts, 1000.0)
    assert one.dtype == np.int64
    assert one.shape == counts.shape
    assert len(np.unique(one - counts)) > 32
    assert not np.array_equal(one, two)
    assert np.all(np.abs(one - counts) < 100_000)  # 100 scales


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_no_counts_get_no_noise(distribution: str) -> None:
    assert len(getattr(OpendpNoise(), distribution)(np.zeros(0, dtype=np.int64), 1.0)) == 0


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_scripted_noise_does_not_depend_on_the_counts(distribution: str) -> None:
    noise = ScriptedNoise([4, -1])
    for counts in (np.zeros(3, dtype=np.int64), np.array([9, 9, 9])):
        assert getattr(noise, distribution)(counts, 2.0).tolist() == [4, -1, 4]


# Texts that have an order of their own, and the drafts that declare it.

ORDERED = (
    "Strongly disagree|Disagree|Neither agree nor disagree|Agree|Strongly agree",
    "Never|Rarely|Sometimes|Often|Always|Prefer not to say",
    "1 - never|2 - rarely|10 - always",
    "<18|18-24|25-34|65+",
    "less than $25,000|$25,000 to $49,999|$50,000 to $99,999|over $100,000",
    "Jan|Feb|Mar|Apr|May",
    "not_at_all|somewhat|extremely",
    "nie|selten|oft|immer",
    "Very poor|Fair|Very Good|Excellent",
)
UNORDERED = ("red|green|blue", "agree|disagree", "never|often|blue", "2nd|1st|3rd", "1 x|1 y|2 z", "a1|a2|a3")


@pytest.mark.parametrize("words", ORDERED)
def test_answers_of_a_scale_and_numbered_texts_have_an_order(words: str) -> None:
    values = words.split("|")
    found = in_their_order(sorted(values, reverse=True))
    assert found == tuple(values)


@pytest.mark.parametrize("words", UNORDERED)
def test_other_texts_have_none(words: str) -> None:
    assert in_their_order(words.split("|")) is None


def test_drafts_declare_the_order_and_conditions_ask_by_it(tmp_path: Path) -> None:
    answers = ["Never", "Rarely", "Often", "Always"]
    table = pd.DataFrame({"a": answers * 250, "b": ["x", "y", "z", "x"] * 250})
    draft = dpopt.infer_schema(table)
    draft.write(tmp_path / "draft.json")
    a, b = json.loads((tmp_path / "draft.json").read_text(encoding="utf-8"))["attributes"]
    assert a == {"name": "a", "type": "categorical", "values": answers, "ordered": True}
    assert "ordered" not in b
    made = dpopt.release(table, draft.reviewed(), "marginals:1", epsilon=100, predict=False)
    found = dpopt.answer(made, ["share of a >= Often", "share of a < Rarely"])
    assert found.estimate.tolist() == pytest.approx([0.5, 0.25], abs=0.02)
    counted = dpopt.histogram(table, draft.reviewed(), "a", epsilon=100)
    assert counted.answer("Rarely:Often").value == pytest.approx(500, abs=5)


def test_an_ordered_category_keeps_the_order_of_its_type(tmp_path: Path) -> None:
    words: Any = ["small", "large", "huge"]
    table = pd.DataFrame({"a": pd.Categorical(words * 90, categories=words, ordered=True), "b": [1, 2, 3] * 90})
    table.to_parquet(tmp_path / "t.parquet")
    for given in (table, tmp_path / "t.parquet"):
        attribute = dpopt.infer_schema(given).schema.attributes[0]
        assert (list(attribute.values), attribute.ordered, attribute.arrow) == (words, True, "ordered category")

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

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

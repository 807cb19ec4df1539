"""Thresholds and parities from the short form to the evaluated release, and the same again from the transcript."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.release import release
from dpopt.algorithms.replay import differing_files, replay
from tests.algorithms.small_runs import SCHEMA, codes, dataset, plan, write_table
from tests.strategies import naive_truth

WORKLOADS = ["threshold:2of3,count=40,seed=1", "parity:3,count=40,seed=1", "parity:2,count=30"]


@pytest.mark.parametrize("text", WORKLOADS)
def test_a_release_answers_its_queries_and_is_rebuilt_byte_for_byte(tmp_path: Path, text: str) -> None:
    finished = release(
        write_table(tmp_path),
        SCHEMA,
        text,
        out=tmp_path / "out",
        algorithm="dualquery",
        epsilon=1e5,
        delta=1e-6,
        rounds=30,
        draws=20,
        predict=False,
        weights=True,
    )
    predicted = DualQueryAlgorithm().predict(plan(rounds=40, draws=20), finished.job.workload)
    assert predicted.simulated_queries == len(finished.job.workload)
    assert 0 < predicted.mean_error <= predicted.max_error < 0.5
    clauses = finished.job.workload.clauses
    records = np.stack([done.record for done in finished.played])
    assert finished.answers() == pytest.approx(naive_truth(clauses, records).mean(axis=1))
    found = evaluate(tmp_path / "out", dataset())
    exact = naive_truth(finished.job.workload.clauses, codes()).mean(axis=1)
    assert found.max_error == pytest.approx(np.abs(finished.answers() - exact).max())
    assert found.max_error < found.baselines["zeros"]["max_error"] / 2
    for done in finished.played:
        truth = naive_truth(clauses.take(done.sampled.queries), done.record[None, :])[:, 0]
        assert done.certificate.objective == int(done.sampled.counts[truth].sum())
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []

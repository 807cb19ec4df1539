"""Evaluation of a release against its table, beside two trivial baselines. NOT private."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.replay import load
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.files.codec import encode
from dpopt.private.evaluation import ColumnFigures, non_private_errors, numeric_figures
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import check_schema
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers, RecordAnswers, UniformAnswers
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.plan import Encoding
from dpopt.schema.schema import Schema


def evaluate(
    release: SyntheticRelease | str | os.PathLike[str],
    dataset: PrivateDataset,
    *,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Return the errors of a release, of the all-zeros data set and of the uniform distribution, and its columns. NOT private.

    The zeros baseline has one record with the first declared value of every attribute (with indicator bits: no bit set), the
    uniform baseline gives every record of the universe the same weight.

    Returns
    -------
    dict
        "queries", "max_error", "mean_error", "worst_query" (in words), "baselines", "private": False; and "columns": for each
        numeric column, "real" and "synthetic" with "mean", "quartiles" (three numbers) and "missing" (a share). Numbers of the
        table as the schema reads them. Empty for a table of codes, or a release without records of such columns.
    """
    finished = release if isinstance(release, SyntheticRelease) else load(release)
    job = finished.job
    check_schema(dataset, job.schema)
    marginals = None if job.plan.encoding is Encoding.BITS else job.workload.marginals
    queries = job.workload.clauses if marginals is None else marginals
    answers = _answers_on_clauses(finished) if marginals is None else _answers_on_marginals(finished)
    errors = non_private_errors(dataset, queries, answers, progress=progress)
    own = errors["release"]
    return {
        "private": False,
        "note": "NOT private: computed from the exact answers; keep it with the table",
        "queries": own.queries,
        "max_error": own.max_error,
        "mean_error": own.mean_error,
        "worst_query": job.workload.describe(own.worst_query),
        "baselines": {
            name: {"max_error": errors[name].max_error, "mean_error": errors[name].mean_error}
            for name in ("zeros", "uniform")
        },
        "columns": {} if finished.synthetic is None else _columns(finished, dataset),
    }


def _columns(finished: SyntheticRelease, dataset: PrivateDataset) -> dict[str, Any]:
    """Return mean and quartiles of each numeric column, real beside synthetic."""
    own = finished.numbers()
    return {
        name: {"real": encode(real), "synthetic": encode(ColumnFigures.of(*own[name]))}
        for name, real in numeric_figures(dataset).items()
        if name in own
    }


def _answers_on_clauses(finished: SyntheticRelease) -> dict[str, Answers]:
    """Return all answers as arrays; on clauses over bits, where the run was over bits."""
    schema, coded = finished.record_schema, finished.job.record_clauses()
    return {
        "release": finished.answers(),
        "zeros": _answers_on(coded, schema, _zeros(schema)),
        "uniform": uniform_answers(coded, schema.sizes),
    }


def _answers_on_marginals(finished: SyntheticRelease) -> dict[str, Answers]:
    """Return where the answers on cells come from; no cell is written out."""
    rows = finished.job.rows
    released: Answers
    if finished.noisy is not None:
        released = finished.noisy
    elif rows is None:
        records = finished.records
        released = RecordAnswers(records.held, records.multiplicity.astype(np.float64))
    elif isinstance(finished.records.held, BitRecords):
        released = RecordAnswers(finished.records.held.take(finished.records.places(rows)))
    else:
        released = RecordAnswers(finished.records.rows(rows))
    return {
        "release": released,
        "zeros": RecordAnswers(_zeros(finished.record_schema)),
        "uniform": UniformAnswers(),
    }


def uniform_answers(clauses: Clauses, sizes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return each clause's probability, (m,), under the uniform distribution over records: attributes are independent.

    The number of true literals of a clause is a sum of independent indicators with probability 1 / size or 1 - 1 / size; its
    distribution is built up literal by literal and summed over the accepted numbers.
    """
    width = clauses.width
    distribution = np.zeros((len(clauses), width + 1))
    distribution[:, 0] = 1.0
    for position in range(width):
        attributes = clauses.attributes[:, position]
        present = attributes >= 0
        share = 1.0 / sizes[np.where(present, attributes, 0)]
        true = np.where(present, np.where(clauses.signs[:, position], share, 1.0 - share), 0.0)
        distribution[:, 1:] = (
            distribution[:, 1:] * (1.0 - true)[:, None] + distribution[:, :-1] * true[:, None]
        )
        distribution[:, 0] *= 1.0 - true
    accepted = (clauses.accepted[:, None] >> np.arange(width + 1, dtype=np.uint32)) & np.uint32(1)
    return np.asarray((distribution * accepted).sum(axis=1))


def _zeros(schema: Schema) -> NDArray[np.int32]:
    return np.zeros((1, len(schema)), dtype=np.int32)


def _answers_on(clauses: Clauses, schema: Schema, records: NDArray[np.int32]) -> NDArray[np.float64]:
    from dpopt.queries.counting.kernels import shares_on_records

    return shares_on_records(clauses, records, schema.sizes)

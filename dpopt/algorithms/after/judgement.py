"""All that a report for the owner says of a release and its table. NOT private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpopt.algorithms.evaluate import Judged, compare_release, compared_columns, dataset_of
from dpopt.algorithms.evaluation import Evaluation
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.private.evaluation import worst_answers
from dpopt.private.marginal_comparison import NonPrivateMarginal, compare_marginals
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_binary_table import AnyBinaryTable
from dpopt.private.record_comparison import (
    NonPrivateNearness,
    NonPrivatePrediction,
    compare_nearness,
    compare_predictions,
    default_target,
)
from dpopt.private.tables.dataset import PrivateDataset

WORST_QUERIES, WORST_PAIRS = 10, 4
WIDEST_RECORDS = 200
"""Columns beyond which no models are trained and no nearest records searched."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """A release against its table; publishing it would reveal something about records.

    Attributes
    ----------
    queries : list of (str, float, float)
        Those with the largest errors in words, their exact and their released answers.
    """

    evaluation: Evaluation
    """As of `dpopt.evaluate`."""
    columns: Sequence[NonPrivateMarginal]
    pairs: Sequence[NonPrivateMarginal]
    worst_pairs: Sequence[NonPrivateMarginal]
    """All that are compared; the pairs that are furthest off, with their shares. Empty without records."""
    queries: Sequence[tuple[str, float, float]]
    prediction: NonPrivatePrediction | None
    nearness: NonPrivateNearness | None
    left_out: Sequence[str]
    """Why parts are missing, a sentence each."""


def judge(
    finished: SyntheticRelease,
    table: AnyTable | AnyBinaryTable | PrivateDataset,
    *,
    target: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Judgement:
    """Return what the table says of a release.

    Parameters
    ----------
    finished, table
        As for `dpopt.evaluate`.
    target
        Column that models predict; by default the last one of few values.
    """
    schema, job = finished.job.schema, finished.job
    column = default_target(schema) if target is None else schema.index(target)
    progress("reading the table")
    dataset = dataset_of(job, table)
    progress("comparing answers, columns and pairs")
    evaluation, _, pairs = compare_release(finished, dataset)
    judged = Judged.of_release(finished)
    worst = [
        (job.workload.describe(one.query), one.real, one.own)
        for one in worst_answers(dataset, job.workload.queries, judged.answers["release"], number=WORST_QUERIES)
    ]
    if judged.records is None:
        why = "the release holds no records that decode, so that there are no columns, pairs or models to compare"
        return Judgement(evaluation, [], [], [], worst, None, None, [why])
    ones, _ = compared_columns(schema)
    far = sorted(pairs, key=lambda one: -one.distance)[:WORST_PAIRS]
    shown = compare_marginals(dataset, schema, [one.attributes for one in far], judged.records, keep=True)
    columns = compare_marginals(dataset, schema, ones, judged.records, keep=True)
    left_out = []
    if len(ones) < len(schema):
        left_out.append(f"the first {len(ones):,} of {len(schema):,} columns are compared")
    if len(schema) > WIDEST_RECORDS or schema.is_binary:
        left_out.append("the table is too wide for models and for a search for nearest records")
        return Judgement(evaluation, columns, pairs, shown, worst, None, None, left_out)
    records = finished.written.table(weighted=finished.job.rows is None)
    progress("training models")
    prediction = None
    try:
        prediction = compare_predictions(dataset, schema, column, records.codes, records.shares)
        if prediction is None:
            left_out.append(
                f"no model was trained: {schema.attributes[column].name!r} has one value only, is alone, or records "
                f"are few"
            )
    except ImportError:
        left_out.append("no model was trained: scikit-learn is not installed (pip install scikit-learn)")
    progress("searching nearest records")
    nearness = compare_nearness(dataset, schema, records.codes)
    return Judgement(evaluation, columns, pairs, shown, worst, prediction, nearness, left_out)

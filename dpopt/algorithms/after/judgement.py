"""All that a report for the owner says of a release and its table. NOT private."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpopt.algorithms.after.about_target import compare_regression, figures_within_groups
from dpopt.algorithms.evaluate import compare_release, dataset_of, exact_figures
from dpopt.algorithms.evaluation import Evaluation
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.private.evaluation import TableAnswers
from dpopt.private.marginal_comparison import NonPrivateMarginal
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_binary_table import AnyBinaryTable
from dpopt.private.record_comparison import (
    NonPrivatePrediction,
    NonPrivatePropensity,
    compare_predictions,
    compare_propensity,
    default_target,
)
from dpopt.private.tables.dataset import PrivateDataset

WIDEST_RECORDS = 200
"""Columns beyond which no models are trained."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """A release against its table; publishing it would reveal something about records."""

    evaluation: Evaluation
    """As of `dpopt.evaluate`."""
    left_out: Sequence[str]
    """Why parts are missing, a sentence each."""
    columns: Sequence[NonPrivateMarginal] = ()
    pairs: Sequence[NonPrivateMarginal] = ()
    """All that are compared; none without records."""
    prediction: NonPrivatePrediction | None = None
    propensity: NonPrivatePropensity | None = None
    groups: Sequence[Mapping[str, Any]] = ()
    """Means or shares of the target within groups, as of `exact_figures`."""
    regression: Sequence[Mapping[str, Any]] = ()
    """As of `compare_regression`."""


def judge(
    finished: SyntheticRelease,
    table: AnyTable | AnyBinaryTable | PrivateDataset,
    *,
    target: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Judgement:
    """Return the comparison of a release with its table, given as for `dpopt.evaluate`.

    Models predict the column `target`; by default the last one of few values.
    """
    schema, job = finished.job.schema, finished.job
    column = default_target(schema) if target is None else schema.index(target)
    progress("reading the table")
    dataset = dataset_of(job, table)
    progress("comparing answers, columns and pairs")
    evaluation, columns, pairs = compare_release(finished, dataset)
    if not columns:
        why = "the release holds no records that decode, so that there are no columns, pairs or models to compare"
        return Judgement(evaluation, [why])
    left_out = []
    if len(columns) < len(schema):
        left_out.append(f"the first {len(columns):,} of {len(schema):,} columns are compared")
    if len(schema) > WIDEST_RECORDS or schema.is_binary:
        left_out.append("the table is too wide for models")
        return Judgement(evaluation, left_out, columns, pairs)
    records = finished.written.table(weighted=finished.job.rows is None)
    progress("training models")
    prediction = propensity = None
    try:
        prediction = compare_predictions(dataset, schema, column, records.codes, records.shares)
        if prediction is None:
            left_out.append(
                f"no model was trained: {schema.attributes[column].name!r} has one value only, is alone, or records "
                f"are few"
            )
        propensity = compare_propensity(dataset, schema, records.codes, records.shares)
    except ImportError:
        left_out.append("no model was trained: scikit-learn is not installed (pip install scikit-learn)")
    progress("asking about groups")
    answers = TableAnswers(dataset)
    groups = exact_figures(finished, answers, figures_within_groups(finished, schema.names[column]))
    regression = compare_regression(finished, answers, schema.names[column])
    return Judgement(evaluation, left_out, columns, pairs, prediction, propensity, groups, regression)

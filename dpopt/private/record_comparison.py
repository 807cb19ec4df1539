"""Train on synthetic records, test on real ones; and how well a classifier separates the two. NOT private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.private.evaluation import records_in_parts
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema

Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]

MOST_RECORDS = 50_000
"""Records that a model is trained on: rows at equal distances of a larger table."""
MOST_TOLD_APART, _FEWEST, _FOLDS, _PERMUTATIONS = 10_000, 30, 3, 5
_TESTED, _TREES = 0.3, 50
_SCATTER = np.uint64(2_654_435_761)  # 2^32 over the golden ratio
_MOST_CATEGORIES = 255  # of a column that scikit-learn takes as categories


@dataclass(frozen=True, slots=True)
class NonPrivatePrediction:
    """How well a column of real records is predicted by models that were trained on synthetic and on real ones."""

    target: str
    measure: str
    """The unit of the figures."""
    trained: int
    tested: int
    """Real records."""
    synthetic: float
    real: float
    guess: float
    """Trained on synthetic records; on real ones; and by the most frequent value, or the mean, alone."""
    area: float | None = None
    real_area: float | None = None
    """Area under the receiver operating characteristic, where the column has two values among the tested records."""


def default_target(schema: Schema) -> int:
    """Return the position of the last column of 2 to 20 codes that is not numeric, or else of the last one."""
    fitting = [
        place
        for place, column in enumerate(schema.attributes)
        if column.kind is not AttributeKind.NUMERIC and 2 <= column.size <= 20
    ]
    return fitting[-1] if fitting else len(schema) - 1


def compare_predictions(
    dataset: PrivateDataset, schema: Schema, target: int, synthetic: Codes, weights: Numbers
) -> NonPrivatePrediction | None:
    """Return how well a column is predicted from all others: gradient boosting of scikit-learn on the codes of records.

    Of the table 30 % are kept for tests; synthetic records (r, d) count `weights` (r,). None where there are too few
    records, all have the same value of the column, or there is no other column.

    Raises ImportError if scikit-learn is not installed.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  missed before records are read
    from threadpoolctl import threadpool_limits

    records = _sample(dataset, schema, MOST_RECORDS)
    attribute = schema.attributes[target]
    numeric = attribute.kind is AttributeKind.NUMERIC
    if numeric and attribute.missing is not None:
        records = records[records[:, target] != attribute.missing_code]
        known = synthetic[:, target] != attribute.missing_code
        synthetic, weights = synthetic[known], weights[known]
    # Scattered places, the same each time: neighbouring rows may be alike.
    order = np.argsort(np.arange(len(records), dtype=np.uint64) * _SCATTER % 2**32)
    tested, trained = np.split(records[order], [int(_TESTED * len(records))])
    if (
        len(schema) < 2
        or len(tested) == 0
        or any(np.unique(one[:, target]).size < 2 for one in (trained, synthetic[weights > 0]))
    ):
        return None
    with threadpool_limits(1):  # threads that wait for each other on a busy machine take ten times as long
        own = _learned(schema, target, synthetic, weights, tested)
        real = _learned(schema, target, trained, np.ones(len(trained)), tested)
    measure = "R squared" if numeric else "accuracy"
    return NonPrivatePrediction(
        attribute.name, measure, len(trained), len(tested), own[0], real[0], real[1], own[2], real[2]
    )


def _is_category(column: Attribute) -> bool:
    return column.kind is not AttributeKind.NUMERIC and column.size <= _MOST_CATEGORIES


def _learned(
    schema: Schema, target: int, records: Codes, weights: Numbers, tested: Codes
) -> tuple[float, float, float | None]:
    """Return R squared of a model and of the mean alone; or accuracy, that of the most frequent value, and the area."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.metrics import r2_score, roc_auc_score

    attribute, used = schema.attributes[target], [place for place in range(len(schema)) if place != target]
    numeric = attribute.kind is AttributeKind.NUMERIC
    labels = np.array([*attribute.representatives, np.nan]) if numeric else np.arange(attribute.size)
    given, truth = labels[records[:, target]], labels[tested[:, target]]
    categories = [_is_category(schema.attributes[place]) for place in used]
    kind = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
    model = kind(categorical_features=categories, early_stopping=False, max_iter=_TREES, random_state=0)
    model.fit(records[:, used], given, sample_weight=weights)
    found = model.predict(tested[:, used])
    if numeric:
        mean = np.full(len(truth), np.average(given, weights=weights))
        return float(r2_score(truth, found)), float(r2_score(truth, mean)), None
    frequent, values, area = int(np.argmax(np.bincount(given, weights=weights))), np.unique(truth), None
    if values.size == 2 and np.array_equal(model.classes_, values):
        area = float(roc_auc_score(truth == values[1], model.predict_proba(tested[:, used])[:, 1]))
    return float(np.mean(found == truth)), float(np.mean(truth == frequent)), area


@dataclass(frozen=True, slots=True)
class NonPrivatePropensity:
    """How well a classifier tells synthetic records from real ones, by the bins and values of all columns."""

    score: float
    """pMSE: the mean of (p - 1/2)^2, p the probability that a record is synthetic, as of records not trained on; 0 to 1/4."""
    expected: float
    """The same, on average, where nothing tells the two apart: real and synthetic are exchanged at random."""
    spread: float
    """A score under chance lies within this distance of `expected` with probability 95 %, by Student's distribution."""
    area: float
    """The share of pairs of a real and a synthetic record in which the synthetic one gets the larger probability."""
    records: int
    """Of each kind."""


def compare_propensity(
    dataset: PrivateDataset, schema: Schema, synthetic: Codes, weights: Numbers
) -> NonPrivatePropensity | None:
    """Return how well a classifier separates real and synthetic records; None if there are few records.

    Source: Snoke, Raab, Nowok, Dibben and Slavkovic 2018, General and specific utility measures for synthetic data; the
    classifier is gradient boosting, the probabilities are of three folds, the null expectation is of permutations.
    """
    from scipy.special import stdtrit
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.utils import shuffle
    from threadpoolctl import threadpool_limits

    real = _sample(dataset, schema, MOST_TOLD_APART)
    number = len(real)
    if number < _FEWEST:
        return None
    taken = np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(number) + 0.5) / number)
    records, labels = np.concatenate((real, synthetic[taken])), np.repeat([0, 1], number)
    model = HistGradientBoostingClassifier(
        categorical_features=[_is_category(one) for one in schema.attributes], early_stopping=False, max_iter=_TREES
    )
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    every = [labels, *(shuffle(labels, random_state=seed) for seed in range(_PERMUTATIONS))]
    with threadpool_limits(1):
        found = [cross_val_predict(model, records, one, cv=folds, method="predict_proba")[:, 1] for one in every]
    score, *chance = (float(np.mean((one - 0.5) ** 2)) for one in found)
    expected, area = float(np.mean(chance)), float(roc_auc_score(labels, found[0]))
    spread = stdtrit(_PERMUTATIONS - 1, 0.975) * np.std(chance, ddof=1) * np.sqrt(1 + 1 / _PERMUTATIONS)
    return NonPrivatePropensity(score, expected, float(spread), area, number)


def _evenly(number: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` places, at equal distances."""
    return np.arange(min(number, most), dtype=np.int64) * number // max(1, min(number, most))


def _sample(dataset: PrivateDataset, schema: Schema, most: int) -> Codes:
    """Return up to this number of records (n, d), at equal distances."""
    places, first = _evenly(dataset._rows, most), 0
    taken = [np.zeros((0, len(schema)), dtype=np.int32)]
    for part in records_in_parts(dataset, list(range(len(schema))), most):
        inside = slice(*np.searchsorted(places, (first, first + len(part))).tolist())
        taken.append(part[places[inside] - first])
        first += len(part)
    return np.concatenate(taken)

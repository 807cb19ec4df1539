"""Train on synthetic records, test on real ones; and how near synthetic records are to real ones. NOT private."""

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
"""Records that a model is trained on, or that are searched for near ones: rows at equal distances of a larger table."""
_TESTED, _TREES = 0.3, 50
_SCATTER = np.uint64(2_654_435_761)  # 2^32 over the golden ratio
_MOST_CATEGORIES = 255  # of a column that scikit-learn takes as categories
_DISTANCES, _AT_ONCE = 500, 50


@dataclass(frozen=True, slots=True)
class NonPrivatePrediction:
    """How well a column of real records is predicted by models that were trained on synthetic and on real ones."""

    target: str
    measure: str
    """What the figures are."""
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

    Parameters
    ----------
    dataset, schema
        The table, of which 30 % are kept for tests, and its schema.
    synthetic : (r, d) int32
        Codes of synthetic records.
    weights : (r,) float64
        What they count.

    Returns
    -------
    NonPrivatePrediction or None
        None where there are too few records, all have the same value of the column, or there is no other column.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
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
    learn = _regression if numeric else _classification
    with threadpool_limits(1):  # threads that wait for each other on a busy machine take ten times as long
        own = learn(schema, target, synthetic, weights, tested)
        real = learn(schema, target, trained, np.ones(len(trained)), tested)
    measure = "R squared" if numeric else "accuracy"
    return NonPrivatePrediction(
        attribute.name, measure, len(trained), len(tested), own[0], real[0], real[1], own[2], real[2]
    )


def _features(schema: Schema, target: int) -> tuple[list[int], list[bool]]:
    """Return the columns that predict, and which of them are categories."""
    used = [place for place in range(len(schema)) if place != target]
    columns = [schema.attributes[place] for place in used]
    return used, [_is_category(column) for column in columns]


def _is_category(column: Attribute) -> bool:
    return column.kind is not AttributeKind.NUMERIC and column.size <= _MOST_CATEGORIES


def _classification(
    schema: Schema, target: int, records: Codes, weights: Numbers, tested: Codes
) -> tuple[float, float, float | None]:
    """Return accuracy, that of the most frequent value, and the area where there are two values."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    used, categories = _features(schema, target)
    model = HistGradientBoostingClassifier(
        categorical_features=categories, early_stopping=False, max_iter=_TREES, random_state=0
    )
    model.fit(records[:, used], records[:, target], sample_weight=weights)
    truth = tested[:, target]
    accuracy = float(np.mean(model.predict(tested[:, used]) == truth))
    frequent = int(np.argmax(np.bincount(records[:, target], weights=weights)))
    area = None
    values = np.unique(truth)
    if values.size == 2 and np.array_equal(model.classes_, values):
        area = float(roc_auc_score(truth == values[1], model.predict_proba(tested[:, used])[:, 1]))
    return accuracy, float(np.mean(truth == frequent)), area


def _regression(
    schema: Schema, target: int, records: Codes, weights: Numbers, tested: Codes
) -> tuple[float, float, None]:
    """Return R squared of a model, and of the mean alone."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.metrics import r2_score

    used, categories = _features(schema, target)
    numbers = np.array([*schema.attributes[target].representatives, np.nan])
    model = HistGradientBoostingRegressor(
        categorical_features=categories, early_stopping=False, max_iter=_TREES, random_state=0
    )
    model.fit(records[:, used], numbers[records[:, target]], sample_weight=weights)
    truth = numbers[tested[:, target]]
    mean = np.full(len(truth), np.average(numbers[records[:, target]], weights=weights))
    return float(r2_score(truth, model.predict(tested[:, used]))), float(r2_score(truth, mean)), None


@dataclass(frozen=True, slots=True)
class NonPrivateNearness:
    """In how many columns records differ from the nearest real one: shares of sampled records by that number, (d + 1,)."""

    synthetic: tuple[float, ...]
    """Of synthetic records."""
    real: tuple[float, ...]
    """Of real ones, from the nearest other one."""
    searched: int
    """Real records among which the nearest one was looked for."""


def compare_nearness(dataset: PrivateDataset, schema: Schema, synthetic: Codes) -> NonPrivateNearness | None:
    """Return how near synthetic records (r, d), and real ones, are to real ones; None for fewer than two real records."""
    real = _sample(dataset, schema, MOST_RECORDS)
    if len(real) < 2:
        return None
    places = _evenly(len(real), _DISTANCES)
    own = synthetic[_evenly(len(synthetic), _DISTANCES)]
    return NonPrivateNearness(_nearest(own, real, None), _nearest(real[places], real, places), len(real))


def _nearest(records: Codes, real: Codes, places: NDArray[np.int64] | None) -> tuple[float, ...]:
    """Return how often the nearest of the real records differs in so many columns; `places`: which of them records are."""
    least = np.empty(len(records), dtype=np.int64)
    width = records.shape[1]
    for start in range(0, len(records), _AT_ONCE):
        some = records[start : start + _AT_ONCE]
        apart = np.zeros((len(some), len(real)), dtype=np.uint16)
        for column in range(width):
            apart += some[:, column, None] != real[None, :, column]
        if places is not None:
            apart[np.arange(len(some)), places[start : start + len(some)]] = width + 1
        least[start : start + len(some)] = apart.min(axis=1)
    return tuple((np.bincount(least, minlength=width + 1)[: width + 1] / len(records)).tolist())


def _evenly(number: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` places of so many, at equal distances."""
    return np.arange(min(number, most), dtype=np.int64) * number // max(1, min(number, most))


def _sample(dataset: PrivateDataset, schema: Schema, most: int) -> Codes:
    """Return up to so many records (n, d), at equal distances."""
    places, first = _evenly(dataset._rows, most), 0
    taken = [np.zeros((0, len(schema)), dtype=np.int32)]
    for part in records_in_parts(dataset, list(range(len(schema))), most):
        inside = slice(*np.searchsorted(places, (first, first + len(part))).tolist())
        taken.append(part[places[inside] - first])
        first += len(part)
    return np.concatenate(taken)

"""The errors of synthetic records against their table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.one_estimator.methods import Released
from experiments.one_estimator.tables import CLASSES, Marginal, Table, higher

MOST_PAIRS = 300
HIGHER = (4, 5)


def errors(table: Table, marginals: Iterable[Marginal], released: Released) -> dict[str, float]:
    """Return the errors on some marginals.

    Returns
    -------
    dict
        "tv": the mean over marginals of half the sum of absolute differences of shares; "largest" and "mean": those of
        cells, over all cells of all marginals.
    """
    halves, largest, total, cells = [], 0.0, 0.0, 0
    for marginal in marginals:
        differences, size = _differences(table, marginal, released)
        halves.append(float(differences.sum()) / 2)
        largest = max(largest, float(differences.max()))
        total += float(differences.sum())
        cells += size
    return {"tv": float(np.mean(halves)), "largest": largest, "mean": total / cells}


def beside(table: Table, released: Released) -> dict[str, float]:
    """Return what nobody asked for.

    Returns
    -------
    dict
        "tv4" and "tv5": the errors of 64 random marginals of four and five columns; "association": the mean difference of
        Cramer's V over pairs of columns (300 random ones, where there are more); "accuracy": the share of the table's own
        records whose class a logistic regression on the synthetic records predicts.
    """
    found = {
        f"tv{order}": errors(table, marginals, released)["tv"]
        for order in HIGHER
        if (marginals := higher(table, order))
    }
    found["association"] = association(table, released)
    found["accuracy"] = accuracy(table, released)
    return found


def real_accuracy(table: Table) -> tuple[float, float]:
    """Return the accuracy of a regression on the table itself, and that of its most frequent class."""
    classes = table.codes[:, table.names.index(CLASSES[table.name])]
    return accuracy(table, Released(table.codes)), float(np.bincount(classes).max() / len(classes))


def accuracy(table: Table, released: Released) -> float:
    """Return how often a multinomial logistic regression, trained on synthetic records, is right on the table.

    All other columns are used, each value as an indicator. The penalty is half the squared norm of the coefficients, divided
    by the number of the table's records; at most 60 steps of L-BFGS.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    place = table.names.index(CLASSES[table.name])
    others = [column for column in range(len(table.names)) if column != place]
    kinds = int(table.sizes[place])
    train, wanted = _indicators(released.records, table.sizes, others), released.records[:, place]
    shares = _mass(released) / _mass(released).sum()
    target = np.zeros((len(wanted), kinds))
    target[np.arange(len(wanted)), wanted] = shares
    slope = train.T @ target
    penalty = 1.0 / len(table.codes)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(-1, kinds)
        scores = train @ weights
        normal = logsumexp(scores, axis=1)
        value = float(shares @ normal) - float(np.sum(slope * weights)) + penalty / 2 * float(flat @ flat)
        chances = np.exp(scores - normal[:, None]) * shares[:, None]
        return value, (train.T @ chances - slope + penalty * weights).ravel()

    fitted = minimize(
        loss, np.zeros(train.shape[1] * kinds), jac=True, method="L-BFGS-B", options={"maxiter": 60}
    ).x.reshape(-1, kinds)
    guessed = np.argmax(_indicators(table.codes, table.sizes, others) @ fitted, axis=1)
    return float(np.mean(guessed == table.codes[:, place]))


def _indicators(codes: NDArray[np.integer], sizes: NDArray[np.integer], columns: Sequence[int]) -> Any:
    """Return a sparse matrix of one indicator for each value of each column, and a column of ones."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(sizes[list(columns)])])
    held = codes[:, list(columns)] + starts[:-1]
    held = np.concatenate([held, np.full((len(codes), 1), starts[-1])], axis=1)
    rows = np.arange(len(codes) + 1) * held.shape[1]
    return csr_array((np.ones(held.size), held.ravel(), rows), shape=(len(codes), int(starts[-1]) + 1))


def association(table: Table, released: Released) -> float:
    """Return the mean difference of Cramer's V over pairs of columns, 300 random ones where there are more."""
    pairs = np.array(list(itertools.combinations(range(len(table.sizes)), 2)))
    if len(pairs) > MOST_PAIRS:
        pairs = pairs[np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)]
    own = Released(table.codes)
    gaps = [abs(_cramer(table, pair, own) - _cramer(table, pair, released)) for pair in pairs.tolist()]
    return float(np.mean(gaps))


def _cramer(table: Table, pair: Sequence[int], released: Released) -> float:
    """Return Cramer's V of two columns, values that do not occur left out."""
    numbers = _numbers(released.records, table.sizes, pair)
    joint = np.bincount(numbers, _mass(released), table.cells(pair)).reshape(table.sizes[list(pair)])
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0] / joint.sum()
    if min(joint.shape) < 2:
        return 0.0
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(np.sqrt(max(np.sum(joint**2 / product) - 1.0, 0.0) / (min(joint.shape) - 1)))


def _mass(released: Released) -> NDArray[np.float64]:
    return np.ones(len(released.records)) if released.weights is None else released.weights


def _numbers(codes: NDArray[np.integer], sizes: NDArray[np.integer], marginal: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of the cell of each record."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for column in marginal:
        numbers = numbers * int(sizes[column]) + codes[:, column]
    return numbers


def _differences(table: Table, marginal: Marginal, released: Released) -> tuple[NDArray[np.float64], int]:
    """Return the differences of shares, in cells without records perhaps left out, and the number of cells."""
    cells = table.cells(marginal)
    true, made = (_numbers(codes, table.sizes, marginal) for codes in (table.codes, released.records))
    size = cells
    if cells > len(true) + len(made):
        held, places = np.unique(np.concatenate([true, made]), return_inverse=True)
        true, made, size = places[: len(true)], places[len(true) :], len(held)
    mass = _mass(released)
    return np.abs(np.bincount(made, mass, size) / mass.sum() - np.bincount(true, minlength=size) / len(true)), cells

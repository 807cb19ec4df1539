"""Whole releases with their rows: intervals of answers, and those of a bootstrap on the rows as if they were real."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

import dpopt
from dpopt.answers.estimates import RowTables
from dpopt.errors import AccuracyWarning
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.synopses.release_answers import Answering
from experiments.answers_cover.measuring import (
    HELD,
    OF,
    ROWS,
    Tally,
    is_measured,
    plain,
    questions_of,
    tally_of,
    workload_of,
)
from experiments.answers_cover.questions import COUNTS, MEANS, SHARES, by_rows, schema_of
from experiments.experiment import Result
from experiments.one_estimator.tables import Table, load

RESAMPLES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Resampled(RowTables):
    """Marginals of rows that are drawn anew from the rows of a release, as a bootstrap draws them."""

    rng: np.random.Generator

    def table(self, attributes: Any) -> Numbers:
        """Return the marginal of a fresh resample: each question takes one alone."""
        shares = RowTables.table(self, attributes) / self.size
        drawn = self.rng.multinomial(round(self.size), shares.ravel() / shares.sum())
        return np.asarray(drawn.reshape(shares.shape), dtype=np.float64)


def release_of(table: Table, epsilon: float) -> dpopt.SyntheticRelease:
    """Return a whole release of a table, as the defaults make it."""
    schema = schema_of(table.name)
    columns = {
        attribute.name: np.array(attribute.decoded(), dtype=object)[codes]
        for attribute, codes in zip(schema.attributes, table.codes.T, strict=True)
    }
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": min(1e-6, table.delta), "n0": len(table.codes)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return dpopt.release(pd.DataFrame(columns), schema, workload_of(table), predict=False, **terms)


def released(setting: tuple[str, float, int]) -> Result:
    """Return how often intervals of one release held, of answers and of a bootstrap, and the ratio of their widths."""
    name, epsilon, seed = setting
    table, questions, schema = load(name), questions_of(name), schema_of(name)
    answering = Answering.of([release_of(table, epsilon)])
    rows, known_residuals = answering.rows, answering.measured
    if rows is None or not isinstance(known_residuals, MeasuredResiduals):
        raise TypeError(f"{name}: found a release without rows or residuals; expected one of records")
    found: Tally = defaultdict(Counter)
    naive: Tally = defaultdict(Counter)
    widths = defaultdict[str, list[float]](list)
    resampled = Resampled(
        rows.rows, rows.domains, schema.sizes, float(len(table.codes)),
        np.random.default_rng([seed, *name.encode()]),
    )  # fmt: skip
    naively = by_rows(schema, resampled)
    for one in questions:
        known = is_measured(one, known_residuals)
        if known:
            answers = one.answers(answering)
            tally_of(found, one, answers)
        else:
            found[one.of.kind][ROWS] += int(one.large.sum())
        if one.of.kind not in (COUNTS, SHARES, MEANS):
            continue
        drawn = np.array([one.answers(naively).estimates for _ in range(RESAMPLES)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of groups that no row has
            low, high = np.nanquantile(drawn, (0.025, 0.975), axis=0)
        inside = (low <= one.truths) & (one.truths <= high)
        label = one.of.kind if known else f"{one.of.kind}, not measured"
        naive[label][HELD] += int(inside[one.large].sum())
        naive[label][OF] += int(one.large.sum())
        if known:
            own = answers.high - answers.low
            usable = one.large & np.isfinite(own) & (own > 0)
            widths[one.of.kind] += ((high - low)[usable] / own[usable]).tolist()
    return {
        "table": name, "epsilon": epsilon, "seed": seed, "answers": plain(found), "bootstrap": plain(naive),
        "widths": {kind: float(f"{median(ratios):.3g}") for kind, ratios in widths.items() if ratios},
    }  # fmt: skip

"""Errors of small databases on three attributes of Adult, beside noise on every count and its projection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.release import release
from dpopt.private.readers.read_table import read_table
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.tables import data_file

SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 30, 45, 60, 100), integer=True),
        Attribute("sex", AttributeKind.CATEGORICAL, ("Female", "Male")),
        Attribute("income", AttributeKind.CATEGORICAL, ("<=50K", ">50K")),
    )
)
ALGORITHMS = ("smalldb", "noise", "projection")
EPSILONS = (0.01, 0.03, 0.1, 0.3)
QUICK_ROWS = 2_000


def accuracies(runs: int, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the errors of each algorithm at each epsilon of pure differential privacy, means over the runs."""
    table = _made_up() if quick else _adult()
    for epsilon in EPSILONS[2:3] if quick else EPSILONS:
        for algorithm in ALGORITHMS:
            yield _errors(table, epsilon, algorithm, runs, quick=quick)


def _errors(table: pd.DataFrame, epsilon: float, algorithm: str, runs: int, *, quick: bool) -> dict[str, Any]:
    found, seconds = [], []
    records = 4 if quick and algorithm == "smalldb" else None
    settings: dict[str, Any] = {
        "algorithm": algorithm,
        "epsilon": epsilon,
        "accountant": "pure",
        "neighbours": "replace",
        "predict": False,
        "records": records,
    }
    for _ in range(runs):
        start = time.process_time()
        made = release(table, SCHEMA, "marginals:2", **settings)
        seconds.append(time.process_time() - start)
        errors = evaluate(made, read_table(table, SCHEMA))
        found.append((errors.max_error, errors.mean_error))
    largest, mean = np.mean(found, axis=0).tolist()
    plan, proven = made.statement["plan"], made.statement["accuracy"]["proven"]
    return {
        "table": "made up" if quick else "adult, 3 attributes",
        "epsilon": epsilon,
        "algorithm": algorithm,
        "records": plan["records"] if algorithm == "smalldb" else None,
        "proven": None if proven is None else proven.get("bound"),
        "max_error": largest,
        "mean_error": mean,
        "seconds": float(np.mean(seconds)),
    }


def _adult() -> pd.DataFrame:
    return pd.read_csv(data_file("adult/adult-train.csv.gz"))[["age", "sex", "income"]]


def _made_up() -> pd.DataFrame:
    number = np.arange(QUICK_ROWS)
    return pd.DataFrame(
        {
            "age": 20 + number * 7 % 60,
            "sex": np.where(number % 3 > 0, "Male", "Female"),
            "income": np.where(number * 7 % 60 * (number % 3) > 40, ">50K", "<=50K"),
        }
    )

"""Fit records to noisy answers: the record search, then column generation where rounds are asked for."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.columns.column_generation import generate_columns
from dpopt.inference.records.fitted import Fitted
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.record_search import Report, fit_records
from dpopt.inference.records.settings import FitSettings


def fit(
    problem: FitProblem,
    settings: FitSettings,
    *,
    start: NDArray[np.int32] | None = None,
    laws: NDArray[np.float64] | None = None,
    progress: Report | None = None,
) -> Fitted:
    """Return legal records with weights that fit the values of a problem.

    Parameters
    ----------
    problem, settings, start, laws, progress
        As for `fit_records`; with `settings.rounds` above 0 its records, equal ones merged, become weighted ones by column
        generation.

    Raises
    ------
    ProgramError
        As for `fit_records`.
    """
    began = time.perf_counter()
    searched = fit_records(problem, settings, start=start, laws=laws, progress=progress)
    if not settings.rounds:
        return searched
    return generate_columns(
        problem,
        settings,
        searched.records,
        laws=laws,
        progress=progress,
        history=searched.history,
        began=began,
    )

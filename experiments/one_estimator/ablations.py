"""Residuals without one of their parts: each patches the program, so that what a part is worth can be measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from dpopt.models.noise_budgets.residual_allocation import ResidualPrior

_MEASURED = "dpopt.algorithms.measured"
_NO_DISTANCES = {
    f"{_MEASURED}.stages.DISTANCE_SHARE": 1e-6,
    f"{_MEASURED}.known.Known.add_distances": lambda *given: None,
}


def _only(part: float) -> Any:
    """Return what takes this part of the records' answers for every order."""
    return lambda known, records, fresh: np.full(int(known.sets.widths().max()), part)


ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "residuals without distances": _NO_DISTANCES,
    "residuals without a prior": {
        **_NO_DISTANCES,
        "dpopt.models.noise_budgets.residual_allocation.ResidualPrior.public": lambda sets, size: ResidualPrior.nothing(
            sets
        ),
    },
    "residuals without shrunken counts": {f"{_MEASURED}.residuals.best_parts": _only(1.0)},
    "residuals without smoothed records": {f"{_MEASURED}.residuals.best_parts": _only(0.0)},
    "residuals with equal pull": {f"{_MEASURED}.known._LEAST_PULL": 1.0, f"{_MEASURED}.known._MOST_PULL": 1.0},
    "residuals without limits": {f"{_MEASURED}.known.MOST_DEVIATIONS": np.inf},
}
"""By the name of the method: what is put in which place."""


@contextmanager
def ablated(name: str) -> Iterator[None]:
    """Leave a part out for a while."""
    with ExitStack() as stack:
        for place, other in ABLATIONS[name].items():
            stack.enter_context(mock.patch(place, other))
        yield

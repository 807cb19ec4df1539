"""What is good enough without any data: the errors of trivial data sets on the public population of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.binary_simulation import named_part
from dpopt.algorithms.dualquery.simulation import ROWS, simulated_clauses
from dpopt.algorithms.evaluate import uniform_answers
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers, RecordAnswers, UniformAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.population import public_population
from dpopt.releases.public_population.public_choice import permutation, public_stream
from dpopt.releases.public_population.public_table import has_binary_population

BASELINES = ("zeros", "uniform")
MOST_CELLS = 20_000_000
"""Cells of marginals on which the baselines are compared; of more, a public random part of the marginals."""


def public_baselines(
    workload: Workload, *, runs: int = 1, density: float | None = None
) -> dict[str, dict[str, float]]:
    """Return the errors of two data sets that nobody's data enter, on the populations on which plans are simulated.

    They are one record of zeros (of the first declared values) and the uniform distribution over all records. A plan that does
    not beat them is worth nothing, whatever its budget; which plans these are follows from public values alone.

    Returns
    -------
    dict
        "zeros" and "uniform", each with "max_error" and "mean_error", averaged over the populations.
    """
    found = [_on_population(workload, seed, density) for seed in range(1, max(1, runs) + 1)]
    means = np.mean(np.array(found), axis=0).tolist()
    return {
        name: {"max_error": largest, "mean_error": mean}
        for name, (largest, mean) in zip(BASELINES, means, strict=True)
    }


def _on_population(workload: Workload, seed: int, density: float | None) -> list[tuple[float, float]]:
    if has_binary_population(workload, density):
        return _on_binary(workload, seed, density)
    schema = workload.schema
    table = PrivateDataset.from_codes(schema, public_population(schema, ROWS, seed=seed))
    zeros = np.zeros((1, len(schema)), dtype=np.int32)
    answers: dict[str, Answers] = {"zeros": RecordAnswers(zeros), "uniform": UniformAnswers()}
    if workload.marginals is not None:
        errors = non_private_errors(table, _some(workload.marginals), answers)
    else:
        clauses = simulated_clauses(workload)
        answers = {
            "zeros": _truth_of(clauses, zeros[0]),
            "uniform": uniform_answers(clauses, schema.sizes),
        }
        errors = non_private_errors(table, clauses, answers)
    return [(errors[name].max_error, errors[name].mean_error) for name in BASELINES]


def _on_binary(workload: Workload, seed: int, density: float | None) -> list[tuple[float, float]]:
    part = named_part(workload, simulated_clauses(workload), seed, density)
    zeros = np.zeros(len(part.schema), dtype=np.int32)
    answers = (_truth_of(part.clauses, zeros), uniform_answers(part.clauses, part.schema.sizes))
    differences = [np.abs(own - part.answers) for own in answers]
    return [(float(one.max()), float(one.mean())) for one in differences]


def _truth_of(clauses: Clauses, record: NDArray[np.int32]) -> NDArray[np.float64]:
    from dpopt.queries.counting.kernels import satisfied

    return satisfied(clauses, record).astype(np.float64)


def _some(marginals: MarginalSet) -> MarginalSet:
    """Return the marginals, or a public random part of them with few enough cells, of at least one marginal."""
    if marginals.number_of_cells <= MOST_CELLS:
        return marginals
    order = permutation(public_stream(0, "marginals of baselines"), len(marginals))
    few = int(np.searchsorted(np.cumsum(marginals.cells()[order]), MOST_CELLS, side="right"))
    return marginals.take(np.sort(order[: max(1, few)]))


def verdict(
    predicted: Mapping[str, Any], baselines: Mapping[str, Mapping[str, float]], workload: Workload
) -> str | None:
    """Return in words which trivial data set the predicted errors do not beat, and what to do; None if they beat both."""
    binary = workload.schema.is_binary
    names = {
        "zeros": "one record of zeros" if binary else "one record of first values",
        "uniform": "the uniform distribution",
    }
    said = []
    for name in BASELINES:
        own, other = _figures(predicted), _figures(baselines[name])
        shown = f"on the public population, {names[name]} has largest error {other[0]:.2g} and mean error {other[1]:.2g}"
        if other[0] <= own[0] and other[1] <= own[1]:
            said.append(
                f"{shown}: this plan's {own[0]:.2g} and {own[1]:.2g} cannot beat it; {_advice(workload)}"
            )
        elif other[0] <= own[0] or other[1] <= own[1]:
            least = "largest" if other[0] <= own[0] else "mean"
            said.append(
                f"{shown}: it has the smaller {least} error beside this plan's {own[0]:.2g} and {own[1]:.2g}"
            )
    return "; ".join(said) or None


def _figures(errors: Mapping[str, Any]) -> tuple[float, float]:
    return errors["max_error"], errors["mean_error"]


def _advice(workload: Workload) -> str:
    """Return what would help: queries that a trivial data set gets wrong, or less noise."""
    if workload.marginals is None and (workload.schema.sizes == 2).all():
        clauses = workload.clauses
        positive = (clauses.signs & (clauses.values == 1)) | (clauses.attributes < 0)
    else:
        positive = np.zeros(1, dtype=np.bool_)
    if positive.all():
        return "ask signed queries, more popular items, or use a larger budget"
    return "ask fewer or other queries, or use a larger budget"

"""The rows of a release: as many as its output asks for, which answer the workload as the weighted records do.

The rows that are searched are public values of the run, like its weighted records: they are on file before the run
ends, so that a replay reads them and searches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TranscriptError
from dpopt.inference.records.problem import FitProblem, KeptMarginals
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.marginal_set import MarginalSet, some_of
from dpopt.releases.job import Job
from dpopt.releases.kept_records import records_to_json
from dpopt.releases.progress import Progress, stage
from dpopt.releases.records import SyntheticRecords, weighted_records
from dpopt.transcript.journal import Entry

MOST_CELLS = 20_000_000
"""Cells of marginals on which rows are compared; of more, a public random part of the marginals."""
MOST_LITERALS = 2_000_000
"""Literals of clauses; with more, rows are taken by systematic resampling alone."""
FEW = 1_000
"""Fewer rows than one in so many are not searched: wherever they stand, they move no answer by more than a thousandth."""
MOST_CODES = 20_000_000
"""Codes of records that are kept as bits; with more, rows are taken by systematic resampling alone."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """Rows without weights, and their distance from the weighted records."""

    records: SyntheticRecords
    """The distinct rows and how often each is written."""
    statement: Mapping[str, Any] = field(default_factory=dict)
    """Their entry in release.json."""


def choose_rows(
    job: Job,
    weighted: SyntheticRecords,
    on_file: Callable[[Callable[[], Entry]], Entry],
    progress: Progress,
    kept: KeptMarginals | None = None,
) -> ChosenRows:
    """Choose the rows that stand for weighted records, or read them back.

    `on_file` gives the transcript's entry of the rows; where there is none yet, it is made by what it is called with. Rows
    that are searched keep the marginals `kept`.
    """
    from dpopt.inference.records.rounding import codes_of, spared_copies, whole_copies

    number = job.rows or 1
    queries = _compared(job, weighted)
    copies, rest = whole_copies(weighted.multiplicity, number)
    if kept is not None:
        spared = spared_copies(kept, weighted.distinct, copies, number)
        copies, rest = copies - spared, rest + spared * weighted.multiplicity.sum()
    left = number - int(copies.sum())
    if queries is None or not left or not job.searches_rows:
        return ChosenRows(weighted.resampled(number))
    copied = weighted.with_multiplicity(copies)
    if kept is not None:
        kept = kept.beside(kept.counts(copied.distinct, copied.multiplicity), number, left)
    entry = on_file(lambda: _searched(job, queries, weighted.with_multiplicity(rest), left, progress, kept))
    domains = codes_of(weighted.distinct, job.schema.sizes)
    problem = FitProblem(job.schema.sizes, (), job.schema.circuit(), domains)
    rows = weighted_records(entry, problem, as_bits=isinstance(weighted.held, BitRecords))
    if int(rows.multiplicity.sum()) != left:
        raise TranscriptError(
            f"{rows.multiplicity.sum():,} rows are on file beside the whole copies, expected {left:,}; the transcript "
            f"is damaged or belongs to another plan"
        )
    stated = {key: entry.get(key) for key in ("distance_per_query", "least_distance_per_query")}
    if kept is not None:
        stated["rows_outside_bounds"] = kept.outside(kept.counts(rows.distinct, rows.multiplicity), left)
    return ChosenRows(copied.and_(rows), {"rows_chosen": stated})


def _compared(job: Job, weighted: SyntheticRecords) -> MarginalSet | Clauses | None:
    """Return the queries whose answers rows are to keep; None without a search. A function of public values."""
    held = weighted.held
    if isinstance(held, BitRecords) and len(held) * held.width > MOST_CODES:
        return None
    queries = job.workload.queries
    if isinstance(queries, MarginalSet):
        return some_of(queries, MOST_CELLS)
    return queries if queries.attributes.size <= MOST_LITERALS else None


def _searched(
    job: Job,
    queries: MarginalSet | Clauses,
    weighted: SyntheticRecords,
    number: int,
    progress: Progress,
    kept: KeptMarginals | None,
) -> Entry:
    """Search rows that answer as weighted records do; return the transcript's entry of them."""
    from dpopt.inference.records.rounding import least_distance, rows_problem, searched_rows, systematic_multiplicities
    from dpopt.queries.counting.kernels import shares_on_records

    sizes, records = job.schema.sizes, weighted.distinct
    with stage(progress, "choosing rows"):
        problem = rows_problem(queries, records, weighted.multiplicity, sizes, job.schema.circuit(), number)
        problem = replace(problem, kept=kept)
        start = np.repeat(records, systematic_multiplicities(weighted.multiplicity, number), axis=0)
        few = kept is None and FEW * number < (job.rows or 1)
        rows = start if few else searched_rows(problem, start, job.plan.seed)
        wanted = problem.terms[0].values
        differences = number * (shares_on_records(queries, rows, sizes) - wanted)
        distinct, multiplicity = np.unique(rows, axis=0, return_counts=True)
        return {
            "kind": "rows",
            "records": records_to_json(BitRecords.of(distinct) if isinstance(weighted.held, BitRecords) else distinct),
            "multiplicity": multiplicity.tolist(),
            "distance_per_query": _root_mean_square(float(differences @ differences), wanted),
            "least_distance_per_query": _root_mean_square(least_distance(queries, wanted, number), wanted),
        }


def _root_mean_square(squares: float, queries: NDArray[np.float64]) -> float:
    return float(np.sqrt(squares / queries.size))

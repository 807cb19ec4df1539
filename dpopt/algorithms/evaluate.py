"""Evaluation of a release against its table, compared with two trivial baselines. NOT private."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.evaluation import (
    Evaluation,
    Found,
    changed_sheet,
    dependence_sheet,
    difference_off,
    interval_sheet,
    score_sheet,
    unseen_sheet,
    weakest_groups,
    weakest_sheet,
)
from dpopt.algorithms.release import read_again, read_by
from dpopt.algorithms.replay import finished_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.answers.answer import answers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.questions import parse_question
from dpopt.errors import PlanError
from dpopt.files.codec import encode
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.private.engines.open_dataset import MEMORY
from dpopt.private.evaluation import (
    CELLS,
    ColumnFigures,
    NonPrivateNumbers,
    TableAnswers,
    non_private_errors,
    numeric_figures,
)
from dpopt.private.marginal_comparison import NonPrivateMarginal, compare_marginals
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_binary_table import AnyBinaryTable
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.tables.dataset import PrivateDataset, check_schema
from dpopt.queries.associations import PairSums, group_sums
from dpopt.queries.counting.answers import Answers, RecordAnswers, trivial_answers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.folder_files import PLAN
from dpopt.releases.job import Job
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.rules.rule import Ordering
from dpopt.schema.schema import Schema

_DAY = 86400.0
MOST_COLUMNS = 128
"""Columns that scores are computed of, with all their pairs; the first ones of a wider table."""


def evaluate(
    release: SyntheticRelease | AnyTable,
    table: AnyTable | AnyBinaryTable | PrivateDataset,
    *,
    schema: Schema | str | os.PathLike[str] | None = None,
    workload: Workload | str = "marginals:2",
    reading: TableReading | None = None,
    on_invalid: OnInvalid | str | None = None,
    engine: str = "memory",
    progress: Callable[[float], None] | None = None,
) -> Evaluation:
    """Return errors, distances and scores of a release against its table, and of two trivial baselines. NOT private.

    The zeros baseline has one record with the first declared value of every attribute, the uniform baseline gives every
    record of the universe the same weight.

    Parameters
    ----------
    release : SyntheticRelease, path or DataFrame
        A release, or its folder. With `schema`: synthetic rows of any origin, as a DataFrame or a file.
    table : path, DataFrame, sparse matrix, table of bits or PrivateDataset
        The table, read as the release read it. Private.
    schema : Schema or path, optional
        For rows: the declared columns of both.
    workload : Workload or str
        For rows: the queries whose errors are computed. A release has its own.
    reading : TableReading, optional
        How a wide table is read now, in place of how the release read it; for rows, how the table is read.
    on_invalid : OnInvalid or str, optional
        For rows: what happens to what does not fit in the table, in place of what `reading` says.
    engine : str
        Where the table is counted, as for a release.
    progress : callable, optional
        Called with the share of the workload that is done, in (0, 1].

    Returns
    -------
    Evaluation
        Read `Evaluation.words` first: scores hide single bad figures.

    Raises
    ------
    DpoptError
        If the release is none, or the table does not fit it. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> rows = pandas.DataFrame({"smoker": [False, True, True, True]})
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> found = dpopt.evaluate(rows, rows[:2], schema=schema, workload="marginals:1")
    >>> found.marginals["mean_distance"], found.scores.by_column
    (0.25, {'smoker': 75.0})
    """
    if on_invalid is not None:
        if schema is None:
            raise PlanError("on_invalid is for rows, with their schema: a release reads its table as it did before")
        reading = replace(reading or TableReading(), on_invalid=on_invalid)
    if schema is None:
        refuse_swapped(release, table)
        finished = finished_release(release)
        dataset = dataset_of(finished.job, table, reading=reading, engine=engine)
        return compare_release(finished, dataset, progress=progress)[0]
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    judged = Judged.of_rows(cast("AnyTable", release), declared, workload)
    return _compared(judged, _read(table, declared, reading or TableReading(), engine), progress)[0]


Compared = tuple[Evaluation, list[NonPrivateMarginal], list[NonPrivateMarginal]]


def compare_release(
    finished: SyntheticRelease, dataset: PrivateDataset, *, progress: Callable[[float], None] | None = None
) -> Compared:
    """Return the evaluation, and the columns and pairs that it compared; none without records."""
    found, ones, twos = _compared(Judged.of_release(finished), dataset, progress)
    figures = exact_figures(finished, TableAnswers(dataset), finished.figures())
    return replace(found, intervals=interval_sheet(figures)), ones, twos


def exact_figures(
    release: SyntheticRelease, table: TableAnswers, shown: Sequence[dict[Any, Any]]
) -> list[dict[Any, Any]]:
    """Return figures of a release, each with that of its table as counted, "real", and whether it is "held". NOT private."""
    schema = release.job.schema
    domains, size = Domains.of(schema, occurring=False), float(table.records)
    nothing, rows = MeasuredResiduals.nothing(domains, size), RowTables(table, domains, schema.sizes, size)
    asked = [parse_question(text, schema) for text in dict.fromkeys(str(one["question"]) for one in shown)]
    real = [one["estimate"] for each in asked for one in answers_of(each, schema, nothing, rows).answers()]
    return [
        {**one, "real": true, "held": bool(one["low"] - 1e-9 * abs(true) <= true <= one["high"] + 1e-9 * abs(true))}
        for one, true in zip(shown, real, strict=True)
    ]


def _compared(judged: Judged, dataset: PrivateDataset, progress: Callable[[float], None] | None) -> Compared:
    schema, records = judged.schema, judged.records
    check_schema(dataset, schema)
    errors = non_private_errors(dataset, judged.workload.queries, judged.answers, progress=progress)
    own, neighbours, sets = errors["release"], _neighbours(schema), compared_columns(schema)
    of_numbers = {two: names_of(schema, two) for two in sets[1] if records is not None and are_numbers(schema, two)}
    pairs = list(dict.fromkeys([*neighbours, *of_numbers.values()]))
    groups = [] if records is None else group_columns(schema)
    real, figures = numeric_figures(dataset, pairs, groups), judged.figures(pairs, groups)
    columns = {
        name: {"real": encode(one), "synthetic": encode(figures.columns[name])}
        for name, one in real.columns.items()
        if name in figures.columns
    }
    found = Evaluation(
        queries=own.queries,
        max_error=own.max_error,
        mean_error=own.mean_error,
        worst_query=judged.workload.describe(own.worst_query),
        baselines={
            name: {"max_error": errors[name].max_error, "mean_error": errors[name].mean_error}
            for name in ("zeros", "uniform")
        },
        marginals=_distances(judged, own.distances),
        columns=columns,
        changed=changed_sheet(real, columns),
        differences=_differences(schema, neighbours, real, figures),
    )
    if records is None:
        return found, [], []
    known = bool(real.correlations) and bool(figures.correlations)
    first, second = (
        {two: one.correlations[pair] for two, pair in of_numbers.items()} if known else None for one in (real, figures)
    )
    ones, twos = (compare_marginals(dataset, schema, some, records, correlations=(first, second)) for some in sets)
    measure, furthest = "correlation" if known else "correlation of bins", weakest_groups(schema, groups, real, figures)
    found = replace(
        found,
        weakest=weakest_sheet(schema, twos, columns, found.differences, furthest, measure),
        dependence=dependence_sheet(twos),
        scores=score_sheet(schema, ones, twos),
        unseen=unseen_sheet(schema, ones, twos),
    )
    return found, ones, twos


def are_numbers(schema: Schema, places: Sequence[int]) -> bool:
    """Return whether all these columns hold numbers."""
    return all(schema.attributes[place].kind is AttributeKind.NUMERIC for place in places)


def names_of(schema: Schema, places: tuple[int, ...]) -> tuple[str, str]:
    """Return the names of two columns."""
    one, other = (schema.attributes[place].name for place in places)
    return one, other


def dataset_of(
    job: Job,
    table: AnyTable | AnyBinaryTable | PrivateDataset,
    *,
    reading: TableReading | None = None,
    engine: str = "memory",
) -> PrivateDataset:
    """Return the table of a job, read as its run read it; raises as `dpopt.algorithms.release.read_again`."""
    if isinstance(table, PrivateDataset):
        return table
    return read_again(job, table, engine=engine, reading=reading)


def _read(
    table: AnyTable | AnyBinaryTable | PrivateDataset, schema: Schema, how: TableReading, engine: str
) -> PrivateDataset:
    if isinstance(table, PrivateDataset):
        return table
    return read_by(table, schema, how, engine)


def refuse_swapped(release: object, table: object) -> None:
    """Refuse, by PlanError, a table where a release folder is expected, and the folder where the table is."""
    given = [Path(one) if isinstance(one, str | os.PathLike) else None for one in (release, table)]
    if given[0] is not None and given[1] is not None and given[0].is_file() and (given[1] / PLAN).is_file():
        raise PlanError(
            f"the release folder comes first, then the table: {given[1]} {given[0]}; they seem to be swapped"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What is compared with a table: a release, or synthetic rows."""

    schema: Schema
    workload: Workload
    answers: Mapping[str, Answers | TableAnswers]
    records: RecordAnswers | TableAnswers | None
    figures: Callable[[Sequence[tuple[str, str]], Sequence[int]], NonPrivateNumbers]

    @classmethod
    def of_release(cls, finished: SyntheticRelease) -> Judged:
        """Return a release, to be compared on its own workload."""
        workload, records = finished.job.workload, answers_of_records(finished)
        own = finished.answers() if workload.marginals is None or records is None else records
        answers = {"release": own, **trivial_answers(workload.queries, workload.schema.sizes)}
        return cls(finished.job.schema, workload, answers, records, partial(figures_of_records, finished))

    @classmethod
    def of_rows(cls, rows: AnyTable, schema: Schema, asked: Workload | str) -> Judged:
        """Return synthetic rows of any origin, to be compared on a workload."""
        workload = parse_workload(asked, schema) if isinstance(asked, str) else asked
        own = TableAnswers(_read(rows, schema, TableReading(), MEMORY))
        answers = {"release": own, **trivial_answers(workload.queries, schema.sizes)}
        return cls(schema, workload, answers, own, partial(numeric_figures, own.dataset))


def figures_of_records(
    finished: SyntheticRelease, pairs: Sequence[tuple[str, str]], groups: Sequence[int] = ()
) -> NonPrivateNumbers:
    """Return figures of the numbers of synthetic records as `numeric_figures` those of a table; public values."""
    numbers = {} if finished.synthetic is None else finished.numbers()
    columns = {name: ColumnFigures.of(*column) for name, column in numbers.items()}
    grouped: dict[str, NDArray[np.float64]] = {}
    if groups and numbers:
        records = finished.written.table(weighted=finished.job.rows is None).codes
        starts = np.cumsum([0, *finished.record_schema.sizes[list(groups)]])
        within = [start + records[:, place] for start, place in zip(starts, groups, strict=False)]
        values, (weights, *_) = zip(*numbers.values(), strict=True)
        grouped = dict(
            zip(numbers, np.moveaxis(group_sums(np.stack(values), weights, within, int(starts[-1])), 1, 0), strict=True)
        )
    if not pairs or not numbers:
        return NonPrivateNumbers(columns=columns, groups=grouped)
    names = list(dict.fromkeys(chain.from_iterable(pairs)))
    schema = finished.job.schema
    asked = [schema.attributes[schema.index(name)] for name in names]
    drawn, shares = zip(*(numbers[one.measured] for one in asked), strict=True)
    sums = PairSums.of(np.stack(drawn), shares[0], np.array([one.edges[0] for one in asked]))
    both = {pair: (names.index(pair[0]), names.index(pair[1])) for pair in pairs}
    return NonPrivateNumbers(
        columns=columns,
        differences={pair: sums.difference(*two) for pair, two in both.items()},
        correlations={pair: sums.correlation(*two) for pair, two in both.items()},
        groups=grouped,
    )


def answers_of_records(finished: SyntheticRelease) -> RecordAnswers | None:
    """Return where the answers of synthetic records come from, as they are written; None without records."""
    if finished.synthetic is None:
        return None
    written = finished.written
    return RecordAnswers(written.held, written.multiplicity.astype(np.float64))


def compared_columns(schema: Schema) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the columns that are compared, and their pairs; those with too many cells are left out."""
    places, sizes = range(min(len(schema), MOST_COLUMNS)), schema.sizes
    return [(place,) for place in places], [
        pair for pair in combinations(places, 2) if int(sizes[pair[0]]) * int(sizes[pair[1]]) <= CELLS
    ]


def group_columns(schema: Schema) -> list[int]:
    """Return the columns within whose values means of numbers are compared; those with too many values are left out."""
    numbers = 0 if schema.is_binary else sum(one.kind is AttributeKind.NUMERIC for one in schema.attributes)
    return [
        place
        for place, one in enumerate(schema.attributes[:MOST_COLUMNS])
        if one.kind is not AttributeKind.NUMERIC and one.size * numbers <= CELLS
    ]


def _distances(judged: Judged, distances: tuple[float, ...]) -> dict[str, Any] | None:
    """Return the total variation distances of a workload of marginals."""
    if not isinstance(judged.workload.queries, MarginalSet):
        return None
    worst = int(np.argmax(distances))
    names = [judged.schema.attributes[place].name for place in judged.workload.queries.attributes_of(worst)]
    return {
        "marginals": len(distances),
        "mean_distance": float(np.mean(distances)),
        "largest_distance": distances[worst],
        "largest_of": names,
    }


def _neighbours(schema: Schema) -> list[tuple[str, str]]:
    """Return the pairs of columns that follow each other in an `ordered` rule."""
    rules = [pairwise(rule.form.attributes) for rule in schema.rules if isinstance(rule.form, Ordering)]
    return list(dict.fromkeys(chain.from_iterable(rules)))


def _differences(
    schema: Schema, neighbours: Sequence[tuple[str, str]], real: NonPrivateNumbers, own: NonPrivateNumbers
) -> tuple[Found, ...]:
    """Return the mean differences within ordered pairs of columns, dates in days; the one that is furthest off first."""
    found = []
    for pair in neighbours:
        mean, synthetic = real.differences.get(pair), own.differences.get(pair)
        if mean is not None and synthetic is not None:
            days = schema.attributes[schema.index(pair[0])].date_format is not None
            both = [number / _DAY for number in (mean, synthetic)] if days else [mean, synthetic]
            unit = "days" if days else None
            found.append({"columns": list(pair), "unit": unit, "real": both[0], "synthetic": both[1]})
    return tuple(sorted(found, key=difference_off, reverse=True))

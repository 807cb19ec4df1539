"""Evaluation of a release against its table, beside two trivial baselines. NOT private."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from math import inf
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.release import read_again, read_by
from dpopt.algorithms.replay import load
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.files.codec import encode
from dpopt.private.engines.open_dataset import MEMORY
from dpopt.private.evaluation import (
    CELLS,
    ColumnFigures,
    NonPrivateNumbers,
    TableAnswers,
    non_private_errors,
    numeric_figures,
)
from dpopt.private.marginal_comparison import (
    MOST_UNSEEN,
    NonPrivateMarginal,
    compare_marginals,
)
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_binary_table import AnyBinaryTable
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import check_schema
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers, RecordAnswers, UniformAnswers, uniform_answers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.folder_files import PLAN
from dpopt.releases.job import Job
from dpopt.releases.plan import Encoding
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.rules.rule import Ordering
from dpopt.schema.schema import Schema

ADVICE = (
    "Tell readers not to rely on figures like these. If they need them, fewer queries beside that pair (--workload), {}or a "
    "larger epsilon keep them better in a next release, which costs privacy again."
)
LOWER_END = "an upper end as low as is publicly known, "
NOTABLE = 2.0
"""Sampling errors that a mean may be off, and be as good as that of another sample of the same population."""
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
    engine: str = "memory",
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Return errors, distances and scores of a release against its table, beside two trivial baselines. NOT private.

    The zeros baseline has one record with the first declared value of every attribute (with indicator bits: no bit set), the
    uniform baseline gives every record of the universe the same weight.

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
    engine : str
        Where the table is counted, as for a release.
    progress : callable, optional
        Called with the share of the workload that is done, in (0, 1].

    Returns
    -------
    dict
        "private": False. "queries", "max_error", "mean_error", "worst_query" (in words), "baselines". "marginals", for a
        workload of marginals: total variation distances, "mean_distance", "largest_distance" and "largest_of" (columns).
        "columns": for each numeric column, "real" and "synthetic" with "mean", "quartiles" (three numbers), "missing" (a share)
        and "sampling" (standard error of the mean); empty for a table of codes. Real numbers are those of the file. "changed",
        None if nothing was: "rows" of the file and those that are "counted", and the "columns" with values that were clipped or
        replaced ("column", "values": how many, and the means "real", "counted", "synthetic"), in "words". "differences": of
        neighbours in an `ordered` rule, "columns", mean of the second less the first "real" and "synthetic", and "unit" (days
        of dates, else None). "weakest": the "pair" whose association is furthest off ("columns", "measure", "real",
        "synthetic"), the "mean" furthest off ("column", "real", "synthetic", "sampling_errors", "percent"), the "difference"
        (the first of "differences"), and the "share" of a "value" in a "group" of at least 100 rows and 1 % of all ("column"
        and "value" of both, "rows", "real", "synthetic"), each None where there is none; all in "words", and an "advice". Read
        them before the scores, which hide single bad figures. "scores", None without records: 0 to 100, as users of SDMetrics
        expect (`dpopt.private.marginal_comparison`): "by_column", "by_pair", their means "columns" and "pairs", the mean of
        these "overall", and how many columns were "left_out". "unseen": the most frequent values and pairs of values of
        synthetic records that no record of the table has, with "columns", "values" in words, "share" of the synthetic records,
        and the "rule" that would forbid them, as a line of a schema: for what is impossible in the world, and never because the
        table lacks it, which a rule would publish.

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
    >>> found["marginals"]["mean_distance"], found["scores"]["by_column"]
    (0.25, {'smoker': 75.0})
    """
    if schema is None:
        refuse_swapped(release, table)
        finished = finished_release(release)
        judged = _Judged.of_release(finished)
        dataset = dataset_of(finished.job, table, reading=reading, engine=engine)
    else:
        declared = schema if isinstance(schema, Schema) else Schema.read(schema)
        judged = _Judged.of_rows(cast("AnyTable", release), declared, workload)
        dataset = _read(table, declared, reading or TableReading(), engine)
    check_schema(dataset, judged.schema)
    errors = non_private_errors(dataset, judged.queries, judged.answers, progress=progress)
    own, pairs = errors["release"], _neighbours(judged.schema)
    real, figures = numeric_figures(dataset, pairs), judged.figures(pairs)
    columns = {
        name: {"real": encode(one), "synthetic": encode(figures.columns[name])}
        for name, one in real.columns.items()
        if name in figures.columns
    }
    differences = _differences(judged.schema, real, figures)
    return {
        "private": False,
        "note": "NOT private: computed from the exact answers; keep it with the table",
        "queries": own.queries,
        "max_error": own.max_error,
        "mean_error": own.mean_error,
        "worst_query": judged.workload.describe(own.worst_query),
        "baselines": {
            name: {"max_error": errors[name].max_error, "mean_error": errors[name].mean_error}
            for name in ("zeros", "uniform")
        },
        "marginals": _distances(judged, own.distances),
        "columns": columns,
        "changed": changed_sheet(real, columns),
        "differences": differences,
        **_compared(judged, dataset, columns, differences),
    }


def finished_release(release: object) -> SyntheticRelease:
    """Return a release as it is, or the one of a folder.

    Raises PlanError if it is neither; TranscriptError, ReleaseFolderError as `dpopt.algorithms.replay.load`.
    """
    if isinstance(release, SyntheticRelease):
        return release
    if isinstance(release, str | os.PathLike):
        return load(release)
    raise PlanError(
        f"found a {type(release).__name__}; expected a release or its folder. Synthetic rows need their schema: "
        "dpopt.evaluate(rows, table, schema=...)"
    )


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
class _Judged:
    """What is compared with a table: a release, or synthetic rows."""

    schema: Schema
    workload: Workload
    queries: Clauses | MarginalSet
    answers: Mapping[str, Answers | TableAnswers]
    records: RecordAnswers | TableAnswers | None
    figures: Callable[[Sequence[tuple[str, str]]], NonPrivateNumbers]

    @classmethod
    def of_release(cls, finished: SyntheticRelease) -> _Judged:
        job = finished.job
        marginals = None if job.plan.encoding is Encoding.BITS else job.workload.marginals
        queries = job.workload.clauses if marginals is None else marginals
        answers = _answers_on_clauses(finished) if marginals is None else _answers_on_marginals(finished)

        def figures(pairs: Sequence[tuple[str, str]]) -> NonPrivateNumbers:
            if finished.synthetic is None:
                return NonPrivateNumbers()
            numbers = finished.numbers()
            apart = {
                (one, other): ColumnFigures.of(numbers[other][0] - numbers[one][0], numbers[one][1]).mean
                for one, other in pairs
                if numbers
            }
            columns = {name: ColumnFigures.of(*column) for name, column in numbers.items()}
            return NonPrivateNumbers(columns=columns, differences=apart)

        records = answers_of_records(finished)
        return cls(job.schema, job.workload, queries, answers, records, figures)

    @classmethod
    def of_rows(cls, rows: AnyTable, schema: Schema, asked: Workload | str) -> _Judged:
        workload = parse_workload(asked, schema) if isinstance(asked, str) else asked
        own = TableAnswers(_read(rows, schema, TableReading(), MEMORY))
        answers: dict[str, Answers | TableAnswers] = {"release": own}
        if workload.marginals is None:
            clauses = workload.clauses
            answers["zeros"] = _answers_on(clauses, schema, _zeros(schema))
            answers["uniform"] = uniform_answers(clauses, schema.sizes)
        else:
            answers |= {"zeros": RecordAnswers(_zeros(schema)), "uniform": UniformAnswers()}
        return cls(
            schema,
            workload,
            workload.queries,
            answers,
            own,
            lambda pairs: numeric_figures(own.dataset, pairs),
        )


def answers_on_workload(
    finished: SyntheticRelease,
) -> tuple[Clauses | MarginalSet, Answers | TableAnswers, RecordAnswers | None]:
    """Return the queries of a release, where its answers come from, and where those of its records do, if it has any."""
    judged = _Judged.of_release(finished)
    return judged.queries, judged.answers["release"], answers_of_records(finished)


def answers_of_records(finished: SyntheticRelease) -> RecordAnswers | None:
    """Return where the answers of synthetic records come from, as they are written; None without records that decode."""
    if finished.synthetic is None or finished.job.plan.encoding is Encoding.BITS:
        return None
    written = finished.written
    return RecordAnswers(written.held, written.multiplicity.astype(np.float64))


def compared_columns(schema: Schema) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the columns that are compared, and their pairs; those with too many cells are left out."""
    places, sizes = range(min(len(schema), MOST_COLUMNS)), schema.sizes
    return [(place,) for place in places], [
        pair for pair in combinations(places, 2) if int(sizes[pair[0]]) * int(sizes[pair[1]]) <= CELLS
    ]


def changed_sheet(numbers: NonPrivateNumbers, columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the reading changed: rows that are not counted, values that were clipped or replaced; None if nothing."""
    found, words = [], []
    ends, others = OnInvalid.CLIP in numbers.repairs, OnInvalid.OTHER in numbers.repairs
    what = "did not fit" if others else "lay outside its range"
    where = " or ".join(["its end bins"] * ends + ["its bucket for what does not fit"] * others)
    for name, (values, counted) in numbers.changed.items():
        own, real = columns.get(name, {}).get("synthetic", {}).get("mean"), numbers.columns.get(name)
        means = {"real": None, "counted": None, "synthetic": own}
        if real is not None:
            means |= {"real": real.mean, "counted": counted}
        found.append({"column": name, "values": values, **means})
        shown = zip(means.values(), ("in the file", "as counted", "in the release"), strict=True)
        said = ", ".join(f"{mean:,.6g} {place}" for mean, place in shown if mean is not None)
        words.append(
            f"{values:,} of {numbers.counted:,} values of {name} {what} and were counted in {where}"
            + (f": mean {said}" if said else "")
        )
    if lost := numbers.rows - numbers.counted:
        words.append(f"{lost:,} of {numbers.rows:,} rows are not counted, and in none of these figures")
    return (
        {"rows": numbers.rows, "counted": numbers.counted, "columns": found, "words": words}
        if words
        else None
    )


def _distances(judged: _Judged, distances: tuple[float, ...]) -> dict[str, Any] | None:
    """Return the total variation distances of a workload of marginals."""
    if not isinstance(judged.queries, MarginalSet):
        return None
    worst = int(np.argmax(distances))
    names = [judged.schema.attributes[place].name for place in judged.queries.attributes_of(worst)]
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


def _differences(schema: Schema, real: NonPrivateNumbers, own: NonPrivateNumbers) -> list[dict[str, Any]]:
    """Return the mean differences within ordered pairs of columns, dates in days; the one that is furthest off first."""
    found = []
    for pair, mean in real.differences.items():
        synthetic = own.differences.get(pair)
        if mean is not None and synthetic is not None:
            days = schema.attributes[schema.index(pair[0])].date_format is not None
            both = [number / _DAY for number in (mean, synthetic)] if days else [mean, synthetic]
            unit = "days" if days else None
            found.append({"columns": list(pair), "unit": unit, "real": both[0], "synthetic": both[1]})
    return sorted(found, key=lambda one: abs(one["synthetic"] - one["real"]) / -max(abs(one["real"]), 1e-9))


def _compared(
    judged: _Judged,
    dataset: PrivateDataset,
    columns: Mapping[str, Any],
    differences: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the weakest figures, scores from 0 to 100 of columns and pairs, and what the table lacks; None without records."""
    if judged.records is None:
        return {"weakest": None, "scores": None, "unseen": None}
    ones, pairs = (
        compare_marginals(dataset, judged.schema, sets, judged.records)
        for sets in compared_columns(judged.schema)
    )
    return {
        "weakest": weakest_sheet(judged.schema, pairs, columns, differences),
        "scores": score_sheet(judged.schema, ones, pairs),
        "unseen": unseen_sheet(judged.schema, ones, pairs),
    }


def unseen_sheet(
    schema: Schema, ones: Sequence[NonPrivateMarginal], pairs: Sequence[NonPrivateMarginal]
) -> list[dict[str, Any]]:
    """Return what most synthetic records have and no record of the table, the most frequent first, with rules against it.

    Pairs with a value that is itself unseen are left to that value.
    """
    alone = {(one.attributes[0], codes[0]) for one in ones for codes, _ in one.unseen}
    found = [
        (share, one.attributes, codes)
        for one in (*ones, *pairs)
        for codes, share in one.unseen
        if len(codes) == 1 or not alone & set(zip(one.attributes, codes, strict=True))
    ]
    return [
        {
            "columns": [schema.attributes[place].name for place in places],
            "values": [
                schema.attributes[place].label(code) for place, code in zip(places, codes, strict=True)
            ],
            "share": share,
            "rule": _rule_against(schema, places, codes),
        }
        for share, places, codes in sorted(found, key=lambda one: -one[0])[:MOST_UNSEEN]
    ]


def _rule_against(schema: Schema, places: Sequence[int], codes: Sequence[int]) -> str:
    """Return the rule that no record has these values, as a line of a schema."""
    attributes = [schema.attributes[place] for place in places]
    values: list[object] = []
    for attribute, code in zip(attributes, codes, strict=True):
        if code == attribute.missing_code:
            values.append(None)
        elif attribute.kind is AttributeKind.NUMERIC:
            values.append(attribute.label(code))
        else:
            values.append(attribute.values[code])
    rule = {"forbidden": [attribute.name for attribute in attributes], "combinations": [values]}
    return json.dumps(rule, ensure_ascii=False)


def weakest_sheet(
    schema: Schema,
    pairs: Sequence[NonPrivateMarginal],
    columns: Mapping[str, Any],
    differences: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the association, mean, difference, and share within a group that are furthest off, real beside synthetic.

    Parameters
    ----------
    pairs
        All that are compared. Correlations count by what they moved, Cramer's V by what it lost: noise about what is rare adds
        to it.
    columns
        Figures of the numeric columns, as of `evaluate`. Of means that are more than `NOTABLE` sampling errors off the one with
        the largest percentage is taken; where there are none, that with the most sampling errors.
    differences
        Mean differences of ordered columns, the one that is furthest off first.
    """
    lost: list[tuple[float, dict[str, Any]]] = []
    for one in pairs:
        numbers = one.correlation is not None and one.own_correlation is not None
        real = one.correlation if numbers else one.association
        own = one.own_correlation if numbers else one.own_association
        if real is not None and own is not None:
            names = [schema.attributes[place].name for place in one.attributes]
            measure = "correlation of bins" if numbers else "Cramer's V"
            both = {"columns": names, "measure": measure, "real": real, "synthetic": own}
            lost.append((abs(real - own) if numbers else real - own, both))
    off: list[tuple[tuple[float, float], dict[str, Any]]] = []
    for name, both in columns.items():
        real, own, sampling = both["real"]["mean"], both["synthetic"]["mean"], both["real"]["sampling"]
        if own is not None and sampling:
            percent = 100 * (own - real) / abs(real) if real else None
            apart = abs(own - real) / sampling
            far = 0.0 if apart <= NOTABLE else inf if percent is None else abs(percent)
            found = {
                "column": name,
                "real": real,
                "synthetic": own,
                "sampling_errors": apart,
                "percent": percent,
            }
            off.append(((far, apart), found))
    pair = max(lost, key=lambda one: one[0])[1] if lost else None
    mean = max(off, key=lambda one: one[0])[1] if off else None
    weakest = {
        "pair": pair,
        "mean": mean,
        "difference": differences[0] if differences else None,
        "share": _share(schema, pairs),
    }
    named = {*(pair["columns"] if pair else []), mean["column"] if mean else None}
    skewed = any(_is_skewed(both["real"]) for name, both in columns.items() if name in named)
    return {
        **weakest,
        "words": _weakest_in_words(weakest),
        "advice": ADVICE.format(LOWER_END if skewed else ""),
    }


def _is_skewed(figures: Mapping[str, Any]) -> bool:
    """Return whether few large numbers decide a mean: it lies beyond the upper quartile, or far from the median."""
    if figures["quartiles"] is None:
        return False
    low, middle, high = figures["quartiles"]
    return bool(figures["mean"] - middle > (high - low) / 4)


def _share(schema: Schema, pairs: Sequence[NonPrivateMarginal]) -> dict[str, Any] | None:
    shares = [(one.attributes, one.share) for one in pairs if one.share is not None]
    if not shares:
        return None
    places, found = max(shares, key=lambda one: abs(one[1].real - one[1].own))
    named = [
        {"column": schema.attributes[place].name, "value": schema.attributes[place].label(code)}
        for place, code in zip(places, found.codes, strict=True)
    ]
    group, value = named if found.group == 0 else named[::-1]
    return {"group": group, "value": value, "rows": found.rows, "real": found.real, "synthetic": found.own}


def _weakest_in_words(weakest: Mapping[str, Any]) -> list[str]:
    words = []
    if (pair := weakest["pair"]) is not None:
        words.append(
            f"weakest pair: {' x '.join(pair['columns'])}, {pair['measure']} {pair['real']:.2f} in the table, "
            f"{pair['synthetic']:.2f} in the release"
        )
    if (mean := weakest["mean"]) is not None:
        percent = "" if mean["percent"] is None else f"{mean['percent']:+.1f} %, "
        words.append(
            f"weakest mean: {mean['column']}, {mean['real']:,.6g} in the table, {mean['synthetic']:,.6g} in the release "
            f"({percent}{mean['sampling_errors']:.1f} times its sampling error)"
        )
    if (apart := weakest["difference"]) is not None:
        unit = "" if apart["unit"] is None else f" {apart['unit']}"
        words.append(
            f"weakest difference: {' to '.join(apart['columns'])}, {apart['real']:,.4g}{unit} in the table, "
            f"{apart['synthetic']:,.4g} in the release"
        )
    if (share := weakest["share"]) is not None:
        value, group = (f"{one['column']} = {one['value']}" for one in (share["value"], share["group"]))
        words.append(
            f"weakest share: {value} among {group} ({share['rows']:,} rows), {share['real']:.1%} in the table, "
            f"{share['synthetic']:.1%} in the release"
        )
    return words


def score_sheet(
    schema: Schema, ones: Sequence[NonPrivateMarginal], pairs: Sequence[NonPrivateMarginal]
) -> dict[str, Any]:
    """Return the scores of columns and pairs, in per cent, and their means."""
    names = [schema.attributes[one.attributes[0]].name for one in ones]
    means = [100 * float(np.mean([one.score for one in some])) for some in (ones, pairs) if some]
    return {
        "overall": float(np.mean(means)),
        "columns": means[0],
        "pairs": means[1] if len(means) > 1 else None,
        "by_column": {name: 100 * one.score for name, one in zip(names, ones, strict=True)},
        "by_pair": [
            {"columns": [names[place] for place in one.attributes], "score": 100 * one.score} for one in pairs
        ],
        "left_out": len(schema) - len(ones),
    }


def _answers_on_clauses(finished: SyntheticRelease) -> dict[str, Answers]:
    """Return all answers as arrays; on clauses over bits, where the run was over bits."""
    schema, coded = finished.record_schema, finished.job.record_clauses()
    return {
        "release": finished.answers(),
        "zeros": _answers_on(coded, schema, _zeros(schema)),
        "uniform": uniform_answers(coded, schema.sizes),
    }


def _answers_on_marginals(finished: SyntheticRelease) -> dict[str, Answers]:
    """Return where the answers on cells come from; no cell is written out."""
    released = cast("Answers", answers_of_records(finished) if finished.noisy is None else finished.noisy)
    return {
        "release": released,
        "zeros": RecordAnswers(_zeros(finished.record_schema)),
        "uniform": UniformAnswers(),
    }


def _zeros(schema: Schema) -> NDArray[np.int32]:
    return np.zeros((1, len(schema)), dtype=np.int32)


def _answers_on(clauses: Clauses, schema: Schema, records: NDArray[np.int32]) -> NDArray[np.float64]:
    from dpopt.queries.counting.kernels import shares_on_records

    return shares_on_records(clauses, records, schema.sizes)

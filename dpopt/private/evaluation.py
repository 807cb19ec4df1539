"""Comparison with the truth: errors of answers, figures of columns, rows that break rules. NOT private.

Errors are for the owner, for demonstrations on public data, and for experiments. Counts of rows that break a rule are
for the owner's terminal only, never stored. Rules are public and synthetic records obey them, whatever the table holds.
Rows that break one are protected too; but the release cannot show what they have in common, and the owner should know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, WorkloadError
from dpopt.private.engines.exact_counts import exact_counts, runs_of
from dpopt.private.engines.streamed_table import readable_again
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.private.tables.dataset import PrivateDataset, Progress, number_of
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers, SparseAnswers, shares_of_cells
from dpopt.queries.marginal_set import MarginalSet, over_named
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

CELLS = 1 << 22  # cells taken together: bounds the temporary arrays; a marginal with more of them is held sparsely


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswers:
    """The answers of a table, or of synthetic rows that were read as one, on this side: as `RecordAnswers`. NOT private."""

    dataset: PrivateDataset

    @property
    def records(self) -> int:
        """How many records are counted."""
        return self.dataset._rows

    def on(self, queries: MarginalSet | Clauses, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the answer on every cell, or clause."""
        return exact_counts(self.dataset, queries) / max(1, self.dataset._rows)

    def sparsely_on(self, marginal: MarginalSet, sizes: NDArray[np.integer]) -> SparseAnswers:
        """Return the answers on the cells of one marginal."""
        return _shares_of(self.dataset, marginal)


def _shares_of(dataset: PrivateDataset, marginal: MarginalSet) -> SparseAnswers:
    """Return the shares of records in the cells of one marginal; of a wide table only the columns it names are made dense."""
    from dpopt.queries.counting.marginal_kernels import cells_of_columns

    named, alone = over_named(marginal, dataset._schema.sizes)
    columns = [dataset._columns[attribute] for attribute in named.tolist()]
    return shares_of_cells(cells_of_columns(alone, columns)[:, 0])


@dataclass(frozen=True, slots=True)
class ErrorSums:
    """Absolute differences seen so far: the largest, its first place, and the sum."""

    largest: float = -1.0
    place: int = 0
    total: float = 0.0

    def add(self, differences: NDArray[np.float64], first: int) -> ErrorSums:
        """Return the sums with the differences of the queries first, first + 1, ..., which follow all earlier ones."""
        worst = int(np.argmax(differences))
        return self.join(float(differences[worst]), first + worst, float(differences.sum()))

    def join(self, largest: float, place: int, total: float) -> ErrorSums:
        """Return the sums with those of queries that follow all earlier ones."""
        if largest > self.largest:
            return ErrorSums(largest, place, self.total + total)
        return ErrorSums(self.largest, self.place, self.total + total)


def marginal_errors(
    dataset: PrivateDataset,
    marginals: MarginalSet,
    answers: Mapping[str, Answers | TableAnswers],
    *,
    progress: Progress | None = None,
) -> tuple[dict[str, ErrorSums], dict[str, NDArray[np.float64]]]:
    """Return the errors of several sets of answers, each with an answer for every cell, in the order of the cells.

    And, by name, half the sum of absolute differences over each marginal, (M,): its total variation distance.

    Small marginals are counted together, into one number per cell. A large one has far more cells than records: there
    the cells that hold a record are enough, all others have one and the same difference. Answers that are an array are
    compared cell by cell in any case; they are as large as that already.
    """
    rows, sizes = dataset._rows, dataset._schema.sizes
    sums = {name: ErrorSums() for name in answers}
    distances = {name: np.empty(len(marginals)) for name in answers}
    for first, last in runs_of(marginals.starts, CELLS):
        begin, end = int(marginals.starts[first]), int(marginals.starts[last])
        group = marginals.take(np.arange(first, last))
        if end - begin <= CELLS:
            exact = exact_counts(dataset, group) / rows
            for name, given in answers.items():
                own = given[begin:end] if isinstance(given, np.ndarray) else given.on(group, sizes)
                apart = np.abs(own - exact)
                sums[name] = sums[name].add(apart, begin)
                distances[name][first:last] = np.add.reduceat(apart, marginals.starts[first:last] - begin) / 2
        else:
            truth = _shares_of(dataset, group)
            for name, given in answers.items():
                before = sums[name].total
                if isinstance(given, np.ndarray):
                    sums[name] = _in_steps(sums[name], truth, given, begin, end)
                else:
                    sums[name] = _sparsely(sums[name], truth, given.sparsely_on(group, sizes), begin, end)
                distances[name][first] = (sums[name].total - before) / 2
        if progress is not None:
            progress(end / marginals.number_of_cells)
    return sums, distances


def _sparsely(sums: ErrorSums, truth: SparseAnswers, own: SparseAnswers, begin: int, end: int) -> ErrorSums:
    """Add the differences on one marginal, whose cells are begin .. end - 1, from the cells that differ from the others."""
    cells = np.union1d(truth.cells, own.cells)
    differences = np.abs(own.at(cells) - truth.at(cells))
    others, elsewhere = end - begin - cells.size, abs(own.elsewhere - truth.elsewhere)
    largest, place = elsewhere, _first_missing(cells)
    if cells.size:
        worst = int(np.argmax(differences))
        here = float(differences[worst])
        if others == 0 or here > elsewhere or (here == elsewhere and cells[worst] < place):
            largest, place = here, int(cells[worst])
    return sums.join(largest, begin + place, float(differences.sum()) + others * elsewhere)


def _in_steps(sums: ErrorSums, truth: SparseAnswers, own: NDArray[np.float64], begin: int, end: int) -> ErrorSums:
    """Add the differences on one marginal, whose cells are begin .. end - 1, from an array of all answers."""
    for start in range(begin, end, CELLS):
        stop = min(start + CELLS, end)
        differences = own[start:stop].astype(np.float64)
        inside = slice(*np.searchsorted(truth.cells, (start - begin, stop - begin)).tolist())
        differences[truth.cells[inside] - (start - begin)] -= truth.values[inside]
        sums = sums.add(np.abs(differences), start)
    return sums


def _first_missing(cells: NDArray[np.int64]) -> int:
    """Return the least number from 0 on that is not among the increasing `cells`."""
    moved = np.flatnonzero(cells != np.arange(cells.size))
    return int(moved[0]) if moved.size else cells.size


@dataclass(frozen=True, slots=True)
class NonPrivateErrors:
    """Errors against the exact answers; publishing them would reveal something about records."""

    queries: int
    """Number of base queries; a negation has the same error."""
    max_error: float
    mean_error: float
    """Largest and mean absolute difference of the answers, which lie in [0, 1]."""
    worst_query: int
    """Position of the query with the largest error; the first one of several."""
    distances: tuple[float, ...] = field(default=(), compare=False)
    """Of a workload of marginals: half the sum of absolute differences over each of them (total variation)."""


def non_private_errors(
    dataset: PrivateDataset,
    queries: Clauses | MarginalSet,
    answers: Mapping[str, Answers | TableAnswers],
    *,
    progress: Progress | None = None,
) -> dict[str, NonPrivateErrors]:
    """Return the errors of several sets of answers against the exact answers of the table.

    Marginals are taken some at a time and never written out. Answers, by name, are an array (m,) of them all, rows that
    were read as a table, or, for marginals, where answers come from.
    """
    if dataset._rows == 0:
        raise PrivateDataError("the table has no records to compare with: no row of it is counted")
    number = number_of(queries)
    for name, given in answers.items():
        if isinstance(given, np.ndarray) and given.shape != (number,):
            raise WorkloadError(
                f"the answers {name!r} have the shape {given.shape}; expected one for each of {number:,} queries"
            )
    if isinstance(queries, MarginalSet):
        sums, distances = marginal_errors(dataset, queries, answers, progress=progress)
    else:
        distances = {name: np.empty(0) for name in answers}
        sums = _clause_errors(dataset, queries, answers, progress=progress)
    return {
        name: NonPrivateErrors(number, held.largest, held.total / number, held.place, tuple(distances[name].tolist()))
        for name, held in sums.items()
    }


def _clause_errors(
    dataset: PrivateDataset,
    clauses: Clauses,
    answers: Mapping[str, Answers | TableAnswers],
    *,
    progress: Progress | None,
) -> dict[str, ErrorSums]:
    exact = exact_counts(dataset, clauses, progress=progress) / dataset._rows
    sizes = dataset._schema.sizes
    arrays = {
        name: given.on(clauses, sizes) if isinstance(given, TableAnswers) else _array(given)
        for name, given in answers.items()
    }
    return {name: ErrorSums().add(np.abs(own - exact), 0) for name, own in arrays.items()}


def _array(given: Answers) -> NDArray[np.float64]:
    if not isinstance(given, np.ndarray):
        raise WorkloadError(
            f"answers on clauses are given as an array, found {type(given).__name__}; that form is for marginals"
        )
    return given


@dataclass(frozen=True, slots=True)
class ColumnFigures:
    """Mean and quartiles of a numeric column."""

    mean: float | None
    """None where every value is missing."""
    quartiles: tuple[float, float, float] | None
    """Shape (float, float, float). The least values that a quarter, half and three quarters of all others do not
    exceed."""
    missing: float
    """Share of missing values."""
    sampling: float | None = None
    """Standard error of the mean: how far it is, typically, from that of the population that the rows are a sample
    of."""

    @classmethod
    def of(cls, values: NDArray[np.float64], weights: NDArray[np.float64]) -> ColumnFigures:
        """Return the figures of values with these weights, (n,) each; NaN is a missing value.

        Examples
        --------
        >>> import numpy as np
        >>> ColumnFigures.of(np.array([4.0, 1.0, np.nan]), np.array([1.0, 2.0, 1.0]))
        ColumnFigures(mean=2.0, quartiles=(1.0, 1.0, 4.0), missing=0.25, sampling=0.816496580927726)
        """
        known = ~np.isnan(values) & (weights > 0)
        total, missing = float(weights[known].sum()), float(weights[np.isnan(values)].sum())
        if total == 0.0:
            return cls(None, None, 1.0)
        order = np.argsort(values[known], kind="stable")
        ordered, upto = values[known][order], np.cumsum(weights[known][order])
        places = np.searchsorted(upto, np.array([0.25, 0.5, 0.75]) * upto[-1] * (1 - 1e-12))
        first, middle, third = ordered[places].tolist()
        mean = float(np.average(values[known], weights=weights[known]))
        apart = values[known] - mean
        largest = float(np.abs(apart).max()) or 1.0  # taken out first, so that no square overflows
        deviation = largest * sqrt(float(np.average((apart / largest) ** 2, weights=weights[known])) / total)
        return cls(mean, (first, middle, third), missing / (total + missing), deviation)


@dataclass(frozen=True, slots=True)
class NonPrivateNumbers:
    """The numbers of a table's columns, as its file has them; publishing them would reveal something about records."""

    rows: int = 0
    counted: int = 0
    """Rows of the table, and those of them that are counted."""
    repairs: OnInvalid = OnInvalid.ERROR
    """How values that do not fit the schema were counted."""
    columns: Mapping[str, ColumnFigures] = field(default_factory=dict)
    """Of each numeric column, dates left aside: its figures in the file. Lengths are named as `Attribute.measured`
    says."""
    changed: Mapping[str, tuple[int, float | str | None]] = field(default_factory=dict)
    """Of each column with values that were clipped or replaced, dates included: how many, and the mean as counted, or
    as which value others than numbers are counted."""
    differences: Mapping[tuple[str, str], float | None] = field(default_factory=dict)
    correlations: Mapping[tuple[str, str], float | None] = field(default_factory=dict)
    """Of pairs of columns that were asked for: the mean of the second less the first, and Pearson's correlation, over
    records that have both."""
    groups: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Of each column as in `columns`, where groups were asked for: (2, g), how many records of each value of the
    grouping columns, one column after another, have a number, and the sums of the numbers."""


def numeric_figures(
    dataset: PrivateDataset, pairs: Sequence[tuple[str, str]] = (), groups: Sequence[int] = ()
) -> NonPrivateNumbers:
    """Return mean and quartiles of each numeric column of a table: exact, not private, for the owner only.

    Numbers are those of the file, whatever the reading makes of them. Nothing is returned for records that were given
    as codes. Of `pairs` of names of numeric columns the mean difference and the correlation are asked for, of `groups`,
    positions of other columns, the sums of all numbers within their values.
    """
    again = readable_again(dataset)
    if again is None:
        return NonPrivateNumbers()
    attributes, replaces = dataset._schema.attributes, OnInvalid.OTHER in again._source.how.repairs
    numeric = [place for place, attribute in enumerate(attributes) if attribute.kind is AttributeKind.NUMERIC]
    others = [place for place in range(len(attributes)) if replaces and place not in set(numeric)] or (
        list(groups) if numeric else []
    )
    if not numeric and not others:
        return NonPrivateNumbers()
    names = [attributes[place].name for place in numeric]
    joint = [names.index(name) for name in dict.fromkeys(name for pair in pairs for name in pair)]
    within = [others.index(place) for place in groups] if numeric else []
    held, replaced, sums, grouped = again._numbers(numeric, others, joint, within)
    columns: dict[str, ColumnFigures] = {}
    changed: dict[str, tuple[int, float | str | None]] = {}
    for place, ((file, counted), numbers) in zip(numeric, held, strict=True):
        name = attributes[place].measured
        weights = numbers.astype(np.float64)
        figures = ColumnFigures.of(np.where(np.isfinite(file), file, np.nan), weights)
        moved = int(numbers[(file != counted) & ~(np.isnan(file) & np.isnan(counted))].sum())
        if attributes[place].date_format is None:
            columns[name] = figures
        if moved:
            changed[name] = moved, ColumnFigures.of(counted, weights).mean
    for place, moved in zip(others, replaced, strict=True):
        if moved and (code := attributes[place].other_code) is not None:
            changed[attributes[place].name] = moved, attributes[place].label(code)
    places = {names[place]: number for number, place in enumerate(joint)}
    both = {pair: (places[pair[0]], places[pair[1]]) for pair in pairs}
    return NonPrivateNumbers(
        again._source.rows,
        dataset._rows,
        again._source.how.repairs,
        columns,
        changed,
        {pair: sums.difference(*two) for pair, two in both.items()},
        {pair: sums.correlation(*two) for pair, two in both.items()},
        {
            attributes[place].measured: grouped[:, number]
            for number, place in enumerate(numeric)
            if groups and attributes[place].date_format is None
        },
    )


_BLOCK_BYTES = 2**24  # of codes and truth values at a time


@dataclass(frozen=True, slots=True)
class NonPrivateRuleReport:
    """Exact counts of rows that break rules, for the owner only; publishing them would reveal something about records."""

    names: tuple[str, ...]
    """The rules."""
    broken: tuple[int, ...]
    """Rows that break each of them."""
    first_rows: tuple[int | None, ...]
    """The first row, from 1, that breaks each of them; None where none does."""
    rows: int
    """Rows of the table."""
    rows_breaking_any: int
    """Rows that break at least one rule."""


def broken_rows(dataset: PrivateDataset, circuit: ThresholdCircuit) -> NonPrivateRuleReport:
    """Return how many rows break each rule: exact, not private, for the owner only.

    The rules are over the attributes of the schema by which the records were read. Each block of records is evaluated in
    about 16 MB.
    """
    circuit.check_against(dataset._schema.sizes)
    rules, used = circuit.number_of_rules, circuit.attributes().tolist()
    block = max(1, _BLOCK_BYTES // (4 * len(dataset._schema) + len(circuit) + rules))
    counts = np.zeros(rules, dtype=np.int64)
    first = np.full(rules, -1, dtype=np.int64)
    breaking_any = start = 0
    for records in records_in_parts(dataset, used, block):
        broken = circuit.broken(records)
        counts += broken.sum(axis=0)
        breaking_any += int(broken.any(axis=1).sum())
        new = (first < 0) & broken.any(axis=0)
        first[new] = start + broken.argmax(axis=0)[new]
        start += len(records)
    return NonPrivateRuleReport(
        circuit.names,
        tuple(counts.tolist()),
        tuple(None if row < 0 else row + 1 for row in first.tolist()),
        dataset._rows,
        breaking_any,
    )


def records_in_parts(dataset: PrivateDataset, used: list[int], block: int) -> Iterator[NDArray[np.int32]]:
    """Yield the rows as records (block, d), in order; attributes that no rule looks at stay 0."""
    looked_at = used or [0]
    for columns in dataset._parts(looked_at):
        for start in range(0, columns[0].size, block):
            part = [column[start : start + block] for column in columns]
            records = np.zeros((part[0].size, len(dataset._schema)), dtype=np.int32)
            for position, codes in zip(looked_at, part, strict=True):
                records[:, position] = codes
            yield records

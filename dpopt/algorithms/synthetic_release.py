"""A finished run as values, and its output files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.release_folder import create_folder
from dpopt.algorithms.statement import release_statement, spending_in_words, workload_answers
from dpopt.answers.answer import MEASURED, answers_of
from dpopt.answers.questions import MOST_FIGURES, default_questions, parse_question
from dpopt.errors import PlanError
from dpopt.html_pages.shown import Framed, Shown, answer_in_words
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.model import Model
from dpopt.releases.descriptions.description import notes_of
from dpopt.releases.descriptions.readme import write_readme
from dpopt.releases.descriptions.verdict import verdict_of
from dpopt.releases.folder_files import RELEASE, give_one_time, new_folder, write_json
from dpopt.releases.job import WIDE_FORMATS, WIDEST_TABLE, Job
from dpopt.releases.kept_records import COLUMNS, Round, round_rows
from dpopt.releases.plan import whole_number
from dpopt.releases.progress import Progress
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rows import choose_rows
from dpopt.releases.run import Outcome
from dpopt.releases.table_output import frame_of, write_answers, write_blocks
from dpopt.releases.values import Values, drawn_blocks, drawn_table
from dpopt.releases.wide_output import ones_of, write_wide
from dpopt.schema.lengths import add_lengths
from dpopt.schema.schema import AttributeKind, Schema
from dpopt.transcript.journal import MemoryJournal, read_journal

NOT_ENDED = "the run has not ended, and has no records yet; continue it with dpopt.resume"
WIDEST_SHOWN, ROWS_SHOWN = 40, 5
"""Columns of records that a notebook shows, and rows."""

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticRelease(Shown):
    """A finished run as values.

    Attributes
    ----------
    job : Job
        The public inputs.
    played : sequence of Round
        Draw, record and certificate of each round of DualQuery; `rounds` shows them as a table.
    synthetic : SyntheticRecords or None
        The distinct records of the run and their multiplicities; None where noisy answers alone are released.
    picked : SyntheticRecords or None
        The distinct rows that stand for them, and how often each is written; None where their weights are written.
    noisy : (m,) float64 array or None
        The answers of a release without records.
    ledger : Ledger
        Everything that was charged.
    statement : Mapping
        The contents of release.json.
    values : Mapping
        For each numeric column that was measured within its bins, what these hold.
    measured : callable
        Gives what was measured of marginals; None where nothing was.
    transcript : MemoryJournal or path
        What was charged, drawn and made, in order.
    ended : bool
        Whether the run has ended; of one that has not (`dpopt.read_release`) there are rounds and no records.

    Examples
    --------
    >>> import dpopt, numpy, tempfile
    >>> schema, table = dpopt.Schema.binary(2), numpy.eye(2, dtype=int).repeat(500, axis=0)
    >>> how = {"algorithm": dpopt.DualQuery(rounds=2, draws=1, step=0.1), "n0": 1000, "predict": False}
    >>> made = dpopt.release(table, schema, "marginals:1", epsilon=1, delta=1e-6, **how)
    >>> made.verdict[:40]
    'Nothing in this release shows how accura'
    >>> made.chosen["algorithm"], made.record_schema is schema, len(made.answers()), made.numbers(), made.figures()
    ('dualquery', True, 4, {}, [])
    >>> (int(made.records.multiplicity.sum()), int(made.written.multiplicity.sum()))  # a record for each round; rows
    (2, 1000)
    >>> made.to_sparse()[0].shape, len(made.rounds), made.best_response(2).name, made.report()[:15]
    ((1000, 2), 2, 'best_response', '<!doctype html>')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made.save(f"{folder}/release")
    ...     again = dpopt.replay(f"{folder}/release", f"{folder}/again")
    >>> list(again.to_pandas().columns) == list(made.to_pandas().columns)
    True
    """

    job: Job
    played: Sequence[Round]
    synthetic: SyntheticRecords | None
    picked: SyntheticRecords | None
    noisy: NDArray[np.float64] | None
    ledger: Ledger
    statement: Mapping[str, Any]
    values: Values = field(default_factory=dict)
    measured: Callable[[], MeasuredResiduals | None] = lambda: None
    transcript: MemoryJournal | Path = field(default_factory=MemoryJournal)
    ended: bool = True

    def _said(self) -> list[str]:
        rows = "" if self.picked is None else f"{int(self.picked.multiplicity.sum()):,} rows, "
        held = "answers only" if self.synthetic is None else f"{len(self.synthetic)} distinct records"
        if not self.ended:
            held = f"not ended, {len(self.played)} rounds so far"
        warned = [note.brief for note in notes_of(self.statement, self.job.schema)]
        spent = spending_in_words(self.statement["privacy"])
        return [self.job.plan.algorithm, f"{rows}{held}", *warned, *spent]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]] | None:
        if self.synthetic is None or len(self.record_schema) > WIDEST_SHOWN:
            return None
        frame = self.to_pandas()
        return list(frame.columns), frame.head(ROWS_SHOWN).itertuples(index=False)

    @property
    def verdict(self) -> str:
        """The verdict on the release: good and bad uses in a sentence or two, from released values alone."""
        return verdict_of(self.statement).text if self.ended else f"{NOT_ENDED[0].upper()}{NOT_ENDED[1:]}."

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The "algorithm", the reason ("because"), and the alternatives that `auto` "considered", if it chose."""
        return self.statement["chosen"] or {"algorithm": self.job.plan.algorithm, "because": "it was asked for"}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release into a new or empty folder: the one that `out` would have made.

        Raises ReleaseFolderError if the folder holds something, or cannot be written.
        """
        if not self.ended:
            raise PlanError(NOT_ENDED)
        folder, kept = Path(path), self.transcript
        entries = kept.entries if isinstance(kept, MemoryJournal) else read_journal(kept).entries
        with new_folder(folder):
            expected = self.job.expected_bytes()
            with closing(create_folder(folder, self.job, expected_bytes=expected)) as journal:
                for entry in entries:
                    journal.append(entry, wait=False)
            written = None if self.synthetic is None else self.written
            output = _write_output(self.job, folder, written, self.noisy, self.values)
            held = self.statement["records"]
            there = {"answers": output} if held is None else {"records": {**output, **held}}
            _write_statement(folder, replace(self, statement={**self.statement, **there}))

    @property
    def rounds(self) -> pd.DataFrame:
        """The rounds of DualQuery as a table; empty for other algorithms.

        value: of the record, in drawn queries; proven_bound and reported_bound: no record is worth more, as shown here and
        as the solver states; gap: value to the smaller one; seconds: of the solver, where this process made the run.
        """
        return frame_of(round_rows(self.played, self.job.plan.solver), COLUMNS)

    @property
    def records(self) -> SyntheticRecords:
        """The distinct records and their multiplicities.

        Raises PlanError if the release holds noisy answers alone.
        """
        if self.synthetic is None:
            if not self.ended:
                raise PlanError(NOT_ENDED)
            raise PlanError(
                f"a release of {self.job.plan.algorithm!r} holds answers and no records; use another algorithm for "
                f"records"
            )
        return self.synthetic

    @property
    def written(self) -> SyntheticRecords:
        """The output: distinct rows with their multiplicities, or distinct records with their weights.

        Raises PlanError if the release holds noisy answers alone.
        """
        return self.records if self.picked is None else self.picked

    def to_pandas(self) -> pd.DataFrame:
        """Return the synthetic records, decoded: rows, or distinct records and a column of weights where they were asked for.

        Columns have the types that the schema declares under "arrow". Others: dates datetime64, durations timedelta64,
        texts text; a column of missing and whole numbers float64.

        Raises PlanError if there are more columns than a table holds with profit; `to_sparse` gives them.
        """
        from dpopt.releases.table_output import as_frame

        return as_frame(self.to_arrow(), self.record_schema)

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a DataFrame of polars.

        Raises PlanError as `to_pandas`, or if polars is not installed.

        Examples
        --------
        >>> import dpopt, polars
        >>> table = polars.DataFrame({"smoker": [True, False] * 500})
        >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
        >>> made = dpopt.release(table, schema, "marginals:1", epsilon=1)
        >>> made.to_polars().schema
        Schema([('smoker', Boolean)])
        """
        from dpopt.releases.table_output import as_polars

        return as_polars(self.to_arrow(), self.record_schema)

    def to_arrow(self) -> pa.Table:
        """Return the output as a table of pyarrow, the source of `to_pandas` and `to_polars`. Raises as these.

        Examples
        --------
        >>> import dpopt, pandas
        >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
        >>> made = dpopt.release(pandas.DataFrame({"smoker": [True, False] * 500}), schema, "marginals:1", epsilon=1)
        >>> made.to_arrow().schema.types
        [DataType(bool)]
        """
        from dpopt.releases.table_output import records_tables, weight_name

        if len(self.record_schema) > WIDEST_TABLE:
            raise PlanError(
                f"a table of {len(self.record_schema):,} columns, more than {WIDEST_TABLE:,}, would be slow and "
                "large; take to_sparse() for a sparse matrix"
            )
        schema, weighted = self.record_schema, self.job.rows is None
        block = drawn_table(self.values, schema, self.written, weighted=weighted)
        return next(records_tables(schema, [block], weight_name(schema) if weighted else None))

    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Return n rows that answer as the release does, or those that it writes. Costs no privacy.

        The optimization that chooses the rows of a release chooses these: the same n gives the same rows.

        Raises PlanError if n is below 1, or as `to_pandas`.

        Examples
        --------
        >>> import dpopt, pandas
        >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
        >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
        >>> len(dpopt.release(table, schema, "marginals:1", epsilon=1).sample(7))
        7
        """
        if n is None:
            return self.to_pandas()
        number = whole_number("the number of rows", n, least=1)
        job = replace(self.job, output={**self.job.output, "rows": number, "searched": True})
        picked = choose_rows(job, self.records, lambda make: make(), Progress()).records
        return replace(self, job=job, picked=picked).to_pandas()

    def numbers(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return the numbers of each numeric column of the records, NaN where missing, and their weights, (r,) each.

        Dates are seconds since 1970-01-01. Lengths come besides, named as `Attribute.measured` says.
        """
        if self.job.schema.is_binary:
            return {}  # and no matrix of all cells is made
        block = drawn_table(self.values, self.record_schema, self.written, weighted=self.job.rows is None)
        written, drawn, shares = block.codes, block.numbers, block.shares
        found, attributes = {}, self.record_schema.attributes
        summed = add_lengths(attributes, written, drawn)
        for place, attribute in enumerate(attributes):
            if attribute.kind is AttributeKind.NUMERIC:
                by_code = np.append(attribute.representatives, np.nan)  # a missing value has the last code
                found[attribute.measured] = (drawn.get(place, by_code[written[:, place]]), shares)
            if attribute.after is not None:
                found[attribute.name] = (summed[place], shares)
        return found

    def report(self, table: object = None, **how: Any) -> str:
        """Return a report as one page of HTML: `dpopt.report` of this release, with its parameters."""
        import dpopt  # the root, which knows every room: that of reports lies above this one

        return dpopt.report(self, table, **how)

    def plot(self, table: object = None, **how: Any) -> Framed:
        """Return the same page in a frame, for a notebook: the verdict, charts of columns, and maps of their pairs.

        Examples
        --------
        >>> import dpopt, pandas
        >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
        >>> made = dpopt.release(pandas.DataFrame({"smoker": [True, False] * 500}), schema, "marginals:1", epsilon=1)
        >>> "Verdict." in made.plot().page
        True
        """
        return Framed(self.report(table, **how))

    def answer(self, questions: str | Sequence[str], **how: Any) -> pd.DataFrame:
        """Return answers to questions, with intervals: `dpopt.answer` of this release, with its parameters and example."""
        import dpopt  # as above

        return dpopt.answer(self, questions, **how)

    def figures(self) -> list[dict[Any, Any]]:
        """Return the rows of `dpopt.answer` that README.txt and reports show, with intervals of 95 %; without records none."""
        measured, schema = None if self.synthetic is None else self.measured(), self.job.schema
        if measured is None:
            return []
        rows: dict[str, list[dict[str, Any]]] = {}
        named, about = self.job.plan.asked(schema)
        for texts, most in ((named, inf), (about, MOST_FIGURES), (default_questions(schema, measured), MOST_FIGURES)):
            number = 0
            for text in texts:
                found = answers_of(parse_question(text, schema), schema, measured, None)
                if text not in rows and found.how == MEASURED and number + len(found) <= most:
                    rows[text] = found.answers()
                    number += len(found)
        return [row for each in rows.values() for row in each]

    def regression(self, formula: str, **how: Any) -> pd.DataFrame:
        """Return the coefficients of a linear regression: the `answer` to a formula, such as "income ~ age + sex".

        Examples
        --------
        >>> import dpopt, numpy
        >>> made = dpopt.release(
        ...     numpy.eye(2, dtype=int).repeat(500, axis=0), dpopt.Schema.binary(2), n0=1000, epsilon=5
        ... )
        >>> made.regression("item1 ~ item0").term.tolist()[0], list(made.answer("count").how)
        ('constant', ['measured'])
        """
        return self.answer(formula, **how)

    def to_sparse(self) -> tuple[csr_array[Any, tuple[int, int]], NDArray[np.float64] | None]:
        """Return records of zeros and ones as a sparse matrix, a row for each: rows, or distinct records where weights are.

        Returns
        -------
        matrix : (r, d) scipy.sparse.csr_array of uint8
        weights : (r,) float64 array or None
            Those of the distinct records; None where rows are written.
        Raises PlanError if the schema is not that of a wide table (`Schema.binary`).
        """
        from scipy.sparse import csr_array

        if not self.job.schema.is_binary:
            raise PlanError("to_sparse is for wide tables of zeros and ones (Schema.binary); take to_pandas()")
        written = self.written
        starts, items = ones_of(written.held)
        matrix = csr_array(
            (np.ones(items.size, dtype=np.uint8), items, starts), shape=(len(written), len(self.job.schema))
        )
        if self.job.rows is None:
            return matrix, written.weights
        return matrix[written.places()], None

    def answers(self) -> NDArray[np.float64]:
        """Return the release's answer to every base query of the workload, (m,): the share of synthetic records."""
        return workload_answers(self.job, self.written) if self.noisy is None else self.noisy

    def best_response(self, number: int, formulation: Formulation | str = Formulation.PER_LITERAL) -> Model:
        """Return the best response of a round of DualQuery as a model, x named by attributes and values.

        Parameters
        ----------
        number
            The round, from 1.
        formulation
            As of `dpopt.models.best_response`.

        Raises
        ------
        PlanError
            The release has no such round.
        """
        from dpopt.models.best_responses.best_response import best_response, round_program
        from dpopt.models.best_responses.own_formulation import code_titles

        played = next((played for played in self.played if played.sampled.round == number), None)
        if played is None:
            raise PlanError(
                f"found round {number}; this release of {self.job.plan.algorithm} has {len(self.played):,} rounds of "
                f"DualQuery"
            )
        job = self.job
        problem = round_program(job.workload.clauses, job.schema.sizes, played.sampled, job.schema.circuit())
        return best_response(problem, formulation, names=code_titles(job.schema))

    @property
    def record_schema(self) -> Schema:
        """The schema that the coded records follow."""
        return self.job.schema


def finish_release(
    job: Job, folder: Path | None, outcome: Outcome, transcript: MemoryJournal | Path
) -> SyntheticRelease:
    """Write the result of a run, README.txt and release.json, if a folder is given."""
    output: dict[str, Any] = {}
    chosen = None if outcome.rows is None else outcome.rows.records
    if folder is not None:
        written = outcome.records if chosen is None else chosen
        output = _write_output(job, folder, written, outcome.answers, outcome.values)
    statement = release_statement(job, outcome, output)
    finished = SyntheticRelease(
        job,
        outcome.rounds,
        outcome.records,
        chosen,
        outcome.answers,
        outcome.ledger,
        statement,
        outcome.values,
        outcome.measured,
        transcript,
        outcome.ended,
    )
    if folder is not None:
        _write_statement(folder, finished)
    return finished


def _write_output(
    job: Job, folder: Path, records: SyntheticRecords | None, answers: NDArray[np.float64] | None, values: Values
) -> dict[str, Any]:
    """Write records or answers; return the statement's entry about their file."""
    if records is not None:
        return write_synthetic(job, folder, records, values)
    return {} if answers is None else write_answers(folder, job, answers)


def _write_statement(folder: Path, finished: SyntheticRelease) -> None:
    """Write README.txt and, last of all files, release.json."""
    statement = finished.statement
    write_readme(folder, statement, finished.job.schema, list(map(answer_in_words, finished.figures())))
    # Times are made equal before the release has its name: a kill in between could never be made good.
    write_json(folder / RELEASE, statement, ready=lambda: give_one_time(folder))


def write_synthetic(job: Job, folder: Path, records: SyntheticRecords, values: Values) -> dict[str, Any]:
    """Write records into a folder as a job's output asks for; return the file's name, rows and column of weights.

    Where rows are asked for, `records` are distinct rows and how often each is written.
    """
    file_format = str(job.output.get("format", "csv"))
    if file_format in WIDE_FORMATS:
        return write_wide(folder, job, records)
    name = f"synthetic.{file_format}"
    weighted = job.rows is None
    blocks = drawn_blocks(values, job.schema, records, weighted=weighted)
    return write_blocks(folder / name, job.schema, blocks, weighted=weighted, format=file_format)

"""Drafting a schema from the table itself: a start for the owner to correct, marked as a draft, never used as it is."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError, counted, spoken
from dpopt.files.json_files import write_json_object
from dpopt.files.written_files import whole_file
from dpopt.html_pages.page import page
from dpopt.private.drafts.column_values import ColumnValues, in_natural_unit, with_type
from dpopt.private.drafts.few_rows import decided_by_few
from dpopt.private.drafts.guess_attribute import Guess, Limits, guess_attribute
from dpopt.private.drafts.guess_lengths import draft_lengths
from dpopt.private.drafts.guess_reading import guess_reading
from dpopt.private.drafts.guess_rules import Proposal, propose
from dpopt.private.readers.arrow_types import seconds_of
from dpopt.private.readers.csv_source import CsvFilesSource, CsvSource
from dpopt.private.readers.encode import ZONED, ColumnEncoder, as_text, clean, no_reading
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.read_table import rows_dropped
from dpopt.private.readers.table_problems import ENDS, NO_TEXT, shown
from dpopt.private.readers.table_reading import USUAL, OnInvalid, TableReading
from dpopt.private.readers.table_sources import BLANKS, TableSource, trimmed
from dpopt.private.tables.dataset import Progress
from dpopt.schema.finer import rough_differences
from dpopt.schema.rules.rule_json import rule_to_json
from dpopt.schema.schema import (
    LARGEST_SIZE,
    READING_KEYS,
    Attribute,
    Schema,
    attribute_to_json,
    declared_words,
    number_text,
)

if TYPE_CHECKING:
    import pyarrow as pa

_BASKETS = (
    "If each line lists the items of a record (baskets), there is no schema to draft: declare the number of items by "
    "--binary-columns, with --layout baskets"
)
_MALFORMED_SHARE = 0.02  # of rows in a table that is drafted all the same
_OF_MALFORMED = (
    "They are not in this draft. With --on-invalid error (the default) a release stops with this message, with drop it "
    "leaves them out, and with other it counts each as a record of 'other' values"
)
_DAMAGED = "the value {} holds a control character, as damaged lines do: correct the table, or leave the value out"
_FEWEST_BLANKS = 5  # texts with blanks around them that make trimming a proposal
_MERGED_AT = 32  # batches of value counts that are kept before they are added up
_EXAMPLES, MOST_SHOWN = 3, 5
_LONGEST = 24  # characters of an example
DEFAULT_BINS, DEFAULT_MAX_VALUES = 20, 100


@dataclass(frozen=True, slots=True)
class ColumnReview:
    """The proposal for one column and its reason. Not private: for the owner of the table.

    Its type is "categorical", "boolean", "numeric", "date", "duration" or "length"; "left out" where the draft does not
    name the column, and "unit of privacy" where it does not since the column names people with several rows. `distinct`
    are different values, without missing ones, and `missing` rows without a value; `codes` the bins, or how many
    values; `examples` the most frequent values; `check` what the owner should look at; `rows` how many rows each drafted
    value or bin has, missing values last; `dropped`, where the column may name people with several rows, bounds on the
    rows of each, how many rows every bound drops, and of how many people.
    """

    name: str
    type: str
    distinct: int
    missing: int
    codes: str
    examples: str
    why: str
    check: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    dropped: tuple[tuple[int, int, int], ...] = ()

    @property
    def left_out(self) -> bool:
        """Whether the draft does not name the column."""
        return self.type in (_LEFT_OUT, _PERSON)


_LEFT_OUT, _PERSON = "left out", "unit of privacy"


@dataclass(frozen=True, slots=True)
class SchemaDraft:
    """A drafted schema with the review of each column. Not private: for the owner of the table alone.

    `schema` declares how the table is read, where that is not as usual; `columns` are in the order of the table;
    `notes` say what to look at besides single columns; `proposals` hold in every row, to be accepted only if the world
    has it so.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> draft = dpopt.infer_schema(table)
    >>> draft.schema.names
    ('smoker',)
    >>> "smoker" in draft.to_html()
    True
    >>> draft.write(tempfile.mkdtemp() + "/smokers.json").name
    'smokers.html'
    >>> draft.reviewed({"smoker": {"missing": "?"}}).draft, draft.rules, draft.proposed()
    (False, [], [])
    >>> draft.declared()
    {'smoker': []}
    """

    schema: Schema
    columns: tuple[ColumnReview, ...]
    notes: tuple[str, ...] = ()
    rows: int = 0
    title: str = "the table"
    reading: tuple[str, ...] = field(default=())
    proposals: tuple[Proposal, ...] = ()
    dates: Mapping[str, Attribute] = field(default_factory=dict, repr=False)

    @property
    def rules(self) -> list[dict[str, object]]:
        """The rules of all proposals, as `reviewed` takes them."""
        return [rule for one in self.proposals for rule in one.rules]

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the draft, and next to it its review as a page (.html); return its path. Both are for the owner alone.

        Raises SchemaError if one of the two is there already.
        """
        file = Path(path)
        beside = file.with_suffix(".html")
        for found in (file, beside):
            if os.path.lexists(found):
                raise SchemaError(f"{found} exists already; choose another name, so that no reviewed schema is lost")
        proposed = [one.to_json() for one in self.proposals]
        written = self.schema.to_json() | ({"proposed": proposed} if proposed else {})
        write_json_object(file, written, private=True)
        with whole_file(beside, private=True) as stream:
            stream.write(self.to_html(file.name).encode())
        return beside

    def reviewed(
        self,
        columns: Mapping[str, Mapping[str, object] | None] | None = None,
        rules: Sequence[Mapping[str, object]] = (),
        accept: Iterable[int] = (),
    ) -> Schema:
        """Return the schema as its owner declares it after the review: no draft any more.

        Parameters
        ----------
        columns
            What is declared otherwise, by column: keys of a schema file, such as {"edges": [0, 18, 65, 110]} or
            {"type": "categorical", "values": ["a", "b"]}. "bins", "range", or both take the place of drafted edges:
            what is not given of the two is that of the draft. None leaves the column out. Others stay as drafted.
        rules
            What every record obeys, each in the form of a schema file.
        accept
            Numbers of accepted proposals, from 1. What `columns` says comes after them.
        Raises SchemaError if a column or proposal is not in the draft, or a declaration contradicts itself.
        """
        changes = dict(columns or {})
        if unknown := sorted(changes.keys() - set(self.schema.names)):
            raise SchemaError(f"the draft has no column {unknown[0]!r}; it has {', '.join(self.schema.names)}")
        base, attributes = self._accepting(accept), []
        gone = {name for name, change in changes.items() if change is None}
        for drafted in base.attributes:
            change = changes.get(drafted.name, {})
            attribute = self.dates.get(drafted.name, drafted) if drafted.after in gone else drafted
            if change is not None:
                kept = attribute_to_json(attribute)
                given = {"edges", "bins", "range"} & change.keys()
                if given and "edges" in kept and not change.keys() & {"edges", "type"}:
                    edges: Any = kept.pop("edges")
                    kept |= {"bins": len(edges) - 1, "range": [edges[0], edges[-1]]}
                gone_keys = {"representatives"} if given else set()
                gone_keys |= kept.keys() - {"name", "missing"} if "type" in change else set()
                kept = {key: value for key, value in kept.items() if key not in gone_keys}
                attributes.append({**kept, **change})
        listed = [*map(rule_to_json, base.rules), *rules]
        return Schema.from_json({**base.to_json(), "draft": False, "attributes": attributes, "rules": listed})

    def _accepting(self, accept: Iterable[int]) -> Schema:
        """Return the drafted schema with the proposals of these numbers."""
        numbers = {*accept}
        if unknown := numbers - {*range(1, len(self.proposals) + 1)}:
            raise SchemaError(f"there is no proposal number {min(unknown)}; the draft has {len(self.proposals)}")
        chosen = [self.proposals[number - 1].to_json(accept=True) for number in sorted(numbers)]
        return Schema.from_json({**self.schema.to_json(), "proposed": chosen})

    def to_html(self, file: str = "the schema") -> str:
        """Return the review as a self-contained page; `file` is the draft's name in its text."""
        return page(
            "draft.html",
            title=f"Draft of a schema: {self.title}",
            file=file,
            to_check=[column for column in self.columns if column.check or column.left_out],
            others=[column for column in self.columns if not (column.check or column.left_out)],
            notes=self.notes,
            declared=self.declared(),
            proposed=[(one.says, json.dumps(one.to_json(), ensure_ascii=False)) for one in self.proposals],
            reading=self.reading,
            rows=f"{self.rows:,}",
        )

    def _repr_html_(self) -> str:
        return page("draft_columns.html", columns=self.columns, declared=self.declared())

    def declared(self, most: int | None = None) -> dict[str, list[str]]:
        """Return each key of the schema as "key: value", by column; `most` shortens lists."""
        return {one.name: declared_words(one, most) for one in self.schema.attributes}

    def __repr__(self) -> str:
        """Return a line for each column."""
        named = max([len(column.name) for column in self.columns], default=0)
        lines = [
            f"{self.title}: {counted(self.rows, 'row')}, {len(self.schema)} of {len(self.columns)} columns drafted"
        ]
        lines += [f"read with {line}" for line in self.reading]
        for column in self.columns:
            line = f"{column.name:<{named}}  {column.type:<11} {column.codes or column.why}"
            lines.append(line if not column.check else f"{line}  -- {'; '.join(column.check)}")
        return "\n".join([*lines, *self.notes, *self.proposed()])

    def proposed(self) -> list[str]:
        """Return the first proposals as lines for people."""
        lines = [f"proposal {number}: {one.says}" for number, one in enumerate(self.proposals[:MOST_SHOWN], 1)]
        more = len(self.proposals) - len(lines)
        verb = "is" if more == 1 else "are"
        return lines + [f"{counted(more, 'more proposal')} {verb} on the page and in the file"] * (more > 0)


def infer_schema(
    table: AnyTable,
    *,
    bins: int = DEFAULT_BINS,
    max_values: int = DEFAULT_MAX_VALUES,
    reading: TableReading | None = None,
    progress: Progress | None = None,
) -> SchemaDraft:
    """Guess a schema that the whole table fits, with a reason and the checks to make for each column.

    The result depends on private data (values that occur, ranges), so it is marked `draft=True` and is not private: the
    owner replaces what only the data show by what is publicly known, then removes the mark.

    How a text file is written (encoding, separator, decimal mark, thousands) is guessed from the file too, and declared
    in the schema: nothing is guessed when a table is read for a release.

    Dates that follow others in every row, and soon, become lengths after them: see `Attribute.after`.

    Truth values, 0/1, yes/no and their like become boolean; texts and few different whole numbers categorical. Dates
    get bins of hours to years, by their span; other numbers bins of equal width, or logarithmic ones or rounded
    quantiles if most rows would share a bin. Codes of too many different values are grouped by their first characters.
    Empty cells, "?" and "NA" become missing values; among numbers and dates also "N", "N/A", "null", "-" and the like.

    Parameters
    ----------
    table, progress
        As for `read_table`.
    bins
        Number of bins aimed at for a numeric column, and most whole numbers that make a categorical one (up to 31 do
        where each has ten rows on average).
    max_values
        Most values of a categorical attribute; columns with more are grouped or left out.
    reading
        What is known of how the table is read; the rest is guessed.

    Returns
    -------
    SchemaDraft
        The schema and a review of each column, which notebooks show. For the owner only.
    Raises PrivateDataError if the table cannot be read, has no rows, or no column can be used; SchemaError if `bins` or
    `max_values` is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> draft = infer_schema(pd.DataFrame({"age": [30, 41, 30], "smoker": ["ja", "nein", "ja"]}))
    >>> print(draft)
    the DataFrame: 3 rows, 2 of 2 columns drafted
    age     categorical 2 values  -- values from the table: compare with the code book
    smoker  boolean     2 values
    >>> draft.schema.attributes[1].values
    ('nein', 'ja')
    """
    for name, number in (("bins", bins), ("max_values", max_values)):
        if not 2 <= number < LARGEST_SIZE // 2:
            raise SchemaError(f"{name} is {number}; expected a whole number from 2 to {LARGEST_SIZE // 2 - 1:,}")
    how = _reading_of(table, reading or TableReading())
    source = open_table(table, how)
    if how.trim is None and _has_blanks(source):
        how = replace(how, trim=True)
        source = open_table(table, how)
    from_file = isinstance(table, str | os.PathLike) and how.column_names is None
    single = source.names[0] if from_file and len(source.names) == 1 else None
    counts, faults = _counted(source, progress)
    rows = max([column.rows for column in counts.values()], default=0)
    notes = [
        *(f"{source.title}: {fault}\n  {_OF_MALFORMED}" for fault in faults),
        *_notes_on(source),
        *([] if single is None else [f"there is one column, {shown(single)}. {_BASKETS}"]),
    ]
    limits = Limits(bins, max_values, source.decimal, tuple(source.names))
    is_text = isinstance(source, CsvSource | CsvFilesSource)
    attributes, reviews = [], []
    for place, name in enumerate(source.names):
        if place not in counts:
            why = "several columns have its name" if name else "it has no name"
            reviews.append(ColumnReview(name, _LEFT_OUT, 0, 0, "", "", why))
            continue
        column = counts[place]
        values = column.result(getattr(source, "labels", {}).get(name, {}))
        guess = Guess(None, column.unread) if column.unread else guess_attribute(values, limits)
        zone = (f"{ZONED.format(column.kind.tz)}: so are its bins",) if getattr(column.kind, "tz", None) else ()
        noted = [f"{_DAMAGED.format(shown(text))}" for text in _with_controls(guess)[:1]]
        guess = replace(guess, check=(*decided_by_few(values, limits, guess), *noted, *zone, *guess.check))
        reviews.append(_review(values, guess, source.decimal))
        if guess.attribute is not None:
            kind = getattr(source, "types", {}).get(name, column.kind)  # texts of Parquet are read as dictionaries
            attributes.append(guess.attribute if is_text else with_type(guess.attribute, kind))
    if not attributes:
        reasons = "\n  ".join(f"{shown(review.name)}: {review.why}" for review in reviews)
        raise PrivateDataError(f"{source.title} has no column for a schema:\n  {reasons}")
    declared = {
        name: getattr(how, name)
        for name in READING_KEYS
        if (is_text or name == "trim") and getattr(how, name) not in {None, USUAL[name]}
    }
    if any(one.edges and one.date_format is None for one in attributes):
        notes.append(f"ends of numbers: {ENDS}.")
    near, in_order = draft_lengths(source, attributes, bins)
    dates = {one.name: one for one in attributes if one.name in near}
    attributes = [near[one.name][0] if one.name in near else one for one in attributes]
    reviews = [_as_length(one, *near[one.name]) if one.name in near else one for one in reviews]
    drafted = Schema(tuple(attributes), draft=True, reading=tuple(declared.items()))
    notes += [rough for rough in [rough_differences(drafted)] if rough is not None]
    proposals = (*in_order, *propose(source, attributes, dates, rows))
    gone = {name: i for i, one in enumerate(proposals, 1) for name, new in one.columns.items() if new is None}
    for i, one in enumerate(reviews):
        if (proposal := gone.get(one.name)) is not None:
            note = f"it follows from other columns; accept proposal {proposal}, and dpopt computes it from them"
            reviews[i] = replace(one, check=(note, *one.check))
    read = (f"{key}: {shown(value) if isinstance(value, str) else value}" for key, value in declared.items())
    return SchemaDraft(
        drafted, tuple(reviews), tuple(map(spoken, notes)), rows, source.title, tuple(read), proposals, dates
    )


def _reading_of(table: AnyTable, given: TableReading) -> TableReading:
    """Return how a table is written, guessed where it is text and nothing else is given."""
    if not isinstance(table, str | os.PathLike):
        return given
    try:
        source = open_table(table, given)
    except PrivateDataError:  # such as a first line that is none in the usual encoding
        path = Path(table)
        if not path.is_file():
            raise
        found = guess_reading([path], given)
        if found == given:
            raise
        return found
    if not isinstance(source, CsvSource | CsvFilesSource):
        return given
    if given.column_names is None and re.fullmatch(r"\d+([ \t]+\d+)+", "".join(source.names)):
        raise PrivateDataError(
            f"{source.title} begins with {shown(source.names[0])} where names of columns are expected. {_BASKETS}"
        )
    return guess_reading(source.files, given)


def _counted(source: TableSource, progress: Progress | None) -> tuple[dict[int, _ValueCounts], list[str]]:
    """Return the values of each usable column without malformed rows, and a message if malformed rows are few."""
    places, malformed = _usable(source), 0
    counts = {place: _ValueCounts(source.names[place]) for place in places}
    for index, array in source.pieces(places, progress):
        if source.nulls_are_malformed:
            malformed += array.null_count if index == 0 else 0
        counts[places[index]].add(array.drop_null() if source.nulls_are_malformed else array)
    faults = source.faults()
    if faults and malformed > _MALFORMED_SHARE * counts[places[0]].rows:
        raise PrivateDataError(f"{source.title} cannot be read\n" + "\n".join([*faults, f"  {_BASKETS}"]))
    if places and counts[places[0]].rows == 0:
        raise PrivateDataError(f"{source.title} has no rows; a schema cannot be drafted from it")
    return counts, faults


def _usable(source: TableSource) -> list[int]:
    """Return where columns are that have a name of their own."""
    times = Counter(source.names)
    return [place for place, name in enumerate(source.names) if name and times[name] == 1]


def _has_blanks(source: TableSource) -> bool:
    """Return whether names of columns have blanks around them, or some texts of a column in the first rows."""
    import pyarrow.compute as pc

    places, found = _usable(source), any(name != name.strip(BLANKS) for name in source.names)
    for index, array in source.pieces(places, None):
        texts = array.dictionary_decode() if hasattr(array, "dictionary") else array
        plain = trimmed(texts)
        blanks = 0 if plain is texts else pc.sum(pc.not_equal(plain, texts)).as_py() or 0
        found = found or blanks >= min(_FEWEST_BLANKS, max(len(array) / 2, 1))
        if found or (len(array) and index == len(places) - 1):
            break
    return found


def _notes_on(source: TableSource) -> list[str]:
    numbers = [name for name in source.names if re.fullmatch(r"[+-]?[0-9.,]+", name.strip())]
    notes = list(getattr(source, "notes", ()))
    if len(numbers) * 2 > len(source.names):
        notes.append("most column names are numbers: if the first line is a record, add a line of names to the table")
    return notes


def _with_controls(guess: Guess) -> list[str]:
    texts = () if guess.attribute is None else (*guess.attribute.values, guess.attribute.missing)
    return [text for text in texts if isinstance(text, str) and re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)]


def _review(column: ColumnValues, guess: Guess, decimal: str) -> ColumnReview:
    absent = {"", *(() if guess.attribute is None else guess.attribute.missing_texts)}
    order = np.argsort(-column.counts, kind="stable")[: _EXAMPLES + len(absent)]
    values = [value for place in order if (value := str(column.values[int(place)].as_py())) not in absent]
    marked = np.array([value in absent for value in column.values.to_pylist()], dtype=np.bool_)
    kind = _PERSON if guess.person else _LEFT_OUT
    return ColumnReview(
        column.name,
        str(attribute_to_json(guess.attribute)["type"]) if guess.attribute else kind,
        len(column.values) - int(np.count_nonzero(marked)),
        column.missing_rows + int(column.counts[marked].sum()),
        guess.codes or ("" if guess.attribute is None else "2 values"),
        ", ".join(value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "..." for value in values[:_EXAMPLES]),
        spoken(guess.why),
        tuple(map(spoken, guess.check)),
        () if guess.attribute is None else _rows_by_code(column, guess.attribute, decimal),
        () if guess.person is False else rows_dropped(column.counts),
    )


def _rows_by_code(column: ColumnValues, drafted: Attribute, decimal: str) -> tuple[int, ...]:
    encoder = ColumnEncoder(drafted, OnInvalid.DROP, decimal=decimal)
    invalid = encoder.add(column.values)
    counts = column.counts if invalid is None else np.where(invalid, 0, column.counts)
    rows = np.bincount(encoder.codes(), weights=counts, minlength=drafted.size)
    if drafted.missing is not None:
        rows[drafted.missing_code] += column.missing_rows
    return tuple(rows.astype(np.int64).tolist())


def _as_length(column: ColumnReview, drafted: Attribute, words: str) -> ColumnReview:
    """Return the review of a column of dates that is drafted as a length after another."""
    return replace(
        column,
        type="length",
        codes=f"{len(drafted.edges) - 1} bins, {words}",
        rows=(),
        why=f"{shown(drafted.after or '')} is never later and always near, so the {drafted.unit} between them stay accurate",
        check=(
            "check that this order always holds, not only here; otherwise declare two dates",
            f"the end, {number_text(drafted.edges[-1])} {drafted.unit}, comes from the table: set a publicly known one",
        ),
    )


class _ValueCounts:
    """Different values of one column and their numbers of rows, added up batch by batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.typed = False
        self.unread = ""  # why the column is left out
        self.kind: Any = None  # its type
        self._tick: str | None = None  # what its durations count
        self._order: tuple[str, ...] = ()  # its values, if its type has them in an order
        self._parts: list[tuple[pa.Array, NDArray[np.int64]]] = []

    def add(self, array: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rows, self.kind = self.rows + len(array), self.kind or array.type
        self.typed = pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)
        if pa.types.is_duration(array.type):
            self._tick, array = array.type.unit, array.view(pa.int64())
        self.unread = self.unread or no_reading(array.type) or ""
        if self.unread:
            return
        if pa.types.is_dictionary(array.type) and array.type.ordered and not self._order:
            self._order = tuple(as_text(array.dictionary).to_pylist())
        counted = pc.value_counts(array)
        values = counted.field("values")
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        self._parts.append((values, np.asarray(counted.field("counts"), dtype=np.int64)))
        if len(self._parts) == _MERGED_AT:
            self._merge()

    def result(self, labels: Mapping[str, str]) -> ColumnValues:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.unread:
            self._merge()
        values, counts = (pa.array([], pa.string()), np.zeros(0, np.int64)) if self.unread else self._parts[0]
        known = pc.sort_indices(values)[: len(values) - values.null_count]  # nulls are last
        present = counts[known.to_numpy()]
        missing = int(counts.sum() - present.sum())
        found = ColumnValues(self.name, values.take(known), present, missing, labels, self.typed, order=self._order)
        return found if self._tick is None else in_natural_unit(found, self._tick)

    def _merge(self) -> None:
        import pyarrow as pa

        values = [part for part, _ in self._parts]
        if len({part.type for part in values}) > 1:
            values = [as_text(_plain_values(part)) for part in values]
        every = _plain_values(pa.concat_arrays(values)).dictionary_encode(null_encoding="encode")
        if pa.types.is_string(every.dictionary.type):
            self.unread = _without_reading(every.dictionary)
        counts = np.concatenate([part for _, part in self._parts])
        rows = np.bincount(every.indices.to_numpy(), weights=counts, minlength=len(every.dictionary))
        self._parts = [(every.dictionary, rows.astype(np.int64))]


def _plain_values(values: pa.Array) -> pa.Array:
    """Return values as truth values, whole numbers, floats (null instead of NaN) or texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values
    if pa.types.is_timestamp(kind):
        values = pa.array(seconds_of(values), from_pandas=True).cast(pa.int64()).view(pa.timestamp("s"))
    return clean(as_text(values))


def _without_reading(texts: pa.Array) -> str:
    """Return why texts keep a column out of a draft: one stands for a value without a text, or a time out of range."""
    import pyarrow.compute as pc

    odd = texts.filter(pc.match_substring_regex(texts, f"^({NO_TEXT}|<value out of range)"))
    return (
        f"it holds {odd[0].as_py().removeprefix(NO_TEXT)}, which has no text; convert it in the table"
        if len(odd)
        else ""
    )

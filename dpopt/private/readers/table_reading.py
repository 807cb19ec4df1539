"""How a table is read. Public: a release keeps it, so that the table can be read again in the same way."""

from __future__ import annotations

import codecs
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import OneOf, Whole, constrain
from dpopt.errors import PlanError, SchemaError
from dpopt.files.codec import encode
from dpopt.files.json_files import shown
from dpopt.private.readers.reading_help import reading_fields
from dpopt.private.readers.text_fields import TextForm
from dpopt.schema.schema import Schema


class OnInvalid(enum.Flag):
    """Repairs that are allowed while a table is read; a value that no repair covers is an error.

    Each acts on one record at a time, by that record alone. With DROP, or with OTHER where each attribute has a bucket,
    the reading is *total*: no row ends a run. Privacy: A9 in docs/privacy.
    """

    ERROR = 0
    CLIP = enum.auto()  # a number outside the range goes to the nearest bin
    OTHER = enum.auto()  # what does not fit an attribute goes to its bucket (`Attribute.other_code`)
    DROP = enum.auto()  # a record with a value that does not fit is not counted

    @property
    def is_total(self) -> bool:
        """Whether every row of a table can be read, whatever it holds; with OTHER if each attribute has a bucket."""
        return bool(self & (OnInvalid.OTHER | OnInvalid.DROP))

    @property
    def text(self) -> str:
        """The text that `parse_on_invalid` reads as this policy."""
        return ",".join(str(repair.name).lower() for repair in self) or "error"


_WORDS = {policy.text: policy for policy in (OnInvalid.ERROR, OnInvalid.CLIP, OnInvalid.OTHER, OnInvalid.DROP)}


def parse_on_invalid(text: OnInvalid | str) -> OnInvalid:
    """Return the policy that a text names: "error", "clip", "other", "drop", "clip,other" or "clip,drop"."""
    if isinstance(text, OnInvalid):
        return _checked(text)
    words = [word.strip().lower() for word in str(text).split(",")]
    policy = OnInvalid.ERROR
    for word in words:
        if word not in _WORDS:
            raise SchemaError(
                f"--on-invalid: found {word!r}; expected error, clip, other, drop, clip,other or clip,drop"
            )
        policy |= _WORDS[word]
    if "error" in words and policy is not OnInvalid.ERROR:
        raise SchemaError(f"on-invalid {text!r}: 'error' allows no repair; leave it out, or the others")
    return _checked(policy)


def _checked(policy: OnInvalid) -> OnInvalid:
    if OnInvalid.OTHER in policy and OnInvalid.DROP in policy:
        raise SchemaError(
            f"on-invalid {policy.text!r}: a record that does not fit is counted in a bucket ('other') or not at all "
            f"('drop'); choose one"
        )
    return policy


class Layout(enum.StrEnum):
    """Layouts of the file of a wide table."""

    NPZ = "npz"
    """A sparse matrix of SciPy (CSR, CSC or COO), as `scipy.sparse.save_npz` writes it."""
    MTX = "mtx"
    """A Matrix Market file of coordinates; also gzip."""
    BASKETS = "baskets"
    """Text, a record on each line: its items. Also gzip."""
    PAIRS = "pairs"
    """Text, a user and an item on each line; a record for each user. Also gzip."""
    BITS = "bits"
    """Bits column by column, as `write_bit_file` writes them."""

    @classmethod
    def named(cls, name: object) -> Layout:
        """Return the layout of a name."""
        try:
            return cls(str(name))
        except ValueError:
            names = ", ".join(layout.value for layout in cls)
            raise SchemaError(f"the layout of a wide table is one of {names}; found {shown(name)}") from None


ENCODINGS = frozenset(
    {"utf-8", "ascii", "iso8859-1", "mac-roman", "koi8-r", "koi8-u", "cp437", "cp850", "cp852", "cp866"}
    | {f"iso8859-{number}" for number in range(2, 17) if number != 12}
    | {f"cp{number}" for number in range(1250, 1259)}
    | {"utf-16-le", "utf-16-be"}
)
"""Python's names of the encodings that can be read: in each but UTF-16 a byte below 128 is that ASCII character everywhere."""

THOUSANDS = (",", ".", "'", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{RIGHT SINGLE QUOTATION MARK}")
"""Characters that can separate groups of three digits."""

USUAL: Mapping[str, str | bool] = {
    "separator": ",",
    "quotes": True,
    "multiline": False,
    "decimal": ".",
    "thousands": "",
    "encoding": "utf-8",
    "trim": False,
}
"""How the text of a table is written, where neither its reading nor its schema declares it."""

_RUNS = {"blanks": (" \t", True), "::": (":", True)}

MOST_ROWS_PER_PERSON = 10**6
LARGEST_FIRST_ITEM = 10**15
"""Numbers of items are read digit by digit in 64 bits; ten times this one is far from their end."""

_TAKERS: Mapping[str, tuple[str, tuple[Layout, ...]]] = {
    "first_item": ("the number of the first item (--first-item)", (Layout.BASKETS, Layout.PAIRS)),
    "pair_columns": ("a choice of two columns (--pair-columns)", (Layout.PAIRS,)),
    "header": ("a file without a header line (--no-header)", (Layout.PAIRS,)),
    "on_invalid": ("leaving out what is no item (--on-invalid other)", (Layout.BASKETS, Layout.PAIRS)),
}
"""The kind of each option of wide tables, and the layouts that take it."""


@dataclass(frozen=True, slots=True)
class TableReading:
    """How a table is read: decided by its owner's declarations, never by its records.

    How text is written (separator, quotes, multiline, decimal, thousands, encoding, trim) is None where nothing is
    declared here: the schema's "reading" says it then, and else it is as usual (`USUAL`). What is declared here holds,
    also where it is the usual.

    Parameters
    ----------
    {fields}
    Raises SchemaError if one of them is none of what is expected, or the layout does not take it.

    Examples
    --------
    >>> import dpopt
    >>> reading = dpopt.TableReading(separator=";", decimal=",", column_names=("smoker", "name"), on_invalid="drop")
    >>> reading.repairs, reading.changes_size, dpopt.TableReading.from_json(reading.to_json()) == reading
    (<OnInvalid.DROP: 4>, True, True)
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> reading.for_schema(schema) == reading, reading.for_publication(schema).column_names
    (True, ('smoker', 'unused 2'))
    >>> reading.check_against(schema), reading.check_counted(10_000, schema), reading.check_declared(10_000)
    (None, None, None)
    >>> reading.check_relation(dpopt.NeighbouringRelation.ADD_REMOVE)
    >>> reading.table_form().separators, reading.pairs_form().quotes, reading.edges_form().comments
    (';', True, '#%')
    >>> reading.baskets_form(" ").separators
    ';'
    """

    layout: Layout | str | None = None
    first_item: Annotated[int | None, Whole("the number of the first item", least=0, most=LARGEST_FIRST_ITEM)] = None
    pair_columns: tuple[int, int] | None = None
    header: bool = True
    separator: str | None = None
    quotes: bool | None = None
    multiline: bool | None = None
    decimal: Annotated[str | None, OneOf("the decimal mark", (".", ","))] = None
    encoding: str | None = None
    column_names: Sequence[str] | None = None
    on_invalid: OnInvalid | str = OnInvalid.ERROR
    person: str | None = None
    rows_per_person: Annotated[int | None, Whole("rows per person", most=MOST_ROWS_PER_PERSON)] = None
    thousands: Annotated[str | None, OneOf("what stands between thousands", ("", *THOUSANDS))] = None
    trim: bool | None = None
    n0_counted: bool = False

    def __post_init__(self) -> None:
        constrain(self, SchemaError)
        for name, checked in _CHECKED.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked(getattr(self, name)))
        if self.multiline and self.quotes is False:
            raise SchemaError("only values in quotes can contain line ends; leave --multiline or --no-quotes out")
        self._check_person()
        usual = {field.name: field.default for field in fields(self)}
        for name, (option, takers) in _TAKERS.items():
            if self.layout is not None and self.layout not in takers and getattr(self, name) != usual[name]:
                raise SchemaError(
                    f"{option} is for the layout {' or '.join(takers)}, and the layout here is {self.layout}; leave it "
                    f"out"
                )

    def _check_person(self) -> None:
        if (self.person is None) != (self.rows_per_person is None):
            raise SchemaError(
                "--person (the column with the person of a row) and --rows-per-person (how many rows of each are "
                "counted) go together; give both, or neither"
            )
        if self.person is None:
            if self.n0_counted:
                raise SchemaError("--n0-counted is about --n0 with --person; leave it out, or give --person")
            return
        if not isinstance(self.person, str) or not self.person:
            raise SchemaError(f"the person column is named by a text, found {shown(self.person)}")

    def for_schema(self, schema: Schema) -> TableReading:
        """Return a reading completed by the schema's declarations; declarations made here take precedence.

        Raises SchemaError if the schema declares something else than expected.
        """
        declared = {name: value for name, value in schema.reading if getattr(self, name) is None}
        return replace(self, **declared) if declared else self  # type: ignore[arg-type]  # it checks them

    @property
    def repairs(self) -> OnInvalid:
        """The repairs that `on_invalid` allows."""
        return parse_on_invalid(self.on_invalid)

    @property
    def changes_size(self) -> bool:
        """Whether the number of counted records depends on the content of rows."""
        return self._deciding_option() is not None

    def _deciding_option(self) -> str | None:
        """Return the option by which a row's content decides whether it is counted; None without one."""
        if OnInvalid.DROP in self.repairs:
            return "--on-invalid drop"
        if self.layout is Layout.PAIRS and self.repairs.is_total:
            return (
                "--on-invalid other with --layout pairs"  # a line that cannot be read may be the only one of its user
            )
        return None if self.person is None else "--person"

    def check_relation(self, relation: NeighbouringRelation) -> None:
        """Raise PlanError for options that make the number of records private if the relation makes it public."""
        option = self._deciding_option()
        if relation is NeighbouringRelation.REPLACE_ONE and option is not None:
            raise PlanError(
                f"{option}: what a row holds decides whether it is counted, so the number of counted records is "
                f"private, and replace-one publishes it; use --neighbours add-remove"
            )

    def check_declared(self, n0: int | None) -> None:
        """Refuse, by PlanError, a declared number of records that may be of rows which --person does not count."""
        if n0 is not None and self.person is not None and not self.n0_counted:
            raise PlanError(
                f"found --n0 {n0:,} with --person: only the first {self.rows_per_person:,} rows of each person are "
                f"counted, often far fewer than the table has. Leave --n0 out: dpopt then measures the number with 1 % "
                f"of the budget. If the number of counted rows is public, add --n0-counted"
            )

    def check_counted(self, size: int | None, schema: Schema) -> None:
        """Refuse a number of records that cannot be: above K rows of each person, where the schema lists the persons.

        Raises PlanError with the most rows that can be counted.
        """
        if self.person is None or size is None or OnInvalid.OTHER in self.repairs:
            return
        listed = (one.size for one in schema.attributes if one.name == self.person and one.values)
        persons = next(listed, None)
        if persons is not None and size > persons * (self.rows_per_person or 0):
            raise PlanError(
                f"found {size:,} records; at most {self.rows_per_person:,} rows of each person are counted, and the "
                f"schema lists {persons:,} values of {self.person!r}: {persons * (self.rows_per_person or 0):,} rows "
                f"at most. Give the number of counted rows, or leave --n0 out: dpopt then measures it"
            )

    def check_against(self, schema: Schema) -> None:
        """Refuse options that do not suit a schema: layouts are for wide tables, names and persons for others.

        Raises PlanError with the option; and if what does not fit should be counted, but no attribute declares a bucket
        for it.
        """
        wide = [name for name in ("layout", "first_item", "pair_columns") if getattr(self, name) is not None]
        if wide and not schema.is_binary:
            raise PlanError(
                f"{' and '.join('--' + name.replace('_', '-') for name in wide)}: for wide tables of zeros and ones, "
                f"declared by --binary-columns (Schema.binary); leave it out with a schema that lists attributes"
            )
        declared = () if schema.is_binary or self.person is None else schema.attributes
        if any(one.name == self.person and one.after is not None for one in declared):
            raise PlanError(f"--person {self.person}: the schema declares this column as a length, which names nobody")
        if schema.is_binary:
            self._check_wide()
        elif OnInvalid.OTHER in self.repairs and all(one.other_code is None for one in schema.attributes):
            raise PlanError(
                "--on-invalid other: no column has a bucket for values that do not fit. In the schema declare 'other' "
                "(one of the values, or a number within the range) or 'missing' for some columns, or use --on-invalid "
                "drop"
            )

    def is_total_for(self, schema: Schema) -> bool:
        """Whether no row can end the reading of a table by this schema: each column has a bucket, or rows are dropped.

        Examples
        --------
        >>> TableReading(on_invalid="drop").is_total_for(Schema.binary(2))
        True
        """
        if OnInvalid.OTHER in self.repairs and not schema.is_binary:
            return all(one.other_code is not None for one in schema.attributes)
        return self.repairs.is_total

    def _check_wide(self) -> None:
        if self.person is not None or self.column_names is not None:
            raise PlanError(
                "a wide table of zeros and ones has no columns by name; leave --person and names of columns out. Where "
                "lines are pairs of a person and an item, --layout pairs makes one record of each person"
            )
        if self.repairs not in {OnInvalid.ERROR, OnInvalid.OTHER}:
            raise PlanError(
                f"--on-invalid {self.repairs.text}: records of a wide table keep the items that are known; "
                "--on-invalid other leaves the others out, in baskets and pairs"
            )

    def table_form(self) -> TextForm:
        """Return how the lines of a table are divided; blanks belong to values unless they are trimmed.

        Where the reading is total every line is a row: what one holds must not decide how many there are.

        Raises SchemaError if one sign separates values, stands before fractions or stands between thousands, of which
        two would be the same.
        """
        return replace(self._form(","), trimmed=bool(self.trim), empty_lines=self.repairs.is_total)

    def pairs_form(self) -> TextForm:
        """Return how the lines of a file of pairs are divided."""
        return self._form(",")

    def edges_form(self) -> TextForm:
        """Return the separator of the lines of a file of edges; lines that begin with # or % are comments."""
        return replace(self._form("blanks"), comments="#%")

    def baskets_form(self, usual: str) -> TextForm:
        """Return how the lines of a file of baskets are divided; `usual` are the separators where none is given."""
        form = replace(self._form(","), runs=True, quotes=False)
        return replace(form, separators=usual) if self.separator is None else form

    def _form(self, usual: str) -> TextForm:
        declared = {name: getattr(self, name) for name in USUAL if getattr(self, name) is not None}
        how: dict[str, Any] = {**USUAL, "separator": usual, **declared}
        separator, decimal, thousands = how["separator"], how["decimal"], how["thousands"]
        if decimal == separator and not how["quotes"]:
            raise SchemaError(
                f"{separator!r} cannot be both the separator and the decimal mark in a file without quotes; declare "
                f"--separator with --decimal, or leave --no-quotes out"
            )
        if decimal == thousands:
            raise SchemaError(
                f"{decimal!r} cannot be both the decimal mark and the mark between thousands; declare 'decimal' with "
                f"'thousands'"
            )
        signs, runs = _RUNS.get(separator, ("\t" if separator == "tab" else separator, False))
        return TextForm(
            signs,
            runs=runs,
            quotes=how["quotes"],
            multiline=how["multiline"],
            encoding=how["encoding"],
            decimal=f"{decimal}{thousands}",
        )

    def for_publication(self, schema: Schema) -> TableReading:
        """Return the same with numbers in place of the names of columns that the schema does not use."""
        if self.column_names is None:
            return self
        used = {*schema.names, self.person}
        names = tuple(
            name if name in used else f"unused {number}" for number, name in enumerate(self.column_names, start=1)
        )
        return replace(self, column_names=names)

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        said = {**encode(self), "on_invalid": self.repairs.text}
        if not self.n0_counted:
            del said["n0_counted"]  # as in files from before there was this field
        return said

    @classmethod
    def from_json(cls, obj: object) -> TableReading:
        """Return the reading that a JSON object declares.

        Raises SchemaError if it has another form.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(obj, Mapping) or not set(obj) <= set(known):
            raise SchemaError(f"how the table was read is an object with {', '.join(known)}; found {shown(obj)}")
        return cls(**obj)


def _separator(given: object) -> str:
    if given == "\t":
        return "tab"
    known = given in {*_RUNS, "tab"}
    if not known and not (
        isinstance(given, str) and len(given) == 1 and given.isascii() and given not in '"\r\n\0\v\f'
    ):
        raise SchemaError(
            "a separator is one ASCII character such as ',' or ';', tab, blanks (any number of blanks and tabs) or "
            f"'::'; found {shown(given)}"
        )
    return str(given)


def _encoding(given: object) -> str:
    try:
        name = codecs.lookup(str(given)).name
    except (LookupError, ValueError):
        name = ""
    if name not in ENCODINGS:
        raise SchemaError(
            "the encoding of a text is utf-8, utf-16-le, utf-16-be, or one with one byte for each character, such as "
            f"latin-1 or cp1252; found {shown(given)}; convert the file (for example: iconv -f utf-32 -t utf-8)"
        )
    return name


def _texts(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise SchemaError(f"the names of columns are a list of texts; found {shown(given)}")
    return tuple(given)


def _two_columns(given: object) -> tuple[int, int]:
    fits = (
        isinstance(given, list | tuple)
        and len(given) == 2
        and all(type(one) is int and one >= 1 for one in given)
        and given[0] != given[1]
    )
    if not fits:
        raise SchemaError(
            f"the columns of user and item are two different numbers from 1, such as 1 and 2; found {shown(given)}"
        )
    return given[0], given[1]  # type: ignore[index]  # just checked


_CHECKED: Mapping[str, Callable[..., object]] = {
    "layout": Layout.named,
    "pair_columns": _two_columns,
    "separator": _separator,
    "encoding": _encoding,
    "column_names": _texts,
    "on_invalid": parse_on_invalid,
}
"""The declared value to which each text is mapped."""

TableReading.__doc__ = (TableReading.__doc__ or "").replace("{fields}", reading_fields())

AS_USUAL = TableReading()
"""Values that are not declared are errors, and a table's own names are used."""

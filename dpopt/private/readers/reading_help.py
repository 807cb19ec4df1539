"""The meaning of each option of reading a table, written once for the help of commands and for `TableReading`."""

from __future__ import annotations

import textwrap

from dpopt.errors import spoken

LAYOUT = (
    "Layout of the file of a wide table. Recognized without this option: npz (SciPy), mtx (Matrix Market), bits. Must "
    "be given for: baskets (the items of a record on each line), pairs (a user and an item on each line)."
)
FIRST_ITEM = (
    "For baskets and pairs: the number of the first item; 0 if left out. With names of columns it says that items are "
    "written as numbers, not by name."
)
PAIR_COLUMNS = (
    "For pairs: the columns of user and item, from 1, such as 1,2; needed if the file has more than two columns."
)
SEPARATOR = (
    "What separates the values of a line: one character, tab, blanks (any number of blanks and tabs) or ::. If left "
    "out: as the schema says, else a comma; for edges blanks; for baskets blanks, tabs and commas."
)
QUOTES = (
    "Values may stand in quotes, or quotes are ordinary characters. If left out: as the schema says, else they may. "
    "Not for baskets."
)
MULTILINE = (
    "Values in quotes may contain line ends, or each line is a row. If left out: as the schema says, else each line."
)
DECIMAL = "Decimal mark of numbers: . or , (a comma). If left out: as the schema says, else a point."
THOUSANDS = (
    "What may stand between groups of three digits: a comma, a point, a blank or an apostrophe; '' for nothing. If "
    "left out: as the schema says."
)
TRIM = "Blanks around values and names of columns are left out, but in quotes. If left out: as the schema says, else they stay."
ENCODING = (
    "Encoding of a text file: utf-8, or one with one byte for each character (latin-1, cp1252, ...). If left out: as "
    "the schema says, else utf-8."
)
ON_INVALID = (
    "What happens to values and lines that do not fit the schema: error (the run ends), clip (numbers go to the "
    "nearest bin), other (they go to the bucket that their column declares; without one they end the run), drop (the "
    "row is not counted), clip,other or clip,drop."
)
PERSON = (
    "Column that names the person of each row, where people have several rows: else a row is protected, and not all rows "
    "of a person. Goes with --rows-per-person."
)
ROWS_PER_PERSON = (
    "Count only the first rows of each person, this many; the unit of privacy is then a person. A small number drops "
    "rows of frequent persons, a large one needs more noise. It is published: take one that is usual in your field ('dpopt "
    "schema check' with --person shows you alone what some numbers drop). Goes with --person, which a plan can leave out."
)
N0_COUNTED = (
    "With --n0 and --person: the number of --n0 is public, and of rows that are counted, of each person the first "
    "--rows-per-person alone. Without this option such a number is refused."
)
_FIELDS = {
    "layout": LAYOUT,
    "first_item": FIRST_ITEM,
    "pair_columns": PAIR_COLUMNS,
    "header": "For pairs: whether the first line holds the names of the file's columns.",
    "separator": SEPARATOR,
    "quotes": QUOTES,
    "multiline": MULTILINE,
    "decimal": DECIMAL,
    "thousands": THOUSANDS,
    "encoding": ENCODING,
    "column_names": (
        "Names of all columns of a table, in order. Needed for a CSV file whose first line is a record already; "
        "replaces the names that other tables have."
    ),
    "on_invalid": ON_INVALID,
    "person": PERSON,
    "rows_per_person": ROWS_PER_PERSON,
    "trim": TRIM,
    "n0_counted": N0_COUNTED,
}


def reading_fields() -> str:
    """Return the meanings of the fields of `TableReading` for its docstring, with options named as in Python."""
    found = []
    for name, text in _FIELDS.items():
        lines = textwrap.fill(spoken(text), 120, initial_indent=8 * " ", subsequent_indent=8 * " ")
        found.append(f"    {name}\n{lines}")
    return "\n".join(found).lstrip()

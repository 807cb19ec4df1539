"""The type of one column: a proposal, its reason, and what the owner should check."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import counted
from dpopt.private.drafts.column_values import ColumnValues, in_natural_unit
from dpopt.private.drafts.edges import Shaped, readable_edges
from dpopt.private.drafts.guess_dates import Dated, date_edges, date_form
from dpopt.private.drafts.scales import in_their_order
from dpopt.private.readers.arrow_types import parse_durations
from dpopt.private.readers.domain_codes import has_leading_zero, parse_numbers
from dpopt.private.readers.encode import as_text
from dpopt.private.readers.table_problems import shown
from dpopt.schema.dates import CENTURY, NANOSECONDS, OR, date_text, forms_of, has_years
from dpopt.schema.schema import LARGEST_SIZE, Attribute, AttributeKind, Value, attribute_to_json, number_text

if TYPE_CHECKING:
    import pyarrow as pa

Missing: TypeAlias = Any  # a text, several in a list, or None
_TOKENS_AMONG_NUMBERS = (
    "? na n n/a #n/a #na <na> n.a. n.a nan nat null nil none missing unknown k.a. - -- --- . .. * \u2013"
)
"""Texts in small letters that mark missing values among numbers and dates."""
_TOKENS_AMONG_TEXTS = ("?", "NA")
_ANSWERS = "no/yes n/y f/t false/true nein/ja nee/ja n/j non/oui n/o no/si no/sí não/sim nie/tak nej/ja off/on 0/1"
_PAIRS = frozenset(tuple(pair.split("/")) for pair in _ANSWERS.split())
_IDENTIFIER_SHARE = 0.9  # different values per row from which texts or numbers are taken for identifiers ...
_IDENTIFIERS = 13  # ... where there are so many of them
_FEW = 31  # most whole numbers, or fractions, that are categories whatever the number of bins ...
_ROWS_PER_VALUE = 10  # ... where each of them has so many rows on average
_ROWS_OF_A_CODE = 50  # on average
_CODES_OF_A_RANGE = 0.5  # the share that codes fill at most
_FEW_FRACTIONS = 10  # most fractions that are categories, such as doses ...
_ROWS_PER_FRACTION = 4  # ... where each has so many rows on average
_APART = 0.01  # share of the rows at either end that does not decide whether numbers are codes
_RARE = 5  # rows below which a value may reveal who has it
_LISTED = 10  # texts up to which their list is seen at a glance, and goes without a remark
_EXACT = 2.0**53
_LARGEST = 1e300

_CODE_OF_TWO = re.compile(r"[A-Z][A-Z]")
_CODE = re.compile(r"[A-Z0-9][A-Z0-9./ -]{1,11}")
_ICD = re.compile(r"[A-TV-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?")
_CODE_NAME = re.compile(
    r"(^|[\W_])(zip|plz|post(al|code)?|codes?|icd\d*|id|nr|isco|nace|sbi|type|class|kind|cat|category)([\W_]|$)",
    re.IGNORECASE,
)
_NUMBER_WORDS = r"(ids?|no|nos|nr|nbr|num|n[uú]m(ber|mer|ero)|nummer|key|code|hash|pseudonym|[#°])"
_PERSON_NAME = re.compile(
    r"(^|[\W_])(person(al|en)?|pers|people|subj(ect)?|patient(en)?|pat|pt|famil[a-z]*|household|hh|child|customer|cust|cst|client|"
    r"member|employee|emp|staff|user|student|pupil|respondent|participant|driver|donor|account|acct|subscriber|borrower|guest|"
    r"passenger|beneficiary|bene|insured|enroll?ee|policy(holder)?|card(holder)?|loyalty|hosp(ital)?|medical|record|kunden?|kd|"
    r"mitglied[a-z]*|versicherte[a-z]*|klant(en)?|cliente?|paciente)[\W_]*"
    rf"{_NUMBER_WORDS}([\W_\d]|$)|(^|[\W_])(mrd|mrn|uhid|ssn|bsn|nhs|nric|cpf|imsi|msisdn|e-?mail)([\W_]|$)",
    re.IGNORECASE,
)
_ID_NAME = re.compile(
    r"(?i:(^|[\W_])[pu]?ids?([\W_\d]|$)|(^|[\W_])[ug]uid([\W_\d]|$)|^(subject|patient|customer|client|member|user|person|"
    r"employee|student|participant|respondent|nr|no\.?|row_?names?)$|(school|unit|count[a-z]*|firm|station)_?id([\W_\d]|$))|"
    r"[a-z]I[Dd]\d*$"
)
_NUMBERED = re.compile(
    r"[\W_](ids?|nos?|nr|nbr|num(ber|ero)?|número|nummer|key)\.?$|[a-z](No|Nr|Number|Key)$|[#°]$", re.IGNORECASE
)
_THING_NAME = re.compile(
    r"(^|[\W_])(invoice|order|product|item|stock|sku|school|firm|station|store|shop|count[a-z]*|unit|flight|ticket|transaction)",
    re.IGNORECASE,
)
# Numbers, and rows of each on average, at most, if a name says number and not of whom.
_MANY, _ROWS_OF_A_NUMBER = 100, 20
_PROTECT = "--person NAME and --rows-per-person K"
_NAMED = (
    "{found}, and its name is that of an identifier: drop the column; if it names people with several rows, use "
    f"{_PROTECT}"
)
_EVEN = 0.1  # largest distance of the rows of identifiers from a uniform distribution
_MOST_DECIMALS = 6
_LONGEST_DURATION = 3.2e20  # nanoseconds
_YEARS = (1500, 2150)  # whole numbers between which successive ones are years
_DENSE = 0.1  # share of a range that numbers of rows fill at least
_SURVEY_WEIGHT = re.compile(
    r"wgt|pwt|pweight|(survey|sampling)[\W_]?w|(^|[\W_])(weging|weegfactor|pond\w*|hochrechnung\w*)([\W_\d]|$)",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"(^|[\W_])(w|wt|weights?|gewicht|poids)([\W_\d]|$)", re.IGNORECASE)
_BODY = re.compile(
    r"(^|[\W_])(body|birth|k(oe|ö)rper\w*|height|ht|bmi|stature|waist|gr(oe|ö)(ss|ß)e|lengte|taille|kg|lbs?|grams?)([\W_\d]|$)",
    re.IGNORECASE,
)
_SPREAD, _SPREAD_OF_BODIES, _MEANS_OF_BODIES = 4.0, 10.0, (30.0, 250.0)
_POSTAL_NAME = re.compile(
    r"((^|[\W_]|(?<=[a-z]))(plz|postleitzahl|post(al|en)?[ _-]?(codes?|nummer|nr)|pin[ _-]?codes?|zips?|fips|insee|"
    r"(code|c[oó]digo)[ _-]?postal)|(^|[\W_])(cep|cp))([\W_\d]|$|codes?)",
    re.IGNORECASE,
)
_POSTAL, _POSTAL_LENGTHS, _LONGEST_POSTAL = re.compile(r"([0-9]{1,9})(\.0)?"), range(4, 10), 3
_ROWS_PER_GROUP = 20  # that a group of codes has on average at least
_MOST_GROUPS = 1_000
_ALL_NINES = re.compile(r"9{2,}")


@dataclass(frozen=True, slots=True)
class Guess:
    """A declaration, or None to leave the column out; why; checks; whether it names people with several rows, None: perhaps."""

    attribute: Attribute | None
    why: str
    check: tuple[str, ...] = ()
    codes: str = ""
    person: bool | None = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How many bins are aimed at, how many values an attribute has, how numbers are written; names of all columns."""

    bins: int
    max_values: int
    decimal: str = "."
    names: tuple[str, ...] = ()


def guess_attribute(column: ColumnValues, limits: Limits) -> Guess:
    """Return a declaration that all values of the column fit, or none with the reason."""
    import pyarrow as pa

    kind = column.values.type
    missing = "" if column.missing_rows else None
    if not len(column.values):
        return _left_out("it holds no value at all")
    if column.unit is not None:
        return _durations(column, missing, limits)
    if pa.types.is_boolean(kind):
        return Guess(Attribute(column.name, AttributeKind.BOOLEAN, missing=missing), "true and false")
    if not pa.types.is_string(kind) and _postal_digits(column.name, as_text(column.values).to_pylist()):
        return _text(column, limits)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = np.array([float(value) for value in column.values.to_pylist()])
        return _numeric(column, numbers, column.counts, missing, limits)
    return _text(column, limits)


def _text(column: ColumnValues, limits: Limits) -> Guess:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = as_text(column.values)
    tokens = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(["", *_TOKENS_AMONG_NUMBERS.split()])).to_numpy(
        zero_copy_only=False
    )
    numbers, readable = parse_numbers(texts, limits.decimal)
    absent = tokens | (readable & np.isnan(numbers))
    zeros = has_leading_zero(texts)
    known = texts.filter(pa.array(~absent)) if absent.any() else texts
    numeric = readable[~absent].any() and readable[~absent].all() and not zeros[~absent].any()
    postal = _postal_digits(column.name, known.to_pylist())
    numeric = numeric and not postal
    dated = None if absent.all() or postal else date_form(known)
    marks = np.flatnonzero(absent & ~readable if numeric and dated is None else absent)  # NaN is a number, and no date
    marks = marks[np.argsort(-column.counts[marks], kind="stable")]  # the most frequent one is written
    missing: Missing = [text for text in texts.take(marks).to_pylist() if text]
    missing = missing or ("" if absent.any() or column.missing_rows else None)
    lengths = None if absent.all() or numeric else _clocks(column, known, column.counts[~absent], missing, limits)
    if dated is not None or numeric:
        if dated is None:
            return _numeric(column, numbers[~absent], column.counts[~absent], missing, limits)
        guess = _dates(column, dated, missing, limits)
        if has_years(dated.form) or lengths is None or lengths.attribute is None:
            return guess
        declared = json.dumps(attribute_to_json(lengths.attribute), ensure_ascii=False)
        return replace(guess, check=(f"if this is a length of time, declare {declared}", *guess.check))
    if lengths is not None:  # such as 26:03:04, which is no time of day
        return lengths
    leading = bool(zeros[~absent].any()) and bool(readable[~absent].all())
    guess = _categorical(column, texts.to_pylist(), limits, leading=leading)
    rows = int(column.counts.sum())
    share = float(column.counts[readable & ~absent].sum() / rows)
    if share >= _IDENTIFIER_SHARE and not leading and not postal and not guess.person:
        strange = texts.filter(pa.array(~readable & ~absent))
        if len(strange):
            some = strange.to_pylist()
            note = f"{share:.1%} of the rows hold numbers, the others texts such as {shown(some[0])}; correct the table"
            if len(some) <= _LISTED:
                listed = json.dumps(some, ensure_ascii=False)
                note += f', or, if these mark missing values, declare "type": "numeric" with "edges" and "missing": {listed}'
            return Guess(guess.attribute, guess.why, (*guess.check, note), guess.codes)
    return guess


def _dates(column: ColumnValues, dated: Dated, missing: Missing, limits: Limits) -> Guess:
    form, other, seconds = dated.form, dated.other, dated.seconds
    if column.typed and not (seconds % 86400).any():
        form = form.split("%d", maxsplit=1)[0] + "%d"
    edges, step = date_edges(seconds, form, limits.bins)
    attribute = Attribute(column.name, AttributeKind.NUMERIC, edges=edges, date_format=form, missing=missing)
    check = ["the first and last bin come from the table: declare the period that is publicly known"]
    if other is not None:
        check.insert(0, f"no day is above 12, so {_in_words(other)} fits as well as {_in_words(form)}")
    if "%y" in form:
        check.insert(0, f"two-digit years are read as {CENTURY} to {CENTURY + 99}")
    if OR in form:
        written = _in_words(forms_of(form)[0])
        check.insert(0, f"every date is shortened to {written}; for another form, put that first in 'format'")
    span = f"{date_text(float(seconds.min()), form)} to {date_text(float(seconds.max()), form)}"
    why = f"dates as {_in_words(form)}, {span}"
    return Guess(attribute, why, tuple(check), f"{len(edges) - 1} bins by {step}")


def _durations(column: ColumnValues, missing: Missing, limits: Limits) -> Guess:
    values, unit = np.array(column.values.to_pylist(), dtype=np.float64), column.unit or ""
    if np.abs(values).max() * NANOSECONDS[unit] > (2**62 if unit == "nanoseconds" else _LONGEST_DURATION):
        return _left_out("it holds durations of more than 10,000 years; replace them in the table")
    integer = bool((values == np.floor(values)).all())
    shaped = readable_edges(values, column.counts, limits.bins, integer=integer)
    decimals = None if integer else _decimals(values)
    attribute = Attribute(
        column.name, AttributeKind.NUMERIC, edges=shaped.edges, integer=integer, missing=missing, unit=unit, decimals=decimals
    )  # fmt: skip
    check = _of_numbers(column, values, column.counts, shaped, missing, integer=integer)
    why = f"durations, in {unit}: {_shape_in_words(values, column.counts, shaped, integer=integer)}"
    return Guess(attribute, why, tuple(check), f"{_bins_in_words(shaped)} of {unit}")


def _clocks(
    column: ColumnValues, texts: pa.Array, counts: NDArray[np.int64], missing: Missing, limits: Limits
) -> Guess | None:
    """Return the guess of lengths of time that are written as hours, minutes and seconds; None if a text is none."""
    import pyarrow as pa

    found, readable = parse_durations(texts, "microseconds")
    if not readable.all():
        return None
    ticks, places = np.unique(found.astype(np.int64), return_inverse=True)
    rows = np.bincount(places, weights=counts).astype(np.int64)
    return _durations(in_natural_unit(replace(column, values=pa.array(ticks), counts=rows), "us"), missing, limits)


def _in_words(form: str) -> str:
    words = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "hh", "%M": "mm", "%S": "ss", "%f": "fff"}
    words |= {"%y": "YY", "%b": "Mon", "%B": "Month"}
    words |= {"%I": "hh", "%p": "AM/PM", OR: " or "}
    return re.sub(r"%.|\|", lambda found: words[found[0]], form)


def _categorical(column: ColumnValues, texts: list[str], limits: Limits, *, leading: bool) -> Guess:
    known = [text for text in texts if text]
    is_code = len(known) > 3 and all(map(_CODE_OF_TWO.fullmatch, known))  # such as AF, EU, NA
    tokens = [token for token in _TOKENS_AMONG_TEXTS if token in texts]
    absent = [""] if column.missing_rows or "" in texts else [] if is_code else tokens[:1]
    missing = next(iter(absent), None)
    values = sorted({*(text for text in texts if text != missing), *column.labels})
    if not values:
        return _left_out(f"it holds nothing but {shown(missing)}" if missing else "it holds no value at all")
    counts = {text: int(rows) for text, rows in zip(texts, column.counts.tolist(), strict=True) if text != missing}
    identifies = len(values) >= max(_IDENTIFIER_SHARE * column.counts.sum(), _IDENTIFIERS)
    named = len(values) >= _IDENTIFIERS and _PERSON_NAME.search(column.name)
    if len(values) > limits.max_values or ((identifies or named) and not column.labels):
        return _many_texts(column, counts, missing, limits)
    pair = _truth_pair(values)
    if pair is not None:
        attribute = Attribute(column.name, AttributeKind.BOOLEAN, values=pair, missing=missing)
        both = f"two values that read as no and yes: {values[0]} and {values[-1]}"
        return Guess(attribute, both if len(values) > 1 else "truth")
    why = "leading zeros: codes, and no numbers" if leading else "few different texts"
    if ordered := None if leading else column.in_order(values) or in_their_order(values):
        why, values = "few different texts, in their order", [*ordered]
    attribute = Attribute(
        column.name, AttributeKind.CATEGORICAL, tuple(values), missing=missing, ordered=ordered is not None or None
    )
    guess = _of_values(attribute, why, counts, column.labels)
    if not (left := [token for token in tokens if token in values]):
        return guess
    is_value = " looks like the other codes and is a value" if is_code else " is a value"
    note = f'{" and ".join(map(shown, left))}{is_value}; if it marks missing values, leave it out of "values" and write'
    note += f' "missing": {json.dumps([*absent, *left])}'
    return replace(guess, check=(note, *guess.check))


def _of_values(attribute: Attribute, why: str, counts: Mapping[str, int], labels: Mapping[str, str]) -> Guess:
    """Return the guess of a categorical attribute, with the checks that its values suggest."""
    check = []
    if len(attribute.values) == 1:
        check.append("only one value occurs; add the other possible values")
    spelled = Counter(" ".join(text.split()).casefold() for text in counts)
    twice = next((text for text in counts if spelled[" ".join(text.split()).casefold()] > 1), None)
    if twice is not None:
        check.append(f"some values differ only in case or blanks, such as {shown(twice)}; make them equal in the table")
    rare = sum(rows < _RARE for rows in counts.values())
    numbers = not isinstance(attribute.values[0], str)
    if rare and sum(counts.values()) > _RARE * len(counts):
        check.append(
            f"{counted(rare, 'value')} in fewer than {_RARE} rows; keep those that a code book lists, group the others"
        )
    elif not labels and len(attribute.values) > (1 if numbers else _LISTED):
        check.append("values from the table: compare with the code book")
    if labels:
        why = f"the file labels its values: {', '.join(f'{code} = {label}' for code, label in [*labels.items()][:3])}"
    return Guess(attribute, why, tuple(check), counted(len(attribute.values), "value"))


def _many_texts(column: ColumnValues, counts: Mapping[str, int], missing: str | None, limits: Limits) -> Guess:
    rows, found = int(column.counts.sum()), len(counts)
    coded = [text for text in counts if _CODE.fullmatch(text) and any(map(str.isdigit, text))]
    medical = all(map(_ICD.fullmatch, counts))
    identifies = found >= _IDENTIFIER_SHARE * rows
    digits = _postal_digits(column.name, list(counts))
    if not digits and _is_identifier(column.name, found, rows):
        return _identifier(column.name, found, rows, "texts")
    if (len(coded) == found and ((medical and found < rows) or not identifies)) or digits:
        numbers = {text: match[1] for text in counts if digits and (match := _POSTAL.fullmatch(text))}
        lost = any(len(number) < digits or number != text for text, number in numbers.items())
        postal = digits or all(len(text) == 5 and text.isdecimal() for text in counts)
        longest = 3 if medical else _LONGEST_POSTAL if postal else max(map(len, counts)) - 1
        most = max(limits.max_values, min(_MOST_GROUPS, rows // _ROWS_PER_GROUP))
        for length in range(longest, 0, -1):
            groups: Counter[str] = Counter()
            for text, number in counts.items():
                groups[(numbers[text].zfill(digits) if text in numbers else text)[:length]] += number
            if 2 <= len(groups) <= most and missing not in groups:
                values = tuple(sorted(groups))
                attribute = Attribute(
                    column.name, AttributeKind.CATEGORICAL, values=values, missing=missing, prefix=length,
                    digits=digits if lost else None,
                )  # fmt: skip
                what = "codes like those of ICD" if medical else "postal codes" if postal else "codes"
                sign = "character" if length == 1 else f"{length} characters"
                why = f"{what}, {found:,} of them, grouped by their first {sign}"
                why += f"; zeros in front that were lost make them {digits} digits again" if lost else ""
                note = f"a synthetic cell holds the group alone, such as {shown(values[0])}"
                guess = _of_values(attribute, why, groups, {})
                return Guess(attribute, why, (note, *guess.check), counted(len(values), "group"))
    if identifies:
        return _left_out(
            f"{found:,} different texts in {counted(rows, 'row')}: it looks like an identifier or free text; drop the "
            f"column"
        )
    more = f"--max-values {found}" if found <= LARGEST_SIZE // 2 - 1 else "a table with groups"
    why = f"{found:,} different texts, more than {limits.max_values}; if it names people with several rows, use {_PROTECT}"
    return Guess(None, f"{why}; else group them in the table, or allow them by {more}", person=None)


def _postal_digits(name: str, texts: list[str]) -> int:
    """Return of how many digits postal codes are, by the name of the column and nearly all its values; 0 if none."""
    found = [len(match[1]) for match in map(_POSTAL.fullmatch, texts) if match]
    if not _POSTAL_NAME.search(name) or not found or len(found) < _IDENTIFIER_SHARE * len(texts):
        return 0
    longest = max(found)
    longest += longest in {4, 8} and "zip" in name.casefold()  # all with a zero in front, which was lost
    return longest if longest in _POSTAL_LENGTHS else 0


def names_persons(name: str) -> bool:
    """Return whether a column may name people, or other units, by its own name."""
    return bool(_PERSON_NAME.search(name) or _ID_NAME.search(name))


def _is_identifier(name: str, found: int, rows: int) -> bool:
    """Return whether a column with this number of different numbers or texts holds identifiers, judged by its name."""
    if names_persons(name):
        return True
    often = found > _MANY and rows <= _ROWS_OF_A_NUMBER * found
    return often and _NUMBERED.search(name) is not None


def _identifier(name: str, found: int, rows: int, what: str) -> Guess:
    why = _NAMED.format(found=f"{found:,} different {what} in {counted(rows, 'row')}")
    return Guess(None, why, person=found < rows and not _THING_NAME.search(name))


def _is_survey_weight(name: str, values: NDArray[np.float64], rows: NDArray[np.int64], names: tuple[str, ...]) -> bool:
    """Return whether numbers may say how many people a row stands for; those of bodies and things are weights as well.

    Some names say it alone. Others do unless a name speaks of bodies; then survey weights are positive, differ by a
    factor of more than 4, and are unlike body weights: a mean of 30 to 250 (kg, lb) and a factor of at most 10.
    """
    if _SURVEY_WEIGHT.search(name):
        return True
    if not _WEIGHT.search(name) or values[0] <= 0 or any(map(_BODY.search, names)):
        return False
    spread, mean = values[-1] / values[0], float(values @ rows) / float(rows.sum())
    low, high = _MEANS_OF_BODIES
    return bool(spread > _SPREAD and not (low <= mean <= high and spread <= _SPREAD_OF_BODIES))


def _truth_pair(values: list[str]) -> tuple[Value, ...] | None:
    """Return the values for false and true if the texts look like them."""
    for spelling in (str.lower, str.title, str.upper):
        if set(values) <= {spelling("true"), spelling("false")}:
            return (False, True)
    if len(values) == 2:
        for no, yes in (values, values[::-1]):
            if (no.lower(), yes.lower()) in _PAIRS:
                return (no, yes)
    return None


def _numeric(  # noqa: PLR0911  one for each kind of numbers
    column: ColumnValues, numbers: NDArray[np.float64], counts: NDArray[np.int64], missing: Missing, limits: Limits
) -> Guess:
    import pyarrow as pa

    name = column.name
    if not (np.abs(numbers) <= _LARGEST).all():
        return _left_out(f"it holds infinite numbers, or numbers beyond {_LARGEST:g}; replace them in the table")
    values, places = np.unique(numbers + 0.0, return_inverse=True)  # "1" and "1.0" are one number, -0 is 0
    rows = np.bincount(places, weights=counts).astype(np.int64)
    integer = bool((values == np.floor(values)).all())
    if integer and np.abs(values).max() > _EXACT:
        return _left_out("it holds whole numbers beyond 2^53 and looks like an identifier; drop the column")
    check: list[str] = []
    if _is_survey_weight(name, values, rows, limits.names):
        check.append(
            "may be a survey weight, which dpopt does not use: every row counts once; if it is one, remove the column"
        )
    coded = _CODE_NAME.search(name) is not None
    labelled = {float(text): text for text in column.labels if text.lstrip("-").isdigit()}
    known = np.isin(values, list(labelled))
    of_labels = integer and known.mean() > 0.5 and len({*labelled, *values.tolist()}) <= limits.max_values
    named = integer and not column.labels and _PERSON_NAME.search(name) and values.size >= _IDENTIFIERS
    if (not named and values.size <= _few(values, rows, limits, integer=integer, coded=coded)) or of_labels:
        if pa.types.is_float32(column.values.type):  # a release looks for the text: 0.1, no 0.10000000149
            values = np.array([float(text) for text in as_text(pa.array(values, pa.float32())).to_pylist()])
        every = sorted({*values.tolist(), *(labelled if of_labels else ())})
        wholes: tuple[Value, ...] = tuple(int(value) if value == int(value) else value for value in every)
        if not column.labels and wholes == (0, 1):
            attribute = Attribute(name, AttributeKind.BOOLEAN, values=wholes, missing=missing)
            return Guess(attribute, "0 and 1", tuple(check))
        attribute = Attribute(name, AttributeKind.CATEGORICAL, values=wholes, missing=missing)
        texts = {number_text(value): int(number) for value, number in zip(values.tolist(), rows.tolist(), strict=True)}
        why = f"few different {'whole ' if integer else ''}numbers"
        guess = _of_values(attribute, why, texts, column.labels)
        return Guess(attribute, guess.why, (*check, *guess.check), guess.codes)
    once = integer and rows.max() == 1 and not _are_years(values)
    reason = None
    if once and (values[-1] - values[0] + 1 == values.size or (coded and rows.size > _FEW)):
        reason = "it numbers the rows and looks like an identifier; drop the column"
    elif integer and not once and _is_identifier(name, values.size, int(rows.sum())):
        return _identifier(name, values.size, int(rows.sum()), "numbers")
    elif once and _are_alike(values):
        check.append("no number occurs twice; if it is an identifier, remove it")
    if reason is not None:
        return _left_out(reason)
    shaped = readable_edges(values, rows, limits.bins, integer=integer)
    digits = None if integer else _decimals(values)
    attribute = Attribute(
        name, AttributeKind.NUMERIC, edges=shaped.edges, integer=integer, missing=missing, decimals=digits
    )
    people = integer and values.size > _MANY and 2 * values.size <= rows.sum() and _are_even(values, rows)
    if people:
        check.append(f"if these numbers name people with several rows, remove the column and use {_PROTECT}")
    check += _of_numbers(column, values, rows, shaped, missing, integer=integer)
    why = _shape_in_words(values, rows, shaped, integer=integer)
    return Guess(attribute, why, tuple(check), _bins_in_words(shaped), None if people else False)


def _decimals(values: NDArray[np.float64]) -> int | None:
    """Return how many digits after the point hold all numbers, those of 32 bits taken as they were written; None if many."""
    for digits in range(1, _MOST_DECIMALS + 1):
        within = np.minimum(1e-7 * np.abs(values), 0.01 / 10**digits)
        if (np.abs(values - np.round(values, digits)) <= within).all():
            return digits
    return None


def _are_years(values: NDArray[np.float64]) -> bool:
    """Return whether increasing whole numbers are successive years."""
    successive = values[-1] - values[0] + 1 == values.size
    return bool(successive and values[0] >= _YEARS[0] and values[-1] <= _YEARS[1])


def _are_even(values: NDArray[np.float64], rows: NDArray[np.int64]) -> bool:
    """Return whether rows lie evenly over the range of their numbers, as those of identifiers do."""
    apart = np.cumsum(rows) / rows.sum() - (values - values[0]) / (values[-1] - values[0])
    return bool(np.abs(apart).max() < _EVEN)


def _are_alike(values: NDArray[np.float64]) -> bool:
    """Return whether increasing whole numbers are as dense as those of rows, or nearly all of the same length."""
    lengths = np.bincount(np.floor(np.log10(np.maximum(np.abs(values), 1))).astype(np.int64))
    return bool(values.size >= _DENSE * (values[-1] - values[0]) or lengths.max() >= _IDENTIFIER_SHARE * values.size)


def _few(values: NDArray[np.float64], rows: NDArray[np.int64], limits: Limits, *, integer: bool, coded: bool) -> int:
    """Return up to how many different numbers are categories."""
    if integer and coded and values.size * _ROWS_PER_VALUE <= rows.sum():
        return limits.max_values
    if integer and values.size >= max(_IDENTIFIER_SHARE * rows.sum(), _IDENTIFIERS):
        return 0
    often = _FEW if values.size * _ROWS_PER_VALUE <= rows.sum() else 0
    some = _FEW_FRACTIONS if values.size * _ROWS_PER_FRACTION <= rows.sum() else 0
    return min(max(limits.bins if integer else some, often), limits.max_values)


def _of_numbers(
    column: ColumnValues,
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    shaped: Shaped,
    missing: Missing,
    *,
    integer: bool,
) -> list[str]:
    """Return the checks that the numbers of a column in bins suggest."""
    check, total = [], rows.sum()
    known = [text for text in ([missing] if isinstance(missing, str) else missing or ()) if text]
    if integer and (_CODE_NAME.search(column.name) or _scattered(values, rows)):
        check.append('if these are codes and not quantities, list them as "values", or group them by a "prefix"')
    if shaped.shape != "equal width" and shaped.edges[-1] > 0:
        share = rows[values >= shaped.edges[-2]].sum() / total
        low, high = (_grouped(edge) for edge in shaped.edges[-2:])
        held = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
        check.append(f"the wide top bin, {low} to {high}, holds {held} of the rows")
    limits = " and ".join(_grouped(edge) for edge in (shaped.edges[0], shaped.edges[-1]))
    inner = ", and all edges between them," if shaped.shape == "quantiles" else ""
    check.append(
        f"ends {limits}{inner} come from the table: replace them by publicly known ones, such as round numbers"
    )
    ends = ((values[-1], rows[-1], values[-2:][0]), (values[0], rows[0], values[:2][-1]))
    for value, number, next_one in ends:
        marks = value < 0 <= next_one or (
            _ALL_NINES.fullmatch(number_text(abs(float(value)))) and abs(value - next_one) > 0.1 * abs(value)
        )
        if marks and number > 1:
            mark, begin = number_text(float(value)), value < next_one
            edges = "begin edges at 0" if begin and next_one >= 0 else f"{'begin' if begin else 'end'} edges past it"
            check.append(
                f"{mark} in {counted(int(number), 'row')} stands apart: if it marks missing values, write "
                f'"missing": {json.dumps([*known, mark] if known else mark, ensure_ascii=False)} and {edges}'
            )
    unlike = [f"{code} = {label}" for code, label in column.labels.items()]
    if unlike:
        check.append(f"the file labels some of its values: {', '.join(unlike[:4])}")
    return check


def _scattered(values: NDArray[np.float64], rows: NDArray[np.int64]) -> bool:
    """Return whether many rows share few numbers with wide gaps, as codes do; the ends may stand apart."""
    below = (np.cumsum(rows) - rows / 2) / rows.sum()
    kept = (below >= _APART) & (below <= 1 - _APART)
    values, rows = values[kept], rows[kept]
    if values.size < 3:
        return False
    often = (rows.sum() - rows.max()) / (values.size - 1) >= _ROWS_OF_A_CODE
    step = float(np.quantile(np.diff(values), 0.1))
    return bool(often and values.size < _CODES_OF_A_RANGE * (values[-1] - values[0]) / step)


def _grouped(number: float) -> str:
    if number == int(number):
        return f"{number:,.0f}" if abs(number) >= 1e4 else f"{number:.0f}"  # years have four digits
    return f"{number:,}" if abs(number) >= 1 else number_text(number)


def _shape_in_words(values: NDArray[np.float64], rows: NDArray[np.int64], shaped: Shaped, *, integer: bool) -> str:
    kind = "whole numbers" if integer else "numbers"
    zeros = rows[values == 0.0].sum() / rows.sum()
    text = f"{kind} from {_grouped(float(values[0]))} to {_grouped(float(values[-1]))}"
    if 0.0 in shaped.edges and zeros > 0.1:
        text += f", {zeros:.0%} of them 0"
    return f"{text}; bins: {shaped.shape}"


def _bins_in_words(shaped: Shaped) -> str:
    low, high = _grouped(shaped.edges[0]), _grouped(shaped.edges[-1])
    return f"{low} to {high} in {counted(len(shaped.edges) - 1, 'bin')}"


def _left_out(reason: str) -> Guess:
    return Guess(None, reason)

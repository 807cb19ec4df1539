"""How a text file is written, guessed once for the owner to confirm: a release takes it from the schema."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from dpopt.private.readers.table_reading import THOUSANDS, TableReading
from dpopt.private.readers.text_fields import is_packed, opened

_SAMPLE = 2**22  # characters that are looked at for separators and numbers
_BLOCK = 2**24
_SIGNS = (",", ";", "\t", "|")
_NUMERIC_SHARE = 0.9
_ODD_SHARE = 0.1
"""Of the lines with bytes that are not ASCII, the share that may be no UTF-8: in cp1252 nearly all are not."""
_UNDEFINED = re.compile(b"[\x81\x8d\x8f\x90\x9d]")  # bytes that stand for nothing in cp1252

_MARKS = "".join(map(re.escape, THOUSANDS))
_FOUR_DIGITS = re.compile(r"[+-]?[0-9]{4,}")
_MARK = re.compile(rf"[{_MARKS}][0-9]")
_NUMBERISH = re.compile(rf"[+-]?[0-9]+([{_MARKS}][0-9]+)*")
_GROUPED = re.compile(rf"[+-]?[0-9]{{1,3}}(?:([{_MARKS}])[0-9]{{3}})(?:\1[0-9]{{3}})*(?:(?!\1)([.,])[0-9]+)?")
_FRACTION = re.compile(r"[+-]?[0-9]*([.,])([0-9]+)")


def guess_reading(paths: Sequence[Path], given: TableReading) -> TableReading:
    """Return a reading that suits text files of one form, where `given` says nothing else."""
    path = paths[0]
    packed = is_packed(path, public_start=given.column_names is None)
    encoding = given.encoding or _encoding(paths, public_start=given.column_names is None)
    found = replace(given, encoding=encoding)
    text = _beginning(path, encoding, packed=packed)
    if given.separator is None:
        separator = _separator(text)
        found = replace(found, separator=None if separator == "," else separator)
    sign = {None: ",", "tab": "\t"}.get(found.separator, found.separator)
    if sign is None or len(sign) > 1:
        return found
    rows = list(_rows(text, sign))
    torn = '"' in text and any("\n" in cell for row in rows for cell in row)
    if torn and given.quotes is not False and given.multiline is None:
        found = replace(found, multiline=True)
    if given.decimal is None and given.thousands is None:
        decimal, thousands = _marks(rows[1:])
        if decimal != sign or given.quotes is not False:
            found = replace(found, decimal=decimal, thousands=thousands)
    return found


def _blocks(path: Path, *, packed: bool) -> Iterator[bytes]:
    with opened(path, packed=packed) as stream:
        while block := stream.read(_BLOCK):
            yield block


def _encoding(paths: Sequence[Path], *, public_start: bool) -> str:
    """Return UTF-16 by its mark or its zeros, UTF-8 if nearly all lines with other bytes are that, else cp1252 or Latin-1."""

    def blocks() -> Iterator[bytes]:
        for path in paths:
            yield from _blocks(path, packed=is_packed(path, public_start=public_start))
            yield b"\n"

    start = next(blocks(), b"")[:4096]
    if start.startswith(b"\xff\xfe") or start[1::2].count(0) > len(start) // 3:
        return "utf-16-le"
    if start.startswith(b"\xfe\xff") or start[::2].count(0) > len(start) // 3:
        return "utf-16-be"
    held, foreign, odd, western = b"", 0, 0, True
    for block in blocks():
        western = western and not _UNDEFINED.search(block)
        whole, _, held = (held + block).rpartition(b"\n")
        if not whole.isascii():
            lines = [line for line in whole.split(b"\n") if not line.isascii()]
            foreign += len(lines)
            odd += sum("\ufffd" in line.decode("utf-8", "replace") for line in lines)
    if odd <= _ODD_SHARE * foreign:
        return "utf-8"
    return "cp1252" if western else "iso8859-1"


def _beginning(path: Path, encoding: str, *, packed: bool) -> str:
    text = next(_blocks(path, packed=packed), b"")[:_SAMPLE].decode(encoding, "replace").removeprefix("\ufeff")
    if len(text) < _SAMPLE // 4:
        return text
    return text[: text.rfind("\n") + 1] or text  # whole lines


def _rows(text: str, sign: str) -> Iterator[list[str]]:
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=sign, skipinitialspace=True)
        yield from filter(None, lines)
    except csv.Error:
        return


def _separator(text: str) -> str | None:
    """Return the sign that divides most rows into as many cells as the first; None if none does."""
    best: tuple[float, int, str | None] = (0.0, 1, None)
    for sign in _SIGNS:
        widths = [len(row) for row in _rows(text, sign)]
        if widths and widths[0] > 1:
            best = max(best, (widths.count(widths[0]) / len(widths), widths[0], sign), key=lambda one: one[:2])
    return best[2]


def _marks(rows: Sequence[Sequence[str]]) -> tuple[str, str | None]:
    """Return the decimal mark and the thousands mark of columns that hold numbers."""
    sure: set[str] = set()  # signs that can only stand before a fraction
    grouping: set[str] = set()  # signs between two groups or more, or with another one before a fraction
    perhaps: set[str] = set()  # a sign before three digits, which may be either
    for column in zip_longest(*rows, fillvalue=""):
        if not _MARK.search("\n".join(column)):  # most columns of a wide table are done
            continue
        cells = [cell for text in column if (cell := text.strip())]
        numbers = [cell for cell in cells if _NUMBERISH.fullmatch(cell)]
        if len(numbers) < _NUMERIC_SHARE * len(cells):
            continue
        found: set[str] = set()
        fractions = {
            match[1]
            for match in map(_FRACTION.fullmatch, numbers)
            if match and (len(match[2]) != 3 or match[0].lstrip("+-").startswith("0"))
        }
        for cell in numbers:
            match = _GROUPED.fullmatch(cell)
            if match is None or cell.lstrip("+-").startswith("0"):
                continue
            if match[2]:
                sure.add(match[2])
            if match[2] or cell.count(match[1]) > 1 or match[1] not in ".,":
                grouping.add(match[1])
            else:
                found.add(match[1])
        sure |= fractions
        # Numbers with a sign before three digits, always three, and none of four digits without it.
        if (unsure := found - fractions) and not any(_FOUR_DIGITS.fullmatch(cell) for cell in numbers):
            perhaps |= unsure
    if sure - grouping:
        decimal = "," if sure - grouping == {","} else "."
    else:
        decimal = "," if "." in grouping and "," not in grouping else "."
    between = grouping - {decimal} or (perhaps & {",", "."}) - {decimal}
    if len(between) > 1:
        return decimal, None
    return decimal, next(iter(between), None)

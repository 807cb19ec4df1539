"""Pairs of files that are some records apart, by construction: nothing of them is read from data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema

ADD_REMOVE, REPLACE = "add-remove", "replace"
SIZE = 8
"""The public number of records, wherever one is needed."""
SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0)),
        Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0, 3.0)),
    )
)
ONE_BIT = Schema((Attribute("a", AttributeKind.BOOLEAN),))


@dataclass(frozen=True, slots=True)
class FilePair:
    """Two files, `apart` records from each other under a relation: the first one has what the other one lacks."""

    one: Path
    other: Path
    relation: str
    apart: int


@dataclass(frozen=True, slots=True)
class Canary:
    """Lines of a file: those that stay, and those that are put on top of them."""

    header: str
    """First line; empty where there is none."""
    kept: tuple[str, ...]
    """Lines of both files."""
    line: Callable[[int], str]
    line_in_place: Callable[[int], str]
    """The i-th line that the first file has on top, and what stands there in the second one under replace-one."""
    suffix: str = ".csv"

    def write(self, folder: Path, relation: str, apart: int) -> FilePair:
        """Write the pair into a folder."""
        head = [self.header] if self.header else []
        added = [self.line(number) for number in range(apart)]
        instead = [self.line_in_place(number) for number in range(apart)] if relation == REPLACE else []
        paths = folder / f"one{self.suffix}", folder / f"other{self.suffix}"
        for path, lines in zip(paths, (added, instead), strict=True):
            path.write_text("".join(f"{line}\n" for line in (*head, *lines, *self.kept)), encoding="utf-8")
        return FilePair(*paths, relation, apart)


HEADER, TRUE, FALSE = "a,b,c", "true,0.5,0.5", "false,1.5,2.5"


def table_of(true: int, false: int) -> Canary:
    """Return a table of so many records of two kinds, to which some of the first kind are added."""
    return Canary(HEADER, (TRUE,) * true + (FALSE,) * false, lambda _: TRUE, lambda _: FALSE)


BOTH_LITERALS = Canary(
    HEADER, (TRUE,) * (SIZE // 2) + (FALSE,) * (SIZE // 2), lambda _: "true,1.5,0.5", lambda _: FALSE
)
"""The record that moves a sum of the sanitizer the most."""
HALVES, ALL_TRUE, ALL_FALSE = table_of(SIZE // 2, SIZE // 2), table_of(SIZE, 0), table_of(0, SIZE)
NEARLY_EMPTY, FEWER_TRUE = table_of(0, 1), table_of(SIZE // 2 - 1, SIZE // 2 + 1)
EDGES = Canary("", ("u v",), lambda number: f"c{number} d{number}", lambda number: f"u w{number}", ".txt")
LISTS = Canary("", ("else:1",) * 2, lambda _: "else:1", lambda _: "else:0", ".txt")
POINTS = Canary("b,c", ("0.6,0.8",) * 3 + ("-0.6,-0.8",) * 3, lambda _: "0.6,0.8", lambda _: "-0.6,-0.8")

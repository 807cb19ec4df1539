"""Results put into a document, where they replace what stands between two marks, and figures read off its tables again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = "results"


def write_results(document: Path, lines: Iterable[str], *, part: str = RESULTS) -> None:
    """Replace a part of a document, that of the results unless another is named."""
    document.write_text(with_results(document, lines, part=part), encoding="utf-8")


def with_results(document: Path, lines: Iterable[str], *, part: str = RESULTS) -> str:
    """Return a document in which a part is replaced by these lines."""
    text, begin, end = document.read_text(encoding="utf-8"), f"<!-- {part} -->\n", f"<!-- end of {part} -->\n"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{document} needs the lines {begin.strip()} and {end.strip()} around its {part}")
    return before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a table; a text may hold several titles, as "set | epsilon"."""
    head = " | ".join(titles)
    yield f"| {head} |"
    yield "|" + "---|" * (1 + head.count(" | "))
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def captioned(caption: str, titles: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield a caption and the lines of a table, each with an empty line after it."""
    yield from (caption, "", *table(titles, rows), "")


def figure(number: float) -> str:
    """Return a figure to four digits, whole where it is large."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def circumstances(report: Mapping[str, Any]) -> str:
    """Return one sentence: date, machine, versions, runs and load."""
    machine, versions = report["machine"], report["versions"]
    runs = f"{report['runs']} run" if report["runs"] == 1 else f"{report['runs']} runs"
    return (
        f"{report['date']}: {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']:g} GB; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f"; {runs}; load at the start {report['load_at_start']:g}."
    )


def rows(document: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the tables of results by the titles of their columns; a title that comes again is numbered."""
    part = document.read_text(encoding="utf-8").partition(f"<!-- {RESULTS} -->\n")[2]
    titles: list[str] = []
    for line in part.partition(f"<!-- end of {RESULTS} -->\n")[0].splitlines():
        cells = [entry.strip() for entry in line[1:-1].split("|")] if line.startswith("|") else []
        if not cells or line.startswith("|---"):
            titles = titles if cells else []
        elif titles:
            yield dict(zip(titles, cells, strict=True))
        else:
            seen = [cells[:place].count(title) for place, title in enumerate(cells)]
            titles = [f"{title} {times + 1}" if times else title for title, times in zip(cells, seen, strict=True)]


def cell(document: Path, entries: Sequence[str], title: str) -> str:
    """Return what the one row that begins with the first of these entries, and has the others in order, has in a column."""
    found = []
    for row in rows(document):
        values = iter(row.values())
        if title in row and next(values) == entries[0] and all(entry in values for entry in entries[1:]):
            found.append(row[title])
    if len(found) != 1:
        raise ValueError(f"{document}: {list(entries)} has {found} in the column {title!r}, not one value")
    return found[0]

"""Results put into a document: what stands between two marks is replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"


def write_results(document: Path, lines: Iterable[str]) -> None:
    """Replace the results in a document.

    Raises
    ------
    ValueError
        If the document does not hold both marks.
    """
    text = document.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{document} needs the lines {BEGIN.strip()} and {END.strip()} around its results")
    document.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after, encoding="utf-8")


def circumstances(report: Mapping[str, Any]) -> str:
    """Return one sentence: date, machine, versions, runs and load."""
    machine, versions = report["machine"], report["versions"]
    runs = f"{report['runs']} run" if report["runs"] == 1 else f"{report['runs']} runs"
    return (
        f"{report['date']}: {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']:g} GB; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f"; {runs}; load at the start {report['load_at_start']:g}."
    )

"""`python -m experiments.reproduce`, which is `dpopt reproduce`: a figure of a paper, ours on file, and ours measured now."""

from __future__ import annotations

import argparse
import difflib
import io
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from experiments.documents import table
from experiments.papers import EXPERIMENTS, HERE, PART, VERDICTS, Beside, Paper, Report, compared, report_of

RESULTS, DOCUMENT = "results.json", "README.md"
NO_RESULT = 2
"""Exit code of an experiment whose tables are missing, and of a name that nothing has."""
NOT_MEASURED = (ArithmeticError, LookupError, RuntimeError, ValueError)
"""What comparing raises where the quick run has none of the rows that it needs: means of nothing, keys that are missing."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A figure, a table or a theorem of a paper that an experiment repeats."""

    paper: Paper
    place: str
    experiment: str
    kept: tuple[Beside, ...]
    """What the paper says of it, beside the results on file."""

    @property
    def name(self) -> str:
        """Paper and place, as they are typed: "dualquery:figure3"."""
        return f"{self.paper.name}:{self.place.lower().replace(' ', '')}"

    def options(self) -> list[str]:
        """Return the options of the experiment that measure no more than this."""
        parts: Mapping[str, str] = getattr(import_module(f"experiments.{self.experiment}.paper"), "PARTS", {})
        return parts.get(self.place, "").split()


def repeated() -> dict[str, Repeated]:
    """Return everything that is repeated, by name."""
    found = {}
    for experiment in EXPERIMENTS:
        paper, every = compared(experiment)
        for place in dict.fromkeys(one.place for one in every):
            one = Repeated(paper, place, experiment, tuple(kept for kept in every if kept.place == place))
            found[one.name] = one
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the list, or the figures of one name; return the exit code of its experiment."""
    parser = argparse.ArgumentParser(prog="dpopt reproduce")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    known = repeated()
    if options.name is None:
        print("\n".join(table(["name | paper | experiment", "figures"], _listed(known))))
        return 0
    if options.name not in known:
        near = difflib.get_close_matches(options.name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "--list names everything"
        print(f"nothing is repeated under the name {options.name!r}; {hint}")
        return NO_RESULT
    if options.out is not None:
        made = not options.out.exists()
        options.out.mkdir(parents=True, exist_ok=True)
        code = _reproduce(known[options.name], options.out, full=options.full)
        if code == NO_RESULT and made:
            options.out.rmdir()
        return code
    with tempfile.TemporaryDirectory(prefix="dpopt-reproduce-") as folder:
        return _reproduce(known[options.name], Path(folder), full=options.full)


def _listed(known: Mapping[str, Repeated]) -> Iterator[list[object]]:
    for name, one in known.items():
        yield [name, f"{one.paper.cited}, {one.place}", one.experiment, len(one.kept)]


def _reproduce(one: Repeated, folder: Path, *, full: bool) -> int:
    """Run the experiment, with tables and pictures in a folder, then print its figures beside those of the paper."""
    document, results = folder / DOCUMENT, folder / RESULTS
    parts = re.findall("<!-- end of (.*) -->", (HERE / one.experiment / DOCUMENT).read_text(encoding="utf-8"))
    marks = "".join(f"<!-- {part} -->\n<!-- end of {part} -->\n\n" for part in parts if part != PART)
    document.write_text(marks, encoding="utf-8")
    quick = [] if full else ["--quick"]
    program = import_module(f"experiments.{one.experiment}.__main__")
    errors = io.StringIO()
    with redirect_stdout(_Watched(sys.stderr)), redirect_stderr(errors):
        code = program.main([*one.options(), *quick, "--json", str(results), "--document", str(document)])
    if code == NO_RESULT:
        print(errors.getvalue().strip())
        document.unlink()
        return NO_RESULT
    now = measured(one, json.loads(results.read_text(encoding="utf-8")), full=full)
    head = [f"# {one.place} of {one.paper.cited}", "", *_table(one, now, full=full), "", "## Tables of this run", ""]
    document.write_text("\n".join(head) + document.read_text(encoding="utf-8"), encoding="utf-8")
    print(document.read_text(encoding="utf-8"))
    return int(code)


class _Watched(io.TextIOBase):
    """Show the plain figures of each result that an experiment prints as JSON; its tables come at the end."""

    def __init__(self, shown: TextIO) -> None:
        self._shown = shown

    def write(self, text: str) -> int:
        if text.startswith("{"):
            figures = (
                f"{name} {figure}" for name, figure in json.loads(text).items() if isinstance(figure, str | int | float)
            )
            print(
                "measured:", textwrap.shorten(", ".join(figures), 110, placeholder=" ..."), file=self._shown, flush=True
            )
        return len(text)


def _table(one: Repeated, now: Mapping[str, str], *, full: bool) -> Iterator[str]:
    kind = "measured now" if full else "measured now, on tiny made-up data"
    rows = [[kept.what, kept.paper, kept.ours, VERDICTS[kept.agrees], now.get(kept.what, "–")] for kept in one.kept]
    known = {kept.what for kept in one.kept}
    rows += [[what, "–", "–", "–", ours] for what, ours in now.items() if what not in known]
    yield from table(["what | paper | ours, kept | agree", kind], rows)
    if not full:
        yield ""
        yield "The quick run shows that it still runs. --full measures on the tables of DPOPT_DATA, which can take hours."


def measured(one: Repeated, fresh: Report, *, full: bool) -> dict[str, str]:
    """Return our figures of new results, by what they are of; what a quick run does not measure is left out."""
    module, found = import_module(f"experiments.{one.experiment}.paper"), dict[str, str]()
    with suppress(*(() if full else NOT_MEASURED)):
        for entry in module.beside(_with_other_parts(report_of(one.experiment), fresh)):
            if entry.place == one.place and entry.ours.strip() and "nan" not in entry.ours.split():
                found[entry.what] = entry.ours
    return found


def _with_other_parts(kept: Report, fresh: Report) -> Report:
    """Return new results, with those on file of the parts that were not measured: of other figures than the one asked for."""
    whole = {**kept, **{part: rows for part, rows in fresh.items() if rows}}
    rows = whole.get("results")
    if isinstance(rows, list) and rows:
        measured = {_part_of(row) for row in rows}
        whole["results"] = [row for row in kept.get("results", []) if _part_of(row) not in measured] + rows
    return whole


def _part_of(row: Mapping[str, Any]) -> object:
    named = row.get("row", row)
    return named.get("figure", named.get("part"))


if __name__ == "__main__":
    sys.exit(main())

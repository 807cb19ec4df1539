"""`dpopt answer`: questions to releases, answered with intervals."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command, fail
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import console


@command("answer")
def answer(
    *,
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="RELEASE ... QUESTION ...",
            help="Folder of a release, or several of one table, whose measurements are taken together; then questions, "
            "each in quotes: 'count where sex = female', 'share of smoker by education', 'mean(income) by sector where "
            "age >= 40', 'median(income) by sex', 'mean(income) of retired - mean(income) of employed'. "
            "One that is given twice is answered once.",
        ),
    ],
    regress: Annotated[
        list[str] | None, "Linear regression, as 'income ~ age + sex'; can be given several times."
    ] = None,
    file: Annotated[Path | None, "File of questions, one on each line; '#' begins a comment."] = None,
    confidence: Annotated[float, "Probability that each interval contains the figure of the table."] = 0.95,
    simultaneous: Annotated[
        bool, "With this probability all intervals of this call together contain their figures."
    ] = False,
    population: Annotated[
        bool, "Intervals hold the figure of the population that the table was drawn from, record by record."
    ] = False,
    shrunken: Annotated[
        bool, "Also posterior means and intervals, with less error, biased towards columns that are unrelated."
    ] = False,
    out: Annotated[Path | None, "-o", "--out", "New file for the answers (.csv)."] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Answer questions from the measurements of a release, with intervals. Costs no privacy.

    Answers estimate the figures of the table without bias. If columns were not measured together, the synthetic rows
    answer, without an interval.
    """
    from dpopt.answers.questions import read_questions
    from dpopt.files.written_files import check_new, whole_file
    from dpopt.synopses.release_answers import Answering, frame

    folders = list(takewhile(os.path.exists, given))
    asked = [*given[len(folders) :], *(read_questions(file) if file else ()), *(regress or ())]
    if not folders:
        fail(f"found no release at {given[0]!r}; name the folder of a release first, then questions")
    if not asked:
        fail(
            "found no question; give one after the release, such as 'count where sex = female', or --regress, or --file"
        )
    if out is not None:
        if as_json:
            fail("--out writes a table (.csv), and --json prints: leave one of them out, or give --json > FILE")
        check_new(out)
    rows = Answering.of(folders).answers(
        asked, confidence=confidence, simultaneous=simultaneous, population=population, shrunken=shrunken
    )
    if out is not None:
        with whole_file(out) as stream:
            frame(rows).to_csv(stream, index=False)
        typer.echo(f"{len(rows):,} answers written to {out}")
    elif as_json:
        print_json({"confidence": confidence, "answers": rows})
    else:
        whose = "the population that the table is a sample of" if population else "the table as counted"
        _show(rows, f"{100 * confidence:g} % intervals{' that hold all together' if simultaneous else ''}, for {whose}")


def _show(rows: list[dict[str, object]], title: str) -> None:
    """Print answers, a table for each question."""
    from itertools import groupby

    from dpopt.answers.answer import FIGURES
    from dpopt.cli.reports.rows import print_rows

    console().print(title)
    for asked, group in groupby(rows, key=lambda row: str(row["question"])):
        found = list(group)
        how = sorted({str(row["how"]) for row in found})
        shown = [{name: one for name, one in row.items() if name not in {"question", "how"}} for row in found]
        print_rows(shown, title=f"{asked} ({', '.join(how)})", most=len(shown), declared={*shown[0]} - {*FIGURES})

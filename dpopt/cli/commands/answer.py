"""`dpopt answer`: questions to releases, answered with intervals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command, fail
from dpopt.cli.commands.plan import print_json


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
    file: Annotated[Path | None, "File of questions, one on each line; '#' begins a remark."] = None,
    confidence: Annotated[float, "Probability with which each interval holds the figure of the table."] = 0.95,
    simultaneous: Annotated[bool, "All intervals of this call together hold with this probability."] = False,
    population: Annotated[
        bool, "Intervals hold the figure of the population that the table was drawn from, record by record."
    ] = False,
    out: Annotated[Path | None, "-o", "--out", "New file for the answers (.csv)."] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Answer questions from what a release measured, with intervals. Costs no privacy.

    The answers are those of the table as it was counted, without bias. Questions about columns that were not measured
    together are answered by the synthetic rows, without an interval.
    """
    from dpopt.files.written_files import check_new
    from dpopt.releases.folder_files import write_whole
    from dpopt.synopses.release_answers import Answering, frame

    folders = []
    for one in given:
        if not Path(one).exists():
            break
        folders.append(one)
    asked = given[len(folders) :] + _lines(file) + (regress or [])
    if not folders:
        fail(f"found no release at {given[0]!r}; name the folder of a release first, then questions")
    if not asked:
        fail("found no question; give one behind the release, as 'count where sex = female', or --regress, or --file")
    if out is not None:
        if as_json:
            fail("--out writes a table (.csv), and --json prints: leave one of them out, or give --json > FILE")
        check_new(out)
    answering = Answering.of(folders)
    rows = answering.answers(asked, confidence=confidence, simultaneous=simultaneous, population=population)
    if out is not None:
        write_whole(out, partial(frame(rows).to_csv, index=False), "answers")
        typer.echo(f"{len(rows):,} answers written to {out}")
    elif as_json:
        print_json({"confidence": confidence, "answers": rows})
    else:
        whose = "the population that the table was drawn from" if population else "the table as it was counted"
        _show(rows, f"{100 * confidence:g} % intervals{' of all together' if simultaneous else ''}, of {whose}")


def _lines(file: Path | None) -> list[str]:
    from dpopt.answers.questions import read_questions

    return [] if file is None else list(read_questions(file))


def _show(rows: list[dict[str, object]], title: str) -> None:
    """Print answers, a table for each question."""
    from itertools import groupby

    from dpopt.cli.reports.reports import console, print_table
    from dpopt.html_pages.shown import figure

    console().print(title)
    for asked, group in groupby(rows, key=lambda row: str(row["question"])):
        found = [{name: one for name, one in row.items() if name != "question"} for row in group]
        how = {str(row.pop("how")) for row in found}
        names = [name.replace("_", " ") for name in found[0]]
        shown = [[one if isinstance(one, str) else figure(one) for one in row.values()] for row in found]
        print_table(names, shown, title=f"{asked} ({', '.join(sorted(how))})")

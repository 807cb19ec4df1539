"""A release to a page of HTML; with the table, everything that its owner may know besides."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpopt.algorithms.after.judgement import Judgement, judge
from dpopt.algorithms.replay import finished_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.files.written_files import check_replaceable, whole_file
from dpopt.html_pages.page import page
from dpopt.releases.descriptions.description import FIGURES, Description, about_figures, described, guarantee
from dpopt.reports.charts import short
from dpopt.reports.sections import association_maps, column_charts, rounds_section
from dpopt.reports.words import grouped_charges, meaning_of
from dpopt.synopses.synopsis import Synopsis


def report(
    release: SyntheticRelease | Synopsis | str | os.PathLike[str],
    table: Any = None,
    *,
    out: str | os.PathLike[str] | None = None,
    target: str | None = None,
    title: str | None = None,
    progress: Callable[[str], None] = lambda said: None,
) -> str:
    """Return a report on a release as one page of HTML that needs nothing else, and write it.

    Without the table the page holds released values alone, and may be published with the release. With the table it is
    for the owner alone, and says so on every page: exact figures are in it.

    Parameters
    ----------
    release : SyntheticRelease, Synopsis or path
        A release, its folder, or a file that answers queries (.npz).
    table : path, DataFrame, sparse matrix, table of bits or PrivateDataset, optional
        The table, read as the release read it. Private. Not for files that answer queries.
    out : path, optional
        File for the page. One that is there is replaced if it is a page. For the owner alone where a table is given.
    target : str, optional
        Column that models predict, trained on synthetic and on real records; by default the last one of few values.
        Needs scikit-learn (``pip install 'dpopt[report]'``).
    title : str, optional
        Heading of the page. Public.
    progress : callable
        Called with what is done next.

    Raises
    ------
    PlanError
        If a table is given with a file that answers queries, or a target without a table.
    ReleaseFolderError
        If the release cannot be read, or the page not be written.
    DpoptError
        If the table does not fit the release. `PrivateDataError` may quote it.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40))
    >>> released = dpopt.histogram(pandas.DataFrame({"age": [1, 30]}), dpopt.Schema((ages,)), "age", epsilon=1)
    >>> page = dpopt.report(released)
    >>> "epsilon = 1" in page, "<script" in page
    (True, False)
    """
    place = None if out is None else Path(out)
    if place is not None:
        check_replaceable(place, b"<!doctypehtml>", "page of HTML")
    if table is None and target is not None:
        raise PlanError(f"models that predict {target!r} are compared on the table; give it, or leave the target out")
    synopsis = _synopsis(release)
    if synopsis is not None:
        if table is not None:
            raise PlanError(
                "a file that answers queries is reported without its table; compare its answers by the commands of its "
                "kind"
            )
        text = _page_of_synopsis(synopsis, title)
    else:
        finished = finished_release(release)
        judged = None if table is None else judge(finished, table, target=target, progress=progress)
        progress("drawing")
        text = _page(finished, judged, title)
    if place is not None:
        with whole_file(place, private=table is not None) as file:
            file.write(text.encode())
    return text


def _synopsis(release: object) -> Synopsis | None:
    if isinstance(release, Synopsis):
        return release
    if isinstance(release, str | os.PathLike) and Path(release).is_file():
        from dpopt.synopses.any_synopsis import read_synopsis  # loads every kind

        return read_synopsis(release)
    return None


def _page_of_synopsis(synopsis: Synopsis, title: str | None) -> str:
    solved = synopsis.solved_in_words()
    return page(
        "report.html",
        title=title or f"Report on a release: {synopsis.WHAT}",
        privacy=synopsis.privacy,
        release=Description(synopsis.WHAT, guarantee(synopsis.privacy), synopsis.verdict, tuple(synopsis.notes())),
        meaning=meaning_of(synopsis.privacy),
        charges=grouped_charges(synopsis.privacy["charges"]),
        synopsis={"what": synopsis.WHAT, "said": repr(synopsis), "made_by": synopsis.MADE_BY, "solved": solved},
        statement=None,
        filters={"short": short},
    )


def _page(finished: SyntheticRelease, judged: Judgement | None, title: str | None) -> str:
    schema, statement = finished.job.schema, finished.statement
    measured = finished.measured()
    figures = finished.figures() if judged is None else (judged.evaluation.intervals or {}).get("figures", [])
    before, after = about_figures(some=bool(figures))
    asked, columns = dict(finished.job.workload.specification), column_charts(finished, measured, judged)
    records = None if finished.synthetic is None else len(finished.records)
    what = "noisy answers" if records is None else "synthetic records"
    return page(
        "report.html",
        title=title or f"Report on a release of {what}",
        privacy=statement["privacy"],
        release=described(statement, schema),
        meaning=meaning_of(statement["privacy"]),
        charges=grouped_charges(statement["privacy"]["charges"]),
        synopsis=None,
        statement=statement,
        accuracy={name: statement["accuracy"].get(name) for name in ("proven", "predicted", "expected")},
        held={"records": records, "rows": finished.job.rows or records, "weighted": finished.job.rows is None},
        asked=short(str(asked.get("workload") or json.dumps(asked, ensure_ascii=False)), 300),
        rules=[(short(rule.name, 200), short(rule.describe(), 2000)) for rule in schema.rules],
        columns=columns,
        outside=[sum(one["outside"][part] for one in columns) for part in (0, 1)],
        all_columns=len(schema),
        interval=measured is not None and bool(measured.shares),
        figures={"title": FIGURES, "before": before, "rows": figures, "after": after},
        maps=association_maps(finished, judged),
        rounds=rounds_section(finished),
        judged=judged,
        names=schema.names,
        filters={"short": short},
    )

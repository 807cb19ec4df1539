"""Figures of the papers beside ours: what an experiment compares (its `paper.py`), and how that is written.

The figures of a paper are those of its text; a `Beside` quotes the words, and a test looks them up in the file of the
paper. The texts hold no pictures, and those of two papers have lost their formulas: a figure that stands in a picture only
is not compared, and a formula that was restored is marked so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

Report = dict[str, Any]
HERE = Path(__file__).resolve().parent
PART = "beside the paper"
RESTORED = " (formula restored)"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its short name, how it is cited, and the name of the file of its text."""

    name: str
    cited: str
    file: str


DUALQUERY = Paper("dualquery", "Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014)", "gaboardi-et-al-2014-dualquery.txt")
CONSISTENCY = Paper("consistency", "Hay, Rastogi, Miklau and Suciu (2010)", "hay-et-al-2010-consistency.txt")
LEARNING = Paper("learning", "Blum, Ligett and Roth (2013)", "blum-ligett-roth-learning-theory.txt")
MARGINALS = Paper("marginals", "Thaler, Ullman and Vadhan (2012)", "thaler-ullman-vadhan-2012-marginals.txt")
LECTURE = Paper("lecture", "Nikolov (2017), lecture 6", "nikolov-2017-lecture-6-private-multiplicative-weights.txt")


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure or claim of a paper beside ours."""

    where: str
    """Figure, table or theorem, and the section where it stands."""
    what: str
    """What is compared."""
    paper: str
    ours: str
    """What the paper says, and what came out here."""
    agrees: bool | None
    """Whether both agree; None where there is no figure to compare."""
    says: str
    """One sentence on it."""
    quote: str
    """Words of the paper, as the file of its text has them."""

    @property
    def place(self) -> str:
        """Figure, table or theorem alone."""
        return self.where.split(" (")[0]


EXPERIMENTS = (
    "figure5",
    "wide_data",
    "hay_2010",
    "intervals",
    "halfspaces",
    "small_databases",
    "distributional_privacy",
    "papers_sanitizer",
    "polynomial_release",
    "decision_lists",
    "approximate_degree",
    "multiplicative_weights",
)
"""The experiments that repeat a figure, a table or a theorem of a paper: those with a `paper.py`."""
VERDICTS = {True: "yes", False: "**no**", None: "–"}


def report_of(name: str) -> Report:
    """Return the results of an experiment that are kept; none where it has only what follows from theory."""
    file = HERE / name / "results.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def compared(name: str) -> tuple[Paper, list[Beside]]:
    """Return the paper that an experiment repeats, and what it compares."""
    module = import_module(f"experiments.{name}.paper")
    return module.PAPER, list(module.beside(report_of(name)))


def table(name: str) -> Iterator[str]:
    """Yield what an experiment compares as a table."""
    paper, found = compared(name)
    yield f"**Beside the paper**, {paper.cited}; made from the results by `python -m experiments`."
    yield ""
    yield "| where | what | paper | ours | agrees | in one sentence |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        cells = (one.where, one.what, one.paper, one.ours, VERDICTS[one.agrees], one.says)
        yield f"| {' | '.join(cells)} |"


def overview() -> Iterator[str]:
    """Yield which experiment repeats what of which paper, and every disagreement."""
    every = {name: compared(name) for name in EXPERIMENTS}
    yield "| experiment | paper | what it repeats | compared | agree | disagree | not decided |"
    yield "|---|---|---|---|---|---|---|"
    for name, (paper, found) in every.items():
        places = sorted({one.place for one in found})
        counts = (sum(one.agrees is verdict for one in found) for verdict in (True, False, None))
        yield (
            f"| [{name}]({name}/README.md) | {paper.cited} | {'; '.join(places)} | {len(found)} | "
            f"{' | '.join(map(str, counts))} |"
        )
    yield ""
    yield "What disagrees:"
    yield ""
    yield "| paper | where | what | paper | ours | in one sentence |"
    yield "|---|---|---|---|---|---|"
    for name, (paper, found) in every.items():
        for one in found:
            if one.agrees is False:
                cells = (paper.cited, f"[{one.where}]({name}/README.md)", one.what, one.paper, one.ours)
                yield f"| {' | '.join(cells)} | {one.says} |"


def span(values: list[float], digits: int = 3) -> str:
    """Return the least and the largest of some figures, as "least to largest"."""
    return f"{min(values):.{digits}g} to {max(values):.{digits}g}"

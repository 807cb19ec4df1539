"""What is said of a release: one record, of which the terminal, README.txt, reports and `repr` are the templates.

All of it is a function of public values: the statement of a plan or of a release, and the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpopt.accounting.budget import Budget
from dpopt.errors import AccuracyWarning, DpoptWarning, PrivacyWarning
from dpopt.files.codec import decode
from dpopt.releases.declared_size import contradiction_in_brief, contradiction_in_words
from dpopt.releases.measured_size import declared_rows, measured_note
from dpopt.schema.finer import fixed_by_rules
from dpopt.schema.schema import Schema

_REPAIRS = {
    "clip": "Numbers outside the range that schema.json gives their column were counted in its end bins, which moves its mean.",
    "other": "Values that do not fit schema.json were counted in the bucket that it declares for them.",
    "drop": "Rows with values that do not fit schema.json were not counted.",
}
TOLERABLE = 0.02
"""What a percentage within a group may be off, 2 points: the group needs so many rows that the noise of a count is less."""
LITTLE = 0.5
"""Part of the error of unrelated columns above which rows keep little dependence: about half or less, on public tables."""
FIGURES = "Figures with intervals"
_ABOUT = (
    "Each interval, by itself, holds the figure of the table as it was counted with probability 95 %: about one of twenty "
    "misses. Estimates come without bias from what was measured, and not from the rows. Columns decided in their order what "
    "is shown. Of a mean the first interval takes each bin for its representative, the second allows any numbers within it."
)
_NONE = "No counts of single columns or pairs were measured as such, so that no figure of this release has an interval."
_NO_PEOPLE = (
    "Do not compute standard errors from the rows as if they were people: they leave out the noise, and are too small."
)
_ASK = " 'dpopt answer FOLDER QUESTION' gives counts, shares, means, quantiles and regressions, each with an interval."


@dataclass(frozen=True, slots=True)
class Note:
    """A warning in sentences, and in a few words."""

    text: str
    brief: str
    kind: type[DpoptWarning] = AccuracyWarning
    of_run: bool = False
    """Whether released values show it; else the plan does, and it is shown before anything is spent."""
    advice: str = ""
    """What the owner of the table can do, for the terminal."""
    warned: bool = True
    """Whether it is raised as a warning; else the terminal shows it as a note."""

    def warning(self) -> DpoptWarning:
        """Return the note as a warning."""
        return self.kind(" ".join(filter(None, (self.text, self.advice))))


@dataclass(frozen=True, slots=True)
class Description:
    """What is said of a release, a sentence or more each."""

    title: str
    guarantee: str
    """In a few words."""
    notes: tuple[Note, ...]
    repairs: tuple[str, ...] = ()
    """What became of values that do not fit the schema."""
    two_way: tuple[str, ...] = ()
    """How far counts of two values together are off, and what unrelated columns have."""
    citation: str = ""


def described(statement: Mapping[str, Any], schema: Schema | None = None) -> Description:
    """Return what is said of a release, given the contents of its release.json.

    Examples
    --------
    >>> privacy = {"private": True, "epsilon": 1.0, "delta": 0.0, "unit": "one record"}
    >>> made_by = {"algorithm": "mwem", "versions": {"dpopt": "0.1"}, "workload": {"fingerprint": "83545dff085a36"}}
    >>> accuracy = {"two_way": {"pairs": 3, "count_error": 41.3}}
    >>> made = described({"records": {}, **made_by, "accuracy": accuracy, "privacy": privacy})
    >>> made.citation
    'Synthetic records, differentially private with epsilon = 1 (pure) for one record; made by dpopt 0.1 (algorithm mwem, \
workload 83545dff085a).'
    >>> made.two_way[0][:77]
    'A count of two values together is typically off by about 41 records, less for'
    """
    title = "Synthetic records" if statement["records"] is not None else "Noisy answers"
    spent, version = guarantee(statement["privacy"]), (statement.get("versions") or {}).get("dpopt", "")
    repairs = statement.get("on_invalid", "").split(",")
    return Description(
        title,
        spent,
        tuple(notes_of(statement, schema)),
        tuple(words for repair, words in _REPAIRS.items() if repair in repairs),
        tuple(_two_way(statement["accuracy"].get("two_way"))),
        f"{title}, {spent}; made by {f'dpopt {version}'.strip()} (algorithm {statement['algorithm']}, workload "
        f"{statement['workload']['fingerprint'][:12]}).",
    )


def about_figures(*, some: bool) -> tuple[str, str]:
    """Return what is said before and after the figures of a release of records; `some`: there are any."""
    return (_ABOUT, _NO_PEOPLE + _ASK) if some else (_NONE, _NO_PEOPLE)


def notes_of(statement: Mapping[str, Any], schema: Schema | None = None, errors: str | None = None) -> list[Note]:
    """Return all that a reader of a release is warned of.

    Parameters
    ----------
    statement
        The contents of release.json; of a plan or a synopsis its "privacy", and "accuracy" if there is any.
    schema
        Of a release of records: rules can fix numbers within bins.
    errors
        What stated errors do where the declared number of records is contradicted, in words.

    Examples
    --------
    >>> privacy = {"public_size": 100, "relation": "add-remove", "delta": 0.1}
    >>> budget = {
    ...     "accountant": "zcdp",
    ...     "epsilon": 1.0,
    ...     "delta": 0.1,
    ...     "rho": None,
    ...     "rows_per_person": None,
    ...     "earlier": [],
    ... }
    >>> [note.brief for note in notes_of({"privacy": {**privacy, "budget": budget}})]
    ['delta not below 1/n']
    """
    accuracy = statement.get("accuracy") or {}
    found = [*_fallbacks(statement)]
    if (wrong := accuracy.get("size")) is not None:
        (brief,) = contradiction_in_brief(wrong)
        found.append(Note(contradiction_in_words(wrong, *filter(None, (errors,))), brief, of_run=True))
    found += _of_privacy(statement["privacy"])
    if schema is not None and (names := fixed_by_rules(schema)):
        text = (
            f"all synthetic numbers of {', '.join(map(repr, names))} stand at the representatives of their bins, since "
            "a rule compares these, and not as an order of two columns alone; what lies between is lost. To keep it, "
            'leave the rule out and declare one column as a length after the other ("after"), or declare finer bins'
        )
        found.append(Note(text, f"{len(names):,} columns at representatives"))
    two_way = accuracy.get("two_way") or {}
    if two_way and statement.get("records") is not None:
        found += _of_pairs(two_way)
    verdict = (accuracy.get("predicted") or {}).get("verdict")
    if verdict is not None and "unrelated" not in two_way:  # what was measured of this table says more
        found.append(Note(verdict, "trivial answers are predicted to be as good"))
    return found


def _fallbacks(statement: Mapping[str, Any]) -> Iterator[Note]:
    """Yield in how many rounds, or for how many records, the solver that was asked for failed, and what answered."""
    rounds, batches = statement.get("certificates") or {}, statement.get("batches") or {}
    failed, why = (rounds or batches).get("fallbacks"), "; ".join(rounds.get("fallback_reasons", ()))
    if failed:
        of = batches.get("batches_kept", 0) * batches.get("records_of_a_batch", 0)
        where = f"In {failed:,} of {rounds['rounds']:,} rounds" if rounds else f"For {failed:,} of {of:,} records"
        because = f" ({why})" if why else ""
        text = f"{where} the fallback answered, a short local search, for the solver gave no record{because}."
        advice = "Give it more --seconds, or use the local search"
        yield Note(text, f"{where} the fallback answered".lower(), of_run=True, advice=advice)


def _of_privacy(privacy: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the notes on delta and on a number of records that was declared for persons, or measured with much noise."""
    stated, size = privacy.get("budget", {}), privacy.get("public_size")
    if not stated or not size:
        return
    delta, most = stated["delta"], stated.get("rows_per_person")
    if stated["accountant"] != "pure" and delta * size >= 1:
        text = (
            f"delta = {delta:g} is not below 1/n = {1 / size:.2g}. A mechanism that publishes a random record outright "
            "meets such a delta: take one well below 1/n unless you compare with published settings"
        )
        yield Note(text, "delta not below 1/n", PrivacyWarning)
    if stated.get("earlier"):
        measured = measured_note(size, decode(Budget, stated, "the budget", partial=True))
        if isinstance(measured, AccuracyWarning):
            yield Note(measured.args[0], f"n={size:,} measured with much noise")
    elif most is not None:
        yield Note(declared_rows(size, most), f"{size:,} counted rows declared, not measured")


def guarantee(privacy: Mapping[str, Any]) -> str:
    """Return the guarantee of a statement in a few words."""
    if not privacy["private"]:
        return "NOT private"
    delta = f" and delta = {privacy['delta']:g}" if privacy["delta"] else " (pure)"
    return (
        f"differentially private with epsilon = {privacy['epsilon']:.6g}{delta} for {privacy.get('unit', 'one record')}"
    )


def _of_pairs(found: Mapping[str, Any]) -> Iterator[Note]:
    """Yield what a reader of the rows is warned of, where relationships between columns in them cannot be relied on."""
    measured, named = found["pairs"], f"{found['pairs']:,} of {found.get('all_pairs', 0):,} pairs of columns"
    if not measured:
        text = (
            "No counts of two columns together were measured, so that nothing in this release tells how well its rows "
            "show relationships between columns. Do not rely on these before the owner has compared rows and table."
        )
        yield Note(text, "no pairs of columns measured", of_run=True, warned=False)
    elif not found.get("dependence", True):
        text = f"What was measured of {named} shows no dependence beyond noise and sampling. {_BY_ITSELF} {_HELP}"
        yield Note(text, "no dependence between columns seen", of_run=True)
    elif not found.get("better", True):
        text = f"These rows gain nothing over unrelated columns: {_pair_errors(found)} {_BY_ITSELF} {_HELP}"
        yield Note(text, "nothing gained over unrelated columns", of_run=True)
    elif _gains_little(found):
        text = f"These rows gain little over unrelated columns: {_pair_errors(found)} {_WEAKER} {_HELP}"
        yield Note(text, "little gained over unrelated columns", of_run=True)
    if 0 < 3 * measured <= found.get("all_pairs", 0):  # others were left out for what their distances said
        text = f"Only {named} were measured: relationships between other columns can be missing from these rows."
        yield Note(text, f"{named} measured", of_run=True)


_BY_ITSELF = "Use each column by itself: relationships between columns in these rows can be noise."
_WEAKER = "Relationships between columns in these rows are weaker than in the table, and many are lost."
_HELP = (
    "What helps in another release, which costs privacy again: fewer columns, a workload of the pairs that matter, or a "
    "larger epsilon."
)


def _gains_little(found: Mapping[str, Any]) -> bool:
    return bool(found.get("better") and found["release"] > LITTLE * found["unrelated"])


def _pair_errors(found: Mapping[str, Any]) -> str:
    """Return the estimated errors of the rows, of unrelated columns and of single noisy counts, in words."""
    own, unrelated, single = (_digits(found[name]) for name in ("release", "unrelated", "single_counts"))
    return (
        f"beyond what single columns have wrong, a count of two values is off by about {own} records in them, and by "
        f"{unrelated} if columns are taken as unrelated. The noise of a single count is {single} (root mean squares, "
        f"estimated from what was measured of {found['pairs']:,} pairs)."
    )


def _two_way(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield how far counts of two values together are off, and what follows for shares within groups."""
    if not found or not found["pairs"]:
        return
    if found.get("dependence") and found["better"] and not _gains_little(found):
        some, every = found["pairs"], found.get("all_pairs", 0)
        others = f" in the {some:,} of {every:,} pairs that were measured; the others can look unrelated in them"
        yield f"These rows are better than unrelated columns{others if some < every else ''}: {_pair_errors(found)}"
    error, rows = _digits(found["count_error"]), _digits(found["count_error"] / TOLERABLE)
    off = f"A count of two values together is typically off by about {error} records, less for rare ones. "
    yield (
        f"{'' if found.get('dependence') else off}Do not read percentages within groups below about {rows} rows: they are "
        f"often off by more than {100 * TOLERABLE:g} points. Means within groups lean towards the mean of all, in large "
        f"groups too. Ask the release for both (dpopt answer): its intervals have no such bias."
    )


def _digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.9g}"

"""The description of a release: one record; terminal, README.txt, reports and `repr` are its templates.

All of it is a function of public values: the statement of a plan or of a release, and the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpopt.accounting.budget import Budget
from dpopt.errors import PrivacyWarning
from dpopt.files.codec import decode
from dpopt.releases.declared_size import contradiction_in_brief, contradiction_in_words
from dpopt.releases.descriptions.verdict import Note, verdict_of
from dpopt.releases.measured_size import declared_rows, measured_note
from dpopt.schema.finer import fixed_by_rules
from dpopt.schema.schema import Schema

_REPAIRS = {
    "clip": "Numbers outside the range that schema.json gives were counted in the end bins of their column: its mean moves.",
    "other": "Values that do not fit schema.json were counted in the bucket that it declares for them.",
    "drop": "Rows with values that do not fit schema.json were not counted.",
}
FIGURES = "Figures with intervals"
_ABOUT = (
    "Each interval contains the figure of the table, as counted, with probability 95 %: about one of twenty misses. The "
    "estimates are unbiased and come from the measurements, not from the rows. The order of the columns decides which "
    "figures are shown. For a mean the first interval places every number at the representative of its bin; the second "
    "allows any numbers within the bins."
)
_NONE = "This release measured no counts of single columns or pairs, so its figures have no intervals."
_NO_PEOPLE = (
    "Do not compute standard errors from the rows as if they were people: they ignore the noise and are too small."
)
_FEW_RECORDS = 1_000
"""Of a table whose number of records is not public."""
_ASK = " 'dpopt answer FOLDER QUESTION' gives counts, shares, means, quantiles and regressions, each with an interval."


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a release, a sentence or more for each part."""

    title: str
    guarantee: str
    """In a few words."""
    verdict: str
    """Its uses and limits."""
    notes: tuple[Note, ...]
    repairs: tuple[str, ...] = ()
    """How values that do not fit the schema were counted."""
    citation: str = ""


def described(statement: Mapping[str, Any], schema: Schema | None = None) -> Description:
    """Describe a release, given the contents of its release.json."""
    title = "Synthetic records" if statement["records"] is not None else "Noisy answers"
    spent, version = guarantee(statement["privacy"]), (statement.get("versions") or {}).get("dpopt", "")
    repairs = statement.get("on_invalid", "").split(",")
    return Description(
        title,
        spent,
        verdict_of(statement).text,
        tuple(notes_of(statement, schema)),
        tuple(words for repair, words in _REPAIRS.items() if repair in repairs),
        f"{title}, {spent}; made by {f'dpopt {version}'.strip()} (algorithm {statement['algorithm']}, workload "
        f"{statement['workload']['fingerprint'][:12]}).",
    )


def about_figures(*, some: bool) -> tuple[str, str]:
    """Return the text before and after the figures of a release of records; `some`: there are any."""
    return (_ABOUT, _NO_PEOPLE + _ASK) if some else (_NONE, _NO_PEOPLE)


def notes_of(statement: Mapping[str, Any], schema: Schema | None = None, errors: str | None = None) -> list[Note]:
    """Return the warnings for a reader of a release.

    `statement` has the contents of release.json; of a plan or a synopsis its "privacy", and "accuracy" if there is any.
    With the schema of a release of records, columns whose numbers within bins rules fix are named. `errors` says what
    stated errors do where the declared number of records is contradicted.

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
            f"all synthetic numbers of {', '.join(map(repr, names))} are the representatives of their bins, because a "
            "rule compares these in another way than as an order of two columns. To keep the numbers within bins, leave "
            'the rule out and declare one column as a length after the other ("after"), or declare finer bins'
        )
        found.append(Note(text, f"{len(names):,} columns at representatives"))
    beaten = (accuracy.get("predicted") or {}).get("verdict")
    if beaten is not None and "unrelated" not in (
        accuracy.get("two_way") or {}
    ):  # what was measured of this table says more
        found.append(Note(beaten, "trivial answers are predicted to be as good"))
    return found


def _fallbacks(statement: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the number of rounds, or of records, for which the named solver failed, and which solver answered."""
    rounds, batches = statement.get("certificates") or {}, statement.get("batches") or {}
    failed, why = (rounds or batches).get("fallbacks"), "; ".join(rounds.get("fallback_reasons", ()))
    if failed:
        of = batches.get("batches_kept", 0) * batches.get("records_of_a_batch", 0)
        where = f"In {failed:,} of {rounds['rounds']:,} rounds" if rounds else f"For {failed:,} of {of:,} records"
        because = f" ({why})" if why else ""
        text = f"{where} the fallback answered, a short local search, because the solver gave no record{because}."
        advice = "Give it more --seconds, or use the local search"
        yield Note(text, f"{where} the fallback answered".lower(), of_run=True, advice=advice)


def _of_privacy(privacy: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the notes on delta and on a number of records that was declared for persons, or measured with much noise."""
    stated, size = privacy.get("budget", {}), privacy.get("public_size")
    if not stated:
        return
    pure, most = stated["accountant"] == "pure", stated.get("rows_per_person")
    yield from delta_notes(privacy.get("delta", 0.0 if pure else stated["delta"]), size)
    if size and stated.get("earlier"):
        text, advice = measured_note(size, decode(Budget, stated, "the budget", partial=True))
        if advice is not None:
            yield Note(f"{text}.", f"n={size:,} measured with much noise", advice=advice.capitalize())
    elif size and most is not None:
        yield Note(declared_rows(size, most), f"{size:,} counted rows declared, not measured")


def delta_notes(delta: float | None, size: int | None) -> Iterator[Note]:
    """Yield a note on a delta that is not below 1/n; n is `_FEW_RECORDS` where the number of records is not public."""
    if delta and delta * (size or _FEW_RECORDS) >= 1:
        n = "1/n" if size is None else f"1/n = {1 / size:.2g}"
        text = (
            f"delta = {delta:g} is not below {n}. With such a delta a mechanism could publish a random record: take one "
            "well below 1/n unless you reproduce published settings"
        )
        yield Note(text, "delta not below 1/n", PrivacyWarning)


def guarantee(privacy: Mapping[str, Any]) -> str:
    """Return the guarantee of a statement in a few words."""
    if not privacy["private"]:
        return "NOT private"
    delta = f" and delta = {privacy['delta']:g}" if privacy["delta"] else " (pure)"
    return (
        f"differentially private with epsilon = {privacy['epsilon']:.6g}{delta} for {privacy.get('unit', 'one record')}"
    )

"""README.txt of a release folder: what the files are, how to load them, what may be published, how to cite.

A function of release.json alone, so that a replay writes the same bytes. No name of a column is in it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from dpopt.releases.declared_size import contradiction_in_words
from dpopt.releases.folder_files import write_whole
from dpopt.releases.measured_size import declared_rows

README = "README.txt"
_WIDTH = 78
_FILES = {
    "release.json": "what was asked and spent, charge by charge, and what errors are expected",
    "schema.json": "the columns and their values, as they were declared",
    "workload.json": "the queries that the release was made for",
    "plan.json": "how the budget was to be spent, fixed beforehand",
    "transcript.jsonl": "every noisy value that was released; the other files follow from it",
}
_LOAD = {
    "csv": ('pandas.read_csv("{file}")', 'read.csv("{file}", check.names = FALSE)'),
    "parquet": ('pandas.read_parquet("{file}")', 'arrow::read_parquet("{file}")'),
    "npz": ('scipy.sparse.load_npz("{file}")', 'reticulate::import("scipy.sparse")$load_npz("{file}")'),
    "txt": (
        '[line.split() for line in open("{file}", encoding="utf-8")]',
        'arules::read.transactions("{file}", sep = "")',
    ),
}
"""Python and R, by the ending of the file."""


def write_readme(folder: Path, statement: Mapping[str, Any]) -> None:
    """Write README.txt of a release, given the contents of its release.json."""

    def write(stream: IO[bytes]) -> None:
        stream.write(readme_of(statement).encode())

    write_whole(folder / README, write, "description")


def readme_of(statement: Mapping[str, Any]) -> str:
    """Return README.txt of a release, given the contents of its release.json."""
    held = statement["records"] or statement["answers"]
    parts = [
        _heading(statement),
        _what_it_is(statement),
        *map(
            _wrapped,
            [
                *warnings_in_words(statement),
                *repairs_in_words(statement),
                *declared_in_words(statement["privacy"]),
                *two_way_in_words(statement),
            ],
        ),
        *_cost(statement),
        "FILES",
        *_files(statement, held),
        "HOW TO LOAD IT",
        *_loading(held),
        "WHAT MAY BE PUBLISHED",
        _publishing(statement),
        "HOW TO CHECK IT",
        _wrapped(
            "'dpopt replay FOLDER -o AGAIN' makes the records anew from plan and transcript, without the table, and "
            "compares every file. 'dpopt report FOLDER' shows the release as a page. 'dpopt evaluate FOLDER TABLE' and "
            "'dpopt report FOLDER TABLE' need the private table; what they say is for its owner only."
        ),
        "HOW TO CITE IT",
        _wrapped(citation(statement)),
    ]
    return "\n\n".join(parts) + "\n"


_REPAIRS = {
    "clip": "Numbers outside the range that schema.json gives their column were counted in its end bins, which moves its mean.",
    "other": "Values that do not fit schema.json were counted in the bucket that it declares for them.",
    "drop": "Rows with values that do not fit schema.json were not counted.",
}


def repairs_in_words(statement: Mapping[str, Any]) -> list[str]:
    """Return what became of values that do not fit the schema, from what was declared alone; never of how many."""
    declared = statement.get("on_invalid", "").split(",")
    return [words for repair, words in _REPAIRS.items() if repair in declared]


def declared_in_words(privacy: Mapping[str, Any]) -> list[str]:
    """Return the warning on a number of rows that was declared where persons are protected, given what was spent."""
    budget, size = privacy.get("budget", {}), privacy.get("public_size")
    most = budget.get("rows_per_person")
    return [] if not size or most is None or budget.get("earlier") else [f"{declared_rows(size, most)}."]


def warnings_in_words(statement: Mapping[str, Any]) -> list[str]:
    """Return what a reader of a release is warned of: rounds without a solver's answer, and a wrong number of records."""
    found = statement["accuracy"].get("size")
    return fallbacks_in_words(statement) + ([] if found is None else [contradiction_in_words(found)])


def fallbacks_in_words(statement: Mapping[str, Any]) -> list[str]:
    """Return in how many rounds, or for how many records, the solver that was asked for failed, and what answered."""
    rounds, batches = statement.get("certificates") or {}, statement.get("batches") or {}
    failed, why = (rounds or batches).get("fallbacks"), "; ".join(rounds.get("fallback_reasons", ()))
    if not failed:
        return []
    of = batches.get("batches_kept", 0) * batches.get("records_of_a_batch", 0)
    where = f"In {failed:,} of {rounds['rounds']:,} rounds" if rounds else f"For {failed:,} of {of:,} records"
    because = f" ({why})" if why else ""
    return [f"{where} the fallback answered, a short local search, for the solver gave no record{because}."]


TOLERABLE = 0.02
"""What a percentage within a group may be off, 2 points: the group needs so many rows that the noise of a count is less."""


def two_way_in_words(statement: Mapping[str, Any]) -> list[str]:
    """Return how far counts of two values together are off, and what follows for shares within groups; from public noise alone.

    Examples
    --------
    >>> two_way_in_words({"accuracy": {"two_way": {"count_error": 41.3}}})[0][:77]
    'A count of two values together is typically off by about 41 records, less for'
    """
    found = statement["accuracy"].get("two_way")
    if found is None:
        return []
    error, rows = (_two_digits(found["count_error"] / part) for part in (1, TOLERABLE))
    said = (
        f"A count of two values together is typically off by about {error} records, less for rare ones. Do not read "
        f"percentages within groups below about {rows} rows: they are often off by more than {100 * TOLERABLE:g} "
        f"points. Means within groups lean towards the mean of all, in large groups too: differences between groups "
        f"come out smaller."
    )
    return [said]


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.9g}"


def citation(statement: Mapping[str, Any]) -> str:
    """Return a sentence by which a release is cited.

    Examples
    --------
    >>> citation(
    ...     {
    ...         "records": {},
    ...         "algorithm": "mwem",
    ...         "versions": {"dpopt": "0.1"},
    ...         "workload": {"fingerprint": "83545dff085a36"},
    ...         "privacy": {"private": True, "epsilon": 1.0, "delta": 0.0, "unit": "one record"},
    ...     }
    ... )
    'Synthetic records, differentially private with epsilon = 1 for one record; made by dpopt 0.1 (algorithm mwem, \
workload 83545dff085a).'
    """
    what = "Synthetic records" if statement["records"] is not None else "Noisy answers"
    version = (statement.get("versions") or {}).get("dpopt", "")
    return (
        f"{what}, {guarantee(statement['privacy'])}; made by {f'dpopt {version}'.strip()} (algorithm "
        f"{statement['algorithm']}, workload {statement['workload']['fingerprint'][:12]})."
    )


def guarantee(privacy: Mapping[str, Any]) -> str:
    """Return the guarantee of a statement in a few words."""
    if not privacy["private"]:
        return "NOT private"
    delta = f" and delta = {privacy['delta']:g}" if privacy["delta"] else ""
    return (
        f"differentially private with epsilon = {privacy['epsilon']:.6g}{delta} for {privacy.get('unit', 'one record')}"
    )


def _heading(statement: Mapping[str, Any]) -> str:
    title = "Synthetic records" if statement["records"] is not None else "Noisy answers"
    return f"{title}, {guarantee(statement['privacy'])}".upper()


def _what_it_is(statement: Mapping[str, Any]) -> str:
    queries = f"{statement['workload']['queries']:,} queries of workload.json"
    if statement["records"] is None:
        return _wrapped(f"Answers to the {queries} on a private table, with noise. There are no records.")
    return _wrapped(
        f"No row is a person. Rows were chosen so that together they answer the {queries} about as a private table "
        f"does; what else is computed from them may be far off."
    )


def _cost(statement: Mapping[str, Any]) -> list[str]:
    privacy = statement["privacy"]
    if not privacy["private"]:
        return []
    return [
        _wrapped(
            f"Neighbouring tables: {privacy['neighbours']}. Costs were added up by the accountant "
            f"{privacy['accountant']!r}. Every charge, with its theorem, is in release.json."
        )
    ]


def _files(statement: Mapping[str, Any], held: Mapping[str, Any]) -> list[str]:
    meant = {held["file"]: _holds(statement, held)}
    if held.get("weight_file"):
        meant[held["weight_file"]] = "the weight of each record"
    return ["\n".join(_wrapped(text, f"  {name:<18}") for name, text in {**meant, **_FILES}.items())]


def _holds(statement: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    if statement["records"] is None:
        return str(held["meaning"])
    weights = held["weight_column"]
    said = f"; column '{weights}' says how much each counts" if weights else ""
    return f"{held['rows']:,} synthetic records{said}"


def _loading(held: Mapping[str, Any]) -> list[str]:
    name, weights = held["file"], held.get("weight_column")
    python, other = (line.format(file=name) for line in _LOAD[name.rsplit(".", 1)[-1]])
    library = python.split(".", 1)[0] if python[0] != "[" else ""
    lines = [
        f"  Python   {f'import {library}; ' if library else ''}records = {python}",
        f"  R        records <- {other}",
    ]
    notes = ["\n".join(lines)]
    if name.endswith(".csv"):
        notes.append(
            _wrapped(
                "Missing values are written as schema.json declares them under 'missing', such as -1: leave them out "
                "of means."
            )
        )
        notes.append(
            _wrapped("Spreadsheets compute cells that begin with =, +, - or @: import columns of texts as text.")
        )
        notes.append(
            _wrapped(
                'Codes such as 06108 lose their zeros where they are read as numbers: say dtype={"COLUMN": str} in '
                'Python, colClasses = c(COLUMN = "character") in R.'
            )
        )
    if not weights or name.endswith(".npz"):
        return notes
    return [
        *notes,
        _wrapped(
            f'Use the weights in every mean and count: numpy.average(records[COLUMN], weights=records["{weights}"]) in '
            f'Python, weighted.mean(records[[COLUMN]], records[["{weights}"]]) in R.'
        ),
    ]


def _publishing(statement: Mapping[str, Any]) -> str:
    if not statement["privacy"]["private"]:
        return _wrapped(
            "Nothing. Some draws came from a seeded or scripted source, as in tests and demonstrations: this release "
            "protects nobody."
        )
    said = (
        "Every file of this folder, at the stated cost. The table, and whatever was computed from it outside this "
        "folder (a report with the table, an evaluation, a log), stays with its owner."
    )
    if statement["schema"]["drafted_from_private_data_and_not_reviewed"]:
        said += (
            " But the schema was drafted from the table and not reviewed: its values and bins may reveal records, and "
            "no accounting covers them. Review schema.json before this folder leaves its owner."
        )
    return _wrapped(said)


def _wrapped(text: str, first: str = "") -> str:
    """Return a text in lines, those after the first as far in as `first` is long."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )

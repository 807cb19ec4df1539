"""The output of commands for people: plans, releases, errors, and spending."""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from dpopt.errors import counted, visible

if TYPE_CHECKING:
    from dpopt.algorithms.evaluation import Evaluation, Scores

_NOT_PRIVATE = "NOT PRIVATE: a part of the noise came from a seeded or scripted source"

MANY_COPIES = 2
"""Rows for each distinct record from which on a release says that they are copies."""


def warn_if_not_private(privacy: Mapping[str, Any]) -> None:
    """Print on the error stream that answers come from a release without a guarantee."""
    if not privacy.get("private", True):
        typer.echo(_NOT_PRIVATE, file=sys.stderr)


def print_spent(privacy: Mapping[str, Any]) -> None:
    """Print the spending and its neighbours, or that the release is not private."""
    if not privacy["private"]:
        console().print(_NOT_PRIVATE)
        return
    at = f" at delta = {privacy['delta']:g}" if privacy["delta"] else ", pure"
    epsilon = _shown(privacy["epsilon"], 4)
    rho = "" if privacy["rho"] is None else f" (rho = {_shown(privacy['rho'], 6)})"  # a delta of a draw has none
    console().print(f"spent: epsilon = {epsilon}{at}{rho}{unit_text(privacy)}, {privacy['neighbours']}")


def _shown(spent: float, places: int) -> str:
    """Return the spending with this number of places, or in powers of ten if these would show too little."""
    return f"{spent:.{places}f}" if spent == 0.0 or spent >= 100 * 10.0**-places else f"{spent:.4g}"


def console() -> Console:
    """Return the console of standard output; names and values are printed as they are, brackets and colons included."""
    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def listed(names: Sequence[str]) -> str:
    """Return names with commas, and "and" before the last."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """Print a table with its title on the left; signs that a terminal would obey are shown as their numbers."""
    table = Table(*map(visible, headings), title=title and visible(title), title_justify="left")
    for row in rows:
        table.add_row(*map(visible, row))
    print_whole(console(), table)


def print_whole(out: Console, table: Table) -> None:
    """Print a table with nothing cut off: on a terminal cells wrap, in a file each row is one line."""
    if out.is_terminal:
        for column in table.columns:
            column.overflow = "fold"
    else:
        out.width = max(out.width, Measurement.get(out, out.options.update(width=1_000), table).maximum)
    out.print(table)


def report_plan(described: str, explained: Mapping[str, Any]) -> None:
    """Print a plan: its description, the total of each accountant, proven bound, predicted errors."""
    plan, out = explained["plan"], console()
    out.print(described)
    out.print(
        f"{explained['queries']:,} queries; {explained['neighbours']}, size {plan['size']:,}{unit_text(explained)}"
    )
    if "accountants" in explained:
        _print_accountants(explained["accountants"])
        if plan["budget"].get("earlier"):
            out.print(
                "the epsilon of this plan includes the measured number of records; the others count the rounds alone"
            )
    else:
        out.print(f"epsilon: {explained['epsilon']:.4f} at delta = {explained['delta']:g}")
    rho = explained["rho"]
    out.print("rho (zCDP): " + ("no bound under this accountant" if rho is None else f"{rho:.6f}"))
    if explained.get("memory"):
        out.print(f"memory without the table: about {explained['memory']['described']}")
    lines = (*chosen_lines(explained.get("chosen")), *accuracy_lines(explained["accuracy"]))
    for line in (one for one in lines if not one.startswith("warning: ")):  # the progress has shown it
        out.print(line)


def chosen_lines(chosen: Mapping[str, Any] | None) -> list[str]:
    """Return why an algorithm was chosen, and the predictions of the others."""
    if chosen is None:
        return []
    lines = [f"chosen:    {chosen['because']}"]
    for name, found in chosen["considered"].items():
        said = found.get("not_applicable")
        figures = (
            f"no: {said}"
            if said is not None
            else f"largest error {found['max_error']:.4f}, mean error {found['mean_error']:.6f} predicted"
        )
        lines.append(f"           {name}: {figures}")
    return lines


def _print_accountants(accountants: list[Mapping[str, Any]]) -> None:
    rows = [
        (
            row["accountant"] + (" (this plan's)" if row["used"] else ""),
            "–" if row["epsilon"] is None else f"{row['epsilon']:.4f}",
            f"{row['delta']:g}",
            row["theorem"],
        )
        for row in accountants
    ]
    print_table(("accountant", "epsilon", "delta", "theorem"), rows, title="what each accountant charges")
    for reason in dict.fromkeys(row["refused"] for row in accountants if row["refused"]):
        console().print(f"–: {reason}")


def accuracy_lines(accuracy: Mapping[str, Any]) -> list[str]:
    """Return the sentences on proven and predicted errors."""
    lines = []
    proven, predicted = accuracy.get("proven"), accuracy.get("predicted")
    if proven is not None and "root_mean_squared_error" in proven:
        lines.append(
            f"proven:    expected root mean squared error of the exact projection at most "
            f"{proven['root_mean_squared_error']:.5f} over {proven['counts']:,} measured counts"
        )
    elif proven is not None:
        lines.append(
            f"proven:    largest error at most {proven['bound']:.4f} with probability "
            f"{1 - proven['failure_probability']:g}{proven.get('if', ', if every best response is optimal')}"
            if proven["says_something"]
            else "proven:    no informative bound: the bound on the largest error is not below 1"
        )
    if predicted is not None:
        rounds = predicted.get("simulated_rounds")
        fewer = "" if rounds is None else f", {rounds:,} rounds"
        asked = f", {predicted['simulated_queries']:,} queries" if "simulated_queries" in predicted else ""
        how = f"simulated on public synthetic data{asked}{fewer}, no bound"
        if predicted.get("low") is not None:
            how = predicted["kind"]
        lines.append(f"predicted: {_errors_in_words(predicted)} ({how})")
        lines += baseline_lines(predicted)
    if (expected := accuracy.get("expected")) is not None:
        lines.append(f"expected:  {_errors_in_words(expected)} ({expected['kind']})")
    return lines + certified_lines(accuracy.get("certified"))


def _errors_in_words(errors: Mapping[str, Any]) -> str:
    """Return predicted or expected errors, with the interval of the mean one if there is any."""
    said = f"largest error {errors['max_error']:.4f}, mean error {errors['mean_error']:.5f}"
    if errors.get("low") is None:
        return said
    said = f"largest error {errors['max_error']:.4f}, mean error {errors['mean_error']:.2g}"
    return f"{said} ({errors['low']:.2g} to {errors['high']:.2g}), distance of marginals {errors['distance']:.2g}"


def baseline_lines(predicted: Mapping[str, Any]) -> list[str]:
    """Return the errors of trivial data sets on the public population of a prediction, and where they win."""
    baselines = predicted.get("baselines")
    if baselines is None:
        return []
    lines = []
    for said, names in (
        ("without data", ("zeros", "uniform")),
        ("with noisy columns taken as independent", ("independence",)),
    ):
        figures = "; ".join(
            f"{name} {found['max_error']:.4f} and {found['mean_error']:.5f}"
            for name, found in baselines.items()
            if name in names
        )
        lines += [f"{said}, largest and mean error there: {figures}"] if figures else []
    if predicted.get("verdict") is not None:
        lines.append(f"warning:   {predicted['verdict']}")
    return lines


def certified_lines(certified: Mapping[str, Any] | None) -> list[str]:
    """Return the sentences on the errors that the rounds' own gaps allow: proven here, and by the solvers' word."""
    if certified is None:
        return []
    proven, reported = certified["by_proven_bounds"], certified["by_reported_bounds"]
    first = (
        f"with the rounds' proven gaps: {_largest_error(proven)}. Mean gap {proven['mean_gap_over_draws']:.4f} per "
        f"draw, by bounds computed without the solvers"
    )
    lines = [first]
    if reported["mean_gap_over_draws"] < proven["mean_gap_over_draws"]:
        lines.append(
            f"with reported gaps: {_largest_error(reported)}. Mean gap {reported['mean_gap_over_draws']:.4f} per draw, "
            f"if the bounds that solvers state in {reported['rounds_with_a_reported_bound']:,} of "
            f"{reported['rounds']:,} rounds hold (stated by solvers, not proven)"
        )
    return lines


def _largest_error(error: Mapping[str, Any]) -> str:
    if not error["says_something"]:
        return "no bound below 1 on the largest error"
    return f"largest error at most {error['bound']:.4f} with probability {1 - error['failure_probability']:g}"


def unit_text(stated: Mapping[str, Any]) -> str:
    """Return the unit of privacy where it is not one record."""
    from dpopt.accounting.budget import RECORD

    unit = stated.get("unit", RECORD)
    return "" if unit == RECORD else f" for {unit}"


def report_release(
    statement: Mapping[str, Any], folder: str | os.PathLike[str], table: object = "TABLE", *, details: bool = True
) -> None:
    """Print for the owner of a finished release: its folder, files to publish, cost, quality, and the next command.

    Without `details` a delta is left out, which the sentence on tests takes into account.
    """
    from dpopt.accounting.budget import RECORD, protection
    from dpopt.releases.descriptions.description import described
    from dpopt.releases.descriptions.readme import README

    out, privacy, place = console(), statement["privacy"], Path(folder)
    held, release = statement["records"] or statement["answers"], described(statement)
    out.print(f"verdict:    {release.verdict}")
    if statement["records"] is None:
        out.print(f"answers:    {held['queries']:,} noisy answers in {place / held['file']}, no records")
    else:
        where = held["weight_column"] or held.get("weight_file")
        weights = f" with weights in '{where}'" if where else ""
        out.print(f"records:    {held['rows']:,} rows in {place / held['file']}{weights}")
    if privacy["private"]:
        at = f" at delta = {privacy['delta']:g}" if details else ""
        out.print(
            f"spent:      epsilon = {privacy['epsilon']:.4f}{at} for {privacy.get('unit', RECORD)}. "
            f"{protection(privacy['epsilon'], privacy['delta'])}"
        )
    else:
        out.print("NOT PRIVATE: a part of the draws came from a seeded or scripted source; publish nothing of it")
    for sentence in release.repairs:
        out.print(f"note:       {sentence}")
    for line in _remarks(statement):
        out.print(line)
    if privacy["private"]:
        out.print(
            f"to publish: first check the ten points in the report that the next line makes; then publish every file in "
            f"{place}. {place / README} tells readers how to load and cite them"
        )
    out.print(f"next:       dpopt report {place} {table} -o report.html")
    out.print("            (for you alone; a report without the table can be published)")


def report_accuracy(accuracy: Mapping[str, Any], size: int, queries: int) -> None:
    """Print the predicted mean error of a plan, in records."""
    if (errors := accuracy.get("predicted")) is None:
        return
    mean, low, high = (errors.get(name) for name in ("mean_error", "low", "high"))
    between = "" if low is None else f", in nine of ten runs by {_rows(low * size)} to {_rows(high * size)}"
    console().print(
        f"accuracy:   {queries:,} counts, off by about {_rows(mean * size)} of {size:,} records on average{between} "
        "(predicted from public data)"
    )


def _rows(number: float) -> str:
    """Return a number of records with two digits, or whole."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _remarks(statement: Mapping[str, Any]) -> list[str]:
    """Return notes for a reader of the records: copies, lost rounds."""
    from dpopt.inference.records.problem import TIME_IS_UP

    records, certificates = statement["records"], statement.get("certificates")
    lines: list[str] = []
    if records is None:
        return lines
    if (statement.get("certificate") or {}).get("stopped") == TIME_IS_UP:
        lines.append(
            "note: the fit reached --fit-seconds before it was finished; with more seconds or fewer --records its records "
            "can be much more accurate"
        )
    if records["weight_column"] is None and records["rows"] > MANY_COPIES * records["distinct"]:
        lines.append(
            f"note: the {records['rows']:,} rows are copies of {records['distinct']:,} records, chosen so that "
            "their counts fit; no row is a person"
        )
    values = statement.get("values", {})
    lines += [f"note: {torn}: {values['lost_because']}" for torn in values.get("lost_to_interruptions", ())]
    if certificates is None:
        lost = statement.get("measured", {}).get("lost_to_interruptions", 0)
        if lost:
            lines.append(
                f"note: {lost:,} measurements were lost in an interruption; they are not used, and their cost is not refunded"
            )
        return lines
    if records["rounds"] < statement["plan"]["rounds"]:
        lines.append(
            f"note: {records['rounds']:,} of {statement['plan']['rounds']:,} rounds: an interruption lost a "
            f"draw, whose cost is not refunded; the last round was given up to pay for it"
        )
    return lines


def report_certified(report: Mapping[str, Any]) -> None:
    """Print the gaps of certified rounds, proven and reported, in all and by third of the run."""
    out, found = console(), report["summary"]
    headings = ("rounds", "certified", "proven: mean", "largest", "reported: mean", "largest")
    for divisor, form, title in (("draws", ".4f", "the draws"), ("value", ".1%", "the record's value")):
        rows = []
        for name, row in (("all", found), *((third["rounds"], third) for third in found["by_third"])):
            figures = [
                "–" if gaps is None else f"{gaps[key]:{form}}"
                for gaps in (row[f"proven_gap_over_{divisor}"], row[f"reported_gap_over_{divisor}"])
                for key in ("mean", "largest")
            ]
            rows.append((name, f"{row['rounds_certified']:,}", *figures))
        print_table(headings, rows, title=f"gap between record and bound, divided by {title}")
    out.print(
        f"{found['rounds_proven_optimal']:,} of {found['rounds_certified']:,} certified rounds are proven optimal, "
        f"without any solver's word"
    )
    for by, rounds in Counter(one["proven_by"] for one in report["rounds"]).items():
        out.print(f"{counted(rounds, 'bound')} proven by: {by}")
    if found["rounds_with_a_better_record"]:
        out.print(
            f"in {found['rounds_with_a_better_record']:,} rounds a better record was found; the release stays as it is"
        )
    if found["rounds_certified"] < found["rounds_played"]:
        others = found["rounds_played"] - found["rounds_certified"]
        out.print(f"the {others:,} other rounds enter below with the bounds of the release")
    for line in certified_lines(found["accuracy"]):
        out.print(line)


def report_errors(found: Evaluation, reweighted: Evaluation | None = None) -> None:
    """Print an evaluation, marked as not private: first the weakest figures, which a score hides."""
    out = console()
    out.print("NOT private: these figures are for the owner of the table alone")
    for line in found.words:
        out.print(visible(line))
    if found.dependence is not None:
        out.print(found.dependence["words"])
    if found.intervals is not None:
        out.print(visible(found.intervals["words"]))
    if found.scores is not None:
        out.print(_scores_in_words(found.scores))
    out.print(
        f"all {found.queries:,} counts: off by {100 * found.mean_error:.2g} % of the records on average, by "
        f"{100 * found.max_error:.2g} % at most: {visible(found.worst_query)}"
    )
    if reweighted is not None:
        out.print(
            f"re-weighted, by {100 * reweighted.mean_error:.2g} % on average, by {100 * reweighted.max_error:.2g} % at most"
        )
    out.print("'dpopt report' shows more: columns, pairs, groups, and values that no row of the table has")


def _scores_in_words(scores: Scores) -> str:
    """Return SDMetrics' scores of columns and pairs."""
    pairs = "" if scores.pairs is None else f", of pairs {scores.pairs:.1f} %"
    left_out = f" (without {scores.left_out:,} columns)" if scores.left_out else ""
    return (
        f"SDMetrics' score: {scores.overall:.1f} % (100 %: equal); of columns {scores.columns:.1f} %{pairs}{left_out}"
    )


def report_rows(path: Path, *, rows: int) -> None:
    """Print some rows of a CSV file, from all over it (it may be sorted), turned so that each record is a column."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    shown = lines[:: max(1, len(lines) // rows)][:rows]
    turned = [
        (name, *(f"{float(value):.4f}" if name == "weight" else value for value in values))
        for name, *values in zip(header, *shown, strict=True)
    ]
    print_table(("", *(f"record {number}" for number in range(1, len(shown) + 1))), turned)

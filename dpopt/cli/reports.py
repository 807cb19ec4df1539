"""What commands print for people."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Return the console of standard output; names and values are printed as they are, brackets and colons included."""
    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def report_plan(explained: Mapping[str, Any]) -> None:
    """Print a plan: parameters, what each accountant charges, proven bound, predicted errors."""
    plan, out = explained["plan"], console()
    out.print(
        f"DualQuery: T = {plan['rounds']:,} rounds, s = {plan['draws']:,} draws each, step eta = {plan['step']} "
        f"({plan['chosen_by']})"
    )
    out.print(f"{explained['queries']:,} queries; {explained['neighbours']}, size {plan['size']:,}")
    table = Table(
        "accountant", "epsilon", "delta", title="what each accountant charges", title_justify="left"
    )
    for row in explained["accountants"]:
        epsilon = f"{row['epsilon']:.4f}" if row["epsilon"] is not None else "–"
        table.add_row(
            row["accountant"] + (" (this plan's)" if row["used"] else ""), epsilon, f"{row['delta']:g}"
        )
    out.print(table)
    for reason in dict.fromkeys(row["refused"] for row in explained["accountants"] if row["refused"]):
        out.print(f"–: {reason}")
    out.print(f"rho (zCDP): {explained['rho']:.6f}")
    for line in accuracy_lines(explained["accuracy"]):
        out.print(line)


def accuracy_lines(accuracy: Mapping[str, Any]) -> list[str]:
    """Return the sentences on proven and predicted errors."""
    lines = []
    proven, predicted = accuracy.get("proven"), accuracy.get("predicted")
    if proven is not None:
        says = "" if proven["says_something"] else " (1 or more says nothing)"
        lines.append(
            f"proven:    largest error at most {proven['bound']:.4f} with probability {1 - proven['failure_probability']:g}, "
            f"if every best response is optimal{says}"
        )
    if predicted is not None:
        lines.append(
            f"predicted: largest error {predicted['max_error']:.4f}, mean error {predicted['mean_error']:.5f} "
            "(simulated on public synthetic data, no bound)"
        )
    return lines + certified_lines(accuracy.get("certified"))


def certified_lines(certified: Mapping[str, Any] | None) -> list[str]:
    """Return the sentences on the errors that the rounds' own gaps allow: proven here, and by the solvers' word."""
    if certified is None:
        return []
    proven, reported = certified["by_proven_bounds"], certified["by_reported_bounds"]
    first = (
        f"with the rounds' proven gaps: {_largest_error(proven)}. Mean gap {proven['mean_gap_over_draws']:.4f} per draw, by "
        "bounds computed here without any solver's word"
    )
    lines = [first]
    if reported["mean_gap_over_draws"] < proven["mean_gap_over_draws"]:
        lines.append(
            f"with reported gaps: {_largest_error(reported)}. Mean gap {reported['mean_gap_over_draws']:.4f} per draw, if the "
            f"bounds that solvers state in {reported['rounds_with_a_reported_bound']:,} of {reported['rounds']:,} rounds hold "
            "(their word, no proof)"
        )
    return lines


def _largest_error(error: Mapping[str, Any]) -> str:
    says = "" if error["says_something"] else " (1 or more says nothing)"
    return f"largest error at most {error['bound']:.4f} with probability {1 - error['failure_probability']:g}{says}"


def report_release(statement: Mapping[str, Any], folder: object) -> None:
    """Print what a finished release cost and holds."""
    out, privacy, records = console(), statement["privacy"], statement["records"]
    if privacy["private"]:
        out.print(
            f"spent: epsilon = {privacy['epsilon']:.4f} at delta = {privacy['delta']:g} (rho = {privacy['rho']:.6f}), "
            f"accountant {privacy['accountant']}, {privacy['neighbours']}"
        )
    else:
        out.print("NOT PRIVATE: a part of the draws came from a seeded or scripted source")
    out.print(
        f"records: {records['rounds']:,} rounds, {records['distinct']:,} distinct, {records['records_that_decode']:,} decode; "
        f"{_obedience(records)}"
        f"{records['rows']:,} rows in {records['file']}"
        + (f" with weights in '{records['weight_column']}'" if records["weight_column"] else "")
    )
    for line in _remarks(statement):
        out.print(line)
    for line in accuracy_lines(statement["accuracy"]):
        out.print(line)
    out.print(f"written to {folder}")


def _obedience(records: Mapping[str, Any]) -> str:
    if "rules" not in records:
        return ""
    return f"{records['records_that_obey_the_rules']:,} obey all {len(records['rules']):,} rules; "


def _remarks(statement: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the records should know: copies, records that do not decode, fallbacks, lost rounds."""
    records, certificates = statement["records"], statement["certificates"]
    lines = []
    if records["weight_column"] is None and records["rows"] > records["distinct"]:
        lines.append(
            f"note: the {records['rows']:,} rows are copies of {records['distinct']:,} records that answer the workload "
            "together; they are no individuals"
        )
    if records["records_that_decode"] < records["rounds"]:
        lines.append(
            "note: with indicator bits records need not decode; this coding is for comparison with the paper"
        )
    if certificates["fallbacks"]:
        reasons = "; ".join(certificates["fallback_reasons"])
        lines.append(
            f"warning: in {certificates['fallbacks']:,} of {records['rounds']:,} rounds the solver gave no record ({reasons}); "
            "a short local search stood in. Give it more --seconds, fewer --draws, or use the local search"
        )
    if records["rounds"] < statement["plan"]["rounds"]:
        lines.append(
            f"note: {records['rounds']:,} of {statement['plan']['rounds']:,} rounds: a draw was torn by an interruption, "
            "stays charged, and was paid for by giving up the last round"
        )
    return lines


def report_certified(report: Mapping[str, Any]) -> None:
    """Print the gaps of certified rounds, proven and reported, in all and by third of the run."""
    out, found = console(), report["summary"]
    table = Table(
        "rounds", "certified", "proven: mean", "largest", "reported: mean", "largest", title_justify="left"
    )
    table.title = "gap between record and bound, divided by the draws"
    for name, row in (("all", found), *((third["rounds"], third) for third in found["by_third"])):
        figures = [
            "–" if gaps is None else f"{gaps[key]:.4f}"
            for gaps in (row["proven_gap_over_draws"], row["reported_gap_over_draws"])
            for key in ("mean", "largest")
        ]
        table.add_row(name, f"{row['rounds_certified']:,}", *figures)
    out.print(table)
    out.print(
        f"{found['rounds_proven_optimal']:,} of {found['rounds_certified']:,} certified rounds are proven optimal, without any "
        "solver's word"
    )
    if found["rounds_with_a_better_record"]:
        out.print(
            f"in {found['rounds_with_a_better_record']:,} rounds a better record was found; the release stays as it is"
        )
    if found["rounds_certified"] < found["rounds_played"]:
        others = found["rounds_played"] - found["rounds_certified"]
        out.print(f"the {others:,} other rounds enter below with the bounds of the release")
    for line in certified_lines(found["accuracy"]):
        out.print(line)


def report_errors(errors: Mapping[str, Any]) -> None:
    """Print errors against the truth, marked as not private."""
    out = console()
    table = Table(
        "",
        "largest error",
        "mean error",
        title=f"{errors['queries']:,} queries (NOT private)",
        title_justify="left",
    )
    table.add_row("release", f"{errors['max_error']:.4f}", f"{errors['mean_error']:.5f}")
    for name, row in errors["baselines"].items():
        table.add_row(f"baseline: {name}", f"{row['max_error']:.4f}", f"{row['mean_error']:.5f}")
    out.print(table)
    out.print(f"worst query: {errors['worst_query']}")


def report_rows(path: Path, *, rows: int) -> None:
    """Print the first rows of a CSV file, turned so that each record is a column."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *first = islice(csv.reader(file), rows + 1)
    table = Table("", *[f"record {number}" for number in range(1, len(first) + 1)])
    for name, *values in zip(header, *first, strict=True):
        table.add_row(name, *(f"{float(value):.4f}" if name == "weight" else value for value in values))
    console().print(table)

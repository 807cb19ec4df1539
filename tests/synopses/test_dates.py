"""Ranges of dates: named as the column writes them, by every synopsis over ordered bins, in Python and in the shell."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import sides_of
from dpopt.queries.workloads.workload import workload_from_json
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.intervals.partition_release import write_records
from tests.cli.command_line import call, succeed

NUMERIC = dpopt.AttributeKind.NUMERIC
MONTHS = pd.date_range("2024-01-01", "2024-07-01", freq="MS")
FORMS = ("%Y-%m-%d", "%d.%m.%y", "%Y%m%d", "%B %d, %Y", "%Y-%m", "%Y-%m-%d %H:%M", "%d-%m-%Y %H:%M:%S")


def attribute(form: str, name: str = "day") -> dpopt.Attribute:
    edges: Any = tuple(MONTHS.strftime(form))
    return dpopt.Attribute(name, NUMERIC, edges=edges, date_format=form, missing="none")


def at(month: int, form: str) -> str:
    return str(MONTHS[month].strftime(form))


@pytest.mark.parametrize("form", FORMS)
def test_a_range_of_dates_is_named_in_the_form_of_the_column(form: str) -> None:
    bins = Bins.of_attribute(attribute(form))
    for low in range(6):
        for high in range(low + 1, 7):
            assert bins.range_of(f"{at(low, form)}:{at(high, form)}") == (low, high)
        assert bins.range_of(f"{at(low, form)}:") == (low, 6)
        assert bins.range_of(f" : {at(low + 1, form)} ") == (0, low + 1)
        assert bins.range_of(f"{at(low, form)}:missing") == (low, 7)
    box = f"{at(1, form)}:{at(3, form)},{at(0, form)}:{at(2, form)}"
    assert sides_of(box, [bins, bins]) == [(1, 3), (0, 2)]
    assert sides_of(f":,{at(0, form)}:{at(2, form)}", [bins, bins]) == [(0, 7), (0, 2)]
    for number in (1704067200, 19723, 2024, 1.5, "x"):
        with pytest.raises(WorkloadError, match=f"such as .* in the form '{form}'|form '{form}', such as"):
            bins.range_of(f"{number}:{at(2, form)}")
    middle = pd.Timestamp("2024-02-11").strftime(form)
    if "%d" in form:
        with pytest.raises(WorkloadError, match=f"not an edge of a bin; the nearest are {at(1, form)}, {at(2, form)}"):
            bins.range_of(f"{middle}:{at(2, form)}")


def test_colons_that_belong_to_times_are_told_from_that_between_ends() -> None:
    times = Bins.of_attribute(attribute("%Y-%m-%d %H:%M"))
    for text in ("2024-01-01 00:00", "2024-01-01 00:00:2024-03-01", "2024-01-01:2024-03-01", "a:b:c"):
        with pytest.raises(
            WorkloadError, match="is not a date in the form|two ends and a colon, such as 2024-01-01 00:00:2024-07-01"
        ):
            times.range_of(text)


def test_files_from_before_dates_had_forms_name_them_by_their_labels(tmp_path: Path) -> None:
    table = pd.DataFrame({"day": MONTHS[:-1].repeat(50)})
    for form in FORMS:
        made = dpopt.histogram(table, dpopt.Schema((attribute(form),)), "day", epsilon=5)
        stated = made.to_json()
        assert stated["bins"].pop("date_format") == form
        old = Histogram.from_json(json.loads(json.dumps(stated)))
        text, seconds = f"{at(1, form)}:{at(6, form)}", "1706745600:1719792000"
        assert old.answer(text) == old.answer(seconds) == made.answer(text)
        with pytest.raises(WorkloadError, match="is not a number|two ends and a colon"):
            old.answer(f"x:{at(6, form)}")


def test_bins_of_dates_that_cannot_be_are_refused() -> None:
    for edges, form in (((0.0, 1.0), "%q"), ((0.0, 1e300), "%Y"), (None, "%Y")):
        with pytest.raises(WorkloadError, match="are not dates in the form"):
            Bins("day", 1, ("a",), edges, form)


def stays(form: str) -> pd.DataFrame:
    moments = MONTHS[:-1].repeat(40)
    return pd.DataFrame({"day": moments.strftime(form), "late": moments[::-1].strftime(form)})


RELEASES: dict[str, tuple[str, Callable[[str], str]]] = {
    "histogram": ("--column day", lambda side: side),
    "grid": ("--columns day,late", lambda side: f"{side},:"),
    "intervals": ("--columns day --n0 240", lambda side: side),
    "boxes": ("--columns day,late --n0 240", lambda side: f"{side},:"),
}


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%B %d, %Y"])
@pytest.mark.parametrize("kind", RELEASES)
def test_every_release_over_bins_answers_dates_in_the_shell(kind: str, form: str, tmp_path: Path) -> None:
    columns, box = RELEASES[kind]
    group = kind.replace("boxes", "intervals")
    file, table, schema = tmp_path / "made.npz", tmp_path / "t.csv", tmp_path / "s.json"
    stays(form).to_csv(table, index=False)
    dpopt.Schema((attribute(form), attribute(form, "late"))).write(schema)
    succeed(f"{group} release", table, "--schema", schema, *columns.split(), "--epsilon", 20, "--out", file)
    query = box(f"{at(1, form)}:{at(4, form)}")
    (answer,) = json.loads(succeed(f"{group} answer", file, "--query", query, "--json"))["answers"]
    assert answer["query"] == query
    assert abs(answer["value"] - 120) < 60
    refused = call(f"{group} answer", file, "--query", box("1706745600:1714521600"))
    assert refused.exit_code != 0
    assert f"in the form '{form}'" in " ".join(refused.stderr.split())


def test_ranges_on_file_and_synthetic_records_have_dates(tmp_path: Path) -> None:
    form, ranges, records = "%Y-%m-%d %H:%M", tmp_path / "ranges.csv", tmp_path / "records.csv"
    ranges.write_text(f"range,weight\n{at(0, form)}:{at(3, form)},2\n:{at(1, form)},1\n")
    schema = dpopt.Schema((attribute(form),))
    made = dpopt.histogram(stays(form), schema, "day", epsilon=5, ranges=f"file:{ranges}")
    assert made.answer(f"{at(0, form)}:{at(6, form)}").value > 0
    ranges.write_text("1704067200:1706745600\n")
    with pytest.raises(WorkloadError, match="line 1: day: '1704067200' is not a date in the form"):
        dpopt.histogram(stays(form), schema, "day", epsilon=5, ranges=f"file:{ranges}")
    released = dpopt.intervals(stays(form), schema, ["day"], epsilon=20, n0=240)
    write_records(released, records, 60)
    with records.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["day"]
    assert {row[0] for row in rows} <= {at(month, form) for month in range(6)} | {"missing"}


def test_prefixes_keep_the_form_while_they_grow(tmp_path: Path) -> None:
    form, file = "%Y-%m-%d", tmp_path / "steps.jsonl"
    schema, table = dpopt.Schema((attribute(form),)), stays(form)
    dpopt.prefixes(table[:40], schema, "day", steps=1, out=file, rho=1)
    grown = dpopt.grow(file, table, schema, "day", steps=3)
    assert (grown.bins.date_format, grown.bins.range_of("2024-02-01:2024-04-01")) == (form, (1, 3))
    lines = file.read_text().splitlines(keepends=True)
    assert '"date_format":"%Y-%m-%d"' in lines[0].replace(" ", "")


def test_workloads_and_summaries_name_dates() -> None:
    schema = dpopt.Schema((attribute("%Y-%m"), dpopt.Attribute("x", dpopt.AttributeKind.BOOLEAN)))
    table = stays("%Y-%m").assign(x=True)
    by_date, by_label = (
        workload_from_json({"dpopt_workload": 1, "queries": [[["day", "=", value], ["x", "!=", False]]]}, schema)
        for value in ("2024-03", "[2024-03, 2024-04)")
    )
    assert by_date.fingerprint == by_label.fingerprint
    for value in (2024, 1709251200, "2024-03-01", "2025-01"):
        with pytest.raises(WorkloadError, match="or a date in the form '%Y-%m' that has a bin of its own"):
            workload_from_json({"dpopt_workload": 1, "queries": [[["day", "=", value]]]}, schema)
    made = dpopt.summary(table, schema, 2, epsilon=5, n0=240)
    assert made.answer("day=2024-03,x=true") == made.answer("day=[2024-03,, 2024-04),x=true")
    assert made.answer("day<2024-02,x=true") == made.answer("day=2024-01,x=true")
    with pytest.raises(SchemaError, match="the value 2024 is not a date in the form '%Y-%m', such as '2024-01'"):
        made.answer("day>=2024,x=true")


@pytest.mark.parametrize("form", [form for form in FORMS if form != "%d.%m.%y"])
def test_intervals_from_before_bins_had_forms_write_dates_too(form: str, tmp_path: Path) -> None:
    schema = dpopt.Schema((attribute(form),))
    made = dpopt.intervals(stays(form), schema, ["day"], epsilon=20, n0=240)
    old = made.to_json()
    old["axes"] = [{key: value for key, value in axis.items() if key != "date_format"} for axis in old["axes"]]
    for number, released in enumerate((made, type(made).from_json(old))):
        write_records(released, tmp_path / f"{number}.csv", 60)
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_old_intervals_of_numbers_write_numbers(tmp_path: Path) -> None:
    ages = dpopt.Attribute("age", NUMERIC, edges=(0, 2.5, 1e6, 2e6))
    released = dpopt.intervals(
        pd.DataFrame({"age": [1, 3, 5] * 80}), dpopt.Schema((ages,)), ["age"], epsilon=20, n0=240
    )
    write_records(released, tmp_path / "records.csv", 60)
    assert set((tmp_path / "records.csv").read_text().split()) <= {"age", "0", "2.5", "1000000"}

"""`python -m experiments.front`: a release beside its table, and its error beside that of peers."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpopt
from dpopt.cli.pictures import COLOURS
from experiments import documents
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.narrow import narrow_picture
from experiments.papers import HERE
from experiments.tables import prepare

PICTURE, KINDS = "front.svg", ("real", "synthetic")
_YEARS = [0, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 101]
_EDUCATION = {
    "no diploma": {"Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"},
    "high school": {"HS-grad"},
    "some college": {"Some-college", "Assoc-acdm", "Assoc-voc"},
    "bachelor": {"Bachelors"},
    "master": {"Masters"},
    "doctor": {"Doctorate", "Prof-school"},
}


def main(arguments: list[str] | None = None) -> int:
    """Release Adult once with the defaults at epsilon 1, and compare."""
    return carry_out(parser_of("front"), arguments, {"results": _results}, markdown, draw=_draw)


def _results(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as folder:
        made = prepare("adult-raw", Path(folder), quick=options.quick)
        workload = "marginals:1" if options.quick else None
        released = dpopt.release(made.path, made.schema, workload, epsilon=1, out=Path(folder) / "release")
        yield compared(pd.read_csv(made.path), released.to_pandas())


def compared(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[str, Any]:
    """Return shares of ages, and the share of high incomes by education, of real and synthetic records."""
    found: dict[str, Any] = {"ages": {}, "incomes": {}}
    for name, frame in (("real", real), ("synthetic", synthetic)):
        ages = np.histogram(frame["age"], bins=_YEARS)[0] / len(frame)
        high = frame["income"].astype(str).str.contains(">50K", regex=False)
        found["ages"][name] = ages.round(5).tolist()
        found["incomes"][name] = {
            label: round(float(high[frame["education"].isin(values)].mean()), 5) for label, values in _EDUCATION.items()
        }
    return found


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables."""
    ages, incomes = report["results"][0]["ages"], report["results"][0]["incomes"]
    rows = (
        [f"{low} to {high - 1}", *(f"{100 * ages[name][place]:.1f}%" for name in KINDS)]
        for place, (low, high) in enumerate(itertools.pairwise(_YEARS))
    )
    yield from table(["age", *KINDS], rows)
    yield ""
    rows = ([label, *(f"{100 * incomes[name][label]:.1f}%" for name in KINDS)] for label in _EDUCATION)
    yield from table(["education | income above 50,000, real | synthetic"], rows)


def _draw(report: Report, folder: Path) -> None:
    draw(report["results"][0], folder / PICTURE)


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw both beside the mean errors of dpopt and its peers on seven columns of Adult, epsilon 1."""
    names = {"projection": "dpopt", "dpmm aim": "dpmm, AIM", "opendp aim": "OpenDP, AIM"}
    names |= {"smartnoise aim": "SmartNoise, AIM", "dpmm mst": "dpmm, MST", "opendp mst": "OpenDP, MST"}
    names |= {"smartnoise mst": "SmartNoise, MST", "smartnoise mwem-groups": "SmartNoise, MWEM"}
    errors = {
        names[row["algorithm"]]: float(row["mean error"].split()[0])
        for row in documents.rows(HERE / "accuracy_leader" / "README.md")
        if row.get("part") == "adult7"
        and row.get("epsilon") == "1"
        and row.get("neighbours") == "add-remove"
        and "mean error" in row
        and row["algorithm"] in names
    }
    with narrow_picture(path, 5.2) as ((drawn,),):
        drawn.figure.clear()
        above, under = drawn.figure.subfigures(2, 1, height_ratios=(1, 1.05))
        left, right = above.subplots(1, 2)
        below = under.subplots()
        for shift, name, colour in ((-0.2, "real", "0.65"), (0.2, "synthetic", COLOURS[0])):
            ages, incomes = results["ages"][name], results["incomes"][name]
            left.bar(np.arange(len(ages)) + shift, [100 * share for share in ages], 0.4, color=colour)
            heights = [100 * share for share in incomes.values()]
            right.barh(np.arange(len(incomes)) + shift, heights, 0.4, color=colour)
        left.set_xticks(np.arange(1, len(_YEARS) - 1, 3) - 0.5, [str(low) for low in _YEARS[1:-1:3]])
        left.set(title="age, per cent", ylim=(0, 17))
        left.text(10.5, 15.4, "real", color="0.4", ha="right")
        left.text(10.5, 13.6, "synthetic", color=COLOURS[0], ha="right")
        left.grid(visible=False, axis="x")
        right.set_yticks(range(len(_EDUCATION)), list(_EDUCATION))
        right.set_title("income above 50,000,\nper cent", loc="right")
        right.invert_yaxis()
        order = sorted(errors, key=lambda label: -errors[label])
        widths = [10_000 * errors[label] for label in order]
        bars = below.barh(order, widths, color=[COLOURS[0] if label == "dpopt" else "0.65" for label in order])
        below.bar_label(bars, [f"{width:.1f}" for width in widths], padding=3)
        below.set_title("mean error of three-way marginals,\nrecords in 10,000 (Adult, 7 columns)", loc="right")
        below.set(xticks=[])
        for axes in (right, below):
            axes.grid(visible=False, axis="y")
        below.spines["bottom"].set_visible(False)


if __name__ == "__main__":
    sys.exit(main())

"""The picture: least degrees beside the closed form."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import series
from experiments.narrow import narrow_picture


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the degrees of OR of the table, and of small errors."""
    with narrow_picture(path, 7.6, 2, 1) as ((left,), (right,)):
        table = next(one for one in report["degrees"] if one["predicate"] == "or")
        for number, (error, rows) in enumerate(table["rows"].items()):
            roots = [sqrt(width * log(1 / Fraction(error))) for width, _, _ in rows]
            degrees = [degree for _, degree, _ in rows]
            left.plot(
                roots,
                degrees,
                linestyle="none",
                label=f"error {float(Fraction(error)):g}",
                **{**series(number), "markersize": 3},
            )
        left.axline((0, 0), slope=1, color="grey", linewidth=0.8)
        left.set(xlabel=r"$\sqrt{k\,\ln(1/\mathrm{error})}$", ylabel="least degree", title="OR of k = 1 to 64 bits")
        left.legend(fontsize="medium", ncols=2)
        for number, width in enumerate(dict.fromkeys(one["k"] for one in report["small_errors"])):
            rows = [one for one in report["small_errors"] if one["k"] == width]
            logs = [log(1 / Fraction(one["error"])) for one in rows]
            for name, line, title in (("degree", "-", "least degree"), ("closed_form", ":", "closed form")):
                degrees = [one[name] for one in rows]
                right.plot(logs, degrees, linestyle=line, label=f"k = {width}, {title}", **series(number))
        right.set(xlabel="ln(1 / error)", ylabel="degree", ylim=(0, 110), title="OR, small errors")
        right.legend(fontsize="medium", loc="upper left")
